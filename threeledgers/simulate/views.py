"""When ``view`` succeeds, which strides it gives, and when ``reshape`` or ``contiguous`` copies: PyTorch's rules, in integers.

The rule is that of ``computeStride`` in PyTorch's aten/src/ATen/TensorUtils.cpp.
"""

from math import prod


def contiguous_stride(shape):
    """Strides, in elements, that PyTorch gives a fresh tensor of this shape (row major; a size 0 counts as 1)."""
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= max(size, 1)
    return tuple(reversed(strides))


def is_contiguous(shape, stride):
    """True when the elements lie in row-major order without gaps; the strides of dimensions of size 1 do not matter."""
    if prod(shape) == 0:
        return True
    step = 1
    for size, s in zip(reversed(shape), reversed(stride), strict=True):
        if size != 1 and s != step:
            return False
        step *= size
    return True


def complete_shape(numel, new_shape):
    """``new_shape`` with its one -1 replaced. Raises ValueError when the numbers of elements cannot agree."""
    if any(n < -1 for n in new_shape) or list(new_shape).count(-1) > 1:
        raise ValueError(f"a shape has sizes >= 0 and at most one -1, got {tuple(new_shape)}")
    rest = prod(n for n in new_shape if n != -1)
    if -1 in new_shape:
        if rest == 0 or numel % rest:
            raise ValueError(f"{tuple(new_shape)} cannot hold {numel} elements")
        return tuple(numel // rest if n == -1 else n for n in new_shape)
    if rest != numel:
        raise ValueError(f"{tuple(new_shape)} holds {rest} elements, not {numel}")
    return tuple(new_shape)


def blocks(shape, stride):
    """The dimensions merged as far as they go: a list of (elements, stride of the innermost one), outermost first.

    Two neighbours merge when a step outside equals a full run inside; a dimension of size 1 merges with anything.
    """
    merged = [[shape[-1], stride[-1]]]
    for size, s in zip(reversed(shape[:-1]), reversed(stride[:-1]), strict=True):
        elements, inner = merged[0]
        if size == 1 or s == elements * inner:
            merged[0][0] *= size
        else:
            merged.insert(0, [size, s])
    return [tuple(block) for block in merged]


def view_stride(shape, stride, new_shape):
    """Strides of ``tensor.view(new_shape)`` for a tensor of this shape and stride, or None where ``view`` raises.

    All in elements; ``new_shape`` must hold as many elements (see ``complete_shape``). Every new dimension must lie inside
    one block: the blocks are cut up from the innermost outwards.
    """
    if not shape:
        return (1,) * len(new_shape)
    if prod(shape) == 0:
        return tuple(stride) if tuple(shape) == tuple(new_shape) else contiguous_stride(new_shape)
    result, left = [], list(new_shape)
    for elements, step in reversed(blocks(shape, stride)):
        taken = 1
        while left and (taken < elements or left[-1] == 1):
            result.append(taken * step)
            taken *= left.pop()
        if taken != elements:
            return None
    return tuple(reversed(result))


def reshape(shape, stride, new_shape):
    """``(strides, copied)`` of ``tensor.reshape(new_shape)``: a view where one exists, else a fresh row-major copy."""
    strides = view_stride(shape, stride, new_shape)
    return (contiguous_stride(new_shape), True) if strides is None else (strides, False)


def offsets(shape, stride, offset=0):
    """Place of every element in the storage, in elements, in row-major order of the indices."""
    places = [offset]
    for size, s in zip(shape, stride, strict=True):
        places = [place + i * s for place in places for i in range(size)]
    return places
