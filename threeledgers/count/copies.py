"""The copies that PyTorch makes, counted while it makes them."""

from collections import Counter
from math import prod

from torch.utils._python_dispatch import TorchDispatchMode

_COPIES = {"aten::clone", "aten::_to_copy", "aten::copy_", "aten::contiguous", "aten::copy"}


class CopyCounter(TorchDispatchMode):
    """Counts the bytes of the copies (clone, copy_, casts) that PyTorch dispatches inside its ``with`` block.

    ``written``: bytes of the destinations. ``read``: bytes of the *distinct* source elements, so that a dimension of
    stride 0 is read once. ``calls``: how many copies. A lower bound of all copying: what an operator copies inside
    itself (``bmm`` of a strided input, ``cat``) is not dispatched. For dense strided tensors that do not overlap
    themselves.
    """

    def __init__(self):
        super().__init__()
        self.written = self.read = self.calls = 0
        self._moved = Counter()

    @property
    def moved(self):
        """Bytes read plus bytes written."""
        return self.read + self.written

    def largest(self, n):
        """The ``n`` largest kinds of copy: ``((operator, source shape, source stride), bytes moved)``."""
        return self._moved.most_common(n)

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        name = func._schema.name
        if name in _COPIES:
            source = args[1] if name in ("aten::copy_", "aten::copy") else args[0]
            written, read = out.numel() * out.element_size(), _distinct(source) * source.element_size()
            self.written, self.read, self.calls = self.written + written, self.read + read, self.calls + 1
            self._moved[name, tuple(source.shape), source.stride()] += written + read
        return out


def _distinct(tensor):
    return prod(n for n, s in zip(tensor.shape, tensor.stride(), strict=True) if s != 0) if tensor.numel() else 0
