"""Attention four ways: written out, in tiles, by PyTorch's operator with a backend by name, and by a Triton kernel.

All take queries, keys and values (…, tokens, head_dim) and scale the scores by 1/sqrt(head_dim).
"""

import warnings
from importlib.util import find_spec

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

from threeledgers import count
from threeledgers.kernels.memory import cuda_peak

BACKENDS = ("MATH", "FLASH_ATTENTION", "EFFICIENT_ATTENTION", "CUDNN_ATTENTION")


def _unmetered(tensor):
    pass


def naive_attention(q, k, v, meter=_unmetered):
    """Three operations; scores and probabilities of all pairs exist. ``meter`` is called with whatever crosses the bus."""
    scores = q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5
    for tensor in (q, k, scores):
        meter(tensor)
    probabilities = scores.softmax(-1)
    for tensor in (scores, probabilities):
        meter(tensor)
    out = probabilities @ v
    for tensor in (probabilities, v, out):
        meter(tensor)
    return out


def tiled_attention(q, k, v, rows, cols, meter=_unmetered, causal=False):
    """(output, log-sum-exp of each query): tiles of ``rows`` queries, past which tiles of ``cols`` keys are led.

    Only tiles of scores exist. ``causal`` masks and still visits all tiles. ``meter`` as in naive_attention.
    """
    seq, scale = q.shape[-2], q.shape[-1] ** -0.5
    out, lse = torch.empty_like(v), torch.empty_like(v[..., 0])
    for i in range(0, seq, rows):
        queries = q[..., i : i + rows, :]
        meter(queries)
        top = torch.full_like(queries[..., :1], float("-inf"))
        total, sums = torch.zeros_like(top), torch.zeros_like(queries)
        for j in range(0, seq, cols):
            keys, values = k[..., j : j + cols, :], v[..., j : j + cols, :]
            meter(keys)
            meter(values)
            scores = queries @ keys.transpose(-1, -2) * scale
            if causal:
                ahead = torch.arange(j, j + keys.shape[-2], device=q.device) > i + torch.arange(
                    queries.shape[-2], device=q.device
                ).unsqueeze(1)
                scores = scores.masked_fill(ahead, float("-inf"))
            before, top = top, torch.maximum(top, scores.amax(-1, keepdim=True))
            shrink, weights = (before - top).exp(), (scores - top).exp()
            total = total * shrink + weights.sum(-1, keepdim=True)
            sums = sums * shrink + weights @ values
        out[..., i : i + rows, :] = sums / total
        lse[..., i : i + rows] = (top + total.log()).squeeze(-1)
        meter(out[..., i : i + rows, :])
        meter(lse[..., i : i + rows])
    return out, lse


def sdpa(q, k, v, backend):
    """PyTorch's operator with one backend, by its name in BACKENDS, and no other. Raises RuntimeError where it cannot run."""
    with sdpa_kernel(getattr(SDPBackend, backend)):
        return torch.nn.functional.scaled_dot_product_attention(q, k, v)


def usable_backends(device, dtype, head_dim=64):
    """Names of the backends that run a small attention on this device in this type."""
    found, q = [], torch.zeros(1, 1, 16, head_dim, device=device, dtype=dtype)
    for backend in BACKENDS:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # one for each reason why a backend declines
            try:
                sdpa(q, q, q, backend)
            except RuntimeError:
                continue
        found.append(backend)
    return found


def backward(out, inputs, grad):
    """Gradients of ``inputs`` for the gradient of the output; the graph stays, so that it can be walked again."""
    return torch.autograd.grad(out, inputs, grad, retain_graph=True)


def peak_bytes(attention, q, k, v):
    """Most bytes alive at once in ``attention(q, k, v)`` beside its inputs: a GPU's allocator, or all tensors of a CPU."""
    if not q.is_cuda:
        return count.peak_bytes(lambda: attention(q, k, v), [q, k, v])[1]
    return cuda_peak(lambda: attention(q, k, v))[0]


def triton_attention():
    """The Triton kernel as a function of (q, k, v, rows, cols), or None where Triton is not installed.

    Without a GPU it runs in Triton's interpreter, as ``threeledgers.count`` asks, which is slow: small inputs only.
    """
    if find_spec("triton") is None:
        return None
    from threeledgers.kernels.attention_triton import attention

    return attention
