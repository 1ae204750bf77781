"""Pages in a real Chromium: what they show without JavaScript, in either scheme, when something is pressed, on paper."""

import re

import pytest

from tests.html_page import PAGES, name
from tests.pages import ROOT, lectures

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


@pytest.mark.parametrize(
    "word, page", [("record_stream", "Claims"), ("saved_tensors_hooks", "7B"), ("CopyCounter", "Same bytes")]
)
def test_search_finds_names_of_code(visit, base, word, page):
    opened = visit(f"{base}search.html?q={word}", base)
    opened.page.wait_for_selector("#search-results li a")
    assert page in opened.page.locator("#search-results").inner_text()
    assert opened.clean(), opened.complaints()


def test_lines_of_results_hold_no_tex(visit, base):
    opened = visit(f"{base}search.html?q=sectors", base)
    opened.page.wait_for_selector("#search-results li p.context")
    lines = " ".join(opened.page.locator("#search-results p.context").all_inner_texts())
    assert "sector" in lines and "\\" not in lines, lines
    assert opened.clean(), opened.complaints()


def test_the_line_under_a_title(visit, base):
    page = visit(base + "lectures/autograd.html", base).page
    facts = page.locator(".tl-facts li").all_inner_texts()
    assert re.fullmatch(r"\d+ min to read", facts[0]) and re.fullmatch(r"7 exercises, \d+ min", facts[1])
    assert facts[2:] == ["needs stride", "no GPU needed", "notebook"]
    assert page.locator(".tl-facts a", has_text="stride").get_attribute("href") == "stride.html"
    with page.expect_download() as download:
        page.locator(".tl-facts a", has_text="notebook").click()
    assert download.value.suggested_filename == "autograd.ipynb"


def test_needs_are_those_of_the_front_page():
    index = (ROOT / "lectures/index.md").read_text(encoding="utf8")
    for lecture in lectures():
        needs = re.search(r"^needs: (.*)$", lecture.text, re.M)[1]
        row = next(line for line in index.splitlines() if line.startswith("|") and f"<{lecture.path.stem}>" in line)
        assert row.split("|")[4].strip() == needs


def test_the_readers_gpu_is_where_widgets_begin(visit, base):
    opened = visit(base + "lectures/index.html", base)
    page = opened.page
    page.get_by_label("Which GPU do you have?").select_option("t4")
    assert "Kept in this browser" in page.locator("#tl-gpu-note").inner_text()
    page.goto(base + "lectures/autograd.html")
    page.wait_for_selector("html[data-widgets=ready]", state="attached")
    chosen = "e => e.selectedOptions[0].textContent"
    card = page.get_by_label("card", exact=True)
    assert page.get_by_label("Which GPU do you have?").evaluate(chosen) == card.evaluate(chosen) == "NVIDIA T4"
    status = page.locator(".tl-widget", has=card).get_by_role("status")
    assert "NVIDIA T4" in status.inner_text()
    page.get_by_label("Which GPU do you have?").select_option("h200_sxm")  # at once, without loading the page again
    assert card.evaluate(chosen) == "NVIDIA H200 SXM" and "NVIDIA H200 SXM" in status.inner_text()
    page.get_by_label("Which GPU do you have?").select_option("")
    page.reload()
    page.wait_for_selector("html[data-widgets=ready]", state="attached")
    assert card.evaluate(chosen) == "NVIDIA H100 SXM"
    assert opened.clean(), opened.complaints()


@pytest.mark.parametrize("solutions", [False, True])
def test_on_paper_solutions_are_shown_or_hidden(visit, base, solutions):
    page = visit(base + "lectures/stride.html", base, color_scheme="dark").page
    page.evaluate("window.print = () => {}")
    page.evaluate(f"tlPrint({str(solutions).lower()})")
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    answer = page.get_by_text("A fresh tensor has row-major strides.")
    assert answer.is_visible() == page.get_by_text("Only the first line raises.").is_visible() == solutions
    assert page.locator("article h1").is_visible() and page.locator("details.tl-table table").first.is_visible()
    assert not page.locator(".bd-sidebar-primary").is_visible() and not page.locator("#tl-gpu").is_visible()
    ink = page.evaluate("getComputedStyle(document.querySelector('article p')).color")
    assert ink == "rgb(0, 0, 0)" and page.evaluate("document.documentElement.dataset.theme") == "light"
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    page.emulate_media(media="screen")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark" and not answer.is_visible()


@pytest.mark.parametrize(
    "system, chosen, shown", [("light", "", "light"), ("dark", "", "dark"), ("light", "dark", "dark")]
)
def test_the_readers_scheme_holds_before_any_script_file(visit, base, system, chosen, shown):
    opened = visit(base + "lectures/stride.html", base, color_scheme=system)
    if chosen:
        opened.page.evaluate("c => { localStorage.mode = localStorage.theme = c; }", chosen)
    opened.context.route("**/*.js*", lambda route: route.abort())
    opened.page.reload()
    assert opened.page.evaluate("document.documentElement.dataset.theme") == shown


def test_code_that_scrolls_is_reached_by_tab_and_what_does_not_scroll_is_not(visit, base):
    page = visit(base + "lectures/attention.html", base, viewport={"width": 390, "height": 800}).page
    blocks = page.evaluate("""[...document.querySelectorAll("#main-content pre")]
      .filter(e => e.checkVisibility({contentVisibilityAuto: true}))
      .map(e => [e.scrollWidth > e.clientWidth || e.scrollHeight > e.clientHeight, e.tabIndex])""")
    assert {tuple(b) for b in blocks} == {(True, 0), (False, -1)}
    page.set_viewport_size({"width": 1280, "height": 800})
    fewer = f"document.querySelectorAll('#main-content pre[tabindex=\"0\"]').length < {sum(wide for wide, _ in blocks)}"
    page.wait_for_function(fewer)


def test_one_style_sheet_is_asked_for_and_no_widget_stands_before_the_words():
    for path in PAGES:
        text = path.read_text(encoding="utf8")
        assert text.count('rel="stylesheet"') == 1, name(path)
        assert "jupyter.widget-state" not in text.partition("<body")[0], name(path)
