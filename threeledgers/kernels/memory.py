"""What the allocator of a GPU held at most while something ran."""

import torch


def cuda_peak(run):
    """(allocated, reserved) bytes at the peak of ``run()``, beyond what was there before. Needs a GPU."""
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated(), torch.cuda.memory_reserved()
    run()
    torch.cuda.synchronize()
    return torch.cuda.max_memory_allocated() - before[0], torch.cuda.max_memory_reserved() - before[1]
