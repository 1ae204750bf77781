"""Records of runs: written whole or not at all, refused when anything in them is off, compared in ratios.

``record.schema.json`` is the one contract, for Python and for the browser. The checksum is the CRC-32 of the file's text
with the checksum's own digits left out, so that an edit by hand is seen in both.
"""

import contextlib
import json
import math
import os
import re
import zlib
from importlib.util import find_spec
from pathlib import Path

SCHEMA = json.loads(Path(__file__).with_name("record.schema.json").read_text(encoding="utf8"))
NEWEST = SCHEMA["properties"]["schema"]["const"]
CHECKSUM = re.compile(r'("checksum": ")([0-9a-f]*)(")')


class RecordError(ValueError):
    """A record is missing or may not be trusted; the message names file, field and what would be accepted."""


CHECKOUT = Path(__file__).resolve().parent.parent


def runs_folder():
    """Where runs go that are told nothing else: ``_build/runs`` of the checkout, or under the current folder."""
    return (CHECKOUT if (CHECKOUT / "labs").is_dir() else Path.cwd()) / "_build" / "runs"


def labs_folder():
    """The folder ``labs``: of the checkout, or the one that a wheel carries."""
    if (CHECKOUT / "labs").is_dir():
        return CHECKOUT / "labs"
    found = find_spec("threeledgers_labs")
    if found is None or not found.submodule_search_locations:
        raise RecordError("the labs are neither beside the package nor installed with it; reinstall threeledgers")
    return Path(next(iter(found.submodule_search_locations)))


def devices(lab):
    """Devices for which a record of this lab exists, sorted: ``["cpu", "h200"]``."""
    return sorted(p.name.split(".")[1] for p in (labs_folder() / "records").glob(f"{lab}.*.json"))


def load(lab, device=None):
    """The recorded run of a lab on a device (``"h200"``, ``"cpu"``), or one from a path. Raises RecordError."""
    if device is None:
        path = Path(lab)
    else:
        path = labs_folder() / "records" / f"{lab}.{device}.json"
        if not path.exists():
            raise RecordError(f"no record of {lab} on {device}; there are {', '.join(devices(lab)) or 'none yet'}")
    try:
        text = path.read_text(encoding="utf8")
    except (OSError, UnicodeDecodeError) as error:
        raise RecordError(f"{path.name}: cannot be read: {error}") from None
    return parse(text, path.name)


def parse(text, name="record"):
    """A record from its text, checked against the schema, the order of its percentiles and its checksum."""
    text = text.replace("\r\n", "\n").strip()
    try:
        record = json.loads(text, parse_constant=lambda word: word)  # a NaN becomes a text, and so a named field
    except json.JSONDecodeError as error:
        raise RecordError(f"{name}: not complete JSON (line {error.lineno}: {error.msg})") from None
    except (ValueError, RecursionError) as error:  # a number of thousands of digits, thousands of brackets
        raise RecordError(f"{name}: not a record: {error}") from None
    record = _upgrade(record, name)
    import jsonschema  # late: with its checkers of addresses it takes longer than most of what a lab measures

    problems = sorted(
        jsonschema.Draft202012Validator(SCHEMA).iter_errors(record), key=lambda e: (len(e.path), str(e.path))
    )
    if problems:
        raise RecordError(f"{name}: {_field(problems[0])}: {problems[0].message}")
    for at, quantity in enumerate([*record["ceilings"].values(), *record["quantities"]]):
        if not quantity["p10"] <= quantity["median"] <= quantity["p90"]:
            raise RecordError(f"{name}: {quantity['name']} (number {at}): p10 <= median <= p90 does not hold")
    if record["checksum"] != checksum(text):
        raise RecordError(f"{name}: checksum: the text was changed after it was written; run the lab again")
    return record


def _upgrade(record, name):
    """A record of an older schema in today's form. Schema 1 is the first, so that there is nothing to do yet."""
    version = record.get("schema") if isinstance(record, dict) else None
    if not isinstance(record, dict):
        raise RecordError(f"{name}: a record is a JSON object, not {type(record).__name__}")
    if isinstance(version, int) and version > NEWEST:
        raise RecordError(
            f"{name}: schema: {version} is newer than {NEWEST}, the newest known here; update threeledgers"
        )
    return record


def _field(error):
    path = "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in error.absolute_path).lstrip(".")
    if error.validator == "required":
        missing = next(n for n in error.validator_value if n not in error.instance)
        return f"{path}.{missing}".lstrip(".")
    if error.validator == "additionalProperties":
        extra = sorted(set(error.instance) - set(error.schema["properties"]))
        return f"{path}.{extra[0]}".lstrip(".")
    return path or "record"


def checksum(text):
    """CRC-32, as eight hexadecimal digits, of a record's text without its checksum's digits."""
    blank = CHECKSUM.sub(r"\1\3", text, count=1)
    return f"{zlib.crc32(blank.encode()):08x}"


def dump(record):
    """The text of a record with its checksum. Raises RecordError where it breaks the schema."""
    text = json.dumps(record | {"checksum": ""}, indent=1, ensure_ascii=False)
    text = text.replace('"checksum": ""', f'"checksum": "{checksum(text)}"')
    parse(text, record.get("lab", "record"))
    return text + "\n"


def save(record, path):
    """Write a record whole or not at all; returns the path. Raises RecordError where it cannot be written."""
    path, text = Path(path), dump(record)
    partial = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        partial.write_text(text, encoding="utf8")
        os.replace(partial, path)
    except OSError as error:
        raise RecordError(f"{path}: cannot be written: {error.strerror or error}") from None
    finally:
        with contextlib.suppress(OSError):
            partial.unlink(missing_ok=True)
    return path


def pick(record, name, **at):
    """The quantities of this name whose ``at`` holds the given values, in the record's order."""
    return [q for q in record["quantities"] if q["name"] == name and at.items() <= q["at"].items()]


def compare(a, b):
    """What both records hold: a list of (name, at, log2 of b's median over a's). Positive: b is larger."""
    theirs = {(q["name"], json.dumps(q["at"], sort_keys=True)): q for q in b["quantities"]}
    pairs = ((q, theirs.get((q["name"], json.dumps(q["at"], sort_keys=True)))) for q in a["quantities"])
    return [(q["name"], q["at"], math.log2(other["median"] / q["median"])) for q, other in pairs if other]


def line(record):
    """The line that stands beside every timing: device, torch, date, n."""
    n = min(q["n"] for q in record["quantities"])
    return f"{record['machine']['name']} · torch {record['machine']['torch']} · {record['created'][:10]} · n ≥ {n}"
