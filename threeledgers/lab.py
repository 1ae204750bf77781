"""The flags and the flow of a lab: say the cost, measure, keep what was measured, compare, save.

A lab is a program (``python labs/stride.py --device cuda --out .``), a notebook and a page at once. In a notebook the
kernel's own arguments are ignored.
"""

import argparse
import os
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

import torch

from threeledgers import measure, records

GB = 10**9


class Lab:
    """One run of a lab. ``seconds`` and ``memory`` (bytes) say what it needs, by device kind, before it starts.

    ``device``, ``quick``, ``can`` (capabilities), ``sizes`` (kept in the record) are for the script to use. Without
    ``--out`` the record goes to ``_build/runs`` of the checkout, or under the current folder where there is none.
    """

    def __init__(self, slug, seconds, memory, arguments=None):
        flags = _flags(slug, arguments)
        self.slug, self.quick, self.seed = slug, flags.quick, flags.seed
        self.out = Path(flags.out) if flags.out else records.runs_folder()
        try:
            self.device = measure.device(flags.device)
        except measure.NoDevice as error:
            raise SystemExit(f"lab {slug}: {error}") from None
        self.can = measure.capabilities(self.device)
        self.sizes, self.quantities, self.dtype = {"dtype_because": self.can.why}, [], "float32"
        self._begin, self._spent = time.monotonic(), time.process_time()
        self._peak = measure.PeakMemory(self.device)
        self._peak.__enter__()
        torch.manual_seed(self.seed)
        kind = self.device.type
        need = f"about {seconds[kind]} s and {memory[kind] / GB:.1f} GB of {'GPU' if kind == 'cuda' else 'main'} memory"
        chosen = str(self.can.half).removeprefix("torch.")
        print(f"Lab {slug} on {self.can.name} ({kind}): {need}; {chosen}, since {self.can.why}.", flush=True)
        self.ceilings = measure.ceilings(self.device, quick=self.quick, seed=self.seed)

    @property
    def cuda(self):
        """True when the lab runs on a GPU."""
        return self.device.type == "cuda"

    def measure(self, name, function, inputs, *, unit="s", at=None, convert=None):
        """Time ``function`` over ``inputs`` (argument tuples, used in turn), keep the quantity and return it."""
        few = {"n": 7, "budget": 0.3} if self.quick else {"n": 20, "budget": 1.0}
        samples = measure.times(function, inputs, self.device, **few)
        quantity = measure.quantity(name, samples, unit, at=at, convert=convert)
        self.quantities.append(quantity)
        return quantity

    def note(self, name, value, unit, at=None):
        """Keep something that was counted or computed, not sampled: one value without spread. Returns the quantity."""
        quantity = measure.quantity(name, [value], unit, at=at) | {"verdict": "ok"}
        self.quantities.append(quantity)
        return quantity

    def fitting(self, what, sizes, make):
        """``(size, make(size))`` for the first size, largest first, that fits into memory; says which did not."""
        tried = []
        for size in sorted(sizes, reverse=True):
            try:
                made = make(size)
            except (torch.OutOfMemoryError, MemoryError, RuntimeError) as error:
                if isinstance(error, RuntimeError) and "memory" not in str(error).lower():
                    raise
                tried.append(size)
                if self.cuda:
                    torch.cuda.empty_cache()
                continue
            if tried:
                print(f"{what}: {', '.join(f'{t:,}' for t in tried)} did not fit; {size:,} fits and is used.")
            self.sizes[what] = size
            return size, made
        raise SystemExit(f"lab {self.slug}: not even {what} = {min(sizes):,} fits into memory")

    def record(self):
        """The record of this run so far."""
        return {
            "schema": records.NEWEST,
            "lab": self.slug,
            "created": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "machine": measure.machine(self.device),
            "revision": revision(),
            "run": {
                "seed": self.seed,
                "dtype": self.dtype,
                "warmup": 3,
                "quick": self.quick,
                "seconds": round(time.monotonic() - self._begin, 3),
                "sizes": self.sizes,
            },
            "peak_memory_bytes": int(self._peak.bytes),
            "ceilings": self.ceilings,
            "quantities": self.quantities,
        }

    def save(self, path=None):
        """Write the record to ``path``, or to ``<out>/<slug>.run.json``; returns the path. Raises SystemExit where it cannot."""
        self._peak.__exit__(None, None, None)
        try:
            path = records.save(self.record(), path or self.out / f"{self.slug}.run.json")
        except records.RecordError as error:
            raise SystemExit(f"lab {self.slug}: {error}") from None
        spent = time.process_time() - self._spent
        print(f"lab {self.slug}: {spent:.1f} s of CPU time on {measure.capabilities('cpu').name}")
        print(f"record: {os.path.relpath(path)}")  # a page that shows this line tells nobody's folders
        return path

    def line(self):
        """What must stand beside every timing of this run."""
        return records.line(self.record())


def explore(draw, **choices):
    """A picture that follows its controls: ``draw(**values)`` returns a figure, ``choices`` are lists of values.

    With a kernel each control re-draws (and so re-measures); a static page shows the picture of the first values.
    """
    import ipywidgets
    from IPython.display import display

    controls = {
        n: ipywidgets.SelectionSlider(options=list(v), description=n, continuous_update=False)
        for n, v in choices.items()
    }
    picture = display(draw(**{n: c.value for n, c in controls.items()}), display_id=True)

    def redraw(change):
        picture.update(draw(**{n: c.value for n, c in controls.items()}))

    for control in controls.values():
        control.observe(redraw, names="value")
    display(ipywidgets.VBox(list(controls.values())))


def revision():
    """Git revision of the checkout the package lies in, with ``+changes``; ``unknown`` outside one."""
    root = Path(__file__).resolve().parent.parent

    def git(*words):
        return subprocess.run(["git", "-C", str(root), *words], capture_output=True, text=True, timeout=10)

    try:
        top, head = git("rev-parse", "--show-toplevel"), git("rev-parse", "--short=12", "HEAD")
        if head.returncode or Path(top.stdout.strip()).resolve() != root:
            return "unknown"
        return head.stdout.strip() + ("+changes" if git("status", "--porcelain", "-uno").stdout.strip() else "")
    except (OSError, subprocess.TimeoutExpired):
        return "unknown"


def _flags(slug, arguments):
    parser = argparse.ArgumentParser(prog=f"labs/{slug}.py", description=f"The lab {slug} of Three Ledgers.")
    parser.add_argument("--device", choices=("cpu", "cuda"), help="default: CUDA if present, else the CPU")
    parser.add_argument("--out", help="folder for the record; default _build/runs")
    parser.add_argument("--quick", action="store_true", help="smaller sizes, fewer samples")
    parser.add_argument("--seed", type=int, default=0)
    if arguments is None:
        arguments = [] if "ipykernel" in Path(sys.argv[0]).as_posix() or "ipykernel" in sys.modules else sys.argv[1:]
    return parser.parse_args(arguments)
