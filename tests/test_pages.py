"""Every built page in a real Chromium, over HTTP and from file://, with every non-local request refused."""

import functools
import gzip
import http.server
import threading

import pytest
from playwright.sync_api import sync_playwright

from tests import browser
from tests.test_site import PAGES, SITE

pytestmark = pytest.mark.site
HEAVIEST = 500_000  # bytes, gzipped, everything a first visit loads
NAMES = [p.relative_to(SITE).as_posix() for p in PAGES]


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *args):
        pass


@pytest.fixture(scope="module")
def base():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(SITE)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()


@pytest.fixture(scope="module")
def chromium():
    path = browser.find()
    assert path, "no browser: python -m tests.browser brings one"
    with sync_playwright() as playwright:
        instance = playwright.chromium.launch(executable_path=path, args=browser.FLAGS)
        yield instance
        instance.close()


class Visit:
    """A page opened with the outside world refused: what it asked for, what it complained of, what it weighs."""

    def __init__(self, chromium, url, local, **context):
        self.foreign, self.errors, self.failed, self.responses = [], [], [], []
        self.context = chromium.new_context(**context)
        self.context.route("**/*", lambda route: self._route(route, local))
        self.page = self.context.new_page()
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("console", lambda message: self.errors.append(message.text) if message.type == "error" else None)
        self.page.on("requestfailed", lambda request: self.failed.append(request.url))
        self.page.on("response", self._response)
        self.page.goto(url, wait_until="load")
        self.page.wait_for_load_state("networkidle")

    def _route(self, route, local):
        url = route.request.url
        if url.startswith((local, "data:", "blob:")):
            route.continue_()
        else:
            self.foreign.append(url)
            route.abort()

    def _response(self, response):
        self.responses.append(response)
        if response.status >= 400:
            self.failed.append(response.url)

    def weight(self):
        """Bytes of everything the page loaded, each file gzipped once."""
        return sum(
            len(gzip.compress(r.body(), 6)) for r in self.responses if r.url.startswith("http") and r.status == 200
        )

    def clean(self):
        return (self.foreign, self.errors, self.failed) == ([], [], [])

    def complaints(self):
        return {"foreign": self.foreign, "errors": self.errors, "failed": self.failed}


def check(visit):
    assert visit.clean(), visit.complaints()
    page = visit.page
    assert page.locator("h1").count() == 1
    assert page.locator(".katex-error").count() == 0
    assert page.evaluate("[...document.querySelectorAll('.math')].every(m => m.querySelector('.katex'))")
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth"), (
        "scrolls sideways"
    )


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("width, scheme", [(1280, "light"), (390, "dark")])
def test_over_http(chromium, base, name, width, scheme):
    visit = Visit(chromium, base + name, base, viewport={"width": width, "height": 900}, color_scheme=scheme)
    check(visit)
    assert visit.page.evaluate("document.documentElement.dataset.theme") == scheme
    if name != "index.html":  # that one only leads to lectures/index.html
        weight = visit.weight()
        print(f"{name}: {weight:,} bytes gzipped in {len(visit.responses)} requests")
        assert 50_000 < weight <= HEAVIEST
    visit.context.close()


@pytest.mark.parametrize("name", NAMES)
def test_from_a_file(chromium, name):
    visit = Visit(chromium, (SITE / name).as_uri(), "file://")
    check(visit)
    visit.context.close()


@pytest.mark.parametrize("name", [n for n in NAMES if n.startswith("lectures/")])
def test_without_javascript(chromium, base, name):
    visit = Visit(chromium, base + name, base, java_script_enabled=False)
    assert visit.page.locator("h1").is_visible() and not visit.foreign and not visit.failed
    for katex in visit.page.locator("article .katex-html").all()[:5]:
        assert katex.is_visible()
    visit.context.close()


def test_formulas_are_typeset(chromium, base):
    visit = Visit(chromium, base + "lectures/stride.html", base)
    page = visit.page
    assert page.locator(".katex-display").count() >= 7
    fonts = page.evaluate(
        "[...document.fonts].filter(f => f.family.startsWith('KaTeX') && f.status == 'loaded').length"
    )
    assert fonts >= 2
    assert "\\mathrm" not in page.locator("article").inner_text()
    visit.context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_figures_take_the_pages_colours(chromium, base, scheme):
    visit = Visit(chromium, base + "lectures/stride.html", base, color_scheme=scheme)
    page = visit.page
    assert page.locator("figure.tl-figure svg[aria-label]").count() >= 2
    ink = page.evaluate("[...document.querySelectorAll('.tl-svg text')].map(t => getComputedStyle(t).fill)")
    text = page.evaluate("getComputedStyle(document.querySelector('article p')).color")
    assert ink and set(ink) == {text}
    behind = page.evaluate(
        "[...document.querySelectorAll('.tl-figure')].map(f => getComputedStyle(f.parentElement).backgroundColor)"
    )
    assert set(behind) == {"rgba(0, 0, 0, 0)"}
    visit.context.close()


def test_a_quantity_tells_its_source(chromium, base):
    visit = Visit(chromium, base + "lectures/stride.html", base)
    number = visit.page.locator(".tl-quantity", has_text="TB/s")
    assert number.inner_text() == "4.8\u00a0TB/s" and "NVIDIA H200 SXM" in number.get_attribute("title")
    visit.context.close()


def test_the_answer_is_hidden_until_asked_for(chromium, base):
    visit = Visit(chromium, base + "lectures/stride.html", base)
    answer = visit.page.get_by_text("Only the first line raises.")
    assert not answer.is_visible()
    visit.page.get_by_text("My guesses are written down").click()
    assert answer.is_visible()
    visit.context.close()


def test_a_foreign_request_is_caught(chromium, tmp_path):
    planted = tmp_path / "planted.html"
    planted.write_text(
        '<h1>x</h1><script src="https://example.org/x.js"></script><script>throw new Error("planted")</script>'
    )
    visit = Visit(chromium, planted.as_uri(), "file://")
    assert visit.foreign == ["https://example.org/x.js"] and "planted" in " ".join(visit.errors)
    visit.context.close()
