"""What PyTorch really does, counted by PyTorch itself on a CPU. Nothing here may import a formula.

Each counter takes a function without arguments, calls it once, and returns ``(what it returned, the count)``: exact
integers, on real, ``meta()`` or ``fake()`` tensors.
"""

import os

import torch

if not torch.cuda.is_available():
    # torch's counter of FLOPs imports Triton, if it is there, and Triton reads only then whether its interpreter runs kernels
    os.environ.setdefault("TRITON_INTERPRET", "1")

from threeledgers.count.arithmetic import flops, flops_by_op
from threeledgers.count.copies import CopyCounter
from threeledgers.count.gloo import gloo_bytes, process_written
from threeledgers.count.lifetime import Saved, graph
from threeledgers.count.memory import peak_bytes, saved_bytes
from threeledgers.count.network import Comm, comm_bytes, ddp_bytes
from threeledgers.count.pretend import fake, fake_group, meta
from threeledgers.count.products import UncountedOperator
from threeledgers.count.traffic import Traffic
from threeledgers.count.views import element_addresses, random_views, shares_storage, storage_bytes, view_or_none

__all__ = [
    "Comm",
    "CopyCounter",
    "Saved",
    "Traffic",
    "UncountedOperator",
    "comm_bytes",
    "ddp_bytes",
    "element_addresses",
    "fake",
    "fake_group",
    "flops",
    "flops_by_op",
    "gloo_bytes",
    "graph",
    "meta",
    "peak_bytes",
    "process_written",
    "random_views",
    "saved_bytes",
    "shares_storage",
    "storage_bytes",
    "view_or_none",
]
