"""Bytes: what autograd keeps for the backward pass, and the most that is alive at once."""

import weakref

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


def saved_bytes(function, exclude=()):
    """Call ``function()`` and return ``(its result, bytes that autograd keeps for the backward pass)``.

    Every storage counts once, whole, however many views of it are kept. ``exclude``: tensors, modules (parameters and
    buffers) and optimizers (states) whose storages do not count. Bytes of this rank where tensors are sharded.
    """
    skip = {storage._cdata for storage in _storages(exclude)}
    boxes = []

    def pack(tensor):
        box = _Box(tensor)
        boxes.append(weakref.ref(box))
        return box

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda box: box.tensor):
        out = function()  # holds the graph, and so the boxes, while the sum is taken
    held = [box().tensor for box in boxes if box() is not None]
    kept = {storage._cdata: storage.nbytes() for storage in _storages(held)}
    return out, sum(nbytes for key, nbytes in kept.items() if key not in skip)


class _Box:
    """What autograd is given in a tensor's place: it lives as long as autograd needs the tensor."""

    def __init__(self, tensor):
        self.tensor = tensor


def peak_bytes(function, persistent=()):
    """Call ``function()`` and return ``(its result, the most bytes alive at once beyond the persistent ones)``.

    Counts the storages of all tensors that PyTorch dispatches, in their true sizes: no allocator rounds, no
    workspace inside an operator. ``persistent``: tensors, modules and optimizers that exist before and after; make an
    optimizer's states with one step before.
    """
    peak = _Peak(persistent)
    with peak:
        out = function()
    return out, peak.most - peak.base


class _Peak(TorchDispatchMode):
    def __init__(self, persistent):
        super().__init__()
        self.alive, self.now, self.most = {}, 0, 0
        for storage in _storages(persistent):
            self._add(storage)
        self.base = self.most = self.now

    def _add(self, storage):
        key = storage._cdata
        if key not in self.alive:
            self.alive[key] = storage.nbytes()
            self.now += self.alive[key]
            self.most = max(self.most, self.now)
            weakref.finalize(storage, self._drop, key)

    def _drop(self, key):
        self.now -= self.alive.pop(key, 0)

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if any(hasattr(kind, "__tensor_flatten__") for kind in types):
            return NotImplemented  # a sharded tensor first becomes its local operators
        out = func(*args, **(kwargs or {}))
        for storage in _storages([out]):
            self._add(storage)
        return out


def _storages(things):
    """The storages of tensors (of sharded ones, the local part), modules and optimizers, in whatever nesting."""
    for thing in tree_leaves(list(things)):
        if isinstance(thing, torch.nn.Module):
            yield from _storages([*thing.parameters(), *thing.buffers()])
        elif isinstance(thing, torch.optim.Optimizer):
            yield from _storages([list(state.values()) for state in thing.state.values()])
        elif hasattr(thing, "__tensor_flatten__"):
            yield from _storages([getattr(thing, name) for name in thing.__tensor_flatten__()[0]])
        elif isinstance(thing, torch.Tensor):
            yield thing.untyped_storage()
