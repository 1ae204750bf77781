# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# (lab-autograd)=
# # Lab: the peak of a training step
#
# The {ref}`lecture <autograd>` adds up what a step keeps. Here the same sum stands beside what this machine
# really held: the allocator's peak on a GPU, the sum of all live tensors on a CPU. Then the batch is raised until it
# does not fit, and recomputing is timed.
#
# ```
# threeledgers lab autograd --device cuda --out .
# ```
#
# Without a GPU it uses a smaller model, and the bytes are exact.

# %% tags=["nbval-ignore-output"]
from functools import partial

import torch

from threeledgers import formulas as f
from threeledgers.kernels import autograd as kernels
from threeledgers.kernels.memory import cuda_peak
from threeledgers.lab import Lab
from threeledgers.transformer import Config

lab = Lab(
    "autograd",
    seconds={"cpu": 15, "cuda": 40},
    memory={"cpu": 1.5e9, "cuda": 12e9},
)

# %% [markdown]
# ## Predict
#
# A small Llama in 16 bits: bf16, or fp16 on a GPU without bf16 units. Its weights and gradients exist before the
# step; what a micro-batch adds is predicted by the lecture's formulas. Of a checkpointed model a block is whole
# while it runs again, or the loss is the peak: whichever is larger. On a CPU bytes are counted without a
# multiplication, so that nothing waits for units that it may not have.

# %% tags=["nbval-ignore-output"]
wide = dict(vocab=32000, hidden=1024, heads=16, kv_heads=16, head_dim=64)
slim = dict(vocab=2048, hidden=256, heads=8, kv_heads=8, head_dim=32)
shape = wide if lab.cuda else slim
layers, ffn = (12, 2752) if lab.cuda else (3 if lab.quick else 5, 688)
config = Config(**shape, layers=layers, ffn=ffn)
dtype = lab.can.half if lab.cuda else torch.bfloat16
lab.dtype = str(lab.can.half).removeprefix("torch.")
seq = 1024 if lab.cuda else 256
modes = ("none", "full")
lab.sizes |= {"layers": layers, "hidden": config.hidden, "seq": seq}


# %% tags=["nbval-ignore-output"]
def predict(batch, mode):
    sizes = dict(batch=batch, seq=seq, hidden=config.hidden)
    block = f.llama_block_saved_bytes(
        **sizes,
        heads=config.heads,
        head_dim=config.head_dim,
        ffn=config.ffn,
    )
    head = f.head_saved_bytes(
        **sizes,
        head_dim=config.head_dim,
        vocab=config.vocab,
        tensor_ranks=1,
    )
    loss = f.loss_backward_bytes(batch=batch, seq=seq, vocab=config.vocab)
    if mode == "none":
        return layers * block + head + loss
    kept = f.checkpoint_saved_bytes(**sizes, elem_bytes=2)
    return layers * kept + head + max(loss, block)


batches = (1, 2, 4, 8) if lab.cuda else (1, 2, 4)
for mode in modes:
    for batch in batches:
        told = predict(batch, mode)
        print(f"checkpoint {mode}, batch {batch}: {told / 1e6:,.1f} MB")

# %% [markdown]
# ## Measure
#
# One micro-batch forward and backward, for each batch and both modes. Without a GPU PyTorch runs it on fake tensors,
# which have sizes and no numbers, and each is followed until it dies; a GPU's allocator keeps the peak itself. It also
# rounds, and reserves more than it gives out.

# %% tags=["nbval-ignore-output"]
nets = {
    m: kernels.build(config, lab.device, lab.can.half, m) for m in modes
}


def ids(batch):
    return torch.zeros(batch, seq, dtype=torch.int64, device=lab.device)


for mode, net in nets.items():
    for batch in batches:
        at = {"batch": batch, "seq": seq, "checkpoint": mode}
        if lab.cuda:
            run = partial(kernels.micro_batch, net, ids(batch))
            peak, reserved = cuda_peak(run)
            lab.note("reserved_bytes", reserved, "B", at=at)
        else:
            peak = kernels.counted_peak(config, batch, seq, mode, dtype)
            peak += 8 * batch * seq  # the token ids, saved for backward
        lab.note("peak_bytes", peak, "B", at=at)
        lab.note("predicted_bytes", predict(batch, mode), "B", at=at)

# %% [markdown]
# Raise the batch until it does not fit, starting from the prediction. Nobody's card should be filled for this, so
# the lab draws a line of its own: on a GPU by the share of memory that this process may take, on a CPU by counting
# fake tensors.

# %% tags=["nbval-ignore-output"]
room = 4 * 10**9 if lab.cuda else 200 * 10**6
lab.sizes["room_bytes"] = room


def attempt(batch, mode):
    if lab.cuda:
        return kernels.micro_batch(nets[mode], ids(batch))
    ids_bytes = 8 * batch * seq
    peak = kernels.counted_peak(config, batch, seq, mode, dtype)
    if peak + ids_bytes > room:
        raise MemoryError


if lab.cuda:
    total = torch.cuda.get_device_properties(lab.device).total_memory
    torch.cuda.empty_cache()
    taken = torch.cuda.memory_reserved(lab.device)
    torch.cuda.set_per_process_memory_fraction(
        min(1.0, (taken + room) / total)
    )
for mode in modes:
    told = max(b for b in range(1, 257) if predict(b, mode) <= room)
    found = kernels.largest_batch(
        lambda b, m=mode: attempt(b, m), 256, guess=told
    )
    lab.note("batch_max", found, "1", at={"checkpoint": mode})
    lab.note("predicted_batch_max", told, "1", at={"checkpoint": mode})
if lab.cuda:
    torch.cuda.set_per_process_memory_fraction(1.0)

# %% [markdown]
# Last, the time of a step with and without recomputing, in the type that this device multiplies. Counted, full
# checkpointing adds about a third of the arithmetic.

# %% tags=["nbval-ignore-output"]
times = {
    mode: lab.measure(
        "step_time",
        kernels.micro_batch,
        [(net, ids(1))],
        at={"checkpoint": mode},
    )
    for mode, net in nets.items()
}
ratio = times["full"]["median"] / times["none"]["median"]
lab.note("recompute_time_ratio", ratio, "1")

# %% [markdown]
# ## Compare
#
# Without checkpointing, the CPU's bytes must equal the prediction. Everything else is shown. Published: full
# recomputation took 30 to 40 % more time on A100s, with models of 22 to 1,000 billion parameters
# {cite}`korthikanti_activations`. No GPU record of this lab exists yet.

# %% tags=["nbval-ignore-output"]
print(f"{lab.line()}\n")
print("checkpoint  batch  predicted MB  peak MB   error")
for q in lab.quantities:
    if q["name"] == "peak_bytes":
        at = q["at"]
        told = predict(at["batch"], at["checkpoint"])
        error = told / q["median"] - 1
        print(
            f"{at['checkpoint']:10}  {at['batch']:5}  {told / 1e6:12,.1f}  "
            f"{q['median'] / 1e6:7,.1f}  {error:+6.1%}"
        )
        exact = not lab.cuda and at["checkpoint"] == "none"
        assert not exact or told == q["median"]
for name in ("batch_max", "predicted_batch_max"):
    found = [q for q in lab.quantities if q["name"] == name]
    shown = ", ".join(
        f"{q['at']['checkpoint']} {q['median']:.0f}" for q in found
    )
    print(f"{name}: {shown}")
print(f"recomputing: {ratio:.2f} times as long")

# %% [markdown]
# ## Keep

# %% tags=["nbval-ignore-output"]
saved = lab.save()
