"""Eight plots of a round: the numbers that each draws, its test's p-value, and its picture.

Every test is exact or has the +1 rule: if q is correct, P(p <= a) is at most a.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Literal, NamedTuple

import numpy as np

from validation_core import statistics
from validation_core.drawing import style
from validation_core.drawing.ecdf_difference import ecdf_difference
from validation_core.drawing.marks import (
    Axis,
    Band,
    Bars,
    HBand,
    HLine,
    Line,
    Mark,
    Panel,
    Points,
    VLine,
)
from validation_core.drawing.rank_histogram import rank_histogram
from validation_core.game.rounds import Round
from validation_core.rng import stream
from validation_core.shared_arrays import read_only
from validation_core.types import Array

Plot = Literal["draws", "ranks", "ecdf", "coverage", "units", "over-x", "region", "tarp"]


class _PlotText(NamedTuple):
    """A plot's title, its test's question, and how to read it."""

    title: str
    test: str
    caption: str


PLOTS: Mapping[Plot, _PlotText] = {
    "draws": _PlotText(
        "q's draws at one x",
        "Rank of the true value at this x",
        "Bars: 100 draws of q at the first x. Line: the true value there. One true value tells "
        "little, but the shape of q is here. Draws beyond the axis are counted in the end bars.",
    ),
    "ranks": _PlotText(
        "SBC ranks",
        "Anderson-Darling test of the ranks",
        "Rank of the true value among q's draws, 500 simulations. If q were correct, all bars "
        "would stay in the grey band in 95 of 100 rounds.",
    ),
    "ecdf": _PlotText(
        "ECDF difference",
        "Kolmogorov-Smirnov test of the ranks",
        "The share of ranks up to u, less u. If q were correct, the line would stay in the grey "
        "band as a whole in 95 of 100 rounds.",
    ),
    "coverage": _PlotText(
        "Coverage",
        "Kolmogorov-Smirnov test of coverage",
        "How often q's central interval of each level holds the true value. If q were correct, "
        "the line would stay in the grey band in 95 of 100 rounds.",
    ),
    "units": _PlotText(
        "In q's own units",
        "Rank of the distance from q's centre",
        "Each x has its own zero, q's median, and its own unit, half the width of q's middle 68%. "
        "If q were correct, blue and orange would have the same shape. The end bars hold what "
        "lies beyond the axis.",
    ),
    "over-x": _PlotText(
        "Ranks against x",
        "Mean rank in six slices of x",
        "Mean rank in six slices of x, along the direction in which p's mean moves. If q were "
        "correct, all points would stay in the grey band in 95 of 100 rounds.",
    ),
    "region": _PlotText(
        "Region (as CoLT finds it, simplified)",
        "Kolmogorov-Smirnov test on the other half",
        "Half of the simulations choose a centre that is linear in x; the other half ranks the "
        "distances of true values from it. Simplified: CoLT trains a network to choose the "
        "centre.",
    ),
    "tarp": _PlotText(
        "TARP",
        "Kolmogorov-Smirnov test of TARP's coverage",
        "How often q's balls about random points hold the true value, less the level. If q were "
        "correct, the line would stay in the grey band in 95 of 100 rounds.",
    ),
}
BINS = 20
SLICES = 6
_LEVELS = np.linspace(0, 1, 21)
_UNITS = np.linspace(-6, 6, 25)
_NULLS = 1999
_HEIGHT = 280


@dataclass(frozen=True, eq=False)
class RoundPlots:
    """Numbers and p-values of all plots of a round.

    `numbers` and `pvalues` are by plot: bin counts of draws (24,) and of ranks (20,), curves at
    21 levels less the level (21,), shares (2, 24) of true values and of q's draws in q's units,
    mean ranks (6,).
    """

    numbers: Mapping[Plot, Array]
    pvalues: Mapping[Plot, float]
    ranks: Mapping[Plot, Array]
    """The ranks in [0, 1] behind a plot, (n,)."""
    edges: Array
    """Edges of the bins of the draws (25,)."""
    x: Array
    """The first x (4,)."""
    true: float
    """The true value there."""
    centre: tuple[float, float]
    """The region's centre is a + b mu(x), for the a and b with the largest KS distance."""
    slices: Array
    """Middles of the slices of x (6,)."""


def simulate_plots(round_: Round) -> RoundPlots:
    """Draw a round's simulations and compute its plots."""
    table = round_.table()
    rng = stream(round_.seed, "game", "plots", round_.defect, round_.level, round_.number)
    theta, q = table.theta[:, 0], table.q[:, :, 0]
    mu = round_.benchmark.mean(table.x)[:, 0]

    u = statistics.conformal_ranks(theta, q, rng)
    central = np.abs(2 * u - 1)
    z_true, z_q = _in_units(theta, q)
    far = statistics.conformal_ranks(np.abs(z_true), np.abs(z_q), rng)
    # The box that reference points are drawn in comes from rows that are not tested.
    half = len(theta) // 2
    reference = rng.uniform(theta[:half].min(), theta[:half].max(), len(theta) - half)
    ball = statistics.conformal_ranks(
        np.abs(theta[half:] - reference), np.abs(q[half:] - reference[:, None]), rng
    )
    centre, inside = _region(theta, q, mu, rng)
    order = np.array_split(np.argsort(mu, kind="stable"), SLICES)
    means = np.array([u[rows].mean() for rows in order])

    edges = np.linspace(*_window(q[0], float(theta[0])), 25)
    ends = _UNITS[0] + 1e-9, _UNITS[-1] - 1e-9
    units = [np.histogram(np.clip(z, *ends), _UNITS)[0] / z.size for z in (z_true, z_q)]
    ranks: dict[Plot, Array] = {
        "draws": u[:1],
        "ranks": u,
        "ecdf": u,
        "coverage": central,
        "units": far,
        "over-x": u,
        "region": inside,
        "tarp": ball,
    }
    curves: tuple[Plot, ...] = ("ecdf", "coverage", "region", "tarp")
    return RoundPlots(
        numbers={
            "draws": np.histogram(np.clip(q[0], edges[0], edges[-1]), edges)[0].astype(float),
            "ranks": statistics.histogram(u, BINS).astype(float),
            **{plot: statistics.ecdf_difference(ranks[plot], _LEVELS) for plot in curves},
            "units": np.array(units),
            "over-x": means,
        },
        pvalues={
            "draws": float(min(1.0, 2 * min(u[0], 1 - u[0]))),
            "ranks": float(statistics.anderson_darling(u).pvalue),
            **{plot: float(statistics.ks(ranks[plot]).pvalue) for plot in (*curves, "units")},
            "over-x": _slices_pvalue(means, len(u)),
        },
        ranks=ranks,
        edges=edges,
        x=table.x[0],
        true=float(theta[0]),
        centre=centre,
        slices=np.array([mu[rows].mean() for rows in order]),
    )


def _window(draws: Array, true: float) -> tuple[float, float]:
    """A window that holds the true value and all but outlying draws."""
    low, middle, high = np.quantile(draws, [0.02, 0.5, 0.98])
    reach = 1.2 * max(middle - low, high - middle, abs(true - middle))
    return float(middle - reach), float(middle + reach)


def _in_units(theta: Array, q: Array) -> tuple[Array, Array]:
    """True values (n,) and draws (n, k), centred and scaled.

    Both are of the true value and the draws together, so that if q is correct all k + 1 are
    exchangeable and ranks of any function of them are exact.
    """
    together = np.column_stack([theta, q])
    low, middle, high = np.quantile(together, [0.16, 0.5, 0.84], axis=1)
    z = (together - middle[:, None]) / ((high - low) / 2)[:, None]
    return z[:, 0], z[:, 1:]


def _region(
    theta: Array, q: Array, mu: Array, rng: np.random.Generator
) -> tuple[tuple[float, float], Array]:
    """A centre chosen on half of the rows, and ranks of distances from it in the other half.

    In place of CoLT's network (Chen, Bansal, Scott, Section 3) 35 lines are tried.
    """
    half, spread = len(theta) // 2, float(theta.std())
    lines = [(a * spread, b) for b in (-1, -0.5, 0, 0.5, 1) for a in np.linspace(-2, 2, 7)]
    learn, test = slice(None, half), slice(half, None)

    def ranks(a: float, b: float, rows: slice) -> Array:
        at = a + b * mu[rows]
        return statistics.conformal_ranks(
            np.abs(theta[rows] - at), np.abs(q[rows] - at[:, None]), rng
        )

    distances = statistics.ks([ranks(*line, learn) for line in lines]).statistic
    a, b = lines[int(np.argmax(distances))]
    return (a, b), ranks(a, b, test)


@cache
@read_only
def _slice_nulls(n: int) -> tuple[Array, Array]:
    """Null of slices of n uniform ranks: statistics (B,) and largest deviations of a mean (B,)."""
    u = stream(0, "game", "slices").random((_NULLS, n))
    means = np.stack([part.mean(1) for part in np.array_split(u, SLICES, axis=1)], axis=1)
    return np.square(means - 0.5).sum(1), np.abs(means - 0.5).max(1)


def _slices_pvalue(means: Array, n: int) -> float:
    """P-value, by the +1 rule, of slices of ranks against uniform ranks."""
    nulls, _ = _slice_nulls(n)
    return float((1 + (nulls >= np.square(means - 0.5).sum()).sum()) / (1 + len(nulls)))


def panel(
    plot: Plot, drawn: RoundPlots, hidden: Round | None = None, mean: Array | None = None
) -> Panel:
    """Picture of a plot.

    Args:
        plot: which.
        drawn: the round's numbers.
        hidden: the round itself, to show its hidden p and q at the first x.
        mean: the plot's numbers, mean over other rounds with this defect, to be laid over it.
    """
    numbers, over = drawn.numbers[plot], style.OBSERVED
    if plot == "draws":
        return _draws_panel(drawn, hidden)
    if plot == "ranks":
        made = rank_histogram(drawn.ranks[plot], BINS, height=_HEIGHT)
        middles = (np.arange(BINS) + 0.5) / BINS
        return _with_marks(
            made, [] if mean is None else [Line(middles, mean, color=over, dash="6 3")]
        )
    if plot == "units":
        return _units_panel(numbers, mean)
    if plot == "over-x":
        _, far = _slice_nulls(len(drawn.ranks[plot]))
        reach = float(np.quantile(far, 0.95))
        marks: list[Mark] = [
            HBand(0.5 - reach, 0.5 + reach),
            HLine(0.5),
            Points(drawn.slices, numbers, color=style.Q, size=9),
        ]
        if mean is not None:
            marks.append(Line(drawn.slices, mean, color=over, dash="6 3"))
        across = Axis(style.padded(drawn.slices), "x, along the direction of p's mean")
        return Panel(marks, x=across, y=Axis((0, 1), "mean rank"), height=_HEIGHT)
    if plot == "coverage":
        low, high = statistics.ecdf_band(len(drawn.ranks[plot]), 0.95, _LEVELS)
        marks = [
            Band(_LEVELS, _LEVELS + low, _LEVELS + high, opacity=0.3),
            Line([0, 1], [0, 1], color=style.NULL, dash="4 3", width=1),
            Line(_LEVELS, _LEVELS + numbers, color=style.Q),
        ]
        if mean is not None:
            marks.append(Line(_LEVELS, _LEVELS + mean, color=over, dash="6 3"))
        unit = Axis((0, 1), "level", percent=True)
        held = Axis((0, 1), "true values held", percent=True)
        return Panel(marks, x=unit, y=held, height=_HEIGHT)
    made = ecdf_difference(drawn.ranks[plot], height=_HEIGHT)
    bottom, top = made.y.limits  # its label stands above the line
    made = replace(made, y=replace(made.y, limits=(1.2 * bottom, 1.2 * top)))
    return _with_marks(made, [] if mean is None else [Line(_LEVELS, mean, color=over, dash="6 3")])


def _with_marks(made: Panel, marks: list[Mark]) -> Panel:
    """A panel with further marks on top."""
    return replace(made, marks=[*made.marks, *marks])


def _draws_panel(drawn: RoundPlots, hidden: Round | None) -> Panel:
    counts = drawn.numbers["draws"]
    width = float(drawn.edges[1] - drawn.edges[0])
    heights = counts / counts.sum() / width
    marks: list[Mark] = [
        Bars(drawn.edges, heights, color=style.Q, opacity=0.5),
        VLine(drawn.true, color=style.P, width=2.5),
    ]
    keys = [("q's draws", style.Q, "square"), ("true value", style.P, "line")]
    top = float(heights.max())
    low, high = float(drawn.edges[0]), float(drawn.edges[-1])
    if hidden is not None:
        if hidden.defect in ("missed", "extra"):  # the other mode lies at -mu
            low, high = min(low, -high), max(high, -low)
        theta = np.linspace(low, high, 241)
        p, q = hidden.densities(theta, drawn.x)
        marks += [
            Line(theta, p, color=style.P, fill=0.15),
            Line(theta, q, color=style.Q, dash="6 3"),
        ]
        keys = [("p, filled", style.P, "square"), ("q", style.Q, "dash"), *keys]
        top = max(top, float(p.max()), float(q.max()))
    across = Axis((low, high), "theta")
    up = Axis((0, 1.15 * top), "density")
    return Panel(marks, x=across, y=up, height=_HEIGHT, legend=keys)


def _units_panel(numbers: Array, mean: Array | None) -> Panel:
    marks: list[Mark] = [
        Bars(_UNITS, numbers[1], color=style.Q, opacity=0.5, label="q's draws"),
        Bars(_UNITS, numbers[0], color=style.P, opacity=0.5, label="true values"),
    ]
    if mean is not None:
        middles = (_UNITS[1:] + _UNITS[:-1]) / 2
        marks.append(Line(middles, mean[0], color=style.OBSERVED, dash="6 3"))
    return Panel(
        marks,
        x=Axis((float(_UNITS[0]), float(_UNITS[-1])), "distance from the median, in q's widths"),
        y=Axis((0, 1.15 * float(numbers.max())), "share", percent=True),
        height=_HEIGHT,
        legend=[("true values", style.P, "square"), ("q's draws", style.Q, "square")],
    )
