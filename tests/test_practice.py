"""Widgets and exercises on the static page, as a reader uses them: by keyboard, with the network off, also from file://."""

import json

import pytest

from tests.keyboard import answer, slide, tab_to
from tests.pages import SITE
from threeledgers.exercises import exercises, slugs

pytestmark = pytest.mark.site
PAGE = "lectures/stride.html"
each_lecture = pytest.mark.parametrize("slug", slugs())


def boxed(slug):
    """What the boxes of a lecture's exercises are made from, by id."""
    return {id: e.draw().data for id, e in exercises(slug).items() if e.kind in ("numeric", "choice")}


def test_the_two_things_to_try_by_keyboard_alone(lecture):
    stride = lecture("stride")
    group = stride.get_by_role("group", name="Stride microscope")
    live = group.get_by_role("status")
    assert "Shape (3, 2), strides (1, 3). view(6) raises" in live.inner_text()
    stride.keyboard.press("Tab")
    slide(stride, "size 0", 0)
    assert "Shape (3, 1), strides (1, 3). view(3) works, with strides (1,)" in live.inner_text()
    tab_to(stride, "size 0")
    stride.keyboard.press("End")
    for steps, sectors, used in ((0, 4, 128), (1, 8, 128), (3, 16, 128), (5, 32, 128), (6, 32, 128)):
        slide(stride, "size 1", steps)
        assert f"touch {sectors} sectors: {used} of {32 * sectors} bytes are used" in live.inner_text()
    tab_to(stride, "element")
    stride.keyboard.press("ArrowUp")
    assert "touch 32 sectors: 64 of 1024 bytes are used" in live.inner_text()
    tab_to(stride, "target of view")
    stride.keyboard.type("x")
    assert "write the target of view as sizes" in live.inner_text()
    assert group.locator("svg rect").count() > 64


@each_lecture
def test_every_trap_meets_its_own_hint_and_the_answer_is_right(lecture, slug):
    page = lecture(slug)
    for data in boxed(slug).values():
        for trap in data["traps"]:
            assert answer(page, data, trap["value"]) == f"✗ {trap['hint']}"
        assert answer(page, data, data["answer"]) == f"✓ Right. {data['because']}"
        if data["kind"] == "numeric":
            assert "No answer yet" in answer(page, data, "")
            assert "cannot be read" in answer(page, data, ", ".join(["many"] * len(data["answer"])))
    assert "6 of 6 right" in page.get_by_role("group", name="Your progress").get_by_role("status").inner_text()


def test_progress_stays_in_the_browser_and_can_be_taken_out_and_deleted(lecture):
    stride, data = lecture("stride"), boxed("stride")["stride-5"]
    answer(stride, data, "79")
    answer(stride, data, "50")
    group = stride.get_by_role("group", name="Your progress")
    assert "1 of 6 right, 1 tried" in group.inner_text()
    stride.reload()
    stride.wait_for_selector("html[data-widgets=ready]", state="attached")
    assert "1 of 6 right, 1 tried" in group.inner_text()
    with stride.expect_download() as download:
        group.get_by_role("button", name="Export").click()
    kept = json.loads(download.value.path().read_text())
    assert kept["stride-5"] | {"date": ""} == {"status": "right", "answer": "50", "tries": 2, "date": ""}
    group.get_by_role("button", name="Delete").click()
    assert "0 of 6 right, 0 tried" in group.inner_text()
    assert stride.evaluate("localStorage.length") == stride.evaluate(
        "Object.keys(localStorage).filter(k => !k.startsWith('three')).length"
    )


GUESSES = {  # lecture: what the box must not tell, a guess, what it then says
    "stride": ("1,024", "128 B", "It is 1,024 bytes. Your guess was off by a factor of 8.0."),
    "autograd": ("107.8", "13.5 GB", "It is 107.8 GB. Your guess was off by a factor of 8.0."),
    "attention": ("7.3", "41.7 ms", "It is 7.3 ms. Your guess was off by a factor of 5.7."),
}


@each_lecture
def test_a_guess_is_committed_before_the_number_shows(lecture, slug):
    hidden, guess, said = GUESSES[slug]
    group = lecture(slug).get_by_role("group", name="Guess", exact=True)
    assert hidden not in group.inner_text()
    group.get_by_role("textbox").fill(guess)
    group.get_by_role("textbox").press("Enter")
    assert group.get_by_role("status").inner_text() == said


def test_a_coding_exercise_says_where_to_write_it(lecture):
    group = lecture("stride").get_by_role("group", name="Exercise stride-code", exact=True)
    assert 'check("stride-code", compute_stride)' in group.inner_text()


CELLS = {"stride": ["12.5 %"], "autograd": ["107.8 GB"], "attention": ["138.4 MB", "516,096 B"]}  # one of each table


@each_lecture
def test_without_javascript_the_tables_are_readable(visit, base, slug):
    page = visit(f"{base}lectures/{slug}.html", base, java_script_enabled=False).page
    tables = page.locator("details.tl-table")
    assert tables.count() == len(CELLS[slug])
    for n, cell in enumerate(CELLS[slug]):
        tables.nth(n).locator("summary").click()
        assert tables.nth(n).locator("td", has_text=cell).first.is_visible()


def test_without_javascript_a_choice_shows_its_options(visit, base):
    page = visit(base + PAGE, base, java_script_enabled=False).page
    assert page.locator("li", has_text="torch.empty(1, 3).t().view(-1)").first.is_visible()


def test_a_widget_that_throws_says_so_and_keeps_its_table(visit, base):
    html = (SITE / PAGE).read_text(encoding="utf8")
    start = "function trace(s) {"
    assert html.count(start) == 1
    opened = visit(base + "lectures/index.html", base)
    broken = html.replace(start, start + " throw new Error('planted fault');")
    opened.context.route("**/stride.html", lambda route: route.fulfill(body=broken, content_type="text/html"))
    page = opened.page
    page.goto(base + PAGE)
    page.wait_for_selector("html[data-widgets=ready]", state="attached")
    alert = page.locator(".tl-widget[role=alert]")
    assert alert.count() == 1 and "This widget could not start (planted fault)" in alert.inner_text()
    page.locator("details.tl-table summary").click()
    assert page.locator("details.tl-table td", has_text="12.5 %").first.is_visible()
    assert page.get_by_role("group", name="Exercise stride-1", exact=True).get_by_role("textbox").is_visible()


CONTROLS = {"stride": "size 0", "autograd": "tokens in a sequence", "attention": "queries in a tile"}


@each_lecture
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_widgets_fit_a_phone_in_both_schemes(visit, base, slug, scheme):
    page = visit(f"{base}lectures/{slug}.html", base, viewport={"width": 360, "height": 800}, color_scheme=scheme).page
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    text = page.evaluate("getComputedStyle(document.querySelector('article p')).color")
    inputs = page.evaluate(
        "[...document.querySelectorAll('.tlw input[type=text], .tlw button')].map(e => getComputedStyle(e).color)"
    )
    assert len(inputs) > 10 and set(inputs) == {text}
    pictures = [p.bounding_box() for p in page.locator(".tlw > svg, .tlw > div > svg").all()]
    assert pictures and all(p["x"] >= 0 and p["x"] + p["width"] <= 360 for p in pictures)
    tab_to(page, CONTROLS[slug])


@each_lecture
def test_no_sentence_or_cell_of_a_page_prints_an_answer(visit, base, slug):
    page = visit(f"{base}lectures/{slug}.html", base, java_script_enabled=False).page
    page.evaluate("document.querySelectorAll('.solution, script, svg, table').forEach(e => e.remove())")
    text = page.locator("article").text_content().replace("\u00a0", " ")
    said = {id: data["shown"] for id, data in boxed(slug).items() if data["kind"] == "numeric"}
    told = {id for id, shown in said.items() if len(shown) > 2 and shown in text}
    assert len(said) > 4 and told <= {"stride-4"}  # a share of sectors: there are only two that it can ask for
