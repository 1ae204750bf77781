"""Parallel training: payloads that DDP, FSDP2, tensor, expert and pipeline parallelism issue, times the played share."""

from functools import cache

import torch
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor.parallel import parallelize_module

from tests.witnesses import close
from tests.witnesses.comm import share
from tests.witnesses.counted import BF16, sizes
from threeledgers import count
from threeledgers import formulas as f
from threeledgers.count.parallel import ExpertParallel, pipeline_step, tensor_parallel_plan
from threeledgers.simulate import pipeline
from threeledgers.transformer import Block, Config, Llama, loss, rotary_tables

RANKS = (2, 8, 64)
CASE = dict(vocab=512, hidden=192, layers=2, heads=64, kv_heads=64, head_dim=2, ffn=256, batch=2, seq=64)


def _config(case):
    return Config(**sizes(case, "vocab hidden layers heads kv_heads head_dim ffn"))


@cache
def fsdp(ranks, reshard, microbatches):
    """({kind: payload}, parameters) of a bf16 Llama under FSDP2."""
    with count.fake_group(ranks) as mesh, count.fake(BF16):
        net = Llama(_config(CASE))
        params = sum(p.numel() for p in net.parameters())
        for layer in (*net.layers, net):
            fully_shard(layer, mesh=mesh, reshard_after_forward=reshard)
        ids = torch.zeros(CASE["batch"], CASE["seq"], dtype=torch.int64)
        _, kinds = count.comm_bytes(lambda: [loss(net, ids).backward() for _ in range(microbatches)])
    assert set(kinds) <= {"all_gather", "reduce_scatter"}
    return {kind: payload for kind, (_, payload) in kinds.items()}, params


def _scattered(payload, ranks):
    return payload * share("reduce_scatter", ranks)


def ddp_bytes_witness():
    for ranks in RANKS:
        with count.fake_group(ranks):
            net = torch.nn.Sequential(torch.nn.Linear(24, 40), torch.nn.Linear(40, 8))
            _, buckets = count.ddp_bytes(net, lambda wrapped: wrapped(torch.ones(3, 24)).sum().backward())
        params = sum(p.numel() for p in net.parameters())
        assert f.ddp_bytes(params=params, elem_bytes=4, ranks=ranks) == sum(buckets) * share("all_reduce", ranks)


def zero2_bytes_witness():
    """FSDP2 that keeps the weights after forward: gathered once, gradients scattered once."""
    for ranks in RANKS:
        payload, params = fsdp(ranks, reshard=False, microbatches=1)
        sent = sum(p * share(kind, ranks) for kind, p in payload.items())
        assert f.zero2_bytes(params=params, elem_bytes=2, ranks=ranks) == sent


def fsdp_bytes_witness():
    for ranks in RANKS:
        payload, params = fsdp(ranks, reshard=True, microbatches=1)
        sent = sum(p * share(kind, ranks) for kind, p in payload.items())
        assert f.fsdp_bytes(params=params, elem_bytes=2, ranks=ranks) == sent


def _fsdp(formula, kind):
    for ranks in RANKS:
        for microbatches in (1, 3):
            payload, params = fsdp(ranks, reshard=True, microbatches=microbatches)
            told = formula(params=params, elem_bytes=2, ranks=ranks, microbatches=microbatches)
            assert told == payload[kind] * share(kind, ranks)


def fsdp_gather_bytes_witness():
    _fsdp(f.fsdp_gather_bytes, "all_gather")


def fsdp_scatter_bytes_witness():
    _fsdp(f.fsdp_scatter_bytes, "reduce_scatter")


@cache
def tensor_parallel(ranks, sequence_parallel):
    """{kind: payload} of one block forward and backward."""
    with count.fake_group(ranks) as mesh, count.fake(BF16):
        block = parallelize_module(Block(_config(CASE)), mesh, tensor_parallel_plan(sequence_parallel))
        seq = CASE["seq"] // ranks if sequence_parallel else CASE["seq"]
        x = torch.empty(CASE["batch"], seq, CASE["hidden"], requires_grad=True)
        tables = rotary_tables(CASE["seq"], CASE["head_dim"], BF16)
        _, kinds = count.comm_bytes(lambda: block(x, *tables).sum().backward())
    return kinds


def _tensor(formula, sequence_parallel):
    for ranks in RANKS:
        kinds = tensor_parallel(ranks, sequence_parallel)
        sent = sum(payload * share(kind, ranks) for kind, (_, payload) in kinds.items())
        told = formula(tensor_ranks=ranks, layers=3, elem_bytes=2, **sizes(CASE, "batch seq hidden"))
        assert told == 3 * sent


def tp_bytes_witness():
    _tensor(f.tp_bytes, sequence_parallel=False)


def sp_bytes_witness():
    _tensor(f.sp_bytes, sequence_parallel=True)


def pp_bytes_witness():
    """A stage in the middle of three, 2 and 4 micro-batches of 3 sequences."""
    for microbatches in (2, 4):
        with count.fake_group(3, rank=1):
            stage, batch = torch.nn.Linear(16, 16), torch.zeros(3 * microbatches, 5, 16)
            _, kinds = count.comm_bytes(lambda s=stage, b=batch, u=microbatches: pipeline_step(s, b, u))
        told = f.pp_bytes(microbatches=microbatches, batch=3, seq=5, hidden=16, elem_bytes=4)
        assert told == kinds["send"][1]


def ep_bytes_witness():
    for ranks, experts_per_token in ((2, 2), (8, 1), (8, 3), (64, 4)):
        with count.fake_group(ranks):
            layer = ExpertParallel(hidden=24, ffn=8, experts=max(ranks, 4), experts_per_token=experts_per_token)
            tokens = torch.zeros(2 * 16, 24, requires_grad=True)
            _, kinds = count.comm_bytes(lambda layer=layer, tokens=tokens: layer(tokens).sum().backward())
        told = f.ep_bytes(
            layers=5, ranks=ranks, batch=2, seq=16, experts_per_token=experts_per_token, hidden=24, elem_bytes=4
        )
        assert told == 5 * kinds["all_to_all"][1] * share("all_to_all", ranks)


def group_bandwidth_witness():
    """A ring over 2 nodes: a node's members pass M/n each through their own card, and M through one device's links."""
    for members, nic, link in ((1, 50, 450), (8, 50, 450), (8, 60, 450)):
        message = 7200
        through_cards, through_link = message / (members * nic), message / link
        assert message / max(through_cards, through_link) == f.group_bandwidth(
            node_ranks=members, nic_bandwidth=nic, link_bandwidth=link
        )


def pipeline_bubble_witness():
    for stages in (2, 4, 8):
        for microbatches in (3, 8, 16):
            slots, _ = pipeline.one_forward_one_backward(stages, microbatches)
            close(
                f.pipeline_bubble(pipeline_ranks=stages, microbatches=microbatches),
                slots / (2 * microbatches) - 1,
                1e-12,
            )


def pipeline_bubble_share_witness():
    for stages in (2, 4, 8):
        for microbatches in (3, 8, 16):
            slots, _ = pipeline.one_forward_one_backward(stages, microbatches)
            close(
                f.pipeline_bubble_share(pipeline_ranks=stages, microbatches=microbatches),
                1 - 2 * microbatches / slots,
                1e-12,
            )


def layout_ranks_witness():
    """Places counted one by one in a mesh; and row 1 of table 4 of the Llama 3 paper, 8 x 1 x 16 x 64 GPUs."""
    mesh = torch.arange(2 * 3 * 5 * 7).reshape(2, 3, 5, 7)
    told = f.layout_ranks(tensor_ranks=2, context_ranks=3, pipeline_ranks=5, data_ranks=7)
    assert told == len(set(mesh.flatten().tolist()))
    assert f.layout_ranks(tensor_ranks=8, context_ranks=1, pipeline_ranks=16, data_ranks=64) == 8192
