"""Simulators of as many parameters as are asked for, with as many data."""

from __future__ import annotations

from dataclasses import dataclass, field

from validation_core import keys
from validation_core.simulators.base import Simulator


def dimensions_field(default: int) -> int:
    """The option of how many dimensions theta and x have."""
    about = {"label": "Dimensions", "min": 1, "max": 20, "help": "Of theta and of x."}
    return field(default=default, metadata=about)


@dataclass(frozen=True, kw_only=True)
class AnyDimension(Simulator):
    """A simulator with D = M, an option."""

    dimensions: int = dimensions_field(10)

    def __post_init__(self) -> None:
        keys.check_options(self)

    @property
    def dims(self) -> tuple[int, int]:
        """(D, M), equal."""
        return self.dimensions, self.dimensions
