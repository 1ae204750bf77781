"""The built site as files: notebooks read like their page and hold their runs, claims lead back, the status page tells the run."""

import gzip
import hashlib
import json
import re

import jupytext
import nbformat
import pytest

from tests.html_page import PAGES, parsed
from tests.pages import ROOT, SITE, page

pytestmark = pytest.mark.site
NOTEBOOKS = sorted((SITE / "notebooks").rglob("*.ipynb"))
each_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.relative_to(SITE).as_posix())


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
    assert "install" in code[0].metadata.tags and code[0].execution_count is None
    assert [c.source for c in code[1:]] == cells_of(path), "code cells equal the page's"
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
    code = [c for c in notebook.cells if c.cell_type == "code" and "install" not in c.metadata.get("tags", [])]
    cells = [(c.source, json.dumps(c.outputs, sort_keys=True)) for c in code]
    return hashlib.sha256(json.dumps(cells).encode()).hexdigest()


def test_claims_lead_back_to_their_lecture():
    text = (SITE / "lectures/claims.html").read_text(encoding="utf8")
    assert 'href="stride.html#witness-c05-06"' in text and 'href="stride.html#said-c05-05"' in text
    assert text.count('id="claim-') == 129


def test_weight_of_the_html():
    sizes = {p.name: len(gzip.compress(p.read_bytes(), 6)) for p in PAGES}
    assert max(sizes.values()) < 55_000, sizes


def test_the_status_page_tells_what_was_run_and_compared():
    """Its counts are those of the notebooks, and of the second run that nbval made of them (make test, step 4)."""
    told = {}
    for row in re.findall(r"<tr.*?</tr>", (SITE / "lectures/status.html").read_text(encoding="utf8"), re.S):
        cells = [re.sub(r"<[^>]+>|\s+", "", cell) for cell in re.findall(r"<td.*?</td>", row, re.S)]
        if cells and cells[0] != "all":
            told[cells[0]] = [int(c) for c in cells[3:]]
    assert set(told) == {p.relative_to(SITE / "notebooks").with_suffix("").as_posix() for p in NOTEBOOKS}
    for path in NOTEBOOKS:
        code = [c for c in nbformat.read(path, as_version=4).cells if c.cell_type == "code"][1:]
        outputs = json.dumps([c.outputs for c in code])
        cells, witnesses, compared = told[path.relative_to(SITE / "notebooks").with_suffix("").as_posix()]
        assert cells == len(code) and witnesses == outputs.count('class=\\"tl-witness\\"')
        ignored = [c for c in code if "nbval-ignore-output" in c.metadata.get("tags", [])]
        assert compared == len(code) - len(ignored)
    kept = ROOT / "_build/compared.json"
    assert kept.exists(), "nbval has not run over the published notebooks: make test does it before this"
    assert json.loads(kept.read_text()) == {page: counts[2] for page, counts in told.items() if counts[2]}
