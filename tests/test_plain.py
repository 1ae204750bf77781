"""The notebooks that readers download: plain Markdown, one install cell, nothing raw left; what has no plain form is named."""

import json
import re
from pathlib import Path
from types import SimpleNamespace

import nbformat
import pytest

from _ext import plain
from _ext.address import Address
from _ext.notebooks import INSTALL, requirement, wheel_name
from tests.pages import ROOT, SITE

NOTEBOOKS = sorted((SITE / "notebooks").rglob("*.ipynb"))
each_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.relative_to(SITE).as_posix())
RAW = re.compile(r"\{[a-z][\w:-]*\}`|^\s*(?:`{3,}|:{3,})\{|^:{3,}|^\([\w-]+\)=\s*$|attachment:|\{\{|^%", re.M)


@pytest.fixture
def page(tmp_path, monkeypatch):
    """A page of a book that has two pages, and the warnings it gave."""
    source = tmp_path / "lectures" / "here.md"
    source.parent.mkdir()
    labels = {"there": ("lectures/there", "there", "The other page"), "bare": ("lectures/there", "bare")}
    domain = SimpleNamespace(labels=labels, anonlabels={}, citations=[])
    titles = {f"lectures/{n}": SimpleNamespace(astext=lambda n=n: n) for n in ("here", "there")}
    env = SimpleNamespace(doc2path=lambda doc: str(source), get_domain=lambda name: domain, titles=titles)
    config = SimpleNamespace(
        myst_enable_extensions=["amsmath", "colon_fence", "deflist", "dollarmath"], tl_address="\n\n"
    )
    app = SimpleNamespace(env=env, srcdir=str(tmp_path), outdir=tmp_path / "html", config=config)
    made = plain.Page(app, "lectures/here")
    made.said = []
    monkeypatch.setattr(plain.log, "warning", lambda text, *words, **k: made.said.append((text % words, k["location"])))

    def read(text):
        source.write_text("---\nfront: matter\n---\n\n" + text, encoding="utf8")
        return made.markdown(text)

    made.read = read
    return made


FOLDED = "<details>\n<summary><b>{}</b></summary>\n\n{}\n\n</details>"
GOOD = {
    "(label)=\n# Title": "# Title",
    "{literal}`4 bytes` and `{literal}`": "4 bytes and `{literal}`",
    "a | {quantity}`t4.sms \\| 1 .0f` | b": "a | 40 | b",
    "{ref}`words <there>`, {ref}`there`": "words, The other page",
    "[](there.md) [text](there.md#bare) [out](https://x.org)": "there text [out](https://x.org)",
    ":::{dropdown} Open {literal}`me`\nInside $x$.\n:::": FOLDED.format("Open me", "Inside $x$."),
    "::::{exercise} x-1\n:label: x-1\n:nonumber:\n\nHow many?\n\n- (a) one\n::::": "**Exercise x-1**\n\nHow many?\n\n- (a) one",
    "::::{solution} x-1\n:class: dropdown\n\nTwo.\n::::": FOLDED.format("Solution to x-1", "Two."),
    "```{note}\nMind {literal}`3 ms`.\n```": "> **Note**\n>\n> Mind 3 ms.",
    "```python\nx = '{ref}`a`'\n```": "```python\nx = '{ref}`a`'\n```",
    "$$\na = b\n$$ (eq)": "$$\na = b\n$$",
    "```{math}\n:label: eq\na = b\n```": "$$\na = b\n$$",
    "Term\n: What it {literal}`is`.": "**Term**: What it is.",
    "% a comment\ntext": "text",
    "::::{grid} 1 2\n:gutter: 2\n\n:::{grid-item-card} One\nBody.\n:::\n::::": "**One.** Body.",
}


@pytest.mark.parametrize("myst, markdown", GOOD.items())
def test_what_myst_becomes(page, myst, markdown):
    assert page.read(myst) == markdown and not page.said


BAD = {
    "text\n\n:::{sidebar} x\nbody\n:::": ("directive {sidebar} has no plain form yet", "lectures/here:7"),
    "see {ref}`gone`": ("nothing known by the name 'gone'", "lectures/here:5"),
    "see {cite}`nobody`": ("no source 'nobody' in the bibliography", "lectures/here:5"),
    "see {unknownrole}`x`": ("nothing known by the name 'x'", "lectures/here:5"),
    "{quantity}`t9.sms`": ("no spec 't9'", "lectures/here:5"),
    "{given}`stride-1.nothing`": ("has no given 'nothing'", "lectures/here:5"),
    "{claim}`C99-01`": ("no claim 'C99-01'", "lectures/here:5"),
    "[x](gone.md)": ("leads to no page", "lectures/here:5"),
    "![x](gone.png)": ("no image 'gone.png'", "lectures/here:5"),
}


@pytest.mark.parametrize("myst, said", BAD.items())
def test_what_has_no_plain_form_is_named_with_its_line(page, myst, said):
    page.read(myst)
    ((text, where),) = page.said
    assert said[0] in text and where == said[1]


def test_small_pictures_travel_inside(page):
    (Path(page.source).parent / "dot.svg").write_text("<svg/>")
    assert page.read("![a dot](dot.svg)") == "![a dot](data:image/svg+xml;base64,PHN2Zy8+)"


def test_pip_is_given_the_library_and_nothing_else():
    revision = "0" * 40
    assert requirement(Address(), {}) == f"../../wheel/{wheel_name()}"
    on_github = Address("someone/book")
    assert requirement(on_github, {}) == '"threeledgers @ git+https://github.com/someone/book"'
    assert requirement(on_github, {"GITHUB_SHA": revision}).endswith(f'book@{revision}"')
    assert requirement(on_github, {"GITHUB_SHA": "main; rm -rf"}) == requirement(on_github, {})
    assert re.fullmatch(r"threeledgers-[\d.]+-py3-none-any\.whl", wheel_name())


@pytest.mark.site
@each_notebook
def test_nothing_raw_is_left(path):
    notebook = nbformat.read(path, as_version=4)
    text = "\n".join(
        re.sub(r"^(`{3,})[^{]*?^\1$", "", c.source, flags=re.M | re.S)
        for c in notebook.cells
        if c.cell_type == "markdown"
    )
    assert not RAW.findall(text)
    first, install, *rest = notebook.cells
    source = path.relative_to(SITE / "notebooks").with_suffix("").as_posix()
    assert re.search(rf"`{source}\.(?:md|py)`", first.source) and install.source.startswith(INSTALL[:40])
    assert sum("install" in c.metadata.get("tags", []) for c in notebook.cells) == 1
    assert rest[0].source.startswith("# ") and "\n\n" in text
    if source.startswith("labs/"):
        assert notebook.metadata.accelerator == "GPU"
    hidden = [c for c in rest if {"remove-input", "hide-input"} & set(c.metadata.get("tags", []))]
    assert all(c.metadata.jupyter.source_hidden for c in hidden)
    assert str(ROOT) not in json.dumps(notebook)


@pytest.mark.site
def test_exercises_solutions_figures_and_sources_came_along():
    for slug in ("stride", "autograd"):
        path = SITE / "notebooks/lectures" / f"{slug}.ipynb"
        notebook = nbformat.read(path, as_version=4)
        text = "\n".join(c.source for c in notebook.cells if c.cell_type == "markdown")
        page = (ROOT / "lectures" / f"{slug}.md").read_text(encoding="utf8")
        assert text.count("**Exercise ") == page.count("{exercise}") == 7
        assert text.count("<b>Solution to ") == page.count("{solution}") == 7
        assert text.count("<details>") == text.count("</details>") == 7 + page.count("{dropdown}")
        assert "**Works cited**" in text and len(re.findall(r"^- ", text.partition("**Works cited**")[2], re.M)) >= 5
        outputs = json.dumps([c.outputs for c in notebook.cells if c.cell_type == "code"])
        assert outputs.count("<svg") >= 1 and 'src=\\\\"http' not in outputs


@pytest.mark.site
def test_citations_read_as_on_the_page():
    page = re.sub(r"<[^>]+>", "", (SITE / "lectures/autograd.html").read_text(encoding="utf8"))
    notebook = nbformat.read(SITE / "notebooks/lectures/autograd.ipynb", as_version=4)
    text = "\n".join(c.source for c in notebook.cells if c.cell_type == "markdown").partition("**Works cited**")[0]
    cited = re.findall(r"\[([A-Z][^\]\d]*, \d{4})\]", text)
    assert len(cited) >= 5 and not [c for c in cited if c.replace("*", "") not in page]
