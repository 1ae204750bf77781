"""What a plan cannot count in a model's file is refused in one sentence that names file and key."""

import json

import pytest

from threeledgers import cli, model
from threeledgers.plan import PlanError, plan
from threeledgers.plan.job import SIZES
from threeledgers.specs import SpecError, UnknownSpec

TINY = dict(model_type="llama", vocab_size=512, hidden_size=128, num_hidden_layers=2, num_attention_heads=4)
TINY |= dict(num_key_value_heads=2, intermediate_size=344)


@pytest.fixture
def write(tmp_path):
    def to_file(content):
        path = tmp_path / "config.json"
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return str(path)

    return to_file


BAD = [
    ({"hidden_size": None}, "hidden_size is missing; a plan needs vocab_size, hidden_size"),
    ({"hidden_size": 128.0}, "hidden_size = 128.0: a whole number from 1 to 1,000,000 is needed"),
    ({"hidden_size": "128"}, 'hidden_size = "128": a whole number'),
    ({"hidden_size": -128}, "hidden_size = -128: a whole number"),
    ({"hidden_size": True}, "hidden_size = true: a whole number"),
    ({"vocab_size": 10**8}, "vocab_size = 100000000: a whole number from 1 to 10,000,000 is needed"),
    ({"hidden_size": 130}, "hidden_size = 130: head_dim is missing, and num_attention_heads = 4 does not divide it"),
    ({"num_key_value_heads": 3}, "num_key_value_heads = 3: it must divide num_attention_heads, which is 4"),
    ({"model_type": "mistral", "num_key_value_heads": None}, "num_key_value_heads is missing"),
    ({"model_type": "qwen3"}, "head_dim is missing"),
    ({"model_type": "gemma2"}, 'model_type = "gemma2": one of llama, mistral, qwen2, qwen3 is needed'),
    ({"model_type": None}, "model_type = null: one of llama"),
    (
        {"model_type": "mixtral", "num_local_experts": 8},
        "num_local_experts = 8: a plan knows dense blocks, not experts",
    ),
    ({"num_experts": 128}, "num_experts = 128: a plan knows dense blocks"),
    ({"quantization_config": {"quant_method": "fp8"}}, 'quantization_config = {"quant_method": "fp8"}: a plan trains'),
    ({"tie_word_embeddings": 1}, "tie_word_embeddings = 1: true or false is needed"),
    ({"attention_bias": "no"}, 'attention_bias = "no": true or false is needed'),
    ({"hidden_act": "gelu"}, 'hidden_act = "gelu": a plan knows silu'),
    ({"attention_dropout": 0.1}, "attention_dropout = 0.1: a plan keeps no masks of dropout: 0 is needed"),
    ({"architectures": ["LlamaForSequenceClassification"]}, "a class that ends in ForCausalLM is needed"),
    ({"layer_types": ["linear_attention"]}, "a plan knows full_attention and sliding_attention"),
    ({"sliding_window": -1}, "sliding_window = -1: a whole number"),
    ('{"hidden_size": NaN}', "not valid JSON: NaN is no JSON number"),
    ('{"hidden_size": 1e400, ', "not valid JSON"),
    ('{"hidden_size": ' + "9" * 5000 + "}", "not valid JSON: Exceeds the limit"),
    ("[" * 100_000, "not valid JSON: maximum recursion depth"),
    ("[]", "a JSON object is needed, with keys such as vocab_size"),
    ("", "not valid JSON: Expecting value"),
]


@pytest.mark.parametrize("change, words", BAD, ids=[words[:40] for _, words in BAD])
def test_what_cannot_be_counted_is_refused_by_file_and_key(write, capsys, change, words):
    path = write(change if isinstance(change, str) else {**TINY, **change})
    assert cli.main(["plan", "--model", path, "--gpu", "h100_sxm"]) == 2
    out, err = capsys.readouterr()
    assert not out and err.count("\n") == 1 and len(err) < 300
    assert f"config.json: {words}" in err or (words in err and "config.json" in err)
    with pytest.raises(SpecError):
        model(path)


def test_what_is_no_config_is_told_so(write, tmp_path, capsys):
    huge = tmp_path / "model.json"
    with huge.open("wb") as file:
        file.truncate(10**9)
    binary = tmp_path / "weights.json"
    binary.write_bytes(bytes(range(256)))
    toml = (tmp_path / "m.toml", 'name = "X"\nfamily = "f"\nblock = "llama"\nannounced = "a"\n[sources]\ns = "s"\n')
    toml[0].write_text(toml[1] + '[numbers]\nhidden = { value = 4.5, unit = "1", source = "s" }\n')
    for path, words in (
        (tmp_path, "is a folder; the path of a config.json or TOML file is needed"),
        (huge, "has 1,000,000,000 bytes; a config.json or TOML file of at most 1,000,000 is needed"),
        (binary, "weights.json: not valid JSON: 'utf-8' codec"),
        (tmp_path / "none.json", "there is no such file; a model's id, or the path of a config.json"),
        ("/dev/null", "is not an ordinary file"),
        ("./\0.json", "there is no such file"),
        (toml[0], "m.toml has no vocab; a plan needs whole numbers: vocab, hidden, layers"),
    ):
        assert cli.main(["plan", "--model", str(path), "--gpu", "h100_sxm"]) == 2
        out, err = capsys.readouterr()
        assert words in err and not out and err.count("\n") == 1
    text = "".join(
        f'{name} = {{ value = {4.5 if name == "vocab" else 4}, unit = "1", source = "s" }}\n' for name in SIZES
    )
    toml[0].write_text(toml[1] + "[numbers]\n" + text)
    with pytest.raises(PlanError, match="m.toml has 4.5 as its vocab; a plan needs whole numbers"):
        plan(model=str(toml[0]), gpu="h100_sxm")
    toml[0].write_text(toml[1] + "[numbers]\n" + text.replace("4.5", "5"))
    assert plan(model=str(toml[0]), gpu="h100_sxm", seq=8)["params"] == 2 * 5 * 4 + 4 * (4 * 64 + 3 * 16 + 8) + 4


def test_a_name_of_the_hub_is_no_file():
    with pytest.raises(UnknownSpec, match="no model 'meta-llama/Llama-3.1-8B'"):
        model("meta-llama/Llama-3.1-8B")
