"""Attention in tiles as a Triton kernel, written to be read: one program a tile of queries, keys and values pass by.

Import it through ``kernels.attention.triton_attention``: Triton is an optional extra.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def _forward(q, k, v, out, lse, scale, seq: tl.constexpr, DIM: tl.constexpr, ROWS: tl.constexpr, COLS: tl.constexpr):
    # compiled for each length: the interpreter of Triton 3.5 cannot loop up to an argument under NumPy 2.4
    # which tile of queries, and which head: heads lie one after the other, each (seq, DIM) without gaps
    first = tl.program_id(0) * ROWS
    head = tl.program_id(1).to(tl.int64) * seq
    row, dim = first + tl.arange(0, ROWS), tl.arange(0, DIM)
    at_rows = (head + row)[:, None] * DIM + dim[None, :]
    queries = tl.load(q + at_rows, mask=row[:, None] < seq, other=0.0)

    # what stays on chip: the running maximum, sum and weighted sum of each query, in fp32
    top = tl.full([ROWS], float("-inf"), tl.float32)
    total = tl.zeros([ROWS], tl.float32)
    sums = tl.zeros([ROWS, DIM], tl.float32)
    for start in range(0, seq, COLS):
        col = start + tl.arange(0, COLS)
        at_cols = (head + col)[:, None] * DIM + dim[None, :]
        keys = tl.load(k + at_cols, mask=col[:, None] < seq, other=0.0)
        scores = tl.dot(queries, tl.trans(keys)) * scale  # in powers of 2: the scale holds log2(e)
        scores = tl.where(col[None, :] < seq, scores, float("-inf"))
        higher = tl.maximum(top, tl.max(scores, 1))
        shrink = tl.exp2(top - higher)
        weights = tl.exp2(scores - higher[:, None])
        total = total * shrink + tl.sum(weights, 1)
        values = tl.load(v + at_cols, mask=col[:, None] < seq, other=0.0)
        sums = sums * shrink[:, None] + tl.dot(weights.to(values.dtype), values)
        top = higher
    tl.store(out + at_rows, (sums / total[:, None]).to(queries.dtype), mask=row[:, None] < seq)
    tl.store(lse + head + row, (top + tl.log2(total)) * 0.6931471805599453, mask=row < seq)


def attention(q, k, v, rows=64, cols=32):
    """(output, log-sum-exp in fp32) of contiguous (batch, heads, tokens, head_dim); forward only, not causal.

    ``rows``, ``cols`` and head_dim are powers of 2, at least 16. Raises ValueError for anything else.
    """
    batch, heads, seq, dim = q.shape
    for name, size in (("rows", rows), ("cols", cols), ("head_dim", dim)):
        if size < 16 or size & (size - 1):
            raise ValueError(f"{name} is {size}: it must be a power of 2, at least 16")
    if not (q.shape == k.shape == v.shape and q.is_contiguous() and k.is_contiguous() and v.is_contiguous()):
        raise ValueError("queries, keys and values must have one shape and be contiguous")
    out, lse = torch.empty_like(q), torch.empty(batch, heads, seq, device=q.device)
    grid = (triton.cdiv(seq, rows), batch * heads)
    scale = dim**-0.5 * 1.4426950408889634  # log2(e): exp2 is the hardware's own exponential
    _forward[grid](q, k, v, out, lse, scale, seq=seq, DIM=dim, ROWS=rows, COLS=cols, num_warps=4, num_stages=2)
    return out, lse
