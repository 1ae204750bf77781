"""Goodput: published figures, and integrals and minima found by number instead of by formula."""

from math import exp

from tests.witnesses import close
from threeledgers import formulas as f


def goodput_fraction_witness():
    """Ticks of a run: of 10 ticks 9 survive, in which 43 of 100 possible operations are done."""
    done = sum(43 for tick in range(10) if tick != 4)
    close(f.goodput_fraction(availability=0.9, mfu=0.43), done / (10 * 100), 1e-12)


def _faster(share, factor, steps=1000):
    parts = [1 / factor if i < share * steps else 1 for i in range(steps)]
    return steps / sum(parts)


def amdahl_speedup_witness():
    """A thousand slices of time, the touched ones made shorter; 5.7 is FlashAttention's gain on the operator."""
    for share, factor in ((0.8, 5.7), (0.25, 2), (0.5, 40)):
        close(f.amdahl_speedup(share=share, speedup=factor), _faster(share, factor), 1e-9)


def amdahl_limit_witness():
    for share in (0.8, 0.25, 0.5):
        close(f.amdahl_limit(share=share), _faster(share, 1e12), 1e-9)


def failures_mtbf_witness():
    """Kokolis et al. 2024: 6.50 failures per 1000 node-days, 8 GPUs a node."""
    for gpus, hours in ((16_384, 1.8), (131_072, 0.23)):
        close(f.failures_mtbf(nodes=gpus // 8, rate=0.0065) / 3600, hours, 0.025)


def observed_mtbf_witness():
    close(f.observed_mtbf(wall_time=54 * 86400, failures=419) / 3600, 3.09, 0.002)  # Llama Team 2024


def expected(segment, restart, mtbf, steps=2000):
    """Mean time to get through a segment without a failure: first-step analysis, the integral by Simpson's rule."""
    h = segment / steps
    weights = [1, *[4, 2] * (steps // 2 - 1), 4, 1]
    lost = sum(w * (i * h) * exp(-i * h / mtbf) / mtbf for i, w in enumerate(weights)) * h / 3
    survive = exp(-segment / mtbf)
    return (segment * survive + lost + restart * (1 - survive)) / survive


def useful(interval, write_cost, restart, mtbf):
    return interval / expected(interval + write_cost, restart, mtbf)


def ettr_exact_witness():
    for values in ((1765, 60, 600, 26_000), (14_400, 60, 600, 26_000), (300, 20, 5, 900)):
        interval, write_cost, restart, mtbf = values
        told = f.ettr_exact(interval=interval, write_cost=write_cost, restart=restart, mtbf=mtbf)
        close(told, useful(*values), 1e-9)


def ettr_fraction_witness():
    """Where an interval is short against μ and a write short against an interval, the first order is all there is."""
    for values in ((1000, 1, 300, 10**7), (3000, 2, 900, 10**8)):
        interval, write_cost, restart, mtbf = values
        told = f.ettr_fraction(interval=interval, write_cost=write_cost, restart=restart, mtbf=mtbf)
        assert abs(told - useful(*values)) < 3e-7


def _minimum(loss, low, high):
    for _ in range(200):
        a, b = low + (high - low) / 3, high - (high - low) / 3
        low, high = (low, b) if loss(a) < loss(b) else (a, high)
    return (low + high) / 2


def checkpoint_interval_witness():
    close(f.checkpoint_interval(write_cost=30, mtbf=3.09 * 3600), 817, 0.005)  # a write of 30 s at Llama 3's rate
    for write_cost, mtbf in ((60, 26_000), (5, 900)):
        best = _minimum(lambda t, d=write_cost, m=mtbf: d / t + t / (2 * m), 1, mtbf)
        close(f.checkpoint_interval(write_cost=write_cost, mtbf=mtbf), best, 1e-6)


def daly_interval_witness():
    """The interval at which the exact expected time per useful second is least; Young's is 5 % off here."""
    for write_cost, mtbf in ((100, 4000), (60, 1500)):
        best = _minimum(lambda t, d=write_cost, m=mtbf: (exp((t + d) / m) - 1) / t, 1, mtbf)
        close(f.daly_interval(write_cost=write_cost, mtbf=mtbf), best, 2e-4)
