"""Lesson 8: the symmetric divergence, a mean over pairs of draws, counted in nats."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm
from scipy.stats import t as student

from validation_core import sampling, statistics
from validation_core.bayes import two_stage_normal
from validation_core.benchmarks import Boundary, Gaussian
from validation_core.benchmarks.boundary import GAMMA
from validation_core.drawing import style
from validation_core.drawing.marks import (
    Axis,
    Band,
    Bars,
    HLine,
    Line,
    Panel,
    Points,
    Slider,
    over,
    sentence,
    written,
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
from validation_core.lessons.study import LessonStudy
from validation_core.methods import SKL
from validation_core.rng import common, stream
from validation_core.scores.log_ratio import Ratio
from validation_core.shared_arrays import read_only
from validation_core.statistics import divergence_mean, divergence_rows
from validation_core.store import Store
from validation_core.study import Report
from validation_core.types import Array, Benchmark

GAMMAS = tuple(round(0.1 * step, 1) for step in range(11))
PAIRS = tuple(int(n) for n in np.unique(np.geomspace(2, 2000, 40).round()))
KINDS = ("mean moved by gamma sd", "variance times 1 + gamma")
MS = (1, 2, 3, 5, 10, 20, 50)
"""Draws of q that are weighed."""
WEIGHED = 20_000
"""Pairs behind each of their bounds."""
FREEDOMS = (20.0, 10.0, 8.0, 6.0, 5.0, 4.0, 3.0, 2.5)
"""Degrees of freedom of a q with heavy tails; the variance of d is infinite from 4 down."""
REPEATS, EACH = 2000, 100
"""Intervals, and pairs behind each of them, for every degree of freedom."""
_SHOWN = 60  # of the intervals
_BINS = np.linspace(-3, 3, 41)
_GRID = np.linspace(-4, 4, 161)


class _Divergences(NamedTuple):
    """Terms d of Algorithms 1 and 4, for 2 kinds of error, G gammas, V numbers of pairs."""

    means: Array
    """(3, 2, G, V) mean of the first pairs' d, in nats, and its interval's ends."""
    last: Array
    """(2, G, V, 2) theta and theta' of the last pair, in sd of p about its mean."""
    ratios: Array
    """(2, G, _GRID) log p - log q there."""
    weighed: Array
    """(M, 3) bound, and its interval's ends, for the two-stage normal, a second example."""
    picked: Array
    """(M, bins) of its draws picked by weight, each less the posterior's mean."""
    heavy: Array
    """(F, _SHOWN, 3) divergence and interval by EACH pairs, of the first repeats."""
    holding: Array
    """(F,) of all repeats, how many intervals hold the divergence."""
    below: Array
    """(F,) how many lie wholly below it."""


def benchmark_of_kind(kind: int) -> Benchmark:
    """The benchmark with this kind of error of q."""
    wide = Gaussian(perturbation="covariance_scaling", dim_x=1, dim_theta=1)
    return (Boundary(), wide)[kind]


def exact_divergence(kind: int, gamma: float) -> float:
    """Symmetric divergence of the two normals in nats, the same at every x."""
    return (gamma**2, gamma**2 / (2 * (1 + gamma)))[kind]


_PAIRS = Slider(
    "pairs", PAIRS, label="Pairs of draws", form="{:,.0f}", start=PAIRS[10], play=True, rate=8
)
_GAMMA = Slider(
    "gamma", GAMMAS, label="Strength, gamma", form="{:g}", start=GAMMA, ends=("q = p", "")
)
_KIND = Slider("kind", range(2), label="Error of q", names=KINDS)
_WEIGHED = Slider("m", MS, label="Draws weighed, M", form="{:g}", play=True, rate=2)
_FREEDOM = Slider(
    "freedom",
    range(len(FREEDOMS)),
    label="Degrees of freedom of q",
    names=[f"{freedom:g}" for freedom in FREEDOMS],
    ends=("nearly normal", "heavy tails"),
    play=True,
    rate=2,
)
_EXACT = np.array([[exact_divergence(kind, g) for g in GAMMAS] for kind in range(len(KINDS))])


@dataclass(frozen=True, kw_only=True)
class NumberWithUnits(LessonStudy[_Divergences], spec="lesson_number_with_units"):
    """Pairs of draws at simulated x: of q, of q with importance weights, of a heavy-tailed q."""

    name = "number-with-units"
    number = 8
    title = "A number with units"
    short = "Nats"
    question = "How wrong is q, as a number that means something?"
    minutes = 7
    sliders = (_PAIRS, _GAMMA, _KIND, _WEIGHED, _FREEDOM)
    papers = (SKL.paper,)
    onwards = FollowUp(page="divergence/page.py", label="Measure inference on real models")

    def compute(self, store: Store, report: Report) -> _Divergences:
        """Draw the pairs; neighbouring gammas share their random numbers."""
        n, at = PAIRS[-1], np.array(PAIRS) - 1
        d = np.empty((len(KINDS), len(GAMMAS), n))
        last = np.empty((len(KINDS), len(GAMMAS), len(PAIRS), 2))
        ratios = np.empty((len(KINDS), len(GAMMAS), len(_GRID)))
        for kind in range(len(KINDS)):
            family = benchmark_of_kind(kind)
            for g, gamma in enumerate(GAMMAS):
                rng = common(self.seed, "pairs", kind)
                drawn = sampling.table(family, gamma, n, 1, rng)
                ratio = Ratio(family, gamma)
                d[kind, g] = _terms(ratio, drawn.theta, drawn.q[:, 0], drawn.x)
                for side, theta in enumerate((drawn.theta, drawn.q[:, 0])):
                    last[kind, g, :, side] = _standard(family, theta[at], drawn.x[at])
                x = np.repeat(drawn.x[:1], len(_GRID), axis=0)
                ratios[kind, g] = ratio(_placed(family, _GRID, x), x)
        q = two_stage_normal.TwoStageNormal()
        rng = stream(self.seed, "weighed")
        weighed, picked = _weighed(rng, q.shift, q.variance, two_stage_normal.POSTERIOR)
        intervals, tails = heavy_tailed_intervals(self.seed), _tails()
        return _Divergences(
            means=_prefixes(d),
            last=last,
            ratios=ratios,
            weighed=weighed,
            picked=picked,
            heavy=intervals[:, :_SHOWN],
            holding=_covers(intervals, tails).sum(-1),
            below=(intervals[..., 2] < tails[:, None]).sum(-1),
        )

    def prediction(self, result: _Divergences) -> Prediction:
        truth = exact_divergence(0, GAMMA)
        guess = NumberGuess(
            label="Divergence of a shift by half a standard deviation, nats",
            truth=truth,
            values=np.round(np.linspace(0, 1, 101), 2),
            form="{:.2f} nats",
            start=0.5,
        )
        return Prediction(
            asked=[guess],
            answer=sentence(
                f"You said {{said}}; it is {truth:.2f}. {{comment}}",
                said=guess.words,
                comment=over(
                    np.where(
                        abs(np.asarray(guess.values) - truth) > 0.05,
                        "For a shift, the divergence is the square of the shift in standard "
                        "deviations.",
                        "Close: it is the square of the shift in standard deviations.",
                    ),
                    "guess",
                ),
            ),
        )

    def stages(self, result: _Divergences) -> list[Stage]:
        mean, least, most = result.means
        estimate = written(mean, "{:.3f}", "kind", "gamma", "pairs")
        reach = written((most - least) / 2, "{:.3f}", "kind", "gamma", "pairs")
        closed = written(_EXACT, "{:.3f}", "kind", "gamma")
        share = result.holding / REPEATS
        low, high = statistics.wilson(result.holding, np.full(len(FREEDOMS), REPEATS))
        return [
            Stage(
                title="Predict",
                words="The posterior p is blue; q, orange, is half a standard deviation off. "
                "The divergence asks how differently p and q judge draws of each other: 0 nats if "
                "q were correct, without an upper end. How many nats is this q away?",
                panels=[0],
                at={"gamma": GAMMA, "kind": 0, "pairs": PAIRS[10]},
                beats=[Beat(at={"gamma": 1.0}), Beat(at={"gamma": GAMMA})],
            ),
            Stage(
                title="Reveal",
                words=sentence(
                    "At each simulated x draw θ from p and θ′ from q, and take the difference d "
                    "of log p − log q. The mean over {pairs} pairs is {mean} ± {reach} nats; the "
                    "closed form says {closed}. More pairs, and the interval shrinks.",
                    pairs=_PAIRS.words,
                    mean=estimate,
                    reach=reach,
                    closed=closed,
                ),
                panels=[1, 0],
                sliders=["pairs", "gamma", "kind"],
                at={"pairs": PAIRS[-1], "gamma": GAMMA, "kind": 0},
                beats=[
                    *run_through(_PAIRS, 9.0),
                    Beat(at={"gamma": 1.0}, seconds=4.0),
                    Beat(at={"kind": 1}, seconds=4.0),
                ],
            ),
            Stage(
                title="What a nat means",
                words=sentence(
                    "Someone mixes up θ and θ′. Who knows p and q can bet which is p's: on "
                    "average the log odds are {closed} nats, odds of {odds} to 1 (geometric "
                    "mean). As much as a shift by {shift} posterior standard deviations.",
                    closed=closed,
                    odds=written(np.exp(_EXACT), "{:.2f}", "kind", "gamma"),
                    shift=written(np.sqrt(_EXACT), "{:.2f}", "kind", "gamma"),
                ),
                panels=[2, 0],
                sliders=["gamma", "kind"],
                at={"gamma": 0.5, "kind": 0},
                beats=[Beat(at={"gamma": 0.1}), Beat(at={"gamma": 1.0}, seconds=5.0)],
            ),
            Stage(
                title="Improve q",
                words=sentence(
                    "Take M draws of the q that is half a standard deviation off, weigh each by "
                    "p / q, and pick one by its weight: a better q. {left}",
                    left=over(_left(self.seed), "m"),
                ),
                panels=[3, 4],
                sliders=["m"],
                at={"m": 1},
                beats=[Beat(seconds=3.0), Beat(at={"m": MS[-1]}, seconds=8.0)],
            ),
            Stage(
                title="Break it",
                words=sentence(
                    "Now q is Student's t with {freedom} degrees of freedom: {variance}. "
                    f"Intervals of {EACH} pairs should hold the divergence, {{truth}} nats, in "
                    "95 of 100 repeats; they do in {share} ({low} to {high}). {below} of "
                    f"{REPEATS:,} lie wholly below it.",
                    freedom=_FREEDOM.words,
                    variance=over(
                        np.where(
                            np.array(FREEDOMS) > 4,
                            "d has a variance",
                            "the variance of d is infinite",
                        ),
                        "freedom",
                    ),
                    truth=written(_tails(), "{:.2g}", "freedom"),
                    share=written(share, "{:.1%}", "freedom"),
                    low=written(low, "{:.1%}", "freedom"),
                    high=written(high, "{:.1%}", "freedom"),
                    below=written(result.below, "{:,.0f}", "freedom"),
                ),
                panels=[5],
                sliders=["freedom"],
                at={"freedom": 0},
                beats=[Beat(seconds=3.0), Beat(at={"freedom": len(FREEDOMS) - 1}, seconds=10.0)],
            ),
            Stage(
                title="Why",
                words="r = log p(θ, x) − log q(θ | x) differs from log p − log q of the posterior "
                "by log p(x) alone, which is the same for θ and θ′ at one x and cancels. The mean "
                "of what is left is KL(p‖q) + KL(q‖p), by the definition of each.",
                panels=[0, 1],
                sliders=["pairs", "gamma"],
                at={"kind": 0, "gamma": GAMMA},
                formula=Formula(
                    latex=r"\frac{1}{\text{@n}} \sum [r(\theta) - r(\theta')] ="
                    r"\text{@mean} \pm \text{@reach}",
                    values={"n": _PAIRS.words, "mean": estimate, "reach": reach},
                    source="Domke (2021), Algorithm 1",
                ),
                beats=run_through(_PAIRS, 8.0),
            ),
            Stage(
                title="What it does not tell",
                words="It does not tell where q is wrong: a shift and a wrong width can have the "
                "same nats. It needs the density of q, and q's tails decide how far its interval "
                "can be trusted.",
                panels=[2],
                sliders=["gamma", "kind"],
            ),
        ]

    def panels(self, result: _Divergences) -> list[Panel]:
        return [
            _pair(result),
            _mean(result.means),
            _equal(),
            _bound(_shifted(self.seed)[0]),
            _picked(_shifted(self.seed)[1]),
            _intervals(result.heavy, _tails()),
        ]


def _terms(ratio: Ratio, truth: Array, draw: Array, x: Array) -> Array:
    """Terms d (n,) from one draw theta' of q for each theta of p, at the same x."""
    return divergence_rows.weighted(ratio(truth, x), ratio(draw, x)[:, None], 1)


def _standard(family: Benchmark, theta: Array, x: Array) -> Array:
    if isinstance(family, Gaussian):
        return family.whiten(theta - family.mean(x), x)[:, 0]
    return theta[:, 0]


def _placed(family: Benchmark, z: Array, x: Array) -> Array:
    """theta (n, 1) at z standard deviations of p from its mean."""
    if isinstance(family, Gaussian):
        sd = np.sqrt(family.scale(x)) * family.fixed.chol[0, 0]
        return np.asarray(family.mean(x) + (z * sd)[:, None])
    return z[:, None]


@cache
@read_only
def _shifted(seed: int) -> tuple[Array, Array]:
    """Bounds and histograms of the q of the other stages; a fraction of a second."""
    return _weighed(stream(seed, "weighed", "shifted"), GAMMA, variance=1.0, posterior=1.0)


def _left(seed: int) -> list[str]:
    """The divergence of q, and of what is left of it with M draws weighed, in words."""
    bounds, _ = _shifted(seed)
    words = []
    for m, (mean, low, high) in zip(MS, bounds, strict=True):
        interval = f"(95% interval {low:.3f} to {high:.3f}, {WEIGHED:,} pairs)"
        words.append(
            f"With M = {m} at most {mean:.3f} nats are left {interval}."
            if m > 1
            else f"M = 1 is q itself: estimated {mean:.3f} nats {interval}, exactly "
            f"{exact_divergence(0, GAMMA):.3f}."
        )
    return words


def _weighed(
    rng: np.random.Generator, shift: float, variance: float, posterior: float
) -> tuple[Array, Array]:
    """Bounds (M, 3), and histograms (M, bins) of q with M draws weighed, by Algorithm 4.

    Args:
        rng: of the draws.
        shift: of q's mean from the posterior's, which is 0.
        variance: of q.
        posterior: the posterior's variance.
    """
    drawn = shift + np.sqrt(variance) * rng.standard_normal((2, WEIGHED, MS[-1]))
    drawn[0, :, 0] = np.sqrt(posterior) * rng.standard_normal(WEIGHED)
    log_p = norm.logpdf(drawn, 0, np.sqrt(posterior))
    weights = np.asarray(log_p - norm.logpdf(drawn, shift, np.sqrt(variance)))
    bounds = divergence_mean.means(divergence_rows.importance_weighted(weights[0], weights[1], MS))
    # The largest of log weights and standard Gumbels is at draw i with chance w_i / sum of w.
    chance = weights[1] + rng.gumbel(size=weights[1].shape)
    picked = np.empty((len(MS), len(_BINS) - 1))
    for i, m in enumerate(MS):
        best = chance[:, :m].argmax(-1)
        picked[i] = np.histogram(drawn[1, np.arange(WEIGHED), best], _BINS)[0]
    return np.stack(bounds, -1), picked


def heavy_tailed_benchmark() -> Gaussian:
    """The benchmark whose q is Student's t with 1 / gamma degrees of freedom."""
    return Gaussian(perturbation="heavy_tail", dim_x=1, dim_theta=1)


def heavy_tailed_intervals(seed: int) -> Array:
    """Divergence and interval from EACH pairs: (F, REPEATS, 3)."""
    intervals = np.empty((len(FREEDOMS), REPEATS, 3))
    for i, freedom in enumerate(FREEDOMS):
        rng = common(seed, "heavy")
        drawn = sampling.table(heavy_tailed_benchmark(), 1 / freedom, REPEATS * EACH, 1, rng)
        ratio = Ratio(heavy_tailed_benchmark(), 1 / freedom)
        d = _terms(ratio, drawn.theta, drawn.q[:, 0], drawn.x).reshape(REPEATS, EACH)
        intervals[i] = np.stack(divergence_mean.means(d), -1)
    return intervals


def heavy_tailed_exact_divergence(freedom: float) -> float:
    """Symmetric divergence of N(0, 1) and Student's t in nats, by the trapezoidal rule."""
    # theta = sinh v: the integrand falls exponentially in v, where the rule is all but exact.
    v = np.linspace(-40.0, 40.0, 40_001)
    theta = np.sinh(v)
    p, q = norm.logpdf(theta), student.logpdf(theta, freedom)
    return float(np.trapezoid((np.exp(p) - np.exp(q)) * (p - q) * np.cosh(v), v))


def _tails() -> Array:
    return np.array([heavy_tailed_exact_divergence(freedom) for freedom in FREEDOMS])


def _prefixes(d: Array) -> Array:
    """Mean and interval of the first n of d (..., N), for each n of PAIRS: (3, ..., V)."""
    return np.stack([np.stack(divergence_mean.means(d[..., :n])) for n in PAIRS], -1)


def _covers(intervals: Array, truth: Array) -> NDArray[np.bool_]:
    low, high = intervals[..., 1], intervals[..., 2]
    return np.asarray((low <= truth[:, None]) & (truth[:, None] <= high))


def _pair(result: _Divergences) -> Panel:
    """Panel of p, q, their log ratio and the last pair on it, whose difference is d."""
    heights = np.interp(result.last, _GRID, np.arange(len(_GRID)))
    place = heights.round().astype(int)
    ratio = np.take_along_axis(result.ratios[:, :, None, :], place, -1)
    q = np.exp(norm.logpdf(_GRID) - result.ratios)
    thin = slice(None, None, 4)
    return Panel(
        [
            Line(_GRID[thin], 3 * norm.pdf(_GRID[thin]) - 3, color=style.P, fill=0.12),
            Line(
                _GRID[thin],
                over(3 * q[..., thin] - 3, "kind", "gamma", coarse=True),
                color=style.Q,
                fill=0.12,
            ),
            Line(
                _GRID[thin],
                over(result.ratios[..., thin], "kind", "gamma", coarse=True),
                color=style.NULL,
            ),
            *(
                Points(
                    over(result.last[..., side, None], "kind", "gamma", "pairs", coarse=True),
                    over(ratio[..., side, None], "kind", "gamma", "pairs", coarse=True),
                    color=color,
                    size=11,
                    symbol=symbol,
                )
                for side, (color, symbol) in enumerate(((style.P, "circle"), (style.Q, "diamond")))
            ),
        ],
        title="The last pair on the line log p − log q",
        caption="Below: the densities of p and q, scaled.",
        x=Axis((-4, 4), "θ, in posterior standard deviations"),
        y=Axis((-3.1, 3.6), "nats", ticks=[-2, 0, 2]),
        height=300,
        legend=[
            ("θ from p", style.P, "circle"),
            ("θ′ from q", style.Q, "diamond"),
            ("log p − log q", style.NULL, "line"),
        ],
    )


def _mean(means: Array) -> Panel:
    at = np.log10(PAIRS)
    so_far = np.where(np.arange(len(at)) <= np.arange(len(at))[:, None], at, np.nan)
    mean, low, high = (over(each, "kind", "gamma", coarse=True) for each in means)
    ends = [over(each[..., None], "kind", "gamma", "pairs", coarse=True) for each in means]
    return Panel(
        [
            HLine(0, color=style.NULL, dash="", width=1),
            Band(over(so_far, "pairs"), low, high, color=style.OBSERVED),
            HLine(over(_EXACT, "kind", "gamma")),
            Line(over(so_far, "pairs"), mean, color=style.OBSERVED, width=1.5),
            Points(
                over(at[:, None], "pairs"),
                ends[0],
                low=ends[1],
                high=ends[2],
                color=style.OBSERVED,
                size=8,
            ),
        ],
        title="Mean of d over the pairs so far",
        x=Axis.of_logarithms((at[0] - 0.05, at[-1] + 0.05), "pairs", (2, 10, 100, 1000)),
        y=Axis((-0.5, 2), "nats"),
        height=300,
        legend=[("mean and 95% interval", style.OBSERVED, "circle"), ("closed form", "", "dash")],
    )


def _equal() -> Panel:
    """Panel of two normals with the same divergence in nats as p and q."""
    grid = _GRID[::2]
    return Panel(
        [
            Line(grid, norm.pdf(grid), color=style.P, fill=0.15),
            Line(
                grid,
                over(norm.pdf(grid - np.sqrt(_EXACT)[..., None]), "kind", "gamma", coarse=True),
                color=style.NULL,
                fill=0.15,
            ),
        ],
        title="A shift of as many nats",
        x=Axis((-4, 4), "θ, in posterior standard deviations"),
        y=Axis((0, 0.45), "density"),
        height=300,
        legend=[("p", style.P, "line"), ("p, shifted by as many nats", style.NULL, "line")],
    )


def _bound(bounds: Array) -> Panel:
    at = np.arange(len(MS))
    points = [over(each[:, None], "m") for each in bounds.T]
    return Panel(
        [
            HLine(exact_divergence(0, GAMMA), label="q, closed form"),
            Line(at, bounds[:, 0], color=style.Q, width=1.5),
            Points(at, bounds[:, 0], color=style.Q, size=5),
            Points(
                over(at[:, None], "m"),
                points[0],
                low=points[1],
                high=points[2],
                color=style.OBSERVED,
                size=10,
            ),
        ],
        title="Divergence left at most",
        x=Axis((-0.3, at[-1] + 0.3), "draws weighed, M", ticks=at, names=_WEIGHED.shown),
        y=Axis((0, 0.3), "nats"),
        height=300,
        margin=80,
    )


def _picked(picked: Array) -> Panel:
    middle = (_BINS[1:] + _BINS[:-1]) / 2
    scale = WEIGHED * (_BINS[1] - _BINS[0])
    return Panel(
        [
            Bars(_BINS, over(picked / scale, "m"), color=style.Q),
            Line(middle, norm.pdf(middle), color=style.P),
        ],
        title="Draws picked by their weight",
        x=Axis((-3, 3), "θ, in posterior standard deviations"),
        y=Axis((0, 0.5), "density"),
        height=300,
        legend=[("q, weighed", style.Q, "square"), ("posterior p", style.P, "line")],
    )


def _intervals(first: Array, truth: Array) -> Panel:
    shown, inside = first / truth[:, None, None], _covers(first, truth)
    marks = []
    for which, color in ((inside, style.NULL), (~inside, style.OBSERVED)):
        middle, low, high = (
            over(np.where(which, shown[..., i], np.nan), "freedom", coarse=True) for i in range(3)
        )
        marks.append(Points(np.arange(_SHOWN), middle, low=low, high=high, color=color, size=4))
    return Panel(
        [HLine(1, dash="", width=2), *marks],
        title=f"The first {_SHOWN} of {REPEATS:,} intervals, {EACH} pairs each",
        caption="Intervals higher than the panel are cut.",
        x=Axis((-1, _SHOWN), "repeat"),
        y=Axis((-0.6, 4), "divergence, as a multiple of the true one"),
        height=300,
        legend=[
            ("holds the divergence", style.NULL, "circle"),
            ("misses it", style.OBSERVED, "circle"),
        ],
    )
