"""Labs as programs: on a CPU, with bad flags, stopped in the middle, and from a wheel away from the clone."""

import os
import re
import signal
import subprocess
import sys
import time
import venv
from pathlib import Path

import pytest
import torch

from _ext import bundle
from tests.pages import ROOT
from threeledgers import cli, lab, measure, records

LABS = sorted(p for p in (ROOT / "labs").glob("*.py"))


def program(*arguments, **options):
    return subprocess.run([sys.executable, *map(str, arguments)], capture_output=True, text=True, cwd=ROOT, **options)


def test_all_labs_leave_a_valid_record_on_a_cpu(tmp_path):
    done = program("-m", "threeledgers.cli", "lab", "all", "--device", "cpu", "--quick", "--out", tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{len(LABS)} of {len(LABS)} labs left a record" in done.stdout
    for path in LABS:
        record = records.load(tmp_path / f"{path.stem}.run.json")
        assert record["machine"]["device"] == "cpu" and record["run"]["quick"] and len(record["quantities"]) >= 5
        said = re.search(rf"Lab {path.stem} on .*: about (\d+) s and ([\d.]+) GB of main memory", done.stdout)
        assert said and record["peak_memory_bytes"] <= float(said[2]) * 1e9
        sampled = [q["n"] for q in record["quantities"] if q["n"] > 1]
        assert sum(sampled) <= 7 * len(sampled), "--quick takes at most seven samples of a quantity"
        spent = re.search(rf"lab {path.stem}: [\d.]+ s of CPU time on (.*)", done.stdout)
        assert spent and record["machine"]["name"] == spent[1], "what a run cost is said, and of which processor"


@pytest.mark.parametrize("path", LABS, ids=lambda p: p.stem)
def test_a_lab_is_a_page_without_helpers(path):
    text = path.read_text()
    assert "format_name: percent" in text and text.count("# %%") >= 6
    cells = [c for c in re.split(r"^# %%.*$", text, flags=re.M) if c.strip() and not c.strip().startswith("# ")]
    assert max(map(len, text.splitlines())) <= 120
    assert max(len(x) for x in text.splitlines() if not x.startswith("#")) <= 80
    assert all(len([x for x in c.splitlines() if x.strip()]) <= 48 for c in cells)


def test_cuda_asked_for_and_absent():
    if torch.cuda.is_available():
        pytest.skip("a GPU is here")
    done = program("labs/stride.py", "--device", "cuda")
    assert (
        done.returncode == 1
        and "lab stride: " in done.stderr
        and "cpu" in done.stderr
        and "Traceback" not in done.stderr
    )


def test_unknown_flags_and_labs_say_what_there_is(tmp_path):
    done = program("labs/stride.py", "--devise", "cpu")
    assert done.returncode == 2 and "--device {cpu,cuda}" in done.stderr
    done = program("-m", "threeledgers.cli", "lab", "strides", "--out", tmp_path)
    assert done.returncode == 2 and "no lab 'strides'; there are attention, autograd, stride and all" in done.stderr


def test_a_folder_that_cannot_be_written(tmp_path, capsys, monkeypatch):
    (tmp_path / "file").write_text("in the way")
    made = fake_lab(monkeypatch, tmp_path / "file")
    with pytest.raises(SystemExit, match=r"lab stride: .*stride.run.json: cannot be written"):
        made.save()


def fake_lab(monkeypatch, out):
    """A lab whose ceilings are not measured."""
    quantity = measure.quantity("copy_bandwidth", [1.0] * 9, "B/s")
    monkeypatch.setattr(
        measure,
        "ceilings",
        lambda *a, **k: {"gemm_flops": quantity | {"name": "gemm_flops"}, "copy_bandwidth": quantity},
    )
    made = lab.Lab("stride", {"cpu": 1}, {"cpu": 1e9}, ["--device", "cpu", "--out", str(out)])
    made.quantities.append(measure.quantity("strided_bandwidth", [0.5] * 9, "B/s"))
    return made


def test_what_does_not_fit_is_named_and_the_lab_goes_on_smaller(tmp_path, monkeypatch, capsys):
    made = fake_lab(monkeypatch, tmp_path)

    def make(size):
        if size > 2:
            raise (
                torch.OutOfMemoryError("CUDA out of memory")
                if size == 8
                else RuntimeError("not enough memory: you tried")
            )
        return [0] * size

    assert made.fitting("elements", [2, 8, 4], make) == (2, [0, 0])
    assert "elements: 8, 4 did not fit; 2 fits and is used." in capsys.readouterr().out
    assert made.record()["run"]["sizes"] == {"dtype_because": made.can.why, "elements": 2}
    with pytest.raises(SystemExit, match="not even elements = 4 fits"):
        made.fitting("elements", [8, 4], make)
    with pytest.raises(RuntimeError, match="another fault"):
        made.fitting("elements", [1], lambda size: (_ for _ in ()).throw(RuntimeError("another fault")))


def test_a_kernels_own_arguments_are_ignored(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["/x/ipykernel_launcher.py", "-f", "/x/kernel.json"])
    assert lab._flags("stride", None).device is None


def test_one_labs_failure_does_not_stop_the_rest(tmp_path, monkeypatch, capsys):
    folder = tmp_path / "labs"
    folder.mkdir()
    (folder / "bad.py").write_text("print('begins'); raise SystemExit('no luck')")
    (folder / "good.py").write_text(
        "import sys; sys.path.insert(0, '.')\nfrom tests.test_records import example\nfrom threeledgers import records\n"
        "records.save(example() | {'lab': 'good'}, sys.argv[sys.argv.index('--out') + 1] + '/good.run.json')"
    )
    monkeypatch.setattr(records, "labs_folder", lambda: folder)
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    assert cli.main(["lab", "all", "--out", str(tmp_path / "out")]) == 1
    said = capsys.readouterr().out
    assert "bad: failed: no luck" in said and "good: record" in said and "1 of 2 labs left a record" in said


def test_stopped_in_the_middle_leaves_nothing(tmp_path):
    with subprocess.Popen(
        [sys.executable, "labs/stride.py", "--device", "cpu", "--out", str(tmp_path)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a background job would inherit "ignore"
    ) as process:
        assert "Lab stride on" in process.stdout.readline()
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        process.wait(30)
    assert process.returncode != 0 and list(tmp_path.iterdir()) == []


@pytest.mark.site
def test_a_wheel_in_a_clean_environment_runs_the_lab(tmp_path):
    """Installed away from the clone; torch and the others are borrowed by path."""
    home, away = tmp_path / "venv", tmp_path / "away"
    away.mkdir()
    wheel = bundle.wheel(ROOT, tmp_path)
    venv.create(home, with_pip=False)
    python = home / "bin" / "python"
    site = Path(
        subprocess.run(
            [python, "-c", "import site; print(site.getsitepackages()[0])"], capture_output=True, text=True
        ).stdout.strip()
    )
    (site / "borrowed.pth").write_text(os.path.dirname(os.path.dirname(torch.__file__)) + "\n")
    subprocess.run(
        [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(site), str(wheel)],
        check=True,
        capture_output=True,
    )
    clean = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    where = subprocess.run(
        [python, "-c", "import threeledgers; print(threeledgers.__file__)"],
        cwd=away,
        env=clean,
        capture_output=True,
        text=True,
    )
    assert str(site) in where.stdout, where.stdout + where.stderr
    command = [python, "-m", "threeledgers.cli", "lab", "stride", "--device", "cpu", "--quick", "--out", "."]
    done = subprocess.run(command, cwd=away, env=clean, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert records.load(away / "stride.run.json")["revision"] == "unknown"
