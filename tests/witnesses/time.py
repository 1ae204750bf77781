"""Times and rates: published figures, and steps added up one by one."""

from fractions import Fraction

from tests.witnesses import close
from threeledgers import formulas as f


def roofline_time_witness():
    """Work in equal slices on two units that run side by side: the later one ends it."""
    for flops, peak, traffic, bandwidth in ((1000, 10, 300, 2), (500, 10, 900, 3), (7, 2, 9, 4)):
        arithmetic = sum(Fraction(1, peak) for _ in range(flops))
        memory = sum(Fraction(1, bandwidth) for _ in range(traffic))
        told = f.roofline_time.exact(flops=flops, peak=peak, traffic=traffic, bandwidth=bandwidth)
        assert told == sorted([arithmetic, memory])[-1]


def roofline_rate_witness():
    for flops, peak, traffic, bandwidth in ((1000, 10, 300, 2), (500, 10, 9, 3)):
        seconds = max(Fraction(flops, peak), Fraction(traffic, bandwidth))
        told = f.roofline_rate.exact(peak=peak, intensity=Fraction(flops, traffic), bandwidth=bandwidth)
        assert told == flops / seconds


def mfu_witness():
    for achieved, published in ((430e12, 0.43), (400e12, 0.41)):  # Llama Team 2024, table 4, of 989 TFLOP/s
        close(f.mfu(flops=achieved * 16 * 3, step_time=3, ranks=16, peak=989.4e12), published, 0.015)
    flops = 6 * 540.35e9 * 238.3e3  # Chowdhery et al. 2022: PaLM 540B, 238.3 thousand tokens a second on 6144 TPU v4
    close(f.mfu(flops=flops, step_time=1, ranks=6144, peak=275e12), 0.457, 0.003)


def hfu_witness():
    """Narayanan et al. 2021, table 1: 163 TFLOP/s of 312, recomputation included, on 2520 GPUs."""
    executed = 163e12 * 2520 * 5
    close(f.hfu(flops=executed * 0.75, recompute=executed * 0.25, step_time=5, ranks=2520, peak=312e12), 0.52, 0.015)
    model, again = 3 * 10**15, 10**15  # a quarter of what runs is recomputed: hfu is 4/3 of mfu
    close(
        f.hfu(flops=model, recompute=again, step_time=2, ranks=3, peak=10**15)
        / f.mfu(flops=model, step_time=2, ranks=3, peak=10**15),
        4 / 3,
        1e-12,
    )


def aggregate_rate_witness():
    close(f.aggregate_rate(ranks=3072, achieved=163e12), 502.0e15, 0.01)  # Narayanan et al. 2021, table 1, row 10
    assert f.aggregate_rate(ranks=3, achieved=7) == 7 + 7 + 7


def train_time_witness():
    days = 86400  # Narayanan et al. 2021, section 5.1: 175B and 1T, recomputation included, at the achieved rate
    close(f.train_time(flops=8 * 300e9 * 175e9, ranks=1024, peak=280e12, mfu=0.5) / days, 34, 0.01)
    close(f.train_time(flops=8 * 450e9 * 1008e9, ranks=3072, peak=326e12, mfu=0.5) / days, 84, 0.01)


def train_days_witness():
    """Steps counted one by one until the tokens are used up."""
    for batch, seq, seconds in ((4, 50, 432), (5, 8, 864)):
        tokens, spent, steps = 20 * batch * seq, 0, 0
        while spent < tokens:
            spent, steps = spent + batch * seq, steps + 1
        assert f.train_days.exact(tokens=tokens, batch=batch, seq=seq, step_time=seconds) == Fraction(
            steps * seconds, 86400
        )


def gpus_needed_witness():
    """Devices added one by one until the work is done in time."""
    for flops, peak, mfu, seconds in ((10**6, 100, Fraction(2, 5), 300), (5000, 7, Fraction(1, 3), 11)):
        devices = 1
        while devices * peak * mfu * seconds < flops:
            devices += 1
        assert f.gpus_needed(flops=flops, peak=peak, mfu=mfu, wall_time=seconds) == devices


def overlapped_time_witness():
    """Two resources each tick through their own queue; done when both queues are empty."""
    for compute, comm in ((7, 4), (3, 9), (5, 5)):
        left, ticks = [compute, comm], 0
        while any(left):
            left, ticks = [max(0, n - 1) for n in left], ticks + 1
        assert f.overlapped_time(compute_time=compute, comm_time=comm) == ticks


def serial_time_witness():
    for compute, comm in ((7, 4), (3, 9)):
        assert f.serial_time(compute_time=compute, comm_time=comm) == len([*range(compute), *range(comm)])
