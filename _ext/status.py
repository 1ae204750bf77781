"""``{run-status}``: when, where and how long each page's cells ran, and what was checked, from the run itself.

``execute.py`` leaves one line per page beside the cached notebooks. A page with code and no line fails the build: what was
not run is not shown as if it had been.
"""

from pathlib import Path

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from _ext import execute, keys

PAGE = "lectures/status"
HEAD = ("page", "ran (UTC)", "took", "cells", "witnesses", "cells compared")


class RunStatus(SphinxDirective):
    def run(self):
        root = Path(self.env.srcdir)
        runs = execute.kept(keys.cache_path(root))
        pages = [p.relative_to(root).with_suffix("").as_posix() for p in execute.notebooks(root)]
        if missing := [page for page in pages if page not in runs]:
            where = "python -m _ext.build runs them"
            return [
                self.state.document.reporter.error(f"no run of {', '.join(missing)} is kept: {where}", line=self.lineno)
            ]
        machines = dict.fromkeys(runs[page]["machine"] for page in pages)
        lines = [nodes.paragraph("", f"On {machine}.") for machine in machines]
        total = {
            name: sum(runs[page][name] for page in pages) for name in ("seconds", "cells", "witnesses", "compared")
        }
        rows = [self._row(page, runs[page]) for page in pages]
        rows.append(
            ["all", "", f"{total['seconds']:.0f}\u00a0s", *(str(total[n]) for n in ("cells", "witnesses", "compared"))]
        )
        return [table(HEAD, rows), *lines]

    def _row(self, page, run):
        uri = self.env.app.builder.get_relative_uri(self.env.docname, page)
        link = nodes.reference("", page, refuri=uri, internal=True)
        numbers = (str(run[name]) for name in ("cells", "witnesses", "compared"))
        return [
            link,
            run["when"][:16].replace("T", "\u00a0").replace("-", "\u2011"),
            f"{run['seconds']:.1f}\u00a0s",
            *numbers,
        ]


def table(head, rows):
    """A docutils table of texts and nodes."""
    group = nodes.tgroup("", *(nodes.colspec("", colwidth=1) for _ in head), cols=len(head))
    group += nodes.thead("", _line(head))
    group += nodes.tbody("", *(_line(row) for row in rows))
    return nodes.table("", group, classes=["tl-numbers"])


def _line(cells):
    line = nodes.row()
    for cell in cells:
        line += nodes.entry("", nodes.paragraph("", "", cell if isinstance(cell, nodes.Node) else nodes.Text(cell)))
    return line


def env_get_outdated(app, env, added, changed, removed):
    return [PAGE] if PAGE in env.found_docs else []  # its text follows from every other page


def setup(app):
    app.add_directive("run-status", RunStatus)
    app.connect("env-get-outdated", env_get_outdated)
    return {"version": "1", "parallel_read_safe": True}
