"""Exercises: every variant can be solved, every trap has its own hint, page and Python give the same verdicts."""

import json
import math
import random
import re
from dataclasses import replace

import pytest

import threeledgers
from tests.node_module import run
from tests.pages import ROOT, page
from threeledgers.exercises import UnknownExercise, answers, exercises, find, slugs
from threeledgers.exercises.answers import MESSAGES, browser_data, judge
from threeledgers.exercises.definitions import ExerciseError, Numeric, Option, Ordering, Trap
from threeledgers.widgets import module

ALL = [e for slug in slugs() for e in exercises(slug).values()]
GRADED = [e for e in ALL if e.kind in ("numeric", "choice", "ordering")]
each = pytest.mark.parametrize("exercise", ALL, ids=lambda e: e.id)
graded = pytest.mark.parametrize("exercise", GRADED, ids=lambda e: e.id)

ORDER = Ordering(
    "order-1",
    minutes=1,
    because="Innermost first.",
    options=(
        Option(lambda g: "first", "It comes first."),
        Option(lambda g: "second", "It comes second."),
        Option(lambda g: "third", "Last."),
    ),
)


def faults(exercise):
    """What the lint finds in an exercise's definition."""
    found = [f"{exercise.id}: no {what}" for what in ("minutes",) if not getattr(exercise, what)]
    tips = [(t.misconception, t.hint) for t in getattr(exercise, "traps", ())] + [
        (p.misconception, p.hint) for p in getattr(exercise, "planted", ())
    ]
    found += [f"{exercise.id}: a trap without a misconception" for m, _ in tips if not m.strip()]
    found += [
        f"{exercise.id}: a trap without a hint of one or two sentences"
        for _, h in tips
        if not re.fullmatch(r"\S.{15,160}[.?]", h)
    ]
    found += [f"{exercise.id}: two traps with one hint"] * (len({h for _, h in tips}) < len(tips))
    found += [f"{exercise.id}: no trap"] * (exercise.kind != "guess" and not tips)
    found += [
        f"{exercise.id}: an option without a reason" for o in getattr(exercise, "options", ()) if len(o.reason) < 15
    ]
    return found


@each
def test_definition(exercise):
    assert not faults(exercise)


@pytest.mark.parametrize("slug", slugs())
def test_the_page_holds_the_exercises_of_the_file(slug):
    text = page(ROOT / f"lectures/{slug}.md").text
    kinds = {e.id: e.kind for e in exercises(slug).values()}
    asked = [id for id, kind in kinds.items() if kind != "guess"]
    assert len(asked) == 7 and asked[-1] == f"{slug}-code"
    assert re.findall(r"^:+\{exercise\} \S+\n:label: (\S+)", text, re.M) == asked
    assert re.findall(r"^:+\{solution\} (\S+)\n:class: dropdown", text, re.M) == asked
    assert re.findall(r'^exercise\("(\S+)"\)', text, re.M) == asked
    assert re.findall(r'^guess\("(\S+)"\)', text, re.M) == [id for id, kind in kinds.items() if kind == "guess"]
    used = set(re.findall(r"\{given\}`(\S+)\.\w+`", text))
    assert used <= set(kinds) and {e.id for e in exercises(slug).values() if e.givens} <= used
    assert find(f"{slug}-code").stub.rstrip() in text


@graded
def test_1000_variants_can_be_solved_and_their_traps_told_apart(exercise):
    seen = set()
    for seed in [None, *range(1000)]:
        data = exercise.draw(seed).data
        assert judge(data, data["answer"]).status == "right", seed
        for number, trap in enumerate(data["traps"]):
            verdict = judge(data, trap["value"])
            assert (verdict.status, verdict.message, verdict.trap) == ("wrong", trap["hint"], number), seed
            if exercise.kind == "numeric" and len(trap["value"]) == 1:
                assert not math.isclose(trap["value"][0], data["answer"][0], rel_tol=0.01)
        seen.add(str(data["answer"]) + str(data.get("options")))
    assert len(seen) > 1, "a student's numbers differ from a neighbour's"
    assert exercise.draw("ada").data == exercise.draw("ada").data


def wild(data, rng):
    """An answer as somebody might type it: near the answer, near a trap, or nonsense."""
    if data["kind"] in ("choice", "ordering"):
        known = [o["letter"] for o in data["options"]]
        picked = rng.sample(known, rng.randint(0, len(known))) + rng.choices(["", "z", "(a)", "B"], k=rng.randint(0, 1))
        return rng.choice([", ", " ", ",", " > "]).join(picked)
    nonsense = [
        "",
        " ",
        "nan",
        "inf",
        "abc",
        "1e999",
        "--3",
        "2**",
        "1/0",
        "3 s",
        "5 XB",
        "1,2,3",
        "٣",
        "1_0",
        "(",
        "12 %",
        "1e-400",
        "2 kB/s",
        "−7",
    ]
    if rng.random() < 0.25:
        return rng.choice(nonsense)
    target = rng.choice([data["answer"], *(t["value"] for t in data.get("traps", ()))])
    values = [v * rng.choice([1, 1, 1, 1.004, 0.97, 2, -1]) for v in target]
    forms = [
        repr,
        lambda v: f"{v:.6g}",
        lambda v: f"{v:,.0f}" if not data["tuple"] else f"{v:.0f}",
        lambda v: f"{v:.3e}",
        lambda v: f" {v!r} ",
    ]
    texts = [rng.choice(forms)(v) for v in values]
    if data["tuple"]:
        return rng.choice(["({})", "{}", "[{}]"]).format(
            rng.choice([", ", ",", " "]).join(texts + rng.choices(["1"], k=rng.random() < 0.1))
        )
    unit = rng.choice(["", "", data["unit"], "kB", "MB", "MiB", "%", "elements", "bytes"])
    if unit in ("kB", "MB", "MiB", "%") and rng.random() < 0.7:
        texts = [f"{values[0] / answers.UNITS[unit][1]:.6g}"]
    return f"{texts[0]}{rng.choice(['', ' '])}{unit if unit != '1' else ''}"


@pytest.mark.parametrize("exercise", [e for e in ALL if e.kind != "coding"] + [ORDER], ids=lambda e: e.id)
def test_page_and_python_give_the_same_verdict_on_1000_answers(exercise, tmp_path):
    rng = random.Random(exercise.id)
    data = exercise.draw().data
    typed = [wild(data, rng) for _ in range(1000)]
    source = module("box", A=json.dumps(browser_data()))
    told = run(source, "judge", [[data, text] for text in typed], tmp_path)
    seen = set()
    for text, verdict in zip(typed, told, strict=True):
        here = judge(data, text)
        assert verdict == {"id": here.id, "status": here.status, "message": here.message, "trap": here.trap}, text
        seen.add(here.status)
    assert seen == ({"guessed", "unreadable"} if exercise.kind == "guess" else {"right", "wrong", "unreadable"})


def test_an_ordering_names_what_is_misplaced():
    data = ORDER.draw().data
    assert judge(data, data["answer"]).status == "right"
    swapped = [data["answer"][1], data["answer"][0], data["answer"][2]]
    assert judge(data, swapped).message == f"No. ({swapped[0]}) It comes second."
    assert "exactly once" in judge(data, data["answer"][:2]).message


@pytest.mark.parametrize(
    "id, answer, words",
    [
        ("stride-3", "", "No answer yet"),
        ("stride-3", None, "No answer yet"),
        ("stride-3", float("nan"), "A finite number is needed"),
        ("stride-3", "nan", "cannot be read as a number"),
        ("stride-3", "many", "cannot be read as a number"),
        ("stride-3", True, "cannot be read as a number"),
        ("stride-3", "3 s", "The answer is asked in B, not in s"),
        ("stride-3", "3 XB", "The unit XB is not known"),
        ("stride-5", "50 B", "a plain count, without the unit B"),
        ("stride-1", "1", "2 numbers are needed, like (4, 1); you gave 1"),
        ("stride-1", (1, 3, 1), "2 numbers are needed"),
        ("stride-3", [1, 2], "One number is needed"),
        ("stride-2", "e", "e is not one of the options a, b, c, d"),
        ("stride-2", [], "No answer yet"),
        ("stride-guess", "0", "A guess above zero"),
    ],
)
def test_what_cannot_be_read_is_said(id, answer, words):
    verdict = threeledgers.check(id, answer)
    assert verdict.status == "unreadable" and words in verdict.message and not verdict


@pytest.mark.parametrize(
    "typed", ["134 MB", "0.134GB", "128 MiB", "2**27", "2*4*2048*4096*2", "134,217,728", "1.34e8", 134217728, 1.342e8]
)
def test_ways_to_write_one_number(typed):
    assert threeledgers.check("stride-3", typed)


def test_zero_as_an_answer():
    data = Numeric("zero-1", minutes=1, because="x", answer=lambda g: 0, traps=()).draw().data
    assert judge(data, "0").status == "right" and judge(data, "0.0001").message == MESSAGES["high"]


def test_a_guess_is_scored_by_its_ratio():
    messages = [threeledgers.check("stride-guess", x).message for x in ("128 B", "2 KiB", "1024")]
    assert messages == [
        "It is 1,024 bytes. Your guess was off by a factor of 8.0.",
        "It is 1,024 bytes. Your guess was off by a factor of 2.0.",
        "It is 1,024 bytes. Your guess was exact.",
    ]


def test_unknown_ids_are_answered_with_the_known():
    for call in (
        lambda: threeledgers.exercise("stride-9"),
        lambda: threeledgers.check("strid-1", 1),
        lambda: find("stride"),
    ):
        with pytest.raises(UnknownExercise, match="no exercise .*there are .*stride-guess, stride-1"):
            call()
    with pytest.raises(
        UnknownExercise, match="no exercises for 'goodput'; there are some for attention, autograd, stride"
    ):
        threeledgers.progress("goodput")
    with pytest.raises(ValueError, match=r"stride-1 is not a guess but numeric; show it with exercise\('stride-1'\)"):
        threeledgers.guess("stride-1")


def test_planted_faults_of_a_definition_are_found():
    good = find("stride-3")
    same = replace(
        good, traps=(*good.traps, Trap("the answer itself", "This hint is never seen by anybody.", good.answer))
    )
    with pytest.raises(ExerciseError, match="stride-3: trap 4 .* is within tolerance"):
        same.draw()
    near = replace(
        good, traps=(Trap("nearly", "This hint is never seen by anybody.", lambda g: good.answer(g) * 1.015),)
    )
    with pytest.raises(ExerciseError, match="within tolerance"):
        near.draw("ada")
    assert faults(replace(good, traps=(Trap("no hint", "", lambda g: 1),)))
    assert faults(replace(good, traps=(Trap(" ", "A hint that is long enough.", lambda g: 1),)))
    assert faults(replace(good, traps=()))
