"""What every page must meet: its requests, its console, axe in two schemes, links and anchors, one h1, its weight.

Each page is read as a file, then opened in a real Chromium that refuses every request outside the site: wide and light, wide
and dark, narrow and dark, and from file://. Lighthouse looks at the heaviest three.
"""

import json
import os
import re
import subprocess
from urllib.parse import urlsplit

import pytest

from _ext import node
from tests import browser
from tests.html_page import PAGES, REDIRECTS, leads_nowhere, name, parsed, redirects, weight
from tests.pages import ROOT, SITE

pytestmark = pytest.mark.site
HEAVIEST = 250_000  # bytes gzipped, everything a first visit loads
AXE = ROOT / "node_modules/axe-core/axe.min.js"
# Only the first element of a violation comes back: the list of all that passed takes longer to send than to find.
RUN = """async rules => {
  const found = await axe.run(document, {runOnly: rules, resultTypes: ["violations"]});
  return [found.passes.length, found.violations.map(v => `${v.id}: ${v.nodes[0].html.slice(0, 150)}`)];
}"""
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]
MODES = [(1280, "light"), (1280, "dark"), (390, "dark")]
BY_HOST = {"404.html"}  # only a web server shows it: its links start at the site's root
ON_TOP = sorted(PAGES, key=weight)[-3:]
each_page = pytest.mark.parametrize("path", PAGES, ids=name)


@each_page
def test_as_a_file(path):
    page = parsed(path)
    assert not {leads_nowhere(path, link) for link in [*page.links, *page.loads]} - {""}
    assert not [x for x in page.loads if urlsplit(x).netloc]
    assert not [x for x in page.loads if re.search(r"fontawesome\.js|thebe|mathjax|require\.js", x, re.I)]
    assert page.headings == 1 and len(page.links) > 5
    assert sorted(page.ids) == sorted(set(page.ids)), "an id is there twice"
    assert None not in page.images, "a picture has no alt text"
    assert 30 < len(page.meta["description"]) <= 220
    assert str(ROOT) not in path.read_text(encoding="utf8"), "the page tells where it was built"


def violations(page):
    """``["rule: first element that breaks it", …]``."""
    page.evaluate(AXE.read_text(encoding="utf8"))
    looked, found = page.evaluate(RUN, RULES)
    assert looked > 15, "axe looked at the page"
    assert not page.evaluate("document.getAnimations().length"), "what fades in has no contrast of its own yet"
    return found


def whole(opened):
    """What must hold on a page wherever it is opened."""
    opened.settle()
    assert opened.clean(), opened.complaints()
    page = opened.page
    assert page.locator("h1").count() == 1 and page.locator(".katex-error").count() == 0
    assert page.evaluate("[...document.querySelectorAll('.math')].every(m => m.querySelector('.katex'))")
    wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert wide <= 0, f"scrolls sideways by {wide} px"


@each_page
@pytest.mark.parametrize("width, scheme", MODES)
def test_in_a_browser(visit, base, path, width, scheme, record_property):
    opened = visit(base + name(path), base, viewport={"width": width, "height": 900}, color_scheme=scheme)
    whole(opened)
    page = opened.page
    assert page.evaluate("document.documentElement.dataset.theme") == scheme
    bytes, requests = opened.weight(), len(opened.responses)
    record_property("weight", [bytes, requests, name(path)])
    assert 30_000 < bytes <= HEAVIEST
    page.evaluate("document.querySelectorAll('article details').forEach(d => d.open = true)")  # folded text, too
    assert not violations(page)


@pytest.mark.parametrize("path", [p for p in PAGES if name(p) not in BY_HOST], ids=name)
def test_from_a_file_at_360_px(visit, path):
    whole(visit(path.as_uri(), "file://", viewport={"width": 360, "height": 740}))


@pytest.mark.parametrize("path", REDIRECTS, ids=name)
def test_short_addresses_lead_to_their_page(visit, base, path):
    assert not leads_nowhere(path, redirects(path))
    opened = visit(base + name(path) + "#top", base)
    opened.page.wait_for_url(f"**/{redirects(path).removeprefix('./')}*")
    opened.page.wait_for_load_state("networkidle")
    assert not opened.foreign and not opened.errors, opened.complaints()  # leaving a page may break off its own load
    assert opened.page.locator("h1").count() == 1
    assert len(REDIRECTS) > len(list((ROOT / "lectures").glob("*.md"))) - 1


@pytest.mark.parametrize("path", ON_TOP, ids=name)
def test_lighthouse(base, path, tmp_path):
    """Accessibility, best practices and search: 100 each. Speed belongs to benchmarks/site.py: it needs a quiet machine."""
    flags = " ".join(["--headless=new", *browser.FLAGS])
    command = [
        node.find(),
        str(ROOT / "node_modules/lighthouse/cli/index.js"),
        base + name(path),
        "--quiet",
        "--output=json",
    ]
    command += [
        f"--output-path={tmp_path / 'report.json'}",
        f"--chrome-flags={flags}",
        "--disable-full-page-screenshot",
    ]
    command += ["--only-categories=accessibility,best-practices,seo"]
    done = subprocess.run(
        command, env=os.environ | {"CHROME_PATH": browser.find()}, capture_output=True, text=True, timeout=240
    )
    assert done.returncode == 0, done.stderr[-2000:]
    report = json.loads((tmp_path / "report.json").read_text(encoding="utf8"))
    scores = {key: category["score"] for key, category in report["categories"].items()}
    below = [a["title"] for a in report["audits"].values() if a["score"] is not None and a["score"] < 1]
    assert scores == {"accessibility": 1, "best-practices": 1, "seo": 1}, below


# each check can fail


def test_broken_links_are_found(tmp_path):
    (tmp_path / "other.html").write_text('<h1 id="there">x</h1>')
    source = tmp_path / "page.html"
    source.write_text("")
    broken = {
        x: bool(leads_nowhere(source, x))
        for x in ("other.html#there", "https://x.org/y", "other.html#gone", "no.html", "#gone")
    }
    assert list(broken.values()) == [False, False, True, True, True]


def test_a_foreign_request_is_caught(visit, tmp_path):
    planted = tmp_path / "planted.html"
    planted.write_text(
        '<h1>x</h1><script src="https://example.org/x.js"></script><script>throw new Error("planted")</script>'
    )
    opened = visit(planted.as_uri(), "file://")
    assert opened.foreign == ["https://example.org/x.js"] and "planted" in " ".join(opened.errors)


def test_a_fault_of_accessibility_is_found(visit, base):
    page = visit(base + "lectures/index.html", base).page
    page.evaluate("document.querySelector('article p').innerHTML += '<img src=\"data:,\"><a href=\"#\"></a>'")
    assert {v.split(":")[0] for v in violations(page)} >= {"image-alt", "link-name"}


def test_every_page_of_the_book_is_here():
    from _ext import keys

    assert (ROOT / "_build/site.key").read_text() == keys.site(ROOT), "the site is older than its sources: make site"
    written = {f"lectures/{p.stem}.html" for p in (ROOT / "lectures").glob("*.md")}
    written |= {f"labs/{p.stem}.html" for p in (ROOT / "labs").glob("*.py")}
    assert written | {"search.html", "genindex.html", "404.html"} <= {name(p) for p in PAGES}
    assert {name(p) for p in REDIRECTS} >= {"index.html", "stride.html"}
    assert SITE.is_dir()
