"""Products that are counted, or an error that names them. Values are worked out here from shapes."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.attention.flex_attention import flex_attention
from torch.utils.flop_counter import flop_registry

from threeledgers import count
from threeledgers.count.products import formulas

B, S, E, H, FFN = 2, 32, 64, 4, 256
ATTENTION = 2 * B * S * E * 4 * E + 2 * 2 * B * S * S * E  # four projections; scores and their mix, over all heads
STEPS, GATES = 32, {nn.LSTM: 4, nn.GRU: 3, nn.RNN: 1}
M, K, N = 6, 8, 5


def flops(function):
    with torch.no_grad():
        return count.flops(function)[1]


@pytest.mark.parametrize("place", [None, count.meta, count.fake])
def test_modules_with_a_fast_path(place):
    def all_of_them():
        x = torch.ones(B, S, E)
        layer = nn.TransformerEncoderLayer(E, H, FFN, batch_first=True).eval()
        heads = nn.MultiheadAttention(E, H, batch_first=True).eval()
        assert flops(lambda: layer(x)) == ATTENTION + 2 * 2 * B * S * E * FFN == 6_815_744
        assert flops(lambda: heads(x, x, x)) == ATTENTION == 2_621_440
        assert flops(lambda: heads(x, x.clone(), x.clone(), need_weights=False)) == ATTENTION
        for kind, gates in GATES.items():
            once = 2 * STEPS * B * gates * E * 2 * E
            assert flops(lambda k=kind: k(E, E)(torch.ones(STEPS, B, E))) == once
            both = 2 * once + 2 * 2 * STEPS * B * gates * E * 3 * E  # the second layer reads both directions
            assert flops(lambda k=kind: k(E, E, 2, bidirectional=True)(torch.ones(STEPS, B, E))) == both

    assert 2 * STEPS * B * 4 * E * 2 * E == 4_194_304
    if place is None:
        all_of_them()
    else:
        with place():
            all_of_them()


def test_counting_leaves_the_fast_path_on():
    x, layer = torch.ones(B, S, E), nn.TransformerEncoderLayer(E, H, FFN, batch_first=True).eval()
    with torch.no_grad():
        assert list(count.flops_by_op(lambda: layer(x))[1]) == ["_transformer_encoder_layer_fwd"]


def test_training_of_a_recurrent_layer_counts_both_gradients():
    x, net = torch.ones(STEPS, B, E, requires_grad=True), nn.LSTM(E, E)
    (out, _), forward = count.flops(lambda: net(x))
    assert forward == 2 * STEPS * B * 4 * E * 2 * E
    assert count.flops(out.sum().backward)[1] == 2 * forward


def test_vectors_and_what_only_multiplies():
    a, b, v, w = torch.ones(M, K), torch.ones(K, N), torch.ones(K), torch.ones(M)
    assert flops(lambda: a @ v) == flops(lambda: torch.addmv(w, a, v)) == flops(lambda: w.addmv_(a, v)) == 2 * M * K
    assert flops(lambda: torch.dot(v, v)) == flops(lambda: torch.vdot(v, v)) == 2 * K
    assert flops(lambda: torch.addr(a, w, v)) == 2 * M * K
    assert flops(lambda: (torch.outer(w, v), torch.kron(a, b), torch.linalg.vecdot(a, a))) == 0
    with count.meta():
        assert flops(lambda: torch.empty(M, K) @ torch.empty(K)) == 2 * M * K


def test_products_of_matrices_however_they_are_spelled():
    a, b, c = torch.ones(M, K), torch.ones(K, N), torch.ones(M, N)
    batch = torch.ones(3, M, K), torch.ones(3, K, N)
    bilinear = 2 * M * N * K * E + 2 * M * N * E
    cases = {
        2 * M * K * N: [
            lambda: torch.mm(a, b, out=torch.empty(M, N)),
            lambda: c.addmm_(a, b),
            lambda: torch._addmm_activation(torch.ones(N), a, b),
            lambda: torch.einsum("ij,jk->ik", a, b),
            lambda: torch.tensordot(a, b, 1),
        ],
        3 * 2 * M * K * N: [
            lambda: torch.baddbmm(c, *batch),
            lambda: torch.ones(3, M, N).baddbmm_(*batch),
            lambda: torch.addbmm(c, *batch),
        ],
        bilinear: [lambda: nn.Bilinear(K, E, N)(a, torch.ones(M, E))],
        2 * 30 * 30 * (K + 2): [lambda: torch.cdist(torch.ones(30, K), torch.ones(30, K))],
        2 * (5 - 3 + 1) * 2 * N * 3 * K: [
            lambda: torch.conv_tbc(torch.ones(5, 2, K), torch.ones(3, K, N), torch.ones(N))
        ],
    }
    for expected, spellings in cases.items():
        assert [flops(run) for run in spellings] == [expected] * len(spellings)


@pytest.mark.operators("_foreach_mm")
def test_a_list_of_products():
    a, b = torch.ones(M, K), torch.ones(K, N)
    assert flops(lambda: torch._foreach_mm([a, a], [b, b])) == 2 * 2 * M * K * N


@pytest.mark.parametrize("layout", ["to_sparse_coo", "to_sparse_csr", "to_sparse_csc"])
def test_sparse_products_count_what_is_stored(layout):
    dense = torch.eye(M, K)
    dense[0] = 1
    stored = M + K - 1
    a, b, v = getattr(dense, layout)(), torch.ones(K, N), torch.ones(K)
    assert flops(lambda: torch.sparse.mm(a, b)) == flops(lambda: a @ b) == 2 * stored * N
    assert flops(lambda: torch.addmm(torch.ones(M, N), a, b)) == 2 * stored * N
    if layout != "to_sparse_csc":
        assert flops(lambda: a @ v) == 2 * stored
    if layout == "to_sparse_coo":  # each stored entry of a column meets each of the same row
        other = torch.eye(K, N).to_sparse_coo()
        met = sum(int(dense[:, k].count_nonzero()) for k in range(min(K, N)))
        assert flops(lambda: torch.sparse.mm(a, other)) == 2 * met
    if layout == "to_sparse_csr":
        assert flops(lambda: torch.sparse.sampled_addmm(a, torch.ones(M, E), torch.ones(E, K))) == 2 * stored * E


def test_grouped_products_count_the_rows_of_their_groups():
    rows, groups = 16, 2
    x, w = torch.ones(rows, E, dtype=torch.bfloat16), torch.ones(groups, E, 32, dtype=torch.bfloat16)

    grouped_mm = getattr(F, "grouped_mm", torch._grouped_mm)  # its name before torch 2.10

    def run(*ends):
        return lambda: grouped_mm(x, w, offs=torch.tensor(ends, dtype=torch.int32))

    assert flops(run(6, rows)) == 2 * rows * E * 32
    assert flops(run(6, 12)) == 2 * 12 * E * 32  # rows after the last group are in no product
    assert flops(lambda: grouped_mm(w.mT.contiguous(), w)) == groups * 2 * 32 * E * 32
    ends = torch.tensor([32, E], dtype=torch.int32)
    assert flops(lambda: grouped_mm(x, w[0], offs=ends)) == 2 * rows * E * 32


def test_quantised_products_are_counted_or_named():
    x, whole = torch.ones(M, K), torch.ones(32, 32, dtype=torch.int8)
    assert flops(lambda: torch._int_mm(whole, whole)) == 2 * 32**3
    eighth = torch.ones(32, 32).to(torch.float8_e4m3fn)
    one = torch.tensor(1.0)
    assert flops(lambda: torch._scaled_mm(eighth, eighth.t(), one, one, out_dtype=torch.bfloat16)) == 2 * 32**3
    if "fbgemm" not in torch.backends.quantized.supported_engines:
        pytest.skip("no engine for quantised layers here")
    linear = torch.ao.quantization.quantize_dynamic(nn.Sequential(nn.Linear(K, N)), {nn.Linear})
    assert flops(lambda: linear(x)) == 2 * M * K * N
    lstm = torch.ao.quantization.quantize_dynamic(nn.Sequential(nn.LSTM(K, N)), {nn.LSTM})
    with pytest.raises(count.UncountedOperator, match="quantized_lstm"):
        flops(lambda: lstm(torch.ones(3, 2, K)))


@pytest.mark.parametrize("place", [None, count.fake])
def test_flex_attention_counts_two_products_per_pair(place):
    def run():
        q = torch.ones(B, H, 128, 16)
        return flops(lambda: flex_attention(q, q, q))

    if place is None:
        found = run()
    else:
        with place():
            found = run()
    assert found == 2 * 2 * B * H * 128 * 128 * 16


def test_the_gradient_of_flex_attention_counts_five_products_per_pair():
    q, backward = torch.ones(B, H, 128, 16), torch.ops.higher_order.flex_attention_backward
    known = {**flop_registry, **formulas()}  # a CPU runs it under few versions of torch: asked of its formula
    for gradient in (q, None):
        assert known[backward](q, q, q, q, None, gradient, out_val=None) == 5 * 2 * B * H * 128 * 128 * 16


def test_what_has_no_formula_is_named():
    square = torch.eye(4)
    padded = torch.arange(S)[None] >= torch.tensor([[S], [20]])
    layer = nn.TransformerEncoderLayer(E, H, FFN, batch_first=True)
    encoder = nn.TransformerEncoder(layer, 1).eval()
    library = torch.library.Library("threeledgers_strange", "DEF")
    library.define("twice(Tensor x) -> Tensor")
    library.impl("twice", lambda x: x + x, "CPU")
    cases = {
        "linalg_matrix_exp": lambda: torch.matrix_exp(square),
        "_linalg_solve_ex": lambda: torch.linalg.solve(square, square),
        "nested tensors": lambda: encoder(torch.ones(B, S, E), src_key_padding_mask=padded),
        "fbgemm_linear_fp16_weight": lambda: torch.fbgemm_linear_fp16_weight(square, square, square),
        "threeledgers_strange::twice": lambda: torch.ops.threeledgers_strange.twice(square),
    }
    for name, run in cases.items():
        with pytest.raises(count.UncountedOperator, match=name):
            flops(run)
    assert not hasattr(torch.fbgemm_linear_fp16_weight, "__code__"), "the call is put back"
