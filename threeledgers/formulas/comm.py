"""The third ledger: bytes that one rank sends, and how long a ring or a tree takes to send them."""

from sympy import Min, ceiling
from sympy.codegen.cfunctions import log2

from threeledgers.formula import formula

_RING = "Patarasuk & Yuan 2009"
_THAKUR = "Thakur, Rabenseifner & Gropp 2005"
_HOCKNEY = "Hockney 1994: α + M/β for each message"
_NCCL = "nccl-tests, PERFORMANCE.md"
_MEGATRON = "Shoeybi et al. 2019"


@formula(unit="B", source=_THAKUR)
def broadcast_bytes(message):
    """Along each edge of the tree the whole buffer travels once: what the root, or a forwarder, sends to one child."""
    return message


@formula(unit="B", source=_THAKUR)
def reduce_bytes(message):
    """Along each edge of the tree one partial sum of the whole buffer travels towards the root."""
    return message


@formula(unit="B", source="definition")
def gather_bytes(ranks, message):
    """Every rank but the root sends its own part to the root."""
    return message / ranks


@formula(unit="B", source="definition")
def scatter_bytes(ranks, message):
    """The root sends every other rank its part."""
    return (ranks - 1) / ranks * message


@formula(unit="B", source=_RING)
def allgather_bytes(ranks, message):
    """In N-1 steps each rank passes on the part that came last, its own first."""
    return (ranks - 1) / ranks * message


@formula(unit="B", source=_RING)
def reducescatter_bytes(ranks, message):
    """In N-1 steps each rank passes on a partial sum of one part."""
    return (ranks - 1) / ranks * message


@formula(unit="B", source="definition: every rank has a part for every other one")
def alltoall_bytes(ranks, message):
    """Each rank sends N-1 of the N parts of its buffer and keeps its own; here M is one rank's buffer."""
    return (ranks - 1) / ranks * message


@formula(unit="B", source=_RING)
def ring_allreduce_bytes(ranks, message):
    """Each rank sends N-1 chunks of M/N twice: once to reduce, once to gather."""
    return 2 * (ranks - 1) / ranks * message


@formula(unit="B", source=_THAKUR)
def tree_allreduce_bytes(message):
    """A rank inside a binary tree sends one sum up and two copies of the result down."""
    return 3 * message


@formula(unit="B", source="definition")
def sendrecv_bytes(message):
    """One message from one rank to another, once."""
    return message


@formula(unit="s", source=_HOCKNEY)
def transfer_time(latency, message, bandwidth):
    """A fixed cost, and the bytes over the bandwidth."""
    return latency + message / bandwidth


@formula(unit="s", source=_HOCKNEY)
def ring_allreduce_time(ranks, latency, message, bandwidth):
    """2(N-1) steps, each a message of M/N."""
    return 2 * (ranks - 1) * latency + 2 * (ranks - 1) / ranks * message / bandwidth


@formula(unit="s", source=_HOCKNEY)
def ring_allgather_time(ranks, latency, message, bandwidth):
    """N-1 steps, each a message of M/N; a reduce-scatter takes as long."""
    return (ranks - 1) * latency + (ranks - 1) / ranks * message / bandwidth


@formula(unit="s", source=_HOCKNEY)
def alltoall_time(ranks, latency, message, bandwidth):
    """N-1 messages of M/N one after the other, each to another rank."""
    return (ranks - 1) * latency + (ranks - 1) / ranks * message / bandwidth


@formula(unit="s", source=_HOCKNEY)
def tree_broadcast_time(ranks, latency, message, bandwidth):
    """A binomial tree doubles the ranks that have the buffer in every round; a reduce takes as long."""
    return ceiling(log2(ranks)) * (latency + message / bandwidth)


@formula(unit="s", source=_HOCKNEY + "; chunks pipelined")
def tree_allreduce_time(ranks, latency, message, bandwidth):
    """Up a tree of log2 N levels, then down; in each half small chunks follow one another, so M counts once a half."""
    return 2 * ceiling(log2(ranks)) * latency + 2 * message / bandwidth


@formula(unit="s", source=_HOCKNEY)
def ring_time(phases, ranks, latency, sent, bandwidth):
    """N-1 steps a phase, each with its fixed cost, and all bytes that one rank sends over its link."""
    return phases * (ranks - 1) * latency + sent / bandwidth


@formula(unit="1", source=_NCCL)
def allreduce_factor(ranks):
    """What one rank of a ring sends in an all-reduce, over M."""
    return 2 * (ranks - 1) / ranks


@formula(unit="1", source=_NCCL)
def allgather_factor(ranks):
    """What one rank sends in an all-gather, reduce-scatter or all-to-all, over M; for broadcast and reduce it is 1."""
    return (ranks - 1) / ranks


@formula(unit="B/s", source=_NCCL)
def bus_bandwidth(factor, message, step_time):
    """Bookkeeping: the rate at which a ring would have had to send. A switch that adds sends less and reads higher."""
    return factor * message / step_time


@formula(unit="1", source="this book: measured rate over one direction of the link")
def link_fraction(bandwidth, link_bandwidth):
    """Share of the link's published rate, one direction."""
    return bandwidth / link_bandwidth


@formula(unit="B", source="this book: both terms of α + M/β equal")
def half_size(phases, ranks, latency, bandwidth, factor):
    """Below this message a ring waits more than it sends."""
    return phases * (ranks - 1) * latency * bandwidth / factor


@formula(unit="B/s", source="this book: a ring that crosses nodes leaves each node once")
def group_bandwidth(node_ranks, nic_bandwidth, link_bandwidth):
    """The cards of all group members in a node work together, up to what one device can pass on."""
    return Min(link_bandwidth, node_ranks * nic_bandwidth)


@formula(unit="B", source="Li et al. 2020 (PyTorch DDP)")
def ddp_bytes(params, elem_bytes, ranks):
    """One all-reduce of all gradients a step."""
    return 2 * (ranks - 1) / ranks * elem_bytes * params


@formula(unit="B", source="Rajbhandari et al. 2019: stages 1 and 2")
def zero2_bytes(params, elem_bytes, ranks):
    """Gradients are reduced and scattered, updated weights gathered: as much as one all-reduce."""
    return ((ranks - 1) / ranks + (ranks - 1) / ranks) * elem_bytes * params


@formula(unit="B", source="Zhao et al. 2023 (PyTorch FSDP)")
def fsdp_bytes(params, elem_bytes, ranks):
    """Weights are gathered for forward and again for backward, gradients reduced and scattered."""
    return 3 * (ranks - 1) / ranks * elem_bytes * params


@formula(unit="B", source="Zhao et al. 2023 (PyTorch FSDP): weights sharded again after forward")
def fsdp_gather_bytes(params, elem_bytes, ranks, microbatches):
    """Two all-gathers of all weights for each micro-batch."""
    return 2 * microbatches * (ranks - 1) / ranks * elem_bytes * params


@formula(unit="B", source="Zhao et al. 2023 (PyTorch FSDP)")
def fsdp_scatter_bytes(params, elem_bytes, ranks, microbatches):
    """One reduce-scatter of all gradients for each micro-batch."""
    return microbatches * (ranks - 1) / ranks * elem_bytes * params


@formula(unit="B", source=_MEGATRON)
def tp_bytes(layers, tensor_ranks, batch, seq, hidden, elem_bytes):
    """Two all-reduces of an activation forward and two backward, in every block."""
    return 4 * layers * (2 * (tensor_ranks - 1) / tensor_ranks) * batch * seq * hidden * elem_bytes


@formula(unit="B", source="Korthikanti et al. 2022, section 4.2")
def sp_bytes(layers, tensor_ranks, batch, seq, hidden, elem_bytes):
    """With sequence parallelism each all-reduce becomes a reduce-scatter and an all-gather: the same bytes."""
    return (
        layers
        * (4 * (tensor_ranks - 1) / tensor_ranks + 4 * (tensor_ranks - 1) / tensor_ranks)
        * batch
        * seq
        * hidden
        * elem_bytes
    )


@formula(unit="B", source=_MEGATRON + "; Narayanan et al. 2021")
def pp_bytes(microbatches, batch, seq, hidden, elem_bytes):
    """A stage inside the pipeline sends one activation on and one gradient back, for each micro-batch."""
    return 2 * microbatches * batch * seq * hidden * elem_bytes


@formula(unit="B", source="Lepikhin et al. 2020 (GShard)")
def ep_bytes(layers, ranks, batch, seq, experts_per_token, hidden, elem_bytes):
    """Tokens go to their experts and come back, forward and backward: four all-to-alls a layer, balanced routing."""
    return 4 * layers * (ranks - 1) / ranks * batch * seq * experts_per_token * hidden * elem_bytes


@formula(unit="1", source="Narayanan et al. 2021, section 2.2")
def pipeline_bubble(pipeline_ranks, microbatches):
    """Idle time over ideal time: filling and draining cost N_pp - 1 micro-batches."""
    return (pipeline_ranks - 1) / microbatches


@formula(unit="1", source="Huang et al. 2019 (GPipe)")
def pipeline_bubble_share(pipeline_ranks, microbatches):
    """Idle time over the whole: the same bubble with another denominator."""
    return (pipeline_ranks - 1) / (microbatches + pipeline_ranks - 1)


@formula(unit="1", source="definition", symbol="N")
def layout_ranks(tensor_ranks, context_ranks, pipeline_ranks, data_ranks):
    """Every rank has one place along each axis."""
    return tensor_ranks * context_ranks * pipeline_ranks * data_ranks
