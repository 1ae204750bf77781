"""The simulator of views decides as PyTorch does: same verdict, same strides, same copy or no copy."""

import pytest
import torch

from threeledgers import count
from threeledgers.simulate import access, views

CASES = list(count.random_views(5000, seed=11))


def test_verdict_and_strides():
    legal = 0
    for tensor, shape in CASES:
        told = views.view_stride(tensor.shape, tensor.stride(), shape)
        seen = count.view_or_none(tensor, shape)
        assert told == (None if seen is None else seen.stride()), (tensor.shape, tensor.stride(), shape)
        legal += seen is not None
    assert 0.55 < legal / len(CASES) < 0.8  # neither verdict is rare


def test_reshape_copies_when_pytorch_does():
    copied = 0
    for tensor, shape in CASES:
        strides, copies = views.reshape(tensor.shape, tensor.stride(), shape)
        with count.CopyCounter() as counter:
            result = tensor.reshape(shape)
        assert (strides, copies) == (result.stride(), not count.shares_storage(tensor, result)), (
            tensor.shape,
            tensor.stride(),
            shape,
        )
        assert copies == (counter.calls > 0)
        copied += copies
    assert copied > 1000


def test_contiguous_is_what_pytorch_calls_so():
    for tensor, _ in CASES:
        assert views.is_contiguous(tensor.shape, tensor.stride()) == tensor.is_contiguous()
        assert views.contiguous_stride(tensor.shape) == tensor.contiguous().stride() or tensor.is_contiguous()


def test_offsets_are_where_the_elements_lie():
    for tensor, _ in CASES[:500]:
        base = tensor.untyped_storage().data_ptr()
        places = views.offsets(tensor.shape, tensor.stride(), tensor.storage_offset())
        assert [base + 4 * p for p in places] == count.element_addresses(tensor)


@pytest.mark.parametrize(
    "shape, stride, new",
    [
        ((), (), (1, 1)),
        ((0, 3), (3, 1), (3, 0)),
        ((0, 3), (5, 1), (0, 3)),
        ((4, 1), (1, 7), (1, 4, 1)),
        ((1,), (9,), ()),
    ],
)
def test_corners(shape, stride, new):
    tensor = torch.empty(40).as_strided(shape, stride)
    assert views.view_stride(shape, stride, new) == tensor.view(new).stride()


def test_completed_shapes():
    assert views.complete_shape(6, (2, -1)) == (2, 3)
    for numel, shape in ((6, (4, -1)), (6, (-1, -1)), (6, (5,)), (0, (0, -1)), (6, (-2, 3))):
        with pytest.raises(ValueError):
            views.complete_shape(numel, shape)
        with pytest.raises(RuntimeError):
            torch.empty(numel).view(shape)


def test_wrong_rules_are_told_apart():
    """Two plausible rules: 'only contiguous tensors', and the merge rule that forgets dimensions of size 1."""
    rules = {"contiguous": 0, "size 1": 0}
    for tensor, shape in CASES:
        legal = count.view_or_none(tensor, shape) is not None
        rules["contiguous"] += tensor.is_contiguous() != legal
        kept = [(n, s) for n, s in zip(tensor.shape, tensor.stride(), strict=True)]
        merged = all(a[1] == b[1] * b[0] for a, b in zip(kept, kept[1:], strict=False))
        rules["size 1"] += merged != legal
    assert min(rules.values()) > 500


def test_sectors_and_banks_by_hand():
    assert access.touched_sectors(1, 4) == [0, 1, 2, 3]
    assert access.touched_sectors(1, 4, offset=1) == [0, 1, 2, 3, 4]
    assert access.touched_sectors(0, 4) == [0]
    assert [len(access.touched_sectors(s, 2)) for s in (1, 2, 4, 8, 16)] == [2, 4, 8, 16, 32]
    assert access.touched_sectors(3, 12, lanes=2) == [0, 1]  # 12 bytes at 0 and 36: no sector between is skipped
    assert [access.conflict_ways(s) for s in (0, 1, 2, 3, 4, 8, 16, 32, 33)] == [1, 1, 2, 1, 4, 8, 16, 32, 1]
