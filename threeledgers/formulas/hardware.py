"""Ceilings of one device: the rates that no program on it can exceed."""

from threeledgers.formula import formula
from threeledgers.formulas.symbols import BYTE, FMA


@formula(unit="FLOP/s", source="vendor architecture guides; dense", symbol=r"\pi_{\mathrm{tensor}}")
def tensor_peak(tensor_cores, fma_per_clock, clock):
    """Every tensor core finishes a fixed number of multiply-adds per clock, and each is 2 FLOPs."""
    return FMA * tensor_cores * fma_per_clock * clock


@formula(unit="FLOP/s", source="vendor architecture guides", symbol=r"\pi_{\mathrm{vector}}")
def vector_peak(fp32_lanes, sms, clock):
    """Every fp32 lane of every SM finishes one multiply-add per clock."""
    return FMA * fp32_lanes * sms * clock


@formula(unit="B/s", source="double data rate: two transfers per memory clock", symbol=r"\beta_{\mathrm{mem}}")
def memory_bandwidth(bus_bits, memory_clock):
    """The bus moves its width twice per memory clock; divide by 8 for bytes."""
    return 2 * bus_bits / BYTE * memory_clock


@formula(unit="FLOP/B", source="Williams, Waterman & Patterson 2009", symbol=r"I^{*}")
def ridge_intensity(peak, bandwidth):
    """Below this many FLOPs per byte the memory is the ceiling, above it the arithmetic is."""
    return peak / bandwidth


@formula(unit="s", source="definition: bytes over the bandwidth of all devices together", symbol=r"t_{\mathrm{stream}}")
def stream_time(traffic, devices, bandwidth):
    """No kernel can move the bytes faster than the memory can."""
    return traffic / (devices * bandwidth)
