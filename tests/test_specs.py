"""Specifications: every file obeys the schema; every fault is named."""

import pytest

from threeledgers import gpu, model, specs

ALL = [(kind, id) for kind in ("gpu", "model") for id in specs.ids(kind)]
GOOD = """name = "X"
architecture = "A"
capability = "9.0"
announced = "2026-01"
[sources]
s = "somewhere"
[numbers]
sms = { value = 4, unit = "1", source = "s" }
"""


@pytest.mark.parametrize("kind, id", ALL)
def test_every_file_obeys_the_schema(kind, id):
    spec = getattr(specs, kind)(id)
    assert id == id.lower() and spec.fields
    for field in spec.fields:
        assert getattr(spec, field) > 0 and spec.unit(field) == specs.FIELDS[kind][field] and spec.source(field)


def test_dense_rates_halve_with_the_width():
    """A sparse figure in a dense column breaks the ladder of rates: fp8 is twice bf16, tf32 half of it."""
    for id in specs.ids("gpu"):
        spec = gpu(id)
        for wide, narrow in (("bf16_flops", "fp8_flops"), ("tf32_flops", "bf16_flops"), ("fp8_flops", "fp4_flops")):
            if wide in spec.fields and narrow in spec.fields:
                assert getattr(spec, narrow) / getattr(spec, wide) == pytest.approx(2, rel=0.005), (id, wide, narrow)


def test_parameters_of_the_model_follow_from_its_shape():
    m = model("llama2_7b")
    block = (
        2 * m.hidden * m.heads * m.head_dim
        + 2 * m.hidden * m.kv_heads * m.head_dim
        + 3 * m.hidden * m.ffn
        + 2 * m.hidden
    )
    assert m.params == m.layers * block + 2 * m.vocab * m.hidden + m.hidden


def test_unknown_names_list_what_exists():
    with pytest.raises(specs.UnknownSpec, match="no gpu 'h300'; there are a100_sxm_80, b200_sxm, h100_sxm"):
        gpu("h300")
    with pytest.raises(specs.UnknownSpec, match="no model 'gpt5'; there are llama2_7b"):
        model("gpt5")
    with pytest.raises(specs.MissingField, match="gpu t4 has no bf16_flops; it has fp16_flops, fp32_flops"):
        _ = gpu("t4").bf16_flops
    with pytest.raises(specs.MissingField, match="flops is not a field of any gpu"):
        gpu("t4").source("flops")


@pytest.mark.parametrize(
    "old, new, words",
    [
        ("[numbers]", "[numbers", "not valid TOML"),
        ('name = "X"\n', "", "name must be a text"),
        ('name = "X"', 'name = "X"\ncolour = "red"', "unknown key colour"),
        ("sms =", "cores =", "cores is not a field of a gpu; fields are bf16_flops"),
        ("value = 4", "value = nan", "a finite positive number is needed"),
        ("value = 4", "value = -4", "a finite positive number is needed"),
        ("value = 4", 'value = "4"', "a finite positive number is needed"),
        ('unit = "1"', 'unit = "B"', "sms is in 1, not 'B'"),
        ('unit = "1", ', "", "sms needs value, unit and source"),
        ('source = "s" }', 'source = "t" }', "source 't' is not under"),
        ('source = "s" }', 'source = "s", note = "x" }', "may have trap and verified"),
        ('sms = { value = 4, unit = "1", source = "s" }', "", "is empty"),
    ],
)
def test_a_broken_file_is_named_with_the_fault(tmp_path, old, new, words):
    path = tmp_path / "broken.toml"
    path.write_text(GOOD)
    assert specs.read(path, "gpu").sms == 4
    assert old in GOOD
    path.write_text(GOOD.replace(old, new))
    with pytest.raises(specs.SpecError, match=words) as error:
        specs.read(path, "gpu")
    assert "broken.toml" in str(error.value)
