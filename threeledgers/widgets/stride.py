"""The stride microscope's first settings and its table for print."""

from threeledgers.formulas import sector_efficiency, warp_sectors

SETTINGS = {"shape": [2, 3], "order": [1, 0], "step": 1, "expand": False, "elem_bytes": 4, "offset": 0, "view": "-1"}


def table():
    """Sectors that 32 lanes touch at the presets' strides, and the share of the moved bytes that they use."""
    from threeledgers.widgets import FoldedTable

    rows = []
    for name, e in (("fp32", 4), ("fp16, bf16", 2)):
        for s in (1, 2, 4, 8, 16):
            n = warp_sectors(offset=0, elem_bytes=e, lane_stride=s)
            rows.append((name, s, n, f"{100 * sector_efficiency(elem_bytes=e, sectors=n):g} %"))
    head = ("element", "stride (elements)", "sectors", "used of the bytes moved")
    return FoldedTable("The same as a table: sectors of one access", head, rows)
