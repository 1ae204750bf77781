"""Compare your run: the browser takes and refuses the records that Python takes and refuses, and sends nothing."""

import json
import random
import re
from functools import cache

import pytest

from tests.node_module import run
from tests.pages import SITE
from threeledgers import records
from threeledgers.widgets import module

PAGE = "lectures/compare.html"
SAID = "document.querySelector('.tlw-live').textContent.startsWith('{}')"
NONE = "No record exists yet for this lab; only the prediction is drawn."
WHO = "Prüfstand µ · torch 2.13.0 · 2026-11-30"
VALUES = (float("nan"), float("-inf"), None, True, "x", "", -1, 0, 1.5, 1, [], {}, [1], {"x": 1}, "1.2\n")
WORDS = ("NaN", "Infinity", "-Infinity", "-NaN", "01", "1.", "1e400", "+1")
WHOLE = ["", " ", "[]", "[1]", "NaN", "null", "1", '"x"', "{}", '{"schema": 2}', "{NaN: 1}", '{"a": NaN, NaN : 1}']


def quantity(name, at, unit, median, verdict="ok"):
    return dict(name=name, at=at, unit=unit, median=median, p10=median * 0.9, p90=median * 1.1, n=20, verdict=verdict)


def example(lab="stride", speed=2e10, name="Prüfstand µ"):
    """The text of a valid record of a made-up machine: half of its rate at stride 2, an eighth from stride 8."""
    machine = dict(device="cpu", name=name, capability=None, sm_count=None, memory_bytes=24 << 30, driver=None)
    machine |= dict(cuda=None, torch="2.13.0", python="3.11.7", os="Linux", cpu=name, cores=2, load_average=0.5)
    ceilings = {n: quantity(n, {}, u, speed) for n, u in (("gemm_flops", "FLOP/s"), ("copy_bandwidth", "B/s"))}
    measured = [quantity("strided_bandwidth", {"stride": s}, "B/s", speed / min(s, 8)) for s in (1, 2, 4, 8, 16, 32)]
    measured.append(quantity("clone_time", {}, "s", 1e9 / speed, "too noisy"))
    record = dict(schema=1, lab=lab, created="2026-11-30T22:00:00Z", revision="unknown", peak_memory_bytes=1000)
    record |= dict(run=dict(seed=0, dtype="float32", warmup=3, quick=False, seconds=3.2, sizes={"elements": 4}))
    record |= dict(machine=machine | dict(clocks_mhz=None, power_limit_w=None), ceilings=ceilings, quantities=measured)
    return records.dump(record)


TEXT = example()


def field(text):
    """The field that Python names, None where it takes the record."""
    try:
        records.parse(text, "x")
    except records.RecordError as error:
        said = str(error).removeprefix("x: ").split(": ")[0]
        return {"not complete JSON": "", "a record is a JSON o": "record"}.get(said[:20].split(" (")[0], said)


def places(value, path=()):
    """Paths of everything inside a record."""
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
        yield (*path, key)
        if isinstance(inner, dict | list):
            yield from places(inner, (*path, key))


def edited(path, change, text=TEXT):
    """The text with one place set to ``change[0]``, or without it where ``change`` is empty. The checksum is left."""
    target = record = json.loads(text)
    for key in path[:-1]:
        target = target[key]
    target.__setitem__(path[-1], *change) if change else target.__delitem__(path[-1])
    return json.dumps(record, indent=1, ensure_ascii=False)


def damaged():
    """Texts with one thing wrong or two, and some with nothing wrong but their layout."""
    rng = random.Random(7)
    for at in rng.sample(range(len(TEXT)), 600):
        yield TEXT[:at] + rng.choice('0123456789aeN{}[]",:. -_x\\\n\u0663é') + TEXT[at + 1 :]
    for at in rng.sample(range(len(TEXT)), 100):
        yield from (TEXT[:at], TEXT[:at] + TEXT[at + 1 :])
    every = list(places(json.loads(TEXT)))
    for path in every:
        yield from (edited(path, change) for change in [[], *([value] for value in VALUES)])
    for first, second in (rng.sample([p for p in every if p[-1] not in ("at", "run")], 2) for _ in range(300)):
        if first != second[: len(first)]:
            yield edited(second, [-1], edited(first, [-1]))
    for path in ((), ("machine",), ("run",), ("ceilings",), ("quantities", 3)):
        yield from (edited((*path, extra), [1]) for extra in ("zebra", "Apple", "toString", "__proto__"))
    for match in re.finditer(r'": (-?[\d.]+)(?=,?\n)', TEXT):
        yield from (TEXT[: match.start(1)] + word + TEXT[match.end(1) :] for word in WORDS)
    yield from (edited(("schema",), [version]) for version in (2, 99, 2.0, 0, "1", True, 1.0))
    yield from WHOLE
    yield from (f"\n\x1f {TEXT}\x85\u3000", "\ufeff" + TEXT, TEXT + "\ufeff", TEXT + "x", TEXT * 2)
    pairs = (("\n", "\r\n"), ("\n", "\r"), (" ", ""), ("2.13.0", "2.13.1"), ("22:00", "\u0662\u0662:00"), ("x", "x"))
    yield from (TEXT.replace(old, new) for old, new in pairs)


DAMAGED = list(damaged())
fields = cache(lambda: [field(text) for text in DAMAGED])


def said(folder, source, schema=records.SCHEMA):
    """The field that the browser names in each damaged text, None where it takes the record."""
    one = f"text => {{ const {{record, field}} = parse(text, {json.dumps(schema)}); return record ? null : field; }}"
    source = source.replace("export default {", f"const one = {one};\nexport default {{one, ")
    return run(source, "one", [[text] for text in DAMAGED], folder)


@pytest.mark.parametrize("keys", ["as written", "sorted"])  # a notebook's widget state has its keys sorted
def test_the_browser_names_the_field_that_python_names(tmp_path, keys):
    schema = json.loads(json.dumps(records.SCHEMA, sort_keys=keys == "sorted"))
    told = said(tmp_path, module("compare"), schema)
    different = [each for each in zip(fields(), told, DAMAGED, strict=True) if each[0] != each[1]]
    assert not different, (len(different), different[0])
    assert len(DAMAGED) > 2000 and fields().count(None) > 3
    assert not {"", "record", "checksum", "schema", "machine.cores", "copy_bandwidth (number 1)"} - {*fields()}


FAULTS = {
    "0xedb88320": "0xedb88321",
    "new TextEncoder().encode(": "Array.from(",
    "a.length - b.length": "b.length - a.length",
    "q.p10 <= q.median &&": "",
    '.replaceAll("\\r\\n", "\\n")': "",
}


@pytest.mark.parametrize("right", FAULTS)
def test_a_fault_in_the_twin_is_found(tmp_path, right):
    source = module("compare")
    assert source.count(right) == 1
    assert said(tmp_path, source.replace(right, FAULTS[right])) != fields()


def test_the_sentence_says_share_noise_and_what_is_missing(tmp_path):
    record, prediction = json.loads(TEXT), [[1, 1], [8, 2 / 9], [64, 0.2]]
    quick = record | {"run": record["run"] | {"quick": True}, "quantities": record["quantities"][:2]}
    told = run(module("compare"), "told", [[record, prediction, 1], [quick, prediction, 0]], tmp_path)
    model = "of its rate at stride 1; the sector model says"
    assert told[0].endswith(f"At stride 8 it reaches 0.13 {model} 0.22. 1 quantity of it is too noisy to rely on.")
    assert told[1].endswith(f"2026-11-30, a quick run. At stride 1 it reaches 1 {model} 1. {NONE}")


@pytest.fixture(params=["http", "file"])
def page(request, visit):
    """The page over HTTP and from the disk, on a phone; at the end nothing may have gone wrong or been asked for."""
    base = request.getfixturevalue("base") if request.param == "http" else SITE.as_uri() + "/"
    opened = visit(base + PAGE, base if request.param == "http" else "file://", viewport={"width": 390, "height": 900})
    opened.page.on("request", lambda request: opened.foreign.append(request.url))
    yield opened.page
    assert opened.clean(), opened.complaints()


def parts(page):
    """The widget, its sentence, and the lines of the picture."""
    group = page.get_by_role("group", name="Compare your run")
    return group, group.get_by_role("status").inner_text(), group.locator("svg polyline").all()


def accepted(page):
    page.wait_for_function(SAID.format("Your run"))
    group, sentence, lines = parts(page)
    names = [line.get_attribute("data-line") for line in lines]
    there = len(records.devices("stride"))
    assert "Prüfstand µ, torch 2.13.0, 2026-11-30. At stride 8 it reaches 0.13 of its rate" in sentence
    assert names[0] == "prediction: sector model" and names[-1].startswith(f"yours: {WHO}") and len(names) == 2 + there
    assert (NONE in sentence) == (not there) and group.locator("table").count() == min(there, 1)
    assert f"Yours: {WHO} · n ≥ 20" in group.inner_text()
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")


def refused(page, start):
    page.wait_for_function(SAID.format("Not accepted"))
    group, sentence, lines = parts(page)
    assert sentence.startswith(f"Not accepted, nothing is drawn: {start}")
    assert not lines and group.locator("table").count() == 0


def drop(page, **data):
    """Drop a ``file`` or a ``text`` on the widget, as a browser would tell of it."""
    script = """({file, text}) => {
        const data = new DataTransfer(), box = document.querySelector(".tlw[aria-label='Compare your run']");
        if (file !== undefined) data.items.add(new File([file], "run.json"));
        if (text !== undefined) data.setData("text", text);
        const events = ["dragover", "drop"].map(t => new DragEvent(t, {dataTransfer: data, cancelable: true}));
        if (events.some(event => box.dispatchEvent(event))) throw new Error("the browser would open the file itself");
    }"""
    page.evaluate(script, data)


@pytest.mark.site
def test_a_record_pasted_by_keyboard(page):
    group, sentence, lines = parts(page)
    assert sentence.startswith("No run yet") and len(lines) == 1 + len(records.devices("stride")), (
        "what is known stands there before"
    )
    group.get_by_role("textbox").focus()
    page.keyboard.insert_text(TEXT)
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    accepted(page)
    group.get_by_role("textbox").fill(TEXT.replace('"cores": 2', '"cores": 0'))
    group.get_by_role("button", name="Compare").press("Enter")
    refused(page, "machine.cores ")


@pytest.mark.site
def test_a_file_chosen_or_dropped_and_a_text_dropped(page):
    file = {"name": "stride.run.json", "mimeType": "application/json", "buffer": TEXT.encode()}
    chooser = parts(page)[0].locator("input[type=file]")
    chooser.set_input_files(file)
    accepted(page)
    chooser.set_input_files(file | {"buffer": b"\xff\xfe\x00"})
    refused(page, "the file cannot be read as UTF-8")
    drop(page, file=TEXT.replace("2.13.0", "2.13.1"))
    refused(page, "checksum ")
    drop(page, file=TEXT)
    accepted(page)
    drop(page, text=TEXT.replace('"schema": 1', '"schema": 2'))
    refused(page, "schema 2 is newer than 1")


@pytest.mark.site
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_beside_recorded_runs(visit, base, scheme):
    """Two made-up runs put into the page: a line each, told apart without colour, and a table for the chosen one."""
    runs = json.dumps([json.loads(example(speed=s, name=n)) for s, n in ((4e12, "First <b>"), (1e12, "Second"))])
    put = f'"runs": {runs}, "schema"'.replace("<", "\\u003c")
    html, changed = re.subn(r'"runs": \[.*?\], "schema"', lambda m: put, (SITE / PAGE).read_text("utf8"), flags=re.S)
    assert changed == 1
    opened = visit(base + "lectures/index.html", base, color_scheme=scheme)
    page = opened.page
    opened.context.route("**/compare.html", lambda r: r.fulfill(body=html, content_type="text/html; charset=utf8"))
    page.goto(base + PAGE)
    page.wait_for_selector("html[data-widgets=ready]", state="attached")
    drop(page, file=TEXT)
    page.wait_for_function(SAID.format("Your run"))
    group, sentence, lines = parts(page)
    names = ["prediction: sector model", "recorded: First <b>", "recorded: Second", "yours: Prüfstand µ"]
    assert [line.get_attribute("data-line").split(" ·")[0] for line in lines] == names
    assert len({line.get_attribute("stroke-dasharray") for line in lines}) == 4 and "No record" not in sentence
    ink = page.evaluate("[...document.querySelectorAll('.tlw svg text')].map(t => getComputedStyle(t).fill)")
    assert set(ink) == {page.evaluate("getComputedStyle(document.querySelector('article p')).color")}
    row = group.locator("tbody tr").nth(3).locator("td")
    assert row.all_inner_texts() == ["strided_bandwidth", "stride 8", "2.5 GB/s", "500 GB/s", "x0.005"]
    assert "50 ms (too noisy)\t250 µs (too noisy)\tx200" in group.locator("tbody tr").nth(6).inner_text()
    group.get_by_role("combobox").focus()
    page.keyboard.press("ArrowDown")
    assert row.all_inner_texts()[3:] == ["125 GB/s", "x0.02"]
    assert "Recorded: Second · torch 2.13.0 · 2026-11-30 · n ≥ 20" in group.inner_text()
    drop(page, file=example(lab="attention"))
    page.wait_for_function("document.querySelector('.tlw svg') === null")
    assert "No record exists yet for this lab." in parts(page)[1]
    assert opened.clean(), opened.complaints()
