"""What an exercise is: givens with ranges, an answer, traps. One definition serves page, notebook, variant and grader.

``exercise.draw(seed)`` fixes the givens (the page's own when ``seed`` is None) and returns a Variant. Its ``data`` is plain
JSON: the page's script and ``answers.judge`` decide from the same values.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from threeledgers.units import typed_example

TOLERANCE = 0.01
TRIES = 200


class ExerciseError(ValueError):
    """An exercise is defined or drawn in a way that cannot be graded; the message names it."""


@dataclass(frozen=True)
class Given:
    """A number (or text) of the statement: the page's value, how to draw another, how to print it."""

    default: Any
    draw: Callable[[random.Random], Any]
    show: Callable[[Any], str] = str


@dataclass(frozen=True)
class Trap:
    """A wrong answer that tells what was misunderstood; ``value`` computes it from the givens."""

    misconception: str
    hint: str
    value: Callable[[SimpleNamespace], Any]


@dataclass(frozen=True)
class Option:
    """One option of a choice or an ordering, and the reason that a reader who misplaces it should see."""

    text: Callable[[SimpleNamespace], str]
    reason: str
    right: bool = False


@dataclass(frozen=True)
class Variant:
    """An exercise with its numbers fixed."""

    id: str
    givens: dict
    shown: dict
    data: dict


@dataclass(frozen=True)
class Exercise:
    """Common to all kinds. ``because`` is said with a right answer."""

    id: str
    minutes: int
    because: str
    givens: dict[str, Given] = field(default_factory=dict)

    kind = ""

    def draw(self, seed=None):
        """The page's variant, or the one of a seed (a student's name, say); redrawn until it can be graded."""
        rng = random.Random(f"{self.id}/{seed}")
        for _ in range(TRIES if seed is not None else 1):
            drawn = {n: g.default if seed is None else g.draw(rng) for n, g in self.givens.items()}
            data = self.data(SimpleNamespace(**drawn))
            if not (problem := self.problem(data)):
                shown = {n: g.show(drawn[n]) for n, g in self.givens.items()} | {"answer": self.shown_answer(data)}
                shown |= {o["letter"]: o["text"] for o in data.get("options", ())}
                return Variant(
                    self.id, drawn, shown, {"id": self.id, "kind": self.kind, "because": self.because, **data}
                )
        raise ExerciseError(f"{self.id}: {problem} (seed {seed!r})")

    def data(self, g):
        """Everything that judging needs, as JSON."""
        raise NotImplementedError

    def problem(self, data):
        """Why this draw cannot be graded, or an empty string."""
        return ""

    def shown_answer(self, data):
        return ""


@dataclass(frozen=True)
class Numeric(Exercise):
    """A number, or a tuple of numbers, in ``unit``. ``exact`` answers are compared with ==, others within 1 %."""

    answer: Callable[[SimpleNamespace], Any] = None
    unit: str = "1"
    traps: tuple[Trap, ...] = ()
    exact: bool = False
    show: Callable[[Any], str] = str

    kind = "numeric"

    def data(self, g):
        traps = [{"value": _list(t.value(g)), "hint": t.hint, "misconception": t.misconception} for t in self.traps]
        shown = self.show(value := self.answer(g))
        return {
            "answer": _list(value),
            "tuple": (several := isinstance(value, (tuple, list))),
            "unit": self.unit,
            "exact": self.exact,
            "traps": traps,
            "example": typed_example("%" if "%" in shown else self.unit, several),
            "shown": shown,
        }

    def problem(self, data):
        values = [data["answer"], *(t["value"] for t in data["traps"])]
        for n, value in enumerate(values):
            for other in values[:n]:
                if len(value) == len(other) and all(_near(a, b) for a, b in zip(value, other, strict=True)):
                    return f"trap {n} ({value}) is within tolerance of another trap or of the answer ({other})"
        return ""

    def shown_answer(self, data):
        return data["shown"]


@dataclass(frozen=True)
class Guess(Exercise):
    """A number to guess before it is shown; scored by how many doublings the guess is away."""

    answer: Callable[[SimpleNamespace], float] = None
    unit: str = "1"
    show: Callable[[Any], str] = str

    kind = "guess"

    def data(self, g):
        value = self.answer(g)
        return {
            "answer": [value],
            "tuple": False,
            "unit": self.unit,
            "shown": self.show(value),
            "example": f"64 {self.unit}",
        }

    def shown_answer(self, data):
        return data["shown"]


@dataclass(frozen=True)
class Choice(Exercise):
    """One or several right options. ``traps``: sets of letters that tell what was misunderstood."""

    options: tuple[Option, ...] = ()
    traps: tuple[Trap, ...] = ()

    kind = "choice"

    def data(self, g):
        letters = "abcdefgh"[: len(self.options)]
        return {
            "options": [
                {"letter": k, "text": o.text(g), "reason": o.reason} for k, o in zip(letters, self.options, strict=True)
            ],
            "answer": [k for k, o in zip(letters, self.options, strict=True) if o.right],
            "traps": [
                {"value": sorted(t.value(g)), "hint": t.hint, "misconception": t.misconception} for t in self.traps
            ],
            "example": "a, c",
        }

    def problem(self, data):
        texts = [o["text"] for o in data["options"]]
        return "two options read the same" if len(set(texts)) < len(texts) else ""

    def shown_answer(self, data):
        return ", ".join(o["text"] for o in data["options"] if o["letter"] in data["answer"])


@dataclass(frozen=True)
class Ordering(Choice):
    """Options to put in order: they are listed in the right order here and shown rearranged."""

    kind = "ordering"

    def data(self, g):
        shuffled = random.Random(self.id).sample(range(len(self.options)), len(self.options))
        letters = dict(zip(shuffled, "abcdefgh", strict=False))
        options = [
            {"letter": letters[n], "text": self.options[n].text(g), "reason": self.options[n].reason} for n in shuffled
        ]
        return {
            "options": options,
            "answer": [letters[n] for n in range(len(self.options))],
            "traps": [
                {"value": list(t.value(g)), "hint": t.hint, "misconception": t.misconception} for t in self.traps
            ],
            "example": "b, a, c",
        }


@dataclass(frozen=True)
class Planted:
    """A wrong solution that a coding exercise must reject, with the hint for whoever writes the same."""

    misconception: str
    hint: str
    function: Callable


@dataclass(frozen=True)
class Coding(Exercise):
    """A function to write: its stub, a reference, inputs (tuples of arguments), planted wrong solutions.

    ``call`` returns what is compared; ``differs(result, want, arguments)`` says what is wrong with it: nothing, or a sentence.
    """

    stub: str = ""
    reference: Callable = None
    inputs: Callable[[], list[tuple]] = None
    planted: tuple[Planted, ...] = ()
    seconds: float = 5.0
    call: Callable = lambda function, arguments: function(*arguments)
    differs: Callable = None

    kind = "coding"

    @property
    def name(self):
        """Name of the function to write."""
        return self.stub.split("def ", 1)[1].split("(", 1)[0]

    def data(self, g):
        return {"stub": self.stub, "name": self.name}


def _list(value):
    return list(value) if isinstance(value, (tuple, list)) else [value]


def _near(a, b):
    return a == b or abs(a - b) <= 2 * TOLERANCE * max(abs(a), abs(b))
