"""PyTorch's caching allocator for CUDA, in small: why bytes can be free and still not be had.

Requests are rounded up to 512 bytes. Small ones (up to 1 MiB) are cut from segments of 2 MiB, larger ones (below 10 MiB)
from segments of 20 MiB, the rest from segments of their own size, rounded up to 2 MiB. A freed block is merged with free
neighbours of its segment and kept; the best fit is taken first. Constants as in c10/cuda/CUDACachingAllocator.cpp.
"""

from dataclasses import dataclass

MIB = 2**20
ROUND, SMALL, SMALL_SEGMENT, LARGE_SEGMENT, LARGE, ROUND_LARGE = 512, MIB, 2 * MIB, 20 * MIB, 10 * MIB, 2 * MIB


class OutOfMemory(MemoryError):
    """No free block is large enough and the device has no room for another segment."""


@dataclass
class Block:
    """A piece of a segment: ``start`` and ``size`` in bytes, ``used`` or free."""

    start: int
    size: int
    used: bool = False


@dataclass
class Segment:
    """What the device handed out at once; its blocks lie side by side."""

    size: int
    small: bool
    blocks: list


def _up(size, step):
    return -(-size // step) * step


class Allocator:
    """A device of ``capacity`` bytes; ``allocated`` by tensors, ``reserved`` from the device."""

    def __init__(self, capacity):
        self.capacity, self.segments = capacity, []

    @property
    def reserved(self):
        """Bytes of all segments."""
        return sum(s.size for s in self.segments)

    @property
    def allocated(self):
        """Bytes of all used blocks, rounded sizes."""
        return sum(b.size for s in self.segments for b in s.blocks if b.used)

    @property
    def largest_free(self):
        """Size of the largest free block."""
        return max((b.size for s in self.segments for b in s.blocks if not b.used), default=0)

    def allocate(self, nbytes):
        """A block of at least ``nbytes``. Raises OutOfMemory, after giving unused segments back and trying again."""
        size = _up(max(nbytes, 1), ROUND)
        small = size <= SMALL
        found = self._best(size, small) or self._grow(size, small)
        if found is None:
            self.segments = [s for s in self.segments if any(b.used for b in s.blocks)]
            found = self._grow(size, small)
        if found is None:
            raise OutOfMemory(
                f"tried to allocate {size:,} bytes: {self.allocated:,} are allocated, {self.reserved:,} reserved of "
                f"{self.capacity:,}; the largest free block has {self.largest_free:,}"
            )
        segment, block = found
        rest = block.size - size
        if rest >= ROUND if small else rest > SMALL:
            segment.blocks.insert(segment.blocks.index(block) + 1, Block(block.start + size, rest))
            block.size = size
        block.used = True
        return block

    def free(self, block):
        """Give a block back to its segment, and merge it with free neighbours."""
        segment = next((s for s in self.segments if any(b is block for b in s.blocks)), None)
        if segment is None or not block.used:
            raise ValueError(f"the block at {block.start} is free already")
        block.used = False
        merged = []
        for b in segment.blocks:
            if merged and not b.used and not merged[-1].used:
                merged[-1] = Block(merged[-1].start, merged[-1].size + b.size)
            else:
                merged.append(b)
        segment.blocks = merged

    def _best(self, size, small):
        fitting = [(s, b) for s in self.segments if s.small == small for b in s.blocks if not b.used and b.size >= size]
        return min(fitting, key=lambda pair: pair[1].size, default=None)

    def _grow(self, size, small):
        segment = SMALL_SEGMENT if small else LARGE_SEGMENT if size < LARGE else _up(size, ROUND_LARGE)
        if self.reserved + segment > self.capacity:
            return None
        self.segments.append(Segment(segment, small, [Block(0, segment)]))
        return self.segments[-1], self.segments[-1].blocks[0]
