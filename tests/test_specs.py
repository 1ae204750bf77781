"""Specifications: every file obeys the schema; every number that can be derived from others agrees; faults are named."""

import re

import pytest

from threeledgers import gpu, model, specs
from threeledgers.specs import latency

ALL = [(kind, id) for kind in specs.FIELDS for id in specs.ids(kind)]
# every accelerator that the course speaks of
GPUS = """t4 v100_sxm a100_sxm_40 a100_sxm_80 a100_pcie l4 rtx_4090 l40s h100_sxm h100_pcie h200_sxm gh200 b200_sxm b300_sxm
    gb200 gb300 rubin_sxm mi300x mi325x mi355x mi455x tpu_v5e tpu_v5p""".split()
MODELS = """llama2_7b llama2_13b llama2_70b llama3_8b llama3_70b llama3_405b gpt3_175b deepseek_v3 tiny small""".split()
ANNOUNCED = ("rubin_sxm", "mi455x")
LADDER = (("bf16_flops", "fp8_flops"), ("tf32_flops", "bf16_flops"), ("fp8_flops", "fp4_flops"))
# (GPU, narrower rate): how many times the wider one, where it is truly not 2
NOT_TWICE = {
    ("b300_sxm", "fp4_flops"): 2.8,  # the chip gave area to fp4
    ("gb300", "fp4_flops"): 3,  # the same
    ("rubin_sxm", "fp8_flops"): 4.375,  # announced so: fp8 and fp4 grew, bf16 did not
}
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
    assert {spec.source(field) for field in spec.fields} == set(spec._sources.values()), "a source that nothing uses"


def test_nothing_is_missing_and_no_name_means_two_things():
    assert sorted(GPUS) == specs.ids("gpu") and sorted(MODELS) == specs.ids("model")
    assert specs.ids("latency") == ["cpu", "gpu", "link"]
    assert len({id for _, id in ALL}) == len(ALL), "the {quantity} role finds a spec by its id alone"
    used = {field for id in specs.ids("latency") for field in latency(id).fields}
    assert used == set(specs.FIELDS["latency"])
    own = set(dir(specs.Spec)) | {"kind", "id", "name", "texts"}
    assert not own & {field for fields in specs.FIELDS.values() for field in fields}, "a number behind a method"


def test_sources_are_public_and_written_for_the_reader():
    for kind, id in ALL:
        spec = getattr(specs, kind)(id)
        words = " ".join([*spec._sources.values(), *(spec.trap(f) + spec.condition(f) for f in spec.fields)])
        assert not re.search(r"(?i)stas00|/work|\bnotes?/|read via|\.csv", words), (kind, id)


def test_what_is_only_announced_is_unverified_to_the_last_number():
    for id in ANNOUNCED:
        assert "announced" in gpu(id).name and not any(gpu(id).verified(field) for field in gpu(id).fields)
    assert not gpu("l4").verified("sms") and gpu("h200_sxm").verified("memory_bandwidth")


@pytest.mark.parametrize("id", GPUS)
def test_dense_rates_halve_with_the_width(id):
    """A sparse figure in a dense column breaks the ladder by a factor of 2; what data sheets round is below 1.5 %."""
    spec = gpu(id)
    for wide, narrow in LADDER:
        if wide in spec.fields and narrow in spec.fields:
            ratio = getattr(spec, narrow) / getattr(spec, wide)
            assert ratio == pytest.approx(NOT_TWICE.get((id, narrow), 2), rel=0.015), (wide, narrow)


@pytest.mark.parametrize("id", GPUS)
def test_numbers_of_a_gpu_fit_together(id):
    """Units slip by a factor of 1000 and links by 2; both would leave these ranges."""
    spec = gpu(id)
    has = spec.fields.__contains__
    if has("bf16_gemm_flops"):
        assert 0.5 < spec.bf16_gemm_flops / spec.bf16_flops < 0.9  # nobody measures the peak
    peak = spec.bf16_flops if has("bf16_flops") else spec.fp16_flops
    assert 100 < peak / spec.memory_bandwidth < 450  # FLOP per byte
    assert 8e9 < spec.memory_bytes < 1e12 and 10 < spec.memory_bandwidth / spec.memory_bytes < 90
    for field, low, high in (
        ("link_bandwidth", 40e9, 2e12),
        ("pcie_bandwidth", 15e9, 130e9),
        ("clock_hz", 1e9, 3e9),
        ("l2_bytes", 2**22, 2**28),
        ("shared_bytes_per_sm", 2**16, 2**18),
    ):
        assert not has(field) or low <= getattr(spec, field) <= high, field
    if has("sms") and has("clock_hz") and spec.texts["architecture"] in ("Ampere", "Hopper", "Ada", "Volta", "Turing"):
        lanes = 128 if spec.texts["architecture"] in ("Hopper", "Ada") else 64
        # the fp32 figure of Hopper SXM is quoted at 1.98 GHz, its clock at 1.83
        assert spec.fp32_flops == pytest.approx(2 * lanes * spec.sms * spec.clock_hz, rel=0.09)


def test_measured_products_are_those_of_the_table():
    rates = {"a100_sxm_80": 271.2, "a100_pcie": 252.9, "h100_sxm": 794.5, "h200_sxm": 794.5, "gh200": 828.6}
    rates |= {"b200_sxm": 1745, "b300_sxm": 1769, "gb200": 1822, "mi300x": 668.4, "mi325x": 784.9, "mi355x": 1565}
    assert {id: gpu(id).bf16_gemm_flops / 1e12 for id in GPUS if "bf16_gemm_flops" in gpu(id).fields} == rates
    assert all("August 2026" in gpu(id).source("bf16_gemm_flops") for id in rates)


def test_latencies():
    assert latency("gpu").l2_hit == 200 and latency("gpu").unit("l2_hit") == "cycle"
    assert latency("gpu").condition("l2_hit_turing") == "measured on an RTX 2070"
    link = latency("link")
    assert (link.ndr_nic_bandwidth, link.xdr_nic_bandwidth) == (50e9, 100e9) and link.verified("ndr_nic_bandwidth")
    assert link.infiniband_64b_same_leaf < link.infiniband_64b_cross_leaf == 3.7e-6
    assert not link.verified("nvlink_64b") and "783.73" in link.trap("nvlink4_pairwise_bandwidth")
    cpu = latency("cpu")
    assert cpu.l1_load < cpu.l2_load < cpu.l3_load < cpu.dram_load < cpu.dram_remote_load < cpu.vm_working_set_16mib
    assert not any(cpu.verified(field) for field in cpu.fields), "none of them has a publication or a record behind it"


def parameters(m):
    """Parameters that follow from the shape of a model, by its block."""
    h, block = m.hidden, m.texts["block"]
    if block == "gpt":  # biases, two norms with biases, learned positions, the head shares the embedding
        return 12 * m.layers * h**2 + 13 * m.layers * h + (m.vocab + m.positions) * h + 2 * h
    outside = 2 * m.vocab * h + h  # embedding, head, last norm
    if block == "llama":
        attention = 2 * h * m.heads * m.head_dim + 2 * h * m.kv_heads * m.head_dim
        return outside + m.layers * (attention + 3 * h * m.ffn + 2 * h)
    queries = h * m.q_rank + m.q_rank + m.q_rank * m.heads * (m.nope_dim + m.rope_dim)
    latent = h * (m.kv_rank + m.rope_dim) + m.kv_rank + m.kv_rank * m.heads * (m.nope_dim + m.value_dim)
    attention = queries + latent + m.heads * m.value_dim * h
    router = m.experts * h + m.experts  # with the bias that balances the load
    mixture = router + (m.experts + m.shared_experts) * 3 * h * m.expert_ffn
    sparse_layers = m.layers - m.dense_layers
    return outside + m.layers * (attention + 2 * h) + m.dense_layers * 3 * h * m.ffn + sparse_layers * mixture


@pytest.mark.parametrize("id", MODELS)
def test_parameters_of_the_model_follow_from_its_shape(id):
    m = model(id)
    assert m.params == parameters(m)
    if m.texts["block"] != "mla_moe":
        assert m.heads % m.kv_heads == 0
    if size := re.search(r"(\d+)B", m.name):  # the name rounds, by less than 4 in 100
        assert m.params == pytest.approx(int(size[1]) * 1e9, rel=0.04)


def test_what_a_token_of_the_mixture_uses():
    """The published 37 billion are the shape with 8 of 256 experts, embedding included: 37.6."""
    m = model("deepseek_v3")
    idle = (m.experts - m.experts_per_token) * 3 * m.hidden * m.expert_ffn * (m.layers - m.dense_layers)
    assert m.params - idle - m.vocab * m.hidden == pytest.approx(36.6e9, rel=0.001)
    assert m.params - idle == pytest.approx(m.active_params, rel=0.02)


def test_unknown_names_suggest_the_nearest_and_list_what_exists():
    with pytest.raises(
        specs.UnknownSpec, match=r"no gpu 'h100_sxn'; did you mean h100_sxm\? there are a100_pcie, a100_sxm"
    ):
        gpu("h100_sxn")
    with pytest.raises(specs.UnknownSpec, match="no model 'claude'; there are deepseek_v3, gpt3_175b"):
        model("claude")
    with pytest.raises(specs.UnknownSpec, match=r"no latency 'links'; did you mean link\? there are cpu, gpu, link"):
        latency("links")
    with pytest.raises(specs.MissingField, match="gpu t4 has no bf16_flops; it has fp16_flops, fp32_flops"):
        _ = gpu("t4").bf16_flops
    with pytest.raises(
        specs.MissingField, match=r"memory_size is not a field of any gpu\); did you mean memory_bytes\? it has"
    ):
        gpu("t4").source("memory_size")
    with pytest.raises(specs.MissingField, match=r"\(x is not a field of any gpu\); it has"):
        _ = gpu("t4").x


def test_a_spec_typesets_itself_as_a_table():
    lines = latency("gpu")._repr_markdown_().splitlines()
    assert lines[0] == "**GPU, on the chip and its launch**" and lines[2] == "| field | value | unit | source | note |"
    rows = {line.split("`")[1]: line for line in lines if line.startswith("| `")}
    assert list(rows) == list(latency("gpu").fields)
    assert (
        "| 32,348,000,000,000 | B/s |" in rows["shared_memory_bandwidth"] and "| 5e-06 | s |" in rows["kernel_launch"]
    )
    assert "H100, about; **unverified** |" in rows["register_read"] and "unverified" not in rows["l2_hit"]
    assert "the only fast 16-bit type" in gpu("t4")._repr_markdown_() and repr(gpu("t4")) == "gpu('t4')"
    for kind, id in ALL:
        table = getattr(specs, kind)(id)._repr_markdown_().splitlines()[2:]
        assert {len(re.findall(r"(?<!\\)\|", line)) for line in table if line} == {6}, (kind, id)


@pytest.mark.parametrize(
    "old, new, words",
    [
        ("[numbers]", "[numbers", "not valid TOML"),
        ('name = "X"\n', "", "name must be a text"),
        ('name = "X"', 'name = "X"\ncolour = "red"', "unknown key colour"),
        ("sms =", "cores =", "cores is not a field of a gpu; fields are bf16_flops"),
        ("sms =", "l2_hit =", "l2_hit is not a field of a gpu"),
        ("value = 4", "value = nan", "a finite positive number is needed"),
        ("value = 4", "value = -4", "a finite positive number is needed"),
        ("value = 4", 'value = "4"', "a finite positive number is needed"),
        ('unit = "1"', 'unit = "B"', "sms is in 1, not 'B'"),
        ('unit = "1", ', "", "sms needs value, unit and source"),
        ('source = "s" }', 'source = "t" }', "source 't' is not under"),
        ('source = "s" }', 'source = "s", note = "x" }', "may have trap and condition and verified"),
        ('source = "s" }', 'source = "s", verified = "no" }', "verified = 'no' must be true or false"),
        ('source = "s" }', 'source = "s", condition = 3 }', "condition = 3 must be a text"),
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


def test_a_model_needs_a_known_block(tmp_path):
    path = tmp_path / "m.toml"
    text = (specs.ROOM / "model" / "tiny.toml").read_text()
    path.write_text(text.replace('block = "llama"', 'block = "mamba"'))
    with pytest.raises(specs.SpecError, match="m.toml: block = 'mamba': one of llama, gpt, mla_moe is needed"):
        specs.read(path, "model")
