"""Prefixes and the unit names that a typed answer may carry."""

from fractions import Fraction

PREFIXES = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "P": 10**15, "E": 10**18}
PREFIXES |= {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "Pi": 2**50}
PREFIXES |= {"m": Fraction(1, 10**3), "µ": Fraction(1, 10**6), "n": Fraction(1, 10**9)}

_DECIMAL = ("", "k", "M", "G", "T", "P", "E")
_BINARY = ("Ki", "Mi", "Gi", "Ti", "Pi")
_SMALL = ("", "m", "µ", "n")


def typed_units():
    """Every unit a reader may type: name -> (base unit, factor as a float)."""
    table = {"%": ("1", 0.01)}
    for base, prefixes in (
        ("B", _DECIMAL + _BINARY),
        ("B/s", _DECIMAL + _BINARY),
        ("FLOP", _DECIMAL),
        ("FLOP/s", _DECIMAL),
        ("FLOP/B", ("",)),
        ("Hz", _DECIMAL),
        ("s", _SMALL),
        ("W", ("", "k", "M")),
    ):
        table |= {prefix + base: (base, float(PREFIXES[prefix])) for prefix in prefixes}
    table |= {prefix + "FLOPs": table[prefix + "FLOP"] for prefix in _DECIMAL}
    table |= {"bytes": ("B", 1.0), "byte": ("B", 1.0), "us": ("s", 1e-6), "KB": ("B", 1e3)}
    table |= {name: ("1", 1.0) for name in ("elements", "sectors", "ways", "ranks", "tokens", "times", "x")}
    return table


def typed_example(unit, pair=False):
    """One or two numbers in a unit, as they may be typed."""
    if pair:
        return "(4, 1)" if unit == "1" else f"4 and 1 {unit}"
    return {"B": "1.5 GB", "%": "40 %", "1": "12"}.get(unit, f"3 {unit}")
