"""Published notebooks keep their outputs.

myst-nb 1.4.0 writes the notebook that readers download from the one it parsed, not from the one it took out of the cache:
on a cache hit every output would be missing. The cached cells are copied back; a published notebook without them fails.
"""

from pathlib import Path

import nbformat
from myst_nb.core.execute.cache import NotebookClientCache
from sphinx.util import logging

log = logging.getLogger(__name__)
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


def build_finished(app, error):
    if error or app.builder.format != "html":
        return
    for path in sorted(Path(app.outdir, "_sources").rglob("*.ipynb")):
        for number in without_run(path):
            log.warning("%s: code cell %d was published without a run", path.name, number, type="notebooks")


def setup(app):
    NotebookClientCache.start_client = start_client
    app.connect("build-finished", build_finished)
    return {"version": "1", "parallel_read_safe": True}
