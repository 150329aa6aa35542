"""Angles: circular parameters, unwrapped about the middle of each row.

Where a row's points cross the end of the interval that an angle was wrapped to, ranks among them
mean nothing: half of a posterior lies at either end. Every point of a row, the true value and
the draws alike, is therefore moved by whole periods to within half a period of the row's circular
mean. That mean treats all points of the row alike, so that a true value is as exchangeable with
draws of a correct q as before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from validation_core.text import list_text
from validation_core.types import Array, PosteriorTable

_KNOWN = (float(np.pi), float(2 * np.pi), 180.0, 360.0)
_FILLED, _SLACK = 0.9, 1e-3  # of a period, that the numbers of an angle fill and exceed at most
_LOOKED = 1000  # columns, rows
_TIMES = 4.0  # times the variance about the circular mean: the row lies at both ends
_SHARE, _FEWEST = 0.02, 5  # of rows at both ends, from which a parameter is taken for an angle


class Angles(NamedTuple):
    """A table with its angles unwrapped, and those that were saved in different intervals."""

    data: PosteriorTable
    periods: tuple[float, ...]
    """Period of each parameter: 0 for one that is no angle."""
    unlike: tuple[int, ...]
    """Angles whose true values and draws were wrapped to different intervals."""
    wrapped: tuple[tuple[float, float, float, float], ...]
    """Their ends: least and largest true value, least and largest draw."""


def unwrapped(data: PosteriorTable, periods: Array | None = None) -> Angles:
    """Move every angle to within half a period of its row's circular mean.

    Args:
        data: the table as it was saved.
        periods: period (D,) of each parameter, 0 for one that is no angle; None to recognise
            angles by their numbers.

    Returns:
        the table, its other parameters as they were, and what was found.
    """
    found = recognised(data) if periods is None else np.asarray(periods, dtype=np.float64)
    columns = [int(j) for j in np.flatnonzero(found > 0)]
    if not columns:
        return Angles(data, tuple(found.tolist()), (), ())
    theta, q = data.theta.copy(), data.q.copy()
    unlike, wrapped = [], []
    for j in columns:
        ends = (theta[:, j].min(), theta[:, j].max(), q[..., j].min(), q[..., j].max())
        period = float(found[j])
        points = np.concatenate([theta[:, j, None], q[..., j]], axis=1)
        turns = _turns(points, period)
        longer = max(ends[1], ends[3]) - min(ends[0], ends[2]) > (1 + 2 * _SLACK) * period
        if longer and turns.any():  # else every row was unwrapped before, as a saved table is
            unlike.append(j)
            wrapped.append(tuple(float(end) for end in ends))
        moved = points + period * turns
        theta[:, j], q[..., j] = moved[:, 0], moved[:, 1:]
    return Angles(
        PosteriorTable(theta, data.x, q),
        tuple(found.tolist()),
        tuple(unlike),
        tuple((a, b, c, d) for a, b, c, d in wrapped),
    )


def of_row(draws: Array, periods: Sequence[float]) -> Array:
    """The draws (K, D) of one row, each angle within half a period of their circular mean."""
    moved = draws.copy()
    for j in np.flatnonzero(periods).tolist():
        moved[:, j] += float(periods[j]) * _turns(draws[None, :, j], float(periods[j]))[0]
    return moved


def warnings(found: Angles, names: Sequence[str]) -> tuple[str, ...]:
    """Warnings of angles whose true values and draws were saved in different intervals."""
    return tuple(
        f"{names[j]} is an angle with true values in [{low:.3g}, {high:.3g}] and q's draws in "
        f"[{lowest:.3g}, {highest:.3g}]: wrap them alike. They were brought together here, so "
        "that the same angle is the same number."
        for j, (low, high, lowest, highest) in zip(found.unlike, found.wrapped, strict=True)
    )


def notes(found: Angles, names: Sequence[str]) -> tuple[str, ...]:
    """A note on the parameters that were read as angles; none for none."""
    columns = np.flatnonzero(found.periods).tolist()
    if not columns:
        return ()
    read = list_text([f"{names[j]} (period {found.periods[j]:.4g})" for j in columns])
    return (
        f"Read as angles: {read}. Each row's true value and draws are counted within half a "
        "period of their circular mean, so that an interval's end is no edge. Where one is no "
        "angle, save an array periods with 0 for it.",
    )


def recognised(data: PosteriorTable) -> Array:
    """The period (D,) of each parameter: 0 unless its numbers fill one and rows cross its ends.

    A parameter that is no angle is taken for one where, in row after row, its posterior has mass
    at both ends of such an interval. p-values stay exact all the same.
    """
    theta, q = data.theta, data.q
    periods = np.zeros(theta.shape[1])
    if q.shape[1] < 2:
        return periods
    low, high = theta[:, :_LOOKED].min(0), theta[:, :_LOOKED].max(0)
    for j in range(len(low)):
        for period in _KNOWN:
            if not _fills(float(low[j]), float(high[j]), period):
                continue
            draws = q[..., j]
            if _fills(float(draws.min()), float(draws.max()), period) and _crossed(draws, period):
                periods[j] = period
    return periods


def periods_of(
    circular: Sequence[str] | Mapping[str, float], names: Sequence[str], theta: Array, q: Array
) -> NDArray[np.float64]:
    """The periods of parameters that a user calls circular: those that he gives, or the shortest
    known ones that hold the numbers.

    Args:
        circular: names of those parameters, or the period of each.
        names: of all D parameters.
        theta: true values (N, D).
        q: draws (N, K, D).

    Returns:
        periods (D,), where none is given among pi, 2 pi, 180 and 360; 0 for parameters that are
        not circular.

    Raises:
        ValueError: for a name that no parameter has, numbers that no known period holds, or a
            period that is no positive number.
    """
    periods = np.zeros(len(names))
    for name in circular:
        if name not in names:
            raise ValueError(
                f"A circular parameter is one of {list_text(names, 'or')}; got {name!r}. Name one."
            )
        j = list(names).index(name)
        if isinstance(circular, Mapping):
            periods[j] = circular[name]
            if not (np.isfinite(periods[j]) and periods[j] > 0):
                raise ValueError(
                    f"A period is a positive number; got {circular[name]} for {name}. Give one, "
                    "as in 24 for hours."
                )
            continue
        spans = [float(np.ptp(numbers[..., j])) for numbers in (theta, q)]
        fits = [period for period in _KNOWN if max(spans) <= (1 + _SLACK) * period]
        if not fits:
            raise ValueError(
                f"The period of a circular parameter is guessed among pi, 2 pi, 180 and 360; got "
                f"{name}, whose numbers range over {max(spans):.4g}. Give it: --circular "
                f"{name}=24, circular={{{name!r}: 24}}, or an array periods with 0 for other "
                "parameters."
            )
        periods[j] = min(fits)
    return periods


def _fills(low: float, high: float, period: float) -> bool:
    """Whether numbers from `low` to `high` fill an interval from 0, or one about it."""
    slack = _SLACK * period
    return high - low >= _FILLED * period and any(
        low >= start - slack and high <= start + period + slack for start in (0.0, -period / 2)
    )


def _crossed(draws: Array, period: float) -> bool:
    """Whether many rows of draws (n, K) lie at both ends of the period, as nearby angles do."""
    some = draws[:: max(1, len(draws) // _LOOKED)].astype(np.float64)
    whole = some.var(1)
    across = (whole > _TIMES * (some + period * _turns(some, period)).var(1)) & (whole > 0)
    return bool(across.sum() >= max(_FEWEST, _SHARE * len(some)))


def _turns(points: Array, period: float) -> Array:
    """Periods (n, K) to add to each point so that it lies near its row's circular mean."""
    angle = points.astype(np.float64) * (2 * np.pi / period)
    centre = np.arctan2(np.sin(angle).mean(1), np.cos(angle).mean(1)) * (period / (2 * np.pi))
    return np.asarray(-np.rint((points - centre[:, None]) / period))
