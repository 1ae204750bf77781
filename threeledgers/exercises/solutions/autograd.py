"""``saved_bytes``: what autograd keeps for the backward pass of a function."""

STUB = '''def saved_bytes(fn, exclude):
    """Bytes that autograd keeps for the backward pass after fn() has run.

    Each storage counts once and whole; storages of the tensors in exclude
    do not count. Use torch.autograd.graph.saved_tensors_hooks. 12 lines.
    """
'''


def saved_bytes(fn, exclude):
    """The reference: storages by address, those of ``exclude`` left out."""
    return _count(fn, exclude, once=True, whole=True)


def every_save(fn, exclude):
    """Planted: a storage counts each time one of its tensors is saved."""
    return _count(fn, exclude, once=False, whole=True)


def shown_bytes(fn, exclude):
    """Planted: a view counts with what it shows, not with its storage."""
    return _count(fn, exclude, once=True, whole=False)


def nothing_excluded(fn, exclude):
    """Planted: the excluded tensors count, too."""
    return _count(fn, (), once=True, whole=True)


def _count(fn, exclude, once, whole):
    from torch.autograd.graph import saved_tensors_hooks

    skip = {t.untyped_storage().data_ptr() for t in exclude}
    kept = []

    def pack(tensor):
        tensor = tensor.detach()
        kept.append(tensor)  # alive until the sum is taken, so no address is used twice
        return tensor

    with saved_tensors_hooks(pack, lambda tensor: tensor):
        out = fn()
    total, seen = 0, set()
    for tensor in kept:
        storage = tensor.untyped_storage()
        if storage.data_ptr() in skip or (once and storage.data_ptr() in seen):
            continue
        seen.add(storage.data_ptr())
        total += storage.nbytes() if whole else tensor.numel() * tensor.element_size()
    del out
    return total


class Fixed(tuple):
    """Tensors that stay the same objects when the arguments of a call are copied."""

    def __deepcopy__(self, memo):
        return self


def inputs():
    """Six calls: squares, a linear layer, a broadcast, a slice, a chain, a graph without gradients."""
    import torch

    torch.manual_seed(0)
    x = torch.rand(64, 64, requires_grad=True)
    row = torch.rand(1, 64, requires_grad=True)
    layer, other = torch.nn.Linear(64, 32), torch.nn.Linear(32, 8)
    batch = torch.rand(16, 64)
    parameters = Fixed([*layer.parameters(), *other.parameters()])
    return [
        (lambda: (x * x).sin(), Fixed()),
        (lambda: layer(batch).tanh(), parameters),
        (lambda: other(layer(batch).relu()).exp(), parameters),
        (lambda: row.expand(64, 64) * x, Fixed()),
        (lambda: x[:, :8] * x[:, 8:16], Fixed()),
        (lambda: batch * 2, Fixed()),
    ]
