"""Bad input to the build: the fault is named with what would be accepted, the build stops, nothing is published."""

import os
import shutil
import subprocess
import sys

import pytest

from _ext import node
from tests.pages import ROOT

pytestmark = pytest.mark.site

HEAD = (
    "---\njupytext:\n  text_representation:\n    format_name: myst\n"
    "kernelspec:\n  name: python3\n  display_name: Python 3\n---\n\n"
)
GOOD = "(page)=\n# A page\n\nText with $x^2$ and {quantity}`t4.sms`.\n"
FAULTS = {  # a line of the page: what the build must say
    "A formula $\\frac{1$ that is broken.": r"KaTeX cannot typeset '\\frac{1'",
    "{quantity}`t9.sms`": "no spec 't9'; there are a100_pcie, a100_sxm_40",
    "{quantity}`t4.bf16_flops`": "gpu t4 has no bf16_flops; it has fp16_flops",
    "{quantity}`atom_bytes(params=1)`": "no formula 'atom_bytes'; there are adam_8bit_bytes",
    "It reads 4.8 TB/s.": "typed number '4.8 TB/s': use {quantity}",
    "[a link](nowhere.md)": "nowhere.md",
    ":::{nosuch} x\nbody\n:::": "index.md:18: WARNING: Unknown directive type: 'nosuch'",
    "{ref}`nowhere`": "nowhere",
    "{claim}`C99-01`": "no claim 'C99-01'",
}


def book(folder, page):
    """A small book with the project's own settings and extensions; the page is its only one besides the claims."""
    (folder / "lectures").mkdir()
    shutil.copytree(ROOT / "assets", folder / "assets")
    shutil.copy(ROOT / "_config.yml", folder)
    shutil.copy(ROOT / "lectures/references.bib", folder / "lectures")
    (folder / "_toc.yml").write_text("format: jb-book\nroot: lectures/index\n")
    write(folder, page)


def write(folder, page):
    (folder / "lectures/index.md").write_text(page, encoding="utf8")


def build(folder, **environment):
    return subprocess.run(
        [sys.executable, "-m", "_ext.build", str(folder)],
        cwd=ROOT,
        env=os.environ | environment,
        capture_output=True,
        text=True,
    )


def test_faults_are_named_and_nothing_is_published(tmp_path):
    book(tmp_path, GOOD + "\n" + "\n\n".join(FAULTS))
    done = build(tmp_path)
    said = done.stdout + done.stderr
    assert done.returncode == 1
    assert not {line: words for line, words in FAULTS.items() if words not in said}, said
    assert "site: failed while building the pages" in said and "Nothing was published" in said
    assert not (tmp_path / "_build/html").exists()


def test_a_fault_leaves_the_last_site_and_is_named_again(tmp_path):
    book(tmp_path, GOOD)
    done = build(tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    page = tmp_path / "_build/html/lectures/index.html"
    before = page.read_bytes()
    assert b'class="katex"' in before and b">40</span>" in before
    assert "nothing changed since the last build" in build(tmp_path).stdout
    write(tmp_path, GOOD + "\nIt reads 4.8 TB/s.\n")
    for _ in range(2):  # a second try must not be blind
        done = build(tmp_path)
        assert done.returncode == 1 and "typed number '4.8 TB/s'" in done.stderr
        assert page.read_bytes() == before
    write(tmp_path, GOOD + "\nIt reads less.\n")
    assert build(tmp_path).returncode == 0 and b"It reads less." in page.read_bytes()


@pytest.mark.parametrize(
    "cell, words",
    [
        ("1 / 0", "ZeroDivisionError"),
        ("from threeledgers import witness\nwitness(1, 2, 'bytes of it')", "bytes of it: predicted 1, counted 2"),
    ],
)
def test_a_cell_that_raises_stops_the_build(tmp_path, cell, words):
    book(tmp_path, f"{HEAD}# A page\n\n```{{code-cell}} python\n{cell}\n```\n")
    done = build(tmp_path)
    assert done.returncode == 1 and words in done.stderr
    assert "failed while running the notebooks: lectures/index.md" in done.stderr
    assert not (tmp_path / "_build/html").exists()


def test_a_known_address_gives_buttons_a_map_and_previews_and_an_unknown_one_nothing(tmp_path):
    """The remote's token is nowhere, whatever is known."""
    book(
        tmp_path,
        f"{HEAD}# A page\n\nIts first sentence is long enough to describe it.\n\n```{{code-cell}} python\n1 + 1\n```\n",
    )
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    url = "https://x:s3cret@github.com/someone/book.git"
    html = tmp_path / "_build/html"

    def pages():
        done = build(tmp_path, GITHUB_REPOSITORY="", THREELEDGERS_NOTEBOOKS_BRANCH=branch)
        assert done.returncode == 0, done.stdout + done.stderr
        texts = [
            p.read_text(encoding="utf8") for p in html.rglob("*") if p.suffix in (".html", ".ipynb", ".xml", ".js")
        ]
        assert not [t for t in texts if "s3cret" in t] and "s3cret" not in done.stdout + done.stderr
        return (html / "lectures/index.html").read_text(encoding="utf8"), done.stdout

    branch = "notebooks"
    page, _ = pages()
    assert (
        "colab.research" not in page and "github.com" not in page and "og:url" not in page and "canonical" not in page
    )
    assert 'href="../notebooks/lectures/index.ipynb"' in page and not (html / "sitemap.xml").exists()
    subprocess.run(["git", "-C", str(tmp_path), "remote", "add", "origin", url], check=True)
    page, said = pages()
    assert "0 executed" in said, "a new remote rewrites pages and runs nothing"
    assert page.count("https://colab.research.google.com/github/someone/book/blob/notebooks/lectures/index.ipynb") == 2
    assert '<meta property="og:url" content="https://someone.github.io/book/lectures/index.html" />' in page
    assert '<meta property="og:image" content="https://someone.github.io/book/_static/preview.png" />' in page
    assert "<loc>https://someone.github.io/book/lectures/index.html</loc>" in (html / "sitemap.xml").read_text()
    assert 'href="/book/index.html"' in (html / "404.html").read_text(encoding="utf8")
    notebook = (html / "notebooks/lectures/index.ipynb").read_text(encoding="utf8")
    assert "threeledgers @ git+https://github.com/someone/book" in notebook
    branch = ""
    page, _ = pages()
    assert "colab.research" not in page and "github.com/someone/book" in page, "no branch of notebooks, no button"


def test_a_missing_page_of_the_toc_is_named(tmp_path):
    book(tmp_path, GOOD)
    (tmp_path / "_toc.yml").write_text("format: jb-book\nroot: lectures/index\nchapters:\n  - file: lectures/gone\n")
    done = build(tmp_path)
    assert done.returncode == 1 and "_toc.yml lists lectures/gone.md, which does not exist" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_changed_library_reaches_cells_and_roles(tmp_path):
    """The cache is keyed by the package: an edited spec, formula or figure style shows on the next build."""
    for name in ("threeledgers", "_ext"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "node_modules").symlink_to(ROOT / "node_modules")
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    values = "gpu('t4').sms, formulas.copy_traffic(numel=1, elem_bytes=1), figures.STYLE['font.size']"
    cell = f"from threeledgers import figures, formulas, gpu\nprint({values})"
    roles = "{quantity}`t4.sms` {quantity}`copy_traffic(numel=1, elem_bytes=1)`"
    book(
        tmp_path,
        f"{HEAD}# A page\n\n{roles}\n\n```{{code-cell}} python\n{cell}\n```\n",
    )
    page = tmp_path / "_build/html/lectures/index.html"

    def shown():
        done = subprocess.run(
            [sys.executable, "-m", "_ext.build", "."],
            cwd=tmp_path,
            env=os.environ | {"PYTHONPATH": str(tmp_path)},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return page.read_text(encoding="utf8").replace("\u00a0", " ")

    def edit(path, old, new):
        text = (tmp_path / path).read_text()
        assert old in text
        (tmp_path / path).write_text(text.replace(old, new))

    first = shown()
    assert ">40</span>" in first and ">2 B</span>" in first and "40 2 10.5" in first
    edit("threeledgers/specs/gpu/t4.toml", "sms = { value = 40", "sms = { value = 41")
    assert ">41</span>" in (second := shown()) and "41 2 10.5" in second
    edit("threeledgers/formulas/layout.py", "return 2 * numel * elem_bytes", "return 3 * numel * elem_bytes")
    assert ">3 B</span>" in (third := shown()) and "41 3 10.5" in third
    edit("threeledgers/figures.py", '"font.size": 10.5', '"font.size": 11')
    assert "41 3 11" in shown()


def test_without_node_and_network_the_sentence_says_what_is_needed(tmp_path, monkeypatch):
    monkeypatch.setattr(node.shutil, "which", lambda name: None)
    monkeypatch.setattr(node, "_from_wheel", lambda: None)
    monkeypatch.setattr(node.subprocess, "run", lambda *a, **k: subprocess.CompletedProcess(a, 1))
    with pytest.raises(node.NoNode, match="node 18 or newer is needed .*could not be installed. Install node 18"):
        node.find_or_install()
    (tmp_path / "package-lock.json").write_text("{}")
    with pytest.raises(node.NoNode):
        node.install_packages(tmp_path)
    assert not (tmp_path / "node_modules").exists()


def test_an_old_node_is_not_taken(tmp_path, monkeypatch):
    old = tmp_path / "node"
    old.write_text("#!/bin/sh\necho v16.20.0\n")
    old.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(node, "_from_wheel", lambda: None)
    with pytest.raises(node.NoNode, match=r"node is v16\.20\.0"):
        node.find()
