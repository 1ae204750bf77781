"""Training steps whose memory is asked for: a small Llama, one micro-batch at a time."""

import torch

from threeledgers import count
from threeledgers.transformer import Llama, loss


def build(config, device, dtype, checkpoint="none"):
    """A Llama on a device, whose gradients exist already, as after a first micro-batch."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        with torch.device(device):
            net = Llama(config, checkpoint=checkpoint)
    finally:
        torch.set_default_dtype(before)
    for p in net.parameters():
        p.grad = torch.zeros_like(p)
    return net


def micro_batch(net, ids):
    """Forward and backward; gradients are added to those that are there."""
    loss(net, ids).backward()


def counted_peak(config, batch, seq, checkpoint, dtype=torch.bfloat16):
    """Bytes at the peak of one micro-batch beyond weights, gradients and token ids, counted on fake tensors of a CPU."""
    with count.fake(dtype):
        net = build(config, "cpu", dtype, checkpoint)
        ids = torch.zeros(batch, seq, dtype=torch.int64)
        return count.peak_bytes(lambda: micro_batch(net, ids), [net, [p.grad for p in net.parameters()], ids])[1]


def largest_batch(run, limit, guess=1):
    """The largest batch, from 1 to ``limit``, for which ``run(batch)`` does not run out of memory; 0 when none does.

    Goes up or down from ``guess`` in growing steps, then halves the gap: two tries when the guess is right.
    """

    def fits(batch):
        try:
            run(batch)
        except (torch.OutOfMemoryError, MemoryError):
            return False
        finally:
            if torch.cuda.is_available():
                torch.cuda.empty_cache()
        return True

    low, high, step = 0, limit + 1, 1
    at = min(max(guess, 1), limit)
    while low < at < high:
        low, high = (at, high) if fits(at) else (low, at)
        at, step = (low + step, 2 * step) if low == at else (high - step, 2 * step)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low
