"""Widgets: small, self-contained, and the one JavaScript twin decides as Python and PyTorch do."""

import gzip
import random
import re

import pytest
import torch

from tests.node_module import run
from tests.pages import ROOT
from threeledgers import count, widget
from threeledgers.exercises.answers import browser_data
from threeledgers.simulate import access, views
from threeledgers.widgets import ROOM, UnknownWidget, module, names
from threeledgers.widgets.stride import SETTINGS

FILES = sorted(ROOM.glob("*.js"))
SIZES = (1, 2, 3, 4, 6, 8, 16, 32)
DTYPES = {1: torch.int8, 2: torch.bfloat16, 4: torch.float32, 8: torch.float64}


def state(rng):
    """Random settings of the stride widget."""
    dims = rng.randint(1, 3)
    shape = [rng.choice(SIZES[: 6 if dims == 3 else 8]) for _ in range(dims)]
    pick = {
        "shape": shape,
        "order": rng.sample(range(dims), dims),
        "step": rng.randint(1, 4),
        "expand": rng.random() < 0.3,
        "elem_bytes": rng.choice((1, 2, 4, 8)),
        "offset": rng.randint(0, 8),
    }
    numel = tensor_of(pick).numel()
    divisors = [n for n in range(1, numel + 1) if numel % n == 0]
    first = rng.choice(divisors)
    targets = [
        "-1",
        f"{first}, -1",
        f"-1, {first}",
        f"{numel}",
        f"({first}, {numel // first})",
        f"{first}, 1, {numel // first}",
    ]
    return pick | {"view": rng.choice([*targets, *targets, f"{numel + 1}", "-1, -1", "0, 3", "-2", "", "two", "1.5"])}


def tensor_of(s):
    """The tensor that the settings describe, made by PyTorch."""
    storage = torch.zeros(s["offset"] + torch.Size(s["shape"]).numel(), dtype=DTYPES[s["elem_bytes"]])
    x = storage[s["offset"] :].view(s["shape"]).permute(s["order"])[..., :: s["step"]]
    return x.expand([4 if n == 1 else n for n in x.shape]) if s["expand"] else x


def expected(s):
    """What the twin must say, from PyTorch and the simulators."""
    x = tensor_of(s)
    places = views.offsets(x.shape, x.stride(), x.storage_offset())[:32]
    base = x.untyped_storage().data_ptr()
    assert [base + p * s["elem_bytes"] for p in places[:3]] == count.element_addresses(x)[:3]
    with count.CopyCounter() as copies:
        x.contiguous()
    sectors = sorted({k for p in places for k in access.touched_sectors(0, s["elem_bytes"], offset=p, lanes=1)})
    parts = re.split(r"[\s,]+", re.sub(r"[()\[\]]", " ", s["view"]).strip())
    target = view = None
    if not all(re.fullmatch(r"-?\d+", part) for part in parts):
        why = "text"
    else:
        try:
            target = list(views.complete_shape(x.numel(), tuple(map(int, parts))))
            seen = count.view_or_none(x, target)
            view = None if seen is None else list(seen.stride())
            why = "stride" if seen is None else ""
        except ValueError:
            why = "size"
    return {
        "shape": list(x.shape),
        "stride": [0 if n != 1 and t == 0 else t for n, t in zip(x.shape, x.stride(), strict=True)],
        "numel": x.numel(),
        "contiguous": x.is_contiguous(),
        "places": places,
        "sectors": sectors,
        "moved": copies.moved,
        "why": why,
        "target": target,
        "view": view,
        "storage": s["offset"] + torch.Size(s["shape"]).numel(),
    }


STATES = [state(random.Random(seed)) for seed in range(5000)]


def test_the_twin_agrees_on_5000_random_states(tmp_path):
    told = run(module("stride"), "trace", [[s] for s in STATES], tmp_path)
    reasons = set()
    for s, t in zip(STATES, told, strict=True):
        assert t == expected(s), s
        reasons.add(t["why"])
    assert reasons == {"", "stride", "size", "text"}


@pytest.mark.parametrize(
    "right, wrong",
    [
        ("blocks[0] = [elements * shape[d], inner]", "blocks[0] = [elements + shape[d], inner]"),
        ("at += (rest % shape[d]) * stride[d]", "at -= (rest % shape[d]) * stride[d]"),
        ("shape[d] === 1 ||", ""),
        ("Math.floor(p * e / C.SECTOR)", "Math.floor(p / C.SECTOR)"),
    ],
)
def test_a_fault_in_the_twin_is_found(right, wrong, tmp_path):
    source = module("stride")
    assert right in source
    told = run(source.replace(right, wrong), "trace", [[s] for s in STATES[:500]], tmp_path)
    assert any(t != expected(s) for s, t in zip(STATES, told, strict=False))


def test_the_summary_says_what_the_trace_holds(tmp_path):
    summaries = run(module("stride") + "\nexport const two = 0;", "summary", [[SETTINGS, expected(SETTINGS)]], tmp_path)
    assert summaries == [
        "Shape (3, 2), strides (1, 3). view(6) raises: the strides do not merge; contiguous() moves 48 bytes. "
        "The first 6 elements touch 1 sector: 24 of 32 bytes are used."
    ]


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.name)
def test_a_widget_file_is_small_and_asks_for_nothing(path):
    text = path.read_text(encoding="utf8").replace("http://www.w3.org/2000/svg", "")  # the name of SVG, not an address
    assert len(text.splitlines()) <= 200
    assert not re.search(r"^\s*import\b|\bimport\(|\bfetch\(|XMLHttpRequest|https?:|//cdn", text, re.M)
    assert not re.search(r"\b(?:132|450|989|3\.35|4\.8)\b", text), "hardware numbers come from the specs"


def test_weight_of_host_kit_and_widgets():
    parts = [(ROOT / "assets/widget-host.js").read_text(), module("stride"), module("box", A=str(browser_data()))]
    assert len(gzip.compress("\n".join(parts).encode(), 6)) <= 15_000


def test_names_and_settings_are_checked():
    assert names() == ["attention", "autograd", "compare", "kv_cache", "stride"]
    with pytest.raises(
        UnknownWidget, match="no widget 'strides'; there are attention, autograd, compare, kv_cache, stride"
    ):
        widget("strides")
    with pytest.raises(TypeError, match="has no setting sizes; it has shape, order"):
        widget("stride", sizes=[2])
    assert widget("stride", shape=[1, 3]).view.settings == SETTINGS | {"shape": [1, 3]}


def test_text_where_no_widget_can_be_shown():
    shown = widget("stride")
    assert repr(shown.view) == "Widget stride" and "fp32  8  32  12.5 %" in repr(shown.table)
    assert shown.table._repr_html_().count("<tr>") == 11 and "<summary>" in shown.table._repr_html_()
