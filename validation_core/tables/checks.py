"""What a user should know about the draws: rows that are not finite, columns that never change,
numbers that are few, and what `contents` finds in them. Rows are dropped and counted; the rest is
said and worked with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from validation_core.tables import contents, floats
from validation_core.types import Array, PosteriorTable, TwoSamples

FEW_ROWS = 50
FEW_DRAWS = 10
_BLOCK = 2**20  # numbers looked at together


def finite(arrays: Mapping[str, Array]) -> tuple[NDArray[np.bool_], dict[str, int]]:
    """Which rows are finite in every array, and how many are not, by array.

    Raises:
        ValueError: when more than half of the rows would go.
    """
    keep = np.ones(len(next(iter(arrays.values()))), dtype=bool)
    dropped: dict[str, int] = {}
    for name, array in arrays.items():
        good = _finite(array)
        lost = int((keep & ~good).sum())
        if lost:
            dropped[f"NaN or infinite values in {name}"] = lost
        keep &= good
    if 2 * keep.sum() < len(keep):
        raise ValueError(
            f"At least half of the rows must be finite; got {len(keep) - int(keep.sum())} of "
            f"{len(keep)} rows with NaN or infinite values ({', '.join(dropped)}). Find out why "
            f"the simulator or q returns them before testing q."
        )
    return keep, dropped


def _finite(array: Array) -> NDArray[np.bool_]:
    """(N,): rows without NaN or infinity, looked at in blocks."""
    step = max(1, _BLOCK // max(1, array[:1].size))
    inner = tuple(range(1, array.ndim))
    blocks = (array[i : i + step] for i in range(0, len(array), step))
    return np.concatenate([np.isfinite(block).all(axis=inner) for block in blocks])


def warnings(data: PosteriorTable | TwoSamples, names: Sequence[str]) -> tuple[str, ...]:
    """Sentences about what makes the tests weak or odd on these draws."""
    with np.errstate(all="ignore"):  # numbers near the largest there are overflow when squared
        return tuple(
            _table(data, names) if isinstance(data, PosteriorTable) else _samples(data, names)
        )


def _table(data: PosteriorTable, names: Sequence[str]) -> Iterator[str]:
    n, k = data.q.shape[:2]
    if n < FEW_ROWS:
        yield (
            f"N = {n} rows is few: below {FEW_ROWS} no classifier is trained, and the tests that "
            f"do run see only gross errors. A few hundred rows are better."
        )
    if k == 1:
        yield (
            "K = 1 draw at each x: the rank of the truth among q's draws can be only 0 or 1, so "
            "the rank tests are valid but nearly blind to a q that is too wide or too narrow."
        )
    elif k < FEW_DRAWS:
        yield (
            f"K = {k} draws at each x is few: ranks take {k + 1} values, so the rank tests are "
            f"valid but weak. 50 to 200 draws are better."
        )
    yield from _constant(data.theta, "theta", names)
    numbered = [f"column {i + 1}" for i in range(data.x.shape[1])]
    yield from _constant(data.x, "x", numbered)
    yield from floats.coarse(data.theta, "theta", names)
    yield from floats.coarse(data.q.reshape(-1, data.q.shape[-1]), "theta_q", names)
    yield from floats.coarse(data.x, "x", numbered)
    yield from contents.sentences(data, names)


def _samples(data: TwoSamples, names: Sequence[str]) -> Iterator[str]:
    sizes = (len(data.p), len(data.q))
    if min(sizes) < FEW_ROWS:
        yield (
            f"{sizes[0]} points of p and {sizes[1]} of q are few: below {FEW_ROWS} of each no "
            f"classifier is trained."
        )
    yield from _constant(data.p.theta, "p", names)
    yield from _constant(data.q.theta, "q", names)
    yield from floats.coarse(data.p.theta, "p", names)
    yield from floats.coarse(data.q.theta, "q", names)


def _constant(array: Array, name: str, columns: Sequence[str]) -> Iterator[str]:
    if len(array) > 1:
        yield from contents.still(array.min(axis=0), array.max(axis=0), name, columns)
