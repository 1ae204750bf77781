"""The workflows in .github: least rights, released actions, shells that stop at the first failure, notebooks before pages.

Each rule is a function from a workflow to its complaints. The workflows have none, and each rule is shown workflows that
break it. The scripts they call: ``test_workflow_scripts.py``.
"""

import os
import re
import subprocess

import pytest
import yaml

from _ext import address
from tests.pages import ROOT

WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.y*ml"))
ACTIONS = {
    "actions/checkout": "v6",
    "actions/configure-pages": "v6",
    "actions/deploy-pages": "v5",
    "actions/download-artifact": "v8",
    "actions/setup-node": "v6",
    "actions/setup-python": "v6",
    "actions/upload-artifact": "v7",
    "actions/upload-pages-artifact": "v5",
}
WRITES = {
    ("pages", "notebooks"): {"contents"},
    ("pages", "deploy"): {"pages", "id-token"},
    ("weekly", "report"): {"issues"},
}
EVENTS = {"push", "pull_request", "schedule", "workflow_dispatch"}
SHELL = "bash -euo pipefail {0}"
LONGEST = 90  # minutes
DEFAULT_BRANCH = "github.ref == format('refs/heads/{0}', github.event.repository.default_branch)"


def load(path):
    """A workflow; YAML reads its key ``on`` as True."""
    flow = yaml.safe_load(path.read_text(encoding="utf8"))
    return {"name of file": path.stem, "on": flow.pop(True)} | flow


def steps(flow):
    return [(name, job, step) for name, job in flow["jobs"].items() for step in job.get("steps", [])]


def runs(flow):
    return [(name, job, step, step["run"]) for name, job, step in steps(flow) if "run" in step]


def writes(job):
    rights = job.get("permissions", {})
    return {r for r, level in rights.items() if level not in ("read", "none")} if isinstance(rights, dict) else {rights}


def events(flow):
    return sorted(({flow["on"]} if isinstance(flow["on"], str) else set(flow["on"])) - EVENTS)


def rights_of_all(flow):
    rights = flow.get("permissions", "not set")
    return [] if rights in ({}, {"contents": "read"}) else [f"permissions: {rights}"]


def rights_of_jobs(flow):
    allowed = {name: WRITES.get((flow["name of file"], name), set()) for name in flow["jobs"]}
    return [f"{name} may write {more}" for name, job in flow["jobs"].items() if (more := writes(job) - allowed[name])]


def actions(flow):
    used = [job["uses"] for job in flow["jobs"].values() if "uses" in job]
    used += [step["uses"] for _, _, step in steps(flow) if "uses" in step]
    return [use for use in used if use not in {f"{name}@{tag}" for name, tag in ACTIONS.items()}]


def credentials(flow):
    """A job that pushes nothing keeps no token in its clone."""
    clones = [
        (name, job, step.get("with", {})) for name, job, step in steps(flow) if "checkout@" in step.get("uses", "")
    ]
    quiet = [job for job in flow["jobs"].values() if "contents" not in writes(job)]
    return [name for name, job, given in clones if job in quiet and given.get("persist-credentials") is not False]


def shells(flow):
    def shell(*places):
        return next(filter(None, (place.get("defaults", {}).get("run", {}).get("shell") for place in places)), None)

    return [name for name, job, step, _ in runs(flow) if (step.get("shell") or shell(job, flow)) != SHELL]


def timeouts(flow):
    return [name for name, job in flow["jobs"].items() if not 0 < job.get("timeout-minutes", 360) <= LONGEST]


def one_at_a_time(flow):
    return [] if (flow.get("concurrency") or {}).get("group") else ["no concurrency group"]


def expressions(flow):
    """Values reach a script through its environment; pasted into the text, an issue's title would be a program."""
    return [text for *_, text in runs(flow) if "${{" in text]


def secrets(flow):
    return re.findall(r"\bsecrets\b.*", yaml.safe_dump(flow))


def syntax(flow):
    return [text for *_, text in runs(flow) if subprocess.run(["bash", "-n"], input=text, text=True).returncode]


def targets(flow):
    known = set(re.findall(r"^([a-z][\w-]*):", (ROOT / "Makefile").read_text(encoding="utf8"), re.M))
    asked = [words for *_, text in runs(flow) for words in re.findall(r"\bmake ((?:(?!\d?[>|;&]).)*)", text)]
    return [
        word for words in asked for word in words.split() if word[0] != "-" and "=" not in word and word not in known
    ]


def scripts(flow):
    named = [ROOT / word for *_, text in runs(flow) for word in re.findall(r"\.github/[\w.-]+", text)]
    return [str(path) for path in named if not (path.is_file() and os.access(path, os.X_OK))]


def needs(job):
    found = job.get("needs", [])
    return {found} if isinstance(found, str) else set(found)


def default_branch_only(flow):
    """A job that changes the repository or the site, or one that it waits for, is skipped on every other branch."""

    def guarded(job):
        return job["if"] == DEFAULT_BRANCH if "if" in job else any(guarded(flow["jobs"][name]) for name in needs(job))

    return [name for name, job in flow["jobs"].items() if writes(job) & {"contents", "pages"} and not guarded(job)]


def notebooks_first(flow):
    """Colab's buttons are not read before the branch they open holds the notebooks."""
    wanted = {"notebooks": {"build"}, "deploy": {"build", "notebooks"}}
    return [name for name, job in flow["jobs"].items() if not wanted.get(name, set()) <= needs(job)]


GOOD = """
on: {push: {branches: [main]}, workflow_dispatch: }
permissions: {}
concurrency: {group: pages, cancel-in-progress: false}
defaults: {run: {shell: "bash -euo pipefail {0}"}}
jobs:
  build:
    if: github.ref == format('refs/heads/{0}', github.event.repository.default_branch)
    timeout-minutes: 30
    permissions: {contents: read}
    steps:
      - uses: actions/checkout@v6
        with: {persist-credentials: false}
      - run: make site
  notebooks:
    needs: build
    timeout-minutes: 10
    permissions: {contents: write}
    steps:
      - uses: actions/checkout@v6
      - run: .github/publish-notebooks.sh _build/notebooks "$GITHUB_SHA"
  deploy:
    needs: [build, notebooks]
    timeout-minutes: 10
    permissions: {pages: write, id-token: write}
    steps:
      - uses: actions/deploy-pages@v5
"""
FAULTS = [  # a rule, what a good workflow says, what a bad one says
    (events, "workflow_dispatch: ", "pull_request_target: "),
    (events, "workflow_dispatch: ", "workflow_run: "),
    (rights_of_all, "permissions: {}\n", ""),
    (rights_of_all, "permissions: {}\n", "permissions: write-all\n"),
    (rights_of_all, "permissions: {}\n", "permissions: {contents: write}\n"),
    (rights_of_jobs, "{contents: read}", "{contents: write}"),
    (rights_of_jobs, "{contents: read}", "write-all"),
    (rights_of_jobs, "{pages: write, ", "{pages: write, contents: write, "),
    (actions, "deploy-pages@v5", "deploy-pages@main"),
    (actions, "deploy-pages@v5", "deploy-pages@" + "0" * 40),
    (actions, "deploy-pages@v5", "deploy-pages@v99"),
    (actions, "actions/deploy", "someone/deploy"),
    (actions, "    steps:\n      - uses: actions/deploy-pages@v5", "    uses: some/flows/.github/workflows/x.yml@v1"),
    (credentials, "        with: {persist-credentials: false}\n", ""),
    (shells, 'defaults: {run: {shell: "bash -euo pipefail {0}"}}\n', ""),
    (shells, "make site", "make site\n        shell: bash -e {0}"),
    (timeouts, "    timeout-minutes: 30\n", ""),
    (timeouts, "timeout-minutes: 30", "timeout-minutes: 300"),
    (one_at_a_time, "concurrency: {group: pages, cancel-in-progress: false}\n", ""),
    (expressions, "make site", "echo ${{ github.event.head_commit.message }}"),
    (secrets, "make site", "make site\n        env: {TOKEN: '${{ secrets.TOKEN }}'}"),
    (syntax, "make site", "if true; then make site"),
    (targets, "make site", "make sites"),
    (targets, "make site", "make -j2 site seit 2>&1 | tee log"),
    (scripts, "publish-notebooks.sh", "publish-notebook.sh"),
    (default_branch_only, "    if: github.ref == format(", "    if: github.actor == format("),
    (default_branch_only, "    needs: [build, notebooks]\n", "    needs: [build, notebooks]\n    if: always()\n"),
    (notebooks_first, "needs: [build, notebooks]", "needs: build"),
    (notebooks_first, "    needs: build\n", ""),
]
RULES = list(dict.fromkeys(rule for rule, *_ in FAULTS))


def test_there_are_three_workflows_and_every_right_is_used():
    flows = {path.stem: load(path) for path in WORKFLOWS}
    assert list(flows) == ["pages", "test", "weekly"]
    jobs = {(f, name): writes(job) for f, flow in flows.items() for name, job in flow["jobs"].items()}
    assert {place: rights for place, rights in jobs.items() if rights} == WRITES
    used = {step["uses"].split("@")[0] for flow in flows.values() for *_, step in steps(flow) if "uses" in step}
    assert used == set(ACTIONS)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_workflow_keeps_the_rule(path, rule):
    assert rule(load(path)) == []


@pytest.mark.parametrize("rule, good, bad", FAULTS, ids=[f"{n}-{rule.__name__}" for n, (rule, *_) in enumerate(FAULTS)])
def test_rule_finds_the_fault(tmp_path, rule, good, bad):
    path = tmp_path / "pages.yml"
    path.write_text(GOOD)
    assert rule(load(path)) == [] and good in GOOD
    path.write_text(GOOD.replace(good, bad, 1))
    assert rule(load(path))


def test_buttons_name_the_branch_that_is_pushed():
    made = [step for *_, step, text in runs(load(ROOT / ".github/workflows/pages.yml")) if "make" in text]
    assert {step["env"]["THREELEDGERS_NOTEBOOKS_BRANCH"] for step in made} == {address.BRANCH}
    assert f"ref=refs/heads/{address.BRANCH}\n" in (ROOT / ".github/publish-notebooks.sh").read_text(encoding="utf8")


def test_weekly_run_is_what_make_test_runs_with_no_version_pinned(tmp_path):
    newest = [text for name, *_, text in runs(load(ROOT / ".github/workflows/weekly.yml")) if name == "newest"]
    recipes = (ROOT / "Makefile").read_text(encoding="utf8")
    same = [text for text in newest if "pytest" in text or "_ext." in text]
    assert len(same) == 4 and all(f"$(PY) {text.strip().removeprefix('python ')} $(call" in recipes for text in same)
    install = next(text for text in newest if "pip install" in text)
    assert "--upgrade-strategy eager" in install and '".[book,test]"' in install
    here = {"cwd": ROOT, "env": os.environ | {"RUNNER_TEMP": str(tmp_path)}}
    subprocess.run(["bash", "-euc", install.splitlines()[0]], check=True, **here)
    names = (tmp_path / "asked.txt").read_text().split()
    assert {"jupyter-book", "sphinx-sitemap", "torch"} <= set(names) and not re.search("[=<>]", " ".join(names))
