"""Maps of where q is wrong: in theta at an x, and over x."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from validation_core import statistics
from validation_core.drawing import live, style
from validation_core.drawing.marks import (
    Axis,
    Band,
    Heat,
    HLine,
    Line,
    Mark,
    Panel,
    Points,
    Shades,
    Slider,
    Text,
    VLine,
    over,
    sentence,
)
from validation_core.drawing.over_sliders import join_over
from validation_core.localization import LocalRate, Maps, RateCurve, local_rate, truth_curve
from validation_core.localization.map_draws import MEASURED
from validation_core.panels.colt import theta
from validation_core.panels.colt.theta import (
    ANOTHER_SEED,
    COLT,
    ThetaAxes,
    cell_edges,
    gamma_slider,
    place_labels,
    subscript,
)
from validation_core.panels.gamma_scale import STRENGTH, GammaScale
from validation_core.text import by_chance_text, said_equals, share_interval_text
from validation_core.types import Array

PERMUTATIONS = 1999
_RANKED = 3
"""Coordinates of x whose curves are drawn."""


def rates(maps: Maps) -> LocalRate:
    """Local rate over x, with its permutation test."""
    coordinates = maps.x_quote.shape[1]
    count = max(PERMUTATIONS, 50 * coordinates - 1)
    return local_rate(
        maps.x_quote, maps.u_quote, float(maps.u_star), permutations=count, shown=_RANKED
    )


class _Shares(NamedTuple):
    """Share of true draws in the ball at each place, with its interval: (V,) each."""

    share: Array
    low: Array
    high: Array


def _shares(maps: Maps) -> _Shares:
    """Shares from the true draws at each place, none of which trained the ball."""
    count, n = maps.truth_inside.sum(1), maps.truth_inside.shape[1]
    low, high = statistics.wilson(count, np.full(count.shape, n))
    return _Shares(count / n, np.asarray(low), np.asarray(high))


def _beside_q(maps: Maps, alpha: float) -> _Shares:
    """Shares beside q's mass in the ball; intervals miss it anywhere with chance alpha at most.

    The radius is a quantile of finitely many draws of q, which has its own noise: as if there
    were fewer true draws.
    """
    share, n = np.asarray(maps.truth_inside, float).mean(1), maps.truth_inside.shape[1]
    worth = max(1 / (1 / n + 1 / MEASURED), 1.0)
    count = np.minimum(share * worth, worth)
    low, high = statistics.clopper_pearson(count, worth, 1 - alpha / len(maps.x_at))
    return _Shares(share, np.asarray(low), np.asarray(high))


def _over_x(maps: Maps, rate: LocalRate, correct: bool, height: int, alpha: float) -> list[Panel]:
    """Panels of the local rate over x: a curve, a heat map, or the best coordinates."""
    if rate.heat is not None:
        return [_over_plane(maps, rate, _changes_text(rate.pvalue, correct, alpha))]
    several = maps.x_at.shape[1] > 1
    here = [] if several else [_shares(maps).share - maps.u_star]
    low = min(float(np.nanmin(part)) for part in (*(c.low for c in rate.curves), *here))
    high = max(float(np.nanmax(part)) for part in (*(c.high for c in rate.curves), *here))
    low, high = min(low, -0.05), max(high, 0.05)
    limits = (low - 0.06 * (high - low), high + 0.06 * (high - low))
    adjusted = f", adjusted for {maps.x_at.shape[1]} coordinates" if several else ""
    pairs = zip(rate.curves, rate.coordinates, rate.pvalues, strict=False)
    return [
        _along(
            maps,
            curve,
            int(which) if several else None,
            float(p) <= alpha and not correct and i == 0,
            _changes_text(float(p), correct, alpha, adjusted),
            limits,
            height if i == 0 else 230,
        )
        for i, (curve, which, p) in enumerate(pairs)
    ]


def _along(
    maps: Maps,
    curve: RateCurve,
    which: int | None,
    clearest: bool,
    caption: str,
    limits: tuple[float, float],
    height: int,
) -> Panel:
    """Panel of the local rate along one coordinate; `which` is None where x is one number."""
    at = maps.x_at[:, which or 0]
    rate = np.interp(at, curve.at, curve.rate)
    marks: list[Mark] = [
        Band(curve.at, curve.low, curve.high, color=COLT, opacity=0.2),
        HLine(0, label="if q = p"),
        Line(curve.at, curve.rate, color=COLT),
    ]
    if which is None:
        marks += _share_at_place(maps, at)
        title, label, places = "Over x", "x", None
    else:
        ring = over(at[:, None], "x"), over(rate[:, None], "x")
        marks += [
            Points(at, rate, color=style.NULL, size=4),
            Points(*ring, color=COLT, size=11, symbol="ring"),
        ]
        label, places = f"x{subscript(which + 1)}", np.stack([at, rate], axis=1)
        title = f"Over {label}" + ", where it shows most" * clearest
    span = 0.03 * (curve.at[-1] - curve.at[0])
    low, high = min(curve.at[0], at.min()) - span, max(curve.at[-1], at.max()) + span
    return Panel(
        marks,
        title=title,
        height=height,
        click="x",
        at=places,
        x=Axis((low, high), label),
        y=Axis(limits, "p − q share in the region", percent=True),
        caption=caption,
    )


def _share_at_place(maps: Maps, at: Array) -> list[Mark]:
    """The share of the place on the slider less q's, with its interval, at x of one number."""
    here, u = _shares(maps), float(maps.u_star)
    share, low, high = (over(part[:, None] - u, "x") for part in here)
    return [
        VLine(over(at, "x"), width=1),
        Points(over(at[:, None], "x"), share, low=low, high=high, color=style.P, size=8),
    ]


def _over_plane(maps: Maps, rate: LocalRate, caption: str) -> Panel:
    heat = rate.heat
    assert heat is not None, "of x in two dimensions"
    limit = max(0.1, float(np.nanmax(np.abs(heat.rate), initial=0)))
    at = maps.x_at
    room = [0.04 * (axis[-1] - axis[0]) for axis in (heat.grid_x, heat.grid_y)]
    ends = [
        (min(axis[0], at[:, i].min()) - room[i], max(axis[-1], at[:, i].max()) + room[i])
        for i, axis in enumerate((heat.grid_x, heat.grid_y))
    ]
    return Panel(
        [
            Heat(
                cell_edges(heat.grid_x),
                cell_edges(heat.grid_y),
                Shades(heat.rate, limit=limit, label="p − q share in the region"),
            ),
            Points(at[:, 0], at[:, 1], color="currentColor", size=4, opacity=0.55),
            Points(over(at[:, :1], "x"), over(at[:, 1:], "x"), color=COLT, size=13, symbol="ring"),
        ],
        title="Over x",
        square=True,
        click="x",
        at=at,
        x=Axis(ends[0], "x₁"),
        y=Axis(ends[1], "x₂"),
        caption=caption,
    )


def _changes_text(p: float, correct: bool, alpha: float, adjusted: str = "") -> str:
    """Whether the error changes with x, by its permutation test."""
    test = f"(permutation p {said_equals(p)}{adjusted})"
    if p > alpha:
        return f"No sign that the error changes with x {test}."
    if correct:
        return f"The share seems to change with x {test}, by chance: q is correct here."
    return f"The error changes with x {test}."


_EVIDENCE = 0.05


def payload(
    maps: Sequence[Maps],
    rates: Sequence[LocalRate],
    sight: ThetaAxes,
    alpha: float,
    gammas: Sequence[float],
    start: float,
    correct: Sequence[bool] = (),
    scale: GammaScale = STRENGTH,
) -> live.Payload:
    """Both maps at every gamma and place of the sliders.

    Args:
        maps: one for each gamma, at the same places.
        rates: the local rate of each.
        sight: displayed directions of theta.
        alpha: the level.
        gammas: of the slider; there is none for one.
        start: its initial value.
        correct: whether q is correct, of each map; unknown by default.
        scale: of the gammas.
    """
    height = theta.LINE_HEIGHT if maps[0].q.shape[2] == 1 else 460
    known = correct or [False] * len(maps)
    beside = zip(
        *(_over_x(*each, height, alpha) for each in zip(maps, rates, known, strict=True)),
        strict=True,
    )
    return live.payload(
        sliders=[*gamma_slider(gammas, start, scale), _slider(maps[list(gammas).index(start)])],
        panels=[
            join_over("gamma", theta.theta_panels(maps, sight)),
            *(join_over("gamma", panels) for panels in beside),
        ],
        headline=join_over(
            "gamma", [headline(*each, alpha) for each in zip(maps, known, strict=True)]
        ),
    )


def bend_text(maps: Maps, sight: ThetaAxes) -> str:
    """How curved the truth is, in words, where its principal curve is drawn."""
    curve = None if sight.around else truth_curve(maps)
    if curve is None:
        return ""
    return (
        " Dotted: the path of the true values as x moves, their principal curve (Hastie, Stuetzle "
        f"1989): {curve.length:.2g} long, turning by {curve.turn:.2g} radians in all."
    )


def _slider(maps: Maps) -> Slider:
    """Slider over x where it is one number, over places otherwise."""
    x, places, first = maps.x_at, len(maps.x_at), choose_initial_place(maps)
    if x.shape[1] == 1:
        start = float(x[first, 0])
        return Slider("x", x[:, 0], label="x", names=place_labels(x), start=start)
    label = "Observation x, along the first principal component"
    return Slider("x", np.arange(places), label=label, names=place_labels(x), start=first)


def choose_initial_place(maps: Maps) -> int:
    """Initial place: where q is most wrong, among typical x at which its spread is not small.

    Without evidence against q the farthest place is so by chance: then the most typical x.
    """
    x = maps.x_at.astype(float)
    scale = x.std(0)
    away = np.abs((x - np.median(x, axis=0)) / np.where(scale > 0, scale, 1)).max(1)
    if maps.pvalue > _EVIDENCE:
        return int(away.argmin())
    spread = np.log(np.maximum(maps.q.std(1), 1e-12)).mean(-1)
    usual = (spread >= np.median(spread)) & (away <= 1.3)
    gap = np.abs(_shares(maps).share - maps.u_star)
    return int(np.where(usual | ~usual.any(), gap, -1.0).argmax())


def headline(maps: Maps, correct: bool, alpha: float) -> Text:
    """The answer in one sentence: the ball over all x, and at the slider's x.

    Args:
        maps: the ball, and who is inside.
        correct: whether q is known to be correct, so that whatever is found is so by chance.
        alpha: the level.
    """
    u, here = float(maps.u_star), _shares(maps)
    p = f"KS p-value {said_equals(float(maps.pvalue))}"
    over_all = (
        f"CoLT's region holds {u:.0%} of q's draws and "
        f"{_interval(maps.inside, maps.inside_low, maps.inside_high)} of the true values"
    )
    verdict = f" ({p})."
    if maps.pvalue > alpha:
        verdict = f": no evidence against q over all x ({p})."
    if correct and maps.pvalue <= alpha:
        verdict += f" {by_chance_text(alpha, ANOTHER_SEED)}"
    name = "x = {x}" if maps.x_at.shape[1] <= 3 else "place {x}"
    several = maps.truth.shape[1] > 1
    local = f" At {name} it holds {{share}} of the true values{{says}}" if several else ""
    sure = _beside_q(maps, alpha)
    point = (maps.truth == maps.truth[:, :1]).all((1, 2))
    says = [
        ": q and p are one point there."
        if correct and one
        else _says(u, float(low), float(high), correct)
        for low, high, one in zip(sure.low, sure.high, point, strict=True)
    ]
    return sentence(
        "{overall}{verdict}" + local,
        overall=over_all,
        verdict=verdict,
        x=over(place_labels(maps.x_at), "x"),
        share=over([_interval(*each) for each in zip(*here, strict=True)], "x"),
        says=over(says, "x"),
    )


def _interval(share: Array, low: Array, high: Array) -> str:
    """A share with its interval, in percent."""
    return share_interval_text((float(share), float(low), float(high)))


def _says(u: float, low: float, high: float, correct: bool) -> str:
    if low <= u <= high:
        return "."
    if correct:
        return ": by chance, since q is correct."
    return ": q puts too little there." if low > u else ": q puts too much there."


def how_to_read(maps: Maps, sight: ThetaAxes) -> str:
    """How to read both maps, and how they would look if q were correct."""
    d, m = maps.q.shape[2], maps.x_at.shape[1]
    u, truths = f"{float(maps.u_star):.0%}", maps.truth.shape[1]
    ball = (
        f"In θ: the learnt centre and the region around it that holds {u} of q's mass"
        if d <= 2
        else f"In θ: draws of q in the region that holds {u} of its mass. The region lives in all "
        f"{d} dimensions; its shadow is shown"
    )
    edge = "; a centre beyond the edge is drawn on it" if sight.around else ""
    thin = ", the thin line its path over x" if m == 1 and d == 2 and not sight.around else ""
    coloured = d == 2 and maps.difference.size > 0 and not sight.around
    background = "; blue where p is denser than q, orange where q is" * coloured
    along = {
        1: (
            "the share of true values in the region less q's along x, smoothed over "
            f"{len(maps.u_quote)} simulations, with pointwise 95% intervals; the point is "
            f"{truths} true values at this x"
        ),
        2: (
            f"the share of true values in the region less q's, smoothed over {len(maps.u_quote)} "
            "simulations; dots are the places of the slider"
        ),
    }.get(m, "the same share along the coordinates of x that tell most")
    return (
        f"{ball}{thin}{background}{edge}. In x: {along}. Brackets: 95% intervals; "
        f"what is said of a single x allows for all {len(maps.x_at)} being looked at. If q were "
        "correct, the region would hold as large a share of true values as of q's draws at "
        "every x."
    )
