"""Whether log q is a normalised density of its own draws."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import scipy

from validation_core.rng import stream
from validation_core.tables.draw_order import draws_at, random_columns
from validation_core.types import Array, Float

# -log q averages to the draws' entropy, which is at most that of a normal of their covariance,
# whatever q is. It is bounded from below with one to three parameters by nearest neighbours
# (Kozachenko & Leonenko, Sample estimate of the entropy of a random vector, 1987), once that
# estimate no longer moves with the number of draws, and in any dimension where log q itself is
# that of a normal up to its constant. Without a bound there is no warning.

_ROWS, _DRAWS = 200, 200  # that are looked at: bounds time and memory
_FEWEST_ROWS, _FEWEST_DRAWS = 10, 20
_SMALL = 3  # parameters up to which neighbours tell
_NEIGHBOUR = 3
_CLEAR = 1.0  # nats that a mean over rows is off
_FAR, _MANY = 2.0, 0.1  # nats that single rows are off, and the share of rows that are
_STILL = 0.17  # nats by which half of the draws give another entropy: a third of a thin surface's
_ERRORS = 5.0  # standard errors
_QUADRATIC = 1e-6  # share of log q's variance that a normal's leaves: float32 rounds
_ALIKE = 0.25  # nats between the entropies by log q's shape and by the draws' covariance


class _Offset(NamedTuple):
    """A bound on the constant by which log q differs from a normalised density."""

    nats: float
    """Mean of log q less that of a normalised q, at least this far from 0; negative where log q
    is too small."""
    rows: int
    """Rows that were looked at."""


def normalisation_offset(q: Array, log_q: Array) -> _Offset | None:
    """Find out whether log q is clearly no normalised density of its draws.

    Args:
        q: draws (N, K, D).
        log_q: log q at them (N, K), in nats.

    Returns:
        the offset; None where log q may be normalised, or cannot be told not to be.
    """
    n, k, d = q.shape
    if k < max(_FEWEST_DRAWS, 2 * d + 5):
        return None
    rows = np.unique(np.linspace(0, n - 1, min(n, _ROWS)).astype(int))
    some, logs = q[rows], log_q[rows]
    if k > _DRAWS:
        columns = random_columns(len(rows), k, _DRAWS, stream(0, "log q", "draws"))
        some, logs = draws_at(some, columns), draws_at(logs, columns)
    some, logs = some.astype(np.float64), logs.astype(np.float64)
    finite = np.isfinite(logs).all(1)
    with np.errstate(all="ignore"):
        whitened = _WhitenedDraws.of(some[finite], logs[finite])
        if len(whitened.logs) < _FEWEST_ROWS:
            return None
        return _small(whitened) or _large(whitened)


def normalisation_warnings(q: Array, log_q: Array | None) -> tuple[str, ...]:
    """A warning where log q is clearly not normalised, with what that does and does not affect.

    Args:
        q: draws (N, K, D).
        log_q: log q at them (N, K), in nats; None where it is not known.
    """
    discrepancy = None if log_q is None else normalisation_offset(q, log_q)
    if discrepancy is None:
        return ()
    side, size = "small" if discrepancy.nats < 0 else "large", abs(discrepancy.nats)
    about = f"{size:.1f}" if size < 1e6 else f"{size:.1e}"
    return (
        f"log_q_draws cannot be a normalised density of theta_q: by the draws' own entropy it is "
        f"about {about} nats too {side}, or more, in the mean over {discrepancy.rows} "
        f"rows. Where the offset depends on x alone, the symmetric divergence and ranks of log q "
        f"within an x stay what they are. Where it is due to other coordinates (a Jacobian that "
        f"is missing), they are wrong: give log q in the coordinates of theta.",
    )


class _WhitenedDraws(NamedTuple):
    """Rows of draws with a covariance, whitened by it."""

    white: Float
    """(n, K, D)."""
    volume: Float
    """Log determinant (n,) of the matrix that they were whitened by."""
    logs: Float
    """log q (n, K)."""

    @classmethod
    def of(cls, q: Float, logs: Float) -> _WhitenedDraws:
        """Whiten draws (n, K, D); rows whose covariance is singular are left out."""
        centred = q - q.mean(1, keepdims=True)
        scale = centred.std(1)  # (n, D): parameters in any units
        unit = centred / scale[:, None]
        correlation = np.einsum("nki,nkj->nij", unit, unit) / (q.shape[1] - 1)
        whole = np.isfinite(correlation).all((1, 2))
        whole[whole] &= np.linalg.eigvalsh(correlation[whole])[:, 0] > 1e-8
        root = np.linalg.cholesky(correlation[whole])
        white = np.linalg.solve(root, unit[whole].transpose(0, 2, 1)).transpose(0, 2, 1)
        diagonal = np.log(np.diagonal(root, axis1=1, axis2=2)).sum(1)
        return cls(white, diagonal + np.log(scale[whole]).sum(1), logs[whole])

    @property
    def told(self) -> Float:
        """Entropy (n,) by log q, in nats."""
        return np.asarray(-self.logs.mean(1))

    @property
    def normal(self) -> Float:
        """Entropy (n,) of a normal of this covariance, unbiased for draws of a normal."""
        k, d = self.white.shape[1:]
        short = d * np.log((k - 1) / 2) - scipy.special.digamma((k - 1 - np.arange(d)) / 2).sum()
        return np.asarray(d / 2 * np.log(2 * np.pi * math.e) + self.volume + short / 2)

    @property
    def neighbours(self) -> Float:
        """Entropy (n,) by distances to the third nearest draw."""
        k, d = self.white.shape[1:]
        square = np.stack(
            [
                np.partition(((points[:, None] - points) ** 2).sum(-1), _NEIGHBOUR)[:, _NEIGHBOUR]
                for points in self.white
            ]
        )
        ball = d / 2 * np.log(np.pi) - scipy.special.gammaln(d / 2 + 1)
        mean = d / 2 * np.log(square).mean(1)
        return np.asarray(
            mean
            + ball
            + scipy.special.digamma(k)
            - scipy.special.digamma(_NEIGHBOUR)
            + self.volume
        )

    def halved(self) -> _WhitenedDraws:
        """Every other draw of each row."""
        return self._replace(white=self.white[:, ::2], logs=self.logs[:, ::2])


def _small(drawn: _WhitenedDraws) -> _Offset | None:
    """The offset where log q implies more entropy than any law of this covariance has."""
    over = drawn.told - drawn.normal
    far = over > _FAR
    if _clearly(over) or far.mean() > _MANY:
        return _Offset(-float(over.mean() if _clearly(over) else over[far].mean()), len(over))
    return None


def _large(drawn: _WhitenedDraws) -> _Offset | None:
    """The offset where log q implies less entropy than a lower bound on that of the draws."""
    least: Float | None
    if drawn.white.shape[-1] <= _SMALL:
        least = drawn.neighbours
        if not abs(drawn.halved().neighbours.mean() - least.mean()) <= _STILL:
            return None
    else:
        least = _entropy_of_shape(drawn)
    if least is None:
        return None
    over = least - drawn.told
    return _Offset(float(over.mean()), len(over)) if _clearly(over) else None


def _clearly(over: Float) -> bool:
    """Whether the mean of differences (n,) exceeds `_CLEAR` nats by five standard errors."""
    error = float(over.std(ddof=1)) / np.sqrt(len(over))
    return bool(over.mean() - _ERRORS * error > _CLEAR)


def _entropy_of_shape(drawn: _WhitenedDraws) -> Float | None:
    """Entropy (n,) of the normals that log q is by its shape, whatever its constant; None where
    it is no normal, or one that was cut off: its draws are then narrower than its shape."""
    k, d = drawn.white.shape[1:]
    first, second = np.triu_indices(d)
    if k < 1 + d + len(first) + _FEWEST_DRAWS:
        return None
    entropy = np.empty(len(drawn.logs))
    for i, (at, log) in enumerate(zip(drawn.white, drawn.logs, strict=True)):
        columns = np.column_stack([np.ones(k), at, at[:, first] * at[:, second]])
        fitted = np.linalg.lstsq(columns, log, rcond=None)[0]
        if not np.var(log - columns @ fitted) <= _QUADRATIC * np.var(log):
            return None
        half = np.zeros((d, d))
        half[first, second] = -fitted[1 + d :]
        sign, determinant = np.linalg.slogdet(half + half.T)  # of the precision
        if sign <= 0:
            return None
        entropy[i] = d / 2 * np.log(2 * np.pi * math.e) - determinant / 2 + drawn.volume[i]
    return entropy if abs((entropy - drawn.normal).mean()) < _ALIKE else None
