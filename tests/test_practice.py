"""Widgets and exercises on the static page, as a reader uses them: by keyboard, with the network off, also from file://."""

import json

import pytest

from tests.pages import SITE
from threeledgers.exercises import exercises

pytestmark = pytest.mark.site
PAGE = "lectures/stride.html"
BOXED = {e.id: e.draw().data for e in exercises("stride").values() if e.kind in ("numeric", "choice")}


@pytest.fixture(params=["http", "file"])
def stride(request, visit):
    """The page on stride, over HTTP and from the disk; nothing may have gone wrong at the end."""
    base = request.getfixturevalue("base") if request.param == "http" else SITE.as_uri() + "/"
    opened = visit(base + PAGE, base if request.param == "http" else "file://")
    yield opened.page
    assert opened.clean(), opened.complaints()


def tab_to(page, label):
    """Press Tab until the control with this label has the focus."""
    for _ in range(400):
        focused = page.evaluate("document.activeElement?.labels?.[0]?.textContent ?? ''")
        if focused.startswith(label):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"Tab never reaches {label!r}")


def slide(page, label, steps):
    tab_to(page, label)
    page.keyboard.press("Home")
    for _ in range(steps):
        page.keyboard.press("ArrowRight")


def test_the_two_things_to_try_by_keyboard_alone(stride):
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


def answer(page, data, value):
    """Give an answer in the exercise's box and return what it says."""
    group = page.get_by_role("group", name=f"Exercise {data['id']}", exact=True)
    if data["kind"] == "choice":
        for box in group.get_by_role("checkbox").all():
            box.set_checked(box.get_attribute("value") in value)
    else:
        group.get_by_role("textbox").fill(", ".join(map(repr, value)) if isinstance(value, list) else value)
        group.get_by_role("textbox").press("Enter")
    if data["kind"] == "choice":
        group.get_by_role("button", name="Check").press("Enter")
    return group.get_by_role("status").inner_text()


def test_every_trap_meets_its_own_hint_and_the_answer_is_right(stride):
    for data in BOXED.values():
        for trap in data["traps"]:
            assert answer(stride, data, trap["value"]) == f"✗ {trap['hint']}"
        assert answer(stride, data, data["answer"]) == f"✓ Right. {data['because']}"
        if data["kind"] == "numeric":
            assert "No answer yet" in answer(stride, data, "")
            assert "cannot be read" in answer(stride, data, "many")
    assert "6 of 6 right" in stride.get_by_role("group", name="Your progress").get_by_role("status").inner_text()


def test_progress_stays_in_the_browser_and_can_be_taken_out_and_deleted(stride):
    data = BOXED["stride-5"]
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


def test_a_guess_is_committed_before_the_number_shows(stride):
    group = stride.get_by_role("group", name="Guess", exact=True)
    assert "1,024" not in group.inner_text()
    group.get_by_role("textbox").fill("128 B")
    group.get_by_role("textbox").press("Enter")
    assert group.get_by_role("status").inner_text() == "It is 1,024 bytes. Your guess was off by a factor of 8.0."


def test_a_coding_exercise_says_where_to_write_it(stride):
    group = stride.get_by_role("group", name="Exercise stride-code", exact=True)
    assert 'check("stride-code", compute_stride)' in group.inner_text()


def test_without_javascript_the_table_is_readable(visit, base):
    page = visit(base + PAGE, base, java_script_enabled=False).page
    table = page.locator("details.tl-table")
    table.locator("summary").click()
    assert table.locator("td", has_text="12.5 %").first.is_visible()
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


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_widgets_fit_a_phone_in_both_schemes(visit, base, scheme):
    page = visit(base + PAGE, base, viewport={"width": 360, "height": 800}, color_scheme=scheme).page
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    text = page.evaluate("getComputedStyle(document.querySelector('article p')).color")
    inputs = page.evaluate(
        "[...document.querySelectorAll('.tlw input[type=text], .tlw button')].map(e => getComputedStyle(e).color)"
    )
    assert len(inputs) > 10 and set(inputs) == {text}
