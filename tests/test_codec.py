"""A record as JSON: its own fields, and what the metadata of a field changes."""

import math
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from validation_core import codec
from validation_core.types import Interval


class Point(NamedTuple):
    row: int
    place: float


@dataclass(frozen=True)
class Size:
    value: float
    bound: float | None = field(metadata=codec.shown(optional=True), default=None)


@dataclass(frozen=True)
class Named:
    name: str

    def to_json(self):
        return {**codec.fields_to_json(self), "letters": len(self.name)}


@dataclass(frozen=True, eq=False)
class Everything:
    bias: Interval
    size: Size = field(metadata=codec.shown(flat=True))
    point: Point | None = field(metadata=codec.shown(flat=True))
    steps: tuple[str, ...] = field(metadata=codec.shown(name="next"))
    secret: int = field(metadata=codec.shown(hidden=True))
    parts: tuple[Named, ...]
    by_name: dict[str, Size]
    curve: np.ndarray
    curves: tuple[np.ndarray, ...]


@dataclass(frozen=True)
class Longer:
    row: int
    place: float
    width: float = 1.0


@dataclass(frozen=True)
class Marks:
    parts: tuple[Longer | Point, ...]


def everything(**changes):
    return Everything(**{
        "bias": Interval(0.5, 0.25, math.nan), "size": Size(1.0), "point": Point(3, 0.5),
        "steps": ("a", "b"), "secret": 7, "parts": (Named("theta"),),
        "by_name": {"one": Size(2.0)}, "curve": np.arange(3), "curves": (np.arange(2),), **changes,
    })  # fmt: skip


def test_fields_are_shown_as_their_metadata_says():
    assert codec.to_json(everything()) == {
        "bias": 0.5, "bias_low": 0.25, "bias_high": None, "value": 1.0, "row": 3, "place": 0.5,
        "next": ["a", "b"], "parts": [{"name": "theta", "letters": 5}],
        "by_name": {"one": {"value": 2.0}},
    }  # fmt: skip


def test_a_record_that_is_not_there_has_no_fields_where_it_would_be_flat():
    shown = codec.to_json(everything(point=None))
    assert "row" not in shown
    assert "point" not in shown


def test_an_optional_field_is_shown_where_it_has_no_default():
    assert codec.to_json(Size(1.0, 0.5)) == {"value": 1.0, "bound": 0.5}


def test_fields_come_in_their_order():
    assert list(codec.to_json(everything()))[:5] == [
        "bias",
        "bias_low",
        "bias_high",
        "value",
        "row",
    ]


def test_a_member_of_a_union_is_read_as_the_class_that_it_was():
    """Also where another member has all its fields, and more."""
    marks = Marks((Longer(1, 0.5, 2.0), Point(2, 0.25)))
    assert codec.load(Marks, *codec.dump(marks)) == marks
