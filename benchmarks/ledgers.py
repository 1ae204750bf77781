"""How well do the tools that people install predict the three ledgers? ``python benchmarks/ledgers.py``

    python benchmarks/ledgers.py --quick              the tiny model only
    python benchmarks/ledgers.py --markdown FILE      also keep the tables in a file

Each tool is asked about three Llamas (tiny, small, Llama-2-7B; batch 1): parameters, FLOPs of the forward pass and of
a training step, bytes that autograd keeps in bf16, bytes of the training states, bytes of KV cache per token; whatever
it offers. The truth is what PyTorch counts of the reference model: FlopCounterMode on the meta device (two FLOPs per
multiply-add, attention as plain products and in full), ``numel``, saved-tensor hooks on fake tensors with fused
attention, and the tensors of a real AdamW step (its step counters, 4 bytes a tensor, left out). "mixed-precision" is
weights and gradients in bf16, masters, means and variances in fp32. "three ledgers" are this project's formulas.

Honesty: these tools were made for other questions. torchinfo prints layers, fvcore, thop and ptflops were made for
convolutional networks and count MACs (x2 here), 6 x parameters x tokens is a rule of thumb, llm-analysis and DeepSpeed
plan for other training setups. They are asked through their documented calls, with defaults, about one plain Llama; an
error is the distance to PyTorch's count of that Llama, not a mark. A fused attention's backward pass computes its
scores again; PyTorch's count on meta, and so this table, leaves that out. Formulas need only sizes; counters need the
model, which is built before the clock starts. DeepSpeed's estimate is told the true number of parameters.
"(=)" after a reason: the reason, computed, gives the tool's answer to the integer.

Seconds: median of three calls after a first one, which is named when it took more than three times as long.
The tools live in _build/benchmarks/env, which the script makes once; it sees the running interpreter's packages, so
PyTorch is neither installed nor replaced. Needs PyPI (once), no model hub. Exit status 1 when a formula's answer is not
PyTorch's. About six minutes on two cores (two with --quick), one more for the first installation.
"""

import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
import sysconfig
import time
from importlib.metadata import version
from pathlib import Path

from _questions import SIZES, note

ROOT = Path(__file__).parents[1]
HOME = ROOT / "_build" / "benchmarks"
PYTHON = HOME / "env" / ("Scripts" if os.name == "nt" else "bin") / "python"
TRUTH, OURS, LIMIT = "PyTorch's counter", "three ledgers", 120  # seconds for all calls of one tool about one size

TOOLS = {  # name in the table: what to install, without its dependencies, which are below
    TRUTH: None,
    OURS: None,
    "torchinfo": "torchinfo==1.8.0",
    "fvcore": "fvcore==0.1.5.post20221221",
    "calflops": "calflops==0.3.2",
    "ptflops": "ptflops==0.7.5",
    "ptflops aten": "ptflops==0.7.5",
    "thop": "thop==0.1.1.post2209072238",
    "torch-flops": "torch-flops==0.4.1",
    "deepspeed profiler": "deepspeed==0.19.8",
    "deepspeed estimate": "deepspeed==0.19.8",
    "transformers": "transformers==5.24.0",
    "transformers, counted": "transformers==5.24.0",
    "accelerate": "accelerate==1.15.0",
    "llm-analysis": "llm-analysis==0.2.2",
}
NEEDED = """einops==0.8.2 fire==0.7.1 hjson==3.1.0 huggingface-hub==2.4.0 iopath==0.1.10 msgpack==1.2.4 pillow==13.0.0
portalocker==4.4.2 psutil==7.2.2 py-cpuinfo==9.0.0 pydantic==2.14.4 PyYAML==6.0.4 regex==2026.11.19 safetensors==0.8.0
tabulate==0.10.0 termcolor==3.3.0 tokenizers==0.23.3 tqdm==4.70.1 typer==0.29.2 wheel==0.48.0 yacs==0.1.8""".split()
NOT_ASKED = {
    "ultralytics-thop": "a fork of thop under the same module name: only one of the two can be installed",
    "hf-mem, llm-mem": "read a model's description from a hub",
    "accelerate estimate-memory": "the command takes a hub id; its functions are asked instead (row accelerate)",
}


def environment():
    """Make the tools' environment unless it is there already; return {requirement: why it could not be installed}."""
    site = sysconfig.get_paths()["purelib"]
    wanted = json.dumps([TOOLS, NEEDED, site, sys.version, version("torch")])
    stamp, digest = HOME / "installed.json", hashlib.sha256(wanted.encode()).hexdigest()
    if stamp.exists() and json.loads(stamp.read_text())["digest"] == digest:
        return json.loads(stamp.read_text())["failed"]
    print("making the environment of the tools ...", file=sys.stderr)
    subprocess.run([sys.executable, "-m", "venv", "--clear", HOME / "env"], check=True)
    ask = "import sysconfig; print(sysconfig.get_paths()['purelib'])"
    own = Path(subprocess.run([PYTHON, "-c", ask], check=True, capture_output=True, text=True).stdout.strip())
    (own / "running.pth").write_text(f"import site; site.addsitedir({site!r})\n")
    (HOME / "constraints.txt").write_text(f"torch=={version('torch').split('+')[0]}\n")
    failed = {"the tools' dependencies": pip("-c", HOME / "constraints.txt", *NEEDED)}
    for requirement in dict.fromkeys(filter(None, TOOLS.values())):
        failed[requirement] = pip("--no-deps", "--no-build-isolation", requirement)
    if (own / "torch").exists():
        sys.exit("pip installed a second PyTorch: the environment is not used")
    failed = {requirement: why for requirement, why in failed.items() if why}
    stamp.write_text(json.dumps({"digest": digest, "failed": failed}))
    return failed


def pip(*arguments):
    """Install into the tools' environment; None, or why that failed."""
    command = [PYTHON, "-m", "pip", "install", "-q", "--disable-pip-version-check", *arguments]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=300, env=os.environ | {"DS_BUILD_OPS": "0"}
        )
    except subprocess.TimeoutExpired:
        return "took more than 300 s"
    return None if done.returncode == 0 else last_line(done.stderr)


def last_line(text):
    """The last line that says something, without paths and addresses of this machine."""
    lines = [line.strip() for line in text.splitlines() if "error" in line.lower()] or ["ended without a word"]
    return re.sub(r"\S*[/\\]\S*|host='[^']*'", "…", lines[-1])[:160]


def ask(tool, size):
    """The rows of one tool about one size, asked in a process of its own."""
    quiet = {
        "HF_HUB_OFFLINE": "1",
        "TRANSFORMERS_VERBOSITY": "error",
        "CUDA_VISIBLE_DEVICES": "",
        "PYTHONWARNINGS": "ignore",
    }
    surroundings = os.environ | quiet | {"PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [PYTHON, Path(__file__).with_name("_tools.py"), tool, size]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, env=surroundings, cwd=HOME)
        out, ended = done.stdout, last_line(done.stderr) if done.returncode else None
    except subprocess.TimeoutExpired as expired:
        out, ended = expired.stdout or "", f"skipped: more than {LIMIT} s"
        out = out.decode() if isinstance(out, bytes) else out
    rows = [json.loads(line) for line in out.splitlines()]
    if ended:
        rows.append({"question": "all" if not rows else "the rest", "failed": ended})
    return rows


def short(seconds):
    """Two digits, and never an exponent."""
    return f"{float(f'{seconds:.2g}'):.7f}".rstrip("0").rstrip(".")


def cells(tool, row, size, truth):
    """The last five cells of a row."""
    answer = row.get("answer")
    if answer is None:
        why = last_line("Error " + row["failed"]).removeprefix("Error ")
        explained = note(tool, row["question"], size, None, 0)
        return f"{row['question']} | – | – | – | failed: {why}{explained and '; ' + explained}".replace("\n", " ")
    off = "–" if tool == TRUTH else "0" if answer == truth else f"{100 * (answer / truth - 1):+.4g} %"
    seconds = short(row["typical"]) + (f" (first {short(row['first'])})" if row["first"] > 3 * row["typical"] else "")
    return f"{row['question']} | {answer:,} | {off} | {seconds} | {note(tool, row['question'], size, answer, truth)}"


def table(name, failed):
    """The Markdown table of one size, and whether every answer of the formulas is PyTorch's."""
    size = SIZES[name]
    shape = ", ".join(f"{field} {getattr(size, field)}" for field in size.__dataclass_fields__)
    lines = [f"### {name}", "", shape, "", "| tool | version | question | answer | error | seconds | note |"]
    lines += ["|---|---|---|--:|--:|--:|---|"]
    truth, right = {}, set()
    for tool, requirement in TOOLS.items():
        print(f"{name}: {tool}", file=sys.stderr)
        if requirement in failed:
            rows = [{"question": "all", "failed": f"not installed: {failed[requirement]}"}]
        else:
            rows = ask(tool, name)
        if tool == TRUTH:
            truth = {row["question"]: row.get("answer") for row in rows}
        if tool == OURS:
            right = {row["question"] for row in rows if row.get("answer") == truth.get(row["question"])}
        for row in rows:
            text = cells(tool, row, size, truth.get(row["question"]))
            lines.append(f"| {tool} | {row.get('version', (requirement or '–').split('==')[-1])} | {text} |")
    return "\n".join(lines) + "\n", None not in truth.values() and right == set(truth) != set()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="the tiny model only")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="also write the tables to this file")
    options = parser.parse_args()
    start = time.perf_counter()
    HOME.mkdir(parents=True, exist_ok=True)
    failed = environment()
    installed = time.perf_counter() - start
    parts, good = [], True
    for name in list(SIZES)[: 1 if options.quick else None]:
        text, exact = table(name, failed)
        parts.append(text)
        good &= exact
    parts.append("Not asked: " + "; ".join(f"{tool} ({why})" for tool, why in NOT_ASKED.items()) + ".\n")
    if failed:
        parts.append("Not installed: " + "; ".join(f"{what} ({why})" for what, why in failed.items()) + ".\n")
    parts.append(f"{time.perf_counter() - start:.0f} s in all, {installed:.0f} s of them to install.\n")
    report = "\n".join(parts)
    print(report)
    if options.markdown:
        options.markdown.write_text(report, encoding="utf-8")
    if not good:
        sys.exit("a formula's answer is not PyTorch's count")


if __name__ == "__main__":
    main()
