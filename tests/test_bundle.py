"""The archive, unpacked and served with the outside world refused: search, widgets, exercises, formulas, dark mode."""

import functools
import hashlib
import http.server
import subprocess
import sys
import threading
import zipfile

import nbformat
import pytest

from _ext import bundle
from tests.conftest import Quiet
from tests.pages import ROOT

pytestmark = pytest.mark.site


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    return bundle.bundle(ROOT, target=tmp_path_factory.mktemp("zip") / "site.zip")


@pytest.fixture(scope="module")
def unpacked(archive, tmp_path_factory):
    folder = tmp_path_factory.mktemp("unpacked")
    with zipfile.ZipFile(archive) as opened:
        opened.extractall(folder)
    return folder / bundle.TOP


@pytest.fixture(scope="module")
def served(unpacked):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(unpacked)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()


def test_the_manifest_names_every_file(unpacked):
    lines = (unpacked / "MANIFEST.sha256").read_text().splitlines()
    listed = {line[66:]: line[:64] for line in lines}
    there = {p.relative_to(unpacked).as_posix() for p in unpacked.rglob("*") if p.is_file()} - {"MANIFEST.sha256"}
    assert set(listed) == there and len(there) > 50
    assert all(hashlib.sha256((unpacked / n).read_bytes()).hexdigest() == digest for n, digest in listed.items())
    assert {"index.html", "README.txt", "notebooks/lectures/stride.ipynb"} <= there


def test_the_same_site_gives_the_same_bytes(archive, tmp_path):
    again = bundle.bundle(ROOT, target=tmp_path / "again.zip")
    assert again.read_bytes() == archive.read_bytes() and archive.stat().st_size < 5e6


def test_without_a_site_nothing_is_written(tmp_path):
    with pytest.raises(RuntimeError, match="no site in .*: make site builds it"):
        bundle.bundle(ROOT, site=tmp_path, target=tmp_path / "x.zip")
    assert not list(tmp_path.glob("x.*"))


def test_its_notebooks_install_its_wheel(unpacked):
    for path in (unpacked / "notebooks").rglob("*.ipynb"):
        (cell,) = [c for c in nbformat.read(path, as_version=4).cells if "install" in c.metadata.get("tags", [])]
        wheel = path.parent / cell.source.rpartition("--quiet ")[2]
        assert wheel.resolve().is_file() and wheel.resolve().parent == unpacked / "wheel"


def test_the_wheel_carries_labs_and_records(unpacked, tmp_path):
    (wheel,) = (unpacked / "wheel").glob("*.whl")
    target = tmp_path / "installed"
    pip = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-deps",
        "--no-index",
        "--target",
        str(target),
        str(wheel),
    ]
    subprocess.run(pip, check=True)
    program = (
        "from threeledgers import records; import threeledgers; print(records.devices('stride'), threeledgers.__file__)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], env={"PYTHONPATH": str(target)}, cwd=tmp_path, capture_output=True, text=True
    )
    assert "cpu" in done.stdout and str(target) in done.stdout, done.stderr


@pytest.mark.parametrize("by", ["http", "file"])
def test_a_reader_without_a_network(visit, served, unpacked, by):
    base = served if by == "http" else unpacked.as_uri() + "/"
    opened = visit(base + "index.html", base if by == "http" else "file://", color_scheme="light")
    page = opened.page
    page.wait_for_url("**/lectures/index.html")
    page.keyboard.press("Control+k")
    page.keyboard.type("warp_sectors")
    page.keyboard.press("Enter")
    page.wait_for_selector("#search-results li a")
    page.locator("#search-results li a", has_text="Same bytes").first.click()
    page.wait_for_selector("html[data-widgets=ready]", state="attached")
    assert page.locator(".katex-display .katex-html").count() >= 7
    fonts = "[...document.fonts].filter(f => f.family.startsWith('KaTeX') && f.status == 'loaded').length"
    page.wait_for_function(fonts + " >= 2")
    guess = page.get_by_role("group", name="Guess")
    guess.get_by_role("textbox").fill("1024")
    guess.get_by_role("button").click()
    assert "Your guess was exact" in guess.get_by_role("status").inner_text()
    size = page.get_by_label("size 0").first
    before = page.locator(".tl-widget", has=size).get_by_role("status").inner_text()
    size.focus()
    page.keyboard.press("Home")
    assert page.locator(".tl-widget", has=size).get_by_role("status").inner_text() != before
    page.get_by_role("button", name="Color mode").click()
    page.wait_for_function("document.documentElement.dataset.mode != 'auto'")
    assert opened.clean(), opened.complaints()
