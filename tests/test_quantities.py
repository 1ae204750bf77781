"""Numbers in prose: evaluated, scaled, typeset; what cannot be is named."""

import pytest

from _ext.quantities import Quantity, QuantityError, render
from threeledgers import specs


@pytest.mark.parametrize(
    "text, shown",
    [
        ("h200_sxm.memory_bandwidth | TB/s .1f", "4.8 TB/s"),
        ("h200_sxm.bf16_flops | TFLOP/s .1f", "989.4 TFLOP/s"),
        ("h100_sxm.link_bandwidth | GB/s", "450 GB/s"),
        ("llama2_7b.params", "6,738,415,616"),
        ("t4.memory_bytes | GiB .2f", "14.90 GiB"),
        ("t4.clock_hz | GHz .2f", "1.59 GHz"),
        ("link.ndr_nic_bandwidth | GB/s", "50 GB/s"),
        ("link.nvlink_64b | µs .2f", "3.33 µs"),
        ("gpu.l2_hit", "200 cycles"),
        ("gpu.register_read", "1 cycle"),
        ("cpu.dram_load | ns", "100 ns"),
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


def role(text):
    """The one node that the role makes of a text."""
    quantity = Quantity()
    quantity.text, quantity.rawtext = text, f"{{quantity}}`{text}`"
    (node,), messages = quantity.run()
    assert not messages
    return node


def test_an_unverified_number_says_so_beside_it_and_why_in_the_tooltip():
    node = role("l4.sms")
    assert node.astext().replace("\u00a0", " ") == "58 (unverified)"
    assert (
        node["title"].startswith("NVIDIA L4: fpsbench.com") and "l4.sms is unverified: tables disagree" in node["title"]
    )
    assert "tl-unverified" in node.children[-1]["classes"]
    assert "seen only second-hand, or announced" in role("rubin_sxm.memory_bytes | GB")["title"]
    assert role("t4.sms").astext() == "40" and "unverified" not in role("t4.sms")["title"]


def test_what_is_made_from_an_unverified_number_is_unverified():
    node = role("ridge_intensity(peak=h100_sxm.bf16_flops, bandwidth=2 * link.nvlink4_pairwise_bandwidth) | .0f")
    assert node.astext().endswith("(unverified)") and "link.nvlink4_pairwise_bandwidth is unverified" in node["title"]
    assert not role("ridge_intensity(peak=t4.fp16_flops, bandwidth=t4.memory_bandwidth) | .0f").astext().endswith(")")


def test_a_name_of_two_kinds_is_refused(monkeypatch):
    known = specs.ids
    monkeypatch.setattr(specs, "ids", lambda kind: [*known(kind), "t4"] if kind == "model" else known(kind))
    with pytest.raises(QuantityError, match="'t4' is ambiguous: a gpu and a model have this name"):
        render("t4.sms")


@pytest.mark.parametrize(
    "text, words",
    [
        ("h10_sxm.sms", "no spec 'h10_sxm'; did you mean h100_sxm? there are a100_pcie, a100_sxm_40"),
        ("xyz.sms", "no spec 'xyz'; there are a100_pcie"),
        ("t4.source", "source is not a field of any gpu"),
        ("t4.memory_byte", "did you mean memory_bytes? it has"),
        ("t4.sms.sms", "is not spec.field"),
        ("t4.bf16_flops", "t4 has no bf16_flops; it has fp16_flops"),
        ("t4.colour", "colour is not a field of any gpu"),
        ("adam(x=1)", "no formula 'adam'; there are "),
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
