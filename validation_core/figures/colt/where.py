"""Where q is wrong: the map in theta at an x, beside the map over x that moves it."""

from __future__ import annotations

import numpy as np

from validation_core.diagnosis import equals
from validation_core.figures import live
from validation_core.figures.colt import line
from validation_core.figures.colt.over_x import over_x, shares
from validation_core.figures.colt.theta import Sight, picture
from validation_core.figures.marks import Slider, Text, over, text
from validation_core.localization import LocalRate, Maps, bend
from validation_core.types import Array

_EVIDENCE = 0.05


def payload(maps: Maps, rate: LocalRate, sight: Sight, alpha: float) -> live.Payload:
    """Both maps at every place of the slider."""
    univariate = maps.q.shape[2] == 1
    here = line.picture(maps) if univariate else picture(maps, sight)
    height = line.HEIGHT if univariate else 460
    return live.payload(
        sliders=[slider(maps)],
        panels=[here, *over_x(maps, rate, height)],
        headline=headline(maps, alpha),
    )


def bent(maps: Maps, sight: Sight) -> str:
    """How curved the truth is, where its principal curve is drawn."""
    curve = None if sight.around else bend(maps)
    if curve is None:
        return ""
    return (
        " Dotted: the principal curve of the truth over all x (Hastie, Stuetzle 1989), of length "
        f"{curve.length:.2g}, turning by {curve.total_abs_curvature:.2g} radians in all."
    )


def slider(maps: Maps) -> Slider:
    """Over x itself where it is a number, over places elsewhere."""
    x, places, first = maps.x_at, len(maps.x_at), telling(maps)
    if x.shape[1] == 1:
        start = float(x[first, 0])
        return Slider("x", x[:, 0], label="x", names=said_of(x), start=start)
    label = "Place x, along the first principal component"
    return Slider("x", np.arange(places), label=label, names=said_of(x), start=first)


def telling(maps: Maps) -> int:
    """Where to begin: where q is most wrong, among usual x at which its spread is not small.

    Without evidence against q the place farthest off would be so by chance: the most usual x.
    """
    x = maps.x_at.astype(float)
    scale = x.std(0)
    away = np.abs((x - np.median(x, axis=0)) / np.where(scale > 0, scale, 1)).max(1)
    if maps.pvalue > _EVIDENCE:
        return int(away.argmin())
    spread = np.log(np.maximum(maps.q.std(1), 1e-12)).mean(-1)
    usual = (spread >= np.median(spread)) & (away <= 1.3)
    gap = np.abs(shares(maps).share - maps.u_star)
    return int(np.where(usual | ~usual.any(), gap, -1.0).argmax())


def said_of(x: Array) -> list[str]:
    """Places (V, M) in words."""
    if x.shape[1] > 3:
        return [f"{i + 1} of {len(x)}" for i in range(len(x))]
    rounded = np.round(x.astype(float), 2) + 0.0  # no minus before a zero
    labels = [", ".join(f"{value:.2f}" for value in row).replace("-", "−") for row in rounded]
    return labels if x.shape[1] == 1 else [f"({row})" for row in labels]


def headline(maps: Maps, alpha: float) -> Text:
    """The answer in one sentence: the ball over all x, and at the slider's x."""
    u, here = float(maps.u_star), shares(maps)
    p = f"KS p {equals(float(maps.pvalue))}"
    over_all = (
        f"Over all x, q puts {u:.0%} of its mass into the learnt ball and the truth "
        f"{interval(maps.inside, maps.inside_low, maps.inside_high)}"
    )
    verdict = f" ({p})." if maps.pvalue <= alpha else f": no evidence against q ({p})."
    name = "x = {x}" if maps.x_at.shape[1] <= 3 else "place {x}"
    several = maps.truth.shape[1] > 1
    local = f" At {name} the truth puts {{share}} there{{says}}" if several else ""
    sure = shares(maps, 1 - 0.05 / len(maps.x_at))
    says = [_says(u, low, high) for low, high in zip(sure.low, sure.high, strict=True)]
    return text(
        over_all + verdict + local,
        x=over(said_of(maps.x_at), "x"),
        share=over([interval(*each) for each in zip(*here, strict=True)], "x"),
        says=over(says, "x"),
    )


def interval(share: Array, low: Array, high: Array) -> str:
    """A share with its interval, in percent."""
    return f"{100 * float(share):.0f}% [{100 * float(low):.0f}, {100 * float(high):.0f}]"


def _says(u: float, low: float, high: float) -> str:
    if low > u:
        return ": q misses mass in the ball."
    return ": q puts too much mass into the ball." if high < u else "."


def how_to_read(maps: Maps, sight: Sight) -> str:
    """What both maps show, and what they would look like were q right."""
    d, m = maps.q.shape[2], maps.x_at.shape[1]
    u, truths = f"{float(maps.u_star):.0%}", maps.truth.shape[1]
    ball = (
        f"In θ: the learnt centre and the ball around it that holds {u} of q's mass"
        if d <= 2
        else f"In θ: draws of q in the ball that holds {u} of its mass. The ball lives in all {d} "
        "dimensions; its shadow is shown"
    )
    edge = "; a centre beyond the edge is drawn on it" if sight.around else ""
    thin = ", the thin line its path over x" if m == 1 and d == 2 and not sight.around else ""
    coloured = d == 2 and maps.difference.size > 0 and not sight.around
    background = "; blue where p is denser than q, orange where q is" * coloured
    beside = {
        1: "the truth's share in the ball less q's along x, smoothed over "
        f"{len(maps.u_quote)} simulations, with pointwise 95% intervals; the point is {truths} "
        "true draws at this x",
        2: f"the truth's share in the ball less q's, smoothed over {len(maps.u_quote)} "
        "simulations; dots are the places of the slider",
    }.get(m, "the same share along the coordinates of x that tell most")
    return (
        f"{ball}{thin}{background}{edge}. Beside it: {beside}. Brackets are 95% intervals; what "
        f"is said of one x holds for all {len(maps.x_at)} places at once. Were q right, the ball "
        "would hold as large a share of the truth as of q at every x."
    )
