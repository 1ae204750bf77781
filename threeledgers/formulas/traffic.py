"""What attention moves between device memory and chip, and what it holds there."""

from sympy import ceiling

from threeledgers.formula import formula
from threeledgers.formulas.symbols import FMA, SINGLE

_FLASH2 = "Dao 2023: loop order of FlashAttention-2"


@formula(unit="B", source="definition: each operation reads its inputs once and writes its result once")
def naive_attention_traffic(elem_bytes, seq, head_dim):
    """One head: queries, keys, values and output once; scores out and in, probabilities out and in."""
    return elem_bytes * (4 * seq * head_dim + 4 * seq**2)


@formula(unit="B", source=_FLASH2)
def flash_attention_traffic(elem_bytes, seq, head_dim, tile_rows):
    """One head: queries and output once, a log-sum-exp a query, keys and values once for each tile of queries."""
    return elem_bytes * (2 * seq * head_dim + seq + 2 * seq * head_dim * ceiling(seq / tile_rows))


@formula(unit="B", source=_FLASH2 + "; one tile of each, not double-buffered")
def tile_shared_bytes(elem_bytes, head_dim, tile_rows, tile_cols):
    """In shared memory: a tile of queries, one of keys, one of values."""
    return elem_bytes * head_dim * (tile_rows + 2 * tile_cols)


@formula(unit="B", source=_FLASH2 + "; accumulated in fp32")
def tile_register_bytes(head_dim, tile_rows, tile_cols):
    """In registers, over all threads: the output so far and a tile of scores; maxima and sums are small beside them."""
    return SINGLE * tile_rows * (head_dim + tile_cols)


@formula(unit="FLOP/B", source="definition: each query, key, value and output crosses once", symbol="I")
def attention_intensity(new_tokens, seq, heads, kv_heads, elem_bytes):
    """Two products of n_new queries with S keys in each head, over the bytes of all of them; the width d cancels."""
    return FMA * new_tokens * seq * heads / (elem_bytes * (seq * kv_heads + new_tokens * heads))
