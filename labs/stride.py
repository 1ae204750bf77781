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
# (lab-stride)=
# # Lab: stride on this machine
#
# The {ref}`lecture <stride>` predicts what share of the moved bytes a strided copy uses. Here a clock says what
# the machine makes of it. The lab runs as a page, as a notebook and as a program:
#
# ```
# threeledgers lab stride --device cuda --out .
# ```
#
# Without a GPU it uses the CPU and smaller sizes. It says what it needs before it starts.

# %% tags=["nbval-ignore-output"]
import torch

from threeledgers import figures, records
from threeledgers.formulas import strided_copy_share, warp_sectors
from threeledgers.kernels import stride as kernels
from threeledgers.lab import Lab, explore

lab = Lab(
    "stride",
    seconds={"cpu": 15, "cuda": 20},
    memory={"cpu": 2.2e9, "cuda": 9e9},
)

# %% [markdown]
# ## Predict
#
# A copy of a strided view reads every sector it touches and writes only the elements. The model knows sectors of
# {literal}`32 bytes` and warps of 32 lanes, so it speaks about GPUs; a CPU has cache lines of its own, and we
# expect only the same direction there.

# %%
strides = (1, 2, 4, 8, 16, 32)
predicted = {
    s: strided_copy_share(
        elem_bytes=4,
        sectors=warp_sectors(offset=0, elem_bytes=4, lane_stride=s),
    )
    for s in strides
}
for s, share in predicted.items():
    print(f"stride {s:2}: {share:.3f} of the rate at stride 1")

# %% [markdown]
# ## Measure
#
# The denominator is measured in the same run: the copy at stride 1. Source and destination are taken in turn from
# storages larger than the caches of most machines.


# %% tags=["nbval-ignore-output"]
def storages(elements):
    return torch.zeros(2, elements, device=lab.device)


largest = 2**30 if lab.cuda else 2**25 if lab.quick else 2**27
sizes = [largest >> k for k in range(4)]
total, (source, sink) = lab.fitting("storage_elements", sizes, storages)
n = total // 64


def rate(seconds):
    return 2 * 4 * n / seconds


def strided(s, offset=0):
    views = kernels.windows(source, n, s, offset)
    sinks = kernels.windows(sink, n, 1)
    return [(out, views[k % len(views)]) for k, out in enumerate(sinks)]


for s in strides:
    lab.measure(
        "strided_bandwidth",
        kernels.strided_copy,
        strided(s),
        unit="B/s",
        at={"stride": s},
        convert=rate,
    )
lab.measure(
    "offset_bandwidth",
    kernels.strided_copy,
    strided(1, 1),
    unit="B/s",
    at={"offset": 1},
    convert=rate,
)
print(lab.line())

# %% [markdown]
# The same bytes in two orders: a matrix copied as it lies, and copied transposed; sums along rows, and along
# columns; a convolution in the two memory formats.

# %% tags=["nbval-ignore-output"]
side = min(8192, int(total**0.5))
matrix = source[: side * side].view(side, side)
lab.measure("clone_time", kernels.clone, [(matrix,)])
lab.measure("transpose_time", kernels.transpose_copy, [(matrix,)])
rows = lab.measure("rows_time", kernels.sum_lines, [(matrix, 0)])
columns = lab.measure("columns_time", kernels.sum_lines, [(matrix, 1)])

batch = 32 if lab.cuda else 2
weights = torch.randn(64, 64, 3, 3, device=lab.device)
for name in ("contiguous_format", "channels_last"):
    layout = getattr(torch, name)
    images = torch.randn(batch, 64, 56, 56, device=lab.device)
    images = images.contiguous(memory_format=layout)
    lab.measure(
        "convolution_time",
        kernels.convolve,
        [(images, weights.contiguous(memory_format=layout))],
        at={"layout": name},
    )

# %% [markdown]
# ## Compare
#
# One thing must hold, and stops the lab if it does not: on a CPU, sums along columns take more than five times as long
# as along rows, each by its fastest tenth. Everything else is shown and left to you: machines are noisy, and shared
# ones more so.

# %% tags=["nbval-ignore-output"]
record = lab.record()
(plain,) = records.pick(record, "strided_bandwidth", stride=1)
shares = {
    q["at"]["stride"]: q["median"] / plain["median"]
    for q in records.pick(record, "strided_bandwidth")
}
print(f"{lab.line()}\n\nstride  predicted  this run")
for s in strides:
    print(f"{s:6}  {predicted[s]:9.3f}  {shares[s]:8.3f}")
ratio = columns["p10"] / rows["p10"]
print(f"\ncolumns over rows: {ratio:.1f}")
assert lab.cuda or ratio > 5, "column sums should be far slower on a CPU"


# %% tags=["hide-input", "nbval-ignore-output"]
def picture(stride=8):
    figure, axes = figures.new(6.4, 2.8)
    axes.plot(
        strides,
        [predicted[s] for s in strides],
        "s--",
        mfc="none",
        color=figures.COLOURS["muted"],
        label="sector model",
    )
    axes.plot(
        strides,
        [shares[s] for s in strides],
        "o-",
        color=figures.COLOURS["memory"],
        label=lab.can.name,
    )
    again = lab.measure(
        "again_bandwidth",
        kernels.strided_copy,
        strided(stride),
        unit="B/s",
        convert=rate,
    )
    lab.quantities.pop()
    share = again["median"] / plain["median"]
    axes.plot(
        [stride],
        [share],
        "D",
        ms=9,
        mfc="none",
        color=figures.COLOURS["flops"],
        label=f"stride {stride}, now",
    )
    axes.set_xscale("log", base=2)
    axes.set(xticks=strides, xticklabels=strides, ylim=(0, None))
    axes.set_xlabel("stride (elements)")
    axes.set_ylabel("rate / rate at stride 1")
    axes.legend()
    return figures.draw(
        figure,
        f"""Rate of a strided copy over that at stride 1,
        against the stride, predicted and measured. At stride {stride} a
        fresh measurement gives {share:.3f}.""",
    )


explore(picture, stride=[8, 1, 2, 4, 16, 32])

# %% [markdown]
# Every number above belongs to the line that starts with the machine's name. On a CPU the shares fall further
# than the model: a strided loop also loses its vector instructions and, at large strides, a page of memory per
# few elements. The model counts sectors and nothing else.
#
# ## Keep
#
# The record holds machine, versions, sizes and every quantity with its spread. Lay it beside ours on
# {ref}`compare`.

# %% tags=["nbval-ignore-output"]
saved = lab.save()
