"""What fully sharded training holds whole, played out block by block: weights gathered ahead, freed behind."""


def gathered_peak(blocks, block, tables, head):
    """Most elements that are whole at once on one rank; ``blocks``, and elements of a ``block``, of ``tables`` and ``head``.

    ``tables`` (both tables and the last norm) are gathered for the whole pass. Forward and backward gather the next block
    while one is at work. Backward makes whole gradients: of the head for the whole pass, since it is reduced together with
    the input table, of a block until it has been reduced.
    """
    held, most = {"tables": tables}, 0
    for gradients, order in ((False, range(blocks)), (True, reversed(range(blocks)))):
        if gradients:
            held["head gradient"] = head
        order = list(order)
        for at, k in enumerate(order):
            for ahead in order[at : at + 2]:
                held["block", ahead] = block
            if gradients:
                held["gradient", k] = block
            most = max(most, sum(held.values()))
            held.pop(("block", k))
            held.pop(("gradient", k), None)
    return most
