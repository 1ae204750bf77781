"""A witness shows both sides and stops the page when they differ."""

import pytest
import torch

from threeledgers.witness import CLAIMS, UnknownClaim, WitnessError, _Witness, claims, witness


def test_it_prints_both_sides(capsys):
    witness(1024, torch.tensor(1024), "bytes", unit="B")
    assert capsys.readouterr().out == "bytes: predicted 1,024 B · counted 1,024 B · difference 0\n"
    witness((3, 1), torch.Size((3, 1)), "strides")
    witness(True, True, claim="C05-03")
    assert "C05-03, imprecise" in capsys.readouterr().out


@pytest.mark.parametrize(
    "predicted, counted",
    [
        (1, 2),
        (1, 1.0000001),
        (float("nan"), float("nan")),
        ((1, 2), (1,)),
        ((1, 2), (2, 1)),
        (True, 1),
        (None, 0),
        ("a", "b"),
        (1, None),
    ],
)
def test_a_difference_raises_and_shows_both(predicted, counted, capsys):
    with pytest.raises(WitnessError) as error:
        witness(predicted, counted, "name of it")
    assert all(text in str(error.value) for text in ("name of it", repr(predicted), repr(counted)))
    assert capsys.readouterr().out == ""


def test_unknown_claim_names_its_neighbours():
    with pytest.raises(UnknownClaim, match="no claim 'C05-99'.*C05-01, C05-02"):
        witness(1, 1, claim="C05-99")


def test_html_escapes_and_marks_the_first_witness_of_a_claim():
    _Witness._seen.clear()
    first, second = (_Witness(1, 1, "<b>", "", "C05-07")._repr_html_() for _ in range(2))
    assert 'id="witness-c05-07"' in first and "id=" not in second.replace('href="claims.html#claim-c05-07"', "")
    assert "&lt;b&gt;" in first and "claims.html#claim-c05-07" in first


def test_claims_are_complete():
    assert len(claims()) == 129 == CLAIMS.read_text(encoding="utf8").count("\n") - 1
    assert {row["verdict"] for row in claims().values()} == {"right", "imprecise", "wrong", "no source", "goal"}
    for row in claims().values():
        assert row["claim"] and row["lecture"]
        assert row["verdict"] not in ("wrong", "imprecise") or row["note"], f"{row['id']}: a correction needs a note"
