"""Build the site: run the notebooks, typeset the pages, publish the result to ``_build/html`` only when all went well.

``python -m _ext.build [folder]``. Work happens in ``_build/work``; a failed build leaves the last good site in place and
throws its work away, since Sphinx would not repeat the warnings of pages it need not read again.
"""

import contextlib
import io
import os
import re
import shutil
import sys
import time
from pathlib import Path

from _ext import keys, node

NOT_NEEDED = (  # imported by others for what a build never does, at a second or two of CPU each
    "rfc3987_syntax",  # by jsonschema, to check addresses in other scripts
    "sphinxext.opengraph._social_cards",  # draws with matplotlib; no cards are asked for
)


def step(text):
    print(f"site: {text}", flush=True)


def build(root):
    """Build the book in ``root``; returns 0, or 1 after naming the step that failed."""
    out, work = root / "_build" / "html", root / "_build" / "work"
    stamp = root / "_build" / "site.key"
    key = keys.site(root)
    if out.exists() and stamp.exists() and stamp.read_text() == key:
        step("nothing changed since the last build")
        return 0

    for module in NOT_NEEDED:
        sys.modules.setdefault(module, None)
    from _ext import execute  # after the question whether there is anything to do

    step("1/3 running the notebooks")
    try:
        failed = execute.execute(root)
    except FileNotFoundError as error:
        return stop("reading the table of contents", str(error))
    for path, error in failed.items():
        print(f"\n{path.relative_to(root)} raised:\n{_plain(error)}", file=sys.stderr)
    if failed:
        return stop("running the notebooks", ", ".join(str(p.relative_to(root)) for p in failed))

    step("2/3 building the pages (every warning is an error)")
    if not pages(root, work):
        shutil.rmtree(work, ignore_errors=True)
        return stop("building the pages", "see the warnings above")

    step("3/3 publishing")
    fresh = out.with_name("html.new")
    shutil.rmtree(fresh, ignore_errors=True)
    shutil.copytree(work / "_build" / "html", fresh, ignore=shutil.ignore_patterns(".buildinfo", "objects.inv.tmp"))
    shutil.rmtree(out, ignore_errors=True)
    fresh.rename(out)
    stamp.write_text(key)
    return 0


def pages(root, work):
    """Run Jupyter Book in this process, which has imported most of what it needs; whether all went well."""
    from jupyter_book.cli.main import main

    if str(node.ROOT) not in sys.path:
        sys.path.insert(0, str(node.ROOT))
    words, here = io.StringIO(), Path.cwd()
    os.chdir(root)
    try:
        with contextlib.redirect_stdout(words):
            main(
                ["build", str(root), "--path-output", str(work), "-n", "-W", "--keep-going", "-q"],
                standalone_mode=False,
            )
        return True
    except (Exception, SystemExit) as error:  # its own words went to stderr; what it prints last says no more
        print(words.getvalue())
        print(_plain(str(error)).strip(), file=sys.stderr)
        return False
    finally:
        os.chdir(here)


def stop(name, why):
    """Say which step failed, and what is left."""
    print(
        f"\nsite: failed while {name}: {why}. Nothing was published; an earlier site in _build/html is unchanged.",
        file=sys.stderr,
    )
    return 1


def _plain(text):
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


if __name__ == "__main__":
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    begin = time.monotonic()
    code = build(folder)
    if not code:
        step(f"done in {time.monotonic() - begin:.0f} s: {folder / '_build' / 'html' / 'index.html'}")
    sys.exit(code)
