"""The settings of 'Compare your run' and the prediction as a table for print."""

from threeledgers.formulas import strided_copy_share, warp_sectors

SETTINGS = {"schema": {}, "runs": [], "prediction": []}
STRIDES = (1, 2, 4, 8, 16, 32)


def table():
    """The share of its rate at stride 1 that the sector model leaves to a strided copy of fp32 numbers."""
    from threeledgers.widgets import FoldedTable

    rows = []
    for s in STRIDES:
        n = warp_sectors(offset=0, elem_bytes=4, lane_stride=s)
        rows.append((s, f"{strided_copy_share(elem_bytes=4, sectors=n):.3f}"))
    head = ("stride (elements)", "rate / rate at stride 1")
    return FoldedTable("The prediction as a table: a strided copy of fp32 numbers", head, rows)
