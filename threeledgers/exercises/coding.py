"""Runs a reader's function on the inputs of a coding exercise: limited in time, its arguments watched."""

import copy
import sys
import time

from threeledgers.exercises.answers import Verdict


class OutOfTime(BaseException):
    """The function ran past its limit. Not an Exception, so that a bare ``except`` in it does not swallow this."""


def judge(exercise, function):
    """The verdict on ``function``: the reference passes; a planted mistake is met with its own hint."""

    def wrong(message, trap=None):
        return Verdict(exercise.id, "wrong", message, trap)

    if not callable(function):
        message = f"A function is needed: check({exercise.id!r}, {exercise.name}), without calling it."
        return Verdict(exercise.id, "unreadable", message)
    deadline = time.monotonic() + exercise.seconds
    cases = exercise.inputs()
    outputs, first, why = [], None, ""
    for number, arguments in enumerate(cases):
        mine = copy.deepcopy(arguments)
        try:
            result = limited(exercise.call, (function, mine), deadline)
        except OutOfTime:
            return wrong(
                f"It did not finish within {exercise.seconds:g} s, on {exercise.name}{_shown(arguments)}. Does a loop never end?"
            )
        except (Exception, SystemExit) as error:
            result = error
        if not _unchanged(mine, arguments):
            return wrong(f"It changes its argument, on {exercise.name}{_shown(arguments)}. Work on a copy.")
        outputs.append(result)
        if first is None and (fault := _fault(exercise, result, exercise.reference, arguments)):
            first, why = number, fault
    if first is None:
        return Verdict(exercise.id, "right", f"Right, on {len(cases)} inputs. {exercise.because}")
    for number, planted in enumerate(exercise.planted):
        if not any(_fault(exercise, o, planted.function, a) for o, a in zip(outputs, cases, strict=True)):
            return wrong(planted.hint, number)
    return wrong(f"{exercise.name}{_shown(cases[first])} {why}")


def limited(function, arguments, deadline):
    """Call the function; raise OutOfTime at the first instruction that it starts after the deadline."""

    def trace(frame, event, argument):
        frame.f_trace_opcodes = True  # "while True: pass" never starts a new line
        if time.monotonic() > deadline:
            raise OutOfTime
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        return function(*arguments)
    finally:
        sys.settrace(before)


def _fault(exercise, result, function, arguments):
    """What tells a result from that of ``function``, in words that follow the call; empty where nothing does."""
    raised = f"raised {type(result).__name__}: {_text(str, result)}" if isinstance(result, BaseException) else ""
    if raised and exercise.differs:
        return raised
    want = exercise.call(function, copy.deepcopy(arguments))
    try:
        if exercise.differs:
            return exercise.differs(result, want, arguments)
        if not raised and _same(result, want):
            return ""
    except Exception:  # what a reader returns may refuse to be compared: an array in a tuple, a tensor without data
        right = "the right result" if exercise.differs else repr(want)
        return f"gave something that cannot be compared with {right}: {_text(repr, result)}".replace("\n", " ") + "."
    return f"{raised or f'gave {_text(repr, result)}'}; {want!r} is right."


def _text(to_text, value):
    """``str`` or ``repr`` of anything, short enough for a sentence."""
    try:
        text = to_text(value)
    except Exception:
        return f"<{type(value).__name__}>"
    return text if len(text) <= 200 else f"{text[:200]}…"


def _same(result, want):
    if isinstance(result, list):
        result = tuple(result)
    return type(result) is type(want) and bool(result == want)


def _unchanged(mine, given):
    """Equal arguments; tensors are compared whole."""
    if isinstance(given, tuple):
        return all(map(_unchanged, mine, given))
    try:
        return bool(mine.equal(given) if hasattr(given, "equal") else mine == given)
    except Exception:  # only something put in by the function refuses to be compared
        return False


def _shown(arguments):
    shapes = [f"tensor{tuple(a.shape)}" if hasattr(a, "shape") else repr(a) for a in arguments]
    return "(" + ", ".join(shapes) + ")"
