"""Every product among torch's operators is counted, left out with a reason, composite, or refused: of one torch, the pinned one."""

import re

import pytest
import torch
from torch.utils.flop_counter import flop_registry

from threeledgers.count.arithmetic import TORCH, refused
from threeledgers.count.products import HIDDEN, LEFT_OUT, PRODUCT, formulas, left_out

pytestmark = pytest.mark.operators
# Names that hold the letters of a product and are none.
LETTERS = (
    r"\w*gamma\w*|cummax\w*|cummin\w*|_cumm(ax|in)_helper|hamming_window|\w*sqrt_?|igammac?_?|resolve_(conj|neg)|linalg_matrix_norm"
    r"|_?convert_\w+|_nested_get_jagged_dummy|matrix_H|access_subclass_inner_tensor|inductor_rand\w+"
)
# Operators made of others, which are counted in turn. What runs inside one and shows nothing must be in HIDDEN.
COMPOSITE = set(
    "_convolution_double_backward _convolution_mode _lu_with_info _scaled_dot_product_attention_math _sparse_mm bilinear "
    "chain_matmul conv1d conv2d conv3d conv_tbc_backward conv_transpose1d conv_transpose2d conv_transpose3d corrcoef cov "
    "einsum gru gru_cell inner inverse linalg_cholesky linalg_cond linalg_det linalg_eigh linalg_eigvals linalg_eigvalsh "
    "linalg_inv linalg_ldl_factor linalg_lu_factor linalg_matmul linalg_matrix_power linalg_matrix_rank linalg_multi_dot "
    "linalg_pinv linalg_slogdet linalg_solve linalg_solve_ex linalg_svd linalg_svdvals linalg_tensorinv linalg_tensorsolve "
    "linear lstm lstm_cell lu_solve matmul matrix_exp matrix_exp_backward matrix_power orgqr pinverse qr rnn_relu "
    "rnn_relu_cell rnn_tanh rnn_tanh_cell scaled_dot_product_attention slow_conv3d smm svd tensordot thnn_conv2d".split()
)
WORDS = re.compile(
    r"mm|mat_?mul|mv|dot|conv|attention|linear|lstm|gru|rnn|einsum|ger|kron|cdist|outer|inner|gemm|addr|chain|multi_head"
    r"|transformer|matrix|cov|solve|cholesky|svd|qr"
)


def operators():
    """Every operator of this torch as (namespace, name, overloads), by the dispatcher's own list."""
    found = {}
    for whole in torch._C._dispatch_get_all_op_names():
        space, _, rest = whole.partition("::")
        if TORCH.fullmatch(space):
            found.setdefault((space, rest.partition(".")[0]), []).append(whole)
    return [(*key, overloads) for key, overloads in sorted(found.items())]


def test_every_product_of_torch_is_counted_left_out_composite_or_refused():
    known, silent, composite = {**flop_registry, **formulas()}, [], set()
    for space, name, overloads in operators():
        if not (WORDS.search(name) or PRODUCT.search(name)) or re.fullmatch(LETTERS, name):
            continue
        packet = getattr(getattr(torch.ops, space), name)
        if packet in known or left_out(name):
            continue
        made = [torch._C._dispatch_has_kernel_for_dispatch_key(o, "CompositeImplicitAutograd") for o in overloads]
        if any(made) and space == "aten":
            composite.add(name)
        elif not PRODUCT.search(name):
            silent.append(f"{space}::{name}")
    assert silent == []
    assert {name for name in composite if not HIDDEN.fullmatch(name)} == COMPOSITE


def test_each_reason_to_leave_out_has_its_operators_and_each_formula_its_operator():
    names = {name for _, name, _ in operators()}
    for pattern in LEFT_OUT:
        assert any(re.fullmatch(pattern, name) and PRODUCT.search(name) for name in names), pattern
    known = formulas()
    assert {op.__name__ for op in known} <= names
    assert not [op for op in known if left_out(op.__name__)]
    assert refused(torch.ops.aten.linalg_matrix_exp.default) and not refused(torch.ops.aten.hamming_window.default)
    assert {n for n in names if HIDDEN.fullmatch(n)} and not any(left_out(n) for n in names if HIDDEN.fullmatch(n))


def test_no_namespace_of_torch_is_taken_for_a_strangers():
    spaces = {name.partition("::")[0] for name in torch._C._dispatch_get_all_op_names()}
    assert {s for s in spaces if not TORCH.fullmatch(s)} <= {"threeledgers_strange", "torchvision"}
