"""Reads an answer, typed or given, as numbers or letters. ``widgets/box.js`` reads text the same way, from the same tables."""

import math
import re
from collections.abc import Sequence, Set
from numbers import Complex, Real

from threeledgers.units import typed_units

UNITS = typed_units()
LONGEST = 200  # characters of a text, entries of a sequence
MESSAGES = {
    "empty": "No answer yet. Type one, for example {example}.",
    "long": "An answer has at most {most} characters. Type the answer alone, for example {example}.",
    "text": "That cannot be read as a number. Write it like {example}; 2**31, 1.5e9 and units work.",
    "kind": "A value of type {type} cannot be read as a number. Give one like {example}.",
    "digits": "{typed} can be misread. Write decimals with a point, as in 0.125, and thousands as 1,000 or 1000.",
    "finite": "A finite number is needed, for example {example}.",
    "bare": "The unit is missing. Write it behind the number, for example {example}.",
    "unit": "The unit {unit} is not known here. Use B, kB, MB, GB, KiB, MiB, GiB, %, s, ms, µs, FLOP or FLOP/s.",
    "dimension": "The answer is asked in {base}, not in {unit}.",
    "count": "The answer is a plain count, without the unit {unit}.",
    "length": "{want} numbers are needed, like {example}; you gave {got}.",
    "one": "One number is needed, for example {example}; you gave {got}.",
    "positive": "A guess above zero is needed, for example {example}.",
    "letters": "A value of type {type} cannot be read as options. Give their letters, for example {example}.",
    "option": "{option} is not one of the options {options}.",
    "every": "Every option is needed exactly once, like {example}.",
    "right": "Right. {because}",
    "low": "No: too small.",
    "high": "No: too large.",
    "wrong": "No.",
    "exactly": "It is {shown}. Your guess was exact.",
    "off": "It is {shown}. Your guess was off by a factor of {factor}.",
}
# Character classes that Python and JavaScript understand alike, since their own ideas of a space and of a digit differ. A
# table instead of NFKC, which reads 10⁹ as 109.
READ_AS = (
    (r"[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\ud800-\udfff]", "\ufffd"),  # not to be printed again
    (r"[\xad\u200b-\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff]", ""),  # invisible
    (r"[\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+", " "),
    (r"[\u2010-\u2013\u2212]", "-"),
    (r"[×✕∗⋅]", "*"),
    (r"[÷∕⁄]", "/"),
    (r"[。｡]", "."),
    (r"、", ";"),
    (r"→", ">"),
    (r"【", "["),
    (r"】", "]"),
    (r"μ", "µ"),
    (r"[‘’“”]", "'"),
)
RAISED = "⁰¹²³⁴⁵⁶⁷⁸⁹⁻"
_DIGITS = re.compile(r"[.0-9](?:[0-9.,'_ ]*[.0-9])?")
_CLEAR = re.compile(r"(?:[1-9][0-9]{0,2}(?:,[0-9]{3})+|[0-9]+(?:_[0-9]+)*)?(?:\.[0-9]*)?")


class Unreadable(ValueError):
    """The answer could not be read; the message is for the reader."""


def say(key, data, **values):
    """One of MESSAGES with its blanks filled from ``data`` and ``values``."""
    known = {name: data.get(name, "") for name in ("example", "because", "shown")} | values
    return re.sub(r"\{([a-z]+)\}", lambda blank: str(known[blank[1]]), MESSAGES[key]).strip(" ")


def plain(data, text):
    """Text in the few characters that are read: full-width and raised ones, spaces and dashes of all kinds become ASCII."""
    if len(text) > LONGEST:
        raise Unreadable(say("long", data, most=LONGEST))
    text = re.sub(r"[\uff01-\uff5e]", lambda c: chr(ord(c[0]) - 0xFEE0), text)
    text = re.sub(f"[{RAISED}]+", lambda run: "^" + "".join("0123456789-"[RAISED.index(c)] for c in run[0]), text)
    for characters, meant in READ_AS:
        text = re.sub(characters, meant, text)
    text = text.strip(" ")
    if not text:
        raise Unreadable(say("empty", data))
    return text


def numbers(data, answer):
    """(floats in the exercise's unit, whether all came without a unit). Raises Unreadable with a sentence for the reader."""
    if isinstance(answer, str):
        given = _parts(data, plain(data, answer))
    else:
        given = _entries(answer, lambda what: Unreadable(say("kind", data, type=what)))
        if not given:
            raise Unreadable(say("empty", data))
        given = [plain(data, entry) if isinstance(entry, str) else _float(data, entry) for entry in given]
    if len(given) != len(data["answer"]):
        key = "length" if data["tuple"] else "one"
        raise Unreadable(say(key, data, want=len(data["answer"]), got=len(given)))
    read = [_quantity(data, entry) if isinstance(entry, str) else (entry, None) for entry in given]
    units = [unit for _, unit in read]
    if not any(units[:-1]):
        units = units[-1:] * len(units)  # "10 and 20 GB" are both in GB
    elif not all(units):
        raise Unreadable(say("bare", data))
    scale = base(data)[1]
    values = [
        v if unit is None else _finite(data, v * UNITS[unit][1] / scale)
        for (v, _), unit in zip(read, units, strict=True)
    ]
    return values, not any(units)


def base(data):
    """(base unit, factor) of the unit in which a number without one is taken."""
    return UNITS.get(data["unit"], (data["unit"], 1.0))


def _parts(data, text):
    """Texts of one number each. A comma parts numbers only where it cannot stand between thousands."""
    text = re.sub(r" ?\.$", "", text)
    text = re.sub(r"^[(\[] ?| ?[)\]]$", "", text)
    if re.search(r";| and ", text):
        parts = re.split(r" ?; ?|,? and ", text)
    elif re.search(r", | ,", text):
        parts = re.split(r" ?, | ,", text)
    elif data["tuple"] and "," in text:
        parts = text.split(",")
        if any(re.match(r"0[0-9]", part) for part in parts):
            raise Unreadable(say("digits", data, typed=text))
    else:
        parts = re.split(r" (?=[+-]?[.0-9])", text) if data["tuple"] else [text]
    parts = [part for part in parts if part]
    if not parts:
        raise Unreadable(say("text", data))
    return parts


def _quantity(data, text):
    """(value, unit or None) of ``2*8*4096**2 kB``."""
    total, rest = _power(data, text)
    while rest[:1] in ("*", "/"):
        value, after = _power(data, rest[1:])
        if rest[0] == "/" and value == 0:
            raise Unreadable(say("finite", data))
        total, rest = _finite(data, total * value if rest[0] == "*" else total / value), after
    if not rest:
        return total, None
    if not re.fullmatch(r"[%A-Za-zµ/]+", rest):
        raise Unreadable(say("text", data))
    if rest not in UNITS:
        raise Unreadable(say("unit", data, unit=rest))
    if UNITS[rest][0] != base(data)[0]:
        raise Unreadable(say("count" if data["unit"] == "1" else "dimension", data, base=data["unit"], unit=rest))
    return total, rest


def _power(data, text):
    """(value, rest) of ``-2**31 rest``, read as Python does: powers from the right, then the sign."""
    sign, text = re.fullmatch(r" ?([+-]?) ?(.*)", text).groups()
    digits = _DIGITS.match(text)
    if not digits or not re.search(r"[0-9]", digits[0]):
        raise Unreadable(say("text", data))
    if not _CLEAR.fullmatch(digits[0]):
        raise Unreadable(say("digits", data, typed=digits[0]))
    exponent, power, rest = re.fullmatch(r"([eE][+-]?[0-9]+)? ?(\*\*|\^)?(.*)", text[digits.end() :]).groups()
    value = _finite(data, float(digits[0].replace(",", "").replace("_", "") + (exponent or "")))
    if power:
        by, rest = _power(data, rest)
        try:
            value = _finite(data, math.pow(value, by))
        except (OverflowError, ValueError):
            raise Unreadable(say("finite", data)) from None
    return (-value if sign == "-" else value), rest


def _finite(data, value):
    if not math.isfinite(value):
        raise Unreadable(say("finite", data))
    return value


def letters(data, answer):
    """The chosen letters, in the order given. Raises Unreadable with a sentence for the reader."""

    def refused(what):
        return Unreadable(say("letters", data, type=what))

    unordered = isinstance(answer, Set) and data["kind"] == "choice"
    given = [answer] if isinstance(answer, str) else _entries(list(answer) if unordered else answer, refused)
    chosen = []
    for text in given:
        if not isinstance(text, str):
            raise refused(type(text).__name__)
        words = re.split(r"[ ,;>()\[\]{}]+", plain(data, text))
        words = [re.sub(r"[A-Z]", lambda c: c[0].lower(), word.strip(".'\"`")) for word in words]
        chosen += [word for word in words if word not in ("", "and")]
    if not chosen:
        raise Unreadable(say("empty", data))
    known = [o["letter"] for o in data["options"]]
    for letter in chosen:
        if letter not in known:
            raise Unreadable(say("option", data, option=letter, options=", ".join(sorted(known))))
    if data["kind"] == "ordering" and sorted(chosen) != sorted(known):
        raise Unreadable(say("every", data))
    return chosen if data["kind"] == "ordering" else sorted(set(chosen))


def _entries(answer, refused):
    """The entries of a sequence or an array, or the one thing given; ``refused(type)`` is raised for what holds others."""
    if answer is None:
        return []
    try:
        answer = _unwrapped(answer, refused)
        if not isinstance(answer, Sequence) or isinstance(answer, (str, bytes, bytearray, memoryview)):
            return [answer]
        if len(answer) > LONGEST:
            raise refused(f"{type(answer).__name__} of {len(answer)} entries")
        return [_unwrapped(entry, refused) for entry in answer]
    except Unreadable:
        raise
    except Exception:  # a tensor without data, a class instead of an array
        raise refused(type(answer).__name__) from None


def _unwrapped(value, refused):
    """An array or a tensor as Python's numbers, anything else as it is."""
    if isinstance(value, memoryview) or not hasattr(value, "tolist"):
        return value
    shape = tuple(getattr(value, "shape", ()))
    kind = getattr(getattr(value, "dtype", None), "kind", "")
    if len(shape) > 1 or math.prod(shape) > LONGEST or kind in ("m", "M"):  # a time of NumPy would lose its unit
        raise refused(f"{type(value).__name__} of shape {shape}")
    return value.tolist()


def _float(data, value):
    """A number of any kind as a float: Decimal, Fraction, a scalar of NumPy."""
    what = Unreadable(say("kind", data, type=type(value).__name__))
    unreal = isinstance(value, bool) or isinstance(value, Complex) and not isinstance(value, Real)
    if unreal or not hasattr(type(value), "__float__"):
        raise what
    try:
        return _finite(data, float(value))
    except OverflowError:
        raise Unreadable(say("finite", data)) from None
    except Unreadable:
        raise
    except Exception:  # it has a unit of its own, or says that it is no number
        raise what from None
