"""Each lecture keeps the shape and the budgets; the front page tells the truth about what is written."""

import re
import tomllib

import pytest
import yaml

from tests.pages import CELL, LECTURES, ROOT, lectures, page, pages

SHAPE = ["The question", "The ledger", "Move it", "Count it", "Run it", "Exercises", "At work", "Notes"]
LATER = {"Run it"}  # a lecture may be published before its lab
WORDS, LINES, LONGEST, WIDTH = 3000, 150, 20, 80

written = pytest.mark.parametrize("lecture", lectures(), ids=lambda p: p.path.stem)


def toc():
    text = (ROOT / "_toc.yml").read_text()
    return re.findall(r"(?:file|root): lectures/(\w+)", text)


@written
def test_shape(lecture):
    assert lecture.text.split("---\n", 2)[2].lstrip().startswith(f"({lecture.path.stem})=\n# ")
    assert [level for level, _ in lecture.headings].count(1) == 1
    sections = [text for level, text in lecture.headings if level == 2]
    assert sections == [s for s in SHAPE if s in sections], f"sections are {SHAPE}, in this order"
    assert set(SHAPE) - set(sections) <= LATER


@written
def test_no_heading_is_empty(lecture):
    parts = re.split(r"^#{1,6} .*$", lecture.text, flags=re.M)[1:]
    levels = [level for level, _ in lecture.headings]
    for n, (part, (level, text)) in enumerate(zip(parts, lecture.headings, strict=True)):
        has_children = n + 1 < len(levels) and levels[n + 1] > level
        assert part.strip() or has_children, f"nothing under {text!r}"


@written
def test_budget(lecture):
    assert lecture.words <= WORDS
    assert sum(len(cell.splitlines()) for cell in lecture.visible) <= LINES
    for cell in lecture.cells:
        lines = cell.splitlines()
        assert len(lines) <= LONGEST, f"a cell has at most {LONGEST} lines:\n{cell}"
        assert max(map(len, lines)) <= WIDTH, (
            f"code wider than {WIDTH} columns scrolls sideways:\n{max(lines, key=len)}"
        )
        assert not re.search(r"^\s*(?:def|class) ", cell, re.M), (
            f"a reusable function belongs into the library:\n{cell}"
        )


@written
def test_count_it_is_witnessed(lecture):
    counted = lecture.text.split("\n## Count it\n")[1].split("\n## ")[0]
    cells = [m[2] for m in CELL.finditer(counted)]
    assert cells and all("witness(" in c or "assert " in c for c in cells)


@written
def test_every_claim_of_the_lecture_is_treated(lecture):
    from threeledgers.witness import claims

    mine = {id for id, row in claims().items() if row["lecture"] == lecture.path.stem}
    treated = set(re.findall(r"\{claim\}`([\w-]+)`|claim=\"([\w-]+)\"", lecture.text))
    missing = mine - {a or b for a, b in treated}
    assert not missing, "each claim is witnessed, corrected or marked on the page, by its id"


def test_the_toc_lists_what_exists():
    names = toc()
    assert sorted(names) == sorted(p.path.stem for p in pages())
    assert [n for n in names if n in LECTURES] == [n for n in LECTURES if n in names], "the course's order"


def test_the_front_page_links_what_is_written_and_nothing_else():
    rows = re.findall(r"^\| (\d+) \| (.*?) \|", page(ROOT / "lectures/index.md").text, re.M)
    assert [int(n) for n, _ in rows] == list(range(1, 13))
    for (_, cell), slug in zip(rows, LECTURES, strict=True):
        there = (ROOT / f"lectures/{slug}.md").exists()
        assert cell == (f"{{ref}}`{slug} <{slug}>`" if there else slug)


def test_settings_of_the_site_parse():
    config = yaml.safe_load((ROOT / "_config.yml").read_text())
    local = set(config["sphinx"]["local_extensions"])
    assert local == {f"_ext.{p.stem}" for p in (ROOT / "_ext").glob("*.py") if "def setup(app)" in p.read_text()}
    assert local <= set(config["sphinx"]["config"]["extensions"])
    assert tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["requires-python"] == ">=3.11"


def test_requirements_are_exact():
    lines = [x for x in (ROOT / "requirements.txt").read_text().splitlines() if x and not x.startswith("#")]
    assert len(lines) > 100 and all(re.fullmatch(r"[a-z0-9-]+==[\w.]+", x) for x in lines)
    for named in ("jupyter-book", "myst-nb", "torch", "ipywidgets", "matplotlib", "nbval"):
        assert any(x.startswith(f"{named}==") for x in lines)
