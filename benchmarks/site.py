"""What does the site cost to build, and what does a page cost its reader? ``.venv/bin/python benchmarks/site.py``

    python benchmarks/site.py --quick                     one repetition, no Lighthouse for desktops
    python benchmarks/site.py --only build                build, pages or lighthouse
    python benchmarks/site.py --write FILE                also keep what is printed, as Markdown

Build: CPU seconds (user and system, all processes) and peak memory of the largest process, in copies of the working tree
in a temporary folder; no notebook runs inside a measurement, the execution cache is filled before. "Cold" finds no page
built and, unless it says so, no typeset formula. Compared on the same text: bare Sphinx (myst_parser, alabaster) and stock
Jupyter Book (a config of four lines). Their text is the course's with cells as blocks of code and the words of our roles
and boxes without the roles and boxes; outputs of cells, which ours shows, and typeset formulas they do not have. The copy
knows no git remote, so ours writes no map of the site. Wall seconds are printed, not compared: machines are shared.

Pages: the published site in ``_build/html``, from a host with gzip on this machine; a first visit in Chromium, with all
other hosts refused, each body gzipped once. A stock page asks other hosts for scripts; what those weigh is not counted.

Lighthouse: mobile is its default (a slow phone and network, simulated); its performance scores need an idle machine.
Repetitions are three, figures their medians. A missed goal is no failure; status 2 when something needed is missing,
1 when a build or Lighthouse breaks. About ten minutes on two cores (four with --quick).
"""

import argparse
import importlib.util
import os
import platform
import subprocess
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

TOOLS = ("sphinx_external_toc", "jupyter_book", "myst_parser", "playwright", "pytest", "yaml")
VERSIONS = ("jupyter-book", "sphinx", "myst-parser", "myst-nb", "sphinx-book-theme", "pydata-sphinx-theme", "alabaster")
PARTS = ("lighthouse", "build", "pages")  # in this order: what needs an idle machine comes first
SCORES = {"performance": 95, "accessibility": 100, "best-practices": 100, "seo": 100}
HEAD = "| figure | measured | compared with | ratio | goal | |\n|---|--:|---|--:|--:|---|"
EMPTY, FILLED = "KaTeX cache empty", "KaTeX cache filled"


def stop(sentence, status=2):
    """End with one sentence."""
    print(f"site benchmark: {sentence}", file=sys.stderr)
    sys.exit(status)


def needed(parts):
    """(browser, node) after a look at all that the parts need."""
    from tests import browser as browsers

    from _ext import node

    root = Path(__file__).parents[1]
    try:
        nodejs = node.find()
    except node.NoNode as error:
        stop(str(error))
    if not (root / "node_modules" / "katex").is_dir():
        stop("node_modules/katex is missing: make node")
    if "lighthouse" in parts and not (root / "node_modules/lighthouse/cli/index.js").exists():
        stop("node_modules/lighthouse is missing: make node")
    if set(parts) == {"build"}:
        return None, nodejs
    if not (root / "_build/html/index.html").exists():
        stop("no site in _build/html: make site first")
    found = browsers.find()
    return found or stop("no Chromium on this machine: make browser"), nodejs


def row(figure, measured, against="–", ratio=None, goal="–", met=None):
    """One line of a table; ``met`` is None where there is no goal."""
    word = "" if met is None else "met" if met else "missed"
    return f"| {figure} | {measured} | {against} | {'–' if ratio is None else f'{ratio:.2f}'} | {goal} | {word} |"


def machine(browser, node, load):
    """What the figures hang on, in three lines."""
    model = next((x.partition(":")[2].strip() for x in _lines("/proc/cpuinfo") if x.startswith("model name")), "")
    first = f"{time.strftime('%d %B %Y, %H:%M')}; {platform.system()} {platform.machine()}, {os.cpu_count()} CPUs"
    first += f" ({model})" if model else ""
    second = f"Python {platform.python_version()}, " + ", ".join(f"{name} {version(name)}" for name in VERSIONS)
    second += f", node {_says(node)}, Lighthouse {_lighthouse()}" + (f", {_says(browser)}" if browser else "")
    return f"{first}\n{second}\nLoad average when this started: {', '.join(f'{x:.2f}' for x in load)}"


def _lines(path):
    return Path(path).read_text(errors="replace").splitlines() if Path(path).exists() else []


def _says(program):
    return subprocess.run([program, "--version"], capture_output=True, text=True).stdout.strip().removeprefix("v")


def _lighthouse():
    from _site_tools import LIGHTHOUSE

    if not LIGHTHOUSE.exists():
        return "not installed"
    import json

    return json.loads((LIGHTHOUSE.parents[1] / "package.json").read_text())["version"]


def heaviest(tools, browser):
    """{page: what a visit takes} of the three heaviest pages of the published site."""
    there = [name for name in tools.names() if (tools.ROOT / "_build/html" / f"{name}.html").exists()]
    found = tools.visited(tools.ROOT / "_build/html", there, browser)
    return {name: found[name] for name in sorted(found, key=lambda name: -found[name]["kb"])[:3]}


def lighthouse_table(tools, heavy, browser, node, options, load):
    """Scores of the heaviest pages, mobile and desktop."""
    runs = 1 if options.quick else 3
    lines = [f"## Lighthouse (median of {runs})", "", HEAD]
    with tools.served(tools.ROOT / "_build/html") as base:
        for name in heavy:
            note(f"Lighthouse: {name}")
            mobile = tools.lighthouse(f"{base}{name}.html", browser, node, runs)
            for score, goal in SCORES.items():
                lines.append(score_row(tools, f"{name}: {score}", mobile[score], goal))
            spent = [tools.median(mobile[x]) for x in ("first-contentful-paint", "largest-contentful-paint")]
            lines.append(row(f"{name}: first, largest paint", " and ".join(f"{x / 1e3:.2f} s" for x in spent)))
            lines.append(row(f"{name}: blocking time", f"{tools.median(mobile['total-blocking-time']):.0f} ms"))
            if mobile["failed"]:
                lines.append(row(f"{name}: audits failed", ", ".join(sorted(mobile["failed"]))))
            if not options.quick:
                desktop = tools.lighthouse(f"{base}{name}.html", browser, node, runs, desktop=True)
                lines.append(score_row(tools, f"{name}: performance, desktop", desktop["performance"], 95))
    if load > 1:
        lines += ["", f"The load was {load:.2f} before this began, above 1: the performance scores are not to be trusted."]
    return "\n".join(lines)


def score_row(tools, figure, values, goal):
    middle = tools.median(values)
    several = f" ({', '.join(map(str, values))})" if len(values) > 1 else ""
    return row(figure, f"{middle:.0f}{several}", f"goal {goal}", middle / goal, f"≥ {goal}", middle >= goal)


def measure_builds(tools, books, repetitions):
    """{(book, case): [(CPU s, RSS MB, wall s) per repetition]}; the books take turns, so that all share the machine's moods."""
    found, ours = {}, books["ours"]
    katex = ours.folder / "_build" / ".katex"

    def keep(book, case):
        found.setdefault((book.name, case), []).append(book.build())

    note("build: every book once, to fill the execution cache and the machine's file cache")
    for book in books.values():
        book.build()
    for number in range(repetitions):
        note(f"build: repetition {number + 1} of {repetitions}")
        ours.clear(katex)
        keep(ours, EMPTY)
        for book in books.values():
            book.clear()
            keep(book, "cold")
            book.edit(number)
            keep(book, "edit")
            keep(book, "no-op")
    return found


def build_tables(tools, found, repetitions):
    """Cold builds, edits and no-ops of the three books."""
    middle = {key: tuple(tools.median(values) for values in zip(*runs, strict=True)) for key, runs in found.items()}
    cpu = {key: values[0] for key, values in middle.items()}
    cases = [("ours", EMPTY), ("ours", "cold"), ("stock Jupyter Book", "cold"), ("bare Sphinx", "cold")]
    titles = [f"ours, {EMPTY}", f"ours, {FILLED}", "stock Jupyter Book", "bare Sphinx"]
    bare = cpu["bare Sphinx", "cold"]
    lines = [f"## Cold build, nothing executed (median of {repetitions}, CPU seconds)", "", HEAD]
    for title, case in zip(titles, cases, strict=True):
        goal = ("≤ 2.2", cpu[case] <= 2.2 * bare) if case == ("ours", EMPTY) else ()
        lines.append(row(title, f"{cpu[case]:.2f}", f"bare Sphinx {bare:.2f}", cpu[case] / bare, *goal))
    lines.append(row("ours, absolute", f"{cpu[cases[0]]:.2f}", "", None, "≤ 8 s", cpu[cases[0]] <= 8))
    light = middle["bare Sphinx", "cold"][1]
    for title, case in zip(titles, cases, strict=True):
        rss = middle[case][1]
        goal = ("≤ 300 MB", rss <= 300) if case[0] == "ours" else ()
        lines.append(row(f"{title}: peak RSS", f"{rss:.0f} MB", f"bare Sphinx {light:.0f} MB", rss / light, *goal))
    lines.append(row("wall seconds, same order", ", ".join(f"{middle[case][2]:.1f}" for case in cases)))
    lines += ["", f"## One page edited, and nothing changed (median of {repetitions}, CPU seconds)", "", HEAD]
    for title, name in zip(["ours", *titles[2:]], [case[0] for case in cases[1:]], strict=True):
        edit, mine = cpu[name, "edit"], name == "ours"
        cold = cpu[cases[0]] if mine else cpu[name, "cold"]
        goal = ("≤ 0.35", edit <= 0.35 * cold) if mine else ()
        lines.append(row(f"{title}, one page edited", f"{edit:.2f}", f"its cold build {cold:.2f}", edit / cold, *goal))
        if mine:
            filled = cpu[cases[1]]
            lines.append(row("ours, the same", f"{edit:.2f}", f"cold, {FILLED} {filled:.2f}", edit / filled, "≤ 5 s", edit <= 5))
    nothing = cpu["bare Sphinx", "no-op"]
    for title, name in zip(["ours", *titles[2:]], [case[0] for case in cases[1:]], strict=True):
        same = cpu[name, "no-op"]
        lines.append(row(f"{title}, nothing changed", f"{same:.2f}", f"bare Sphinx {nothing:.2f}", same / nothing))
    count = len(tools.names())
    lines += ["", f"The course has {count} pages: a program's imports, nearly all of a no-op, weigh more here than in a longer book."]
    return "\n".join(lines)


def pages_table(tools, heavy, books, browser):
    """Weight and requests of the heaviest pages, beside the same text by stock Jupyter Book and bare Sphinx."""
    note("pages: the same text by stock Jupyter Book and bare Sphinx")
    stock, bare = (tools.visited(books[name].html, heavy, browser) for name in ("stock Jupyter Book", "bare Sphinx"))
    lines = ["## Heaviest pages (first visit, kB gzipped)", "", HEAD]
    for name, page in heavy.items():
        other, floor = stock[name], bare[name]
        lines.append(row(f"{name}: weight", f"{page['kb']:.0f} kB", "", None, "≤ 200 kB", page["kb"] <= 200))
        share = page["kb"] / other["kb"]
        lines.append(row(f"{name}: weight", f"{page['kb']:.0f} kB", f"stock {other['kb']:.0f} kB", share, "≤ 0.25", share <= 0.25))
        share = page["html"] / floor["html"]
        against = f"bare {floor['html']:.1f} kB, stock {other['html']:.1f} kB"
        lines.append(row(f"{name}: its HTML alone", f"{page['html']:.1f} kB", against, share, "≤ 2 bare", share <= 2))
        own = page["own"]
        lines.append(row(f"{name}: own requests", own, f"stock {other['own']}", own / other["own"], "≤ 18", own <= 18))
        foreign = page["foreign"]
        lines.append(row(f"{name}: other hosts", foreign, f"stock {other['foreign']}", None, "0", foreign == 0))
    return "\n".join(lines)


def note(text):
    """Progress, beside the report."""
    print(text, file=sys.stderr, flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one repetition, no Lighthouse for desktops")
    parser.add_argument("--only", choices=PARTS, help="one part of the three")
    parser.add_argument("--write", type=Path, metavar="FILE", help="also write what is printed to this file")
    options = parser.parse_args()
    if options.write and (options.write.is_dir() or not options.write.resolve().parent.is_dir()):
        stop(f"{options.write} cannot be written: it is a folder, or its folder does not exist")
    if absent := [name for name in TOOLS if importlib.util.find_spec(name) is None]:
        stop(f"{', '.join(absent)} cannot be imported: make environment, then .venv/bin/python benchmarks/site.py")
    parts = [options.only] if options.only else list(PARTS)
    load = os.getloadavg()
    browser, node = needed(parts)
    import _site_tools as tools

    report = []

    def say(text):
        print(text + "\n", flush=True)
        report.append(text + "\n")

    say("# What the site costs\n\n" + machine(browser, node, load).replace("\n", "  \n"))
    repetitions = 1 if options.quick else 3
    try:
        if set(parts) != {"build"}:
            say(whose(tools))
            note("pages: which are the heaviest")
            heavy = heaviest(tools, browser)
        if "lighthouse" in parts:
            say(lighthouse_table(tools, heavy, browser, node, options, load[0]))
        if set(parts) != {"lighthouse"}:
            with tempfile.TemporaryDirectory() as folder:
                books = tools.books(Path(folder))
                if "build" in parts:
                    say(build_tables(tools, measure_builds(tools, books, repetitions), repetitions))
                if "pages" in parts:
                    for name in ("stock Jupyter Book", "bare Sphinx"):
                        books[name].clear()
                        books[name].build()
                    say(pages_table(tools, heavy, books, browser))
    except tools.Broken as error:
        stop(str(error), 1)
    say(f"{time.perf_counter():.0f} s in all")
    if options.write:
        options.write.write_text("\n".join(report), encoding="utf-8")


def whose(tools):
    """Whether the published pages are the ones of the present sources."""
    from _ext import keys

    stamp = tools.ROOT / "_build" / "site.key"
    fresh = stamp.exists() and stamp.read_text() == keys.site(tools.ROOT)
    return "Pages are those of the present sources." if fresh else "Pages are OLDER than the sources: make site."


if __name__ == "__main__":
    main()
