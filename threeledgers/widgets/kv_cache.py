"""The cache calculator: first settings, shapes of released models, and the table for print."""

from threeledgers import formulas as f
from threeledgers.specs import model

SETTINGS = {"model": "llama3_8b", "sharing": "released", "seq": 4096, "batch": 1, "elem_bytes": 2, "budget": 40}
LLAMAS = ("llama2_7b", "llama2_13b", "llama3_8b", "llama2_70b", "llama3_70b", "llama3_405b")
LATENT = "deepseek_v3"
CHOICES = {
    "model": (*LLAMAS, LATENT),
    "sharing": ("released", "all", "eight", "one"),
    "seq": tuple(2**k for k in range(10, 21)),
    "batch": (1, 2, 4, 8, 16, 32, 64, 128),
    "elem_bytes": (2, 1),
    "budget": (8, 16, 24, 40, 64, 80, 160, 320, 640),
}


def shape(id):
    """Sizes that decide the cache; a head of DeepSeek-V3 has a key of 192 and a value of 128, on average 160."""
    m = model(id)
    sizes = {"name": m.name, "layers": m.layers, "heads": m.heads, "kv_heads": m.kv_heads}
    if id != LATENT:
        return sizes | {"head_dim": m.head_dim}
    wide = (m.nope_dim + m.rope_dim + m.value_dim) // 2
    return sizes | {"head_dim": wide, "kv_rank": m.kv_rank, "rope_dim": m.rope_dim}


def constants():
    """What each setting may be, and the shapes by id, for the script."""
    return {"CHOICES": CHOICES, "MODELS": {id: shape(id) for id in CHOICES["model"]}}


def per_token(id, sharing="released", elem_bytes=2):
    """Bytes of the cache for a token."""
    m = shape(id)
    if sharing == "released" and "kv_rank" in m:
        sizes = {n: m[n] for n in ("kv_rank", "rope_dim", "layers")}
        return f.mla_cache_bytes(**sizes, elem_bytes=elem_bytes)
    pairs = {"released": m["kv_heads"], "all": m["heads"], "eight": 8, "one": 1}[sharing]
    return f.kv_cache_bytes(layers=m["layers"], kv_heads=pairs, head_dim=m["head_dim"], elem_bytes=elem_bytes)


def table():
    """Bytes a token, as released and with a pair for every head, and the tokens that fit into the first budget."""
    from threeledgers.widgets import FoldedTable

    rows, budget = [], SETTINGS["budget"]
    for id in CHOICES["model"]:
        released, every = per_token(id), per_token(id, "all")
        fit = budget * 10**9 // released
        rows.append((model(id).name, f"{released:,} B", f"{every:,} B", f"{every / released:.1f}", f"{fit:,}"))
    head = ("model", "bytes a token", "a pair for every head", "ratio", f"tokens in {budget} GB")
    return FoldedTable("The same as a table: the cache of a token in 16 bits", head, rows)
