"""How a formula is written in LaTeX, in exact Python and in JavaScript."""

import re

from sympy import Mod, together
from sympy.printing.jscode import JavascriptCodePrinter
from sympy.printing.latex import LatexPrinter
from sympy.printing.pycode import PythonCodePrinter

_RESERVED = set(
    "arguments await break case catch class const continue debugger default delete do else enum eval export extends false "
    "finally for function if implements import in instanceof interface let new null package private protected public return "
    "static super switch this throw true try typeof var void while with yield".split()
)


def javascript_is_name(name):
    """True when ``name`` can be a parameter in JavaScript."""
    return bool(re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII)) and name not in _RESERVED


class Latex(LatexPrinter):
    """LaTeX in the author's order, with the letters of the notation; ``over`` gives each vector's index range."""

    def __init__(self, settings, over):
        super().__init__(settings)
        self.over = over

    def _needs_add_brackets(self, expr):
        return isinstance(expr, Mod) or expr.is_Relational  # the parent class also brackets every floor around a Mod

    def _print_gcd(self, expr):
        a, b = map(self._print, expr.args)
        return rf"\gcd\left({a}, {b}\right)"

    def _print_VectorDot(self, expr):
        a, b = expr.args
        return rf"\sum_{{{self.over[a]}}} {self._print(a)} \, {self._print(b)}"

    def _print_VectorProduct(self, expr):
        (a,) = expr.args
        return rf"\prod_{{{self.over[a]}}} {self._print(a)}"


class Python(PythonCodePrinter):
    """Python that stays exact: arguments arrive as Fractions, and so do the constants."""

    def __init__(self):
        super().__init__({"fully_qualified_modules": True})

    def _print_Rational(self, expr):
        return f"Fraction({expr.p}, {expr.q})"

    def _print_Float(self, expr):
        return repr(float(expr))

    def _print_gcd(self, expr):
        a, b = map(self._print, expr.args)
        return f"math.gcd(int({a}), int({b}))"

    def _print_VectorDot(self, expr):
        a, b = map(self._print, expr.args)
        return f"dot({a}, {b})"

    def _print_VectorProduct(self, expr):
        return f"math.prod({self._print(expr.args[0])})"


class JavaScript(JavascriptCodePrinter):
    """JavaScript whose doubles agree with Python's: full digits, division last, a mathematical modulus."""

    def _print_Float(self, expr):
        return repr(float(expr))

    def _print_Mul(self, expr):
        c, rest = expr.as_coeff_Mul()
        if c.is_Rational and not c.is_Integer:  # (1/49)*x is not x/49: its floor is wrong for 49, 98, ...
            top = self._print(rest if c.p == 1 else c.p * rest)
            return f"({top})/{c.q}"
        return super()._print_Mul(expr)

    def _print_floor(self, expr):  # one division, last: a sum of quotients can round to the wrong side
        return f"Math.floor({self._print(together(expr.args[0]))})"

    def _print_ceiling(self, expr):
        return f"Math.ceil({self._print(together(expr.args[0]))})"

    def _print_log2(self, expr):
        return f"Math.log2({self._print(expr.args[0])})"

    def _print_Mod(self, expr):
        x, m = map(self._print, expr.args)
        return f"((({x}) % ({m}) + ({m})) % ({m}))"

    def _print_gcd(self, expr):
        a, b = map(self._print, expr.args)
        return f"(function g(a, b) {{ return b ? g(b, a % b) : Math.abs(a); }})({a}, {b})"

    def _print_VectorDot(self, expr):
        a, b = map(self._print, expr.args)
        return f"{a}.reduce((t, v, k) => t + v*{b}[k], 0)"

    def _print_VectorProduct(self, expr):
        return f"{self._print(expr.args[0])}.reduce((t, v) => t*v, 1)"
