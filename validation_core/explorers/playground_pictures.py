"""The playground: where q is wrong, how its conformal ranks say so, and how often tests see it.

Six panels under gamma, beta and x, all of one benchmark, as one payload for the browser.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from validation_core import statistics
from validation_core.benchmarks.gaussian import PERTURBATIONS, Gaussian
from validation_core.diagnosis import equals
from validation_core.drawing import live, style
from validation_core.drawing.marks import (
    Axis,
    Band,
    Bars,
    Heat,
    HLine,
    Line,
    Mark,
    Panel,
    Points,
    Shades,
    Slider,
    VLine,
    over,
    sentence,
    written,
)
from validation_core.explorers.playground import (
    BETAS,
    COLT_BETAS,
    METHODS,
    POINTS,
    POWER_BETAS,
    Playground,
    PlaygroundStudy,
    PlaygroundTrial,
    Ranks,
    Where,
)
from validation_core.methods.base import Method
from validation_core.panels.colt.theta import filled_region
from validation_core.rng import common
from validation_core.statistics.curves import histogram_band
from validation_core.types import Array, Benchmark

LEVEL = 0.05
_HEIGHT = 214
_SHOWN_BINS = 20  # of the ranks' histogram
_DRAWN = 64  # draws of p, and of q, in a picture of the plane
_LINE_BINS = 30  # of a single theta
_TICKS = 5
_COLT = style.method_style("colt").color


def payload(study: PlaygroundStudy, seen: Playground) -> live.Payload:
    """All three pictures of a benchmark under gamma, beta and x."""
    places = [", ".join(f"{value:.2f}" for value in x) for x in seen.where.x_at]
    middle = int(np.abs(seen.where.x_at - seen.where.x_at.mean(0)).sum(1).argmin())
    rates = _rates(seen)
    return live.payload(
        sliders=[
            _gamma_slider(seen),
            _beta_slider(BETAS),
            Slider(
                "x",
                range(len(places)),
                names=[
                    f"({place})" if seen.where.x_at.shape[1] > 1 else place for place in places
                ],
                start=middle,
                label="Observation x",
                ends=("or press the map", ""),
            ),
            Slider("sample", range(len(seen.ranks.counts)), label="Sample", button="New sample"),
        ],
        panels=[
            _theta(seen.where),
            _histogram(seen.ranks),
            _power_over_gamma(seen, rates),
            _map(seen.where),
            _difference(seen.ranks),
            _power_over_beta(seen, rates),
        ],
        headline=_headline(seen, rates),
        columns=3,
    )


def _gamma_slider(seen: Playground) -> Slider:
    return Slider(
        "gamma",
        seen.gammas,
        names=[f"{gamma:g}" for gamma in seen.gammas],
        start=_opening(seen),
        label="Strength, gamma",
        ends=("q = p", "q far off"),
        play=True,
    )


def _beta_slider(betas: Sequence[float]) -> Slider:
    ends = ("trained", "random network")
    return Slider("beta", betas, label="Degradation, beta", ends=ends)


def _opening(seen: Playground) -> float:
    """The gamma to begin with: where the tests differ most."""
    rates = _rates(seen).rate[:, 0]
    return float(seen.gammas[np.ptp(rates, axis=0).argmax()])


class _Rates(NamedTuple):
    """Share of trials in which each method rejects, at every beta of the slider."""

    rate: Array  # (methods, BETAS, G)
    trials: int
    low: Array  # Wilson interval (methods, POWER_BETAS, G)
    high: Array

    def of(self, name: str) -> Array:
        """Of the method of that name: (BETAS, G)."""
        by_name = {method.name: i for i, method in enumerate(METHODS)}
        return np.asarray(self.rate[by_name[name]])


def _rates(seen: Playground) -> _Rates:
    """Counted at a few betas; between them, the straight line."""
    hits, trials = seen.power(LEVEL)
    rate = hits / trials
    fine = np.empty((len(METHODS), len(BETAS), rate.shape[-1]))
    for i in range(len(METHODS)):
        there = ~np.isnan(rate[i, :, 0])
        betas = np.array(POWER_BETAS)[there]
        for g in range(rate.shape[-1]):
            fine[i, :, g] = np.interp(BETAS, betas, rate[i, there, g])
    low, high = statistics.wilson(np.nan_to_num(hits), np.full(hits.shape, trials))
    return _Rates(fine, trials, np.asarray(low), np.asarray(high))


def _headline(seen: Playground, rates: _Rates) -> Any:
    alarms = rates.of("uniform")
    return sentence(
        f"At γ = {{gamma}} the ball that holds {{mass}} of q's draws holds {{share}} of p's "
        f"draws at this x. {POINTS} draws of q rank {{ranks}} among draws of p (p-value "
        f"{{p}}); on fresh draws this test would reject q {{power}} of the time.",
        gamma=over([f"{gamma:g}" for gamma in seen.gammas], "gamma"),
        mass=f"{seen.where.u_star:.0%}",
        share=over(written(seen.where.inside_at, "{:.0%}".format), "gamma", "x"),
        ranks=over(
            np.where(seen.ranks.pvalues <= LEVEL, "unevenly", "as evenly as chance allows"),
            "sample",
            "gamma",
            "beta",
        ),
        p=over(written(seen.ranks.pvalues, equals), "sample", "gamma", "beta"),
        power=over(written(alarms.T, "{:.0%}".format), "gamma", "beta"),
    )


# ---- Where ----


def _theta(where: Where) -> Panel:
    """Draws of p and q at this x, and CoLT's ball."""
    still = len(where.p) == 1
    by = ("x",) if still else ("gamma", "x")
    # Of a single parameter draws are counted in bins, and all of them travel in a few bytes.
    most = None if where.q.shape[-1] == 1 else _DRAWN
    p = np.asarray(where.p[0] if still else where.p, float)[..., :most, :]
    q = np.asarray(where.q, float)[..., :most, :]
    caption = sentence(
        f"At one x. The outlined ball holds {where.u_star:.0%} of q's draws and {{share}} of "
        f"p's; over all x, {{overall}}.",
        share=over(written(where.inside_at, "{:.0%}".format), "gamma", "x"),
        overall=over(written(where.inside[:, 0], "{:.0%}".format), "gamma"),
    )
    common: dict[str, Any] = {
        "title": "Where q is wrong",
        "caption": caption,
        "height": _HEIGHT,
        "legend": [
            ("truth p", style.P, "circle"),
            ("estimate q", style.Q, "circle"),
            ("CoLT's region", _COLT, "line" if where.q.shape[-1] == 1 else "band"),
        ],
    }
    if q.shape[-1] == 1:
        return _on_line(where, p, q, by, common)
    outline = np.asarray(where.outline, float) - where.origin[:, None]
    p, q = (side - where.origin[:, None] for side in (p, q))
    limits = [_frame((p, q), axis) for axis in range(2)]
    moved = " less its true mean" * bool(where.origin.any())
    everywhere = [] if moved else [_everywhere(p)]
    p, q = (_within(side, limits) for side in (p, q))
    rims = list(outline.reshape(-1, *outline.shape[2:]))
    return Panel(
        [
            *everywhere,
            filled_region(rims, (limits[0], limits[1]), "gamma", "x", shape=outline.shape[:2]),
            *(
                Points(
                    over(cloud[..., 0], *names, coarse=True),
                    over(cloud[..., 1], *names, coarse=True),
                    color=color,
                    size=4,
                    opacity=0.75,
                )
                for cloud, names, color in ((q, ("gamma", "x"), style.Q), (p, by, style.P))
            ),
        ],
        x=Axis(limits[0], f"θ₁{moved}"),
        y=Axis(limits[1], f"θ₂{moved}"),
        **common,
    )


def _everywhere(p: Array) -> Points:
    """The truth at all x, faint: the shape that single posteriors are a part of."""
    cloud = p.reshape(-1, 2)
    return Points(cloud[:, 0], cloud[:, 1], color=style.NULL, size=3, opacity=0.25)


def _on_line(
    where: Where, p: Array, q: Array, by: tuple[str, ...], common: Mapping[str, Any]
) -> Panel:
    """One parameter: histograms of both, the ball as a stretch."""
    limits = _frame((p, q), 0)
    edges = np.linspace(*limits, _LINE_BINS + 1)
    counts = [_binned(side[..., 0], edges) for side in (p, q)]
    top = 1.1 * max(side.max() for side in counts)
    stretch = np.asarray(where.outline, np.float64)[..., 0, :]
    return Panel(
        [
            Bars(edges, over(counts[1], "gamma", "x"), color=style.Q),
            Bars(edges, over(counts[0], *by), color=style.P),
            *(
                VLine(over(stretch[..., end], "gamma", "x"), color=_COLT, width=2.5)
                for end in (0, 1)
            ),
        ],
        x=Axis(limits, "θ"),
        y=Axis((0, top), "draws"),
        **common,
    )


def _binned(values: Array, edges: Array) -> Array:
    """Counts (..., bins) of values (..., n)."""
    rows = values.reshape(-1, values.shape[-1])
    counts = np.stack([np.histogram(row, edges)[0] for row in rows])
    return counts.reshape(*values.shape[:-1], -1)


def _frame(sides: Sequence[Array], axis: int) -> tuple[float, float]:
    """Limits that hold nearly all draws of one parameter at every gamma and x."""
    both = np.concatenate([side[..., axis].ravel() for side in sides])
    low, high = np.quantile(both, [0.005, 0.995])
    room = 0.06 * (high - low)
    return float(low - room), float(high + room)


def _within(points: Array, limits: Sequence[tuple[float, float]]) -> Array:
    """Points (..., 2), those beyond the frame nan."""
    low, high = np.array(limits).T
    outside = ((points < low) | (points > high)).any(-1)
    return np.where(outside[..., None], np.nan, points)


def _map(where: Where) -> Panel:
    """How much more or less of the truth than of q the ball holds, over x."""
    reach = float(np.ceil(20 * max(np.abs(where.difference).max(), 0.1)) / 20)
    caption = (
        f"p's share in the ball less q's {where.u_star:.0%}. If q were correct, it would be 0 "
        "everywhere, up to the noise of 400 draws a cell."
    )
    if len(where.x_edges) == 1:
        middles = (where.x_edges[0][1:] + where.x_edges[0][:-1]) / 2
        at = where.x_at[:, 0]
        return Panel(
            [
                HLine(0, label="if q = p"),
                Line(middles, over(where.difference, "gamma"), color=_COLT),
                VLine(over(at, "x")),
            ],
            x=Axis((float(where.x_edges[0][0]), float(where.x_edges[0][-1])), "x"),
            y=Axis((-1.1 * reach, 1.1 * reach), "truth less q", percent=True),
            title="Over x: press to move",
            caption=caption,
            height=_HEIGHT,
            click="x",
            at=np.stack([at, 0 * at], axis=1),
        )
    across, up = where.x_edges
    return Panel(
        [
            Heat(
                across,
                up,
                Shades(over(where.difference, "gamma"), limit=reach, label="truth less q"),
            ),
            Points(
                over(where.x_at[:, :1], "x"),
                over(where.x_at[:, 1:], "x"),
                color="",
                size=12,
                symbol="ring",
            ),
        ],
        x=Axis((float(across[0]), float(across[-1])), "x₁"),
        y=Axis((float(up[0]), float(up[-1])), "x₂"),
        title="Over x: press to move",
        caption=caption,
        height=_HEIGHT,
        click="x",
        at=where.x_at,
    )


# ---- Conformal p-values ----


def _histogram(ranks: Ranks) -> Panel:
    counts = _counted(ranks)
    low, high = histogram_band(POINTS, _SHOWN_BINS)
    return Panel(
        [
            Band([0, 1], [low, low], [high, high]),
            Bars(
                np.linspace(0, 1, _SHOWN_BINS + 1),
                over(counts.astype(np.int8), "sample", "gamma", "beta"),
                color=style.Q,
            ),
            HLine(POINTS / _SHOWN_BINS, label="if q = p"),
        ],
        title="Conformal p-values of q's draws",
        x=Axis((0, 1), "p-value: low where the draw looks unlike p"),
        y=Axis((0, 1.1 * max(float(np.quantile(counts.max(-1), 0.99)), high)), "draws of q"),
        caption=f"Each of {POINTS} draws ranks by its score among 50 draws of p. If q were "
        "correct, "
        "bars would be flat, and all inside the grey band in 95% of samples.",
        height=_HEIGHT,
    )


def _counted(ranks: Ranks) -> NDArray[np.int64]:
    """Ranks in the bins that are drawn: (S, G, B, bins), at most POINTS in one, so a byte each."""
    return ranks.counts.reshape(*ranks.counts.shape[:-1], _SHOWN_BINS, -1).sum(-1, dtype=int)


def _difference(ranks: Ranks) -> Panel:
    grid = np.linspace(0, 1, _SHOWN_BINS + 1)
    cumulated = np.cumsum(_counted(ranks), axis=-1) / POINTS
    difference = np.concatenate([np.zeros((*cumulated.shape[:-1], 1)), cumulated], -1) - grid
    low, high = statistics.ecdf_band(POINTS, 0.95, grid[1:-1])
    band = (np.concatenate([[0], side, [0]]) for side in (low, high))
    reach = 1.08 * float(np.abs(difference).max())
    caption = sentence(
        "Kolmogorov-Smirnov p-value {p}. If q were correct, the line would stay inside the "
        "grey band in 95 of 100 samples.",
        p=over(written(ranks.pvalues, equals), "sample", "gamma", "beta"),
    )
    return Panel(
        [
            Band(grid, *band),
            HLine(0),
            Line(grid, over(difference, "sample", "gamma", "beta", coarse=True), color=style.Q),
        ],
        title="Are they uniform? ECDF less the diagonal",
        x=Axis((0, 1), "u"),
        y=Axis((-reach, reach), "share up to u, less u"),
        caption=caption,
        height=_HEIGHT,
    )


# ---- Power ----


def _power_over_gamma(seen: Playground, rates: _Rates) -> Panel:
    """Along the slider's own places, which lie closer where the curves climb."""
    count = len(seen.gammas)
    places = np.arange(count, dtype=float)
    ticks = np.unique(np.round(np.linspace(0, count - 1, min(_TICKS, count))).astype(int))
    marks: list[Mark] = [
        HLine(LEVEL, color=style.NULL, label="level"),
        VLine(over(places, "gamma")),
    ]
    for method, rate in zip(METHODS, rates.rate, strict=True):
        marks.append(_curve(method, places, over(rate, "beta")))
    return Panel(
        marks,
        title="Power over gamma",
        x=Axis(
            (-0.5, count - 0.5),
            "gamma, finer where curves climb",
            ticks=ticks,
            names=[f"{seen.gammas[i]:g}" for i in ticks],
        ),
        y=Axis((0, 1.02), "trials that reject q", percent=True),
        caption=f"{rates.trials} trials a point, {POINTS} test points each, one network for all. "
        "Press to move gamma.",
        height=_HEIGHT,
        click="gamma",
        at=np.stack([places, np.full(count, 0.5)], axis=1),
        legend=_legend(),
    )


def _power_over_beta(seen: Playground, rates: _Rates) -> Panel:
    marks: list[Mark] = [HLine(LEVEL, color=style.NULL, label="level"), VLine(over(BETAS, "beta"))]
    for method, rate in zip(METHODS, rates.rate, strict=True):
        marks.append(_curve(method, np.array(BETAS), over(rate.T, "gamma")))
    return Panel(
        marks,
        title="Power over beta",
        x=Axis((-0.02, 1.02), "beta: the network is moved back to its random start"),
        y=Axis((0, 1.02), "trials that reject q", percent=True),
        caption=(
            f"Counted at {len(POWER_BETAS)} values of beta, CoLT at {len(COLT_BETAS)}, straight "
            "lines between. SBC has no network: beta does not change it."
        ),
        height=_HEIGHT,
        click="beta",
    )


def _curve(method: Method, x: Array, y: Any) -> Line:
    look = style.method_style(method.name)
    return Line(x, y, color=look.color, dash=look.dash, width=2)


def _legend() -> list[tuple[str, str, str]]:
    return [
        (
            method.title.removeprefix("Conformal C2ST, "),
            style.method_style(method.name).color,
            "line" if style.method_style(method.name).dash == "solid" else "dash",
        )
        for method in METHODS
    ]


# ---- The strip ----

_DOTS = 70
_WIDE, _HIGH = 64, 44


def thumbnail(name: str, benchmark: Benchmark) -> dict[str, Any]:
    """A benchmark's own draws of p and q, seen small: places in a box of 64 by 44.

    At one x where x has two numbers, over all x where it has one; at the largest gamma.
    """
    rng = common(0, "thumbnail", name)
    d, m = benchmark.dims
    x = benchmark.x(_DOTS, rng)
    if m > 1:
        x = np.repeat(x.mean(0, keepdims=True), _DOTS, axis=0)
    gamma = max(benchmark.gammas)
    sides = [law(x, gamma, rng) for law in (benchmark.theta, benchmark.q)]
    if d == 1:
        sides = [np.concatenate([side, x], axis=1) for side in sides]
    low, high = np.quantile(np.concatenate(sides), [0.02, 0.98], axis=0)
    p, q = (
        np.round(3 + np.clip((side - low) / (high - low), 0, 1) * (_WIDE - 6, _HIGH - 6), 1)
        for side in sides
    )
    return {
        "name": name,
        "label": _short(benchmark),
        "about": benchmark.summary,
        "p": p.tolist(),
        "q": q.tolist(),
    }


def _short(benchmark: Benchmark) -> str:
    if not isinstance(benchmark, Gaussian):
        return benchmark.title
    title = PERTURBATIONS[benchmark.perturbation].title
    return f"{title.capitalize()}, curved" if benchmark.curved else title.capitalize()


# ---- p-values over trials: a brick for each ----

_COLUMNS = 20  # of the histogram of p-values
_ABREAST = 5  # bricks side by side in a column


def pvalue_bricks(seen: Playground, method: Method, betas: Sequence[float]) -> live.Payload:
    """The p-values of one method over all trials, each a brick that a press opens."""
    which = [i for i, beta in enumerate(POWER_BETAS) if beta in betas]
    pvalues = np.asarray(seen.trial_pvalues[METHODS.index(method)][which], np.float64)
    x, y = _piled(pvalues)  # (B, G, trials) each
    rejected = pvalues <= LEVEL
    trials = pvalues.shape[-1]
    shares = written(rejected.mean(-1), "{:.0%}".format)
    numbers = np.arange(trials)
    label = method.title.removeprefix("Conformal C2ST, ")
    by = ("beta", "gamma")
    piles: list[Mark] = [
        Points(
            over(np.where(side, x, np.nan), *by, coarse=True),
            over(np.where(side, y, np.nan), *by, coarse=True),
            color=color,
            size=7,
            symbol="square",
            opacity=0.8,
        )
        for side, color in ((~rejected, style.NULL), (rejected, style.Q))
    ]
    here = over(np.stack([x, y], axis=-1), *by, coarse=True)
    at = over(np.moveaxis(x, -1, 0)[..., None], "trial", *by, coarse=True)
    up = over(np.moveaxis(y, -1, 0)[..., None], "trial", *by, coarse=True)
    even = trials / _COLUMNS / _ABREAST
    return live.payload(
        sliders=[
            _gamma_slider(seen),
            _beta_slider(betas),
            Slider(
                "trial",
                numbers,
                names=[str(i + 1) for i in numbers],
                label="Opened trial",
                ends=("or press a brick", ""),
            ),
        ],
        panels=[
            Panel(
                [
                    HLine(even, label="if q = p"),
                    *piles,
                    Points(at, up, color="", size=13, symbol="ring"),
                    VLine(LEVEL, color=style.NULL, dash="4 3", label="level"),
                ],
                title=f"p-values of {label} in {trials} trials",
                x=Axis((0, 1), "p-value of a trial"),
                y=Axis((0, 1.04 * trials / _ABREAST), hidden=True),
                caption="Each brick is a trial with fresh draws. If q were correct, the wall "
                "would be "
                "level; the bricks left of the line reject q at 5%.",
                height=360,
                click="trial",
                at=here,
            )
        ],
        headline=sentence(
            f"At γ = {{gamma}} {label} rejects q in {{share}} of {trials} trials at level "
            f"{LEVEL:.0%}.",
            gamma=over([f"{gamma:g}" for gamma in seen.gammas], "gamma"),
            share=over(shares, *by),
        ),
        columns=1,
    )


def _piled(pvalues: Array) -> tuple[Array, Array]:
    """Where each trial's brick lies in a wall of `_COLUMNS`, `_ABREAST` bricks wide: (..., R)."""
    column = np.minimum((pvalues * _COLUMNS).astype(int), _COLUMNS - 1)
    before = np.zeros(column.shape, dtype=int)
    for one in range(_COLUMNS):
        there = column == one
        before += np.where(there, np.cumsum(there, axis=-1) - 1, 0)
    x = (column + (before % _ABREAST + 0.5) / _ABREAST) / _COLUMNS
    return x, before // _ABREAST + 0.5


def trial_payload(trial: PlaygroundTrial, method: Method) -> live.Payload:
    """One trial: its draws, and what the test read of them."""
    ranks = trial.ranks
    panels = [_drawn(trial)]
    if ranks.size:
        low, high = histogram_band(ranks.size, _SHOWN_BINS)
        edges = np.linspace(0, 1, _SHOWN_BINS + 1)
        counts = np.histogram(ranks, edges)[0]
        panels.append(
            Panel(
                [
                    Band([0, 1], [low, low], [high, high]),
                    Bars(edges, counts, color=style.Q),
                    HLine(ranks.size / _SHOWN_BINS, label="if q = p"),
                ],
                title="Its ranks",
                x=Axis((0, 1), "rank"),
                y=Axis((0, 1.1 * max(counts.max(), high)), "draws"),
                height=_HEIGHT,
            )
        )
    else:
        both = np.concatenate([trial.scores_p, trial.scores_q])
        limits = style.padded(both)
        edges = np.linspace(*limits, _LINE_BINS + 1)
        sides = [np.histogram(side, edges)[0] for side in (trial.scores_q, trial.scores_p)]
        panels.append(
            Panel(
                [Bars(edges, sides[0], color=style.Q), Bars(edges, sides[1], color=style.P)],
                title="Its scores",
                x=Axis(limits, "score: high looks like p"),
                y=Axis((0, 1.1 * max(side.max() for side in sides)), "draws"),
                height=_HEIGHT,
                legend=[("truth p", style.P, "circle"), ("estimate q", style.Q, "circle")],
            )
        )
    verdict = "rejects" if trial.pvalue <= LEVEL else "does not reject"
    return live.payload(
        panels=panels,
        headline=f"This trial {verdict} q: {method.statistic} {trial.statistic:.3f}, p "
        f"{equals(trial.pvalue)}.",
    )


def _drawn(trial: PlaygroundTrial) -> Panel:
    sides = [
        side if side.shape[1] > 1 else np.c_[side, np.arange(len(side)) / len(side)]
        for side in (trial.q, trial.p)
    ]
    limits = [_frame(sides, axis) for axis in range(2)]
    flat = trial.p.shape[1] == 1
    return Panel(
        [
            Points(side[:, 0], side[:, 1], color=color, size=4, opacity=0.75)
            for side, color in zip(sides, (style.Q, style.P), strict=True)
        ],
        title=f"Its draws: {len(trial.p)} of p, {len(trial.q)} of q, each at an x of its own",
        x=Axis(limits[0], "θ" if flat else "θ₁"),
        y=Axis(limits[1], "" if flat else "θ₂", hidden=flat),
        height=_HEIGHT,
        legend=[("truth p", style.P, "circle"), ("estimate q", style.Q, "circle")],
    )
