"""What ``site.py`` measures with: the three books, a build's cost, a host with gzip, pages in Chromium, Lighthouse."""

import csv
import functools
import gzip
import http.server
import json
import mimetypes
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import yaml
from playwright.sync_api import sync_playwright
from sphinx_external_toc.parsing import parse_toc_yaml

ROOT = Path(__file__).parents[1]
LIGHTHOUSE = ROOT / "node_modules/lighthouse/cli/index.js"
LEFT = (".git", ".venv", "node_modules", ".pytest_cache", ".ruff_cache", "__pycache__", "*.egg-info")
KEPT = (".jupyter_cache", ".katex")  # of _build: what a build finds again
TEXTS = ("text/", "application/javascript", "application/json", "image/svg+xml", "application/xml")
METRICS = ("first-contentful-paint", "largest-contentful-paint", "total-blocking-time")
NEW = "\nOne more sentence, which changes nothing else ({}).\n"  # what the one-page edit appends
DIRECTIVE = r"^(`{3,}|:{3,})\{NAME\}[ ]*([^\n]*)\n((?:[ ]*:[\w-]+:[^\n]*\n)*)"  # its first lines
KNOWN = r"(?!(?:math|code-block|note|list-table)\})[\w-]+"  # to bare Sphinx, too; the others are not


class Broken(RuntimeError):
    """Something that was started did not do its work; the message says what, with its last words."""


@dataclass
class Book:
    """One way to build the course: command, folder, the page to edit, what a cold build must not find (the site first)."""

    name: str
    command: list
    folder: Path
    page: str
    made: list
    environment: dict

    def build(self):
        """(CPU seconds, peak RSS in MB, wall seconds) of one build, of all its processes."""
        return cost(self.command, self.folder, self.environment)

    def clear(self, *more):
        """As after a fresh clone, but for the caches that are left out of ``made``; the page as it was."""
        for path in (*self.made, *more):
            shutil.rmtree(path, ignore_errors=True)
            path.unlink(missing_ok=True)
        page = self.folder / self.page
        page.write_text(page.read_text(encoding="utf8").partition(NEW[:20])[0], encoding="utf8")

    def edit(self, number):
        with (self.folder / self.page).open("a", encoding="utf8") as page:
            page.write(NEW.format(number))


def cost(command, folder, environment):
    """(CPU seconds, peak RSS in MB, wall seconds) of a command and all that it starts and waits for."""
    with tempfile.TemporaryFile() as words:
        start = time.perf_counter()
        process = subprocess.Popen(command, cwd=folder, env=environment, stdout=words, stderr=subprocess.STDOUT)
        _, status, used = os.wait4(process.pid, 0)
        wall = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        words.seek(0)
        if process.returncode:
            last = words.read().decode(errors="replace").strip().splitlines()[-8:]
            raise Broken(f"a build ended with status {process.returncode}; its last words:\n" + "\n".join(last))
    unit = 1e6 if sys.platform == "darwin" else 1e3
    return used.ru_utime + used.ru_stime, used.ru_maxrss / unit, wall


def names():
    """The pages of the course, in the toc's order."""
    return list(parse_toc_yaml(ROOT / "_toc.yml"))


def books(folder):
    """Ours, stock Jupyter Book and bare Sphinx, as {name: Book}, ready to build under ``folder``."""
    settings = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf8"))
    title, marks = settings["title"], settings["parse"]["myst_enable_extensions"]
    python, (root, *below) = sys.executable, names()
    page = next(name for name in below if name.startswith("lectures/")) + ".md"
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("GITHUB_", "THREELEDGERS_", "PYTHON"))}
    kept["PYTHONDONTWRITEBYTECODE"] = "1"  # as the Makefile sets it
    ours, stock, bare = (folder / name for name in ("ours", "stock", "bare"))
    shutil.copytree(ROOT, ours, ignore=_left_out)
    (ours / "node_modules").symlink_to(ROOT / "node_modules")
    made = [ours / "_build" / name for name in ("html", "work", "site.key")]
    one = Book("ours", [python, "-m", "_ext.build"], ours, page, made, kept | {"PYTHONPATH": str(ours)})

    write_neutral(stock, root)
    shutil.copyfile(ROOT / "_toc.yml", stock / "_toc.yml")
    minimal = {"title": title, "only_build_toc_files": True, "execute": {"execute_notebooks": "off"}}
    (stock / "_config.yml").write_text(yaml.safe_dump(minimal | {"parse": {"myst_enable_extensions": marks}}))
    command = [Path(python).with_name("jupyter-book"), "build", ".", "-q"]
    two = Book("stock Jupyter Book", command, stock, page, [stock / "_build/html", stock / "_build"], kept)

    write_neutral(bare, root, below)
    words = {"project": title, "extensions": ["myst_parser"], "root_doc": root, "html_theme": "alabaster"}
    words |= {"myst_enable_extensions": marks, "exclude_patterns": ["out"]}
    (bare / "conf.py").write_text("".join(f"{key} = {value!r}\n" for key, value in words.items()))
    command = [python, "-m", "sphinx", "-q", "-b", "html", ".", "out"]
    return {book.name: book for book in (one, two, Book("bare Sphinx", command, bare, page, [bare / "out"], kept))}


def _left_out(folder, files):
    own = Path(folder) == ROOT / "_build"
    return [name for name in files if name not in KEPT] if own else shutil.ignore_patterns(*LEFT)(folder, files)


def write_neutral(folder, root, below=()):
    """The course's text without anything that is ours; ``below`` becomes the root page's list of contents."""
    for name in names():
        source = next(p for p in (ROOT / f"{name}.md", ROOT / f"{name}.py") if p.exists())
        text = source.read_text(encoding="utf8")
        text = neutral(markdown(text) if source.suffix == ".py" else text)
        if name == root and below:
            text += "\n```{toctree}\n" + "".join(f"/{other}\n" for other in below) + "```\n"
        target = folder / f"{name}.md"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf8")


def markdown(script):
    """A percent script as Markdown: its cells of code become blocks of code."""
    parts = []
    for cell in re.split(r"^# %%", script, flags=re.M)[1:]:
        head, _, body = cell.partition("\n")
        prose = re.sub(r"^# ?", "", body, flags=re.M)
        parts.append(prose if "[markdown]" in head else f"```python\n{body.strip()}\n```\n")
    return "\n".join(parts)


def neutral(text):
    """A page's Markdown with cells as blocks of code, and the text of roles and boxes without the roles and boxes."""
    with (ROOT / "threeledgers" / "claims.csv").open(encoding="utf8", newline="") as file:
        rows = ["**{id}** {verdict}: {claim} {note} {source}".format(**row) for row in csv.DictReader(file)]
    works = (ROOT / "lectures" / "references.bib").read_text(encoding="utf8")
    lists = {"claims-list": "\n\n".join(rows), "bibliography": f"```text\n{works}\n```"}
    text = re.sub(r"\A---\n.*?\n---\n", "", text, flags=re.S)
    text = re.sub(DIRECTIVE.replace("NAME", "code-cell"), r"\1python\n", text, flags=re.M)
    for name, words in lists.items():
        whole = DIRECTIVE.replace("NAME", name) + r".*?^\1$"
        text = re.sub(whole, lambda _, words=words: words, text, flags=re.M | re.S)
    whole = DIRECTIVE.replace("NAME", KNOWN).replace(":{3,}", "~{3,}") + r"(.*?)^\1$"  # in backticks: nothing is within
    text = re.sub(whole, r"**\2**\n\n\4", text, flags=re.M | re.S)
    text = re.sub(DIRECTIVE.replace("NAME", r"[\w-]+").replace("`{3,}|", ""), r"**\2**\n\n", text, flags=re.M)
    text = re.sub(r"^:{3,}[ ]*$|^\*\*\*\*$", "", text, flags=re.M)
    text = re.sub(r"\{ref\}`([^`<]*?)(?:\s*<[^`]*>)?`", r"\1", text)
    return re.sub(r"\{[\w:-]+\}`([^`]*)`", lambda role: role[1].replace("|", ","), text)


class Host(http.server.SimpleHTTPRequestHandler):
    """A static host as readers meet one: connections are kept, texts are gzipped."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def do_GET(self):
        path = Path(self.translate_path(self.path))
        path = path / "index.html" if path.is_dir() else path
        if not path.is_file():
            return self.send_error(404)
        kind = mimetypes.guess_type(path)[0] or "application/octet-stream"
        packed = kind.startswith(TEXTS) and "gzip" in self.headers.get("Accept-Encoding", "")
        body = content(path, path.stat().st_mtime_ns, packed)
        self.send_response(200)
        self.send_header("Content-Type", kind + ("; charset=utf-8" if kind.startswith(TEXTS) else ""))
        self.send_header("Content-Length", str(len(body)))
        if packed:
            self.send_header("Content-Encoding", "gzip")
        self.end_headers()
        self.wfile.write(body)


@functools.cache
def content(path, changed, packed):
    """What is sent for a file; packed once, so that no page waits for gzip."""
    return gzip.compress(path.read_bytes(), 6) if packed else path.read_bytes()


@contextmanager
def served(folder):
    """The address at which a folder is served while the block runs."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Host, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        server.server_close()


def visited(folder, wanted, browser):
    """{page: {kb, html, own, foreign}} of first visits in Chromium, the outside world refused, each body gzipped."""
    from tests.browser import FLAGS
    from tests.conftest import Visit

    found = {}
    with served(folder) as base, sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=browser, args=FLAGS)
        for name in wanted:
            visit = Visit(chromium, f"{base}{name}.html", base)
            own = [r for r in visit.responses if r.url.startswith(base)]
            page = next(r for r in own if urlsplit(r.url).path == f"/{name}.html")
            html, kb = len(gzip.compress(page.body(), 6)) / 1e3, visit.weight() / 1e3
            found[name] = {"kb": kb, "html": html, "own": len(own), "foreign": len(visit.foreign)}
            visit.context.close()
    return found


def lighthouse(address, browser, node, runs, desktop=False):
    """{score or metric: [one value per run]} of a page, as Lighthouse's command line gives them."""
    only = "performance" if desktop else "performance,accessibility,best-practices,seo"
    command = [node, LIGHTHOUSE, address, "--output=json", "--quiet", "--no-enable-error-reporting"]
    command += ["--chrome-flags=--headless=new --no-sandbox", f"--only-categories={only}"]
    command += ["--preset=desktop"] if desktop else []
    found = {}
    for _ in range(runs):
        done = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"CHROME_PATH": browser})
        if done.returncode:
            raise Broken("Lighthouse ended with: " + " ".join((done.stderr.strip().splitlines() or ["no word"])[-3:]))
        result = json.loads(done.stdout)
        if problem := result.get("runtimeError"):
            raise Broken(f"Lighthouse could not judge {address}: {problem['message']}")
        for name, category in result["categories"].items():
            found.setdefault(name, []).append(round(100 * (category["score"] or 0)))
        for name in METRICS:
            found.setdefault(name, []).append(result["audits"][name]["numericValue"])
        refs = [ref for name, c in result["categories"].items() if name != "performance" for ref in c["auditRefs"]]
        failed = {r["id"] for r in refs if r["weight"] and result["audits"][r["id"]]["score"] == 0}
        found.setdefault("failed", set()).update(failed)
    return found
