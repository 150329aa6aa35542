"""Lesson 1: a classifier's accuracy on two samples, and its null, built sample by sample."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from validation_core import sampling, statistics
from validation_core.benchmarks import Boundary
from validation_core.benchmarks.boundary import GAMMA
from validation_core.drawing import style
from validation_core.drawing.marks import (
    Axis,
    Panel,
    Points,
    Slider,
    VLine,
    over,
    sentence,
    written,
)
from validation_core.drawing.null_histogram import null_histogram
from validation_core.lessons.lesson import (
    Beat,
    FollowUp,
    Formula,
    NumberGuess,
    Prediction,
    Stage,
    run_through,
)
from validation_core.lessons.so_far import counts_so_far, sums_so_far
from validation_core.lessons.study import LessonStudy
from validation_core.methods import C2ST
from validation_core.rng import common
from validation_core.scores import LinearBoundary
from validation_core.store import Store
from validation_core.study import Report
from validation_core.text import count_text, said_equals
from validation_core.types import Array, TwoSamples

SIZES = (20, 50, 100, 200, 500)
"""Points of each sample."""
GAMMAS = tuple(round(0.05 * step, 2) for step in range(21))
SAMPLES = 400
"""Pairs of equal samples that make the null."""
EXPECTED_ACCURACY_DRAWS = 50_000  # of each side, for the accuracy that samples scatter about
_BINS = 40
_SHOWN = 100  # points of each sample in the picture
_N = SIZES.index(100)


class _Accuracies(NamedTuple):
    """Accuracies of one boundary, fixed beforehand, on N sizes, G gammas and T null samples."""

    p: Array
    """(_SHOWN, 2) theta and x of the sample from p that is drawn."""
    q: Array
    """(G, _SHOWN, 2) of q."""
    observed: Array
    """(N, G) on one pair of samples."""
    expected: Array
    """(G,) on many draws."""
    null: Array
    """(N, T) on pairs of samples that are both from p."""


_NULLS = Slider(
    "samples", range(SAMPLES + 1), label="Null samples", form="{:g}", play=True, rate=40
)
_SIZE = Slider("n", SIZES, label="Points a sample, n", form="{:g}", start=100)
_GAMMA = Slider(
    "gamma",
    GAMMAS,
    label="Strength, gamma",
    form="{:g}",
    start=GAMMA,
    ends=("q = p", "1 sd off"),
    play=True,
)


@dataclass(frozen=True, kw_only=True)
class SameOrDifferent(LessonStudy[_Accuracies], spec="lesson_same_or_different"):
    """Samples of p and q, and of p and p, classified by the optimal boundary at gamma = 1/2."""

    name = "same-or-different"
    number = 1
    title = "Same or different?"
    short = "Same?"
    question = "Two samples lie on the table. Are they from the same distribution?"
    minutes = 6
    sliders = (_NULLS, _SIZE, _GAMMA)
    papers = (C2ST.paper,)
    onwards = FollowUp(label="Ask it of my own table")

    def compute(self, store: Store, report: Report) -> _Accuracies:
        """Draw the samples; neighbouring gammas share their random numbers."""
        benchmark, score = Boundary(), LinearBoundary()
        observed = np.empty((len(SIZES), len(GAMMAS)))
        shown, expected = [], np.empty(len(GAMMAS))
        for g, gamma in enumerate(GAMMAS):
            for i, n in enumerate(SIZES):
                drawn = sampling.blocks(benchmark, gamma, n, n, common(self.seed, "observed", n))
                observed[i, g] = _accuracy(score, drawn)
                if i == _N:
                    shown.append([np.c_[side.theta, side.x] for side in (drawn.p, drawn.q)])
            many = sampling.blocks(
                benchmark,
                gamma,
                EXPECTED_ACCURACY_DRAWS,
                EXPECTED_ACCURACY_DRAWS,
                common(self.seed, "expected"),
            )
            expected[g] = _accuracy(score, many)
        null = np.empty((len(SIZES), SAMPLES))
        for i, n in enumerate(SIZES):
            rng = common(self.seed, "null", n)
            drawn = sampling.blocks(benchmark, 0.0, n * SAMPLES, n * SAMPLES, rng)
            p, q = (score(side.theta, side.x).reshape(SAMPLES, n) for side in (drawn.p, drawn.q))
            null[i] = statistics.c2st(p, q).accuracy
        p, q = (np.stack([pair[side] for pair in shown]) for side in (0, 1))
        return _Accuracies(p[0], q, observed, expected, null)

    def prediction(self, result: _Accuracies) -> Prediction:
        truth = result.expected[GAMMAS.index(GAMMA)]
        guess = NumberGuess(
            label="Share of points the best classifier gets right", truth=100 * truth, start=90
        )
        away = np.asarray(guess.values) - 100 * truth
        return Prediction(
            asked=[guess],
            answer=sentence(
                f"You said {{said}}; it is {truth:.0%}. {{comment}}",
                said=guess.words,
                comment=over(
                    np.select(
                        [away > 5, away < -5],
                        [
                            "Half a standard deviation looks like more than it is: the clouds "
                            "overlap almost everywhere.",
                            "A guess gets 50% right, and the boundary is better than that.",
                        ],
                        "Close: the clouds overlap almost everywhere.",
                    ),
                    "guess",
                ),
            ),
        )

    def stages(self, result: _Accuracies) -> list[Stage]:
        pvalues = monte_carlo_pvalues(result)
        percents = written(result.observed, "{:.1%}", "n", "gamma")
        rejected = pvalues <= 0.05
        verdict = over(np.where(rejected, "rejects", "does not reject"), "samples", "n", "gamma")
        correct = over(
            np.where(
                np.array(GAMMAS) > 0,
                "",
                np.where(
                    rejected,
                    " Here q is correct: one correct q in twenty is rejected.",
                    " Here q is correct.",
                ),
            ),
            "samples",
            "n",
            "gamma",
        )
        p = written(pvalues, said_equals, "samples", "n", "gamma")
        return [
            Stage(
                title="Predict",
                words="Blue is a sample of the true posterior p, orange one of an estimate "
                "q whose mean is off by half a standard deviation. A classifier draws the best "
                "straight line between them. How often is it right? Drag the bar.",
                panels=[0],
                at={"gamma": GAMMA, "samples": 0},
                beats=[Beat(at={"gamma": 1.0}), Beat(at={"gamma": GAMMA})],
            ),
            Stage(
                title="Reveal",
                words=sentence(
                    "Here it gets {observed} right. Is that more than chance? Draw both samples "
                    "from p, and look again: {count}. Their accuracies are the null. "
                    "C2ST compares: p-value {p}, so it {verdict} q.{correct}",
                    observed=percents,
                    count=over(
                        [count_text(n, "such pair") for n in range(SAMPLES + 1)], "samples"
                    ),
                    p=p,
                    verdict=verdict,
                    correct=correct,
                ),
                panels=[1, 0],
                sliders=["samples", "gamma"],
                at={"samples": SAMPLES},
                beats=run_through(_NULLS, 9.0),
            ),
            Stage(
                title="Break it",
                words=sentence(
                    "With {n} points a sample the null is {width} wide either way. Take fewer "
                    "points, or a smaller gamma, until C2ST no longer sees that q is wrong. "
                    "Now {observed}, p-value {p}.{correct}",
                    n=_SIZE.words,
                    width=written(result.null.std(-1) * 1.96, "{:.1%}", "n"),
                    observed=percents,
                    p=p,
                    correct=correct,
                ),
                panels=[1, 0],
                sliders=["n", "gamma"],
                at={"samples": SAMPLES},
                beats=[
                    Beat(at={"n": 20}, seconds=3.0),
                    Beat(at={"n": 500}, seconds=4.0),
                    Beat(at={"gamma": 0.0}, seconds=4.0),
                ],
            ),
            Stage(
                title="Why",
                words="If p and q were the same, every label would be a fair coin, so the "
                "accuracy of n + n points scatters about one half. An accuracy far beyond that "
                "scatter is hardly luck.",
                panels=[1],
                sliders=["n", "gamma"],
                at={"samples": SAMPLES},
                formula=Formula(
                    latex=r"z = \frac{\text{@accuracy} - \frac{1}{2}}"
                    r"{\sqrt{1 / (4 \cdot 2 \cdot \text{@n})}} = \text{@z}",
                    values={
                        "accuracy": written(result.observed, "{:.3f}", "n", "gamma"),
                        "n": _SIZE.words,
                        "z": written(_z(result), "{:.2f}", "n", "gamma"),
                    },
                    source="Lopez-Paz, Oquab (2017), Section 3",
                ),
                beats=[Beat(at={"gamma": 1.0}), Beat(at={"gamma": 0.3})],
            ),
            Stage(
                title="What it does not tell",
                words="A p-value is not the size of the error: with enough points any gamma "
                "above 0 is found. And a classifier that looks in the wrong place finds nothing, "
                "however wrong q is: the next lesson breaks the boundary.",
                panels=[0],
                sliders=["gamma"],
            ),
        ]

    def panels(self, result: _Accuracies) -> list[Panel]:
        return [_scatter(result), _null(result)]


def _accuracy(score: LinearBoundary, drawn: TwoSamples) -> float:
    p, q = (score(side.theta, side.x) for side in (drawn.p, drawn.q))
    return float(statistics.c2st(p, q).accuracy)


def _z(result: _Accuracies) -> Array:
    return np.asarray((result.observed - 0.5) * np.sqrt(8 * np.array(SIZES)[:, None]))


def monte_carlo_pvalues(result: _Accuracies) -> Array:
    """P-values (T + 1, N, G) from the null so far, by the +1 rule."""
    above = result.null.T[:, :, None] >= result.observed - 1e-12  # (T, N, G)
    return (1 + sums_so_far(above)) / (1 + np.arange(SAMPLES + 1))[:, None, None]


def cumulative_histograms(null: Array) -> tuple[NDArray[np.int16], Array]:
    """Counts (T + 1, N, bins) of the null so far, and edges."""
    edges = np.linspace(0.25, 0.85, _BINS + 1)
    places = np.clip(np.digitize(null, edges) - 1, 0, _BINS - 1)  # (N, T)
    return counts_so_far(places.T, _BINS), edges


def _scatter(result: _Accuracies) -> Panel:
    return Panel(
        [
            Points(
                over(result.q[..., 0], "gamma", coarse=True),
                over(result.q[..., 1], "gamma", coarse=True),
                color=style.Q,
                symbol="diamond",
                opacity=0.8,
            ),
            Points(result.p[:, 0], result.p[:, 1], color=style.P, opacity=0.8),
            VLine(0.25, label="boundary", width=2),
        ],
        title="Two samples of 100",
        x=Axis((-3.2, 4.2), "θ"),
        y=Axis((-3.2, 3.2), "x"),
        height=330,
        legend=[("true p", style.P, "circle"), ("estimate q", style.Q, "diamond")],
    )


def _null(result: _Accuracies) -> Panel:
    counts, edges = cumulative_histograms(result.null)
    top = 1.05 * float(counts[-1, _N:].max())  # of few points, bars are higher and cut
    panel = null_histogram(
        edges,
        over(counts, "samples", "n"),
        over(result.observed, "n", "gamma"),
        Axis((0.25, 0.85), "share of points called right", percent=True),
        "pairs of samples",
        title="Accuracy where both samples are from p",
        height=330,
    )
    return replace(panel, y=replace(panel.y, limits=(0.0, top)))
