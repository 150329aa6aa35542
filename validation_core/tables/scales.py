"""Draws on another scale than the true values: standardised, in other units, or logarithms.

A column is said to be so only where most true values lie beyond all draws as it stands, and rank
among them as usual on the other scale: then the file is wrong, whatever q is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import scipy  # its parts load at first use: a child that reads files needs none

from validation_core.types import Array, PosteriorTable

_ROWS, _COLUMNS, _FEWEST = 1000, 100, 20
_HOPELESS = 0.5  # share of true values beyond all draws
_FACTOR = 2.5  # of a change of scale: less may be a q of the wrong width
_FOLLOWS = 0.3  # correlation of true values with the draws' centre on the other scale
_CENTRE, _NARROWEST, _WIDEST = 0.3, 0.7, 1.4  # mean and sd of normal scores that are usual
_STANDARD = 0.2  # how far mean and log sd of standardised numbers are from 0
_NEAR = 0.1


class OtherScale(NamedTuple):
    """A change of scale that turns q's draws of one parameter into usual ones."""

    column: int
    """The parameter's place among theta's columns."""
    formula: str
    """The true value from a draw: `50 + 28.9 q`."""
    reading: str
    """The likely mistake: `the draws are standardised`."""


def other_scales(data: PosteriorTable) -> Iterator[OtherScale]:
    """Find the parameters whose draws fit their true values only on another scale."""
    n, k, d = data.q.shape
    if n < _FEWEST or k < 2:
        return
    rows = np.linspace(0, n - 1, min(n, _ROWS)).astype(int)
    for j in range(min(d, _COLUMNS)):
        theta, q = data.theta[rows, j].astype(np.float64), data.q[rows, :, j].astype(np.float64)
        beyond = (theta < q.min(1)) | (theta > q.max(1))
        if beyond.mean() < _HOPELESS or not (np.ptp(theta) > 0 and np.ptp(q) > 0):
            continue
        found = _affine(theta, q) or _logarithm(theta, q)
        if found:
            yield OtherScale(j, *found)


def warnings(data: PosteriorTable, names: Sequence[str]) -> Iterator[str]:
    """Warnings of parameters whose draws are on another scale.

    Args:
        data: the table.
        names: labels of theta's columns.
    """
    for column, formula, reading in other_scales(data):
        yield (
            f"{names[column]} = {formula} fits: {reading}. True values and draws must be on one "
            "scale; until then no test says anything of q."
        )


def _affine(theta: Array, q: Array) -> tuple[str, str] | None:
    """theta = a + b q, by least squares on the draws' centres; None where ranks do not fit."""
    centre = q.mean(1)
    spread = centre.var()
    if not spread > 0:
        return None
    slope = float(((theta - theta.mean()) * (centre - centre.mean())).mean() / spread)
    start = float(theta.mean() - slope * centre.mean())
    if not slope > 0 or 1 / _FACTOR < slope < _FACTOR or not _fits((theta - start) / slope, q):
        return None
    for factor, words in _ANGLES.items():
        if abs(slope / factor - 1) < _NEAR and _fits(theta / factor, q):
            return f"{factor:.3g} q", words
    if _standard(q):
        reading = "the draws are standardised"
    elif _standard(theta):
        reading = "the true values are standardised"
    else:
        reading = "the draws are in other units"
    return f"{start:.3g} + {slope:.3g} q", reading


_ANGLES: Mapping[float, str] = {
    180 / np.pi: "true values are in degrees, the draws in radians",
    np.pi / 180: "true values are in radians, the draws in degrees",
}
_LOGARITHMS: Mapping[str, tuple[Callable[[Array], Array], str]] = {
    "exp(q)": (np.log, "the draws are natural logarithms"),
    "10^q": (np.log10, "the draws are logarithms to base 10"),
}
_POWERS: Mapping[str, tuple[Callable[[Array], Array], str]] = {
    "log(q)": (np.exp, "the true values are natural logarithms"),
    "log10(q)": (lambda a: np.asarray(10.0**a), "the true values are logarithms to base 10"),
}


def _logarithm(theta: Array, q: Array) -> tuple[str, str] | None:
    """theta = exp(q), 10^q, log(q) or log10(q); None where ranks do not fit."""
    forms = {**(_LOGARITHMS if theta.min() > 0 else {}), **(_POWERS if q.min() > 0 else {})}
    for formula, (turn, reading) in forms.items():
        with np.errstate(over="ignore"):
            if _fits(turn(theta), q):
                return formula, reading
    return None


def _fits(theta: Array, q: Array) -> bool:
    """Whether true values (n,) follow the draws (n, K) and rank among them as usual."""
    ranks = np.stack([_ranks(theta), _ranks(q.mean(1))])
    if np.corrcoef(ranks)[0, 1] < _FOLLOWS:
        return False
    below = (q < theta[:, None]).sum(1) + 0.5 * (q == theta[:, None]).sum(1)
    score = scipy.special.ndtri((below + 0.5) / (q.shape[1] + 1))
    return bool(abs(score.mean()) < _CENTRE and _NARROWEST < score.std() < _WIDEST)


def _ranks(values: Array) -> Array:
    """Ranks (n,) from 0, ties in the order of their places."""
    return np.asarray(values.argsort().argsort(), dtype=np.float64)


def _standard(values: Array) -> bool:
    """Whether numbers have about mean 0 and standard deviation 1."""
    return abs(float(values.mean())) < _STANDARD and abs(np.log(values.std())) < _STANDARD
