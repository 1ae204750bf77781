"""Every formula: typeset in the author's order, equal in Python, JavaScript and exact arithmetic, of the unit it declares."""

import ast
import inspect
import json
import math
import random
import re
import subprocess
import textwrap
from fractions import Fraction

import pytest
import sympy

from _ext import node
from tests.units import UnitError, unit, unit_of
from threeledgers import formulas
from threeledgers.formula import REGISTRY, Formula, FormulaError, formula
from threeledgers.formulas.symbols import CONSTANTS, FMA, NOTATION
from threeledgers.printers import Latex

ALL = pytest.mark.parametrize("name", sorted(REGISTRY))
POINTS = 200
ROUNDED = (sympy.exp, sympy.Symbol("share", positive=True), sympy.Rational(1, 2))  # what loses digits in a difference
# Symbols that are no free counts: (smallest, largest, divisor).
RANGES = {
    "stage": (0, 3, 1),
    "share": (1, 999, 1000),
    "capacity": (10**6, 10**12, 1),
    "mtbf": (10**4, 10**7, 1),
    "interval": (10, 10**4, 1),
    "write_cost": (1, 600, 1),
}


def test_the_package_exports_every_formula():
    assert set(formulas.__all__) == set(REGISTRY)


def points(made, seed):
    """Random arguments: integers of very different size, for vectors of the same length."""
    rng = random.Random(f"{made.name}{seed}")

    def scalar(name):
        if name in RANGES:
            low, high, divisor = RANGES[name]
            return rng.randint(low, high) if divisor == 1 else rng.randint(low, high) / divisor
        return rng.randint(1, 10 ** rng.randint(1, 4))

    for _ in range(POINTS):
        length = rng.randint(1, 4)
        yield {
            n: [rng.randint(1, 99) for _ in range(length)] if row.over else scalar(n)
            for n, row in made.parameters.items()
        }


def exactly(made, values):
    """The author's own function on exact numbers: no printer has touched it."""
    wrapped = {
        n: [sympy.Integer(x) for x in v] if isinstance(v, list) else sympy.Rational(v) for n, v in values.items()
    }
    result = sympy.sympify(made.function(**wrapped)).subs({c: c.value for c in CONSTANTS})
    if result in (sympy.true, sympy.false):
        return bool(result)
    return Fraction(int(result.p), int(result.q)) if result.is_Rational else float(result)


@ALL
def test_python_is_exact(name):
    made = REGISTRY[name]
    for values in points(made, "python"):
        want, got = exactly(made, values), made.exact(**values)
        if isinstance(got, float):  # a root, an exponential or a share: rounded, and differences lose digits
            assert math.isclose(got, want, rel_tol=1e-11) and made(**values) == got, values
            continue
        assert got == want, values
        assert made(**values) == (float(want) if isinstance(want, Fraction) and want.denominator > 1 else want), values


def test_javascript_is_python():
    cases = [(n, values) for n in sorted(REGISTRY) for values in points(REGISTRY[n], "js")]
    program = "const f = {" + ",".join(f"{n}: {REGISTRY[n].js}" for n in REGISTRY) + "};"
    program += "const cases = JSON.parse(require('fs').readFileSync(0));"
    program += "console.log(JSON.stringify(cases.map(([n, v]) => f[n](v))))"
    done = subprocess.run(
        [node.find(), "-e", program], input=json.dumps(cases), capture_output=True, text=True, check=True
    )
    replies = json.loads(done.stdout)
    assert len(replies) == len(cases) == POINTS * len(REGISTRY)
    for (name, values), reply in zip(cases, replies, strict=True):
        want = REGISTRY[name](**values)
        assert (
            type(reply) is bool and reply == want
            if isinstance(want, bool)
            else math.isclose(reply, want, rel_tol=1e-11 if REGISTRY[name].expression.has(*ROUNDED) else 2e-15)
        ), (name, values)
        if isinstance(want, int) and abs(want) < 2**53:
            assert reply == want, (name, values)


@ALL
def test_latex_keeps_the_authors_order(name):
    made = REGISTRY[name]
    tree = ast.parse(textwrap.dedent(inspect.getsource(made.function)))
    returned = next(n for n in ast.walk(tree) if isinstance(n, ast.Return))
    names = [n for n in ast.walk(returned) if isinstance(n, ast.Name) and n.id in made.parameters]
    written = [n.id for n in sorted(names, key=lambda n: (n.lineno, n.col_offset))]
    tokens = {s: f"@{n}@" for n, s in made.symbols.items()}
    over = {s: NOTATION[n].over for n, s in made.symbols.items()}
    shown = re.findall(r"@(\w+)@", Latex({"order": "none", "symbol_names": tokens}, over).doprint(made.display))
    assert shown == written


@ALL
def test_unit_follows_from_the_symbols(name):
    made = REGISTRY[name]
    assert unit_of(made).dimensionality == unit(made.unit).dimensionality


@ALL
def test_source_and_reason_are_given(name):
    assert len(REGISTRY[name].source) > 5 and len(REGISTRY[name].__doc__) > 20


def busbw(ranks, message):
    """Not a formula of the book: the example of the design."""
    return 2 * (ranks - 1) / ranks * message


def test_a_formula_of_the_design_prints_as_written():
    made = Formula(busbw, "B", "example")
    assert made.right_hand_side == r"\frac{2 \, \left(N - 1\right)}{N} \, M"
    assert made(ranks=4, message=6) == 9 and isinstance(made(ranks=4, message=6), int)
    assert made(ranks=4, message=1) == 1.5
    assert made.exact(ranks=3, message=1) == Fraction(4, 3)
    assert made(ranks=2, message=0.5) == 0.5


def wrong_sum(ranks, message):
    """Adds a count to bytes."""
    return ranks + message


def wrong_factor(elem_bytes, numel):
    """Carries the unit of the FMA along."""
    return FMA * elem_bytes * numel


def test_wrong_units_are_found():
    with pytest.raises(UnitError, match="do not go together"):
        unit_of(Formula(wrong_sum, "B", "example"))
    assert unit_of(Formula(wrong_factor, "B", "example")).dimensionality != unit("B").dimensionality


@pytest.mark.parametrize(
    "call, words",
    [
        (
            lambda: formulas.copy_traffic(numel=1),
            "copy_traffic takes keywords only: numel, elem_bytes; missing elem_bytes",
        ),
        (lambda: formulas.copy_traffic(numel=1, elem_bytes=2, seq=3), "unknown seq"),
        (lambda: formulas.copy_traffic(1, 2), "2 positional"),
        (lambda: formulas.copy_traffic(numel=float("nan"), elem_bytes=2), "numel must be finite"),
        (lambda: formulas.copy_traffic(numel="6", elem_bytes=2), "numel must be a number, got '6'"),
        (lambda: formulas.copy_traffic(numel=True, elem_bytes=2), "numel must be a number, got True"),
        (lambda: formulas.contiguous_stride(inner_sizes=3), "one number per dimension"),
        (lambda: formulas.element_address(base=0, elem_bytes=4, offset=0, index=[1], strides=[1, 2]), "same length"),
        (lambda: formulas.ridge_intensity(peak=1, bandwidth=0), "division by zero"),
    ],
)
def test_a_bad_call_says_what_would_be_accepted(call, words):
    with pytest.raises(FormulaError, match=re.escape(words)):
        call()


def test_a_bad_declaration_says_what_would_be_accepted():
    with pytest.raises(
        FormulaError,
        match=r"flux_capacity not in the notation; add a row to formulas/symbols.py or use one of .*elem_bytes",
    ):

        @formula(unit="B", source="example")
        def planted_unknown(flux_capacity):
            """A name that no row of the notation has."""
            return flux_capacity

    with pytest.raises(FormulaError, match="declared twice"):

        @formula(unit="B", source="example")
        def copy_traffic(numel):
            """A name that is taken."""
            return numel

    with pytest.raises(FormulaError, match="docstring"):

        @formula(unit="B", source="example")
        def planted_silent(numel):
            return numel

    assert not {n for n in REGISTRY if n.startswith("planted")}


def test_notation_is_one_letter_one_meaning():
    scalars = [row for row in NOTATION.values() if not row.over]
    letters = [row.latex for row in scalars]
    assert len(set(letters)) == len(letters)
    for row in NOTATION.values():
        assert unit(row.unit) is not None and row.meaning
    for constant in CONSTANTS:
        assert unit(constant.unit) is not None and constant.meaning
