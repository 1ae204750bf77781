"""Published figures (``tests/data/vectors.csv``), each computed again from the numbers it rests on.

A recipe gets a row's inputs, never what was published. ``pass`` rows must agree with it; ``fail`` rows are slips of their
source, which ``slips`` reproduces; ``open`` rows cannot be computed from what their source prints, and say why.
"""

import csv
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

FILE = Path(__file__).parent.parent / "data" / "vectors.csv"
RECIPES = {}
SLIPS = {}
OPEN = {}


def number(text):
    """An int where the text is one, else a float, else the text itself (the name of a device)."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


@dataclass(frozen=True)
class Row:
    """A published figure, in ``unit``; ``tolerance`` is relative, and 0 means equal."""

    id: str
    ledger: str
    what: str
    inputs: dict
    expected: float
    unit: str
    tolerance: float
    result: str
    source: str
    location: str
    note: str

    def agrees(self, value):
        if not self.tolerance:
            return value == self.expected
        return abs(value - self.expected) <= self.tolerance * abs(self.expected)

    def check(self, value):
        assert self.agrees(value), (
            f"{self.id}: computed {value:.12g}, published {self.expected:.12g} ({self.source}), "
            f"tolerance {self.tolerance:g}"
        )


def given(text):
    """``layers=32 parts=1,2`` as a dictionary; what has a comma is a tuple."""
    pairs = [pair.split("=") for pair in text.split()]
    return {name: tuple(map(number, v.split(","))) if "," in v else number(v) for name, v in pairs}


def load(path=FILE):
    with path.open(encoding="utf8", newline="") as file:
        rows = [Row(**row) for row in csv.DictReader(file)]
    return [
        Row(**{**vars(r), "inputs": given(r.inputs), "expected": number(r.expected), "tolerance": number(r.tolerance)})
        for r in rows
    ]


def _keep(table, patterns):
    def put(function):
        for pattern in patterns:
            assert pattern not in table, f"{pattern} has two"
            table[pattern] = function
        return function

    return put


def recipe(*patterns):
    """The decorated function computes, in their unit, the rows whose id matches."""
    return _keep(RECIPES, patterns)


def slip(id):
    """The decorated function shows how a source came to print something else than its own numbers give."""
    return _keep(SLIPS, [id])


def unsettled(*patterns):
    """The decorated function shows what the printed inputs of an open row do give."""
    return _keep(OPEN, patterns)


def found(table, id):
    """Everything in a table whose pattern matches the id."""
    return [function for pattern, function in table.items() if fnmatchcase(id, pattern)]


def compute(row):
    (function,) = found(RECIPES, row.id)
    return function(**row.inputs)
