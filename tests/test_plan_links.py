"""Which road a group of ranks takes: the link as far as it joins devices, PCIe within the node, the network beyond."""

import pytest

from threeledgers import gpu, specs
from threeledgers.plan import Job, PlanError, evaluate, plan
from threeledgers.plan.job import inputs


def roads(**asked):
    known = inputs(Job(**asked))
    return {group: (known[f"{group}_road"], known[f"{group}_bandwidth"]) for group in ("tensor", "data", "stage")}


def test_a_bridge_joins_two_cards_and_not_eight():
    made = plan(model="llama3_8b", gpu="h100_pcie", gpus=8, zero=3, batch=8)
    assert float(made["data_bytes"]) == pytest.approx(42.16e9, rel=1e-3)
    assert made["data_bandwidth"] == gpu("h100_pcie").pcie_bandwidth == 63e9
    assert float(made["data_bytes"] / 63_000_000_000) == pytest.approx(0.669, abs=5e-4)
    latency = float(made["data_phases"] * 7 * made["data_latency"])
    assert float(made["data_seconds"]) == pytest.approx(0.669 + latency, abs=1e-3) and made.bound == "network"
    assert "The data-parallel group of 8 crosses PCIe, 63 GB/s a device: the link joins 2." in repr(made)
    two = plan(model="llama3_8b", gpu="h100_pcie", gpus=2, zero=3, batch=2)
    assert two["data_bandwidth"] == gpu("h100_pcie").link_bandwidth and "crosses PCIe" not in repr(two)


@pytest.mark.parametrize("id", ["h100_pcie", "a100_pcie"])
def test_tensor_pairs_cross_the_bridge_and_their_data_groups_do_not(id):
    found = roads(model="llama3_8b", gpu=id, gpus=8, tp=2, batch=4)
    assert found["tensor"] == ("link_bandwidth", gpu(id).link_bandwidth)
    assert found["data"] == ("pcie_bandwidth", gpu(id).pcie_bandwidth)
    found = roads(model="llama3_8b", gpu=id, gpus=8, tp=4, pp=2, batch=4)
    assert {road for road, _ in found.values()} == {"pcie_bandwidth", "link_bandwidth"}  # dp 1: a group of one
    assert found["tensor"][0] == found["stage"][0] == "pcie_bandwidth"


def test_a_node_gathers_over_the_slower_of_its_road_and_its_cards():
    found = roads(model="llama3_8b", gpu="h100_pcie", gpus=16, batch=16, nic=50e9)
    assert found["data"] == ("pcie_bandwidth", 63e9)  # eight cards of 50 GB/s, and each device behind PCIe
    found = roads(model="llama3_8b", gpu="h100_sxm", gpus=16, batch=16, nic=50e9)
    assert found["data"] == ("link_bandwidth", 400e9)


def test_a_rack_is_a_node_and_a_smaller_node_a_smaller_link():
    assert Job("llama3_8b", "gb200", gpus=64, batch=64).node == 72 and Job("llama3_8b", "h100_sxm").node == 8
    found = roads(model="llama3_8b", gpu="gb200", gpus=64, batch=64)
    assert found["data"] == ("link_bandwidth", gpu("gb200").link_bandwidth)
    found = roads(model="llama3_8b", gpu="h100_sxm", gpus=8, batch=8, node=4, nic=50e9)
    assert found["data"] == ("link_bandwidth", 200e9)


def test_without_a_link_all_goes_over_pcie():
    made = plan(model="llama3_8b", gpu="l40s", gpus=8, batch=8, zero=3)
    assert made["data_bandwidth"] == gpu("l40s").pcie_bandwidth
    assert "crosses PCIe, 31.5 GB/s a device: there is no other link." in repr(made)


def test_every_link_says_how_many_devices_it_joins():
    with_link = {id for id in specs.ids("gpu") if "link_bandwidth" in gpu(id).fields}
    assert with_link == {id for id in specs.ids("gpu") if "link_devices" in gpu(id).fields} and len(with_link) > 15
    assert {id for id in with_link if gpu(id).link_devices == 2} == {"h100_pcie", "a100_pcie"}


def test_a_link_of_unknown_reach_is_refused_by_name(monkeypatch):
    monkeypatch.setattr(
        specs.Spec, "fields", property(lambda self: tuple(k for k in self._entries if k != "link_devices"))
    )
    with pytest.raises(PlanError, match="h100_sxm has no published link_devices, which a plan needs"):
        Job("tiny", "h100_sxm")


def test_the_slower_road_is_never_the_quicker_plan():
    for gpus in (2, 4, 8, 16):
        job = Job("llama3_8b", "h100_pcie", gpus=gpus, batch=gpus, zero=3)
        slow, fast = evaluate(inputs(job)), inputs(job) | {"data_bandwidth": gpu("h100_pcie").link_bandwidth}
        assert slow["data_seconds"] >= evaluate(fast)["data_seconds"]
