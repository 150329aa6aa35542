"""Bounds of the prior, as a user gives them: no true value lies outside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from validation_core.text import list_text, share_text
from validation_core.types import Array, PosteriorTable

_ROUNDING = 1e-6  # of the width, by which numbers may miss a bound


def given_bounds(
    named: Mapping[str, tuple[float, float]] | None, saved: Array | None, names: Sequence[str]
) -> Array | None:
    """The bounds (D, 2) of all parameters, infinite where none are given; None without any.

    Args:
        named: least and greatest value of parameters by name.
        saved: an array of the file, (D, 2) or (2, D); NaN for no bound.
        names: of the D parameters.

    Raises:
        ValueError: for a name that no parameter has, an array of another shape, or no interval.
    """
    d = len(names)
    bounds = np.tile([-np.inf, np.inf], (d, 1))
    if named is None and saved is None:
        return None
    if saved is not None:
        table = saved if saved.shape == (d, 2) else saved.T
        if table.shape != (d, 2):
            raise ValueError(
                f"bounds must hold the least and the greatest value of each parameter, ({d}, 2); "
                f"got {saved.shape}. Save NaN or infinity where there is no bound."
            )
        bounds = np.where(np.isnan(table), bounds, table.astype(np.float64))
    for name, ends in (named or {}).items():
        if name not in names:
            raise ValueError(
                f"Bounds are of one of {list_text(names, 'or')}; got {name!r}. Name one."
            )
        bounds[list(names).index(name)] = ends
    for name, (low, high) in zip(names, bounds.tolist(), strict=True):
        if not low < high:
            raise ValueError(
                f"The lower bound must be below the upper one; got {low:g} to {high:g} for {name}."
                " Exchange them."
            )
    return bounds


def check_truths(theta: Array, bounds: Array, names: Sequence[str]) -> None:
    """Refuse bounds outside of which true values lie.

    Raises:
        ValueError: with how many do, of which parameter.
    """
    low, high = widened(bounds).T
    outside = ((theta < low) | (theta > high)).sum(0)
    if outside.any():
        j = int(outside.argmax())
        ends = f"{bounds[j, 0]:.6g} to {bounds[j, 1]:.6g}"
        raise ValueError(
            f"Bounds of the prior must hold every true value; got {outside[j]:,} of "
            f"{len(theta):,} outside {ends} in {names[j]}, which ranges from "
            f"{theta[:, j].min():.6g} to {theta[:, j].max():.6g}. Correct the bounds, or leave "
            "them out."
        )


def widened(bounds: Array) -> Array:
    """Least and greatest values (D, 2) that lie within bounds (D, 2), up to rounding."""
    width = np.where(np.isfinite(bounds).all(1), bounds[:, 1] - bounds[:, 0], 0.0)
    size = np.where(np.isfinite(bounds), np.abs(bounds), 0.0).max(1)
    room = _ROUNDING * np.maximum(width, size)
    return bounds + room[:, None] * np.array([-1.0, 1.0])


def warnings(data: PosteriorTable, bounds: Array | None, names: Sequence[str]) -> tuple[str, ...]:
    """A warning of each parameter with draws outside the prior's bounds."""
    if bounds is None:
        return ()
    low, high = widened(bounds).T
    told = []
    for j in np.flatnonzero(np.isfinite(bounds).any(1)).tolist():
        share = float(((data.q[..., j] < low[j]) | (data.q[..., j] > high[j])).mean())
        if share:
            told.append(
                f"{share_text(share)} of {names[j]}'s draws lie outside the prior's bounds, "
                f"{bounds[j, 0]:.6g} to {bounds[j, 1]:.6g}, where no posterior has mass. Refuse "
                "them: theta_q must be drawn within the prior."
            )
    return tuple(told)
