"""The lecture's notebook in a real JupyterLab: keys reach its widgets, the kernel hears of it, nothing foreign is asked for."""

import contextlib
import json
import os
import re
import subprocess
import sys
import time
import urllib.request
from types import SimpleNamespace

import nbformat
import pytest
from playwright.sync_api import expect

from tests.pages import SITE
from threeledgers.records import load, runs_folder

pytestmark = pytest.mark.site

SLOW = 90_000  # ms: two busy cores must not fail
FLAGS = (  # an open server on this machine only, and no news, update check or extension search
    "--no-browser --allow-root --ip=127.0.0.1 --ServerApp.port=0 --ServerApp.disable_check_xsrf=True"
    " --IdentityProvider.token= --PasswordIdentityProvider.hashed_password= --LabApp.news_url=None"
    " --LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate --LabApp.extension_manager=readonly"
).split()
SETTINGS = {  # no question about news; every cell stays in the page, however long the notebook is
    "@jupyterlab/apputils-extension:notification": {"fetchNews": "false", "checkForUpdates": False},
    "@jupyterlab/notebook-extension:tracker": {"windowingMode": "none"},
}
PLACES = "JUPYTER_CONFIG_DIR JUPYTER_DATA_DIR JUPYTER_RUNTIME_DIR JUPYTERLAB_SETTINGS_DIR JUPYTERLAB_WORKSPACES_DIR"
LIVE = (  # appended to the lecture: boxes whose state the kernel can print
    "scope = widget('stride'); scope",
    "box = exercise('stride-3'); box",
    "print(scope.view.settings['shape'], box.verdict.get('status'), box.verdict.get('answer'))",
)


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """A JupyterLab that touches nothing of the user's: its ``url`` ends in /, its ``root`` holds the notebooks."""
    home, root = tmp_path_factory.mktemp("jupyterlab"), tmp_path_factory.mktemp("notebooks")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("JUPYTER", "JPY_"))}
    environment |= {name: str(home / name) for name in [*PLACES.split(), "IPYTHONDIR"]}
    settings, log = home / "JUPYTER_CONFIG_DIR/labconfig/default_setting_overrides.json", home / "log.txt"
    settings.parent.mkdir(parents=True)
    settings.write_text(json.dumps(SETTINGS))
    command = [sys.executable, "-m", "jupyterlab", *FLAGS, f"--ServerApp.root_dir={root}"]
    with log.open("w") as out:
        server = subprocess.Popen(command, env=environment, cwd=home, stdout=out, stderr=subprocess.STDOUT)
    try:
        end = time.monotonic() + SLOW / 1000
        while not (url := _address(home / f"JUPYTER_RUNTIME_DIR/jpserver-{server.pid}.json")):
            assert server.poll() is None and time.monotonic() < end, f"no JupyterLab:\n{log.read_text()[-3000:]}"
            time.sleep(0.1)
        yield SimpleNamespace(url=url, root=root)
    finally:
        server.terminate()  # it ends its kernels, and a kernel whose server is gone ends itself
        with contextlib.suppress(subprocess.TimeoutExpired):
            server.wait(timeout=30)
        server.kill()


def _address(info):
    """The server's URL from the file it writes, once it answers there; else None."""
    with contextlib.suppress(OSError, ValueError):
        url = json.loads(info.read_text())["url"]
        urllib.request.build_opener(urllib.request.ProxyHandler({})).open(f"{url}api/status", timeout=10).close()
        return url


@pytest.fixture
def page(lab, chromium):
    """A page that may ask only the lab; ``page.foreign`` lists what else it asked for. Its kernels end with it."""
    context = chromium.new_context(service_workers="block", viewport={"width": 1280, "height": 1000})
    page = context.new_page()
    page.set_default_timeout(SLOW)
    local, page.foreign = (lab.url, "data:", "blob:"), []
    page.route(lambda url: not url.startswith(local), lambda route: route.abort())
    page.on("request", lambda request: request.url.startswith(local) or page.foreign.append(request.url))
    yield page
    for kernel in page.request.get(f"{lab.url}api/kernels").json():
        page.request.delete(f"{lab.url}api/kernels/{kernel['id']}")
    context.close()


def open_notebook(page, url):
    """Open a notebook, run all its cells from the menu, wait until none is running; an error or a warning fails."""
    page.goto(url)
    page.get_by_text("| Idle").wait_for()  # the status bar: the circle in the toolbar says idle before a kernel exists
    for menu, item in (("Edit", "Clear Outputs of All Cells"), ("Run", "Run All Cells")):
        page.get_by_role("menuitem", name=menu, exact=True).click()
        page.get_by_role("menuitem", name=item, exact=True).click()
    prompts = page.locator(".jp-Notebook .jp-InputPrompt")
    expect(prompts.filter(has_text=re.compile(r"[*\d]"))).not_to_have_count(0, timeout=SLOW)
    expect(prompts.filter(has_text="*")).to_have_count(0, timeout=SLOW)
    assert page.locator('.jp-Notebook [data-mime-type="application/vnd.jupyter.stderr"]').all_text_contents() == []


def run_cell(page, index):
    """Run a code cell with the keyboard and wait until it has run; returns its outputs' locator."""
    cell = page.locator(".jp-Notebook .jp-CodeCell").nth(index)
    prompt = cell.locator(".jp-InputPrompt")
    before = prompt.text_content()
    cell.locator(".cm-content").click()
    page.keyboard.press("Control+Enter")
    expect(prompt).to_have_text(re.compile(rf"^(?!{re.escape(before)})\[\d+\]:$"), timeout=SLOW)
    return cell.locator(".jp-OutputArea-output")


def test_the_lecture_works_with_a_kernel(lab, page):
    notebook = nbformat.read(SITE / "notebooks/lectures/stride.ipynb", as_version=4)
    notebook.cells += [nbformat.v4.new_code_cell(source) for source in LIVE]
    nbformat.write(notebook, lab.root / "stride.ipynb")
    open_notebook(page, f"{lab.url}doc/tree/stride.ipynb?reset")
    cells = page.locator(".jp-Notebook .jp-CodeCell")
    count = cells.count()

    scope = cells.nth(count - 3).get_by_role("group", name="Stride microscope")
    live = scope.locator(".tlw-live")
    expect(live).to_contain_text("view(6) raises")
    size = scope.get_by_label("size 0")
    size.focus()
    page.keyboard.press("Home")  # in command mode JupyterLab would take these keys for the notebook
    expect(live).to_contain_text("Shape (3, 1), strides (1, 3). view(3) works")
    for _ in range(2):
        page.keyboard.press("ArrowRight")
    expect(live).to_contain_text("Shape (3, 3), strides (1, 3)")
    assert size.evaluate("e => e === document.activeElement") and cells.count() == count

    box = cells.nth(count - 2).get_by_role("group", name="Exercise stride-3")
    for text, said in (
        ("67 MB", "✗ That is the size of the tensor."),
        ("128 MiB", "✓ Right. Every element is read once"),
    ):
        box.get_by_role("textbox").fill(text)
        box.get_by_role("textbox").press("Enter")
        expect(box.locator(".tlw-live")).to_contain_text(said)
    run_cell(page, count - 1)  # a change may wait in the page while the kernel deals with the one before: certain now
    expect(run_cell(page, count - 1)).to_have_text("[3, 3] right 128 MiB\n", timeout=SLOW)
    assert page.foreign == []


def test_the_lab_runs_and_its_slider_draws_again(lab, page):
    saved = runs_folder() / "stride.run.json"
    saved.unlink(missing_ok=True)
    notebook = nbformat.read(SITE / "notebooks/labs/stride.ipynb", as_version=4)
    nbformat.write(notebook, lab.root / "lab-stride.ipynb")
    open_notebook(page, f"{lab.url}doc/tree/lab-stride.ipynb?reset")
    drawing = page.locator(".jp-Notebook figure.tl-figure svg").last

    def said():
        return re.search(r"At stride (\d+)", drawing.get_attribute("aria-label"))[1]

    handle = page.locator(".jp-Notebook .widget-slider .noUi-handle").first
    handle.scroll_into_view_if_needed()
    assert said() == "8"
    handle.focus()
    page.keyboard.press("ArrowRight")
    expect(drawing).to_have_attribute("aria-label", re.compile(r"At stride 1 "), timeout=SLOW)
    box = handle.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + 400, box["y"] + box["height"] / 2, steps=8)
    page.mouse.up()
    expect(drawing).to_have_attribute("aria-label", re.compile(r"At stride 32 "), timeout=SLOW)
    record = load(saved)
    assert record["lab"] == "stride" and len(record["quantities"]) > 8
    assert page.foreign == []
