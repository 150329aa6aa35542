"""One float type for true values and draws.

Numbers that lie on a grid, or at a bound, tie between a truth and the draws of a correct q. Saved
in two float types they no longer do, and a correct q is rejected. Numbers that are rounded alike
on both sides stay exchangeable, so that all are rounded to the narrowest type present.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from validation_core.text import list_text
from validation_core.types import Array, Integers

BLOCK = 2**20
"""Numbers looked at together."""
_EXACT = 2.0**24  # whole numbers up to here are float32's, whoever saved them
_NAMES = {2: "float16", 4: "float32", 8: "float64"}
_TYPES: dict[int, np.dtype[np.floating]] = {size: np.dtype(name) for size, name in _NAMES.items()}
_Sizes = Integers


class _MatchedArrays(NamedTuple):
    """Arrays brought to one type, and what a user should know of it."""

    arrays: dict[str, Array]
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def match_precisions(
    sides: Mapping[str, Array], declared: Mapping[str, np.dtype[np.generic]]
) -> _MatchedArrays:
    """Round the sides of one quantity, column by column, to the narrowest type of any of them.

    A type is what a file declares. float64 that holds nothing but float32's numbers, as after a
    conversion, counts as float32; whole numbers are of no type and stay as they are, unless
    another side is in a type too narrow for them: q's draws were then rounded, and the truths
    are rounded as they were. Where rounding would make a finite number infinite nothing is
    rounded, and a warning says so.

    Args:
        sides: arrays (..., D) by name, in float32 or float64.
        declared: the type each had in its file; without one, the array's own.

    Returns:
        the arrays by name, all in float32 or all in float64.
    """
    arrays = dict(sides)
    kinds = {name: declared.get(name, array.dtype) for name, array in arrays.items()}
    if len(set(kinds.values())) == 1 and next(iter(kinds.values())) in (_TYPES[2], _TYPES[4]):
        return _MatchedArrays(arrays)
    sizes = {name: _sizes(array, kinds[name]) for name, array in arrays.items()}
    target: _Sizes = np.min(list(sizes.values()), axis=0)  # (D,)
    coarse = {
        name: np.flatnonzero((size > target) & (arrays[name].itemsize > target))
        for name, size in sizes.items()
    }
    if beyond := [name for name, js in coarse.items() if _overflow(arrays[name], js, target)]:
        wide: dict[str, Array] = {
            name: array.astype(np.float64, copy=False) for name, array in arrays.items()
        }
        return _MatchedArrays(wide, warnings=(_unrounded_sentence(beyond, kinds, target),))
    container = _container(arrays, target)
    rounded = {
        name: _rounded(array, coarse[name], target, container) for name, array in arrays.items()
    }
    changed = [name for name, js in coarse.items() if len(js)]
    return _MatchedArrays(
        rounded, notes=(_rounded_sentence(changed, kinds, target),) * bool(changed)
    )


def _sizes(array: Array, kind: np.dtype[np.generic]) -> _Sizes:
    """(D,): bytes of the narrowest float that each column can be said to be in."""
    d = array.shape[-1]
    if kind.kind == "f" and kind.itemsize < 8:
        return np.full(d, kind.itemsize)
    fits, fraction = np.full(d, kind.kind == "f"), np.zeros(d, dtype=bool)
    for block in _blocks(array):
        if not fits.any():
            break
        with np.errstate(all="ignore"):  # log densities may be infinite or NaN
            fits &= ((block.astype(np.float32) == block) | ~np.isfinite(block)).all(axis=0)
            if not fraction.all():
                fraction |= ((np.abs(block) > _EXACT) | (block % 1 != 0)).any(axis=0)
    return np.where(fits & fraction, 4, 8)


def _blocks(array: Array) -> Sequence[Array]:
    """The rows of an array (..., D) in blocks (n, D) of a bounded size."""
    step = max(1, BLOCK // max(1, array[:1].size))
    d = array.shape[-1]
    return [array[i : i + step].reshape(-1, d) for i in range(0, len(array), step)]


def _overflow(array: Array, columns: NDArray[np.intp], target: _Sizes) -> bool:
    """Whether one of these columns would become infinite in its target type."""
    for j in columns:
        size = np.abs(array[..., j])
        if ((size > np.finfo(_TYPES[int(target[j])]).max) & np.isfinite(size)).any():
            return True
    return False


def _container(arrays: Mapping[str, Array], target: _Sizes) -> np.dtype[np.floating]:
    """The type of the arrays: float32 where one of them has it and no column needs more."""
    has = {array.itemsize for array in arrays.values()}
    return _TYPES[4 if has == {4} or (4 in has and target.max() <= 4) else 8]


def _rounded(
    array: Array, columns: NDArray[np.intp], target: _Sizes, container: np.dtype[np.floating]
) -> Array:
    """The array in its new type, some columns rounded to their target."""
    if container.itemsize == 4 and (target == 4).all():
        with np.errstate(under="ignore"):
            return array.astype(container, copy=False)
    whole = array.astype(container, copy=len(columns) > 0)
    for j in columns:
        with np.errstate(under="ignore"):
            whole[..., j] = array[..., j].astype(_TYPES[int(target[j])])
    return whole


def _types(kinds: Mapping[str, np.dtype[np.generic]]) -> str:
    return list_text([f"{name} in {kind}" for name, kind in kinds.items()])


def _rounded_sentence(
    changed: Sequence[str], kinds: Mapping[str, np.dtype[np.generic]], target: _Sizes
) -> str:
    return (
        f"True values and draws were saved in more than one float type ({_types(kinds)}): "
        f"{list_text(changed)} rounded to {_NAMES[int(target.min())]}, so that equal "
        "numbers are equal."
    )


def _unrounded_sentence(
    beyond: Sequence[str], kinds: Mapping[str, np.dtype[np.generic]], target: _Sizes
) -> str:
    return (
        f"True values and draws must be saved in one float type; got {_types(kinds)}, with "
        f"numbers in {list_text(beyond)} too large for {_NAMES[int(target.min())]}. Nothing "
        "was rounded: numbers on a grid or at a bound may differ by their type alone, and a "
        "correct q be rejected. Save all of them as float64 from the start."
    )
