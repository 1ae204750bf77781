"""The sizes and the questions, and for each tool the reason why its answer differs, as arithmetic.

A reason is a sentence and, where it can be computed, the number that the tool must then give. A run compares the two:
a note that ends in "(=)" gives the tool's answer to the integer, so the reason is the whole reason.
"""

from dataclasses import dataclass

PARAMETERS, FORWARD, TRAINING = "parameters", "forward FLOPs", "training FLOPs"
LAYER_SAVED, SAVED = "saved bytes, one layer", "saved bytes, whole step"
FP32_STATES, MIXED_STATES, CACHE = "states, fp32 AdamW", "states, mixed-precision AdamW", "KV bytes per token"


@dataclass(frozen=True)
class Size:
    """A Llama, and the batch that it is given; the first seven are those of the reference model's Config."""

    vocab: int
    hidden: int
    layers: int
    heads: int
    kv_heads: int
    head_dim: int
    ffn: int
    batch: int
    seq: int

    tokens = property(lambda s: s.batch * s.seq)
    table = property(lambda s: s.vocab * s.hidden)
    projections = property(lambda s: 2 * s.hidden * s.head_dim * (s.heads + s.kv_heads))
    products = property(lambda s: s.layers * (s.projections + 3 * s.hidden * s.ffn) + s.table)  # matmul parameters
    norms = property(lambda s: (2 * s.layers + 1) * s.hidden)
    parameters = property(lambda s: s.products + s.table + s.norms)
    linear = property(lambda s: 2 * s.tokens * s.products)  # FLOPs
    attention = property(lambda s: 4 * s.layers * s.tokens * s.seq * s.heads * s.head_dim)
    silu = property(lambda s: s.layers * s.tokens * s.ffn)
    analysis_flops = property(
        lambda s: (
            s.tokens * s.layers * (2 * s.projections + 16 * s.hidden**2 + 4 * s.seq * s.hidden) + 2 * s.tokens * s.table
        )
    )


SIZES = {
    "tiny": Size(512, 128, 2, 4, 2, 32, 344, batch=1, seq=128),
    "small": Size(32_000, 512, 4, 8, 4, 64, 1376, batch=1, seq=512),
    "llama2_7b": Size(32_000, 4096, 32, 32, 32, 128, 11_008, batch=1, seq=4096),
}


def _analysis_layer(s):
    """llm-analysis: Korthikanti's count in 16 bits, its norms in fp32, one dropout mask, a GELU MLP of two matrices."""
    attention = 5 * 2 * s.hidden + s.hidden + 2 * (2 * s.hidden + 4 * s.heads)
    return s.tokens * (attention + 2 * s.hidden + 2 * 2 * s.ffn + 2 * 4 * s.hidden)


def _torchinfo_saved(s):
    layer = 2 * s.hidden + s.heads * s.head_dim + 2 * s.kv_heads * s.head_dim + 2 * s.hidden + 2 * s.ffn
    return 2 * 2 * s.tokens * (s.hidden + s.layers * layer + s.hidden + s.vocab)


REASONS = {
    ("torchinfo", FORWARD): (
        "MACs x2; multiplies each weight by the batch, not by the tokens; no attention; embedding and norms counted",
        lambda s: 2 * s.batch * s.parameters,
    ),
    ("torchinfo", SAVED): (
        "not what autograd keeps: the outputs of modules with weights, x2 for gradients; near it by chance",
        _torchinfo_saved,
    ),
    ("fvcore", FORWARD): (
        "one fused multiply-add counts 1, so x2; scaled_dot_product_attention is unknown to it and skipped",
        lambda s: s.linear,
    ),
    ("calflops", FORWARD): (
        "attention missing (scaled_dot_product_attention is not patched); 1 per element of SiLU added",
        lambda s: s.linear + s.silu,
    ),
    ("calflops", TRAINING): ("3 x its forward", lambda s: 3 * (s.linear + s.silu)),
    ("ptflops", FORWARD): (
        "MACs x2; default backend patches modules and functions, not attention; SiLU counted as a MAC",
        lambda s: s.linear + 2 * s.silu,
    ),
    ("ptflops aten", FORWARD): (
        "MACs x2; counts mm, addmm, bmm; fused CPU attention is none of them (on meta it falls apart into bmm)",
        lambda s: s.linear,
    ),
    ("thop", PARAMETERS): (
        "counts modules that it has a rule for: no embedding, no hand-written norm",
        lambda s: s.products,
    ),
    ("thop", FORWARD): ("MACs x2; nn.Linear only: attention is a function, so not counted", lambda s: s.linear),
    ("torch-flops", FORWARD): ("torch.fx cannot trace the reference model, which compares a size with 1", None),
    ("deepspeed profiler", FORWARD): (
        "knows attention; 1 per element of SiLU added",
        lambda s: s.linear + s.attention + s.silu,
    ),
    ("deepspeed estimate", MIXED_STATES): (
        "ZeRO-3 on one GPU: its constants are 18 bytes a parameter, not 16, and 4 more in the largest layer",
        lambda s: 18 * s.parameters + 4 * s.table,
    ),
    ("transformers", TRAINING): (
        "Trainer: 6 x parameters without the embedding x tokens; attention left out, norms counted",
        lambda s: 6 * s.tokens * (s.products + s.norms),
    ),
    ("accelerate", PARAMETERS): (
        "bytes / 4; the rotary buffers are counted",
        lambda s: s.parameters + 2 * (s.head_dim // 2),
    ),
    ("accelerate", FP32_STATES): (
        "4 x the model's bytes, rotary buffers included",
        lambda s: 16 * (s.parameters + 2 * (s.head_dim // 2)),
    ),
    ("accelerate", MIXED_STATES): (
        "the command prints the largest of its parts (float16: mean and variance), not their sum",
        lambda s: 8 * (s.parameters + 2 * (s.head_dim // 2)),
    ),
    ("llm-analysis", PARAMETERS): (
        "a GPT: tied head, and an MLP of two matrices instead of three",
        lambda s: s.parameters - s.table - s.layers * s.hidden * s.ffn,
    ),
    ("llm-analysis", FORWARD): (
        "the MLP is always 16 h² a token, whatever ffn is given (this Llama: 6 h ffn)",
        lambda s: s.analysis_flops,
    ),
    ("llm-analysis", TRAINING): ("3 x its forward", lambda s: 3 * s.analysis_flops),
    ("llm-analysis", LAYER_SAVED): (
        "Korthikanti's GPT layer: dropout mask, two-matrix MLP, norms in fp32 only",
        _analysis_layer,
    ),
    ("llm-analysis", SAVED): (
        "its layers; with batch 1 it adds logits (16 bits; PyTorch keeps fp32) and last norm twice",
        lambda s: s.layers * _analysis_layer(s) + 2 * s.tokens * (4 * s.hidden + 2 * s.vocab),
    ),
    ("llm-analysis", MIXED_STATES): (
        "18 bytes (fp32 gradient) for each parameter that it knows of",
        lambda s: 18 * (s.parameters - s.table - s.layers * s.hidden * s.ffn),
    ),
}


def note(tool, question, size, answer, truth):
    """Why ``answer`` is not ``truth``, with "(=)" when the reason gives the answer to the integer."""
    if answer == truth or (answer is None and (tool, question) not in REASONS):
        return ""
    text, predicted = REASONS.get((tool, question), ("reason not found", None))
    return text + (" (=)" if answer and predicted and predicted(size) == answer else "")
