"""What a clock says: seconds per call, ceilings of the machine, peak memory, and which machine it was."""

import contextlib
import gc
import math
import os
import platform
import re
import subprocess
import time
from dataclasses import asdict, make_dataclass
from functools import cache
from pathlib import Path

import torch

MIB, GIB = 2**20, 2**30
FEWEST = 5  # fewer samples say nothing of their spread
EMULATED = 1.5  # a type that multiplies this much slower than float32 has no units of its own
SMI = ["nvidia-smi", "--query-gpu=driver_version,clocks.sm,power.limit,uuid", "--format=csv,noheader,nounits"]
# What the hardware itself can do: capability is "9.0" or None; bf16, tf32, flash are bools; half is the 16-bit torch.dtype
# that it multiplies, or float32 on a CPU that has none; why says what decided.
Capabilities = make_dataclass("Capabilities", "device name capability bf16 tf32 flash half why".split(), frozen=True)
# Floats, a count and a verdict: "too noisy" when p90 - p10 is above half the median, or n below 5; else "ok".
Summary = make_dataclass("Summary", "median p10 p90 n verdict".split(), frozen=True)


class NoDevice(RuntimeError):
    """The device asked for is not here; the message names what is."""


def device(kind=None):
    """The torch.device of ``"cpu"`` or ``"cuda"``; None takes CUDA if present, else the CPU. Raises NoDevice."""
    if kind not in (None, "cpu", "cuda"):
        raise NoDevice(f"no kind of device is called {kind!r}; the kinds are cpu, cuda")
    if kind == "cuda" and not torch.cuda.is_available():
        why = "sees no GPU" if torch.version.cuda else "was built without CUDA"
        raise NoDevice(f"cuda is not here: torch {torch.__version__} {why}; there is cpu: ask for cpu, or for nothing")
    return torch.device(kind or ("cuda" if torch.cuda.is_available() else "cpu"))


def _on_cuda(device):
    return torch.device(device).type == "cuda"


def decide(kind, name, capability, slowdown=None):
    """Capabilities of a GPU by compute capability, a tuple as (7, 5): ``is_bf16_supported()`` is True on a T4 that emulates.

    Of a CPU by ``slowdown``: a bf16 product that takes longer than one in float32 is emulated.
    """
    if kind == "cpu":
        half = torch.bfloat16 if slowdown <= EMULATED else torch.float32
        why = f"a bf16 product takes {slowdown:.2g} times as long as one in float32"
        return Capabilities("cpu", name, None, half.itemsize == 2, tf32=False, flash=False, half=half, why=why)
    new, text = tuple(capability) >= (8, 0), ".".join(map(str, capability))
    half = torch.bfloat16 if new else torch.float16
    return Capabilities(kind, name, text, bf16=new, tf32=new, flash=new, half=half, why=f"compute capability {text}")


@cache
def bf16_slowdown(width=256, calls=7):
    """How many times as long a CPU takes for a matrix product in bf16 as for the same in float32: the best of some calls."""

    pairs = [(torch.ones(width, width, dtype=t),) * 2 for t in (torch.bfloat16, torch.float32)]
    half, single = (min(times(torch.mm, [pair], "cpu", n=calls, budget=math.inf)) for pair in pairs)
    return half / single


def capabilities(device):
    """Capabilities of a device; of a CPU measured once."""
    if _on_cuda(device):
        return decide("cuda", torch.cuda.get_device_name(device), torch.cuda.get_device_capability(device))
    name = _proc("cpuinfo", "model name") or platform.processor() or platform.machine() or "CPU"
    return decide("cpu", name, None, bf16_slowdown())


def summarise(samples):
    """Summary of samples, percentiles by linear interpolation; ValueError names the sample that is no positive number."""
    samples = list(samples)
    bad = [f"sample {at} of {len(samples)} is {s}" for at, s in enumerate(samples) if not 0 < s < float("inf")]
    if bad or not samples:
        raise ValueError(f"{(bad or ['the list of samples is empty'])[0]}; finite positive numbers are needed")
    low = sorted(samples)
    ranks = [divmod(percent * (len(low) - 1), 100) for percent in (10, 50, 90)]
    p10, median, p90 = (float(low[k] + part / 100 * (low[min(k + 1, len(low) - 1)] - low[k])) for k, part in ranks)
    noisy = len(low) < FEWEST or (p90 - p10) / median > 0.5
    return Summary(median, p10, p90, len(low), "too noisy" if noisy else "ok")


def times(function, inputs, device, *, warmup=3, n=20, budget=2.0):
    """Seconds of each of up to ``n`` calls, by CUDA events on the current stream or by the CPU's monotonic clock.

    ``inputs``: tuples of arguments, in rotation from the first warm-up call on, so that no cache serves the same data
    again. Stops after ``budget`` seconds once 5 samples are in. ValueError where inputs are anything else.
    """
    if not inputs or not all(isinstance(args, tuple) for args in inputs):
        raise ValueError(f"inputs is {inputs!r:.60}; a list of one or more tuples of arguments is needed")
    cuda, marks, collecting = _on_cuda(device), [], gc.isenabled()
    # record() returns None: the value is the event, recorded
    now = (lambda: (event := torch.cuda.Event(enable_timing=True)).record() or event) if cuda else time.perf_counter
    gc.disable()
    try:
        for call in range(warmup):
            function(*inputs[call % len(inputs)])
        begin = time.perf_counter()
        for call in range(warmup, warmup + n):
            args = inputs[call % len(inputs)]
            start, result, end = now(), function(*args), now()
            del result  # giving memory back is no part of the call
            marks.append((start, end))
            if cuda and len(marks) > FEWEST:  # the queue stays filled, yet the host keeps pace: the budget needs it
                marks[-1 - FEWEST][1].synchronize()
            if len(marks) >= FEWEST and time.perf_counter() - begin >= budget:
                break
        if cuda:
            torch.cuda.synchronize(device)
    finally:
        if collecting:
            gc.enable()
    return [start.elapsed_time(end) / 1000 if cuda else end - start for start, end in marks]


def rotated(make, nbytes, device, beyond=None):
    """``[make(0), …]`` of ``nbytes`` each: 2 or more, beyond 4 last-level caches in all, in 1 GiB and 1/4 of free memory."""
    if beyond is None and _on_cuda(device):
        beyond = 4 * getattr(torch.cuda.get_device_properties(device), "L2_cache_size", 50 * MIB)
    elif beyond is None:  # Linux prints every size in K
        sizes = [p.read_text() for p in Path("/sys/devices/system/cpu/cpu0/cache").glob("index*/size")]
        beyond = 4 * max((1024 * int(s.strip().rstrip("K")) for s in sizes), default=32 * MIB)
    most = min(GIB, _memory(device)[0] // 4) // nbytes
    return [make(i) for i in range(max(2, min(beyond // nbytes + 1, most)))]


def quantity(name, samples_or_values, unit, at=None, convert=None):
    """A quantity of a record; ``convert`` turns each sample (seconds) into what is summarised. ValueError as summarise."""
    try:
        summary = summarise(convert(s) if convert else s for s in samples_or_values)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None
    return {"name": name, "at": dict(at or {}), "unit": unit, **asdict(summary)}


def ceilings(device, *, quick=False, seed=0):
    """The best FLOP/s (2 m n k) of a matrix product and B/s (read + written) of a copy: the denominators of this run.

    float32 on one CPU thread (two give wild ratios); ``half`` on CUDA. What does not fit is left out, else MemoryError.
    """
    cuda, how = _on_cuda(device), {"n": 8, "budget": 0.1} if quick else {"n": 20, "budget": 0.4}
    dtype = capabilities(device).half if cuda else torch.float32
    widths, mibs = ((2048, 4096, 8192), (256, 64, 1024)) if cuda else ((256, 512, 1024), (16, 64))
    widths, mibs = (widths[:2], mibs[:1]) if quick else (widths, mibs)
    generator = torch.Generator(device).manual_seed(seed)

    def gemm(width):  # random numbers: on zeros a GPU draws less power and clocks higher
        abc = [torch.randn(width, width, device=device, generator=generator).to(dtype) for _ in range(3)]
        samples = times(lambda a, b, c: torch.mm(a, b, out=c), [tuple(abc)], device, **how)
        at = {"m": width, "n": width, "k": width, "dtype": str(dtype).removeprefix("torch.")}
        return quantity("gemm_flops", samples, "FLOP/s", at, lambda s: 2 * width**3 / s)

    def copy(mib):  # filled: pages never written to would all be one physical page of zeros
        pair = {"size": (2, mib * MIB), "fill_value": 7, "dtype": torch.uint8, "device": device}
        pairs = rotated(lambda i: tuple(torch.full(**pair)), 2 * mib * MIB, device)
        samples = times(lambda a, b: b.copy_(a), pairs, device, **how)
        return quantity("copy_bandwidth", samples, "B/s", {"bytes": 2 * mib * MIB}, lambda s: 2 * mib * MIB / s)

    threads, found = torch.get_num_threads(), {}
    torch.set_num_threads(1)
    try:
        for name, attempt, sizes in (("gemm_flops", gemm, widths), ("copy_bandwidth", copy, mibs)):
            tried = [_unless_full(attempt, size) for size in sizes]
            if not any(tried):
                raise MemoryError(f"{name}: not even {attempt.__name__} {min(sizes)}, the smallest, fits on {device}")
            found[name] = max(filter(None, tried), key=lambda q: q["median"])
    finally:
        torch.set_num_threads(threads)
    return found


def _unless_full(attempt, size):
    try:
        return attempt(size)
    except (RuntimeError, MemoryError) as error:
        words = re.search("out of memory|not enough memory|can't allocate memory|ALLOC_FAILED", str(error))
        if not (words or isinstance(error, torch.OutOfMemoryError | MemoryError)):
            raise


class PeakMemory:
    """Peak bytes during its ``with`` block, not to be nested. CUDA: all that is allocated. CPU: growth of resident memory."""

    def __init__(self, device=None):
        self.bytes, self._cuda = 0, torch.cuda.is_available() if device is None else _on_cuda(device)

    def __enter__(self):
        with contextlib.suppress(Exception):  # where the file is absent or forbidden, the peak so far is the base
            torch.cuda.reset_peak_memory_stats() if self._cuda else Path("/proc/self/clear_refs").write_text("5")
        self._before = 0 if self._cuda else self._peak()
        return self

    def __exit__(self, *_):
        self.bytes = max(0, self._peak() - self._before)

    def _peak(self):
        with contextlib.suppress(Exception):
            if self._cuda:
                return torch.cuda.max_memory_allocated()
            if text := _proc("self/status", "VmHWM"):
                return 1024 * int(text.split()[0])
            import resource  # not on Windows

            return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if platform.system() == "Darwin" else 1024)
        return 0


def machine(device):
    """The ``machine`` of a record: hardware, driver, versions and load; None where a thing is not to be known."""
    able, gpu = capabilities(device), torch.cuda.get_device_properties(device) if _on_cuda(device) else None
    found = {"device": able.device, "name": able.name, "capability": able.capability, "cpu": capabilities("cpu").name}
    found |= {"memory_bytes": _memory(device)[1], "sm_count": gpu and gpu.multi_processor_count}
    found |= {"torch": str(torch.__version__), "cuda": torch.version.cuda, "python": platform.python_version()}
    found |= {"os": f"{platform.system()} {platform.release()}", "cores": os.cpu_count() or 1}
    found["load_average"] = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
    smi = _smi(str(getattr(gpu, "uuid", "-"))) if gpu else (None, None, None)
    return found | dict(zip(("driver", "clocks_mhz", "power_limit_w"), smi, strict=True))


def _smi(uuid):
    with contextlib.suppress(OSError, subprocess.SubprocessError, ValueError, IndexError):  # absent, hangs, says little
        rows = subprocess.run(SMI, capture_output=True, text=True, timeout=5, check=True).stdout.splitlines()
        driver, clock, watts = min(rows, key=lambda row: uuid not in row).split(", ")[:3]
        return driver, *(float(v) if v[0].isdigit() else None for v in (clock, watts))
    return None, None, None


def _memory(device):  # bytes free, bytes in all
    if _on_cuda(device):
        return torch.cuda.mem_get_info(device)
    free, total = (_proc("meminfo", name) for name in ("MemAvailable", "MemTotal"))
    if free and total:
        return 1024 * int(free.split()[0]), 1024 * int(total.split()[0])
    return 4 * GIB, os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _proc(file, name):
    """What follows ``name:`` in a file of /proc; None where there is no such file or line."""
    try:
        return re.search(rf"^{name}\s*:\s*(.*\S)", Path("/proc", file).read_text(encoding="utf8"), re.M)[1]
    except (OSError, TypeError):
        return None
