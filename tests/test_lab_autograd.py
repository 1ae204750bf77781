"""The lab on autograd: what it counted on a CPU is what it predicted; its kernels do what they say."""

import pytest
import torch

from threeledgers import count, measure, records
from threeledgers.kernels.autograd import build, counted_peak, largest_batch, micro_batch
from threeledgers.transformer import Config

HALF = str(measure.capabilities("cpu").half).removeprefix("torch.")
TINY = Config(vocab=64, hidden=32, layers=2, heads=4, kv_heads=2, head_dim=8, ffn=48)


@pytest.fixture(scope="module")
def record(quick_run):
    return quick_run("autograd")


def test_predicted_is_counted(record):
    for mode in ("none", "full"):
        for batch in (1, 2, 4):
            at = {"batch": batch, "checkpoint": mode}
            (told,) = records.pick(record, "predicted_bytes", **at)
            (seen,) = records.pick(record, "peak_bytes", **at)
            assert told["median"] == seen["median"] and seen["verdict"] == "ok"


def test_the_largest_batch_is_the_predicted_one(record):
    found, told = ([q["median"] for q in records.pick(record, n)] for n in ("batch_max", "predicted_batch_max"))
    assert found == told and found[1] > 2 * found[0] > 2


def test_everything_promised_is_in_the_record(record):
    names = {q["name"] for q in record["quantities"]}
    assert {"step_time", "recompute_time_ratio"} <= names and record["run"]["dtype"] == HALF
    assert "times as long as one in float32" in record["run"]["sizes"]["dtype_because"]
    assert record["run"]["sizes"]["room_bytes"] > 0


@pytest.mark.parametrize("most", [0, 1, 2, 5, 13, 64, 99])
def test_the_search_finds_the_largest_batch(most):
    tried = []

    def run(batch):
        tried.append(batch)
        if batch > most:
            raise torch.OutOfMemoryError("full") if batch % 2 else MemoryError

    for guess in (1, most, 40, 64, 200):
        tried.clear()
        assert largest_batch(run, limit=64, guess=guess) == min(most, 64)
        assert len(tried) <= 14 and max(tried) <= 64
    assert largest_batch(run, limit=64, guess=most) == min(most, 64) and len(tried) <= 16
    with pytest.raises(ZeroDivisionError):  # any other fault is no lack of memory
        largest_batch(lambda batch: 1 / 0, limit=4)


def test_gradients_are_there_before_and_add_up():
    net, ids = build(TINY, "cpu", torch.float32), torch.zeros(1, 6, dtype=torch.int64)
    assert all(p.grad is not None and not p.grad.any() for p in net.parameters())
    micro_batch(net, ids)
    once = [p.grad.clone() for p in net.parameters()]
    micro_batch(net, ids)
    for p, g in zip(net.parameters(), once, strict=True):
        torch.testing.assert_close(p.grad, 2 * g)
    assert torch.get_default_dtype() is torch.float32


def test_a_fake_peak_is_a_real_one():
    net, ids = build(TINY, "cpu", torch.bfloat16), torch.zeros(2, 24, dtype=torch.int64)
    grads = [p.grad for p in net.parameters()]
    _, real = count.peak_bytes(lambda: micro_batch(net, ids), [net, grads, ids])
    assert counted_peak(TINY, 2, 24, "none") == real
