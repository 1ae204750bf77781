"""The three ledgers of published models: formulas beside PyTorch's counts, to the integer.

``tiny`` is counted on every commit; 7B to 405B with ``make test-all`` (marker ``full``).
"""

import pytest
import torch
from torch.distributed.fsdp import fully_shard

from tests.witnesses.comm import share
from threeledgers import count, model
from threeledgers import formulas as f
from threeledgers.transformer import Config, Llama, loss

BF16 = torch.bfloat16


def cases(*published):
    return [("tiny", 2, 128), *(pytest.param(*case, marks=pytest.mark.full) for case in published)]


def called(formula, id, **values):
    """The formula of a model's shape and the values given."""
    spec = model(id)
    return formula(**{n: values[n] if n in values else getattr(spec, n) for n in formula.parameters})


def matmul_params(id):
    return called(f.llama_matmul_params, id)


def counted(id, batch, seq, place, **variant):
    with place(BF16):
        net, ids = Llama(Config.of(model(id)), **variant), torch.zeros(batch, seq, dtype=torch.int64)
        (out, saved), forward = count.flops(lambda: count.saved_bytes(lambda: loss(net, ids), [net]))
        _, backward = count.flops(out.backward)
    return forward, backward, saved


PUBLISHED = ("llama2_7b", 1, 4096), ("llama3_8b", 1, 8192), ("llama2_70b", 1, 4096)


@pytest.mark.parametrize("id, batch, seq", cases(*PUBLISHED, ("llama3_405b", 1, 8192)))
def test_flops(id, batch, seq):
    forward, backward, _ = counted(id, batch, seq, count.meta)
    values = dict(batch=batch, seq=seq, matmul_params=matmul_params(id))
    assert called(f.forward_flops, id, **values) == forward
    assert called(f.backward_flops, id, **values) == backward
    if id == "llama2_7b":
        assert forward == 62_921_270_886_400
    trained = called(f.train_flops_full, id, tokens=batch * seq, **values)
    assert trained == forward + backward


@pytest.mark.parametrize("checkpoint", ["none", "full"])
@pytest.mark.parametrize("id, batch, seq", cases(*PUBLISHED))
def test_flops_and_saved_bytes_with_fused_attention(id, batch, seq, checkpoint):
    forward, backward, saved = counted(id, batch, seq, count.fake, checkpoint=checkpoint)
    values = dict(batch=batch, seq=seq, matmul_params=matmul_params(id))
    again = called(f.checkpoint_early_stop_flops, id, **values) if checkpoint == "full" else 0
    assert called(f.forward_flops, id, **values) == forward
    assert called(f.flash_backward_flops, id, **values) + again == backward
    block = called(f.llama_block_saved_bytes, id, **values)
    kept = called(f.checkpoint_saved_bytes, id, elem_bytes=2, **values) if checkpoint == "full" else block
    head = called(f.head_saved_bytes, id, tensor_ranks=1, **values)
    assert model(id).layers * kept + head == saved
    if (id, checkpoint) == ("llama2_7b", "none"):
        assert (block, saved) == (763_920_384, 25_106_104_324)


def test_six_and_eight_are_rounded():
    """FLOPs per parameter and token: 7.48 (8B at 8,192), 6.52 (70B at 4,096); a checkpointed 8B adds 1.36 per matmul parameter."""
    for id, seq, per in (("llama3_8b", 8192, 7.48), ("llama2_70b", 4096, 6.52)):
        values = dict(batch=1, seq=seq, matmul_params=matmul_params(id))
        step = called(f.forward_flops, id, **values) + called(f.flash_backward_flops, id, **values)
        assert step / (model(id).params * seq) == pytest.approx(per, abs=0.005)
    values = dict(batch=1, seq=8192)
    attention = called(f.attention_forward_flops, "llama3_8b", **values)
    again = called(f.checkpoint_early_stop_flops, "llama3_8b", **values) - attention
    assert 6 + again / (matmul_params("llama3_8b") * 8192) == pytest.approx(7.36, abs=0.005)


@pytest.mark.parametrize("id, batch, seq", cases(("llama2_7b", 1, 4096)))
def test_peak(id, batch, seq):
    """Forward and backward of one micro-batch beside weights and gradients: most is alive where the loss goes backward."""
    with count.fake(BF16):
        net, ids = Llama(Config.of(model(id))), torch.zeros(batch, seq, dtype=torch.int64)
        loss(net, ids).backward()
        _, peak = count.peak_bytes(lambda: loss(net, ids).backward(), [net, [p.grad for p in net.parameters()]])
    values = dict(batch=batch, seq=seq, tensor_ranks=1)
    saved = model(id).layers * called(f.llama_block_saved_bytes, id, **values) + called(
        f.head_saved_bytes, id, **values
    )
    assert saved + called(f.loss_backward_bytes, id, **values) == peak


@pytest.mark.parametrize(
    "id, ranks",
    [("tiny", 2), ("tiny", 8), *(pytest.param(i, 64, marks=pytest.mark.full) for i in ("llama2_7b", "llama2_70b"))],
)
def test_fully_sharded(id, ranks):
    """Bytes that one of N ranks sends in a step of FSDP2: weights gathered twice, gradients scattered once.

    Where the ranks do not divide a tensor's rows, FSDP2 sends a little more, as padding: ``tiny`` has 344 rows, so N is 2 or 8.
    """
    with count.fake_group(ranks) as mesh, count.fake(BF16):
        net = Llama(Config.of(model(id)))
        for module in (*net.layers, net):
            fully_shard(module, mesh=mesh, reshard_after_forward=True)
        _, kinds = count.comm_bytes(lambda: loss(net, torch.zeros(1, 64, dtype=torch.int64)).backward())
    sent = sum(payload * share(kind, ranks) for kind, (_, payload) in kinds.items())
    assert f.fsdp_bytes(params=model(id).params, elem_bytes=2, ranks=ranks) == sent


@pytest.mark.parametrize(
    "id", ["llama2_7b", "llama2_13b", "llama2_70b", "llama3_8b", "llama3_70b", "llama3_405b", "tiny"]
)
def test_parameters(id):
    with count.meta():
        assert sum(p.numel() for p in Llama(Config.of(model(id))).parameters()) == model(id).params
    assert called(f.llama_params, id) == model(id).params
