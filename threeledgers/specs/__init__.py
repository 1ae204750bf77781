"""Facts about devices, models and latencies, each number with its unit and source.

``gpu("h200_sxm").memory_bandwidth`` is a number in base units (FLOP/s, B/s, B, Hz, W), dense and per direction;
``gpu("h200_sxm").source("memory_bandwidth")`` says where it was read. A missing number is missing: nothing is derived.
"""

import difflib
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
        "bf16_gemm_flops": "FLOP/s",  # the best large product that somebody measured, not a peak
        "int8_ops": "OP/s",
        "memory_bytes": "B",
        "memory_bandwidth": "B/s",
        "l2_bytes": "B",
        "sms": "1",
        "clock_hz": "Hz",
        "shared_bytes_per_sm": "B",
        "registers_bytes_per_sm": "B",
        "link_bandwidth": "B/s",
        "link_devices": "1",  # how many devices the link joins: a bridge two, a board with a switch eight, a rack more
        "pcie_bandwidth": "B/s",
        "tdp_watts": "W",
    },
    "model": dict.fromkeys(
        "layers hidden heads kv_heads head_dim ffn vocab positions context q_rank kv_rank rope_dim nope_dim value_dim "
        "dense_layers experts shared_experts experts_per_token expert_ffn params active_params "
        "tied qkv_bias out_bias mlp_bias qk_norm window".split(),
        "1",
    ),
    # one map for the three files: a name means the same thing, in the same unit, in each of them
    "latency": {
        **dict.fromkeys(
            "register_read dependent_issue shared_memory shared_memory_turing l1_hit l1_hit_turing l2_hit l2_hit_turing "
            "global_memory".split(),
            "cycle",
        ),
        **dict.fromkeys(
            "kernel_launch nvlink_64b infiniband_64b_same_leaf infiniband_64b_cross_leaf roce_64b_same_leaf "
            "roce_64b_cross_leaf infiniband_port_edr infiniband_port_hdr l1_load l2_load l3_load dram_load "
            "dram_remote_load vm_working_set_16kib vm_working_set_1mib vm_working_set_16mib".split(),
            "s",
        ),
        **dict.fromkeys(
            "shared_memory_bandwidth l2_bandwidth nvlink4_pairwise_bandwidth pcie4_bandwidth pcie5_bandwidth "
            "pcie6_bandwidth ndr_nic_bandwidth xdr_nic_bandwidth dgx_h100_scaleout_bandwidth "
            "dgx_b300_scaleout_bandwidth".split(),
            "B/s",
        ),
    },
}
TEXTS = {
    "gpu": ("name", "architecture", "capability", "announced"),
    "model": ("name", "family", "block", "announced"),
    "latency": ("name",),
}
BLOCKS = ("llama", "gpt", "mla_moe")
FLAGS = ("tied", "qkv_bias", "out_bias", "mlp_bias", "qk_norm")  # of a model: it has them, or does not
LARGEST = 1e24
OPTIONAL = {"trap": str, "condition": str, "verified": bool}


class SpecError(ValueError):
    """A specification file breaks the schema; the message names file, field and what would be accepted."""


class UnknownSpec(LookupError):
    """No such device, model or table; the message names the nearest and lists those that exist."""


class MissingField(AttributeError):
    """The specification does not hold this number; the message lists those it holds."""


class Spec:
    """One file: its numbers are attributes, ``source(field)``, ``trap(field)``, … tell about them."""

    reading = None  # of a config.json: which keys were used

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
            why = "; "
            if field not in FIELDS[self.kind]:  # a known field that is missing has no better spelling
                why = f" ({field} is not a field of any {self.kind})" + suggestion(field, self._entries)
            raise MissingField(f"{self.kind} {self.id} has no {field}{why}it has {', '.join(self._entries)}")
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

    def condition(self, field):
        """On what, and how, the number holds, or an empty string."""
        return self._entry(field).get("condition", "")

    def verified(self, field):
        """False for a number that was seen only second-hand, or only announced."""
        return self._entry(field).get("verified", True)

    def __repr__(self):
        return f"{self.kind}({self.id!r})"

    def _repr_markdown_(self):
        """A table of all numbers: field, value in base units, unit, source, and what to know about it."""
        lines = ["| field | value | unit | source | note |", "|---|--:|---|---|---|"]
        for field, entry in self._entries.items():
            value = entry["value"]
            notes = [self.condition(field), self.trap(field), "" if self.verified(field) else "**unverified**"]
            cells = [
                f"`{field}`",
                f"{value:,}" if isinstance(value, int) else f"{value:g}",
                entry["unit"],
                self.source(field),
                "; ".join(filter(None, notes)),
            ]
            lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
        return "\n".join([f"**{self.name}**", "", *lines, ""])


def gpu(id):
    """The GPU with this id, e.g. ``gpu("h200_sxm")``, or of a file, ``gpu("./card.toml")``.

    Raises UnknownSpec with the ids that exist, or SpecError naming file and field.
    """
    return _find("gpu", id)


def model(id):
    """The model with this id, e.g. ``model("llama2_7b")``, or of a file: Hugging Face's ``config.json``, or TOML.

    Raises UnknownSpec with the ids that exist, or SpecError naming file and field or key.
    """
    return _find("model", id)


def latency(id):
    """Latencies and bandwidths (cycle, s, B/s) of ``"gpu"``, ``"link"`` or ``"cpu"``. Raises UnknownSpec otherwise."""
    return _load("latency", id)


def ids(kind):
    """All ids of a kind (``"gpu"``, ``"model"`` or ``"latency"``), sorted."""
    return sorted(path.stem for path in (ROOM / kind).glob("*.toml"))


def suggestion(name, names):
    """What goes between "no such thing" and the list: ``"; did you mean …? "`` if one of ``names`` is spelled alike."""
    found = difflib.get_close_matches(str(name), names, 1)
    return f"; did you mean {found[0]}? " if found else "; "


def _find(kind, id):
    from threeledgers.specs import own  # it reads with what is defined here

    return own.load(kind, id) if own.is_file(kind, id) else _load(kind, id)


@cache
def _load(kind, id):
    if id not in ids(kind):
        raise UnknownSpec(f"no {kind} {id!r}{suggestion(id, ids(kind))}there are {', '.join(ids(kind))}")
    return read(ROOM / kind / f"{id}.toml", kind)


def read(path, kind):
    """Read and check one TOML file. Raises SpecError naming file, field and what would be accepted."""
    path = Path(path)

    def fail(why):
        raise SpecError(f"{path.name}: {why}")

    try:
        data = tomllib.loads(path.read_text(encoding="utf8"))
    except (ValueError, RecursionError) as error:  # a number of 5,000 digits is a ValueError, too
        fail(f"not valid TOML: {error}")
    if extra := set(data) - {*TEXTS[kind], "sources", "numbers"}:
        fail(f"unknown key {', '.join(sorted(extra))}; a {kind} has {', '.join(TEXTS[kind])}, sources, numbers")
    for key in TEXTS[kind]:
        if not (isinstance(data.get(key), str) and data[key]):
            fail(f"{key} must be a text")
    if data.get("block", BLOCKS[0]) not in BLOCKS:
        fail(f"block = {data['block']!r}: one of {', '.join(BLOCKS)} is needed")
    sources, numbers = data.get("sources", {}), data.get("numbers", {})
    if not isinstance(sources, dict) or not all(isinstance(text, str) and text for text in sources.values()):
        fail("[sources] must hold texts that say where numbers were read")
    if not isinstance(numbers, dict) or not numbers:
        fail("[numbers] is empty")
    for field, entry in numbers.items():
        unit = FIELDS[kind].get(field)
        if unit is None:
            fail(f"{field} is not a field of a {kind}; fields are {', '.join(FIELDS[kind])}")
        needed = {"value", "unit", "source"}
        if not isinstance(entry, dict) or set(entry) - needed - set(OPTIONAL) or not needed <= set(entry):
            fail(f"{field} needs value, unit and source, and may have {' and '.join(OPTIONAL)}; got {entry!r}")
        for key, type_ in {"unit": str, "source": str, **OPTIONAL}.items():
            if not isinstance(entry.get(key, type_()), type_):
                fail(f"{field}: {key} = {entry[key]!r} must be {'a text' if type_ is str else 'true or false'}")
        value = entry["value"]
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < math.inf:
            fail(f"{field} = {value!r}: a finite positive number is needed; leave the field out when it is unknown")
        if value > LARGEST:
            fail(f"{field} = {str(value)[:40]}: at most {LARGEST:g} is believed")
        if field in FLAGS and value != 1:
            fail(f"{field} = {value!r}: 1 is needed; leave the field out where the model has no such thing")
        if entry["unit"] != unit:
            fail(f"{field} is in {unit}, not {entry['unit']!r}")
        if entry["source"] not in sources:
            known = ", ".join(sources) or "none"
            fail(f"{field}: source {entry['source']!r} is not under [sources]; there are {known}")
    return Spec(kind, path.stem, {k: data[k] for k in TEXTS[kind]}, sources, numbers)
