"""``online_softmax_attention``: causal attention in tiles, and a meter that sees what crosses the bus."""

STUB = '''def online_softmax_attention(q, k, v, rows, cols, meter):
    """Causal attention of one head: (output, log-sum-exps).

    q, k, v: float64 tensors (tokens, d). Scores are scaled by
    1/sqrt(d). Outer loop: tiles of rows queries; inner loop:
    tiles of cols keys and values. Tiles that the mask hides
    whole may be skipped. Call meter(tensor) for each tile at
    each crossing: queries, keys and values read, output and
    log-sum-exps written. No tensor of tokens by tokens.
    About 20 lines.
    """
'''


def online_softmax_attention(q, k, v, rows, cols, meter):
    """The reference: a running maximum, sum and weighted sum for each tile of queries."""
    return _attend(q, k, v, rows, cols, meter)


def no_rescale(q, k, v, rows, cols, meter):
    """Planted: old sums stay as they were when the maximum rises."""
    return _attend(q, k, v, rows, cols, meter, rescale=False)


def scaled_by_width(q, k, v, rows, cols, meter):
    """Planted: 1/d in place of 1/sqrt(d)."""
    return _attend(q, k, v, rows, cols, meter, power=-1)


def not_scaled(q, k, v, rows, cols, meter):
    """Planted: raw products."""
    return _attend(q, k, v, rows, cols, meter, power=0)


def sees_the_next(q, k, v, rows, cols, meter):
    """Planted: the mask is off by one."""
    return _attend(q, k, v, rows, cols, meter, ahead=1)


def masked_within_the_tile(q, k, v, rows, cols, meter):
    """Planted: the mask compares places in the tile, not in the sequence."""
    return _attend(q, k, v, rows, cols, meter, placed=False)


def read_once(q, k, v, rows, cols, meter):
    """Planted: keys and values are metered for the first tile of queries only."""
    return _attend(q, k, v, rows, cols, meter, again=False)


def _attend(q, k, v, rows, cols, meter, rescale=True, power=-0.5, ahead=0, placed=True, again=True):
    import torch

    out, lse = torch.empty_like(v), torch.empty_like(v[:, 0])
    for i in range(0, len(q), rows):
        queries = q[i : i + rows]
        meter(queries)
        top = torch.full((len(queries), 1), float("-inf"), dtype=q.dtype)
        total, sums = torch.zeros_like(top), torch.zeros_like(queries)
        for j in range(0, len(k), cols):
            keys, values = k[j : j + cols], v[j : j + cols]
            if i == 0 or again:
                meter(keys)
                meter(values)
            row = torch.arange(len(queries)) + (i if placed else 0)
            col = torch.arange(len(keys)) + (j if placed else 0)
            scores = (queries @ keys.T) * q.shape[1] ** power
            scores = scores.masked_fill(col > row[:, None] + ahead, float("-inf"))
            before, top = top, torch.maximum(top, scores.amax(1, keepdim=True))
            shrink = (before - top).exp() if rescale else 1
            weights = (scores - top).exp()
            total, sums = total * shrink + weights.sum(1, keepdim=True), sums * shrink + weights @ values
        out[i : i + rows], lse[i : i + rows] = sums / total, (top + total.log())[:, 0]
        meter(out[i : i + rows])
        meter(lse[i : i + rows])
    return out, lse


def call(function, arguments):
    """(what the function returns, bytes that it reports to its meter)."""
    crossed = []
    returned = function(*arguments, lambda tensor: crossed.append(tensor.numel() * tensor.element_size()))
    return returned, sum(crossed)


def differs(result, want, arguments):
    """What is wrong with (returned, bytes), in words that follow the call; empty where nothing is."""
    import torch

    (returned, moved), (wanted, most) = result, want
    pair = isinstance(returned, (tuple, list)) and len(returned) == 2 and all(map(torch.is_tensor, returned))
    if not pair or [t.shape for t in returned] != [t.shape for t in wanted]:
        return "must return a tensor (tokens, d) and a tensor (tokens,): the output and its log-sum-exp."
    for name, got, right in zip(("output", "log-sum-exp"), returned, wanted, strict=True):
        if not torch.allclose(got.double(), right.double(), rtol=1e-9, atol=1e-9, equal_nan=True):
            return f"gave an {name} off by up to {(got - right).abs().max():.2g}.".replace("an log", "a log")
    least = most - hidden_bytes(*arguments)
    if moved in (most, least):
        return ""
    return f"reported {moved:,} bytes to its meter; {most:,} cross, or {least:,} when hidden tiles are skipped."


def hidden_bytes(q, k, v, rows, cols):
    """Bytes of the tiles of keys and values that lie wholly after all queries of a tile."""
    size = 0
    for i in range(0, len(q), rows):
        for j in range(0, len(k), cols):
            if j >= i + rows:
                size += 2 * k[j : j + cols].numel() * k.element_size()
    return size


def inputs():
    """Six calls: tiles that divide the tokens and some that do not, one larger than everything."""
    import torch

    torch.manual_seed(8)
    shapes = ((8, 4, 2, 2), (8, 4, 4, 2), (7, 3, 3, 2), (12, 8, 4, 5), (5, 2, 5, 1), (6, 4, 100, 100))
    return [
        (*(2 * torch.randn(3, tokens, d, dtype=torch.float64)).unbind(), rows, cols) for tokens, d, rows, cols in shapes
    ]
