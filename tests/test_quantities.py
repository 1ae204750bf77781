"""Numbers in prose: evaluated, scaled, typeset; what cannot be is named."""

import pytest

from _ext.quantities import QuantityError, render


@pytest.mark.parametrize(
    "text, shown",
    [
        ("h200_sxm.memory_bandwidth | TB/s .1f", "4.8 TB/s"),
        ("h200_sxm.bf16_flops | TFLOP/s .1f", "989.4 TFLOP/s"),
        ("h100_sxm.link_bandwidth | GB/s", "450 GB/s"),
        ("llama2_7b.params", "6,738,415,616"),
        ("t4.memory_bytes | GiB .2f", "14.90 GiB"),
        ("t4.clock_hz | GHz .2f", "1.59 GHz"),
        ("copy_traffic(numel=8*4096**2, elem_bytes=2) | MB .0f", "537 MB"),
        ("copy_traffic(numel=6, elem_bytes=4)", "48 B"),
        ("contiguous_stride(inner_sizes=[3, 4])", "12"),
        ("view_mergeable(stride=1, inner_stride=3, inner_size=2)", "no"),
        ("sector_efficiency(elem_bytes=4, sectors=32) | % .1f", "12.5 %"),
        ("ridge_intensity(peak=h100_sxm.bf16_flops, bandwidth=h100_sxm.memory_bandwidth) | .0f", "295 FLOP/B"),
        ("stream_time(traffic=copy_traffic(numel=10**6, elem_bytes=1), devices=1, bandwidth=2e9) | ms", "1 ms"),
    ],
)
def test_shown(text, shown):
    assert render(text)[0].replace("\u00a0", " ") == shown


def test_the_source_goes_with_the_number():
    assert render("t4.tdp_watts")[1] == "NVIDIA T4: NVIDIA T4 product page"
    assert "read once, write once" in render("copy_traffic(numel=1, elem_bytes=1)")[1]


@pytest.mark.parametrize(
    "text, words",
    [
        ("h300.sms", "no GPU or model 'h300'; there are a100_sxm_80"),
        ("t4.bf16_flops", "t4 has no bf16_flops; it has fp16_flops"),
        ("t4.colour", "colour is not a field of any gpu"),
        ("adam(x=1)", "no formula 'adam'; there are bank_ways"),
        ("copy_traffic(numel=1)", "missing elem_bytes"),
        ("copy_traffic(1, 2)", "keywords only: numel, elem_bytes"),
        ("copy_traffic(numel=1, elem_bytes=x)", "'x' is not a number"),
        ("copy_traffic(numel=1, elem_bytes=1/0)", "division by zero"),
        ("t4.sms | GB", "'GB' is not a multiple of '1'"),
        ("t4.memory_bytes | GB/s", "not a multiple of 'B'"),
        ("t4.memory_bytes | GB .zz", "not a number format"),
        ("t4.memory_bytes | GB .1f more", "after | come a unit and a format"),
        ("4.8", "a {literal}"),
        ("t4.memory_bytes +", "neither spec.field nor formula"),
        ("__import__('os').getcwd()", "no formula"),
    ],
)
def test_named(text, words):
    with pytest.raises(QuantityError) as error:
        render(text)
    assert words in str(error.value)
