"""Numbers with intervals that speak for or against each cause, and what departs from a right q."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtr, bdtrc, fdtrc, ndtr, ndtri

from validation_core import codec
from validation_core.diagnosis.questions.cause.prepared_table import PreparedTable
from validation_core.rng import stream
from validation_core.statistics import wilson
from validation_core.types import Array

_Places = NDArray[np.integer]

_BOOTSTRAP = 400
_TAIL, _OUTER = 0.05, 0.01
_KINDS = 6  # of departures: each is charged for all
_EDGE = 0.02
_CLEAR_FORECAST = 3.5  # standard errors of a forecast's correlation, of the largest of a few
_Z = 1.959963984540054
_IF_ANY = codec.shown(optional=True)


@dataclass(frozen=True)
class Finding:
    """One number with its 95% interval that speaks for or against a defect."""

    what: str
    """Its kind, which the text has words for."""
    value: float
    low: float
    high: float
    right: float | None
    """What it would be if q were correct; None where nothing is known of that."""
    at: tuple[int, ...] = ()
    """The parameters that it is of."""
    level: float | None = field(metadata=_IF_ANY, default=None)
    """Of a central interval."""
    share: float | None = field(metadata=_IF_ANY, default=None)
    """Of q's outermost draws."""
    room: float | None = field(metadata=_IF_ANY, default=None)
    """Of the truth's range, at either end."""
    rows: float | None = field(metadata=_IF_ANY, default=None)
    """Share of the rows that it is of."""


@dataclass(frozen=True)
class Departure:
    """A finding that is read whatever the cause."""

    finding: Finding = field(metadata=codec.shown(flat=True))
    pvalue: float
    """Adjusted for all that was looked at."""


def cause_findings(cause: str, table: PreparedTable) -> tuple[Finding, ...]:
    """Two to four findings for a cause."""
    return tuple(_CAUSE_FINDINGS[cause](table))


def find_departures(table: PreparedTable, chosen_of: int | None = None) -> tuple[Departure, ...]:
    """Measure shift, width, tails, dependence and change over x of a table, whatever its cause.

    Everything is read off the truth's ranks among its row's draws, which are uniform if q is
    right, whatever shape q has. The least likely by chance comes first.

    Args:
        table: the rows.
        chosen_of: so many parameters, of which those looked at are the clearest: all are
            charged for.
    """
    d = table.errors.shape[1]
    charge = max(1.0, (chosen_of or d) / d)
    adjusted = [
        Departure(worst.finding, min(1.0, worst.pvalue * worst.places * charge**2 * _KINDS))
        if worst.finding.what == "pair"
        else Departure(worst.finding, min(1.0, worst.pvalue * worst.places * charge * _KINDS))
        for worst in _worst(table)
    ]
    return tuple(sorted(adjusted, key=lambda departure: departure.pvalue))


def _share(inside: NDArray[np.bool_]) -> tuple[float, float, float]:
    low, high = wilson(inside.sum(), inside.size)
    return float(inside.mean()), float(low), float(high)


def _sd_ratio(table: PreparedTable, errors: Array) -> tuple[float, float, float]:
    """How many times q is too wide for standardised errors (n,), by bootstrap."""
    n = len(errors)
    rng = stream(table.seed, "cause", "bootstrap")
    again = errors[rng.integers(n, size=(_BOOTSTRAP, n))].std(1)
    low, high = np.quantile(1 / np.maximum(again, 1e-6), [0.025, 0.975])
    return float(1 / max(errors.std(), 1e-6)), float(low), float(high)


def _correlated(a: Array, b: Array) -> tuple[float, float, float]:
    """Correlation of two columns with Fisher's interval; 0 with no interval for a constant."""
    if not (a.std() > 0 and b.std() > 0):
        return 0.0, -1.0, 1.0
    r = float(np.clip(np.corrcoef(a, b)[0, 1], -0.999999, 0.999999))
    reach = _Z / np.sqrt(max(len(a) - 3, 1))
    return r, float(np.tanh(np.arctanh(r) - reach)), float(np.tanh(np.arctanh(r) + reach))


def _follows(table: PreparedTable, score: Array | None = None) -> Finding:
    """How well errors of some rows are forecast from x and q's mean by the others.

    Args:
        table: the rows.
        score: normal scores (n, c) of the ranks to predict; those in each parameter unless given.
    """
    if score is None:
        u = np.clip(table.ranks[:, : table.errors.shape[1]], 1e-4, 1 - 1e-4)
        score = ndtri(u)
    basis = np.concatenate([table.features.linear, table.features.bent], 1)
    basis = np.concatenate([np.ones((len(basis), 1)), basis * np.sqrt(len(basis))], axis=1)
    fold = stream(table.seed, "cause", "folds").integers(5, size=len(score))
    forecast = np.empty_like(score)
    for k in range(5):
        out = fold == k
        gram = basis[~out].T @ basis[~out] + 1e-2 * len(score) * np.eye(basis.shape[1])
        forecast[out] = basis[out] @ np.linalg.solve(gram, basis[~out].T @ score[~out])
    correlations = [_correlated(forecast[:, j], score[:, j]) for j in range(score.shape[1])]
    j = int(np.argmax([correlation[0] for correlation in correlations]))
    return Finding("follows_x", *correlations[j], 0.0, (j,))


def _bias(table: PreparedTable) -> list[Finding]:
    mean, se = table.errors.mean(0), table.errors.std(0) / np.sqrt(len(table.errors))
    j = int(np.argmax(np.abs(mean) / np.maximum(se, 1e-12)))
    numbers = (float(mean[j]), float(mean[j] - _Z * se[j]), float(mean[j] + _Z * se[j]))
    follows = _follows(table)
    sure = np.arctanh(follows.value) * np.sqrt(len(table.errors)) > _CLEAR_FORECAST
    return [Finding("bias", *numbers, 0.0, (j,)), *((follows,) if sure else ())]


def _width(table: PreparedTable, way: int) -> list[Finding]:
    j = int(np.argmax(way * table.widths))
    u = table.ranks[:, j]
    inside = np.abs(u - 0.5) < 0.4
    return [
        Finding("width", *_sd_ratio(table, table.errors[:, j]), 1.0, (j,)),
        Finding("covered", *_share(inside), 0.8, (j,), level=0.8),
        Finding("inner_half", *_share(table.radius < 0.5), 0.5),
    ]


def _correlation(table: PreparedTable) -> list[Finding]:
    choose, quote = table.halves
    d = table.errors.shape[1]
    if d < 2:
        return []
    i, j = np.triu_indices(d, 1)
    r = table.pool.chol @ np.swapaxes(table.pool.chol, 1, 2)
    own = np.asarray(r.mean(0))[i, j]
    with np.errstate(invalid="ignore", divide="ignore"):
        off = np.asarray(np.nan_to_num(np.corrcoef(table.errors[choose].T)))[i, j] - own
    k = int(np.argmax(np.abs(off)))
    pair = (int(i[k]), int(j[k]))
    correlation = _correlated(*(table.errors[quote][:, parameter] for parameter in pair))
    white = table.pool.white(table.ranked.points[None, :, 0])[0]
    values, vectors = np.linalg.eigh(np.cov(np.clip(white[choose], -10, 10).T))
    worst = vectors[:, int(np.argmax(np.abs(np.log(np.maximum(values, 1e-6)))))]
    return [
        Finding("pair", *correlation, float(own[k]), pair),
        Finding("along", *_sd_ratio(table, white[quote] @ worst), 1.0),
    ]


OUTER = 0.93
"""Share of true values whose reach, beside that of half of them, says how heavy tails are."""
_RESAMPLED = 100


def reach_beside(table: PreparedTable) -> tuple[Array, Array]:
    """How much farther true values reach than q's draws beside half of each, in logarithms, and
    its standard error by bootstrap: of each parameter and on average, (D + 1,) each.

    No width decides it. What linear functions of x predict is taken out.
    """
    middle, scale = table.ranked.scale
    off = (table.ranked.points - middle) / scale
    basis, truth = table.features.linear, off[:, 0] - np.median(off[:, 0], axis=0)
    truth = np.abs(truth - basis @ (basis.T @ np.clip(truth, -4, 4)))
    theirs = _reach(np.abs(off[:, 1:].reshape(-1, off.shape[2])))
    n, rng = len(truth), stream(table.seed, "cause", "tails")
    again = np.stack([_reach(truth[rng.integers(n, size=n)]) for _ in range(_RESAMPLED)])
    return _reach(truth) - theirs, np.maximum(again.std(0), 1e-12)


def _reach(off: Array) -> Array:
    """Log ratio of two quantiles of distances (n, D), and its mean over parameters: (D + 1,)."""
    middle, end = np.maximum(np.quantile(off, [0.5, OUTER], axis=0), 1e-6)
    ratio = np.log(end / middle)
    return np.append(ratio, ratio.mean())


def reaching(table: PreparedTable) -> Finding:
    """The parameter whose tails are clearest off."""
    apart, error = (a[:-1] for a in reach_beside(table))
    j = int(np.argmax(np.abs(apart) / error))
    value, low, high = np.exp(apart[j] + np.array([0.0, -_Z, _Z]) * error[j]).tolist()
    return Finding("reach", value, low, high, 1.0, (j,))


def _tails(table: PreparedTable) -> list[Finding]:
    u = table.radius
    return [
        reaching(table),
        Finding("tail", *_share(u > 1 - _TAIL), _TAIL, share=_TAIL),
        Finding("tail", *_share(u > 1 - _OUTER), _OUTER, share=_OUTER),
        Finding("inner_half", *_share(u < 0.5), 0.5),
    ]


def _standardised_scores(table: PreparedTable) -> Array:
    """Normal scores (n, D) of the truth's ranks without what x predicts, of variance 1."""
    score = ndtri(np.clip(table.ranks[:, : table.errors.shape[1]], 1e-9, 1 - 1e-9))
    score = score - score.mean(0)
    score = score - table.features.linear @ (table.features.linear.T @ score)
    return np.asarray(score / np.maximum(score.std(0), 1e-6))


def _moment(table: PreparedTable, power: int, right: float) -> tuple[int, float, float, float]:
    """The parameter whose moment of standardised scores is farthest off, and it, by bootstrap."""
    moments = _standardised_scores(table) ** power
    j = int(np.argmax(np.abs(moments.mean(0) - right) / np.maximum(moments.std(0), 1e-12)))
    n = len(moments)
    rng = stream(table.seed, "cause", "moments", power)
    again = moments[rng.integers(n, size=(_BOOTSTRAP, n)), j].mean(1)
    low, high = np.quantile(again, [0.025, 0.975])
    return j, float(moments[:, j].mean()), float(low), float(high)


def _skew(table: PreparedTable) -> list[Finding]:
    j, value, low, high = _moment(table, 3, 0.0)
    below = table.ranks[:, j] < 0.5
    return [
        Finding("skew", value, low, high, 0.0, (j,)),
        Finding("below", *_share(below), 0.5, (j,)),
    ]


def _spread(table: PreparedTable) -> list[Finding]:
    theta, q = table.ranked.points[:, 0], table.pool.q
    ratio = theta.std(0) / np.maximum(q.reshape(-1, q.shape[2]).std(0), 1e-300)
    j = int(np.argmin(ratio))
    rng, n = stream(table.seed, "cause", "spread"), len(theta)
    rows = rng.integers(n, size=(200, n))
    own, square = q[..., j].mean(1), np.square(q[..., j]).mean(1)
    wide = np.sqrt(np.maximum(square[rows].mean(1) - np.square(own[rows].mean(1)), 1e-300))
    low, high = np.quantile(theta[rows, j].std(1) / wide, [0.025, 0.975])
    return [Finding("spread", float(ratio[j]), float(low), float(high), 1.0, (j,))]


def _missing(table: PreparedTable) -> list[Finding]:
    size = table.ranked.ranks.shape[2]
    beyond = table.ranked.ranks[:, -1, 0] == size - 1
    pieces = [Finding("beyond_all", *_share(beyond), 1 / size)]
    if beyond.sum() >= 5:
        edge = np.quantile(table.ranked.coordinates[:, -1, 1:], 0.95, axis=1)
        times = np.sort(np.exp(np.minimum(table.ranked.coordinates[:, -1, 0] - edge, 20))[beyond])
        m, reach = len(times), _Z * np.sqrt(len(times)) / 2
        ends = (max(int(m / 2 - reach), 0), min(int(np.ceil(m / 2 + reach)), m - 1))
        median = (float(np.median(times)), float(times[ends[0]]), float(times[ends[1]]))
        pieces.append(Finding("how_far", *median, None))
    if not beyond.all():
        pieces.append(Finding("inner_half", *_share(table.radius[~beyond] < 0.5), 0.5))
    return pieces


def _spurious(table: PreparedTable) -> list[Finding]:
    groups = table.ranked.groups
    rows = groups.clear
    pieces = []
    if rows.mean() > 0.02:
        minor = table.ranked.minor(table.ranked.points[None, :, 0])[0]
        pieces.append(
            Finding(
                "minor",
                *_share(minor[rows]),
                float(groups.share[rows].mean()),
                rows=float(rows.mean()),
            )
        )
    choose, quote = table.halves
    truth = np.clip(table.pool.white(table.ranked.points[None, :, 0])[0], -10, 10)
    way = -truth[choose].mean(0)
    way = way / max(float(np.linalg.norm(way)), 1e-12)
    at = np.einsum("nkd,d->nk", _white_rows(table, quote), way)
    beyond = truth[quote] @ way > np.quantile(at, 0.9, axis=1)
    pieces.append(Finding("outer_tenth", *_share(beyond), 0.1))
    pieces.append(Finding("inner_half", *_share(table.radius < 0.5), 0.5))
    # A gap that q fills leaves more truths elsewhere: what lies above speaks for something else.
    own = [piece for piece in pieces if piece.right is None or piece.value <= piece.right]
    return own or pieces


def _white_rows(table: PreparedTable, rows: _Places) -> Array:
    u = (table.pool.q[rows] - table.pool.mean[rows, None]) / table.pool.sd[rows, None]
    return np.asarray(u @ np.swapaxes(table.pool.inverse[rows], 1, 2))


def _blind(table: PreparedTable) -> list[Finding]:
    n = len(table.errors)
    rng = stream(table.seed, "cause", "contraction")
    k = table.pool.q.shape[1]
    within, mean = np.square(table.pool.sd), table.pool.mean

    def contraction(rows: _Places) -> Array:
        inner = np.median(within[rows], axis=0)
        outer = np.maximum(mean[rows].var(0) - within[rows].mean(0) / k, 0)
        return np.asarray(outer / np.maximum(outer + inner, 1e-300))

    own = contraction(np.arange(n))
    j = int(np.argmin(own))
    again = [contraction(rng.integers(n, size=n))[j] for _ in range(100)]
    low, high = np.quantile(again, [0.025, 0.975])
    agrees = _correlated(table.ranked.points[:, 0, j], mean[:, j])
    return [
        Finding("contraction", float(own[j]), float(low), float(high), None, (j,)),
        Finding("agrees", *agrees, float(np.sqrt(own[j])), (j,)),
        _follows(table),
    ]


def _leak(table: PreparedTable) -> list[Finding]:
    theta, q = table.ranked.points[:, 0], table.pool.q
    outside = ((q < theta.min(0)) | (q > theta.max(0))).mean((0, 1))
    return list(leaking(table, int(np.argmax(outside))))


def leaking(table: PreparedTable, j: int) -> tuple[Finding, ...]:
    """Draws of a parameter beyond the range of its true values, which may crowd at its ends."""
    theta, q = table.ranked.points[:, 0, j], table.pool.q[..., j]
    low, high = theta.min(), theta.max()
    outside = ((q < low) | (q > high)).mean(1)
    n = len(outside)
    again = outside[stream(table.seed, "cause", "leak").integers(n, size=(_BOOTSTRAP, n))].mean(1)
    ends = np.quantile(again, [0.025, 0.975])
    room = _EDGE * (high - low)
    crowd = (theta < low + room) | (theta > high - room)
    numbers = (float(outside.mean()), float(ends[0]), float(ends[1]))
    return (
        Finding("leak", *numbers, 2 / (n + 1), (j,)),
        Finding("edge", *_share(crowd), None, (j,), room=_EDGE),
    )


def in_minor(j: int, rows: float, there: NDArray[np.bool_], share: float) -> Finding:
    """True values in the smaller of two modes that q has in a parameter, at a share of rows."""
    return Finding("minor", *_share(there), share, (j,), rows=rows)


_CAUSE_FINDINGS: Mapping[str, Callable[[PreparedTable], list[Finding]]] = {
    "bias": _bias,
    "too_wide": lambda table: _width(table, 1),
    "too_narrow": lambda table: _width(table, -1),
    "wrong_correlation": _correlation,
    "heavy_tails": _tails,
    "light_tails": _tails,
    "missing_mode": _missing,
    "spurious_mode": _spurious,
    "wrong_skew": _skew,
    "proposal": _spread,
    "ignores_x": _blind,
    "support_leak": _leak,
}


class _Worst(NamedTuple):
    """One kind at its worst place: a finding, its p-value there, places looked at."""

    finding: Finding
    pvalue: float
    places: int = 1


def _worst(table: PreparedTable) -> Iterator[_Worst]:
    d = table.errors.shape[1]
    scores = ndtri(np.clip(table.ranks, 1e-9, 1 - 1e-9))  # (n, C), normal if q is right
    yield _shift_departure(scores[:, :d])
    yield _width_departure(scores[:, :d])
    yield _tails_departure(table)
    if d > 1:
        yield _pair_departure(table, scores[:, :d])
    yield _over_x_departure(table, scores[:, :d])
    spread = _over_x_departure(table, scores[:, -1:])
    yield spread._replace(finding=replace(spread.finding, what="spread_x", at=()))


def _two_sided(z: float) -> float:
    return 2 * float(ndtr(-abs(z)))


def _shift_departure(score: Array) -> _Worst:
    """q's centre against the truth's, in posterior sd of a normal q."""
    mean = -score.mean(0)
    # What varies more than it should is no shift: the larger error counts.
    error = np.maximum(score.std(0), 1.0) / np.sqrt(len(score))
    j = int(np.abs(mean / error).argmax())
    numbers = (float(mean[j]), float(mean[j] - _Z * error[j]), float(mean[j] + _Z * error[j]))
    finding = Finding("bias", *numbers, 0.0, (j,))
    return _Worst(finding, _two_sided(float(mean[j] / error[j])), score.shape[1])


def _width_departure(score: Array) -> _Worst:
    """q's width by the one it needs: 1 over the sd of the scores."""
    n, square = len(score), np.square(score - score.mean(0))
    var = np.maximum(square.mean(0), 1e-6)
    z = np.log(var) * np.sqrt(n / 2)
    j = int(np.abs(z).argmax())
    reach = _Z * float(square[:, j].std()) / np.sqrt(n) / float(var[j]) / 2  # of the log sd
    value = float(var[j]) ** -0.5
    numbers = (value, value * float(np.exp(-reach)), value * float(np.exp(reach)))
    finding = Finding("width", *numbers, 1.0, (j,))
    return _Worst(finding, _two_sided(float(z[j])), score.shape[1])


def _tails_departure(table: PreparedTable) -> _Worst:
    """Truths among the outermost draws, or in the inner half of them: the least likely count."""
    candidates = [
        (
            Finding("tail", *_share(table.radius > 1 - part), part, share=part),
            binomial_pvalue(table.radius > 1 - part, part),
        )
        for part in (_TAIL, _OUTER)
    ]
    inner = table.radius < 0.5
    candidates.append((Finding("inner_half", *_share(inner), 0.5), binomial_pvalue(inner, 0.5)))
    finding, pvalue = min(candidates, key=lambda pair: pair[1])
    return _Worst(finding, pvalue, len(candidates))


def binomial_pvalue(inside: NDArray[np.bool_], chance: float) -> float:
    """Two-sided binomial p-value."""
    n, count = len(inside), int(inside.sum())
    above = float(bdtrc(count - 1, n, chance)) if count else 1.0
    return min(1.0, 2 * min(float(bdtr(count, n, chance)), above))


def _pair_departure(table: PreparedTable, score: Array) -> _Worst:
    """The pair of parameters whose errors are least as q's own draws correlate them."""
    i, j = np.triu_indices(score.shape[1], 1)
    own = np.clip(table.features.usual[i, j], -0.999, 0.999)
    r = np.clip(np.asarray(np.corrcoef(score.T))[i, j], -0.999999, 0.999999)
    apart = np.arctanh(r) - np.arctanh(own)
    worst = int(np.abs(apart).argmax())
    pair = (int(i[worst]), int(j[worst]))
    numbers = _correlated(score[:, pair[0]], score[:, pair[1]])
    finding = Finding("pair", *numbers, float(own[worst]), pair)
    z = float(apart[worst]) * np.sqrt(max(len(score) - 3, 1))
    return _Worst(finding, _two_sided(z), len(i))


def _over_x_departure(table: PreparedTable, score: Array) -> _Worst:
    """Dependence of scores (n, c) on x and q's mean; the number quoted is the correlation on rows
    not learnt from."""
    return _Worst(_follows(table, score), least_pvalue_over_x(table, score), score.shape[1])


def least_pvalue_over_x(table: PreparedTable, score: Array) -> float:
    """The smallest p of F tests that functions of x and q's mean predict none of scores (n, c).

    All functions at once. The scores are normal and independent of x if q is right, so that F
    holds at any size; 1 where there are too few rows.
    """
    basis = np.concatenate([table.features.linear, table.features.bent], axis=1)
    n, p = basis.shape
    rest = n - p - 1
    if not p or rest < 1:
        return 1.0
    off = score - score.mean(0)
    explained, total = np.square(basis.T @ off).sum(0), np.square(off).sum(0)
    ratio = explained / p / np.maximum(total - explained, 1e-300) * rest
    return float(fdtrc(p, rest, ratio).min())
