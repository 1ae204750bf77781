"""The widgets of the page on attention, by keyboard: what the page says to try does what it says."""

import pytest

from tests.keyboard import slide

pytestmark = pytest.mark.site


def test_the_first_thing_to_try_by_keyboard_alone(lecture):
    attention = lecture("attention")
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


def test_the_second_thing_to_try_output_fills_row_by_row_or_at_the_end(lecture):
    attention = lecture("attention")
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


def test_the_cache_calculator_by_keyboard_alone(lecture):
    attention = lecture("attention")
    live = attention.get_by_role("group", name="Cache calculator").get_by_role("status")
    assert "0.54 GB a sequence" in live.inner_text() and "would take 1.07 GB" in live.inner_text()
    slide(attention, "tokens in a sequence", 5)
    assert "4.29 GB a sequence" in live.inner_text() and "would take 68.7 GB" in live.inner_text()
    attention.keyboard.press("Shift+Tab")
    attention.keyboard.press("ArrowDown")
    assert "524,288 bytes a token" in live.inner_text()
