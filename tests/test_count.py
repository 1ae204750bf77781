"""The counters count what PyTorch does, and nothing else."""

import torch

from threeledgers import count


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
