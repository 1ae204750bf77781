# ruff: noqa: E501 (the table reads by rows)
"""The lines of a plan, as data: each names its formula and where its arguments come from.

``LINES`` is evaluated from top to bottom; a formula's parameter is looked up by its code name among the inputs and the
lines above, unless the line says otherwise. Nothing else is needed to draw the same plan in a browser.
"""

from dataclasses import dataclass, field
from fractions import Fraction
from math import prod

from threeledgers import formulas
from threeledgers.formula import REGISTRY

assert formulas.__all__  # importing the package fills the registry
OPERATIONS = {"sum": (sum, " + "), "product": (prod, " × "), "largest of": (max, ", ")}
GPU = "per GPU"


@dataclass(frozen=True)
class Line:
    """One line: ``key`` names its value; ``formula`` a formula, or an operation over the keys in ``of``.

    ``given``: parameter -> key (or number), where they differ. ``when``: inputs and the values at which the line counts;
    it is 0 otherwise. ``unit`` only for operations; ``whose``: "per GPU" or "all GPUs". ``step``: only on the way to
    another line, so a short table leaves it out.
    """

    key: str
    ledger: str
    label: str
    formula: str
    given: dict = field(default_factory=dict)
    of: tuple = ()
    when: dict = field(default_factory=dict)
    unit: str = ""
    whose: str = GPU
    step: bool = False

    def value(self, known, exact=True):
        """The line's value from the values known so far; exact wherever the formula is, or quick."""
        if any(known[name] not in allowed for name, allowed in self.when.items()):
            return 0
        if self.of:
            return OPERATIONS[self.formula][0](known[key] for key in self.of)
        made = REGISTRY[self.formula]
        sources = {p: self.given.get(p, p) for p in made.parameters}
        values = {p: known[s] if isinstance(s, str) else s for p, s in sources.items()}
        return made.exact(**values) if exact else made.rough(**values)

    def made_of(self):
        """What the line says about its origin: the formula's name, or the keys of an operation."""
        if not self.of:
            return self.formula
        names = OPERATIONS[self.formula][1].join(self.of)
        return f"largest of {names}" if self.formula == "largest of" else names

    @property
    def base_unit(self):
        return self.unit or REGISTRY[self.formula].unit


ALL = "all GPUs"
STEP = {"batch": "global_batch"}
TENSOR = {"layers": "stage_layers", "batch": "replica_batch", "elem_bytes": 2}
RANK = {"params": "rank_params", "ranks": "data_ranks"}
SHARDED = {"sharded": (True,)}
PIPE = {"forward": "flops_forward", "backward": "flops_back", "head_forward": "flops_head"}

LINES = [
    Line("extra_params", "FLOPs", "biases and q/k norms of a block", "block_extra_params", {"tensor_ranks": 1}, whose=ALL, step=True),
    Line("params", "FLOPs", "parameters", "family_params", whose=ALL),
    Line("matmul_params", "FLOPs", "parameters in matrix products", "llama_matmul_params", whose=ALL),
    Line("flops_forward", "FLOPs", "forward", "forward_flops", STEP, whose=ALL),
    Line("flops_backward", "FLOPs", "backward", "flash_backward_flops", STEP, whose=ALL),
    Line("flops_blocks_again", "FLOPs", "blocks recomputed", "checkpoint_early_stop_flops", STEP, when={"checkpoint": ("full",)}, whose=ALL, step=True),
    Line("flops_core_again", "FLOPs", "attention recomputed", "attention_forward_flops", STEP, when={"checkpoint": ("selective",)}, whose=ALL, step=True),
    Line("flops_again", "FLOPs", "recomputed", "sum", of=("flops_blocks_again", "flops_core_again"), unit="FLOP", whose=ALL),
    Line("flops_step", "FLOPs", "one step", "sum", of=("flops_forward", "flops_backward", "flops_again"), unit="FLOP", whose=ALL),
    Line("flops_back", "FLOPs", "backward and recomputed", "sum", of=("flops_backward", "flops_again"), unit="FLOP", whose=ALL, step=True),
    Line("flops_head", "FLOPs", "of the head, forward", "head_forward_flops", STEP, whose=ALL, step=True),
    Line("flops_model", "FLOPs", "of the model, for MFU", "train_flops_full", {"tokens": "step_tokens"}, whose=ALL),
    Line("weights_bytes", "Memory", "weights, all of them", "weights_bytes", {"elem_bytes": 2}, whose=ALL),
    Line("grads_bytes", "Memory", "gradients, all of them", "grads_bytes", {"elem_bytes": 2}, whose=ALL),
    Line("optimizer_bytes", "Memory", "Adam's states, all of them", "optimizer_bytes", whose=ALL),
    Line("block_matrices", "Memory", "matrices and norms of a block", "rank_block_params", step=True),
    Line("block_extra", "Memory", "biases and q/k norms of a block", "block_extra_params", step=True),
    Line("block_params", "Memory", "parameters of a block", "sum", of=("block_matrices", "block_extra"), unit="1", step=True),
    Line("rank_params", "Memory", "parameters of a rank", "stage_params"),
    Line("weights_bytes_per_gpu", "Memory", "weights", "zero_weights_bytes", RANK),
    Line("grads_bytes_per_gpu", "Memory", "gradients", "zero_grads_bytes", RANK),
    Line("optimizer_bytes_per_gpu", "Memory", "Adam: master copy, mean, variance", "zero_optimizer_bytes", RANK),
    Line("gathered_bytes_per_gpu", "Memory", "gathered for a while", "fsdp_gathered_bytes", when=SHARDED),
    Line("states_bytes_per_gpu", "Memory", "states", "sum", of=("weights_bytes_per_gpu", "grads_bytes_per_gpu", "optimizer_bytes_per_gpu", "gathered_bytes_per_gpu"), unit="B"),
    Line("block_saved", "Memory", "a block at work saves", "sp_block_saved_bytes", step=True),
    Line("kept_whole", "Memory", "a layer keeps", "sp_block_saved_bytes", when={"checkpoint": ("none",)}, step=True),
    Line("kept_selective", "Memory", "a layer keeps", "sp_selective_saved_bytes", when={"checkpoint": ("selective",)}, step=True),
    Line("kept_input", "Memory", "a layer keeps", "sp_checkpoint_saved_bytes", {"elem_bytes": 2}, when={"checkpoint": ("full",)}, step=True),
    Line("norms_saved", "Memory", "q/k norms of a block save", "qk_norm_saved_bytes", when={"qk_norm": (1,)}, step=True),
    Line("kept_norms", "Memory", "q/k norms of a layer keep", "sum", of=("norms_saved",), when={"checkpoint": ("none", "selective")}, unit="B", step=True),
    Line("layer_saved", "Memory", "a layer keeps", "sum", of=("kept_whole", "kept_selective", "kept_input", "kept_norms"), unit="B"),
    Line("first_saved", "Memory", "kept by the first stage", "pipeline_saved_bytes", step=True),
    Line("last_saved", "Memory", "kept by the last stage", "stage_saved_bytes", step=True),
    Line("head_saved", "Memory", "kept outside the blocks", "head_saved_bytes"),
    Line("loss_bytes", "Memory", "while the loss goes backward", "loss_backward_bytes", {"vocab": "rank_vocab"}),
    Line("head_back_bytes", "Memory", "while the head goes backward", "head_backward_bytes", {"vocab": "rank_vocab"}, step=True),
    Line("again_bytes", "Memory", "while a block is recomputed", "sum", of=("block_saved", "norms_saved"), when={"checkpoint": ("full",)}, unit="B", step=True),
    Line("table_params", "Memory", "parameters of a table", "product", of=("rank_vocab", "hidden"), unit="1", step=True),
    Line("table_bytes", "Memory", "the tied table's gradient", "grads_bytes", {"params": "table_params", "elem_bytes": 2}, when={"tied": (1,)}, step=True),
    Line("waiting_bytes", "Memory", "the head's gradient waits", "sum", of=("table_bytes",), when={"pipelined": (False,)}, unit="B", step=True),
    Line("again_held", "Memory", "while a block is recomputed", "sum", of=("again_bytes", "waiting_bytes"), when={"checkpoint": ("full",)}, unit="B", step=True),
    Line("tied_bytes", "Memory", "while the tied table's gradients add", "tied_grad_bytes", {"vocab": "rank_vocab"}, when={"tied": (1,), "pipelined": (False,)}, step=True),
    Line("passing_bytes", "Memory", "on top for a while", "largest of", of=("loss_bytes", "head_back_bytes", "again_held"), unit="B", step=True),
    Line("first_bytes", "Memory", "first stage", "sum", of=("first_saved", "again_bytes"), unit="B", step=True),
    Line("last_bytes", "Memory", "last stage", "sum", of=("last_saved", "head_saved", "passing_bytes"), unit="B", step=True),
    Line("activations_bytes_per_gpu", "Memory", "activations at their peak", "largest of", of=("first_bytes", "last_bytes", "tied_bytes"), unit="B"),
    Line("activations_bytes", "Memory", "activations, all of them", "product", of=("activations_bytes_per_gpu", "ranks"), unit="B", whose=ALL),
    Line("peak_bytes_per_gpu", "Memory", "peak", "sum", of=("states_bytes_per_gpu", "activations_bytes_per_gpu"), unit="B"),
    Line("kv_bytes_per_token", "Memory", "KV cache of a token, if served", "kv_cache_bytes", {"elem_bytes": 2}, whose=ALL, step=True),
    Line("kv_cache_bytes", "Memory", "KV cache of these sequences", "product", of=("kv_bytes_per_token", "step_tokens"), unit="B", whose=ALL),
    Line("rank_bytes", "Communication", "a rank's gradients, whole", "grads_bytes", {"params": "rank_params", "elem_bytes": 2}, step=True),
    Line("ddp_reduce", "Communication", "data: all-reduce gradients", "ring_allreduce_bytes", {"ranks": "data_ranks", "message": "rank_bytes"}, when={"stage": (0,)}),
    Line("zero_scatter_once", "Communication", "data: reduce-scatter gradients", "reducescatter_bytes", {"ranks": "data_ranks", "message": "rank_bytes"}, when={"stage": (1,)}),
    Line("zero_scatter_each", "Communication", "data: reduce-scatter gradients", "fsdp_scatter_bytes", {**RANK, "elem_bytes": 2}, when={"stage": (2, 3)}),
    Line("zero_gather_once", "Communication", "data: all-gather new weights", "allgather_bytes", {"ranks": "data_ranks", "message": "rank_bytes"}, when={"stage": (1, 2)}),
    Line("zero_gather_each", "Communication", "data: all-gather weights", "fsdp_gather_bytes", {**RANK, "elem_bytes": 2}, when={"stage": (3,)}),
    Line("tensor_gather", "Communication", "tensor: all-gather", "sp_gather_bytes", TENSOR),
    Line("tensor_scatter", "Communication", "tensor: reduce-scatter", "sp_scatter_bytes", TENSOR),
    Line("tensor_gather_again", "Communication", "tensor: all-gather, recomputed", "sp_recompute_gather_bytes", TENSOR, when={"checkpoint": ("full",)}),
    Line("tensor_scatter_again", "Communication", "tensor: reduce-scatter, recomputed", "sp_recompute_scatter_bytes", TENSOR, when={"checkpoint": ("full",)}),
    Line("stage_send", "Communication", "pipeline: send to the neighbours", "pp_bytes", {"seq": "rank_seq", "elem_bytes": 2}, when={"pipelined": (True,)}),
    Line("tied_reduce", "Communication", "pipeline: all-reduce the tied table", "ring_allreduce_bytes", {"ranks": 2, "message": "table_bytes"}, when={"tied": (1,), "pipelined": (True,)}),
    Line("data_bytes", "Communication", "data-parallel group", "sum", of=("ddp_reduce", "zero_scatter_once", "zero_scatter_each", "zero_gather_once", "zero_gather_each"), unit="B"),
    Line("tensor_bytes", "Communication", "tensor-parallel group", "sum", of=("tensor_gather", "tensor_scatter", "tensor_gather_again", "tensor_scatter_again"), unit="B"),
    Line("all_reduce", "Communication", "all-reduce", "sum", of=("ddp_reduce", "tied_reduce"), unit="B", step=True),
    Line("all_gather", "Communication", "all-gather", "sum", of=("zero_gather_once", "zero_gather_each", "tensor_gather", "tensor_gather_again"), unit="B", step=True),
    Line("reduce_scatter", "Communication", "reduce-scatter", "sum", of=("zero_scatter_once", "zero_scatter_each", "tensor_scatter", "tensor_scatter_again"), unit="B", step=True),
    Line("send_recv", "Communication", "send", "sum", of=("stage_send",), unit="B", step=True),
    Line("compute_seconds", "Time", "arithmetic, at least", "pipeline_time_low", PIPE),
    Line("compute_seconds_high", "Time", "arithmetic, at most", "pipeline_time_high", PIPE, when={"pipelined": (True,)}),
    Line("microbatch_saved", "Time", "saved in a micro-batch", "sum", of=("last_saved", "head_saved"), unit="B", step=True),
    Line("traffic_bytes", "Time", "device memory moves", "step_traffic", {"weights": "rank_bytes", "activations": "microbatch_saved", "grads": "grads_bytes_per_gpu", "optimizer": "optimizer_bytes_per_gpu"}),
    Line("memory_seconds", "Time", "device memory", "stream_time", {"traffic": "traffic_bytes", "devices": 1, "bandwidth": "memory_bandwidth"}),
    Line("data_seconds", "Time", "data-parallel group", "ring_time", {"phases": "data_phases", "ranks": "data_ranks", "latency": "data_latency", "sent": "data_bytes", "bandwidth": "data_bandwidth"}),
    Line("tensor_seconds", "Time", "tensor-parallel group", "ring_time", {"phases": "tensor_phases", "ranks": "tensor_ranks", "latency": "tensor_latency", "sent": "tensor_bytes", "bandwidth": "tensor_bandwidth"}),
    Line("stage_seconds", "Time", "pipeline", "ring_time", {"phases": "stage_phases", "ranks": 2, "latency": "stage_latency", "sent": "stage_send", "bandwidth": "stage_bandwidth"}, when={"pipelined": (True,)}),
    Line("tied_seconds", "Time", "tied table, first and last stage", "ring_time", {"phases": 2, "ranks": 2, "latency": "stage_latency", "sent": "tied_reduce", "bandwidth": "stage_bandwidth"}, when={"tied": (1,), "pipelined": (True,)}),
    Line("network_seconds", "Time", "network", "sum", of=("data_seconds", "tensor_seconds", "stage_seconds", "tied_seconds"), unit="s"),
    Line("busy_seconds", "Time", "arithmetic or device memory", "largest of", of=("compute_seconds", "memory_seconds"), unit="s", step=True),
    Line("busy_seconds_high", "Time", "the same, at most", "largest of", of=("busy_seconds", "compute_seconds_high"), unit="s", step=True),
    Line("step_low", "Time", "step, communication hidden", "overlapped_time", {"compute_time": "busy_seconds", "comm_time": "network_seconds"}),
    Line("step_high", "Time", "step, nothing hidden", "serial_time", {"compute_time": "busy_seconds_high", "comm_time": "network_seconds"}),
    Line("mfu", "Time", "MFU at most", "mfu", {"flops": "flops_model", "step_time": "step_low"}),
    Line("mfu_low", "Time", "MFU, nothing hidden", "mfu", {"flops": "flops_model", "step_time": "step_high"}),
    Line("days_low", "Time", "days at least", "train_days", {"batch": "global_batch", "step_time": "step_low"}),
    Line("days_high", "Time", "days, nothing hidden", "train_days", {"batch": "global_batch", "step_time": "step_high"}),
]  # fmt: skip


def evaluate(inputs, until=None, exact=True):
    """{key: value} of the inputs and all lines, or of the lines up to and including ``until``; in floats unless ``exact``."""
    known = dict(inputs) if exact else {k: v if isinstance(v, (bool, str)) else float(v) for k, v in inputs.items()}
    for line in LINES:
        known[line.key] = line.value(known, exact)
        if line.key == until:
            break
    return {key: int(v) if isinstance(v, Fraction) and v.denominator == 1 else v for key, v in known.items()}
