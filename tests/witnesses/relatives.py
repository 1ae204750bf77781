"""What relatives of Llama change: counted on the reference model with each option alone and with all of them."""

from functools import cache

import torch
from torch.distributed.tensor.parallel import parallelize_module

from tests.witnesses.counted import BF16, CASES, SHORT, sizes
from threeledgers import count
from threeledgers import formulas as f
from threeledgers.count.parallel import tensor_parallel_plan
from threeledgers.transformer import Block, Config, Llama, loss, rotary_tables

SHAPE = "vocab hidden layers heads kv_heads head_dim ffn"
FLAGS = ("qkv_bias", "out_bias", "mlp_bias", "qk_norm")
OPTIONS = [{}, *({flag: True} for flag in FLAGS), dict.fromkeys(FLAGS, True)]
CASE = dict(vocab=512, hidden=96, layers=7, heads=8, kv_heads=4, head_dim=20, ffn=256, batch=2, seq=48)


def flags(options):
    """Every flag as the 0 or 1 that a formula takes."""
    return {flag: int(options.get(flag, 0)) for flag in FLAGS}


@cache
def _block(ranks, options):
    """(parameters of this rank, bytes that it saves) of one block under tensor parallelism."""
    with count.fake_group(ranks) as mesh, count.fake(BF16):
        made = Block(Config(**sizes(CASE, SHAPE), **dict(options)))
        made = parallelize_module(made, mesh, tensor_parallel_plan(sequence_parallel=True))
        x = torch.empty(CASE["batch"], CASE["seq"] // ranks, CASE["hidden"], requires_grad=True)
        tables = rotary_tables(CASE["seq"], CASE["head_dim"], BF16)
        saved = count.saved_bytes(lambda: made(x, *tables), exclude=[made, *tables])[1]
        local = [getattr(p, "_local_tensor", p) for p in made.parameters()]
    return sum(p.numel() for p in local), saved


def block(ranks, options):
    return _block(ranks, tuple(options.items()))


def block_extra_params_witness():
    shape = sizes(CASE, "hidden heads head_dim kv_heads ffn")
    for ranks in (2, 4):
        for options in OPTIONS:
            counted = block(ranks, options)[0] - block(ranks, {})[0]
            assert f.block_extra_params(tensor_ranks=ranks, **flags(options), **shape) == counted


def qk_norm_saved_bytes_witness():
    """Biases save nothing: a bias's gradient is a sum of what comes back."""
    for ranks in (2, 4):
        told = f.qk_norm_saved_bytes(tensor_ranks=ranks, **sizes(CASE, "batch seq heads head_dim kv_heads"))
        for options in OPTIONS:
            counted = block(ranks, options)[1] - block(ranks, {})[1]
            assert counted == (told if options.get("qk_norm") else 0)


def family_params_witness():
    for case in CASES:
        for options in (*OPTIONS, {"tied": True}, dict.fromkeys((*FLAGS, "tied"), True)):
            with count.meta():
                net = Llama(Config(**sizes(case, SHAPE), **options))
            per = [sum(p.numel() for p in part.parameters() if p.dim() == 1) for part in net.layers]
            told = f.family_params(
                tables=len({net.embedding.weight, net.head.weight}),
                extra_params=per[0] - 2 * case["hidden"],
                **sizes(case, SHAPE),
            )
            assert told == sum(p.numel() for p in net.parameters())


def tied_grad_bytes_witness():
    """The peak beyond weights and gradients, where the table is large and the tokens are few."""
    for case in SHORT:
        with count.fake(BF16):
            net = Llama(Config(**sizes(case, SHAPE), tied=True))
            ids = torch.zeros(case["batch"], case["seq"], dtype=torch.int64)
            loss(net, ids).backward()
            grads = [p.grad for p in net.parameters()]
            _, peak = count.peak_bytes(lambda: loss(net, ids).backward(), persistent=[net, grads])  # noqa: B023
        assert f.tied_grad_bytes(**sizes(case, "batch seq vocab hidden")) == peak
