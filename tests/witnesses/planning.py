"""One rank's share: equal to modules dealt out, tensors split by DTensor, and schedules played out."""

import itertools
from functools import cache

import torch
from torch.distributed.tensor.parallel import parallelize_module
from torch.utils.checkpoint import checkpoint

from tests.witnesses.comm import share
from tests.witnesses.counted import BF16, sizes
from threeledgers import count
from threeledgers import formulas as f
from threeledgers.count.parallel import tensor_parallel_plan
from threeledgers.simulate import pipeline, sharded
from threeledgers.transformer import Block, Config, Llama, flash_attention, rotary_tables

CASE = dict(vocab=512, hidden=96, layers=7, heads=8, kv_heads=4, head_dim=20, ffn=256, batch=2, seq=48)
SHAPE = "vocab hidden layers heads kv_heads head_dim ffn"
BLOCK = "hidden heads head_dim kv_heads ffn"
RANKS = (2, 4)


@cache
def block(ranks, sequence_parallel=False, recompute=False, core=flash_attention):
    """(parameters of this rank, {kind: payload}, saved bytes of this rank) of one block under tensor parallelism."""
    with count.fake_group(ranks) as mesh, count.fake(BF16):
        made = parallelize_module(
            Block(Config(**sizes(CASE, SHAPE)), core), mesh, tensor_parallel_plan(sequence_parallel)
        )
        seq = CASE["seq"] // ranks if sequence_parallel else CASE["seq"]
        x = torch.empty(CASE["batch"], seq, CASE["hidden"], requires_grad=True)
        tables = rotary_tables(CASE["seq"], CASE["head_dim"], BF16)

        def forward():
            return checkpoint(made, x, *tables, use_reentrant=False) if recompute else made(x, *tables)

        _, saved = count.saved_bytes(forward, exclude=[made, *tables])
        _, kinds = count.comm_bytes(lambda: forward().sum().backward())
        local = [getattr(p, "_local_tensor", p) for p in made.parameters()]
    return sum(p.numel() for p in local), {kind: payload for kind, (_, payload) in kinds.items()}, saved


def rank_block_params_witness():
    for ranks in RANKS:
        assert f.rank_block_params(tensor_ranks=ranks, **sizes(CASE, BLOCK)) == block(ranks)[0]


def stage_params_witness():
    """Layers dealt out like cards; the first stage gets the input table, the last one the norm and the head. Where both
    are one table, a stage that has it twice holds it once."""
    for stages, tied in itertools.product((1, 2, 3), (False, True)):
        with count.meta():
            net = Llama(Config(**sizes(CASE, SHAPE), tied=tied))
        hands = [[net.layers[k] for k in range(CASE["layers"]) if k % stages == s] for s in reversed(range(stages))]
        hands[0] += [net.embedding]
        hands[-1] += [net.norm, net.head]
        held = [sum({id(p): p.numel() for m in hand for p in m.parameters()}.values()) for hand in hands]
        per = sum(p.numel() for p in net.layers[0].parameters())
        shape = sizes(CASE, "layers vocab hidden")
        told = f.stage_params(block_params=per, pipeline_ranks=stages, tensor_ranks=1, tables=2 - tied, **shape)
        assert told == held[-1] == max(held)
    split = f.stage_params(block_params=100, layers=4, pipeline_ranks=1, tables=2, vocab=64, hidden=8, tensor_ranks=4)
    tables = [t.chunk(4)[0].numel() for t in torch.empty(2, 64, 8)]
    assert split == 4 * 100 + sum(tables) + 8


KINDS = {"weights": [(BF16, 3)], "grads": [(BF16, 2)], "optimizer": [(torch.float32, 1)] * 3}


def _zero(formula, kind):
    for ranks in (2, 8, 64):
        whole = torch.empty(65 * ranks, device="meta")
        for stage in range(4):
            held = [(whole if stage < shards else whole.chunk(ranks)[0]).to(dtype) for dtype, shards in KINDS[kind]]
            assert formula(params=whole.numel(), ranks=ranks, stage=stage) == sum(t.nbytes for t in held)


def zero_weights_bytes_witness():
    _zero(f.zero_weights_bytes, "weights")


def zero_grads_bytes_witness():
    _zero(f.zero_grads_bytes, "grads")


def zero_optimizer_bytes_witness():
    _zero(f.zero_optimizer_bytes, "optimizer")


def fsdp_gathered_bytes_witness():
    for vocab, hidden, per, ranks, tables in ((64, 8, 700, 1, 2), (512, 16, 90, 4, 2), (64, 16, 90, 4, 1)):
        head = vocab * hidden // ranks
        most = sharded.gathered_peak(blocks=5, block=per, tables=tables * head + hidden, head=head)
        told = f.fsdp_gathered_bytes(block_params=per, tables=tables, vocab=vocab, hidden=hidden, tensor_ranks=ranks)
        assert told == 2 * most


def pipeline_saved_bytes_witness():
    for stages, microbatches, layers in ((4, 8, 9), (8, 3, 16), (1, 5, 6)):
        _, held = pipeline.one_forward_one_backward(stages, microbatches)
        deepest = max(len(range(s, layers, stages)) for s in range(stages))
        told = f.pipeline_saved_bytes(pipeline_ranks=stages, microbatches=microbatches, layers=layers, layer_saved=70)
        assert told == max(held) * deepest * 70


def stage_saved_bytes_witness():
    for stages, microbatches, layers in ((4, 8, 9), (8, 3, 16), (1, 5, 6)):
        _, held = pipeline.one_forward_one_backward(stages, microbatches)
        told = f.stage_saved_bytes(pipeline_ranks=stages, layers=layers, layer_saved=70)
        assert told == held[-1] * pipeline.even(layers, stages)[-1] * 70


def head_forward_flops_witness():
    with count.meta(BF16):
        head, x = torch.nn.Linear(48, 160, bias=False), torch.zeros(3, 5, 48)
        _, counted = count.flops(lambda: head(x))
    assert f.head_forward_flops(vocab=160, hidden=48, batch=3, seq=5) == counted


def _pipelines():
    """(arguments of the formulas, forward and backward of each stage for one micro-batch, in whole units of time)."""
    for stages, layers, microbatches, block, head in (
        (2, 7, 3, (5, 11), 4), (4, 6, 8, (2, 5), 9), (3, 9, 4, (3, 6), 1), (5, 5, 2, (1, 4), 7), (1, 3, 2, (2, 3), 5),
        (4, 7, 6, (9, 20), 1), (4, 6, 3, (9, 9), 4),
    ):  # fmt: skip
        split = pipeline.even(layers, stages)
        forward = [n * block[0] + head * (s == stages - 1) for s, n in enumerate(split)]
        backward = [n * block[1] + 2 * head * (s == stages - 1) for s, n in enumerate(split)]
        achieved, width = 3, 2
        work = microbatches * width * achieved  # FLOPs of a unit of time
        known = {"forward": sum(forward) * work, "backward": sum(backward) * work, "head_forward": head * work}
        known |= {"ranks": stages * width, "achieved": achieved, "layers": layers}
        yield known | {"pipeline_ranks": stages, "microbatches": microbatches}, forward, backward


def pipeline_time_low_witness():
    """The most that any stage needs, with what lies before it for one micro-batch; never more than the played schedule."""
    for known, forward, backward in _pipelines():
        both, m = [a + b for a, b in zip(forward, backward, strict=True)], known["microbatches"]
        want = max(m * both[s] + sum(both[:s]) for s in range(len(both)))
        assert f.pipeline_time_low.exact(**known) == want <= pipeline.finish(forward, backward, m)


def pipeline_time_high_witness():
    """The played schedule of equal stages, as slow as the slowest pieces; never less than that of the stages as they are."""
    for known, forward, backward in _pipelines():
        m, n = known["microbatches"], len(forward)
        want = pipeline.finish([max(forward)] * n, [max(backward)] * n, m)
        assert f.pipeline_time_high.exact(**known) == want >= pipeline.finish(forward, backward, m)


def step_traffic_witness():
    """A walk through a step that adds up what is read and written."""
    for microbatches, weights, activations, grads, optimizer in ((1, 2, 30, 500, 7000), (4, 3, 50, 11, 900)):
        moved = 0
        for _ in range(microbatches):
            moved += weights + activations  # forward reads weights, writes saved tensors
            moved += weights + activations  # backward reads both
        moved += grads + optimizer + optimizer + weights  # the update
        told = f.step_traffic(
            microbatches=microbatches, weights=weights, activations=activations, grads=grads, optimizer=optimizer
        )
        assert told == moved


def again(*qkv):
    return checkpoint(flash_attention, *qkv, use_reentrant=False)


def _saved(formula, sequence_parallel, core=flash_attention):
    for ranks in RANKS:
        told = formula(tensor_ranks=ranks, **sizes(CASE, "batch seq hidden heads head_dim ffn"))
        assert told == block(ranks, sequence_parallel, core=core)[2]


def tp_block_saved_bytes_witness():
    _saved(f.tp_block_saved_bytes, sequence_parallel=False)


def sp_block_saved_bytes_witness():
    _saved(f.sp_block_saved_bytes, sequence_parallel=True)


def sp_selective_saved_bytes_witness():
    _saved(f.sp_selective_saved_bytes, sequence_parallel=True, core=again)


def sp_checkpoint_saved_bytes_witness():
    for ranks in RANKS:
        told = f.sp_checkpoint_saved_bytes(elem_bytes=2, tensor_ranks=ranks, **sizes(CASE, "batch seq hidden"))
        assert told == block(ranks, sequence_parallel=True, recompute=True)[2]


def _sp(formula, kind, again):
    for ranks in RANKS:
        plain, checkpointed = (block(ranks, True, recompute)[1][kind] for recompute in (False, True))
        payload = checkpointed - plain if again else plain
        told = formula(layers=5, tensor_ranks=ranks, elem_bytes=2, **sizes(CASE, "batch seq hidden"))
        assert told == 5 * payload * share(kind, ranks)


def sp_gather_bytes_witness():
    _sp(f.sp_gather_bytes, "all_gather", again=False)


def sp_scatter_bytes_witness():
    _sp(f.sp_scatter_bytes, "reduce_scatter", again=False)


def sp_recompute_gather_bytes_witness():
    _sp(f.sp_recompute_gather_bytes, "all_gather", again=True)


def sp_recompute_scatter_bytes_witness():
    _sp(f.sp_recompute_scatter_bytes, "reduce_scatter", again=True)
