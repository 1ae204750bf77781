"""What does the site cost to build, and what does a page cost its reader? ``.venv/bin/python benchmarks/site.py``

    python benchmarks/site.py --quick        one repetition, no Lighthouse for desktops
    python benchmarks/site.py --only build   build, pages or lighthouse
    python benchmarks/site.py --write FILE   also keep what is printed, as Markdown

Build: CPU seconds (user and system, all processes) and peak memory of the largest process, in copies of the working tree
in a temporary folder. No notebook runs inside a measurement: the execution cache is filled before. "Cold" finds no page
built. Compared on the same text: bare Sphinx (myst_parser, alabaster) and stock Jupyter Book (a config of four lines).
Their text has cells as blocks of code, and the words of our roles and boxes without the roles and boxes; outputs of cells
and typeset formulas, which ours shows, they have not. All run with this environment's packages and, as the Makefile says,
write no byte code. Our copy knows no git remote, so it writes no map of the site. Wall seconds are not compared.

Pages: the published site in ``_build/html``, from a host with gzip on this machine; a first visit in Chromium, other hosts
refused, each body gzipped once. What a stock page would fetch from other hosts is not counted. Lighthouse: mobile is its
default (a slow phone and network, simulated); its performance scores need an idle machine.

Repetitions are three, figures their medians. A missed goal is no failure; status 2 when something needed is missing, 1
when a build or Lighthouse breaks. About fifteen minutes on two idle cores (six with --quick).
"""

import argparse
import importlib.util
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path
from statistics import median

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

TOOLS = ("jupyter_book", "myst_parser", "playwright", "pytest", "sphinx_external_toc", "yaml")
VERSIONS = ("jupyter-book", "sphinx", "myst-parser", "myst-nb", "sphinx-book-theme", "pydata-sphinx-theme", "alabaster")
PACKAGES = [ROOT / "node_modules" / name / "package.json" for name in ("katex", "lighthouse")]
PARTS = ("lighthouse", "build", "pages")  # in this order: what needs an idle machine comes first
SCORES = {"performance": 95, "accessibility": 100, "best-practices": 100, "seo": 100}
HEAD = "| figure | measured | compared with | ratio | goal | |\n|---|--:|---|--:|--:|---|"
STOCK, BARE, EMPTY = "stock Jupyter Book", "bare Sphinx", ("ours", "empty")
TITLES = {  # (book, case): its name in the tables
    EMPTY: "ours, KaTeX cache empty",
    ("ours", "cold"): "ours, KaTeX cache filled",
    (STOCK, "cold"): STOCK,
    (BARE, "cold"): BARE,
}


def stop(sentence, status=2):
    """End with one sentence."""
    print(f"site benchmark: {sentence}", file=sys.stderr)
    sys.exit(status)


def needed(parts):
    """(browser, node) after a look at all that the parts need; the browser is None where none is needed."""
    if absent := [name for name in TOOLS if importlib.util.find_spec(name) is None]:
        stop(f"{', '.join(absent)} cannot be imported: make environment, then .venv/bin/python benchmarks/site.py")
    from _ext import node
    from tests import browser

    try:
        nodejs = node.find()
    except node.NoNode as error:
        stop(str(error))
    for package, wanted, bring in zip(PACKAGES, (True, "lighthouse" in parts), ("node", "node-dev"), strict=True):
        if wanted and not package.exists():
            stop(f"node_modules/{package.parent.name} is missing: make {bring}")
    if parts == ["build"]:
        return None, nodejs
    if not (ROOT / "_build/html/index.html").exists():
        stop("no site in _build/html: make site first")
    return browser.find() or stop("no Chromium on this machine: make browser"), nodejs


def machine(browser, node, load):
    """What the figures hang on: date, machine, versions, load, and whether the pages are those of the sources."""
    from _ext import keys

    says = [
        subprocess.run([p, "--version"], capture_output=True, text=True).stdout.strip() for p in (node, browser) if p
    ]
    says += [f"{file.parent.name} {json.loads(file.read_text())['version']}" for file in PACKAGES if file.exists()]
    cpu = Path("/proc/cpuinfo")
    models = [x.partition(": ")[2] for x in cpu.read_text().splitlines() if "model name" in x] if cpu.exists() else []
    system = f"{platform.system()} {platform.machine()}, {os.cpu_count()} CPUs, {(models or ['model unknown'])[0]}"
    used = [f"Python {platform.python_version()}", *(f"{name} {version(name)}" for name in VERSIONS), "node " + says[0]]
    lines = [f"{time.strftime('%d %B %Y, %H:%M')}; {system}", ", ".join(used + says[1:])]
    lines += ["Load average when this started: " + ", ".join(f"{x:.2f}" for x in load)]
    stamp = ROOT / "_build" / "site.key"
    if browser and not (stamp.exists() and stamp.read_text() == keys.site(ROOT)):
        lines.append("The published pages are OLDER than the sources: make site first, for figures that last.")
    return "# What the site costs\n\n" + "  \n".join(lines)


def table(title, rows, *after):
    return "\n".join([f"## {title}", "", HEAD, *rows, *(f"\n{text}" for text in after if text)])


def row(figure, measured, against="", ratio=None, goal="", met=None):
    """One line of a table; ``met`` is None where there is no goal."""
    word = "" if met is None else "met" if met else "missed"
    return f"| {figure} | {measured} | {against} | {'' if ratio is None else f'{ratio:.2f}'} | {goal} | {word} |"


def score(figure, values, goal):
    middle, every = median(values), ", ".join(map(str, values))
    return row(figure, f"{middle:.0f} ({every})", f"goal {goal}", middle / goal, f"≥ {goal}", middle >= goal)


def heaviest(tools, browser):
    """{page: what a visit takes} of the three heaviest pages of the published site."""
    site = ROOT / "_build/html"
    found = tools.visited(site, [name for name in tools.names() if (site / f"{name}.html").exists()], browser)
    return {name: found[name] for name in sorted(found, key=lambda name: -found[name]["kb"])[:3]}


def lighthouse_table(tools, heavy, browser, node, quick, load):
    """Scores of the heaviest pages, mobile and desktop."""
    runs, rows = 1 if quick else 3, []
    with tools.served(ROOT / "_build/html") as base:
        for name in heavy:
            print(f"Lighthouse: {name}", file=sys.stderr)
            mobile = tools.lighthouse(f"{base}{name}.html", browser, node, runs)
            rows += [score(f"{name}: {kind}", mobile[kind], goal) for kind, goal in SCORES.items()]
            first, largest, blocked = (median(mobile[metric]) for metric in tools.METRICS)
            times = f"{first / 1e3:.2f} s, {largest / 1e3:.2f} s, {blocked:.0f} ms"
            rows.append(row(f"{name}: first paint, largest, blocking", times))
            rows += [row(f"{name}: audit failed", audit) for audit in sorted(mobile["failed"])]
            if not quick:
                desktop = tools.lighthouse(f"{base}{name}.html", browser, node, runs, desktop=True)
                rows.append(score(f"{name}: performance, desktop", desktop["performance"], 95))
    doubt = f"The load was {load:.2f} before this began, above 1: the performance scores are not to be trusted."
    return table(f"Lighthouse (mobile unless said, median of {runs})", rows, load > 1 and doubt)


def measure_builds(books, repetitions):
    """{(book, case): medians of CPU s, RSS MB, wall s}; the books take turns, so that all share the machine's moods."""
    found, ours = {}, books["ours"]

    def keep(book, case):
        found.setdefault((book.name, case), []).append(book.build())

    print("build: every book once, to fill the execution cache and the machine's file cache", file=sys.stderr)
    for book in books.values():
        book.build()
    for number in range(repetitions):
        print(f"build: repetition {number + 1} of {repetitions}", file=sys.stderr)
        ours.clear(ours.folder / "_build" / ".katex")
        keep(ours, "empty")
        for book in books.values():
            book.clear()
            keep(book, "cold")
            book.edit(number)
            keep(book, "edit")
            keep(book, "no-op")
    return {key: [median(values) for values in zip(*runs, strict=True)] for key, runs in found.items()}


def build_tables(found, repetitions, pages):
    """Cold builds; edits and no-ops."""
    cpu = {key: values[0] for key, values in found.items()}
    bare, light, ours = cpu[BARE, "cold"], found[BARE, "cold"][1], cpu[EMPTY]
    rows, memory = [], []
    for case, title in TITLES.items():
        spent, rss, _ = found[case]
        goal = ("≤ 2.2", spent <= 2.2 * bare) if case == EMPTY else ()
        rows.append(row(title, f"{spent:.2f} s", f"bare Sphinx {bare:.2f} s", spent / bare, *goal))
        goal = ("≤ 300 MB", rss <= 300) if case[0] == "ours" else ()
        memory.append(row(f"{title}: peak RSS", f"{rss:.0f} MB", f"bare Sphinx {light:.0f} MB", rss / light, *goal))
    rows.append(row(TITLES[EMPTY], f"{ours:.2f} s", "limit 8 s", ours / 8, "≤ 8 s", ours <= 8))
    wall = row("wall seconds of the four", ", ".join(f"{found[case][2]:.1f}" for case in TITLES))
    cold = table(f"Cold build, nothing executed (CPU seconds, median of {repetitions})", [*rows, *memory, wall])
    rows, same, least = [], [], cpu[BARE, "no-op"]
    for name in ("ours", STOCK, BARE):
        edit, whole, nothing = cpu[name, "edit"], cpu.get((name, "empty"), cpu[name, "cold"]), cpu[name, "no-op"]
        goal = ("≤ 0.35", edit <= 0.35 * whole) if name == "ours" else ()
        rows.append(row(f"{name}, edited", f"{edit:.2f} s", f"cold {whole:.2f} s", edit / whole, *goal))
        same.append(row(f"{name}, no-op", f"{nothing:.2f} s", f"bare Sphinx {least:.2f} s", nothing / least))
    edit, filled = cpu["ours", "edit"], cpu["ours", "cold"]
    against = f"cold, KaTeX cache filled {filled:.2f} s"
    rows.insert(1, row("ours, edited", f"{edit:.2f} s", against, edit / filled, "≤ 5 s", edit <= 5))
    few = f"The course has {pages} pages: what a program imports, most of a no-op, weighs more than in a long book."
    title = f"One page edited; nothing changed (CPU seconds, median of {repetitions})"
    return cold + "\n\n" + table(title, rows + same, few)


def pages_table(tools, heavy, books, browser):
    """Weight and requests of the heaviest pages, beside the same text by stock Jupyter Book and bare Sphinx."""
    print("pages: the same text by stock Jupyter Book and bare Sphinx", file=sys.stderr)
    for name in (STOCK, BARE):
        books[name].clear()
        books[name].build()
    stock, bare = (tools.visited(books[name].made[0], heavy, browser) for name in (STOCK, BARE))
    rows = []
    for name, page in heavy.items():
        other, floor, kb, html, own = stock[name], bare[name]["html"], page["kb"], page["html"], page["own"]
        share, foreign = kb / other["kb"], page["foreign"]
        against = f"stock {other['kb']:.0f} kB"
        rows.append(row(f"{name}: weight", f"{kb:.0f} kB", "limit 200 kB", kb / 200, "≤ 200 kB", kb <= 200))
        rows.append(row(f"{name}: weight", f"{kb:.0f} kB", against, share, "≤ 0.25", share <= 0.25))
        against = f"bare Sphinx {floor:.1f} kB (stock {other['html']:.1f})"
        rows.append(row(f"{name}: its HTML", f"{html:.1f} kB", against, html / floor, "≤ 2", html <= 2 * floor))
        rows.append(row(f"{name}: requests", own, f"stock {other['own']}", own / other["own"], "≤ 18", own <= 18))
        rows.append(row(f"{name}: to other hosts", foreign, f"stock {other['foreign']}", None, "0", foreign == 0))
    return table("Heaviest pages (first visit, gzipped)", rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one repetition, no Lighthouse for desktops")
    parser.add_argument("--only", choices=PARTS, help="one part of the three")
    parser.add_argument("--write", type=Path, metavar="FILE", help="also write what is printed to this file")
    options, start, load, report = parser.parse_args(), time.perf_counter(), os.getloadavg(), []
    if options.write and (options.write.is_dir() or not options.write.resolve().parent.is_dir()):
        stop(f"{options.write} cannot be written: it is a folder, or its folder does not exist")
    parts, repetitions = [options.only] if options.only else list(PARTS), 1 if options.quick else 3
    browser, node = needed(parts)
    import _site_tools as tools

    def say(text):
        print(text + "\n", flush=True)
        report.append(text + "\n")

    say(machine(browser, node, load))
    try:
        heavy = heaviest(tools, browser) if browser else {}
        if "lighthouse" in parts:
            say(lighthouse_table(tools, heavy, browser, node, options.quick, load[0]))
        if parts != ["lighthouse"]:
            with tempfile.TemporaryDirectory() as folder:
                books = tools.books(Path(folder))
                if "build" in parts:
                    say(build_tables(measure_builds(books, repetitions), repetitions, len(tools.names())))
                if "pages" in parts:
                    say(pages_table(tools, heavy, books, browser))
    except tools.Broken as error:
        stop(str(error), 1)
    say(f"{time.perf_counter() - start:.0f} s in all; load average now {os.getloadavg()[0]:.2f}.")
    if options.write:
        options.write.write_text("\n".join(report), encoding="utf-8")


if __name__ == "__main__":
    main()
