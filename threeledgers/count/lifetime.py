"""From when until when autograd keeps a tensor, and the graph that keeps it."""

import weakref

import torch

from threeledgers.count.memory import _storages


class Saved:
    """Watches what autograd keeps for backward passes inside its ``with`` block.

    ``bytes``: kept now, every storage once and whole. ``history``: that number after each tensor that was saved or let
    go, from 0 on. ``most``: the largest of them. ``exclude``: tensors, modules and optimizers that do not count.
    """

    def __init__(self, exclude=()):
        self._skip = {storage._cdata for storage in _storages(exclude)}
        self._holders, self.bytes, self.history = {}, 0, [0]

    @property
    def most(self):
        """The most that was kept at once."""
        return max(self.history)

    def __enter__(self):
        self._hooks = torch.autograd.graph.saved_tensors_hooks(self._pack, lambda box: box.tensor)
        self._hooks.__enter__()
        return self

    def __exit__(self, *error):
        return self._hooks.__exit__(*error)

    def _pack(self, tensor):
        box = _Box(tensor.detach())  # the tensor itself would keep its node, and the node this box
        for storage in _storages([tensor]):
            if storage._cdata not in self._skip:
                self._change(storage._cdata, 1, storage.nbytes())
                weakref.finalize(box, self._change, storage._cdata, -1, storage.nbytes())
        return box

    def _change(self, key, step, nbytes):
        before = self._holders.get(key, 0)
        self._holders[key] = before + step
        if 0 in (before, before + step):  # the first that keeps it, or the last
            self.bytes += step * nbytes
            self.history.append(self.bytes)


class _Box:
    """What autograd holds in place of a tensor: dies when the node that saved it lets go."""

    def __init__(self, tensor):
        self.tensor = tensor


def graph(tensor):
    """The nodes behind a tensor, as ``[(depth, name)]``: its ``grad_fn`` first, then all that ``next_functions`` reach.

    Each node once, at the depth at which it is met first. Leaves that collect a gradient are called AccumulateGrad.
    """
    found, seen, queue = [], set(), [(0, tensor.grad_fn)]
    while queue:
        depth, node = queue.pop(0)
        if node is None or node in seen:
            continue
        seen.add(node)
        found.append((depth, node.name().removeprefix("torch::autograd::")))
        queue += [(depth + 1, child) for child, _ in node.next_functions]
    return found
