"""How wrong is q: each parameter's sizes of error and those of the whole, with intervals.

Everything but the classifier's divergence reads all rows and learns nothing. CoLT's distance d~
is in its own record.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple

import numpy as np
from scipy.special import ndtri

from validation_core import codec, keys, scores, statistics
from validation_core.diagnosis import tasks
from validation_core.diagnosis.learning import held_out_table
from validation_core.diagnosis.plan import method_obstacle, upload_obstacle
from validation_core.diagnosis.questions.base import (
    LEVEL,
    Names,
    Question,
    Row,
    Rows,
    TableStudy,
    short_name,
)
from validation_core.drawing import style
from validation_core.drawing.drawn import Drawn
from validation_core.drawing.marks import (
    Anchor,
    Axis,
    Band,
    Grid,
    HBand,
    HLine,
    Line,
    Mark,
    Note,
    Panel,
    Points,
    VLine,
)
from validation_core.methods import SBC, SKL, skl
from validation_core.methods.base import Method
from validation_core.methods.record import distance_sentences
from validation_core.methods.skl import nats_in_words
from validation_core.relabelling.claims import Claims, parameter_name
from validation_core.rng import stream
from validation_core.scores import log_ratio
from validation_core.statistics import (
    classifier_divergence,
    contraction,
    divergence_mean,
    divergence_rows,
    effects,
    region_coverage,
)
from validation_core.statistics.effects import WIDEST
from validation_core.study import Report
from validation_core.tables import TableUpload, Upload
from validation_core.text import (
    SMALLEST,
    count_text,
    equals,
    first_text,
    interval_text,
    level_text,
    list_text,
    share_text,
    signed_text,
)
from validation_core.types import Array, Interval, PosteriorTable

if TYPE_CHECKING:
    from validation_core.diagnosis.verdict import Diagnosis
    from validation_core.store import Store


LEAST_ROWS = 5
SCORED = 100
"""Draws at each x whose logits the classifier's divergence reads: bounds its time."""


class CalibrationQuestion(Question["CalibrationErrors"]):
    """Which parameters are off and by how much, and q as a whole."""

    name = "size"
    title = "How wrong"
    reading_guide = (
        "Each number has a 95% interval. Coverage is how often a nominal interval of q really "
        "holds the true value. Bias is how far q sits too high, in q's own posterior sd. The "
        "ratio of widths is q's width by the width it needs: below 1 over-confident, above 1 "
        "under-confident. Contraction is 1 - posterior variance / prior variance. If q were "
        "correct, coverage would be nominal, bias 0 and the ratio 1, up to these intervals; p "
        "is corrected over parameters, and the worst parameter stands first."
    )

    def obstacle(self, upload: Upload) -> str | None:
        if not isinstance(upload, TableUpload):
            return (
                "Sizes of errors compare true values with q's draws at the same x; two "
                "samples p and q have no x. Upload theta, x and theta_q."
            )
        if upload.n < LEAST_ROWS:
            return (
                f"Sizes of errors need at least {LEAST_ROWS} simulations; got {upload.n}. Bring "
                "more."
            )
        return upload_obstacle(upload)

    def studies(
        self, upload: TableUpload, methods: Sequence[Method], seed: int
    ) -> tuple[TableStudy[CalibrationErrors], ...]:
        """What ranks and densities say; then a classifier's divergence.

        The classifier is the one that the first of these methods reads which has one; without
        such a method there is no estimate.
        """
        if self.obstacle(upload) is not None:
            return ()
        first = RowErrorStudy(digest=upload.digest, seed=seed, densities=_fingerprint(upload))
        for method in methods:
            if method.reads_classifier and not method_obstacle(method, upload):
                network = tasks.method_training(upload, method, seed)
                assert network is not None
                second = LearnedDivergenceStudy(
                    digest=upload.digest, seed=seed, trainings=(network,)
                )
                return first, second
        return (first,)

    def gather(self, results: Sequence[CalibrationErrors]) -> CalibrationErrors:
        """What is known so far; a classifier's divergence stands beside that of densities."""
        first, *others = results
        for other in others:
            assert isinstance(other.divergence, LearnedDivergence)
            if first.divergence is None:
                first = replace(first, divergence=other.divergence)
            else:
                first = replace(first, estimate=other.divergence)
        return first

    def describe(self, result: CalibrationErrors, names: Names, claims: Claims) -> tuple[str, ...]:
        """What is worst and by how much; then what else is off, and the whole of q."""
        parameters = result.parameters
        off = [one for one in parameters if claims.parameter(one.index) <= claims.alpha]
        sentences = []
        if off:
            sentences.append(_worst(off[0], names.theta, result.k))
            sentences += _others(off, parameters, names.theta, claims)
        elif parameters:
            sentences += _together(parameters, claims, names) + _bounded(parameters)
        sentences += (_wider(parameters, names.theta) if claims.found else []) or _blind(
            parameters, names.theta
        )
        if result.regions is not None:
            sentences.append(_mass(result.regions, claims))
        if result.divergence is not None:
            sentences += _nats(result.divergence)
        if result.estimate is not None:
            sentences += [
                f"For comparison, an estimate without densities. {sentence}"
                for sentence in _nats(result.estimate)
            ]
        return tuple(sentences)

    def rows(self, result: CalibrationErrors, names: Names, claims: Claims) -> Rows:
        """A row for each parameter, the worst first: every number and its interval."""
        return [
            _row(errors, parameter_name(names.theta, errors.index), claims)
            for errors in result.parameters
        ]

    def figures(
        self, result: CalibrationErrors, names: Names, claims: Claims
    ) -> tuple[Drawn, ...]:
        """At most the six worst parameters, then the whole."""
        del claims
        worst = result.parameters[:SHOWN]
        pictures: list[Drawn] = []
        if worst:
            labels = [
                short_name(parameter_name(names.theta, errors.index), _LONG, ends=True)
                for errors in worst
            ]
            hidden = len(result.parameters) - len(worst)
            pictures = [_coverage(worst, labels, hidden), _misfit(worst, labels)]
            pictures += _contraction(worst, labels)
        if result.regions is not None:
            pictures.append(_regions(result.regions.curve))
        if result.divergence is not None:
            pictures += _whole(result.divergence, result.estimate)
        return tuple(pictures)

    def finds(self, result: CalibrationErrors, claims: Claims) -> bool:
        return any(claims.parameter(errors.index) <= claims.alpha for errors in result.parameters)

    def beside(self, diagnosis: Diagnosis) -> tuple[str, ...]:
        return tuple(distance_sentences(diagnosis.records))


def _fingerprint(upload: Upload) -> str:
    densities = {name: np.asarray(log) for name, log in upload.densities.items()}
    return keys.digest(**densities) if densities else ""


SHAPE_LEVEL = 0.01
"""p-value up to which skew or tails of a parameter that is off are named."""

_BLOCK = 500  # parameters worked out at a time: bounds what thousands of them take
_BARS = 40


@dataclass(frozen=True)
class _CoverageRate:
    """How often a central interval of q holds the truth."""

    level: float
    """Nominal mass of the interval."""
    excess: float
    """Distance of the level from the exact interval of the true rate; negative inside it."""
    covers: Interval


@dataclass(frozen=True)
class _ShapeErrors:
    """Skew and tails of the true values against q's draws, beyond bias and width.

    NaN where they cannot be told.
    """

    skew: float = math.nan
    """Above 0 true values reach farther up than q's draws, below 0 farther down."""
    skew_pvalue: float = math.nan
    tails: float = math.nan
    """1 where q's tails look too light, -1 where too heavy."""
    tails_pvalue: float = math.nan


@dataclass(frozen=True)
class ParameterErrors:
    """How wrong q is in one parameter; intervals and means are NaN where they cannot be told."""

    pvalue: float
    severity: float
    """The largest `excess` over the intervals and the half below q's median."""
    coverage: tuple[_CoverageRate, ...]
    below_median: Interval
    """Share of truths below q's median."""
    bias: Interval
    """In q's own posterior sd; positive where q sits too high. Where it is open, the estimate is
    that of q's mean and sd."""
    ratio: Interval
    """q's width by the width it needs; below 1 it is over-confident."""
    by: Literal["moments", "ranks"]
    """What bias and width are told by."""
    open: bool
    """Whether so many truths lie beyond all draws that the bias is a bound: its other end is NaN,
    and nothing is told of a width that ranks do not bound."""
    outside: float
    outside_expected: float
    z_mean: float
    z_sd: float
    z_rows: int
    index: int
    pvalue_adjusted: float = 1.0
    """By Holm over the parameters."""
    constant: bool = False
    contraction: Interval = Interval(math.nan, math.nan, math.nan)  # noqa: RUF009
    """1 - posterior variance / prior variance."""
    shape: _ShapeErrors = _ShapeErrors()

    @property
    def biased(self) -> bool:
        """Whether the bias's own interval excludes 0."""
        return self.bias.low > 0 or self.bias.high < 0

    @property
    def skewed(self) -> bool:
        """Whether the skew is told from that of a right q."""
        return self.shape.skew_pvalue <= SHAPE_LEVEL and not self.open

    @property
    def misfit(self) -> Literal["narrow", "wide", ""]:
        """How q's width is wrong, as far as its own interval says.

        A q that is too wide in its middle and too light in its tails is neither too wide nor too
        narrow: of the two that which is clearer is told, here or by `tails`.
        """
        word = self._width
        return "" if self._mixed and self._tails_clearer else word

    @property
    def tails(self) -> Literal["light", "heavy", ""]:
        """How q's tails are wrong beyond its width, where they are told."""
        return "" if self._mixed and not self._tails_clearer else self._tails

    @property
    def _width(self) -> Literal["narrow", "wide", ""]:
        return "narrow" if self.ratio.high < 1 else "wide" if self.ratio.low > 1 else ""

    @property
    def _tails(self) -> Literal["light", "heavy", ""]:
        if self.open or not self.shape.tails_pvalue <= SHAPE_LEVEL:
            return ""
        return "light" if self.shape.tails > 0 else "heavy"

    @property
    def _mixed(self) -> bool:
        return (self._width, self._tails) in (("wide", "light"), ("narrow", "heavy"))

    @property
    def _tails_clearer(self) -> bool:
        ratio = self.ratio
        reach = math.log(ratio.high / max(ratio.low, 1e-9)) / 2  # 1.96 standard errors
        width = 1.96 * abs(math.log(ratio.estimate)) / max(reach, 1e-9)
        return float(-ndtri(max(self.shape.tails_pvalue, 1e-300) / 2)) > width


@dataclass(frozen=True)
class _RegionRate:
    """How often a highest-density region of q holds the truth."""

    level: float
    covers: Interval


@dataclass(frozen=True, eq=False)
class _DensityRegions:
    """Expected coverage of q's highest-density regions."""

    coverage: tuple[_RegionRate, ...]
    area: Interval
    """Between coverage and level."""
    pvalue: float
    rows: int
    nan_rows: int
    """Rows without a log q, which are left out."""
    curve: Array
    """Levels, coverage and the ends of its 95% band (4, L)."""


class _Histogram(NamedTuple):
    """A histogram: edges (B + 1,), counts (B,)."""

    edges: Array
    counts: Array


@dataclass(frozen=True)
class _WeightedDivergence:
    """The divergence left when m draws of q are weighed by p / q, in nats."""

    m: int
    estimate: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class _DensityDivergence:
    """The symmetric divergence by log densities, in nats: the numbers of the record of `SKL`."""

    estimate: float
    low: float
    high: float
    boot_low: float
    boot_high: float
    median: float
    largest: float
    auc: float
    auc_low: float
    auc_high: float
    k: int
    draws: int
    infinite: int
    heavy: bool
    tail: float | None
    rows: int
    sd: float
    positive: float
    pvalue: float
    relabelings: int
    weighted: tuple[_WeightedDivergence, ...]
    source: Literal["densities"]
    beyond: int
    """Extreme terms that stand in the bars at the ends."""
    bars: _Histogram
    """Of its terms."""
    null: _Histogram
    """Of the means of relabelled tables."""


@dataclass(frozen=True, eq=False)
class LearnedDivergence:
    """The symmetric divergence as far as a classifier sees it, in nats."""

    estimate: float
    low: float
    high: float
    boot_low: float
    boot_high: float
    sd: float
    median: float
    largest: float
    positive: float
    tail: float | None
    infinite: int
    heavy: bool
    rows: int
    source: Literal["classifier"]
    slope: float
    """What logits were multiplied by, so that they are log ratios."""
    auc: float
    draws: int
    beyond: int
    """Extreme terms that stand in the bars at the ends."""
    bars: _Histogram
    """Of its terms."""


_IF_KNOWN = codec.shown(optional=True)


@dataclass(frozen=True, eq=False)
class CalibrationErrors:
    """How wrong q is, as far as it has been worked out; JSON has no more."""

    n: int = field(metadata=_IF_KNOWN, default=0)
    k: int = field(metadata=_IF_KNOWN, default=0)
    parameters: tuple[ParameterErrors, ...] = field(metadata=_IF_KNOWN, default=())
    """The worst first."""
    regions: _DensityRegions | None = field(metadata=_IF_KNOWN, default=None)
    divergence: _DensityDivergence | LearnedDivergence | None = field(
        metadata=_IF_KNOWN, default=None
    )
    """By densities where they are there, else as far as the classifier sees."""
    estimate: LearnedDivergence | None = field(metadata=_IF_KNOWN, default=None)
    """The classifier's, beside that of the densities."""


@dataclass(frozen=True, kw_only=True)
class RowErrorStudy(TableStudy[CalibrationErrors], spec="size"):
    """What ranks, moments and densities say; nothing is learnt."""

    about: ClassVar[str] = "Sizes of errors"
    version: ClassVar[int] = 4

    densities: str = ""
    """Fingerprint of the log densities, which the table's own does not cover."""

    def answer(self, upload: TableUpload, store: Store, report: Report) -> CalibrationErrors:
        del store
        data = upload.data
        parameters = marginal_errors(data, self.seed)
        report(0.8, {})
        return CalibrationErrors(
            n=upload.n,
            k=upload.k,
            parameters=parameters,
            regions=_density_regions(upload.densities, self.seed),
            divergence=_by_densities(upload, self.seed),
        )


@dataclass(frozen=True, kw_only=True)
class LearnedDivergenceStudy(TableStudy[CalibrationErrors], spec="size_learned"):
    """The symmetric divergence as far as a classifier sees it, on rows it did not learn from."""

    about: ClassVar[str] = "Divergence by a classifier"

    def answer(self, upload: TableUpload, store: Store, report: Report) -> CalibrationErrors:
        (network,) = self.networks(store, report)
        few = held_out_table(upload, self.seed, SCORED)
        logits = scores.apply(network.at(), few)
        calibrated = classifier_divergence.from_logits(
            logits.truth[0], logits.draws[0], stream(self.seed, "size", "halves")
        )
        estimate = _by_classifier(
            calibrated.d,
            self.seed,
            slope=calibrated.slope,
            auc=float(network.auc),
            draws=few.q.shape[1],
        )
        return CalibrationErrors(divergence=estimate)


def marginal_errors(table: PosteriorTable, seed: int) -> tuple[ParameterErrors, ...]:
    """Errors of each parameter, the worst first.

    Worst is what is off after Holm's correction, then by `severity`: the largest distance of a
    nominal rate from the exact interval of the true one, over the three central intervals and
    the half below q's median, on which a bias shows. It is negative where all lie inside.
    """
    below, equal = statistics.count(table.theta.T, table.q.transpose(2, 0, 1))  # (D, N)
    k = table.q.shape[1]
    # The tie-breakers of SBC's own record, so that both tell of the same ranks.
    rng = stream(seed, "diagnose", SBC().label)
    u = statistics.randomised_ranks(below, equal, k, rng)
    outside = ((below == 0) & (equal == 0) | (below == k)).mean(-1)
    moments = contraction.moments(table.q)
    z = contraction.zscores(moments, table.theta).T
    contracted = contraction.contraction(moments, table.theta)
    errors: list[ParameterErrors] = []
    for start in range(0, len(u), _BLOCK):
        part = slice(start, start + _BLOCK)
        errors += _block(u[part], z[part], outside[part], k, start)
    adjusted = statistics.holm([parameter.pvalue for parameter in errors])
    complete = [
        replace(
            parameter,
            pvalue_adjusted=max(float(adjusted[i]), SMALLEST),
            constant=bool(np.ptp(table.theta[:, i]) == 0),
            contraction=Interval.of(*(end[i] for end in contracted)),
        )
        for i, parameter in enumerate(errors)
    ]
    return tuple(
        sorted(complete, key=lambda errors: (errors.pvalue_adjusted > LEVEL, -errors.severity))
    )


def _block(u: Array, z: Array, outside: Array, k: int, first: int) -> list[ParameterErrors]:
    """Errors of some parameters from ranks and z-scores (P, N)."""
    cover, half = effects.covered(u), effects.lower_half(u)
    pvalue = effects.off_pvalue(u)
    over = np.column_stack([effects.excess(cover, effects.LEVELS), effects.excess(half, 0.5)])
    sizes, shape = effects.sizes(u, z, k), effects.shape(u, k)
    z_rows = (~np.isnan(z)).sum(-1)
    mean, sd = _mean_sd(z)
    errors = []
    for i in range(len(u)):
        errors.append(
            ParameterErrors(
                pvalue=max(float(pvalue[i]), SMALLEST),
                severity=float(over[i].max()),
                coverage=tuple(
                    _CoverageRate(
                        level, float(over[i, j]), Interval.of(*(end[i, j] for end in cover))
                    )
                    for j, level in enumerate(effects.LEVELS)
                ),
                below_median=Interval.of(*(end[i] for end in half)),
                bias=Interval.of(*(end[i] for end in sizes.bias)),
                ratio=Interval.of(*(end[i] for end in sizes.ratio)),
                by="moments" if sizes.by_moments[i] else "ranks",
                open=bool(sizes.open[i]),
                outside=float(outside[i]),
                outside_expected=2 / (k + 1),
                z_mean=_finite(mean[i]),
                z_sd=_finite(sd[i]),
                z_rows=int(z_rows[i]),
                index=first + i,
                shape=_ShapeErrors(*(_finite(one[i]) for one in shape)),
            )
        )
    return errors


def _finite(value: float) -> float:
    return float(value) if np.isfinite(value) else math.nan


def _mean_sd(z: Array) -> tuple[Array, Array]:
    """Over the rows that have a z-score; NaN where fewer than two have."""
    there = ~np.isnan(z)
    n = there.sum(-1)
    count = np.maximum(n, 2)
    with np.errstate(over="ignore", invalid="ignore"):
        mean = np.where(there, z, 0.0).sum(-1) / count
        sd = np.sqrt(np.where(there, (z - mean[:, None]) ** 2, 0.0).sum(-1) / (count - 1))
    return np.where(n >= 2, mean, np.nan), np.where(n >= 2, sd, np.nan)


def _density_regions(densities: Mapping[str, Array], seed: int) -> _DensityRegions | None:
    """Expected coverage of q's highest-density regions, where log q is at hand."""
    if not {"log_q", "log_q_draws"} <= densities.keys():
        return None
    log_q, draws = (np.asarray(densities[name]) for name in ("log_q", "log_q_draws"))
    mask = ~(np.isnan(log_q) | np.isnan(draws).any(-1))
    if mask.sum() < 2:
        return None
    log_q, draws = (log_q, draws) if mask.all() else (log_q[mask], draws[mask])
    expected = region_coverage.regions(log_q, draws, stream(seed, "size", "regions"))
    rates = zip(effects.LEVELS, *expected.rates, strict=True)
    return _DensityRegions(
        coverage=tuple(_RegionRate(level, Interval.of(*ends)) for level, *ends in rates),
        area=Interval.of(*map(float, expected.area)),
        pvalue=max(expected.pvalue, SMALLEST),
        rows=int(mask.sum()),
        nan_rows=int((~mask).sum()),
        curve=np.stack(region_coverage.curve(expected.needed)),
    )


def _by_densities(upload: Upload, seed: int) -> _DensityDivergence | None:
    """The symmetric divergence, where log p(theta, x) and log q(theta | x) are at hand.

    Where they are, the numbers are those of the record of `methods.SKL`, p-value included; then
    what is left of it when M draws of q are weighed by p / q.
    """
    log_ratios = log_ratio.of_densities(upload.densities)
    if log_ratios is None or log_ratio.obstacle(upload) is not None:
        return None
    method = SKL()
    outcome = method.test(log_ratios, stream(seed, "diagnose", method.label))
    truth, draws = log_ratios.truth[0], log_ratios.draws[0]
    finite = log_ratio.finite(log_ratios)
    with np.errstate(invalid="ignore"):
        d = truth - draws.mean(-1)
    bars, beyond = _bars(d[finite])
    single = {name: array for name, array in outcome.arrays.items() if array.ndim == 0}
    number = {
        name: np.asarray(value).item() for name, value in {**single, **outcome.effect}.items()
    }
    return _DensityDivergence(
        estimate=float(number["skl"]),
        low=float(number["ci_low"]),
        high=float(number["ci_high"]),
        boot_low=float(number["boot_low"]),
        boot_high=float(number["boot_high"]),
        median=float(number["median"]),
        largest=float(number["largest"]),
        auc=float(number["auc"]),
        auc_low=float(number["auc_low"]),
        auc_high=float(number["auc_high"]),
        k=int(number["k"]),
        draws=int(number["draws"]),
        infinite=int(number["infinite"]),
        heavy=bool(number["heavy"]),
        tail=number.get("tail"),
        rows=int(d.size),
        sd=float(d[finite].std(ddof=1)),
        positive=float((d[finite] > 0).mean()),
        pvalue=float(outcome.pvalue),
        relabelings=method.relabelings,
        weighted=_weighted(truth[finite], draws[finite]),
        source="densities",
        beyond=beyond,
        bars=bars,
        null=_null(np.append(outcome.arrays["null"], outcome.statistic)),
    )


def _weighted(truth: Array, draws: Array) -> tuple[_WeightedDivergence, ...]:
    """The divergence left with M > 1 draws of q weighed, for the M that the draws allow."""
    from validation_core.symmetric_divergence import MS

    most = (draws.shape[-1] + 1) // 2
    return tuple(
        _WeightedDivergence(
            m, *map(float, divergence_mean.means(divergence_rows.weighted(truth, draws, m)))
        )
        for m in MS
        if 1 < m <= most
    )


def _by_classifier(
    d: Array, seed: int, *, slope: float, auc: float, draws: int
) -> LearnedDivergence:
    """The divergence from its terms d (n,), calibrated logits of a classifier with that AUC."""
    divergence = divergence_mean.divergence(d, stream(seed, "size", "divergence"))
    bars, beyond = _bars(d[np.isfinite(d)])
    numbers = {
        **divergence._asdict(),
        "low": float(divergence.low),
        "high": float(divergence.high),
    }
    return LearnedDivergence(
        **{**numbers, "tail": divergence.tail if np.isfinite(divergence.tail) else None},
        heavy=divergence.heavy,
        rows=int(d.size),
        source="classifier",
        slope=slope,
        auc=auc,
        draws=draws,
        beyond=beyond,
        bars=bars,
    )


def _null(values: Array) -> _Histogram:
    """Relabelled means, with room for the observed one, the last."""
    low, high = float(values.min()), float(values.max())
    pad = 0.03 * (high - low) or 0.5
    counts, edges = np.histogram(values[:-1], _BARS, (low - pad, high + pad))
    return _Histogram(edges, counts.astype(np.float64))


def _bars(d: Array) -> tuple[_Histogram, int]:
    """A histogram of terms, and how many extreme ones stand in the bars at the ends."""
    low, high = np.quantile(d, [0.005, 0.995])
    if not high > low:
        low, high = float(d.min()) - 0.5, float(d.max()) + 0.5
    edges = np.linspace(low, high, _BARS + 1)
    counts, _ = np.histogram(np.clip(d, low, high), edges)
    return _Histogram(edges, counts.astype(np.float64)), int(((d < low) | (d > high)).sum())


_NAMED = 5
_LEARNT = 0.15  # of the prior's variance: a q that takes away less is as good as the prior


def _row(errors: ParameterErrors, name: str, claims: Claims) -> Row:
    row: Row = {"parameter": name}
    for rate in errors.coverage:
        row |= _cell(f"covered by {100 * rate.level:g}% intervals, %", rate.covers, 1, 100)
    row |= _cell("below q's median, %", errors.below_median, 1, 100)
    row |= _cell("bias, posterior sd (+ is too high)", _ended(errors), 3)
    row |= _cell("width / needed width", errors.ratio, 3)
    row |= {"bias and width by": "q's mean and sd" if errors.by == "moments" else "ranks"}
    row |= _cell("contraction", errors.contraction, 3)
    return row | {
        "mean z-score": _rounded(errors.z_mean, 3),
        "sd of z-scores": _rounded(errors.z_sd, 3),
        "outside all draws, %": round(100 * errors.outside, 1),
        "p": float(f"{errors.pvalue:.3g}"),
        "p, corrected": float(f"{claims.parameter(errors.index):.3g}"),
    }


def _ended(errors: ParameterErrors) -> Interval:
    """A bias with infinite ends for open ones."""
    bias = errors.bias
    if not (errors.open and bias.known):
        return bias
    return Interval(
        bias.estimate,
        -math.inf if math.isnan(bias.low) else bias.low,
        math.inf if math.isnan(bias.high) else bias.high,
    )


def _cell(column: str, rate: Interval, digits: int, scale: float = 1) -> Row:
    if not rate.known:
        return {column: "", f"{column}, 95% interval": ""}
    low, high = (_end(scale * end, digits) for end in (rate.low, rate.high))
    return {
        column: round(scale * rate.estimate, digits),
        f"{column}, 95% interval": f"{low} to {high}",
    }


def _end(value: float, digits: int) -> str:
    if math.isnan(value):
        return "?"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    return signed_text(value, f".{digits}f")


def _rounded(value: float, digits: int) -> float | str:
    return "" if math.isnan(value) else round(value, digits)


def _worst(errors: ParameterErrors, names: Sequence[str], k: int) -> str:
    name = parameter_name(names, errors.index)
    clauses = errors_in_words(errors) or ["no bias, width, skew or tails by themselves say how"]
    sentence = f"{name} is the worst: {_covers(errors)}; {list_text(clauses)}."
    if errors.open:
        return f"{sentence} {_outside(errors, k)}: ranks do not tell how far."
    if errors.by == "moments":
        return (
            f"{sentence} {_outside(errors, k)}, so that its bias and width are measured by q's "
            "mean and sd."
        )
    return sentence


def _outside(errors: ParameterErrors, k: int) -> str:
    return f"{share_text(errors.outside)} of the true values lie outside all {k} draws of q"


def errors_in_words(errors: ParameterErrors) -> list[str]:
    """How a parameter is off: bias, width, skew, tails, each only where its own null is rejected.

    They do not contradict each other: beside tails that are too light q is not called too wide.
    """
    clauses = [_bias(errors)] if errors.biased else []
    if errors.misfit:
        clauses.append(_width(errors))
    return [*clauses, *shape_in_words(errors)]


def shape_in_words(errors: ParameterErrors) -> list[str]:
    """Skew and tails, where they are told from those of a right q."""
    shape, clauses = errors.shape, []
    if errors.skewed:
        way = "up" if shape.skew > 0 else "down"
        clauses.append(
            f"q's skew is wrong: true values reach farther {way} than its draws "
            f"(p {equals(shape.skew_pvalue)})"
        )
    if errors.tails:
        clauses.append(f"q's tails are too {errors.tails} (p {equals(shape.tails_pvalue)})")
    return clauses


def _covers(errors: ParameterErrors) -> str:
    """The nominal rate that is farthest off; that of the 80% interval where none is."""
    rate, half = max(errors.coverage, key=lambda rate: rate.excess), errors.below_median
    if max(half.low - 0.5, 0.5 - half.high) > max(rate.excess, 0):
        return f"{interval_text(half, '.1%')} of true values lie below its median, not half"
    if rate.excess <= 0:
        rate = _middle(errors)
    held = interval_text(rate.covers, ".1%")
    return f"{100 * rate.level:g}% intervals hold {held} of true values"


def _middle(errors: ParameterErrors) -> _CoverageRate:
    """The rate of the 80% interval."""
    return next(rate for rate in errors.coverage if rate.level == 0.8)


def _bias(errors: ParameterErrors) -> str:
    bias, low, high = errors.bias
    side = "high" if bias >= 0 else "low"
    if errors.open:
        return f"q sits {at_least(errors.bias)} too {side}"
    size = errors.bias if bias >= 0 else Interval(-bias, -high, -low)
    return f"q sits {interval_text(size)} posterior sd too {side}"


def at_least(bias: Interval) -> str:
    """A bias whose other end is open: `at least 1.9 posterior sd (3.0 by q's mean and sd)`."""
    bound = abs(bias.low if math.isnan(bias.high) else bias.high)
    told = abs(bias.estimate)
    more = "" if told <= bound else f" ({told:.1f} by q's mean and sd)"
    return f"at least {math.floor(10 * bound) / 10:.1f} posterior sd{more}"


def _width(errors: ParameterErrors) -> str:
    ratio, low, high = errors.ratio
    side = "over-confident" if errors.misfit == "narrow" else "under-confident"
    if ratio >= 0.99 * WIDEST:
        return f"q is {WIDEST:g} times or more as wide as it should be ({side})"
    if errors.by == "ranks" and (low == 0 or ratio <= 1.01 / WIDEST):
        least = max(high if low == 0 else 0.0, 1 / WIDEST)
        return f"q is at most {least:.2g} times as wide as it should be ({side})"
    shape = ".2g" if ratio < 0.1 else ".2f"
    top = format(high, shape) if high < 0.99 * WIDEST else "∞"
    return f"q is {ratio:{shape}} [{low:{shape}}, {top}] times as wide as it should be ({side})"


def _others(
    off: Sequence[ParameterErrors],
    parameters: Sequence[ParameterErrors],
    names: Sequence[str],
    claims: Claims,
) -> list[str]:
    if len(parameters) == 1:
        return []
    verb, listed = "is" if len(off) == 1 else "are", _listed(off, names)
    return [
        f"{len(off)} of {len(parameters)} parameters {verb} off at level "
        f"{level_text(claims.alpha)}, corrected for everything that was looked at: {listed}."
    ]


def _listed(parameters: Sequence[ParameterErrors], names: Sequence[str]) -> str:
    return first_text([parameter_name(names, errors.index) for errors in parameters], _NAMED)


def _together(parameters: Sequence[ParameterErrors], claims: Claims, names: Names) -> list[str]:
    """How q is wrong where no parameter by itself is; nothing where nothing is claimed."""
    if not claims.found:
        return []
    pair = claims.clearest_of("pairs")
    if pair is not None and len(pair.which) == 2:
        first, second = (parameter_name(names.theta, which) for which in pair.which)
        return [f"Each parameter alone looks right; {first} and {second} together do not."]
    which = "Each parameter alone" if len(parameters) > 1 else parameter_name(names.theta, 0)
    clearest = claims.clearest(names.theta, names.x)
    return [f"{which} looks right over all x. Clearest error: {clearest}."]


def _bounded(parameters: Sequence[ParameterErrors]) -> list[str]:
    """What errors are left open where none was found."""
    middle = [_middle(errors).covers for errors in parameters]
    low, high = 100 * min(rate.low for rate in middle), 100 * max(rate.high for rate in middle)
    bias = widest_bias(parameters)
    widths = [errors.ratio for errors in parameters if errors.ratio.known]
    which = (
        "No error is found in the parameter: 80% intervals hold"
        if len(parameters) == 1
        else "No error is found in any parameter: 80% intervals hold"
    )
    open_ = (
        f"a bias up to {bias:.2f} posterior sd" if bias < 0.99 * WIDEST else "a bias of any size"
    )
    if widths:
        narrow = min(ratio.low for ratio in widths)
        wide = max(ratio.high for ratio in widths)
        least = f"{narrow:.2f}" if narrow > 1.01 / WIDEST else "0"
        most = f"{wide:.2f}" if wide < 0.99 * WIDEST else "∞"
        open_ += f" and widths from {least} to {most} times what they should be"
    return [
        f"{which} between {low:.1f}% and {high:.1f}% of the true values; the data still allow "
        f"{open_} (95% intervals)."
    ]


def widest_bias(parameters: Sequence[ParameterErrors]) -> float:
    """The largest bias that any parameter's interval holds; infinite where an end is open."""
    ends = np.array([(-errors.bias.low, errors.bias.high) for errors in parameters])
    return float(np.where(np.isnan(ends), np.inf, ends).max())


def _wider(parameters: Sequence[ParameterErrors], names: Sequence[str]) -> list[str]:
    wider = [errors for errors in parameters if errors.contraction.high < 0]
    if not wider:
        return []
    widest = min(wider, key=lambda errors: errors.contraction.high)
    others = len(wider) - 1
    more = f", and for {count_text(others, 'more parameter')}" if others else ""
    return [
        f"q is wider than the prior for {parameter_name(names, widest.index)} (contraction "
        f"{interval_text(widest.contraction, '+.2f')}){more}."
    ]


def _blind(parameters: Sequence[ParameterErrors], names: Sequence[str]) -> list[str]:
    """Parameters of which q seems to have learnt nothing: calibrated or not, it is the prior."""
    unlearnt = [errors for errors in parameters if (errors.contraction.high or 1) < _LEARNT]
    if not unlearnt:
        return []
    listed = _listed(unlearnt, names)
    most = max(errors.contraction.high for errors in unlearnt)
    return [
        f"q is hardly narrower than the prior for {listed} (contraction below {most:.2f}, "
        f"by 95% intervals): x says little of {'it' if len(unlearnt) == 1 else 'them'}, or q "
        "ignores it."
    ]


def _mass(mass: _DensityRegions, claims: Claims) -> str:
    p = (
        f"p {equals(claims.densities())} for the true values' ranks by log densities, adjusted in "
        "the verdict's family"
    )
    rates = ", ".join(
        f"{100 * rate.level:g}%: {interval_text(rate.covers, '.1%')}" for rate in mass.coverage
    )
    left = f" {mass.nan_rows} rows without a log q are left out." if mass.nan_rows else ""
    return (
        f"Highest-density regions of q hold the true value in (nominal: observed) {rates}; "
        f"area between coverage and level {interval_text(mass.area, '+.3f')}, {p}.{left}"
    )


def _nats(nats: _DensityDivergence | LearnedDivergence) -> list[str]:
    if isinstance(nats, LearnedDivergence):
        return [_learned(nats)]
    fields = codec.to_json(nats)
    ends = {"skl": nats.estimate, "ci_low": nats.low, "ci_high": nats.high}
    sentences = [*nats_in_words({**fields, **ends})]
    sentences.append(
        f"Test of no divergence: p {equals(nats.pvalue)}, by {nats.relabelings:,} relabelings "
        "within x."
    )
    if nats.weighted:
        left = ", ".join(
            f"M = {weighting.m}: "
            f"{interval_text((weighting.estimate, weighting.low, weighting.high), '.3f')}"
            for weighting in nats.weighted
        )
        sentences.append(
            f"Importance sampling would leave at most, in nats, with M draws of q weighed by "
            f"p / q: {left}."
        )
    return sentences


def _learned(nats: LearnedDivergence) -> str:
    interval = f"{interval_text((nats.estimate, nats.boot_low, nats.boot_high), '.3f')} nats"
    if nats.slope <= 0:
        return (
            "Symmetric divergence: the shared classifier sees none. On held-out rows its "
            f"score is no higher at true values than at q's draws ({interval} after its sign "
            "was reversed)."
        )
    return (
        f"Symmetric divergence, as far as the shared classifier sees: {interval}, a lower "
        f"estimate on {nats.rows} held-out rows: it misses what the classifier misses. Its "
        f"logits were multiplied by {nats.slope:.2f}, learnt on other rows, to make them log "
        "ratios."
    )


SHOWN = 6
"""Parameters that are drawn; the table has them all."""

_ROW = 40  # pixels high
# letters of a name that fit beside a row on a narrow screen; sigma_1, sigma_2 end apart
_LONG = 14
_MARKS = ("diamond", "circle", "square")


def _coverage(worst: Sequence[ParameterErrors], labels: Sequence[str], hidden: int) -> Drawn:
    rates = [errors.coverage for errors in worst]
    levels = [rate.level for rate in rates[0]]
    lowest = min(rate.covers.low for each in rates for rate in each)
    places = np.arange(float(len(worst)))
    marks: list[Mark] = [
        VLine(level, dash="dash", width=1, label=f"{100 * level:g}%") for level in levels
    ]
    for j, level in enumerate(levels):
        # Levels stand a little above one another, so that whiskers do not hide each other.
        at = places + 0.2 * (j - 1)
        ends = np.array([each[j].covers for each in rates])
        hover = f"nominal {100 * level:g}%: true %{{x:.1%}}"
        marks.append(_whiskers(ends, at, hover=hover, symbol=_MARKS[j % len(_MARKS)]))
    axis = Axis((min(0.4, lowest - 0.04), 1.01), "share of true values covered", percent=True)
    more = f" {hidden} more parameters are in the table." if hidden else ""
    return Drawn(
        "True coverage of nominal intervals",
        _rows(marks, axis, labels),
        "Diamond, circle and square: how often q's central 50, 80 and 95% intervals hold the "
        "true value, with 95% intervals. If q were correct, each mark's whisker would meet "
        f"its own dashed line in about 95 of 100 cases; left of it q is over-confident.{more}",
    )


def _misfit(worst: Sequence[ParameterErrors], labels: Sequence[str]) -> Drawn:
    places = np.arange(float(len(worst)))
    biases = np.array([_ended(errors) for errors in worst])
    told = np.abs(biases[np.isfinite(biases)])
    reach = max(0.2, 1.1 * float(told.max(initial=0)))
    biases = np.clip(biases, -reach, reach)  # an open end is the axis's
    ratios = np.array([errors.ratio for errors in worst])
    finite = ratios[np.isfinite(ratios) & (ratios > 0)]
    wide = max(1.5, 1.1 * float(np.exp(np.abs(np.log(finite)).max(initial=0))))
    ratios = np.clip(ratios, 1 / wide, wide)
    right = _whiskers(ratios, places, hover="width / needed width: %{x:.2f}")
    left = _whiskers(biases, places, hover="bias: %{x:+.2f} posterior sd")
    ticks = [tick for tick in (0.05, 0.1, 0.25, 0.5, 1, 2, 4, 10, 20) if 1 / wide <= tick <= wide]
    if len(ticks) < 3:
        ticks = [0.7, 1, 1.4]
    panels = [
        _rows([VLine(at, dash="dash", width=1), marks], axis, labels)
        for at, marks, axis in (
            (0, left, Axis((-reach, reach), "bias, posterior sd")),
            (1, right, Axis((1 / wide, wide), "width / needed", log=True, ticks=ticks)),
        )
    ]
    return Drawn(
        "Bias and width",
        Grid(panels, columns=2),
        "Left: how far q sits too high (right of the dashed line) or too low, in its own "
        "posterior sd. Right: q's width by the width it needs, below 1 over-confident, above 1 "
        "under-confident. If q were correct, about 95 of 100 whiskers would cross the dashed "
        "lines.",
    )


def _contraction(worst: Sequence[ParameterErrors], labels: Sequence[str]) -> list[Drawn]:
    contracted = [
        (errors, name)
        for errors, name in zip(worst, labels, strict=True)
        if np.isfinite([errors.contraction.estimate, errors.z_mean, errors.z_sd]).all()
    ]
    if not contracted:
        return []
    x = np.array([errors.contraction.estimate for errors, _ in contracted])
    mean = np.array([errors.z_mean for errors, _ in contracted])
    sd = np.array([errors.z_sd for errors, _ in contracted])
    reach = max(2.0, 1.25 * float((np.abs(mean) + sd).max()))
    low = min(-0.05, float(x.min()) - 0.1)
    points = Points(
        x,
        mean,
        low=mean - sd,
        high=mean + sd,
        color=style.Q,
        size=9,
        texts=[name for _, name in contracted],
        hover="%{text}: contraction %{x:.2f}, mean z %{y:+.2f}",
    )
    # Names stand over their dots; where they would lie on one another, over the first of them.
    notes: list[Mark] = []
    order = np.argsort(x)
    starts = np.flatnonzero(np.diff(x[order], prepend=-np.inf) > 0.2 * (1.05 - low))
    for near in np.split(order, starts[1:]):
        place, names = float(x[near[0]]), [contracted[i][1] for i in near]
        edge: Anchor = "end" if place > 0.8 else "start" if place < low + 0.2 else "middle"
        words = first_text(names, 2)
        notes.append(Note(place, float((mean + sd)[near].max()), words, anchor=edge, rise=11))
    panel = Panel(
        [
            HBand(-1, 1, opacity=0.15),
            HLine(0, dash="dash"),
            VLine(0, dash="dot"),
            VLine(1, dash="dot"),
            points,
            *notes,
        ],
        x=Axis((low, 1.05), "contraction: 1 − posterior variance / prior variance"),
        y=Axis((-reach, reach), "z-score: mean ± sd"),
        height=style.HEIGHT,
    )
    return [
        Drawn(
            "Contraction and z-score",
            panel,
            "Dot and whisker: mean and sd over simulations of (q's mean − true value) / q's "
            "sd. If q were correct and near normal, dots would lie on the dashed line and "
            "whiskers fill the grey band. Left of contraction 0, q is wider than the prior; "
            "at 1 it is a point.",
        )
    ]


def _regions(curve: Array) -> Drawn:
    levels, share, low, high = curve
    panel = Panel(
        [
            Band(levels, np.clip(low, 0, 1), np.clip(high, 0, 1), opacity=0.25),
            Line([0, 1], [0, 1], color=style.NULL, dash="dash", width=1),
            Line(levels, share, color=style.Q, hover="nominal %{x:.0%}: true %{y:.1%}"),
        ],
        x=Axis((0, 1), "nominal mass of the region", percent=True),
        y=Axis((0, 1), "share of true values covered", percent=True),
        height=style.HEIGHT,
    )
    return Drawn(
        "Highest-density regions",
        panel,
        "If q were correct, the curve would stay in the grey band as a whole in 95 of 100 tables. "
        "Below the dashed line q is over-confident, above it under-confident.",
    )


def _whole(
    nats: _DensityDivergence | LearnedDivergence, estimate: LearnedDivergence | None
) -> list[Drawn]:
    """The symmetric divergence: by log densities where they are there, or by a classifier."""
    more = (
        f" {nats.beyond} values beyond the axis are counted in the end bars."
        if nats.beyond
        else ""
    )
    title = "Symmetric divergence, simulation by simulation"
    if isinstance(nats, LearnedDivergence):
        terms = skl.terms(*nats.bars, nats.estimate, nats.boot_low, nats.boot_high)
        return [Drawn(title, terms, skl.LEARNT + more)]
    terms = skl.terms(*nats.bars, nats.estimate, nats.low, nats.high)
    null = skl.null(*nats.null, nats.estimate)
    pictures = [
        Drawn(title, terms, skl.TERMS + more),
        Drawn("The divergence against its null", null, skl.NULLS),
    ]
    if nats.weighted:
        unweighted = {"m": 1, "estimate": nats.estimate, "low": nats.low, "high": nats.high}
        left = skl.weighted([unweighted, *codec.to_json(nats.weighted)])
        pictures.append(Drawn("What importance sampling leaves", left, skl.WEIGHTED))
    if estimate is not None:
        both = skl.compared(codec.to_json(nats), codec.to_json(estimate))
        pictures.append(Drawn("Beside a classifier's estimate", both, skl.COMPARED))
    return pictures


def _rows(marks: Sequence[Mark], axis: Axis, labels: Sequence[str]) -> Panel:
    """A row for each name, the first on top."""
    return Panel(marks, x=axis, y=Axis.of_rows(labels), height=84 + _ROW * max(len(labels), 2))


def _whiskers(ends: Array, at: Array, *, hover: str, symbol: str = "circle") -> Points:
    """Dots with horizontal intervals: estimate, low and high of each (P, 3)."""
    middle, low, high = ends.T
    return Points(
        middle, at, left=low, right=high, color=style.Q, size=7, symbol=symbol, hover=hover
    )
