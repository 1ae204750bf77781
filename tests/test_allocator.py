"""The caching allocator in small: its invariants on random histories, and cases worked by hand."""

import random

import pytest

from threeledgers.simulate.allocator import LARGE_SEGMENT, MIB, ROUND, SMALL_SEGMENT, Allocator, OutOfMemory

GIB = 2**30


@pytest.mark.parametrize("seed", range(60))
def test_invariants(seed):
    rng = random.Random(seed)
    allocator, live = Allocator(rng.choice((40, 100, 400)) * MIB), []
    for _ in range(80):
        if live and rng.random() < 0.45:
            block, _ = live.pop(rng.randrange(len(live)))
            allocator.free(block)
        else:
            size = rng.choice((rng.randint(1, 2 * MIB), rng.randint(1, 30 * MIB)))
            try:
                live.append((allocator.allocate(size), size))
            except OutOfMemory:
                assert allocator.reserved + size > allocator.capacity - LARGE_SEGMENT
        assert allocator.allocated <= allocator.reserved <= allocator.capacity
        assert all(block.used and block.size >= size and block.size % ROUND == 0 for block, size in live)
        assert sum(block.size for block, _ in live) == allocator.allocated
        for segment in allocator.segments:
            at = 0
            for block in segment.blocks:  # side by side, from end to end, no two free ones next to each other
                assert block.start == at
                at += block.size
            assert at == segment.size
            assert not any(not a.used and not b.used for a, b in zip(segment.blocks, segment.blocks[1:], strict=False))


def test_sizes_by_hand():
    a = Allocator(GIB)
    assert a.allocate(1).size == 512 and a.reserved == SMALL_SEGMENT
    assert a.allocate(513).size == 1024 and a.reserved == SMALL_SEGMENT
    assert a.allocate(3 * MIB).size == 3 * MIB and a.reserved == SMALL_SEGMENT + LARGE_SEGMENT
    assert a.allocate(11 * MIB).size == 11 * MIB and a.reserved == SMALL_SEGMENT + LARGE_SEGMENT
    assert a.allocate(25 * MIB + 1).size == 26 * MIB  # the rest is not worth a block of its own
    assert a.allocated == 512 + 1024 + 3 * MIB + 11 * MIB + 26 * MIB


def test_free_bytes_that_cannot_be_had():
    """Eight tensors of 1 GiB fill the card; every second one is freed: 4 GiB are free, 2 GiB cannot be had."""
    a = Allocator(8 * GIB)
    first = a.allocate(8 * GIB)
    a.free(first)
    blocks = [a.allocate(GIB) for _ in range(8)]
    assert a.reserved == 8 * GIB  # all cut from the one large segment
    for block in blocks[::2]:
        a.free(block)
    assert a.reserved - a.allocated == 4 * GIB
    with pytest.raises(OutOfMemory, match="tried to allocate 2,147,483,648 bytes: 4,294,967,296 are allocated"):
        a.allocate(2 * GIB)
    a.free(blocks[1])  # three neighbours merge
    assert a.allocate(2 * GIB).size == 2 * GIB


def test_unused_segments_are_given_back_before_it_fails():
    a = Allocator(100 * MIB)
    a.free(a.allocate(60 * MIB))
    assert a.reserved == 60 * MIB and a.allocated == 0
    assert a.allocate(90 * MIB).size == 90 * MIB and a.reserved == 90 * MIB


def test_a_block_is_freed_once():
    a = Allocator(GIB)
    block = a.allocate(600)
    keep = a.allocate(600)
    a.free(block)
    with pytest.raises(ValueError, match="free already"):
        a.free(block)
    assert keep.used
