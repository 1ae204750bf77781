"""What a plan is asked: a model, a device, and how the work is laid out on many of them; checked before anything is computed."""

from dataclasses import asdict, dataclass, replace

from threeledgers import specs
from threeledgers.formulas import group_bandwidth
from threeledgers.specs import gpu, latency, model

CHECKPOINTS = ("none", "selective", "full")
DTYPES = ("bf16", "fp16")
NODE = 8  # GPUs of a node, unless the link joins more
SIZES = ("vocab", "hidden", "layers", "heads", "head_dim", "kv_heads", "ffn")


class PlanError(ValueError):
    """A job that cannot be: ``field`` names the value at fault, the message what would do."""

    def __init__(self, field, message):
        super().__init__(message)
        self.field = field


@dataclass(frozen=True)
class Job:
    """One training job. ``batch``: sequences of all replicas in one step, by default one micro-batch each; ``microbatch``:
    sequences of one replica at a time.

    ``zero``: 0 to 3. ``tp``: tensor-parallel ranks, with sequence parallelism; ``pp``: pipeline stages (1F1B).
    ``usable``: share of the device's memory that tensors may take; the rest is left to the context, communication
    buffers and fragmentation. ``node``: GPUs of a node, by default 8 or as many as the link joins. ``nic``: B/s of one
    network card, one for each GPU.
    """

    model: str
    gpu: str
    gpus: int = 1
    seq: int = 4096
    batch: int | None = None
    zero: int = 0
    tp: int = 1
    pp: int = 1
    microbatch: int = 1
    checkpoint: str = "none"
    dtype: str = "bf16"
    tokens: int = 10**12
    usable: float = 0.9
    node: int | None = None
    nic: float = latency("link").ndr_nic_bandwidth

    def __post_init__(self):
        for name in ("gpus", "seq", "batch", "tp", "pp", "microbatch", "tokens", "node"):
            value = getattr(self, name)
            if name in ("batch", "node") and value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise PlanError(name, f"{name} is {value!r}: a whole number of at least 1 is needed")
        self._choice("zero", (0, 1, 2, 3))
        self._choice("checkpoint", CHECKPOINTS)
        self._choice("dtype", DTYPES)
        if not 0 < self.usable <= 1:
            raise PlanError("usable", f"usable is {self.usable!r}: a share above 0 and at most 1 is needed")
        if not 0 < self.nic < float("inf"):
            raise PlanError("nic", f"nic is {self.nic!r}: B/s of a network card are needed, such as 50e9")
        net, device = self._spec("model", model), self._spec("gpu", gpu)
        if net.texts["block"] != "llama":
            known = [id for id in specs.ids("model") if model(id).texts["block"] == "llama"]
            raise PlanError(
                "model",
                f"{self.model} has blocks of the kind {net.texts['block']}; plans are made for {', '.join(known)}",
            )
        self._has_sizes(net)
        self._fits_the_model(net)
        if self.node is None:
            object.__setattr__(self, "node", max(NODE, getattr(device, "link_devices", 1)))
        self._fits_the_device(device)

    def _choice(self, name, allowed):
        if getattr(self, name) not in allowed:
            raise PlanError(
                name, f"{name} is {getattr(self, name)!r}: it must be one of {', '.join(map(str, allowed))}"
            )

    def _spec(self, kind, find):
        try:
            return find(getattr(self, kind))
        except (specs.UnknownSpec, specs.SpecError) as error:
            raise PlanError(kind, str(error)) from None

    def _has_sizes(self, net):
        for name in SIZES:
            value = getattr(net, name, None)
            if not isinstance(value, int) or value > 10**7:
                told = "no" if value is None else f"{value!r} as its"
                raise PlanError(
                    "model", f"{self.model} has {told} {name}; a plan needs whole numbers: {', '.join(SIZES)}"
                )
        if self.seq > getattr(net, "window", self.seq):
            raise PlanError(
                "seq",
                f"sequences of {self.seq} tokens are longer than the sliding window of {self.model}, and a plan counts all "
                f"pairs of tokens; at most {net.window} would do",
            )

    def _fits_the_model(self, net):
        for name, count in (("heads", net.heads), ("kv_heads", net.kv_heads)):
            if count % self.tp:
                may = [t for t in range(1, net.kv_heads + 1) if net.heads % t == 0 and net.kv_heads % t == 0]
                raise PlanError(
                    "tp", f"tp {self.tp} does not divide the {count} {name} of {self.model}; {_any(may)} would do"
                )
        if self.pp > net.layers:
            raise PlanError("pp", f"pp {self.pp} is more stages than the {net.layers} layers of {self.model}")
        if self.gpus % (self.tp * self.pp):
            ask = self.tp * self.pp
            raise PlanError(
                "gpus",
                f"{self.gpus} GPUs cannot be laid out as tp {self.tp} x pp {self.pp}: a multiple of {ask} is needed, "
                f"such as {max(ask, self.gpus // ask * ask)}",
            )
        if self.batch is None:
            object.__setattr__(self, "batch", self.replicas * self.microbatch)
        if self.batch % self.replicas:
            raise PlanError(
                "batch",
                f"a batch of {self.batch} cannot be shared by {self.replicas} replicas; "
                f"{max(1, self.batch // self.replicas) * self.replicas} would do",
            )
        if self.batch // self.replicas % self.microbatch:
            raise PlanError(
                "microbatch",
                f"micro-batches of {self.microbatch} do not divide the {self.batch // self.replicas} sequences of a replica",
            )
        if self.seq % self.tp:
            raise PlanError("seq", f"sequence parallelism cannot share {self.seq} tokens among tp {self.tp} ranks")

    def _fits_the_device(self, device):
        if f"{self.dtype}_flops" not in device.fields:
            other = [d for d in DTYPES if f"{d}_flops" in device.fields]
            raise PlanError(
                "dtype",
                f"{self.gpu} has no {self.dtype} matrix units; {_any(other) if other else 'another GPU'} would do",
            )
        needed = ["memory_bytes", "memory_bandwidth"]
        linked = "link_bandwidth" in device.fields
        needed += ["link_devices"] if linked else []
        if self.gpus > 1 and (not linked or getattr(device, "link_devices", self.node) < self.node):
            needed += ["pcie_bandwidth"]
        for name in needed:
            if name not in device.fields:
                raise PlanError("gpu", f"{self.gpu} has no published {name}, which a plan needs")

    @property
    def replicas(self):
        """Data-parallel ranks."""
        return self.gpus // (self.tp * self.pp)

    @property
    def microbatches(self):
        """Micro-batches of a replica in one step."""
        return self.batch // self.replicas // self.microbatch

    def but(self, **changes):
        """The same job with other values; raises PlanError when that cannot be."""
        return replace(self, **changes)

    def asked(self):
        """All values, as a dictionary."""
        return asdict(self)


def _any(values):
    return " or ".join(map(str, values)) if len(values) < 3 else f"{', '.join(map(str, values[:-1]))} or {values[-1]}"


def inputs(job):
    """The values that the lines of a plan start from, by the code names of the notation."""
    net, device = model(job.model), gpu(job.gpu)
    peak = getattr(device, f"{job.dtype}_flops")
    measured = "bf16_gemm_flops" in device.fields and peak == getattr(device, "bf16_flops", None)
    stage_layers = -(-net.layers // job.pp)
    known = {name: getattr(net, name) for name in SIZES}
    known |= {name: getattr(net, name, 0) for name in specs.FLAGS}
    known["tables"] = 2 - known["tied"]
    known |= {
        "peak": peak,
        "achieved": device.bf16_gemm_flops if measured else peak,
        "memory_bandwidth": device.memory_bandwidth,
        "capacity": int(device.memory_bytes * job.usable),
        "nic_bandwidth": job.nic,
        "ranks": job.gpus,
        "data_ranks": job.replicas,
        "tensor_ranks": job.tp,
        "pipeline_ranks": job.pp,
        "pipelined": job.pp > 1,
        "stage": job.zero,
        "sharded": job.zero == 3 and job.replicas > 1,
        "checkpoint": job.checkpoint,
        "batch": job.microbatch,
        "microbatches": job.microbatches,
        "replica_batch": job.batch // job.replicas,
        "global_batch": job.batch,
        "seq": job.seq,
        "rank_seq": job.seq // job.tp,
        "step_tokens": job.batch * job.seq,
        "tokens": job.tokens,
        "stage_layers": stage_layers,
        "rank_vocab": -(-net.vocab // job.tp),
    }
    pieces = stage_layers + 1  # each block, and the tables with the last norm
    per_step = {0: 2, 1: 2, 2: job.microbatches * pieces + 1, 3: 3 * job.microbatches * pieces}
    known["data_phases"] = per_step[job.zero]
    known["tensor_phases"] = stage_layers * job.microbatches * (11 if job.checkpoint == "full" else 8)
    known["stage_phases"] = 2 * job.microbatches
    for group, distance, size in (
        ("tensor", 1, job.tp),
        ("data", job.tp, job.replicas),
        ("stage", job.tp * job.replicas, job.pp),
    ):
        known |= _wire(group, distance, size, job, device)
    return known


def _wire(group, distance, size, job, device):
    """Bandwidth and latency of a group whose neighbouring ranks lie ``distance`` GPUs apart: tensor inside data inside pipeline.

    What a link joins uses the link; a larger group in one node crosses PCIe (at the link's latency, for want of a published
    one); one of several nodes gathers over the slower of that and the nodes' cards.
    """
    wires, members = latency("link"), min(size, max(1, job.node // distance))
    inside = members == size or job.gpus == 1
    joined = distance * members <= min(job.node, getattr(device, "link_devices", 1)) or members == 1
    road = "link_bandwidth" if joined and "link_bandwidth" in device.fields else "pcie_bandwidth"
    speed = getattr(device, road, float("inf"))  # infinite where a single GPU has neither
    if not inside:
        speed = group_bandwidth(node_ranks=members, nic_bandwidth=job.nic, link_bandwidth=speed)
    wait = wires.nvlink_64b if inside else wires.infiniband_64b_cross_leaf
    return {f"{group}_bandwidth": speed, f"{group}_latency": wait, f"{group}_inside": inside, f"{group}_road": road}
