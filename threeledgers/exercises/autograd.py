"""The exercises of the lecture on autograd: givens, answers, traps. The statements and solutions stand on the page."""

from threeledgers import formulas as f
from threeledgers.exercises.definitions import Coding, Given, Guess, Numeric, Planted, Trap
from threeledgers.exercises.draws import one_of
from threeledgers.exercises.solutions import autograd as solution
from threeledgers.specs import model

SEVEN = model("llama2_7b").params


def gigabytes(value):
    return f"{value / 1e9:,.{3 - (value >= 1e9) - (value >= 1e10)}f} GB"


thousands = "{:,}".format


GUESS = Guess(
    "autograd-guess",
    minutes=1,
    because="",
    unit="B",
    answer=lambda g: f.adam_bytes(params=SEVEN),
    show=gigabytes,
)

STATES = Numeric(
    "autograd-1",
    minutes=2,
    because="Sixteen bytes a parameter: 2 + 2 + 4 + 4 + 4.",
    unit="B",
    givens={
        "params": Given(
            13 * 10**9, lambda rng: rng.choice((125, 350, 760, 1300, 2700, 6700, 30_000, 70_000)) * 10**6, thousands
        )
    },
    answer=lambda g: f.adam_bytes(params=g.params),
    show=gigabytes,
    traps=(
        Trap(
            "only the weights are counted",
            "Those are the 16-bit weights. Training keeps more for each parameter: go through the table of holders.",
            lambda g: f.weights_bytes(params=g.params, elem_bytes=2),
        ),
        Trap(
            "weights and gradients are all",
            "That is weights and gradients. Adam has two running means, and mixed precision a master copy.",
            lambda g: f.weights_bytes(params=g.params, elem_bytes=2) + f.grads_bytes(params=g.params, elem_bytes=2),
        ),
        Trap(
            "only the optimizer is counted",
            "That is what the optimizer keeps in fp32. The 16-bit weights and gradients come on top.",
            lambda g: f.optimizer_bytes(params=g.params),
        ),
    ),
)

LEAK = Numeric(
    "autograd-2",
    minutes=3,
    because="A backward pass lets go of what its graph saved; a graph that is never walked keeps it.",
    unit="GB",
    givens={
        "saved": Given(4, lambda rng: rng.randint(2, 9), "{} GB".format),
        "steps": Given(250, one_of(10, 50, 100, 500, 1000)),
    },
    answer=lambda g: (0, g.saved * g.steps),
    show=lambda value: f"{value[0]} and {value[1]:,} GB",
    traps=(
        Trap(
            "a kept loss keeps its graph's saved tensors",
            "Alike in both loops? In the first, backward() ran: what does a node do when it is done?",
            lambda g: (g.saved * g.steps, g.saved * g.steps),
        ),
        Trap(
            "the last graph survives its backward pass",
            "The last backward pass of the first loop ran like the others before it.",
            lambda g: (g.saved, g.saved * g.steps),
        ),
        Trap(
            "nothing is ever kept",
            "The first is right. In the second loop no graph was walked, and the list holds them all.",
            lambda g: (0, 0),
        ),
    ),
)

CROSSOVER = Numeric(
    "autograd-3",
    minutes=3,
    because="34 h = 5 a S, and h = a d.",
    givens={"head_dim": Given(96, one_of(32, 64, 80, 128, 256)), "heads": Given(32, one_of(16, 24, 40, 48))},
    answer=lambda g: f.attention_crossover(head_dim=g.head_dim),
    show=lambda value: f"{value:,.0f} tokens",
    traps=(
        Trap(
            "the width of a head is lost",
            "That is 34/5 alone. Both terms are equal where 5 a S = 34 h; what is h/a?",
            lambda g: f.attention_crossover(head_dim=1),
        ),
        Trap(
            "the model's width stands for a head's",
            "That uses the width of the model. Divide by the number of heads: each head has its own scores.",
            lambda g: f.attention_crossover(head_dim=g.head_dim * g.heads),
        ),
        Trap(
            "one S² tensor instead of five bytes",
            "That leaves out the 5: a pair of tokens keeps five bytes in each head, not one.",
            lambda g: 5 * f.attention_crossover(head_dim=g.head_dim),
        ),
    ),
)

CHECKPOINT = Numeric(
    "autograd-4",
    minutes=3,
    because="The last product of a block saves nothing that backward asks for.",
    unit="FLOP",
    givens={"linears": Given(4, one_of(2, 3, 5, 6, 8))},
    answer=lambda g: f.checkpoint_flops_factor(linears=g.linears),
    show=lambda value: f"{value:.4g} FLOPs",
    traps=(
        Trap(
            "the whole forward pass runs again",
            "That recomputes everything. Which of a block's products can be skipped, since nothing saved depends on it?",
            lambda g: 8,
        ),
        Trap(
            "recomputing is free",
            "That is training without checkpointing. Most of the forward pass runs a second time.",
            lambda g: 6,
        ),
    ),
)


def _per_sequence(g):
    return g.layers * f.gpt_block_saved_bytes(batch=1, seq=g.seq, hidden=g.hidden, heads=g.heads)


def _checkpointed(g, block=True, scores=True):
    one = dict(batch=1, seq=g.seq, hidden=g.hidden)
    whole = f.gpt_block_saved_bytes(**one, heads=g.heads) if scores else f.gpt_selective_saved_bytes(**one)
    return g.layers * f.checkpoint_saved_bytes(**one, elem_bytes=2) + block * whole


def _largest(g, sample, states=True):
    held = f.adam_bytes(params=g.params) if states else 0
    return f.batch_max(capacity=g.capacity, states=held, sample_bytes=sample)


def _linear(g):
    return g.layers * f.gpt_selective_saved_bytes(batch=1, seq=g.seq, hidden=g.hidden)


BATCH = Numeric(
    "autograd-5",
    minutes=8,
    because="States first, then whole sequences in what is left.",
    exact=True,
    givens={
        "params": Given(1_500_000_000, one_of(1_300_000_000, 1_500_000_000, 2_000_000_000), lambda n: f"{n / 1e9:g}"),
        "layers": Given(48, one_of(24, 32, 36, 48)),
        "hidden": Given(1600, one_of(1280, 1600, 1920)),
        "heads": Given(25, one_of(16, 20)),
        "seq": Given(1024, one_of(512, 1024, 2048), thousands),
        "capacity": Given(80_000_000_000, one_of(80_000_000_000, 141_000_000_000), lambda n: f"{n / 1e9:g} GB"),
    },
    answer=lambda g: (_largest(g, _per_sequence(g)), _largest(g, _checkpointed(g))),
    show=lambda value: f"{value[0]} and {value[1]}",
    traps=(
        Trap(
            "the states are forgotten",
            "The states come first: take 16 bytes a parameter from the card before you divide.",
            lambda g: (_largest(g, _per_sequence(g), states=False), _largest(g, _checkpointed(g), states=False)),
        ),
        Trap(
            "the S² term is forgotten",
            "That leaves out the scores. Work out 5 a S/h: is it small beside 34?",
            lambda g: (_largest(g, _linear(g)), _largest(g, _checkpointed(g, scores=False))),
        ),
        Trap(
            "checkpointing keeps inputs only",
            "The first is right. With checkpointing, one block at a time is whole while it runs again.",
            lambda g: (_largest(g, _per_sequence(g)), _largest(g, _checkpointed(g, block=False))),
        ),
    ),
)

SCORES = Numeric(
    "autograd-6",
    minutes=3,
    because="One number for each pair of tokens, in each head of each sequence.",
    unit="B",
    givens={
        "batch": Given(1, one_of(1, 2, 4)),
        "heads": Given(32, one_of(16, 24, 40, 64)),
        "seq": Given(4096, one_of(2048, 4096, 8192), thousands),
    },
    answer=lambda g: f.scores_saved_bytes(elem_bytes=2, heads=g.heads, batch=g.batch, seq=g.seq) - g.seq**2,
    show=gigabytes,
    traps=(
        Trap(
            "one head is counted",
            "That is one head of one sequence. Every head compares all pairs of tokens.",
            lambda g: 2 * g.seq**2 * g.batch,
        ),
        Trap(
            "scores and probabilities are both kept",
            "That keeps the scores, too. The derivative of a softmax needs its output only.",
            lambda g: 4 * g.seq**2 * g.batch * g.heads,
        ),
    ),
)

CODE = Coding(
    "autograd-code",
    minutes=20,
    because="It counts what autograd keeps, each storage once.",
    stub=solution.STUB,
    reference=solution.saved_bytes,
    inputs=solution.inputs,
    planted=(
        Planted(
            "a tensor saved twice counts twice",
            "This counts a storage each time it is saved. x * x saves x twice, and its bytes exist once.",
            solution.every_save,
        ),
        Planted(
            "a view occupies what it shows",
            "This counts what the saved tensor shows. A view keeps its whole storage alive: ask untyped_storage().nbytes().",
            solution.shown_bytes,
        ),
        Planted(
            "excluded tensors are counted",
            "This counts the excluded tensors. A linear layer saves its weight, which the ledger lists elsewhere.",
            solution.nothing_excluded,
        ),
    ),
)

EXERCISES = [GUESS, STATES, LEAK, CROSSOVER, CHECKPOINT, BATCH, SCORES, CODE]
