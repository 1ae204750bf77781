"""The scripts that workflows call: the branch of notebooks, against a bare repository; the issue, against a stand-in for gh."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.pages import ROOT

SCRIPTS = sorted((ROOT / ".github").glob("*.sh"))
PUBLISH, ISSUE = ROOT / ".github/publish-notebooks.sh", ROOT / ".github/open-issue.sh"


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_script_is_sound(path):
    assert subprocess.run(["bash", "-n", path]).returncode == 0
    assert "\nset -euo pipefail\n" in path.read_text()
    if shutil.which("shellcheck"):
        assert subprocess.run(["shellcheck", path]).returncode == 0


@pytest.fixture
def git(tmp_path, monkeypatch):
    """``git(...)`` in a clone of a bare repository, without the settings of whoever runs the test; returns what git says."""
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    settings = {f"GIT_{who}_{what}": "someone" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    for name, value in (settings | {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}).items():
        monkeypatch.setenv(name, value)
    (tmp_path / "clone").mkdir()
    monkeypatch.chdir(tmp_path / "clone")

    def git(*words):
        return subprocess.run(["git", *words], capture_output=True, text=True, check=True).stdout.strip()

    git("init", "--quiet", "--bare", "../remote.git")
    git("init", "--quiet", "--initial-branch=main", ".")
    git("remote", "add", "origin", "../remote.git")
    Path(".gitignore").write_text("_build/\n*.ipynb\n")
    git("add", ".gitignore")
    git("commit", "--quiet", "--message=start")
    return git


def publish(source, *remote, **texts):
    """Run the script over notebooks of these texts: ``labs_stride="1"`` is labs/stride.ipynb."""
    folder = Path("_build/nb")
    shutil.rmtree(folder, ignore_errors=True)
    for name, text in texts.items():
        path = folder / f"{name.replace('_', '/')}.ipynb"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return subprocess.run([PUBLISH, folder, source, *remote], capture_output=True, text=True)


def test_branch_of_notebooks_is_one_commit_and_moves_only_with_a_notebook(git):
    def branch(*words):
        return git("--git-dir=../remote.git", *words).splitlines()

    head = git("rev-parse", "HEAD")
    assert publish(head, lectures_stride="1", labs_stride="2").returncode == 0
    first = branch("rev-parse", "notebooks")
    assert branch("log", "--format=%s", "notebooks") == [f"Notebooks of {head}"]
    files = ["README.md", "labs/stride.ipynb", "lectures/stride.ipynb"]
    assert branch("ls-tree", "-r", "--name-only", "notebooks") == files
    assert f"{head}." in branch("show", "notebooks:README.md")

    assert "no notebook changed" in publish("0" * 40, lectures_stride="1", labs_stride="2").stdout
    assert branch("rev-parse", "notebooks") == first

    assert publish("1" * 40, lectures_stride="3", labs_autograd="4").returncode == 0
    assert branch("log", "--format=%s", "notebooks") == ["Notebooks of " + "1" * 40]
    files = ["README.md", "labs/autograd.ipynb", "lectures/stride.ipynb"]
    assert branch("ls-tree", "-r", "--name-only", "notebooks") == files
    assert branch("show", "notebooks:lectures/stride.ipynb") == ["3"]
    assert (git("status", "--short"), git("ls-files")) == ("", ".gitignore")


def test_nothing_is_pushed_without_notebooks_or_a_commit_or_a_remote(git):
    assert "no notebook in" in publish("0" * 40, lectures_stride="1").stderr
    assert "is no full commit hash" in publish("main", lectures_stride="1", labs_stride="2").stderr
    assert publish("0" * 40, "nowhere", lectures_stride="1", labs_stride="2").returncode
    assert git("--git-dir=../remote.git", "branch", "--list") == ""


GH = """#!/usr/bin/env bash
printf "%s|" "$@" >> "$CALLS"; echo >> "$CALLS"
if [[ $1 == api ]]; then echo "$OPEN"; exit "$CODE"; fi
"""


def report(folder, number="", code="0"):
    """Run the script beside a stand-in for gh that knows of this open issue; returns (exit status, the calls as lists)."""
    (folder / "gh").write_text(GH)
    (folder / "gh").chmod(0o755)
    settings = {
        "CALLS": str(folder / "calls"),
        "OPEN": number,
        "CODE": code,
        "GH_REPO": "someone/book",
        "RUN_URL": "run/1",
    }
    path = {"PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run([ISSUE, "links failure"], env=settings | path, capture_output=True)
    return done.returncode, [line.split("|")[:-1] for line in (folder / "calls").read_text().splitlines()]


def test_issue_is_opened_when_none_is(tmp_path):
    code, (asked, label, issue) = report(tmp_path)
    assert (code, asked[:2]) == (0, ["api", "repos/someone/book/issues?labels=weekly&state=open&per_page=100"])
    assert (label[:3], issue[:4]) == (["label", "create", "weekly"], ["issue", "create", "--label", "weekly"])
    assert "links failure" in issue[-1] and "run/1" in issue[-1]


def test_open_issue_gets_a_comment_and_no_second(tmp_path):
    code, (_, said) = report(tmp_path, number="7")
    assert (code, said[:3]) == (0, ["issue", "comment", "7"])
    assert "links failure" in said[-1] and "run/1" in said[-1]


def test_no_issue_is_opened_when_the_list_cannot_be_read(tmp_path):
    code, calls = report(tmp_path, code="1")
    assert code and len(calls) == 1
