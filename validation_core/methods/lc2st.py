"""L-C2ST: is q right at one observation? A classifier's distance from guessing there."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from scipy.special import expit

from validation_core.drawing import style
from validation_core.drawing.drawn import Drawn
from validation_core.drawing.marks import (
    Axis,
    Band,
    Bars,
    HLine,
    Line,
    Mark,
    Note,
    Panel,
    Points,
    Shades,
    empty,
)
from validation_core.drawing.null_histogram import beside, null_histogram
from validation_core.methods.base import Further, Method, RecordView, ScoreKind, Work
from validation_core.relabelling.claims import parameter_name
from validation_core.scores import apply
from validation_core.scores.lc2st import LC2STClassifier, LocalScore
from validation_core.statistics.cells import variance_between_cells
from validation_core.statistics.local_test import distance_of_logits, least_pvalue, local
from validation_core.text import number_text
from validation_core.types import (
    Array,
    Budget,
    Integers,
    MethodStyle,
    Outcome,
    Paper,
    PosteriorTable,
    Scores,
    TableScores,
)

if TYPE_CHECKING:
    from validation_core.methods.record import Effect, Record

_NULL = 2.5e-5  # seconds of training one of its networks, for each row
_LEVEL = 0.05  # that a test must be able to reach

_BINS = 30
_MAP_HEIGHT = 320  # pixels
_NUMBERED = 10  # observations whose every number stands on the axis
_SHOWN = 1500  # draws on a map: more would hide one another
_STRIPS = 5  # of each parameter, when asking how much d varies over a pair
_PARAMETERS = 12  # from which pairs are chosen
_LEAST_REACH = 0.05  # of the colours: a classifier that guesses leaves the map pale
_GRID = np.linspace(0.0, 1.0, 201)


@dataclass(frozen=True, kw_only=True)
class LC2ST(Method):
    """Local C2ST with nulls by swaps within pairs, the +1 rule and Holm over observations.

    The swaps make the test exact for the global null, p = q at every x; at one x_o it is
    approximate. The score's sign: d = sigmoid(logit) is the learned chance that a draw is the
    truth, 1 - d in Linhart's notation; the statistic is the same.

    Examples:
        >>> result = npt.run("lc2st", table, nulls=39, points=2, epochs=2)
        >>> result.arrays["pvalues"].shape
        (2,)
    """

    name: ClassVar[str] = "lc2st"
    title: ClassVar[str] = "L-C2ST"
    paper: ClassVar[Paper] = Paper(
        "Linhart, Gramfort, Rodrigues",
        2023,
        "L-C2ST: local diagnostics for posterior approximations in simulation-based inference",
        "Algorithms 1 and 2",
    )
    summary: ClassVar[str] = (
        "Does a classifier tell q's draws from true values at one observation?"
    )
    statistic: ClassVar[str] = "mean squared distance of d from 1/2 at the worst x_o"
    style: ClassVar[MethodStyle] = MethodStyle("#5B7FA6", "dashdot", "triangle-down")
    turn: ClassVar[int] = 22
    runs_unasked: ClassVar[bool] = False
    score_kind: ClassVar[ScoreKind] = "trial"
    nulls: int = field(
        default=100,
        metadata={
            "label": "Null classifiers",
            "help": "The smallest p-value is observations / (nulls + 1).",
            "min": 19,
            "max": 1000,
        },
    )
    points: int = field(
        default=1,
        metadata={
            "label": "Observations",
            "help": "x_o to look at, corrected by Holm; each needs twenty nulls.",
            "min": 1,
            "max": 50,
        },
    )
    hidden: int = field(
        default=32,
        metadata={"label": "Hidden units", "help": "Of both layers.", "min": 2, "max": 256},
    )
    epochs: int = field(
        default=15,
        metadata={
            "label": "Epochs",
            "help": "More: finer places, and more noise.",
            "min": 1,
            "max": 1000,
        },
    )

    def __post_init__(self) -> None:
        if min(self.nulls, self.points, self.hidden, self.epochs) < 1:
            raise ValueError(
                "nulls, points, hidden and epochs are at least 1; got "
                f"{self.nulls}, {self.points}, {self.hidden}, {self.epochs}. Raise them."
            )
        self._require(self.points)

    @property
    def label(self) -> str:
        where = f" at {self.points} x" if self.points > 1 else ""
        return f"L-C2ST{where}"

    def sizes(self, n: int, k: int) -> tuple[tuple[int, int], tuple[int, int]]:
        """n pairs to learn from; then `points` observations with k draws of q at each."""
        return (n, 1), (self.points, k)

    def budget(self, n: int, k: int = 1) -> Budget:
        return Budget(n, n + self.points * k)

    def learn(self, train: PosteriorTable, rng: np.random.Generator) -> LocalScore:
        """All nulls + 1 networks, as one batch.

        Raises:
            ValueError: if there are fewer than 8 rows or a number is not finite.
        """
        recipe = LC2STClassifier(nulls=self.nulls, hidden=self.hidden, epochs=self.epochs)
        return recipe.learn(train, rng)

    def at(
        self, train: PosteriorTable, x_o: Array, draws: Array, rng: np.random.Generator
    ) -> Outcome:
        """The test at given observations; their truth is not needed.

        The same as `test(scores.apply(learn(train), PosteriorTable(any, x_o, draws)))`; to look at
        further observations without learning again, keep what `learn` gave.

        Args:
            train: rows with the truth and at least one draw of q, none of them from x_o.
            x_o: one observation (M,), or a grid of them (P, M).
            draws: q's draws there: (K, D), or (P, K, D).
            rng: draws labels, starts and order.

        Raises:
            ValueError: if the shapes do not fit, P needs more nulls, or `learn` raises.
        """
        observations, samples = np.atleast_2d(x_o), draws[None] if draws.ndim == 2 else draws
        if samples.ndim != 3 or len(observations) != len(samples) or samples.shape[1] < 1:
            raise ValueError(
                "every observation has draws of its own; got x_o of shape "
                f"{np.shape(x_o)} and draws {draws.shape}; give (P, M) and (P, K, D)"
            )
        self._require(len(observations))
        look = PosteriorTable(samples[:, 0], observations, samples)
        return self.test(apply(self.learn(train, rng), look), rng)

    @property
    def resamples(self) -> int:
        return self.nulls

    def places(self, n: int, k: int) -> int:
        return sum(rows for rows, _ in self.sizes(n, k))

    def cost(self, work: Work) -> float:
        return _NULL * self.sizes(work.n, work.k)[0][0] * (1 + self.nulls)

    @classmethod
    def further(cls) -> Further:
        return Further(
            cls(nulls=1000),
            4,
            "whether q is wrong at one observation, and where among its draws there",
        )

    def effects(self, outcome: Outcome) -> dict[str, Effect]:
        return {"T": float(outcome.statistic)}

    @classmethod
    def findings(cls, record: Record, x_names: Sequence[str] = ()) -> tuple[str, ...]:
        effect = record.effect
        x = effect.x_o or ()
        labels = x_names if len(x_names) == len(x) else [f"x_{i + 1}" for i in range(len(x))]
        values = ", ".join(
            f"{name} = {number_text(value)}" for name, value in zip(labels, x, strict=True)
        )
        points = len(effect.rows or (0,))
        where = (
            "Looked at one held-out observation, the nearest to the median of x:"
            if points == 1
            else f"Looked at the {points} held-out observations nearest to the median of x, the "
            f"worst "
            "of which is"
        )
        return (
            f"{where} row {effect.row}, counted from 0{f' ({values})' if values else ''}. "
            "There T, the mean squared distance from 1/2 of the learned chance that a draw is "
            f"the true value, is {effect.numbers['T']:.3g}. Its classifiers learnt from the "
            "rows that are not held out.",
        )

    @classmethod
    def pictures(cls, record: Record, view: RecordView) -> list[Drawn]:
        arrays = record.arrays
        pvalues = np.asarray(arrays.get("pvalues", np.empty(0)))
        d, nulls = _of_worst(arrays), np.asarray(arrays.get("null_d", np.empty((0, 0))))
        points, worst = len(pvalues), int(arrays.get("worst", 0))
        observed = float(arrays["t"][worst]) if points else np.nan
        spread = np.asarray(arrays["nulls"])[worst] if points else np.empty(0)
        where = _where(points, worst)
        pictures = [
            Drawn(
                f"How sure the classifier is{where}",
                pp_plot(d, nulls),
                "The share of q's draws whose d is at most this. Grey: 95% of the null "
                "classifiers at each d (pointwise). If q were correct here, the line would "
                "stay near the dashed step at 1/2 and in the grey. Left of the step: q puts "
                "too much mass there; right of it: too little.",
            ),
            Drawn(
                f"The statistic on its null{where}",
                null_of_t(observed, spread, points=max(points, 1)),
                "Grey: T of classifiers whose labels were swapped within pairs at random. If q "
                "were correct, the red line would be one of them, anywhere in the grey.",
            ),
        ]
        if points > 1:
            pictures.append(
                Drawn(
                    "p-value at every observation",
                    pvalues_by_observation(pvalues, np.asarray(arrays["adjusted"])),
                    "Open: each p-value by itself; filled: by Holm over all observations. If "
                    "q were correct at every one, filled points would lie above the dashed "
                    "line in 95 of 100 tests.",
                )
            )
        theta = arrays.get("theta_q", np.zeros((0, 0, 0)))
        maps = worst_observation_map(arrays, theta, view.names) if theta.size else []
        return [*pictures, *maps]

    def test(self, scores: Scores, rng: np.random.Generator) -> Outcome:
        """T = mean (d - 1/2)^2 at each observation against the nulls' there; Holm's smallest p.

        Scores: the classifier's logits first, then those of H nulls. Without a null p is 1.

        budget: of the look; `budget(n, k)` has the table it learnt from as well.
        arrays: t, pvalues, adjusted (..., P), nulls (..., P, H), worst (...): the observation
        with the smallest p. Of one trial also d (P, K) and, at the worst, null_d (H, K).
        """
        del rng
        assert isinstance(scores, TableScores)
        distances = distance_of_logits(scores.draws)  # (..., H + 1, P)
        each = local(distances[..., 0, :], np.moveaxis(distances[..., 1:, :], -2, -1))
        worst = each.worst
        arrays: dict[str, Array] = {
            "t": each.statistic,
            "pvalues": each.pvalue,
            "adjusted": each.adjusted,
            "nulls": each.nulls,
            "worst": worst.astype(np.float64),
        }
        if scores.draws.ndim == 3:
            null_logits = scores.draws[1:, int(worst)]
            arrays |= {"d": _chance(scores.draws[0]), "null_d": _chance(null_logits)}
        points, k = scores.draws.shape[-2:]
        return Outcome(
            np.take_along_axis(each.statistic, worst[..., None], axis=-1)[..., 0],
            each.adjusted.min(axis=-1),
            Budget(0, points * k),
            arrays=arrays,
            effect={"least_pvalue": least_pvalue(points, each.nulls.shape[-1])},
        )

    def _require(self, points: int) -> None:
        if least_pvalue(points, self.nulls) > _LEVEL:
            raise ValueError(
                f"p-values below {_LEVEL:g} need {round(points / _LEVEL) - 1} null classifiers "
                f"for {points} observations; got {self.nulls}, so that no data could reject. "
                "Raise the nulls or look at fewer observations."
            )


def _chance(logits: Array) -> Array:
    return expit(logits.astype(np.float64)).astype(np.float32)


def pp_plot(d: Array, nulls: Array) -> Panel:
    """The ECDF of d (K,) over q's draws, over the pointwise 95% of the nulls' (H, K)."""
    if d.size == 0:
        return empty("No draws yet")
    marks: list[Mark] = []
    if len(nulls):
        curves = np.stack([_ecdf(null) for null in nulls])  # (H, grid)
        marks.append(Band(_GRID, *np.quantile(curves, [0.025, 0.975], axis=0), opacity=0.3))
    step = Line([0, 0.5, 0.5, 1], [0, 0, 1, 1], color=style.NULL, dash="dash", width=1.5)
    hover = "d ≤ %{x:.2f}: %{y:.0%} of q's draws"
    marks += [
        step,
        Line(_GRID, _ecdf(d), color=style.Q, hover=hover),
        Note(0.02, 0.94, "q too much here", color=style.Q),
        Note(0.98, 0.06, "q too little here", color=style.P, anchor="end"),
    ]
    return Panel(
        marks,
        x=Axis((0, 1), "d, the learned chance that a draw is the true value"),
        y=Axis((0, 1), "share of q's draws", percent=True),
        height=style.HEIGHT,
    )


def null_of_t(observed: float, nulls: Array, *, points: int = 1) -> Panel:
    """T of the null classifiers (H,) in grey, their 95% quantile dashed, the observed T in red.

    Args:
        points: observations that share the 5% (Bonferroni, Holm's first step).
    """
    if nulls.size == 0 or not np.isfinite(observed):
        return empty("No nulls yet")
    high = 1.15 * max(float(nulls.max()), observed) or 1.0
    counts, edges = np.histogram(nulls, _BINS, (0.0, high))
    critical = _critical(nulls, 0.05 / points)
    x = Axis((0, high), "T, mean squared distance of d from 1/2")
    hover, label = "T = %{x:.2g}: %{y} nulls", "null classifiers"
    panel = null_histogram(edges, counts, observed, x, label, hover=hover, critical=critical)
    if critical is None:
        return panel
    place = critical, 0.86 * panel.y.limits[1]
    # Where no red line is: it may lie on either side.
    free = (0.0, observed) if observed > critical else (observed, high)
    words = beside(f"rejects > {critical:.2g}", *place, style.NULL, Axis(free))
    return replace(panel, marks=[*panel.marks, words])


def map_of(theta: Array, d: Array, names: Sequence[str] = ()) -> Panel:
    """q's draws theta (K, D) at one observation, coloured by d (K,) around 1/2.

    Of several parameters, the two over which d varies most. One parameter: a histogram.
    """
    if d.size == 0 or theta.shape[-1] == 0:
        return empty("No draws yet", height=_MAP_HEIGHT)
    reach = max(_LEAST_REACH, float(np.quantile(np.abs(d - 0.5), 0.98)))
    if theta.shape[1] == 1:
        return _histogram(theta[:, 0], d, parameter_name(names, 0), reach)
    first, second = _pair(theta, d)
    rows = np.linspace(0, len(d) - 1, min(len(d), _SHOWN)).astype(int)
    across, up = theta[rows, first], theta[rows, second]
    dots = Points(
        across, up, color=_shades(d[rows], reach), size=7, hover="d = %{marker.color:.2f}"
    )
    return Panel(
        [dots],
        x=Axis(style.padded(across), parameter_name(names, first)),
        y=Axis(style.padded(up), parameter_name(names, second)),
        height=_MAP_HEIGHT,
    )


def pvalues_by_observation(pvalues: Array, adjusted: Array) -> Panel:
    """p at each observation (P,), raw (open) and Holm-adjusted (filled)."""
    if pvalues.size == 0:
        return empty("No observations yet")
    place = np.arange(1.0, len(pvalues) + 1)
    whole = list(range(1, len(pvalues) + 1)) if len(pvalues) <= _NUMBERED else None
    floor = 0.7 * min(0.05, float(pvalues.min()))
    color = style.method_style("lc2st").color
    return Panel(
        [
            HLine(0.05, dash="dash", label="5%", color=style.NULL),
            Points(
                place, pvalues, color=style.NULL, size=8, symbol="ring", hover="p-value %{y:.3f}"
            ),
            Points(place, adjusted, color=color, size=8, hover="p by Holm %{y:.3f}"),
        ],
        x=Axis(style.padded(place), "observation", ticks=whole),
        y=Axis((floor, 1.3), "p", log=True, ticks=(0.001, 0.01, 0.05, 0.2, 1)),
        height=style.HEIGHT,
        margin=44,
    )


def worst_observation_map(
    arrays: Mapping[str, Array], theta: Array, names: Sequence[str] = ()
) -> list[Drawn]:
    """q's draws theta (P, K, D) at the observations of an outcome, coloured by its d: the worst.

    Raises:
        ValueError: if they are not the draws that the outcome looked at.
    """
    d, draws = np.asarray(arrays.get("d", np.empty((0, 0)))), np.asarray(theta)
    if draws.shape[:-1] != d.shape:
        raise ValueError(
            "a map colours the draws that the test looked at; got theta "
            f"{draws.shape} for d {d.shape}; give them as (P, K, D)"
        )
    worst = int(arrays.get("worst", 0))
    figure = map_of(draws[worst], d[worst], names) if d.size else empty("No draws yet")
    return [
        Drawn(
            f"Where q is off{_where(len(d), worst)}",
            figure,
            "q's draws, coloured by d, the learned chance that a draw is the true value: "
            "orange where q puts too much mass, blue where too little. If q were correct "
            "here, all would be pale but for the classifier's noise, which its nulls show.",
        )
    ]


def _ecdf(d: Array) -> Array:
    return np.searchsorted(np.sort(d), _GRID, side="right") / len(d)


def _critical(nulls: Array, level: float) -> float | None:
    """The largest T that is not yet rejected; None where so few nulls never reject."""
    allowed = int(np.floor(level * (len(nulls) + 1) + 1e-9)) - 1  # nulls at least T
    return float(np.sort(nulls)[::-1][allowed]) if 0 <= allowed < len(nulls) else None


def _of_worst(arrays: Mapping[str, Array]) -> Array:
    d = np.asarray(arrays.get("d", np.empty((0, 0))))
    return d[int(arrays.get("worst", 0))] if len(d) else np.empty(0)


def _where(points: int, worst: int) -> str:
    return f", observation {worst + 1} of {points} (the worst)" if points > 1 else ""


def _shades(d: Array, reach: float) -> Shades:
    """Chances as colours around 1/2."""
    return Shades(d, limit=reach, middle=0.5, label="d")


def _pair(theta: Array, d: Array) -> tuple[int, int]:
    """The two parameters over whose cells the mean of d varies most."""
    strips = [_strips(column) for column in theta.T]
    alone = np.array([variance_between_cells(strip, d) for strip in strips])
    among = sorted(np.argsort(-alone, kind="stable")[:_PARAMETERS].tolist())
    pairs = list(itertools.combinations(among, 2))
    return max(
        pairs,
        key=lambda pair: variance_between_cells(strips[pair[0]] * _STRIPS + strips[pair[1]], d),
    )


def _strips(values: Array) -> Integers:
    """Which of the strips, that hold about equally many draws, each draw lies in."""
    edges = np.quantile(values, np.linspace(0, 1, _STRIPS + 1)[1:-1])
    return np.searchsorted(edges, values, side="right").astype(np.int64)


def _histogram(values: Array, d: Array, name: str, reach: float) -> Panel:
    limits = style.padded(values)
    counts, edges = np.histogram(values, _BINS, limits)
    sums, _ = np.histogram(values, _BINS, limits, weights=d)
    mean = np.where(counts > 0, sums / np.maximum(counts, 1), 0.5)
    hover = "%{y} draws, mean d = %{marker.color:.2f}"
    return Panel(
        [Bars(edges, counts, color=_shades(mean, reach), opacity=0.9, hover=hover)],
        x=Axis(limits, name),
        y=Axis((0, 1.1 * float(counts.max())), "q's draws"),
        height=_MAP_HEIGHT,
    )
