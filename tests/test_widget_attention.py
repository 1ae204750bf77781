"""The tile animator: its walk is the simulator's, step by step; its bars are the formulas; it says and shows both."""

import random
import re

import pytest

from tests.alone import alone, readable
from tests.keyboard import slide, tab_to
from tests.node_module import run, script, traces
from tests.pages import ROOT
from threeledgers import formulas as f
from threeledgers.simulate.attention import naive_walk, tiled_walk
from threeledgers.specs import gpu
from threeledgers.widgets import widget
from threeledgers.widgets.attention import CHOICES, ROWS, SETTINGS, table


def states(count):
    rng = random.Random(8)
    small = {"seq": CHOICES["seq"][:4]}
    return [SETTINGS, *({n: rng.choice(small.get(n, v)) for n, v in CHOICES.items()} for _ in range(count))]


def walk(s):
    sizes = s["seq"], s["head_dim"], s["rows"]
    return tiled_walk(*sizes, s["cols"]) if s["way"] == "tiled" else naive_walk(*sizes)


def test_the_walk_is_the_simulators(tmp_path):
    for s, t in traces("attention", states(200), tmp_path):
        steps = walk(s)
        done = -(-len(steps) * s["done"] // 100)
        assert (t["steps"], t["done"]) == (len(steps), done), s
        assert t["read"] == 2 * sum(step.read for step in steps[:done]), s
        assert t["written"] == 2 * sum(step.written for step in steps[:done]), s
        if done:
            last = steps[done - 1]
            assert t["last"][:2] == [last.row, last.col]
            assert s["way"] == "tiled" or ["scores", "softmax", "output"][t["last"][2]] == last.what
        else:
            assert t["last"] is None


def test_the_whole_walk_is_the_formula(tmp_path):
    for s, t in traces("attention", [s | {"done": 100} for s in states(60)], tmp_path):
        assert t["read"] + t["written"] == t[s["way"]], s
        one = dict(elem_bytes=2, seq=s["seq"], head_dim=s["head_dim"])
        assert t["naive"] == f.naive_attention_traffic(**one)
        assert t["tiled"] == f.flash_attention_traffic(**one, tile_rows=s["rows"])
        tile = dict(head_dim=s["head_dim"], tile_rows=s["rows"], tile_cols=s["cols"])
        assert t["shared"] == f.tile_shared_bytes(**tile, elem_bytes=2)
        assert t["registers"] == f.tile_register_bytes(**tile)
        card = gpu(s["gpu"])
        fits = t["shared"] <= card.shared_bytes_per_sm and t["registers"] <= card.registers_bytes_per_sm
        assert t["fits"] is fits


@pytest.mark.parametrize(
    "right, wrong",
    [
        ("2 * wide(j) * d +", "wide(j) * d +"),
        ("(j ? 0 : high(i) * d)", "high(i) * d"),
        ("high(i) * (d + 1) : 0", "high(i) * d : 0"),
        ("[r * n, r * n]", "[r * n, 0]"),
    ],
)
def test_a_fault_in_the_walk_is_found(right, wrong, tmp_path):
    assert script("attention").count(right) == 1
    cases = states(40)
    told = run(script("attention").replace(right, wrong), "trace", [[s] for s in cases], tmp_path)
    want = [
        2 * sum(step.read + step.written for step in walk(s)[: t["done"]]) for s, t in zip(cases, told, strict=True)
    ]
    assert [t["read"] + t["written"] for t in told] != want


def test_a_setting_outside_its_list_is_refused_by_name(tmp_path):
    for name, bad, said in (
        ("rows", 48, "rows is 48: it must be one of 16, 32, 64"),
        ("way", "flash", 'way is "flash": it must be one of naive, tiled'),
        ("done", 101, "done is 101: it must be one of 0, 1"),
    ):
        with pytest.raises(AssertionError, match=re.escape(said)):
            run(script("attention"), "trace", [[SETTINGS | {name: bad}]], tmp_path)
    assert set(CHOICES) == set(SETTINGS) and all(SETTINGS[n] in CHOICES[n] for n in CHOICES)
    text = (ROOT / "threeledgers/widgets/attention.js").read_text(encoding="utf8")
    assert not re.search(r"\b\d{5,}\b", text), "hardware numbers come from the specs"


def test_both_things_to_try_say_what_the_page_says(tmp_path):
    cases = [SETTINGS, SETTINGS | {"rows": 128}, SETTINGS | {"rows": 128, "head_dim": 64}, SETTINGS | {"rows": 256}]
    first, high, slim, large = (t for _, t in traces("attention", cases, tmp_path))
    ratios = [t["naive"] / t["tiled"] for t in (first, high, slim)]
    assert [f"{r:.2f}" for r in ratios] == ["1.02", "2.00", "3.94"]
    assert first["fits"] and high["fits"]
    assert large["naive"] / large["tiled"] > 3.8
    both = [SETTINGS | {"rows": 256, "cols": 256, "gpu": id} for id in CHOICES["gpu"]]
    assert not any(t["fits"] for _, t in traces("attention", both, tmp_path))


def test_the_table_holds_what_the_script_says(tmp_path):
    cases = [SETTINGS | {"seq": seq, "head_dim": dim, "rows": rows} for seq, dim, rows in ROWS]
    for row, (_, t) in zip(table().rows, traces("attention", cases, tmp_path), strict=True):
        assert row[3:] == (*(f"{t[n] / 1e6:,.1f} MB" for n in ("naive", "tiled")), f"{t['naive'] / t['tiled']:.2f}")
    assert "4,096  128  64  138.4 MB  136.3 MB  1.02" in repr(table())


def test_the_summary(tmp_path):
    cases = [SETTINGS, SETTINGS | {"way": "naive", "done": 50}, SETTINGS | {"done": 0}]
    told = run(script("attention"), "summary", [[s, t] for s, t in traces("attention", cases, tmp_path)], tmp_path)
    assert told[0] == (
        "Done: 4,096 of 4,096 tiles. 136.3 MB moved, 135.3 MB read and 1.06 MB written. In all, written out moves 138.4 MB, "
        "in tiles 136.3 MB: 1.02 times. The tiles take 49.2 kB of 167.9 kB shared memory and 49.2 kB of 262.1 kB registers: "
        "they fit on an SM of NVIDIA A100 SXM 80GB."
    )
    assert told[1].startswith("50 % done: pass 2 of 3, scores come in, probabilities go out. ")
    assert "registers" not in told[1] and told[2].startswith("0 % done: 0 of 4,096 tiles. 0.00 MB moved")
    assert repr(widget("attention").view) == "Widget attention"


@pytest.mark.site
@pytest.mark.parametrize("width, scheme", [(1280, "light"), (390, "dark")])
def test_texts_of_the_pictures_are_readable_at_any_setting(visit, tmp_path, width, scheme):
    cases = [{}, {"way": "naive", "done": 40}, {"done": 37}, {"seq": 8192, "rows": 16, "cols": 16, "done": 3}]
    readable(visit, "attention", [*cases, *states(5)[1:]], tmp_path, width, scheme)


@pytest.mark.site
def test_things_to_try_by_keyboard_alone(visit, tmp_path):
    opened = visit(alone("attention", {}, "light", tmp_path), "file://")
    page, live = opened.page, opened.page.get_by_role("status")
    assert "138.4 MB, in tiles 136.3 MB: 1.02 times" in live.inner_text()
    slide(page, "queries in a tile", 3)
    assert ": 2.00 times" in live.inner_text() and "they fit" in live.inner_text()
    tab_to(page, "width of a head")
    page.keyboard.press("ArrowUp")
    assert ": 3.94 times" in live.inner_text()
    slide(page, "keys in a tile", 4)
    slide(page, "queries in a tile", 4)
    assert "they do not fit" in live.inner_text() and page.get_by_role("group").locator("text", has_text="too much")
    slide(page, "done", 10)
    assert live.inner_text().startswith("10 % done")
    assert opened.clean(), opened.complaints()


@pytest.mark.site
def test_play_runs_to_the_end_and_speaks_once(visit, tmp_path):
    opened = visit(alone("attention", {"seq": 256}, "light", tmp_path), "file://", reduced_motion="reduce")
    page, live = opened.page, opened.page.get_by_role("status")
    slide(page, "done", 50)
    page.get_by_role("button", name="Play").press("Enter")
    page.get_by_role("button", name="Pause").wait_for()
    page.get_by_role("button", name="Play").wait_for(timeout=20_000)
    assert live.inner_text().startswith("Done: 16 of 16 tiles")
    assert page.get_by_label("done").input_value() == "100"
    assert opened.clean(), opened.complaints()


@pytest.mark.site
def test_a_bad_setting_is_said_in_place_of_the_widget(visit, tmp_path):
    page = visit(alone("attention", {"rows": 48}, "light", tmp_path), "file://").page
    assert "rows is 48: it must be one of 16, 32" in page.get_by_role("alert").inner_text()
