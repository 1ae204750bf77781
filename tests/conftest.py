"""A Chromium and a page opened in it with the outside world refused, for the tests of the built site.

And what is marked ``operators`` is skipped under another torch than the one whose operators the tests list.
"""

import functools
import gzip
import http.server
import subprocess
import sys
import threading
from importlib.metadata import version
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import sync_playwright

from _ext import address
from tests import browser, torches
from tests.pages import ROOT, SITE
from threeledgers import records

FOLDER = urlsplit(address.find(ROOT).site).path  # where the page for wrong addresses believes the site to lie


def pytest_runtest_setup(item):
    mark = item.get_closest_marker("operators")
    if mark and (why := torches.other(version("torch"), *mark.args)):
        pytest.skip(why)


class Quiet(http.server.SimpleHTTPRequestHandler):
    """A quiet server that knows the site's own folder, too."""

    def log_message(self, *args):
        pass

    def translate_path(self, path):
        return super().translate_path("/" + path.removeprefix(FOLDER) if FOLDER else path)


@pytest.fixture(scope="session")
def base():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(SITE)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()


@pytest.fixture(scope="session")
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
        still = {"reduced_motion": "reduce"}  # nothing is looked at half faded in
        self.context = chromium.new_context(**still | context)
        self.context.route("**/*", lambda route: self._route(route, local))
        self.page = self.context.new_page()
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("console", lambda message: self.errors.append(message.text) if message.type == "error" else None)
        self.page.on("requestfailed", lambda request: self.failed.append(request.url))
        self.page.on("response", self._response)
        self.page.goto(url, wait_until="load")
        if context.get("java_script_enabled", True) and self.page.locator("script[src*='widget-host']").count():
            self.page.wait_for_selector("html[data-widgets=ready]", state="attached")
        else:
            self.settle()

    def settle(self):
        """Wait until half a second has passed without a request."""
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


@pytest.fixture
def visit(chromium):
    """Opens pages: ``visit(url, local, **context)`` returns a Visit; all are closed at the end."""
    opened = []

    def open_page(url, local, **context):
        opened.append(Visit(chromium, url, local, **context))
        return opened[-1]

    yield open_page
    for one in opened:
        one.context.close()


@pytest.fixture(params=["http", "file"])
def lecture(request, visit):
    """Opens a lecture's page, over HTTP and from the disk: ``lecture("stride")``; nothing may have gone wrong at the end."""
    base = request.getfixturevalue("base") if request.param == "http" else SITE.as_uri() + "/"
    opened = []

    def open_lecture(slug):
        opened.append(visit(f"{base}lectures/{slug}.html", base if request.param == "http" else "file://"))
        return opened[-1].page

    yield open_lecture
    for one in opened:
        assert one.clean(), one.complaints()


@pytest.fixture(scope="module")
def quick_run(tmp_path_factory):
    """Runs a lab with ``--quick`` on the CPU, as a program, and returns its record: ``quick_run("autograd")``."""

    def run(slug):
        out = tmp_path_factory.mktemp("run")
        command = [sys.executable, ROOT / "labs" / f"{slug}.py", "--device", "cpu", "--quick", "--out", out]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr[-2000:]
        return records.load(out / f"{slug}.run.json")

    return run


def pytest_terminal_summary(terminalreporter):
    """The mutation score of the witnesses that ran, and the heaviest pages, over all workers."""
    reports = [r for rs in terminalreporter.stats.values() for r in rs if getattr(r, "when", "") == "call"]
    kept = [pair for report in reports for pair in report.user_properties]
    scores = [value for name, value in kept if name == "mutants"]
    pages = {page: (bytes, requests) for name, value in kept if name == "weight" for bytes, requests, page in [value]}
    for page, (bytes, requests) in sorted(pages.items(), key=lambda item: item[1])[:-4:-1]:
        terminalreporter.write_line(f"heaviest pages: {page}, {bytes:,} bytes gzipped in {requests} requests")
    if scores:
        caught, made = map(sum, zip(*scores, strict=True))
        terminalreporter.write_line(
            f"mutation score: {caught} of {made} mutants of {len(scores)} formulas caught ({caught / made:.1%})"
        )
