"""The notation of the book: one letter, one meaning, one code name, one unit.

Formulas take their parameters from here by code name, so a page, a docstring and a widget cannot disagree about what a
letter means. Units are strings of base units: ``FLOP``, ``B``, ``bit``, ``s``, ``day``, ``Hz``, ``W``, ``1`` (a plain
count: elements, tokens, ranks, sectors), joined by ``/``.
"""

from dataclasses import dataclass

import sympy


@dataclass(frozen=True)
class Notation:
    """One row of the notation: code ``name``, ``latex`` letter, ``meaning``, ``unit``.

    ``over`` is a vector's index range; ``zero`` is True for a symbol that may be 0 (all others are positive).
    """

    name: str
    latex: str
    meaning: str
    unit: str
    over: str = ""
    zero: bool = False


class Constant(sympy.Symbol):
    """A number that keeps its unit: prints as the number, so that 2 FLOP per FMA is not mistaken for a bare 2."""

    def __new__(cls, name, value, unit, meaning):
        self = super().__new__(cls, name, positive=True, integer=True)
        self.value, self.unit, self.meaning = sympy.Integer(value), unit, meaning
        return self

    def _latex(self, printer):
        return printer.doprint(self.value)


FMA = Constant("FMA", 2, "FLOP", "a fused multiply-add is one multiplication and one addition")
BYTE = Constant("BYTE", 8, "bit/B", "bits in a byte")
LANES = Constant("LANES", 32, "1", "lanes (threads) of a warp; CUDA C++ Best Practices Guide")
SECTOR = Constant("SECTOR", 32, "B", "smallest piece a GPU's memory delivers; CUDA C++ Best Practices Guide")
HALF = Constant("HALF", 2, "B", "a bf16 or fp16 number")
SINGLE = Constant("SINGLE", 4, "B", "an fp32 number")
OCTET = Constant("OCTET", 1, "B", "a boolean, or an 8-bit number")
INDEX = Constant("INDEX", 8, "B", "a token id, int64")
DAY = Constant("DAY", 86400, "s/day", "seconds in a day")
BANKS = Constant("BANKS", 32, "1", "shared-memory banks, each 4 bytes wide; CUDA C++ Best Practices Guide")

_ROWS = [
    # model and training
    ("batch", "B", "sequences per step and replica", "1"),
    ("seq", "S", "sequence length, in tokens", "1"),
    ("hidden", "h", "model width", "1"),
    ("layers", "L", "decoder blocks", "1"),
    ("heads", "a", "query heads", "1"),
    ("head_dim", "d", "width of a head; h/a only where the model's configuration says so", "1"),
    ("kv_heads", r"n_{\mathrm{kv}}", "key/value heads; a group of a/n_kv query heads shares one", "1"),
    ("ffn", "f", "MLP width", "1"),
    ("vocab", "V", "vocabulary size", "1"),
    ("tables", r"n_{\mathrm{tab}}", "tables of V rows: the input's and the head's, or 1 that both share", "1"),
    ("qkv_bias", r"b_{\mathrm{qkv}}", "1 where queries, keys and values have biases, else 0", "1", "", True),
    ("out_bias", r"b_{\mathrm{out}}", "1 where the projection after attention has a bias, else 0", "1", "", True),
    ("mlp_bias", r"b_{\mathrm{mlp}}", "1 where the three matrices of the MLP have biases, else 0", "1", "", True),
    ("qk_norm", r"b_{\mathrm{qk}}", "1 where each query and key head is normed, else 0", "1", "", True),
    (
        "extra_params",
        r"P_{\mathrm{ext}}",
        "parameters of one block besides its matrices and two norms: biases, norms of queries and keys",
        "1",
        "",
        True,
    ),
    ("params", "P", "all parameters", "1"),
    ("matmul_params", r"P_{\mathrm{mm}}", "parameters in matrix multiplications (no input embedding, no norms)", "1"),
    ("active_params", r"P_{\mathrm{act}}", "parameters that one token meets (mixture of experts)", "1"),
    ("kv_rank", r"r_{\mathrm{kv}}", "width of the latent that MLA caches in place of keys and values", "1"),
    ("rope_dim", r"d_{\mathrm{rope}}", "width of the rotary key that all heads of MLA share", "1"),
    ("experts_per_token", r"k_{\mathrm{exp}}", "experts that each token is sent to", "1"),
    ("linears", "q", "equal linear layers in a checkpointed block", "1"),
    ("block_params", r"P_{\mathrm{blk}}", "parameters of one decoder block that one rank holds", "1"),
    ("layer_saved", r"M_{\mathrm{lay}}", "bytes that one layer keeps while the next ones run forward", "B"),
    ("tokens", "D", "training tokens", "1"),
    ("microbatches", "u", "micro-batches per step", "1"),
    ("tile_rows", r"B_{\mathrm{r}}", "queries in a tile of a fused attention", "1"),
    ("tile_cols", r"B_{\mathrm{c}}", "keys in a tile of a fused attention", "1"),
    (
        "new_tokens",
        r"n_{\mathrm{new}}",
        "tokens that go through the model at once: all of a prompt, or one when decoding",
        "1",
    ),
    ("gemm_m", "m", "rows of the first matrix of a product (m×k)(k×n)", "1"),
    ("gemm_n", "n", "columns of the second matrix", "1"),
    ("gemm_k", "k", "the shared dimension", "1"),
    # a tensor in memory
    ("elem_bytes", "e", "bytes per element (bf16 and fp16: 2)", "B"),
    ("numel", r"\mathrm{numel}", "number of elements of a tensor", "1"),
    ("base", r"\mathrm{base}", "address of the first byte of a storage", "B"),
    ("offset", r"\mathrm{off}", "offset of a tensor's first element in its storage, in elements", "1"),
    ("size", "n_i", "size of dimension i, in elements", "1"),
    ("stride", "s_i", "stride of dimension i, in elements; alone, written s", "1"),
    ("inner_size", "n_{i+1}", "size of the next dimension inwards", "1"),
    ("inner_stride", "s_{i+1}", "stride of the next dimension inwards", "1"),
    ("inner_sizes", "n_j", "sizes of all dimensions inside dimension i", "1", "j>i"),
    ("index", "i_k", "position along each dimension", "1", "k"),
    ("strides", "s_k", "stride of each dimension, in elements", "1", "k"),
    (
        "lane_stride",
        "s",
        "distance between what neighbouring lanes read, in elements (in shared memory: words of 4 bytes)",
        "1",
    ),
    ("sectors", r"n_{\mathrm{sec}}", "distinct sectors that one warp access touches", "1"),
    # a machine
    ("peak", r"\pi", "peak rate of the named dtype, dense", "FLOP/s"),
    (
        "bandwidth",
        r"\beta",
        "a bandwidth, never its inverse: memory (reads and writes together), link or PCIe (one direction)",
        "B/s",
    ),
    ("latency", r"\alpha", "fixed cost of one message", "s"),
    ("flops", "F", "arithmetic of an operation", "FLOP"),
    ("traffic", "Q", "bytes that cross the device memory's bus", "B"),
    ("intensity", "I", "arithmetic intensity F/Q; at the ridge, π/β", "FLOP/B"),
    ("onchip", "Z", "on-chip (shared) memory per SM", "B"),
    ("capacity", "c", "usable device memory", "B"),
    ("weights", r"M_{\mathrm{w}}", "bytes of the weights that one device holds", "B"),
    ("grads", r"M_{\mathrm{g}}", "bytes of the gradients that one device holds", "B"),
    ("optimizer", r"M_{\mathrm{o}}", "bytes of the optimizer's states and master copy that one device holds", "B"),
    ("states", r"M_{\mathrm{st}}", "bytes of weights, gradients and optimizer states that one device holds", "B"),
    ("activations", r"M_{\mathrm{act}}", "bytes of saved tensors that one device holds", "B"),
    ("block_saved", r"M_{\mathrm{blk}}", "bytes that one decoder block saves for its backward pass", "B"),
    (
        "head_saved",
        r"M_{\mathrm{head}}",
        "bytes saved outside the blocks: token ids, rotary tables, last norm, head, loss",
        "B",
    ),
    ("sample_bytes", r"M_{1}", "bytes of saved tensors that one more sequence adds", "B"),
    ("sms", r"n_{\mathrm{sm}}", "streaming multiprocessors (SMs)", "1"),
    ("clock", r"\nu", "clock rate", "Hz"),
    ("memory_clock", r"\nu_{\mathrm{mem}}", "memory clock rate", "Hz"),
    ("bus_bits", r"w_{\mathrm{bus}}", "width of the memory bus", "bit"),
    ("tensor_cores", r"n_{\mathrm{tc}}", "tensor cores of the device", "1"),
    ("fma_per_clock", r"x_{\mathrm{fma}}", "multiply-adds that one tensor core finishes per clock", "1"),
    ("fp32_lanes", r"n_{\mathrm{lane}}", "fp32 lanes per SM", "1"),
    ("devices", r"n_{\mathrm{dev}}", "devices that share the work", "1"),
    # many ranks
    ("ranks", "N", "number of ranks; never anything else", "1"),
    ("data_ranks", r"N_{\mathrm{dp}}", "ranks of a data-parallel group", "1"),
    ("tensor_ranks", r"N_{\mathrm{tp}}", "ranks of a tensor-parallel group", "1"),
    ("pipeline_ranks", r"N_{\mathrm{pp}}", "stages of the pipeline", "1"),
    ("context_ranks", r"N_{\mathrm{cp}}", "ranks of a context-parallel group", "1"),
    ("node_ranks", r"N_{\mathrm{node}}", "ranks of a group that sit in one node", "1"),
    (
        "stage",
        "z",
        "ZeRO stage: 0 shards nothing, 1 the optimizer states, 2 the gradients too, 3 the weights too",
        "1",
        "",
        True,
    ),
    ("message", "M", "bytes of the full, unsharded buffer", "B"),
    ("sent", r"M_{\mathrm{sent}}", "bytes that one rank sends", "B"),
    ("phases", r"n_{\mathrm{ph}}", "ring phases: an all-gather or a reduce-scatter is one, an all-reduce two", "1"),
    ("factor", r"\kappa", "bytes that one rank of a ring sends, over M", "1"),
    ("link_bandwidth", r"\beta_{\mathrm{link}}", "bandwidth of one device to its node, one direction", "B/s"),
    (
        "nic_bandwidth",
        r"\beta_{\mathrm{nic}}",
        "bandwidth of one network card, one direction; one card a device",
        "B/s",
    ),
    ("overlap", "o", "share of communication hidden behind compute", "1"),
    ("straggler", r"\sigma", "slowest rank's time over the mean", "1"),
    # a step, and a run
    ("launches", "J", "kernel launches per step", "1"),
    ("launch_time", r"t_{\mathrm{launch}}", "time to launch one kernel", "s"),
    ("workers", "w", "loader processes", "1"),
    ("item_time", r"t_{\mathrm{item}}", "host time per sample", "s"),
    ("forward", r"F_{\mathrm{fwd}}", "FLOPs of a step's forward passes", "FLOP"),
    ("backward", r"F_{\mathrm{bwd}}", "FLOPs of a step's backward passes, what runs again included", "FLOP"),
    (
        "head_forward",
        r"F_{\mathrm{head}}",
        "FLOPs of the head in a step's forward passes; backward twice as many",
        "FLOP",
    ),
    ("recompute", r"F_{\mathrm{re}}", "FLOPs executed a second time because activations were not kept", "FLOP"),
    ("achieved", r"\pi_{\mathrm{got}}", "FLOP/s that one device achieves", "FLOP/s"),
    ("step_time", r"t_{\mathrm{step}}", "time of one training step", "s"),
    ("compute_time", r"t_{\mathrm{comp}}", "time of the arithmetic", "s"),
    ("comm_time", r"t_{\mathrm{comm}}", "time of the communication", "s"),
    ("wall_time", r"t_{\mathrm{wall}}", "time from start to end, whatever happened", "s"),
    ("mfu", r"\eta", "model FLOP/s over peak", "1"),
    ("hfu", r"\eta_h", "hardware FLOP/s, recomputation included, over peak", "1"),
    ("availability", "A", "share of wall time whose progress survives (ETTR)", "1"),
    ("goodput", "G", "useful share: a page says of what", "1"),
    ("nodes", r"n_{\mathrm{node}}", "nodes of the job", "1"),
    ("failures", r"n_{\mathrm{fail}}", "failures seen", "1"),
    ("mtbf", r"\mu", "mean time between failures", "s"),
    ("rate", r"\lambda", "failures per node and day", "1/day"),
    ("interval", r"\tau", "time between checkpoints", "s"),
    ("write_cost", r"\delta", "time to write one checkpoint", "s"),
    ("restart", r"\rho", "time to restart after a failure", "s"),
    ("share", r"\varphi", "share of the time that a change touches", "1"),
    ("speedup", "x", "how much faster that share becomes", "1"),
]

NOTATION: dict[str, Notation] = {row[0]: Notation(*row) for row in _ROWS}
CONSTANTS = (FMA, BYTE, HALF, SINGLE, OCTET, INDEX, DAY, LANES, SECTOR, BANKS)
