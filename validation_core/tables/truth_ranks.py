"""Ranks of true values among q's draws, or PIT values, without the draws themselves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from validation_core.tables import roles
from validation_core.tables.shapes import matrix, real_numbers
from validation_core.types import Array, TruthRanks

_FINEST = 20_000  # steps between 0 and 1 of PIT values that are counts
_OFF = 1e-5  # of a step: float32 knows the ranks among 1,000 draws to this


class UnknownMaxRank(ValueError):
    """Ranks without the largest rank that they can take: only the user can say it.

    A question to the user rather than a fault; pages ask it with a number.

    Examples:
        >>> npt.Table.ranks([[3], [10], [7], [0], [9]])
        Traceback (most recent call last):
            ...
        validation_core.tables.truth_ranks.UnknownMaxRank: ...
        >>> npt.Table.ranks([[3], [10], [7], [0], [9]], max_rank=10).k
        10
    """

    def __init__(self, largest: int) -> None:
        super().__init__(
            f"Ranks must come with the largest rank they can take, which is the number of q's "
            f"draws; got ranks up to {largest:,} and no max_rank. Save max_rank (a number) beside "
            f"them, give --max-rank K on the command line, or max_rank=K in Python."
        )
        self.largest = largest
        """The largest rank that occurs."""


class ReadRanks(NamedTuple):
    """Ranks as they were read, and what was told of them."""

    ranks: TruthRanks
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def read_ranks(
    arrays: Mapping[str, NDArray[np.generic]], max_rank: int | None = None
) -> ReadRanks:
    """Read ranks (N, D) with their largest value, or PIT values (N, D) in [0, 1].

    PIT values that are counts divided by a number of draws are read as ranks: their ties are
    broken at random, as those of ranks are, and are exactly uniform then if q is right.

    Args:
        arrays: the file's arrays by role: ranks and max_rank, or pit.
        max_rank: the largest rank, where the user gives it.

    Raises:
        UnknownMaxRank: for ranks without it.
        ValueError: for ranks that are not whole or lie outside of their range, and PIT values
            outside of [0, 1].
    """
    if "ranks" not in arrays:
        return _read_pit(arrays["pit"])
    ranks = matrix("ranks", real_numbers("ranks", arrays["ranks"])).astype(np.float64)
    finite = ranks[np.isfinite(ranks)]
    if max_rank is None and "max_rank" not in arrays:
        if finite.size and finite.min() >= 0 and finite.max() <= 1 and (finite % 1).any():
            return _read_pit(arrays["ranks"])
        raise UnknownMaxRank(int(finite.max()) if finite.size else 0)
    most = _largest(arrays, max_rank, ranks)
    outside = (ranks < 0) | (ranks > most) | (ranks % 1 != 0)
    if (outside & np.isfinite(ranks)).any():
        wrong = ranks[outside & np.isfinite(ranks)]
        from_one = finite.min() >= 1 and ((ranks <= most + 1) | ~np.isfinite(ranks)).all()
        remedy = (
            "Where these are counted from 1, give ranks - 1; else the number of draws as max_rank."
            if from_one and not (finite % 1).any()
            else "Give the number of draws as max_rank."
        )
        raise ValueError(
            f"Ranks must be whole numbers from 0 to max_rank = {most.min():g}"
            f"{f' to {most.max():g}' * bool(most.max() > most.min())}; got {wrong[0]:g} in "
            f"{wrong.size:,} of {finite.size:,}. A rank counts the draws of q below the true "
            f"value. {remedy}"
        )
    few = most.min()
    warnings = (
        (
            f"max_rank is {few:g}: ranks that take {few + 1:g} values are valid, but nearly blind "
            "to a wrong width.",
        )
        if few < 10
        else ()
    )
    return ReadRanks(TruthRanks(ranks, most), warnings=warnings)


def _largest(
    arrays: Mapping[str, NDArray[np.generic]], max_rank: int | None, ranks: Array
) -> Array:
    """The largest rank (N, D) that each rank can take.

    Raises:
        ValueError: for one that is no whole number above 0, or of another shape.
    """
    given = np.asarray(float(max_rank) if max_rank is not None else arrays["max_rank"])
    most = real_numbers("max_rank", given.reshape(given.shape or (1,)).astype(np.float64))
    if most.ndim == 1 and len(most) == len(ranks):
        most = most[:, None]
    fits = most.size == 1 or most.shape in (ranks.shape, (len(ranks), 1), (1, ranks.shape[1]))
    if not fits or not (np.isfinite(most) & (most >= 1) & (most % 1 == 0)).all():
        raise ValueError(
            f"max_rank must be a whole number above 0, for all ranks or one each; got "
            f"{roles.shape_text(given.shape)} with {most.min():g} to {most.max():g} for ranks "
            f"{roles.shape_text(ranks.shape)}. Save the number of q's draws."
        )
    return np.broadcast_to(most.reshape(1, 1) if most.size == 1 else most, ranks.shape).copy()


def _read_pit(array: NDArray[np.generic]) -> ReadRanks:
    """PIT values, continuous or counts in steps.

    Raises:
        ValueError: for values outside of [0, 1].
    """
    pit = matrix("pit", real_numbers("pit", array)).astype(np.float64)
    finite = pit[np.isfinite(pit)]
    if finite.size and (finite.min() < 0 or finite.max() > 1):
        raise ValueError(
            f"PIT values must lie in [0, 1]; got {finite.min():g} to {finite.max():g}. Save q's "
            f"distribution function at the true value, or whole ranks with max_rank."
        )
    steps = _steps(finite)
    if steps is not None:
        draws, ranks = steps
        counted = np.full(pit.shape, np.nan)
        counted[np.isfinite(pit)] = ranks
        note = (
            f"The PIT values are ranks among {draws:,} draws, divided: they are read as such, "
            "and ties are broken at random."
        )
        return ReadRanks(TruthRanks(counted, np.full(pit.shape, float(draws))), (note,))
    repeats = finite.size - len(np.unique(finite))
    warning = (
        f"{repeats:,} PIT values repeat others, and no number of draws explains it: p-values are "
        "exact for values without ties. Save whole ranks with max_rank."
    )
    return ReadRanks(
        TruthRanks(pit, np.zeros(pit.shape)), warnings=(warning,) * (repeats > 0.01 * finite.size)
    )


def _steps(pit: Array) -> tuple[int, Array] | None:
    """The number of draws and the ranks (n,) whose shares the PIT values are; None for others.

    Ranks 0 to K divided by K, or by K + 1 with 0 or a half added, keep to equal steps, and so many
    of them repeat that steps cannot be chance.
    """
    values = np.unique(pit)
    if len(values) < 2 or len(values) > min(0.9 * pit.size, _FINEST):
        return None
    apart = np.diff(values)
    count = round(1 / float(apart[apart > 0.5 / _FINEST].min(initial=1.0)))
    for add in (0.0, 0.5):
        ranks = pit * count - add
        whole = np.round(ranks)
        draws = count if whole.max() == count else count - 1
        if np.abs(ranks - whole).max() < _OFF * count and draws >= 1 and whole.min() >= 0:
            return draws, whole
    return None
