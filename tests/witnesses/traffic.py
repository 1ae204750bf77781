"""Bytes across the bus: equal to what real tensors add up to, slice by slice, at each crossing."""

from fractions import Fraction

import torch

from threeledgers import count
from threeledgers import formulas as f
from threeledgers.kernels.attention import naive_attention, tiled_attention

TYPES = ((torch.float64, 8), (torch.float32, 4))
SHAPES = ((12, 4, 4), (13, 2, 5), (9, 5, 2), (6, 3, 100))


def naive_attention_traffic_witness():
    for dtype, elem_bytes in TYPES:
        for seq, head_dim, _ in SHAPES:
            meter = count.Traffic()
            naive_attention(*torch.ones(3, seq, head_dim, dtype=dtype), meter)
            assert f.naive_attention_traffic(elem_bytes=elem_bytes, seq=seq, head_dim=head_dim) == meter.bytes


def flash_attention_traffic_witness():
    for dtype, elem_bytes in TYPES:
        for seq, head_dim, rows in SHAPES:
            meter = count.Traffic()
            tiled_attention(*torch.ones(3, seq, head_dim, dtype=dtype), rows, 3, meter)
            told = f.flash_attention_traffic(elem_bytes=elem_bytes, seq=seq, head_dim=head_dim, tile_rows=rows)
            assert told == meter.bytes


def _tiles(dtype, dim, rows, cols):
    queries, keys = torch.empty(rows, dim, dtype=dtype), torch.empty(cols, dim, dtype=dtype)
    return queries, keys, torch.empty_like(keys), (queries @ keys.T).float(), (queries @ keys.T @ keys).float()


def tile_shared_bytes_witness():
    for dtype, elem_bytes in TYPES:
        for dim, rows, cols in ((8, 4, 2), (16, 3, 5)):
            *held, _, _ = _tiles(dtype, dim, rows, cols)
            sizes = dict(head_dim=dim, tile_rows=rows, tile_cols=cols)
            assert f.tile_shared_bytes(elem_bytes=elem_bytes, **sizes) == sum(map(count.storage_bytes, held))


def tile_register_bytes_witness():
    for dim, rows, cols in ((8, 4, 2), (16, 3, 5)):
        *_, scores, out = _tiles(torch.float32, dim, rows, cols)
        told = f.tile_register_bytes(head_dim=dim, tile_rows=rows, tile_cols=cols)
        assert told == count.storage_bytes(scores) + count.storage_bytes(out)


def attention_intensity_witness():
    """FLOPs of PyTorch's counter over the bytes of the tensors that go in and come out."""
    for new, seq, heads, kv_heads, dim in ((1, 24, 8, 2, 4), (24, 24, 8, 8, 4), (5, 40, 6, 3, 16)):
        with count.meta(torch.bfloat16):
            q, k = torch.empty(1, heads, new, dim), torch.empty(1, kv_heads, seq, dim)
            grouped = q.unflatten(1, (kv_heads, -1)).flatten(2, 3)
            out, flops = count.flops(lambda q=grouped, k=k: (q @ k.mT).softmax(-1) @ k)
        moved = sum(map(count.storage_bytes, (q, k, k, out)))
        told = f.attention_intensity.exact(new_tokens=new, seq=seq, heads=heads, kv_heads=kv_heads, elem_bytes=2)
        assert told == Fraction(flops, moved)
