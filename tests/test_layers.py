"""Who may import whom: the rooms of the design as data, checked by AST."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from tests.pages import ROOT, lectures

FORMULAS = {"formula", "formulas", "printers"}
# room: (rooms of the package it may import, third-party packages it may import)
ROOMS = {
    "__init__": ({"practice", "specs", "widgets", "witness"}, set()),
    "practice": ({"exercises", "widgets"}, set()),
    "units": (set(), set()),
    "specs": (set(), set()),
    "formula": (FORMULAS, {"sympy"}),
    "printers": (set(), {"sympy"}),
    "formulas": (FORMULAS, {"sympy"}),
    "simulate": ({"simulate"}, set()),
    "count": ({"transformer"}, {"torch"}),
    "transformer": (set(), {"torch"}),
    "plan": (FORMULAS | {"plan", "specs", "units"}, set()),
    "kernels": ({"count", "kernels", "transformer"}, {"torch", "triton"}),
    "measure": ({"kernels", "specs"}, {"torch"}),
    "records": (set(), {"jsonschema"}),
    "lab": ({"kernels", "specs", "measure", "records"}, {"torch", "ipywidgets", "IPython"}),
    "cli": ({"plan", "records"}, {"rich"}),
    "figures": (set(), {"matplotlib"}),
    "witness": (set(), {"IPython"}),
    "exercises": (FORMULAS | {"exercises", "specs", "simulate", "units"}, {"torch"}),  # what a solution runs
    "widgets": (FORMULAS | {"widgets", "specs"}, {"anywidget", "traitlets", "IPython"}),
}
PUBLIC = {"gpu": "specs", "latency": "specs", "model": "specs", "check": "practice", "exercise": "practice"}
PUBLIC |= {"guess": "practice", "progress": "practice", "widget": "widgets"}  # names of the package itself
LECTURE_MAY = (set(ROOMS) - {"printers"}, {"torch", "matplotlib", "ipywidgets", "numpy", "IPython"})


def imports(source, package=""):
    """Absolute dotted names that a piece of Python imports, with what is taken from the package itself spelled out."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parts = package.split(".")[: -node.level + 1 or None] if node.level else []
            base = ".".join([*parts, node.module] if node.module else parts)
            yield from (f"{base}.{alias.name}" if base == "threeledgers" else base for alias in node.names)


def offences(source, allowed, package=""):
    """What a piece of Python imports beyond its room's arrows."""
    rooms, third = allowed
    found = []
    for name in imports(source, package):
        top, _, rest = name.partition(".")
        if top == "threeledgers":
            room = rest.partition(".")[0]
            if room and PUBLIC.get(room, room) not in rooms:
                found.append(name)
        elif top not in third and top not in sys.stdlib_module_names:
            found.append(name)
    return sorted(set(found))


def room_of(path):
    inside = path.relative_to(ROOT / "threeledgers")
    return inside.parts[0].removesuffix(".py")


FILES = sorted((ROOT / "threeledgers").rglob("*.py"))


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_module_keeps_to_its_room(path):
    room = room_of(path)
    assert room in ROOMS, f"{path.name} is in no room: give {room!r} a row in ROOMS"
    rooms, third = ROOMS[room]
    package = ".".join(path.relative_to(ROOT).parent.parts)
    assert not offences(path.read_text(encoding="utf8"), (rooms | {room}, third), package)


@pytest.mark.parametrize("page", lectures(), ids=lambda p: p.path.stem)
def test_lecture_imports(page):
    for cell in page.cells:
        assert not offences(cell, LECTURE_MAY)


@pytest.mark.parametrize(
    "room, line",
    [
        ("simulate", "from threeledgers.formulas import copy_traffic"),
        ("simulate", "import torch"),
        ("count", "from threeledgers import formulas"),
        ("formulas", "import torch"),
        ("specs", "from threeledgers.formula import formula"),
        ("figures", "from threeledgers import gpu"),
        ("formulas", "from .. import count"),
        ("widgets", "import labs"),
        ("kernels", "from threeledgers.formulas.layout import warp_sectors"),
    ],
)
def test_an_import_against_the_arrows_is_found(room, line):
    rooms, third = ROOMS[room]
    assert offences(line, (rooms | {room}, third), f"threeledgers.{room}")


def test_files_stay_small():
    large = {
        str(p.relative_to(ROOT)): n
        for p in [*FILES, *(ROOT / "_ext").rglob("*.py"), *(ROOT / "tests").rglob("*.py")]
        if (n := len(Path(p).read_text().splitlines())) > 250
    }
    assert not large, "split by concern"


def test_the_tree_is_the_designs():
    """Nothing generated, nothing of somebody else's: what is tracked lies where the design puts it, as text."""
    done = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip("not a git checkout")
    tops = {name.split("/")[0] for name in done.stdout.splitlines()}
    files = (
        ".gitignore .npmrc CITATION.cff CONTRIBUTING.md LICENSE LICENSE-prose Makefile README.md _config.yml _toc.yml"
    )
    files += " package.json package-lock.json pyproject.toml requirements.txt"
    rooms = ".ci .github _ext assets benchmarks labs lectures tests threeledgers"
    assert tops <= {*files.split(), *rooms.split()}
    kinds = {Path(name).suffix for name in done.stdout.splitlines() if "/" in name}
    assert kinds <= {
        "",
        ".py",
        ".md",
        ".js",
        ".css",
        ".svg",
        ".png",
        ".sh",
        ".txt",
        ".html",
        ".toml",
        ".csv",
        ".json",
        ".bib",
        ".yml",
    }
