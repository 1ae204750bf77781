"""A pipeline waits for its slowest stage: the bounds of a step's arithmetic hold the schedule played with each stage's own work."""

import random
from fractions import Fraction

import pytest

from threeledgers import model, specs
from threeledgers.plan import Job, evaluate, plan
from threeledgers.plan.job import inputs
from threeledgers.simulate import pipeline

MODELS = [id for id in specs.ids("model") if model(id).texts["block"] == "llama"]


def stages(job, values, split=None):
    """Seconds of each stage's forward and backward of one micro-batch, exactly: its layers, and the head on the last."""
    layers, head = model(job.model).layers, values["flops_head"]
    split = split or pipeline.even(layers, job.pp)
    rate = Fraction(values["achieved"]) * (job.gpus // job.pp) * job.microbatches
    durations = []
    for whole, mine in ((values["flops_forward"], head), (values["flops_back"], 2 * head)):
        block = Fraction(whole - mine, layers)
        durations.append([(n * block + mine * (s == len(split) - 1)) / rate for s, n in enumerate(split)])
    return durations


def played(job, values, split=None):
    return pipeline.finish(*stages(job, values, split), job.microbatches)


def jobs():
    rng = random.Random("pipeline")
    for id in MODELS:
        for pp in range(1, min(model(id).layers, 64) + 1):
            checkpoint = rng.choice(("none", "selective", "full"))
            batch = rng.choice((1, 2, 3, 5, pp, 2 * pp, 40))
            seq = rng.choice((64, 1024, 4096))
            yield Job(id, "h100_sxm", gpus=pp, pp=pp, batch=batch, seq=seq, checkpoint=checkpoint)


@pytest.mark.parametrize("id", MODELS)
def test_the_played_schedule_lies_between_the_bounds(id):
    tried = 0
    for job in (j for j in jobs() if j.model == id):
        values = evaluate(inputs(job), "busy_seconds_high")
        forward, backward = stages(job, values)
        low, high = (
            values["compute_seconds"],
            values["compute_seconds_high"] if job.pp > 1 else values["compute_seconds"],
        )
        slowest = max(f + b for f, b in zip(forward, backward, strict=True))
        assert job.microbatches * slowest <= low <= pipeline.finish(forward, backward, job.microbatches) <= high, job
        tried += 1
    assert tried == min(model(id).layers, 64)


def test_eight_stages_of_llama_3_8b_wait_for_the_last():
    job = Job("llama3_8b", "h100_sxm", gpus=8, pp=8, batch=64)
    made = plan(**job.asked())
    forward, backward = stages(job, made.values)
    assert float(64 * (forward[-1] + backward[-1])) == pytest.approx(3.077, abs=5e-4)
    assert float(played(job, made.values)) == pytest.approx(3.300, abs=5e-4)
    assert made["compute_seconds"] == played(job, made.values) <= made["compute_seconds_high"]
    assert "the first 0 of 8 stages" not in repr(made) and "4 layers a stage" in repr(made)


def test_the_best_split_of_whole_layers():
    """Layers taken off the last stage, which holds the head: what an even split leaves to gain."""
    job = Job("llama3_8b", "h100_sxm", gpus=8, pp=8, batch=64)
    values = evaluate(inputs(job), "busy_seconds_high")
    splits = [[*pipeline.even(32 - last, 7), last] for last in range(5)] + [
        [*reversed(pipeline.even(32 - last, 7)), last] for last in range(5)
    ]
    assert min(float(played(job, values, split)) for split in splits) == pytest.approx(2.730, abs=5e-4)


def test_one_stage_is_all_the_work_at_the_achieved_rate():
    for batch in (1, 4):
        made = plan(model="llama3_8b", gpu="h100_sxm", batch=batch)
        assert (
            made["compute_seconds"] == Fraction(made["flops_step"], int(made["achieved"]))
            and not made["compute_seconds_high"]
        )


def slot_by_slot(stages, microbatches):
    """Slots of 1F1B when all stages move at the same time, one piece a slot."""
    waiting, done, slots = [pipeline.order(s, stages, microbatches) for s in range(stages)], set(), 0
    while any(waiting):
        ready = [s for s, p in enumerate(waiting) if p and done.issuperset(pipeline.needs(p[0][0], s, p[0][1], stages))]
        done |= {(kind, s, m) for s in ready for kind, m in [waiting[s].pop(0)]}
        slots += 1
    return slots


@pytest.mark.parametrize("count, microbatches", [(1, 3), (2, 2), (4, 8), (8, 3), (5, 1)])
def test_equal_pieces_are_the_slots_of_the_slot_by_slot_schedule(count, microbatches):
    slots = slot_by_slot(count, microbatches)
    assert pipeline.finish([1] * count, [1] * count, microbatches) == slots == 2 * (microbatches + count - 1)
    assert pipeline.one_forward_one_backward(count, microbatches) == (
        slots,
        [min(count - s, microbatches) for s in range(count)],
    )


def test_layers_that_do_not_go_round_lie_on_the_first_stages():
    assert (
        pipeline.even(7, 4) == [2, 2, 2, 1] and pipeline.even(8, 4) == [2] * 4 and pipeline.even(9, 8) == [2] + [1] * 7
    )
    made = plan(model="llama3_8b", gpu="h100_sxm", gpus=5, pp=5, batch=5)
    assert made["last_saved"] == 6 * made["layer_saved"] and made["first_saved"] == 5 * 7 * made["layer_saved"]
    assert "7 layers on the first 2 of 5 stages, 6 on the others" in repr(made)
