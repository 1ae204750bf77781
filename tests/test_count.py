"""The counters count what PyTorch does, and nothing else."""

import pytest
import torch
import torch.distributed as dist

from threeledgers import count
from threeledgers.count.gloo import COLLECTIVES
from threeledgers.count.network import _kind
from threeledgers.count.parallel import ExpertParallel, pipeline_step
from threeledgers.transformer import Config, Llama, loss


def copies(function):
    with count.CopyCounter() as counter:
        function()
    return counter


def test_copies_and_views():
    x = torch.zeros(4, 6)
    assert copies(lambda: x.t().view(6, 4)).calls == 0
    assert copies(lambda: x.contiguous()).moved == 0
    assert copies(lambda: x.t().contiguous()).moved == 2 * 24 * 4
    assert copies(lambda: x.t().reshape(-1)).moved == 2 * 24 * 4
    assert copies(lambda: x.clone()).calls == 1
    assert copies(lambda: torch.empty(4, 6).copy_(x)).moved == 2 * 24 * 4
    assert copies(lambda: x + 1).calls == 0


def test_the_largest_copies_are_named_with_their_strides():
    x = torch.zeros(4, 6)
    counter = copies(lambda: (x.t().contiguous(), x.t().contiguous(), torch.zeros(3).clone()))
    assert counter.largest(1) == [(("aten::clone", (6, 4), (1, 6)), 4 * 24 * 4)]
    assert len(counter.largest(9)) == 2


def test_a_cast_reads_one_size_and_writes_another():
    counter = copies(lambda: torch.zeros(10).to(torch.float16))
    assert (counter.read, counter.written) == (40, 20)


def test_an_expanded_row_is_read_once():
    counter = copies(lambda: torch.zeros(1, 8).expand(5, 8).contiguous())
    assert (counter.read, counter.written) == (32, 160)


def test_copies_inside_backward_are_seen():
    x = torch.ones(3, 4, requires_grad=True)
    counter = copies(lambda: (x.t().reshape(-1) * 2).sum().backward())
    assert counter.calls >= 1 and counter.written >= 48


def test_meta_tensors_count_without_memory():
    big = torch.empty(8, 4096, 4096, dtype=torch.bfloat16, device="meta").permute(2, 0, 1)
    assert copies(big.contiguous).moved == 2 * 8 * 4096 * 4096 * 2


def test_storage_is_not_nbytes():
    row = torch.zeros(1, 4096)
    grid = row.expand(4096, 4096)
    assert (count.storage_bytes(grid), grid.nbytes) == (16_384, 67_108_864)
    assert count.shares_storage(row, grid) and not count.shares_storage(row, grid.contiguous())


def test_view_or_none_hides_no_other_error():
    try:
        count.view_or_none(torch.empty(6), (4,))
    except RuntimeError as error:
        assert "invalid for input of size 6" in str(error)
    else:
        raise AssertionError("a shape of another size must raise")


def test_random_views_repeat_with_their_seed():
    first, again, other = (
        [(tuple(t.shape), t.stride(), s) for t, s in count.random_views(50, seed)] for seed in (3, 3, 4)
    )
    assert first == again != other


def test_flops_by_operator():
    with count.meta():
        a = torch.empty(3, 4)
        assert count.flops_by_op(lambda: (a @ a.t(), a @ a[0], a.softmax(1)))[1] == {
            "mm": 2 * 3 * 4 * 3,
            "mv": 2 * 3 * 4,
        }
        assert count.flops(lambda: a + 1)[1] == 0


def test_peak_counts_what_is_alive_at_once():
    x = torch.zeros(100)
    assert count.peak_bytes(lambda: (x + 1).sum().item(), [x])[1] == 404
    assert count.peak_bytes(lambda: x.view(10, 10).t(), [x])[1] == 0
    assert count.peak_bytes(lambda: [float((x + k).sum()) for k in range(5)], [x])[1] == 404


def test_a_kept_loss_keeps_nothing_after_the_backward_pass():
    model = Llama(Config(64, 16, 2, 2, 1, 8, 24))
    losses, ids = [], torch.zeros(1, 16, dtype=torch.long)

    def step():
        losses.append(loss(model, ids))
        losses[-1].backward()

    assert count.saved_bytes(step, [model])[1] == 0
    assert count.saved_bytes(lambda: losses.append(loss(model, ids)), [model])[1] > 0


def test_fake_and_meta_restore_what_they_change():
    for place in (count.fake, count.meta):
        with pytest.raises(KeyError), place(torch.bfloat16):
            assert torch.empty(1).dtype is torch.bfloat16
            raise KeyError
        assert torch.empty(1).dtype is torch.float32 and torch.ones(1).item() == 1
    assert not dist.is_initialized()


def test_a_fake_group_ends_with_its_block():
    with pytest.raises(KeyError), count.fake_group(2, 4, rank=5, names=("data", "model")) as mesh:
        assert (mesh.size(), mesh["model"].size(), list(mesh.get_coordinate())) == (8, 4, [1, 1])
        with pytest.raises(RuntimeError, match="exists already"), count.fake_group(2):
            pass
        raise KeyError
    assert not dist.is_initialized()
    with pytest.raises(ValueError, match="rank 2 is not in a group of 2 ranks"), count.fake_group(2, rank=2):
        pass


@pytest.mark.parametrize("rank", [0, 1])
def test_every_collective_is_counted_with_its_payload(rank):
    def all_of_them(whole, share):
        parts = [torch.zeros_like(share) for _ in range(4)]
        dist.all_reduce(whole)
        dist.all_gather(parts, share)
        dist.reduce_scatter(share, parts)
        dist.all_to_all_single(whole.clone(), whole)
        dist.all_to_all(parts, list(whole.chunk(4)))
        dist.broadcast(whole, 0)
        dist.reduce(whole, 0)
        dist.gather(share, parts if rank == 0 else None, dst=0)
        dist.scatter(share, parts if rank == 0 else None, src=0)
        dist.send(whole, 2)
        dist.isend(whole, 2).wait()
        dist.recv(whole, 2)
        dist.barrier()

    with count.fake_group(4, rank=rank):
        _, kinds = count.comm_bytes(lambda: all_of_them(torch.zeros(16), torch.zeros(4)))
    once = "all_reduce all_gather reduce_scatter broadcast reduce recv"
    root = 64 if rank == 0 else 16  # the others hold their share alone
    assert kinds == dict.fromkeys(once.split(), (1, 64)) | {
        "all_to_all": (2, 128),
        "send": (2, 128),
        "gather": (1, root),
        "scatter": (1, root),
        "barrier": (1, 0),
    }


def test_an_unknown_collective_is_named():
    with pytest.raises(ValueError, match="c10d::teleport_ is a collective that the counter does not know"):
        _kind("c10d::teleport_")


def test_expert_parallel_exchanges_tokens_twice_in_each_direction():
    with count.fake_group(4):
        layer, tokens = ExpertParallel(8, 16, experts=8, experts_per_token=2), torch.zeros(16, 8).requires_grad_()
        _, kinds = count.comm_bytes(lambda: layer(tokens).sum().backward())
        assert kinds == {"all_to_all": (4, 4 * 2 * 16 * 8 * 4)}
        with pytest.raises(ValueError, match="6 experts cannot be shared evenly by 4 ranks"):
            ExpertParallel(8, 16, experts=6, experts_per_token=2)


@pytest.mark.parametrize("rank, neighbours", [(0, 1), (1, 2), (3, 1)])
def test_a_pipeline_stage_passes_each_microbatch_on_and_its_gradient_back(rank, neighbours):
    with count.fake_group(4, rank=rank):
        _, kinds = count.comm_bytes(lambda: pipeline_step(torch.nn.Linear(8, 8), torch.zeros(16, 8), 4))
    assert kinds == {kind: (4 * neighbours, neighbours * 16 * 8 * 4) for kind in ("send", "recv")}


def test_what_a_process_writes(tmp_path):
    out, written = count.process_written(lambda: (tmp_path / "x").write_bytes(bytes(1000)))
    if written is None:
        pytest.skip("/proc/self/io cannot be read here")
    assert out == written == 1000


@pytest.mark.parametrize("ranks", [2, pytest.param(4, marks=pytest.mark.full)])
def test_bytes_on_the_wire_of_real_processes(ranks):
    message, others, header = 65_536, ranks - 1, 48
    written = count.gloo_bytes(ranks, " ".join(COLLECTIVES), message)
    if None in written["all_reduce"]:
        pytest.skip("/proc/self/io cannot be read here")
    share = message // ranks
    assert {name: set(counts) for name, counts in written.items() if name != "broadcast"} == {
        "all_reduce": {2 * others * share + 12 * others * header},
        "all_gather": {others * share + 6 * others * header},
        "reduce_scatter": {2 * others * share + 12 * others * header},  # gloo emulates it by an all-reduce
        "all_to_all": {others * share + 3 * others * header},
        "ring_all_reduce": {2 * others * share + 6 * others * header},
        "ring_reduce_scatter": {others * share + 3 * others * header},
    }
    children = {2: [1, 0], 4: [2, 1, 0, 0]}[ranks]  # a binomial tree
    parents = [rank > 0 for rank in range(ranks)]
    assert written["broadcast"] == [
        n * (message + 2 * header) + p * header for n, p in zip(children, parents, strict=True)
    ]


@pytest.mark.parametrize("name, message, said", [("all_sum", 64, "is none of"), ("all_reduce", 65, "not a multiple")])
def test_a_wrong_collective_or_message_is_named(name, message, said):
    with pytest.raises(ValueError, match=said):
        count.gloo_bytes(2, name, message)
