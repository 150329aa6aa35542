"""What a table may hold beside its draws: log densities, and q's draws at a real observation.

None of it is needed, so nothing here refuses a file: an array that does not fit is left unread,
and a warning says why. The second part asks whether log q can be normalised at all.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import scipy  # its parts load at first use: a child that reads files needs none
from numpy.typing import NDArray

from validation_core.tables.source import Order, is_real
from validation_core.types import Array, Float

DENSITIES = ("log_q", "log_q_draws", "log_joint", "log_joint_draws")
OBSERVED = ("x_o", "theta_o")

_LARGEST = 1e100


def read_densities(
    arrays: Mapping[str, NDArray[np.generic]], sizes: tuple[int, int], order: Order
) -> tuple[dict[str, Array], tuple[str, ...]]:
    """The log densities that fit a table, and sentences about those that do not.

    Args:
        arrays: the file's arrays by role.
        sizes: (N, K) of the table.
        order: the order in which theta_q was found: arrays of its draws follow it.

    Returns:
        arrays: (N,) at the truths and (N, K) at the draws, the draws' in the order NK.
        warnings: for each array that was left unread, or holds numbers that no log density is.
    """
    log_densities: dict[str, Array] = {}
    warnings: list[str] = []
    n, k = sizes
    for name in DENSITIES:
        if name not in arrays:
            continue
        saved = (n,) if not name.endswith("_draws") else (n, k) if order == "NKD" else (k, n)
        array = _shaped(arrays[name], saved)
        if array is not None:
            array, huge = _bounded(array)
            warnings += [_beyond(name, huge, array.size)] * bool(huge)
        if array is None:
            warnings.append(_unfit(name, arrays[name], f"real numbers of shape {saved}"))
        elif 2 * (lost := int((~np.isfinite(array)).sum())) > array.size:
            warnings.append(
                f"{name} must be finite at half of its places or more; got {lost:,} of "
                f"{array.size:,} NaN or infinite. It was left unread: find out why q or the "
                f"simulator returns them."
            )
        else:
            turned = order == "KND" and array.ndim == 2
            log_densities[name] = np.ascontiguousarray(array.T) if turned else array
    return log_densities, tuple(warnings)


def _shaped(array: NDArray[np.generic], shape: tuple[int, ...]) -> Array | None:
    """The array in this shape if it holds real numbers and differs only in axes of length 1."""
    fits = tuple(s for s in array.shape if s > 1) == tuple(s for s in shape if s > 1)
    return array.reshape(shape) if fits and is_real(array) and array.size else None


def _bounded(array: Array) -> tuple[Array, int]:
    """The array with infinities where it lies beyond what a sum of squares holds; how many."""
    if array.itemsize < 8:  # these hold none as large
        return array, 0
    beyond = ((array > _LARGEST) | (array < -_LARGEST)) & np.isfinite(array)
    huge = int(beyond.sum())
    return (np.where(beyond, np.copysign(np.inf, array), array) if huge else array), huge


def _beyond(name: str, huge: int, size: int) -> str:
    return (
        f"{name} is beyond {_LARGEST:g} in size at {huge:,} of {size:,} places: no log density "
        f"is, and they are read as infinite. Find out why q or the simulator returns them."
    )


def _unfit(name: str, array: NDArray[np.generic], wanted: str) -> str:
    return (
        f"{name} must hold {wanted}; got {array.dtype} of shape {array.shape}. It was left "
        f"unread: save it again to use it."
    )


def nonfinite_density_warnings(densities: Mapping[str, Array]) -> tuple[str, ...]:
    """Sentences about the values of log densities that are not finite: kept, and counted."""
    warnings = []
    for name, array in densities.items():
        lost = int((~np.isfinite(array)).sum())
        if lost:
            warnings.append(
                f"{name} is NaN or infinite at {lost:,} of {array.size:,} places: the rows are "
                f"kept, and what reads densities leaves those places out."
            )
    return tuple(warnings)


def read_observed(
    arrays: Mapping[str, NDArray[np.generic]], m: int, d: int
) -> tuple[tuple[Array, Array] | None, tuple[str, ...]]:
    """A real observation with q's draws there, (x_o (M,), theta_o (K_o, D)); or why there is none.

    Args:
        arrays: the file's arrays by role.
        m: columns of x.
        d: columns of theta.
    """
    present = [name for name in OBSERVED if name in arrays]
    if not present:
        return None, ()
    if len(present) == 1:
        (other,) = {*OBSERVED} - {*present}
        return None, (
            f"{present[0]} must come with {other}; got it alone. It was left unread: save x_o "
            f"({m},) and theta_o (K, {d}), q's draws at x_o.",
        )
    at, draws = arrays["x_o"], arrays["theta_o"]
    if not is_real(at) or at.size != m or not np.isfinite(at).all():
        return None, (_unfit("x_o", at, f"{m} finite numbers, as a row of x does"),)
    if not is_real(draws) or not draws.size or not _rows(draws.shape, d):
        return None, (_unfit("theta_o", draws, f"draws of q at x_o, (K, {d})"),)
    rows = draws.reshape(-1, d)
    keep = np.isfinite(rows).all(axis=1)
    lost = int((~keep).sum())
    if 2 * lost > len(rows):
        return None, (
            f"theta_o must be finite in half of its rows or more; got {lost} of {len(rows)} with "
            f"NaN or infinite values. It was left unread.",
        )
    warning = f"{lost:,} draws at x_o were left out: NaN or infinite values in theta_o."
    return (at.reshape(m), rows[keep] if lost else rows), (warning,) * bool(lost)


def _rows(shape: tuple[int, ...], d: int) -> bool:
    """Whether an array of this shape holds rows of d parameters: (K, D), (1, K, D), (K, 1, D)."""
    if len(shape) < 2:
        return d == 1 and len(shape) == 1
    return shape[-1] == d and (len(shape) == 2 or (len(shape) == 3 and 1 in shape[:2]))


def unused_array_warnings(arrays: Mapping[str, NDArray[np.generic]]) -> tuple[str, ...]:
    """What is said about densities and observations that come with two plain samples."""
    present = [name for name in (*DENSITIES, *OBSERVED) if name in arrays]
    return (f"{', '.join(present)}: left unread, since two samples have no x.",) * bool(present)


# ---- Whether log q can be a normalised density of its own draws ----

# -log q averages to the draws' entropy, which is at most that of a normal of their covariance,
# whatever q is. From below it is told where it can be: with one to three parameters by nearest
# neighbours (Kozachenko & Leonenko, Sample estimate of the entropy of a random vector, 1987),
# once that estimate no longer moves with the number of draws, and in any dimension where log q
# itself is that of a normal up to its constant. What cannot be told is not said.

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
    """By how many nats log q is off."""

    nats: float
    """Mean of log q less that of a normalised q; negative: log q is too small. The least it is."""
    rows: int
    """Rows that it was told from."""


def normalisation_offset(q: Array, log_q: Array) -> _Offset | None:
    """Whether log q (N, K) at draws q (N, K, D) is clearly no normalised density; None if not."""
    n, k, d = q.shape
    if k < max(_FEWEST_DRAWS, 2 * d + 5):
        return None
    rows = np.unique(np.linspace(0, n - 1, min(n, _ROWS)).astype(int))
    some = np.asarray(q[rows, :_DRAWS], dtype=np.float64)
    logs = np.asarray(log_q[rows, :_DRAWS], dtype=np.float64)
    finite = np.isfinite(logs).all(1)
    with np.errstate(all="ignore"):
        whitened = _WhitenedDraws.of(some[finite], logs[finite])
        if len(whitened.logs) < _FEWEST_ROWS:
            return None
        return _small(whitened) or _large(whitened)


def normalisation_warnings(q: Array, log_q: Array | None) -> tuple[str, ...]:
    """A warning where log q is clearly off, with what that does and does not affect."""
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
    """log det of what they were whitened by (n,)."""
    logs: Float
    """log q (n, K)."""

    @classmethod
    def of(cls, q: Float, logs: Float) -> _WhitenedDraws:
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
        """Entropy (n,) by log q."""
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
    """Whether log q says more entropy than any law of this covariance has."""
    over = drawn.told - drawn.normal
    far = over > _FAR
    if _clearly(over) or far.mean() > _MANY:
        return _Offset(-float(over.mean() if _clearly(over) else over[far].mean()), len(over))
    return None


def _large(drawn: _WhitenedDraws) -> _Offset | None:
    """Whether log q says less entropy than the draws have, where that can be told."""
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
