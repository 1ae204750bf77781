"""Will it fit, how long will it take, and what will it wait for: the three ledgers of one training job, on paper."""

from threeledgers.plan.job import CHECKPOINTS, DTYPES, Job, PlanError
from threeledgers.plan.layouts import fastest, fewest_gpus, largest_microbatch, nearest
from threeledgers.plan.lines import LINES, Line, evaluate
from threeledgers.plan.report import Plan, plan

__all__ = [
    "CHECKPOINTS",
    "DTYPES",
    "LINES",
    "Job",
    "Line",
    "Plan",
    "PlanError",
    "evaluate",
    "fastest",
    "fewest_gpus",
    "largest_microbatch",
    "nearest",
    "plan",
]
