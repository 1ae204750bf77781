"""The unit of a formula, worked out from the units of its symbols (pint)."""

import pint
import sympy
from sympy.core.relational import Relational

from threeledgers.formula import VectorDot, VectorProduct, gcd
from threeledgers.formulas.symbols import Constant

registry = pint.UnitRegistry(None)
for line in (
    "FLOP = [flop]",
    "OP = [operation]",
    "B = [data]",
    "bit = [bit]",
    "s = [time]",
    "Hz = 1 / s",
    "day = [day]",
    "W = [power]",
):
    registry.define(line)


def unit(text):
    """The pint unit of a text such as ``FLOP/s``; ``1`` is a plain count."""
    return registry.Unit("" if text in ("1", "bool") else text)


class UnitError(ValueError):
    """Two things of different units were added, compared or counted."""


def unit_of(formula):
    """The unit that a formula's own expression gives. Raises UnitError where it adds apples to pears."""
    units = {symbol: unit(formula.parameters[name].unit) for name, symbol in formula.symbols.items()}
    return _walk(formula.display, units)


def _walk(expr, units):
    if isinstance(expr, Constant):
        return unit(expr.unit)
    if isinstance(expr, sympy.Symbol):
        return units[expr]
    if isinstance(expr, sympy.Piecewise):
        parts = [_walk(value, units) for value, _ in expr.args]
        for _, condition in expr.args:
            if condition not in (sympy.true, sympy.false):
                _walk(condition, units)
        return _same(parts, expr)
    if expr.is_number:
        return unit("1")
    parts = [_walk(arg, units) for arg in expr.args]
    if isinstance(expr, sympy.Mul) or isinstance(expr, VectorDot):
        result = unit("1")
        for part in parts:
            result = result * part
        return result
    if isinstance(expr, sympy.Pow):
        _plain(parts[1], expr)
        return parts[0] ** float(expr.exp) if expr.exp.is_number else _plain(parts[0], expr)
    if isinstance(expr, (sympy.Add, sympy.Min, sympy.Max, sympy.Mod, Relational, gcd)):
        return unit("1") if _same(parts, expr) and isinstance(expr, Relational) else parts[0]
    if isinstance(expr, (sympy.floor, sympy.ceiling, VectorProduct)):
        return _plain(parts[0], expr)
    return [_plain(part, expr) for part in parts][-1]


def _same(parts, expr):
    if any(part.dimensionality != parts[0].dimensionality for part in parts):
        raise UnitError(f"{expr}: {' and '.join(map(str, parts))} do not go together")
    return parts[0]


def _plain(part, expr):
    if not part.dimensionless:
        raise UnitError(f"{expr}: a plain number is needed, not {part}")
    return unit("1")
