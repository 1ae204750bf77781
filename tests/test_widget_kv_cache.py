"""The cache calculator: its numbers are the formulas', released shapes are the specs', one token more is too much."""

import random
import re

import pytest

from tests.alone import alone, readable
from tests.keyboard import slide, tab_to
from tests.node_module import run, script, traces
from threeledgers.specs import model
from threeledgers.widgets import widget
from threeledgers.widgets.kv_cache import CHOICES, SETTINGS, per_token, shape, table


def states(count):
    rng = random.Random(9)
    return [SETTINGS, *({n: rng.choice(v) for n, v in CHOICES.items()} for _ in range(count))]


def test_numbers_are_the_formulas(tmp_path):
    seen = set()
    for s, t in traces("kv_cache", states(300), tmp_path):
        token = per_token(s["model"], s["sharing"], s["elem_bytes"])
        assert t["token"] == token and t["all"] == per_token(s["model"], "all", s["elem_bytes"]), s
        assert t["sequence"] == token * s["seq"] and t["total"] == token * s["seq"] * s["batch"]
        assert t["budget"] == s["budget"] * 10**9 and t["fits"] is (t["total"] <= t["budget"])
        assert t["room"] * token <= t["budget"] < (t["room"] + 1) * token
        assert t["longest"] * s["batch"] <= t["room"] < (t["longest"] + 1) * s["batch"]
        assert t["scores"] == s["elem_bytes"] * model(s["model"]).heads * s["seq"] ** 2
        seen.add(t["fits"])
    assert seen == {True, False}


def test_published_caches():
    """DeepSeek-AI 2025, table 1; a head of MLA, made whole, has 81,920 bytes a layer."""
    assert per_token("llama3_405b") == 516_096 and per_token("deepseek_v3") == 70_272
    assert per_token("deepseek_v3", "all") == 61 * 81_920
    assert per_token("llama3_8b", "all") == 4 * per_token("llama3_8b")
    assert shape("llama2_70b")["kv_heads"] == 8 and set(CHOICES) == set(SETTINGS)


@pytest.mark.parametrize(
    "right, wrong",
    [
        ("all: m.heads", "all: m.kv_heads"),
        ("budget / token)", "budget / token) + 1"),
        ('s.sharing === "released" && m.kv_rank', "m.kv_rank"),
    ],
)
def test_a_fault_in_the_script_is_found(right, wrong, tmp_path):
    assert script("kv_cache").count(right) == 1
    cases = states(60)
    good = run(script("kv_cache"), "trace", [[s] for s in cases], tmp_path)
    assert run(script("kv_cache").replace(right, wrong), "trace", [[s] for s in cases], tmp_path) != good


def test_a_setting_outside_its_list_is_refused_by_name(tmp_path):
    for name, bad, said in (
        ("seq", 5000, "seq is 5000: it must be"),
        ("model", "gpt3_175b", "it must be one of llama2_7b"),
    ):
        with pytest.raises(AssertionError, match=re.escape(said)):
            run(script("kv_cache"), "trace", [[SETTINGS | {name: bad}]], tmp_path)


def test_the_thing_to_try_says_what_the_page_says(tmp_path):
    cases = [SETTINGS, SETTINGS | {"sharing": "all"}, SETTINGS | {"model": "deepseek_v3"}, SETTINGS | {"seq": 32768}]
    eight, every, latent, long = (t for _, t in traces("kv_cache", cases, tmp_path))
    assert eight["room"] == 305_175 and every["room"] == 76_293 and latent["room"] > 500_000
    assert long["sequence"] == 8 * eight["sequence"] and long["scores"] == 64 * eight["scores"]


def test_the_table_and_the_summary(tmp_path):
    assert "Llama 3.1 405B  516,096 B  8,257,536 B  16.0  77,504" in repr(table())
    assert "DeepSeek-V3  70,272 B  4,997,120 B  71.1  569,216" in repr(table())
    (pair,) = traces("kv_cache", [SETTINGS], tmp_path)
    assert run(script("kv_cache"), "summary", [list(pair)], tmp_path) == [
        "Llama 3 8B, as released: 131,072 bytes a token, 0.54 GB a sequence, 0.54 GB in all, which fits into 40.0 GB. "
        "A pair for every head would be 4.0 times as much. The budget holds 305,175 tokens: 1 sequence of 305,175. "
        "One layer's scores, were they stored for one sequence, would take 1.07 GB."
    ]
    assert repr(widget("kv_cache").view) == "Widget kv_cache"


@pytest.mark.site
@pytest.mark.parametrize("width, scheme", [(1280, "dark"), (390, "light")])
def test_texts_of_the_picture_are_readable_at_any_setting(visit, tmp_path, width, scheme):
    readable(
        visit,
        "kv_cache",
        [{}, {"batch": 128, "seq": 1048576, "sharing": "all"}, {"budget": 640}, *states(4)[1:]],
        tmp_path,
        width,
        scheme,
    )


@pytest.mark.site
def test_by_keyboard_alone(visit, tmp_path):
    opened = visit(alone("kv_cache", {}, "light", tmp_path), "file://")
    page, live = opened.page, opened.page.get_by_role("status")
    assert "The budget holds 305,175 tokens" in live.inner_text()
    tab_to(page, "keys and values")
    page.keyboard.press("ArrowDown")
    assert "The budget holds 76,293 tokens" in live.inner_text()
    page.keyboard.press("ArrowUp")
    slide(page, "tokens in a sequence", 5)
    assert "4.29 GB a sequence" in live.inner_text() and "would take 68.7 GB" in live.inner_text()
    tab_to(page, "model")
    page.keyboard.press("End")
    assert live.inner_text().startswith("DeepSeek-V3, as released: 70,272 bytes a token")
    assert opened.clean(), opened.complaints()
