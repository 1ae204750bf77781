"""Each page with code is published as a notebook that reads like the page, runs by itself and holds its outputs.

The text is plain Markdown (``plain.py``). The first cell names the source, the second installs the course's library where it
is missing and nothing else. myst-nb 1.4.0 writes its executed notebook from the one it parsed, not from the one it took out
of the cache: on a cache hit every output would be missing. The cached cells are copied back, and a notebook without them is
not published.
"""

import os
import re
import shutil
import tomllib
from pathlib import Path

import nbformat
from myst_nb.core.execute.cache import NotebookClientCache
from sphinx.errors import ExtensionError

from _ext import address
from _ext.plain import Page

INSTALL = """# The course's library, where it is missing. Nothing else on this machine changes version.
import importlib.util

if importlib.util.find_spec("threeledgers") is None:
    %pip install --quiet {}"""
HIDDEN = {"hide-input", "hide-cell", "remove-input", "remove-cell"}
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


def requirement(here, environment=os.environ):
    """What pip is given: the repository at the revision of this build, or the wheel of the archive (``make zip``)."""
    if here.github:
        revision = environment.get("GITHUB_SHA", "")
        at = f"@{revision}" if re.fullmatch(r"[0-9a-f]{40}", revision) else ""
        return f'"threeledgers @ git+{here.github}{at}"'
    return f"../../wheel/{wheel_name()}"


def wheel_name():
    """File name of the library's wheel, from pyproject.toml beside this package."""
    project = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text(encoding="utf8"))["project"]
    return f"{project['name']}-{project['version']}-py3-none-any.whl"


def opening(here, source, docname):
    """The line that names the source, and what to press first."""
    where = f"[`{source}`]({here.site}{docname}.html)" if here.site else f"`{source}`"
    text = f"*A page of Three Ledgers, made from {where}: change that file, not this one.*"
    if source.startswith("labs/"):
        text += " *To measure, choose a runtime with a GPU; without one the lab uses the CPU and smaller sizes.*"
    return text


def plain(app, docname, executed):
    """The notebook to publish, from the executed one."""
    here, page = address.of(app), Page(app, docname)
    source = page.source.relative_to(app.srcdir).as_posix()
    cells = [
        nbformat.v4.new_markdown_cell(opening(here, source, docname)),
        nbformat.v4.new_code_cell(INSTALL.format(requirement(here)), metadata={"tags": ["install", "skip-execution"]}),
    ]
    for cell in executed.cells:
        if cell.cell_type == "markdown":
            cell.source = page.markdown(cell.source)
            if not cell.source:
                continue
        elif HIDDEN & set(cell.metadata.get("tags", [])):
            cell.metadata |= {"jupyter": {"source_hidden": True}, "cellView": "form"}  # JupyterLab's word, and Colab's
        cells.append(cell)
    if works := page.works():
        cells.append(nbformat.v4.new_markdown_cell(works))
    for number, cell in enumerate(cells):
        cell["id"] = f"{docname.replace('/', '-')}-{number:03d}"
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    if source.startswith("labs/"):
        metadata |= {"accelerator": "GPU", "colab": {"gpuType": "T4"}}
    if "widgets" in executed.metadata:
        metadata["widgets"] = executed.metadata["widgets"]
    notebook = nbformat.v4.new_notebook(cells=cells, metadata=metadata)
    nbformat.validate(notebook)
    return notebook


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
        nbformat.write(plain(app, docname, nbformat.read(source, as_version=4)), target)


def setup(app):
    NotebookClientCache.start_client = start_client
    app.connect("build-finished", build_finished)
    return {"version": "1", "parallel_read_safe": True}
