"""The command ``threeledgers``: ``threeledgers plan --model llama3_8b --gpu h100_sxm --gpus 8``, ``threeledgers lab stride``."""

import argparse
import subprocess
import sys
from dataclasses import MISSING, fields
from json import dumps
from pathlib import Path

from threeledgers import records
from threeledgers.plan import Job, PlanError
from threeledgers.plan import plan as make_plan


class Parser(argparse.ArgumentParser):
    """A parser whose errors can be caught: one sentence, no usage text."""

    def error(self, message):
        raise UsageError(message)


class UsageError(ValueError):
    """A command that cannot be understood."""


def main(arguments=None):
    """Run the command; returns the exit code: 0, 1 when a lab failed, 2 for a command that cannot be understood."""
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    try:
        flags = vars(_parser().parse_args(arguments))
        command = flags.pop("command")
        if command == "plan":
            return show_plan(**flags)
        out = Path(flags["out"] or records.runs_folder())
        return run_labs(flags["slug"], flags["device"], out, flags["quick"])
    except (UsageError, PlanError) as error:
        _report(arguments, error)
        return 2
    except KeyboardInterrupt:
        print("stopped; the lab that was running left no record", file=sys.stderr)
        return 130


def _parser():
    parser = Parser(prog="threeledgers", description="Plans and labs of the course Three Ledgers.")
    commands = parser.add_subparsers(dest="command", required=True)
    lab = commands.add_parser("lab", help="run a lab, or all; each leaves a record")
    lab.add_argument("slug", help="a lab's name, or all")
    lab.add_argument("--device", choices=("cpu", "cuda"), help="default: CUDA if present, else the CPU")
    lab.add_argument("--out", help="folder for the records; default _build/runs")
    lab.add_argument("--quick", action="store_true", help="smaller sizes, fewer samples")
    plan = commands.add_parser("plan", help="FLOPs, memory, communication and time of a training job, before it runs")
    default = {field.name: field.default for field in fields(Job)}
    for name, kind, text in PLAN_FLAGS:
        need = {"required": True} if default[name] is MISSING else {"default": default[name]}
        value = default[name]
        shown = "" if value in (MISSING, None) else f"; default {value:{'' if kind is str else 'g'}}"
        plan.add_argument(f"--{name}", type=kind, metavar=name.upper(), help=text + shown, **need)
    plan.add_argument("--json", action="store_true", help="base units (B, FLOP, s), for programs; errors as JSON, too")
    plan.add_argument("--all", action="store_true", dest="all_lines", help="intermediate lines, too")
    return parser


def whole(text):
    """A whole number that may be typed as 15e12."""
    value = float(text)
    if value != int(value):
        raise ValueError(text)
    return int(text) if text.strip().lstrip("+-").isdigit() else int(value)


whole.__name__ = "whole number"  # what argparse calls it
PLAN_FLAGS = (
    ("model", str, "a model's id, such as llama3_8b, or the path of a config.json"),
    ("gpu", str, "a device's id, such as h100_sxm, or the path of a card as TOML"),
    ("gpus", whole, "how many of them"),
    ("seq", whole, "tokens of a sequence"),
    ("batch", whole, "sequences in one step, all replicas together; default one micro-batch each"),
    ("zero", whole, "ZeRO stage 0 to 3"),
    ("tp", whole, "tensor-parallel ranks, with sequence parallelism"),
    ("pp", whole, "pipeline stages"),
    ("microbatch", whole, "sequences that a replica takes at a time"),
    ("checkpoint", str, "none, selective or full"),
    ("dtype", str, "bf16 or fp16"),
    ("tokens", whole, "training tokens, for the days"),
    ("usable", float, "share of the device memory that tensors may take"),
    ("node", whole, "GPUs of a node; default 8, or a rack's if the link joins one"),
    ("nic", float, "B/s of a network card, one for each GPU"),
)


def show_plan(json, all_lines, **asked):
    """Print the plan of a job, as a table or as JSON. Raises PlanError for a job that cannot be."""
    made = make_plan(**asked)
    print(dumps(made.json(), indent=2) if json else made.table(all_lines))
    return 0


def _report(arguments, error):
    if "--json" in arguments:
        print(dumps({"error": {"field": getattr(error, "field", None), "message": str(error)}}))
    else:
        print(f"threeledgers{' ' + arguments[0] if arguments else ''}: {error}", file=sys.stderr)


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
