"""Every formula has a witness that is not itself, and every witness notices a wrong formula.

The witnesses live in ``tests/witnesses/``. Each is shown mutants of its formula (twice the value, a term dropped, two
symbols swapped) and must reject every one; those that are equal by sympy are no mutants. The score is printed.
"""

import importlib
import pkgutil

import pytest

from tests import witnesses
from tests.mutants import body, mutants
from threeledgers.formula import REGISTRY

MODULES = [importlib.import_module(f"tests.witnesses.{m.name}") for m in pkgutil.iter_modules(witnesses.__path__)]
WITNESSES = {
    name.removesuffix("_witness"): function
    for module in MODULES
    for name, function in vars(module).items()
    if name.endswith("_witness")
}


def test_every_formula_has_a_witness():
    assert set(WITNESSES) == set(REGISTRY)


@pytest.mark.parametrize("name", sorted(WITNESSES))
def test_witness(name):
    WITNESSES[name]()


@pytest.mark.parametrize("name", sorted(WITNESSES))
def test_witness_rejects_every_mutant(name, monkeypatch, record_property):
    made, missed = REGISTRY[name], []
    WITNESSES[name]()
    found = mutants(made)
    assert found
    for what, mutant in found:
        monkeypatch.setattr(made, "_body", body(made, mutant))
        try:
            WITNESSES[name]()
        except (AssertionError, ArithmeticError, ValueError):  # a wrong value, or none at all
            continue
        missed.append(f"{what}: {mutant}")
    record_property("mutants", [len(found) - len(missed), len(found)])
    assert not missed


def test_a_blind_witness_is_found_out(monkeypatch, record_property):
    monkeypatch.setitem(WITNESSES, "copy_traffic", lambda: None)
    with pytest.raises(AssertionError, match="twice"):
        test_witness_rejects_every_mutant("copy_traffic", monkeypatch, lambda *given: None)
