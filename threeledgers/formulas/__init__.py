"""What we predict: every closed form of the book, by the name its page uses."""

from threeledgers.formulas.hardware import memory_bandwidth, ridge_intensity, stream_time, tensor_peak, vector_peak
from threeledgers.formulas.layout import (
    bank_ways,
    contiguous_stride,
    copy_traffic,
    element_address,
    sector_efficiency,
    strided_copy_share,
    view_mergeable,
    warp_sectors,
)

__all__ = [
    "bank_ways",
    "contiguous_stride",
    "copy_traffic",
    "element_address",
    "memory_bandwidth",
    "ridge_intensity",
    "sector_efficiency",
    "stream_time",
    "strided_copy_share",
    "tensor_peak",
    "vector_peak",
    "view_mergeable",
    "warp_sectors",
]
