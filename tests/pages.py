"""A page's text, taken apart: headings, words, code cells."""

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SITE = ROOT / "_build" / "html"
LECTURES = (
    "goodput hardware host_memory linux stride autograd streams attention collectives ledgers profiler roofline".split()
)
CELL = re.compile(r"^(`{3,})\{code-cell\}[^\n]*\n(.*?)^\1\s*$", re.M | re.S)
OPTION = re.compile(r"\A(?::[\w-]+:[^\n]*\n|\s*\n)*")


@dataclass(frozen=True)
class Page:
    path: Path
    text: str
    cells: tuple[str, ...]
    visible: tuple[str, ...]
    headings: tuple[tuple[int, str], ...]
    words: int


@cache
def page(path):
    """A Markdown page of the book."""
    text = path.read_text(encoding="utf8")
    body = re.sub(r"\A---\n.*?\n---\n", "", text, flags=re.S)
    cells = tuple(OPTION.sub("", m[2], count=1).rstrip("\n") for m in CELL.finditer(body))
    folded = re.compile(r":tags: \[[^\]]*\b(?:hide|remove)-input\b")
    shown = tuple(c for c, m in zip(cells, CELL.finditer(body), strict=True) if not folded.match(m[2]))
    prose = re.sub(r"^(`{3,})[^\n]*\n.*?^\1\s*$", "", body, flags=re.M | re.S)
    headings = tuple((len(m[1]), m[2].strip()) for m in re.finditer(r"^(#+)\s+(.*)$", prose, re.M))
    return Page(path, text, cells, shown, headings, len(prose.split()))


def pages():
    """Every Markdown page under lectures/."""
    return [page(p) for p in sorted((ROOT / "lectures").glob("*.md"))]


def lectures():
    """The lectures that are written."""
    return [p for p in pages() if p.path.stem in LECTURES]
