"""Every layout of a job on its GPUs, and the nearest one that fits."""

from threeledgers.plan.job import CHECKPOINTS, inputs
from threeledgers.plan.lines import evaluate
from threeledgers.specs import model

MICROBATCHES = 6  # up to 32 sequences at a time
KNOBS = ("zero", "tp", "pp", "checkpoint", "microbatch")


def divisors(n):
    return [d for d in range(1, n + 1) if n % d == 0]


def layouts(job):
    """All jobs that differ from this one in layout only: ``zero, tp, pp, checkpoint, microbatch``.

    Tensor-parallel groups stay inside a node; micro-batches are powers of two, or the one asked for.
    """
    net = model(job.model)
    sizes = sorted({job.microbatch, *(2**k for k in range(MICROBATCHES))})
    for tp in divisors(net.kv_heads):
        if tp > job.node or net.heads % tp or job.gpus % tp or job.seq % tp:
            continue
        for pp in divisors(job.gpus // tp):
            if pp > net.layers or job.batch % (job.gpus // (tp * pp)):
                continue
            share = job.batch // (job.gpus // (tp * pp))
            for microbatch in (m for m in sizes if share % m == 0):
                for zero in range(4):
                    for checkpoint in CHECKPOINTS:
                        yield job.but(tp=tp, pp=pp, zero=zero, checkpoint=checkpoint, microbatch=microbatch)


def fits(job):
    """True when the fullest GPU has room for its peak; floats decide unless it is close."""
    known = inputs(job)
    for exact in (False, True):
        values = evaluate(known, "peak_bytes_per_gpu", exact)
        need, room = values["peak_bytes_per_gpu"], values["capacity"]
        if exact or abs(need - room) > 1e-6 * room:
            return need <= room


def changes(job, other):
    """{knob: (asked, changed)} of what differs."""
    return {k: (getattr(job, k), getattr(other, k)) for k in KNOBS if getattr(job, k) != getattr(other, k)}


def nearest(job):
    """The layout that fits with the fewest knobs changed, of those the fastest; this one when it fits, None when none does."""
    if fits(job):
        return job
    fitting = {}
    for other in layouts(job):
        if fits(other):
            fitting.setdefault(len(changes(job, other)), []).append(other)
    if not fitting:
        return None
    return min(fitting[min(fitting)], key=_slowness)


def fastest(job):
    """The layout that fits and whose step is shortest when no communication is hidden; None when none fits."""
    return min(filter(fits, layouts(job)), key=_slowness, default=None)


def _slowness(job):
    return evaluate(inputs(job), exact=False)["step_high"], str(job)


def fewest_gpus(job, most=1 << 17):
    """The smallest power of two of GPUs on which some layout fits, as the fastest such layout; None up to ``most``.

    A batch that does not go round is made as large as it must be.
    """
    gpus = 1
    while gpus <= most:
        start = {"gpus": gpus, "batch": -(-job.batch // gpus) * gpus, "tp": 1, "pp": 1, "microbatch": 1}
        candidates = [other for other in layouts(job.but(**start)) if fits(other)]
        if candidates:
            return min(candidates, key=_slowness)
        gpus *= 2
    return None


def largest_microbatch(job):
    """The most sequences that a replica can take at a time in this layout; 0 when not even one fits.

    The global batch grows with it, so that each replica still has as many micro-batches.
    """

    def fit(size):
        return fits(job.but(microbatch=size, batch=size * job.microbatches * job.replicas))

    low, high = 0, 1
    while fit(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fit(middle) else (low, middle)
    return low
