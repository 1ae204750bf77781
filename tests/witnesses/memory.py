"""Bytes: equal to what PyTorch's tensors occupy, what autograd keeps, and what papers print."""

from fractions import Fraction

import torch

from tests.witnesses import close
from tests.witnesses.counted import BF16, CASES, adam_states, blocks, models, short_models, sizes, split_head
from threeledgers import count
from threeledgers import formulas as f

FP32 = torch.float32


def weights_bytes_witness():
    for dtype, elem_bytes in ((BF16, 2), (FP32, 4)):
        counted, params = adam_states(dtype, (dtype,), None)
        assert f.weights_bytes(params=params, elem_bytes=elem_bytes) == counted["weights"]


def grads_bytes_witness():
    for dtype, elem_bytes in ((BF16, 2), (FP32, 4)):
        counted, params = adam_states(BF16, (dtype,), FP32)
        assert f.grads_bytes(params=params, elem_bytes=elem_bytes) == counted["grads"]


def optimizer_bytes_witness():
    counted, params = adam_states(BF16, (BF16,), FP32)
    assert f.optimizer_bytes(params=params) == counted["optimizer"]


def _adam(formula, *kinds):
    counted, params = adam_states(*kinds)
    assert formula(params=params) == sum(counted.values())


def adam_bytes_witness():
    _adam(f.adam_bytes, BF16, (BF16,), FP32)
    assert f.adam_bytes(params=1_500_000_000) == 24 * 10**9  # Rajbhandari et al. 2019: GPT-2


def adam_fp32_bytes_witness():
    _adam(f.adam_fp32_bytes, FP32, (FP32,), None)


def adam_bf16_bytes_witness():
    _adam(f.adam_bf16_bytes, BF16, (BF16,), None)


def adam_8bit_bytes_witness():
    counted, params = adam_states(BF16, (BF16,), None)
    moments = 2 * torch.empty(params, dtype=torch.uint8).nbytes
    assert f.adam_8bit_bytes(params=params) == counted["weights"] + counted["grads"] + moments


def sgd_bytes_witness():
    net = torch.nn.Linear(7, 5, dtype=BF16)
    net(torch.ones(1, 7, dtype=BF16)).sum().backward()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    optimizer.step()
    held = [*net.parameters(), *(p.grad for p in net.parameters())]
    held += [t for state in optimizer.state.values() for t in state.values() if isinstance(t, torch.Tensor)]
    params = sum(p.numel() for p in net.parameters())
    assert f.sgd_bytes(params=params) == sum(map(count.storage_bytes, held))


def adam_fp32_grads_bytes_witness():
    _adam(f.adam_fp32_grads_bytes, BF16, (FP32,), FP32)


def adam_grad_copy_bytes_witness():
    _adam(f.adam_grad_copy_bytes, BF16, (BF16, FP32), FP32)
    assert f.adam_grad_copy_bytes(params=70 * 10**9) == 1400 * 10**9  # Tazi et al. 2025


def zero_state_bytes_witness():
    """One rank's tensors, each whole or its share of N; and the bars of figure 1 of the paper."""
    for ranks in (2, 8, 64):
        for stage in range(4):
            full = torch.empty(4160 * ranks, device="meta")
            kinds = ((BF16, 3), (BF16, 2), (FP32, 1), (FP32, 1), (FP32, 1))  # weight, gradient, master, mean, variance
            held = [(full if stage < shards else full.chunk(ranks)[0]).to(dtype) for dtype, shards in kinds]
            told = f.zero_state_bytes(params=full.numel(), ranks=ranks, stage=stage)
            assert told == sum(t.numel() * t.element_size() for t in held)
    for stage, published in ((0, 120), (1, 31.4), (2, 16.6), (3, 1.9)):
        close(f.zero_state_bytes(params=7_500_000_000, ranks=64, stage=stage), published * 10**9, 0.015)


BLOCK = "batch seq hidden heads head_dim ffn"


def llama_block_saved_bytes_witness():
    for case, counted in blocks("flash"):
        assert f.llama_block_saved_bytes(**sizes(case, BLOCK)) == counted


def eager_block_saved_bytes_witness():
    for case, counted in blocks("eager"):
        assert f.eager_block_saved_bytes(**sizes(case, BLOCK)) == counted


def scores_saved_bytes_witness():
    """What eager attention keeps beyond SDPA, whose log-sum-exp of 4 bytes per head and token it does not need."""
    for (case, flash), (_, eager) in zip(blocks("flash"), blocks("eager"), strict=True):
        told = f.scores_saved_bytes(elem_bytes=2, **sizes(case, "heads batch seq"))
        assert told == eager - flash + 4 * case["batch"] * case["seq"] * case["heads"]


def _gpt(formula, names, scores):
    """The paper leaves out the means and deviations of the two LayerNorms: 8 bytes a token, counted exactly."""
    for case, counted in blocks("gpt"):
        case = dict(case, hidden=case["heads"] * case["head_dim"])
        tokens = case["batch"] * case["seq"]
        square = 5 * case["heads"] * tokens * case["seq"]
        assert formula(**sizes(case, names)) == counted - 8 * tokens - (0 if scores else square)


def gpt_block_saved_bytes_witness():
    _gpt(f.gpt_block_saved_bytes, "batch seq hidden heads", scores=True)
    per = dict(batch=1, seq=2048, hidden=12288, heads=96)  # Korthikanti et al. 2022: 34 and 80 for GPT-3
    assert Fraction(f.gpt_block_saved_bytes(**per), 2048 * 12288) == 34 + 80


def gpt_selective_saved_bytes_witness():
    _gpt(f.gpt_selective_saved_bytes, "batch seq hidden", scores=False)


def checkpoint_saved_bytes_witness():
    for dtype, elem_bytes in ((BF16, 2), (FP32, 4)):
        for batch, seq, hidden in ((2, 5, 8), (3, 7, 12)):
            with count.fake(dtype):
                layer = torch.nn.Sequential(torch.nn.Linear(hidden, hidden), torch.nn.GELU())
                x = torch.empty(batch, seq, hidden, requires_grad=True)
                run = torch.utils.checkpoint.checkpoint
                _, counted = count.saved_bytes(lambda run=run, layer=layer, x=x: run(layer, x, use_reentrant=False))
            assert f.checkpoint_saved_bytes(batch=batch, seq=seq, hidden=hidden, elem_bytes=elem_bytes) == counted


def head_saved_bytes_witness():
    """A whole model minus its blocks; and norm, head and loss split over ranks by DTensor, which holds no ids and tables."""
    for (case, counted), (_, block) in zip(models(), blocks("flash"), strict=True):
        told = f.head_saved_bytes(tensor_ranks=1, **sizes(case, "batch seq hidden head_dim vocab"))
        assert told == counted.saved - case["layers"] * block
    for ranks in (2, 4):
        case = dict(batch=2, seq=48, hidden=96, vocab=512, head_dim=20)
        told = f.head_saved_bytes(tensor_ranks=ranks, **case)
        tables = 2 * torch.empty(48, 20, dtype=BF16).nbytes
        assert told == split_head(ranks, 2, 48, 96, 512) + tables


def loss_backward_bytes_witness():
    """The most that is alive during a whole forward and backward pass, beyond weights, gradients and saved tensors."""
    for case, counted in models():
        ids = torch.zeros(case["batch"], case["seq"], dtype=torch.int64).nbytes
        told = f.loss_backward_bytes(**sizes(case, "batch seq vocab"))
        assert told == counted.peak - (counted.saved - ids)


def head_backward_bytes_witness():
    """The same count with few tokens: the gradient of a wide head outweighs the log-probabilities of its tokens."""
    for case, counted in short_models():
        ids = torch.zeros(case["batch"], case["seq"], dtype=torch.int64).nbytes
        told = f.head_backward_bytes(**sizes(case, "batch seq vocab hidden"))
        assert told == counted.peak - (counted.saved - ids)


def attention_crossover_witness():
    """The first length at which a counted GPT block keeps more for its scores than for everything else."""
    for heads, head_dim in ((4, 10), (2, 20)):
        star = f.attention_crossover(head_dim=head_dim)
        for seq, more in ((int(star) - 1, False), (int(star) + 1, True)):
            with count.fake(BF16):
                block = count_gpt_block(heads * head_dim, heads)
                x = torch.empty(1, seq, heads * head_dim, requires_grad=True)
                _, saved = count.saved_bytes(lambda block=block, x=x: block(x), exclude=[block])
            scores = 5 * heads * seq**2
            assert (scores > saved - 8 * seq - scores) is more
    close(f.attention_crossover(head_dim=64), 435, 0.002)  # Korthikanti et al. 2022, read second-hand


def count_gpt_block(hidden, heads):
    from threeledgers.transformer import GPTBlock

    return GPTBlock(hidden, heads)


def kv_cache_bytes_witness():
    for case in CASES:
        keys = torch.empty(case["layers"], case["kv_heads"], 7, case["head_dim"], dtype=BF16, device="meta")
        told = f.kv_cache_bytes(elem_bytes=2, **sizes(case, "layers kv_heads head_dim"))
        assert 7 * told == sum(t.numel() * t.element_size() for t in (keys, keys.clone()))
    for layers, published in ((80, 327_680), (126, 516_096)):  # DeepSeek-AI 2025, table 1: Qwen-2.5 72B, Llama-3.1 405B
        assert f.kv_cache_bytes(layers=layers, kv_heads=8, head_dim=128, elem_bytes=2) == published


def mla_cache_bytes_witness():
    assert f.mla_cache_bytes(kv_rank=512, rope_dim=64, layers=61, elem_bytes=2) == 70_272  # DeepSeek-AI 2025, table 1
    latent, key = (torch.empty(5, 3, width, dtype=FP32, device="meta") for width in (48, 16))
    assert 3 * f.mla_cache_bytes(kv_rank=48, rope_dim=16, layers=5, elem_bytes=4) == latent.nbytes + key.nbytes


def batch_max_witness():
    """Sequences are put in one by one, until the next one does not fit."""
    for capacity, states, sample in ((100, 30, 7), (80, 10, 35), (64, 1, 9)):
        fits = 0
        while states + (fits + 1) * sample <= capacity:
            fits += 1
        assert f.batch_max(capacity=capacity, states=states, sample_bytes=sample) == fits


def min_ranks_witness():
    """Ranks are added one by one, until a share of the 16 bytes a parameter fits beside the activations."""
    for params, capacity, activations in ((1000, 300, 20), (70_550, 7200, 100), (7, 50, 3)):
        ranks = 1
        while Fraction(16 * params, ranks) + activations > capacity:
            ranks += 1
        assert f.min_ranks(params=params, capacity=capacity, activations=activations) == ranks
