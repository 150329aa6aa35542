"""A table of stated probabilities: a column for each class, one of the true class, others of x."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from validation_core.tables import roles
from validation_core.tables.checked_columns import CheckedColumns, labels_of
from validation_core.tables.class_probabilities import places_of_classes
from validation_core.tables.source import ArrayHeader, Order, as_working_dtype, label_header

_STEMS = (*roles.ROLES["probabilities"], "probability", "prob", "p")
_FLOAT = np.dtype(np.float64)


class _ClassColumns(NamedTuple):
    """Columns of probabilities in the order of their classes, and that of the true class."""

    p: tuple[str, ...]
    label: str
    classes: tuple[str, ...]
    """What follows in each name; empty for a single column."""


def class_columns(columns: CheckedColumns) -> _ClassColumns | None:
    """The columns of probabilities and of the true class; None where a table has none.

    They are known by `prob_cat`, `prob_dog` and so on beside `label`, or by `prob` alone, which
    is then the probability of class 1.
    """
    label = next((name for name in roles.ROLES["label"] if name in columns.types), None)
    if label is None:
        return None
    for stem in _STEMS:
        p = [name for name in columns.starting(stem) if columns.types[name] is not None]
        if p == [stem] and stem != "p":
            return _ClassColumns((stem,), label, ())
        if len(p) > 1 and stem not in p:
            classes = {name: name[len(stem) + 1 :] for name in p}
            if all(name.isdecimal() for name in classes.values()):
                p.sort(key=lambda name: int(classes[name]))
            return _ClassColumns(tuple(p), label, tuple(classes[name] for name in p))
    return None


class ProbabilityTable:
    """probabilities (N, C), label (N,) and, where there are columns x_..., x (N, M).

    Args:
        columns: the columns.
        found: those of the classes.
    """

    order: Order | None = None

    def __init__(self, columns: CheckedColumns, found: _ClassColumns) -> None:
        self._columns, self._found = columns, found
        self._x = [name for name in columns.starting("x") if columns.types[name] is not None]
        used = (*found.p, found.label, *self._x)
        self.notes = columns.notes(used, "they are no class's probability, and not named x_...")

    @property
    def _named(self) -> bool:
        """Whether classes have names, not numbers."""
        return not all(name.isdecimal() for name in self._found.classes)

    def headers(self) -> Mapping[str, ArrayHeader]:
        n, found = self._columns.rows, self._found
        headers = {
            "probabilities": ArrayHeader((n, len(found.p)), self._columns.common_dtype(found.p)),
            "label": ArrayHeader((n,), _FLOAT),
        }
        if self._named:
            headers["class_names"] = label_header(len(found.p))
        if self._x:
            headers["x"] = ArrayHeader((n, len(self._x)), self._columns.common_dtype(self._x))
            headers["x_names"] = label_header(len(self._x))
        return headers

    def load(self, name: str) -> NDArray[np.generic]:
        if name == "class_names":
            return labels_of(self._found.classes)
        if name == "x_names":
            return labels_of(self._x)
        if name == "label" and self._columns.types[self._found.label] is None:
            return self._classes_by_name()
        chosen = {"probabilities": self._found.p, "label": (self._found.label,), "x": self._x}
        header = self.headers()[name]
        array = np.empty((header.shape[0], len(chosen[name])), header.dtype)
        self._columns.fill(array, chosen[name])
        return as_working_dtype(array.reshape(header.shape))

    def _classes_by_name(self) -> NDArray[np.float64]:
        """The number (N,) of each row's true class, NaN where it has none.

        Raises:
            ValueError: for the name of no class.
        """
        codes, words = self._columns.words(self._found.label)
        classes = places_of_classes(
            words,
            self._found.classes,
            "Name the columns of probabilities after them.",
            self._found.label,
        )
        return np.where(codes < 0, np.nan, classes[np.maximum(codes, 0)])

    def close(self) -> None:
        self._columns.close()
