"""Every built page in a real Chromium, over HTTP and from file://, with every non-local request refused."""

import pytest

from tests.pages import SITE
from tests.test_site import PAGES

pytestmark = pytest.mark.site
HEAVIEST = 250_000  # bytes, gzipped, everything a first visit loads
NAMES = [p.relative_to(SITE).as_posix() for p in PAGES]


def check(opened):
    assert opened.clean(), opened.complaints()
    page = opened.page
    assert page.locator("h1").count() == 1
    assert page.locator(".katex-error").count() == 0
    assert page.evaluate("[...document.querySelectorAll('.math')].every(m => m.querySelector('.katex'))")
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth"), (
        "scrolls sideways"
    )


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("width, scheme", [(1280, "light"), (390, "dark")])
def test_over_http(visit, base, name, width, scheme):
    opened = visit(base + name, base, viewport={"width": width, "height": 900}, color_scheme=scheme)
    check(opened)
    assert opened.page.evaluate("document.documentElement.dataset.theme") == scheme
    if name != "index.html":  # that one only leads to lectures/index.html
        weight = opened.weight()
        print(f"{name}: {weight:,} bytes gzipped in {len(opened.responses)} requests")
        assert 50_000 < weight <= HEAVIEST


@pytest.mark.parametrize("name", NAMES)
def test_from_a_file(visit, name):
    opened = visit((SITE / name).as_uri(), "file://")
    check(opened)


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


def test_a_foreign_request_is_caught(visit, tmp_path):
    planted = tmp_path / "planted.html"
    planted.write_text(
        '<h1>x</h1><script src="https://example.org/x.js"></script><script>throw new Error("planted")</script>'
    )
    opened = visit(planted.as_uri(), "file://")
    assert opened.foreign == ["https://example.org/x.js"] and "planted" in " ".join(opened.errors)
