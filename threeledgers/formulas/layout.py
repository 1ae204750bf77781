"""Where a strided tensor's elements lie, what a copy moves, and what a warp's access touches."""

from sympy import Eq, Min, Mod, floor

from threeledgers.formula import dot, formula, gcd, product
from threeledgers.formulas.symbols import BANKS, LANES, SECTOR

_GUIDE = "CUDA C++ Best Practices Guide"


@formula(unit="B", source="PyTorch documentation, torch.Tensor.stride", symbol=r"\mathrm{addr}")
def element_address(base, elem_bytes, offset, index, strides):
    """One step along dimension k moves s_k elements through the storage; the tensor starts off elements in."""
    return base + elem_bytes * (offset + dot(index, strides))


@formula(unit="1", source="row-major order", symbol="s_i")
def contiguous_stride(inner_sizes):
    """One step along dimension i skips everything that lies inside it. Sizes of at least 1."""
    return product(inner_sizes)


@formula(unit="bool", source="PyTorch documentation, torch.Tensor.view", symbol=r"\mathrm{merge}(i,\,i+1)")
def view_mergeable(stride, inner_stride, inner_size):
    """Two neighbouring dimensions, each of size above 1, are one when a step outside equals a full run inside."""
    return Eq(stride, inner_stride * inner_size)


@formula(unit="B", source="definition: read once, write once", symbol=r"Q_{\mathrm{copy}}")
def copy_traffic(numel, elem_bytes):
    """Every element is read once and written once; a dimension of stride 0 would be read from fewer bytes."""
    return 2 * numel * elem_bytes


@formula(unit="1", source=_GUIDE, symbol=r"n_{\mathrm{sec}}")
def warp_sectors(offset, elem_bytes, lane_stride):
    """From the first byte's place in its sector to the last lane's; never more than one sector a lane.

    For elem_bytes that divide 32, so that no element lies across two sectors.
    """
    return Min(LANES, floor((Mod(offset * elem_bytes, SECTOR) + (LANES - 1) * lane_stride * elem_bytes) / SECTOR) + 1)


@formula(unit="1", source=_GUIDE, symbol=r"\mathrm{eff}")
def sector_efficiency(elem_bytes, sectors):
    """Bytes asked for by lanes that read different elements, over bytes moved."""
    return LANES * elem_bytes / (SECTOR * sectors)


@formula(unit="1", source=_GUIDE, symbol=r"n_{\mathrm{ways}}")
def bank_ways(lane_stride):
    """Lanes that meet in one bank wait for each other: a stride that shares a factor with 32 uses fewer banks.

    The stride is at least 1, in words of 4 bytes; at stride 0 all lanes read one word, which is no conflict.
    """
    return gcd(lane_stride, BANKS)


@formula(
    unit="1",
    source="definition: whole sectors are read, the elements are written side by side",
    symbol=r"\mathrm{share}",
)
def strided_copy_share(elem_bytes, sectors):
    """A copy of a strided view reads all the sectors it touches and writes only the elements."""
    return 2 * LANES * elem_bytes / (SECTOR * sectors + LANES * elem_bytes)
