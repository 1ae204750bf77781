"""Reads a typed answer and judges it. ``widgets/box.js`` does the same on the page, from the same data and messages."""

import math
import re
from dataclasses import dataclass
from numbers import Real

from threeledgers.exercises.definitions import TOLERANCE
from threeledgers.units import typed_units

UNITS = typed_units()
MESSAGES = {
    "empty": "No answer yet. Type one, for example {example}.",
    "text": "That cannot be read as a number. Write it like {example}; 2**31, 1.5e9 and units work.",
    "finite": "A finite number is needed, for example {example}.",
    "unit": "The unit {unit} is not known here. Use B, kB, MB, GB, KiB, MiB, GiB, %, s, ms, µs, FLOP or FLOP/s.",
    "dimension": "The answer is asked in {base}, not in {unit}.",
    "count": "The answer is a plain count, without the unit {unit}.",
    "length": "{want} numbers are needed, like {example}; you gave {got}.",
    "one": "One number is needed, for example {example}; you gave {got}.",
    "positive": "A guess above zero is needed, for example {example}.",
    "option": "{option} is not one of the options {options}.",
    "every": "Every option is needed exactly once, like {example}.",
    "right": "Right. {because}",
    "low": "No: too small.",
    "high": "No: too large.",
    "wrong": "No.",
    "exactly": "It is {shown}. Your guess was exact.",
    "off": "It is {shown}. Your guess was off by a factor of {factor}.",
}
_FACTOR = r"[+-]?(?:\d{1,3}(?:,\d{3})+|\d+(?:_\d+)*)?(?:\.\d+)?(?:[eE][+-]?\d+)?"
_TERM = re.compile(rf"\s*({_FACTOR})\s*(?:(?:\*\*|\^)\s*({_FACTOR}))?\s*", re.ASCII)


def browser_data():
    """What the page's twin of this file needs: units, messages, tolerance."""
    return {"units": UNITS, "messages": MESSAGES, "tolerance": TOLERANCE}


@dataclass(frozen=True)
class Verdict:
    """``status`` is right, wrong, unreadable or guessed; ``message`` is what the reader sees; ``trap`` the trap's number."""

    id: str
    status: str
    message: str
    trap: int | None = None

    def __bool__(self):
        return self.status == "right"

    def __repr__(self):
        return f"{self.id}: {self.message}"


class Unreadable(ValueError):
    """The answer could not be read; the message is for the reader."""


def say(key, data, **values):
    """One of MESSAGES with its blanks filled from ``data`` and ``values``."""
    known = {"example": data.get("example", ""), "because": data.get("because", ""), "shown": data.get("shown", "")}
    text = MESSAGES[key]
    for name, value in (known | values).items():
        text = text.replace("{" + name + "}", str(value))
    return text.strip()


def judge(data, answer):
    """The verdict on an answer (text, number, or a sequence of them) for the ``data`` of a variant."""
    try:
        if data["kind"] in ("choice", "ordering"):
            return _judge_options(data, letters(data, answer))
        values = numbers(data, answer)
        return _judge_guess(data, values[0]) if data["kind"] == "guess" else _judge_numbers(data, values)
    except Unreadable as problem:
        return Verdict(data["id"], "unreadable", str(problem))


def numbers(data, answer):
    """The answer as floats in base units. Raises Unreadable with a sentence for the reader."""
    if isinstance(answer, str):
        text = answer.replace("\u00a0", " ").replace("\u202f", " ").replace("−", "-").replace("×", "*").strip()
        if not text:
            raise Unreadable(say("empty", data))
        if data["tuple"]:
            text = re.sub(r"^[(\[]|[)\]]$", "", text).strip()
            parts = [p for p in re.split(r"\s*,\s*|\s+", text) if p]
        else:
            parts = [text]
        values = [_scalar(data, part) for part in parts]
    else:
        given = list(answer) if isinstance(answer, (tuple, list)) else [answer]
        if any(isinstance(v, bool) or not isinstance(v, (Real, str)) for v in given):
            raise Unreadable(say("text" if given and given != [None] else "empty", data))
        values = [_scalar(data, v) if isinstance(v, str) else float(v) for v in given]
    if len(values) != len(data["answer"]):
        key = "length" if data["tuple"] else "one"
        raise Unreadable(say(key, data, want=len(data["answer"]), got=len(values)))
    if not all(math.isfinite(v) for v in values):
        raise Unreadable(say("finite", data))
    return values


def _scalar(data, text):
    value, rest = _product(text)
    unit = rest.strip()
    if value is None:
        raise Unreadable(say("text", data))
    if not unit:
        return value
    if not re.fullmatch(r"[%A-Za-zµμ/]+", unit):
        raise Unreadable(say("text", data))
    known = UNITS.get(unit.replace("μ", "µ"))
    if known is None:
        raise Unreadable(say("unit", data, unit=unit))
    if known[0] != data["unit"]:
        raise Unreadable(say("count" if data["unit"] == "1" else "dimension", data, base=data["unit"], unit=unit))
    return value * known[1]


def _product(text):
    """(value, rest) of ``2*8*4096**2 rest``; value is None where no number stands at the start."""
    total, rest, sign = None, text, "*"
    while True:
        match = _TERM.match(rest)
        base = _number(match[1])
        power = _number(match[2]) if match[2] is not None else None
        if base is None or match[2] is not None and power is None:
            return None, rest
        try:
            factor = base if power is None else math.pow(base, power)
            total = factor if total is None else total * factor if sign == "*" else total / factor
        except (OverflowError, ValueError, ZeroDivisionError):
            total = math.inf
        rest = rest[match.end() :]
        if rest[:1] not in ("*", "/") or not rest:
            return total, rest
        sign, rest = rest[0], rest[1:]


def _number(text):
    if not re.search(r"[0-9]", text or ""):
        return None
    return float(text.replace(",", "").replace("_", ""))


def _close(data, value, target):
    return value == target if data.get("exact") else abs(value - target) <= TOLERANCE * abs(target)


def _judge_numbers(data, values):
    def same(target):
        return all(_close(data, v, t) for v, t in zip(values, target, strict=True))

    if same(data["answer"]):
        return Verdict(data["id"], "right", say("right", data))
    for number, trap in enumerate(data["traps"]):
        if same(trap["value"]):
            return Verdict(data["id"], "wrong", trap["hint"], number)
    key = "wrong" if data["tuple"] else "low" if values[0] < data["answer"][0] else "high"
    return Verdict(data["id"], "wrong", say(key, data))


def _judge_guess(data, value):
    if value <= 0:
        raise Unreadable(say("positive", data))
    ratio = value / data["answer"][0]
    tenths = math.floor(10 * max(ratio, 1 / ratio) + 0.5)
    text = f"{tenths // 10}.{tenths % 10}" if tenths < 10**9 else "more than 100 million"
    return Verdict(data["id"], "guessed", say("exactly" if ratio == 1 else "off", data, factor=text))


def letters(data, answer):
    """The chosen letters, in the order given. Raises Unreadable with a sentence for the reader."""
    given = re.split(r"[\s,;>]+", answer) if isinstance(answer, str) else list(answer or [])
    chosen = [str(k).strip(" ().").lower() for k in given if str(k).strip(" ().")]
    if not chosen:
        raise Unreadable(say("empty", data))
    known = [o["letter"] for o in data["options"]]
    for letter in chosen:
        if letter not in known:
            raise Unreadable(say("option", data, option=letter, options=", ".join(sorted(known))))
    if data["kind"] == "ordering" and sorted(chosen) != sorted(known):
        raise Unreadable(say("every", data))
    return chosen if data["kind"] == "ordering" else sorted(set(chosen))


def _judge_options(data, chosen):
    if chosen == data["answer"]:
        return Verdict(data["id"], "right", say("right", data))
    for number, trap in enumerate(data["traps"]):
        if chosen == trap["value"]:
            return Verdict(data["id"], "wrong", trap["hint"], number)
    if data["kind"] == "ordering":
        misplaced = next(c for c, a in zip(chosen, data["answer"], strict=True) if c != a)
    else:
        wrongly = [k for k in chosen if k not in data["answer"]]
        misplaced = wrongly[0] if wrongly else next(k for k in data["answer"] if k not in chosen)
    reason = next(o["reason"] for o in data["options"] if o["letter"] == misplaced)
    return Verdict(data["id"], "wrong", f"{say('wrong', data)} ({misplaced}) {reason}")
