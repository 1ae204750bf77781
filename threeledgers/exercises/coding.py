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
    outputs, first = [], None
    for number, arguments in enumerate(cases):
        mine = copy.deepcopy(arguments)
        try:
            result = limited(function, mine, deadline)
        except OutOfTime:
            return wrong(
                f"It did not finish within {exercise.seconds:g} s, on {exercise.name}{_shown(arguments)}. Does a loop never end?"
            )
        except Exception as error:
            result = error
        if mine != arguments:
            return wrong(f"It changes its argument, on {exercise.name}{_shown(arguments)}. Work on a copy.")
        outputs.append(result)
        if first is None and not _same(result, exercise.reference(*copy.deepcopy(arguments))):
            first = number
    if first is None:
        return Verdict(exercise.id, "right", f"Right, on {len(cases)} inputs. {exercise.because}")
    for number, planted in enumerate(exercise.planted):
        if all(_same(o, planted.function(*copy.deepcopy(a))) for o, a in zip(outputs, cases, strict=True)):
            return wrong(planted.hint, number)
    got, want = outputs[first], exercise.reference(*copy.deepcopy(cases[first]))
    said = f"raised {type(got).__name__}: {got}" if isinstance(got, Exception) else f"gave {got!r}"
    return wrong(f"{exercise.name}{_shown(cases[first])} {said}; {want!r} is right.")


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


def _same(result, want):
    if isinstance(result, Exception) or isinstance(want, Exception):
        return False
    if isinstance(result, list):
        result = tuple(result)
    return type(result) is type(want) and result == want


def _shown(arguments):
    return "(" + ", ".join(map(repr, arguments)) + ")"
