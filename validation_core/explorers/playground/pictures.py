"""Pictures of the playground: where q is wrong, its conformal ranks, and the power of tests.

Six panels under gamma, beta and x, all of one benchmark, as one payload for the browser.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from validation_core.drawing import live
from validation_core.drawing.marks import Slider
from validation_core.explorers.playground.headline import headline
from validation_core.explorers.playground.power_panels import power_over_beta, power_over_gamma
from validation_core.explorers.playground.rank_panels import (
    rank_difference_panel,
    rank_histogram_panel,
)
from validation_core.explorers.playground.sizes import LEVEL, PlaygroundRates
from validation_core.explorers.playground.study import (
    BETAS,
    METHODS,
    POWER_BETAS,
    BallOverX,
    Playground,
    PlaygroundStudy,
)
from validation_core.explorers.playground.theta_panels import error_map_panel, theta_panel
from validation_core.panels.gamma_scale import STRENGTH, GammaScale
from validation_core.rng import common
from validation_core.text import signed_text
from validation_core.types import Array

_JOINT = 1000  # draws of the truth that show the shape of the joint


def payload(study: PlaygroundStudy, seen: Playground, first: int = 0) -> live.Payload:
    """All pictures of a benchmark, over gamma, beta, x and the sample.

    Args:
        study: the benchmark.
        seen: its result.
        first: number of the first sample of its ranks.
    """
    places = [", ".join(signed_text(value, ".2f") for value in x) for x in seen.where.x_at]
    rates, scale = measured_rates(seen), GammaScale.of(study.benchmark)
    return live.payload(
        sliders=[
            replace(gamma_slider(seen, scale), sweep=True),
            beta_slider(BETAS),
            Slider(
                "x",
                range(len(places)),
                names=[
                    f"({place})" if seen.where.x_at.shape[1] > 1 else place for place in places
                ],
                start=seen.where.middle,
                label="Observation x",
                ends=("or press the map", ""),
            ),
            Slider(
                "sample",
                range(first, first + len(seen.ranks.counts)),
                label="Sample",
                button="New sample",
                onwards=True,
            ),
        ],
        panels=[
            theta_panel(seen.where, _all_over(study, seen.where)),
            rank_histogram_panel(seen.ranks),
            power_over_gamma(seen, rates, scale),
            error_map_panel(seen.where),
            rank_difference_panel(seen.ranks),
            power_over_beta(rates),
        ],
        headline=headline(seen, rates),
        columns=3,
    )


def _all_over(study: PlaygroundStudy, where: BallOverX) -> Array:
    """Draws (N, 2) of the truth over all x, where x is one number: the shape of the joint."""
    if len(where.x_edges) > 1 or study.benchmark.dims[0] == 1:
        return np.zeros((0, 2))
    edges = where.x_edges[0]
    x = np.linspace(edges[0], edges[-1], _JOINT)[:, None]
    return study.benchmark.theta(x, study.gammas[0], common(study.seed, "playground", "joint"))


def gamma_slider(seen: Playground, scale: GammaScale = STRENGTH) -> Slider:
    """The slider of gamma: how far q is off, or how much it has learnt from."""
    return Slider(
        "gamma",
        seen.gammas,
        form="{:,g}",
        start=_opening(seen),
        label=scale.slider,
        ends=("q far off", "q nearer p") if scale.logarithmic else ("q = p", "q far off"),
        play=True,
    )


def beta_slider(betas: Sequence[float]) -> Slider:
    """The slider of beta."""
    ends = ("trained", "random network")
    return Slider("beta", betas, label="Degradation, beta", ends=ends)


def _opening(seen: Playground) -> float:
    """Initial gamma: where the tests differ most."""
    rates = measured_rates(seen).rate[:, 0]
    return float(seen.gammas[np.ptp(rates, axis=0).argmax()])


def measured_rates(seen: Playground) -> PlaygroundRates:
    """Rejection rates, linearly interpolated between the measured betas."""
    hits, trials = seen.power(LEVEL)
    rate = hits / trials
    fine = np.empty((len(METHODS), len(BETAS), rate.shape[-1]))
    for i in range(len(METHODS)):
        there = ~np.isnan(rate[i, :, 0])
        betas = np.array(POWER_BETAS)[there]
        for g in range(rate.shape[-1]):
            fine[i, :, g] = np.interp(BETAS, betas, rate[i, there, g])
    return PlaygroundRates(fine, trials)
