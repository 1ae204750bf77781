"""What a built page depends on, as hashes.

``environment`` keys the execution cache: interpreter, installed versions, requirements, every file of the package and
every record. jupyter-cache itself looks at nothing but the cells. ``site`` covers all that the site is made from.
"""

import hashlib
import sys
from functools import cache
from pathlib import Path

from _ext import address

ENVIRONMENT = ("threeledgers/**/*", "labs/records/*", "requirements.txt")
SITE = (
    "lectures/**/*",
    "labs/**/*",
    "assets/**/*",
    "_ext/**/*",
    "_config.yml",
    "_toc.yml",
    "package-lock.json",
    "pyproject.toml",
)


def digest(root, patterns, seed=""):
    """Hash of the named files' paths and contents; byte code and editors' leftovers are not content."""
    found = hashlib.sha256(seed.encode())
    files = {f for pattern in patterns for f in root.glob(pattern) if f.is_file()}
    for file in sorted(files):
        if "__pycache__" not in file.parts and not file.name.startswith((".", "#")) and not file.name.endswith("~"):
            found.update(file.relative_to(root).as_posix().encode() + b"\0" + file.read_bytes() + b"\0")
    return found.hexdigest()[:16]


@cache
def installed():
    """Interpreter and distributions as one text; their folders carry name and version, reading each would take a second."""
    return "\n".join([sys.version, *sorted({p.name for place in sys.path for p in Path(place).glob("*.dist-info")})])


def environment(root):
    """Hash of all that a cell's output depends on besides the cell."""
    return digest(Path(root), ENVIRONMENT, installed())


def site(root):
    """Hash of all that the site depends on."""
    return digest(Path(root), (*ENVIRONMENT, *SITE), installed() + repr(address.find(root)))


def cache_path(root):
    """Folder of the execution cache for the present environment."""
    return Path(root) / "_build" / ".jupyter_cache" / environment(root)


def config_inited(app, config):
    config.nb_execution_cache_path = str(cache_path(app.srcdir))
    config.tl_key = environment(app.srcdir) + digest(Path(app.srcdir), ("_ext/**/*", "assets/**/*"))


def setup(app):
    app.add_config_value("tl_key", "", "env")  # a changed value makes Sphinx read every page again
    app.connect("config-inited", config_inited, priority=10)
    return {"version": "1", "parallel_read_safe": True}
