"""Whatever a notebook holds is answered when it is given to ``check``: numbers of all kinds, arrays, and what is no answer."""

import random
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
import torch

import threeledgers
from tests.test_typed import BOXES, typed
from threeledgers.exercises import reading
from threeledgers.exercises.answers import judge

RIGHT = [
    ("stride-1", np.array([1, 7])),
    ("stride-1", torch.tensor([1, 7])),
    ("stride-1", torch.Size([1, 7])),
    ("stride-1", [np.int32(1), torch.tensor(7)]),
    ("stride-1", ("1", 7.0)),
    ("stride-1", "（1，7）"),
    ("stride-2", {"a"}),
    ("stride-2", np.array(["a"])),
    ("stride-3", torch.tensor(134217728)),
    ("stride-3", torch.tensor(134217728.0, requires_grad=True)),
    ("stride-3", np.array(1.34e8)),
    ("stride-3", np.float32(1.34e8)),
    ("stride-3", Decimal(134217728)),
    ("stride-3", Fraction(134217728)),
    ("stride-3", ["134 MB"]),
    ("stride-3", "１３４ MB"),
    ("stride-4", "6.25 %"),
    ("stride-4", 0.0625),
    ("autograd-2", "0 and 1,000 GB"),
    ("autograd-2", (0, 1000)),
    ("autograd-2", "0 and 1 TB"),
    ("attention-1", "55 TFLOPs"),
    ("attention-2", "10.74 GB and 137.4 GB"),
    ("attention-4", "1.67 times"),
]


@pytest.mark.parametrize("id, answer", RIGHT, ids=ascii)
def test_right_answers_are_right_in_whatever_form(id, answer):
    assert threeledgers.check(id, answer), threeledgers.check(id, answer)


@pytest.mark.parametrize(
    "id, answer, unit",
    [
        ("stride-3", 134, "1.5 GB"),
        ("stride-3", "128", "1.5 GB"),
        ("stride-3", "67.1", "1.5 GB"),  # a trap in MB
        ("stride-4", "6.25", "40 %"),
        ("stride-4", 6.25, "40 %"),
        ("attention-1", "55", "3 FLOP"),
        ("attention-1", 55, "3 FLOP"),
        ("attention-2", "10740, 137400", "4 and 1 GB"),
        ("autograd-guess", "107.8", "64 B"),
        ("attention-guess", 41.7, "64 s"),
    ],
)
def test_a_number_without_its_unit_is_asked_for_it(id, answer, unit):
    verdict = threeledgers.check(id, answer)
    assert verdict.status == "unreadable"
    assert verdict.message == f"The unit is missing. Write it behind the number, for example {unit}."


@pytest.mark.parametrize(
    "id, answer, message",
    [
        ("stride-5", 5000, "high"),
        ("attention-4", 167, "high"),
        ("attention-4", "0.0167", "low"),
        ("stride-3", 1, "low"),
    ],
)
def test_a_plain_count_and_a_wrong_number_are_not_asked_for_a_unit(id, answer, message):
    assert threeledgers.check(id, answer).message == reading.MESSAGES[message]


class Stubborn:
    """Refuses whatever it is asked for."""

    def __getattr__(self, name):
        raise RuntimeError(name)

    def __float__(self):
        raise RuntimeError("no number")


NUMBER = "cannot be read as a number"
ANSWERED = [
    ("autograd-1", "16*13*e9", NUMBER),
    ("stride-3", "0,125", "0,125 can be misread. Write decimals with a point, as in 0.125"),
    ("attention-guess", "0,007 s", "0,007 can be misread. Write decimals with a point, as in 0.125"),
    ("attention-guess", "1e-320 s", "off by a factor of more than 100 million"),
    ("attention-guess", "1e308", "The unit is missing"),
    ("attention-guess", -1, "A guess above zero"),
    ("stride-2", 5, "A value of type int cannot be read as options. Give their letters, for example a, c."),
    ("stride-2", {"a": 1}, "of type dict cannot be read as options"),
    ("stride-2", [["a"]], "of type list cannot be read as options"),
    ("stride-2", torch.ones(2), "of type float cannot be read as options"),
    ("stride-3", 10**400, "A finite number is needed"),
    ("stride-3", Fraction(10**400), "A finite number is needed"),
    ("stride-3", Decimal("nan"), "A finite number is needed"),
    ("stride-3", Decimal("snan"), NUMBER),
    ("stride-3", np.array(np.inf), "A finite number is needed"),
    ("stride-3", 1j, f"A value of type complex {NUMBER}. Give one like 1.5 GB."),
    ("stride-3", np.True_, f"of type bool {NUMBER}"),
    ("stride-3", torch.tensor(True), f"of type bool {NUMBER}"),
    ("stride-3", b"12", f"of type bytes {NUMBER}"),
    ("stride-3", memoryview(b"1"), f"of type memoryview {NUMBER}"),
    ("stride-3", {134217728}, f"of type set {NUMBER}"),
    ("stride-3", {"a": 1}, f"of type dict {NUMBER}"),
    ("stride-3", np.timedelta64(5, "ns"), f"of type timedelta64 of shape () {NUMBER}"),
    ("stride-3", Stubborn(), f"of type Stubborn {NUMBER}"),
    ("stride-3", torch.empty((), device="meta"), f"of type Tensor {NUMBER}"),
    ("stride-3", np.ndarray, NUMBER),
    ("stride-3", len, NUMBER),
    ("stride-3", [None], f"of type NoneType {NUMBER}"),
    ("stride-3", np.zeros(10**6), f"of type ndarray of shape (1000000,) {NUMBER}"),
    ("stride-3", range(10**9), f"of type range of 1000000000 entries {NUMBER}"),
    ("stride-1", np.ones((1, 2)), f"of type ndarray of shape (1, 2) {NUMBER}"),
    ("stride-1", [[1, 7]], f"of type list {NUMBER}. Give one like (4, 1)."),
    ("stride-1", [], "No answer yet"),
    ("stride-1", np.array([]), "No answer yet"),
    ("stride-1", torch.ones(3), "2 numbers are needed, like (4, 1); you gave 3."),
    ("stride-3", "9" * 6_000_000, "An answer has at most 200 characters. Type the answer alone, for example 1.5 GB."),
    ("stride-2", "a" * 201, "An answer has at most 200 characters"),
]


@pytest.mark.parametrize("id, answer, words", ANSWERED, ids=[f"{n}-{row[0]}" for n, row in enumerate(ANSWERED)])
def test_what_is_no_answer_is_answered_in_a_sentence(id, answer, words):
    verdict = threeledgers.check(id, answer)
    assert words in verdict.message and verdict.status in ("unreadable", "guessed")


def given(rng, depth=0):
    """Anything that a notebook may hold."""
    number = rng.choice(
        (0, -1, 7, 10**400, -0.0, 1e-320, 1e308, float("nan"), float("inf"), rng.random(), rng.getrandbits(70))
    )
    makers = [
        lambda: number,
        lambda: typed(rng),
        lambda: rng.choice(
            (None, True, 1j, b"1", ..., int, len, Stubborn(), {1}, {"a": 1}, object(), np.float64("nan"))
        ),
        lambda: Decimal(rng.choice(("1", "NaN", "sNaN", "Infinity", "1e-9", "1e9999"))),
        lambda: Fraction(rng.randint(-9, 9), rng.choice((1, 3, 10**400))),
        lambda: np.ones(rng.choices((0, 1, 2, 3), k=rng.randint(0, 3)), rng.choice("?bHiqefdgFDGOSUm")),
        lambda: torch.ones(rng.choices((0, 1, 2), k=rng.randint(0, 2)), dtype=rng.choice((torch.bool, torch.bfloat16))),
        lambda: torch.ones(rng.choices((0, 1, 2), k=rng.randint(0, 2)), device="meta"),
        lambda: rng.choice((tuple, list, np.array, iter))([given(rng, depth + 1) for _ in range(rng.randint(0, 3))]),
    ]
    try:
        return rng.choice(makers[: 9 if depth < 2 else 5])()
    except (ValueError, TypeError, RuntimeError):  # NumPy does not take every mixture
        return number


def test_fuzz_of_values_never_raises():
    rng = random.Random(6)
    seen = set()
    for _ in range(6000):
        verdict = judge(rng.choice(BOXES), given(rng))
        verdict.message.encode()
        seen.add(verdict.status)
    assert {"wrong", "guessed", "unreadable"} <= seen
