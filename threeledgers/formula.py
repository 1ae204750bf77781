"""One expression, three bodies: LaTeX for the page, exact Python for the ledger, JavaScript for the widget.

A formula is an ordinary function whose parameters are code names of the notation (``formulas/symbols.py``)::

    @formula(unit="B", source="Patarasuk & Yuan 2009")
    def ring_allreduce_bytes(ranks, message):
        \"\"\"Each rank sends N-1 chunks of M/N twice: once to reduce, once to gather.\"\"\"
        return 2 * (ranks - 1) / ranks * message
"""

import inspect
import math
from fractions import Fraction
from functools import cached_property
from numbers import Integral, Real

import sympy

from threeledgers.printers import JavaScript, Latex, Python, javascript_is_name

REGISTRY: dict[str, "Formula"] = {}


class FormulaError(ValueError):
    """A formula was declared or called in a way that cannot be answered; the message says what would be."""


class gcd(sympy.Function):
    """Greatest common divisor. sympy's own ``gcd`` is a polynomial one: of two symbols it is 1."""

    nargs = 2

    @classmethod
    def eval(cls, a, b):
        if a.is_Integer and b.is_Integer:
            return sympy.Integer(math.gcd(int(a), int(b)))


class VectorDot(sympy.Function):
    """Sum over k of the products of two vectors of the notation."""

    nargs = 2


class VectorProduct(sympy.Function):
    """Product of the entries of a vector of the notation."""

    nargs = 1


def dot(left, right):
    """Sum of ``left[k] * right[k]``, for symbols of the notation or for two sequences of the same length."""
    if isinstance(left, sympy.Symbol):
        return VectorDot(left, right)
    if len(left) != len(right):
        raise FormulaError(f"two sequences of the same length are needed, got {len(left)} and {len(right)}")
    return sum(a * b for a, b in zip(left, right, strict=True))


def product(values):
    """Product of all entries, for a symbol of the notation or for a sequence; 1 when there are none."""
    return VectorProduct(values) if isinstance(values, sympy.Symbol) else sympy.prod(values)


class Formula:
    """A closed form: call it with keywords, show it by ending a cell with its name, send it to a widget with ``.js``.

    ``latex`` keeps the author's order; ``js`` is an arrow function of one object; ``unit`` is the result's unit and
    ``source`` where the formula comes from. Integers in give an exact integer out where the result is one; otherwise the
    result is the nearest float (``exact`` keeps the fraction).
    """

    def __init__(self, function, unit, source, symbol=None):
        from threeledgers.formulas.symbols import NOTATION

        self.name, self.unit, self.source, self.function = function.__name__, unit, source, function
        self.__name__, self.__doc__, self.__wrapped__ = function.__name__, function.__doc__, function
        names = list(inspect.signature(function).parameters)
        unknown = [n for n in names if n not in NOTATION]
        if unknown:
            raise FormulaError(
                f"formula {self.name}: {_list(unknown)} not in the notation; add a row to formulas/symbols.py or use one "
                f"of {_list(sorted(NOTATION))}"
            )
        bad = [n for n in names if not javascript_is_name(n)]
        if bad:
            raise FormulaError(f"formula {self.name}: {_list(bad)} cannot be a name in JavaScript; rename the symbol")
        if not (function.__doc__ or "").strip():
            raise FormulaError(f"formula {self.name}: a docstring that says why is needed")
        self.parameters = {n: NOTATION[n] for n in names}
        self._symbol = symbol

    # Made when first asked for: importing the book's formulas costs no algebra.

    @cached_property
    def symbols(self):
        """{name: sympy symbol} of the parameters."""
        return {
            n: sympy.Symbol(n, nonnegative=True) if row.zero else sympy.Symbol(n, positive=True)
            for n, row in self.parameters.items()
        }

    @cached_property
    def display(self):
        """The expression as its author wrote it."""
        with sympy.evaluate(False):
            return sympy.sympify(self.function(**self.symbols))

    @cached_property
    def expression(self):
        """The expression as it is computed: constants of the notation have their values."""
        from threeledgers.formulas.symbols import CONSTANTS

        return sympy.sympify(self.function(**self.symbols)).subs({c: c.value for c in CONSTANTS})

    @cached_property
    def right_hand_side(self):
        letters = {s: self.parameters[n].latex for n, s in self.symbols.items()}
        printer = Latex(
            {"order": "none", "mul_symbol": r" \, ", "symbol_names": letters},
            {s: self.parameters[n].over for n, s in self.symbols.items()},
        )
        return printer.doprint(self.display)

    @cached_property
    def latex(self):
        head = self._symbol or r"\mathtt{" + self.name.replace("_", r"\_") + "}"
        if isinstance(self.display, sympy.core.relational.Relational):
            return f"{head}\\colon\\; {self.right_hand_side}"
        return f"{head} = {self.right_hand_side}"

    @cached_property
    def js(self):
        return f"({{{', '.join(self.parameters)}}}) => {JavaScript().doprint(_whole(self.expression))}"

    @cached_property
    def python(self):
        return f"lambda {', '.join(self.parameters)}: {Python().doprint(self.expression)}"

    @cached_property
    def _body(self):
        scope = {"math": math, "Fraction": Fraction, "dot": dot}
        return eval(compile(self.python, f"<formula {self.name}>", "eval"), scope)

    def __call__(self, *args, **values):
        return _tidy(self.exact(*args, **values))

    def exact(self, *args, **values):
        """The value as int, Fraction or bool where it is rational, else as float; same arguments as a call."""
        missing = [n for n in self.parameters if n not in values]
        extra = [n for n in values if n not in self.parameters]
        if args or missing or extra:
            what = [f"{len(args)} positional"] if args else []
            what += [f"missing {_list(missing)}"] if missing else []
            what += [f"unknown {_list(extra)}"] if extra else []
            raise FormulaError(f"{self.name} takes keywords only: {_list(self.parameters)}; {', '.join(what)}")
        prepared = {n: self._number(n, v) for n, v in values.items()}
        try:
            result = self._body(**prepared)
        except ZeroDivisionError:
            raise FormulaError(f"{self.name}: division by zero with {values}") from None
        return int(result) if getattr(result, "denominator", None) == 1 and not isinstance(result, bool) else result

    def rough(self, **values):
        """The value in floats, of arguments that are right already: for searches over many thousand calls."""
        return self._body(**values)

    def _number(self, name, value):
        if self.parameters[name].over:
            if isinstance(value, (str, bytes)) or not hasattr(value, "__iter__"):
                raise FormulaError(f"{self.name}: {name} is one number per dimension, got {value!r}")
            return tuple(self._scalar(f"{name}[{k}]", v) for k, v in enumerate(value))
        return self._scalar(name, value)

    def _scalar(self, name, value):
        if isinstance(value, bool) or not isinstance(value, Real):
            raise FormulaError(f"{self.name}: {name} must be a number, got {value!r}")
        if isinstance(value, Integral):
            return Fraction(int(value))
        if isinstance(value, Fraction):
            return value
        if not math.isfinite(value):
            raise FormulaError(f"{self.name}: {name} must be finite, got {value!r}")
        return float(value)

    def __repr__(self):
        text = sympy.sstr(self.expression)
        return f"{self.name}({', '.join(self.parameters)}) = {text}" + ("" if self.unit == "1" else f"  [{self.unit}]")

    def _repr_latex_(self):
        unit = "" if self.unit in ("1", "bool") else r"\quad\left[\mathrm{" + self.unit + r"}\right]"
        return rf"$\displaystyle {self.latex}{unit}$"


def formula(*, unit, source, symbol=None):
    """Declare a formula. ``unit`` of the result (``bool`` for a condition), ``source`` in words, ``symbol`` its LaTeX name.

    Raises FormulaError when a parameter is not in the notation, the docstring is missing, or the name is taken.
    """

    def declare(function):
        if function.__name__ in REGISTRY:
            raise FormulaError(f"formula {function.__name__} is declared twice")
        REGISTRY[function.__name__] = made = Formula(function, unit, source, symbol)
        return made

    return declare


def _whole(expression):
    """The same value with one division, last, or none: doubles keep whole numbers exact, sums of quotients do not."""
    if isinstance(expression, sympy.Piecewise):
        return sympy.Piecewise(*((_whole(value), condition) for value, condition in expression.args))
    if not isinstance(expression, sympy.Expr) or not expression.is_rational_function():
        return expression
    flat = sympy.cancel(expression)
    return flat if flat.is_polynomial() else sympy.together(expression)


def _tidy(value):
    return float(value) if isinstance(value, Fraction) else value


def _list(names):
    return ", ".join(names) or "nothing"
