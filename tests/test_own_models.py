"""A config.json in place of a model's id: the published parameters, what PyTorch counts of the same model, faults by name."""

import json

import pytest
import torch

from tests.witnesses.counted import step
from threeledgers import cli, count, model
from threeledgers.formulas import llama_params
from threeledgers.plan import PlanError, plan
from threeledgers.plan.job import SIZES
from threeledgers.plan.report import config_lines
from threeledgers.transformer import Config, Llama

KEYS = "vocab_size hidden_size num_hidden_layers num_attention_heads num_key_value_heads intermediate_size".split()


def config(family, sizes, **more):
    return {"model_type": family, **dict(zip(KEYS, sizes, strict=True)), **more}


# (name, what its config.json says of the shape, published parameters, where they were read)
HUB = "tensors of the published safetensors file, counted by "
PUBLIC = [
    (
        "Llama 3.2 1B",
        config("llama", (128_256, 2048, 16, 32, 8, 8192), head_dim=64, tie_word_embeddings=True),
        1_235_814_400,
        "ModelCloud/GPTQModel, tests/test_parameter_count.py",
    ),
    ("Llama 3.1 8B", config("llama", (128_256, 4096, 32, 32, 8, 14_336)), 8_030_261_248, HUB + "the Hub"),
    ("Llama 2 7B", config("llama", (32_000, 4096, 32, 32, 32, 11_008)), 6_738_415_616, "keras-hub, llama_presets.py"),
    (
        "Mistral 7B v0.1",
        config("mistral", (32_000, 4096, 32, 32, 8, 14_336), sliding_window=4096),
        7_241_732_096,
        HUB + "the Hub",
    ),
    (
        "Qwen2.5 7B",
        config("qwen2", (152_064, 3584, 28, 28, 4, 18_944), use_sliding_window=False, sliding_window=131_072),
        7_615_616_512,
        HUB + "the Hub",
    ),
    (
        "Qwen2.5 0.5B",
        config("qwen2", (151_936, 896, 24, 14, 2, 4864), tie_word_embeddings=True),
        494_032_768,
        HUB + "the Hub",
    ),
    (
        "Qwen3 0.6B",
        config("qwen3", (151_936, 1024, 28, 16, 8, 3072), head_dim=128, tie_word_embeddings=True),
        596_049_920,
        "vllm-project/compressed-tensors, tests/test_offload",
    ),
    ("Qwen3 8B", config("qwen3", (151_936, 4096, 36, 32, 8, 12_288), head_dim=128), 8_190_735_360, HUB + "the Hub"),
]
TINY = config("llama", (512, 128, 2, 4, 2, 344))


@pytest.fixture
def write(tmp_path):
    def to_file(content, name="config.json"):
        path = tmp_path / name
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return str(path)

    return to_file


@pytest.mark.parametrize("name, keys, params, source", PUBLIC, ids=[row[0] for row in PUBLIC])
def test_parameters_are_the_published_ones_and_those_of_the_built_model(write, name, keys, params, source):
    path = write(keys)
    made = plan(model=path, gpu="h100_sxm", gpus=8, zero=3, seq=1024)
    assert source and made["params"] == params
    assert made["weights_bytes"] == made["grads_bytes"] == 2 * params and made["optimizer_bytes"] == 12 * params
    assert made["rank_params"] == params  # one stage holds all
    with count.meta():
        net = Llama(Config.of(model(path)))
    assert sum(p.numel() for p in net.parameters()) == params
    assert made["matmul_params"] == sum(m.weight.numel() for m in net.modules() if isinstance(m, torch.nn.Linear))


def test_two_tables_would_overstate_the_smallest_llama(write):
    net = model(write(PUBLIC[0][1]))
    untied = llama_params(**{name: getattr(net, name) for name in SIZES})
    assert untied == 1_498_482_688 and round(untied / 1_235_814_400 - 1, 3) == 0.213


VARIANTS = [
    {"tie_word_embeddings": True},
    {"model_type": "qwen2"},
    {"attention_bias": True, "mlp_bias": True},
    {"model_type": "qwen3", "head_dim": 40, "tie_word_embeddings": True},
    {"model_type": "qwen3", "head_dim": 32, "attention_bias": True},
]


@pytest.mark.parametrize("checkpoint", ["none", "selective", "full"])
@pytest.mark.parametrize("batch, seq, vocab", [(1, 96, 512), (3, 40, 512), (1, 6, 5000)])
@pytest.mark.parametrize("change", VARIANTS, ids=lambda c: " ".join(map(str, c.values())))
def test_one_gpu_is_what_pytorch_counts(write, change, checkpoint, batch, seq, vocab):
    path = write({**TINY, "vocab_size": vocab, **change})
    made = plan(model=path, gpu="h100_sxm", seq=seq, batch=batch, microbatch=batch, checkpoint=checkpoint)
    counted = step(Config.of(model(path)), checkpoint, batch, seq)
    assert made["params"] == counted.params
    assert made["flops_forward"] == counted.forward and made["flops_step"] == counted.forward + counted.backward
    assert made["last_saved"] + made["head_saved"] == counted.saved
    if checkpoint != "full" or made["tied_bytes"] == made["activations_bytes_per_gpu"]:
        assert made["activations_bytes_per_gpu"] == counted.peak
    else:
        assert 0.8 * counted.peak <= made["activations_bytes_per_gpu"] <= 1.3 * counted.peak


def test_a_tied_table_stands_on_both_ends_of_a_pipeline(write):
    shape = dict(gpu="h100_sxm", gpus=4, pp=4, batch=8, seq=64)
    keys = {**TINY, "num_hidden_layers": 4}
    untied, tied = (plan(model=write({**keys, "tie_word_embeddings": t}, f"{t}.json"), **shape) for t in (False, True))
    assert tied["params"] == untied["params"] - 512 * 128
    assert tied["rank_params"] == untied["rank_params"]  # the last stage has a copy
    assert tied["tied_reduce"] == 2 * 512 * 128 and untied["tied_reduce"] == 0
    assert tied["all_reduce"] - untied["all_reduce"] == tied["tied_reduce"]
    assert 0 < tied["tied_seconds"] == pytest.approx(tied["network_seconds"] - untied["network_seconds"])
    alone = plan(model=write({**keys, "tie_word_embeddings": True}), gpu="h100_sxm", seq=64)
    assert alone["tied_reduce"] == alone["tied_seconds"] == 0 < alone["tied_bytes"]


def test_the_keys_used_are_told(write, capsys):
    more = {
        "head_dim": 32,
        "rope_scaling": {"rope_type": "llama3"},
        "rope_theta": 5e5,
        "attention_dropout": 0.0,
        "tie_word_embeddings": True,
        "use_cache": True,
        "n_future_heads": 4,
        "torch_dtype": "float32",
        "odd\x1bkey": 1,
    }
    asked = ["plan", "--model", write({**TINY, **more}), "--gpu", "h100_sxm"]
    assert cli.main(asked) == 0
    head = capsys.readouterr().out.split("\n\n")[0].splitlines()[2:]
    assert all(len(line) <= 80 for line in head)
    text = " ".join(line.strip() for line in head)
    assert text.startswith('from config.json: model_type "llama", vocab_size 512, hidden_size 128, num_hidden_layers 2')
    assert "tie_word_embeddings true" in text and "use_cache" not in text and "dropout" not in text
    assert "not counted: rope_scaling (moves positions, changes no count), dtype (float32; a plan keeps weights" in text
    assert text.endswith("ignored: n_future_heads, 'odd\\x1bkey'")
    assert cli.main([*asked, "--json"]) == 0
    config = json.loads(capsys.readouterr().out)["config"]
    assert config["file"] == "config.json" and config["used"]["hidden_size"] == 128
    assert config["ignored"] == ["n_future_heads", "odd\x1bkey"] and len(config["not_counted"]) == 2
    assert cli.main(["plan", "--model", "tiny", "--gpu", "h100_sxm", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["config"] is None
    assert list(config_lines(None)) == []


def test_numbers_say_which_key_they_came_from(write):
    net = model(write(TINY))
    assert net.source("hidden") == "config.json, hidden_size"
    assert net.head_dim == 32 and net.source("head_dim") == "config.json, hidden_size / num_attention_heads"
    assert "config.json, num_key_value_heads" in net._repr_markdown_()
    assert model(write({**TINY, "num_key_value_heads": None})).kv_heads == 4  # Llama's class: as many as heads


def test_a_changed_file_is_read_again(write):
    assert model(write(TINY)).layers == 2
    assert model(write({**TINY, "num_hidden_layers": 31})).layers == 31


@pytest.mark.parametrize(
    "family, more, most",
    [
        ("mistral", {"sliding_window": 64}, 64),
        ("mistral", {}, 4096),  # what Mistral's class has when the file says nothing
        ("mistral", {"sliding_window": None}, None),
        ("qwen2", {"sliding_window": 64}, None),
        ("qwen2", {"sliding_window": 64, "use_sliding_window": True, "max_window_layers": 1}, 64),
        ("qwen2", {"sliding_window": 64, "use_sliding_window": True, "max_window_layers": 2}, None),
        ("qwen3", {"sliding_window": 64, "use_sliding_window": True, "layer_types": ["sliding_attention"] * 2}, 64),
        ("qwen3", {"sliding_window": 64, "use_sliding_window": True, "layer_types": ["full_attention"] * 2}, None),
    ],
)
def test_sequences_beyond_a_sliding_window_are_refused(write, family, more, most):
    path = write({**TINY, "model_type": family, "head_dim": 32, **more})
    longest = most or 8192
    made = plan(model=path, gpu="h100_sxm", seq=longest)
    if most is None:
        return
    assert "sliding_window (cuts nothing up to its length, and longer sequences are refused)" in repr(made).replace(
        "\n  ", " "
    )
    with pytest.raises(
        PlanError, match=f"sequences of {most + 1} tokens are longer than the sliding window .* {most} "
    ) as e:
        plan(model=path, gpu="h100_sxm", seq=most + 1)
    assert e.value.field == "seq"
