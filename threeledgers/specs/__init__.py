"""Facts about devices and models, each number with its unit and source.

``gpu("h200_sxm").memory_bandwidth`` is a number in base units (FLOP/s, B/s, B, Hz, W), dense and per direction;
``gpu("h200_sxm").source("memory_bandwidth")`` says where it was read. A missing number is missing: nothing is derived.
"""

import math
import tomllib
from functools import cache
from pathlib import Path

ROOM = Path(__file__).parent

FIELDS = {
    "gpu": {
        "bf16_flops": "FLOP/s",
        "fp16_flops": "FLOP/s",
        "fp32_flops": "FLOP/s",
        "tf32_flops": "FLOP/s",
        "fp8_flops": "FLOP/s",
        "fp4_flops": "FLOP/s",
        "int8_ops": "OP/s",
        "memory_bytes": "B",
        "memory_bandwidth": "B/s",
        "l2_bytes": "B",
        "sms": "1",
        "clock_hz": "Hz",
        "shared_bytes_per_sm": "B",
        "registers_bytes_per_sm": "B",
        "link_bandwidth": "B/s",
        "pcie_bandwidth": "B/s",
        "tdp_watts": "W",
    },
    "model": {name: "1" for name in ("layers", "hidden", "heads", "kv_heads", "head_dim", "ffn", "vocab", "params")},
}
TEXTS = {"gpu": ("name", "architecture", "capability", "announced"), "model": ("name", "family", "announced")}
ENTRY = {"value", "unit", "source", "trap", "verified"}


class SpecError(ValueError):
    """A specification file breaks the schema; the message names file, field and what would be accepted."""


class UnknownSpec(LookupError):
    """No such GPU or model; the message lists those that exist."""


class MissingField(AttributeError):
    """The specification does not hold this number; the message lists those it holds."""


class Spec:
    """One device or model: its numbers are attributes, ``source(field)`` and ``trap(field)`` tell about them."""

    def __init__(self, kind, id, texts, sources, entries):
        self.kind, self.id, self._sources, self._entries = kind, id, sources, entries
        self.name = texts["name"]
        self.texts = texts

    def __getattr__(self, field):
        if field.startswith("_"):
            raise AttributeError(field)
        return self._entry(field)["value"]

    def _entry(self, field):
        if field not in self._entries:
            known = "" if field in FIELDS[self.kind] else f" ({field} is not a field of any {self.kind})"
            raise MissingField(f"{self.kind} {self.id} has no {field}{known}; it has {', '.join(self._entries)}")
        return self._entries[field]

    def __dir__(self):
        return [*super().__dir__(), *self._entries]

    @property
    def fields(self):
        """The names of the numbers that exist."""
        return tuple(self._entries)

    def unit(self, field):
        """Base unit of a field."""
        return self._entry(field)["unit"]

    def source(self, field):
        """Where the number was read, in words."""
        return self._sources[self._entry(field)["source"]]

    def trap(self, field):
        """What the datasheet prints instead, or an empty string."""
        return self._entry(field).get("trap", "")

    def verified(self, field):
        """False for a number that was seen only second-hand."""
        return self._entry(field).get("verified", True)

    def __repr__(self):
        return f"{self.kind}({self.id!r})"


def gpu(id):
    """The GPU with this id, e.g. ``gpu("h200_sxm")``. Raises UnknownSpec with the ids that exist."""
    return _load("gpu", id)


def model(id):
    """The model with this id, e.g. ``model("llama2_7b")``. Raises UnknownSpec with the ids that exist."""
    return _load("model", id)


def ids(kind):
    """All ids of a kind (``"gpu"`` or ``"model"``), sorted."""
    return sorted(path.stem for path in (ROOM / kind).glob("*.toml"))


@cache
def _load(kind, id):
    if id not in ids(kind):
        raise UnknownSpec(f"no {kind} {id!r}; there are {', '.join(ids(kind))}")
    return read(ROOM / kind / f"{id}.toml", kind)


def read(path, kind):
    """Read and check one TOML file. Raises SpecError naming file, field and what would be accepted."""
    path = Path(path)

    def fail(why):
        raise SpecError(f"{path.name}: {why}")

    try:
        data = tomllib.loads(path.read_text(encoding="utf8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        fail(f"not valid TOML: {error}")
    if extra := set(data) - {*TEXTS[kind], "sources", "numbers"}:
        fail(f"unknown key {', '.join(sorted(extra))}; a {kind} has {', '.join(TEXTS[kind])}, sources, numbers")
    for key in TEXTS[kind]:
        if not (isinstance(data.get(key), str) and data[key]):
            fail(f"{key} must be a text")
    sources, numbers = data.get("sources", {}), data.get("numbers", {})
    if not numbers:
        fail("[numbers] is empty")
    for field, entry in numbers.items():
        unit = FIELDS[kind].get(field)
        if unit is None:
            fail(f"{field} is not a field of a {kind}; fields are {', '.join(FIELDS[kind])}")
        if not isinstance(entry, dict) or set(entry) - ENTRY or not {"value", "unit", "source"} <= set(entry):
            fail(f"{field} needs value, unit and source, and may have trap and verified; got {entry!r}")
        value = entry["value"]
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value) or value <= 0:
            fail(f"{field} = {value!r}: a finite positive number is needed; leave the field out when it is unknown")
        if entry["unit"] != unit:
            fail(f"{field} is in {unit}, not {entry['unit']!r}")
        if entry["source"] not in sources:
            fail(
                f"{field}: source {entry['source']!r} is not under [sources]; there are {', '.join(sources) or 'none'}"
            )
    return Spec(kind, path.stem, {k: data[k] for k in TEXTS[kind]}, sources, numbers)
