"""The exercises of the lecture on stride: givens, answers, traps. The statements and solutions stand on the page."""

from math import prod

from threeledgers.exercises.definitions import Choice, Coding, Given, Guess, Numeric, Option, Planted, Trap
from threeledgers.exercises.draws import one_of, several
from threeledgers.exercises.solutions import stride as solution
from threeledgers.formulas import contiguous_stride, copy_traffic, element_address, sector_efficiency, warp_sectors

BYTES = {"bf16": 2, "fp16": 2, "fp32": 4}


def fresh(shape):
    """Row-major strides of a shape."""
    return tuple(contiguous_stride(inner_sizes=shape[i + 1 :]) for i in range(len(shape)))


def offset(index, strides):
    """Elements between the start and the element at this index."""
    return element_address(base=0, elem_bytes=1, offset=0, index=index, strides=strides)


def efficiency(elem_bytes, lane_stride):
    sectors = warp_sectors(offset=0, elem_bytes=elem_bytes, lane_stride=lane_stride)
    return sector_efficiency(elem_bytes=elem_bytes, sectors=sectors)


def times(shape):
    return " × ".join(f"{n:,}" for n in shape)


GUESS = Guess(
    "stride-guess",
    minutes=1,
    because="",
    unit="B",
    answer=lambda g: 32 * warp_sectors(offset=0, elem_bytes=4, lane_stride=8),
    show=lambda value: f"{value:,} bytes",
)

STRIDES = Numeric(
    "stride-1",
    minutes=2,
    because="The transpose exchanges sizes and strides; the strip stays as it is.",
    givens={"shape": Given((5, 7), several(2, 9, 2))},
    exact=True,
    answer=lambda g: fresh(g.shape)[::-1],
    traps=(
        Trap(
            "the transpose was copied into row-major order",
            "Those are the strides of a fresh tensor of the new shape. Nothing was copied: which steps fit the old strip?",
            lambda g: fresh(g.shape[::-1]),
        ),
        Trap(
            "only the sizes change places",
            "Sizes and strides swap together: one step down the transpose is one step right in the original.",
            lambda g: fresh(g.shape),
        ),
    ),
)

WHICH_RAISES = Choice(
    "stride-2",
    minutes=3,
    because="Only there do two dimensions above size 1 fail to merge.",
    givens={"rows": Given(2, lambda rng: rng.randint(2, 9)), "columns": Given(3, lambda rng: rng.randint(2, 9))},
    options=(
        Option(
            lambda g: f"torch.empty({g.rows}, {g.columns}).t().view(-1)",
            "Both sizes exceed 1 and the outer stride is 1: no single stride visits the elements in order.",
            right=True,
        ),
        Option(
            lambda g: f"torch.empty(1, {g.columns}).t().view(-1)",
            "Its last dimension has size 1 and never takes a step. What is left is one run of stride 1.",
        ),
        Option(
            lambda g: f"torch.empty({g.columns}, 1).t().view(-1)",
            "Its first dimension has size 1 and never takes a step. What is left is one run of stride 1.",
        ),
        Option(
            lambda g: f"torch.empty({g.rows}, {g.columns})[:, :1].view(-1)",
            "One dimension above size 1 is left. It has one stride, and that is all view needs.",
        ),
    ),
    traps=(
        Trap(
            "every transpose is an obstacle",
            "Not every transpose: a dimension of size 1 has no stride to keep, so two of these merge.",
            lambda g: ["a", "b", "c"],
        ),
        Trap(
            "view needs a contiguous tensor",
            "A view needs strides that merge, not a contiguous tensor: the slice has one dimension left, with one stride.",
            lambda g: ["a", "d"],
        ),
    ),
)

TRAFFIC = Numeric(
    "stride-3",
    minutes=3,
    because="Every element is read once and written once.",
    unit="B",
    givens={
        "shape": Given(
            (4, 2048, 4096), lambda r: (r.randint(2, 16), r.choice((512, 2048, 4096)), r.choice((1024, 4096))), times
        ),
        "dtype": Given("bf16", one_of("bf16", "fp16")),
    },
    answer=lambda g: copy_traffic(numel=prod(g.shape), elem_bytes=BYTES[g.dtype]),
    show=lambda value: f"{value / 1e6:,.0f} MB" if value >= 1e8 else f"{value / 1e6:.3g} MB",
    traps=(
        Trap(
            "only the write is counted",
            "That is the size of the tensor. A copy reads every byte once and writes it once.",
            lambda g: copy_traffic(numel=prod(g.shape), elem_bytes=BYTES[g.dtype]) // 2,
        ),
        Trap(
            "every element has 4 bytes",
            "That would be fp32. A 16-bit type has 2 bytes an element.",
            lambda g: copy_traffic(numel=prod(g.shape), elem_bytes=BYTES["fp32"]),
        ),
        Trap(
            "contiguous() only changes metadata",
            "permute alone moves nothing, but contiguous() writes a permuted view out in row order.",
            lambda g: 0,
        ),
    ),
)

EFFICIENCY = Numeric(
    "stride-4",
    minutes=4,
    because="Each lane owns a sector and uses one element of it.",
    givens={"elem_bytes": Given(2, one_of(2, 4)), "stride": Given(20, one_of(16, 24, 32))},
    answer=lambda g: efficiency(g.elem_bytes, g.stride),
    show=lambda value: f"{100 * value:.4g} %",
    traps=(
        Trap(
            "what is asked for is what moves",
            "The memory moves whole sectors, not single elements. How many sectors do the lanes touch?",
            lambda g: 1,
        ),
        Trap(
            "every lane fetches a line of 128 bytes",
            "That counts 128 bytes a lane. The smallest piece is a sector of 32 bytes.",
            lambda g: efficiency(g.elem_bytes, g.stride) / 4,
        ),
        Trap(
            "a sector serves two neighbouring lanes",
            "That needs two lanes in each sector. How many bytes lie between neighbouring lanes?",
            lambda g: 2 * efficiency(g.elem_bytes, g.stride),
        ),
    ),
)

ADDRESS = Numeric(
    "stride-5",
    minutes=4,
    because="The exchanged strides, times the indices.",
    exact=True,
    givens={
        "shape": Given((4, 5, 6), several(4, 9, 3)),
        "index": Given((2, 3, 1), several(1, 3, 3), lambda index: str(list(index))),
    },
    answer=lambda g: offset(g.index, fresh(g.shape)[::-1]),
    traps=(
        Trap(
            "the strides stay where they were",
            "Those are the old strides with the new indices. transpose(0, 2) exchanges the strides too.",
            lambda g: offset(g.index, fresh(g.shape)),
        ),
        Trap(
            "the transpose was copied into row-major order",
            "Those are the strides of a fresh tensor of the new shape. No copy was made.",
            lambda g: offset(g.index, fresh(g.shape[::-1])),
        ),
        Trap(
            "the offset is counted in bytes",
            "That is in bytes. The question asks for elements.",
            lambda g: 4 * offset(g.index, fresh(g.shape)[::-1]),
        ),
    ),
)

EXPAND = Numeric(
    "stride-6",
    minutes=3,
    because="A stride of 0 repeats the one row.",
    exact=True,
    unit="B",
    givens={
        "rows": Given(256, one_of(64, 1024, 4096)),
        "columns": Given(3072, one_of(512, 1024, 2048)),
    },
    answer=lambda g: 4 * g.columns,
    show=lambda value: f"{value:,} B",
    traps=(
        Trap(
            "nbytes tells what memory holds",
            "That is nbytes, the logical size. A dimension of stride 0 repeats the same row; ask the storage.",
            lambda g: 4 * g.rows * g.columns,
        ),
        Trap(
            "expand adds a row",
            "No row is added: the expanded tensor reads the first one again.",
            lambda g: 8 * g.columns,
        ),
    ),
)

CODE = Coding(
    "stride-code",
    minutes=20,
    because="It decides as torch.Tensor.view does.",
    stub=solution.STUB,
    reference=solution.compute_stride,
    inputs=solution.inputs,
    planted=(
        Planted(
            "view needs a contiguous tensor",
            "This allows contiguous tensors only. A view is legal whenever neighbours merge, as in shape (2, 1), stride (3, 1).",
            solution.only_contiguous,
        ),
        Planted(
            "dimensions of size 1 take part",
            "This lets a dimension of size 1 stop a merge. It never takes a step: leave it out before you compare strides.",
            solution.size_one_counts,
        ),
        Planted(
            "every view is legal",
            "This never returns None and assumes a fresh copy. view may not move anything.",
            solution.always_legal,
        ),
    ),
)

EXERCISES = [GUESS, STRIDES, WHICH_RAISES, TRAFFIC, EFFICIENCY, ADDRESS, EXPAND, CODE]
