"""What autograd keeps, from when until when: cases that can be worked out by hand."""

import torch

from threeledgers.count import Saved, graph, saved_bytes


def test_a_product_and_a_sine():
    x = torch.zeros(64, 64, requires_grad=True)
    with Saved() as saved:
        y = (x * x).sin().sum()
        assert saved.bytes == saved.most == 2 * 64 * 64 * 4  # x, which is saved twice, and x * x
        y.backward()
    assert saved.bytes == 0 and saved.history == [0, 16384, 32768, 16384, 0]


def test_excluded_and_counted_are_told_apart():
    layer = torch.nn.Linear(8, 8)
    x = torch.zeros(4, 8, requires_grad=True)
    with Saved(exclude=[layer]) as saved:
        y = layer(x).sum()
    assert saved.bytes == saved_bytes(lambda: layer(x), exclude=[layer])[1] == 4 * 8 * 4
    del y
    assert saved.bytes == 0


def test_what_a_list_of_losses_keeps():
    net = torch.nn.Sequential(torch.nn.Linear(32, 32), torch.nn.Tanh(), torch.nn.Linear(32, 1))
    batch = torch.zeros(16, 32)
    kept = {}
    for name, options in (("backward", {}), ("retain", {"retain_graph": True}), ("none", None)):
        with Saved(exclude=[net]) as saved:
            losses = []
            for _ in range(5):
                losses.append(net(batch).sum())
                if options is not None:
                    losses[-1].backward(**options)
        kept[name] = saved.bytes
        one = saved_bytes(lambda: net(batch), exclude=[net])[1]
        losses.clear()
        assert saved.bytes == 0
    shared = batch.nbytes  # the same batch is saved by every step, and counts once
    assert kept == {"backward": 0, "retain": 5 * (one - shared) + shared, "none": 5 * (one - shared) + shared}


def test_the_graph_ends_at_leaves():
    x = torch.zeros(3, requires_grad=True)
    w = torch.zeros(3, requires_grad=True)
    assert graph((x * w).sin().sum()) == [
        (0, "SumBackward0"),
        (1, "SinBackward0"),
        (2, "MulBackward0"),
        (3, "AccumulateGrad"),
        (3, "AccumulateGrad"),
    ]
