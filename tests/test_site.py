"""The built site as files: every link and anchor leads somewhere, nothing foreign is asked for, notebooks hold their runs."""

import gzip
import hashlib
import json
import re
from html.parser import HTMLParser
from urllib.parse import unquote, urlsplit

import jupytext
import nbformat
import pytest

from tests.pages import ROOT, SITE, page

pytestmark = pytest.mark.site
PAGES = sorted(p for p in SITE.rglob("*.html") if "_static" not in p.parts)
NOTEBOOKS = sorted((SITE / "notebooks").rglob("*.ipynb"))
each_page = pytest.mark.parametrize("path", PAGES, ids=lambda p: p.relative_to(SITE).as_posix())
each_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.relative_to(SITE).as_posix())


class Parsed(HTMLParser):
    """Ids, links and loaded files of a page."""

    def __init__(self, text):
        super().__init__()
        self.ids, self.links, self.loads, self.headings, self.images = [], [], [], 0, []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.ids += [given["id"]] if given.get("id") else []
        self.headings += tag == "h1"
        if tag == "a" and given.get("href"):
            self.links.append(given["href"])
        if tag in ("script", "img", "iframe", "source", "audio", "video") and given.get("src"):
            self.loads.append(given["src"])
        if tag == "link" and given.get("href"):
            self.loads.append(given["href"])
        if tag == "img":
            self.images.append(given.get("alt"))


_parsed = {}


def parsed(path):
    if path not in _parsed:
        _parsed[path] = Parsed(path.read_text(encoding="utf8"))
    return _parsed[path]


def leads_nowhere(source, link):
    """Why a link of a page is broken, or an empty string."""
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return ""
    target = (source.parent / unquote(parts.path)).resolve() if parts.path else source
    if not target.is_file():
        return f"{link}: no such file"
    if parts.fragment and target.suffix == ".html" and unquote(parts.fragment) not in parsed(target).ids:
        return f"{link}: no such anchor"
    return ""


def test_the_site_is_the_one_of_these_sources():
    from _ext import keys

    assert (ROOT / "_build/site.key").read_text() == keys.site(ROOT), "the site is older than its sources: make site"
    names = {p.relative_to(SITE).as_posix() for p in PAGES}
    assert {f"lectures/{p.stem}.html" for p in (ROOT / "lectures").glob("*.md")} | {
        "index.html",
        "search.html",
    } <= names


@each_page
def test_links_lead_somewhere(path):
    here = parsed(path)
    broken = {leads_nowhere(path, link) for link in [*here.links, *here.loads]} - {""}
    assert not broken
    assert len(here.links) > 5 or path.name == "index.html" and path.parent == SITE


@each_page
def test_nothing_foreign_is_loaded(path):
    foreign = [x for x in parsed(path).loads if urlsplit(x).netloc]
    assert not foreign
    assert not [x for x in parsed(path).loads if re.search(r"fontawesome\.js|thebe|mathjax|require\.js", x, re.I)]


@each_page
def test_ids_are_unique_and_images_have_alt(path):
    ids = parsed(path).ids
    assert sorted(ids) == sorted(set(ids))
    assert None not in parsed(path).images


def test_broken_links_are_found(tmp_path):
    (tmp_path / "other.html").write_text('<h1 id="there">x</h1>')
    source = tmp_path / "page.html"
    source.write_text("")
    assert [
        bool(leads_nowhere(source, x))
        for x in ("other.html#there", "other.html", "https://x.org/y", "other.html#gone", "no.html", "#gone")
    ] == [
        False,
        False,
        False,
        True,
        True,
        True,
    ]


def cells_of(path):
    """Code cells of the page or lab that a published notebook was made from."""
    source = ROOT / path.relative_to(SITE / "notebooks").with_suffix("")
    if (lab := source.with_suffix(".py")).exists():
        return [c.source for c in jupytext.read(lab, fmt="py:percent").cells if c.cell_type == "code"]
    return list(page(source.with_suffix(".md")).cells)


@each_notebook
def test_notebooks_are_valid_and_hold_their_runs(path):
    from _ext.notebooks import without_run

    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    assert not without_run(path)
    code = [c for c in notebook.cells if c.cell_type == "code"]
    assert [c.source for c in code] == cells_of(path), "code cells equal the page's"
    assert sum(len(c.outputs) for c in code) >= len(code) / 2


def test_every_page_with_code_has_a_notebook_and_a_button():
    with_code = {f"lectures/{p.stem}" for p in (ROOT / "lectures").glob("*.md") if page(p).cells}
    with_code |= {f"labs/{p.stem}" for p in (ROOT / "labs").glob("*.py")}
    assert with_code == {p.relative_to(SITE / "notebooks").with_suffix("").as_posix() for p in NOTEBOOKS}
    for name in with_code:
        assert f"../notebooks/{name}.ipynb" in parsed(SITE / f"{name}.html").links


def test_published_notebooks_are_those_of_the_cache():
    """A published output changed by hand is found even where nbval does not look."""
    kept = {}
    for base in (ROOT / "_build/.jupyter_cache").rglob("base.ipynb"):
        notebook = nbformat.read(base, as_version=4)
        kept[digest(notebook)] = base
    for path in NOTEBOOKS:
        assert digest(nbformat.read(path, as_version=4)) in kept, f"{path.name} is not what the build wrote"


def digest(notebook):
    cells = [(c.source, json.dumps(c.outputs, sort_keys=True)) for c in notebook.cells if c.cell_type == "code"]
    return hashlib.sha256(json.dumps(cells).encode()).hexdigest()


def test_claims_lead_back_to_their_lecture():
    text = (SITE / "lectures/claims.html").read_text(encoding="utf8")
    assert 'href="stride.html#witness-c05-06"' in text and 'href="stride.html#said-c05-05"' in text
    assert text.count('id="claim-') == 129


def test_weight_of_the_html():
    sizes = {p.name: len(gzip.compress(p.read_bytes(), 6)) for p in PAGES}
    assert max(sizes.values()) < 60_000, sizes
