"""What raw covariates look like, and whether an array does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from validation_core.types import Array


class Shape(NamedTuple):
    """What a model's covariates look like before they are standardised."""

    rows: int
    columns: int
    constant: int
    """Columns that hold one number throughout: they are left out."""

    @property
    def dims(self) -> tuple[int, int]:
        """Coefficients, of which one is the intercept, and rows."""
        return self.columns - self.constant + 1, self.rows


SHAPES: Mapping[str, Shape] = {
    "ionosphere": Shape(351, 34, 1),
    "concrete": Shape(1030, 8, 0),
}


def checked(name: str, raw: Array) -> Array:
    """Raw covariates as float64, of the right shape.

    Raises:
        ValueError: when they are not.
    """
    if name not in SHAPES:
        raise ValueError(
            f"Covariates belong to {' or '.join(SHAPES)}; got {name!r}; take one of these models"
        )
    rows, columns, constant = SHAPES[name]
    of = np.ascontiguousarray(raw, dtype=np.float64)
    if of.shape != (rows, columns):
        raise ValueError(
            f"{name} has {rows} rows of {columns} covariates, the label or response left out; got "
            f"an array of shape {of.shape}; give the UCI file as it is"
        )
    if not np.isfinite(of).all():
        raise ValueError(
            f"Covariates are finite numbers; got {int((~np.isfinite(of)).sum())} that are not, of "
            f"{of.size}; give the UCI file as it is"
        )
    still = int((np.ptp(of, axis=0) == 0).sum())
    if still != constant:
        raise ValueError(
            f"{constant} of {name}'s columns hold one number throughout; got {still} that do; "
            f"give the UCI file as it is"
        )
    return of
