"""The command ``threeledgers``: ``threeledgers lab stride --device cpu --out runs``."""

import argparse
import subprocess
import sys
from pathlib import Path

from threeledgers import records


def main(arguments=None):
    """Run the command; returns the exit code: 0, 1 when a lab failed, 2 for a command that cannot be understood."""
    parser = argparse.ArgumentParser(prog="threeledgers", description="Labs of the course Three Ledgers.")
    commands = parser.add_subparsers(dest="command", required=True)
    lab = commands.add_parser("lab", help="run a lab, or all; each leaves a record")
    lab.add_argument("slug", help="a lab's name, or all")
    lab.add_argument("--device", choices=("cpu", "cuda"), help="default: CUDA if present, else the CPU")
    lab.add_argument("--out", help="folder for the records; default _build/runs")
    lab.add_argument("--quick", action="store_true", help="smaller sizes, fewer samples")
    flags = parser.parse_args(arguments)
    try:
        return run_labs(flags.slug, flags.device, Path(flags.out or records.runs_folder()), flags.quick)
    except KeyboardInterrupt:
        print("stopped; the lab that was running left no record", file=sys.stderr)
        return 130


def available():
    """Labs by name."""
    return {p.stem: p for p in sorted(records.labs_folder().glob("*.py")) if not p.stem.startswith("_")}


def run_labs(slug, device, out, quick):
    """Run one lab or all; the failure of one does not stop the rest. Returns 0, 1 or 2."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    known = available()
    if slug != "all" and slug not in known:
        print(f"threeledgers lab: no lab {slug!r}; there are {', '.join(known)} and all", file=sys.stderr)
        return 2
    chosen = list(known) if slug == "all" else [slug]
    results, console = {}, Console(soft_wrap=True)
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    with Progress(*columns, console=console, transient=not console.is_terminal) as progress:
        task = progress.add_task("labs", total=len(chosen))
        for name in chosen:
            progress.update(task, description=f"lab {name}")
            results[name] = run_lab(known[name], device, out, quick, console)
            progress.advance(task)
    for name, why in results.items():
        print(f"{name}: {why or 'record ' + str(out / f'{name}.run.json')}")
    failed = [name for name, why in results.items() if why]
    print(f"{len(results) - len(failed)} of {len(results)} labs left a record")
    return 1 if failed else 0


def run_lab(path, device, out, quick, console):
    """Run one lab as a program of its own; returns an empty string, or why it left no valid record."""
    record = out / f"{path.stem}.run.json"
    record.unlink(missing_ok=True)
    command = [sys.executable, str(path), "--out", str(out)]
    command += ["--device", device] if device else []
    command += ["--quick"] if quick else []
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        try:
            last = ""
            for line in process.stdout:
                console.print(line.rstrip(), markup=False, highlight=False)
                last = line.strip() or last
        except KeyboardInterrupt:
            process.terminate()
            raise
    if process.returncode:
        return f"failed: {last}"
    try:
        records.load(record)
    except records.RecordError as error:
        return f"failed: {error}"
    return ""


if __name__ == "__main__":
    sys.exit(main())
