"""The divergence as a classifier sees it, where q gives draws and no density; nats in pictures.

A classifier learns to tell the truth from q's draws on simulated tables; its logit, on rows that
it has not seen, estimates log p - log q up to what it overlooks. Beside it stands the divergence
from the densities themselves, of the same rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from validation_core import sampling, scores
from validation_core.bayes.models import TwoStageNormal
from validation_core.benchmarks.bayes_model import BayesModel
from validation_core.diagnosis.learning import RECIPE
from validation_core.drawing import live
from validation_core.drawing.marks import (
    Axis,
    Band,
    HLine,
    Line,
    Mark,
    Note,
    Panel,
    Points,
    Slider,
    VLine,
    over,
    sentence,
)
from validation_core.drawing.style import NULL, P, Q, method_style
from validation_core.keys import Specification
from validation_core.rng import stream
from validation_core.scores import trained_scores
from validation_core.scores.classifier import TableClassifier
from validation_core.scores.quantities import Ratio
from validation_core.scores.trained_scores import Simulated, Training, trace
from validation_core.statistics import divergence
from validation_core.statistics import divergence as nats
from validation_core.statistics.divergence import Divergence
from validation_core.study import Report, Study
from validation_core.symmetric_divergence import terms
from validation_core.symmetric_divergence.curves import format_number, tick_label
from validation_core.symmetric_divergence.runs import InferenceRun
from validation_core.symmetric_divergence.terms import NATS, NormalPair, SymlogScale, scale
from validation_core.types import Array

if TYPE_CHECKING:
    from validation_core.store import Store


DRAWS = 20
"""Of q at each simulation, to learn from and to test on."""
TESTED = 1000
"""Fresh simulations on which both divergences are measured."""


@dataclass(frozen=True, eq=False)
class DivergenceComparison:
    """Both divergences of the same n simulations, in nats."""

    estimate: nats.Divergence
    """By the classifier: at most the divergence of p and q, but for noise."""
    exact: nats.Divergence
    """By the log densities."""
    d_estimate: Array
    """What each simulation adds to the estimate (n,)."""
    d_exact: Array
    """And to the divergence itself (n,)."""
    auc: nats.MeanInterval
    """Chance that the classifier ranks the truth above a draw of q at its x."""
    auc_exact: nats.MeanInterval
    """The same of the log ratio itself, which nothing learnt surpasses."""
    slope: float
    """What logits were multiplied with: below 1, the classifier was too sure of itself."""


@dataclass(frozen=True, kw_only=True)
class ClassifierDivergence(Study[DivergenceComparison], spec="learned"):
    """A run's divergence, estimated as if its q had no density."""

    of: InferenceRun
    """The run, whose model, inference, iterations and seed these are; its data sets play no part.
    """
    rows: int = 1000
    """Simulations that the classifier learns from."""

    @property
    def label(self) -> str:
        return f"Divergence by a classifier, {self.of.label}"

    @cached_property
    def source(self) -> Simulated:
        """The run's model and inference as a benchmark, at its iterations.

        Raises:
            ValueError: for an inference with options that no benchmark has.
        """
        benchmark = BayesModel.about(self.of.model, self.of.inference)
        gamma = 0.0 if benchmark.inference == "exact" else float(self.of.iterations)
        return Simulated(benchmark=benchmark, gamma=gamma)

    @cached_property
    def training(self) -> Training:
        """The classifier."""
        recipe = TableClassifier(n=self.rows, k=DRAWS, recipe=RECIPE)
        return Training(source=self.source, recipe=recipe, seed=self.of.seed)

    @property
    def trainings(self) -> tuple[Specification, ...]:
        return (self.training,)

    def compute(self, store: Store, report: Report) -> DivergenceComparison:
        """Train where the store lacks the classifier, and compare on fresh simulations.

        Raises:
            ValueError: where inference fails on some data sets, or has no benchmark.
        """
        network = trained_scores.trained(store, self.training, trace(report))
        trained_scores.ready(store, self.source.benchmark)
        seed, (benchmark, gamma) = self.of.seed, (self.source.benchmark, self.source.gamma)
        table = sampling.table(benchmark, gamma, TESTED, DRAWS, stream(seed, "learned", "table"))
        logits, ratios = (
            scores.apply(score, table) for score in (network.at(), Ratio(benchmark, gamma))
        )
        sides = [
            (side.truth[0].astype(float), side.draws[0].astype(float)) for side in (logits, ratios)
        ]
        calibrated = nats.from_logits(*sides[0], stream(seed, "learned", "halves"))
        d_exact = sides[1][0] - sides[1][1].mean(1)
        estimate, exact = (
            nats.divergence(d, stream(seed, "learned", name))
            for name, d in (("estimate", calibrated.d), ("exact", d_exact))
        )
        auc, auc_exact = (nats.means(nats.paired(*side)) for side in sides)
        return DivergenceComparison(
            estimate, exact, calibrated.d, d_exact, auc, auc_exact, calibrated.slope
        )


# ---- What nats mean: two pairs of normals with the divergence that a slider chooses ----


_X = np.linspace(-4, 6, 126)


def meaning_payload() -> live.Payload:
    """Both pairs of normals over nats."""
    shifted, narrow, wide = (
        terms.shifted_normal_pair(NATS),
        terms.scaled_normal_pair(NATS),
        terms.scaled_normal_pair(NATS, "wide"),
    )
    labels = [format_number(float(nats)) for nats in NATS]
    return live.payload(
        sliders=[
            Slider(
                "nats",
                NATS,
                label="Symmetric divergence in nats",
                names=labels,
                ends=("hard to see", "plain to see"),
            )
        ],
        panels=[
            _pair_panel(shifted, "Same width, the mean off", _shift(shifted), 6),
            _pair_panel(narrow, "Same mean, q too narrow", _scale(narrow, wide), 4),
        ],
        headline=sentence(
            "{nats} nats are a mean that is {delta} sd off, or a width that is wrong by a factor "
            "of {ratio}.",
            nats=over(labels, "nats"),
            delta=over([f"{delta:.2f}" for delta in shifted.mean], "nats"),
            ratio=over([f"{sd:.2f}" for sd in wide.sd], "nats"),
        ),
    )


def _pair_panel(q: NormalPair, title: str, captions: list[str], end: float) -> Panel:
    away = (_X - q.mean[:, None]) / q.sd[:, None]
    return Panel(
        [
            Band(_X, 0 * _X, _bell(_X), color=P),
            Line(_X, _bell(_X), color=P),
            Band(_X, 0 * _X, over(_bell(away), "nats"), color=Q),
            Line(_X, over(_bell(away), "nats"), color=Q, dash="6 3"),
        ],
        title=title,
        height=210,
        legend=[("p", P, "line"), ("q", Q, "dash")],
        x=Axis((-4, end), "θ, in sds of p"),
        y=Axis((0, 1.08), hidden=True),
        caption=over(captions, "nats"),
    )


def _bell(z: Array) -> Array:
    return np.asarray(np.exp(-(z**2) / 2))


def _shift(q: NormalPair) -> list[str]:
    return [f"q is {q.mean[i]:.3g} sd off. {_tells(q, i)}" for i in range(len(NATS))]


def _scale(narrow: NormalPair, wide: NormalPair) -> list[str]:
    return [
        f"q has {narrow.sd[i]:.3g} of p's sd. {_tells(narrow, i)} If q were too wide by the "
        f"same factor, {_share(float(wide.misses[i]))} would."
        for i in range(len(NATS))
    ]


def _share(misses: float) -> str:
    return f"{misses:.2%}" if misses >= 1e-4 else "fewer than 0.01%"


def _tells(q: NormalPair, i: int) -> str:
    return (
        f"The best classifier has AUC {q.auc[i]:.3f} and is right {q.accuracy[i]:.1%} of the "
        f"time; total variation is {q.distance[i]:.3f}; {q.misses[i]:.1%} of q's 90% intervals "
        "miss the true value."
    )


_SKL = method_style("skl").color

OFF = np.round(np.linspace(-1.5, 1.5, 31), 1) + 0.0

SIMULATED = 10_000
"""Terms behind each estimate."""

_H = np.linspace(-5, 5, 161)


def augmented_payload() -> live.Payload:
    """The bound with its estimates, and the laws of h, over r."""
    mixture = TwoStageNormal()
    exact, bound = mixture.skl(), mixture.bound(OFF)
    terms = [
        mixture.simulate(SIMULATED, stream(0, "augmented", i), float(off))
        for i, off in enumerate(OFF)
    ]
    estimates = divergence.means(np.stack(terms))
    marginal = divergence.means(mixture.marginal(SIMULATED, stream(0, "marginal")))
    intervals = [
        f"{format_number(estimate)} (95% interval {format_number(low)} to {format_number(high)})"
        for estimate, low, high in zip(*estimates, strict=True)
    ]
    labels = [f"{off:+.1f} sd".replace("-", "−") if off else "right" for off in OFF]
    return live.payload(
        sliders=[
            Slider(
                "off", OFF, label="r moved from q's own law of h given z", names=labels, start=0.8
            )
        ],
        panels=[_bounds(exact, bound, estimates, marginal), _conditionals()],
        headline=sentence(
            "SKL(z) is {exact} nats; with this r, SKL(z, h) is {bound} nats, {more}. Algorithm 3 "
            "estimates {said}.",
            exact=format_number(exact),
            bound=over([format_number(float(nats)) for nats in bound], "off"),
            said=over(intervals, "off"),
            more=over([_more(float(nats) - exact) for nats in bound], "off"),
        ),
    )


def _more(excess: float) -> str:
    return f"{format_number(excess)} too many" if excess > 1e-9 else "no more, as r is q's own law"


def _bounds(
    exact: float, bound: Array, means: divergence.MeanInterval, marginal: divergence.MeanInterval
) -> Panel:
    few = slice(None, None, 3)  # enough points to see that they follow the line
    top = 1.08 * float(max(bound.max(), means.high.max()))
    here = [over(values[:, None], "off") for values in means]
    return Panel(
        [
            HLine(exact, label="SKL(z)"),
            Line(OFF, bound, color=_SKL),
            Points(
                OFF[few],
                means.estimate[few],
                low=means.low[few],
                high=means.high[few],
                color=_SKL,
                opacity=0.6,
            ),
            Points(
                over(OFF[:, None], "off"),
                here[0],
                low=here[1],
                high=here[2],
                color=_SKL,
                size=9,
                symbol="diamond",
            ),
            VLine(over(OFF, "off"), color=NULL, width=1),
        ],
        title="What Algorithm 3 estimates",
        height=260,
        click="off",
        legend=[("SKL(z, h), exact", _SKL, "line"), ("estimates", _SKL, "circle")],
        x=Axis((OFF[0] - 0.1, OFF[-1] + 0.1), "mean of r, in sds of q's own law"),
        y=Axis((0, top), "nats"),
        caption=f"Algorithm 1 on z alone, which this q allows, estimates "
        f"{format_number(float(marginal.estimate))} (95% interval "
        f"{format_number(float(marginal.low))} to {format_number(float(marginal.high))}).",
    )


def _conditionals() -> Panel:
    own = np.exp(-(_H**2) / 2)
    moved = np.exp(-((_H - OFF[:, None]) ** 2) / 2)
    return Panel(
        [
            Band(_H, 0 * _H, own, color=Q),
            Line(_H, own, color=Q),
            Line(_H, over(moved, "off"), color=P, dash="6 3"),
        ],
        title="h given z",
        height=260,
        legend=[("q's own", Q, "line"), ("r", P, "dash")],
        x=Axis((-5, 5), "h, in sds of q's own law"),
        y=Axis((0, 1.08), hidden=True),
        caption="r may look at z and y, never at the h of q's draw.",
    )


_LEARNED = method_style("c2st").color


def in_words(divergence: Divergence) -> str:
    """A divergence with its interval."""
    count, low, high = (
        divergence.infinite,
        format_number(divergence.low),
        format_number(divergence.high),
    )
    lost = f", {count} terms that are not finite left out" if count else ""
    return f"{format_number(divergence.estimate)} nats (95% interval {low} to {high}{lost})"


def learned_payload(comparison: DivergenceComparison) -> live.Payload:
    """Both divergences with their intervals, and their terms."""
    both = np.stack([comparison.d_estimate, comparison.d_exact])
    both = both[:, np.isfinite(both).all(0)].astype(float)
    return live.payload(panels=[_divergences(comparison), _scatter(both)])


def _divergences(comparison: DivergenceComparison) -> Panel:
    two = (comparison.estimate, comparison.exact)
    axis = scale(
        np.array([[divergence.estimate, divergence.low, divergence.high] for divergence in two])
    )
    ends = np.array([end for divergence in two for end in (divergence.low, divergence.high, 0.0)])
    marks: list[Mark] = [VLine(0.0, color=NULL, width=1)]
    looks = ((0.7, "classifier's estimate", _LEARNED), (0.3, "exact", _SKL))
    for each, (height, label, color) in zip(two, looks, strict=True):
        low, mid, high = (axis.at(np.array([v])) for v in (each.low, each.estimate, each.high))
        marks += [
            Line([low[0], high[0]], [height] * 2, color=color, width=3),
            Points(mid, [height], color=color, size=11, symbol="diamond"),
            Note(float(mid[0]), height + 0.1, label, color=color, anchor="middle"),
        ]
    return Panel(
        marks,
        title="The divergence",
        height=270,
        y=Axis((0, 1), hidden=True),
        x=_symlog_axis(axis, ends, "nats (symmetric-log axis)", 0.35),
        caption=f"Logits were multiplied by {comparison.slope:.2g} so that they are log ratios on "
        "rows other than their own.",
    )


def _scatter(both: Array) -> Panel:
    axes = [scale(row[None]) for row in both]
    axis = max(axes, key=lambda scale: scale.unit)
    at = axis.at(both)
    ends = np.array([both.min(), both.max()])
    line = axis.at(ends)
    return Panel(
        [
            Line(line, line, color=NULL, dash="2 4", width=1.5),
            Points(at[1], at[0], color=_LEARNED, size=3.5, opacity=0.5),
        ],
        title="Term by term",
        square=True,
        x=_symlog_axis(axis, ends, "exact d in nats (symmetric-log)", 0.05),
        y=_symlog_axis(axis, ends, "estimated d in nats", 0.05),
    )


def _symlog_axis(axis: SymlogScale, ends: Array, label: str, room: float) -> Axis:
    low, high = min(float(ends.min()), 0.0), max(float(ends.max()), 0.0)
    nats = axis.ticks(low, high, 7)
    places = axis.at(np.array([low, high]))
    more = max(room * float(places[1] - places[0]), 0.1)
    limits = (float(places[0]) - more, float(places[1]) + more)
    return Axis(limits, label, ticks=axis.at(nats), names=[tick_label(float(v)) for v in nats])
