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
    assert not opened.page.locator("#tl-gpu").is_visible() and not opened.page.locator("#tl-card").is_visible()


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


CARD = (ROOT / "assets/card.toml").read_text(encoding="utf8")
SM = '[numbers.{0}]\nvalue = {1}\nunit = "B"\nsource = "sheet"\n'
WHOLE = CARD + SM.format("shared_bytes_per_sm", 65536) + SM.format("registers_bytes_per_sm", 262144)
DROP = """text => {
  const files = new DataTransfer(), place = document.querySelector("section.tl-yours");
  files.items.add(new File([text], "dropped.toml"));
  const tell = kind => place.dispatchEvent(new DragEvent(kind, {dataTransfer: files, bubbles: true, cancelable: true}));
  return [tell("dragover"), place.classList.contains("tl-over"), tell("drop"), place.classList.contains("tl-over")];
}"""


def give(page, text, name="card.toml"):
    page.locator("#tl-card").set_input_files({"name": name, "mimeType": "", "buffer": text.encode()})


def says(page, words):
    page.wait_for_function("w => document.querySelector('#tl-gpu-note').textContent.includes(w)", arg=words)


def test_a_card_of_ones_own_is_read_in_the_browser_and_stays_there(lecture):
    page = lecture("attention")
    asked = []
    page.on("request", lambda request: asked.append(request.url.partition("?")[0]))
    chosen, card = "e => e.selectedOptions[0].textContent", page.get_by_label("card", exact=True)
    mine, before = page.get_by_label("Which GPU do you have?"), card.evaluate(chosen)
    give(page, CARD.replace('"GB"', '"B"').replace('unit = "B",', 'unit = "GB",'))
    says(page, "card.toml: memory_bytes is in B, not 'GB'")
    assert mine.evaluate("e => e.value") == "" and page.evaluate("localStorage.getItem('threeledgers.card')") is None
    give(page, CARD)  # not enough for this widget, which goes on with its own
    says(page, "My card: 5 numbers kept in this browser and sent nowhere.")
    assert mine.evaluate(chosen) == "My card (your file)" and card.evaluate(chosen) == before
    assert page.evaluate(DROP, WHOLE) == [False, True, False, False]  # False: the browser does not open the file itself
    says(page, "My card: 7 numbers")
    status = page.locator(".tl-widget", has=card).get_by_role("status")
    assert card.evaluate(chosen) == "My card" and "on an SM of My card" in status.inner_text()
    assert "65.5 kB shared memory" in status.inner_text()
    assert len(asked) == 1 and asked[0].endswith("/_static/card.js"), "asked for once, and nothing else is"
    page.reload()
    page.wait_for_selector("html[data-widgets=ready]", state="attached")
    assert mine.evaluate(chosen) == "My card (your file)" and card.evaluate(chosen) == "My card"
    mine.select_option("a100_sxm_80")
    assert card.evaluate(chosen) == "NVIDIA A100 SXM 80GB"
    mine.select_option("own")
    assert card.evaluate(chosen) == "My card"
    mine.select_option("")
    says(page, "Forgotten.")
    assert card.evaluate(chosen) == before and mine.locator("option[value=own]").count() == 0
    assert page.evaluate("localStorage.getItem('threeledgers.card')") is None


def test_the_card_of_ones_own_decides_what_fits(visit, base):
    opened = visit(base + "lectures/autograd.html", base)
    page = opened.page
    for text, words in (
        ("=", "card.toml: not valid TOML: a key is needed (at line 1)"),
        ("a" * 10**6 + "b", "1,000,001 bytes"),
    ):
        give(page, text)
        says(page, words)
    give(page, CARD.replace("My card", "<b>mine</b>"))
    says(page, "<b>mine</b>: 5 numbers")
    card = page.get_by_label("card", exact=True)
    status = page.locator(".tl-widget", has=card).get_by_role("status")
    assert "96.0 GB of <b>mine</b>" in status.inner_text()
    with page.expect_download() as download:
        page.locator("section.tl-yours a").click()
    assert download.value.suggested_filename == "card.toml"
    assert opened.clean(), opened.complaints()


def test_the_file_of_a_card_is_chosen_by_keyboard(visit, base):
    page = visit(base + "lectures/index.html", base).page
    page.get_by_label("Which GPU do you have?").focus()
    for _ in range(2):
        page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "tl-card"
    with page.expect_file_chooser() as chooser:
        page.keyboard.press("Enter")
    chooser.value.set_files({"name": "x.toml", "mimeType": "", "buffer": CARD.encode()})
    says(page, "My card: 5 numbers")


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
