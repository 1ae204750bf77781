"""A Chromium for the tests: the one on PATH, else Debian's when we are root, else Playwright's own.

``python -m tests.browser`` finds or installs one and prints its path.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
FLAGS = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run"
    " --disable-background-networking --disable-component-update --disable-sync"
).split()


def find():
    """Path of a browser, or None."""
    for name in NAMES:
        if path := shutil.which(name):
            return path
    return _playwrights_own()


def _playwrights_own():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        path = playwright.chromium.executable_path
    return path if path and Path(path).exists() else None


def install():
    """Bring a browser; returns its path. Raises RuntimeError with a sentence when none can be had."""
    tried = []
    if shutil.which("apt-get") and os.geteuid() == 0:
        print("browser: apt-get install chromium", flush=True)
        quiet = {"stdout": subprocess.DEVNULL, "env": os.environ | {"DEBIAN_FRONTEND": "noninteractive"}}
        for command in (["apt-get", "update"], ["apt-get", "install", "-y", "--no-install-recommends", "chromium"]):
            if subprocess.run(command, **quiet).returncode:
                tried.append(" ".join(command))
                break
        if path := find():
            return path
    print("browser: playwright install chromium", flush=True)
    if subprocess.run([sys.executable, "-m", "playwright", "install", "chromium"]).returncode:
        tried.append("playwright install chromium")
    if path := find():
        return path
    raise RuntimeError(
        "no browser for the page tests: none of "
        + ", ".join(NAMES)
        + " is on PATH"
        + (f", and these failed: {'; '.join(tried)}" if tried else "")
        + ". Install Chromium, or put a chromium on PATH."
    )


if __name__ == "__main__":
    try:
        print(f"browser: {find() or install()}")
    except RuntimeError as error:
        sys.exit(f"browser: {error}")
