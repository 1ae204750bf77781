"""The schedule 1F1B (Narayanan et al. 2021) played out: with equal pieces slot by slot, with each stage's own by the clock.

A piece is ``("F", m)`` or ``("B", m)``: forward or backward of micro-batch m. Stages count from 0.
"""


def order(stage, stages, microbatches):
    """The pieces of a stage: as many forwards as stages lie behind it, then backward and forward in turn, then what is left."""
    warm = min(stages - stage, microbatches)
    pieces = [("F", m) for m in range(warm)]
    for m in range(microbatches):
        pieces += [("B", m)] + ([("F", warm + m)] if warm + m < microbatches else [])
    return pieces


def needs(kind, stage, microbatch, stages):
    """What must have ended, as ``(kind, stage, microbatch)``: the forward before a backward, the neighbour's same piece."""
    own = [("F", stage, microbatch)] if kind == "B" else []
    neighbour = stage - 1 if kind == "F" else stage + 1
    return own + ([(kind, neighbour, microbatch)] if 0 <= neighbour < stages else [])


def one_forward_one_backward(stages, microbatches):
    """Slots (a forward or a backward) from start to end, and the most micro-batches that each stage holds: ``(slots, held)``."""
    held = []
    for stage in range(stages):
        alive, most = 0, 0
        for kind, _ in order(stage, stages, microbatches):
            alive += 1 if kind == "F" else -1
            most = max(most, alive)
        held.append(most)
    return finish([1] * stages, [1] * stages, microbatches), held


def finish(forward, backward, microbatches):
    """When the last piece ends, if a piece of stage s takes ``forward[s]`` or ``backward[s]``; exact for exact numbers.

    A piece begins when its stage is free and all that it needs has ended; passing on takes no time.
    """
    stages = len(forward)
    waiting = [order(s, stages, microbatches)[::-1] for s in range(stages)]
    ended, free = {}, [0] * stages
    while any(waiting):
        for s, pieces in enumerate(waiting):
            while pieces and all(need in ended for need in needs(pieces[-1][0], s, pieces[-1][1], stages)):
                kind, m = pieces.pop()
                begin = max([free[s], *(ended[need] for need in needs(kind, s, m, stages))])
                free[s] = ended[kind, s, m] = begin + (forward if kind == "F" else backward)[s]
    return max(free)


def even(layers, stages):
    """Layers of each stage, one more on the first where they do not go round."""
    return [layers // stages + (s < layers % stages) for s in range(stages)]
