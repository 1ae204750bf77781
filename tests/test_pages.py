"""Pages in a real Chromium: what they show without JavaScript, in either scheme, when something is pressed, on paper."""

import pytest

from tests.html_page import PAGES, name

pytestmark = pytest.mark.site
NAMES = [name(p) for p in PAGES]


@pytest.mark.parametrize("name", [n for n in NAMES if n.startswith("lectures/")])
def test_without_javascript(visit, base, name):
    opened = visit(base + name, base, java_script_enabled=False)
    assert opened.page.locator("h1").is_visible() and not opened.foreign and not opened.failed
    for katex in opened.page.locator("article .katex-html").all()[:5]:
        assert katex.is_visible()


def test_formulas_are_typeset(visit, base):
    opened = visit(base + "lectures/stride.html", base)
    page = opened.page
    assert page.locator(".katex-display").count() >= 7
    fonts = page.evaluate(
        "[...document.fonts].filter(f => f.family.startsWith('KaTeX') && f.status == 'loaded').length"
    )
    assert fonts >= 2
    assert "\\mathrm" not in page.locator("article").inner_text()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_figures_take_the_pages_colours(visit, base, scheme):
    opened = visit(base + "lectures/stride.html", base, color_scheme=scheme)
    page = opened.page
    assert page.locator("figure.tl-figure svg[aria-label]").count() >= 2
    ink = page.evaluate("[...document.querySelectorAll('.tl-svg text')].map(t => getComputedStyle(t).fill)")
    text = page.evaluate("getComputedStyle(document.querySelector('article p')).color")
    assert ink and set(ink) == {text}
    behind = page.evaluate(
        "[...document.querySelectorAll('.tl-figure')].map(f => getComputedStyle(f.parentElement).backgroundColor)"
    )
    assert set(behind) == {"rgba(0, 0, 0, 0)"}


def test_a_quantity_tells_its_source(visit, base):
    opened = visit(base + "lectures/stride.html", base)
    number = opened.page.locator(".tl-quantity", has_text="TB/s")
    assert number.inner_text() == "4.8\u00a0TB/s" and "NVIDIA H200 SXM" in number.get_attribute("title")


def test_the_answer_is_hidden_until_asked_for(visit, base):
    opened = visit(base + "lectures/stride.html", base)
    answer = opened.page.get_by_text("Only the first line raises.")
    assert not answer.is_visible()
    opened.page.get_by_text("Both guesses are made").click()
    assert answer.is_visible()
