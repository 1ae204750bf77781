"""What one rank of a parallel job holds and does: the three ledgers divided by a layout."""

from sympy import Eq, Max, Min, Or, Piecewise, ceiling, floor

from threeledgers.formula import formula
from threeledgers.formulas.symbols import FMA, HALF, SINGLE

_ZERO = "Rajbhandari et al. 2019"
_MEGATRON = "Narayanan et al. 2021"


@formula(
    unit="1", source="Shoeybi et al. 2019: matrices split over the group, norms repeated", symbol=r"P_{\mathrm{blk}}"
)
def rank_block_params(hidden, heads, head_dim, kv_heads, ffn, tensor_ranks):
    """One rank's share of one block."""
    return (
        2 * hidden * heads * head_dim + 2 * hidden * kv_heads * head_dim + 3 * hidden * ffn
    ) / tensor_ranks + 2 * hidden


@formula(unit="1", source=_MEGATRON + ": layers dealt out to the stages, tables to the first and the last")
def stage_params(block_params, layers, pipeline_ranks, tables, vocab, hidden, tensor_ranks):
    """One rank's share of the largest stage: as many blocks as any, a table and the last norm; a single stage holds both
    tables. A table that input and head share stands on the first stage and on the last."""
    return (
        ceiling(layers / pipeline_ranks) * block_params
        + ceiling(tables / pipeline_ranks) * vocab * hidden / tensor_ranks
        + hidden
    )


@formula(unit="B", source=_ZERO)
def zero_weights_bytes(params, ranks, stage):
    """16-bit weights, whole up to stage 2."""
    return Piecewise((HALF * params / ranks, Eq(stage, 3)), (HALF * params, True))


@formula(unit="B", source=_ZERO)
def zero_grads_bytes(params, ranks, stage):
    """16-bit gradients, whole up to stage 1."""
    return Piecewise((HALF * params / ranks, Or(Eq(stage, 2), Eq(stage, 3))), (HALF * params, True))


@formula(unit="B", source=_ZERO)
def zero_optimizer_bytes(params, ranks, stage):
    """Adam's master copy, mean and variance in fp32, whole at stage 0 only."""
    return Piecewise((3 * SINGLE * params, Eq(stage, 0)), (3 * SINGLE * params / ranks, True))


@formula(unit="B", source="Zhao et al. 2023 (PyTorch FSDP), with one block prefetched")
def fsdp_gathered_bytes(block_params, tables, vocab, hidden, tensor_ranks):
    """Whole for a while: the tables and the last norm, the block at work and the next one, the gradients of a block and
    of the head."""
    return HALF * (
        tables * vocab * hidden / tensor_ranks
        + hidden
        + 2 * block_params
        + block_params
        + vocab * hidden / tensor_ranks
    )


@formula(unit="FLOP", source="definition: one product with the table of all tokens' logits")
def head_forward_flops(vocab, hidden, batch, seq):
    """The head belongs to the last stage alone; embedding and loss multiply no matrices."""
    return FMA * vocab * hidden * batch * seq


@formula(unit="s", source=_MEGATRON + ": 1F1B; the work of a stage, and of the stages before it, for one micro-batch")
def pipeline_time_low(forward, backward, head_forward, ranks, achieved, layers, pipeline_ranks, microbatches):
    """No stage is done before its own work and the way there and back: the last one, or the last that has a layer more."""
    return (
        Max(
            ceiling(layers / pipeline_ranks)
            * (1 + (layers - pipeline_ranks * floor(layers / pipeline_ranks) - 1) / microbatches)
            * (forward + backward - 3 * head_forward)
            / layers,
            floor(layers / pipeline_ranks) * (forward + backward - 3 * head_forward) / layers
            + 3 * head_forward
            + (layers - floor(layers / pipeline_ranks))
            * (forward + backward - 3 * head_forward)
            / (layers * microbatches),
        )
        * pipeline_ranks
        / (ranks * achieved)
    )


@formula(unit="s", source=_MEGATRON + ": 1F1B, every stage as slow as the slowest forward and the slowest backward")
def pipeline_time_high(forward, backward, head_forward, ranks, achieved, layers, pipeline_ranks, microbatches):
    """A schedule only gets longer when its pieces do: the bubble of equal stages, of the slowest pieces."""
    return (
        (
            Max(
                ceiling(layers / pipeline_ranks) * (forward - head_forward) / layers,
                floor(layers / pipeline_ranks) * (forward - head_forward) / layers + head_forward,
            )
            + Max(
                ceiling(layers / pipeline_ranks) * (backward - 2 * head_forward) / layers,
                floor(layers / pipeline_ranks) * (backward - 2 * head_forward) / layers + 2 * head_forward,
            )
        )
        * (1 + (pipeline_ranks - 1) / microbatches)
        * pipeline_ranks
        / (ranks * achieved)
    )


@formula(unit="B", source="this book: the least that a step moves; caches help no tensor of these sizes")
def step_traffic(microbatches, weights, activations, grads, optimizer):
    """Weights are read forward and backward, saved tensors written and read, for each micro-batch; then the optimizer
    reads and writes its states, reads the gradients and writes the weights."""
    return microbatches * (2 * weights + 2 * activations) + 2 * optimizer + grads + weights


@formula(unit="B", source="counted: DTensor's column- and row-parallel block, bf16, SDPA")
def tp_block_saved_bytes(batch, seq, hidden, heads, head_dim, ffn, tensor_ranks):
    """Tensor parallelism alone: what a linear takes in and what norms keep is repeated on every rank, the rest is split."""
    return (
        batch
        * seq
        * (
            2 * ((HALF + SINGLE) * hidden + SINGLE)
            + 2 * HALF * hidden
            + (4 * HALF * heads * head_dim + SINGLE * heads + 4 * HALF * ffn) / tensor_ranks
        )
    )


@formula(unit="B", source="counted: DTensor's block with sequence parallelism, bf16, SDPA")
def sp_block_saved_bytes(batch, seq, hidden, heads, head_dim, ffn, tensor_ranks):
    """With sequence parallelism norms are split, too. The two gathered inputs of linears stay whole; Megatron gathers them
    again instead (Korthikanti et al. 2022), and so divides everything."""
    return (
        batch
        * seq
        * (
            2 * HALF * hidden
            + (2 * ((HALF + SINGLE) * hidden + SINGLE) + 4 * HALF * heads * head_dim + SINGLE * heads + 4 * HALF * ffn)
            / tensor_ranks
        )
    )


@formula(unit="B", source="counted: DTensor's block with sequence parallelism, its attention core recomputed")
def sp_selective_saved_bytes(batch, seq, hidden, heads, head_dim, ffn, tensor_ranks):
    """As sp_block_saved_bytes without the log-sum-exp: all that recomputing the core of a fused attention spares."""
    return (
        batch
        * seq
        * (
            2 * HALF * hidden
            + (2 * ((HALF + SINGLE) * hidden + SINGLE) + 4 * HALF * heads * head_dim + 4 * HALF * ffn) / tensor_ranks
        )
    )


@formula(unit="B", source=_MEGATRON + ": 1F1B, on the first stage")
def pipeline_saved_bytes(microbatches, pipeline_ranks, layers, layer_saved):
    """The first stage keeps as many micro-batches as there are stages, each with all the layers of the stage."""
    return Min(microbatches, pipeline_ranks) * ceiling(layers / pipeline_ranks) * layer_saved


@formula(unit="B", source=_MEGATRON + ": 1F1B, on the last stage")
def stage_saved_bytes(layers, pipeline_ranks, layer_saved):
    """The last stage, or the only one, takes each micro-batch back at once; where layers do not go round it has one less."""
    return floor(layers / pipeline_ranks) * layer_saved


@formula(unit="B", source="Korthikanti et al. 2022, section 4.2")
def sp_gather_bytes(layers, tensor_ranks, batch, seq, hidden, elem_bytes):
    """Four all-gathers a block: before attention and before the MLP, and their mirror images backward."""
    return 4 * layers * (tensor_ranks - 1) / tensor_ranks * batch * seq * hidden * elem_bytes


@formula(unit="B", source="Korthikanti et al. 2022, section 4.2")
def sp_scatter_bytes(layers, tensor_ranks, batch, seq, hidden, elem_bytes):
    """Four reduce-scatters a block: after attention and after the MLP, and their mirror images backward."""
    return 4 * layers * (tensor_ranks - 1) / tensor_ranks * batch * seq * hidden * elem_bytes


@formula(unit="B", source="counted: a checkpointed block of DTensor, early stop on")
def sp_recompute_gather_bytes(layers, tensor_ranks, batch, seq, hidden, elem_bytes):
    """Recomputing a block gathers its two inputs again."""
    return 2 * layers * (tensor_ranks - 1) / tensor_ranks * batch * seq * hidden * elem_bytes


@formula(unit="B", source="counted: a checkpointed block of DTensor, early stop on")
def sp_recompute_scatter_bytes(layers, tensor_ranks, batch, seq, hidden, elem_bytes):
    """Recomputing scatters attention's output again; the MLP's last product, and so its scatter, is skipped."""
    return layers * (tensor_ranks - 1) / tensor_ranks * batch * seq * hidden * elem_bytes


@formula(unit="B", source="torch.utils.checkpoint on a block of DTensor with sequence parallelism")
def sp_checkpoint_saved_bytes(batch, seq, hidden, elem_bytes, tensor_ranks):
    """A fully checkpointed block keeps its share of the tokens."""
    return elem_bytes * batch * seq * hidden / tensor_ranks
