"""nbval over the notebooks as published: what a reader gets by running one is compared with what the site shows.

The references were made by nbclient during the build. nbval 0.11.0 runs them a little differently (1 to 3 remove that), and
it passes without looking when a cell holds no stored run (4 makes that a failure).
"""

import json
from collections import Counter
from pathlib import Path

import pytest
from nbval import kernel, plugin

BUILT, SOURCE = "_build/html/notebooks/", ""

plugin.metadata_tags["skip-execution"] = "skip"  # 1. myst-nb's own tag


class SiteKernel(kernel.RunningKernel):
    def __init__(self, kernel_name, cwd=None, **keywords):
        here = cwd and str(Path(cwd).as_posix()).replace(BUILT, SOURCE)  # 2. run where the page lies
        super().__init__(kernel_name, cwd=here, **keywords)

    def execute_cell_input(self, cell_input, allow_stdin=None):
        # 3. with history, so that a trailing ";" hides the value as it does on the page
        return self.kc.execute(cell_input, store_history=True, allow_stdin=allow_stdin, stop_on_error=False)


plugin.RunningKernel = SiteKernel
_runtest, _compare = plugin.IPyNbCell.runtest, plugin.IPyNbCell.compare_outputs


def runtest(self):
    if not self.options["skip"] and self.cell.execution_count is None:  # 4. no silent pass
        self.raise_cell_error("no stored run to compare with (execution_count is None)")
    _runtest(self)


def compare_outputs(self, test, ref, skip_compare=None):
    self.user_properties.append(("compared", len(ref)))  # travels through xdist
    return _compare(self, test, ref, skip_compare)


plugin.IPyNbCell.runtest, plugin.IPyNbCell.compare_outputs = runtest, compare_outputs


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter, config):
    reports = [r for rs in terminalreporter.stats.values() for r in rs if getattr(r, "when", "") == "call"]
    counts = [n for r in reports for key, n in r.user_properties if key == "compared"]
    pages = Counter(r.nodeid.partition("::")[0] for r in reports for key, _ in r.user_properties if key == "compared")
    cells = {name.partition("notebooks/")[2].removesuffix(".ipynb"): n for name, n in pages.items()}
    Path(config.rootpath, "_build", "compared.json").write_text(json.dumps(cells), encoding="utf8")
    terminalreporter.write_line(f"nbval: {len(counts)} cells compared with {sum(counts)} published outputs")
