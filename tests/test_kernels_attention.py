"""The four ways to attention agree; a backend is the one that was asked for; Triton is touched only where it is."""

import os
import subprocess
import sys
from importlib.util import find_spec

import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention

from tests.pages import ROOT
from threeledgers.kernels import attention as kernels

SHAPES = [(2, 3, 37, 16), (1, 1, 5, 8), (1, 2, 64, 32)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("rows, cols", [(16, 8), (5, 7), (100, 100), (1, 1)])
@pytest.mark.parametrize("causal", [False, True])
def test_tiled_is_pytorchs_attention(shape, rows, cols, causal):
    q, k, v = 3 * torch.randn(3, *shape, dtype=torch.float64)
    out, lse = kernels.tiled_attention(q, k, v, rows, cols, causal=causal)
    want = scaled_dot_product_attention(q, k, v, is_causal=causal)
    assert (out - want).abs().max() < 1e-12
    scores = q @ k.mT * shape[-1] ** -0.5
    if causal:
        scores = scores.masked_fill(torch.ones(shape[2], shape[2]).triu(1).bool(), float("-inf"))
    assert (lse - scores.logsumexp(-1)).abs().max() < 1e-12


def test_naive_and_each_backend_agree():
    q, k, v = torch.randn(3, 1, 2, 40, 64, dtype=torch.float64)
    want = kernels.naive_attention(q, k, v)
    found = kernels.usable_backends("cpu", torch.float64)
    assert "MATH" in found and "FLASH_ATTENTION" in found
    for backend in found:
        assert (kernels.sdpa(q, k, v, backend) - want).abs().max() < 1e-12


def test_a_backend_that_cannot_run_is_refused_and_not_replaced():
    q = torch.zeros(1, 1, 8, 64)
    with pytest.raises(RuntimeError, match="No available kernel|No viable backend"):
        kernels.sdpa(q, q, q, "CUDNN_ATTENTION")
    assert "CUDNN_ATTENTION" not in kernels.usable_backends("cpu", torch.float32)


def test_gradients_are_those_of_pytorch():
    q, k, v = (torch.randn(1, 2, 12, 8, dtype=torch.float64, requires_grad=True) for _ in range(3))
    grad = torch.randn(1, 2, 12, 8, dtype=torch.float64)
    want = torch.autograd.grad(scaled_dot_product_attention(q, k, v), (q, k, v), grad)
    out = kernels.naive_attention(q, k, v)
    for _ in range(2):  # the graph can be walked again
        for a, b in zip(kernels.backward(out, (q, k, v), grad), want, strict=True):
            torch.testing.assert_close(a, b)


def test_triton_is_not_imported_where_it_is_absent(monkeypatch):
    program = (
        "import sys; sys.modules['triton'] = None\n"  # an import of it raises
        "import torch; from threeledgers.kernels import attention as k\n"
        "k.find_spec = lambda name: None\n"
        "assert k.triton_attention() is None and k.usable_backends('cpu', torch.float32)"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(find_spec("triton") is None, reason="the optional extra triton is not installed")
def test_the_triton_kernel_in_its_interpreter():
    program = (
        "import torch; from threeledgers.kernels.attention import triton_attention\n"
        "attention = triton_attention()\n"
        "for shape, dtype, error in (((1, 2, 100, 32), torch.float32, 1e-5), ((1, 1, 64, 64), torch.float16, 2e-3)):\n"
        "    q, k, v = torch.randn(3, *shape, dtype=dtype)\n"
        "    out, lse = attention(q, k, v, 32, 16)\n"
        "    scores = q.double() @ k.double().mT * shape[-1] ** -0.5\n"
        "    assert (out - scores.softmax(-1) @ v.double()).abs().max() < error\n"
        "    assert (lse - scores.logsumexp(-1)).abs().max() < error\n"
        "for bad in (dict(rows=24), dict(cols=8)):\n"
        "    try: attention(q, k, v, **bad)\n"
        "    except ValueError as e: assert 'must be a power of 2' in str(e)\n"
        "    else: raise AssertionError(bad)\n"
    )
    environment = os.environ | {"TRITON_INTERPRET": "1"}
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
