"""FLOPs, by PyTorch's own counter, with the formulas that it lacks on a CPU."""

import torch
from torch.utils.flop_counter import FlopCounterMode, flop_registry, sdpa_backward_flop_count, sdpa_flop_count


def _attention(query, key, value, *args, out_shape=None, **kwargs):
    return sdpa_flop_count(query, key, value)


def _attention_backward(grad, query, key, value, *args, out_shape=None, **kwargs):
    return sdpa_backward_flop_count(grad, query, key, value)


_aten = torch.ops.aten
_MISSING = {  # torch 2.13 counts 0 for these; a later torch may bring its own formulas, which then stand
    op: formula
    for op, formula in {
        _aten._scaled_dot_product_flash_attention_for_cpu: _attention,
        _aten._scaled_dot_product_flash_attention_for_cpu_backward: _attention_backward,
    }.items()
    if op not in flop_registry
}


def flops(function):
    """Call ``function()`` and return ``(its result, FLOPs)``: two per multiply-add of matrix products and convolutions.

    Counts 0 for element-wise operations, softmax, norms, embeddings and matrix times vector; counts causal attention
    in full. What a backward pass runs counts where ``backward`` is called.
    """
    out, by_op = flops_by_op(function)
    return out, sum(by_op.values())


def flops_by_op(function):
    """Call ``function()`` and return ``(its result, {name of the operator: FLOPs})``."""
    with FlopCounterMode(display=False, custom_mapping=_MISSING) as counter:
        out = function()
    return out, {str(op).removeprefix("aten."): n for op, n in counter.get_flop_counts().get("Global", {}).items()}
