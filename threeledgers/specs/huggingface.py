"""Hugging Face's ``config.json`` as a specification: what a plan counts is read, what it cannot count is refused by name."""

import json
from dataclasses import dataclass

from threeledgers.specs import Spec, SpecError

FAMILIES = ("llama", "mistral", "qwen2", "qwen3")
SIZES = {
    "vocab_size": "vocab",
    "hidden_size": "hidden",
    "num_hidden_layers": "layers",
    "num_attention_heads": "heads",
    "num_key_value_heads": "kv_heads",
    "head_dim": "head_dim",
    "intermediate_size": "ffn",
}
LARGEST = {"vocab_size": 10**7}
EXPERTS = "num_local_experts num_experts n_routed_experts moe_num_experts num_experts_per_tok moe_intermediate_size"
HARMLESS = frozenset(
    "_name_or_path architectures bos_token_id dtype eos_token_id hidden_act initializer_range max_position_embeddings "
    "max_window_layers model_type pad_token_id pretraining_tp rms_norm_eps rope_theta torch_dtype transformers_version "
    "use_cache".split()
)


@dataclass(frozen=True)
class Reading:
    """What was taken from a config: keys ``used`` with their values, sentences on what is ``not_counted``, keys ``ignored``."""

    file: str
    used: dict
    not_counted: tuple
    ignored: tuple


class Config:
    """The keys of one file; what has been asked for is known to be used."""

    def __init__(self, path):
        self.name, self.used, self.notes = path.name, {}, {}
        try:
            self.data = json.loads(path.read_text(encoding="utf-8-sig"), parse_constant=self._no_number)
        except (ValueError, RecursionError) as error:
            raise SpecError(f"{self.name}: not valid JSON: {error}") from None
        if not isinstance(self.data, dict):
            raise SpecError(f"{self.name}: a JSON object is needed, with keys such as {', '.join(list(SIZES)[:3])}")

    def _no_number(self, text):
        raise ValueError(f"{text} is no JSON number")

    def fail(self, key, why):
        shown = json.dumps(self.data.get(key))
        raise SpecError(f"{self.name}: {key} = {shown if len(shown) < 60 else shown[:57] + '...'}: {why}")

    def get(self, key, default=None):
        """A key's value; null and absent are the same to Hugging Face's classes."""
        value = self.data.get(key)
        if value is None:
            return default
        self.used[key] = value
        return value

    def size(self, key):
        """A whole number above 0; the error names the key, whether it is missing or wrong."""
        if self.data.get(key) is None:
            raise SpecError(f"{self.name}: {key} is missing; a plan needs {', '.join(SIZES)}")
        value, largest = self.get(key), LARGEST.get(key, 10**6)
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= largest:
            self.fail(key, f"a whole number from 1 to {largest:,} is needed")
        return value

    def flag(self, key, default=False):
        value = self.get(key, default)
        if not isinstance(value, bool):
            self.fail(key, "true or false is needed")
        return value


def read(path):
    """The model that a ``config.json`` describes; ``reading`` says what was used. Raises SpecError naming file and key."""
    config = Config(path)
    family = _family(config)
    numbers = _sizes(config, family)
    numbers |= {field: (1, key) for field, key in _options(config, family) if key}
    if _window(config, family, numbers["layers"][0]):
        numbers["window"] = config.size("sliding_window"), "sliding_window"
    for key in ("rope_scaling", "rope_parameters"):
        if config.data.get(key) is not None:
            config.notes[key] = "moves positions, changes no count"
    dtype = config.data.get("dtype", config.data.get("torch_dtype"))
    if dtype not in (None, "bfloat16", "float16"):
        config.notes["dtype"] = f"{dtype}; a plan keeps weights in 16 bits"
    told = {*config.used, *config.notes, *HARMLESS}
    notes = tuple(f"{key} ({why})" for key, why in config.notes.items())
    ignored = tuple(key for key, value in config.data.items() if key not in told and value not in (None, False, 0))
    spec = Spec(
        "model",
        path.stem,
        {"name": path.name, "family": family, "block": "llama", "announced": "own"},
        {key: f"{path.name}, {key}" for _, key in numbers.values()},
        {field: {"value": value, "unit": "1", "source": key} for field, (value, key) in numbers.items()},
    )
    spec.reading = Reading(path.name, dict(config.used), notes, ignored)
    return spec


def _family(config):
    """The model type, when a plan knows its blocks."""
    for key in EXPERTS.split():
        if config.data.get(key):
            config.fail(key, "a plan knows dense blocks, not experts")
    if config.data.get("quantization_config") is not None:
        config.fail("quantization_config", "a plan trains weights of 16 bits; the config before quantization is needed")
    family = config.get("model_type")
    if family not in FAMILIES:
        config.fail("model_type", f"one of {', '.join(FAMILIES)} is needed")
    classes = config.data.get("architectures")
    if classes and not (isinstance(classes, list) and str(classes[0]).endswith("ForCausalLM")):
        config.fail("architectures", "a plan knows a language model's head: a class that ends in ForCausalLM is needed")
    if config.data.get("hidden_act", "silu") != "silu":
        config.fail("hidden_act", "a plan knows silu")
    if config.data.get("attention_dropout"):
        config.fail("attention_dropout", "a plan keeps no masks of dropout: 0 is needed")
    return family


def _sizes(config, family):
    """{field: (value, key)} of the seven sizes; two may follow from others, as in Hugging Face's classes."""
    found = {}
    for key, field in SIZES.items():
        absent = config.data.get(key) is None
        if absent and key == "num_key_value_heads" and family == "llama":
            found[field] = found["heads"]
        elif absent and key == "head_dim" and family != "qwen3":
            (hidden, _), (heads, _) = found["hidden"], found["heads"]
            if hidden % heads:
                config.fail("hidden_size", f"head_dim is missing, and num_attention_heads = {heads} does not divide it")
            found[field] = hidden // heads, "hidden_size / num_attention_heads"
        else:
            found[field] = config.size(key), key
    if found["heads"][0] % found["kv_heads"][0]:
        config.fail("num_key_value_heads", f"it must divide num_attention_heads, which is {found['heads'][0]}")
    return found


def _options(config, family):
    """Fields of what goes beyond a Llama, each with the key that says so, or None."""
    yield "tied", "tie_word_embeddings" if config.flag("tie_word_embeddings") else None
    if family == "qwen2":  # its class has these biases, and no others, whatever the file says
        yield "qkv_bias", "model_type"
    if family in ("llama", "qwen3"):
        biased = "attention_bias" if config.flag("attention_bias") else None
        yield "qkv_bias", biased
        yield "out_bias", biased
    if family == "llama":
        yield "mlp_bias", "mlp_bias" if config.flag("mlp_bias") else None
    yield "qk_norm", "model_type" if family == "qwen3" else None


def _window(config, family, layers):
    """True when some layer has a sliding window. Hugging Face's defaults: Mistral 4,096, Qwen none unless switched on."""
    if family == "mistral":
        config.data.setdefault("sliding_window", 4096)
    kinds, known = config.get("layer_types"), ("full_attention", "sliding_attention")
    if kinds is not None and not (isinstance(kinds, list) and all(kind in known for kind in kinds)):
        config.fail("layer_types", f"a plan knows {' and '.join(known)}")
    qwen = family.startswith("qwen")
    on = config.flag("use_sliding_window", not qwen)
    if config.data.get("sliding_window") is None:
        return False
    if kinds is not None:
        on = on and "sliding_attention" in kinds
    elif qwen:
        first = config.data.get("max_window_layers", 28)
        on = on and (not isinstance(first, int) or first < layers)
    told = "cuts nothing up to its length, and longer sequences are refused" if on else "not used by this model"
    config.notes["sliding_window"] = told
    return on
