"""Each formula against something that is not itself: a published figure, PyTorch's count, or a simulator.

A function ``<name>_witness`` in any module here is the witness of the formula ``<name>``.
"""

import math


def close(value, published, tolerance):
    assert math.isclose(value, published, rel_tol=tolerance), f"{value} is not within {tolerance:.1%} of {published}"
