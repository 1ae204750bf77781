"""A file of one's own in place of an id: a card or a model as TOML, a model as Hugging Face's ``config.json``."""

import stat
from functools import lru_cache
from pathlib import Path

from threeledgers.specs import SpecError, huggingface, read

LARGEST = 1_000_000  # bytes; weights taken for their config are far larger


def is_file(kind, id):
    """True when an id is meant as a file: by its ending, its first character, or because it exists as a path."""
    text = str(id)
    if text.endswith((".toml", ".json")) or text.startswith((".", "/", "~")):
        return True
    # a model's name on the Hub has a slash, too
    return "/" in text and (kind != "model" or Path(text).exists())


def load(kind, id):
    """The specification in a file; read again when the file has changed. Raises SpecError naming file and fault."""
    path = Path(id).expanduser()
    try:
        found = path.stat()
    except (OSError, ValueError):  # ValueError: a zero byte
        raise SpecError(
            f"{str(id)!r}: there is no such file; a {kind}'s id, or the path of {_wanted(kind)}, is needed"
        ) from None
    if stat.S_ISDIR(found.st_mode):
        raise SpecError(f"{id} is a folder; the path of {_wanted(kind)} is needed")
    if not stat.S_ISREG(found.st_mode):
        raise SpecError(f"{id} is not an ordinary file; the path of {_wanted(kind)} is needed")
    if found.st_size > LARGEST:
        raise SpecError(f"{id} has {found.st_size:,} bytes; {_wanted(kind)} of at most {LARGEST:,} is needed")
    return _load(kind, path, found.st_mtime_ns, found.st_size, found.st_ino)


def _wanted(kind):
    return "a TOML file" if kind == "gpu" else "a config.json or TOML file"


@lru_cache(maxsize=64)
def _load(kind, path, *version):
    try:
        return huggingface.read(path) if kind == "model" and path.suffix != ".toml" else read(path, kind)
    except OSError as error:
        raise SpecError(f"{path.name} cannot be read: {error.strerror}") from None
