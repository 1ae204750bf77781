"""The plain reference transformer that the counters count: no cleverness, so that every byte has a reason."""

from contextlib import nullcontext
from dataclasses import dataclass, fields
from functools import partial

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint, set_checkpoint_early_stop


@dataclass(frozen=True)
class Config:
    """The seven sizes of a Llama; ``ffn`` is the width of the gated MLP. Raises ValueError for impossible ones.

    What its relatives change: ``tied``, one table for input and head; biases of q, k and v, of the projection after
    attention, of the MLP; ``qk_norm``, an RMSNorm over each query and key head.
    """

    vocab: int
    hidden: int
    layers: int
    heads: int
    kv_heads: int
    head_dim: int
    ffn: int
    tied: bool = False
    qkv_bias: bool = False
    out_bias: bool = False
    mlp_bias: bool = False
    qk_norm: bool = False

    def __post_init__(self):
        for field in fields(self)[:7]:
            value = getattr(self, field.name)
            if not isinstance(value, int) or value < 1:
                raise ValueError(f"{field.name} is {value!r}: it must be a whole number above 0")
        if self.heads % self.kv_heads:
            raise ValueError(f"kv_heads is {self.kv_heads}: it must divide heads, which is {self.heads}")

    @classmethod
    def of(cls, spec):
        """The sizes that any object carries as attributes of the same names, and what it says it changes."""
        sizes = {field.name: getattr(spec, field.name) for field in fields(cls)[:7]}
        return cls(**sizes, **{field.name: bool(getattr(spec, field.name, 0)) for field in fields(cls)[7:]})


class RMSNorm(nn.Module):
    """Divides each row (…, hidden) by its root mean square, in fp32, and scales it."""

    def __init__(self, hidden, epsilon=1e-5):
        super().__init__()
        self.weight, self.epsilon = nn.Parameter(torch.ones(hidden)), epsilon

    def forward(self, x):
        wide = x.float()
        scale = torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + self.epsilon)
        return (wide * scale).to(x.dtype) * self.weight


def rotary_tables(tokens, head_dim, dtype=None, device=None):
    """Cosines and sines (tokens, head_dim) of the rotary embedding, in the model's type."""
    rates = 10_000.0 ** (-torch.arange(0, head_dim, 2, dtype=torch.float32, device=device) / head_dim)
    angles = torch.arange(tokens, dtype=torch.float32, device=device)[:, None] * rates.repeat(2)
    return angles.cos().to(dtype), angles.sin().to(dtype)


def rotate(x, cos, sin):
    """Rotary embedding of (batch, heads, tokens, head_dim)."""
    first, second = x.chunk(2, dim=-1)
    return x * cos + torch.cat((-second, first), dim=-1) * sin


def repeat_heads(x, times):
    """Each head of (batch, heads, tokens, head_dim) ``times`` times in a row; a copy unless once."""
    return x if times == 1 else x.unsqueeze(2).expand(-1, -1, times, -1, -1).contiguous().flatten(1, 2)


def flash_attention(q, k, v):
    """Causal attention of (batch, heads, tokens, head_dim) by the fused operator."""
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)


def eager_attention(q, k, v):
    """The same, written out: all scores (batch, heads, tokens, tokens) exist, and a boolean mask (tokens, tokens)."""
    future = torch.ones(q.shape[-2], q.shape[-2], dtype=torch.bool, device=q.device).triu(1)
    scores = (q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5).masked_fill(future, float("-inf"))
    return scores.softmax(-1) @ v


ATTENTION = {"flash": flash_attention, "eager": eager_attention}
CHECKPOINT = ("none", "selective", "full")
# Nothing here is random, so no random state is kept: it would hold 5,056 bytes a layer on a CPU.
_recompute = partial(checkpoint, use_reentrant=False, preserve_rng_state=False)


class Attention(nn.Module):
    """Grouped-query attention; the key and value heads are repeated before ``core``."""

    def __init__(self, config, core):
        super().__init__()
        self.core, self.head_dim = core, config.head_dim
        self.q = nn.Linear(config.hidden, config.heads * config.head_dim, bias=config.qkv_bias)
        self.k = nn.Linear(config.hidden, config.kv_heads * config.head_dim, bias=config.qkv_bias)
        self.v = nn.Linear(config.hidden, config.kv_heads * config.head_dim, bias=config.qkv_bias)
        self.o = nn.Linear(config.heads * config.head_dim, config.hidden, bias=config.out_bias)
        self.q_norm, self.k_norm = (RMSNorm(config.head_dim) if config.qk_norm else nn.Identity() for _ in range(2))

    def forward(self, x, cos, sin):
        # the number of heads is what the projection gives: a tensor-parallel rank has only its own
        q, k, v = (p(x).unflatten(-1, (-1, self.head_dim)).transpose(1, 2) for p in (self.q, self.k, self.v))
        q, k = rotate(self.q_norm(q), cos, sin), rotate(self.k_norm(k), cos, sin)
        k, v = (repeat_heads(t, q.shape[1] // t.shape[1]) for t in (k, v))
        return self.o(self.core(q, k, v).transpose(1, 2).flatten(2))


class MLP(nn.Module):
    """The gated MLP of Llama: down(silu(gate(x)) * up(x))."""

    def __init__(self, config):
        super().__init__()
        self.gate = nn.Linear(config.hidden, config.ffn, bias=config.mlp_bias)
        self.up = nn.Linear(config.hidden, config.ffn, bias=config.mlp_bias)
        self.down = nn.Linear(config.ffn, config.hidden, bias=config.mlp_bias)

    def forward(self, x):
        return self.down(F.silu(self.gate(x)) * self.up(x))


class Block(nn.Module):
    """One layer of a Llama; takes (batch, tokens, hidden) and the rotary tables."""

    def __init__(self, config, core=flash_attention):
        super().__init__()
        self.attention_norm, self.mlp_norm = RMSNorm(config.hidden), RMSNorm(config.hidden)
        self.attention, self.mlp = Attention(config, core), MLP(config)

    def forward(self, x, cos, sin):
        x = x + self.attention(self.attention_norm(x), cos, sin)
        return x + self.mlp(self.mlp_norm(x))


class Llama(nn.Module):
    """A plain Llama: token ids (batch, tokens) in, logits (batch, tokens, vocab) out.

    ``attention``: "flash" or "eager". ``checkpoint``: recompute nothing ("none"), the core of each attention
    ("selective") or each layer ("full") in the backward pass. ``early_stop``: let a recomputation end once it has
    what the backward pass asks for, as PyTorch does by default: it skips a layer's last product.
    """

    def __init__(self, config, attention="flash", checkpoint="none", early_stop=True):
        super().__init__()
        if attention not in ATTENTION:
            raise ValueError(f"attention is {attention!r}: it must be one of {', '.join(ATTENTION)}")
        if checkpoint not in CHECKPOINT:
            raise ValueError(f"checkpoint is {checkpoint!r}: it must be one of {', '.join(CHECKPOINT)}")
        self.config, self.checkpoint, self.early_stop = config, checkpoint, early_stop
        core = ATTENTION[attention]
        core = partial(_recompute, core) if checkpoint == "selective" else core
        self.embedding = nn.Embedding(config.vocab, config.hidden)
        self.layers = nn.ModuleList(Block(config, core) for _ in range(config.layers))
        self.norm = RMSNorm(config.hidden)
        self.head = nn.Linear(config.hidden, config.vocab, bias=False)
        if config.tied:
            self.head.weight = self.embedding.weight

    def forward(self, ids):
        x = self.embedding(ids)
        cos, sin = rotary_tables(ids.shape[-1], self.config.head_dim, x.dtype, x.device)
        with nullcontext() if self.early_stop else set_checkpoint_early_stop(False):
            for layer in self.layers:
                x = _recompute(layer, x, cos, sin) if self.checkpoint == "full" else layer(x, cos, sin)
        return self.head(self.norm(x))


def loss(model, ids):
    """Cross entropy in fp32 of the model's logits, each token being its own target: a target shifted costs the same."""
    return F.cross_entropy(model(ids).float().flatten(0, -2), ids.flatten())


def train_step(model, optimizer, ids):
    """One step: forward, backward, optimizer; no gradient is left, and nothing returned."""
    loss(model, ids).backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)


class GPTBlock(nn.Module):
    """One layer of a GPT: biases, LayerNorm, GELU, eager attention with an additive mask, three dropouts.

    Takes (batch, tokens, hidden) in the layout of Korthikanti et al. 2022, whose masks of dropout are boolean: so on
    every device here.
    """

    def __init__(self, hidden, heads, dropout=0.1):
        super().__init__()
        self.heads, self.dropout = heads, dropout
        self.attention_norm, self.mlp_norm = nn.LayerNorm(hidden), nn.LayerNorm(hidden)
        self.qkv, self.o = nn.Linear(hidden, 3 * hidden), nn.Linear(hidden, hidden)
        self.up, self.down = nn.Linear(hidden, 4 * hidden), nn.Linear(4 * hidden, hidden)

    def forward(self, x):
        x = x + self._drop(self._attention(self.attention_norm(x)))
        return x + self._drop(self.down(F.gelu(self.up(self.mlp_norm(x)))))

    def _attention(self, x):
        q, k, v = (t.unflatten(-1, (self.heads, -1)).transpose(1, 2) for t in self.qkv(x).chunk(3, dim=-1))
        future = torch.full((x.shape[1], x.shape[1]), float("-inf"), dtype=x.dtype, device=x.device).triu(1)
        weights = (q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5 + future).softmax(-1)
        return self.o((self._drop(weights) @ v).transpose(1, 2).flatten(2))

    def _drop(self, x):
        # F.dropout keeps its mask in the type of x on a CPU
        return torch.native_dropout(x, self.dropout, True)[0] if self.dropout else x


class GPT(nn.Module):
    """A GPT-2 or GPT-3: learned positions, tied head; token ids (batch, tokens) in, logits (batch, tokens, vocab) out."""

    def __init__(self, vocab, positions, hidden, layers, heads, dropout=0.0):
        super().__init__()
        self.embedding, self.positions = nn.Embedding(vocab, hidden), nn.Embedding(positions, hidden)
        self.layers = nn.ModuleList(GPTBlock(hidden, heads, dropout) for _ in range(layers))
        self.norm = nn.LayerNorm(hidden)

    def forward(self, ids):
        x = self.embedding(ids) + self.positions(torch.arange(ids.shape[-1], device=ids.device))
        for layer in self.layers:
            x = layer(x)
        return F.linear(self.norm(x), self.embedding.weight)


class LinearStack(nn.Module):
    """``blocks`` checkpointed blocks of ``linears`` equal layers without bias; takes (tokens, width)."""

    def __init__(self, width, linears, blocks, early_stop=True):
        super().__init__()
        self.early_stop = early_stop
        self.blocks = nn.ModuleList(
            nn.Sequential(*(nn.Linear(width, width, bias=False) for _ in range(linears))) for _ in range(blocks)
        )

    def forward(self, x):
        with nullcontext() if self.early_stop else set_checkpoint_early_stop(False):
            for block in self.blocks:
                x = _recompute(block, x)
        return x
