"""A witness lays a prediction beside a count, and stops the page when they differ."""

import csv
import html
import re
from functools import cache
from pathlib import Path

CLAIMS = Path(__file__).with_name("claims.csv")


class WitnessError(AssertionError):
    """Predicted and counted differ; the message shows both."""


class UnknownClaim(LookupError):
    """No row of claims.csv has this id."""


@cache
def claims():
    """All rows of claims.csv by id: claim, verdict, right value or note, source."""
    with CLAIMS.open(encoding="utf8", newline="") as file:
        return {row["id"]: row for row in csv.DictReader(file)}


def claim(id):
    """One row of claims.csv. Raises UnknownClaim naming the ids of the same lecture."""
    if id not in claims():
        near = [other for other in claims() if other[:3] == str(id)[:3]] or list(claims())
        raise UnknownClaim(f"no claim {id!r} in claims.csv; near it are {', '.join(near)}")
    return claims()[id]


def witness(predicted, counted, what="", *, unit="", claim=None):
    """Show *predicted, counted, difference*; raise WitnessError when they are not equal.

    ``what`` names the quantity, ``unit`` its unit, ``claim`` the row of claims.csv that this proves or corrects.
    Numbers, booleans, texts, None and (nested) sequences of them are compared exactly; NaN equals nothing.
    """
    view = _Witness(_plain(predicted), _plain(counted), what, unit, claim)
    if not _equal(view.predicted, view.counted):
        raise WitnessError(
            f"{what or 'witness'}: predicted {predicted!r}, counted {counted!r}{' ' + unit if unit else ''}"
        )
    _show(view)


class _Witness:
    """What a page shows: one line of text, one row of a table."""

    _seen: set[str] = set()

    def __init__(self, predicted, counted, what, unit, id):
        self.predicted, self.counted, self.what, self.unit, self.claim = predicted, counted, what, unit, id
        self.row = claim(id) if id else None
        self.anchor = f"witness-{id.lower()}" if id and id not in self._seen else ""
        if id:
            self._seen.add(id)

    @property
    def difference(self):
        if any(isinstance(v, (bool, str, tuple, type(None))) for v in (self.predicted, self.counted)):
            return "0"
        return _text(self.predicted - self.counted)

    def __repr__(self):
        unit = f" {self.unit}" if self.unit else ""
        head = f"{self.what}: " if self.what else ""
        tail = f" · {self.claim}, {self.row['verdict']}" if self.claim else ""
        return (
            f"{head}predicted {_text(self.predicted)}{unit} · counted {_text(self.counted)}{unit} · "
            f"difference {self.difference}{tail}"
        )

    def _repr_html_(self):
        unit = f" {self.unit}" if self.unit else ""
        cells = (
            ("predicted", f"{_text(self.predicted)}{unit}"),
            ("counted", f"{_text(self.counted)}{unit}"),
            ("difference", self.difference),
        )
        parts = [html.escape(self.what)] if self.what else []
        parts += [f"<b>{k}</b> {html.escape(v)}" for k, v in cells]
        if self.claim:
            link = f'<a href="claims.html#claim-{self.claim.lower()}">{self.claim}</a>'
            parts.append(f"{link} {html.escape(self.row['verdict'])}")
        anchor = f' id="{self.anchor}"' if self.anchor else ""
        body = " ".join(
            f"<span>{part}</span>" for part in parts
        )  # a notebook has no style sheet: spaces part them there
        return f'<div class="tl-witness"{anchor}>{body}</div>'


def _show(view):
    try:
        from IPython import get_ipython
        from IPython.display import display
    except ImportError:
        get_ipython = lambda: None  # noqa: E731
    if get_ipython() is not None:
        display(view)
    else:
        print(view)


def _plain(value):
    """Tuples for sequences (torch.Size, list), Python numbers for 0-d arrays and numpy scalars."""
    if hasattr(value, "item") and not getattr(value, "shape", ()):
        return value.item()
    if isinstance(value, (list, tuple)):
        return tuple(_plain(v) for v in value)
    return value


def _equal(a, b):
    if isinstance(a, bool) != isinstance(b, bool):
        return False
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(map(_equal, a, b))
    return bool(a == b)


def _text(value):
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "none"}[value]
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, tuple) and len(value) > 10:
        return f"({', '.join(map(_text, value[:4]))}, … {_text(value[-1])}; {len(value)} values)"
    if isinstance(value, tuple):
        return "(" + ", ".join(map(_text, value)) + ")"
    return re.sub(r"\s+", " ", str(value))
