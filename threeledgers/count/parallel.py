"""Small programs of one rank whose collectives are counted: tensor, expert and pipeline parallelism."""

import torch
import torch.distributed as dist
from torch import nn


def tensor_parallel_plan(sequence_parallel=False):
    """The plan for ``parallelize_module`` that splits a Llama block over the ranks: two all-reduces a pass.

    ``sequence_parallel``: norms and residuals keep only a rank's share of the tokens (dimension 1), and each all-reduce
    becomes an all-gather and a reduce-scatter. The block then takes and gives that share.
    """
    from torch.distributed.tensor import Replicate, Shard
    from torch.distributed.tensor.parallel import (
        ColwiseParallel,
        PrepareModuleInput,
        RowwiseParallel,
        SequenceParallel,
    )

    outside = Shard(1) if sequence_parallel else Replicate()
    # the input becomes a replicated tensor once for all projections: else each all-reduces its own gradient
    attention = PrepareModuleInput(input_layouts=(outside, None, None), desired_input_layouts=(Replicate(), None, None))
    plan = {
        "attention": attention,
        "mlp": PrepareModuleInput(input_layouts=(outside,), desired_input_layouts=(Replicate(),)),
        **{name: ColwiseParallel() for name in ("attention.q", "attention.k", "attention.v", "mlp.gate", "mlp.up")},
        **{name: RowwiseParallel(output_layouts=outside) for name in ("attention.o", "mlp.down")},
    }
    if sequence_parallel:
        plan |= {"attention_norm": SequenceParallel(), "mlp_norm": SequenceParallel()}
    return plan


class _Exchange(torch.autograd.Function):
    @staticmethod
    def forward(ctx, tokens):
        received = torch.empty_like(tokens)
        dist.all_to_all_single(received, tokens.contiguous())
        return received

    @staticmethod
    def backward(ctx, grad):
        return _Exchange.forward(ctx, grad)


class ExpertParallel(nn.Module):
    """This rank's share of an expert-parallel layer, with perfectly balanced routing: tokens (tokens, hidden) in and out.

    Each token goes to ``experts_per_token`` experts: it is sent (dispatch), transformed by an MLP, sent back (combine)
    and averaged. Raises ValueError unless the ranks divide ``experts``, and ``experts`` the routed
    tokens.
    """

    def __init__(self, hidden, ffn, experts, experts_per_token):
        super().__init__()
        self.ranks = dist.get_world_size()
        if experts % self.ranks:
            raise ValueError(f"{experts} experts cannot be shared evenly by {self.ranks} ranks")
        self.copies = experts_per_token
        self.experts = nn.ModuleList(
            nn.Sequential(nn.Linear(hidden, ffn, bias=False), nn.SiLU(), nn.Linear(ffn, hidden, bias=False))
            for _ in range(experts // self.ranks)
        )

    def forward(self, tokens):
        routed = tokens.repeat(self.copies, 1)
        experts = self.ranks * len(self.experts)
        if routed.shape[0] % experts:
            raise ValueError(f"{routed.shape[0]} routed tokens cannot be shared evenly by {experts} experts")
        # received: for each sender, for each expert here, its share of that sender's tokens
        received = _Exchange.apply(routed).unflatten(0, (self.ranks, len(self.experts), -1))
        done = torch.stack([expert(received[:, k]) for k, expert in enumerate(self.experts)], dim=1)
        return _Exchange.apply(done.flatten(0, 2)).unflatten(0, (self.copies, -1)).mean(0)


def pipeline_step(stage, batch, microbatches):
    """This rank's part of one step of a pipeline: all forward passes, then all backward passes (GPipe).

    ``stage``: a module whose output has its input's shape. ``batch``: what the first rank feeds in, and on every rank
    the shape of it, (batch, …); split evenly into ``microbatches``. Activations are sent to the next rank, gradients
    to the previous one; the last rank's loss is the sum of its outputs.
    """
    rank, last = dist.get_rank(), dist.get_world_size() - 1
    if batch.shape[0] % microbatches:
        raise ValueError(f"a batch of {batch.shape[0]} cannot be split evenly into {microbatches} microbatches")
    passed = []
    for piece in batch.split(batch.shape[0] // microbatches):
        entry = piece.detach().clone()
        if rank > 0:
            dist.recv(entry, rank - 1)
        out = stage(entry.requires_grad_())
        if rank < last:
            dist.send(out.detach(), rank + 1)
        passed.append((entry, out))
    for entry, out in reversed(passed):
        grad = torch.ones_like(out)
        if rank < last:
            dist.recv(grad, rank + 1)
        out.backward(grad)
        if rank > 0:
            dist.send(entry.grad, rank - 1)
