"""Bytes that a program moves between device memory and chip, as the program itself reports them, tensor by tensor."""


class Traffic:
    """Call it with each tensor that crosses, at each crossing; ``bytes`` is the sum so far, ``calls`` how often."""

    def __init__(self):
        self.bytes = self.calls = 0

    def __call__(self, tensor):
        self.bytes += tensor.numel() * tensor.element_size()
        self.calls += 1
