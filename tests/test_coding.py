"""Coding exercises: the reference passes; stub, empty and planted answers fail; bad functions are met with a sentence."""

import inspect
import re
from dataclasses import replace

import numpy as np
import pytest
import torch

from threeledgers.exercises import coding, exercises, find, slugs
from threeledgers.exercises.definitions import Coding

ALL = [e for slug in slugs() for e in exercises(slug).values()]
code = pytest.mark.parametrize("exercise", [e for e in ALL if e.kind == "coding"], ids=lambda e: e.id)


@code
def test_coding_reference_passes_and_mistakes_meet_their_hint(exercise):
    assert coding.judge(exercise, exercise.reference).status == "right"
    for number, planted in enumerate(exercise.planted):
        verdict = coding.judge(exercise, planted.function)
        assert (verdict.status, verdict.message, verdict.trap) == ("wrong", planted.hint, number)
    stub = {}
    exec(exercise.stub, stub)
    assert coding.judge(exercise, stub[exercise.name]).status == "wrong"
    assert coding.judge(exercise, lambda *a: None).status == "wrong"
    assert coding.judge(exercise, "text").status == "unreadable"
    assert len(inspect.getsource(exercise.reference).splitlines()) <= 25


def test_coding_bad_functions_are_met_with_a_sentence():
    given = find("stride-code")
    quick = replace(given, seconds=0.3)

    def endless(shape, stride, new_shape):
        while True:
            pass

    def swallowing(shape, stride, new_shape):
        while True:
            try:
                sum(range(1000))
            except Exception:
                pass

    def raising(shape, stride, new_shape):
        return shape[99]

    for function in (endless, swallowing):
        assert "did not finish within 0.3 s" in coding.judge(quick, function).message
    assert "raised IndexError" in coding.judge(given, raising).message

    def first(values):
        """Reference of a toy exercise with a mutable argument."""
        return values[0]

    toy = Coding(
        "toy-code", minutes=1, because="x", stub="def first(values):\n", reference=first, inputs=lambda: [([3, 1, 2],)]
    )
    assert coding.judge(toy, first)
    assert "changes its argument, on first([3, 1, 2])" in coding.judge(toy, lambda values: values.pop(0)).message
    assert "first([3, 1, 2]) gave 1; 3 is right" in coding.judge(toy, lambda values: values[1]).message
    assert "raised TypeError" in coding.judge(toy, lambda: 3).message


class Stubborn(Exception):
    """Refuses to be shown and to be compared."""

    def __repr__(self):
        raise RuntimeError

    __str__ = __eq__ = __repr__
    __hash__ = None


def leaves(*arguments):
    raise SystemExit(3)


def complains(*arguments):
    raise Stubborn


def spoils(shape, *arguments):
    shape[0] = np.ones(2)


@code
@pytest.mark.parametrize(
    "given",
    [None, 1, "compute_stride", (3, 1), [len], {}, np.ones(2), torch.ones(2), Stubborn()],
    ids=lambda g: type(g).__name__,
)
def test_coding_what_is_no_function_is_answered(exercise, given):
    verdict = coding.judge(exercise, given)
    assert verdict.status == "unreadable"
    assert verdict.message == f"A function is needed: check({exercise.id!r}, {exercise.name}), without calling it."


@code
@pytest.mark.parametrize(
    "returned",
    [
        (np.ones(2),),
        (torch.ones(2), torch.ones(2) > 0),
        (torch.ones(8, 4, device="meta"), torch.ones(8, device="meta")),
        (torch.ones(8, 4) > 0, torch.ones(8) > 0),
        Stubborn(),
        (Stubborn(),),
        10**5000,
        "x" * 10**6,
    ],
    ids=range(8),
)
def test_coding_whatever_a_function_returns_is_answered(exercise, returned):
    verdict = coding.judge(exercise, lambda *arguments: returned)
    assert verdict.status == "wrong" and len(verdict.message) < 500


@code
@pytest.mark.parametrize("function", [leaves, complains, int, lambda: 3], ids=range(4))
def test_coding_whatever_a_function_raises_is_answered(exercise, function):
    verdict = coding.judge(exercise, function)
    assert verdict.status == "wrong" and re.search(
        r"raised (SystemExit: 3|Stubborn: <Stubborn>|TypeError: .)", verdict.message
    )


def test_coding_what_cannot_be_compared_is_named():
    given = find("stride-code")
    said = coding.judge(given, lambda *arguments: (np.ones(2),)).message
    assert (
        said
        == "compute_stride((2, 3), (3, 1), (6,)) gave something that cannot be compared with (1,): (array([1., 1.]),)."
    )
    toy = Coding("toy-code", minutes=1, because="x", stub="def f(v):\n", reference=len, inputs=lambda: [([3, 1],)])
    assert "changes its argument, on f([3, 1])" in coding.judge(toy, spoils).message
