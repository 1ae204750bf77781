"""Exercises: one file per lecture, found by the exercise's id (``stride-3`` lives in ``exercises/stride.py``)."""

import importlib
from functools import cache
from pathlib import Path

NOT_LECTURES = {"__init__", "definitions", "answers", "reading", "coding", "draws"}


class UnknownExercise(LookupError):
    """No exercise has this id; the message lists those that exist."""


def slugs():
    """Lectures that have exercises."""
    return sorted(p.stem for p in Path(__file__).parent.glob("*.py") if p.stem not in NOT_LECTURES)


@cache
def exercises(slug):
    """All exercises of a lecture by id, in the page's order. Raises UnknownExercise for a lecture without any."""
    if slug not in slugs():
        raise UnknownExercise(f"no exercises for {slug!r}; there are some for {', '.join(slugs())}")
    return {e.id: e for e in importlib.import_module(f"threeledgers.exercises.{slug}").EXERCISES}


def find(id):
    """The exercise with this id. Raises UnknownExercise naming the ids of its lecture."""
    slug = str(id).rpartition("-")[0]
    known = exercises(slug) if slug in slugs() else {k: e for s in slugs() for k, e in exercises(s).items()}
    if str(id) not in known:
        raise UnknownExercise(f"no exercise {id!r}; there are {', '.join(known)}")
    return known[str(id)]
