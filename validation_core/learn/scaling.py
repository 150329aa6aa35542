"""Scales of columns: by quantiles or by moments, and inputs of networks on them."""

from __future__ import annotations

from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from validation_core.types import Array, Float

_F = TypeVar("_F", bound=np.floating)
_QUARTILES = 1.349  # interquartile range of a standard normal


class Standardizer(NamedTuple):
    """z = (values - shift) / scale of columns (..., C), clipped at `clip` scales.

    In double precision, before anything narrows: a level may dwarf the spread, and heavy tails,
    which overflow float32, reach a network as "far out" rather than as 1e6.
    """

    shift: Array  # (C,)
    scale: Array  # (C,)
    clip: float = np.inf

    def __call__(self, values: Array) -> Float:
        """Values (..., C) in these scales."""
        z = (np.asarray(values, np.float64) - self.shift) / self.scale
        return np.clip(z, -self.clip, self.clip)


def robust(rows: Array, *, by_sd: bool = True) -> tuple[Float, Float]:
    """Medians (C,) and robust sds (C,) of columns: t with nu <= 2 ruins mean and sd.

    Args:
        rows: (n, C).
        by_sd: take the sd of a column whose quartiles are equal, which is mostly one value; else,
            or where that is 0 too, its scale is 1.
    """
    low, middle, high = np.quantile(rows, [0.25, 0.5, 0.75], axis=0)
    spread = (high - low) / _QUARTILES
    if by_sd:
        # Squares of float32 overflow where those of float64 do not.
        sd = rows.std(axis=0, dtype=np.float64).astype(rows.dtype)
        spread = np.where(spread > 0, spread, sd)
    return middle, nonzero_scales(spread)


def moments(rows: NDArray[_F]) -> tuple[NDArray[_F], NDArray[_F]]:
    """Means (C,) and sds (C,) of columns (..., C)."""
    others = tuple(range(rows.ndim - 1))
    return rows.mean(axis=others), nonzero_scales(rows.std(axis=others))


def nonzero_scales(scale: NDArray[_F]) -> NDArray[_F]:
    """Scales with 1 for a column that does not vary: it has no unit of its own."""
    return np.where(scale > 0, scale, 1.0)


def whitener(off: Array, *, tail: float, ridge: float, unit: bool) -> Float:
    """C^(-1/2) (d, d) of the covariance C of rows (n, d) about 0, their tails clipped.

    Args:
        off: residual of each row.
        tail: robust sds beyond which a number no longer sways C.
        ridge: share of the identity in C, whatever the dimension.
        unit: divide by the overall size as well; else that stays as it is.
    """
    _, scale = robust(off)
    off = np.clip(off, -tail * scale, tail * scale)
    covariance = off.T @ off / len(off)
    d = len(covariance)
    mean = np.trace(covariance) / d
    if not mean > 0:
        return np.eye(d)
    covariance = (1 - ridge) * covariance + ridge * mean * np.eye(d)
    values, vectors = np.linalg.eigh(covariance)
    return (vectors / np.sqrt(values if unit else values / mean)) @ vectors.T
