"""Which torch a run of ``tests.torches`` installs, what is skipped under it, and what it reports."""

import re
import tomllib

import pytest

from tests import torches
from tests.pages import ROOT

REPORT = """<testsuites><testsuite>
<testcase classname="tests.test_a" name="test_one"/>
<testcase classname="tests.test_a" name="test_two[x]">
<skipped type="pytest.skip" message="operators of torch 1.0">at</skipped></testcase>
<testcase classname="tests.test_b" name="test_three"><failure message="no">no</failure></testcase>
<testcase classname="tests.test_b" name="test_four"><error message="no">no</error></testcase>
</testsuite></testsuites>"""


@pytest.mark.parametrize(
    ("wanted", "line"), [("2.9", "torch==2.9.*"), ("2.10.0", "torch==2.10.0"), ("newest", "torch")]
)
def test_only_torch_differs_from_the_requirements(wanted, line):
    ours, theirs = (
        torches.REQUIREMENTS.read_text(encoding="utf8").splitlines(),
        torches.requirements(wanted).splitlines(),
    )
    assert [b for a, b in zip(ours, theirs, strict=True) if a != b] == [line]


def test_the_oldest_torch_is_the_one_the_project_allows():
    dependencies = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf8"))["project"]["dependencies"]
    assert f"torch>={torches.oldest()}" in dependencies


def test_lists_of_operators_hold_for_the_pinned_torch_alone():
    pin = torches.pinned()
    assert re.search(rf"^torch=={re.escape(pin)}\.", torches.REQUIREMENTS.read_text(encoding="utf8"), re.M)
    assert torches.other(f"{pin}.0+cpu") is None and torches.other(f"{pin}.7") is None
    for version in ("2.9.1", f"{pin}0.1", "3.0.0"):
        assert torches.other(version) == f"operators of torch {pin}; this is torch {version}"


def test_what_needs_an_operator_is_skipped_only_where_it_is_missing():
    pin = torches.pinned()
    assert torches.other("2.9.1", "mm", "no_such") == f"operators of torch {pin} (no_such); this is torch 2.9.1"
    assert torches.other("2.9.1", "mm") is None
    assert torches.other(f"{pin}.0", "no_such") is None  # there it must fail


@pytest.mark.parametrize("word", ["2", "latest", "2.9.x", "-v", "torch==2.9"])
def test_what_is_no_version_ends_with_2_and_says_so(word, capsys):
    assert torches.main([word]) == 2
    error = capsys.readouterr().err
    assert word in error and "2.9" in error and "newest" in error


def test_a_report_names_what_was_skipped_and_what_failed(tmp_path):
    (tmp_path / "report.xml").write_text(REPORT, encoding="utf8")
    passed, skipped, failed = torches.outcome(tmp_path / "report.xml")
    assert passed == 1
    assert skipped == {"tests/test_a.py::test_two[x]": "operators of torch 1.0"}
    assert failed == ["tests/test_b.py::test_three", "tests/test_b.py::test_four"]
