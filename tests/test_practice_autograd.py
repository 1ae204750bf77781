"""The widget of the page on autograd, by keyboard: what the page says to try does what it says."""

import pytest

from tests.keyboard import slide

pytestmark = pytest.mark.site


def test_the_two_things_to_try_by_keyboard_alone(lecture):
    autograd = lecture("autograd")
    group = autograd.get_by_role("group", name="The bar that overflows")
    live = group.get_by_role("status")
    assert "134 GB at the peak is 54.0 GB more than the 80.0 GB" in live.inner_text()
    autograd.keyboard.press("Tab")
    slide(autograd, "tokens in a sequence", 0)
    assert "Not even the states fit." in live.inner_text() and "largest part: optimizer states" in live.inner_text()
    autograd.keyboard.press("Shift+Tab")
    autograd.keyboard.type("8")  # 8-bit Adam
    said = live.inner_text()
    assert "fits into the 80.0 GB" in said and "At most" in said and "would fit" in said
    group.get_by_label("model").select_option(label="Llama 3 8B")
    held = {}
    for attention in ("fused (SDPA)", "eager"):
        group.get_by_label("attention").select_option(label=attention)
        for steps in (4, 7):
            autograd.locator("body").evaluate("document.activeElement.blur()")
            slide(autograd, "tokens in a sequence", steps)
            (row,) = [r for r in group.locator("li").all_inner_texts() if r.startswith("saved by the layers")]
            held[attention, steps] = float(row.split(": ")[1].split(" ")[0].replace(",", ""))
    assert held["fused (SDPA)", 7] / held["fused (SDPA)", 4] == pytest.approx(8, rel=0.01)
    scores = [held["eager", n] - held["fused (SDPA)", n] for n in (4, 7)]
    assert scores[1] / scores[0] == pytest.approx(64, rel=0.05)
    group.get_by_label("checkpointing").select_option(label="every layer")
    assert "saved by the layers" in group.inner_text() and group.locator("svg rect").count() >= 5
