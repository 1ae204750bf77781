"""Small faults put into a formula: twice its value, a term or a bound dropped, two symbols swapped."""

import itertools
import math
import random
from fractions import Fraction

import sympy
from sympy.core.relational import Relational

from threeledgers.formula import VectorDot, dot
from threeledgers.printers import Python


def mutants(formula):
    """[(what was done, expression)] for all faults that change the value."""
    right = formula.expression
    return [(what, wrong) for what, wrong in _faults(formula, right) if not _same(formula, right, wrong)]


def body(formula, expression):
    """The expression as a function of the formula's parameters, as the formula itself makes it."""
    source = f"lambda {', '.join(formula.parameters)}: {Python().doprint(expression)}"
    return eval(source, {"math": math, "Fraction": Fraction, "dot": dot})


def _faults(formula, right):
    if isinstance(right, Relational):
        yield "turned round", sympy.Not(right, evaluate=False)
        yield "twice the left side", right.func(2 * right.lhs, right.rhs, evaluate=False)
    else:
        yield "twice", 2 * right
    for node in sympy.postorder_traversal(right):
        if isinstance(node, (sympy.Add, sympy.Min, sympy.Max)):
            for at, part in enumerate(node.args):
                rest = node.func(*(a for k, a in enumerate(node.args) if k != at))
                yield f"without {part}", right.subs(node, rest)
        if isinstance(node, sympy.Piecewise):
            for (one, condition), (other, _) in itertools.pairwise(node.args):
                swapped = sympy.Piecewise(*((other if v is one else v, c) for v, c in node.args))
                yield f"another case for {condition}", right.subs(node, swapped)
    for a, b in itertools.combinations(formula.parameters, 2):
        if formula.parameters[a].over == formula.parameters[b].over:
            one, two = formula.symbols[a], formula.symbols[b]
            yield f"{a} and {b} swapped", right.subs({one: two, two: one}, simultaneous=True)


def _same(formula, right, wrong):
    """Equal by sympy; points first, which tell most mutants from the original at once."""
    rng, first, second = random.Random(formula.name), body(formula, right), body(formula, wrong)
    for _ in range(50):
        values = {
            n: tuple(Fraction(rng.randint(1, 9)) for _ in range(3))
            if row.over
            else Fraction(rng.randint(0 if row.zero else 1, 97))
            for n, row in formula.parameters.items()
        }
        try:
            if first(**values) != second(**values):
                return False
        except (ArithmeticError, ValueError):
            continue
    right, wrong = (e.replace(VectorDot, lambda *ab: VectorDot(*sorted(ab, key=str))) for e in (right, wrong))
    return right == wrong or (isinstance(right, sympy.Expr) and sympy.simplify(right - wrong) == 0)
