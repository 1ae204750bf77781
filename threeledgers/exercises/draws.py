"""Ways to draw another number for a student: each takes ``random.Random`` and gives a value."""


def one_of(*values):
    return lambda rng: rng.choice(values)


def several(low, high, count):
    """A tuple of ``count`` whole numbers, both ends included."""
    return lambda rng: tuple(rng.randint(low, high) for _ in range(count))
