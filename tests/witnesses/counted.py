"""What PyTorch counts of small models, each counted once; no two sizes of a shape are equal, so none stands in for another."""

from functools import cache
from types import SimpleNamespace

import torch

from threeledgers import count
from threeledgers.transformer import (
    ATTENTION,
    GPT,
    Block,
    Config,
    GPTBlock,
    LinearStack,
    Llama,
    RMSNorm,
    loss,
    rotary_tables,
)

BF16 = torch.bfloat16
SHAPES = (
    dict(vocab=512, hidden=128, layers=2, heads=4, kv_heads=2, head_dim=32, ffn=344),
    dict(vocab=300, hidden=96, layers=3, heads=6, kv_heads=2, head_dim=20, ffn=200),
    dict(vocab=700, hidden=80, layers=5, heads=12, kv_heads=3, head_dim=10, ffn=136),
)
BATCHES = ((1, 48), (2, 40), (3, 24))  # (batch, seq) beside each shape
CASES = [dict(shape, batch=b, seq=s) for shape, (b, s) in zip(SHAPES, BATCHES, strict=True)]

SHORT = [dict(SHAPES[0], vocab=3000, batch=2, seq=7), dict(SHAPES[1], vocab=5000, batch=1, seq=5)]


def step(config, checkpoint, batch, seq):
    """Parameters, FLOPs, saved bytes and peak beyond weights and gradients of one step of a Llama, on fake tensors."""
    with count.fake(BF16):
        net, ids = Llama(config, checkpoint=checkpoint), torch.zeros(batch, seq, dtype=torch.int64)
        out, forward = count.flops(lambda: loss(net, ids))
        _, backward = count.flops(out.backward)
        grads = [p.grad for p in net.parameters()]
        _, saved = count.saved_bytes(lambda: loss(net, ids), exclude=[net])
        _, peak = count.peak_bytes(lambda: loss(net, ids).backward(), persistent=[net, grads])
        params = sum(p.numel() for p in net.parameters())
    return SimpleNamespace(params=params, forward=forward, backward=backward, saved=saved, peak=peak)


def sizes(case, names):
    """The named sizes of a case, as a formula takes them."""
    return {name: case[name] for name in names.split()}


def _config(case):
    return Config(**sizes(case, "vocab hidden layers heads kv_heads head_dim ffn"))


@cache
def _llama(index, attention="flash", checkpoint="none", early_stop=True):
    case = CASES[index]
    mode = count.fake(BF16) if attention == "flash" else count.meta(BF16)
    with mode:
        net = Llama(_config(case), attention, checkpoint, early_stop)
        ids = torch.zeros(case["batch"], case["seq"], dtype=torch.int64)
        out, forward = count.flops(lambda: loss(net, ids))
        _, backward = count.flops(out.backward)
    params = sum(p.numel() for p in net.parameters())
    matmul = sum(m.weight.numel() for m in net.modules() if isinstance(m, torch.nn.Linear))
    return SimpleNamespace(forward=forward, backward=backward, params=params, matmul=matmul)


def llamas(**options):
    """(case, its counts) for every case: forward, backward (FLOPs), params, matmul."""
    return [(case, _llama(i, **options)) for i, case in enumerate(CASES)]


@cache
def _block_saved(index, attention):
    case = CASES[index]
    if attention != "gpt":
        with count.fake(BF16):
            block = Block(_config(case), ATTENTION[attention])
            x = torch.empty(case["batch"], case["seq"], case["hidden"], requires_grad=True)
            tables = rotary_tables(case["seq"], case["head_dim"], BF16)
            return count.saved_bytes(lambda: block(x, *tables), exclude=[block, *tables])[1]
    with count.fake(BF16):
        hidden, heads = case["heads"] * case["head_dim"], case["heads"]
        block = GPTBlock(hidden, heads)
        x = torch.empty(case["batch"], case["seq"], hidden, requires_grad=True)
        return count.saved_bytes(lambda: block(x), exclude=[block])[1]


def blocks(attention):
    """(case, bytes that one block saves) for every case."""
    return [(case, _block_saved(i, attention)) for i, case in enumerate(CASES)]


@cache
def _model(index, few=False):
    case = SHORT[index] if few else CASES[index]
    with count.fake(BF16):
        net, ids = Llama(_config(case)), torch.zeros(case["batch"], case["seq"], dtype=torch.int64)
        out, saved = count.saved_bytes(lambda: loss(net, ids), exclude=[net])
        out.backward()
        del out
        grads = [p.grad for p in net.parameters()]
        _, peak = count.peak_bytes(lambda: loss(net, ids).backward(), persistent=[net, ids, grads])
    return SimpleNamespace(saved=saved, peak=peak)


def models():
    """(case, its bytes) of every whole model: saved, and the peak beyond weights, gradients and token ids."""
    return [(case, _model(i)) for i, case in enumerate(CASES)]


def short_models():
    """The same for few tokens and large vocabularies."""
    return [(case, _model(i, few=True)) for i, case in enumerate(SHORT)]


@cache
def split_head(ranks, batch, seq, hidden, vocab):
    """Bytes of this rank that the last norm, the head and the loss save, split over ranks by DTensor."""
    from torch.distributed.tensor import Shard
    from torch.distributed.tensor.parallel import ColwiseParallel, SequenceParallel, loss_parallel, parallelize_module

    with count.fake_group(ranks) as mesh, count.fake(BF16):
        split = ColwiseParallel(input_layouts=Shard(1), output_layouts=Shard(-1), use_local_output=False)
        net = torch.nn.Sequential(RMSNorm(hidden), torch.nn.Linear(hidden, vocab, bias=False))
        net = parallelize_module(net, mesh, {"0": SequenceParallel(), "1": split})
        x, ids = (
            torch.empty(batch, seq // ranks, hidden, requires_grad=True),
            torch.zeros(batch * seq, dtype=torch.int64),
        )
        with loss_parallel():
            entropy = torch.nn.functional.cross_entropy
            return count.saved_bytes(lambda: entropy(net(x).float().flatten(0, -2), ids), exclude=[net])[1]


@cache
def _gpt(vocab, positions, hidden, layers, heads):
    with count.meta(BF16):
        net = GPT(vocab, positions, hidden, layers, heads)
        ids = torch.zeros(2, positions, dtype=torch.int64)
        out, forward = count.flops(lambda: loss(net, ids))
        _, backward = count.flops(out.backward)
    last = sum(p.numel() for p in net.norm.parameters())
    return SimpleNamespace(params=sum(p.numel() for p in net.parameters()) - last, forward=forward, backward=backward)


def gpts():
    """(sizes, counts) of small GPTs, the last norm left out, with a batch of 2."""
    shapes = (dict(vocab=300, seq=40, hidden=96, layers=3), dict(vocab=512, seq=24, hidden=48, layers=5))
    return [(s, _gpt(s["vocab"], s["seq"], s["hidden"], s["layers"], 4)) for s in shapes]


@cache
def attention(batch, seq, heads, head_dim, kind):
    """FLOPs (forward, backward) of one attention: ``kind`` "products" (meta) or "flash" (the fused operator)."""
    with count.meta(BF16) if kind == "products" else count.fake(BF16):
        q, k, v = (torch.empty(batch, heads, seq, head_dim, requires_grad=True) for _ in range(3))
        run = torch.nn.functional.scaled_dot_product_attention
        out, forward = count.flops(lambda: run(q, k, v, is_causal=True))
        _, backward = count.flops(lambda: out.backward(torch.empty_like(out)))
    return forward, backward


@cache
def causal_products(seq, head_dim):
    """FLOPs of two products per query, with only the keys that it may see."""
    with count.meta():
        keys = torch.empty(seq, head_dim)

        def rows():
            for i in range(1, seq + 1):
                (torch.empty(1, head_dim) @ keys[:i].T) @ keys[:i]

        return count.flops(rows)[1]


@cache
def checkpointed_linears(linears, early_stop=True):
    """FLOPs of training a stack of 3 blocks of equal linear layers, each block checkpointed; parameters times tokens."""
    width, tokens = 16, 8
    with count.meta():
        net = LinearStack(width, linears, blocks=3, early_stop=early_stop)
        x = torch.empty(tokens, width, requires_grad=True)
        _, total = count.flops(lambda: net(x).sum().backward())
    return total, 3 * linears * width * width * tokens


@cache
def adam_states(weights, grads, master):
    """Bytes per kind of a real AdamW after one step, and parameters: dtypes of weights and gradients, master copies or none."""
    net = torch.nn.Linear(7, 5).to(weights)
    params = list(net.parameters())
    kept = {"weights": params}
    trained = [p.detach().to(master).requires_grad_() for p in params] if master else params
    for p in trained:
        p.grad = torch.zeros_like(p)
    optimizer = torch.optim.AdamW(trained, foreach=False)
    optimizer.step()
    kept["grads"] = [torch.zeros_like(p, dtype=d) for d in grads for p in params]
    kept["optimizer"] = [t for s in optimizer.state.values() for n, t in s.items() if n != "step"]
    kept["optimizer"] += trained if master else []
    return {n: sum(map(count.storage_bytes, t)) for n, t in kept.items()}, sum(p.numel() for p in params)
