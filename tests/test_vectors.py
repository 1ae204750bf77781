"""Every published figure of ``tests/data/vectors.csv`` is computed again, shown to be a slip, or open with a reason."""

import ast
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from tests import vectors
from tests.vectors import OPEN, RECIPES, SLIPS, compute, flops, found, load, machine, memory, slips, unprinted
from threeledgers.formula import REGISTRY

ROWS = load()
BY = {result: [row for row in ROWS if row.result == result] for result in ("pass", "fail", "open")}
MODULES = (flops, machine, memory, slips, unprinted)


def named(rows):
    return pytest.mark.parametrize("row", rows, ids=lambda row: row.id)


@named(BY["pass"])
def test_published_figure(row):
    row.check(compute(row))


@named(BY["pass"])
def test_another_figure_would_be_refused(row):
    other = replace(row, expected=row.expected * (1 + 3 * max(row.tolerance, 1e-6)))
    with pytest.raises(AssertionError, match=f"^{re.escape(row.id)}: computed .*, published .*, tolerance"):
        other.check(compute(row))


@named(BY["fail"])
def test_published_slip(row):
    """The source's own numbers give another figure; the test of that name in ``vectors/slips.py`` tells why."""
    assert not row.agrees(compute(row)), f"{row.id} follows from its inputs: no slip"
    SLIPS[row.id](row)


@named(BY["open"])
def test_open_row_has_a_reason(row):
    assert len(row.note.split()) > 5
    (show,) = found(OPEN, row.id)
    show(row, **row.inputs)


def test_every_row_is_handled_by_what_its_result_asks_for():
    counts = Counter(row.result for row in ROWS)
    assert counts == {"pass": 116, "fail": 13, "open": 7}, counts
    assert len({row.id for row in ROWS}) == len(ROWS)
    handled = {row.id for row in ROWS if len(found(OPEN if row.result == "open" else RECIPES, row.id)) == 1}
    assert handled == {row.id for row in ROWS}
    assert set(SLIPS) == {row.id for row in BY["fail"]}
    for table, results in ((RECIPES, ("pass", "fail")), (OPEN, ("open",))):
        for pattern in table:
            matched = {row.result for row in ROWS if found({pattern: None}, row.id)}
            assert matched and matched <= set(results), f"{pattern} matches {matched or 'no row'}"


def test_every_row_can_be_read():
    for row in ROWS:
        assert row.what and row.inputs and row.unit and row.source and row.location, row.id
        assert isinstance(row.expected, (int, float)) and row.expected > 0 and 0 <= row.tolerance <= 0.1, row.id
        assert row.result == "pass" or row.note, f"{row.id}: a note must say why it is {row.result}"


def test_formulas_named_here_exist():
    used = set()
    for module in MODULES:
        for node in ast.walk(ast.parse(Path(module.__file__).read_text(encoding="utf8"))):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "f":
                used.add(node.attr)
    assert used and used <= set(REGISTRY), used - set(REGISTRY)


def test_a_failure_tells_what_and_whose():
    row = next(row for row in ROWS if row.id == "V-KOR-1")
    with pytest.raises(AssertionError) as caught:
        replace(row, expected=81).check(compute(row))
    text = "V-KOR-1: computed 80, published 81 (Korthikanti et al. 2022), tolerance 0"
    assert str(caught.value).splitlines()[0] == text


def test_an_equal_figure_must_be_equal():
    row = vectors.Row("V", "", "", {}, 70272, "B", 0, "pass", "", "", "")
    assert row.agrees(70272) and not row.agrees(70272.001)
    assert replace(row, tolerance=0.01).agrees(70900) and not replace(row, tolerance=0.01).agrees(71000)
