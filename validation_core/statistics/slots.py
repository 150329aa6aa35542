"""Which of m + 1 slots holds the truth? Divergence of one shared score, and its exact test.

References:
    Discriminative calibration: check Bayesian computation from simulations and flexible
    classifier, Yao & Domke (2023): the divergence is the classifier's held-out log predictive
    density, from which that of guessing is taken away; Algorithm 1, labels permuted within x.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import log_expit, logsumexp, ndtri, xlogy

from validation_core.pieces import slices
from validation_core.statistics.permutation import (
    SUMMATION_ROUNDING,
    PermutationResult,
    require_permutations,
    share_beyond,
)
from validation_core.statistics.ranks import require_numbers
from validation_core.types import Float

Integer = NDArray[np.integer]
_LEVEL = 0.95
SlotLoss = Literal["multiclass", "binary"]

NUMBERS_AT_ONCE = 1 << 20  # values gathered at a time: index and value are 8 MB each


def contributions(scores: ArrayLike, kind: SlotLoss) -> Float:
    """Term of each simulation in the divergence, with each of its slots as the truth.

    Scores (..., n, m + 1) to nats (..., n, m + 1); the truth's are in slot 0, so that the
    divergence is the mean of [..., 0].

    Raises:
        ValueError: if the kind is unknown, there are fewer than two slots or rows, or a score
            is not finite.
    """
    if kind not in get_args(SlotLoss):
        raise ValueError(
            f"kind is one of {', '.join(get_args(SlotLoss))}; got {kind!r}. Choose one of those."
        )
    return (
        multiclass_contributions(scores) if kind == "multiclass" else binary_contributions(scores)
    )


def multiclass_contributions(scores: ArrayLike) -> Float:
    """log softmax over a simulation's slots, plus log(m + 1): (..., n, m + 1), at most that log.

    The Bayes score gives E log [r(truth) / mean of r over the slots], r = p / q: between 0 and
    log(m + 1), and growing with m to KL(p || q). What depends on x alone cancels.
    """
    g = _numbers(scores)
    return g - logsumexp(g, axis=-1, keepdims=True) + np.log(g.shape[-1])


def binary_contributions(scores: ArrayLike, weight: float = 0.5) -> Float:
    """Log-likelihood of truth against draw, less that of guessing: (..., n, m + 1).

    Args:
        scores: logits (..., n, m + 1).
        weight: share w of the truths; the m draws at an x share 1 - w. At 1/2 the classes balance
            and the Bayes logit gives the Jensen-Shannon divergence, at most log 2; 1/(m + 1) is
            unweighted rows, whose divergence shrinks to 0 as m grows.
    """
    g = _numbers(scores)
    as_truth, as_draw = log_expit(g), log_expit(-g)
    others = as_draw.sum(axis=-1, keepdims=True) - as_draw
    guessing = xlogy(weight, weight) + xlogy(1 - weight, 1 - weight)
    return weight * as_truth + (1 - weight) / (g.shape[-1] - 1) * others - guessing


def most(kind: SlotLoss, m: int) -> float:
    """Largest possible divergence with m draws: the truth is always recognised."""
    return float(np.log(m + 1 if kind == "multiclass" else 2))


def permutation(
    values: ArrayLike, permutations: int, rng: np.random.Generator
) -> PermutationResult:
    """The divergence of contributions (..., n, m + 1) against truths put in random slots.

    p-value = (1 + number of permuted divergences at least the observed) / (B + 1): never 0, and
    exact as truth and draws are exchangeable given x. Each row's slot is drawn alone: nothing is
    ever swapped between different x. Equal scores give 1.

    Args:
        values: what `contributions` gave.
        permutations: B.
        rng: draws the slots.

    Raises:
        ValueError: if B < 1.
    """
    require_permutations(permutations)
    table = np.asarray(values, dtype=np.float64)
    lead, (n, slots) = table.shape[:-2], table.shape[-2:]
    trials = table.reshape(-1, n, slots)
    null = np.empty((len(trials), permutations))
    narrow = np.uint8 if slots <= 256 else np.int64
    for some, few in _pieces(len(trials), permutations, n):
        shape = (some.stop - some.start, few.stop - few.start, n)
        truth_slots = rng.integers(0, slots, size=shape, dtype=narrow)
        null[some, few] = permuted_divergences(trials[some], truth_slots)
    observed = table[..., 0].mean(axis=-1)
    spread = null.reshape(*lead, permutations)
    return PermutationResult(
        observed, share_beyond(observed, spread, divergence_slack(table)), spread
    )


def permuted_divergences(values: ArrayLike, slots: Integer) -> Float:
    """Divergences (..., B) of contributions (..., n, m + 1), the truths in slots (..., B, n)."""
    table = np.asarray(values, dtype=np.float64)
    n, count = table.shape[-2:]
    first = np.arange(table[..., 0].size).reshape(*table.shape[:-2], 1, n) * count
    means: Float = table.reshape(-1)[first + slots].mean(axis=-1)
    return means


def divergence_slack(values: ArrayLike) -> Float:
    """Rounding by which equal divergences may differ: (..., n, m + 1) to (...)."""
    return SUMMATION_ROUNDING * np.maximum(
        np.abs(np.asarray(values, np.float64)).max(axis=(-2, -1)), 1.0
    )


def mean_interval(rows: ArrayLike) -> tuple[Float, Float]:
    """Normal 95% interval for the mean of independent rows (..., n): low (...), high (...).

    Raises:
        ValueError: if there are fewer than two rows.
    """
    values = np.asarray(rows, dtype=np.float64)
    if values.shape[-1] < 2:
        raise ValueError(
            f"an interval needs at least two rows; got {values.shape[-1]}; bring more simulations"
        )
    half = ndtri((1 + _LEVEL) / 2) * values.std(axis=-1, ddof=1) / np.sqrt(values.shape[-1])
    return values.mean(axis=-1) - half, values.mean(axis=-1) + half


def _numbers(scores: ArrayLike) -> Float:
    g = np.asarray(scores, dtype=np.float64)
    if g.ndim < 2 or min(g.shape[-2:]) < 2:
        raise ValueError(
            "the true value is compared with at least one draw in each of at least two "
            f"simulations; got scores of shape {g.shape}, simulations by slots last; bring more"
        )
    if np.isinf(require_numbers(g)).any():
        raise ValueError(
            "a slot has a log probability only where scores are finite; got "
            f"{int(np.isinf(g).sum())} infinite of {g.size}; bound the score"
        )
    return g


def _pieces(trials: int, permutations: int, n: int) -> Iterator[tuple[slice, slice]]:
    """Trials and permutations that fit in memory together."""
    few = max(1, min(permutations, NUMBERS_AT_ONCE // n))
    some = max(1, NUMBERS_AT_ONCE // (n * few))
    return product(slices(trials, some), [*slices(permutations, few)])
