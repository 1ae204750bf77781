"""The first ledger: parameters, and the FLOPs of forward, backward and recomputation."""

from threeledgers.formula import formula
from threeledgers.formulas.symbols import FMA

_LLAMA = "counted on the reference model: RMSNorm, rotary, SwiGLU, no biases, untied head"
_FLASH = "Dao et al. 2022: the backward pass rebuilds the scores"
_KORTHIKANTI = "Korthikanti et al. 2022"
_MEGATRON = "Narayanan et al. 2021"


@formula(unit="1", source=_LLAMA, symbol="P")
def llama_params(vocab, hidden, layers, heads, head_dim, kv_heads, ffn):
    """Two tables of V rows; in each block four attention matrices, three MLP matrices and two norms; one last norm."""
    return (
        2 * vocab * hidden
        + layers * (2 * hidden * heads * head_dim + 2 * hidden * kv_heads * head_dim + 3 * hidden * ffn + 2 * hidden)
        + hidden
    )


@formula(unit="1", source=_LLAMA, symbol=r"P_{\mathrm{mm}}")
def llama_matmul_params(vocab, hidden, layers, heads, head_dim, kv_heads, ffn):
    """Without the input table, whose rows are only looked up, and without the norms."""
    return (
        layers * (2 * hidden * heads * head_dim + 2 * hidden * kv_heads * head_dim + 3 * hidden * ffn) + vocab * hidden
    )


@formula(unit="1", source=_MEGATRON + ", equation 2", symbol="P")
def gpt_params(layers, hidden, vocab, seq):
    """A GPT block holds 12 h² weights and 13 h biases and norm weights; tied table, learned positions, no last norm."""
    return 12 * layers * hidden**2 * (1 + 13 / (12 * hidden) + (vocab + seq) / (12 * layers * hidden))


@formula(unit="FLOP", source="definition: two products with all S² pairs")
def attention_forward_flops(batch, seq, heads, head_dim, layers):
    """Queries with keys, then probabilities with values: two products of S by S by d in each head."""
    return 2 * FMA * batch * seq**2 * heads * head_dim * layers


@formula(unit="FLOP", source="definition: each query sees the keys up to its own")
def causal_attention_forward_flops(batch, seq, heads, head_dim, layers):
    """The least a causal kernel must do: S(S+1)/2 pairs; PyTorch's counter and this book count S² unless they say so."""
    return 2 * FMA * batch * (seq * (seq + 1) / 2) * heads * head_dim * layers


@formula(unit="FLOP", source="chain rule: two products for each one of forward")
def attention_backward_flops(batch, seq, heads, head_dim, layers):
    """Four products, when the probabilities were kept."""
    return 4 * FMA * batch * seq**2 * heads * head_dim * layers


@formula(unit="FLOP", source=_FLASH)
def flash_attention_backward_flops(batch, seq, heads, head_dim, layers):
    """Five products: the scores were not kept, so they are computed again."""
    return 5 * FMA * batch * seq**2 * heads * head_dim * layers


@formula(unit="FLOP", source="forward and backward together")
def attention_train_flops(batch, seq, heads, head_dim, layers):
    """Two products forward and four backward."""
    return (2 + 4) * FMA * batch * seq**2 * heads * head_dim * layers


@formula(unit="FLOP", source=_FLASH)
def flash_attention_train_flops(batch, seq, heads, head_dim, layers):
    """Two products forward and five backward: 7/6 of what keeping the probabilities costs."""
    return (2 + 5) * FMA * batch * seq**2 * heads * head_dim * layers


@formula(unit="FLOP", source="definition: one multiply-add per token and matmul parameter, and attention")
def forward_flops(matmul_params, batch, seq, layers, heads, head_dim):
    """Every token meets every matmul parameter once; attention compares it with every other token."""
    return FMA * matmul_params * batch * seq + 2 * FMA * batch * seq**2 * heads * head_dim * layers


@formula(unit="FLOP", source="chain rule: two products for each one of forward")
def backward_flops(matmul_params, batch, seq, layers, heads, head_dim):
    """The gradient of the input and the gradient of the weight, for each product of forward; probabilities kept."""
    return 2 * FMA * matmul_params * batch * seq + 4 * FMA * batch * seq**2 * heads * head_dim * layers


@formula(unit="FLOP", source=_FLASH)
def flash_backward_flops(matmul_params, batch, seq, layers, heads, head_dim):
    """As backward_flops, with the scores computed a second time."""
    return 2 * FMA * matmul_params * batch * seq + 5 * FMA * batch * seq**2 * heads * head_dim * layers


@formula(unit="FLOP", source="torch.utils.checkpoint, early stop off", symbol=r"F_{\mathrm{re}}")
def checkpoint_flops(batch, seq, layers, hidden, heads, kv_heads, head_dim, ffn):
    """Every block runs forward once more; the head lies outside the blocks and does not."""
    return (
        FMA
        * batch
        * seq
        * layers
        * (2 * hidden * heads * head_dim + 2 * hidden * kv_heads * head_dim + 3 * hidden * ffn)
        + 2 * FMA * batch * seq**2 * heads * head_dim * layers
    )


@formula(unit="FLOP", source="torch.utils.checkpoint, early stop on, which is its default", symbol=r"F_{\mathrm{re}}")
def checkpoint_early_stop_flops(batch, seq, layers, hidden, heads, kv_heads, head_dim, ffn):
    """Recomputing stops at the last tensor that backward asks for, so a block's last product is not done again."""
    return (
        FMA
        * batch
        * seq
        * layers
        * (2 * hidden * heads * head_dim + 2 * hidden * kv_heads * head_dim + 2 * hidden * ffn)
        + 2 * FMA * batch * seq**2 * heads * head_dim * layers
    )


@formula(unit="FLOP", source="torch.utils.checkpoint, early stop on, which is its default")
def checkpoint_flops_factor(linears):
    """FLOPs per parameter and token of a stack of blocks of q equal linear layers: 6, and all but one layer again."""
    return 3 * FMA + FMA * (linears - 1) / linears


@formula(
    unit="1", source=_KORTHIKANTI + ", appendix A, whose equation 8 counts the recomputed core three times: S/(6h)"
)
def selective_overhead(seq, hidden):
    """Recomputing the attention core of a GPT block, 4 S² h, over the 72 S h² of its linear layers in a step."""
    return seq / (18 * hidden)


@formula(unit="FLOP", source="Kaplan et al. 2020")
def train_flops(params, tokens):
    """One multiply-add forward and two backward, per parameter and token; attention left out, so for short contexts."""
    return 3 * FMA * params * tokens


@formula(unit="FLOP", source="Chowdhery et al. 2022, appendix B")
def train_flops_full(matmul_params, layers, heads, head_dim, seq, tokens):
    """With attention: each token meets S others in two products, three times over."""
    return (3 * FMA * matmul_params + 3 * 2 * FMA * layers * heads * head_dim * seq) * tokens


@formula(unit="FLOP", source=_MEGATRON + ", equation 3")
def gpt_step_flops(batch, seq, layers, hidden, vocab):
    """Forward, twice that backward, and forward again: four passes over 12 h² weights, attention and the head."""
    return 4 * FMA * 12 * batch * seq * layers * hidden**2 * (1 + seq / (6 * hidden) + vocab / (16 * layers * hidden))
