"""Collectives: how many are issued, of which kind, with how many bytes."""

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

_NAMES = {
    "all_reduce": "allreduce allreduce_coalesced all_reduce all_reduce_coalesced",
    "all_gather": "allgather allgather_base allgather_coalesced allgather_into_tensor_coalesced all_gather_into_tensor"
    " all_gather_into_tensor_out all_gather_into_tensor_coalesced",
    "reduce_scatter": "reduce_scatter reduce_scatter_base reduce_scatter_tensor reduce_scatter_tensor_out"
    " reduce_scatter_tensor_coalesced",
    "all_to_all": "alltoall alltoall_base all_to_all_single shard_dim_alltoall",
    "broadcast": "broadcast",
    "reduce": "reduce",
    "gather": "gather",
    "scatter": "scatter",
    "send": "send isend",
    "recv": "recv irecv recv_any_source",
    "barrier": "barrier monitored_barrier",
    None: "wait_tensor wrap_tensor_autograd mesh_get_process_group check_for_nan",  # nothing is sent
}
_KINDS = {name: kind for kind, names in _NAMES.items() for name in names.split()}


class Comm(TorchDispatchMode):
    """Counts the collectives that are issued inside its ``with`` block: ``comm.kinds`` is {kind: (calls, payload bytes)}.

    The payload of a call is its largest argument or result, a list of tensors counting as one: the whole message of an
    all-gather, not this rank's share. It is not what crosses the wire, which depends on the algorithm. Kinds:
    all_reduce all_gather reduce_scatter all_to_all broadcast reduce gather scatter send recv barrier.
    """

    def __init__(self):
        super().__init__()
        self.kinds = {}

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if any(hasattr(kind, "__tensor_flatten__") for kind in types):
            return NotImplemented  # a sharded tensor first becomes its local operators, collectives among them
        out = func(*args, **(kwargs or {}))
        if func.namespace in ("c10d", "_c10d_functional", "c10d_functional", "_dtensor"):
            kind = _kind(func._schema.name)
            if kind:
                calls, payload = self.kinds.get(kind, (0, 0))
                results = out if isinstance(out, tuple) else (out,)
                largest = max(map(_bytes, (*args, *(kwargs or {}).values(), *results)))
                self.kinds[kind] = calls + 1, payload + (largest if kind != "barrier" else 0)
        return out


def _kind(operator):
    name = operator.split("::")[1].strip("_")
    if name not in _KINDS:
        raise ValueError(f"{operator} is a collective that the counter does not know: give it a kind in {__name__}")
    return _KINDS[name]


def _bytes(value):
    return sum(t.numel() * t.element_size() for t in tree_leaves(value) if isinstance(t, torch.Tensor))


def comm_bytes(function):
    """Call ``function()`` and return ``(its result, {kind: (calls, payload bytes)})`` of its collectives; see ``Comm``."""
    with Comm() as comm:
        out = function()
    return out, comm.kinds


def ddp_bytes(module, function):
    """Wrap a module in DistributedDataParallel, call ``function(wrapped)``, and return ``(its result, [bytes])``.

    One number for each gradient bucket that would be all-reduced, in the order of issue. Needs a process group; counts
    in a communication hook, because plain DDP fails on a fake group (torch 2.13).
    """
    buckets = []

    def hook(state, bucket):  # DDP insists on the name `bucket`
        buckets.append(bucket.buffer().numel() * bucket.buffer().element_size())
        done = torch.futures.Future()
        done.set_result(bucket.buffer())
        return done

    wrapped = torch.nn.parallel.DistributedDataParallel(module)
    wrapped.register_comm_hook(None, hook)
    return function(wrapped), buckets
