"""The page on attention as a reader uses it: both widgets by keyboard, exercises, no JavaScript, a phone."""

import pytest

from tests.pages import SITE
from tests.test_practice import answer, slide, tab_to
from threeledgers.exercises import exercises

pytestmark = pytest.mark.site
PAGE = "lectures/attention.html"
BOXED = {e.id: e.draw().data for e in exercises("attention").values() if e.kind in ("numeric", "choice")}


@pytest.fixture(params=["http", "file"])
def attention(request, visit):
    base = request.getfixturevalue("base") if request.param == "http" else SITE.as_uri() + "/"
    opened = visit(base + PAGE, base if request.param == "http" else "file://")
    yield opened.page
    assert opened.clean(), opened.complaints()


def test_the_first_thing_to_try_by_keyboard_alone(attention):
    live = attention.get_by_role("group", name="Tile animator").get_by_role("status")
    assert ": 1.02 times" in live.inner_text()
    slide(attention, "queries in a tile", 3)
    assert ": 2.00 times" in live.inner_text()
    attention.keyboard.press("Shift+Tab")  # the width of a head
    attention.keyboard.press("ArrowUp")
    assert ": 3.94 times" in live.inner_text()
    for label in ("queries in a tile", "keys in a tile"):
        slide(attention, label, 4)
    assert "they do not fit on an SM" in live.inner_text()
    assert attention.get_by_text("too much", exact=True).first.is_visible()


def test_the_second_thing_to_try_output_fills_row_by_row_or_at_the_end(attention):
    group = attention.get_by_role("group", name="Tile animator")
    live = group.get_by_role("status")
    written = lambda: live.inner_text().split(" read and ")[1].split(" written")[0]  # noqa: E731
    slide(attention, "done", 10)
    assert written() == "0.10 MB"
    group.get_by_label("attention").select_option(label="written out (naive)")
    assert "pass 1 of 3" in live.inner_text()
    slide(attention, "done", 66)
    assert "pass 2 of 3" in live.inner_text() and written() == "66.6 MB"
    slide(attention, "done", 100)
    assert "pass 3 of 3" in live.inner_text()
    slide(attention, "done", 0)
    attention.keyboard.press("Tab")
    attention.keyboard.press("Enter")
    group.get_by_role("button", name="Pause").wait_for()
    group.get_by_role("button", name="Play").wait_for(timeout=30_000)
    assert live.inner_text().startswith("Done: pass 3 of 3")


def test_the_cache_calculator_by_keyboard_alone(attention):
    live = attention.get_by_role("group", name="Cache calculator").get_by_role("status")
    assert "0.54 GB a sequence" in live.inner_text() and "would take 1.07 GB" in live.inner_text()
    slide(attention, "tokens in a sequence", 5)
    assert "4.29 GB a sequence" in live.inner_text() and "would take 68.7 GB" in live.inner_text()
    attention.keyboard.press("Shift+Tab")
    attention.keyboard.press("ArrowDown")
    assert "524,288 bytes a token" in live.inner_text()


def test_every_trap_meets_its_own_hint_and_the_answer_is_right(attention):
    for data in BOXED.values():
        for trap in data["traps"]:
            assert answer(attention, data, trap["value"]) == f"✗ {trap['hint']}"
        assert answer(attention, data, data["answer"]) == f"✓ Right. {data['because']}"
    assert "6 of 6 right" in attention.get_by_role("group", name="Your progress").get_by_role("status").inner_text()


def test_a_guess_is_committed_before_the_number_shows(attention):
    group = attention.get_by_role("group", name="Guess", exact=True)
    assert "7.3" not in group.inner_text()
    group.get_by_role("textbox").fill("41.7 ms")
    group.get_by_role("textbox").press("Enter")
    assert group.get_by_role("status").inner_text() == "It is 7.3 ms. Your guess was off by a factor of 5.7."


def test_without_javascript_the_tables_are_readable(visit, base):
    page = visit(base + PAGE, base, java_script_enabled=False).page
    tables = page.locator("details.tl-table")
    for n, cell in ((0, "138.4 MB"), (1, "516,096 B")):
        tables.nth(n).locator("summary").click()
        assert tables.nth(n).locator("td", has_text=cell).first.is_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_fits_a_phone_in_both_schemes(visit, base, scheme):
    page = visit(base + PAGE, base, viewport={"width": 360, "height": 800}, color_scheme=scheme).page
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    for name in ("Tile animator", "Cache calculator"):
        picture = page.get_by_role("group", name=name).locator("svg").first.bounding_box()
        assert picture["x"] >= 0 and picture["x"] + picture["width"] <= 360
    tab_to(page, "queries in a tile")
