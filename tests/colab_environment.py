"""The second environment: a virtual environment under ``_build/colab`` that holds what Colab has, and nothing else.

``colab-preinstalled.txt`` is the whole of it. It is made once, and anew when the list or Python changed.
"""

import hashlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LIST = ROOT / "tests" / "colab-preinstalled.txt"
HERE = ROOT / "_build" / "colab"
VENV = HERE / "venv"
PYTHON = VENV / "bin" / "python"
OURS = "threeledgers"
UNLISTED = ("appnope", "cuda-", "nvidia-", "triton")  # what a CUDA build of torch, or macOS, brings besides the list


class Failed(Exception):
    """A sentence that names what failed."""


def environment():
    """This process's environment without what would lead a kernel back to the checkout or to a reader's own settings."""
    kept = {k: v for k, v in os.environ.items() if not re.match(r"PYTHON|PYTEST|JUPYTER|IPYTHON|MPL|VIRTUAL_ENV", k)}
    mine = {"IPYTHONDIR": "ipython", "JUPYTER_PATH": "jupyter", "JUPYTER_CONFIG_DIR": "jupyter", "MPLCONFIGDIR": "mpl"}
    fixed = {"OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    return kept | fixed | {name: str(HERE / folder) for name, folder in mine.items()}


def call(*command, failing, cwd=HERE):
    """A command, done; raises Failed with the sentence ``failing`` and the command's last words."""
    done = subprocess.run([str(c) for c in command], cwd=cwd, env=environment(), capture_output=True, text=True)
    if done.returncode:
        raise Failed(f"{failing}\n{last_words(done)}")
    return done


def last_words(done):
    """The last lines a command printed, without pip's warnings and the codes that set a terminal's title."""
    lines = re.sub(r"\x1b\].*?\x07|\x1b\[[\d;]*\w", "", f"{done.stdout}\n{done.stderr}").splitlines()
    told = [line for line in lines if line.strip() and "WARNING" not in line]
    return "\n".join(f"  {line if len(line) < 200 else line[:99] + ' … ' + line[-98:]}" for line in told[-8:])


def canonical(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def listed():
    """Versions of the list, by name. Raises Failed at a line that does not pin one."""
    lines = [line.strip() for line in LIST.read_text(encoding="utf8").splitlines()]
    pins = [re.fullmatch(r"([\w.-]+)==([\w.!-]+)", line) or line for line in lines if line and line[0] != "#"]
    if loose := [line for line in pins if isinstance(line, str)]:
        raise Failed(f"{LIST.name}: {', '.join(loose)}: each line must be name==version")
    return {canonical(m[1]): m[2] for m in pins}


def installed(note=None):
    """Versions in the second environment, by name, without the "+cpu" of a build; kept as ``note`` for a person."""
    done = call(PYTHON, "-m", "pip", "list", "--format=json", failing="pip does not list the second environment")
    found = {canonical(d["name"]): d["version"].partition("+")[0] for d in json.loads(done.stdout)}
    if note:
        (HERE / note).write_text("".join(f"{n}=={v}\n" for n, v in sorted(found.items())), encoding="utf8")
    return found


def prepare():
    """The second environment as Colab is before the install cell; made anew when list or Python changed, or pip added to it."""
    version = sys.version_info[:2]
    if not (3, 11) <= version <= (3, 13):
        here = sys.version.split()[0]
        raise Failed(f"Colab's packages exist for Python 3.11 to 3.13, this is {here}; try make PYTHON=python3.13")
    stamp, key = HERE / "stamp", hashlib.sha256(LIST.read_bytes() + sys.version.encode()).hexdigest()
    HERE.mkdir(parents=True, exist_ok=True)
    if stamp.exists() and stamp.read_text() == key and PYTHON.exists():
        call(PYTHON, "-m", "pip", "uninstall", "--yes", OURS, failing="the library of the last run stays")
        if not wrong(installed("before.txt")):
            return
    print("  making it: about two minutes and 1.3 GB", flush=True)
    stamp.unlink(missing_ok=True)
    why = "no environment under _build/colab; on Debian: apt install python3-venv"
    call(sys.executable, "-m", "venv", "--clear", VENV, failing=why)
    why = f"pip could not install {LIST.name} (no network, or a version is gone)"
    call(PYTHON, "-m", "pip", "install", "--only-binary", ":all:", "-r", LIST, failing=why)
    call(PYTHON, "-m", "pip", "check", failing=f"{LIST.name} does not fit together")
    if problems := wrong(installed("before.txt")):
        raise Failed(f"{LIST.name} is not what pip made of it: {'; '.join(problems)}")
    stamp.write_text(key)


def wrong(found):
    """How an environment differs from the list."""
    pins = listed()
    differ = [f"{n} {v} → {found.get(n, 'missing')}" for n, v in pins.items() if found.get(n) != v]
    return differ + [f"{n} {found[n]} is not listed" for n in found if n not in pins and not n.startswith(UNLISTED)]
