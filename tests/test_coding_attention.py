"""The coding exercise of attention: any correct tiling passes, and what is wrong is met with a sentence that fits."""

import pytest
import torch

from threeledgers.exercises import coding, find
from threeledgers.exercises.solutions import attention as solution

GIVEN = find("attention-code")


def skipping(q, k, v, rows, cols, meter):
    """Tiles that the mask hides whole are never read; tiles are metered row by row; partial results are merged by their
    log-sum-exps instead of by a running maximum."""
    outs, lses = [], []
    for i in range(0, len(q), rows):
        end = min(i + rows, len(q))
        for row in q[i:end]:
            meter(row)
        out = lse = None
        for j in range(0, end, cols):
            for table in (k, v):
                for row in table[j : j + cols]:
                    meter(row)
            scores = q[i:end] @ k[j : j + cols].T / q.shape[1] ** 0.5
            hidden = torch.arange(j, j + scores.shape[1]) > torch.arange(i, end)[:, None]
            scores[hidden] = -1e300
            new = scores.logsumexp(1)
            part = (scores - new[:, None]).exp() @ v[j : j + cols]
            both = new if lse is None else torch.logaddexp(lse, new)
            out = part if lse is None else out * (lse - both).exp()[:, None] + part * (new - both).exp()[:, None]
            lse = both
        meter(out)
        meter(lse)
        outs.append(out)
        lses.append(lse)
    return torch.cat(outs), torch.cat(lses)


def backwards(q, k, v, rows, cols, meter):
    """Rows and columns from the last to the first, each query for itself on chip."""
    out, lse = torch.zeros_like(v), torch.zeros(len(q), dtype=q.dtype)
    for i in reversed(range(0, len(q), rows)):
        end = min(i + rows, len(q))
        meter(q[i:end])
        state = [(float("-inf"), 0.0, torch.zeros(v.shape[1], dtype=v.dtype)) for _ in range(i, end)]
        for j in reversed(range(0, len(k), cols)):
            meter(k[j : j + cols])
            meter(v[j : j + cols])
            for n, (top, total, sums) in enumerate(state):
                for key in range(j, min(j + cols, i + n + 1)):
                    score = float(q[i + n] @ k[key]) / q.shape[1] ** 0.5
                    high = max(top, score)
                    shrink, weight = (torch.tensor(x - high, dtype=q.dtype).exp() for x in (top, score))
                    top, total, sums = high, total * shrink + weight, sums * shrink + weight * v[key]
                state[n] = top, total, sums
        for n, (top, total, sums) in enumerate(state):
            out[i + n], lse[i + n] = sums / total, top + torch.as_tensor(total).log()
        meter(out[i:end])
        meter(lse[i:end])
    return out, lse


@pytest.mark.parametrize("right", [skipping, backwards])
def test_any_correct_tiling_passes(right):
    assert coding.judge(GIVEN, right).status == "right"


def test_the_reference_is_pytorchs_attention():
    for q, k, v, rows, cols in solution.inputs():
        (out, lse), moved = solution.call(solution.online_softmax_attention, (q, k, v, rows, cols))
        want = torch.nn.functional.scaled_dot_product_attention(q[None], k[None], v[None], is_causal=True)[0]
        torch.testing.assert_close(out, want, rtol=1e-12, atol=1e-12)
        mask = torch.ones(len(q), len(q), dtype=torch.bool).triu(1)
        scores = (q @ k.T / q.shape[1] ** 0.5).masked_fill(mask, float("-inf"))
        torch.testing.assert_close(lse, scores.logsumexp(1))
        tiles = -(-len(q) // rows)
        assert moved == 8 * (2 * q.numel() + len(q) + 2 * k.numel() * tiles)


def test_a_missing_rescale_is_no_rounding_error():
    errors = []
    for case in solution.inputs():
        (out, _), _ = solution.call(solution.no_rescale, case)
        (want, _), _ = solution.call(solution.online_softmax_attention, case)
        errors.append((out - want).abs().max().item())
    assert max(errors) > 0.1


def reference(*arguments):
    return solution.online_softmax_attention(*arguments)


@pytest.mark.parametrize(
    "wrong, words",
    [
        (lambda q, *rest: reference(q, *rest)[0], "must return a tensor (tokens, d) and a tensor (tokens,)"),
        (lambda *a: (reference(*a)[0] + 0.5, reference(*a)[1]), "gave an output off by up to 0.5."),
        (lambda *a: (reference(*a)[0] * float("nan"), reference(*a)[1]), "gave an output off by up to nan."),
        (lambda *a: (reference(*a)[0], reference(*a)[1] + 1), "gave a log-sum-exp off by up to 1."),
        (lambda *a: reference(*a[:5], lambda t: None), "reported 0 bytes to its meter; 2,624 cross, or 1,856 when"),
        (lambda q, k, v, rows, cols, meter: q[99], "raised IndexError"),
        (lambda q, *rest: (q.mul_(2), q[:, 0]), "It changes its argument"),
    ],
)
def test_wrong_answers_meet_a_sentence(wrong, words):
    verdict = coding.judge(GIVEN, wrong)
    assert verdict.status == "wrong" and verdict.trap is None and words in verdict.message
    assert "online_softmax_attention(tensor(8, 4), tensor(8, 4), tensor(8, 4), 2, 2)" in verdict.message


def test_a_meter_that_reads_too_much_is_refused():
    def twice(q, k, v, rows, cols, meter):
        meter(q)
        return reference(q, k, v, rows, cols, meter)

    assert "bytes to its meter" in coding.judge(GIVEN, twice).message
