"""The bar that overflows: first settings, what the script needs of the specs, and the table for print."""

from threeledgers import formulas as f
from threeledgers.specs import gpu, ids, model

SETTINGS = {
    "model": "llama2_7b",
    "batch": 1,
    "seq": 4096,
    "attention": "fused",
    "checkpoint": "none",
    "optimizer": "adam",
    "gpu": "h100_sxm",
}
MODELS = ("small", "llama2_7b", "llama3_8b", "llama2_13b", "llama2_70b")
GPUS = tuple(sorted(ids("gpu"), key=lambda id: gpu(id).memory_bytes))
CHOICES = {
    "model": MODELS,
    "batch": (1, 2, 4, 8, 16, 32, 64),
    "seq": tuple(2**k for k in range(8, 16)),
    "attention": ("fused", "eager"),
    "checkpoint": ("none", "selective", "full"),
    "optimizer": ("adam", "adam8", "sgd"),
    "gpu": GPUS,
}
SHAPE = ("vocab", "hidden", "layers", "heads", "kv_heads", "head_dim", "ffn")


ROWS = (
    ("llama2_7b", 4096, "fused", "none"),
    ("llama2_7b", 4096, "eager", "none"),
    ("llama2_7b", 4096, "fused", "full"),
    ("llama3_8b", 4096, "fused", "none"),
    ("llama3_8b", 4096, "eager", "none"),
    ("llama3_8b", 32768, "fused", "none"),
    ("llama3_8b", 32768, "eager", "none"),
    ("llama2_70b", 4096, "fused", "none"),
)


def constants():
    """What each setting may be, and shapes and capacities by id, for the script."""
    return {
        "CHOICES": CHOICES,
        "MODELS": {id: {"name": model(id).name} | {n: getattr(model(id), n) for n in SHAPE} for id in MODELS},
        "GPUS": {id: {"name": gpu(id).name, "bytes": gpu(id).memory_bytes} for id in GPUS},
    }


def holders(s):
    """Bytes of every holder at the peak, by name, for settings like the widget's."""
    m = {n: getattr(model(s["model"]), n) for n in SHAPE}
    values = m | {"batch": s["batch"], "seq": s["seq"], "tensor_ranks": 1, "elem_bytes": 2}

    def call(formula, **more):
        known = values | more
        return formula(**{p: known[p] for p in formula.parameters})

    params = call(f.llama_params)
    optimizer = {
        "adam": f.optimizer_bytes(params=params),
        "adam8": f.adam_8bit_bytes(params=params) - f.sgd_bytes(params=params),
        "sgd": 0,
    }[s["optimizer"]]
    block = call(f.llama_block_saved_bytes if s["attention"] == "fused" else f.eager_block_saved_bytes)
    kept = {
        "none": block,
        "selective": call(f.sp_selective_saved_bytes),
        "full": call(f.checkpoint_saved_bytes),
    }[s["checkpoint"]]
    return {
        "weights": call(f.weights_bytes, params=params),
        "gradients": call(f.grads_bytes, params=params),
        "optimizer": optimizer,
        "layers": m["layers"] * kept,
        "head": call(f.head_saved_bytes),
        "passing": max(
            call(f.loss_backward_bytes),
            call(f.head_backward_bytes),
            block - kept if s["checkpoint"] != "full" else block,
        ),
    }


def table():
    """The bars of a few settings as numbers, with one sequence, for a card of the first settings' size."""
    from threeledgers.widgets import FoldedTable

    rows, card = [], gpu(SETTINGS["gpu"])
    for id, seq, attention, checkpoint in ROWS:
        held = holders(SETTINGS | {"model": id, "seq": seq, "attention": attention, "checkpoint": checkpoint})
        states = held["weights"] + held["gradients"] + held["optimizer"]
        total = sum(held.values())
        fits = "yes" if total <= card.memory_bytes else "no"
        numbers = [f"{n / 1e9:,.1f} GB" for n in (states, total - states, total)]
        rows.append((model(id).name, f"{seq:,}", attention, checkpoint, *numbers, fits))
    head = (
        "model",
        "tokens",
        "attention",
        "checkpoint",
        "states",
        "saved",
        "at the peak",
        f"fits {card.memory_bytes / 1e9:.0f} GB",
    )
    return FoldedTable("The same as a table: one sequence, mixed-precision Adam", head, rows)
