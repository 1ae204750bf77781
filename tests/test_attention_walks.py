"""The walks over the score matrix against tensors that are really sliced, and the online softmax against the plain one."""

import random
from fractions import Fraction

import pytest
import torch

from threeledgers import count
from threeledgers.kernels import attention as kernels
from threeledgers.simulate.attention import columns_first_walk, moved, naive_walk, online_softmax, tiled_walk, tiles

SHAPES = [(12, 4, 4, 3), (13, 2, 5, 4), (7, 3, 7, 2), (9, 5, 2, 20), (16, 1, 1, 1), (5, 8, 100, 100)]


@pytest.mark.parametrize("seq, head_dim, rows, cols", SHAPES)
def test_walks_move_what_the_kernels_move(seq, head_dim, rows, cols):
    """The kernels slice real tensors and hand each slice to a meter; the walks only add integers."""
    q, k, v = torch.randn(3, seq, head_dim, dtype=torch.float64)
    tiled, naive = count.Traffic(), count.Traffic()
    kernels.tiled_attention(q, k, v, rows, cols, tiled)
    kernels.naive_attention(q, k, v, naive)
    assert tiled.bytes == 8 * moved(tiled_walk(seq, head_dim, rows, cols))
    assert naive.bytes == 8 * moved(naive_walk(seq, head_dim, rows))


def test_a_walk_by_hand():
    """Four queries and keys of width 2, tiles of 2 by 2: Q 4, twice K and V 16, out 4, log-sum-exps 2 ... twice."""
    walk = tiled_walk(4, 2, 2, 2)
    assert [(s.row, s.col, s.read, s.written) for s in walk] == [
        (0, 0, 12, 0),
        (0, 1, 8, 6),
        (1, 0, 12, 0),
        (1, 1, 8, 6),
    ]
    assert [(s.what, s.read, s.written) for s in naive_walk(4, 2, 4)] == [
        ("scores", 16, 16),
        ("softmax", 16, 16),
        ("output", 24, 8),
    ]
    assert moved(walk) == 52 and moved(naive_walk(4, 2, 4)) == 96  # the page's smallest case
    assert moved(columns_first_walk(4, 2, 16)) == 2 * 4 * (2 + 4 + 4) + 2 * 4 * 2


def test_every_tile_is_visited_once_and_rows_are_written_once():
    for seq, head_dim, rows, cols in SHAPES:
        walk = tiled_walk(seq, head_dim, rows, cols)
        assert len({(s.row, s.col) for s in walk}) == len(walk) == len(tiles(seq, rows)) * len(tiles(seq, cols))
        assert sum(s.written for s in walk) == seq * (head_dim + 1)
        assert sum(tiles(seq, rows)) == seq


def test_tiles_of_nothing_are_refused():
    for length, size in ((0, 4), (4, 0), (4, -1)):
        with pytest.raises(ValueError, match="at least 1"):
            tiles(length, size)


def test_columns_first_by_brute_force():
    """A cache of one slot a kind, moved element by element as the algorithm's lines say."""
    for seq, d, onchip in ((24, 2, 32), (40, 4, 64), (17, 3, 60)):
        total, cols = 0, -(-onchip // (4 * d))
        for j in range(0, seq, cols):
            for _ in range(j, min(j + cols, seq)):
                total += 2 * d  # its key and its value come in
            for i in range(0, seq, min(cols, d)):
                for _ in range(i, min(i + min(cols, d), seq)):
                    total += d + (d + 1 + 1) + (d + 1 + 1)  # query in; output, sum, maximum in and out
        assert moved(columns_first_walk(seq, d, onchip)) == total


def test_online_softmax_by_hand():
    """Scores 1, 3 then 2, 5: 1/4 + 1 = 5/4; the maximum rises by 2, so a quarter of that, and 1/8 + 1."""
    states = online_softmax([1, 3, 2, 5], [1, 0, 0, 1], 2)
    assert states == [(3, Fraction(5, 4), Fraction(1, 4)), (5, Fraction(23, 16), Fraction(17, 16))]
    assert states[-1][2] / states[-1][1] == Fraction(2 + 32, 2 + 8 + 4 + 32)


def test_online_softmax_is_the_plain_softmax_for_any_tiling():
    rng = random.Random(8)
    for _ in range(200):
        scores = [rng.randint(-9, 9) for _ in range(rng.randint(1, 12))]
        values = [rng.randint(-9, 9) for _ in scores]
        weights = [Fraction(2) ** s for s in scores]
        want = sum(w * v for w, v in zip(weights, values, strict=True)) / sum(weights)
        for tile in range(1, len(scores) + 1):
            top, total, weighted = online_softmax(scores, values, tile)[-1]
            assert weighted / total == want and top == max(scores) and total >= 1
