"""Whatever is typed is answered, alike on the page and in Python; what the page prints is right when it is typed back."""

import json
import random
import re

import pytest

from tests.node_module import run
from tests.pages import ROOT
from threeledgers.exercises import exercises, reading, slugs
from threeledgers.exercises.answers import browser_data, judge
from threeledgers.exercises.definitions import Choice, Numeric, Option, Ordering
from threeledgers.widgets import module

TABLE = json.loads((ROOT / "tests/data/answers.json").read_text(encoding="utf8"))
about = TABLE.pop("about")
REASON = "A reason that is long enough."
OPTIONS = tuple(Option(lambda g, text=text: text, REASON, right=text in "ac") for text in "abcd")
ASKED = {
    "count": Numeric("count-1", minutes=1, because="x", answer=lambda g: 1000),
    "bytes": Numeric("bytes-1", minutes=1, because="x", unit="B", answer=lambda g: 2**27),
    "seconds": Numeric("seconds-1", minutes=1, because="x", unit="s", answer=lambda g: 0.0073),
    "flops": Numeric("flops-1", minutes=1, because="x", unit="FLOP", answer=lambda g: 55e12),
    "pair": Numeric("pair-1", minutes=1, because="x", exact=True, answer=lambda g: (1, 7)),
    "gigabytes": Numeric("gigabytes-1", minutes=1, because="x", unit="GB", answer=lambda g: (0, 1000)),
    "choice": Choice("choice-1", minutes=1, because="x", options=OPTIONS),
    "ordering": Ordering("ordering-1", minutes=1, because="x", options=OPTIONS[:3]),
}
DATA = {name: asked.draw().data for name, asked in ASKED.items()}
ROWS = [(name, *row) for name, rows in TABLE.items() for row in rows]
ALL = [e for slug in slugs() for e in exercises(slug).values()]
BOXES = [e.draw().data for e in ALL if e.kind != "coding"] + list(DATA.values())


def on_the_page(name, inputs, folder):
    """What the page's twin makes of the same arguments."""
    return run(module("box", A=json.dumps(browser_data())), name, inputs, folder)


def told(verdict):
    return {"id": verdict.id, "status": verdict.status, "message": verdict.message, "trap": verdict.trap}


def said(key):
    """A message with anything in its blanks."""
    return re.sub(r"\\\{[a-z]+\\\}", ".*", re.escape(reading.MESSAGES[key]))


@pytest.mark.parametrize("name, typed, expected, bare", [(*row, None)[:4] for row in ROWS], ids=ascii)
def test_the_table_in_python(name, typed, expected, bare):
    data = DATA[name]
    if isinstance(expected, str):
        verdict = judge(data, typed)
        assert verdict.status == "unreadable" and re.fullmatch(said(expected), verdict.message), verdict
    elif data["kind"] == "numeric":
        values, alone = reading.numbers(data, typed)
        assert values == pytest.approx(expected, rel=1e-15) and alone is bare
    else:
        assert reading.letters(data, typed) == expected


def test_the_table_on_the_page(tmp_path):
    verdicts = on_the_page("judge", [[DATA[name], typed] for name, typed, *_ in ROWS], tmp_path)
    for (name, typed, *_), verdict in zip(ROWS, verdicts, strict=True):
        assert verdict == told(judge(DATA[name], typed)), (name, typed)
    read = [(DATA[name], typed, *rest) for name, typed, *rest in ROWS if len(rest) == 2]
    for row, (values, bare) in zip(read, on_the_page("numbers", [row[:2] for row in read], tmp_path), strict=True):
        assert values == pytest.approx(row[2], rel=1e-15) and bare is row[3], row


def test_every_message_that_a_text_can_meet_is_in_the_table():
    met = {expected for _, _, expected, *_ in ROWS if isinstance(expected, str)}
    verdicts = {"right", "low", "high", "wrong", "exactly", "off"}
    assert met == set(reading.MESSAGES) - verdicts - {"kind", "letters", "long", "positive"}  # those have tests below


def test_page_and_python_take_the_same_characters_for_spaces(tmp_path):
    source = r"export default {spaces() { let all = []; for (let c = 0; c < 0x110000; c++) {"
    source += r"const s = String.fromCodePoint(c); if (/\s/.test(s) || !s.trim()) all.push(c); } return all; }};"
    spaces = {chr(c) for c in run(source, "spaces", [[]], tmp_path)[0]}
    spaces |= {chr(c) for c in range(0x110000) if chr(c).isspace()}
    assert len(spaces) == 30
    assert {c for c in spaces if reading.plain({}, f"1{c}2") not in ("1 2", "12")} == set()


def test_a_long_text_is_cut_off_alike_on_the_page(tmp_path):
    data = DATA["bytes"]
    typed = ["9" * 200, "9" * 201, "9" * 10**6, "😀" * 200, "😀" * 201, " " * 200, " " * 201]
    verdicts = on_the_page("judge", [[data, text] for text in typed], tmp_path)
    assert verdicts == [told(judge(data, text)) for text in typed]
    assert [v["message"][:23] == "An answer has at most 2" for v in verdicts] == [n in (1, 2, 4, 6) for n in range(7)]


def test_the_shown_answer_is_right_when_typed_back(tmp_path):
    drawn = [(e.id, seed, e.draw(seed).data) for e in ALL if e.kind == "numeric" for seed in [None, *range(200)]]
    verdicts = on_the_page("judge", [[data, data["shown"]] for *_, data in drawn], tmp_path)
    wrong = [
        (id, seed, data["shown"], verdict["message"])
        for (id, seed, data), verdict in zip(drawn, verdicts, strict=True)
        if not judge(data, data["shown"]) or verdict["status"] != "right"
    ]
    assert len(drawn) > 3000 and not wrong


PIECES = [*"0123456789" * 2, *".,;+-*/^%()[]{}_'eEaAbBcdxX> ", "**", " and ", ", ", "e9", "10", "1,000", "0,5", "e400"]
PIECES += [
    *"，、。；（）％　１２３−–×÷⋅²⁹⁻μµ½٣→’“\u00a0\u2009\ufeff\u0085\u200b\u001f\u2028\ud800😀\0\x1b",
    "{example}",
    "$&",
]
PIECES += [
    "B",
    " kB",
    " MiB",
    "GB",
    " s",
    " ms",
    " TFLOPs",
    " FLOP/s",
    " times",
    "constructor",
    "__proto__",
    "nan",
    "inf",
]


def typed(rng):
    return "".join(rng.choices(PIECES, k=rng.randint(1, rng.choice((3, 6, 12, 60)))))


def test_fuzz_of_texts_never_raises_and_is_judged_alike_on_the_page(tmp_path):
    rng = random.Random(14)
    cases = [(rng.choice(BOXES), typed(rng)) for _ in range(6000)]
    told_there = on_the_page("judge", cases, tmp_path)
    seen = set()
    for (data, text), verdict in zip(cases, told_there, strict=True):
        here = judge(data, text)
        assert told(here) == verdict, (data["id"], text)
        here.message.encode()  # it can be printed
        seen.add(here.status)
    assert seen == {"right", "wrong", "guessed", "unreadable"}
