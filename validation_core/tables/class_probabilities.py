"""Probabilities of classes and the true class of each row, as users save them: checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from validation_core.tables.roles import names_text, shape_text, texts
from validation_core.tables.shapes import real_numbers
from validation_core.tables.x_columns import GAPS, Missing, read_x
from validation_core.types import Array, Integers

OF_CLASSES = ("probabilities", "label", "class_names")
"""Arrays of a table of probabilities that no other table has."""
OF_X = ("x", "x_summary", "x_names", "x_shape")
"""Arrays that say at which x they were stated."""
MOST = 100
"""Classes of one table, at most."""
_FEWEST = 5  # rows
_OFF = 1e-2  # by which the probabilities of a row may miss 1: saved with two digits
_EXACT = 1e-6
_ROUNDING = 1e-14
_SQUARED = (1e-150, 1e150)  # numbers whose squares a double holds


class _Read(NamedTuple):
    """Probabilities (N, C) that sum to 1, classes (N,) from 0, x (N, M), and what was changed."""

    p: Array
    classes: Integers
    x: Array
    x_names: NDArray[np.generic] | None
    dropped: dict[str, int]
    notes: tuple[str, ...]


def read_probabilities(
    arrays: Mapping[str, NDArray[np.generic]], missing: Missing | None = None
) -> _Read:
    """Read the probabilities (N, C), or of the second of two classes, and the true classes.

    Those of the second of two are (N,), or (N, 1) as a network with one output gives them.
    Classes are numbered from 0 or from 1, one-hot (N, C), or named as in `class_names`.

    Args:
        arrays: the file's arrays by role.
        missing: what NaN in x means.

    Raises:
        ValueError: for shapes that do not pair, or numbers that are no probabilities or classes.
    """
    p = real_numbers("probabilities", arrays["probabilities"]).astype(np.float64)
    label = _by_name(arrays["label"], arrays.get("class_names"))
    label = real_numbers("label", label).astype(np.float64)
    notes: list[str] = []
    if p.ndim == 1 or p.shape[1:] == (1,):
        shape = "(N,)" if p.ndim == 1 else "(N, 1)"
        p = np.stack([1 - p.reshape(-1), p.reshape(-1)], axis=1)
        notes.append(
            f"probabilities {shape} were read as those of class 1 of the classes 0 and 1."
        )
    if p.ndim != 2 or not 2 <= p.shape[1] <= MOST:
        raise ValueError(
            f"probabilities must have shape (N, C) with 2 to {MOST} classes; got "
            f"{shape_text(p.shape)}. Save one row for each simulation."
        )
    n, c = p.shape
    if label.shape == (n, c) and c > 1 and np.isin(label, (0, 1)).all():
        if (label.sum(axis=1) != 1).any():
            raise ValueError(
                f"label (N, C) must be 1 at one class of each row; got rows with "
                f"{label.sum(axis=1).min():g} to {label.sum(axis=1).max():g}. Save the number of "
                f"the true class, (N,)."
            )
        label = label.argmax(axis=1).astype(np.float64)
        notes.append("label (N, C) was read as one-hot: the class at which it is 1.")
    if label.size != n:
        raise ValueError(
            f"label must hold the true class of each of the {n:,} rows of probabilities; got "
            f"shape {shape_text(label.shape)}. Save it as (N,), numbered from 0."
        )
    label = label.reshape(n)
    columns = read_x(arrays, n, missing)
    stated = np.isfinite(p).all(axis=1) & np.isfinite(label)
    keep = stated & np.isfinite(columns.x).all(axis=1)
    lost = {"NaN or infinite values": ~stated, GAPS: stated & ~keep}
    dropped = {reason: int(rows.sum()) for reason, rows in lost.items() if rows.any()}
    p, label, x = p[keep], label[keep], columns.x[keep]
    if len(p) < _FEWEST:
        why = f" ({', '.join(dropped)})" if dropped else ""
        raise ValueError(
            f"At least {_FEWEST} rows must be finite; got {len(p)}{why}. Save more rows."
        )
    classes, told = _numbered(label, c)
    if x.shape[1] and not can_be_looked_over(x):
        told += (
            "x never varies, or its squares leave the range of a float: the probabilities are not "
            "tested over it.",
        )
    normalised = _summing_to_one(p, notes)
    return _Read(normalised, classes, x, columns.names, dropped, (*notes, *told, *columns.notes))


def _by_name(label: NDArray[np.generic], names: NDArray[np.generic] | None) -> NDArray[np.generic]:
    """Labels that are text as the places of their classes' names; numbers as they are.

    Raises:
        ValueError: for text without names, or that is none of them.
    """
    if label.dtype.kind not in "SU":
        return label
    words = [text.strip() for text in texts(label)]
    if names is None or names.dtype.kind not in "SU":
        raise ValueError(
            f"label must hold the number of the true class, or its name beside class_names (C,); "
            f"got text, as {names_text(words[:1])}, without them. Save class_names in the "
            f"order of the columns of probabilities."
        )
    known = [text.strip() for text in texts(names)]
    return places_of_classes(words, known, "Name them as in class_names.").reshape(label.shape)


def places_of_classes(
    words: Sequence[str], names: Sequence[str], remedy: str, label: str = "label"
) -> Array:
    """The place (n,) of each word among the names of the classes.

    Args:
        words: names of classes.
        names: of the classes, in the order of their probabilities.
        remedy: the end of the refusal.
        label: name of the array that holds them.

    Raises:
        ValueError: for the name of no class.
    """
    places = {name: place for place, name in enumerate(names)}
    if unknown := [word for word in words if word not in places]:
        raise ValueError(
            f"{label} must hold the names of the classes, {names_text(names)}, or their numbers; "
            f"got {unknown[0]!r}. {remedy}"
        )
    return np.array([places[word] for word in words], np.float64)


def can_be_looked_over(x: Array) -> bool:
    """Whether regions of x (N, M) can be told apart: it varies, and its numbers can be squared."""
    if not x.shape[1] or not float(np.abs(x).max()) < _SQUARED[1]:
        return False
    return float(np.ptp(x, axis=0).max()) > _SQUARED[0]


def _summing_to_one(p: Array, notes: list[str]) -> Array:
    """The probabilities, scaled where rounding made a row's sum miss 1."""
    total = p.sum(axis=1)
    off = float(np.abs(total - 1).max())
    if p.min() < 0 or p.max() > 1 + _OFF or off > _OFF:
        raise ValueError(
            f"probabilities must be 0 or more and sum to 1 in each row; got {p.min():.4g} to "
            f"{p.max():.4g} with sums from {total.min():.4g} to {total.max():.4g}. "
            f"{_advice(p, total)}"
        )
    if off < _ROUNDING:  # the same numbers stay the same when they are read again
        return p
    if off > _EXACT:
        notes.append(
            f"probabilities summed to 1 only within {off:.1g}: each row was divided by its sum."
        )
    return np.asarray(p / total[:, None])


def _advice(p: Array, total: Array) -> str:
    """What to do about numbers (N, C) that are no probabilities, by their sums (N,)."""
    if p.min() < 0:
        return "These look like logits: apply the softmax first."
    low, high = float(total.min()), float(total.max())
    common = (low + high) / 2
    if high - low <= _OFF * common:
        percent = abs(common - 100) <= 100 * _OFF
        what = "These are percentages" if percent else f"Rows sum to {common:.4g}"
        missing = "; where a class is missing, save it too" if common < 1 else ""
        return f"{what}: divide each row by its sum{missing}."
    if high < 1 + _OFF:
        return "Save those of all classes."
    return "Divide each row by its sum, if they are weights of the classes."


def _numbered(label: Array, c: int) -> tuple[Integers, tuple[str, ...]]:
    """True classes from 0, and a note where they came numbered from 1.

    Raises:
        ValueError: for others than whole numbers of classes.
    """
    low, high = float(label.min()), float(label.max())
    if (label != np.floor(label)).any() or low < 0 or high > c or (high == c and low == 0):
        raise ValueError(
            f"label must hold whole numbers from 0 to {c - 1}, or from 1 to {c}; got {low:g} to "
            f"{high:g}. Number the classes as the columns of probabilities."
        )
    if high == c:
        return label.astype(np.int64) - 1, (
            f"label holds 1 to {c}: class 1 is the first column of probabilities.",
        )
    return label.astype(np.int64), ()
