"""Addresses, copies, sectors and banks: equal to PyTorch, and to a walk lane by lane."""

import itertools
import random

import torch

from tests.witnesses import close
from threeledgers import count
from threeledgers.formulas import (
    bank_ways,
    contiguous_stride,
    copy_traffic,
    element_address,
    sector_efficiency,
    strided_copy_share,
    view_mergeable,
    warp_sectors,
)
from threeledgers.simulate import access


def element_address_witness():
    for tensor, _ in itertools.islice(count.random_views(200, seed=1), 200):
        fixed = dict(
            base=tensor.untyped_storage().data_ptr(),
            elem_bytes=4,
            offset=tensor.storage_offset(),
            strides=tensor.stride(),
        )
        for index in itertools.product(*map(range, tensor.shape)):
            assert element_address(index=index, **fixed) == tensor[index].data_ptr()


def contiguous_stride_witness():
    rng = random.Random(2)
    for _ in range(200):
        shape = [rng.randint(1, 9) for _ in range(rng.randint(1, 5))]
        assert [contiguous_stride(inner_sizes=shape[i + 1 :]) for i in range(len(shape))] == list(
            torch.empty(shape).stride()
        )


def view_mergeable_witness():
    seen = set()
    for outer, inner, s, t in itertools.product((2, 3), (2, 3, 4), range(1, 9), range(1, 4)):
        tensor = torch.empty(100).as_strided((outer, inner), (s, t))
        verdict = count.view_or_none(tensor, -1) is not None
        assert view_mergeable(stride=s, inner_stride=t, inner_size=inner) is verdict
        seen.add(verdict)
    assert seen == {True, False}


def copy_traffic_witness():
    for dtype in (torch.uint8, torch.bfloat16, torch.float32, torch.float64):
        tensor = torch.zeros(3, 5, 7, dtype=dtype).permute(2, 0, 1)
        with count.CopyCounter() as copies:
            tensor.contiguous()
        assert copies.moved == copy_traffic(numel=tensor.numel(), elem_bytes=tensor.element_size())


def warp_sectors_witness():
    for s, e, o in itertools.product(range(70), (1, 2, 4, 8, 16, 32), range(0, 40, 3)):
        assert warp_sectors(offset=o, elem_bytes=e, lane_stride=s) == len(access.touched_sectors(s, e, o))
    assert [warp_sectors(offset=0, elem_bytes=4, lane_stride=s) for s in (1, 2, 4, 8, 16)] == [
        4,
        8,
        16,
        32,
        32,
    ]  # NVIDIA's guide


def sector_efficiency_witness():
    for s, e in itertools.product(range(1, 40), (1, 2, 4, 8)):
        sectors = access.touched_sectors(s, e)
        asked = len({b + k for b in access.lane_bytes(s, e) for k in range(e)})
        assert sector_efficiency(elem_bytes=e, sectors=len(sectors)) == asked / (32 * len(sectors))


def strided_copy_share_witness():
    for s, e in itertools.product(range(1, 40), (1, 2, 4, 8)):
        read, written = 32 * len(access.touched_sectors(s, e)), 32 * len(access.touched_sectors(1, e))
        asked = 2 * 32 * e
        told = strided_copy_share(elem_bytes=e, sectors=len(access.touched_sectors(s, e)))
        close(told, asked / (read + written), 1e-12)


def bank_ways_witness():
    for s in range(1, 130):
        assert bank_ways(lane_stride=s) == access.conflict_ways(s)
