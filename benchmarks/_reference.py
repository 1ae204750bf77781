"""The reference model, what PyTorch counts of it (the truth), and what the formulas say. Only this file imports it."""

from dataclasses import asdict
from functools import cache

import torch
from _questions import CACHE, FORWARD, FP32_STATES, LAYER_SAVED, MIXED_STATES, PARAMETERS, SAVED, SIZES, TRAINING

from threeledgers import count, formulas
from threeledgers.transformer import Block, Config, Llama, loss, rotary_tables


def config(s):
    return Config(*list(asdict(s).values())[:7])


@cache
def given(s):
    """The reference model and its token ids, as a user of the tool would have them."""
    place = "meta" if s == SIZES["llama2_7b"] else "cpu"
    with torch.device(place), torch.no_grad():
        torch.set_default_dtype(torch.bfloat16)
        model = Llama(config(s)).eval()
        torch.set_default_dtype(torch.float32)
        return model, torch.zeros(s.batch, s.seq, dtype=torch.long)


def zeros(s):
    return torch.zeros(s.batch, s.seq, dtype=torch.long)


def bytes_of(tensors):
    return sum(t.numel() * t.element_size() for t in tensors)


def truth(s):
    c = config(s)

    def step():
        with count.meta(torch.bfloat16):
            model = Llama(c)
            value, forward = count.flops(lambda: loss(model, zeros(s)))
            return forward, forward + count.flops(value.backward)[1]

    def parameters():
        with count.meta():
            return (sum(p.numel() for p in Llama(c).parameters()),)

    def layer():
        with count.fake(torch.bfloat16):
            block, tables = Block(c), rotary_tables(s.seq, s.head_dim, torch.bfloat16)
            x = torch.empty(s.batch, s.seq, s.hidden).requires_grad_()
            return (count.saved_bytes(lambda: block(x, *tables), [block, *tables])[1],)

    def whole():
        with count.fake(torch.bfloat16):
            model = Llama(c)
            return (count.saved_bytes(lambda: loss(model, zeros(s)), [model])[1],)

    def states(mixed):
        with count.fake(torch.bfloat16 if mixed else torch.float32):
            model = Llama(c)
            loss(model, zeros(s)).backward()
            weights = trained = list(model.parameters())
            kept = [*weights, *(p.grad for p in weights)]
            if mixed:
                trained = [p.detach().float() for p in weights]
                for master, p in zip(trained, weights, strict=True):
                    master.grad = p.grad.float()  # gone after the step
                kept += trained
            optimizer = torch.optim.AdamW(trained, foreach=False)
            optimizer.step()
            moments = [state[k] for state in optimizer.state.values() for k in ("exp_avg", "exp_avg_sq")]
            return (bytes_of([*kept, *moments]),)

    def cache_bytes():
        kept = []
        with count.meta(torch.bfloat16):
            model = Llama(c)
            for block in model.layers:
                for projection in (block.attention.k, block.attention.v):
                    projection.register_forward_hook(lambda module, given, out: kept.append(out))
            model(zeros(s))
        return (bytes_of(kept) // s.tokens,)

    return [
        ((PARAMETERS,), parameters),
        ((FORWARD, TRAINING), step),
        ((LAYER_SAVED,), layer),
        ((SAVED,), whole),
        ((FP32_STATES,), lambda: states(False)),
        ((MIXED_STATES,), lambda: states(True)),
        ((CACHE,), cache_bytes),
    ]


def ours(s):
    attention = {"heads": s.heads, "head_dim": s.head_dim}
    shape = {"hidden": s.hidden, "layers": s.layers, "kv_heads": s.kv_heads, "ffn": s.ffn, "vocab": s.vocab}
    pass_ = {"batch": s.batch, "seq": s.seq, "layers": s.layers, **attention}
    block = {"batch": s.batch, "seq": s.seq, "hidden": s.hidden, "ffn": s.ffn, **attention}
    cached = {"layers": s.layers, "kv_heads": s.kv_heads, "head_dim": s.head_dim, "elem_bytes": 2}

    def step():
        pass_["matmul_params"] = formulas.llama_matmul_params(**shape, **attention)
        forward = formulas.forward_flops(**pass_)
        return forward, forward + formulas.backward_flops(**pass_)

    def parameters():
        return formulas.llama_params(**shape, **attention)

    def whole():
        ends = 8 + s.hidden * (2 + 4) + 4 + 2 * s.hidden + 4 * s.vocab  # ids, last norm, head's input, log-softmax
        tables, weight = 2 * 2 * s.seq * s.head_dim, 4
        return (s.layers * formulas.llama_block_saved_bytes(**block) + s.tokens * ends + tables + weight,)

    return [
        ((PARAMETERS,), lambda: (parameters(),)),
        ((FORWARD, TRAINING), step),
        ((LAYER_SAVED,), lambda: (formulas.llama_block_saved_bytes(**block),)),
        ((SAVED,), whole),
        ((FP32_STATES,), lambda: (formulas.adam_fp32_bytes(params=parameters()),)),
        ((MIXED_STATES,), lambda: (formulas.adam_bytes(params=parameters()),)),
        ((CACHE,), lambda: (formulas.kv_cache_bytes(**cached),)),
    ]
