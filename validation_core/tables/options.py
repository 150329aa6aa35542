"""Options of reading a table: what its numbers cannot tell, and which mistakes to correct."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypedDict

from validation_core.tables.chosen import Chosen
from validation_core.tables.source import Order
from validation_core.tables.x_columns import Missing


class Reading(TypedDict, total=False):
    """The fields of `ReadingOptions` as keywords."""

    order: Order | None
    arrays: Chosen | None
    circular: Sequence[str] | Mapping[str, float] | None
    logarithms: Sequence[str] | None
    bounds: Mapping[str, tuple[float, float]] | None
    discrete: Sequence[str] | None
    corrections: Sequence[str]
    missing: Missing | None
    max_rank: int | None


@dataclass(frozen=True, kw_only=True)
class ReadingOptions:
    """What a user says about a file."""

    order: Order | None = None
    """Order of theta_q's axes; needed only when N = K."""
    arrays: Chosen | None = None
    """Names of arrays by role, where they are not recognised: {"theta": "params"}; several are
    joined by columns: {"x": ["image", "meta"]}; {"x": "none"} says that there is no x."""
    circular: Sequence[str] | Mapping[str, float] | None = None
    """Names of the angles among the parameters, or the period of each; None to recognise them."""
    logarithms: Sequence[str] | None = None
    """Names of the positive parameters that are read by their logarithm; None to recognise those
    that range over decades."""
    bounds: Mapping[str, tuple[float, float]] | None = None
    """The prior's least and greatest value of parameters: {"theta_2": (0, 1)}."""
    discrete: Sequence[str] | None = None
    """Names of discrete parameters: that each value is as frequent as q says is tested, over x
    too."""
    corrections: Sequence[str] = ()
    """Mistakes to correct: any of scale, columns, rows, one_row, thin or thin=M."""
    missing: Missing | None = None
    """What NaN in x means: "mask", a missing value, or "drop", a failed simulation; None to
    recognise padding, and to leave out other rows."""
    max_rank: int | None = None
    """The largest rank that ranks can take, where the file does not say it."""
