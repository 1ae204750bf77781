"""The notebooks as published, run where Colab's old front end is: ipywidgets 7.7, IPython 7.34 and what goes with them.

``python -m tests.colab`` (``make test-all``) adds the library to an environment like Colab's the way a notebook's install
cell does, and runs the notebooks with nbval outside the checkout. nbval is this environment's, the kernel is the other's,
found through a kernelspec: the other then holds what Colab has and no test tool. nbval lets ``--nbval-current-env`` win over
``--nbval-kernel-name`` in silence, so each notebook begins with a cell that tells whose kernel runs it.
"""

import json
import re
import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import nbformat

from _ext import bundle
from tests.colab_environment import (
    HERE,
    LIST,
    OURS,
    PYTHON,
    ROOT,
    VENV,
    Failed,
    call,
    environment,
    installed,
    last_words,
    listed,
    prepare,
)

PUBLISHED = ROOT / "_build" / "html" / "notebooks"
KERNEL = "threeledgers-colab"
NBVAL = (
    "-q -n 2 --dist loadfile --color no -c pyproject.toml -p no:cacheprovider -p tests.nbval_site -p tests.colab_rules"
    f" --nbval --nbval-kernel-name {KERNEL} --nbval-cell-timeout 300"
)
UNCHECKED = {"nbval-ignore-output", "nbval-skip", "skip-execution"}
PROBE = """def tell():
    from importlib import import_module, metadata, util
    from pathlib import Path
    import sys

    print(sys.prefix)
    print(*(import_module(name).__version__ for name in ("IPython", "ipywidgets")))
    print(*(metadata.version(name) for name in {names}))
    print(*(Path(util.find_spec(name).origin or "").is_relative_to(sys.prefix) for name in ("threeledgers", "threeledgers.cli")))
    print(all(Path(p).is_relative_to(sys.prefix) for p in util.find_spec("threeledgers_labs").submodule_search_locations))


tell()
del tell"""


def install_cell():
    """Source of the notebooks' install cell, or "" where none has one. Raises Failed unless all have the same."""
    found = {}
    for path in sorted(PUBLISHED.rglob("*.ipynb")):
        tagged = [c.source for c in nbformat.read(path, as_version=4).cells if "install" in c.metadata.get("tags", [])]
        found.setdefault("\n\n".join(tagged), []).append(path.stem)
    if not found:
        raise Failed("no published notebooks under _build/html/notebooks: make site makes them")
    if len(found) > 1:
        raise Failed(f"the install cells differ between {' and '.join(pages[0] for pages in found.values())}")
    return next(iter(found))


def with_wheel(source, wheel):
    """The install cell with our wheel where it names the repository. Raises Failed unless it installs ours and nothing else."""
    lines = re.findall(r"^\s*[%!]\s*pip\b.*$", source, re.M)
    words = [word for line in lines for word in shlex.split(line)[2:] if not word.startswith("-")]
    ours = re.fullmatch(rf"{OURS}|{OURS} ?@ ?\S+|(?:\S*/)?{OURS}-[^/\s]+\.whl", words[0]) if len(words) == 1 else None
    if len(lines) != 1 or not ours:
        raise Failed(
            f"the install cell must install {OURS} and nothing else, by one %pip line; it has {lines or 'none'}"
        )
    head = re.match(r"\s*%pip install(?: -\S+)* ", lines[0])
    if not head:
        raise Failed(
            f"the install cell must begin its line with %pip install, so that the kernel's own pip runs: {lines[0]!r}"
        )
    return source.replace(lines[0], head[0] + shlex.quote(str(wheel)))


def install():
    """The library, as the install cell brings it; returns what was added, by name. Raises Failed when anything else changed."""
    before = installed()
    try:
        wheel = bundle.wheel(ROOT, HERE)
    except RuntimeError as error:
        raise Failed(str(error)) from None
    cell = install_cell()
    with (
        tempfile.TemporaryDirectory() as empty
    ):  # from the checkout the cell would find the library and install nothing
        if cell:
            done = call(
                PYTHON, "-m", "IPython", "-c", with_wheel(cell, wheel), failing="the install cell raises", cwd=empty
            )
        else:
            done = call(
                PYTHON, "-m", "pip", "install", "-q", wheel, failing="pip could not install the wheel", cwd=empty
            )
    after = installed("after.txt")
    if OURS not in after:
        raise Failed(f"the install cell ran and did not install {OURS}:\n{last_words(done)}")
    if changed := [f"{n} {v} → {after.get(n, 'gone')}" for n, v in before.items() if after.get(n) != v]:
        raise Failed(f"installing {OURS} changes what Colab has: {', '.join(changed)}")
    added = {n: v for n, v in after.items() if n not in before}
    if more := [f"{n} {v}" for n, v in added.items() if n != OURS]:
        raise Failed(f"installing {OURS} adds {', '.join(more)}: if Colab has it, it belongs into {LIST.name}")
    call(PYTHON, "-m", "pip", "check", failing="after the install pip is not content")
    return added


def probe():
    """A cell that tells whose kernel runs it, and the text it must print."""
    names = ("ipykernel", "traitlets", "anywidget", "numpy", "matplotlib")
    pins = listed()
    lines = [str(VENV), f"{pins['ipython']} {pins['ipywidgets']}", " ".join(pins[n] for n in names)]
    lines += ["True True", "True", ""]
    output = nbformat.v4.new_output("stream", name="stdout", text="\n".join(lines))
    return nbformat.v4.new_code_cell(PROBE.format(names=names), outputs=[output], execution_count=1)


def copies(folder):
    """The published notebooks under ``folder``, with a probe, and install cells that run; returns {page: cells to be compared}."""
    due = {}
    for path in sorted(PUBLISHED.rglob("*.ipynb")):
        notebook, name = nbformat.read(path, as_version=4), path.relative_to(PUBLISHED)
        for cell in notebook.cells:
            if "install" in (tags := cell.metadata.get("tags", [])):
                cell.metadata["tags"] = [t for t in tags if t != "skip-execution"]
                cell.outputs, cell.execution_count = [], 1  # the library is there: it has nothing to do and to say
        notebook.cells.insert(0, probe())
        code = [c for c in notebook.cells if c.cell_type == "code" and not UNCHECKED & set(c.metadata.get("tags", []))]
        due[name.with_suffix("").as_posix()] = len(code)
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        nbformat.write(notebook, folder / name)
    return due


def rerun():
    """nbval over the copies, away from the checkout; returns its closing lines. Raises Failed unless each cell was compared."""
    spec = HERE / "jupyter" / "kernels" / KERNEL / "kernel.json"
    spec.parent.mkdir(parents=True, exist_ok=True)
    argv = [str(PYTHON), "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    spec.write_text(json.dumps({"argv": argv, "display_name": KERNEL, "language": "python"}), encoding="utf8")
    with tempfile.TemporaryDirectory(prefix="colab-") as away:
        due = copies(Path(away, "notebooks"))
        compared = Path(away, "_build", "compared.json")  # nbval_site writes it under pytest's root
        compared.parent.mkdir()
        command = [sys.executable, "-m", "pytest", *NBVAL.split(), "--rootdir", away, str(Path(away, "notebooks"))]
        done = subprocess.run(command, cwd=ROOT, env=environment(), capture_output=True, text=True)
        seen = json.loads(compared.read_text(encoding="utf8")) if compared.exists() else {}
    (HERE / "nbval.txt").write_text(done.stdout + done.stderr, encoding="utf8")
    lines = done.stdout.splitlines()
    if done.returncode:
        bad = [re.sub(r"\S*/notebooks/", "", line) for line in lines if line.startswith(("FAILED", "ERROR"))]
        about = "notebooks run otherwise than published, see _build/colab/nbval.txt (Cell 0 tells whose kernel it is):"
        raise Failed("\n  ".join([about, *(bad or (done.stdout + done.stderr).splitlines()[-8:])]))
    if seen != due or not sum(due.values()):
        raise Failed(f"not every cell was compared: due {due}, compared {seen}")
    return [line for line in lines if line.startswith(("nbval:", "rules:")) or " passed" in line]


def main():
    begin = time.monotonic()

    def step(text):
        print(f"colab: {text} ({time.monotonic() - begin:.0f} s)", flush=True)

    try:
        step("1/4 the environment that Colab has")
        prepare()
        step("2/4 the library, by the notebooks' install cell")
        added = install()
        names = ", ".join(f"{n} {v}" for n, v in added.items())
        step(f"3/4 added {names}, and none of {len(listed())} packages changed; now the notebooks")
        for line in rerun():
            print(f"  {line}")
    except Failed as error:
        sys.exit(f"colab: {error}")
    step("4/4 every notebook ran and was compared")


if __name__ == "__main__":
    main()
