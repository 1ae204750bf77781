"""Widgets: one ``.js`` file each, put together with the generated formulas and ``kit.js`` into one module without imports.

``widget("stride")`` works in JupyterLab, Colab and VS Code, and on the static page through ``assets/widget-host.js``.
"""

import html
import importlib
import json
from functools import cache
from pathlib import Path

import anywidget
import traitlets

from threeledgers import formulas
from threeledgers.formula import REGISTRY
from threeledgers.formulas.symbols import CONSTANTS

ROOM = Path(__file__).parent


class UnknownWidget(LookupError):
    """No widget has this name; the message lists those that exist."""


class Widget(anywidget.AnyWidget):
    """A widget of the book: ``settings`` is what its controls hold, in the browser and in the kernel."""

    _esm = traitlets.Unicode().tag(sync=True)
    settings = traitlets.Dict().tag(sync=True)

    def __init__(self, text, esm, **state):
        self._text = text
        super().__init__(_esm=esm, **state)

    def __repr__(self):
        return self._text


class Box(Widget):
    """An answer box: ``data`` is the exercise's variant, ``verdict`` the last judgement."""

    data = traitlets.Dict().tag(sync=True)
    verdict = traitlets.Dict().tag(sync=True)


class Shown:
    """A widget followed by the same numbers as a folded table, for print and for readers without JavaScript."""

    def __init__(self, view, table):
        self.view, self.table = view, table

    def _ipython_display_(self):
        from IPython.display import display

        display(self.view)
        display(self.table)


class FoldedTable:
    """A table behind a line that opens it: ``head`` and ``rows`` of texts under a ``title``."""

    def __init__(self, title, head, rows):
        self.title, self.head, self.rows = title, head, rows

    def _repr_html_(self):
        def line(cells, tag):
            return "<tr>" + "".join(f"<{tag}>{html.escape(str(c))}</{tag}>" for c in cells) + "</tr>"

        body = "".join(line(row, "td") for row in self.rows)
        table = f"<table><thead>{line(self.head, 'th')}</thead><tbody>{body}</tbody></table>"
        return f'<details class="tl-table"><summary>{html.escape(self.title)}</summary>{table}</details>'

    def __repr__(self):
        return "\n".join([self.title, *("  ".join(map(str, row)) for row in [self.head, *self.rows])])


def names():
    """Widgets that ``widget(name)`` can show: those with a Python file for settings and table."""
    return sorted(p.stem for p in ROOM.glob("*.py") if p.stem != "__init__")


def widget(name, **settings):
    """Show a widget with its folded table; keywords override its first settings. Raises UnknownWidget or TypeError.

    A widget's Python file has SETTINGS and ``table()``, and may have ``constants()``: what its script needs of the specs.
    """
    if name not in names():
        raise UnknownWidget(f"no widget {name!r}; there are {', '.join(names())}")
    about = importlib.import_module(f"threeledgers.widgets.{name}")
    unknown = sorted(set(settings) - set(about.SETTINGS))
    if unknown:
        raise TypeError(f"widget {name!r} has no setting {', '.join(unknown)}; it has {', '.join(about.SETTINGS)}")
    constants = {key: json.dumps(value) for key, value in getattr(about, "constants", dict)().items()}
    return Shown(Widget(f"Widget {name}", module(name, **constants), settings=about.SETTINGS | settings), about.table())


def box(data, text, answers):
    """The answer box for the ``data`` of an exercise's variant; ``answers`` is what its script needs to judge.

    ``text`` stands where no widget can be shown.
    """
    return Box(text, module("box", A=json.dumps(answers, ensure_ascii=False)), data=data)


@cache
def module(name, **constants):
    """The ECMAScript module of a widget: formulas and constants it uses, kit.js, its own file.

    ``constants`` are further names with their JSON text.
    """
    source = (ROOM / f"{name}.js").read_text(encoding="utf8")
    used = [n for n in formulas.__all__ if f"F.{n}" in source]
    parts = ["const F = {" + ", ".join(f"{n}: {REGISTRY[n].js}" for n in used) + "};"]
    parts.append("const C = " + json.dumps({c.name: int(c.value) for c in CONSTANTS}) + ";")
    parts += [f"const {key} = {text};" for key, text in constants.items()]
    parts += [(ROOM / "kit.js").read_text(encoding="utf8"), source]
    return "\n".join(_slim(part) for part in parts)


def _slim(source):
    """Without whole-line comments and indentation: what a page need not carry."""
    lines = (line.strip() for line in source.splitlines())
    return "\n".join(line for line in lines if line and not line.startswith("//"))
