"""Communication: equal to collectives played out rank by rank, and to the payloads that PyTorch issues."""

from fractions import Fraction
from functools import cache

import torch

from tests.witnesses import close
from threeledgers import count, gpu
from threeledgers import formulas as f
from threeledgers.simulate import collectives as play

RANKS = (2, 3, 4, 8)
PARTS = 6  # elements of one rank's part of the played buffers
ALPHA, BETA = Fraction(7, 3), Fraction(11, 5)


@cache
def run(kind, ranks):
    """(played collective, elements of the full buffer)."""
    length = PARTS * ranks
    buffers = [[100 * r + i for i in range(length)] for r in range(ranks)]
    shards = [b[:PARTS] for b in buffers]
    total = [sum(column) for column in zip(*buffers, strict=True)]
    made = {
        "all_reduce": lambda: play.ring_allreduce(buffers),
        "all_gather": lambda: play.ring_allgather(shards),
        "reduce_scatter": lambda: play.ring_reducescatter(buffers),
        "all_to_all": lambda: play.alltoall(buffers),
        "broadcast": lambda: play.tree_broadcast(buffers[0], ranks),
        "reduce": lambda: play.tree_reduce(buffers),
        "gather": lambda: play.gather(shards),
        "scatter": lambda: play.scatter(buffers[0], ranks),
    }[kind]()
    expected = {  # what the standard says must arrive
        "all_reduce": [total] * ranks,
        "all_gather": [sum(shards, [])] * ranks,
        "reduce_scatter": [total[((r + 1) % ranks) * PARTS :][:PARTS] for r in range(ranks)],
        "all_to_all": [sum((b[r * PARTS : (r + 1) * PARTS] for b in buffers), []) for r in range(ranks)],
        "broadcast": [buffers[0]] * ranks,
        "reduce": [total, *[None] * (ranks - 1)],
        "gather": [sum(shards, []), *[None] * (ranks - 1)],
        "scatter": [buffers[0][r * PARTS : (r + 1) * PARTS] for r in range(ranks)],
    }[kind]
    assert made.result == expected
    return made, length


def share(kind, ranks):
    """Bytes that every rank of a ring sends, over the payload."""
    made, length = run(kind, ranks)
    assert len(set(made.sent)) == 1
    return Fraction(made.sent[0], length)


def _sent(formula, kind, rank=0):
    for ranks in RANKS:
        made, length = run(kind, ranks)
        told = formula(**{"message": 4 * length, **({"ranks": ranks} if "ranks" in formula.parameters else {})})
        assert told == 4 * made.sent[rank]


def broadcast_bytes_witness():
    made, length = run("broadcast", 2)
    assert f.broadcast_bytes(message=4 * length) == 4 * made.sent[0]
    made, length = run("broadcast", 8)
    edges = 7
    assert sum(made.sent) * 4 == edges * f.broadcast_bytes(message=4 * length)


def reduce_bytes_witness():
    for ranks in RANKS:
        made, length = run("reduce", ranks)
        assert [4 * s for s in made.sent[1:]] == [f.reduce_bytes(message=4 * length)] * (ranks - 1)


def gather_bytes_witness():
    _sent(f.gather_bytes, "gather", rank=1)


def scatter_bytes_witness():
    _sent(f.scatter_bytes, "scatter")


def allgather_bytes_witness():
    _sent(f.allgather_bytes, "all_gather")


def reducescatter_bytes_witness():
    _sent(f.reducescatter_bytes, "reduce_scatter")


def alltoall_bytes_witness():
    _sent(f.alltoall_bytes, "all_to_all")


def ring_allreduce_bytes_witness():
    _sent(f.ring_allreduce_bytes, "all_reduce")


def tree_allreduce_bytes_witness():
    """A node with a parent and two children: every edge carries the buffer once up and once down."""
    parent, children, message = 1, 2, 1000
    assert f.tree_allreduce_bytes(message=message) == parent * message + children * message


def sendrecv_bytes_witness():
    with count.fake_group(2):
        _, kinds = count.comm_bytes(lambda: torch.distributed.send(torch.zeros(7, 3), 1))
    assert kinds == {"send": (1, f.sendrecv_bytes(message=84))}


def transfer_time_witness():
    """A ring of 2 that gathers sends one message of half the buffer."""
    made, length = run("all_gather", 2)
    assert f.transfer_time.exact(latency=ALPHA, message=length // 2, bandwidth=BETA) == made.time(ALPHA, BETA)


def _time(formula, kind, names="ranks latency message bandwidth"):
    for ranks in RANKS:
        made, length = run(kind, ranks)
        values = dict(ranks=ranks, latency=ALPHA, message=4 * length, bandwidth=BETA)
        assert formula.exact(**{n: values[n] for n in names.split()}) == made.time(ALPHA, BETA, 4)


def ring_allreduce_time_witness():
    _time(f.ring_allreduce_time, "all_reduce")


def ring_allgather_time_witness():
    _time(f.ring_allgather_time, "all_gather")
    _time(f.ring_allgather_time, "reduce_scatter")
    twobd = 2 * 1024 * 4096  # Austin et al. 2025, question 2.2: an all-gather over two axes of a TPU v5e
    close(f.ring_allgather_time(ranks=10**9, latency=0, message=twobd, bandwidth=2 * 9e10), 4.6e-05, 0.02)


def alltoall_time_witness():
    _time(f.alltoall_time, "all_to_all")


def tree_broadcast_time_witness():
    _time(f.tree_broadcast_time, "broadcast")
    _time(f.tree_broadcast_time, "reduce")


def tree_allreduce_time_witness():
    """Two pipelined halves; the limit of ever smaller chunks, extrapolated exactly from two chunk counts."""
    for levels, message in ((1, 64), (3, 640), (5, 96)):
        few, many = (play.pipelined_path(levels, chunks, ALPHA, message, BETA) for chunks in (8, 16))
        limit = 2 * (2 * many - few)
        assert f.tree_allreduce_time.exact(ranks=2**levels, latency=ALPHA, message=message, bandwidth=BETA) == limit


def ring_time_witness():
    for kind, phases in (("all_reduce", 2), ("all_gather", 1), ("reduce_scatter", 1)):
        for ranks in RANKS:
            made, _ = run(kind, ranks)
            told = f.ring_time.exact(phases=phases, ranks=ranks, latency=ALPHA, sent=4 * made.sent[0], bandwidth=BETA)
            assert told == made.time(ALPHA, BETA, 4)


def allreduce_factor_witness():
    for ranks in RANKS:
        assert f.allreduce_factor.exact(ranks=ranks) == share("all_reduce", ranks)


def allgather_factor_witness():
    for ranks in RANKS:
        for kind in ("all_gather", "reduce_scatter", "all_to_all"):
            assert f.allgather_factor.exact(ranks=ranks) == share(kind, ranks)


def bus_bandwidth_witness():
    """8 H200, all-reduce of 16 GiB (Bekman 2026): algorithm bandwidth 275.58 GB/s is printed beside 482.26."""
    seconds = 16 * 2**30 / 275.58e9
    close(f.bus_bandwidth(factor=1.75, message=16 * 2**30, step_time=seconds), 482.26e9, 1e-4)


def link_fraction_witness():
    a100 = gpu("a100_sxm_80").link_bandwidth  # Bekman 2026: 234.89 GB/s are printed as 78 %
    close(f.link_fraction(bandwidth=234.89e9, link_bandwidth=a100), 0.783, 0.001)


def half_size_witness():
    """A message at which waiting and sending take equally long in the played ring."""
    for kind, phases in (("all_reduce", 2), ("all_gather", 1)):
        for ranks in RANKS:
            made, _ = run(kind, ranks)
            factor = share(kind, ranks)
            values = dict(phases=phases, ranks=ranks, latency=ALPHA, bandwidth=BETA, factor=factor)
            assert f.half_size.exact(**values) * factor / BETA == len(made.rounds) * ALPHA
