"""The number linter on planted faults, and on text that it must leave alone."""

import pytest

from _ext.linter import lint, prose
from tests.pages import ROOT, pages

PLANTED = [
    "The H200 reads 4.8 TB/s.",
    "The H200 reads 4.8TB/s.",
    "A 512-B line",
    "An 80-GB card",
    "It runs at 1.98 GHz.",
    "It draws 700 W.",
    "It takes 0.1 ms.",
    "It takes 12µs.",
    "It takes 5 s of time.",
    "MFU of 38%",
    "It reaches 80 % of peak.",
    "Utilisation falls to 15 %.",
    "128 bytes",
    "6.3e24 FLOPs",
    "10 FLOP/s",
    "1,024 B",
    "4 to 8 GB",
    "3 × 10^9 FLOP",
    "$4.8\\,\\mathrm{TB/s}$ is much",
    "$$\n4.8\\ \\text{TB/s}\n$$",
    "$5\\,\\mathrm{s}$",
    ":::{note}\nreads 4.8 TB/s\n:::",
    ":::{admonition} 4.8 TB/s here\nx\n:::",
    "````{note}\n:class: tip\n\n3 GB\n````",
    "| a | b |\n|--|--|\n| 4.8 TB/s | x |",
    "# Title with 4.8 TB/s",
    "- 3 MiB\n- x",
    "![alt of 3 GB](x.png)",
    "**3 GB**",
    "[3 GB](x.md)",
    "It reads 4.8 TB/s. A second sentence {cite}`x`.",
]
INNOCENT = [
    "A 7B model.",
    "5 sectors, 32 lanes and 8 banks",
    "{literal}`128 bytes`",
    "{quantity}`h200_sxm.memory_bandwidth | TB/s`",
    "{given}`stride-3.rows` GB",
    "`4.8 TB/s`",
    "```\n4.8 TB/s\n```",
    "```{code-cell} python\nx = 1  # 3 GB\n```",
    "It reads 4.8 TB/s {cite}`x`.",
    "50 % of cases",
    "torch 2.13",
    "$3 s_1$ and $2 s$ and $4\\,B$",
    "in 2009, section 4",
    "a 2-D grid",
    "---\ntitle: 3 GB\n---\n\ntext",
    ":::{note}\n:name: a-3 GB\n\ntext\n:::",
]


@pytest.mark.parametrize("text", PLANTED)
def test_planted_fault_is_found(text):
    assert len(lint(text)) == 1


@pytest.mark.parametrize("text", INNOCENT)
def test_innocent_text_passes(text):
    assert not lint(text)


def test_the_line_is_named():
    text = "---\nx: 1\n---\n\n# t\n\ntext\nmore 3 GB\n\n:::{note} hi\n:class: x\n\nsee 4 GB\n:::\n"
    assert [(f.line, f.text) for f in lint(text)] == [(8, "3 GB"), (13, "4 GB")]
    assert "use {quantity}" in str(lint(text)[0])


def test_a_labs_prose_is_read_and_its_code_is_not():
    script = "# ---\n# x: 3 GB\n# ---\n\n# %% [markdown]\n# It reads 4.8 TB/s.\n\n# %%\n# 3 GB\nx = 1\n"
    assert [(f.line, f.text) for f in lint(prose(script))] == [(6, "4.8 TB/s")]


@pytest.mark.parametrize("path", sorted((ROOT / "labs").glob("*.py")), ids=lambda p: p.stem)
def test_labs_are_clean(path):
    assert not [f"{path.name}:{f.line}: {f}" for f in lint(prose(path.read_text(encoding="utf8")))]


@pytest.mark.parametrize("page", pages(), ids=lambda p: p.path.stem)
def test_pages_are_clean(page):
    assert not [f"{page.path.name}:{f.line}: {f}" for f in lint(page.text)]
