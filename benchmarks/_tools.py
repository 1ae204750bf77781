"""One tool asked about one size, in a process of its own: ``python _tools.py TOOL SIZE`` prints a JSON line per answer.

Modules are handed over built: real bf16 weights on the CPU, for 7B the meta device; building is not timed. Each call
runs once, then three times more for the median, unless the first took longer than 20 s.
"""

import json
import os
import sys
import time
from functools import cache, partial
from importlib.metadata import version
from statistics import median
from types import SimpleNamespace

import torch
from _questions import CACHE, FORWARD, FP32_STATES, LAYER_SAVED, MIXED_STATES, PARAMETERS, SAVED, SIZES, TRAINING
from _reference import bytes_of, given, ours, truth, zeros

from threeledgers import count


@cache
def hugging_face(s):
    """The same model as transformers builds it, on meta: from a configuration in code, nothing is fetched."""
    from transformers import LlamaConfig, LlamaForCausalLM

    made = LlamaConfig(
        vocab_size=s.vocab,
        hidden_size=s.hidden,
        num_hidden_layers=s.layers,
        num_attention_heads=s.heads,
        num_key_value_heads=s.kv_heads,
        head_dim=s.head_dim,
        intermediate_size=s.ffn,
        max_position_embeddings=s.seq,
        tie_word_embeddings=False,
    )
    with count.meta(torch.bfloat16):
        return LlamaForCausalLM(made)


def torchinfo(s):
    from torchinfo import summary

    model, ids = given(s)

    def ask():
        found = summary(model, input_data=ids, device=ids.device, verbose=0)
        return found.total_params, 2 * found.total_mult_adds, found.total_output_bytes

    return [((PARAMETERS, FORWARD, SAVED), ask)]


def fvcore(s):
    from fvcore.nn import FlopCountAnalysis, parameter_count

    model, ids = given(s)

    def step():
        return (2 * int(FlopCountAnalysis(model, ids).unsupported_ops_warnings(False).total()),)

    return [((PARAMETERS,), lambda: (parameter_count(model)[""],)), ((FORWARD,), step)]


def calflops(s):
    from calflops import calculate_flops

    model, ids = given(s)

    def ask(backward):
        options = {"include_backPropagation": backward, "print_results": False, "output_as_string": False}
        found = calculate_flops(model, args=[ids], **options)
        return (found[0],) if backward else (found[2], found[0])

    return [((PARAMETERS, FORWARD), lambda: ask(False)), ((TRAINING,), lambda: ask(True))]


def ptflops(s, backend="pytorch"):
    from ptflops import get_model_complexity_info

    model, ids = given(s)

    def ask():
        options = {"as_strings": False, "print_per_layer_stat": False, "backend": backend}
        macs, params = get_model_complexity_info(model, (s.seq,), input_constructor=lambda _: {"ids": ids}, **options)
        return params, 2 * int(macs)

    return [((PARAMETERS, FORWARD), ask)]


def thop(s):
    from thop import profile

    model, ids = given(s)

    def ask():
        macs, params = profile(model, inputs=(ids,), verbose=False)
        return int(params), 2 * int(macs)

    return [((PARAMETERS, FORWARD), ask)]


def torch_flops(s):
    from torch_flops import TorchFLOPsByFX

    model, ids = given(s)

    def ask():
        found = TorchFLOPsByFX(model)
        found.propagate(ids)
        return (found.print_total_flops(show=False),)

    return [((FORWARD,), ask)]


def deepspeed_profiler(s):
    from deepspeed.profiling.flops_profiler import get_model_profile

    model, ids = given(s)

    def ask():
        found = get_model_profile(model, args=[ids], print_profile=False, warm_up=0, as_string=False)
        return found[2], found[0]

    return [((PARAMETERS, FORWARD), ask)]


def deepspeed_estimate(s):
    from deepspeed.runtime.zero.stage3 import estimate_zero3_model_states_mem_needs as estimate

    ask = partial(estimate, s.parameters, s.table, cpu_offload=False, cpu_offload_params=False)
    return [((MIXED_STATES,), lambda: (ask()[1],))]


def transformers(s):
    from transformers import Trainer

    model = hugging_face(s)

    def training():
        return (Trainer.floating_point_ops(SimpleNamespace(model=model), {"input_ids": zeros(s)}),)

    return [((PARAMETERS,), lambda: (model.num_parameters(),)), ((TRAINING,), training)]


def transformers_counted(s):
    model = hugging_face(s)

    def step():
        with count.meta(torch.bfloat16):
            ids = zeros(s)
            found, forward = count.flops(lambda: model(ids, labels=ids).loss)  # without a cache it reads ids
            return forward, forward + count.flops(found.backward)[1]

    def cached():
        with count.meta(torch.bfloat16), torch.no_grad():
            layers = model(zeros(s)).past_key_values.layers
        return (bytes_of(t for layer in layers for t in (layer.keys, layer.values)) // s.tokens,)

    return [((FORWARD, TRAINING), step), ((CACHE,), cached)]


def accelerate(s):
    from accelerate.commands.estimate import estimate_training_usage
    from accelerate.utils import calculate_maximum_sizes

    with torch.device("meta"):
        model = type(hugging_face(s))(hugging_face(s).config)

    def ask():
        total = calculate_maximum_sizes(model)[0]
        printed = [max(estimate_training_usage(total, dtype).values()) for dtype in ("float32", "float16")]
        return total // 4, *printed

    return [((PARAMETERS, FP32_STATES, MIXED_STATES), ask)]


def llm_analysis(s):
    from llm_analysis.analysis import LLMAnalysis
    from llm_analysis.config import GPUConfig, ModelConfig

    shape = dict(num_layers=s.layers, n_head=s.heads, num_key_value_heads=s.kv_heads, hidden_dim=s.hidden)
    mlp = dict(ffn_embed_dim=s.ffn, expansion_ratio=s.ffn / s.hidden)
    model = ModelConfig("llama", vocab_size=s.vocab, max_seq_len=s.seq, model_type="llama", **shape, **mlp)
    it = LLMAnalysis(model, GPUConfig("a GPU on which all fits", 1e6, 3000, 400, 1e-6, 900))
    options = {"mlp_gated_linear_units": True}

    def training():
        found = it.training(batch_size_per_gpu=s.batch, seq_len=s.seq, **options)
        states = [found[f"{part}_memory_per_gpu"] for part in ("weight", "gradient", "optimizer_state")]
        return found["activation_memory_per_gpu"], sum(states)

    def flops():
        forward = it.get_num_flops_fwd_total(s.batch, s.seq)
        return forward, forward + it.get_num_flops_bwd_total(s.batch, s.seq)

    return [
        ((PARAMETERS,), lambda: (it.get_num_params_total(),)),
        ((FORWARD, TRAINING), flops),
        ((LAYER_SAVED,), lambda: (it.get_activation_memory_per_layer(s.batch, s.seq, is_inference=False, **options),)),
        ((SAVED, MIXED_STATES), training),
        ((CACHE,), lambda: (it.get_memory_kv_cache_per_layer(1, 1) * s.layers,)),
    ]


TOOLS = {  # name in the table: (distribution, function)
    "PyTorch's counter": ("torch", truth),
    "three ledgers": ("threeledgers", ours),
    "torchinfo": ("torchinfo", torchinfo),
    "fvcore": ("fvcore", fvcore),
    "calflops": ("calflops", calflops),
    "ptflops": ("ptflops", ptflops),
    "ptflops aten": ("ptflops", lambda s: ptflops(s, "aten")),
    "thop": ("thop", thop),
    "torch-flops": ("torch-flops", torch_flops),
    "deepspeed profiler": ("deepspeed", deepspeed_profiler),
    "deepspeed estimate": ("deepspeed", deepspeed_estimate),
    "transformers": ("transformers", transformers),
    "transformers, counted": ("transformers", transformers_counted),
    "accelerate": ("accelerate", accelerate),
    "llm-analysis": ("llm-analysis", llm_analysis),
}


def timed(call):
    start = time.perf_counter()
    answers = call()
    return answers, time.perf_counter() - start


def main(tool, size):
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a tool prints is not an answer
    distribution, function = TOOLS[tool]
    for questions, call in function(SIZES[size]):
        failed, answers, first, typical = None, [None] * len(questions), None, None
        try:
            answers, first = timed(call)
            typical = median(timed(call)[1] for _ in range(3)) if first < 20 else first
        except Exception as error:
            failed = f"{type(error).__name__}: {error}"
        for question, answer in zip(questions, answers, strict=True):
            answer = int(answer) if answer == int(answer or 0) else answer  # some tools count in floats
            row = dict(question=question, answer=answer, first=first, typical=typical, failed=failed)
            print(json.dumps(row | {"version": version(distribution)}), file=out, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
