"""Covariates of the regressions: those of the UCI repository, or a stand-in of their shape.

The files ship with the program (`validation_core/data/uci`, CC BY 4.0); the stand-in is random
numbers of the same raw shape, from a seed that never changes. In a model's key stands the digest
of the real numbers, or nothing for the stand-in, so that other numbers make another key.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

from validation_core import keys
from validation_core.rng import stream
from validation_core.shared_arrays import read_only
from validation_core.types import Array


class _DesignShape(NamedTuple):
    """Shape of a model's raw covariates, and the file that holds them."""

    rows: int
    columns: int
    constant: int
    """Constant columns, which are left out."""
    file: str
    """Numbers with commas between; the label or response in the last column is not read."""
    header: int = 0
    """Lines of names."""

    @property
    def dims(self) -> tuple[int, int]:
        """Number of coefficients, intercept included, and of rows."""
        return self.columns - self.constant + 1, self.rows


SHAPES: Mapping[str, _DesignShape] = {
    "ionosphere": _DesignShape(351, 34, 1, "ionosphere.data"),
    "concrete": _DesignShape(1030, 8, 0, "Concrete_Data.csv", header=1),
}
Design = Literal["real", "stand-in"]
OPTION: Mapping[str, str] = {
    "label": "Covariates",
    "help": "Of ionosphere and concrete: those of the UCI repository, or random numbers of the "
    "same shape.",
    "stored": "digest",
}
"""Metadata of a field `design` whose class has a property `digest`."""
_FOLDER = Path(__file__).parents[1] / "data" / "uci"


@cache
@read_only
def real_covariates(name: str) -> Array:
    """The raw covariates (rows, columns) of a model, from its file."""
    shape = SHAPES[name]
    with (_FOLDER / shape.file).open(encoding="utf-8-sig") as file:
        return np.loadtxt(file, delimiter=",", skiprows=shape.header, usecols=range(shape.columns))


@cache
def digest(name: str, design: Design) -> str:
    """Digest of a model's covariates, for its key; empty for the stand-in or without any."""
    return keys.digest(raw=real_covariates(name)) if name in SHAPES and design == "real" else ""


def read(name: str, design: str) -> Design:
    """The covariates of the model of that name, from an option's word or from a key's digest.

    Raises:
        ValueError: for anything else.
    """
    words: tuple[Design, ...] = ("real", "stand-in")
    for word in words:
        if design == word or design == digest(name, word):
            return word
    raise ValueError(f"design is {' or '.join(words)}; got {design!r}. Take one of these.")


@cache
@read_only
def design_matrix(name: str, design: Design) -> Array:
    """Design matrix X (n, D): an intercept, then each non-constant column, standardised."""
    raw = real_covariates(name) if design == "real" else synthetic_covariates(name)
    varying = raw[:, np.ptp(raw, axis=0) > 0]
    scaled = (varying - varying.mean(0)) / varying.std(0)
    return np.concatenate([np.ones((len(raw), 1)), scaled], 1)


def synthetic_covariates(name: str) -> Array:
    """Raw stand-in covariates from a fixed seed: correlated, ionosphere's second column constant.

    The eigenvalues of their correlation matrix fall as rank^-1.2, about as the real ionosphere's
    do.
    """
    shape = SHAPES[name]
    rng = stream(0, "stand-in", name)
    count = shape.columns - shape.constant
    mixed, _ = np.linalg.qr(rng.standard_normal((count, count)))
    spread = np.arange(1.0, count + 1) ** -0.6
    varying = rng.standard_normal((shape.rows, count)) * spread @ mixed
    return varying if not shape.constant else np.insert(varying, 1, 0.0, axis=1)
