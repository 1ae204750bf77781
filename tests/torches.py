"""The library's tests with other versions of torch, each in an environment of its own under ``_build/torches``.

``python -m tests.torches`` (``make torches``) takes the oldest torch that ``pyproject.toml`` allows and the newest that pip
finds; ``python -m tests.torches 2.10 newest`` takes those named. Everything else is as ``requirements.txt`` pins it. What
is pinned to one torch's list of operators is marked ``operators`` and skipped elsewhere; FLOPs and bytes never are.
"""

import os
import re
import subprocess
import sys
import time
import tomllib
import xml.etree.ElementTree as ElementTree

import torch

from tests.colab_environment import ROOT, Failed, call

HERE = ROOT / "_build" / "torches"
REQUIREMENTS = ROOT / "requirements.txt"
LINE = re.compile(r"^torch==(\d+\.\d+)\S*$", re.M)
USAGE = "usage: python -m tests.torches [VERSION ...], each a version such as 2.9 or 2.10.0, or the word newest"


def pinned():
    """The torch whose operators the tests list, major and minor: that of requirements.txt."""
    return LINE.search(REQUIREMENTS.read_text(encoding="utf8"))[1]


def other(version, *names):
    """Why a test is skipped under a torch of this version, or None: it lists operators, or needs those named and one is missing."""
    if version.startswith(f"{pinned()}."):
        return None
    missing = [name for name in names if not hasattr(torch.ops.aten, name)]
    if names and not missing:
        return None
    return f"operators of torch {pinned()}{''.join(f' ({n})' for n in missing)}; this is torch {version}"


def oldest():
    """The oldest torch that pyproject.toml allows."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf8"))["project"]
    return next(m[1] for line in project["dependencies"] if (m := re.fullmatch(r"torch>=([\d.]+)", line)))


def requirements(wanted):
    """The text of requirements.txt with another torch: a version, or "newest"."""
    exact = wanted if wanted.count(".") > 1 else f"{wanted}.*"
    return LINE.sub("torch" if wanted == "newest" else f"torch=={exact}", REQUIREMENTS.read_text(encoding="utf8"))


def environment():
    """This process's environment without what would lead the tests to another library or torch."""
    return {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "PYTEST", "VIRTUAL_ENV"))} | {
        "PYTHONDONTWRITEBYTECODE": "1"
    }


def prepare(wanted):
    """The environment with this torch, as (its Python, torch's version); pip brings what it lacks, also after a break."""
    home = HERE / wanted
    python, listed = home / "venv" / "bin" / "python", home / "requirements.txt"
    home.mkdir(parents=True, exist_ok=True)
    listed.write_text(requirements(wanted), encoding="utf8")
    if not python.exists():
        why = f"no environment under {home.relative_to(ROOT)}; on Debian: apt install python3-venv"
        call(sys.executable, "-m", "venv", home / "venv", failing=why, cwd=ROOT)
    pip = (python, "-m", "pip", "install", "--quiet")
    why = f"pip could not install torch {wanted} with the rest of {REQUIREMENTS.name}"
    call(*pip, "--upgrade", "-r", listed, failing=why, cwd=ROOT)
    call(*pip, "--no-deps", "--no-build-isolation", "-e", ROOT, failing="pip could not install the library", cwd=ROOT)
    show = "import importlib.metadata as m; print(m.version('torch'))"
    done = call(python, "-c", show, failing=f"torch {wanted} is not there after its installation", cwd=ROOT)
    return python, done.stdout.strip()


def outcome(report):
    """Of a JUnit report: (tests that passed, {a skipped test: why}, tests that failed)."""
    passed, skipped, failed = 0, {}, []
    for case in ElementTree.parse(report).iter("testcase"):
        name = f"{case.get('classname').replace('.', '/')}.py::{case.get('name')}"
        if (skip := case.find("skipped")) is not None:
            skipped[name] = skip.get("message")
        elif case.find("failure") is not None or case.find("error") is not None:
            failed.append(name)
        else:
            passed += 1
    return passed, skipped, failed


def run(wanted, step):
    """The library's tests with one torch. Raises Failed when one fails."""
    step(f"an environment with torch {wanted}")
    python, version = prepare(wanted)
    step(f"torch {version}: what needs no site")
    report = HERE / wanted / "report.xml"
    report.unlink(missing_ok=True)
    command = [python, "-m", "pytest", "-q", "-n", "2", "-p", "no:cacheprovider", f"--junitxml={report}"]
    done = subprocess.run([*command, "-m", "not site and not full"], cwd=ROOT, env=environment())
    if not report.exists():
        raise Failed(f"pytest ended with {done.returncode} and no report under torch {version}")
    passed, skipped, failed = outcome(report)
    step(f"torch {version}: {passed} passed, {len(skipped)} skipped, {len(failed)} failed")
    for name, why in skipped.items():
        print(f"  skipped {name}: {why}")
    if done.returncode or failed or not passed:
        raise Failed("\n  ".join([f"with torch {version} pytest ended with {done.returncode}", *failed]))


def main(words):
    begin = time.monotonic()

    def step(text):
        print(f"torches: {text} ({time.monotonic() - begin:.0f} s)", flush=True)

    if wrong := [word for word in words if not re.fullmatch(r"newest|\d+\.\d+(\.\d+)?", word)]:
        print(f"torches: {', '.join(wrong)} is no version of torch\n{USAGE}", file=sys.stderr)
        return 2
    problems = []
    for wanted in words or [oldest(), "newest"]:
        try:
            run(wanted, step)
        except Failed as error:
            problems.append(f"torches: {error}")
    if problems:
        print("\n".join(problems), file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
