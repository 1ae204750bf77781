"""The lab on attention: what it held on a CPU is what it predicted, every way is named, and Triton is not needed."""

import pytest

from threeledgers import records
from threeledgers.formulas import attention_forward_flops, naive_attention_traffic


@pytest.fixture(scope="module")
def record(quick_run):
    return quick_run("attention")


def test_every_way_is_named_with_its_backend(record):
    ways = {(q["at"]["impl"], q["at"]["backend"]) for q in records.pick(record, "fwd_time")}
    assert ways == {("naive", "none"), ("sdpa", "MATH"), ("sdpa", "FLASH_ATTENTION")}
    for name in ("peak_bytes", "speedup"):
        assert {(q["at"]["impl"], q["at"]["backend"]) for q in records.pick(record, name)} == ways
    assert all(q["n"] >= 5 for q in records.pick(record, "fwd_time") + records.pick(record, "bwd_time"))


def test_what_is_held_is_what_is_predicted(record):
    heads, dim = (record["run"]["sizes"][n] for n in ("heads", "head_dim"))
    for seq in (256, 512):
        (naive,) = records.pick(record, "peak_bytes", impl="naive", seq=seq)
        (flash,) = records.pick(record, "peak_bytes", backend="FLASH_ATTENTION", seq=seq)
        out = 4 * heads * seq * dim
        assert naive["median"] == 2 * 4 * heads * seq**2 + out and flash["median"] == out + 4 * heads * seq


def test_rates_follow_from_times(record):
    heads, dim = (record["run"]["sizes"][n] for n in ("heads", "head_dim"))
    for q in records.pick(record, "naive_bandwidth"):
        (time,) = records.pick(record, "fwd_time", impl="naive", **q["at"])
        bytes_moved = heads * naive_attention_traffic(elem_bytes=4, head_dim=dim, **q["at"])
        assert q["median"] == pytest.approx(bytes_moved / time["p10"])
    for q in records.pick(record, "fwd_time"):
        flops = attention_forward_flops(batch=1, layers=1, heads=heads, head_dim=dim, seq=q["at"]["seq"])
        assert flops / q["median"] < 1e13  # a CPU


def test_the_committed_record_is_this_labs():
    run = records.load("attention", "cpu")
    assert run["lab"] == "attention" and not run["run"]["quick"] and run["run"]["dtype"] == "float32"
    assert "+changes" not in run["revision"] and run["revision"] != "unknown"
    (flash,) = records.pick(run, "speedup", backend="FLASH_ATTENTION", seq=2048)
    assert flash["median"] > 1
