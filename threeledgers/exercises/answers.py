"""Judges an answer. ``widgets/box.js`` does the same on the page, from the same data and messages."""

import math
from dataclasses import dataclass

from threeledgers.exercises.definitions import TOLERANCE
from threeledgers.exercises.reading import (
    LONGEST,
    MESSAGES,
    RAISED,
    READ_AS,
    UNITS,
    Unreadable,
    base,
    letters,
    numbers,
    say,
)

FAR = 1000  # a guess this far off, without its unit, is taken for one in another unit


def browser_data():
    """What the page's twin of this file needs: units, messages, limits, and what each character is read as."""
    limits = {"tolerance": TOLERANCE, "longest": LONGEST, "far": FAR}
    return {"units": UNITS, "messages": MESSAGES, "readAs": READ_AS, "raised": RAISED, **limits}


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


def judge(data, answer):
    """The verdict on an answer (text, number, or a sequence of them) for the ``data`` of a variant."""
    try:
        if data["kind"] in ("choice", "ordering"):
            return _judge_options(data, letters(data, answer))
        values, bare = numbers(data, answer)
        return _judge_guess(data, values[0], bare) if data["kind"] == "guess" else _judge_numbers(data, values, bare)
    except Unreadable as problem:
        return Verdict(data["id"], "unreadable", str(problem))


def _close(data, value, target):
    return value == target if data.get("exact") else abs(value - target) <= TOLERANCE * abs(target)


def _judge_numbers(data, values, bare):
    def same(target, factor=1.0):
        return all(_close(data, v * factor, t) for v, t in zip(values, target, strict=True))

    if same(data["answer"]):
        return Verdict(data["id"], "right", say("right", data))
    for number, trap in enumerate(data["traps"]):
        if same(trap["value"]):
            return Verdict(data["id"], "wrong", trap["hint"], number)
    targets = [data["answer"], *(t["value"] for t in data["traps"])]
    if bare and any(same(target, factor) for factor in _other_units(data) for target in targets):
        raise Unreadable(say("bare", data))
    key = "wrong" if data["tuple"] else "low" if values[0] < data["answer"][0] else "high"
    return Verdict(data["id"], "wrong", say(key, data))


def _other_units(data):
    """What a number without a unit may have been meant in, as factors; a plain count has none, a share has per cent."""
    unit, scale = base(data)
    if unit == "1":
        return [0.01] if "%" in data["shown"] else []
    return [factor / scale for name, factor in UNITS.values() if name == unit]


def _judge_guess(data, value, bare):
    target = data["answer"][0]
    if value <= 0:
        raise Unreadable(say("positive", data))
    factor = max(value, target) / min(value, target)
    if bare and data["unit"] != "1" and factor >= FAR:
        raise Unreadable(say("bare", data))
    if factor >= 1e8:  # and infinity, which has no tenths
        return Verdict(data["id"], "guessed", say("off", data, factor="more than 100 million"))
    tenths = math.floor(10 * factor + 0.5)
    return Verdict(
        data["id"], "guessed", say("exactly" if factor == 1 else "off", data, factor=f"{tenths // 10}.{tenths % 10}")
    )


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
