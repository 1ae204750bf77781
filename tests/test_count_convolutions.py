"""FLOPs of convolutions, forward and backward: worked out by hand, and counted in loops whose values torch confirms."""

from itertools import product

import pytest
import torch
import torch.nn.functional as F

from threeledgers import count

CALLS = {
    (False, 1): F.conv1d,
    (False, 2): F.conv2d,
    (False, 3): F.conv3d,
    (True, 1): F.conv_transpose1d,
    (True, 2): F.conv_transpose2d,
    (True, 3): F.conv_transpose3d,
}
TINY = {  # channels in and out, groups, sizes, kernel, stride, padding, dilation
    "1d": (2, 3, 1, (5,), (2,), 1, 0, 1),
    "1d, strided, padded": (4, 6, 2, (7,), (3,), 2, 1, 1),
    "1d, dilated": (3, 6, 3, (7,), (3,), 1, 1, 2),
    "2d": (2, 4, 1, (4, 3), (2, 3), 1, 1, 1),
    "2d, three groups": (6, 3, 3, (4, 5), (3, 2), 2, 1, 1),
    "2d, depthwise": (4, 4, 4, (4, 4), (3, 3), 1, 1, 1),
    "2d, depthwise, two each": (3, 6, 3, (4, 4), (2, 2), 1, 0, 1),
    "3d": (2, 2, 1, (3, 3, 2), (2, 2, 2), 1, 0, 1),
    "3d, grouped": (4, 2, 2, (3, 2, 3), (2, 1, 2), 1, 0, 1),
}


def step(call, x, w, b=None, **settings):
    """Output, forward FLOPs and backward FLOPs of one convolution."""
    out, forward = count.flops(lambda: call(x, w, b, **settings))
    return out, forward, count.flops(lambda: out.sum().backward())[1]


def looped(x, w, out, transposed, groups, stride, padding, dilation):
    """A convolution one product at a time: (output, gradient of x, of w, when that of the output is 1), multiply-adds.

    Here "grid" is the side whose points each meet the whole kernel, and "sheet" the side that is padded; a transposed
    convolution has them the other way round. A product with the padding is one too.
    """
    grid, sheet = (x, out) if transposed else (out, x)
    padded = [n + 2 * padding for n in sheet.shape[2:]]
    wide = torch.zeros(*sheet.shape[:2], *padded, dtype=x.dtype)
    inner = (slice(None), slice(None), *(slice(padding, padding + n) for n in sheet.shape[2:]))
    if not transposed:
        wide[inner] = x
    result, wide_grad = torch.zeros_like(out), torch.zeros_like(wide)
    x_grad, w_grad, adds = torch.zeros_like(x), torch.zeros_like(w), 0
    per_grid, per_sheet = grid.shape[1] // groups, sheet.shape[1] // groups
    for n, c, *at in product(*map(range, grid.shape)):
        for i, *tap in product(range(per_sheet), *map(range, w.shape[2:])):
            # the place that this tap touches on the padded sheet
            there = (
                n,
                c // per_grid * per_sheet + i,
                *(a * stride + t * dilation for a, t in zip(at, tap, strict=True)),
            )
            weight, here = (c, i, *tap), (n, c, *at)
            kept = all(padding <= p < padding + s for p, s in zip(there[2:], sheet.shape[2:], strict=True))
            adds += 1
            if transposed:
                wide[there] += x[here] * w[weight]
                x_grad[here] += kept * w[weight]
                w_grad[weight] += kept * x[here]
            else:
                result[here] += wide[there] * w[weight]
                wide_grad[there] += w[weight]
                w_grad[weight] += wide[there]
    return (wide[inner] if transposed else result), (x_grad if transposed else wide_grad[inner]), w_grad, adds


@pytest.mark.parametrize("transposed", [False, True], ids=["plain", "transposed"])
@pytest.mark.parametrize("case", TINY)
def test_flops_are_those_of_a_loop_that_computes_the_same(case, transposed):
    came, went, groups, sizes, kernel, stride, padding, dilation = TINY[case]
    torch.manual_seed(0)
    x = torch.randn(2, came, *sizes, dtype=torch.float64, requires_grad=True)
    shape = (came, went // groups, *kernel) if transposed else (went, came // groups, *kernel)
    w = torch.randn(*shape, dtype=torch.float64, requires_grad=True)
    b = torch.zeros(went, dtype=torch.float64, requires_grad=True)
    settings = {"groups": groups, "stride": stride, "padding": padding, "dilation": dilation}
    out, forward, backward = step(CALLS[transposed, len(sizes)], x, w, b, **settings)
    value, x_grad, w_grad, adds = looped(x.detach(), w.detach(), out.detach(), transposed, **settings)
    torch.testing.assert_close(value, out.detach())
    torch.testing.assert_close(x_grad, x.grad)
    torch.testing.assert_close(w_grad, w.grad)
    assert (forward, backward) == (2 * adds, 2 * 2 * adds)


@pytest.mark.parametrize("place", [None, count.meta, count.fake])
def test_flops_worked_out_by_hand(place):
    def all_of_them():
        x, out = torch.ones(2, 6, 8, 8, requires_grad=True), 2 * 12 * 6 * 6
        w = torch.ones(12, 2, 3, 3, requires_grad=True)  # three groups, of two channels each
        assert step(F.conv2d, x, w, groups=3)[1:] == (2 * out * 2 * 9, 2 * 2 * out * 2 * 9) == (31_104, 62_208)
        one, wide = torch.ones(1, 6, 8, 8, requires_grad=True), torch.ones(18, 2, 3, 3, requires_grad=True)
        assert step(F.conv2d, one, wide, groups=3)[2] == 2 * 2 * (18 * 6 * 6) * 2 * 9 == 46_656  # torch says twice that
        depthwise = torch.ones(6, 1, 3, 3, requires_grad=True)
        once = 2 * (2 * 6 * 8 * 8) * 9
        assert step(F.conv2d, x, depthwise, padding=1, groups=6)[1:] == (once, 2 * once) == (13_824, 27_648)
        up = torch.ones(6, 4, 2, 2, requires_grad=True)  # transposed: each of the input's values meets w[0]
        once = 2 * (2 * 6 * 8 * 8) * 4 * 4
        assert step(F.conv_transpose2d, x, up, stride=2, groups=3)[1:] == (once, 2 * once) == (24_576, 49_152)
        assert step(F.conv_transpose2d, x, up, stride=2, groups=3, output_padding=1)[1:] == (once, 2 * once)

    if place is None:
        all_of_them()
    else:
        with place():
            all_of_them()


@pytest.mark.parametrize("transposed", [False, True], ids=["plain", "transposed"])
def test_only_the_gradients_asked_for_are_counted(transposed):
    once = 2 * (2 * 6 * 7) * 2 * 3 if transposed else 2 * (2 * 6 * 5) * 2 * 3  # (2, 6, 7), a kernel of 3, three groups
    for of_x, of_w, of_b in product([False, True], repeat=3):
        if of_x or of_w or of_b:
            x, w = torch.ones(2, 6, 7, requires_grad=of_x), torch.ones(6, 2, 3, requires_grad=of_w)
            b = torch.ones(6, requires_grad=of_b)
            assert step(CALLS[transposed, 1], x, w, b, groups=3)[1:] == (once, (of_x + of_w) * once)
