"""Copies and sums that differ only in how their data lies."""

import torch


def strided_copy(destination, source):
    """Copy a strided view into a contiguous tensor of the same number of elements."""
    destination.copy_(source)


def windows(storage, elements, stride, offset=0):
    """Views of ``elements`` elements at this stride, side by side in a 1-D storage: as many as fit, at most 64."""
    width = elements * stride
    count = min(64, (storage.numel() - offset) // width)
    if count < 1:
        raise ValueError(
            f"{elements} elements at stride {stride} need {width + offset}, the storage holds {storage.numel()}"
        )
    return [storage[offset + k * width : offset + (k + 1) * width : stride] for k in range(count)]


def clone(matrix):
    """A copy in the order in which the matrix lies."""
    return matrix.clone()


def transpose_copy(matrix):
    """The transpose, written out in row-major order."""
    return matrix.t().contiguous()


def sum_lines(matrix, dim, lines=64):
    """Sums of the first lines along ``dim``: rows for 0 (stride 1), columns for 1 (stride of a whole row)."""
    return torch.stack([matrix.select(dim, k).sum() for k in range(lines)])


def convolve(images, weights):
    """A 3 × 3 convolution of images (batch, channels, height, width), in whichever memory format they have."""
    return torch.nn.functional.conv2d(images, weights, padding=1)
