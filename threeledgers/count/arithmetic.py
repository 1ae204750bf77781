"""FLOPs, by PyTorch's own counter, with the formulas that it lacks and an error where none is known."""

import re
from contextlib import contextmanager

import torch
import torch.nn.attention.flex_attention as flex
from torch.utils.flop_counter import FlopCounterMode, _FlopCounterMode

from threeledgers.count.products import HIDDEN, PRODUCT, UncountedOperator, formulas, left_out

# Torch's own operators are judged by name; another library's may do anything, and need a formula.
TORCH = re.compile(
    r"aten|prims?|_?quantized|quantization|mkl|mkldnn(_prepacked)?|onednn|sparse|inductor(_prims)?|rngprims|_?c10d\w*|dtensor"
    r"|_dtensor|_native|_test|debug\w*|export|profiler|static_runtime|symm_mem|fsdp|streams|bucketing|higher_order"
    r"|_inductor_test|flex_lib|onnx(_symbolic)?|prepacked|mempool|coor"
)
_COMPOSITE = torch._C.DispatchKey.CompositeImplicitAutograd


def refused(op):
    """Whether an operator without a formula must not pass as 0: by its name, or as another library's."""
    space, _, name = op.name().partition("::")
    name = name.partition(".")[0]
    return not TORCH.fullmatch(space) or (bool(PRODUCT.search(name)) and left_out(name) is None)


class _Mode(_FlopCounterMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if isinstance(func, torch._ops.HigherOrderOperator):
            if func in self.counter.flop_registry:
                return self.counter._count_flops(func, func(*args, **kwargs), args, kwargs)
            if func is not torch.ops.higher_order.cond:  # of which torch counts the dearer branch
                raise UncountedOperator(str(func))
        elif func._overloadpacket not in self.counter.flop_registry and refused(func):
            if not func.has_kernel_for_dispatch_key(_COMPOSITE):  # else it is made of others, which come here in turn
                raise UncountedOperator(func.name())
        return super().__torch_dispatch__(func, types, args, kwargs)


class _Counter(FlopCounterMode):
    def __enter__(self):
        super().__enter__()
        self.mode.__exit__(None, None, None)
        self.mode = _Mode(self)
        self.mode.__enter__()
        return self


def _refuse(name):
    def call(*args, **kwargs):
        raise UncountedOperator(name)

    return call


@contextmanager
def _seen():
    """Bring into sight what shows no operator.

    ``flex_attention`` compiles itself, which no dispatch mode allows; its debug switch runs it as an operator. Calls that
    multiply inside are refused by name: a function mode would see them, but modules then leave their fast paths.
    """
    # private: a torch without it refuses flex_attention in its own words
    switch = "_FLEX_ATTENTION_DISABLE_COMPILE_DEBUG"
    changes = [(flex, switch, True)] if hasattr(flex, switch) else []
    changes += [(torch, name, _refuse(name)) for name in dir(torch) if HIDDEN.fullmatch(name)]
    before = [(place, name, getattr(place, name)) for place, name, _ in changes]
    try:
        for change in changes:
            setattr(*change)
        yield
    finally:
        for change in before:
            setattr(*change)


def flops(function):
    """Call ``function()`` and return ``(its result, FLOPs)``: two per multiply-add of matrix products and convolutions.

    Matrix times vector, sparse (what is stored), grouped, quantised, recurrent and attention products count alike; causal
    and block-sparse attention counts in full. Counts 0 for element-wise operations (an outer product is one: it
    multiplies and adds nothing), softmax, norms and embeddings. A product without a formula raises
    ``UncountedOperator``; a kernel that is launched without an operator, as Triton's are, is not seen. What a backward
    pass runs counts where ``backward`` is called.
    """
    out, by_op = flops_by_op(function)
    return out, sum(by_op.values())


def flops_by_op(function):
    """Call ``function()`` and return ``(its result, {name of the operator: FLOPs})``."""
    with _seen(), _Counter(display=False, custom_mapping=formulas()) as counter:
        out = function()
    return out, {str(op).removeprefix("aten."): n for op, n in counter.get_flop_counts().get("Global", {}).items()}
