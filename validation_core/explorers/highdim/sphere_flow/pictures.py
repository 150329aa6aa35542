"""Pictures of the sphere flow: two principal components, projections, and power."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import norm

from validation_core.drawing import live
from validation_core.drawing.marks import (
    Axis,
    Bars,
    Line,
    Mark,
    Panel,
    Points,
    Slider,
    Text,
    VLine,
    over,
    sentence,
    written,
)
from validation_core.drawing.power_curves import Rates, rate_bars, rate_curve
from validation_core.drawing.style import NULL, P, Q, padded
from validation_core.explorers.highdim.rejections import power_panel, rejections_in_words
from validation_core.explorers.highdim.sphere_flow.study import (
    EDGES,
    METHODS,
    SphereStudy,
    SphereView,
    exact_auc,
    other_tests,
    standardised_distance,
)
from validation_core.panels import power
from validation_core.types import Array, MethodStyle, PowerCell

_PLACES = (EDGES[1:] + EDGES[:-1]) / 2
_FINE = np.linspace(-4, 4, 121)


def payload(
    study: SphereStudy, sphere: SphereView, others: Sequence[PowerCell] = ()
) -> live.Payload:
    """Every view at each gamma and beta.

    Args:
        study: the study.
        sphere: its result.
        others: counts of `other_tests`, as far as they have run.
    """
    gammas, betas = sphere.gammas, sphere.betas
    return live.payload(
        sliders=[
            Slider(
                "gamma",
                gammas,
                form="{:g}",
                start=float(gammas[len(gammas) // 2]),
                label="Shift of the base, gamma",
                ends=("q = p", "q far off"),
                play=True,
            ),
            Slider(
                "beta",
                betas,
                form="{:g}",
                start=0.2,
                label="Noise of the score, beta",
                ends=("the log ratio itself", "mostly noise"),
                play=True,
            ),
        ],
        panels=[
            _plane_panel(sphere),
            _along_panel(sphere),
            _scores(sphere),
            _power(study, sphere, "gamma"),
            _power(study, sphere, "beta"),
            *([_others(sphere, others)] if others else ()),
        ],
        headline=_headline(study, sphere),
        columns=3,
    )


def _headline(study: SphereStudy, sphere: SphereView) -> Text:
    rates = sphere.rejections / sphere.trials  # (methods, B, G)
    rejected, parts = rejections_in_words(
        study.benchmark, METHODS, rates.swapaxes(1, 2), f"{sphere.trials} trials", "gamma", "beta"
    )
    return sentence(
        "At gamma = {gamma} and beta = {beta} the score's AUC is {auc} ({exact} exactly): "
        f"{rejected}.",
        gamma=written(sphere.gammas, "{:g}", "gamma"),
        beta=written(sphere.betas, "{:g}", "beta"),
        auc=written(sphere.auc, "{:.3f}", "gamma", "beta"),
        exact=written(exact_auc(sphere.gammas, sphere.betas), "{:.3f}", "gamma", "beta"),
        **parts,
    )


def _plane_panel(sphere: SphereView) -> Panel:
    """Fig. 4: the sphere on two principal components."""
    both = np.concatenate([sphere.p, sphere.q.reshape(-1, 2)]).astype(float)
    share = float(sphere.shares[:2].sum())
    return Panel(
        [
            Points(sphere.p[:, 0], sphere.p[:, 1], color=P, size=3.5, opacity=0.6),
            Points(
                over(sphere.q[:, :, 0], "gamma", coarse=True),
                over(sphere.q[:, :, 1], "gamma", coarse=True),
                color=Q,
                symbol="diamond",
                size=3.5,
                opacity=0.6,
            ),
        ],
        x=Axis(padded(both[:, 0]), "first principal component"),
        y=Axis(padded(both[:, 1]), "second"),
        title="What one sees: two of 100 dimensions",
        legend=[("p", P, "circle"), ("q", Q, "diamond")],
        equal=True,
        height=300,
        caption=f"{share:.0%} of the variance. The clouds lie over one another at every gamma.",
    )


def _along_panel(sphere: SphereView) -> Panel:
    """Histogram along the one direction of the base in which q shifts."""
    marks: list[Mark] = []
    sides = ((sphere.along_p, P, np.zeros(1)), (sphere.along_q, Q, sphere.gammas))
    for counts, color, means in sides:
        heights = _density(counts)
        law = norm.pdf(_FINE - means[:, None])
        moves = len(means) > 1
        marks += [
            Bars(EDGES, over(heights, "gamma") if moves else heights, color=color, opacity=0.3),
            Line(_FINE, over(law, "gamma", coarse=True) if moves else law[0], color=color),
        ]
    return Panel(
        marks,
        x=Axis((-4, 4), "g'z, along the shift of the base"),
        y=Axis((0, 0.45), "density"),
        title="What differs: one direction of the base",
        height=300,
        caption="Bars: draws through the flow and back. Lines: N(0, 1) and N(gamma, 1).",
    )


def _density(counts: ArrayLike) -> Array:
    values = np.asarray(counts, float)
    return np.asarray(values / (values.sum(-1, keepdims=True) * np.diff(EDGES)))


def _scores(sphere: SphereView) -> Panel:
    """Histogram of the noisy score, in its own standard deviations."""
    half = standardised_distance(sphere.gammas, sphere.betas)[..., None] / 2
    marks: list[Mark] = []
    for counts, color, mean in ((sphere.score_p, P, half), (sphere.score_q, Q, -half)):
        marks += [
            Bars(
                EDGES,
                over(_density(counts), "gamma", "beta", coarse=True),
                color=color,
                opacity=0.3,
            ),
            Line(_FINE, over(norm.pdf(_FINE - mean), "gamma", "beta", coarse=True), color=color),
        ]
    marks.append(VLine(0.0, color=NULL, dash="4 3", label="C2ST's threshold"))
    return Panel(
        marks,
        x=Axis((-4, 4), "score, in its standard deviations"),
        y=Axis((0, 0.6), "density"),
        title="What the tests read: log ratio and noise",
        height=300,
        caption="Lines: the exact law. Without noise and at gamma = 0 the score is constant.",
    )


def _power(study: SphereStudy, sphere: SphereView, along: str) -> Panel:
    """Fig. 5: measured power over its law along one slider, for each value of the other."""
    grid = sphere.gammas if along == "gamma" else sphere.betas
    other = "beta" if along == "gamma" else "gamma"
    hits, law = sphere.rejections, sphere.expected
    if along == "beta":  # the axis of the other slider comes first
        hits, law = hits.swapaxes(1, 2), law.swapaxes(1, 2)
    return power_panel(
        METHODS,
        lambda i, look: rate_bars(
            grid, Rates.of(hits[i], sphere.trials), look, other, line=law[i]
        ),
        over(grid, along),
        x=_strengths(grid, along),
        title=f"Power over {along}",
        height=300,
        caption=f"Points: {sphere.trials} trials of n = {study.n:,} draws of each side, 95% "
        "Wilson intervals. Lines: the law of the scores.",
    )


def _others(sphere: SphereView, cells: Sequence[PowerCell]) -> Panel:
    """Fig. 5: power of the tests that read no given score, the same at every beta."""
    found = {curve.label: curve for curve in power.curves(cells, "gamma")}
    methods = [method for method in other_tests().methods if method.label in found]

    def curve(i: int, look: MethodStyle) -> list[Mark]:
        one = found[methods[i].label]
        return rate_curve(one.x, one.rates, look, opacity=power.FAINT)

    return power_panel(
        methods,
        curve,
        over(sphere.gammas, "gamma"),
        x=_strengths(sphere.gammas, "gamma"),
        title="Tests that read no given score",
        height=300,
        caption="Whatever beta: they read draws alone, some of them by a network that learns "
        f"from those. {power.trials_text(cells)}",
    )


def _strengths(grid: Array, label: str) -> Axis:
    ticks = grid[::2]
    return Axis(padded(grid, 0.03), label, ticks=ticks, names=[f"{v:g}" for v in ticks])
