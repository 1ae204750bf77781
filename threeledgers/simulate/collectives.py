"""Collectives played out rank by rank, message by message: what arrives where, who sends how much, in how many rounds.

Every function returns a Run. Buffers are lists of numbers, one list a rank, all of the same length; a length that the
ranks do not divide is refused. Algorithms: ring (Patarasuk & Yuan 2009), binomial tree (Thakur et al. 2005), direct.
"""

from fractions import Fraction


class Run:
    """``result[r]``: rank r's buffer at the end; ``sent[r]``: elements it sent; ``rounds``: the most that one rank sent in each."""

    def __init__(self, ranks):
        self.result, self.sent, self.rounds = None, [0] * ranks, []

    def round(self, messages):
        """Deliver ``(from, to, elements)`` at the same time; a rank that sends twice in a round sends both over its one link."""
        busy = [0] * len(self.sent)
        for source, _, elements in messages:
            busy[source] += len(elements)
        self.sent = [a + b for a, b in zip(self.sent, busy, strict=True)]
        self.rounds.append(max(busy))

    def time(self, latency, bandwidth, elem_bytes=1):
        """Seconds when each round costs ``latency`` and its largest sender's bytes over ``bandwidth``; exact for exact numbers."""
        return sum(latency + Fraction(n * elem_bytes) / bandwidth for n in self.rounds)


def _parts(buffers):
    ranks, length = len(buffers), len(buffers[0])
    if any(len(b) != length for b in buffers) or length % ranks:
        raise ValueError(
            f"{ranks} ranks need buffers of one length that {ranks} divides, got {[len(b) for b in buffers]}"
        )
    size = length // ranks
    return [[list(b[i * size : (i + 1) * size]) for i in range(ranks)] for b in buffers]


def _ring(run, parts, first, merge):
    """N-1 rounds; in round k rank r passes part ``first + r - k`` to its right neighbour, which merges it."""
    ranks = len(parts)
    for k in range(ranks - 1):
        messages = [(r, (r + 1) % ranks, parts[r][(first + r - k) % ranks][:]) for r in range(ranks)]
        run.round(messages)
        for source, to, elements in messages:
            at = (first + source - k) % ranks
            parts[to][at] = merge(parts[to][at], elements)


def _add(mine, theirs):
    return [a + b for a, b in zip(mine, theirs, strict=True)]


def ring_reducescatter(buffers):
    """Rank r ends with part r+1 (modulo N) of the sum."""
    run, parts = Run(len(buffers)), _parts(buffers)
    _ring(run, parts, 0, _add)
    run.result = [parts[r][(r + 1) % len(parts)] for r in range(len(parts))]
    return run


def ring_allreduce(buffers):
    """Reduce-scatter, then all-gather: every rank ends with the sum."""
    run, parts = Run(len(buffers)), _parts(buffers)
    _ring(run, parts, 0, _add)
    _ring(run, parts, 1, lambda mine, theirs: theirs)
    run.result = [sum(p, []) for p in parts]
    return run


def ring_allgather(shards):
    """Every rank ends with all shards, in the order of the ranks."""
    ranks = len(shards)
    run = Run(ranks)
    parts = [[list(shard) if r == i else [] for i, shard in enumerate(shards)] for r in range(ranks)]
    _ring(run, parts, 0, lambda mine, theirs: theirs)
    run.result = [sum(p, []) for p in parts]
    return run


def tree_broadcast(buffer, ranks):
    """Binomial tree from rank 0: in each round every rank that has the buffer sends it to one that has not."""
    run, have = Run(ranks), [0]
    while len(have) < ranks:
        pairs = list(zip(have, range(len(have), ranks), strict=False))
        run.round([(source, to, buffer) for source, to in pairs])
        have += [to for _, to in pairs]
    run.result = [list(buffer) for _ in range(ranks)]
    return run


def tree_reduce(buffers):
    """The same tree backwards: rank 0 ends with the sum, and every other rank sends its partial sum once."""
    ranks = len(buffers)
    run, partial, left = Run(ranks), [list(b) for b in buffers], ranks
    while left > 1:
        half = (left + 1) // 2
        messages = [(r, r - half, partial[r]) for r in range(half, left)]
        run.round(messages)
        for source, to, elements in messages:
            partial[to] = _add(partial[to], elements)
            partial[source] = None
        left = half
    run.result = partial
    return run


def gather(shards):
    """Every rank sends its shard to rank 0, all in one round."""
    run = Run(len(shards))
    run.round([(r, 0, shard) for r, shard in enumerate(shards) if r])
    run.result = [sum((list(s) for s in shards), []), *[None] * (len(shards) - 1)]
    return run


def scatter(buffer, ranks):
    """Rank 0 sends every other rank its part, one after the other."""
    run, parts = Run(ranks), _parts([buffer] + [buffer] * (ranks - 1))[0]
    for r in range(1, ranks):
        run.round([(0, r, parts[r])])
    run.result = parts
    return run


def alltoall(buffers):
    """In round k every rank sends rank r + k the part that is meant for it."""
    ranks, parts = len(buffers), _parts(buffers)
    run = Run(ranks)
    got = [[parts[s][r] if s == r else None for s in range(ranks)] for r in range(ranks)]
    for k in range(1, ranks):
        run.round([(r, (r + k) % ranks, parts[r][(r + k) % ranks]) for r in range(ranks)])
        for r in range(ranks):
            got[(r + k) % ranks][r] = parts[r][(r + k) % ranks]
    run.result = [sum(g, []) for g in got]
    return run


def pipelined_path(edges, chunks, latency, message, bandwidth):
    """Seconds until the last of ``chunks`` equal pieces has crossed ``edges`` edges in a row, as from a leaf to the root.

    A piece enters an edge when it has arrived and the edge has sent the one before; it arrives ``latency`` later.
    """
    send, free = Fraction(message, chunks) / bandwidth, [Fraction(0)] * edges
    for _ in range(chunks):
        arrived = Fraction(0)
        for edge in range(edges):
            free[edge] = max(arrived, free[edge]) + send
            arrived = free[edge] + latency
    return arrived
