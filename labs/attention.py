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
# (lab-attention)=
# # Lab: where attention spends its time
#
# The {ref}`lecture <attention>` counts what attention computes and what it moves. Here a clock and the allocator
# say what this machine makes of it: attention written out, PyTorch's operator with each backend by name, and on a
# GPU a Triton kernel that is written to be read.
#
# ```
# threeledgers lab attention --device cuda --out .
# ```
#
# Without a GPU it uses small sizes. Triton is optional: `pip install "threeledgers[triton]"`, where a CUDA build of
# torch has not brought it already.

# %% tags=["nbval-ignore-output"]
from functools import partial

import torch

from threeledgers import formulas as f
from threeledgers.kernels import attention as kernels
from threeledgers.lab import Lab

lab = Lab(
    "attention",
    seconds={"cpu": 20, "cuda": 60},
    memory={"cpu": 1.3e9, "cuda": 14e9},
)

# %% [markdown]
# ## Predict
#
# One sequence, no mask. On a GPU 16-bit numbers: bf16, or fp16 where there are no bf16 units, as on a T4. The time
# is at least what the arithmetic takes at this machine's best matrix product and what the bytes take at its best
# copy, both measured a moment ago. Tiles are taken to hold 128 queries.

# %% tags=["nbval-ignore-output"]
heads, head_dim = (16, 128 if lab.can.bf16 else 64) if lab.cuda else (2, 64)
dtype = lab.can.half if lab.cuda else torch.float32
lab.dtype = str(dtype).removeprefix("torch.")
seqs = (512, 1024, 2048, 4096, 8192) if lab.cuda else (512, 1024, 2048)
seqs = (256, 512) if lab.quick else seqs
lab.sizes |= {"heads": heads, "head_dim": head_dim, "tile_rows": 128}
size = dtype.itemsize
threads = torch.get_num_threads()
if not lab.cuda:
    torch.set_num_threads(1)  # as for the best product and the best copy


# %% tags=["nbval-ignore-output"]
def predict(seq):
    """FLOPs, and bytes across the bus written out and in tiles."""
    one = dict(elem_bytes=size, seq=seq, head_dim=head_dim)
    flops = f.attention_forward_flops(
        batch=1, layers=1, heads=heads, seq=seq, head_dim=head_dim
    )
    naive = heads * f.naive_attention_traffic(**one)
    return flops, naive, heads * f.flash_attention_traffic(**one, tile_rows=128)


def floor(flops, traffic):
    return f.roofline_time(
        flops=flops,
        traffic=traffic,
        peak=lab.ceilings["gemm_flops"]["median"],
        bandwidth=lab.ceilings["copy_bandwidth"]["median"],
    )


for seq in seqs:
    flops, naive, tiled = predict(seq)
    print(
        f"{seq:5} tokens: {flops / 1e9:8,.1f} GFLOP; "
        f"{naive / 1e6:8,.1f} MB written out, {tiled / 1e6:7,.1f} in tiles"
    )

# %% [markdown]
# ## Measure
#
# Each backend is forced: `scaled_dot_product_attention` chooses by itself otherwise, and a bar without the name of
# its backend says little. A T4 has no flash backend, a CPU has the flash and the math one.

# %% tags=["nbval-ignore-output"]
ways = {("naive", "none"): kernels.naive_attention}
for backend in kernels.usable_backends(lab.device, dtype, head_dim):
    ways["sdpa", backend] = partial(kernels.sdpa, backend=backend)
triton = kernels.triton_attention()
if lab.cuda and triton:
    ways["triton", "none"] = lambda q, k, v: triton(q, k, v)[0]
print(*(f"{impl} ({backend})" for impl, backend in ways), sep=", ")


def inputs(seq, count=1, **more):
    shape = (1, heads, seq, head_dim)
    kind = dict(device=lab.device, dtype=dtype, **more)
    return [
        tuple(torch.randn(shape, **kind) for _ in range(3))
        for _ in range(count)
    ]


# %% tags=["nbval-ignore-output"]
for seq in seqs:
    for (impl, backend), run in list(ways.items()):
        at = {"impl": impl, "backend": backend, "seq": seq}
        try:
            lab.measure("fwd_time", run, inputs(seq, 2), at=at)
            peak = kernels.peak_bytes(run, *inputs(seq)[0])
            lab.note("peak_bytes", peak, "B", at=at)
            if impl == "triton" or seq == max(seqs) and not lab.cuda:
                continue  # forward only: the kernel, and a CPU's largest size
            q, k, v = inputs(seq, requires_grad=True)[0]
            out = run(q, k, v)
            graph = [(out, (q, k, v), torch.randn_like(out))]
            lab.measure("bwd_time", kernels.backward, graph, at=at)
            del graph, out
        except Exception as error:  # too large, or no kernel for this card
            print(f"{impl} ({backend}) at {seq} tokens: {error!s:.70}")
        if lab.cuda:
            torch.cuda.empty_cache()

# %% [markdown]
# On a CPU Triton's interpreter runs the kernel slowly, so there only its result is compared.

# %% tags=["nbval-ignore-output"]
if triton:
    q, k, v = inputs(128)[0]
    exact = kernels.naive_attention(q.double(), k.double(), v.double())
    error = (triton(q, k, v)[0] - exact).abs().max().item()
    lab.note("triton_error", max(error, 1e-300), "1")
    print(f"Triton kernel, largest error: {error:.1e}")
else:
    print("Triton is not installed: its kernel is left out.")

# %% [markdown]
# ## Compare
#
# Without a graph, attention written out holds the scores twice at its peak, before and after the scale, and its
# output. On a CPU the count must equal that. The fused operator holds its output and one number a query.
#
# Published: on an A100, in training, the fused kernel took {literal}`7.3 ms` where the standard one took
# {literal}`41.7 ms` {cite}`dao_flash`. On an H100, forward, batch 128, 8 heads of width 128, the operator reached
# 287 to 298 TFLOP/s at 1,024 to 8,192 tokens, Triton's tutorial kernel 353 to 413 {cite}`torchbench_attention`.
# No GPU record of this lab exists yet.
#
# Times are compared by the 10th percentile of their samples: other programs can only make a run slower.

# %% tags=["nbval-ignore-output"]
print(f"{lab.line()}\n")
print(" tokens  way                   forward, p10   FLOP/s    floor  speed-up")
found = {
    tuple(q["at"].values()): q["p10"]
    for q in lab.quantities
    if q["name"] == "fwd_time"
}
for (impl, backend, seq), time in found.items():
    flops, naive, tiled = predict(seq)
    stored = impl == "naive" or backend == "MATH"  # the scores
    least = floor(flops, naive if stored else tiled)
    faster = found.get(("naive", "none", seq), time) / time
    at = {"impl": impl, "backend": backend, "seq": seq}
    lab.note("speedup", faster, "1", at=at)
    print(
        f"{seq:7,}  {impl:6} {backend:20}{1e3 * time:8.2f} ms"
        f"{flops / time / 1e9:7,.0f} G{1e3 * least:7.2f} ms{faster:7.2f}"
    )

# %% tags=["nbval-ignore-output"]
held = [q for q in lab.quantities if q["name"] == "peak_bytes"]
for q in held if not lab.cuda else ():
    impl, backend, seq = q["at"].values()
    out = heads * seq * head_dim * size
    told = {
        "naive": 2 * heads * seq**2 * size + out,
        "FLASH_ATTENTION": out + 4 * heads * seq,
    }.get(impl if impl == "naive" else backend)
    if told:
        assert told == q["median"], (told, q)
    print(f"{seq:6,} {impl:6} {backend:16} holds {q['median'] / 1e6:8,.2f} MB")

# %% [markdown]
# Written out, the bytes over the time are the bandwidth that it reaches: on a GPU, close to the copy's.

# %% tags=["nbval-ignore-output"]
copy = lab.ceilings["copy_bandwidth"]["median"]
for seq in seqs:
    time = found.get(("naive", "none", seq))
    if time:
        rate = predict(seq)[1] / time
        at = {"seq": seq}
        lab.note("naive_bandwidth", rate, "B/s", at=at)
        print(
            f"{seq:6,} tokens: {rate / 1e9:,.1f} GB/s, "
            f"{rate / copy:.0%} of a copy"
        )

# %% [markdown]
# ## Keep

# %% tags=["nbval-ignore-output"]
torch.set_num_threads(threads)
saved = lab.save()
