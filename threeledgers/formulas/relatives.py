"""What relatives of Llama change: a tied head, biases, norms of queries and keys. All zeros, and a Llama is left."""

from threeledgers.formula import formula
from threeledgers.formulas.symbols import HALF, INDEX, SINGLE

_COUNTED = "counted on the reference model with these options: as Llama 3.2, Qwen2 and Qwen3 have them"


@formula(unit="1", source=_COUNTED, symbol=r"P_{\mathrm{ext}}")
def block_extra_params(hidden, heads, head_dim, kv_heads, ffn, qkv_bias, out_bias, mlp_bias, qk_norm, tensor_ranks):
    """One rank's share of what a block holds beyond its matrices and two norms: biases are split where the outputs of
    their matrix are, and repeated where its inputs are; so are the two norms over one head each."""
    return (
        (qkv_bias * (heads * head_dim + 2 * kv_heads * head_dim) + 2 * mlp_bias * ffn) / tensor_ranks
        + (out_bias + mlp_bias) * hidden
        + 2 * qk_norm * head_dim
    )


@formula(unit="1", source=_COUNTED, symbol="P")
def family_params(vocab, hidden, layers, heads, head_dim, kv_heads, ffn, tables, extra_params):
    """As llama_params, with one table where input and head share it, and with what a block has besides."""
    return (
        tables * vocab * hidden
        + layers
        * (
            2 * hidden * heads * head_dim
            + 2 * hidden * kv_heads * head_dim
            + 3 * hidden * ffn
            + 2 * hidden
            + extra_params
        )
        + hidden
    )


@formula(unit="B", source="counted: hand-written RMSNorm over each query and key head, in bf16")
def qk_norm_saved_bytes(batch, seq, heads, head_dim, kv_heads, tensor_ranks):
    """As a norm of the block: its row in fp32, the normed row in 16 bits and 1/rms, for each query and key head."""
    return batch * seq * (heads + kv_heads) * ((HALF + SINGLE) * head_dim + SINGLE) / tensor_ranks


@formula(unit="B", source="counted: PyTorch's engine adds the two gradients of one parameter out of place")
def tied_grad_bytes(batch, seq, vocab, hidden):
    """The head's gradient waits for the look-up's; both are there while a third holds their sum, beside the token
    ids and, in fp32, the loss and its gradient."""
    return 3 * HALF * vocab * hidden + INDEX * batch * seq + 2 * SINGLE
