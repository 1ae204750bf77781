"""What survives of a rate: shares of time, failures, checkpoints."""

from sympy import exp, sqrt

from threeledgers.formula import formula
from threeledgers.formulas.symbols import DAY

_KOKOLIS = "Kokolis et al. 2024"


@formula(unit="1", source="definition, this book", symbol="G")
def goodput_fraction(availability, mfu):
    """Share of the peak that ends up in the model: time that survives, times arithmetic in that time."""
    return availability * mfu


@formula(unit="1", source="Amdahl 1967")
def amdahl_speedup(share, speedup):
    """The untouched share stays as slow as it was."""
    return 1 / ((1 - share) + share / speedup)


@formula(unit="1", source="Amdahl 1967: x without bound")
def amdahl_limit(share):
    """What an infinitely fast share would give."""
    return 1 / (1 - share)


@formula(unit="s", source=_KOKOLIS, symbol=r"\mu")
def failures_mtbf(nodes, rate):
    """Failures of nodes add up: twice the nodes, half the time between failures."""
    return DAY / (nodes * rate)


@formula(unit="s", source="definition", symbol=r"\mu")
def observed_mtbf(wall_time, failures):
    """Time from start to end over failures seen."""
    return wall_time / failures


@formula(unit="s", source="Young 1974", symbol=r"\tau^{*}")
def checkpoint_interval(write_cost, mtbf):
    """Writing less often loses more work per failure; this is where both losses are equal."""
    return sqrt(2 * write_cost * mtbf)


@formula(unit="s", source="Daly 2006, equation 37; for δ below 2μ", symbol=r"\tau^{*}")
def daly_interval(write_cost, mtbf):
    """Young's interval with the terms that matter when a checkpoint takes long against μ."""
    return (
        sqrt(2 * write_cost * mtbf) * (1 + sqrt(write_cost / (2 * mtbf)) / 3 + (write_cost / (2 * mtbf)) / 9)
        - write_cost
    )


@formula(unit="1", source=_KOKOLIS + "; first order in τ/μ", symbol="A")
def ettr_fraction(interval, write_cost, restart, mtbf):
    """A failure costs the restart and on average half an interval; each interval pays one write."""
    return (1 - (restart + interval / 2) / mtbf) / (1 + write_cost / interval)


@formula(unit="1", source="exponential failures, none during a restart; derived on the page", symbol="A")
def ettr_exact(interval, write_cost, restart, mtbf):
    """The expected time to finish one interval and its write, with every attempt that a failure ended."""
    return interval / ((exp((interval + write_cost) / mtbf) - 1) * (mtbf + restart))
