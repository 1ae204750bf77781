"""From counts to time: what a device's ceilings, and a measured share of them, make of the three ledgers."""

from sympy import Max, Min, ceiling

from threeledgers.formula import formula
from threeledgers.formulas.symbols import DAY

_ROOFLINE = "Williams, Waterman & Patterson 2009"
_PALM = "Chowdhery et al. 2022, appendix B"


@formula(unit="s", source=_ROOFLINE, symbol=r"t_{\mathrm{roof}}")
def roofline_time(flops, peak, traffic, bandwidth):
    """Arithmetic and memory work at the same time at best, so the slower one decides."""
    return Max(traffic / bandwidth, flops / peak)


@formula(unit="FLOP/s", source=_ROOFLINE)
def roofline_rate(peak, intensity, bandwidth):
    """The most that an operation of this intensity can reach."""
    return Min(peak, intensity * bandwidth)


@formula(unit="1", source=_PALM, symbol=r"\eta")
def mfu(flops, step_time, ranks, peak):
    """The model's FLOPs, each counted once, over what all devices could have done in that time."""
    return flops / (step_time * ranks * peak)


@formula(unit="1", source=_PALM, symbol=r"\eta_h")
def hfu(flops, recompute, step_time, ranks, peak):
    """As mfu, with recomputed FLOPs counted too: never below it."""
    return (flops + recompute) / (step_time * ranks * peak)


@formula(unit="FLOP/s", source="definition")
def aggregate_rate(ranks, achieved):
    """All devices together."""
    return ranks * achieved


@formula(unit="s", source="Narayanan et al. 2021, equation 4")
def train_time(flops, ranks, peak, mfu):
    """FLOPs over the rate that the devices really reach; with recomputed FLOPs in F, η is the HFU."""
    return flops / (ranks * peak * mfu)


@formula(unit="day", source="arithmetic: steps times seconds")
def train_days(tokens, batch, seq, step_time):
    """D/(B S) steps, B here the sequences of all replicas."""
    return tokens / (batch * seq) * step_time / DAY


@formula(unit="1", source="arithmetic: train_time turned round", symbol=r"N_{\mathrm{need}}")
def gpus_needed(flops, peak, mfu, wall_time):
    """Devices that finish in the given time."""
    return ceiling(flops / (peak * mfu * wall_time))


@formula(unit="s", source="bound: all communication hidden behind arithmetic")
def overlapped_time(compute_time, comm_time):
    """The slower of the two."""
    return Max(comm_time, compute_time)


@formula(unit="s", source="bound: no communication hidden")
def serial_time(compute_time, comm_time):
    """First the arithmetic, then the communication."""
    return compute_time + comm_time
