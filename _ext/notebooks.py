"""Each page with code can be downloaded as a notebook that holds its outputs.

myst-nb 1.4.0 writes its executed notebook from the one it parsed, not from the one it took out of the cache: on a cache hit
every output would be missing. The cached cells are copied back, and a notebook without them is not published.
"""

import shutil
from pathlib import Path

import nbformat
from myst_nb.core.execute.cache import NotebookClientCache
from sphinx.errors import ExtensionError

_start_client = NotebookClientCache.start_client


def start_client(self):
    parsed = self.notebook
    _start_client(self)
    if self.notebook is not parsed:
        parsed.cells, parsed.metadata = self.notebook.cells, self.notebook.metadata


def without_run(path):
    """Numbers of the code cells of a notebook file that hold no stored run (cells tagged skip-execution aside)."""
    cells = nbformat.read(path, as_version=4).cells
    code = [c for c in cells if c.cell_type == "code" and "skip-execution" not in c.metadata.get("tags", [])]
    return [n for n, cell in enumerate(code, 1) if cell.execution_count is None and cell.source.strip()]


def published(app, docname):
    """Where myst-nb left the executed notebook of a page, or None for a page without code."""
    path = Path(app.outdir).parent / "jupyter_execute" / f"{docname}.ipynb"
    return path if path.exists() and docname in app.env.found_docs else None


def page_context(app, pagename, templatename, context, doctree):
    if doctree is None or published(app, pagename) is None:
        return
    link = {
        "type": "link",
        "url": context["pathto"](f"notebooks/{pagename}.ipynb", 1),
        "text": ".ipynb",
        "tooltip": "Download the notebook with its outputs",
        "icon": "fas fa-code",
        "label": "download-notebook-button",
    }
    for group in context.get("header_buttons") or []:
        if group.get("label") == "download-buttons":
            group["buttons"].insert(0, link)


def build_finished(app, error):
    if error or app.builder.format != "html":
        return
    folder = Path(app.outdir) / "notebooks"
    shutil.rmtree(folder, ignore_errors=True)
    for docname in sorted(app.env.found_docs):
        source = published(app, docname)
        if source is None:
            continue
        if empty := without_run(source):
            raise ExtensionError(f"{docname}: code cells {empty} have no stored run; nothing is published")
        target = folder / f"{docname}.ipynb"
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)


def setup(app):
    NotebookClientCache.start_client = start_client
    app.connect("html-page-context", page_context, priority=900)
    app.connect("build-finished", build_finished)
    return {"version": "1", "parallel_read_safe": True}
