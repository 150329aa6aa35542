"""Lesson 5: four tests that reject a correct q too often or too rarely, and their corrections."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree
from scipy.special import ndtr, ndtri
from scipy.stats import norm

from validation_core import sampling, statistics
from validation_core.benchmarks import Boundary
from validation_core.benchmarks.boundary import MIDPOINT
from validation_core.drawing import style
from validation_core.drawing.marks import (
    Axis,
    Bars,
    Line,
    Panel,
    Points,
    Slider,
    VLine,
    over,
    sentence,
    written,
)
from validation_core.drawing.power_curves import (
    LEVEL_KEY,
    Rates,
    curve_keys,
    level_line,
    rate_points,
    rejection_axis,
)
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
from validation_core.rng import stream
from validation_core.scores import LinearBoundary
from validation_core.statistics import NormalLaw
from validation_core.store import Store
from validation_core.study import Report
from validation_core.text import interval_text
from validation_core.types import Array, MethodStyle

TRIALS = 1000
ALPHA = 0.05
TRIALS_SHOWN = (*range(20), *range(20, TRIALS + 1, 20))
"""Numbers of trials after which the counts are shown."""
KS = (20, 50, 100, 200, 500)
"""q's draws at each of _SIMULATIONS simulations."""
SHARES = (0.0, 0.25, 0.5, 0.75, 0.9)
"""Share of a score's variance that is x's: the correlation of two scores at one x."""
FOLDS = (2, 5, 10, 20, 50)
SIZES = (10, 20, 50, 200, 1000)
"""Calibration points."""
_SIMULATIONS = 1000
_N = 200  # points of each side, for C2ST and Multiple
_TEST = 100  # test points of Uniform
_NEIGHBOURS = 5
_BINS = np.linspace(0, 1, 21)
_SIGMAS = np.round(np.arange(0.2, 2.01, 0.05), 2)


class _FourWaysResult(NamedTuple):
    """P-values of a correct q by the wrong and the right test, on the same draws."""

    pvalues: Array
    """(4 ways, 2, 5 settings, TRIALS) of the wrong test, then of the right one."""
    spread: Array
    """(2, 5) sd of the statistic of the second and the third way, over the assumed sd."""


@dataclass(frozen=True, kw_only=True)
class _Way:
    """A common error of testing.

    Args:
        slider: its setting.
        setting: how a value of it is told, a format.
        title: its name.
        short: its name in one word.
        wrong: the error, in a few words.
        right: the correction, in a few words.
        words: the explanation.
    """

    slider: Slider
    setting: str
    title: str
    short: str
    wrong: str
    right: str
    words: str

    @property
    def at(self) -> int:
        """Index of the initial setting."""
        return self.slider.grid.index(self.slider.first)

    def guess(self, truth: float) -> NumberGuess:
        """The prediction of its size, in percent."""
        label = f"{self.title} ({self.setting.format(self.slider.first)})"
        name = f"guess_{self.slider.name}"
        return NumberGuess(name=name, label=label, truth=truth, found="{:.1f}%", start=5)


WAYS = (
    _Way(
        slider=Slider("k", KS, label="Draws of q at each x, K", form="{:g}", start=100),
        setting="K = {:g}",
        title="R/K ranks",
        short="ranks",
        wrong="KS on R/K",
        right="KS on randomised ranks",
        words=f"The rank R of a true value among K draws has K + 1 values, so R/K is never "
        f"uniform: of few draws, KS sees the steps with {_SIMULATIONS} simulations. Spread each "
        "rank over its own step by chance, and the p-values are valid.",
    ),
    _Way(
        slider=Slider(
            "share", SHARES, label="Correlation of two scores at one x", form="{:g}", start=0.75
        ),
        setting="correlation {:g}",
        title="Same x twice",
        short="same x",
        wrong="Multiple, same x",
        right="Multiple, own x",
        words="p's sample and q's have the same x. What x adds to the scores then cancels: the "
        "more it is, the narrower is the null than Multiple assumes. It rejects too seldom, and "
        "misses small errors of q. Give each side x of its own.",
    ),
    _Way(
        slider=Slider("folds", FOLDS, label="Folds", form="{:g}", start=5),
        setting="{:g} folds",
        title="Dependent folds",
        short="folds",
        wrong="C2ST over folds",
        right="C2ST, one half held out",
        words=f"Cross-validation of {_NEIGHBOURS} nearest neighbours calls each of {2 * _N} "
        "points right or wrong. The calls depend on one another, as each point also trains. "
        "The binomial cut-off counts them as independent. More folds do not help; a held-out "
        "half does.",
    ),
    _Way(
        slider=Slider("m", SIZES, label="Calibration points, m", form="{:g}", start=50),
        setting="m = {:g}",
        title="One calibration set",
        short="calibration",
        wrong="KS, shared calibration",
        right="Multiple, same points",
        words=f"All {_TEST} test points are ranked among the same m points. An unlucky set "
        "moves all ranks together, and KS takes that for an error of q. The variance of "
        "Multiple knows of the shared set; Uniform needs a fresh set for each test point.",
    ),
)
_TRIALS = Slider("trials", TRIALS_SHOWN, label="Trials", form="{:g}", play=True, rate=10)
_SPREAD = Slider(
    "sigma",
    _SIGMAS,
    label="True sd of the null, in assumed ones",
    start=1.0,
    ends=("narrower", "wider"),
    play=True,
)


@dataclass(frozen=True, kw_only=True)
class FourWaysStudy(LessonStudy[_FourWaysResult], spec="lesson_four_ways"):
    """Two-dimensional normals; only the nearest neighbours of the third way are trained."""

    name = "four-ways"
    number = 5
    title = "Four ways to fool yourself"
    short = "Pitfalls"
    question = "q is correct. How often does a test at the 5% level say it is wrong?"
    minutes = 8
    sliders = (_TRIALS, *(way.slider for way in WAYS), _SPREAD)
    papers = (C2ST.paper,)
    onwards = FollowUp(label="Valid tests of my own table")

    def compute(self, store: Store, report: Report) -> _FourWaysResult:
        """Run every way on its own stream."""
        ranks = _ranks(stream(self.seed, "ranks"))
        report(0.1, {})
        same_x, of_x = _same_x(stream(self.seed, "same x"))
        report(0.2, {})
        calibration = _calibration(stream(self.seed, "calibration"))
        report(0.4, {})
        folds, of_folds = _folds(stream(self.seed, "folds"))
        pvalues = np.stack([ranks, same_x, folds, calibration])
        return _FourWaysResult(pvalues.astype(np.float32), np.stack([of_x, of_folds]))

    def prediction(self, result: _FourWaysResult) -> Prediction:
        counts = cumulative_rejections(result)
        sizes = [100 * counts[w, 0, way.at, -1] / TRIALS for w, way in enumerate(WAYS)]
        guesses = [way.guess(size) for way, size in zip(WAYS, sizes, strict=True)]
        return Prediction(
            asked=guesses,
            answer=sentence(
                "You said "
                + ", ".join(f"{{{guess.name}}}" for guess in guesses)
                + f"; measured on {TRIALS} trials: "
                + ", ".join(f"{size:.1f}%" for size in sizes)
                + ". Each would be 5%, but for chance, if the test were exact.",
                **{guess.name: guess.words for guess in guesses},
            ),
        )

    def stages(self, result: _FourWaysResult) -> list[Stage]:
        counts = cumulative_rejections(result)
        settings = {way.slider.name: way.slider.first for way in WAYS}
        return [
            Stage(
                title="Predict",
                words="Four habits, each common in papers and in code. In all of them q is "
                "correct, so a 5% test should reject in 5 of 100 trials. Drag each bar to the "
                "share that you expect.",
                panels=[0],
                at={"trials": 0, **settings},
                beats=[Beat(seconds=5.0)],
            ),
            Stage(
                title="Reveal",
                words=sentence(
                    "Trials: {trials}. False alarms, wrong → right way on the same draws: "
                    + "; ".join(f"{way.title} {{{way.slider.name}}}" for way in WAYS)
                    + ". (5% is right.)",
                    trials=_TRIALS.words,
                    **{
                        way.slider.name: over(_both(counts[w, :, way.at]), "trials")
                        for w, way in enumerate(WAYS)
                    },
                ),
                panels=[0],
                sliders=["trials"],
                at={"trials": TRIALS, **settings},
                beats=run_through(_TRIALS, 8.0),
            ),
            *(
                Stage(
                    title=f"Break {w + 1}: {way.short}",
                    words=sentence(
                        f"{way.words} {way.wrong}: {{wrong}}. {way.right}: {{right}}.",
                        wrong=over(_sizes(counts[w, 0]), way.slider.name, "trials"),
                        right=over(_sizes(counts[w, 1]), way.slider.name, "trials"),
                    ),
                    panels=[2 * w + 1, 2 * w + 2],
                    sliders=[way.slider.name, "trials"],
                    at={"trials": TRIALS},
                    beats=[
                        *run_through(_TRIALS, 3.5, begin=0.5),
                        *run_through(way.slider, 3.0, begin=2.0),
                    ],
                )
                for w, way in enumerate(WAYS)
            ),
            Stage(
                title="Why",
                words="Each test compares a statistic with the null of another one. Where the "
                "true null is wider than the assumed one, a correct q is rejected too often; "
                "where it is narrower, too seldom.",
                panels=[9, 10],
                sliders=["sigma"],
                formula=Formula(
                    latex=r"\text{size} = 1 - \Phi\left(\frac{1.645}{\text{@sigma}}\right)"
                    r" = \text{@size}",
                    values={
                        "sigma": _SPREAD.words,
                        "size": written(actual_size(_SIGMAS), "{:.1%}", "sigma"),
                    },
                    source="normal limit of C2ST: Lopez-Paz, Oquab (2017), Section 3; of "
                    "Multiple: Bansal, Chen, Scott (2025), Section 4",
                ),
                beats=[Beat(at={"sigma": 0.35}), Beat(at={"sigma": 1.3}, seconds=5.0)],
            ),
            Stage(
                title="What it does not tell",
                words="The size says nothing about power: a valid test may still see little. "
                "And a size near 5% here is no promise for another n, K or classifier: measure "
                "it again where you work, with draws for which q is correct.",
                panels=[0],
                sliders=["trials"],
                at={"trials": TRIALS},
            ),
        ]

    def panels(self, result: _FourWaysResult) -> list[Panel]:
        counts = cumulative_rejections(result)
        return [
            _overview(counts),
            *(
                panel
                for w, way in enumerate(WAYS)
                for panel in (_pvalues(result.pvalues[w], way), _rates(counts[w], way))
            ),
            _curves(),
            _spreads(result, counts),
        ]


def _ranks(rng: np.random.Generator) -> Array:
    """P-values (2, 5, T) of KS on R / K, and on the randomised rank, among K draws."""
    out = np.empty((2, len(KS), TRIALS))
    for i, k in enumerate(KS):
        theta = rng.standard_normal((TRIALS, _SIMULATIONS))
        below, equal = NormalLaw(0.0).counts(theta, k, rng)
        out[0, i] = statistics.ks(below / k).pvalue
        out[1, i] = statistics.ks(statistics.randomised_ranks(below, equal, k, rng)).pvalue
    return out


def _same_x(rng: np.random.Generator) -> tuple[Array, Array]:
    """P-values (2, 5, T) of Multiple with q at p's x, and at x of its own; sd of its T (5,)."""
    out, spread = np.empty((2, len(SHARES), TRIALS)), np.empty(len(SHARES))
    drawn = sampling.blocks(Boundary(), 0.0, TRIALS * _N, TRIALS * _N, rng)
    for i, share in enumerate(SHARES):
        score = LinearBoundary(offset=-MIDPOINT, angle=np.arcsin(np.sqrt(share)))
        p, shared, fresh = (
            score(theta, x).reshape(TRIALS, _N)
            for theta, x in (
                (drawn.p.theta, drawn.p.x),
                (drawn.q.theta, drawn.p.x),
                (drawn.q.theta, drawn.q.x),
            )
        )
        wrong, right = (statistics.multiple(p, q, rng) for q in (shared, fresh))
        out[:, i] = wrong.pvalue, right.pvalue
        spread[i] = wrong.statistic.std()
    return out, spread


def _folds(rng: np.random.Generator) -> tuple[Array, Array]:
    """P-values (2, 5, T) of C2ST over all folds, and on one held-out half; sd of z (5,)."""
    points = rng.standard_normal((TRIALS, 2 * _N, 2))  # the first _N are p's
    place = np.arange(2 * _N)
    votes, held = np.empty((len(FOLDS), TRIALS, 2 * _N)), place % _N >= _N // 2
    half = np.empty((TRIALS, _N))
    for t, rows in enumerate(points):
        for i, folds in enumerate(FOLDS):
            for fold in range(folds):
                votes[i, t, place % folds == fold] = _votes(rows, place % folds == fold)
        half[t] = _votes(rows, held)
    naive, right = (
        statistics.c2st(each[..., :n], each[..., n:]) for each, n in ((votes, _N), (half, _N // 2))
    )
    spread = (naive.accuracy - 0.5).std(-1) * np.sqrt(8 * _N)
    return np.stack([naive.pvalue, np.broadcast_to(right.pvalue, naive.pvalue.shape)]), spread


def _votes(rows: Array, held: NDArray[np.bool_]) -> Array:
    """Share of p among the nearest neighbours of each held-out row, minus one half."""
    is_p = (np.arange(2 * _N) < _N)[~held]
    _, nearest = cKDTree(rows[~held]).query(rows[held], k=_NEIGHBOURS)
    return np.asarray(is_p[nearest].mean(-1) - 0.5)


def _calibration(rng: np.random.Generator) -> Array:
    """P-values (2, 5, T) of KS with one calibration set, and of Multiple on the same points."""
    test = rng.standard_normal((TRIALS, _TEST))
    all_calibration = rng.standard_normal((TRIALS, max(SIZES)))
    out = np.empty((2, len(SIZES), TRIALS))
    for i, m in enumerate(SIZES):
        calibration = all_calibration[:, :m]
        shared = np.broadcast_to(calibration[:, None], (TRIALS, _TEST, m))
        out[0, i] = statistics.ks(statistics.conformal_ranks(test, shared, rng)).pvalue
        out[1, i] = statistics.multiple(calibration, test, rng).pvalue
    return out


def cumulative_rejections(result: _FourWaysResult) -> Array:
    """Rejections at the 5% level (4, 2, 5, V) after each number of trials in `TRIALS_SHOWN`."""
    return sums_so_far(result.pvalues <= ALPHA, axis=-1)[..., list(TRIALS_SHOWN)]


def actual_size(sigma: Array) -> Array:
    """Size of a one-sided 5% test whose standard normal statistic has this sd instead."""
    return np.asarray(ndtr(-ndtri(1 - ALPHA) / sigma))


def _both(counts: Array) -> list[str]:
    """Shares (2, V) rejected by the wrong test and by the right one, as text."""
    return [
        f"{wrong / t:.1%} → {right / t:.1%}" if t else "no trial yet"
        for wrong, right, t in zip(*counts, TRIALS_SHOWN, strict=True)
    ]


def _sizes(counts: Array) -> list[list[str]]:
    """Sizes with their 95% intervals, as text: (5, V)."""
    return [
        [_written(int(c), t) for c, t in zip(row, TRIALS_SHOWN, strict=True)] for row in counts
    ]


def _written(count: int, trials: int) -> str:
    if not trials:
        return "no trial yet"
    low, high = map(float, statistics.wilson(count, trials))
    return f"{count} of {trials} rejected, {interval_text((count / trials, low, high), '.1%')}"


def _dots(x: Array, counts: Array, look: MethodStyle) -> Points:
    """Rates of counts (V, points) after each number of trials; none before the first."""
    rates = Rates.of(counts, np.array(TRIALS_SHOWN)[:, None])
    return rate_points(x, rates, look, "trials", size=8)


_WRONG = MethodStyle(style.OBSERVED, "", "square")
_RIGHT = MethodStyle(style.P, "", "circle")
_KEYS = (*curve_keys({"done wrong": _WRONG, "done right, on the same draws": _RIGHT}),)


def _overview(counts: Array) -> Panel:
    at = np.array([counts[w, :, way.at] for w, way in enumerate(WAYS)])  # (4, 2, V)
    place = np.arange(len(WAYS))
    return Panel(
        [
            level_line(ALPHA),
            *(
                _dots(place + by, at[:, i].T, look)
                for i, (by, look) in enumerate(((-0.12, _WRONG), (0.12, _RIGHT)))
            ),
        ],
        title="Rejected although q is correct",
        caption="Lines: 95% intervals.",
        x=Axis((-0.5, 3.5), ticks=place, names=[way.short for way in WAYS]),
        y=rejection_axis(0.6),
        height=330,
        legend=_KEYS,
    )


def _pvalues(pvalues: Array, way: _Way) -> Panel:
    """Panel of the p-values so far: (2, 5, T)."""
    bins = len(_BINS) - 1
    places = np.minimum((pvalues * bins).astype(int), bins - 1)
    shown = counts_so_far(np.moveaxis(places, -1, 0), bins)[list(TRIALS_SHOWN)]
    counts = np.moveaxis(shown, 0, 2)  # (2, 5, V, bins)
    fair = TRIALS / bins
    top = min(6 * fair, 1.05 * float(counts.max()))
    middle = (_BINS[1:] + _BINS[:-1]) / 2
    return Panel(
        [
            Bars(
                _BINS,
                over(np.minimum(counts[0], int(top)), way.slider.name, "trials"),
                color=style.OBSERVED,
            ),
            Points(middle, over(counts[1], way.slider.name, "trials"), color=style.P, size=5),
            Line(
                [0, 1],
                over(np.repeat(np.array(TRIALS_SHOWN)[:, None] / len(middle), 2, 1), "trials"),
                color=style.NULL,
                dash="4 3",
                width=1.5,
            ),
        ],
        title="p-values so far",
        caption="Flat if the test is exact. The first bar is what a 5% test rejects; "
        "bars higher than the panel are cut.",
        x=Axis((0, 1), "p-value"),
        y=Axis((0, top), "trials"),
        height=260,
        legend=((way.wrong, style.OBSERVED, "square"), (way.right, style.P, "circle")),
    )


def _rates(counts: Array, way: _Way) -> Panel:
    """Panel of the sizes of all settings: (2, 5, V)."""
    place = np.arange(len(way.slider.grid))
    return Panel(
        [
            level_line(ALPHA),
            VLine(over(place * 1.0, way.slider.name), color=style.rgba(style.NULL, 0.3), width=14),
            *(
                _dots(place + by, counts[i].T, look)
                for i, (by, look) in enumerate(((-0.1, _WRONG), (0.1, _RIGHT)))
            ),
        ],
        title="Share rejected, with 95% intervals",
        x=Axis((-0.5, 4.5), way.slider.label, ticks=place, names=way.slider.shown),
        y=rejection_axis(min(1.0, max(0.15, 1.06 * float(counts[0, :, -1].max() / TRIALS)))),
        height=240,
        legend=_KEYS,
    )


def _curves() -> Panel:
    z = np.linspace(-4, 4, 161)
    true = norm.pdf(z / _SIGMAS[:, None]) / _SIGMAS[:, None]
    beyond = np.where(z >= ndtri(1 - ALPHA), true, 0)
    return Panel(
        [
            Line(z, over(beyond, "sigma", coarse=True), color=style.OBSERVED, width=0, fill=0.5),
            Line(z, norm.pdf(z), color=style.NULL, dash="4 3"),
            Line(z, over(true, "sigma", coarse=True), color=style.OBSERVED),
            VLine(ndtri(1 - ALPHA), label="rejects from here"),
        ],
        title="The assumed null and the true one",
        x=Axis((-4, 4), "statistic, in assumed sds"),
        y=Axis((0, 1.0), hidden=True),
        height=250,
        legend=[("assumed", style.NULL, "dash"), ("true", style.OBSERVED, "line")],
    )


def _spreads(result: _FourWaysResult, counts: Array) -> Panel:
    points = [
        Points(spread, counts[w, 0, :, -1] / TRIALS, color=color, symbol=symbol, size=8)
        for w, spread, color, symbol in zip(
            (1, 2), result.spread, (style.P, style.Q), ("circle", "diamond"), strict=True
        )
    ]
    return Panel(
        [
            level_line(ALPHA),
            Line(_SIGMAS, actual_size(_SIGMAS), color=style.NULL),
            *points,
            VLine(over(_SIGMAS, "sigma"), color=style.OBSERVED),
        ],
        title="Size by the spread of the null",
        caption=f"Points: measured in {TRIALS} trials. Line: the formula.",
        x=Axis((0.2, 2.0), "sd of the true null, in assumed ones"),
        y=rejection_axis(0.22),
        height=240,
        legend=[
            ("same x twice", style.P, "circle"),
            ("dependent folds", style.Q, "diamond"),
            LEVEL_KEY,
        ],
    )
