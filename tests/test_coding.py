"""Coding exercises: the reference passes; stub, empty and planted answers fail; bad functions are met with a sentence."""

import inspect
from dataclasses import replace

import pytest

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
