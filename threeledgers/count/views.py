"""Where the elements of a tensor lie, asked of PyTorch, and random views to try rules on."""

import random
from math import prod

import torch


def storage_bytes(tensor):
    """Bytes that the tensor's storage really occupies; ``tensor.nbytes`` is the logical size and may be larger or smaller."""
    return tensor.untyped_storage().nbytes()


def shares_storage(a, b):
    """True when both tensors are views of one storage: nothing was copied between them."""
    return a.untyped_storage().data_ptr() == b.untyped_storage().data_ptr()


def element_addresses(tensor):
    """Address of every element, in row-major order of the indices, asked of PyTorch one element at a time."""
    if tensor.dim() == 0:
        return [tensor.data_ptr()]
    return [address for row in tensor for address in element_addresses(row)]


def view_or_none(tensor, shape):
    """``tensor.view(shape)``, or None where PyTorch says that the strides do not allow it."""
    try:
        return tensor.view(shape)
    except RuntimeError as error:
        if "view size is not compatible" not in str(error):
            raise
        return None


def random_views(count, seed):
    """Yield ``count`` pairs (tensor, shape): permuted, sliced and expanded tensors, each with a shape to try ``view`` with.

    About two thirds of the pairs can be viewed. Sizes are small: the rules look at integers, not at bytes.
    """
    rng = random.Random(seed)
    for _ in range(count):
        tensor = torch.empty([rng.choice((1, 2, 3, 4, 4, 6)) for _ in range(rng.randint(2, 4))])
        for _ in range(rng.randint(1, 3)):
            tensor = _rearrange(tensor, rng)
        yield tensor, _same_size(tuple(tensor.shape), rng)


def _rearrange(tensor, rng):
    kind = rng.choice(("permute", "permute", "slice", "expand"))
    if kind == "permute":
        return tensor.permute(rng.sample(range(tensor.dim()), tensor.dim()))
    if kind == "expand":
        return tensor.expand([rng.choice((1, 3)) if n == 1 else n for n in tensor.shape])
    dim = rng.randrange(tensor.dim())
    start = rng.randrange(tensor.shape[dim])
    stop = rng.randint(start + 1, tensor.shape[dim])
    return tensor[(slice(None),) * dim + (slice(start, stop, rng.randint(1, 2)),)]


def _same_size(shape, rng):
    """Another shape with as many elements: neighbours merged and sizes 1 put in, or a fresh factorisation."""
    sizes = list(shape)
    if rng.random() < 0.4:
        for _ in range(rng.randint(1, 3)):
            at = rng.randrange(len(sizes))
            if rng.random() < 0.6 and at + 1 < len(sizes):
                sizes[at : at + 2] = [sizes[at] * sizes[at + 1]]
            else:
                sizes.insert(at, 1)
        return tuple(sizes)
    numel, sizes = prod(shape), []
    while numel > 1 and len(sizes) < 3:
        sizes.append(rng.choice([n for n in range(2, numel + 1) if numel % n == 0]))
        numel //= sizes[-1]
    return tuple([*sizes, numel])
