"""Ceilings, collectives, failures, the host; and sums and ratios of printed numbers."""

from math import ceil, exp

from tests.vectors import recipe
from threeledgers import formulas as f
from threeledgers import gpu as device

TERA, HOUR, DAY = 10**12, 3600, 86400


@recipe("V-L3-INT", "V-DS-2", "V-L2-1")
def total(parts):
    return sum(parts)


@recipe("V-L3-PCT", "V-L3-GPU")
def share(parts, whole):
    return sum(parts if isinstance(parts, tuple) else [parts]) / whole


@recipe("V-FA-3", "V-FA-5", "V-GEN-2", "V-KOR-5")
def ratio(above, below):
    return above / below


@recipe("V-GEN-1")
def saved(above, below):
    return 1 - below / above


@recipe("V-GEN-3")
def percent(percents):
    return sum(percents) / 100


@recipe("V-DS-1")
def hours_for_a_trillion(gpu_hours, trillions):
    return gpu_hours / trillions


@recipe("V-L3-DP")
def layout(**ranks):
    return f.layout_ranks(**ranks)


@recipe("V-L3-TOK")
def tokens_per_batch(data_ranks, batch, seq):
    return data_ranks * batch * seq


@recipe("V-RF-11")
def days_on_fewer(days, devices, fewer):
    return days * devices / fewer


@recipe("V-L3-MTBF")
def between_failures(days, failures):
    return f.observed_mtbf(wall_time=days * DAY, failures=failures) / HOUR


@recipe("V-META-*")
def projected(nodes, rate):
    return f.failures_mtbf(nodes=nodes, rate=rate) / HOUR


@recipe("V-YD-2")
def young(write_cost, mtbf_hours):
    return f.checkpoint_interval(write_cost=write_cost, mtbf=mtbf_hours * HOUR)


@recipe("V-NCCL-1")
def all_reduce(ranks):
    return f.allreduce_factor(ranks=ranks)


@recipe("V-NCCL-3", "V-NCCL-6")
def all_gather(ranks):
    return f.allgather_factor(ranks=ranks)


@recipe("V-NCCL-4")
def broadcast(ranks):
    """The whole buffer along each edge, whatever the number of ranks."""
    return f.broadcast_bytes(message=ranks) / ranks


@recipe("V-NCCL-H*")
def bus(ranks, algbw):
    return f.bus_bandwidth(factor=f.allreduce_factor(ranks=ranks), message=algbw, step_time=1)


@recipe("V-NCCL-S", "V-NCCL-A")
def of_the_link(**rates):
    return f.link_fraction(**rates)


@recipe("V-COM-2")
def gather_over_axes(rows, columns, elem_bytes, bandwidth, axes):
    """A torus ring sends both ways; its (N-1)/N is left out, as in the source."""
    return f.transfer_time(latency=0, message=rows * columns * elem_bytes, bandwidth=axes * bandwidth)


@recipe("V-COM-3")
def reduce_over_axis(rows, columns, elem_bytes, bandwidth, shards):
    """Twice what a gather sends, of one shard."""
    return 2 * f.transfer_time(latency=0, message=rows * columns * elem_bytes / shards, bandwidth=bandwidth)


@recipe("V-RF-1")
def device_ridge(gpu):
    return f.ridge_intensity(peak=device(gpu).bf16_flops, bandwidth=device(gpu).memory_bandwidth)


@recipe("V-RF-2", "V-RF-4")
def ridge(**rates):
    return f.ridge_intensity(**rates)


@recipe("V-RF-3")
def balanced_batch(peak, bandwidth, elem_bytes):
    """A batch of B does 2B FLOPs with each weight of e bytes."""
    return f.ridge_intensity(peak=peak, bandwidth=bandwidth) * elem_bytes / 2


@recipe("V-RF-6")
def read_weights(params, elem_bytes, devices, bandwidth):
    traffic = f.weights_bytes(params=params, elem_bytes=elem_bytes)
    return f.stream_time(traffic=traffic, devices=devices, bandwidth=bandwidth)


@recipe("V-RF-17")
def read_once(traffic, bandwidth):
    return f.stream_time(traffic=traffic, devices=1, bandwidth=bandwidth)


@recipe("V-RF-8", "V-RF-18")
def prefill(params, tokens, peak, devices=1, mfu=1):
    """A third of a training step: forward only."""
    return f.train_time(flops=f.train_flops(params=params, tokens=tokens) / 3, ranks=devices, peak=peak, mfu=mfu)


@recipe("V-RF-9")
def train(params, tokens, devices, peak, mfu):
    return f.train_time(flops=f.train_flops(params=params, tokens=tokens), ranks=devices, peak=peak, mfu=mfu) / DAY


@recipe("V-RF-13", "V-RF-15")
def dense_peak(**chip):
    return f.tensor_peak(**chip) / TERA


@recipe("V-RF-16")
def bandwidth_of_bus(**memory):
    return f.memory_bandwidth(**memory) / TERA


@recipe("V-SM-1")
def waves(blocks, sms):
    return blocks / (ceil(blocks / sms) * sms)


@recipe("V-CPU-*")
def cores(gpus, workers, spare):
    return gpus * (workers + 1) + spare


@recipe("V-LA-1")
def load_average(ticks, decay, fixed):
    """The kernel's integers: one runnable task, a tick every 5 s, rounded up while the load rises."""
    load = 0
    for _ in range(ticks):
        load = (load * decay + fixed * (fixed - decay) + (fixed - 1 if load <= fixed else 0)) // fixed
    return load / fixed


@recipe("V-LA-2")
def load_decay(seconds, minutes, fixed):
    return round(fixed * exp(-seconds / (60 * minutes)))
