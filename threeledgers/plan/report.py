"""A plan as a table for a terminal, and as JSON in base units."""

from dataclasses import asdict
from fractions import Fraction
from json import dumps
from math import ceil
from textwrap import wrap

from threeledgers.plan.job import Job, inputs
from threeledgers.plan.layouts import KNOBS, changes, fastest, fewest_gpus, fits, largest_microbatch, nearest
from threeledgers.plan.lines import LINES, evaluate
from threeledgers.specs import gpu, model
from threeledgers.units import PREFIXES

BOUNDS = {"compute": "compute_seconds", "memory": "memory_seconds", "network": "network_seconds"}


def plan(**asked):
    """The plan of a job: ``plan(model="llama3_8b", gpu="h100_sxm", gpus=8, zero=3, batch=8)``.

    Takes the fields of Job. Raises PlanError naming the value that cannot be and what would do.
    """
    return Plan(Job(**asked))


class Plan:
    """The three ledgers of one job: ``plan["peak_bytes_per_gpu"]``, ``plan.fits``, ``plan.bound``; ``repr`` is the table."""

    def __init__(self, job):
        self.job, self.values = job, evaluate(inputs(job))

    def __getitem__(self, key):
        return self.values[key]

    @property
    def fits(self):
        """True when the fullest GPU has room."""
        return fits(self.job)

    @property
    def bound(self):
        """What the step takes longest for: ``compute``, ``memory`` (the device's) or ``network``."""
        return max(BOUNDS, key=lambda name: self.values[BOUNDS[name]])

    @property
    def nearest(self):
        """The nearest layout that fits, on as many GPUs; None when there is none."""
        return nearest(self.job)

    def json(self):
        """The plan in base units (B, FLOP, s, day), counts rounded up to whole numbers."""
        v = self.values
        whole = {line.key: _plain(v[line.key], line.base_unit) for line in LINES}
        keys = "params matmul_params flops_forward flops_backward flops_again flops_step flops_model".split()
        keys += [f"{n}_bytes{w}" for w in ("", "_per_gpu") for n in ("weights", "grads", "optimizer", "activations")]
        keys += "gathered_bytes_per_gpu kv_cache_bytes peak_bytes_per_gpu".split()
        out = {"asked": self.job.asked(), **{k: whole[k] for k in keys}, "usable_bytes_per_gpu": v["capacity"]}
        out["comm_bytes_per_gpu"] = {k: whole[k] for k in ("all_reduce", "all_gather", "reduce_scatter", "send_recv")}
        out["seconds"] = {name: whole[key] for name, key in BOUNDS.items()}
        out["step_seconds"] = {"low": whole["step_low"], "high": whole["step_high"]}
        out["days"] = {"low": whole["days_low"], "high": whole["days_high"]}
        out |= {"mfu": whole["mfu"], "mfu_low": whole["mfu_low"], "bound": self.bound, "fits": self.fits}
        out["largest_microbatch"] = largest_microbatch(self.job)
        for name, found in (("nearest", self.nearest), ("fastest", fastest(self.job))):
            out[name] = found and {k: getattr(found, k) for k in KNOBS}
        few = fewest_gpus(self.job)
        out["fewest_gpus"] = None if few is None else few.gpus
        reading = model(self.job.model).reading
        out["config"] = reading and asdict(reading)
        out["formulas"] = {line.key: line.made_of() for line in LINES if line.key in whole}
        return out

    def __repr__(self):
        return self.table()

    def table(self, all_lines=False):
        """The ledgers line by line, each with its formula, then the verdict; ``all_lines``: intermediate ones, too."""
        job, v = self.job, self.values
        lines = [
            f"{job.model} on {job.gpus} x {job.gpu}: {job.batch:,} sequences of {job.seq:,} tokens a step, {job.dtype}",
            f"layout: dp {job.replicas} · tp {job.tp} · pp {job.pp} · ZeRO {job.zero} · checkpoint {job.checkpoint} · "
            f"micro-batches of {job.microbatch}, {job.microbatches:,} for each replica",
        ]
        lines += config_lines(model(job.model).reading)
        if job.pp > 1:
            lines.append(f"split: {split(model(job.model).layers, job.pp)}; the head and the loss on the last")
        ledger = None
        for line in LINES:
            if (line.step and not all_lines) or ((line.when or line.ledger == "Communication") and not v[line.key]):
                continue
            if line.ledger != ledger:
                ledger = line.ledger
                lines += ["", f"{ledger:<38}{'':>15}  {'of':<9} formula"]
            made = line.formula if line.of and not all_lines else line.made_of()
            lines.append(f"  {line.label:<36}{show(v[line.key], line.base_unit):>15}  {line.whose:<9} {made}")
        return "\n".join([*lines, "", *self.verdict()])

    def _changes(self, other):
        return ", ".join(f"{k} {a} -> {b}" for k, (a, b) in changes(self.job, other).items())

    def verdict(self):
        """The answers in sentences: fits or not, how many sequences, what the step waits for, how long it takes."""
        job, v = self.job, self.values
        peak, room = show(v["peak_bytes_per_gpu"], "B"), show(v["capacity"], "B")
        share = f"{job.usable:.0%} of the device"
        if self.fits:
            most = largest_microbatch(job)
            yield f"Fits: {peak} of {room} ({share}). At most {most} sequence{'s' * (most > 1)} at a time in this layout."
        else:
            yield f"Does not fit: {peak} of {room} ({share})."
            near = self.nearest
            if near is not None:
                need = show(Plan(near)["peak_bytes_per_gpu"], "B")
                yield f"Nearest layout that fits: {self._changes(near)} ({need})."
            else:
                few = fewest_gpus(job)
                devices = f"{job.gpus} GPU{'s' if job.gpus > 1 else ''}"
                yield f"No layout of {devices} fits" + (f"; {few.gpus} would do." if few else ".")
        yield (
            f"A step takes {show(v['step_low'], 's')} (communication hidden) to {show(v['step_high'], 's')} (nothing hidden); "
            f"bound by {self.bound}. MFU at most {float(v['mfu']):.1%}; {job.tokens:.3g} tokens take "
            f"{show(v['days_low'], 'day').removesuffix(' days')} to {show(v['days_high'], 'day')}."
        )
        device = gpu(job.gpu)
        reach = f"the link joins {device.link_devices}" if "link_devices" in device.fields else "there is no other link"
        for group, name, size in (
            ("tensor", "tensor-parallel", job.tp),
            ("data", "data-parallel", job.replicas),
            ("stage", "pipeline", job.pp),
        ):
            if size > 1 and v[f"{group}_road"] == "pcie_bandwidth":
                yield f"The {name} group of {size} crosses PCIe, {show(device.pcie_bandwidth, 'B/s')} a device: {reach}."
        best = fastest(job) if self.fits else None
        if best and (told := self._changes(best)):
            times = Plan(best).values
            yield f"Fastest layout that fits: {told} ({show(times['step_low'], 's')} to {show(times['step_high'], 's')})."
        doubtful = [
            f
            for f in ("memory_bytes", "memory_bandwidth", f"{job.dtype}_flops", "link_bandwidth")
            if f in device.fields and not device.verified(f)
        ]
        rate = (
            "the best measured matrix product"
            if v["achieved"] != v["peak"]
            else "the published peak: no measured product is known"
        )
        yield f"Arithmetic is charged at {show(v['achieved'], 'FLOP/s')}, {rate}; links and memory at their published rates."
        if doubtful:
            yield f"Not verified for {job.gpu}: {', '.join(doubtful)}."


def config_lines(reading):
    """Which keys of a config a plan rests on, and which it does not, in lines of at most 80 columns."""
    if reading is None:
        return
    ignored = [*map(_printed, reading.ignored[:20]), *(["…"] if len(reading.ignored) > 20 else [])]
    used = [f"{key} {dumps(value)}" for key, value in reading.used.items()]
    for head, items in ((f"from {reading.file}", used), ("not counted", reading.not_counted), ("ignored", ignored)):
        if items:
            yield from wrap(f"{head}: {', '.join(items)}", 80, subsequent_indent="  ")


def _printed(key):
    return key if key.isprintable() else ascii(key)


def split(layers, stages):
    """How the layers lie on the stages, in words."""
    few, more = divmod(layers, stages)
    if not more:
        return f"{few} layer{'s' * (few > 1)} a stage"
    return f"{few + 1} layers on the first {more} of {stages} stages, {few} on the others"


def _plain(value, unit):
    if unit in ("B", "FLOP", "1") and not isinstance(value, float):
        return ceil(value) if unit != "1" or value == int(value) else float(value)
    return float(value) if isinstance(value, Fraction) else value


def show(value, unit):
    """A number with a prefix that leaves one to three digits before the point."""
    if unit == "day":
        return f"{float(value):,.0f} days" if value >= 100 else f"{float(value):.3g} days"
    if unit == "1":
        return f"{int(value):,}" if value == int(value) else f"{float(value):.3f}"
    if value == 0:
        return f"0 {unit}"
    steps = ("µ", "m", "") if unit == "s" else ("", "k", "M", "G", "T", "P", "E")
    best = steps[0]
    for prefix in steps:
        if value >= PREFIXES[prefix]:
            best = prefix
    scaled = float(value / PREFIXES[best])
    return f"{scaled:,.4g} {best}{unit}" if scaled < 1e5 else f"{scaled:.3e} {best}{unit}"
