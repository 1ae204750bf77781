"""``python -m _ext.bundle`` (``make zip``): one archive that needs no network: the site, its notebooks, the library's wheel.

``_build/threeledgers-site.zip`` holds one folder with ``index.html``, ``notebooks/``, ``wheel/`` and ``MANIFEST.sha256``, which
``sha256sum -c MANIFEST.sha256`` checks. The same sources give the same bytes: entries are sorted and carry the date of the
revision, not of the build.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from datetime import UTC, datetime
from pathlib import Path

import nbformat

from _ext.notebooks import INSTALL, wheel_name

TOP = "threeledgers-site"
WHEEL_NEEDS = ("threeledgers", "labs", "pyproject.toml", "README.md", "LICENSE")
READ_ME = """Three Ledgers, as an archive that needs no network.

index.html           start here: open it in a browser, straight from the disk or over HTTP
notebooks/           every lecture and lab as a notebook, with its outputs
wheel/               the library, for pip: pip install wheel/{wheel}
MANIFEST.sha256      sha256sum -c MANIFEST.sha256 checks every file
"""


def wheel(root, folder):
    """Build the library's wheel into ``folder``; returns its path. Raises RuntimeError with pip's words."""
    with tempfile.TemporaryDirectory() as scratch:  # setuptools writes beside the sources
        for name in WHEEL_NEEDS:
            source, target = root / name, Path(scratch) / name
            ignore = shutil.ignore_patterns("__pycache__", "*.egg-info", ".*")
            shutil.copytree(source, target, ignore=ignore) if source.is_dir() else shutil.copyfile(source, target)
        command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check", "--no-deps"]
        command += ["--no-build-isolation", "--wheel-dir", str(folder), scratch]
        environment = os.environ | {"SOURCE_DATE_EPOCH": str(int(date(root).timestamp()))}
        done = subprocess.run(command, capture_output=True, text=True, env=environment)
    made = folder / wheel_name()
    if done.returncode or not made.exists():
        raise RuntimeError(f"the wheel was not built: {(done.stderr or done.stdout).strip()[-600:]}")
    return made


def date(root):
    """When the sources were last committed; 2026 where git does not say."""
    done = subprocess.run(["git", "-C", str(root), "log", "-1", "--format=%ct"], capture_output=True, text=True)
    text = done.stdout.strip() if done.returncode == 0 else ""
    return datetime.fromtimestamp(int(text), UTC) if text.isdigit() else datetime(2026, 1, 1, tzinfo=UTC)


def manifest(files):
    """Lines as sha256sum writes them, sorted by name: ``files`` is {name: bytes}."""
    return "".join(f"{hashlib.sha256(data).hexdigest()}  {name}\n" for name, data in sorted(files.items())).encode()


def offline(data):
    """A published notebook that installs the archive's wheel, whatever the site's own installs."""
    notebook = nbformat.reads(data.decode(), as_version=4)
    (cell,) = [c for c in notebook.cells if "install" in c.metadata.get("tags", [])]
    cell.source = INSTALL.format(f"../../wheel/{wheel_name()}")
    return nbformat.writes(notebook).encode()


def bundle(root, site=None, target=None):
    """Write the archive of the built site; returns its path. Raises RuntimeError when there is no site or no wheel."""
    site, target = site or root / "_build/html", target or root / f"_build/{TOP}.zip"
    if not (site / "index.html").is_file():
        raise RuntimeError(f"no site in {os.path.relpath(site)}: make site builds it")
    files = {p.relative_to(site).as_posix(): p.read_bytes() for p in site.rglob("*") if p.is_file()}
    with tempfile.TemporaryDirectory() as folder:
        made = wheel(root, Path(folder))
        files[f"wheel/{made.name}"] = made.read_bytes()
    for name in [n for n in files if n.endswith(".ipynb")]:  # without a network the wheel is the library
        files[name] = offline(files[name])
    files["README.txt"] = READ_ME.format(wheel=made.name).encode()
    files["MANIFEST.sha256"] = manifest(files)
    stamp = date(root).timetuple()[:6]
    fresh = target.with_suffix(".new")
    with zipfile.ZipFile(fresh, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, data in sorted(files.items()):
            entry = zipfile.ZipInfo(f"{TOP}/{name}", stamp)
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            archive.writestr(entry, data)
    fresh.replace(target)
    return target


if __name__ == "__main__":
    try:
        made = bundle(Path.cwd())
    except RuntimeError as error:
        sys.exit(f"zip: {error}")
    with zipfile.ZipFile(made) as archive:
        print(
            f"zip: {made.relative_to(Path.cwd())}, {made.stat().st_size / 1e6:.1f} MB, {len(archive.namelist())} files"
        )
