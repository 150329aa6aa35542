"""From raw covariates to the matrix that a model multiplies: lent ones, or the stand-in."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

import numpy as np

from validation_core import keys
from validation_core.bayes.designs.shapes import SHAPES, checked
from validation_core.rng import stream
from validation_core.types import Array

OPTION: Mapping[str, str] = {
    "label": "Covariates",
    "help": "Digest of the covariates that were read; empty for a stand-in of the same shape, "
    "random numbers from a fixed seed",
}

_LENT: dict[tuple[str, str], Array] = {}


def label(title: str, design: str) -> str:
    """A model's label: says where its covariates are not the real ones."""
    return title if design else f"{title}, stand-in covariates"


def lend(name: str, raw: Array) -> str:
    """Keep raw covariates (rows, columns) of a model in this process; gives their digest.

    Raises:
        ValueError: when they are not of the shape of the UCI data, or not finite numbers.
    """
    of = checked(name, raw)
    digest = keys.digest(raw=of)
    _LENT[name, digest] = of
    return digest


def lent(name: str, design: str) -> bool:
    """Whether this process has them; a stand-in it always has."""
    return not design or (name, design) in _LENT


@lru_cache(maxsize=8)
def matrix(name: str, design: str) -> Array:
    """X (n, D), read-only: an intercept, then each column that varies, with mean 0, variance 1.

    Raises:
        ValueError: when the covariates of that digest were not lent to this process.
    """
    if not lent(name, design):
        raise ValueError(
            f"Covariates are lent to the process that simulates; got {name} with {design!r}, "
            f"which it does not have; read the file again, or take the stand-in"
        )
    raw = _LENT[name, design] if design else stand_in(name)
    varying = raw[:, np.ptp(raw, axis=0) > 0]
    scaled = (varying - varying.mean(0)) / varying.std(0)
    x = np.concatenate([np.ones((len(raw), 1)), scaled], 1)
    x.setflags(write=False)
    return x


def stand_in(name: str) -> Array:
    """Raw covariates from a fixed seed: correlated, ionosphere's second column constant.

    The eigenvalues of their correlation fall as rank^-1.2, as the real ionosphere's do about.
    """
    rows, columns, constant = SHAPES[name]
    rng = stream(0, "stand-in", name)
    count = columns - constant
    mixed, _ = np.linalg.qr(rng.standard_normal((count, count)))
    spread = np.arange(1.0, count + 1) ** -0.6
    varying = rng.standard_normal((rows, count)) * spread @ mixed
    return varying if not constant else np.insert(varying, 1, 0.0, axis=1)
