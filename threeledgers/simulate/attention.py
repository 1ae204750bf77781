"""Attention as a walk over the score matrix: what each step reads and writes, in elements of device memory.

One head of one sequence. A walk is a list of Steps; a tile at the edge may be smaller than the others.
"""

from fractions import Fraction
from typing import NamedTuple


class Step(NamedTuple):
    """``what`` runs on the tile at (``row``, ``col``), counted in tiles, and the elements that it reads and writes."""

    what: str
    row: int
    col: int
    read: int
    written: int


def tiles(length, size):
    """Sizes of the tiles that cover ``length``: all of ``size``, the last one what is left. Raises ValueError below 1."""
    if length < 1 or size < 1:
        raise ValueError(f"a length and a tile of at least 1 are needed, got {length} and {size}")
    whole, rest = divmod(length, size)
    return [size] * whole + [rest] * (rest > 0)


def naive_walk(seq, head_dim, rows):
    """Three operations, each down all rows: scores out, scores in and probabilities out, probabilities in.

    Keys and values are read once each, so this is the least that separate operations can move.
    """
    steps = []
    for what in ("scores", "softmax", "output"):
        for i, r in enumerate(tiles(seq, rows)):
            table = seq * head_dim if i == 0 else 0
            read, written = {
                "scores": (r * head_dim + table, r * seq),
                "softmax": (r * seq, r * seq),
                "output": (r * seq + table, r * head_dim),
            }[what]
            steps.append(Step(what, i, 0, read, written))
    return steps


def tiled_walk(seq, head_dim, rows, cols):
    """FlashAttention-2's order: a tile of queries stays on chip while all keys and values pass by.

    Written at the end of a row of tiles: its output and one log-sum-exp a query.
    """
    steps = []
    for i, r in enumerate(tiles(seq, rows)):
        for j, c in enumerate(across := tiles(seq, cols)):
            last = j == len(across) - 1
            read = 2 * c * head_dim + (r * head_dim if j == 0 else 0)
            steps.append(Step("tile", i, j, read, r * head_dim + r if last else 0))
    return steps


def columns_first_walk(seq, head_dim, onchip):
    """Algorithm 1 of the FlashAttention paper, for ``onchip`` elements of fast memory: keys and values stay, queries pass.

    Each step reads a tile of queries with its output so far, its maxima and sums, and writes the last three back.
    """
    cols = max(1, -(-onchip // (4 * head_dim)))
    steps = []
    for j, c in enumerate(tiles(seq, cols)):
        for i, r in enumerate(tiles(seq, min(cols, head_dim))):
            kept = r * head_dim + 2 * r
            read = r * head_dim + kept + (2 * c * head_dim if i == 0 else 0)
            steps.append(Step("tile", i, j, read, kept))
    return steps


def moved(walk):
    """Elements that a walk reads and writes."""
    return sum(step.read + step.written for step in walk)


def online_softmax(scores, values, tile):
    """The states (maximum, sum, weighted sum) after each tile of whole-number scores, with powers of 2, as exact fractions.

    The weighted sum over the sum, at the end, is the softmax of all scores applied to the values.
    """
    states, start = [], 0
    top, total, weighted = None, Fraction(0), Fraction(0)
    for size in tiles(len(scores), tile):
        part = list(zip(scores[start : start + size], values[start : start + size], strict=True))
        start += size
        before, top = top, max([s for s, _ in part] + ([] if top is None else [top]))
        shrink = Fraction(0) if before is None else Fraction(2) ** (before - top)
        total = total * shrink + sum(Fraction(2) ** (s - top) for s, _ in part)
        weighted = weighted * shrink + sum(Fraction(2) ** (s - top) * v for s, v in part)
        states.append((top, total, weighted))
    return states
