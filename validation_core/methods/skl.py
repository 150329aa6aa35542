"""Symmetric divergence: log p - log q at the truth less that at q's draws, within each x."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from validation_core.drawing import style
from validation_core.drawing.drawn import Drawn
from validation_core.drawing.marks import (
    Axis,
    Band,
    Bars,
    HLine,
    Line,
    Panel,
    Points,
    VLine,
    empty,
)
from validation_core.drawing.null_histogram import null_histogram
from validation_core.methods.base import RANK_ROWS, Method, RecordView, effect_interval_text
from validation_core.scores import log_ratio
from validation_core.scores.log_ratio import Ratio
from validation_core.statistics import divergence_mean, divergence_rows, divergence_test
from validation_core.text import signed_text
from validation_core.types import (
    Array,
    Benchmark,
    MethodStyle,
    Outcome,
    Paper,
    Scores,
    TableScores,
)

if TYPE_CHECKING:
    from validation_core.methods.record import Record
    from validation_core.tables import Upload
    from validation_core.tables.ranges import Range

_SURE = 2.0  # half widths of a 95% interval, beyond which chance does not reach
_SOME = 1e-3  # nats: float32 rounds to less
_LONG = 1e6  # nats from which on digits are too many to read
_MOST = 100_000  # relabelings
_LEAST = 2  # finite rows that a mean with an interval needs
_KEPT = 10_000
"""Rows whose d an outcome keeps for its histogram: bounds the size of a large table's record."""

_BINS = 40
_Numbers = Mapping[str, float]
TERMS = (
    "Each simulation's log p / q at the true value less its mean over q's draws there; red: "
    "their mean, the divergence, with its 95% interval. If q were correct, all of them would "
    "lie on the dashed 0, as far as the log densities are exact."
)
LEARNT = (
    "Each simulation's log ratio by the classifier, calibrated, at the true value less its "
    "mean over q's draws there; red: their mean with its 95% interval. If q were correct, the "
    "terms would lie about the dashed 0, and the red strip on it."
)
NULLS = (
    "Grey: the mean difference when any of the K + 1 values at an x, by chance, is taken for "
    "the true value's. If q were correct, the red line would fall anywhere among them, all of "
    "them near 0."
)
WEIGHTED = (
    "An upper bound on the divergence left when M draws of q are weighed by p / q and one is "
    "picked, with 95% intervals. If q were correct, all of them would reach the dashed 0."
)
COMPARED = (
    "The divergence by log densities, and what a classifier that knows none makes of held-out "
    "rows: an estimate, which misses what it overlooks; whiskers are 95% intervals. If q were "
    "correct, both would reach the dashed 0."
)


@dataclass(frozen=True, kw_only=True)
class SKL(Method):
    """KL(p || q) + KL(q || p), averaged over x, in nats, and an exact test that it is 0.

    The score is log p(theta, x) - log q(theta | x), up to anything that depends on x alone. It
    is compared within an x only: pooled over x, log p(x) would swamp it.

    Examples:
        >>> result = npt.run("skl", "gaussian", gamma=0.1, n=60, k=20, relabelings=199)
        >>> f"{result.statistic:.3g} nats, p = {result.pvalue:.2g}"
        '0.601 nats, p = 0.005'
    """

    name: ClassVar[str] = "skl"
    title: ClassVar[str] = "Symmetric divergence"
    paper: ClassVar[Paper] = Paper(
        "Domke",
        2021,
        "An easy to interpret diagnostic for approximate inference: symmetric divergence over "
        "simulations",
        "Algorithm 1; tested by relabelling within x",
    )
    summary: ClassVar[str] = "How many nats lie between p and q, and could it be none?"
    statistic: ClassVar[str] = "mean within-x difference of log p − log q, in nats"
    style: ClassVar[MethodStyle] = MethodStyle("#6B8E23", "solid", "hourglass")
    turn: ClassVar[int] = 3
    relabelings: int = field(
        default=divergence_test.RELABELINGS,
        metadata={
            "label": "Relabelings",
            "min": 19,
            "max": _MOST,
            "help": "The smallest p-value is 1 / (relabelings + 1).",
        },
    )

    def __post_init__(self) -> None:
        if not 1 <= self.relabelings <= _MOST:
            raise ValueError(
                f"relabelings are 1 to {_MOST:,}; got {self.relabelings:,}. The default is "
                f"{divergence_test.RELABELINGS:,}."
            )

    @property
    def label(self) -> str:
        return "Symmetric divergence"

    def score_on(self, benchmark: Benchmark, gamma: float) -> Ratio:
        return Ratio(benchmark, gamma)

    def known_scores(self, upload: Upload) -> TableScores | None:
        return log_ratio.of_densities(upload.densities)

    def least_rows(self, *, table: bool) -> tuple[int, str]:
        del table
        return RANK_ROWS, "averages over rows"

    def obstacle(self, upload: Upload) -> str | None:
        return log_ratio.obstacle(upload)

    def squared(self, upload: Upload) -> Sequence[Range]:
        del upload
        return ()

    @property
    def scoring(self) -> float:
        return 0.05

    @property
    def resamples(self) -> int:
        return self.relabelings

    def unfit(self, k: int) -> str | None:
        del k
        return "it reads log densities, which a made table does not carry"

    @classmethod
    def findings(cls, record: Record, x_names: Sequence[str] = ()) -> tuple[str, ...]:
        del x_names
        return nats_in_words(record.effect.numbers)

    @classmethod
    def pictures(cls, record: Record, view: RecordView) -> list[Drawn]:
        del view  # the divergence is that of all parameters together
        arrays = record.arrays
        none = np.empty(0)
        d, means = (np.asarray(arrays.get(name, none), np.float64) for name in ("d", "null"))
        estimate, low, high = (
            float(arrays.get(name, np.nan)) for name in ("skl", "ci_low", "ci_high")
        )
        if not (d.size and means.size and np.isfinite([estimate, low, high]).all()):
            return [
                Drawn("Differences within x", empty("No simulations yet"), TERMS),
                Drawn("The divergence against its null", empty("No relabelings yet"), NULLS),
            ]
        counts, edges = np.histogram(d, _BINS, style.padded(d, 0.03))
        spread, places = np.histogram(means, _BINS, style.padded(np.append(means, estimate), 0.03))
        return [
            Drawn("Differences within x", terms(edges, counts, estimate, low, high), TERMS),
            Drawn("The divergence against its null", null(places, spread, estimate), NULLS),
        ]

    def test(self, scores: Scores, rng: np.random.Generator) -> Outcome:
        """One-sided: a large mean of d. Rows with a ratio that is not finite are left out.

        arrays: d (..., n), of the first rows of a large table; null (..., B), means with other
        truths; skl, ci_low, ci_high (...), the mean with its 95% normal interval. Without
        leading axes also boot_low, boot_high, median, largest, auc with auc_low and auc_high, and
        effect: k simulations averaged over, draws of q at each, rows left out as infinite, heavy,
        tail where it can be told, and outside, the share of q's draws where p has no mass, where
        there are some.

        Raises:
            ValueError: with fewer than two rows whose ratios are finite; it says how much of q
                lies where p has no mass.
        """
        assert isinstance(scores, TableScores)
        truth, draws = (np.asarray(ratios, np.float64) for ratios in (scores.truth, scores.draws))
        truth, draws = truth[..., 0, :], draws[..., 0, :, :]
        relabelled = divergence_test.relabelled(truth, draws, rng, self.relabelings)
        with np.errstate(invalid="ignore"):
            d = truth - draws.mean(axis=-1)
        arrays: dict[str, Array] = {"null": relabelled.null}
        statistic: Array = relabelled.statistic
        effect: dict[str, float] = {}
        if d.ndim == 1:
            more, effect = _of_one_table(d, truth, draws, rng)
            arrays |= more
            statistic = more["skl"]  # to the last digit
            d = d[np.isfinite(d)]
        else:
            each = divergence_mean.means(d)
            arrays |= {"skl": each.estimate, "ci_low": each.low, "ci_high": each.high}
        return Outcome(
            statistic,
            relabelled.pvalue,
            self.budget(*scores.draws.shape[-2:]),
            {**arrays, "d": d[..., :_KEPT]},
            effect,
        )


def _of_one_table(
    d: Array, truth: Array, draws: Array, rng: np.random.Generator
) -> tuple[dict[str, Array], dict[str, float]]:
    """Summaries of one table's d (n,) beyond their mean, as arrays and as effects."""
    outside = log_ratio.outside(draws)
    left = int(np.isfinite(d).sum())
    if left < _LEAST and outside:
        raise ValueError(
            f"A symmetric divergence is a mean over simulations whose log densities are finite; "
            f"got {left} of {d.size:,}: {log_ratio.leakage_text(outside)}. Keep q's draws within "
            f"the prior's support, or take KL(p || q), which leakage leaves finite."
        )
    divergence = divergence_mean.divergence(d, rng)
    shares = divergence_rows.paired(truth, draws)
    auc = divergence_mean.means(shares[~np.isnan(shares)])
    arrays = {
        "skl": divergence.estimate,
        "ci_low": divergence.low,
        "ci_high": divergence.high,
        "boot_low": divergence.boot_low,
        "boot_high": divergence.boot_high,
        "median": divergence.median,
        "largest": divergence.largest,
        "auc": auc.estimate,
        "auc_low": np.maximum(auc.low, 0.0),
        "auc_high": np.minimum(auc.high, 1.0),
    }
    effect: dict[str, float] = {
        "k": d.size - divergence.infinite,
        "draws": draws.shape[-1],
        "infinite": divergence.infinite,
        "heavy": divergence.heavy,
    }
    if np.isfinite(divergence.tail):
        effect["tail"] = divergence.tail
    if outside:
        effect["outside"] = outside
    return {name: np.asarray(value) for name, value in arrays.items()}, effect


def nats_in_words(effect: _Numbers) -> tuple[str, ...]:
    """A symmetric divergence in sentences, from the numbers of its record."""
    rows = effect["k"] + effect["infinite"]
    draws = "one draw" if effect["draws"] == 1 else f"{effect['draws']:,.0f} draws"
    sentences = [
        f"Symmetric divergence KL(p || q) + KL(q || p), mean over x: {_nats(effect['skl'])} nats "
        f"[{_ends(effect, 'ci')}], from {effect['k']:,.0f} simulations with {draws} of q at each; "
        f"by the bootstrap [{_ends(effect, 'boot')}]; median of its terms "
        f"{_nats(effect['median'])}, largest {_nats(effect['largest'])}.",
        "log p / q is higher at the true value than at a draw of q in "
        f"{effect_interval_text(effect, 'auc')} of pairs at the same x; 50% if q were correct.",
    ]
    if effect["skl"] + _SURE * (effect["ci_high"] - effect["skl"]) < -_SOME:
        sentences.append(
            "No divergence is below 0, and this is, by more than chance: the log densities do "
            "not belong together. Are log p and log q exchanged, in different coordinates, or "
            "off by a constant at the true values but not at the draws?"
        )
    if effect["infinite"]:
        leaks = effect.get("outside", 0.0)
        why = f" {log_ratio.leakage_text(leaks)}." if leaks else ""
        sentences.append(
            f"In {effect['infinite']:,.0f} of {rows:,.0f} rows a log density is not finite: there "
            f"the divergence is infinite, and the number is that of the other rows.{why}"
        )
    if effect["heavy"]:
        sentences.append(
            f"Its terms have a heavy tail (Pareto k = {effect['tail']:.2f}, above 0.5): few rows "
            f"carry the mean, and the intervals are too short. The p-value stays valid."
        )
    return tuple(sentences)


def _ends(effect: _Numbers, name: str) -> str:
    return f"{_nats(effect[f'{name}_low'])}, {_nats(effect[f'{name}_high'])}"


def _nats(value: float) -> str:
    return signed_text(value, ".3f" if abs(value) < _LONG else ".4g")


def terms(
    edges: Array,
    counts: Array,
    estimate: float,
    low: float,
    high: float,
    *,
    height: int = style.HEIGHT,
) -> Panel:
    """Histogram of d, row by row; red: their mean with its interval."""
    limits = (min(float(edges[0]), 0.0), max(float(edges[-1]), 0.0))
    pad = 0.03 * (limits[1] - limits[0])
    top = 1.1 * float(counts.max())
    return Panel(
        [
            Band([low, high], [0, 0], [top, top], color=style.OBSERVED, opacity=0.25),
            Bars(edges, counts, color=style.Q, opacity=0.6, hover="%{x:.2f} nats: %{y} rows"),
            VLine(estimate, color=style.OBSERVED),
            VLine(0, dash="dash", width=1),
        ],
        x=Axis((limits[0] - pad, limits[1] + pad), "log-ratio difference, nats"),
        y=Axis((0, top), "simulations"),
        height=height,
    )


def null(edges: Array, counts: Array, observed: float, *, height: int = style.HEIGHT) -> Panel:
    """Means of d with other truths in grey, the observed one in red."""
    x = Axis((float(edges[0]), float(edges[-1])), "mean difference, any draw as true value, nats")
    hover = "%{x:.3g} nats: %{y}"
    return null_histogram(edges, counts, observed, x, "relabelings", hover=hover, height=height)


def weighted(found: Sequence[_Numbers]) -> Panel:
    """Divergence that remains with M draws of q weighed: m, estimate, low, high of each."""
    m, mean, low, high = (
        np.array([float(row[name]) for row in found]) for name in ("m", "estimate", "low", "high")
    )
    hover = "M = %{x:.0f}: %{y:.3g} nats"
    return Panel(
        [
            HLine(0, dash="dash"),
            Line(m, mean, color=style.Q, width=1.5),
            Points(m, mean, low=low, high=high, color=style.Q, size=7, hover=hover),
        ],
        x=Axis((0.8, 1.25 * float(m.max())), "draws of q that are weighed, M", log=True, ticks=m),
        y=Axis(_with_zero(low, high), "divergence left, nats"),
        height=style.HEIGHT,
    )


def compared(exact: _Numbers, estimate: _Numbers) -> Panel:
    """The divergence by log densities, and a classifier's estimate of it, with intervals."""
    both = [
        ("log densities", exact, "low", "high"),
        ("classifier (estimate)", estimate, "boot_low", "boot_high"),
    ]
    middle = np.array([numbers["estimate"] for _, numbers, _, _ in both])
    low = np.array([numbers[name] for _, numbers, name, _ in both])
    high = np.array([numbers[name] for _, numbers, _, name in both])
    return Panel(
        [
            VLine(0, dash="dash", width=1),
            Points(
                middle,
                [0, 1],
                left=low,
                right=high,
                color=style.Q,
                size=8,
                symbol=["circle", "ring"],
                hover="%{x:.3g} nats",
            ),
        ],
        x=Axis(_with_zero(low, high), "symmetric divergence, nats"),
        y=Axis.of_rows([name for name, *_ in both]),
        height=150,
    )


def _with_zero(low: Array, high: Array) -> tuple[float, float]:
    """Limits that hold all intervals and 0."""
    return style.padded(np.append([low, high], 0.0))
