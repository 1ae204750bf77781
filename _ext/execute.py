"""Run the notebooks whose outputs are not in the cache, several at once, before Sphinx runs: the build then executes nothing."""

import os
import shutil
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from jupyter_cache import get_cache
from jupyter_cache.base import CacheBundleIn
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError

from _ext.keys import cache_path


def notebooks(root):
    """Pages of the toc that hold code cells, in the toc's order."""
    from sphinx_external_toc.parsing import parse_toc_yaml

    toc = parse_toc_yaml(root / "_toc.yml")
    paths = [root / f"{name}.{'py' if name.startswith('labs/') else 'md'}" for name in toc]
    missing = [str(p.relative_to(root)) for p in paths if not p.exists()]
    if missing:
        raise FileNotFoundError(f"_toc.yml lists {', '.join(missing)}, which does not exist")
    return [p for p in paths if p.suffix == ".py" or "{code-cell}" in p.read_text(encoding="utf8")]


def reader(path):
    """How jupyter-cache reads a page: MyST by myst-nb, a lab's percent script by jupytext."""
    if path.suffix == ".py":
        return {"name": "jupytext", "type": "plugin"}
    return {"name": "myst_nb_md", "type": "plugin"}


def execute(root, workers=None, timeout=300):
    """Fill the cache; returns the pages that raised, as {path: the cell's error}. Caches of other environments go."""
    os.environ.setdefault(
        "OMP_NUM_THREADS", "1"
    )  # with several kernels at once more threads only get in each other's way
    here = cache_path(root)
    for other in here.parent.glob("*"):
        if other != here:
            shutil.rmtree(other)
    here.mkdir(parents=True, exist_ok=True)
    cache = get_cache(str(here))
    todo = []
    for path in notebooks(root):
        record = cache.add_nb_to_project(str(path), read_data=reader(path))
        if cache.get_cached_project_nb(record.uri) is None:
            todo.append((path, record, cache.get_project_notebook(record.uri).nb))

    def run(job):
        path, _, notebook = job
        start, error = time.monotonic(), None
        quiet = ["--IPKernelApp.log_level=40"]  # no warning that the kernel's local TCP is not encrypted
        where = {"metadata": {"path": str(path.parent)}}
        # record_timing would enter each cell's metadata, and so the cache's key
        client = NotebookClient(notebook, timeout=timeout, resources=where, extra_arguments=quiet, record_timing=False)
        try:
            client.execute()
        except (CellExecutionError, CellTimeoutError, RuntimeError) as problem:
            error = str(problem)
        seconds = time.monotonic() - start
        print(f"  {path.relative_to(root)}: {'raised' if error else 'ran'}, {seconds:.1f} s", flush=True)
        return job, error, seconds

    failed = {}
    with ThreadPoolExecutor(workers or os.cpu_count()) as pool:
        for (path, record, notebook), error, seconds in pool.map(run, todo):
            if error:
                failed[path] = error
                continue
            bundle = CacheBundleIn(notebook, record.uri, data={"execution_seconds": seconds})
            cache.cache_notebook_bundle(bundle, check_validity=False, overwrite=True)
    print(f"  {len(todo) - len(failed)} executed, {len(notebooks(root)) - len(todo)} from the cache", flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(bool(execute(Path.cwd())))
