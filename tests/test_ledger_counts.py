"""What the counters read off the reference model, to the byte and the FLOP: small formulas worked out here by hand.

Nothing is imported from the formulas: the two sides meet in test_witnesses.py.
"""

from contextlib import contextmanager

import pytest
import torch
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor.parallel import parallelize_module

from threeledgers import count
from threeledgers.count.parallel import tensor_parallel_plan
from threeledgers.transformer import Block, Config, GPTBlock, Llama, eager_attention, loss, rotary_tables, train_step

TINY = Config(vocab=512, hidden=128, layers=2, heads=4, kv_heads=2, head_dim=32, ffn=344)
SMALL = Config(vocab=32_000, hidden=512, layers=4, heads=8, kv_heads=4, head_dim=64, ffn=1376)
LLAMA_7B = Config(vocab=32_000, hidden=4096, layers=32, heads=32, kv_heads=32, head_dim=128, ffn=11_008)
LLAMA_8B = Config(vocab=128_256, hidden=4096, layers=32, heads=32, kv_heads=8, head_dim=128, ffn=14_336)
LLAMA_70B = Config(vocab=32_000, hidden=8192, layers=80, heads=64, kv_heads=8, head_dim=128, ffn=28_672)
LLAMA_405B = Config(vocab=128_256, hidden=16_384, layers=126, heads=128, kv_heads=8, head_dim=128, ffn=53_248)
full = pytest.mark.full


@contextmanager
def real(dtype):
    torch.set_default_dtype(dtype)
    yield
    torch.set_default_dtype(torch.float32)


PLACES = {"meta": count.meta, "fake": count.fake, "real": real}


def ids(batch, tokens):
    return torch.zeros(batch, tokens, dtype=torch.long)


def layer_weights(c):
    return 2 * c.hidden * c.head_dim * (c.heads + c.kv_heads) + 3 * c.hidden * c.ffn


def params(c):
    return 2 * c.vocab * c.hidden + c.layers * (layer_weights(c) + 2 * c.hidden) + c.hidden


def block_saved(c, tokens):
    return tokens * (24 * c.hidden + 8 + 4 * c.heads + 8 * c.ffn)


# FLOPs


def flops(c, batch, tokens, place, **variant):
    with PLACES[place](torch.bfloat16):
        model = Llama(c, **variant)
        value, forward = count.flops(lambda: loss(model, ids(batch, tokens)))
        _, backward = count.flops(value.backward)
    rows = batch * tokens
    products = 2 * rows * (c.layers * layer_weights(c) + c.vocab * c.hidden)
    return forward, backward, products, 4 * c.layers * rows * tokens * c.heads * c.head_dim


@pytest.mark.parametrize(
    "attention, place", [("flash", "meta"), ("eager", "meta"), ("eager", "fake"), ("eager", "real")]
)
def test_flops_of_written_out_attention(attention, place):
    forward, backward, mm, att = flops(TINY, 2, 128, place, attention=attention)
    assert (forward, backward) == (mm + att, 2 * mm + 2 * att)


@pytest.mark.parametrize("place", ["fake", "real"])
def test_fused_attention_computes_its_scores_again_in_the_backward_pass(place):
    forward, backward, mm, att = flops(TINY, 2, 128, place)
    assert (forward, 2 * backward) == (mm + att, 4 * mm + 5 * att)


@pytest.mark.parametrize("early_stop", [True, False])
def test_flops_of_recomputation(early_stop):
    forward, backward, mm, att = flops(TINY, 2, 128, "fake", checkpoint="full", early_stop=early_stop)
    again = mm - 2 * 256 * 512 * 128 + att - early_stop * 2 * 2 * 256 * 128 * 344
    assert (forward, 2 * (backward - again)) == (mm + att, 4 * mm + 5 * att)


def test_selective_recomputation_repeats_the_attention_alone():
    _, plain, _, att = flops(TINY, 2, 128, "fake")
    assert flops(TINY, 2, 128, "fake", checkpoint="selective")[1] == plain + att


@full
@pytest.mark.parametrize("c, tokens", [(LLAMA_7B, 4096), (LLAMA_8B, 8192), (LLAMA_70B, 4096), (LLAMA_405B, 8192)])
def test_flops_of_published_models(c, tokens):
    forward, backward, mm, att = flops(c, 1, tokens, "meta")
    assert (forward, backward) == (mm + att, 2 * mm + 2 * att)


# memory: saved for the backward pass


@pytest.mark.parametrize("c, batch, tokens", [(TINY, 2, 128), (SMALL, 1, 512), (LLAMA_7B, 1, 4096), (LLAMA_8B, 2, 512)])
@pytest.mark.parametrize("core", [None, eager_attention])
def test_what_a_block_saves(c, batch, tokens, core):
    rows = batch * tokens
    with count.fake(torch.bfloat16):
        block = Block(c, core) if core else Block(c)
        tables, x = (
            rotary_tables(tokens, c.head_dim, torch.bfloat16),
            torch.empty(batch, tokens, c.hidden).requires_grad_(),
        )
        saved = count.saved_bytes(lambda: block(x, *tables), [block, *tables])[1]
    scores = (2 * c.heads * rows * tokens + tokens**2 - 4 * c.heads * rows) if core else 0
    assert saved == block_saved(c, rows) + scores
    if not core and c is LLAMA_7B:
        assert saved == 763_920_384


@pytest.mark.parametrize("checkpoint", ["none", "selective", "full"])
@pytest.mark.parametrize("c, place", [(TINY, "fake"), (TINY, "real"), (LLAMA_7B, "fake")])
def test_what_a_model_saves(c, place, checkpoint):
    tokens = 4096 if c is LLAMA_7B else 128
    with PLACES[place](torch.bfloat16):
        model = Llama(c, checkpoint=checkpoint)
        _, saved = count.saved_bytes(lambda: loss(model, ids(1, tokens)), [model])
    layer = {
        "none": block_saved(c, tokens),
        "selective": block_saved(c, tokens) - 4 * c.heads * tokens,
        "full": 2 * tokens * c.hidden,
    }[checkpoint]
    rest = 8 * tokens + 4 * tokens * c.head_dim + tokens * (8 * c.hidden + 4) + 4 * tokens * c.vocab + 4
    assert saved == c.layers * layer + rest
    if c is LLAMA_7B:
        assert saved == {"none": 25_106_104_324, "selective": 25_089_327_108, "full": 1_734_393_860}[checkpoint]


@pytest.mark.parametrize("s, b, h, a", [(64, 3, 48, 4), (2048, 1, 12_288, 96)])
def test_a_gpt_block_saves_what_korthikanti_says_and_the_norms_statistics(s, b, h, a):
    with count.fake(torch.bfloat16):
        block, x = GPTBlock(h, a), torch.empty(b, s, h).requires_grad_()
        saved = count.saved_bytes(lambda: block(x), [block])[1]
    assert saved == 34 * s * b * h + 5 * a * s * s * b + 8 * s * b
    assert h != 12_288 or saved == 2_868_920_320


# memory: the peak of a training step


def peak(c, batch, tokens, place, dtype, **variant):
    with PLACES[place](dtype):
        model, batch_ids = Llama(c, **variant), ids(batch, tokens)
        optimizer = torch.optim.AdamW(model.parameters(), foreach=False)
        train_step(model, optimizer, batch_ids)
        step = lambda: train_step(model, optimizer, batch_ids)  # noqa: E731
        return count.peak_bytes(step, [model, optimizer, batch_ids])[1]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("checkpoint", ["none", "selective", "full"])
def test_a_fake_step_peaks_where_a_real_one_does(dtype, checkpoint):
    counts = {peak(TINY, 2, 128, place, dtype, checkpoint=checkpoint) for place in ("fake", "real")}
    assert len(counts) == 1
    if (dtype, checkpoint) == (torch.bfloat16, "none"):
        assert counts == {4_846_600}


@pytest.mark.parametrize("c, tokens", [(SMALL, 512), pytest.param(LLAMA_7B, 4096, marks=full)])
def test_the_peak_moves_from_the_loss_to_the_optimizer(c, tokens):
    saved = c.layers * block_saved(c, tokens) + tokens * (4 * c.head_dim + 8 * c.hidden + 4 + 4 * c.vocab) + 4
    plain = peak(c, 1, tokens, "fake", torch.bfloat16)
    assert plain == saved + 8 * tokens * c.vocab + 4
    if c is SMALL:
        assert plain == 246_630_408
    if c is LLAMA_7B:  # the published figure counts weights, both moments, token ids and step numbers, too
        assert plain + 3 * 2 * params(c) + 8 * tokens + 4 * (9 * 32 + 3) == 66_585_175_188
        stored = peak(c, 1, tokens, "fake", torch.bfloat16, checkpoint="full")
        assert stored == 2 * params(c) + 4 * c.vocab * c.hidden + 2 * c.hidden


def test_adamw_keeps_sixteen_bytes_a_parameter_with_gradients():
    model = Llama(TINY)
    optimizer = torch.optim.AdamW(model.parameters(), foreach=False)
    loss(model, ids(1, 8)).backward()
    optimizer.step()
    moments = [t for state in optimizer.state.values() for name, t in state.items() if name != "step"]
    everything = [*model.parameters(), *(p.grad for p in model.parameters()), *moments]
    assert sum(map(count.storage_bytes, everything)) == 16 * params(TINY)


# communication: what one of N ranks hands to its collectives


def sharded(c, mesh, keep):
    model = Llama(c)
    for module in (*model.layers, model):
        fully_shard(module, mesh=mesh, reshard_after_forward=not keep)
    return model


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_fully_sharded_parameters_are_gathered_twice_and_their_gradients_scattered_once(dtype):
    whole = params(TINY) * dtype.itemsize
    with count.fake_group(8) as mesh, count.fake(dtype):
        for keep in (False, True):
            model = sharded(TINY, mesh, keep)
            _, kinds = count.comm_bytes(lambda m=model: loss(m, ids(2, 128)).backward())
            gathers = 1 if keep else 2
            assert kinds == {"all_gather": (3 * gathers, gathers * whole), "reduce_scatter": (3, whole)}


@pytest.mark.parametrize("c, ranks", [pytest.param(LLAMA_7B, 64, marks=full), pytest.param(LLAMA_70B, 64, marks=full)])
def test_fully_sharded_published_models(c, ranks):
    with count.fake_group(ranks) as mesh, count.fake(torch.bfloat16):
        model = sharded(c, mesh, False)
        _, kinds = count.comm_bytes(lambda: loss(model, ids(1, 512)).backward())
    assert {kind: payload for kind, (_, payload) in kinds.items()} == {
        "all_gather": 2 * 2 * params(c),
        "reduce_scatter": 2 * params(c),
    }


def test_ddp_reduces_every_gradient_once():
    with count.fake_group(8):
        _, buckets = count.ddp_bytes(Llama(TINY), lambda model: loss(model, ids(2, 128)).backward())
    assert sum(buckets) == 4 * params(TINY) == 1_976_832


@pytest.mark.parametrize("ranks", [2, 8])
@pytest.mark.parametrize("sequence", [False, True])
def test_a_tensor_parallel_block(ranks, sequence):
    c = Config(vocab=512, hidden=128, layers=1, heads=16, kv_heads=8, head_dim=8, ffn=344)
    with count.fake_group(ranks) as mesh, count.fake(torch.bfloat16):
        block, tables = Block(c), rotary_tables(64, 8, torch.bfloat16)
        parallelize_module(block, mesh, tensor_parallel_plan(sequence))
        x = torch.empty(2, 64 // ranks if sequence else 64, 128).requires_grad_()
        run = lambda: count.saved_bytes(lambda: block(x, *tables), [block, *tables])  # noqa: E731
        (out, saved), forward = count.comm_bytes(run)
        _, backward = count.comm_bytes(lambda: out.sum().backward())
    rows = 2 * 64
    message = 2 * rows * 128
    kinds = ("all_gather", "reduce_scatter") if sequence else ("all_reduce",)
    assert forward == backward == {kind: (2, 2 * message) for kind in kinds}
    norms, gathered = rows * (12 * 128 + 8), 4 * rows * 128
    split = rows * (8 * 128 + 4 * 16 + 8 * 344)
    assert saved == gathered + (norms + split) // ranks if sequence else norms + gathered + split // ranks
