"""Weights of true values: as they came, from densities, or estimated from those of the draws.

A table of weighted draws alone lacks w_0. Where log w is log_joint - log_q at the draws, it is at
theta. Elsewhere a polynomial of theta is fitted to the log weights of each row's draws: a factor
exp(e) in w_0 moves the true value's weighted rank by about e w_0 / sum w, so that p-values are
approximate and nearly exact where draws are many or the error e, measured at draws left out in
turn, is small. Leaving w_0 out (w_0 = 0, resampling of the draws alone) moves it by w_0 / sum w at
every row alike, and rejects a right q.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from validation_core.types import Array, PosteriorTable

_CONSISTENT = 1e-2  # nats
_PER_TERM = 3  # draws of a row for each term that is fitted to its weights
_ROUNDING = 1e-3  # nats
_POOREST = 1.0  # nats of error beyond which an estimated weight is refused


class TruthWeights(NamedTuple):
    """Log weights (N,) of true values."""

    logs: Array
    error: float | None
    """Typical error in nats, where they were estimated."""
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def weights_of_truths(
    data: PosteriorTable, logs: Mapping[str, Array], draws: Array, densities: Mapping[str, Array]
) -> TruthWeights:
    """Weights of true values: as given, log_joint - log_q, or estimated from the draws'.

    Args:
        data: theta (N, D) and weighted draws q (N, K, D).
        logs: log_w (N,), where it came.
        draws: log weights (N, K).
        densities: log densities beside the table.

    Raises:
        ValueError: where they are missing and cannot be estimated.
    """
    if "log_w" in logs:
        return TruthWeights(np.asarray(logs["log_w"], np.float64), None)
    derived = _from_densities(draws, densities)
    if derived is not None:
        note = "Weights of true values follow from log_joint - log_q, as those of draws do."
        return TruthWeights(derived, None, (note,))
    fitted, error = _fitted(data, draws)
    if error > _POOREST:
        raise ValueError(
            "Weights of the draws must come with those of the true values, log_w (N,): the same "
            "ratio of densities at theta; got log_w_draws alone, from which they can be "
            f"estimated to {error:.1f} nats only. Save log_w, or log_q and log_joint with their "
            "draws."
        )
    near = error < _ROUNDING
    how = "within rounding" if near else f"to about {error:.2g} nats"
    warning = (
        "log_w (N,), the weights of the true values, is missing. They were estimated from the "
        f"weights of each row's draws ({how}), so that p-values are {'nearly ' * near}"
        f"{'exact' if near else 'approximate'}. Save log_w, the same ratio of densities at "
        "theta, and they are exact."
    )
    return TruthWeights(fitted, error, (), (warning,))


def _from_densities(draws: Array, densities: Mapping[str, Array]) -> Array | None:
    """Log weights (N,) of true values from log_joint - log_q, where the draws' are that ratio up
    to a number at each x."""
    names = ("log_joint", "log_q", "log_joint_draws", "log_q_draws")
    if not set(names) <= densities.keys():
        return None
    joint, q, joint_draws, q_draws = (np.asarray(densities[name], np.float64) for name in names)
    with np.errstate(invalid="ignore"):
        off = draws - (joint_draws - q_draws)
    known = np.isfinite(off)
    if not known.any(axis=1).all() or not np.isfinite(joint - q).all():
        return None
    middle = np.nanmedian(np.where(known, off, np.nan), axis=1)
    far = np.abs(off - middle[:, None])[known]
    return joint - q + middle if np.quantile(far, 0.99) < _CONSISTENT else None


def _fitted(data: PosteriorTable, draws: Array) -> tuple[Array, float]:
    """Log weights (N,) of true values by a polynomial of theta fitted to each row's draws, and
    its typical error when one draw is left out, in nats."""
    n = len(data)
    out, errors = np.empty(n), np.empty(n)
    for row in range(n):
        known = np.isfinite(draws[row])
        q, y = np.asarray(data.q[row][known], np.float64), draws[row][known]
        if len(y) < 2:
            out[row], errors[row] = draws[row].max(), np.inf
            continue
        centre, spread = q.mean(axis=0), q.std(axis=0)
        unit = np.where(spread > 0, spread, 1.0)
        at = np.concatenate([data.theta[row][None].astype(np.float64), q])
        terms = _terms((at - centre) / unit, len(y))
        basis, upper = np.linalg.qr(terms[1:])
        good = np.abs(np.diag(upper)) > 1e-9 * max(1.0, np.abs(np.diag(upper)).max())
        if not good.all():  # equal draws: a level alone
            basis, upper, terms = *np.linalg.qr(terms[1:, :1]), terms[:, :1]
        weight = basis.T @ y
        left = (y - basis @ weight) / np.maximum(1 - np.square(basis).sum(axis=1), 1e-3)
        value = terms[0] @ np.linalg.solve(upper, weight)
        reach = np.ptp(y)
        out[row] = np.clip(value, y.min() - reach, y.max() + reach)
        errors[row] = np.sqrt(np.square(left).mean())
    return out, float(np.median(errors))


def _terms(z: Array, count: int) -> Array:
    """Terms (S, T) of a polynomial of z (S, D): as many as so many draws can tell."""
    d = z.shape[1]
    most = count // _PER_TERM
    parts: list[Array] = [np.ones((len(z), 1))]
    if 1 + d <= most:
        parts.append(z)
    if 1 + 2 * d <= most:
        parts.append(np.square(z))
    if 1 + 2 * d + d * (d - 1) // 2 <= most:
        a, b = np.triu_indices(d, 1)
        parts.append(z[:, a] * z[:, b])
    return np.concatenate(parts, axis=1)
