"""``{quantity}``: a number in prose, from one spec field or one formula call; ``{literal}``: a number of a worked example.

``{quantity}`h200_sxm.memory_bandwidth | TB/s .1f` `` prints 4.8 TB/s, with its source in a tooltip; ``link.pcie5_bandwidth`` is
one of the latencies. Arguments of a formula may be numbers, lists, spec fields, formula calls and products of them.
A number that no source confirms, or that is made from one, says so beside it. What cannot be evaluated fails the build.
"""

import ast
import operator
from fractions import Fraction

from docutils import nodes
from sphinx.util.docutils import SphinxRole

from threeledgers import formulas, specs
from threeledgers.formula import REGISTRY
from threeledgers.units import PREFIXES

OPERATORS = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: lambda a, b: Fraction(a) / Fraction(b),
    ast.Pow: operator.pow,
}
UNVERIFIED = "\u00a0(unverified)"  # a word, not only a tooltip: it must reach print and a screen reader
assert formulas.__all__  # importing the package fills the registry


class QuantityError(ValueError):
    """The text of a {quantity} role cannot be evaluated; the message names the part and what would be accepted."""


def evaluate(text):
    """(value, unit, source) of ``spec.field`` or ``formula(name=…)``."""
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except SyntaxError:
        raise QuantityError(f"{text!r} is neither spec.field nor formula(name=value)") from None
    if isinstance(tree, ast.Attribute):
        return _field(tree)
    if isinstance(tree, ast.Call):
        return _call(tree)
    raise QuantityError(
        f"{text!r}: one spec field or one formula call is needed; a number of an example is a {{literal}}"
    )


def _field(tree):
    if not isinstance(tree.value, ast.Name):
        raise QuantityError(f"{ast.unparse(tree)!r} is not spec.field")
    spec = _spec(tree.value.id)
    try:
        # the unit first: it knows numbers only, where the attribute might be a method of the spec
        unit = spec.unit(tree.attr)
    except specs.MissingField as error:
        raise QuantityError(str(error)) from None
    return getattr(spec, tree.attr), unit, f"{spec.name}: {spec.source(tree.attr)}"


def _spec(id):
    """The one spec of this name, of whatever kind; two kinds must not share a name."""
    kinds = [kind for kind in specs.FIELDS if id in specs.ids(kind)]
    if len(kinds) > 1:
        raise QuantityError(f"{id!r} is ambiguous: a {' and a '.join(kinds)} have this name; rename one of the files")
    if not kinds:
        known = [name for kind in specs.FIELDS for name in specs.ids(kind)]
        raise QuantityError(f"no spec {id!r}{specs.suggestion(id, known)}there are {', '.join(known)}")
    return getattr(specs, kinds[0])(id)


def doubts(text):
    """Why a number cannot be relied on: one text for each unverified spec field in an expression that evaluates."""
    found = []
    for node in ast.walk(ast.parse(text.strip(), mode="eval")):
        if isinstance(node, ast.Attribute):
            spec, field = _spec(node.value.id), node.attr
            if not spec.verified(field):
                why = spec.trap(field) or spec.condition(field) or "seen only second-hand, or announced"
                found.append(f"{spec.id}.{field} is unverified: {why}")
    return found


def _call(tree):
    name = ast.unparse(tree.func)
    if name not in REGISTRY:
        raise QuantityError(f"no formula {name!r}; there are {', '.join(sorted(REGISTRY))}")
    if tree.args or any(k.arg is None for k in tree.keywords):
        raise QuantityError(f"{name} takes keywords only: {', '.join(REGISTRY[name].parameters)}")
    values = {k.arg: _value(k.value) for k in tree.keywords}
    try:
        value = REGISTRY[name].exact(**values)
    except ValueError as error:
        raise QuantityError(str(error)) from None
    return value, REGISTRY[name].unit, f"{ast.unparse(tree)}; {REGISTRY[name].source}"


def _value(tree):
    if isinstance(tree, ast.Constant) and isinstance(tree.value, (int, float)) and not isinstance(tree.value, bool):
        return tree.value
    if isinstance(tree, (ast.List, ast.Tuple)):
        return [_value(item) for item in tree.elts]
    if isinstance(tree, ast.BinOp) and type(tree.op) in OPERATORS:
        try:
            return OPERATORS[type(tree.op)](_value(tree.left), _value(tree.right))
        except ZeroDivisionError:
            raise QuantityError(f"division by zero in {ast.unparse(tree)!r}") from None
    if isinstance(tree, ast.Attribute):
        return _field(tree)[0]
    if isinstance(tree, ast.Call):
        return _call(tree)[0]
    raise QuantityError(f"{ast.unparse(tree)!r} is not a number, a list, a spec field or a formula call")


def scale(base, wanted):
    """How many base units one ``wanted`` is: 10**12 for TB/s where the base is B/s, 1/100 for % of a plain number."""
    if wanted == base:
        return 1
    if wanted == "%" and base == "1":
        return Fraction(1, 100)
    heads, tails = zip(*(part.partition("/")[::2] for part in (base, wanted)), strict=True)
    if tails[0] == tails[1] and heads[1].endswith(heads[0]) and heads[0] != "1":
        prefix = heads[1][: len(heads[1]) - len(heads[0])]
        if prefix in PREFIXES:
            return PREFIXES[prefix]
    raise QuantityError(
        f"unit {wanted!r} is not a multiple of {base!r}; prefixes are {', '.join(filter(None, PREFIXES))}"
    )


def typeset(value, unit, wanted="", spec=""):
    """The number as the page shows it: grouped digits, a no-break space, the unit."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    wanted = wanted or unit
    number = (
        Fraction(value) / scale(unit, wanted) if not isinstance(value, float) else value / float(scale(unit, wanted))
    )
    try:
        if spec:
            text = format(float(number), f",{spec}" if "," not in spec and spec[-1] in "fd" else spec)
        else:
            text = f"{int(number):,}" if number == int(number) else f"{float(number):.4g}"
    except ValueError:
        raise QuantityError(f"{spec!r} is not a number format; .1f, .3g and nothing are") from None
    if wanted == "cycle" and text != "1":
        wanted = "cycles"  # the one unit that is a word
    return text if wanted == "1" else f"{text}\u00a0{wanted}"


def render(text):
    """(shown text, source and doubts, whether all is verified) of the content of a {quantity} role."""
    expression, _, form = text.partition("|")
    parts = form.split()
    if len(parts) > 2:
        raise QuantityError(f"{form.strip()!r}: after | come a unit and a format, as in | GB .1f")
    looks_like_format = bool(parts) and parts[-1][0] in ".,0123456789"
    spec = parts.pop() if looks_like_format else ""
    value, unit, source = evaluate(expression)
    doubt = doubts(expression)
    return typeset(value, unit, parts[0] if parts else "", spec), "; ".join([source, *doubt]), not doubt


class Quantity(SphinxRole):
    def run(self):
        try:
            shown, source, verified = render(self.text)
        except QuantityError as error:
            message = self.inliner.reporter.error(f"quantity {self.text!r}: {error}", line=self.lineno)
            return [self.inliner.problematic(self.rawtext, self.rawtext, message)], [message]
        mark = [] if verified else [nodes.inline("", UNVERIFIED, classes=["tl-small", "tl-unverified"])]
        return [Number("", shown, *mark, classes=["tl-quantity"], title=source)], []


class Literal(SphinxRole):
    def run(self):
        return [nodes.inline(self.rawtext, self.text.replace(" ", "\u00a0"), classes=["tl-literal"])], []


class Number(nodes.inline):
    """A number with its source as tooltip."""


def visit_number(self, node):
    self.body.append(self.starttag(node, "span", "", title=node["title"]))


def depart_number(self, node):
    self.body.append("</span>")


def setup(app):
    app.add_node(Number, html=(visit_number, depart_number), override=True)
    app.add_role("quantity", Quantity())
    app.add_role("literal", Literal(), override=True)
    return {"version": "1", "parallel_read_safe": True}
