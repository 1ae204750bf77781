"""The clock's arithmetic and its manners: no absolute time is asserted, only order, ratios and exact counts."""

import gc
import json
import time
from dataclasses import FrozenInstanceError
from pathlib import Path
from types import SimpleNamespace

import jsonschema
import pytest
import torch

from threeledgers import measure

SCHEMA = json.loads(Path(measure.__file__).with_name("record.schema.json").read_text(encoding="utf8"))
CPU = torch.device("cpu")
QUIET = [1.0 + 0.01 * (i % 5) for i in range(20)]


def valid(thing, subschema):
    jsonschema.Draft202012Validator(subschema).validate(json.loads(json.dumps(thing, allow_nan=False)))
    return True


def test_quiet_samples_pass_and_noisy_or_few_do_not():
    verdicts = [measure.summarise(s).verdict for s in (QUIET, [1.0] * 5, [1.0, 2.0] * 10, [1.0] * 4)]
    assert verdicts == ["ok", "ok", "too noisy", "too noisy"]
    with pytest.raises(FrozenInstanceError):
        measure.summarise(QUIET).median = 0


def test_percentiles_are_linear_and_an_outlier_does_not_move_the_median():
    assert measure.summarise(range(11, 0, -1)) == measure.Summary(6, 2, 10, 11, "too noisy")
    assert measure.summarise([1, 2]).median == 1.5
    for value in (0.1, 1 / 3, 7e-6):
        assert measure.summarise([value] * 7) == measure.Summary(value, value, value, 7, "ok")
    outlier = measure.summarise([*QUIET[:-1], 100 * QUIET[-1]])
    assert abs(outlier.median / measure.summarise(QUIET).median - 1) < 0.01


NAN, INF = float("nan"), float("inf")
BAD = {"empty": [], "sample 1 of 2 is nan": [1, NAN], "2 of 3 is -2": [1, 1, -2], "is 0.0": [0.0], "is inf": [INF]}


@pytest.mark.parametrize(("names", "samples"), BAD.items())
def test_bad_samples_are_refused_by_name(names, samples):
    with pytest.raises(ValueError, match=names):
        measure.summarise(samples)
    with pytest.raises(ValueError, match=f"^row_sum: .*{names}"):
        measure.quantity("row_sum", samples, "s")


@pytest.mark.parametrize("capability", [(7, 0), (7, 5), (8, 0), (9, 0), (12, 0)])
def test_compute_capability_decides(capability):
    new = capability >= (8, 0)  # on a T4 (7.5) torch itself says that bf16 is supported, by emulation
    able = measure.decide("cuda", "GPU", capability)
    assert (able.device, able.name, able.capability) == ("cuda", "GPU", f"{capability[0]}.{capability[1]}")
    assert (able.bf16, able.tf32, able.flash) == (new, new, new)
    assert able.half == (torch.bfloat16 if new else torch.float16)
    assert able.why == f"compute capability {able.capability}"


def test_a_cpu_without_bf16_units_multiplies_in_float32():
    slow, fast = (measure.decide("cpu", "CPU", None, slowdown) for slowdown in (57.2, 0.6))
    assert slow == measure.Capabilities("cpu", "CPU", None, False, False, False, torch.float32, slow.why)
    assert fast == measure.Capabilities("cpu", "CPU", None, True, False, False, torch.bfloat16, fast.why)
    assert slow.why == "a bf16 product takes 57 times as long as one in float32"
    able = measure.capabilities(CPU)
    assert able == measure.decide("cpu", able.name, None, measure.bf16_slowdown()) and measure.bf16_slowdown() > 0
    assert measure.capabilities(CPU) is not able and measure.capabilities(CPU) == able, "measured once"


def test_devices_that_are_not_here_are_refused_with_a_sentence(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert measure.device() == measure.device("cpu") == CPU
    with pytest.raises(measure.NoDevice, match="cuda is not here.*there is cpu: ask for cpu"):
        measure.device("cuda")
    with pytest.raises(measure.NoDevice, match="'tpu'; the kinds are cpu, cuda"):
        measure.device("tpu")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert measure.device() == torch.device("cuda")


def test_a_longer_call_is_measured_longer():
    short, long = (measure.times(time.sleep, [(s,)], CPU, n=5) for s in (0.001, 0.004))
    assert measure.summarise(long).median / measure.summarise(short).median > 1.5


def test_inputs_rotate_through_warm_up_and_samples():
    seen = []
    assert len(measure.times(seen.append, [("a",), ("b",), ("c",)], CPU, warmup=2, n=5)) == 5
    assert "".join(seen) == "abcabca"
    for wrong in ([], [torch.zeros(2)]):
        with pytest.raises(ValueError, match="tuples of arguments"):
            measure.times(print, wrong, CPU)


def test_the_collector_is_off_while_timing_and_restored():
    def fail():
        assert not gc.isenabled()
        raise KeyError("planted")

    assert gc.isenabled()
    with pytest.raises(KeyError):
        measure.times(fail, [()], CPU)
    assert gc.isenabled()


@pytest.mark.parametrize(("seconds", "calls"), [(0.0, 20), (0.25, 8), (1.0, 5), (60.0, 5)])
def test_the_budget_ends_the_samples_but_never_below_five(monkeypatch, seconds, calls):
    clock = SimpleNamespace(now=0.0)
    monkeypatch.setattr(measure, "time", SimpleNamespace(perf_counter=lambda: clock.now))
    samples = measure.times(lambda: setattr(clock, "now", clock.now + seconds), [()], CPU, warmup=1, budget=2.0)
    assert samples == [seconds] * calls


def test_cuda_records_two_events_a_call_and_synchronises_once(monkeypatch):
    log = []

    class Event:
        def __init__(self, enable_timing):
            assert enable_timing
            self.synchronize = lambda: None

        def record(self):
            self.at = len(log)
            log.append("event")

        def elapsed_time(self, end):
            return float(end.at - self.at) if log[-1] == "synchronize" else 0.0

    monkeypatch.setattr(torch.cuda, "Event", Event)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda device=None: log.append("synchronize"))
    samples = measure.times(lambda: log.append("call"), [()], torch.device("cuda"), warmup=1, n=7)
    assert log == ["call"] + ["event", "call", "event"] * 7 + ["synchronize"]
    assert samples == [2 / 1000] * 7  # milliseconds become seconds


@pytest.mark.parametrize(("beyond", "count"), [(0, 2), (100, 2), (399, 4), (400, 5), (1000, 11)])
def test_rotated_inputs_exceed_the_bytes_asked_for(beyond, count):
    assert measure.rotated(lambda i: (i,), 100, CPU, beyond) == [(i,) for i in range(count)]


def test_rotated_inputs_stay_within_a_gibibyte_and_a_quarter_of_free_memory(monkeypatch):
    assert 2 <= len(measure.rotated(lambda i: (i,), measure.MIB, CPU)) <= 1024
    monkeypatch.setattr(measure, "_memory", lambda device: (40 * measure.MIB, 0))
    assert len(measure.rotated(lambda i: (i,), measure.MIB, CPU, beyond=2**50)) == 10


def test_a_quantity_is_a_record_s_and_converts_each_sample():
    rate = measure.quantity("row_sum", [0.5, 1, 2, 1, 1], "B/s", {"stride": 4}, lambda s: 8 / s)
    assert valid(rate, SCHEMA["$defs"]["quantity"])
    assert (rate["median"], rate["n"], rate["at"]) == (8, 5, {"stride": 4})
    assert rate["p10"] < rate["median"] < rate["p90"]


def test_ceilings_are_quantities_and_leave_the_threads_as_they_were():
    threads = torch.get_num_threads()
    found = measure.ceilings(CPU, quick=True)
    assert torch.get_num_threads() == threads
    assert {name: q["unit"] for name, q in found.items()} == {"gemm_flops": "FLOP/s", "copy_bandwidth": "B/s"}
    assert all(valid(q, SCHEMA["$defs"]["quantity"]) and q["name"] == name for name, q in found.items())


FULL = [torch.OutOfMemoryError("planted"), RuntimeError("not enough memory: planted"), MemoryError()]


@pytest.mark.parametrize("error", [*FULL, RuntimeError("another fault")])
def test_ceilings_skip_what_does_not_fit_and_nothing_else(monkeypatch, error):
    def attempt(function, inputs, *rest, **options):
        if inputs[0][0].shape[0] >= smallest:
            raise error
        return QUIET

    monkeypatch.setattr(measure, "times", attempt)
    monkeypatch.setattr(measure, "_memory", lambda device: (0, 0))  # two inputs are enough here
    for smallest, what in ((512, "copy 16, the smallest"), (0, "gemm 256, the smallest")):  # noqa: B007 (a closure)
        with pytest.raises((MemoryError, RuntimeError), match=what if error in FULL else "another fault"):
            measure.ceilings(CPU, quick=True)


def test_peak_memory_sees_an_allocation_that_is_gone_again_and_never_raises(monkeypatch):
    with measure.PeakMemory(CPU) as peak:
        torch.ones(16 * measure.MIB)  # 64 MiB of float32
    assert 32 * measure.MIB <= peak.bytes <= 200 * measure.MIB
    monkeypatch.setattr(measure, "_proc", lambda file, name: None)
    with measure.PeakMemory(CPU) as peak:
        pass
    assert 0 <= peak.bytes < 32 * measure.MIB


def test_the_machine_is_a_record_s(monkeypatch):
    assert valid(measure.machine(CPU), SCHEMA["properties"]["machine"])
    monkeypatch.delattr(measure.os, "getloadavg")
    monkeypatch.setattr(measure, "_proc", lambda file, name: None)
    assert valid(bare := measure.machine(CPU), SCHEMA["properties"]["machine"]) and bare["load_average"] is None


def test_nvidia_smi_is_read_for_this_gpu_or_not_at_all(monkeypatch):
    with monkeypatch.context() as absent:
        absent.setattr(measure, "SMI", ["no-such-program-here"])
        assert measure._smi("b") == (None, None, None)
    rows = "570.1, 345, 300.00, GPU-a\n570.1, 1980, [N/A], GPU-b\n"
    answers = {rows: ("570.1", 1980.0, None), "570.1, 345, 300.0": ("570.1", 345.0, 300.0)}
    for out, answer in (answers | dict.fromkeys(("", "No devices were found\n"), (None, None, None))).items():
        monkeypatch.setattr(measure.subprocess, "run", lambda *a, out=out, **k: SimpleNamespace(stdout=out))
        assert measure._smi("b") == answer
