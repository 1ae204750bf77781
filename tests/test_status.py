"""Honest execution: what was not run is neither published nor told, and what was run is told as it was."""

import json
from pathlib import Path
from types import SimpleNamespace

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from sphinx.errors import ExtensionError

from _ext import execute, keys, notebooks
from tests.pages import ROOT

WITNESS = new_output("display_data", {"text/html": '<div class="tl-witness"></div><div class="tl-witness"></div>'})
RUN = new_notebook(
    cells=[
        new_markdown_cell("# A page"),
        new_code_cell("witness(1, 1, 'x')", execution_count=1, outputs=[WITNESS]),
        new_code_cell("clock()", execution_count=2, metadata={"tags": ["nbval-ignore-output"]}),
        new_code_cell("%pip", metadata={"tags": ["skip-execution"]}),
        new_code_cell(""),
    ]
)


def test_counts_are_of_cells_witnesses_and_what_a_second_run_compares():
    assert execute.counts(RUN) == {"cells": 3, "witnesses": 2, "compared": 1}


def test_a_page_with_a_cell_that_did_not_run_is_not_published(tmp_path):
    source = tmp_path / "_build/jupyter_execute/lectures/page.ipynb"
    source.parent.mkdir(parents=True)
    env = SimpleNamespace(found_docs={"lectures/page"})
    app = SimpleNamespace(outdir=tmp_path / "_build/html", env=env, builder=SimpleNamespace(format="html"))
    notebook = nbformat.from_dict(json.loads(nbformat.writes(RUN)))
    notebook.cells[2].execution_count = None
    nbformat.write(notebook, source)
    with pytest.raises(
        ExtensionError, match=r"lectures/page: code cells \[2\] have no stored run; nothing is published"
    ):
        notebooks.build_finished(app, None)
    assert not list(app.outdir.rglob("*.ipynb"))


def book(folder, *pages):
    (folder / "lectures").mkdir()
    for page in pages:
        (folder / "lectures" / f"{page}.md").write_text("```{code-cell} python\n1\n```\n")
    rest = "".join(f"  - file: lectures/{page}\n" for page in pages[1:])
    (folder / "_toc.yml").write_text(
        f"format: jb-book\nroot: lectures/{pages[0]}\n" + (f"chapters:\n{rest}" if rest else "")
    )
    cache = keys.cache_path(folder)
    cache.mkdir(parents=True)
    return cache


def test_the_table_names_a_page_whose_run_is_not_kept(tmp_path):
    from _ext.status import RunStatus

    cache = book(tmp_path, "ran", "did_not")
    told = {"when": "2026-01-02T03:04:05+00:00", "seconds": 1.25, "machine": "a machine", "text": ""}
    (cache / execute.RUNS).write_text(json.dumps({"lectures/ran": told | execute.counts(RUN)}))
    said = []
    reporter = SimpleNamespace(error=lambda text, line: said.append(text))
    directive = RunStatus.__new__(RunStatus)
    document = SimpleNamespace(reporter=reporter, settings=SimpleNamespace(env=SimpleNamespace(srcdir=str(tmp_path))))
    directive.state, directive.lineno = SimpleNamespace(document=document), 1
    directive.run()
    assert said == ["no run of lectures/did_not is kept: python -m _ext.build runs them"]


def test_unchanged_pages_are_not_even_read(tmp_path, monkeypatch, capsys):
    cache = book(tmp_path, "ran")
    page = tmp_path / "lectures/ran.md"
    (cache / execute.RUNS).write_text(json.dumps({"lectures/ran": {"text": execute.text_hash(page)}}))
    monkeypatch.setitem(__import__("sys").modules, "jupyter_cache", None)
    assert execute.execute(tmp_path) == {} and "0 executed, 1 from the cache" in capsys.readouterr().out
    page.write_text(page.read_text() + "more\n")
    with pytest.raises(ImportError):
        execute.execute(tmp_path)


def test_the_machine_is_told_without_its_name():
    line = execute.machine()
    assert "torch 2" in line and "Python 3" in line and str(Path.home()) not in line and str(ROOT) not in line
