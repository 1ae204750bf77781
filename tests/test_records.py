"""Records: written whole or not at all; one byte, one field, one NaN off and the field is named."""

import copy
import json
import re

import jsonschema
import pytest

from threeledgers import records
from threeledgers.records import RecordError


def quantity(name, at, unit, median):
    """A quantity as ``measure.quantity`` makes it."""
    spread = {"p10": median * 0.9, "p90": median * 1.1, "n": 20, "verdict": "ok"}
    return {"name": name, "at": at, "unit": unit, "median": median, **spread}


def example(scale=1.0, **machine):
    """A valid record of a machine that does not exist."""
    about = {"device": "cpu", "name": "Example CPU", "capability": None, "sm_count": None, "memory_bytes": 2**34}
    about |= {"driver": None, "cuda": None, "torch": "2.13.0", "python": "3.11.7", "os": "Linux", "cpu": "Example CPU"}
    about |= {"cores": 2, "load_average": 0.5, "clocks_mhz": None, "power_limit_w": None}
    rates = [
        quantity("strided_bandwidth", {"stride": s}, "B/s", scale * 2e10 / min(s, 16)) for s in (1, 2, 4, 8, 16, 32)
    ]
    return {
        "schema": 1,
        "lab": "stride",
        "created": "2026-11-30T22:00:00Z",
        "machine": about | machine,
        "revision": "unknown",
        "run": {"seed": 0, "dtype": "float32", "warmup": 3, "quick": False, "seconds": 3.2, "sizes": {"n": 4}},
        "peak_memory_bytes": 1000,
        "ceilings": {
            "gemm_flops": quantity("gemm_flops", {}, "FLOP/s", 1e11),
            "copy_bandwidth": quantity("copy_bandwidth", {}, "B/s", 2e10),
        },
        "quantities": rates,
    }


TEXT = records.dump(example())


def test_a_record_comes_back_as_it_was_written(tmp_path):
    path = records.save(example(), tmp_path / "new" / "stride.run.json")
    assert path.read_text() == TEXT and [p.name for p in path.parent.iterdir()] == ["stride.run.json"]
    record = records.load(path)
    assert record["quantities"] == example()["quantities"]
    assert records.parse(TEXT.replace("\n", "\r\n") + "\n\n") == record
    assert records.line(record) == "Example CPU · torch 2.13.0 · 2026-11-30 · n ≥ 20"


def test_every_changed_byte_is_refused():
    for at in range(0, len(TEXT) - 1, 7):
        changed = TEXT[:at] + ("8" if TEXT[at] != "8" else "7") + TEXT[at + 1 :]
        if changed.split() == TEXT.split():
            continue
        with pytest.raises(RecordError, match=r"^record: \S+"):
            records.parse(changed)


def fields(value, path=""):
    """Every (path, key) of the nested objects of a record."""
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
        here = f"{path}[{key}]" if isinstance(key, int) else f"{path}.{key}".lstrip(".")
        if isinstance(key, str):
            yield here, value, key
        if isinstance(inner, (dict, list)) and not here.endswith(("at", "sizes")):
            yield from fields(inner, here)


def test_every_missing_field_is_named():
    names = [here for here, _, _ in fields(json.loads(TEXT))]
    assert len(names) > 80
    for number, name in enumerate(names):
        record = json.loads(TEXT)
        _, owner, key = list(fields(record))[number]
        del owner[key]
        with pytest.raises(RecordError, match=rf"^record: {re.escape(name)}: "):
            records.parse(json.dumps(record))


def test_every_nan_is_named():
    for number, (name, owner, key) in enumerate(fields(json.loads(TEXT))):
        if isinstance(owner[key], (int, float)) and not isinstance(owner[key], bool) and not name.endswith(".stride"):
            record = json.loads(TEXT)
            _, inner, _ = list(fields(record))[number]
            inner[key] = float("nan")
            with pytest.raises(RecordError, match=rf"^record: {re.escape(name)}: "):
                records.parse(json.dumps(record))


@pytest.mark.parametrize(
    "damage, words",
    [
        (lambda t: t[: len(t) // 2], "not complete JSON"),
        (lambda t: "", "not complete JSON"),
        (lambda t: "9" * 5000, "not a record"),
        (lambda t: "[" * 100_000, "not a record"),
        (lambda t: "[]", "a record is a JSON object, not list"),
        (lambda t: t.replace('"schema": 1', '"schema": 2'), "schema: 2 is newer than 1"),
        (lambda t: t.replace('"schema": 1', '"schema": "1"'), "schema: "),
        (lambda t: t.replace('"cores"', '"kores"'), "machine.kores: "),
        (lambda t: t.replace('"seed": 0', '"seed": 1'), "checksum: the text was changed"),
        (lambda t: t.replace('"B/s"', '"GB/s"', 1), "ceilings.copy_bandwidth.unit: "),
    ],
)
def test_damage_is_named(damage, words):
    with pytest.raises(RecordError) as error:
        records.parse(damage(TEXT))
    assert words in str(error.value)


def test_percentiles_out_of_order_are_refused():
    record = example()
    record["quantities"][2]["p10"] = 1e12
    with pytest.raises(RecordError, match="strided_bandwidth .*p10 <= median <= p90"):
        records.dump(record)


def test_nothing_half_written(tmp_path, monkeypatch):
    path = tmp_path / "stride.run.json"
    broken = copy.deepcopy(example())
    del broken["lab"]
    with pytest.raises(RecordError, match="lab: "):
        records.save(broken, path)

    def interrupted(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(records.os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        records.save(example(), path)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(RecordError, match=r"file/stride.run.json: cannot be written: "):
        records.save(example(), tmp_path / "file" / "stride.run.json")


def test_records_are_compared_in_ratios():
    pairs = records.compare(example(), example(scale=2))
    assert [(name, at["stride"], log2) for name, at, log2 in pairs] == [
        ("strided_bandwidth", s, 1.0) for s in (1, 2, 4, 8, 16, 32)
    ]


def test_a_missing_record_lists_those_that_exist():
    with pytest.raises(RecordError, match=r"no record of stride on tpu; there are (none yet|.*cpu)"):
        records.load("stride", "tpu")


def test_the_schema_is_one_and_every_committed_record_obeys_it():
    jsonschema.Draft202012Validator.check_schema(records.SCHEMA)
    paths = sorted((records.labs_folder() / "records").glob("*.json"))
    for path in paths:
        lab, device, _ = path.name.split(".")
        record = records.load(lab, device)
        assert record["lab"] == lab and not record["run"]["quick"]
        assert (record["machine"]["device"] == "cpu") == (device == "cpu")
