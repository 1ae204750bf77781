"""Parameters, FLOPs, utilisation and training time."""

from tests.vectors import recipe
from threeledgers import formulas as f
from threeledgers import gpu

TERA, HOUR, DAY = 10**12, 3600, 86400


def per_token(formula, **shape):
    return formula(tokens=1, **shape)


@recipe("V-PAR-*", "V-KV-11")
def llama(**shape):
    return f.llama_params(**shape)


@recipe("V-KV-9")
def llama_one_table(**shape):
    return f.llama_matmul_params(**shape)


@recipe("V-MEG-P*")
def megatron(**shape):
    return f.gpt_params(**shape) / 10**9


@recipe("V-MEG-A*")
def together(ranks, tflops):
    return f.aggregate_rate(ranks=ranks, achieved=tflops * TERA) / 10**15


@recipe("V-MEG-U*")
def with_recomputation(tflops, peak_tflops):
    """A quarter of what runs is the second forward pass."""
    executed, peak = tflops * TERA, peak_tflops * TERA
    return f.hfu(flops=executed * 3 / 4, recompute=executed / 4, step_time=1, ranks=1, peak=peak)


@recipe("V-MEG-T*")
def megatron_days(params, tokens, ranks, tflops):
    """6 N D and a second forward pass, at the rate achieved."""
    flops = f.train_flops(params=params, tokens=tokens) * 4 / 3
    return f.train_time(flops=flops, ranks=ranks, peak=tflops * TERA, mfu=1) / DAY


@recipe("V-MTNLG-*")
def megatron_rate(ranks, step_time, **step):
    return f.gpt_step_flops(**step) / (ranks * step_time) / TERA


@recipe("V-GPT3-FL")
def gpt_run(tokens, seq, **shape):
    return f.gpt_step_flops(batch=tokens / seq, seq=seq, **shape)


def utilisation(flops, tokens_per_s, ranks, peak_tflops):
    return f.mfu(flops=flops * tokens_per_s, step_time=1, ranks=ranks, peak=peak_tflops * TERA)


@recipe("V-PALM-1", "V-PALM-4")
def mfu_short(params, **run):
    return utilisation(per_token(f.train_flops, params=params), **run)


@recipe("V-PALM-2")
def mfu_full(params, layers, heads, head_dim, seq, **run):
    shape = dict(matmul_params=params, layers=layers, heads=heads, head_dim=head_dim, seq=seq)
    return utilisation(per_token(f.train_flops_full, **shape), **run)


@recipe("V-PALM-6")
def mfu_from_rate(params, tflops, peak_tflops, **shape):
    """A rate without attention, made larger by attention's share."""
    short = per_token(f.train_flops, params=params)
    full = per_token(f.train_flops_full, matmul_params=params, **shape)
    return f.mfu(flops=tflops * TERA * full / short, step_time=1, ranks=1, peak=peak_tflops * TERA)


@recipe("V-L1-1")
def days(tokens, tokens_per_s, ranks):
    """Counted in tokens instead of FLOPs."""
    return f.train_time(flops=tokens, ranks=ranks, peak=tokens_per_s, mfu=1) / DAY


@recipe("V-L1-7B", "V-L1-33B")
def implied_mfu(params, tokens, gpu_hours, peak_tflops):
    flops = f.train_flops(params=params, tokens=tokens)
    return f.mfu(flops=flops, step_time=gpu_hours * HOUR, ranks=1, peak=peak_tflops * TERA)


@recipe("V-DS-3")
def implied_rate(params, tokens, gpu_hours):
    return f.train_flops(params=params, tokens=tokens) / (gpu_hours * HOUR) / TERA


@recipe("V-L3-MFU1")
def share_of_bf16(tflops, gpu):
    return device_share(tflops, gpu, "bf16_flops")


@recipe("V-FA-8")
def share_of_fp8(tflops, gpu):
    return device_share(tflops, gpu, "fp8_flops")


def device_share(tflops, id, field):
    return f.mfu(flops=tflops * TERA, step_time=1, ranks=1, peak=getattr(gpu(id), field))


@recipe("V-DS-4")
def causal_gflops(seq, layers, heads, head_dim, **shape):
    """Attention to the half of the pairs that a causal model sees."""
    matmul = f.llama_matmul_params(layers=layers, heads=heads, head_dim=head_dim, **shape)
    attention = dict(layers=layers, heads=heads, head_dim=head_dim, seq=seq / 2)
    return per_token(f.train_flops_full, matmul_params=matmul, **attention) / 10**9


def gpt_pass(layers, hidden, heads, seq, vocab, batch=1):
    """Arguments for forward_flops and backward_flops of a GPT: 12 h² weights a block, and the head."""
    shape = dict(layers=layers, heads=heads, head_dim=hidden // heads, seq=seq, batch=batch)
    return dict(matmul_params=12 * layers * hidden**2 + vocab * hidden, **shape)


def gpt_model_flops(**shape):
    step = gpt_pass(**shape)
    return f.forward_flops(**step) + f.backward_flops(**step)


def attention_core(formula, **shape):
    return formula(**{k: v for k, v in gpt_pass(**shape).items() if k != "matmul_params"})


@recipe("V-KOR-7")
def selective(**shape):
    """One more pass over the attention core, over the forward and backward pass of the model."""
    return attention_core(f.attention_forward_flops, **shape) / gpt_model_flops(**shape)


@recipe("V-KOR-8")
def gpt_mfu(ranks, step_time, peak_tflops, **shape):
    return f.mfu(flops=gpt_model_flops(**shape), step_time=step_time, ranks=ranks, peak=peak_tflops * TERA)


@recipe("V-FA-1")
def attention(**shape):
    return f.attention_train_flops(**shape) / 10**9


@recipe("V-FA-9")
def fused_attention(**shape):
    return f.flash_attention_train_flops(**shape) / 10**9


@recipe("V-FA-2")
def fused_over_standard(**shape):
    return f.flash_attention_train_flops(**shape) / f.attention_train_flops(**shape)
