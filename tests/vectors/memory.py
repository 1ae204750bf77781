"""States, activations, caches."""

from tests.vectors import recipe
from threeledgers import formulas as f

GB = 10**9


@recipe("V-ZERO-1", "V-ZERO-3", "V-ZERO-4")
def sharded_states(**job):
    return f.zero_state_bytes(**job) / GB


@recipe("V-ZERO-5", "V-USP-1a", "V-USP-4a")
def states(params):
    return f.adam_bytes(params=params) / GB


@recipe("V-USP-2b", "V-USP-3b")
def states_with_gradient_copy(params):
    return f.adam_grad_copy_bytes(params=params) / GB


@recipe("V-CB-1")
def gradients(params, elem_bytes, tensor_ranks):
    return f.grads_bytes(params=params, elem_bytes=elem_bytes) / tensor_ranks / 2**30


@recipe("V-KOR-1", "V-KOR-2")
def scores(seq, hidden, heads):
    whole = f.gpt_block_saved_bytes(batch=1, seq=seq, hidden=hidden, heads=heads)
    return (whole - f.gpt_selective_saved_bytes(batch=1, seq=seq, hidden=hidden)) / (seq * hidden)


@recipe("V-KOR-3")
def without_scores(batch, seq, hidden):
    return f.gpt_selective_saved_bytes(batch=batch, seq=seq, hidden=hidden) / (batch * seq * hidden)


@recipe("V-KOR-4")
def crossover(head_dim):
    return f.attention_crossover(head_dim=head_dim)


@recipe("V-KV-1")
def latent_cache(**shape):
    return f.mla_cache_bytes(**shape)


@recipe("V-KV-2", "V-KV-3", "V-KV-5", "V-KV-7", "V-KV-8", "V-KV-10")
def cache(**shape):
    return f.kv_cache_bytes(**shape)


@recipe("V-KV-4")
def cache_over_latent(layers, kv_heads, head_dim, kv_rank, rope_dim, latent_layers, elem_bytes):
    whole = f.kv_cache_bytes(layers=layers, kv_heads=kv_heads, head_dim=head_dim, elem_bytes=elem_bytes)
    return whole / f.mla_cache_bytes(kv_rank=kv_rank, rope_dim=rope_dim, layers=latent_layers, elem_bytes=elem_bytes)


@recipe("V-RF-12")
def quantised(params, bits):
    return f.weights_bytes(params=params, elem_bytes=bits / 8)


@recipe("V-FA-4")
def passes_over_scores(traffic, batch, seq, heads, head_dim, elem_bytes):
    return traffic / (batch * heads * seq**2 * elem_bytes)
