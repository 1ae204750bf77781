"""The notebooks as published, run where Colab's old front end is: ipywidgets 7.7, IPython 7.34 and what goes with them.

``python -m tests.colab`` (``make test-all``) keeps an environment of ``colab-preinstalled.txt`` under ``_build/colab``, adds
the library there the way a notebook's install cell does, and runs the notebooks with nbval outside the checkout. nbval is
this environment's, the kernel is the other's, found through a kernelspec: the other then holds what Colab has and no test
tool. nbval lets ``--nbval-current-env`` win over ``--nbval-kernel-name`` in silence, so each notebook begins with a cell that
tells whose kernel runs it.
"""

import hashlib
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import nbformat

from _ext import bundle

ROOT = Path(__file__).resolve().parent.parent
LIST = ROOT / "tests" / "colab-preinstalled.txt"
PUBLISHED = ROOT / "_build" / "html" / "notebooks"
HERE = ROOT / "_build" / "colab"
PYTHON = HERE / "venv" / "bin" / "python"
OURS, KERNEL = "threeledgers", "threeledgers-colab"
WITH_TORCH = ("appnope", "cuda-", "nvidia-", "triton")  # what a CUDA build of torch, or macOS, brings besides the list
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


class Failed(Exception):
    """A sentence that names what failed."""


def environment():
    """This process's environment without what would lead a kernel back to the checkout or to a reader's own settings."""
    kept = {k: v for k, v in os.environ.items() if not re.match(r"PYTHON|PYTEST|JUPYTER|IPYTHON|MPL|VIRTUAL_ENV", k)}
    mine = {
        "IPYTHONDIR": "ipython",
        "JUPYTER_PATH": "jupyter",
        "JUPYTER_CONFIG_DIR": "jupyter",
        "MPLCONFIGDIR": "matplotlib",
    }
    fixed = {"OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    return kept | fixed | {name: str(HERE / folder) for name, folder in mine.items()}


def call(*command, failing, cwd=HERE):
    """What a command prints; raises Failed with the sentence ``failing`` and the command's last words."""
    done = subprocess.run([str(c) for c in command], cwd=cwd, env=environment(), capture_output=True, text=True)
    if done.returncode:
        said = [line for line in (done.stderr + done.stdout).splitlines() if line.strip() and "WARNING" not in line]
        raise Failed(f"{failing}\n  " + "\n  ".join(said[-6:]))
    return done.stdout


def canonical(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def listed():
    """Versions of the list, by name. Raises Failed at a line that does not pin one."""
    lines = [line.strip() for line in LIST.read_text(encoding="utf8").splitlines()]
    pins = [re.fullmatch(r"([\w.-]+)==([\w.!-]+)", line) or line for line in lines if line and line[0] != "#"]
    if loose := [line for line in pins if isinstance(line, str)]:
        raise Failed(f"{LIST.name}: {', '.join(loose)}: each line must be name==version")
    return {canonical(m[1]): m[2] for m in pins}


def installed(note=None):
    """Versions in the second environment, by name, without the "+cpu" of a build; kept as ``note`` for a person."""
    text = call(PYTHON, "-m", "pip", "list", "--format=json", failing="pip does not list the second environment")
    found = {canonical(d["name"]): d["version"].partition("+")[0] for d in json.loads(text)}
    if note:
        (HERE / note).write_text("".join(f"{n}=={v}\n" for n, v in sorted(found.items())), encoding="utf8")
    return found


def prepare():
    """The second environment as Colab is before the install cell; made anew when list or Python changed, or pip added to it."""
    version = sys.version_info[:2]
    if not (3, 11) <= version <= (3, 13):
        raise Failed(
            f"Colab's packages exist for Python 3.11 to 3.13, this is {version[0]}.{version[1]}; try make PYTHON=python3.13"
        )
    stamp, key = HERE / "stamp", hashlib.sha256(LIST.read_bytes() + sys.version.encode()).hexdigest()
    HERE.mkdir(parents=True, exist_ok=True)
    if stamp.exists() and stamp.read_text() == key and PYTHON.exists():
        call(PYTHON, "-m", "pip", "uninstall", "--yes", OURS, failing="the library of the last run stays")
        if not wrong(installed("before.txt")):
            return
    print("  making it: about two minutes and 1.3 GB", flush=True)
    stamp.unlink(missing_ok=True)
    call(
        sys.executable,
        "-m",
        "venv",
        "--clear",
        HERE / "venv",
        failing="no environment under _build/colab; on Debian: apt install python3-venv",
    )
    why = f"pip could not install {LIST.name} (no network, or a version is gone)"
    call(PYTHON, "-m", "pip", "install", "--only-binary", ":all:", "-r", LIST, failing=why)
    call(PYTHON, "-m", "pip", "check", failing=f"{LIST.name} does not fit together")
    if problems := wrong(installed("before.txt")):
        raise Failed(f"{LIST.name} is not what pip made of it: {'; '.join(problems)}")
    stamp.write_text(key)


def wrong(found):
    """How an environment differs from the list."""
    pins = listed()
    differ = [f"{n} {v} → {found.get(n, 'missing')}" for n, v in pins.items() if found.get(n) != v]
    return differ + [f"{n} {found[n]} is not listed" for n in found if n not in pins and not n.startswith(WITH_TORCH)]


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
            said = call(
                PYTHON, "-m", "IPython", "-c", with_wheel(cell, wheel), failing="the install cell raises", cwd=empty
            )
        else:
            said = call(
                PYTHON, "-m", "pip", "install", "-q", wheel, failing="pip could not install the wheel", cwd=empty
            )
    after = installed("after.txt")
    if OURS not in after:
        raise Failed(f"the install cell ran and did not install {OURS}:\n  {said.strip()[-800:]}")
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
    lines = [
        str(HERE / "venv"),
        f"{pins['ipython']} {pins['ipywidgets']}",
        " ".join(pins[n] for n in names),
        "True True",
        "True",
    ]
    output = nbformat.v4.new_output("stream", name="stdout", text="\n".join(lines) + "\n")
    return nbformat.v4.new_code_cell(PROBE.format(names=names), outputs=[output], execution_count=1)


def copies(folder):
    """The published notebooks under ``folder``, each with a probe, install cell not skipped; returns how many cells must be compared."""
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
    """nbval over the copies, away from the checkout; returns its closing lines. Raises Failed unless all that is due was compared."""
    spec = HERE / "jupyter" / "kernels" / KERNEL / "kernel.json"
    spec.parent.mkdir(parents=True, exist_ok=True)
    argv = [str(PYTHON), "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    spec.write_text(
        json.dumps({"argv": argv, "display_name": "Colab's old front end", "language": "python"}), encoding="utf8"
    )
    log, options = (
        HERE / "nbval.txt",
        ["--nbval", "--nbval-kernel-name", KERNEL, "-n", "2", "--dist", "loadfile", "--color", "no"],
    )
    with tempfile.TemporaryDirectory(prefix="colab-") as away:
        due = copies(Path(away, "notebooks"))
        compared = Path(away, "_build", "compared.json")  # nbval_site writes it under pytest's root
        compared.parent.mkdir()
        plugins = [
            "-p",
            "tests.nbval_site",
            "-p",
            "tests.drawings",
            "-p",
            "no:cacheprovider",
            "-c",
            ROOT / "pyproject.toml",
        ]
        command = [sys.executable, "-m", "pytest", "-q", *plugins, *options, "--rootdir", away, Path(away, "notebooks")]
        done = subprocess.run([str(c) for c in command], cwd=ROOT, env=environment(), capture_output=True, text=True)
        log.write_text(done.stdout + done.stderr, encoding="utf8")
        seen = json.loads(compared.read_text(encoding="utf8")) if compared.exists() else {}
    if done.returncode:
        lines = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
        raise Failed(
            "\n  ".join(["notebooks differ in Colab's environment (_build/colab/nbval.txt tells all):", *lines])
        )
    if seen != due or sum(due.values()) == 0:
        raise Failed(f"not all was compared: due {due}, compared {seen}")
    return [line for line in done.stdout.splitlines() if line.startswith(("nbval:", "figures:")) or " passed" in line]


def main():
    begin = time.monotonic()

    def step(text):
        print(f"colab: {text} ({time.monotonic() - begin:.0f} s)", flush=True)

    try:
        step("1/4 the environment that Colab has")
        prepare()
        step("2/4 the library, by the notebooks' install cell")
        added = install()
        step(
            f"3/4 added {', '.join(f'{n} {v}' for n, v in added.items())}; none of {len(listed())} changed; the notebooks"
        )
        for line in rerun():
            print(f"  {line}")
    except Failed as error:
        sys.exit(f"colab: {error}")
    step("4/4 every notebook ran and was compared")


if __name__ == "__main__":
    main()
