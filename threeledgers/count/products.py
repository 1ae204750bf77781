"""FLOPs of each operator that multiplies and adds, and the list of those that are left out on purpose."""

import math
import re

import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch.utils.flop_counter import flop_registry, sdpa_backward_flop_count, sdpa_flop_count

# A name that says "product" must be counted, left out below with a reason, or refused.
PRODUCT = re.compile(
    r"mm(?=\d*(_|$))|mv(?=_|$)|mat_?mul|gemm|dot(?=_|$)|einsum|(^|_)ger_?$|outer|inner$|kron|addr_?$|chain|matrix_(exp|pow)"
    r"|conv(?!ert)|attention|attn|transformer|multi_head|linear|lstm|(^|_)gru|rnn|^cov$|corrcoef|cosine_|[cp]dist|euclidean"
    r"|cholesky|triangular_solve|_spsolve|^_?lu_|geqrf|or[gm]qr|lobpcg|^_?(pinverse|inverse|svd|qr|lstsq)"
    r"|linalg_(cond|det|eig|householder|inv|ldl|lstsq|lu|matrix_rank|pinv|qr|slogdet|solve|svd|tensor|vecdot)|semi_structured"
)
LEFT_OUT = {  # whole names, as patterns: why they count 0 though the name says "product"
    r"outer|ger|kron": "multiplies without adding: an element-wise product",
    r"linalg_vecdot|cosine_(similarity|embedding_loss)": "element-wise products and a sum, which count 0",
    r"[cp]dist|_[cp]dist_(forward|backward)": "differences and norms; where it multiplies, _euclidean_dist is counted",
    r"_?upsample_(bi|tri)?linear[123]d(_aa)?(_backward)?": "interpolation: a few weights per element",
    r"\w*(prepack|unpack)(_\w+)?|\w*pack_(gemm|quantized)_matrix\w*|\w*linear_quantize_weight": "lays out weights",
    r"\w*reorder_\w+|\w*flatten_weight|_convert_weight_to_\w+|_dyn_quant_pack_\w+": "lays out weights",
    r"_to_sparse_semi_structured|_sparse_semi_structured_(tile|apply(_dense)?)|_cslt_sparse_mm_search": "lays out weights",
    r"conv\d\w*_(stride|padding|output_padding|dilation|groups|transpose)": "reads a setting of packed weights",
    r"_thnn_(fused|differentiable)_(lstm|gru)_cell\w*": "the element-wise half of a cell, after its products",
}
HIDDEN = re.compile(  # composites that multiply inside, where no dispatch shows it: refused by the name that is called
    r"fbgemm_linear_(fp16|int8)_weight\w*|quantized_(lstm|gru|rnn_relu|rnn_tanh)_cell|_wrapped_quantized_linear_prepacked"
)


class UncountedOperator(RuntimeError):
    """An operator multiplies, or may, and no formula says how often."""

    def __init__(self, name, why="its FLOPs have no formula here"):
        super().__init__(
            f"flops cannot count {name}: {why}; give it one with torch.utils.flop_counter.register_flop_formula, or call "
            "operators that have one (mm, bmm, scaled_dot_product_attention, convolution)"
        )


def left_out(name):
    """Why the operator of this name counts 0 on purpose, or None."""
    return next((why for pattern, why in LEFT_OUT.items() if re.fullmatch(pattern, name)), None)


def _stored(tensor):
    """Entries that a sparse tensor stores: an uncoalesced one stores some twice, and multiplies them twice."""
    return (tensor._values() if tensor.layout is torch.sparse_coo else tensor.values()).numel()


def product(a, b):
    """FLOPs of ``a @ b``, of a batch or of vectors too; of what is stored where a side is sparse."""
    sparse_a, sparse_b = (t.layout not in (torch.strided, torch._mkldnn) for t in (a, b))
    if sparse_a and sparse_b:  # each stored entry of a column of ``a`` meets each of the same row of ``b``
        left, right = (t.to_sparse_coo().coalesce().indices() for t in (a, b))
        met = torch.bincount(left[1], minlength=a.shape[1]) * torch.bincount(right[0], minlength=b.shape[0])
        return 2 * int(met.sum())
    if sparse_b:
        return 2 * _stored(b) * a.shape[-2]
    return 2 * (_stored(a) if sparse_a else a.numel()) * (b.shape[-1] if b.dim() > 1 else 1)


def _of(i, j):
    return lambda *args, out_val=None, **kwargs: product(args[i], args[j])


def _by_output(x, *args, out_val=None, **kwargs):
    """Of a linear layer with packed weights, whose shape only the output shows."""
    return 2 * x.numel() * out_val.shape[-1]


def _grouped(offsets_at):
    def formula(*args, out_val=None, offs=None, **kwargs):
        a, b = args[:2]
        offs = args[offsets_at] if len(args) > offsets_at else offs
        if a.dim() == b.dim() == 3:
            return product(a, b)
        m, k, n = a.shape[-2], a.shape[-1], b.shape[-1]
        known = offs is not None and offs.device.type != "meta" and not isinstance(offs, FakeTensor)
        end = int(offs[-1]) if known else None  # rows after the last group are in no product
        if a.dim() == 2 and b.dim() == 3:
            return 2 * (m if end is None else end) * k * n
        if a.dim() == 3:
            return 2 * m * k * (n if end is None else end)
        return 2 * m * (k if end is None else end) * n

    return formula


def _attention(query, key, value, *args, out_val=None, **kwargs):
    return sdpa_flop_count(query.shape, key.shape, value.shape)


def _attention_backward(grad, query, key, value, *args, out_val=None, **kwargs):
    return sdpa_backward_flop_count(grad.shape, query.shape, key.shape, value.shape)


def _flex_attention_backward(query, key, value, out, logsumexp, grad, *args, out_val=None, **kwargs):
    return sdpa_backward_flop_count(out.shape if grad is None else grad.shape, query.shape, key.shape, value.shape)


def _multi_head(query, key, value, width, heads, *args, out_val=None, **kwargs):
    if query.is_nested or key.is_nested:
        raise UncountedOperator("attention of nested tensors", "its kernel pads them to sizes of its own")
    (batch, seq, _), keys = query.shape, key.shape[1]
    projections = 2 * batch * width * width * (2 * seq + 2 * keys)  # query and output, key and value
    return projections + 4 * batch * seq * keys * width


def _encoder_layer(src, width, heads, *args, out_val=None, **kwargs):
    return _multi_head(src, src, src, width, heads) + 2 * 2 * src.numel() * args[11].shape[0]  # and up, and down


def _recurrent(x, weight, recurrent, *args, out_val=None, **kwargs):
    return 2 * x.shape[0] * x.shape[1] * (weight.numel() + recurrent.numel())


def _recurrent_backward(*args, out_val=None, **kwargs):
    return 2 * _recurrent(*args)  # the gradients of what it reads, and of its weights


def _distances(a, b, *args, out_val=None, **kwargs):
    return 2 * a[..., 0].numel() * b.shape[-2] * (a.shape[-1] + 2)  # both squared norms ride as columns


def _trilinear(a, b, c, new_a, new_b, new_c, summed, unrolled=1, out_val=None):
    """Of two products in turn: what only the first two hold is summed in the first."""
    shapes = []
    for tensor, new in ((a, new_a), (b, new_b), (c, new_c)):
        sizes = list(tensor.shape)
        for at in sorted(new):
            sizes.insert(at, 1)
        shapes.append(sizes)
    total = [max(sizes) for sizes in zip(*shapes, strict=True)]
    first = [d for d in summed if d in new_c and d != unrolled]
    second = [d for d in summed if d not in new_c and d != unrolled]
    both = [size for d, size in enumerate(total) if d == unrolled or shapes[0][d] * shapes[1][d] > 1]
    rest = [size for d, size in enumerate(total) if d not in first]
    return 2 * math.prod(both) * bool(first) + 2 * math.prod(rest) * bool(second)


def _convolution(x, weight, *args, out_val=None, **kwargs):
    return 2 * out_val.numel() * weight[0].numel()


def _transposed(x, weight, *args, out_val=None, **kwargs):
    return 2 * x.numel() * weight[0].numel()


def _convolution_backward(grad, x, weight, biases, stride, padding, dilation, transposed, more, groups, mask, **kwargs):
    """The gradients of input and weights cost the forward pass each; that of the bias is a sum and counts 0."""
    return 2 * (x if transposed else grad).numel() * weight[0].numel() * (mask[0] + mask[1])


def _conv_tbc(x, weight, *args, out_val=None, **kwargs):
    return 2 * out_val.numel() * weight.shape[0] * weight.shape[1]


_BY_NAME = {
    _of(0, 1): "mm bmm mv dot vdot _int_mm _scaled_mm _scaled_mm_v2 hspmm _sparse_sparse_matmul _sparse_mm_reduce_impl",
    _of(1, 2): "addmm addmm_ addmv addmv_ baddbmm baddbmm_ addbmm addbmm_ _addmm_activation _sparse_addmm sspaddmm",
    lambda c, a, b, out_val=None, **kwargs: 2 * a.numel() * b.numel(): "addr addr_",
    lambda c, a, b, out_val=None, **kwargs: 2 * _stored(c) * a.shape[-1]: "sparse_sampled_addmm",
    lambda a, b, out_val=None, **kwargs: sum(map(product, a, b)): "_foreach_mm",
    lambda a, b, out_val=None, **kwargs: 2 * a[0].numel() * b.numel(): "_compute_linear_combination",
    _by_output: "_weight_int8pack_mm _weight_int4pack_mm _weight_int4pack_mm_for_cpu _mixed_dtypes_linear mkldnn_linear"
    " _weight_int4pack_mm_with_scales_and_zeros _dyn_quant_matmul_4bit quantized::linear quantized::linear_relu"
    " quantized::linear_dynamic quantized::linear_relu_dynamic quantized::linear_dynamic_fp16"
    " quantized::linear_relu_dynamic_fp16 quantized::linear_leaky_relu quantized::linear_tanh mkldnn::_linear_pointwise",
    lambda x, g, w, mask, out_val=None, **kwargs: (
        2 * g.numel() * w.shape[1] * (mask[0] + mask[1])
    ): "mkldnn_linear_backward",
    lambda size, g, w, out_val=None, **kwargs: 2 * g.numel() * w.shape[1]: "mkldnn_linear_backward_input",
    lambda g, x, *args, out_val=None, **kwargs: 2 * g.numel() * x.shape[-1]: "mkldnn_linear_backward_weights",
    _grouped(2): "_grouped_mm",
    _grouped(4): "_scaled_grouped_mm",
    _grouped(8): "_scaled_grouped_mm_v2",
    _attention: "_scaled_dot_product_flash_attention_for_cpu _scaled_dot_product_fused_attention_overrideable"
    " _triton_scaled_dot_attention _scaled_dot_product_attention_math_for_mps higher_order::flex_attention",
    _attention_backward: "_scaled_dot_product_flash_attention_for_cpu_backward"
    " _scaled_dot_product_fused_attention_overrideable_backward",
    _flex_attention_backward: "higher_order::flex_attention_backward",
    _multi_head: "_native_multi_head_attention _triton_multi_head_attention",
    _encoder_layer: "_transformer_encoder_layer_fwd",
    _recurrent: "mkldnn_rnn_layer",
    _recurrent_backward: "mkldnn_rnn_layer_backward",
    _distances: "_euclidean_dist",
    _trilinear: "_trilinear",
    _convolution: "_slow_conv2d_forward slow_conv3d_forward slow_conv_dilated2d slow_conv_dilated3d conv_depthwise3d"
    " _conv_depthwise2d mkldnn_convolution _nnpack_spatial_convolution cudnn_convolution cudnn_convolution_relu"
    " cudnn_convolution_add_relu miopen_convolution miopen_convolution_relu miopen_convolution_add_relu"
    " miopen_depthwise_convolution mkldnn::_convolution_pointwise",
    _transposed: "slow_conv_transpose2d slow_conv_transpose3d cudnn_convolution_transpose miopen_convolution_transpose",
    _convolution_backward: "convolution_backward",
    _conv_tbc: "conv_tbc",
}
# What torch's own formulas miss: vectors, what a sparse side stores, operators in place, a flag read as "transposed",
# the groups of a convolution in its backward pass.
_OURS = "mm bmm addmm baddbmm _scaled_mm _slow_conv2d_forward cudnn_convolution convolution_backward".split()


def formulas():
    """Formulas by operator, beside torch's own, which stand where they are right."""
    found = {}
    for formula, names in _BY_NAME.items():
        formula._get_raw = True  # torch then hands over tensors, not their shapes
        for name in names.split():
            space, _, op = name.rpartition("::")
            op = getattr(getattr(torch.ops, space or "aten"), op, None)
            if op is not None and (name in _OURS or op not in flop_registry):
                found[op] = formula
    return found
