"""Several posteriors of the same simulations side by side: checkpoints, architectures, methods.

Every measure is made of one number a row, so that two tables of the same simulations are compared
row by row: what an observation adds to both cancels. The energy score and the continuous ranked
probability score are proper (Gneiting, Raftery 2007, Section 4): their mean is least for the true
posterior, whatever the draws look like. Distances of ranks are those of the tests.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np
from scipy.special import stdtrit

from validation_core import keys, statistics
from validation_core.diagnosis import Record
from validation_core.diagnosis.questions.base import LEVEL, TableStudy
from validation_core.methods import METHODS
from validation_core.methods.base import Method, kind_of
from validation_core.pieces import slices
from validation_core.rng import stream
from validation_core.shared_arrays import read_only
from validation_core.study import Report
from validation_core.tables import TableUpload, Upload
from validation_core.tables.draw_order import draws_at, random_columns
from validation_core.tables.weights import shares
from validation_core.text import SMALLEST, equals, interval_text, list_text
from validation_core.types import Array, Interval, PosteriorTable

if TYPE_CHECKING:
    from validation_core.store import Store

_BOOTSTRAPS = 1000
NUMBERS_AT_ONCE = 2_000_000  # numbers of draws read at a time
_TINY = np.finfo(float).tiny  # pairs of draws without weight divide by it, not by 0
_LAGS = 100  # places between weighted draws whose pairs are read: few would leave a bias

_FROM_UNIFORM = "distance from uniform (Kolmogorov) of"
_FEWEST = 2  # rows, whose spread gives an interval
MOST_ON_PAGE = 12
"""Tables that the page compares at once."""
RANKED: Mapping[str, tuple[str, str]] = {
    "colt": ("CoLT's d~", f"{_FROM_UNIFORM} true values' ranks in CoLT's learned region"),
    "within_x": ("distance within x", f"{_FROM_UNIFORM} true values' ranks by the classifier"),
    "tarp": ("distance of coverage", f"{_FROM_UNIFORM} TARP's coverage values"),
    "sbc": ("distance of ranks", f"{_FROM_UNIFORM} the ranks of the worst parameter"),
}
"""Methods whose ranks are compared: name and what it is; a correct posterior has 0."""


class RowScores(NamedTuple):
    """Proper scores of each row: lower is nearer to the true posterior."""

    energy: Array
    """(N,)."""
    crps: Array
    """Continuous ranked probability score of each parameter (N, D)."""


@dataclass(frozen=True, kw_only=True)
class _RowScoreStudy(TableStudy[RowScores], spec="posteriors"):
    """How well q's draws predict the true value of each row, by proper scores."""

    version: ClassVar[int] = 3
    about: ClassVar[str] = "Scores of each row"

    def answer(self, upload: TableUpload, store: Store, report: Report) -> RowScores:
        del store
        return row_scores(upload.as_came)


@dataclass(frozen=True, kw_only=True)
class _WeightedScoreStudy(TableStudy[RowScores], spec="posteriors of weighted draws"):
    """The same of draws that count by their weights, as they came."""

    version: ClassVar[int] = 3
    about: ClassVar[str] = "Scores of each row"

    def answer(self, upload: TableUpload, store: Store, report: Report) -> RowScores:
        del store
        assert upload.weighting is not None, "asked of weighted draws alone"
        return row_scores(upload.as_came, upload.weighting.arrays["log_w_draws"])


def row_scores(draws: PosteriorTable, log_w: Array | None = None) -> RowScores:
    """Energy score and continuous ranked probability score of each row.

    Parameters are measured in standard deviations of the truths. Both are unbiased at any K: the
    spread of q is estimated from pairs of distinct draws, picked at random: in what order they
    came does not matter. Weighted draws count by their weights
    w_k of sum 1, pairs by w_k w_l; these are ratios of means, whose bias falls with the number
    of effective draws (prior draws with 15 effective ones: less than .5% of the score).

    Args:
        draws: the table.
        log_w: log weights of its draws (N, K), up to one number at each x; None for equal ones.

    Raises:
        ValueError: for fewer than two draws at each x.
    """
    n, k, d = draws.q.shape
    if k < 2:
        raise ValueError(
            f"A proper score needs at least two draws of q at each x, to know q's spread; got "
            f"{k}. Upload more draws."
        )
    scale = np.asarray(draws.theta.std(0), dtype=np.float64)
    scale = np.where(scale > 0, scale, 1.0)
    energy, crps = np.empty(n), np.empty((n, d))
    step, rng = max(1, NUMBERS_AT_ONCE // (k * d)), stream(0, "posteriors", "pairs")
    for part in slices(n, step):
        weight = np.full((1, k), 1 / k) if log_w is None else shares(log_w[part]) + _TINY
        q = np.asarray(draws.q[part], dtype=np.float64) / scale
        off = q - (np.asarray(draws.theta[part], dtype=np.float64) / scale)[:, None]
        near = (weight * np.linalg.norm(off, axis=-1)).sum(-1)
        columns = random_columns(len(q), k, k, rng)
        shuffled = np.take_along_axis(np.broadcast_to(weight, columns.shape), columns, axis=1)
        lags = 1 if log_w is None else _LAGS
        energy[part] = near - _distance_apart(draws_at(q, columns), shuffled, lags) / 2
        crps[part] = (weight[..., None] * np.abs(off)).sum(1) - _half_spread(q, weight)
    return RowScores(energy, crps)


def _distance_apart(q: Array, weight: Array, lags: int) -> Array:
    """Mean distance (n,) between two different draws (n, K, D) in no order, from pairs a few
    places apart.

    Neighbours, K - 1 of the K (K - 1) / 2 pairs, serve where draws count equally: no matrix of
    all pairs is held.
    """
    most = max(1, q.shape[1] // 2)
    total, weights = np.zeros(len(q)), np.zeros(len(q))
    for lag in np.unique(np.linspace(1, most, min(lags, most)).astype(int)):
        both = weight[:, lag:] * weight[:, :-lag]
        total += (both * np.linalg.norm(q[:, lag:] - q[:, :-lag], axis=-1)).sum(-1)
        weights += both.sum(-1)
    return total / weights


def _half_spread(q: Array, weight: Array) -> Array:
    """Half of the mean distance (n, D) between two different draws (n, K, D) by weight."""
    order = np.argsort(q, axis=1)
    w = np.take_along_axis(np.broadcast_to(weight[..., None], q.shape), order, axis=1)
    below = np.cumsum(w, axis=1)
    signed = w * (2 * below - w - 1)  # the weight below a draw, less that above it
    pairs = 1 - np.square(weight).sum(-1, keepdims=True)
    return np.asarray((signed * np.take_along_axis(q, order, axis=1)).sum(1) / pairs)


class Measure(NamedTuple):
    """One measure of all tables: the values, and the differences from the reference table."""

    name: str
    title: str
    about: str
    values: tuple[Interval, ...]
    differences: tuple[Interval, ...]
    """Each table less the reference; its interval is 95% for all pairs of tables together."""
    higher_is_better: bool = False
    from_uniform: bool = False
    """Whether it is a distance of ranks from uniform, of which a correct posterior has 0."""

    def closer(self, table: int) -> bool | None:
        """Whether this table is better than the reference; None if that cannot be told."""
        difference = self.differences[table]
        if difference.low <= 0 <= difference.high:
            return None
        return (difference.estimate > 0) == self.higher_is_better


class Ranking(NamedTuple):
    """Which table is nearest to the true posterior by the energy score, and by how much."""

    order: tuple[int, ...]
    """The tables, the one of the least score first."""
    behind: tuple[Interval, ...]
    """How much higher each table scores than the nearest (T), in standard deviations of the true
    values. Intervals are 95% for every pair of tables together, so that they hold although the
    nearest was picked by the same rows."""

    @property
    def tied(self) -> tuple[int, ...]:
        """Tables that the data cannot tell from the nearest."""
        return tuple(i for i in self.order[1:] if self.behind[i].low <= 0)

    @property
    def farther(self) -> tuple[int, ...]:
        """Tables that are farther than the nearest, in order."""
        return tuple(i for i in self.order[1:] if self.behind[i].low > 0)


def address_entry(label: str, upload: Upload) -> str:
    """A table in the address of the page: its whole digest, which nobody can guess, and label."""
    return f"{upload.digest}~{label[:80]}"


def unlike(first: Upload, other: Upload) -> str | None:
    """Why two tables cannot be compared row by row; None if their simulations are the same."""
    for upload in (first, other):
        if not isinstance(upload, TableUpload):
            return (
                f"A comparison needs tables of theta, x and theta_q; got {upload.held}. Bring "
                f"theta, x and theta_q."
            )
    assert isinstance(first, TableUpload)
    assert isinstance(other, TableUpload)
    if first.data.theta.shape != other.data.theta.shape:
        (n, d), (m, e) = first.data.theta.shape, other.data.theta.shape
        return (
            f"Paired differences need the same simulations in the same order; got {n} rows of "
            f"{d} parameters and {m} of {e}. Draw from both at the same theta and x."
        )
    if first.n < _FEWEST:
        return (
            f"Paired differences need at least {_FEWEST} rows, whose spread gives intervals; got "
            f"{first.n}. Bring more simulations."
        )
    same = _close(*_angles_alike(first, other)) and (
        first.data.x.shape == other.data.x.shape and _close(first.data.x, other.data.x)
    )
    return (
        None
        if same
        else (
            "Paired differences need the same simulations in the same order; got other values of "
            "theta or x. Draw from both posteriors at the same theta and x, or sort their "
            "rows alike."
        )
    )


def _angles_alike(first: TableUpload, other: TableUpload) -> tuple[Array, Array]:
    """True values of two tables, angles of the second by whole periods near those of the first.

    Each table counts them from the middle of its own rows.
    """
    a, b = first.data.theta, other.data.theta
    periods = np.array(first.periods or other.periods or (0.0,))
    safe = np.where(periods > 0, periods, 1.0)
    return a, b + np.where(periods > 0, safe * np.rint((a - b) / safe), 0.0)


def _close(a: Array, b: Array) -> bool:
    return bool(np.allclose(a, b, rtol=1e-5, atol=1e-6 * float(np.abs(a).max(initial=0))))


def methods() -> tuple[Method, ...]:
    """The tests whose ranks are compared."""
    return tuple(METHODS[name]() for name in ("sbc", "tarp", "within_x", "colt"))


def studies(
    upload: Upload, seed: int = 0
) -> tuple[_RowScoreStudy, ...] | tuple[_WeightedScoreStudy, ...]:
    """The scores of a table's rows, where it has two draws at each x."""
    if upload.drawn[0] < 2:
        return ()
    if is_weighted(upload):
        return (_WeightedScoreStudy(digest=upload.digest, seed=seed),)
    return (_RowScoreStudy(digest=upload.digest, seed=seed),)


def is_weighted(upload: Upload) -> bool:
    """Whether a table's draws count by weights."""
    return isinstance(upload, TableUpload) and upload.weighting is not None


def warnings(uploads: Sequence[Upload], labels: Sequence[str]) -> tuple[str, ...]:
    """The tables' warnings, each once, with the tables that have it unless all do.

    Args:
        uploads: the tables.
        labels: their names.
    """
    having: dict[str, list[str]] = {}
    for upload, label in zip(uploads, labels, strict=True):
        for warning in upload.warnings:
            having.setdefault(warning, []).append(label)
    return tuple(
        warning if len(names) == len(uploads) else f"{list_text(names)}: {warning}"
        for warning, names in having.items()
    )


def left_out(uploads: Sequence[Upload], labels: Sequence[str]) -> tuple[str, ...]:
    """What a comparison of these tables leaves out, and why, in sentences.

    Args:
        uploads: the tables.
        labels: their names.
    """
    some = [
        (label, upload.weighting)
        for label, upload in zip(labels, uploads, strict=True)
        if isinstance(upload, TableUpload) and upload.weighting is not None
    ]
    told = []
    single = [label for label, upload in zip(labels, uploads, strict=True) if not studies(upload)]
    if single:
        told.append(
            f"Tables are not ranked: the energy score takes two draws of q at each x; "
            f"{list_text(single)} {'has' if len(single) == 1 else 'have'} one. Bring more draws, "
            "or compare the others alone."
        )
    if some:
        listed = list_text([f"{label} ({one.effective:.0f} effective)" for label, one in some])
        told.append(
            f"Draws of {listed} count by their weights. Distances of ranks are left out: weighted "
            "draws are ranked with the true value among them."
        )
    for label, log_q in zip(labels, _log_q(uploads), strict=False):  # of none, if one has none
        if count := int(np.isinf(log_q).sum()):
            told.append(
                f"Log scores are left out: log q of {label} is infinite at {count:,} of "
                f"{len(log_q):,} true values, and so is its mean."
            )
    return tuple(told)


def _log_q(uploads: Sequence[Upload]) -> list[Array]:
    """Log density of the true values (N,) under each q; none unless every table has them."""
    known = [upload.densities["log_q"] for upload in uploads if "log_q" in upload.densities]
    return known if len(known) == len(uploads) else []


def measures(
    uploads: Sequence[Upload],
    records: Sequence[Sequence[Record]],
    scores: Sequence[RowScores | None],
    reference: int = 0,
) -> tuple[Measure, ...]:
    """Every measure that all of these tables have, of tables whose simulations are the same.

    Args:
        uploads: the tables (T).
        records: what the tests found on each, with the same seed.
        scores: the scores of their rows.
        reference: the table that differences are taken from.
    """
    metrics: list[Measure] = []
    energies = [score.energy for score in scores if score is not None]
    if len(energies) == len(uploads):
        metrics.append(
            _mean(
                energies,
                reference,
                "energy",
                "energy score",
                "mean distance of q's draws from the true value, less half of their distance from "
                "one another; lowest for the true posterior",
            )
        )
    densities = _log_q(uploads)
    if densities and not np.isinf(densities).any():
        about = "mean log density of the true values under q; highest for the true posterior"
        metrics.append(_mean(densities, reference, "log_q", "log score", about, higher=True))
    # Weighted draws are drawn anew with the true value among them, which shrinks distances.
    ranked = {} if any(map(is_weighted, uploads)) else RANKED
    for name, (title, about) in ranked.items():
        ranks = [_ranks(each, name) for each in records]
        if all(u is not None for u in ranks):
            metrics.append(
                _distance([u for u in ranks if u is not None], reference, name, title, about)
            )
    return tuple(metrics)


def ranking(scores: Sequence[RowScores | None]) -> Ranking | None:
    """The tables in the order of their energy scores; None while one has none in two rows.

    Args:
        scores: of the rows of each table, whose simulations are the same.
    """
    energies = [score.energy for score in scores if score is not None]
    if len(energies) < max(len(scores), 2):
        return None
    rows = np.stack(energies).astype(np.float64)  # (T, N)
    rows = rows[:, np.isfinite(rows).all(0)]
    if rows.shape[1] < _FEWEST:
        return None
    order = np.argsort(rows.mean(1), kind="stable")
    above = rows - rows[order[0]]
    behind = _values(above.mean(1), _reach(above, _pairs(rows)))
    return Ranking(tuple(order.tolist()), behind)


def rejections(records: Sequence[Sequence[Record]]) -> tuple[float | None, ...]:
    """The smallest p-value of each table's own tests, by Bonferroni over all tests of all tables.

    So the table that is nearest may be picked by the same rows. None for one without a test.
    """
    ran = [[one.pvalue for one in each if one.pvalue is not None] for each in records]
    tests = sum(map(len, ran))
    return tuple(min(1.0, tests * max(min(p), SMALLEST)) if p else None for p in ran)


def same_text(uploads: Sequence[Upload], labels: Sequence[str]) -> str | None:
    """Which tables hold the same numbers, as one file that was given twice; None where none do."""
    together: dict[str, list[str]] = {}
    for upload, label in zip(uploads, labels, strict=True):
        together.setdefault(upload.digest, []).append(label)
    same = [list_text(names) for names in together.values() if len(names) > 1]
    if not same:
        return None
    return f"{'; '.join(same)} hold the same draws: they are one table, given more than once."


def one_text(uploads: Sequence[Upload], labels: Sequence[str]) -> str | None:
    """That there is nothing to compare, where all tables hold the same draws; else None."""
    if len({upload.digest for upload in uploads}) > 1:
        return None
    names = list_text(list(dict.fromkeys(labels)))
    return (
        f"A comparison needs tables with different draws; got the same in all of {names}. Bring "
        "another, or test the one by a diagnosis."
    )


def right_text(ranking: Ranking, labels: Sequence[str], pvalues: Sequence[float | None]) -> str:
    """Whether the nearest table is right, as far as its own tests tell; empty without tests.

    Args:
        ranking: of the tables.
        labels: their names.
        pvalues: from `rejections`.
    """
    first = (ranking.order[0], *ranking.tied)
    known = [(labels[i], p) for i in first if (p := pvalues[i]) is not None]
    wrong = [(label, p) for label, p in known if p <= LEVEL]
    if not known:
        return ""
    if not wrong:
        one, p = ("it", known[0][1]) if len(first) == 1 else ("them", min(p for _, p in known))
        return (
            f"Tests of {one} alone find no problem (p {equals(p)}, adjusted for all tests of all "
            f"tables). That does not show that {'it is' if len(first) == 1 else 'one is'} right."
        )
    listed = list_text([f"{label} (p {equals(p)})" for label, p in wrong])
    if len(first) == 1:
        return (
            f"It is not right all the same: tests of it alone reject it (p {equals(wrong[0][1])}, "
            "adjusted for all tests of all tables)."
        )
    return f"Not right all the same, by tests adjusted for all tests of all tables: {listed}."


def parameters(scores: Sequence[RowScores | None], reference: int = 0) -> Array:
    """Differences in CRPS from the reference, by parameter: estimate, low, high (T, D, 3).

    Intervals are 95% for all pairs of tables and parameters together; empty where a table has no
    scores.
    """
    crps = [score.crps for score in scores if score is not None]
    if len(crps) < len(scores) or not crps:
        return np.zeros((len(scores), 0, 3))
    off = np.stack(crps).astype(np.float64) - crps[reference]  # (T, N, D)
    off = off[:, np.isfinite(off).all((0, 2))]
    reach = _reach(off, _pairs(crps) * off.shape[2])
    mean = off.mean(1)
    return np.stack([mean, mean - reach, mean + reach], axis=-1)


def _ranks(records: Sequence[Record], name: str) -> Array | None:
    """Ranks (S, n) of a method that ran."""
    ran = {record.name: record for record in records if record.status == "ran"}
    return np.atleast_2d(ran[name].arrays["u"]) if name in ran else None


def _mean(
    rows: Sequence[Array],
    reference: int,
    name: str,
    title: str,
    about: str,
    *,
    higher: bool = False,
) -> Measure:
    stacked = np.stack(rows).astype(np.float64)  # (T, N)
    stacked = stacked[:, np.isfinite(stacked).all(0)]  # NaN where one is not known
    return Measure(
        name,
        title,
        about,
        _values(stacked.mean(1), _reach(stacked, 1)),
        _paired(stacked - stacked[reference]),
        higher,
    )


def _paired(off: Array) -> tuple[Interval, ...]:
    return _values(off.mean(1), _reach(off, _pairs(off)))


def _distance(
    ranks: Sequence[Array], reference: int, name: str, title: str, about: str
) -> Measure:
    u = np.stack(ranks)  # (T, S, n)
    worst = statistics.kolmogorov(u)
    at = worst.estimate.argmax(-1)[:, None]
    values = [np.take_along_axis(part, at, -1)[:, 0] for part in worst]
    estimate = values[0]
    again = _again(_Ranks(u, keys.digest(u=u)), name)
    off = again - again[:, [reference]]
    reach = _two_sided(_pairs(u), u.shape[-1]) * off.std(0, ddof=1)
    difference = estimate - estimate[reference]
    return Measure(
        name,
        title,
        about,
        tuple(Interval(*map(float, distance)) for distance in zip(*values, strict=True)),
        _values(difference, reach),
        from_uniform=True,
    )


class _Ranks(NamedTuple):
    """Ranks (T, S, n) that are told from others by their digest."""

    u: Array
    digest: str

    def __hash__(self) -> int:
        return hash(self.digest)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Ranks) and self.digest == other.digest


@lru_cache(maxsize=16)  # whichever table the others are compared with
@read_only
def _again(ranks: _Ranks, name: str) -> Array:
    """One bootstrap of rows for all tables: what a row does to two of them it does at once."""
    rng, n = stream(0, "posteriors", name), ranks.u.shape[-1]
    return np.stack([_sup(ranks.u[..., rng.integers(n, size=n)]) for _ in range(_BOOTSTRAPS)])


def _sup(u: Array) -> Array:
    """Largest distance of the ranks (T, S, n) from uniform, over the quantities: (T,)."""
    ranks = np.sort(u, axis=-1)
    n = u.shape[-1]
    steps = np.arange(n) / n
    apart = np.maximum((ranks - steps).max(-1), (steps + 1 / n - ranks).max(-1))
    return np.asarray(apart.max(-1))


def _values(estimate: Array, reach: Array) -> tuple[Interval, ...]:
    ends = zip(estimate, estimate - reach, estimate + reach, strict=True)
    return tuple(Interval(*map(float, interval)) for interval in ends)


def _reach(rows: Array, count: int) -> Array:
    """Half the length of a 95% interval of the means of rows (T, N, ...), for `count` together."""
    n = rows.shape[1]
    if n < _FEWEST:  # others are not finite
        return np.full(rows.mean(1).shape, np.inf)
    return np.asarray(_two_sided(count, n) * rows.std(1, ddof=1) / np.sqrt(n))


def _pairs(tables: Sequence[object] | Array) -> int:
    """Pairs of tables: a reader picks any as the reference, after having seen them."""
    return len(tables) * (len(tables) - 1) // 2


def _two_sided(count: int, rows: int) -> float:
    """Standard errors, estimated from so many rows, of an interval that holds for this many
    differences together: Student's t."""
    return float(stdtrit(rows - 1, 1 - 0.025 / max(1, count)))


_QUOTED = 3  # tables whose distance a sentence quotes


def headline(ranking: Ranking, labels: Sequence[str]) -> tuple[str, str]:
    """Which table is nearest, or that the data cannot tell; and by how much."""
    nearest = labels[ranking.order[0]]
    by = [f"{number(ranking.behind[i])} lower than that of {labels[i]}" for i in ranking.farther]
    rest = len(by) - _QUOTED
    quoted = list_text([*by[:_QUOTED], *[f"lower than those of {rest} more"] * (rest > 0)])
    sure = "(95% intervals, for all pairs together)"
    if not ranking.tied:
        return (
            f"Nearest to the true posterior: {nearest}.",
            f"Its energy score is {quoted} {sure}.",
        )
    tied = [nearest, *(labels[i] for i in ranking.tied)]
    apart = number(ranking.behind[ranking.tied[0]])
    behind = f"; that of {nearest} is {quoted}" if by else ""
    return (
        f"The data cannot tell which is nearest to the true posterior: {list_text(tied, 'or')}.",
        f"The energy scores of {tied[0]} and {tied[1]} are {apart} apart{behind} {sure}.",
    )


def describe(
    measures: Sequence[Measure], labels: Sequence[str], reference: int = 0
) -> tuple[str, ...]:
    """For each other table, whether it is nearer than the reference, by every measure."""
    others = (other for other in range(len(labels)) if other != reference)
    return tuple(_against_other(measures, labels, reference, other) for other in others)


def _against_other(
    measures: Sequence[Measure], labels: Sequence[str], reference: int, other: int
) -> str:
    closer = {m.name: m.closer(other) for m in measures}
    a, b = labels[reference], labels[other]
    better = [m for m in measures if closer[m.name] is True]
    worse = [m for m in measures if closer[m.name] is False]
    if not better and not worse:
        gap = f", by {_gap(measures[0], other)}" if measures else ""
        return f"{b} and {a} cannot be told apart by these {len(measures)} measures{gap}."
    if better and worse:
        return (
            f"{b} is nearer than {a} by {_against(better[0], reference, other)}, but farther by "
            f"{_against(worse[0], reference, other)}."
        )
    word, of = ("nearer", better) if better else ("farther", worse)
    rest = len(measures) - len(of)
    unsure = f" {rest} of {len(measures)} measures cannot tell." if rest else ""
    first = next((m for m in of if kind_of(m.name).localizes), of[0])  # it looks for the worst
    return f"{b} is {word} than {a}: {_against(first, reference, other)}.{unsure}"


def _against(m: Measure, reference: int, other: int) -> str:
    return f"{m.title} {number(m.values[other])} against {number(m.values[reference])}"


def _gap(m: Measure, other: int) -> str:
    return f"{m.title} {number(m.differences[other])} apart"


def number(value: Interval) -> str:
    """An estimate with its interval, to read: with as many digits as tell its ends from 0."""
    ends = [abs(end) for end in value if end]
    digits = next(
        (digits for digits in range(3, 6) if min(ends, default=1) >= 0.5 * 10**-digits), 6
    )
    return interval_text(value, f".{digits}f")
