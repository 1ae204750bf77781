"""``compute_stride``: when a view is legal, and with which strides."""

import random
from math import prod

STUB = '''def compute_stride(shape, stride, new_shape):
    """Strides of view(new_shape), as a tuple, or None where view raises.

    shape, stride, new_shape: tuples of integers. Both shapes hold the same
    number of elements; new_shape has no size of 1. About 20 lines.
    """
'''


def compute_stride(shape, stride, new_shape):
    """The reference: blocks of merged dimensions, cut up from the innermost outwards."""
    blocks = []
    for n, s in zip(shape, stride, strict=True):
        if n == 1:
            continue
        if blocks and blocks[-1][1] == n * s:
            blocks[-1] = [blocks[-1][0] * n, s]
        else:
            blocks.append([n, s])
    result = []
    for n in reversed(new_shape):
        if not blocks or blocks[-1][0] % n:
            return None
        elements, step = blocks.pop()
        result.append(step)
        if elements > n:
            blocks.append([elements // n, step * n])
    return tuple(reversed(result))


def row_major(shape):
    """Strides of a fresh tensor."""
    return tuple(prod(shape[i + 1 :]) for i in range(len(shape)))


def only_contiguous(shape, stride, new_shape):
    """Planted: a view is legal only if the tensor is contiguous."""
    return row_major(new_shape) if tuple(stride) == row_major(shape) else None


def size_one_counts(shape, stride, new_shape):
    """Planted: dimensions of size 1 stop a merge like any other."""
    merged = [[shape[0], stride[0]]]
    for n, s in zip(shape[1:], stride[1:], strict=True):
        if merged[-1][1] == n * s:
            merged[-1] = [merged[-1][0] * n, s]
        else:
            merged.append([n, s])
    if len(merged) > 1 and any(n == 1 for n, _ in merged):
        return None
    return compute_stride(*zip(*merged, strict=True), new_shape)


def always_legal(shape, stride, new_shape):
    """Planted: every view works, with the strides of a fresh tensor."""
    return row_major(new_shape)


def inputs():
    """300 calls: permuted and sliced shapes, sizes of 1 among them."""
    cases = [((2, 3), (3, 1), (6,)), ((3, 2), (1, 3), (6,)), ((3, 1), (1, 3), (3,)), ((2, 1), (3, 1), (2,))]
    rng = random.Random(5)
    while len(cases) < 300:
        base = [rng.choice((1, 2, 3, 4)) for _ in range(rng.randint(2, 4))]
        order, step = rng.sample(range(len(base)), len(base)), rng.choice((1, 1, 2))
        shape, stride = [base[d] for d in order], [row_major(base)[d] for d in order]
        shape[-1], stride[-1] = -(-shape[-1] // step), stride[-1] * step
        numel, new = prod(shape), []
        while numel > 1:
            divisors = [n for n in range(2, numel + 1) if numel % n == 0]
            new.append(numel if len(new) == 2 else rng.choice(divisors))
            numel //= new[-1]
        if new:
            cases.append((tuple(shape), tuple(stride), tuple(new)))
    return cases
