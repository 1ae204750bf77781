"""What one warp's access touches: sectors of device memory, banks of shared memory. Counted lane by lane."""

from collections import defaultdict


def lane_bytes(stride, elem_bytes, offset=0, lanes=32):
    """First byte that each lane reads: lane i reads element ``offset + i * stride`` of an aligned array."""
    return [(offset + lane * stride) * elem_bytes for lane in range(lanes)]


def touched_sectors(stride, elem_bytes, offset=0, lanes=32, sector=32):
    """Sorted numbers of the sectors (of ``sector`` bytes) in which at least one byte is read by a lane."""
    touched = set()
    for first in lane_bytes(stride, elem_bytes, offset, lanes):
        touched.update(range(first // sector, (first + elem_bytes - 1) // sector + 1))
    return sorted(touched)


def conflict_ways(stride, lanes=32, banks=32):
    """Most lanes that meet in one bank with different words (stride in 4-byte words): the access takes that many turns.

    Lanes that read the same word share it (a broadcast) and do not conflict.
    """
    words = defaultdict(set)
    for lane in range(lanes):
        words[lane * stride % banks].add(lane * stride)
    return max(len(different) for different in words.values())
