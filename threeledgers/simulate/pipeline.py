"""A pipeline of unequal stages played piece by piece, and the split of whole layers that is done first."""


def order(stage, stages, microbatches):
    """The pieces of one stage in the order of 1F1B: as many forwards as stages lie behind it, then backward and forward in turn."""
    warm = min(stages - stage, microbatches)
    pieces = [("F", m) for m in range(warm)]
    for m in range(microbatches):
        pieces += [("B", m)] + ([("F", warm + m)] if warm + m < microbatches else [])
    return pieces


def finish(forward, backward, microbatches):
    """When the last piece of 1F1B ends; ``forward[s]`` and ``backward[s]`` are whole durations of stage s, from 0 on.

    A piece begins when its stage is free and the neighbour has passed on what it needs; passing takes no time.
    """
    stages = len(forward)
    queues = [order(s, stages, microbatches) for s in range(stages)]
    ended, free, at = {}, [0] * stages, [0] * stages
    while any(at[s] < len(queues[s]) for s in range(stages)):
        for s in range(stages):
            while at[s] < len(queues[s]):
                kind, m = queues[s][at[s]]
                needs = [("F", s - 1, m)] if kind == "F" and s else []
                needs = [("F", s, m)] + [("B", s + 1, m)] * (s + 1 < stages) if kind == "B" else needs
                if not all(n in ended for n in needs):
                    break
                begin = max([free[s], *(ended[n] for n in needs)])
                free[s] = ended[kind, s, m] = begin + (forward if kind == "F" else backward)[s]
                at[s] += 1
    return max(free)


def even(layers, stages):
    """Layers of each stage, one more on the first where they do not go round."""
    return [layers // stages + (s < layers % stages) for s in range(stages)]
