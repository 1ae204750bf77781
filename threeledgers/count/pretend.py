"""Tensors without memory and groups without ranks, so that 405 billion parameters can be counted on a laptop."""

from contextlib import contextmanager
from importlib import import_module
from math import prod

import torch
import torch.distributed as dist


@contextmanager
def fake(dtype=None):
    """Inside the block tensors are fake: real shapes, strides, storages and operators of a CPU, but no data.

    ``dtype``: the default type of floating point tensors inside the block. Count saved and peak bytes here: operators
    are the CPU's own, as in a real run. Make process groups and device meshes before the block.
    """
    from torch._subclasses.fake_tensor import FakeTensorMode  # private, and about to be rewritten: named here alone

    with _default(dtype), FakeTensorMode() as mode:
        yield mode


@contextmanager
def meta(dtype=None):
    """Inside the block new tensors live on the ``meta`` device: shapes without data, attention as plain products.

    Count FLOPs here. Not bytes: on ``meta`` attention keeps all its scores.
    """
    with _default(dtype), torch.device("meta"):
        yield


@contextmanager
def _default(dtype):
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype or before)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


@contextmanager
def fake_group(*ranks, rank=0, names=None):
    """Start a process group of which only ``rank`` exists, and give its device mesh; the group ends with the block.

    ``ranks``: the size, or the sizes of a mesh of several dimensions, which ``names`` names. Collectives return at
    once and move nothing; their results are garbage. Raises RuntimeError when a process group exists already,
    ValueError for a rank outside the group.
    """
    from torch.testing._internal.distributed.fake_pg import FakeStore  # registers the backend "fake"

    if dist.is_initialized():
        raise RuntimeError("a process group exists already: a fake one would replace it")
    if not torch._C._dispatch_has_kernel_for_dispatch_key("c10d::scatter_", "Meta"):
        import_module("torch.distributed._tools.fake_collectives")  # torch 2.9 lacks them for fake tensors otherwise
    world = prod(ranks)
    if not ranks or not 0 <= rank < world:
        raise ValueError(f"rank {rank} is not in a group of {' x '.join(map(str, ranks)) or 'no'} ranks")
    dist.init_process_group("fake", store=FakeStore(), rank=rank, world_size=world)
    try:
        yield dist.init_device_mesh("cpu", ranks, mesh_dim_names=names)
    finally:
        dist.destroy_process_group()
