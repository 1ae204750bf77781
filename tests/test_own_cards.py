"""A card of one's own: a TOML file in place of a GPU's id, held to the schema of the book's own."""

import json
import re

import pytest

from _ext.header import card_script
from tests.node_module import run
from tests.pages import ROOT
from threeledgers import cli, gpu, specs
from threeledgers.plan import plan
from threeledgers.specs import SpecError

TEXTS = 'name = "My card"\narchitecture = "Hopper"\ncapability = "9.0"\nannounced = "2026-01"\n'
CARD = (
    TEXTS
    + """
[sources]
sheet = "data sheet of my vendor, 2026"

[numbers]
bf16_flops = { value = 500e12, unit = "FLOP/s", source = "sheet" }
memory_bytes = { value = 96_000_000_000, unit = "B", source = "sheet" }
memory_bandwidth = { value = 2.5e12, unit = "B/s", source = "sheet", trap = "read and write together" }
link_bandwidth = { value = 200e9, unit = "B/s", source = "sheet", verified = false }
link_devices = { value = 8, unit = "1", source = "sheet" }
"""
)


@pytest.fixture
def write(tmp_path):
    def to_file(text, name="card.toml"):
        path = tmp_path / name
        path.write_text(text)
        return str(path)

    return to_file


def test_a_card_is_read_by_its_path(write, monkeypatch, tmp_path):
    card = gpu(write(CARD))
    assert card.memory_bandwidth == 2.5e12 and card.source("memory_bandwidth").startswith("data sheet")
    assert card.name == "My card" and not card.verified("link_bandwidth")
    monkeypatch.chdir(tmp_path)
    assert gpu("card.toml").memory_bytes == gpu("./card.toml").memory_bytes == gpu(tmp_path / "card.toml").memory_bytes
    write(CARD.replace("96_000", "48_000"))
    assert gpu("card.toml").memory_bytes == 48_000_000_000  # a changed file is read again


def test_a_plan_is_made_for_it(write, capsys):
    path = write(CARD)
    own = plan(model="llama3_8b", gpu=path, gpus=8, zero=3, batch=8)
    assert own["capacity"] == int(0.9 * 96e9) and own["achieved"] == own["peak"] == 500e12
    assert f"Not verified for {path}: link_bandwidth." in repr(own)
    assert cli.main(["plan", "--model", "llama3_8b", "--gpu", path, "--gpus", "8", "--zero", "3"]) == 0
    assert f"llama3_8b on 8 x {path}: " in capsys.readouterr().out
    same = gpu("h100_sxm")
    text = (specs.ROOM / "gpu" / "h100_sxm.toml").read_text()
    copy = plan(model="llama3_8b", gpu=write(text, "copy.toml"), gpus=8, batch=8)
    assert copy.values == plan(model="llama3_8b", gpu="h100_sxm", gpus=8, batch=8).values and same.sms == 132


FAULTS = [
    ("memory_bytes =", "memory =", "memory is not a field of a gpu; fields are bf16_flops"),
    ('unit = "B",', 'unit = "GB",', "memory_bytes is in B, not 'GB'"),
    ("value = 96_000_000_000", "value = -1", "memory_bytes = -1: a finite positive number is needed"),
    ("value = 96_000_000_000", "value = nan", "memory_bytes = nan: a finite positive number"),
    ("value = 96_000_000_000", "value = 1e400", "memory_bytes = inf: a finite positive number"),
    ("value = 96_000_000_000", f"value = 1{'0' * 400}", f"memory_bytes = 1{'0' * 39}: at most 1e+24 is believed"),
    ("value = 96_000_000_000", f"value = {'9' * 5000}", "not valid TOML: Exceeds the limit"),
    (
        'source = "sheet" }\nmemory_bytes',
        'source = ["sheet"] }\nmemory_bytes',
        "bf16_flops: source = ['sheet'] must be a text",
    ),
    ('sheet = "data sheet of my vendor, 2026"', "sheet = 3", "[sources] must hold texts that say where"),
    ("[sources]\nsheet =", "sources =", "[sources] must hold texts that say where"),
    ('name = "My card"\n', "", "name must be a text"),
    ("[numbers]", "[numbers", "not valid TOML"),
    ("[numbers]", "[[numbers]]", "[numbers] is empty"),
    ('name = "My card"', "name = " + "[" * 5000, "not valid TOML"),
]


@pytest.mark.parametrize("old, new, words", FAULTS)
def test_a_fault_is_told_by_file_and_field(write, capsys, old, new, words):
    assert old in CARD
    path = write(CARD.replace(old, new, 1))
    with pytest.raises(SpecError, match=re.escape(f"card.toml: {words}")):
        gpu(path)
    assert cli.main(["plan", "--model", "tiny", "--gpu", path, "--json"]) == 2
    told = json.loads(capsys.readouterr().out)["error"]
    assert told["field"] == "gpu" and told["message"].startswith(f"card.toml: {words}")


def test_a_number_that_a_plan_needs_is_asked_for(write, capsys):
    path = write(re.sub("memory_bytes.*\n", "", CARD))
    assert gpu(path).fields
    assert cli.main(["plan", "--model", "tiny", "--gpu", path]) == 2
    assert "card.toml has no published memory_bytes, which a plan needs" in capsys.readouterr().err
    assert cli.main(["plan", "--model", "tiny", "--gpu", write(CARD), "--dtype", "fp16"]) == 2
    assert "card.toml has no fp16 matrix units; bf16 would do" in capsys.readouterr().err


def test_what_is_no_file_is_told_so(tmp_path):
    for path, words in (
        (tmp_path / "none.toml", "there is no such file; a gpu's id, or the path of a TOML file, is needed"),
        (f"{tmp_path}/h100", "there is no such file"),
        (f"{tmp_path}/", "is a folder; the path of a TOML file is needed"),
    ):
        with pytest.raises(SpecError, match=re.escape(words)):
            gpu(path)


def test_the_card_of_the_guide_is_one(write):
    """The example in CONTRIBUTING.md, as it stands there."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf8")
    text = re.search(r"```toml\n(.*?)```", text, re.S)[1]
    path = write(text)
    assert text == (ROOT / "assets/card.toml").read_text(encoding="utf8"), "a page offers the same one"
    assert gpu(path).trap("bf16_flops") and plan(model="llama3_8b", gpu=path, gpus=8, zero=3, batch=8).fits


# in the browser: the same file, the same answer, in the same words


def browser(texts, folder):
    """What the page's script makes of files called card.toml."""
    module = card_script(ROOT) + "\nexport default {read: text => tlCard.read(text, 'card.toml')};"
    return run(module, "read", [[text] for text in texts], folder)


def python(text, folder):
    path = folder / "card.toml"
    path.write_text(text)
    try:
        card = gpu(path)
    except SpecError as error:
        return {"fault": str(error)}
    return {"name": card.name, "numbers": {field: getattr(card, field) for field in card.fields}}


def test_the_page_reads_every_card_of_the_book_as_python_does(tmp_path):
    texts = [CARD, *((specs.ROOM / "gpu" / f"{id}.toml").read_text() for id in specs.ids("gpu"))]
    more = "sms.value = 0x84 # hexadecimal\nsms.unit = '1'\nsms.source = \"sheet\"\n\n"
    texts += [CARD + more + "[numbers.tdp_watts]\nvalue = 7_00.5\nunit = 'W'\nsource = 'sheet'\n"]
    texts += [CARD.replace("My card", r"My \"\u00e9\" card\\").replace("\n", "\r\n")]
    told = browser(texts, tmp_path)
    assert told == [python(text, tmp_path) for text in texts] and all("numbers" in card for card in told)


def test_the_page_tells_faults_in_the_same_words(tmp_path):
    more = [
        ("value = 96_000_000_000", "value = true"),
        ("value = 96_000_000_000", 'value = "9\'6"'),
        ("value = 96_000_000_000", "value = -0.5e-7"),
        ("value = 96_000_000_000", "value = 1e25"),
        ("value = 96_000_000_000", "value = [1, 2.0, { a = 'b' }]"),
        ("verified = false", 'verified = "no"'),
        ("verified = false", "note = 1e16"),
        ('trap = "read and write together"', "trap = 3.0"),
        ('source = "sheet", verified', 'source = "shoot", verified'),
        ("[sources]\n", ""),
        ("[sources]\n", "[sources]\n[numbers.constructor]\n"),
        ('name = "My card"', 'name = "My card"\nzoo = 1\ncolour = "red"'),
        ('capability = "9.0"', "capability = 9.0"),
    ]
    texts = [CARD.replace(old, new, 1) for old, new in [(old, new) for old, new, _ in FAULTS] + more]
    told = browser(texts, tmp_path)
    for text, here in zip(texts, told, strict=True):
        there = python(text, tmp_path)["fault"]
        if "not valid TOML" in there or "[[" in text:  # each reader has words of its own for that, and its own limits
            assert here["fault"].startswith("card.toml: ") and ("not valid TOML" in here["fault"] or "9" * 5000 in text)
        else:
            assert here["fault"] == there


def test_the_page_refuses_broken_toml(tmp_path):
    texts = ["=", "a = ", "a = 1\na = 2", "[a]\n[a]", "a = 'x", 'a = "\\q"', "a = 1 b = 2", "a = {b = 1", "a = 01"]
    texts += [
        "a = [1 2]",
        "[a",
        "a = {}\n[a]\nb = 1",
        "a = 1\n[a]",
        "[[a]]",
        "a = 2026-01-01",
        "é = 1",
        "a = " + "[" * 100_000,
    ]
    for text, here in zip(texts, browser(texts, tmp_path), strict=True):
        assert here["fault"].startswith("card.toml: not valid TOML: "), text
