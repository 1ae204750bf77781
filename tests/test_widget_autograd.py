"""The bar that overflows: its script holds what the formulas say in Python, and the batch it names is the largest."""

import random
import re

import pytest

from tests.alone import alone, readable
from tests.keyboard import slide, tab_to
from tests.node_module import run, script, traces
from threeledgers.specs import gpu, model
from threeledgers.widgets import ROOM, widget
from threeledgers.widgets.autograd import CHOICES, ROWS, SETTINGS, constants, holders, table


def states(count):
    rng = random.Random(6)
    return [SETTINGS, *({n: rng.choice(v) for n, v in CHOICES.items()} for _ in range(count))]


def floor_of(held):
    return held["weights"] + held["gradients"] + held["optimizer"]


def course(s, held):
    """Bytes held at the marks of a step: each layer forward, the loss, each layer backward with what is computed again."""
    layers, floor = model(s["model"]).layers, floor_of(held)
    kept = held["layers"] // layers
    block = holders(s | {"checkpoint": "none"})["layers"] // layers
    again = {"none": 0, "selective": block - kept, "full": block}[s["checkpoint"]]
    full = floor + held["layers"] + held["head"]
    points = [[k, floor + k * kept] for k in range(layers + 1)]
    points += [[layers + 1, full], [layers + 1, full + held["passing"]], [layers + 2, floor + held["layers"]]]
    for done in range(layers):
        left = layers - done
        points += [[layers + 2 + done + 0.5, floor + left * kept + again]] if again else []
        points += [[layers + 3 + done, floor + (left - 1) * kept]]
    return points


def test_the_bar_is_the_formulas_in_python(tmp_path):
    for s, t in traces("autograd", states(300), tmp_path):
        want = holders(s)
        total, room = sum(want.values()), gpu(s["gpu"]).memory_bytes
        assert t["held"] == want and t["states"] == floor_of(want) and t["total"] == total, s
        assert t["capacity"] == room and t["fits"] is (total <= room) and t["over"] == max(0, total - room)
        assert t["course"] == course(s, want), s
        assert max(n for _, n in t["course"]) == total and t["course"][0][1] == t["course"][-1][1] == t["states"]


def test_the_batch_it_names_is_the_largest(tmp_path):
    seen = set()
    for s, t in traces("autograd", states(300), tmp_path):
        most, room = t["most"], t["capacity"]
        assert sum(holders(s | {"batch": most + 1}).values()) > room, s
        assert most == 0 or sum(holders(s | {"batch": most}).values()) <= room, s
        assert t["states"] <= room or most == 0
        seen.add(min(most, 2))
    assert seen == {0, 1, 2}


@pytest.mark.parametrize(
    "right, wrong",
    [
        ("layers: m.layers * kept", "layers: kept"),
        ('s.attention === "fused" ?', 's.attention !== "fused" ?'),
        ("Math.max(F.loss_backward_bytes(all), ", "Math.min(F.loss_backward_bytes(all), "),
        ("F.adam_8bit_bytes({params}) - F.sgd_bytes({params})", "F.adam_8bit_bytes({params})"),
    ],
)
def test_a_fault_in_the_script_is_found(right, wrong, tmp_path):
    assert script("autograd").count(right) == 1
    cases = states(40)
    told = run(script("autograd").replace(right, wrong), "trace", [[s] for s in cases], tmp_path)
    assert any(t["held"] != holders(s) for s, t in zip(cases, told, strict=True))


def test_a_setting_outside_its_list_is_refused_by_name(tmp_path):
    for name, bad, said in (
        ("seq", 5000, "seq is 5000: it must be one of 256, 512"),
        ("batch", 0, "batch is 0: it must be one of 1, 2, 4"),
        ("batch", "1", 'batch is "1": it must be one of'),
        ("model", "gpt3_175b", 'model is "gpt3_175b": it must be one of small, llama2_7b'),
        ("optimizer", None, "optimizer is null: it must be one of adam, adam8, sgd"),
    ):
        with pytest.raises(AssertionError, match=re.escape(said)):
            run(script("autograd"), "trace", [[SETTINGS | {name: bad}]], tmp_path)


def test_shapes_and_capacities_come_from_the_specs():
    assert not re.search(r"\b\d{4,}\b", (ROOM / "autograd.js").read_text(encoding="utf8"))
    told = constants()
    assert told["GPUS"]["h200_sxm"] == {"name": gpu("h200_sxm").name, "bytes": gpu("h200_sxm").memory_bytes}
    assert told["MODELS"]["llama3_8b"]["vocab"] == model("llama3_8b").vocab
    assert list(told["MODELS"]) == list(CHOICES["model"]) and list(told["GPUS"]) == list(CHOICES["gpu"])
    assert set(CHOICES) == set(SETTINGS) and all(SETTINGS[n] in CHOICES[n] for n in CHOICES)


def test_both_things_to_try_say_what_the_page_says(tmp_path):
    fit = SETTINGS | {"seq": 256, "optimizer": "adam8"}
    long = SETTINGS | {"model": "llama3_8b", "optimizer": "adam8", "seq": 32768}
    cases = [SETTINGS, SETTINGS | {"seq": 256}, fit, long | {"seq": 4096}, long, long | {"attention": "eager"}]
    first, short, fits, small, fused, eager = (t for _, t in traces("autograd", cases, tmp_path))
    assert not first["fits"] and not short["fits"] and fits["fits"] and fits["most"] > 1
    assert first["states"] > first["capacity"]
    assert short["held"]["optimizer"] > short["capacity"]
    for optimizer in ("adam8", "sgd"):
        ((_, smaller),) = traces("autograd", [SETTINGS | {"optimizer": optimizer}], tmp_path)
        assert smaller["fits"] and smaller["most"] >= 1
    assert fused["held"]["layers"] == 8 * small["held"]["layers"]
    eager_small = holders(SETTINGS | {"model": "llama3_8b", "attention": "eager"})["layers"]
    scores = eager["held"]["layers"] - fused["held"]["layers"], eager_small - small["held"]["layers"]
    assert scores[0] / scores[1] == pytest.approx(64, rel=0.01)


def test_the_table_holds_what_the_script_says(tmp_path):
    assert "Llama 2 7B  4,096  fused  none  107.8 GB  26.2 GB  134.0 GB  no" in repr(table())
    assert table().head[-1] == "fits 80 GB"
    cases = [SETTINGS | dict(zip(("model", "seq", "attention", "checkpoint"), row, strict=True)) for row in ROWS]
    for row, (s, t) in zip(table().rows, traces("autograd", cases, tmp_path), strict=True):
        numbers = (t["states"], t["total"] - t["states"], t["total"])
        assert row[:4] == (model(s["model"]).name, f"{s['seq']:,}", s["attention"], s["checkpoint"])
        assert row[4:] == (*(f"{n / 1e9:,.1f} GB" for n in numbers), "yes" if t["fits"] else "no")


def test_the_summary(tmp_path):
    near = SETTINGS | {"optimizer": "adam8"}
    told = run(
        script("autograd"), "summary", [[s, t] for s, t in traces("autograd", [SETTINGS, near], tmp_path)], tmp_path
    )
    assert told == [
        "134 GB at the peak is 54.0 GB more than the 80.0 GB of NVIDIA H100 SXM: states 108 GB, saved tensors 26.2 GB. "
        "The largest part: optimizer states, 80.9 GB. Not even the states fit.",
        "66.6 GB at the peak fits into the 80.0 GB of NVIDIA H100 SXM: states 40.4 GB, saved tensors 26.2 GB. "
        "The largest part: saved by the layers, 24.4 GB. At most 1 sequence of this length would fit.",
    ]
    assert repr(widget("autograd").view) == "Widget autograd"


@pytest.mark.site
@pytest.mark.parametrize("width, scheme", [(1280, "light"), (390, "dark")])
def test_texts_of_the_pictures_are_readable_at_any_setting(visit, tmp_path, width, scheme):
    cases = [
        {},
        {"model": "small", "gpu": "t4", "batch": 8, "seq": 1024},
        {"model": "llama2_70b", "gpu": "t4"},
        {"model": "llama2_70b", "batch": 64, "seq": 32768, "attention": "eager"},
        {"gpu": "b200_sxm", "checkpoint": "full", "batch": 4, "seq": 8192},
        {"optimizer": "sgd", "seq": 256},
        {"optimizer": "adam8"},
    ]
    readable(visit, "autograd", [*cases, *({n: s[n] for n in s} for s in states(12)[1:])], tmp_path, width, scheme)


@pytest.mark.site
def test_both_things_to_try_by_keyboard_alone(visit, tmp_path):
    opened = visit(alone("autograd", {}, "light", tmp_path), "file://")
    page, live = opened.page, opened.page.get_by_role("status")

    def down(label, steps=1):
        tab_to(page, label)
        for _ in range(steps):
            page.keyboard.press("ArrowDown")

    assert "Not even the states fit." in live.inner_text()
    down("optimizer")
    assert live.inner_text().startswith("66.6 GB at the peak fits into the 80.0 GB")
    down("optimizer")
    assert live.inner_text().startswith("53.1 GB at the peak fits into the 80.0 GB")
    down("model")
    rows = page.locator("li", has_text="saved by the layers")
    told = []
    for steps in (4, 7):
        slide(page, "tokens in a sequence", steps)
        down("attention")
        told.append(rows.inner_text())
        tab_to(page, "attention")
        page.keyboard.press("ArrowUp")
        told.append(rows.inner_text())
    assert told == [f"saved by the layers: {n} GB" for n in ("62.8", "27.9", "2,457", "223")]
    assert opened.clean(), opened.complaints()


@pytest.mark.site
def test_a_bad_setting_is_said_in_place_of_the_widget(visit, tmp_path):
    page = visit(alone("autograd", {"seq": 5000}, "light", tmp_path), "file://").page
    said = page.get_by_role("alert").inner_text()
    assert "This widget could not start (seq is 5000: it must be one of 256, 512, 1024" in said
