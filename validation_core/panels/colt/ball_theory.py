"""Theory view of the CoLT page: ACLD beside d~, balls one by one, doubling, and training runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import kstwo

from validation_core.drawing import live, style
from validation_core.drawing.marks import (
    Axis,
    HBand,
    HLine,
    Line,
    Mark,
    Panel,
    Points,
    VLine,
    over,
    sentence,
)
from validation_core.drawing.over_sliders import freeze_sliders
from validation_core.drawing.power_curves import places_axis
from validation_core.localization import BallTheory, Maps
from validation_core.localization.ball_theory import INNER, MASSES
from validation_core.panels.colt.theta import COLT, gamma_slider
from validation_core.panels.gamma_scale import STRENGTH, GammaScale
from validation_core.text import interval_text, number_text
from validation_core.types import Array

_HEIGHT = 236
_ONE_RADIUS = style.OBSERVED


class TrainingRun(NamedTuple):
    """A stored localizer and its distance d~."""

    name: str
    distance: Array
    """(G, 3) estimate, low, high at each gamma."""

    @classmethod
    def of(cls, name: str, maps: Sequence[Maps]) -> TrainingRun:
        """The run behind maps, one for each gamma."""
        return cls(name, np.stack([np.asarray(each.distance, float) for each in maps]))


def theory_payload(
    theory: BallTheory,
    runs: Sequence[TrainingRun],
    dim: int,
    start: float,
    scale: GammaScale = STRENGTH,
) -> live.Payload:
    """Theory of the learnt ball under gamma.

    Args:
        theory: its measured quantities.
        runs: stored training runs at the same gammas.
        dim: dimension D of theta.
        start: initial gamma of the slider.
        scale: of the gammas.
    """
    gammas = theory.gammas.tolist()
    panels = [
        _distances_panel(theory, scale),
        _ball_panel(theory),
        _doubling_panel(theory, dim),
        _runs_panel(runs),
    ]
    if len(gammas) == 1:  # there is no slider that values could follow
        panels = [freeze_sliders(panel) for panel in panels]
    return live.payload(
        sliders=gamma_slider(gammas, start, scale),
        panels=panels,
        headline=_headline(theory, scale),
        columns=2,
    )


def how_to_read(n: int, several: bool = True) -> str:
    """Theorem 1 in words, and how the view would look if q were correct.

    Args:
        n: fresh simulations at each gamma.
        several: whether there is more than one gamma.
    """
    return (
        "CoLT's region is a ball around the learnt centre, under the learnt distance. "
        "Theorem 1: p and q differ if and only if, for some centre and radius, a ball has another "
        "mass under p than under q, averaged over x; the doubling condition lets small balls "
        "stand for densities. One centre that shows a difference is enough to tell them apart; "
        "that a learnt centre shows none is no proof. The largest difference of balls with one "
        "radius for all x is the paper's ACLD, that of balls with one mass of q at every x its "
        f"d~; here both are of the learnt centre and embedding. {n} fresh simulations"
        f"{' at each gamma' * several}, with 95% intervals. If q were correct, both would be 0 "
        "for every centre, and estimates of them above 0 by chance."
    )


def _headline(theory: BallTheory, scale: GammaScale) -> Any:
    words = [
        _comparison(*each)
        for each in zip(
            theory.gammas == 0, theory.acld.tolist(), theory.distance.tolist(), strict=True
        )
    ]
    if len(words) == 1:
        return words[0][0].upper() + words[0][1:]
    return sentence(
        "At {gamma} {words}",
        gamma=over([scale.text(gamma) for gamma in theory.gammas.tolist()], "gamma"),
        words=over(words, "gamma"),
    )


def _comparison(none: bool, acld: Sequence[float], distance: Sequence[float]) -> str:
    """Both distances at one gamma, in words: d~ decides, whose test is exact, and it alone."""
    numbers = (
        f"the ACLD is {interval_text(acld, '.3f')} and d~ is {interval_text(distance, '.3f')}"
    )
    if none:
        return f"{numbers}: with q the same as p, what differs from 0 is chance."
    if distance[1] <= 0:
        return f"{numbers}: by d~ no region around the learnt centre differs beyond chance."
    return (
        f"{numbers}: around the learnt centre some region has another mass under p than under q."
    )


def _distances_panel(theory: BallTheory, scale: GammaScale) -> Panel:
    """ACLD, d~ and the total variation over gamma, side by side at the only one."""
    along, several = scale.places(theory.gammas), len(theory.gammas) > 1
    marks: list[Mark] = [VLine(over(along, "gamma"), width=1)] * several
    legend = [("ACLD, one radius", _ONE_RADIUS, "square"), ("d~, one mass", COLT, "circle")]
    if theory.variation.size:
        ends = along if several else along + np.array([-0.5, 0.5])
        variation = np.broadcast_to(theory.variation[:, 0], ends.shape)
        marks.append(Line(ends, variation, color=style.NULL, dash="6 4"))
        legend.append(("total variation", style.NULL, "dash"))
    span = float(np.ptp(along)) or 1.0
    apart = 0.004 if several else 0.15
    for shift, values, color, symbol in (
        (-apart, theory.acld, _ONE_RADIUS, "square"),
        (apart, theory.distance, COLT, "circle"),
    ):
        at, low, high = np.asarray(values, float).T
        marks += [
            Line(along, at, color=color, width=1.6),
            Points(
                along + shift * span, at, low=low, high=high, color=color, symbol=symbol, size=6
            ),
        ]
    return Panel(
        marks,
        title="Largest difference of a region" + ", over gamma" * several,
        x=places_axis(theory.gammas, scale.axis, at=along)
        if several
        else Axis((float(along[0]) - 0.5, float(along[0]) + 0.5), hidden=True),
        y=Axis((0, 1), "|p's mass less q's|"),
        height=_HEIGHT,
        legend=legend,
        click="gamma" if several else None,
        at=np.stack([along, np.zeros_like(along)], axis=1) if scale.logarithmic else None,
        caption=(
            "Neither can exceed the total variation, averaged over x, but for chance."
            if theory.variation.size
            else "Both are 0 for every centre if and only if q is p."
        ),
    )


def _ball_panel(theory: BallTheory) -> Panel:
    """p's mass less q's in every ball, by q's mass in it."""
    chance = float(kstwo.isf(0.05, theory.n))
    reach = 1.1 * float(max(np.abs(theory.one_radius).max(), np.abs(theory.one_mass).max(), 0.1))
    return Panel(
        [
            HBand(-chance, chance),
            HLine(0, color=style.NULL, dash="", width=1),
            *(
                Line(MASSES, over(values, "gamma"), color=color)
                for values, color in ((theory.one_radius, _ONE_RADIUS), (theory.one_mass, COLT))
            ),
        ],
        title="Region by region" + ", at this gamma" * (len(theory.gammas) > 1),
        x=Axis((0, 1), "q's mass in the region"),
        y=Axis((-reach, reach), "p's mass less q's"),
        height=_HEIGHT,
        legend=[
            ("one radius for all x", _ONE_RADIUS, "line"),
            ("one mass at each x", COLT, "line"),
        ],
        caption="Grey: where the whole of the second would lie by chance 19 times of 20, for "
        "q = p. The largest height of the first is the ACLD, that of the second d~.",
    )


def _doubling_panel(theory: BallTheory, dim: int) -> Panel:
    """Mass of balls of twice the radius over that of the balls."""
    x = np.log10(INNER)
    median, largest = (np.log10(np.asarray(theory.doubling[:, i], float)) for i in range(2))
    masses, ratios = np.array([0.02, 0.05, 0.1, 0.2, 0.5]), np.array([1, 2, 4, 8, 16, 32])
    return Panel(
        [
            HLine(dim * np.log10(2), color=style.NULL, dash="2 3"),
            Line(x, -x, color=style.NULL),
            Line(x, over(largest, "gamma"), color=COLT, dash="6 4"),
            Line(x, over(median, "gamma"), color=COLT),
        ],
        title="Doubling: q's mass in B(2R) over that in B(R)",
        x=Axis(
            (x[0] - 0.05, x[-1] + 0.05),
            "q's mass in B(R)",
            ticks=np.log10(masses),
            names=[f"{mass:g}" for mass in masses],
        ),
        y=Axis((0, 1.8), "ratio", ticks=np.log10(ratios), names=[f"{ratio}" for ratio in ratios]),
        height=_HEIGHT,
        legend=[
            ("median x", COLT, "line"),
            ("largest over x", COLT, "dash"),
            ("1 / mass", style.NULL, "line"),
            ("2^D", style.NULL, "2 3"),
        ],
        caption=sentence(
            "Definition 1 wants one constant for Lebesgue measure; small balls show it where q's "
            "density is smooth: 2^D for plain distances. The largest here is {largest}{capped}.",
            largest=over([number_text(10 ** float(each.max()), 2) for each in largest], "gamma"),
            capped=over([_capped(each + x) for each in largest], "gamma"),
        ),
    )


def _capped(short: Array) -> str:
    """Whether a doubling ratio is all that it can be: the larger ball holds every draw."""
    return ", where the larger ball holds all draws" * bool(short[0] > -0.02)


def _runs_panel(runs: Sequence[TrainingRun]) -> Panel:
    """Stored training runs in the order of d~, averaged over gamma."""
    ranked = sorted(runs, key=lambda run: -float(run.distance[:, 0].mean()))
    x = np.arange(len(ranked), dtype=float)
    at, low, high = np.stack([run.distance for run in ranked], axis=1).transpose(2, 0, 1)
    several, moves = len(ranked) > 1, len(at) > 1
    return Panel(
        [
            Points(
                x,
                over(at, "gamma"),
                low=over(low, "gamma"),
                high=over(high, "gamma"),
                color=COLT,
                size=8,
            )
        ],
        title="Training runs by d~",
        x=Axis(
            (-0.6, len(ranked) - 0.4), "training run", ticks=x, names=[run.name for run in ranked]
        ),
        y=Axis((0, 1), "d~" + " at this gamma" * moves),
        height=_HEIGHT,
        caption=(
            "The larger d~ on draws that trained nothing, the better the run, but for the noise "
            "of its intervals. They stand in the order of "
            f"{'its average over gamma' if moves else 'd~'}, the largest on the left."
            if several
            else "The one run that is stored here: other seeds and embeddings are ranked beside "
            "it once the page has trained them."
        )
        + " Each d~ is the one of Ranks, of other simulations than the ACLD's: by chance it is "
        "not quite that of the first figure.",
    )
