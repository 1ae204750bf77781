"""The bar that overflows: its script holds what the formulas say in Python, and the batch it names is the largest."""

import json
import random

import pytest

from tests.node_module import run
from threeledgers.specs import gpu, model
from threeledgers.widgets import module, widget
from threeledgers.widgets.autograd import GPUS, MODELS, SETTINGS, constants, holders, table

CHOICES = {
    "model": MODELS,
    "batch": (1, 2, 4, 8, 16, 32, 64),
    "seq": tuple(2**k for k in range(8, 16)),
    "attention": ("fused", "eager"),
    "checkpoint": ("none", "selective", "full"),
    "optimizer": ("adam", "adam8", "sgd"),
    "gpu": GPUS,
}


def script():
    return module("autograd", **{key: json.dumps(value) for key, value in constants().items()})


def states(count):
    rng = random.Random(6)
    return [SETTINGS, *({n: rng.choice(v) for n, v in CHOICES.items()} for _ in range(count))]


def test_the_bar_is_the_formulas_in_python(tmp_path):
    cases = states(300)
    for s, t in zip(cases, run(script(), "trace", [[s] for s in cases], tmp_path), strict=True):
        want = holders(s)
        assert t["held"] == want and t["total"] == sum(want.values()), s
        assert t["capacity"] == gpu(s["gpu"]).memory_bytes and t["fits"] is (t["total"] <= t["capacity"])
        layers = model(s["model"]).layers
        assert len(t["course"]) == 2 * layers + 4
        floor = want["weights"] + want["gradients"] + want["optimizer"]
        assert t["course"][0] == t["course"][-1] == floor
        assert t["course"][layers] == floor + want["layers"]
        assert max(t["course"]) == pytest.approx(t["total"], rel=0.35) and max(t["course"]) >= t["total"]


def test_the_batch_it_names_is_the_largest(tmp_path):
    cases = states(300)
    for s, t in zip(cases, run(script(), "trace", [[s] for s in cases], tmp_path), strict=True):
        most, room = t["most"], t["capacity"]
        assert sum(holders(s | {"batch": most + 1}).values()) > room, s
        assert most == 0 or sum(holders(s | {"batch": most}).values()) <= room, s


def test_a_fault_in_the_script_is_found(tmp_path):
    wrong = script().replace("layers: m.layers * kept", "layers: kept")
    assert wrong != script()
    (told,) = run(wrong, "trace", [[SETTINGS]], tmp_path)
    assert told["held"] != holders(SETTINGS)


def test_both_things_to_try_say_what_the_page_says(tmp_path):
    fit = SETTINGS | {"seq": 256, "optimizer": "adam8"}
    long = SETTINGS | {"model": "llama3_8b", "optimizer": "adam8", "seq": 32768}
    cases = [SETTINGS, SETTINGS | {"seq": 256}, fit, long | {"seq": 4096}, long, long | {"attention": "eager"}]
    first, short, fits, small, fused, eager = run(script(), "trace", [[s] for s in cases], tmp_path)
    assert not first["fits"] and not short["fits"] and fits["fits"] and fits["most"] > 1
    assert short["held"]["optimizer"] > short["capacity"]
    assert fused["held"]["layers"] == 8 * small["held"]["layers"]
    eager_small = holders(SETTINGS | {"model": "llama3_8b", "attention": "eager"})["layers"]
    scores = eager["held"]["layers"] - fused["held"]["layers"], eager_small - small["held"]["layers"]
    assert scores[0] / scores[1] == pytest.approx(64, rel=0.01)


def test_the_table_and_the_summary(tmp_path):
    assert "Llama 2 7B  4,096  fused  none  107.8 GB  26.2 GB  134.0 GB  no" in repr(table())
    (said,) = run(script(), "summary", [[SETTINGS, run(script(), "trace", [[SETTINGS]], tmp_path)[0]]], tmp_path)
    assert said == (
        "134 GB at the peak is 54.0 GB more than the 80.0 GB of NVIDIA H100 SXM: states 108 GB, saved tensors 26.2 GB. "
        "The largest part: optimizer states, 80.9 GB. Not even the states fit."
    )
    assert repr(widget("autograd").view) == "Widget autograd"
