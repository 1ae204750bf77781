"""The tile animator: first settings, what the script needs of the specs, and the table for print."""

from threeledgers import formulas as f
from threeledgers.specs import gpu, ids

SETTINGS = {
    "way": "tiled",
    "seq": 4096,
    "head_dim": 128,
    "rows": 64,
    "cols": 64,
    "gpu": "a100_sxm_80",
    "done": 100,
}
ON_CHIP = ("shared_bytes_per_sm", "registers_bytes_per_sm")


def _cards():
    """NVIDIA's cards whose two numbers of an SM a source confirms."""
    for id in ids("gpu"):
        card = gpu(id)
        if card.name.startswith("NVIDIA") and all(n in card.fields and card.verified(n) for n in ON_CHIP):
            yield id


GPUS = tuple(_cards())
TILES = (16, 32, 64, 128, 256)
CHOICES = {
    "way": ("naive", "tiled"),
    "seq": tuple(2**k for k in range(8, 14)),
    "head_dim": (64, 128),
    "rows": TILES,
    "cols": TILES,
    "gpu": GPUS,
    "done": tuple(range(101)),
}
ROWS = ((4096, 128, 64), (4096, 128, 128), (4096, 64, 64), (4096, 64, 128), (8192, 64, 128))


def constants():
    """What each setting may be, and the memory of one SM by card, for the script."""
    cards = {id: {"name": gpu(id).name} | {n: getattr(gpu(id), n) for n in ON_CHIP} for id in GPUS}
    return {"CHOICES": CHOICES, "GPUS": cards}


def table():
    """Bytes of one head in 16 bits, written out and in tiles, and how they compare."""
    from threeledgers.widgets import FoldedTable

    rows = []
    for seq, head_dim, tile_rows in ROWS:
        naive = f.naive_attention_traffic(elem_bytes=2, seq=seq, head_dim=head_dim)
        tiled = f.flash_attention_traffic(elem_bytes=2, seq=seq, head_dim=head_dim, tile_rows=tile_rows)
        numbers = [f"{n / 1e6:,.1f} MB" for n in (naive, tiled)]
        rows.append((f"{seq:,}", head_dim, tile_rows, *numbers, f"{naive / tiled:.2f}"))
    head = ("tokens", "width of a head", "queries in a tile", "written out", "in tiles", "ratio")
    return FoldedTable("The same as a table: bytes of one head", head, rows)
