"""What a table shows whatever its cause: shift, width, tails, dependence, change over x.

Everything is read off the truth's ranks among its row's draws, which are uniform if q is right,
whatever shape q has. Each number has a p-value that is adjusted for all that was looked at.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtr, bdtrc, fdtrc, ndtr, ndtri

from validation_core.answers.cause import evidence
from validation_core.answers.cause.evidence import Table, Told
from validation_core.types import Array

LEVEL = 0.05
"""Adjusted p-value up to which a departure is told."""
MOST = 4
"""Departures that are told."""

_TAILS = (0.05, 0.01)
_Z = 1.959963984540054
_KINDS = 6  # of departures: each is charged for all


class _Departure(NamedTuple):
    """One kind at its worst place: a piece of evidence, its p-value there, places looked at."""

    piece: Told
    pvalue: float
    places: int = 1


def seen(table: Table) -> list[Told]:
    """The departures, the least likely by chance first: evidence with `pvalue`, adjusted."""
    found = [
        {**one.piece, "pvalue": min(1.0, one.pvalue * one.places * _KINDS)}
        for one in _departures(table)
    ]
    return sorted(found, key=lambda piece: float(piece["pvalue"]))


def _departures(table: Table) -> Iterator[_Departure]:
    d = table.errors.shape[1]
    scores = ndtri(np.clip(table.ranks, 1e-9, 1 - 1e-9))  # (n, C), normal if q is right
    yield _shift(scores[:, :d])
    yield _width(scores[:, :d])
    yield _tails(table)
    if d > 1:
        yield _pair(table, scores[:, :d])
    yield _over_x(table, scores[:, :d])
    spread = _over_x(table, scores[:, -1:])
    yield spread._replace(piece={**spread.piece, "what": "spread_x", "at": []})


def _two_sided(z: float) -> float:
    return 2 * float(ndtr(-abs(z)))


def _shift(score: Array) -> _Departure:
    """q's centre against the truth's, in posterior sd of a normal q."""
    mean = -score.mean(0)
    # What varies more than it should is no shift: the larger error counts.
    error = np.maximum(score.std(0), 1.0) / np.sqrt(len(score))
    j = int(np.abs(mean / error).argmax())
    numbers = (float(mean[j]), float(mean[j] - _Z * error[j]), float(mean[j] + _Z * error[j]))
    piece = evidence.told("bias", numbers, 0.0, (j,))
    return _Departure(piece, _two_sided(float(mean[j] / error[j])), score.shape[1])


def _width(score: Array) -> _Departure:
    """q's width by the one it needs: 1 over the sd of the scores."""
    n, square = len(score), np.square(score - score.mean(0))
    var = np.maximum(square.mean(0), 1e-6)
    z = np.log(var) * np.sqrt(n / 2)
    j = int(np.abs(z).argmax())
    reach = _Z * float(square[:, j].std()) / np.sqrt(n) / float(var[j]) / 2  # of the log sd
    value = float(var[j]) ** -0.5
    numbers = (value, value * float(np.exp(-reach)), value * float(np.exp(reach)))
    piece = evidence.told("width", numbers, 1.0, (j,))
    return _Departure(piece, _two_sided(float(z[j])), score.shape[1])


def _tails(table: Table) -> _Departure:
    """Truths among the outermost draws, or in the inner half of them: the least likely count."""
    every = [
        (evidence.told("tail", evidence.share(table.radius > 1 - part), part, share=part),
         _even(table.radius > 1 - part, part))
        for part in _TAILS
    ]  # fmt: skip
    inner = table.radius < 0.5
    every.append((evidence.told("inner_half", evidence.share(inner), 0.5), _even(inner, 0.5)))
    piece, pvalue = min(every, key=lambda one: one[1])
    return _Departure(piece, pvalue, len(every))


def _even(inside: NDArray[np.bool_], chance: float) -> float:
    """Two-sided binomial p-value."""
    n, count = len(inside), int(inside.sum())
    above = float(bdtrc(count - 1, n, chance)) if count else 1.0
    return min(1.0, 2 * min(float(bdtr(count, n, chance)), above))


def _pair(table: Table, score: Array) -> _Departure:
    """The pair of parameters whose errors are least as q's own draws correlate them."""
    i, j = np.triu_indices(score.shape[1], 1)
    own = np.clip(table.features.usual[i, j], -0.999, 0.999)
    r = np.clip(np.asarray(np.corrcoef(score.T))[i, j], -0.999999, 0.999999)
    apart = np.arctanh(r) - np.arctanh(own)
    worst = int(np.abs(apart).argmax())
    pair = (int(i[worst]), int(j[worst]))
    numbers = evidence.correlated(score[:, pair[0]], score[:, pair[1]])
    piece = evidence.told("pair", numbers, float(own[worst]), pair)
    z = float(apart[worst]) * np.sqrt(max(len(score) - 3, 1))
    return _Departure(piece, _two_sided(z), len(i))


def _over_x(table: Table, score: Array) -> _Departure:
    """What x and q's mean say of scores (n, c), by the F test of all their functions at once.

    The scores are normal and independent of x if q is right, so that F holds at any size; the
    number told is the correlation on rows not learnt from.
    """
    piece = evidence.follows(table, score)
    basis = np.concatenate([table.features.linear, table.features.bent], axis=1)
    n, p = basis.shape
    rest = n - p - 1
    if p == 0 or rest < 1:
        return _Departure(piece, 1.0)
    off = score - score.mean(0)
    explained, total = np.square(basis.T @ off).sum(0), np.square(off).sum(0)
    ratio = explained / p / np.maximum(total - explained, 1e-300) * rest
    return _Departure(piece, float(fdtrc(p, rest, ratio).min()), score.shape[1])
