"""Ceilings: equal to what vendors publish."""

from tests.witnesses import close
from threeledgers import gpu
from threeledgers.formulas import memory_bandwidth, ridge_intensity, stream_time, tensor_peak, vector_peak


def tensor_peak_witness():
    close(tensor_peak(tensor_cores=528, fma_per_clock=512, clock=1_830_000_000), gpu("h100_sxm").bf16_flops, 0.001)
    close(tensor_peak(tensor_cores=432, fma_per_clock=256, clock=1_410_000_000), gpu("a100_sxm_80").bf16_flops, 0.001)
    close(tensor_peak(tensor_cores=320, fma_per_clock=64, clock=1_590_000_000), gpu("t4").fp16_flops, 0.001)
    close(
        tensor_peak(tensor_cores=1216, fma_per_clock=256, clock=2_100_000_000), 1307.4e12, 0.001
    )  # MI300X, AMD's figure


def vector_peak_witness():
    close(vector_peak(fp32_lanes=64, sms=40, clock=1_590_000_000), gpu("t4").fp32_flops, 0.006)
    close(vector_peak(fp32_lanes=64, sms=108, clock=1_410_000_000), gpu("a100_sxm_80").fp32_flops, 0.005)
    close(vector_peak(fp32_lanes=128, sms=132, clock=1_980_000_000), gpu("h100_sxm").fp32_flops, 0.005)


def memory_bandwidth_witness():
    close(memory_bandwidth(bus_bits=7680, memory_clock=3_996_000_000), gpu("b200_sxm").memory_bandwidth, 0.001)
    close(memory_bandwidth(bus_bits=5120, memory_clock=1_593_000_000), gpu("a100_sxm_80").memory_bandwidth, 0.001)


def ridge_intensity_witness():
    h100 = gpu("h100_sxm")
    close(
        ridge_intensity(peak=h100.bf16_flops, bandwidth=h100.memory_bandwidth), 298, 0.01
    )  # Austin et al. 2025, rooflines
    close(ridge_intensity(peak=3.94e14, bandwidth=8.1e11), 486, 0.002)  # the same, TPU v5e int8


def stream_time_witness():
    close(
        stream_time(traffic=2 * 200 * 10**9, devices=32, bandwidth=1.23e12), 0.01, 0.02
    )  # Austin et al. 2025, TPUs, Q1
    assert stream_time(traffic=12, devices=3, bandwidth=4) == 1
