"""The reference model computes what its formulas say, and refuses sizes that cannot be."""

import pytest
import torch
import torch.nn.functional as F

from threeledgers import count
from threeledgers.transformer import (
    GPT,
    Block,
    Config,
    GPTBlock,
    Llama,
    RMSNorm,
    loss,
    rotary_tables,
    rotate,
    train_step,
)

TINY = Config(vocab=512, hidden=128, layers=2, heads=4, kv_heads=2, head_dim=32, ffn=344)


def params(module):
    return sum(p.numel() for p in module.parameters())


def grads(model, ids):
    model.zero_grad()
    value = loss(model, ids)
    value.backward()
    return value.detach(), [p.grad.clone() for p in model.parameters()]


@pytest.mark.parametrize("name, value", [("ffn", 0), ("layers", 2.0), ("kv_heads", 3)])
def test_an_impossible_size_is_named(name, value):
    with pytest.raises(ValueError, match=f"{name} is {value}"):
        Config(**{**vars(TINY), name: value})


def test_a_config_is_read_from_any_object():
    class Spec:
        vocab, hidden, layers, heads, kv_heads, head_dim, ffn, source = 512, 128, 2, 4, 2, 32, 344, "a paper"

    assert Config.of(Spec) == TINY


@pytest.mark.parametrize("names", [{"attention": "fast"}, {"checkpoint": "some"}])
def test_an_unknown_variant_is_named(names):
    with pytest.raises(ValueError, match="it must be one of"):
        Llama(TINY, **names)


def test_parameters():
    attention, mlp = 2 * 128 * 128 + 2 * 128 * 64, 3 * 128 * 344
    assert params(Llama(TINY)) == 2 * 512 * 128 + 2 * (attention + mlp + 2 * 128) + 128 == 494_208
    with count.meta():
        assert params(Llama(Config(32_000, 4096, 32, 32, 32, 128, 11_008))) == 6_738_415_616
        assert params(Llama(Config(32_000, 8192, 80, 64, 8, 128, 28_672))) == 68_976_648_192
        assert params(GPT(50_257, 2048, 12_288, 96, 96)) == 96 * (12 * 12_288**2 + 13 * 12_288) + 12_288 * 52_307
    assert params(GPT(50_257, 1024, 768, 12, 12)) == 124_439_808  # GPT-2 small
    assert params(GPTBlock(64, 4)) == 12 * 64 * 64 + 13 * 64


def test_all_variants_compute_the_same():
    torch.manual_seed(0)
    model, ids = Llama(TINY), torch.randint(512, (2, 16))
    value, expected = grads(model, ids)
    for names in [
        {"attention": "eager"},
        *({"checkpoint": c, "early_stop": e} for c in ("selective", "full") for e in (0, 1)),
    ]:
        other = Llama(TINY, **names)
        other.load_state_dict(model.state_dict())
        other_value, found = grads(other, ids)
        torch.testing.assert_close(other_value, value)
        torch.testing.assert_close(found, expected)


def test_norm_and_rotation_against_pytorchs_own():
    x = torch.randn(3, 5, 8)
    torch.testing.assert_close(RMSNorm(8)(x), F.rms_norm(x, (8,), eps=1e-5))
    cos, sin = rotary_tables(5, 8)
    pairs = torch.complex(x[..., :4], x[..., 4:]) * torch.polar(
        torch.ones(5, 4), torch.acos(cos[:, :4]) * sin[:, :4].sign()
    )
    torch.testing.assert_close(rotate(x, cos, sin), torch.cat((pairs.real, pairs.imag), -1), atol=1e-4, rtol=1e-4)


def test_no_token_sees_the_future():
    torch.manual_seed(0)
    ids = torch.randint(512, (1, 12))
    changed = ids.clone()
    changed[0, 8] = (ids[0, 8] + 1) % 512
    for model in (Llama(TINY), Llama(TINY, attention="eager"), GPT(512, 12, 64, 2, 4)):
        before, after = model(ids), model(changed)
        assert torch.equal(before[:, :8], after[:, :8]) and not torch.equal(before[:, 8:], after[:, 8:])


def test_one_key_head_is_repeated_as_a_copy():
    block = Block(Config(8, 16, 1, 4, 1, 4, 16))
    seen = []
    block.attention.core = lambda q, k, v: seen.append((q, k, v)) or v
    block(torch.randn(2, 3, 16), *rotary_tables(3, 4))
    assert {t.untyped_storage().nbytes() for t in seen[0]} == {2 * 3 * 16 * 4}


def test_a_training_step_lowers_the_loss_and_leaves_no_gradient():
    torch.manual_seed(0)
    model, ids = Llama(TINY), torch.randint(512, (2, 16))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, foreach=False)
    before = loss(model, ids)
    for _ in range(3):
        train_step(model, optimizer, ids)
    assert loss(model, ids) < before and all(p.grad is None for p in model.parameters())
