"""The second ledger: what occupies a device's memory, in bytes."""

from sympy import Eq, Piecewise, ceiling, floor

from threeledgers.formula import formula
from threeledgers.formulas.symbols import HALF, INDEX, OCTET, SINGLE

_ZERO = "Rajbhandari et al. 2019"
_KORTHIKANTI = "Korthikanti et al. 2022"
_LLAMA = "counted on the reference block in bf16: hand-written RMSNorm, SDPA with repeated key/value heads, SwiGLU"


@formula(unit="B", source="definition")
def weights_bytes(params, elem_bytes):
    """Every parameter once."""
    return elem_bytes * params


@formula(unit="B", source="definition")
def grads_bytes(params, elem_bytes):
    """One gradient a parameter."""
    return elem_bytes * params


@formula(unit="B", source=_ZERO + ", section 3: K = 12")
def optimizer_bytes(params):
    """Mixed-precision Adam keeps a master copy, a mean and a variance, each in fp32."""
    return (SINGLE + SINGLE + SINGLE) * params


@formula(unit="B", source=_ZERO + ", section 3")
def adam_bytes(params):
    """Mixed precision: weight and gradient in 16 bits; master copy, mean and variance in fp32."""
    return (HALF + HALF + 3 * SINGLE) * params


@formula(unit="B", source="arithmetic: torch.optim.AdamW on an fp32 model")
def adam_fp32_bytes(params):
    """All in fp32: weight, gradient, mean, variance; the weight is its own master copy."""
    return (SINGLE + SINGLE + 2 * SINGLE) * params


@formula(unit="B", source="arithmetic: torch.optim.AdamW on a bf16 model")
def adam_bf16_bytes(params):
    """All in bf16, without a master copy: the cheapest, and small updates round away."""
    return (HALF + HALF + 2 * HALF) * params


@formula(unit="B", source="Dettmers et al. 2022; its scales, 4 B for each block of 2,048, left out")
def adam_8bit_bytes(params):
    """Weight and gradient in 16 bits, mean and variance in 8 bits each; no master copy."""
    return (HALF + HALF + 2 * OCTET) * params


@formula(unit="B", source="arithmetic: torch.optim.SGD without momentum on a bf16 model")
def sgd_bytes(params):
    """Weight and gradient in 16 bits, and no state."""
    return (HALF + HALF) * params


@formula(unit="B", source="arithmetic: gradients accumulated in fp32 instead of 16 bits")
def adam_fp32_grads_bytes(params):
    """Mixed precision with the gradient in fp32 only."""
    return (HALF + SINGLE + 3 * SINGLE) * params


@formula(unit="B", source="Tazi et al. 2025 (Ultra-Scale Playbook): fp32 gradient accumulation")
def adam_grad_copy_bytes(params):
    """Mixed precision with an fp32 copy beside the 16-bit gradient."""
    return (HALF + HALF + SINGLE + 3 * SINGLE) * params


@formula(unit="B", source=_ZERO)
def zero_state_bytes(params, ranks, stage):
    """adam_bytes with the 12 P of the optimizer, then the gradients, then the weights divided by N."""
    return Piecewise(
        ((HALF + HALF + 3 * SINGLE) * params, Eq(stage, 0)),
        ((HALF + HALF + 3 * SINGLE / ranks) * params, Eq(stage, 1)),
        ((HALF + (HALF + 3 * SINGLE) / ranks) * params, Eq(stage, 2)),
        ((HALF + HALF + 3 * SINGLE) * params / ranks, True),
    )


@formula(unit="B", source=_LLAMA)
def llama_block_saved_bytes(batch, seq, hidden, heads, head_dim, ffn):
    """Per token: two norms (x in 16 bits, normed in fp32, 1/rms), two inputs of linears, q k v and the output, the
    log-sum-exp of each head, four tensors of the MLP."""
    return (
        batch
        * seq
        * (
            2 * ((HALF + SINGLE) * hidden + SINGLE)
            + 2 * HALF * hidden
            + 4 * HALF * heads * head_dim
            + SINGLE * heads
            + 4 * HALF * ffn
        )
    )


@formula(unit="B", source="softmax's output and a boolean mask, per layer")
def scores_saved_bytes(elem_bytes, heads, batch, seq):
    """Eager attention keeps the probabilities of all pairs, and the mask that made them causal."""
    return elem_bytes * heads * batch * seq**2 + OCTET * seq**2


@formula(unit="B", source=_LLAMA + "; eager attention in place of SDPA")
def eager_block_saved_bytes(batch, seq, hidden, heads, head_dim, ffn):
    """As llama_block_saved_bytes, with the probabilities and the mask in place of the log-sum-exp."""
    return (
        batch
        * seq
        * (2 * ((HALF + SINGLE) * hidden + SINGLE) + 2 * HALF * hidden + 4 * HALF * heads * head_dim + 4 * HALF * ffn)
        + HALF * heads * batch * seq**2
        + OCTET * seq**2
    )


@formula(unit="B", source=_KORTHIKANTI + ", equation 1")
def gpt_block_saved_bytes(batch, seq, hidden, heads):
    """S B h (34 + 5 a S/h): attention 11, MLP 19, norms 4, and scores, probabilities and their dropout mask."""
    return (
        batch * seq * hidden * ((5 * HALF + OCTET) + (9 * HALF + OCTET) + 2 * HALF)
        + (2 * HALF + OCTET) * heads * batch * seq**2
    )


@formula(unit="B", source=_KORTHIKANTI + ", section 5")
def gpt_selective_saved_bytes(batch, seq, hidden):
    """S B h · 34: the attention core is computed again, so nothing of size S² is kept."""
    return batch * seq * hidden * ((5 * HALF + OCTET) + (9 * HALF + OCTET) + 2 * HALF)


@formula(unit="B", source="torch.utils.checkpoint: a block keeps its input only")
def checkpoint_saved_bytes(batch, seq, hidden, elem_bytes):
    """A fully checkpointed block keeps what came in."""
    return elem_bytes * batch * seq * hidden


@formula(unit="B", source="counted: last norm, head, fp32 cross entropy; split as by DTensor's loss_parallel")
def head_saved_bytes(batch, seq, hidden, head_dim, vocab, tensor_ranks):
    """Outside the blocks: token ids, rotary tables, the last norm, the head's input, fp32 log-probabilities, a count."""
    return (
        INDEX * batch * seq
        + 2 * HALF * seq * head_dim
        + batch * seq * ((HALF + SINGLE) * hidden + SINGLE) / tensor_ranks
        + HALF * batch * seq * hidden
        + SINGLE * batch * seq * vocab / tensor_ranks
        + SINGLE
    )


@formula(unit="B", source="counted: the backward pass of an fp32 cross entropy")
def loss_backward_bytes(batch, seq, vocab):
    """The gradient of the log-probabilities, then of the logits, beside what was saved; and that of the loss itself."""
    return 2 * SINGLE * batch * seq * vocab + SINGLE


@formula(unit="B", source="counted: the backward pass of the head, its gradient made before it is added")
def head_backward_bytes(batch, seq, vocab, hidden):
    """A new gradient of the head, of its input and of the logits in 16 bits, where the log-probabilities have been let go."""
    return (
        HALF * vocab * hidden
        + HALF * batch * seq * hidden
        + HALF * batch * seq * vocab
        - SINGLE * batch * seq * vocab
        + SINGLE
    )


@formula(unit="1", source=_KORTHIKANTI + ": 5 a S/h = 34 with h = a d", symbol=r"S^{*}")
def attention_crossover(head_dim):
    """Beyond this length the S² part of a GPT block's saved bytes is the larger one."""
    return 34 * head_dim / 5


@formula(unit="B", source="definition: keys and values of every layer, per token")
def kv_cache_bytes(layers, kv_heads, head_dim, elem_bytes):
    """Per token: K and V, in each layer, for each key/value head; MHA has as many of them as query heads, GQA fewer."""
    return 2 * layers * kv_heads * head_dim * elem_bytes


@formula(unit="B", source="DeepSeek-AI 2024 (DeepSeek-V2)")
def mla_cache_bytes(kv_rank, rope_dim, layers, elem_bytes):
    """Per token: one latent and one shared rotary key in each layer, whatever the number of heads."""
    return (kv_rank + rope_dim) * layers * elem_bytes


@formula(unit="1", source="arithmetic: no fragmentation", symbol=r"B_{\mathrm{max}}")
def batch_max(capacity, states, sample_bytes):
    """Sequences that fit beside the states."""
    return floor((capacity - states) / sample_bytes)


@formula(unit="1", source=_ZERO + ": stage 3", symbol=r"N_{\mathrm{min}}")
def min_ranks(params, capacity, activations):
    """Ranks that hold the states of mixed-precision Adam, when each also holds its activations."""
    return ceiling((HALF + HALF + 3 * SINGLE) * params / (capacity - activations))
