"""The page on autograd as a reader uses it: widget by keyboard, exercises, no JavaScript, a phone."""

import pytest

from tests.pages import SITE
from tests.test_practice import answer, slide, tab_to
from threeledgers.exercises import exercises

pytestmark = pytest.mark.site
PAGE = "lectures/autograd.html"
BOXED = {e.id: e.draw().data for e in exercises("autograd").values() if e.kind in ("numeric", "choice")}


@pytest.fixture(params=["http", "file"])
def autograd(request, visit):
    base = request.getfixturevalue("base") if request.param == "http" else SITE.as_uri() + "/"
    opened = visit(base + PAGE, base if request.param == "http" else "file://")
    yield opened.page
    assert opened.clean(), opened.complaints()


def choose(page, label, letter):
    """Choose in a select by typing the first letters of an option."""
    tab_to(page, label)
    page.keyboard.type(letter)


def test_the_two_things_to_try_by_keyboard_alone(autograd):
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


def test_every_trap_meets_its_own_hint_and_the_answer_is_right(autograd):
    for data in BOXED.values():
        for trap in data["traps"]:
            assert answer(autograd, data, trap["value"]) == f"✗ {trap['hint']}"
        assert answer(autograd, data, data["answer"]) == f"✓ Right. {data['because']}"
    assert "6 of 6 right" in autograd.get_by_role("group", name="Your progress").get_by_role("status").inner_text()


def test_a_guess_is_committed_before_the_number_shows(autograd):
    group = autograd.get_by_role("group", name="Guess", exact=True)
    assert "107.8" not in group.inner_text()
    group.get_by_role("textbox").fill("13.5 GB")
    group.get_by_role("textbox").press("Enter")
    assert group.get_by_role("status").inner_text() == "It is 107.8 GB. Your guess was off by a factor of 8.0."


def test_without_javascript_the_table_is_readable(visit, base):
    page = visit(base + PAGE, base, java_script_enabled=False).page
    table = page.locator("details.tl-table")
    table.locator("summary").click()
    assert table.locator("td", has_text="107.8 GB").first.is_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_fits_a_phone_in_both_schemes(visit, base, scheme):
    page = visit(base + PAGE, base, viewport={"width": 360, "height": 800}, color_scheme=scheme).page
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    bar = page.get_by_role("group", name="The bar that overflows").locator("svg").first.bounding_box()
    assert bar["x"] >= 0 and bar["x"] + bar["width"] <= 360
