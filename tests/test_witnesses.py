"""Each formula against something that is not itself: a published figure, PyTorch, or a simulator that walks lane by lane.

Every witness is then shown a wrong formula (twice the value, one more, a condition turned round) and must reject it.
"""

import itertools
import math
import random

import pytest
import torch

from threeledgers import count, gpu
from threeledgers.formula import REGISTRY
from threeledgers.formulas import (
    bank_ways,
    contiguous_stride,
    copy_traffic,
    element_address,
    memory_bandwidth,
    ridge_intensity,
    sector_efficiency,
    stream_time,
    strided_copy_share,
    tensor_peak,
    vector_peak,
    view_mergeable,
    warp_sectors,
)
from threeledgers.simulate import access


def close(value, published, tolerance):
    assert math.isclose(value, published, rel_tol=tolerance), f"{value} is not within {tolerance:.1%} of {published}"


def tensor_peak_witness():
    close(tensor_peak(tensor_cores=528, fma_per_clock=512, clock=1_830_000_000), gpu("h100_sxm").bf16_flops, 0.001)
    close(tensor_peak(tensor_cores=432, fma_per_clock=256, clock=1_410_000_000), gpu("a100_sxm_80").bf16_flops, 0.001)
    close(tensor_peak(tensor_cores=320, fma_per_clock=64, clock=1_590_000_000), gpu("t4").fp16_flops, 0.001)
    close(
        tensor_peak(tensor_cores=1216, fma_per_clock=256, clock=2_100_000_000), 1307.4e12, 0.001
    )  # MI300X, AMD's figure


def vector_peak_witness():
    close(vector_peak(fp32_lanes=64, sms=40, clock=1_590_000_000), gpu("t4").fp32_flops, 0.006)
    close(vector_peak(fp32_lanes=64, sms=108, clock=1_410_000_000), gpu("a100_sxm_80").fp32_flops, 0.005)
    close(vector_peak(fp32_lanes=128, sms=132, clock=1_980_000_000), gpu("h100_sxm").fp32_flops, 0.005)


def memory_bandwidth_witness():
    close(memory_bandwidth(bus_bits=7680, memory_clock=3_996_000_000), gpu("b200_sxm").memory_bandwidth, 0.001)
    close(memory_bandwidth(bus_bits=5120, memory_clock=1_593_000_000), gpu("a100_sxm_80").memory_bandwidth, 0.001)


def ridge_intensity_witness():
    h100 = gpu("h100_sxm")
    close(
        ridge_intensity(peak=h100.bf16_flops, bandwidth=h100.memory_bandwidth), 298, 0.01
    )  # Austin et al. 2025, rooflines
    close(ridge_intensity(peak=3.94e14, bandwidth=8.1e11), 486, 0.002)  # the same, TPU v5e int8


def stream_time_witness():
    close(
        stream_time(traffic=2 * 200 * 10**9, devices=32, bandwidth=1.23e12), 0.01, 0.02
    )  # Austin et al. 2025, TPUs, Q1
    assert stream_time(traffic=12, devices=3, bandwidth=4) == 1


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


WITNESSES = {
    name.removesuffix("_witness"): function for name, function in list(globals().items()) if name.endswith("_witness")
}


def test_every_formula_has_a_witness():
    assert set(WITNESSES) == set(REGISTRY)


@pytest.mark.parametrize("name", sorted(WITNESSES))
def test_witness(name):
    WITNESSES[name]()


@pytest.mark.parametrize("name", sorted(WITNESSES))
def test_witness_rejects_a_wrong_formula(name, monkeypatch):
    made = REGISTRY[name]
    right = made._body
    turns = [lambda v: not v] if made.unit == "bool" else [lambda v: 2 * v, lambda v: v / 2, lambda v: v * 1.02 + 1]
    for turn in turns:
        monkeypatch.setattr(made, "_body", lambda *, turn=turn, **values: turn(right(**values)))
        with pytest.raises(AssertionError):
            WITNESSES[name]()
