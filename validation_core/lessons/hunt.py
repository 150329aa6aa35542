"""Lesson 6: a ball that holds a fifth of q, moved by hand and then by gradient ascent."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import betabinom

from validation_core import statistics
from validation_core.benchmarks import Gaussian, Tree
from validation_core.drawing import style
from validation_core.drawing.marks import (
    Axis,
    Bars,
    HLine,
    Line,
    Panel,
    Points,
    Slider,
    VLine,
    formatted,
    over,
    sentence,
    written,
)
from validation_core.drawing.power_curves import LEVEL_KEY, level_line, rejection_axis
from validation_core.lessons.lesson import Beat, FollowUp, Formula, NumberGuess, Prediction, Stage
from validation_core.lessons.study import LessonStudy
from validation_core.methods import CoLT
from validation_core.rng import stream
from validation_core.store import Store
from validation_core.study import Report
from validation_core.text import said_equals
from validation_core.types import Array, Benchmark, Integers

PRESETS = ("additional mode", "tree", "nothing wrong")
NOTHING = PRESETS.index("nothing wrong")
_NAMES = ("additional mode", "tree", "nothing")  # as the slider has them
N, K, INSIDE = 100, 1999, 400
"""True values at one x, q's draws, and which of these, by distance, is on the ball's edge."""
MASS = INSIDE / (K + 1)
"""Mass of q in a ball, on average over q's draws: exactly a fifth."""
FRESH, STEPS, TRIALS, ALPHA = 10, 30, 200, 0.05
SIDE = 15
CENTRES = np.stack(np.meshgrid(*2 * [np.linspace(-2.1, 2.1, SIDE)]), axis=-1).reshape(-1, 2)
"""(SIDE**2, 2) where the ball may be put by hand, in q's standard deviations."""
_PILOT, _SHOWN, _FIRST, _H = 4000, 400, 0.15, 0.2
_CIRCLE = np.linspace(0, 2 * np.pi, 37)
AXIS_LIMIT = 3.2


class _HuntResult(NamedTuple):
    """P presets, V places of the ball, S steps uphill; theta in q's standard deviations."""

    draws: Array
    """(P, 400, 2) of q's K draws, those that are drawn."""
    truth: Array
    """(P, N, 2) true values used by the search."""
    fresh: Array
    """(P, FRESH, N, 2) true values not used by the search."""
    radius: Array
    """(P, V)."""
    inside: Integers
    """(P, V) true values in the ball."""
    fresh_inside: Integers
    """(P, FRESH, V)."""
    path: Array
    """(P, S, 2) centre of the ball that climbs."""
    path_radius: Array
    """(P, S)."""
    path_inside: Integers
    """(P, S)."""
    path_fresh: Integers
    """(P, FRESH, S)."""
    distance: Array
    """(P, S) the objective: W2 squared of ranks from uniform."""
    rejected: Integers
    """(P, 2) of TRIALS, by the best ball on the data that chose it, and on fresh data."""


@dataclass(frozen=True)
class BenchmarkAtX:
    """A benchmark at one x, with theta in q's standard deviations there."""

    benchmark: Benchmark
    gamma: float
    x: Array
    mean: Array
    sd: Array

    @classmethod
    def of(cls, preset: str, seed: int) -> BenchmarkAtX:
        """The benchmark of a preset; its mean and sd are estimated from separate draws."""
        bench: Benchmark = Gaussian(perturbation="additional_mode", dim_x=2, dim_theta=2)
        gamma = 0.3 if preset == "additional mode" else 0.0
        x = np.ones((1, 2))
        if preset == "tree":
            bench, gamma, x = Tree(), 4.0, np.ones((1, 1))
        pilot = bench.q(np.repeat(x, _PILOT, axis=0), gamma, stream(seed, "pilot", preset))
        return cls(bench, gamma, x, pilot.mean(0), pilot.std(0))

    def truth(self, n: int, rng: np.random.Generator) -> Array:
        """Draw true values (n, 2)."""
        theta = self.benchmark.theta(np.repeat(self.x, n, axis=0), self.gamma, rng)
        return np.asarray((theta - self.mean) / self.sd)

    def draws(self, n: int, rng: np.random.Generator) -> Array:
        """Draw from q (n, 2)."""
        theta = self.benchmark.q(np.repeat(self.x, n, axis=0), self.gamma, rng)
        return np.asarray((theta - self.mean) / self.sd)


_PRESET = Slider("preset", range(len(PRESETS)), label="What is wrong", names=_NAMES, start=NOTHING)
_PLACE = Slider("place", range(len(CENTRES)), label="Ball", start=112, hidden=True)
_FRESH = Slider(
    "fresh",
    range(FRESH + 1),
    label=f"Fresh batches of {N} true values",
    form="{:g}",
    play=True,
    rate=3,
)
_STEPS = Slider("steps", range(STEPS + 1), label="Steps uphill", form="{:g}", play=True, rate=6)


@dataclass(frozen=True, kw_only=True)
class Hunt(LessonStudy[_HuntResult], spec="lesson_hunt"):
    """Balls at one x, by hand and by ascent; and whether the best of them was luck."""

    name = "hunt"
    number = 6
    title = "Hunt by hand, then CoLT hunts"
    short = "Hunt"
    question = "You found a place where q is wrong: a find, or luck?"
    minutes = 8
    sliders = (_PRESET, _PLACE, _FRESH, _STEPS)
    papers = (CoLT.paper,)
    onwards = FollowUp(page="colt/page.py", label="CoLT's ball at every x")

    def compute(self, store: Store, report: Report) -> _HuntResult:
        """Draw true values and draws of q anew for each trial."""
        rows = []
        for i, preset in enumerate(PRESETS):
            rows.append(self._hunted(preset))
            report((i + 1) / len(PRESETS), {})
        return _HuntResult(*(np.stack(column) for column in zip(*rows, strict=True)))

    def _hunted(self, preset: str) -> _HuntResult:
        place = BenchmarkAtX.of(preset, self.seed)
        draws = place.draws(K, stream(self.seed, "draws", preset))
        truth = place.truth(N, stream(self.seed, "truth", preset))
        fresh = place.truth(FRESH * N, stream(self.seed, "fresh", preset)).reshape(FRESH, N, 2)
        path, distance = climb_objective(truth, draws)
        radius, path_radius = ball_radii(CENTRES, draws), ball_radii(path, draws)
        return _HuntResult(
            draws=draws[:_SHOWN],
            truth=truth,
            fresh=fresh,
            radius=radius,
            inside=count_inside(CENTRES, radius, truth),
            fresh_inside=np.stack([count_inside(CENTRES, radius, batch) for batch in fresh]),
            path=path,
            path_radius=path_radius,
            path_inside=count_inside(path, path_radius, truth),
            path_fresh=np.stack([count_inside(path, path_radius, batch) for batch in fresh]),
            distance=distance,
            rejected=self._rejected(place, preset),
        )

    def _rejected(self, place: BenchmarkAtX, preset: str) -> Integers:
        rejected = np.zeros(2, int)
        law = pvalues_by_count()
        for trial in range(TRIALS):
            rng = stream(self.seed, "trial", preset, trial)
            draws, truth = place.draws(K, rng), place.truth(N, rng)
            p = law[count_inside(CENTRES, ball_radii(CENTRES, draws), truth)]
            best = CENTRES[[p.argmin()]]
            draws, truth = place.draws(K, rng), place.truth(N, rng)
            again = law[count_inside(best, ball_radii(best, draws), truth)]
            rejected += [p.min() <= ALPHA, again[0] <= ALPHA]
        return rejected

    def prediction(self, result: _HuntResult) -> Prediction:
        same, again = 100 * result.rejected[NOTHING] / TRIALS
        low, high = map(float, statistics.wilson(result.rejected[NOTHING, 1], TRIALS))
        on_same = NumberGuess(
            name="guess_same",
            label="q correct: the best ball rejects on the data that chose it",
            truth=same,
            found="{:.1f}%",
        )
        on_fresh = NumberGuess(
            name="guess_fresh", label="the same ball on fresh data", truth=again, found="{:.1f}%"
        )
        return Prediction(
            asked=[on_same, on_fresh],
            answer=sentence(
                f"You said {{same}} and {{fresh}}. With a correct q the best of {len(CENTRES)} "
                f"balls rejects in {same:.1f}% of {TRIALS} hunts on the data that chose it, and "
                f"in {again:.1f}% on fresh data (95% interval {low:.1%} to {high:.1%}).",
                same=on_same.words,
                fresh=on_fresh.words,
            ),
        )

    def stages(self, result: _HuntResult) -> list[Stage]:
        chosen = best_balls(result)
        inside = written(result.inside, share_with_interval, "preset", "place")
        pvalues = pvalues_by_count()[result.inside]
        luck = over(_luck(pvalues), "preset", "place")
        picked = np.take_along_axis(result.inside, chosen[:, None], 1)[:, 0]
        counts = ", ".join(f"{c} of {N} ({p})" for c, p in zip(picked, PRESETS, strict=True))
        return [
            Stage(
                title="Predict",
                words=f"The ball holds {MASS:.0%} of q wherever it is: its radius sees to that. "
                "If q were correct, it would hold as many true values. Here nothing is wrong. "
                f"Take the best of {len(CENTRES)} balls, and test its count at the 5% level. "
                "How often does it reject?",
                panels=[0],
                at={"preset": NOTHING, "place": 112, "fresh": 0},
                beats=[Beat(at={"place": 100}, seconds=4.0), Beat(at={"place": 140}, seconds=4.0)],
            ),
            Stage(
                title="Reveal",
                words=sentence(
                    "What is wrong: {preset}. The ball holds {inside} true values.{luck} The best "
                    "ball is the one with the smallest p-value: here it holds {best}. The bars: "
                    "how often such a ball rejects on the data that chose it, and on fresh data.",
                    preset=_PRESET.words,
                    inside=inside,
                    luck=luck,
                    best=written(picked, share_with_interval, "preset"),
                ),
                panels=[0, 2],
                sliders=["preset"],
                at={"preset": NOTHING, "place": int(chosen[NOTHING]), "fresh": 0},
                beats=[Beat(seconds=8.0)],
            ),
            Stage(
                title="Break it: hunt",
                words=sentence(
                    "What is wrong: {preset}. Drag the ball. It holds {inside} of the true values "
                    "you see, and of fresh ones {fresh}.{luck} A find stays; luck goes back to "
                    f"{MASS:.0%}.",
                    preset=_PRESET.words,
                    inside=inside,
                    luck=luck,
                    fresh=over(_pooled(result.fresh_inside), "preset", "fresh", "place"),
                ),
                panels=[0, 1],
                sliders=["preset", "fresh"],
                at={"preset": 0, "place": 112, "fresh": 0},
                beats=[
                    Beat(at={"place": int(chosen[0])}, seconds=5.0),
                    Beat(at={"fresh": FRESH}, seconds=5.0),
                    Beat(at={"preset": 1, "place": int(chosen[1])}, seconds=5.0),
                ],
            ),
            Stage(
                title="Break it: climb",
                words=sentence(
                    "What is wrong: {preset}. The ball climbs CoLT's objective at this one x, by "
                    "its slope; CoLT's network learns a centre for every x. At step {steps}: "
                    "{inside} of the true values it climbed on, {fresh} of those in "
                    f"{FRESH} fresh batches.{{luck}}",
                    preset=_PRESET.words,
                    luck=over(_luck(pvalues_by_count()[result.path_inside]), "preset", "steps"),
                    steps=_STEPS.words,
                    inside=written(result.path_inside, share_with_interval, "preset", "steps"),
                    fresh=over(_pooled(result.path_fresh)[:, -1], "preset", "steps"),
                ),
                panels=[3, 0],
                sliders=["preset", "steps"],
                at={"preset": 0, "steps": 0, "fresh": 0},
                beats=[
                    Beat(at={"steps": STEPS}, seconds=6.0),
                    Beat(at={"preset": NOTHING, "steps": 0}, seconds=2.0),
                    Beat(at={"steps": STEPS}, seconds=6.0),
                ],
            ),
            Stage(
                title="Why",
                words="The count c in a ball chosen beforehand has a known law if q is correct, "
                "whatever q is. A ball chosen for its count is the luckiest of many, so its "
                "p-value counts only on true values that did not choose it.",
                panels=[0],
                sliders=["preset"],
                at={"preset": 0, "place": int(chosen[0])},
                formula=Formula(
                    latex=r"\begin{matrix} c \sim \mathrm{BetaBin}(\text{@n}, \text{@r}, "
                    r"\text{@rest}) \\ c = \text{@count}, \quad p \; \text{@p} \end{matrix}",
                    values={
                        "n": str(N),
                        "r": str(INSIDE),
                        "rest": str(K + 1 - INSIDE),
                        "count": written(result.inside, "{:.0f}", "preset", "place"),
                        "p": written(pvalues, said_equals, "preset", "place"),
                    },
                    source=f"beta law of the {INSIDE}th of {K} ordered distances, derived here; "
                    "the ball is that of CoLT, Chen, Bansal, Scott (2025)",
                ),
            ),
            Stage(
                title="What it does not tell",
                words="A benchmark draws many true values at one x; your table has one at each. "
                "CoLT therefore learns how the centre moves with x, and tests on other "
                "simulations. No find with these balls does not say that q is correct. Of a "
                f"correct q a ball holds about {MASS * N:.0f} of {N}; the most telling of all "
                f"{len(CENTRES)} balls hold {counts}.",
                panels=[2, 0],
                sliders=["preset"],
                at={"preset": 1, "place": int(chosen[1])},
            ),
        ]

    def panels(self, result: _HuntResult) -> list[Panel]:
        return [_hand(result), _shares(result), _rates(result), _climbed(result)]


def ball_radii(centres: Array, draws: Array) -> Array:
    """Distance (V,) from each centre (V, 2) to the INSIDE-th nearest of q's draws (K, 2)."""
    return np.asarray(np.partition(_distances(centres, draws), INSIDE - 1)[:, INSIDE - 1])


def count_inside(centres: Array, radius: Array, points: Array) -> Integers:
    """Number of points (n, 2) in each ball: (V,)."""
    return np.count_nonzero(_distances(centres, points) < radius[:, None], axis=1)


def _distances(centres: Array, points: Array) -> Array:
    across, up = (centres[:, None, i] - points[:, i] for i in range(2))
    return np.hypot(across, up)


def pvalues_by_count() -> Array:
    """Two-sided p-value of 0, ..., N true values in a ball chosen beforehand: (N + 1,).

    If q = p, true values and draws are alike. The share inside the INSIDE-th of K draws has a
    beta law, so counts are beta-binomial, whatever p and the centre: the p-value is exact.
    """
    law = betabinom(N, INSIDE, K + 1 - INSIDE)
    count = np.arange(N + 1)
    return np.minimum(1.0, 2 * np.minimum(law.cdf(count), law.sf(count - 1)))


def climb_objective(truth: Array, draws: Array) -> tuple[Array, Array]:
    """Gradient ascent from q's mean: centres (STEPS + 1, 2) and the objective (STEPS + 1,).

    CoLT's objective at one x: W2 squared between uniform and the true values' ranks by distance.
    Its gradient is from finite differences; steps shrink to 0.
    """
    path = [np.zeros(2)]
    for step in np.linspace(_FIRST, 0, STEPS, endpoint=False):
        moves = path[-1] + _H * np.array([[1, 0], [-1, 0], [0, 1], [0, -1]])
        height = _heights(moves, truth, draws)
        slope = height[::2] - height[1::2]
        path.append(path[-1] + step * slope / max(float(np.hypot(*slope)), 1e-12))
    centres = np.clip(path, -AXIS_LIMIT, AXIS_LIMIT)
    return centres, _heights(centres, truth, draws)


def _heights(centres: Array, truth: Array, draws: Array) -> Array:
    apart = np.sort(_distances(centres, draws), axis=1)
    true = _distances(centres, truth)
    ranks = [np.searchsorted(a, t) / len(draws) for a, t in zip(apart, np.sort(true), strict=True)]
    even = (np.arange(len(truth)) + 0.5) / len(truth)
    return np.asarray(((np.array(ranks) - even) ** 2).mean(-1))


def best_balls(result: _HuntResult) -> Integers:
    """Index of the ball with the smallest p-value, for each preset: (P,)."""
    return np.asarray(pvalues_by_count()[result.inside].argmin(-1))


def _luck(pvalues: Array) -> list[list[str]]:
    """A note (P, V) where a count stands out although nothing is wrong with q."""
    lucky = int((pvalues[NOTHING] <= ALPHA).sum())
    note = f" Nothing is wrong: it is one of {lucky} lucky ones among {pvalues.shape[1]}."
    return [
        [note if i == NOTHING and p <= ALPHA else "" for p in row] for i, row in enumerate(pvalues)
    ]


def _pooled(counts: Integers) -> NDArray[np.str_]:
    """Text after 0, ..., FRESH batches of counts (P, FRESH, V): (P, FRESH + 1, V)."""
    total = np.cumsum(counts, axis=1)
    words = np.full((len(counts), FRESH + 1, counts.shape[-1]), "none drawn yet", dtype="<U40")
    for f in range(FRESH):
        words[:, f + 1] = formatted(total[:, f], partial(share_with_interval, n=N * (f + 1)))
    return words


def share_with_interval(count: float, n: int = N) -> str:
    """A share of n true values with its 95% interval, as text."""
    low, high = map(float, statistics.wilson(count, n))
    return f"{count:.0f} of {n} ({low:.0%} to {high:.0%})"


def _cloud(result: _HuntResult) -> list[Points]:
    across, up = (over(result.draws[..., i], "preset", coarse=True) for i in range(2))
    true_x, true_y = (over(result.truth[..., i], "preset", coarse=True) for i in range(2))
    return [
        Points(across, up, color=style.Q, size=2.5, opacity=0.5),
        Points(true_x, true_y, color=style.P, size=4),
    ]


_LEGEND = [
    ("q's draws", style.Q, "circle"),
    ("true values", style.P, "circle"),
    (f"ball with {MASS:.0%} of q", style.OBSERVED, "ring"),
]


def _axes() -> tuple[Axis, Axis]:
    return (
        Axis((-AXIS_LIMIT, AXIS_LIMIT), "theta_1, in q's sd"),
        Axis((-AXIS_LIMIT, AXIS_LIMIT), "theta_2, in q's sd"),
    )


def _hand(result: _HuntResult) -> Panel:
    x, y = _axes()
    edge = [
        CENTRES[:, i, None] + result.radius[..., None] * turn(_CIRCLE)
        for i, turn in enumerate((np.cos, np.sin))
    ]
    return Panel(
        [
            *_cloud(result),
            Line(
                over(edge[0], "preset", "place", coarse=True),
                over(edge[1], "preset", "place", coarse=True),
                color=style.OBSERVED,
                fill=0.15,
            ),
        ],
        title="Drag the ball: one x, many true values",
        caption=f"{_SHOWN} of q's {K} draws are drawn; the radius is from all of them.",
        x=x,
        y=y,
        square=True,
        click="place",
        at=CENTRES,
        legend=_LEGEND,
    )


def _climbed(result: _HuntResult) -> Panel:
    x, y = _axes()
    edge = [
        result.path[..., i, None] + result.path_radius[..., None] * turn(_CIRCLE)
        for i, turn in enumerate((np.cos, np.sin))
    ]
    shown = np.arange(STEPS + 1) <= np.arange(STEPS + 1)[:, None]
    trail = [np.where(shown, result.path[:, None, :, i], np.nan) for i in range(2)]
    return Panel(
        [
            *_cloud(result),
            Line(
                *(over(e, "preset", "steps", coarse=True) for e in edge),
                color=style.OBSERVED,
                fill=0.15,
            ),
            Line(
                *(over(t, "preset", "steps", coarse=True) for t in trail),
                color=style.OBSERVED,
                width=2.5,
            ),
        ],
        title="Uphill from q's mean",
        x=x,
        y=y,
        square=True,
        legend=_LEGEND,
    )


def _shares(result: _HuntResult) -> Panel:
    """Panel of the share in the ball, in the searched batch and in each fresh one."""
    fresh = np.moveaxis(result.fresh_inside, 1, 2) / N  # (P, V, FRESH)
    drawn = np.arange(FRESH) < np.arange(FRESH + 1)[:, None]  # (FRESH + 1, FRESH)
    shown = np.where(drawn[None, :, None], fresh[:, None], np.nan)
    return Panel(
        [
            HLine(MASS, label="if q = p"),
            Points(
                [0],
                over(result.inside[..., None] / N, "preset", "place"),
                color=style.OBSERVED,
                symbol="diamond",
                size=11,
            ),
            Points(
                np.arange(1, FRESH + 1),
                over(shown, "preset", "fresh", "place", coarse=True),
                color=style.P,
                size=8,
            ),
        ],
        title="Share of true values in the ball",
        x=Axis((-0.6, FRESH + 0.6), "0: seen; then fresh batches"),
        y=Axis((0, 1), percent=True),
        height=280,
    )


def _rates(result: _HuntResult) -> Panel:
    """Panel of both shares of each preset, side by side."""
    share = over(result.rejected / TRIALS, "preset")
    return Panel(
        [
            Bars([-0.5, 0.5, 1.5], share, color=style.method_style("colt").color),
            level_line(ALPHA),
            VLine(0.5, color=style.NULL),
        ],
        title=f"Best of {len(CENTRES)} balls: share of {TRIALS} hunts that reject",
        x=Axis((-0.5, 1.5), ticks=[0, 1], names=["same data", "fresh data"]),
        y=rejection_axis(),
        height=260,
        legend=[LEVEL_KEY],
    )
