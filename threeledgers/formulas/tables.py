"""The notation, the constants and the formulas as tables for a page."""

from threeledgers.formula import REGISTRY
from threeledgers.formulas.symbols import CONSTANTS, NOTATION


class Table:
    """Rows under a head, shown as Markdown; ``repr`` is the same as plain text."""

    def __init__(self, head, rows):
        self.head, self.rows = head, rows

    def _repr_markdown_(self):
        lines = [self.head, ["---"] * len(self.head), *self.rows]
        return "\n".join("| " + " | ".join(line) + " |" for line in lines)

    def __repr__(self):
        return "\n".join("  ".join(line) for line in [self.head, *self.rows])


def notation_table():
    """Every symbol: letter, code name, meaning, unit."""
    return Table(
        ["symbol", "code name", "meaning", "unit"],
        [[f"${row.latex}$", f"`{row.name}`", row.meaning, row.unit] for row in NOTATION.values()],
    )


def constants_table():
    """The numbers that formulas may hold, each with its unit and meaning."""
    return Table(
        ["constant", "value", "unit", "meaning"], [[f"`{c.name}`", str(c.value), c.unit, c.meaning] for c in CONSTANTS]
    )


def formula_table():
    """Every formula: name, mathematics, unit, source."""
    return Table(
        ["formula", "mathematics", "unit", "source"],
        [[f"`{f.name}`", f"${f.latex}$", f.unit, f.source] for f in REGISTRY.values()],
    )
