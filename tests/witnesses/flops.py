"""Parameters and FLOPs: equal to PyTorch's counter, to the integer."""

from tests.witnesses import close
from tests.witnesses.counted import CASES, attention, causal_products, checkpointed_linears, gpts, llamas, sizes
from threeledgers import formulas as f

SHAPE = "vocab hidden layers heads head_dim kv_heads ffn"
ATTENTION = "batch seq heads head_dim layers"
BLOCKS = "batch seq layers hidden heads kv_heads head_dim ffn"


def llama_params_witness():
    for case, counted in llamas():
        assert f.llama_params(**sizes(case, SHAPE)) == counted.params


def llama_matmul_params_witness():
    for case, counted in llamas():
        assert f.llama_matmul_params(**sizes(case, SHAPE)) == counted.matmul


def gpt_params_witness():
    for case, counted in gpts():
        assert f.gpt_params(**case) == counted.params


def _attention(formula, kind, which):
    for case in CASES:
        pair = attention(case["batch"], case["seq"], case["heads"], case["head_dim"], kind)
        assert formula(**sizes(case, ATTENTION)) == case["layers"] * which(*pair)


def attention_forward_flops_witness():
    _attention(f.attention_forward_flops, "products", lambda forward, backward: forward)
    _attention(f.attention_forward_flops, "flash", lambda forward, backward: forward)


def causal_attention_forward_flops_witness():
    for case in CASES:
        pairs = causal_products(case["seq"], case["head_dim"])
        told = f.causal_attention_forward_flops(**sizes(case, ATTENTION))
        assert told == case["batch"] * case["heads"] * case["layers"] * pairs


def attention_backward_flops_witness():
    _attention(f.attention_backward_flops, "products", lambda forward, backward: backward)


def flash_attention_backward_flops_witness():
    _attention(f.flash_attention_backward_flops, "flash", lambda forward, backward: backward)


def attention_train_flops_witness():
    _attention(f.attention_train_flops, "products", lambda forward, backward: forward + backward)


def flash_attention_train_flops_witness():
    _attention(f.flash_attention_train_flops, "flash", lambda forward, backward: forward + backward)


def _model(case, counted):
    return dict(sizes(case, "batch seq layers heads head_dim"), matmul_params=counted.matmul)


def forward_flops_witness():
    for options in ({}, {"attention": "eager"}):
        for case, counted in llamas(**options):
            assert f.forward_flops(**_model(case, counted)) == counted.forward


def backward_flops_witness():
    for case, counted in llamas(attention="eager"):
        assert f.backward_flops(**_model(case, counted)) == counted.backward


def flash_backward_flops_witness():
    for case, counted in llamas():
        assert f.flash_backward_flops(**_model(case, counted)) == counted.backward


def _again(formula, early_stop):
    plain = llamas()
    for (case, counted), (_, kept) in zip(llamas(checkpoint="full", early_stop=early_stop), plain, strict=True):
        assert formula(**sizes(case, BLOCKS)) == counted.backward - kept.backward


def checkpoint_flops_witness():
    _again(f.checkpoint_flops, early_stop=False)


def checkpoint_early_stop_flops_witness():
    _again(f.checkpoint_early_stop_flops, early_stop=True)


def checkpoint_flops_factor_witness():
    for linears in (1, 2, 4, 8):
        total, per = checkpointed_linears(linears)
        assert f.checkpoint_flops_factor(linears=linears) * per == total
    total, per = checkpointed_linears(4, early_stop=False)
    assert total == 8 * per


def selective_overhead_witness():
    """The attention core once more, over forward and backward of all other products; the head is left out of both."""
    for case, counted in gpts():
        tokens = 2 * case["seq"]
        head = 3 * 2 * case["vocab"] * case["hidden"] * tokens
        forward, backward = (case["layers"] * n for n in attention(2, case["seq"], 4, case["hidden"] // 4, "products"))
        linears = counted.forward + counted.backward - head - forward - backward
        close(f.selective_overhead(seq=case["seq"], hidden=case["hidden"]), forward / linears, 1e-12)


def train_flops_witness():
    for case, counted in llamas():
        tokens = case["batch"] * case["seq"]
        scores = sum(attention(case["batch"], case["seq"], case["heads"], case["head_dim"], "flash")) * case["layers"]
        assert f.train_flops(params=counted.matmul, tokens=tokens) == counted.forward + counted.backward - scores


def train_flops_full_witness():
    for case, counted in llamas(attention="eager"):
        told = f.train_flops_full(
            matmul_params=counted.matmul,
            tokens=case["batch"] * case["seq"],
            **sizes(case, "layers heads head_dim seq"),
        )
        assert told == counted.forward + counted.backward


def gpt_step_flops_witness():
    """Counted: forward, backward, and forward again of everything; the paper's head counts three passes of it."""
    for case, counted in gpts():
        head = 2 * 2 * case["seq"] * case["vocab"] * case["hidden"]
        again = counted.forward - head
        assert f.gpt_step_flops(batch=2, **case) == counted.forward + counted.backward + again
