"""A printed table as data: a number for each row and place, with its standard error if printed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

PaperName = Literal["conformal", "colt", "divergence"]
PAPERS: dict[PaperName, str] = {
    "conformal": "Conformal C2ST",
    "colt": "CoLT",
    "divergence": "Symmetric divergence",
}
"""The three papers, by name."""
PrintedPlace = float | tuple[int, int] | str
"""Where a number holds: a gamma, beta or alpha, the dimensions of (x, theta), or a picture."""


@dataclass(frozen=True)
class PrintedNumber:
    """A number as a paper prints it."""

    row: str
    place: PrintedPlace
    value: float
    se: float | None = None
    """Standard error over training seeds."""


@dataclass(frozen=True)
class PrintedTable:
    """A table of a paper, or a few numbers of its text."""

    paper: PaperName
    where: str
    """Its number, or the section."""
    title: str
    axis: str
    """Name of the places."""
    places: tuple[PrintedPlace, ...]
    values: Mapping[str, tuple[float, ...]]
    """By row, which is a test mostly: a number for each place."""
    errors: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    """Standard errors, where they are printed."""
    form: str = ".3f"
    """Format of a value, with the printed digits."""
    scale: float = 1.0
    """What a value is divided by to be a rate: 100 for per cent."""

    @property
    def numbers(self) -> tuple[PrintedNumber, ...]:
        """Every number, row by row."""
        return tuple(self.at(row, place) for row in self.values for place in self.places)

    def at(self, row: str, place: PrintedPlace) -> PrintedNumber:
        """The number of a row at a place."""
        i = self.places.index(place)
        se = self.errors[row][i] if row in self.errors else None
        return PrintedNumber(row, place, self.values[row][i], se)

    def rate(self, row: str, place: PrintedPlace) -> float:
        """That number as a share of test sets."""
        return self.at(row, place).value / self.scale

    def text(self, number: PrintedNumber) -> str:
        """The number with its digits, and its standard error if printed."""
        value = format(number.value, self.form)
        return value if number.se is None else f"{value} ± {number.se:{self.form}}"
