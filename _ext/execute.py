"""Run the notebooks whose outputs are not in the cache, several at once, before Sphinx runs: the build then executes nothing.

What ran when, where and how long is kept beside the outputs, for the page that tells it.
"""

import hashlib
import json
import os
import platform
import shutil
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from _ext.keys import cache_path

RUNS = "runs.json"
UNCHECKED = {"nbval-ignore-output", "skip-execution"}


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
    known, pages = kept(here), notebooks(root)
    asked = [p for p in pages if known.get(name(root, p), {}).get("text") != text_hash(p)]
    if not asked:  # reading the pages only to find that would take longer than all the rest
        print(f"  0 executed, {len(pages)} from the cache", flush=True)
        return {}
    from jupyter_cache import get_cache
    from jupyter_cache.base import CacheBundleIn
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError, CellTimeoutError

    cache = get_cache(str(here))
    todo, ran = [], {}
    for path in asked:
        record = cache.add_nb_to_project(str(path), read_data=reader(path))
        page = name(root, path)
        if page in known and cache.get_cached_project_nb(record.uri) is not None:
            ran[page] = known[page] | {"text": text_hash(path)}  # its prose changed, its cells did not
        else:
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
            told = {"when": datetime.now(UTC).isoformat(), "seconds": seconds, "machine": machine()}
            ran[name(root, path)] = told | {"text": text_hash(path)} | counts(notebook)
    merged = known | ran
    told = {
        page: merged[page] for page in (name(root, p) for p in pages) if page in merged
    }  # pages that left the toc go
    (here / RUNS).write_text(json.dumps(told, indent=1), encoding="utf8")
    print(f"  {len(todo) - len(failed)} executed, {len(pages) - len(todo)} from the cache", flush=True)
    return failed


def kept(cache):
    """What ``execute`` noted in a cache: {page: {when, seconds, machine, text, cells, witnesses, compared}}."""
    path = cache / RUNS
    return json.loads(path.read_text(encoding="utf8")) if path.exists() else {}


def text_hash(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def name(root, path):
    """A page's name in the site, without suffix."""
    return path.relative_to(root).with_suffix("").as_posix()


def counts(notebook):
    """Cells with code, witnesses they show, and cells whose outputs a second run is compared with."""
    code = [c for c in notebook.cells if c.cell_type == "code" and c.source.strip()]
    texts = ["".join(o.get("data", {}).get("text/html", "")) for c in code for o in c.get("outputs", [])]
    return {
        "cells": len(code),
        "witnesses": sum(text.count('class="tl-witness"') for text in texts),
        "compared": sum(not UNCHECKED & set(c.metadata.get("tags", [])) for c in code),
    }


def machine():
    """Processor, system and versions that a run's outputs come from, as one line."""
    model = platform.processor() or platform.machine()
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf8").splitlines()
        model = next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        pass
    versions = f"Python {platform.python_version()}, torch {version('torch')}"
    return f"{model}, {os.cpu_count()} cores, no GPU used; {platform.system()}, {versions}"


if __name__ == "__main__":
    sys.exit(bool(execute(Path.cwd())))
