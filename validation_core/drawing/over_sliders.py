"""A picture over sliders: fixed at one place of them, or joined from one for each value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from validation_core.drawing.marks import (
    Axis,
    Mark,
    Number,
    Over,
    Panel,
    Shades,
    Text,
    Words,
    values_and_sliders,
)

T = TypeVar("T")


def freeze_sliders(panel: Panel, at: Mapping[str, int] | None = None) -> Panel:
    """Fix the sliders of a panel: each value over sliders becomes its value at one place of each.

    Args:
        at: the index of each slider among its values; 0 by default.
    """
    return cast("Panel", _still(panel, at or {}))


def _still(value: Any, at: Mapping[str, int]) -> Any:
    if isinstance(value, Over):
        return value.values[tuple(at.get(name, 0) for name in value.sliders)]
    if isinstance(value, Text):
        return value.template.format_map({key: _still(v, at) for key, v in value.parts.items()})
    if isinstance(value, Panel | Mark | Shades):
        own = {each.name: getattr(value, each.name) for each in fields(value)}
        moves = {name: _still(each, at) for name, each in own.items() if _may_move(each)}
        return replace(value, **moves) if moves else value
    if isinstance(value, list | tuple) and any(_may_move(one) for one in value):
        return type(value)(_still(one, at) for one in value)
    return str(value) if isinstance(value, np.str_) else value


def _may_move(value: Any) -> bool:
    return isinstance(value, Over | Text | Mark | Shades | list | tuple)


def join_over(name: str, parts: Sequence[T]) -> T:
    """Join panels, marks or words, one for each value of a slider, into one over the slider.

    All parts have one structure. Equal values stay, different ones follow the slider; axes and
    colour scales cover all parts, and shorter arrays are padded with NaN.

    Args:
        name: the slider.
        parts: one for each value of the slider, in order.

    Raises:
        ValueError: where their structures differ.
    """
    if len(parts) == 1:
        return parts[0]
    return cast("T", _joined(name, parts))


def _joined(name: str, parts: Sequence[Any]) -> Any:
    first = parts[0]
    if isinstance(first, Axis):
        _alike({part.label for part in parts}, "axes")
        ends = np.array([part.limits for part in parts])
        return replace(first, limits=(float(ends[:, 0].min()), float(ends[:, 1].max())))
    if isinstance(first, Text):
        _alike({part.template for part in parts}, "sentences")
        words = {key: _joined(name, [part.parts[key] for part in parts]) for key in first.parts}
        return Text(first.template, words)
    if is_dataclass(first) and not isinstance(first, Over):
        _alike({type(part) for part in parts}, "marks")
        own = {
            f.name: _joined(name, [getattr(part, f.name) for part in parts]) for f in fields(first)
        }
        if isinstance(first, Shades):
            own["limit"] = max(part.limit for part in parts)
        return replace(first, **own)  # type: ignore[type-var]
    if isinstance(first, list | tuple) and any(isinstance(one, tuple | Mark) for one in first):
        _alike({len(part) for part in parts}, "lists of marks")
        return [_joined(name, each) for each in zip(*parts, strict=True)]
    return _moving(name, parts)


def _alike(kinds: set[Any], what: str) -> None:
    if len(kinds) > 1:
        raise ValueError(
            f"A picture that follows a slider has the same {what} at each of its values; got "
            f"{sorted(map(str, kinds))}. Draw what is missing with nan."
        )


def _moving(name: str, parts: Sequence[Number | Words]) -> Any:
    """Values over the slider, in coarse steps; constant where all are equal."""
    arrays, sliders = zip(
        *(values_and_sliders(cast("Number", part)) for part in parts), strict=True
    )
    if len(set(sliders)) == 1 and all(_same(arrays[0], array) for array in arrays):
        return parts[0]
    _alike(set(sliders), "sliders")
    if arrays[0].dtype.kind in "UO":
        return Over(np.array(arrays, dtype=str), (name, *sliders[0]))
    if arrays[0].dtype == np.uint8:
        return Over(np.array(arrays), (name, *sliders[0]))
    shape = np.max([array.shape for array in arrays], axis=0).astype(int)
    out = np.full((len(arrays), *shape, 1), np.nan)
    for i, array in enumerate(arrays):
        out[i][tuple(slice(side) for side in array.shape)] = array[..., None]
    return Over(out[..., 0], (name, *sliders[0]), coarse=True)


def _same(one: NDArray[Any], other: NDArray[Any]) -> bool:
    return np.array_equal(one, other, equal_nan=one.dtype.kind == other.dtype.kind == "f")
