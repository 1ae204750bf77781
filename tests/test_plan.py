"""A plan: equal to counted tensors where one GPU can be counted, the same by every road, clear about what cannot be."""

import itertools
import json

import pytest
import torch

from tests.witnesses.counted import BF16, adam_states, step
from threeledgers import cli, model
from threeledgers.formula import REGISTRY
from threeledgers.plan import LINES, Job, PlanError, evaluate, fastest, fewest_gpus, largest_microbatch, nearest, plan
from threeledgers.plan.job import inputs
from threeledgers.plan.layouts import changes, divisors, fits, layouts
from threeledgers.plan.lines import OPERATIONS
from threeledgers.transformer import Config

EXAMPLE = "--model llama3_70b --gpu h100_sxm --gpus 64 --seq 8192 --batch 512 --zero 3 --tp 8 --pp 1 --checkpoint full"
KEYS = (
    "params flops_forward flops_step weights_bytes grads_bytes optimizer_bytes activations_bytes kv_cache_bytes "
    "peak_bytes_per_gpu comm_bytes_per_gpu step_seconds mfu fits"
)


def answer(capsys, command):
    """The parsed JSON that ``threeledgers plan … --json`` prints."""
    assert cli.main(["plan", *command.split(), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("checkpoint", ["none", "selective", "full"])
@pytest.mark.parametrize("batch, seq", [(1, 96), (3, 40), (1, 8)])
def test_one_gpu_is_what_pytorch_counts(checkpoint, batch, seq):
    made = plan(model="tiny", gpu="h100_sxm", seq=seq, batch=batch, microbatch=batch, checkpoint=checkpoint)
    counted = step(Config.of(model("tiny")), checkpoint, batch, seq)
    assert made["params"] == counted.params
    assert made["flops_step"] == counted.forward + counted.backward and made["flops_forward"] == counted.forward
    states, params = adam_states(BF16, (BF16,), torch.float32)
    assert {k: made[f"{k}_bytes"] * params for k in states} == {k: v * made["params"] for k, v in states.items()}
    assert made["last_saved"] + made["head_saved"] == counted.saved
    if checkpoint != "full":  # then the peak is where the loss goes backward
        assert made["activations_bytes_per_gpu"] == counted.peak
    else:
        assert made["activations_bytes_per_gpu"] >= 0.8 * counted.peak


def test_json_has_every_key_in_base_units(capsys):
    told = answer(capsys, EXAMPLE)
    assert set(KEYS.split()) <= set(told)
    assert told["weights_bytes"] == 2 * told["params"] == 2 * model("llama3_70b").params
    assert sum(told[f"{k}_bytes"] for k in ("weights", "grads", "optimizer")) == 16 * told["params"]
    assert told["flops_step"] == told["flops_forward"] + told["flops_backward"] + told["flops_again"]
    assert told["comm_bytes_per_gpu"]["all_gather"] > told["comm_bytes_per_gpu"]["reduce_scatter"] > 0
    assert 0 < told["step_seconds"]["low"] <= told["step_seconds"]["high"] and 0 < told["mfu"] < 1
    assert told["fits"] is (told["peak_bytes_per_gpu"] <= told["usable_bytes_per_gpu"])
    assert told["asked"]["tp"] == 8 and set(told["formulas"]) == {line.key for line in LINES}


def test_without_a_batch_every_replica_takes_one_micro_batch():
    assert Job("tiny", "h100_sxm", gpus=8, tp=2, microbatch=3).batch == 12
    assert Job("tiny", "h100_sxm").batch == 1


def test_each_line_names_its_formula():
    keys = [line.key for line in LINES]
    assert len(set(keys)) == len(keys)
    job = Job("tiny", "h100_sxm", gpus=4, tp=2, batch=4, seq=64)
    known = set(inputs(job))
    for line in LINES:
        assert line.formula in (OPERATIONS if line.of else REGISTRY)
        wanted = line.of or [line.given.get(p, p) for p in REGISTRY[line.formula].parameters]
        assert {name for name in wanted if isinstance(name, str)} <= known, line.key
        known.add(line.key)


# The three questions of the opening: each a case, by the command that the README shows.


def test_eight_cards_or_sixty_four(capsys):
    eight = answer(capsys, EXAMPLE.replace("--gpus 64", "--gpus 8"))
    assert not eight["fits"] and eight["nearest"] is None and eight["fewest_gpus"] == 32
    assert eight["optimizer_bytes_per_gpu"] * 8 == pytest.approx(12 * eight["params"], rel=1e-3)
    assert eight["optimizer_bytes_per_gpu"] > eight["usable_bytes_per_gpu"]  # before the first activation
    assert answer(capsys, EXAMPLE)["fits"]


def test_which_batch_before_it_overflows(capsys):
    asked = "--model llama3_8b --gpu h100_sxm --gpus 8 --zero 3 --seq 4096"
    told = answer(capsys, f"{asked} --batch 8")
    most = told["largest_microbatch"]
    assert told["fits"] and most >= 1
    for size, expected in ((most, True), (most + 1, False)):
        assert answer(capsys, f"{asked} --batch {8 * size} --microbatch {size}")["fits"] is expected
    assert answer(capsys, f"{asked} --batch 8 --checkpoint full")["largest_microbatch"] > 2 * most


@pytest.mark.parametrize(
    "asked, bound",
    [
        ("--model llama3_8b --gpu h100_sxm --gpus 8 --zero 3 --seq 8192 --batch 64 --checkpoint full", "compute"),
        ("--model llama3_8b --gpu h100_sxm --gpus 64 --zero 3 --seq 128 --batch 4096 --microbatch 1", "network"),
        ("--model llama3_8b --gpu h200_sxm --gpus 1 --seq 16 --batch 1", "memory"),
    ],
)
def test_compute_memory_or_network(capsys, asked, bound):
    told = answer(capsys, asked)
    assert told["bound"] == bound == max(told["seconds"], key=told["seconds"].get)
    hidden = max(told["seconds"].values())
    assert told["step_seconds"]["low"] == hidden


def test_published_memory_of_zero_one_to_three():
    """The four bars of the ledger page: 8B on 8 GPUs, stage 0 to 3."""
    job = Job("llama3_8b", "h100_sxm", gpus=8, batch=8)
    told = [evaluate(inputs(job.but(zero=z))) for z in range(4)]
    states = [sum(t[f"{k}_bytes_per_gpu"] for k in ("weights", "grads", "optimizer")) for t in told]
    assert [round(float(s) / 1e9, 1) for s in states] == [128.5, 44.2, 30.1, 16.1]


def test_the_nearest_layout_changes_least():
    job = Job("llama3_8b", "h100_sxm", gpus=8, seq=8192, batch=64, zero=3)
    found = nearest(job)
    assert not fits(job) and fits(found)
    fewest = min(len(changes(job, other)) for other in layouts(job) if fits(other))
    assert len(changes(job, found)) == fewest == 1
    assert nearest(found) is found
    assert nearest(Job("llama3_405b", "t4", gpus=8, batch=8, dtype="fp16")) is None


def test_the_fastest_layout_beats_every_other(capsys):
    job = Job("llama3_8b", "h100_sxm", gpus=16, seq=4096, batch=32, zero=3)
    best = fastest(job)
    times = [evaluate(inputs(other))["step_high"] for other in layouts(job) if fits(other)]
    assert evaluate(inputs(best))["step_high"] == min(times) < max(times) / 2
    assert "Fastest layout that fits" in repr(plan(**job.asked())) and "Fastest" not in repr(plan(**best.asked()))


def test_every_layout_of_a_small_job_is_tried():
    job = Job("tiny", "h100_sxm", gpus=8, batch=8, seq=64)
    seen = {(o.tp, o.pp, o.zero, o.checkpoint) for o in layouts(job)}
    expected = {(tp, pp) for tp in (1, 2) for pp in (1, 2)}  # 2 KV heads, 2 layers
    assert seen == {(*e, z, c) for e in expected for z in range(4) for c in ("none", "selective", "full")}
    assert divisors(12) == [1, 2, 3, 4, 6, 12]


def test_fewest_gpus_is_the_first_power_of_two_that_fits():
    found = fewest_gpus(Job("llama2_7b", "a100_sxm_80", seq=4096))
    assert found.gpus == 2 and fits(found)
    assert not any(fits(o) for o in layouts(Job("llama2_7b", "a100_sxm_80", seq=4096)))


def test_largest_microbatch_is_zero_when_the_states_do_not_fit():
    assert largest_microbatch(Job("llama2_7b", "a100_sxm_80")) == 0


def test_more_sharding_never_needs_more_memory():
    for tp, pp in itertools.product((1, 2, 4), (1, 2)):
        job = Job("llama3_8b", "h100_sxm", gpus=64, tp=tp, pp=pp, batch=64, seq=4096)
        states = [
            sum(evaluate(inputs(job.but(zero=z)))[f"{k}_bytes_per_gpu"] for k in ("weights", "grads", "optimizer"))
            for z in range(4)
        ]
        assert states == sorted(states, reverse=True)


GOOD = "--model llama3_8b --gpu h100_sxm"


@pytest.mark.parametrize(
    "asked, field, words",
    [
        (
            "--model llama3_8c --gpu h100_sxm",
            "model",
            "no model 'llama3_8c'; did you mean llama3_8b? there are deepseek_v3",
        ),
        ("--model llama3_8b --gpu h100sxm", "gpu", "no gpu 'h100sxm'; did you mean h100_sxm? there are a100_pcie"),
        ("--model deepseek_v3 --gpu h100_sxm", "model", "blocks of the kind mla_moe; plans are made for llama2_13b"),
        ("--model llama3_8b --gpu t4", "dtype", "t4 has no bf16 matrix units; fp16 would do"),
        (f"{GOOD} --gpus 3 --tp 3", "tp", "tp 3 does not divide the 32 heads of llama3_8b; 1, 2, 4 or 8 would do"),
        (f"{GOOD} --gpus 16 --tp 16", "tp", "tp 16 does not divide the 8 kv_heads"),
        (f"{GOOD} --gpus 33 --pp 33 --batch 33", "pp", "33 is more stages than the 32 layers"),
        (
            f"{GOOD} --gpus 12 --tp 8",
            "gpus",
            "12 GPUs cannot be laid out as tp 8 x pp 1: a multiple of 8 is needed, such as 8",
        ),
        (f"{GOOD} --gpus 8 --batch 3", "batch", "a batch of 3 cannot be shared by 8 replicas; 8 would do"),
        (f"{GOOD} --batch 4 --microbatch 3", "microbatch", "micro-batches of 3 do not divide the 4 sequences"),
        (f"{GOOD} --gpus 2 --tp 2 --seq 101", "seq", "cannot share 101 tokens among tp 2 ranks"),
        (f"{GOOD} --seq 0", "seq", "seq is 0: a whole number of at least 1 is needed"),
        (f"{GOOD} --batch -4", "batch", "batch is -4"),
        (f"{GOOD} --zero 4", "zero", "zero is 4: it must be one of 0, 1, 2, 3"),
        (f"{GOOD} --checkpoint some", "checkpoint", "it must be one of none, selective, full"),
        (f"{GOOD} --dtype fp8", "dtype", "it must be one of bf16, fp16"),
        (f"{GOOD} --usable 1.5", "usable", "a share above 0 and at most 1 is needed"),
        (f"{GOOD} --usable nan", "usable", "a share above 0 and at most 1 is needed"),
        (f"{GOOD} --nic 0", "nic", "B/s of a network card are needed"),
        (f"{GOOD} --seq 4096.5", None, "--seq: invalid whole number value: '4096.5'"),
        (f"{GOOD} --gpus many", None, "--gpus: invalid whole number value: 'many'"),
        (f"{GOOD} --stages 4", None, "unrecognized arguments: --stages 4"),
        ("--gpu h100_sxm", None, "required: --model"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(capsys, asked, field, words):
    assert cli.main(["plan", *asked.split()]) == 2
    out, err = capsys.readouterr()
    assert words in err and not out and err.count("\n") == 1
    assert cli.main(["plan", *asked.split(), "--json"]) == 2
    out, err = capsys.readouterr()
    told = json.loads(out)["error"]
    assert told["field"] == field and words in told["message"] and not err


def test_a_device_without_a_published_number_is_named(monkeypatch):
    from threeledgers.specs import Spec

    fields = Spec.fields.fget
    monkeypatch.setattr(Spec, "fields", property(lambda self: tuple(f for f in fields(self) if f != "memory_bytes")))
    with pytest.raises(PlanError, match="h100_sxm has no published memory_bytes, which a plan needs"):
        Job("tiny", "h100_sxm")


def test_the_table_shows_formulas_and_answers(capsys):
    assert cli.main(["plan", *EXAMPLE.split()]) == 0
    out = capsys.readouterr().out
    for part in (
        "zero_optimizer_bytes",
        "fsdp_gather_bytes",
        "sp_gather_bytes",
        "pipeline_time_low",
        "Fits: ",
        "bound by network",
    ):
        assert part in out
    assert cli.main(["plan", *EXAMPLE.split(), "--all"]) == 0
    assert "weights_bytes_per_gpu + grads_bytes_per_gpu" in capsys.readouterr().out


def test_unverified_numbers_are_named():
    made = plan(model="llama3_8b", gpu="rubin_sxm", gpus=8, batch=8, zero=3)
    assert "Not verified for rubin_sxm: memory_bytes, memory_bandwidth, bf16_flops, link_bandwidth." in repr(made)
    assert "Not verified" not in repr(plan(model="llama3_8b", gpu="h100_sxm", gpus=8, batch=8, zero=3))
