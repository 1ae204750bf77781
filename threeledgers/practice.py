"""What a cell calls to practise: ``exercise``, ``check``, ``guess``, ``progress``."""

from threeledgers.exercises import coding, exercises, find
from threeledgers.exercises.answers import browser_data, judge
from threeledgers.widgets import box

_ASK = {
    "numeric": "Answer with check({id!r}, value), for example check({id!r}, {example!r}).",
    "guess": "Guess with check({id!r}, value), for example check({id!r}, {example!r}).",
    "choice": "Answer with check({id!r}, {example!r}).",
    "ordering": "Answer with check({id!r}, {example!r}).",
    "coding": "Write {name}, then run check({id!r}, {name}).",
}


def exercise(id, seed=None):
    """The answer box of an exercise; ``seed`` (a student's name, say) gives it other numbers. Raises UnknownExercise."""
    variant = find(id).draw(seed)
    return box(variant.data, f"Exercise {id}. " + _ASK[variant.data["kind"]].format(**variant.data), browser_data())


def guess(id, seed=None):
    """The box of a guess, scored by how many doublings it is away. Raises UnknownExercise, or ValueError for another kind."""
    variant = find(id).draw(seed)
    if variant.data["kind"] != "guess":
        raise ValueError(f"{id} is not a guess but {variant.data['kind']}; show it with exercise({id!r})")
    return box(variant.data, "A guess. " + _ASK["guess"].format(**variant.data), browser_data())


def check(id, answer, seed=None):
    """The verdict on an answer: a number, a text with a unit (``"2 GiB"``), a sequence or array, letters, or a function.

    The verdict is true when the answer is right; its ``message`` holds the hint that fits, or says what an answer looks
    like: no answer raises. Raises UnknownExercise.
    """
    found = find(id)
    if found.kind == "coding":
        return coding.judge(found, answer)
    return judge(found.draw(seed).data, answer)


def progress(slug):
    """How many of a lecture's exercises are right, with buttons to export and to delete; kept in the browser only."""
    ids = [e.id for e in exercises(slug).values() if e.kind not in ("guess", "coding")]
    return box(
        {"kind": "progress", "ids": ids}, f"Progress in {len(ids)} exercises, kept in the browser.", browser_data()
    )
