"""The exercises of the lecture on attention: givens, answers, traps. The statements and solutions stand on the page."""

from threeledgers import formulas as f
from threeledgers.exercises.definitions import Coding, Given, Guess, Numeric, Planted, Trap
from threeledgers.exercises.draws import one_of
from threeledgers.exercises.solutions import attention as solution
from threeledgers.specs import model

GB = 10**9
V3 = model("deepseek_v3")
LATENT_BYTES = f.mla_cache_bytes(kv_rank=V3.kv_rank, rope_dim=V3.rope_dim, layers=V3.layers, elem_bytes=2)
thousands = "{:,}".format


def per_token(id, kv_heads=None):
    """Bytes that the cache of a model holds for a token, in 16 bits."""
    m = model(id)
    return f.kv_cache_bytes(layers=m.layers, kv_heads=kv_heads or m.kv_heads, head_dim=m.head_dim, elem_bytes=2)


def shape(id):
    """A model's name and what its cache follows from."""
    m = model(id)
    return f"{m.name} ({m.layers} layers, {m.heads} heads of width {m.head_dim}, {m.kv_heads} pairs)"


GUESS = Guess(
    "attention-guess",
    minutes=1,
    because="",
    unit="s",
    answer=lambda g: 0.0073,
    show=lambda value: f"{1000 * value:.1f} ms",
)


def _forward(g):
    return f.attention_forward_flops(batch=1, seq=g.seq, heads=g.hidden // 128, head_dim=128, layers=g.layers)


FLOPS = Numeric(
    "attention-1",
    minutes=3,
    because="Two products of S by S by h, two FLOPs a multiply-add, in each layer.",
    unit="FLOP",
    givens={
        "seq": Given(8192, one_of(1024, 2048, 4096, 16_384, 32_768, 131_072), thousands),
        "hidden": Given(5120, one_of(2048, 3072, 4096, 8192), thousands),
        "layers": Given(40, one_of(16, 24, 32, 48, 80)),
    },
    answer=_forward,
    show=lambda value: f"{value / 1e12:.3g} TFLOP",
    traps=(
        Trap(
            "one product, or the causal half",
            "That is half: one product, or only the pairs a causal mask leaves. This book counts both, and the full square.",
            lambda g: _forward(g) // 2,
        ),
        Trap("one layer is counted", "That is one layer: there are more.", lambda g: _forward(g) // g.layers),
    ),
)


def _grown(g, cache, scores):
    """GB of the cache and of one layer's scores, grown by these factors from where they started."""
    return per_token(g.model) * g.start * cache / GB, 2 * model(g.model).heads * g.start**2 * scores / GB


GROWTH = Numeric(
    "attention-2",
    minutes=5,
    because="The cache has a row for each token, the scores a number for each pair.",
    unit="GB",
    givens={
        "model": Given("llama3_70b", one_of("llama2_7b", "llama2_13b", "llama3_8b", "llama2_70b"), shape),
        "start": Given(2048, one_of(4096, 8192), thousands),
        "times": Given(16, one_of(4, 8)),
    },
    answer=lambda g: _grown(g, g.times, g.times**2),
    show=lambda value: f"{value[0]:,.2f} GB and {value[1]:,.1f} GB",
    traps=(
        Trap(
            "everything grows with the square",
            "The second is right. The cache keeps one key and one value a token, not one a pair.",
            lambda g: _grown(g, g.times**2, g.times**2),
        ),
        Trap(
            "everything grows with the length",
            "The first is right. Scores belong to pairs of tokens: twice the tokens, four times the pairs.",
            lambda g: _grown(g, g.times, g.times),
        ),
    ),
)

REDONE = {1: "the first product, QKᵀ,", 2: "both products of the forward pass"}

TRAINING = Numeric(
    "attention-3",
    minutes=4,
    because="Two products forward, four backward, and those that are done again.",
    givens={"redone": Given(2, one_of(1, 2), REDONE.get)},
    answer=lambda g: (2 + 4 + g.redone) / (2 + 4),
    show=lambda value: f"{value:.3f}",
    traps=(
        Trap(
            "the FLOPs are identical",
            "That would be so without the recomputation: how many products run in all, with it and without?",
            lambda g: 1,
        ),
        Trap(
            "backward alone is compared",
            "That is backward alone. Training also runs the two products of the forward pass.",
            lambda g: (4 + g.redone) / 4,
        ),
        Trap(
            "backward over forward",
            "That is backward over forward. The question compares two whole training steps.",
            lambda g: (4 + g.redone) / 2,
        ),
    ),
)

END_TO_END = Numeric(
    "attention-4",
    minutes=3,
    because="Times add: what is not touched stays.",
    givens={
        "share": Given(60, lambda rng: rng.randrange(10, 96, 5), "{} %".format),
        "speedup": Given(3, lambda rng: rng.randint(15, 80) / 10, "{:g}".format),
    },
    answer=lambda g: f.amdahl_speedup(share=g.share / 100, speedup=g.speedup),
    show=lambda value: f"{value:.2f} times",
    traps=(
        Trap(
            "the operator's gain is the step's",
            "That is the operator alone. What does the rest of the step gain?",
            lambda g: g.speedup,
        ),
        Trap(
            "speed-ups are weighted like times",
            "That weights the speed-up by its share. Times add, speed-ups do not: how long is the step afterwards?",
            lambda g: g.share / 100 * g.speedup,
        ),
        Trap(
            "the operator becomes free",
            "That is the limit for an operator that takes no time at all.",
            lambda g: f.amdahl_limit(share=g.share / 100),
        ),
    ),
)


def _room(g, bytes_a_token, giga=GB):
    return g.budget * giga // bytes_a_token


BUDGET = Numeric(
    "attention-5",
    minutes=4,
    because="K and V, for the key/value heads, in each layer.",
    givens={
        "budget": Given(24, lambda rng: rng.randint(5, 80)),
        "model": Given("llama3_70b", one_of("llama3_8b", "llama3_405b"), shape),
    },
    answer=lambda g: _room(g, per_token(g.model)),
    show=thousands,
    traps=(
        Trap(
            "all query heads are cached",
            "That caches a key and a value for every query head. A group of query heads shares one.",
            lambda g: _room(g, per_token(g.model, model(g.model).heads)),
        ),
        Trap(
            "only keys are cached",
            "That is one of the two. The weighted sum needs the values, too.",
            lambda g: _room(g, per_token(g.model) // 2),
        ),
        Trap(
            "a GB is 2**30 bytes",
            "That counts in GiB. A GB is 10**9 bytes.",
            lambda g: _room(g, per_token(g.model), 2**30),
        ),
    ),
)

LATENT = Numeric(
    "attention-6",
    minutes=4,
    because="One latent and one rotary key a layer, against a key and a value for each key/value head.",
    givens={"model": Given("llama3_405b", one_of("llama2_7b", "llama2_70b", "llama2_13b"), shape)},
    answer=lambda g: per_token(g.model) / LATENT_BYTES,
    show=lambda value: f"{value:.2f} times",
    traps=(
        Trap(
            "the rotary key is forgotten",
            "That leaves out the rotary key. A position cannot be folded into the latent, so it is cached beside it.",
            lambda g: per_token(g.model) / LATENT_BYTES * (V3.kv_rank + V3.rope_dim) / V3.kv_rank,
        ),
        Trap(
            "the latent is compared with its own expansion",
            "That is DeepSeek-V3 against itself with all keys and values made. The question names another model.",
            lambda g: 2 * V3.layers * V3.heads * (V3.nope_dim + V3.rope_dim + V3.value_dim) / LATENT_BYTES,
        ),
    ),
)

CODE = Coding(
    "attention-code",
    minutes=30,
    because="It gives the softmax of all scores, and meters what crosses.",
    stub=solution.STUB,
    reference=solution.online_softmax_attention,
    inputs=solution.inputs,
    call=solution.call,
    differs=solution.differs,
    planted=(
        Planted(
            "old sums survive a new maximum",
            "When the running maximum rises, the sums so far were taken against the old one: shrink both before you add.",
            solution.no_rescale,
        ),
        Planted(
            "scores are divided by d",
            "This divides the scores by d. A sum of d products spreads like the square root of d.",
            solution.scaled_by_width,
        ),
        Planted(
            "scores are not scaled",
            "This leaves out the scale. Scores are multiplied by 1/sqrt(d).",
            solution.not_scaled,
        ),
        Planted(
            "a query sees the next key",
            "The mask is off by one: a query sees the keys up to its own place, not the one after it.",
            solution.sees_the_next,
        ),
        Planted(
            "places in the tile stand for places in the sequence",
            "The mask compares places within the tile. Add where the tile of queries and the tile of keys begin.",
            solution.masked_within_the_tile,
        ),
        Planted(
            "keys and values are read once",
            "The output is right, the meter is not: every tile of queries reads the keys and values again.",
            solution.read_once,
        ),
    ),
)

EXERCISES = [GUESS, FLOPS, GROWTH, TRAINING, END_TO_END, BUDGET, LATENT, CODE]
