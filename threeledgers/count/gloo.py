"""Bytes that real processes write when they run a collective over gloo, read from the kernel's own account."""

import json
import os
import subprocess
import sys
import tempfile
from datetime import timedelta
from pathlib import Path

import torch
import torch.distributed as dist

_ACCOUNT = Path("/proc/self/io")
_SECONDS = 60


def process_written(function):
    """Call ``function()`` and return ``(its result, bytes this process wrote meanwhile)``, by any thread, to anything.

    Files, pipes and sockets count alike: print nothing inside. The bytes are None where /proc/self/io cannot be read.
    """
    before = _written()
    out = function()
    after = _written()
    return out, None if before is None or after is None else after - before


def _written():
    try:
        return int(_ACCOUNT.read_text().split("wchar:")[1].split()[0])
    except OSError:
        return None


def gloo_bytes(ranks, name, message):
    """Start ``ranks`` processes that run one collective over gloo, and return the bytes each wrote, headers included.

    ``name``: one of ``COLLECTIVES``, or several separated by spaces, which gives a dictionary. ``message``: bytes of
    the whole message, a multiple of 4 × ranks. Raises RuntimeError when a process fails or takes over a minute; gives
    None for a rank whose account cannot be read.
    """
    names = name.split()
    if not names or not set(names) <= set(COLLECTIVES):
        raise ValueError(f"{name!r} is none of {', '.join(COLLECTIVES)}")
    if message < 1 or message % (4 * ranks):
        raise ValueError(f"a message of {message} bytes is not a multiple of 4 x {ranks} ranks")
    with tempfile.TemporaryDirectory() as folder:
        results = _start(ranks, [Path(folder, "store"), message, *names])
    by_name = {name: [rank[name] for rank in results] for name in names}
    return by_name if len(names) > 1 else by_name[name.strip()]


def _start(ranks, arguments):
    # this file as a program, not multiprocessing: that would import the caller's main module, maybe a notebook
    loopback = {"GLOO_SOCKET_IFNAME": "lo"} if Path("/sys/class/net/lo").exists() else {}
    processes = [
        subprocess.Popen(
            [sys.executable, "-P", __file__, str(rank), str(ranks), *map(str, arguments)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | {"OMP_NUM_THREADS": "1"} | loopback,
        )
        for rank in range(ranks)
    ]
    try:
        done = [(process, *process.communicate(timeout=2 * _SECONDS)) for process in processes]
    except subprocess.TimeoutExpired:
        raise RuntimeError(f"gloo with {ranks} ranks did not end within {2 * _SECONDS} s") from None
    finally:
        for process in processes:
            if process.poll() is None:
                process.kill()
                process.communicate()
    for process, _, errors in done:
        if process.returncode:
            raise RuntimeError(f"a rank of {ranks} failed: {errors.strip().splitlines()[-1:]}")
    return [json.loads(out.splitlines()[-1]) for _, out, _ in done]  # gloo of torch 2.9 prints lines of its own before


def _rank(rank, ranks, store, message, *names):
    """What one of the processes does: each collective once to open its connections, then once to be counted."""
    rank, ranks = int(rank), int(ranks)
    wait = timedelta(seconds=_SECONDS)
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=ranks, timeout=wait)
    written = {}
    for name in names:
        for _ in range(2):
            whole = torch.ones(int(message) // 4)
            share = torch.ones(whole.numel() // ranks)
            dist.barrier()
            written[name] = process_written(lambda run=COLLECTIVES[name], w=whole, s=share: run(w, s))[1]
            dist.barrier()
    print(json.dumps(written))
    dist.destroy_process_group()


def ring_all_reduce(tensor):
    """Sum a 1-D tensor over all ranks in place: a reduce-scatter, then an all-gather, along one ring.

    Its size must be a multiple of the number of ranks. Each rank sends 2 (N - 1) messages of 1 / N of the tensor.
    """
    ring_reduce_scatter(tensor)
    rank, ranks = dist.get_rank(), dist.get_world_size()
    chunks = tensor.chunk(ranks)
    for step in range(ranks - 1):
        _pass_on(chunks[(rank + 1 - step) % ranks], chunks[(rank - step) % ranks])


def ring_reduce_scatter(tensor):
    """Sum a 1-D tensor over all ranks along one ring, and return the view of it, number rank + 1, that is complete."""
    rank, ranks = dist.get_rank(), dist.get_world_size()
    chunks, received = tensor.chunk(ranks), torch.empty_like(tensor.chunk(ranks)[0])
    for step in range(ranks - 1):
        _pass_on(chunks[(rank - step) % ranks], received)
        chunks[(rank - step - 1) % ranks].add_(received)
    return chunks[(rank + 1) % ranks]


def _pass_on(outgoing, incoming):
    rank, ranks = dist.get_rank(), dist.get_world_size()
    sending = dist.isend(outgoing, (rank + 1) % ranks)
    dist.recv(incoming, (rank - 1) % ranks)
    sending.wait()


_reduce_scatter = getattr(dist, "reduce_scatter_single", None) or dist.reduce_scatter_tensor  # torch 2.13 renamed it
COLLECTIVES = {  # each on the whole message and on one rank's share of it
    "all_reduce": lambda whole, share: dist.all_reduce(whole),
    "all_gather": lambda whole, share: dist.all_gather(list(whole.split(len(share))), share),
    "reduce_scatter": lambda whole, share: _reduce_scatter(share, whole),
    "all_to_all": lambda whole, share: dist.all_to_all_single(torch.empty_like(whole), whole),
    "broadcast": lambda whole, share: dist.broadcast(whole, 0),
    "ring_all_reduce": lambda whole, share: ring_all_reduce(whole),
    "ring_reduce_scatter": lambda whole, share: ring_reduce_scatter(whole),
}

if __name__ == "__main__":
    _rank(*sys.argv[1:])
