"""p-values over trials, one brick for each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from validation_core.drawing import live, style
from validation_core.drawing.marks import (
    Axis,
    Bars,
    HLine,
    Mark,
    Panel,
    Points,
    Slider,
    VLine,
    formatted,
    over,
    sentence,
)
from validation_core.drawing.rank_histogram import rank_histogram
from validation_core.explorers.playground.pictures import beta_slider, gamma_slider
from validation_core.explorers.playground.sizes import LEVEL, LINE_BINS, PANEL_HEIGHT, SHOWN_BINS
from validation_core.explorers.playground.study import (
    METHODS,
    POWER_BETAS,
    Playground,
    PlaygroundTrial,
)
from validation_core.explorers.playground.theta_panels import theta_frame
from validation_core.methods.base import Method
from validation_core.text import equals
from validation_core.types import Array

_COLUMNS = 20  # of the histogram of p-values
_ABREAST = 5  # bricks side by side in a column


def pvalue_bricks(seen: Playground, method: Method, betas: Sequence[float]) -> live.Payload:
    """P-values of one method over all trials, each a brick that a press opens."""
    which = [i for i, beta in enumerate(POWER_BETAS) if beta in betas]
    pvalues = np.asarray(seen.trial_pvalues[METHODS.index(method)][which], np.float64)
    x, y = _piled(pvalues)  # (B, G, trials) each
    rejected = pvalues <= LEVEL
    trials = pvalues.shape[-1]
    shares = formatted(rejected.mean(-1), "{:.0%}")
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
            gamma_slider(seen),
            beta_slider(betas),
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
                "would be level; the bricks left of the line reject q at 5%.",
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
    """Position of each trial's brick in a wall of `_COLUMNS`, `_ABREAST` bricks wide: (..., R)."""
    column = np.minimum((pvalues * _COLUMNS).astype(int), _COLUMNS - 1)
    before = np.zeros(column.shape, dtype=int)
    for one in range(_COLUMNS):
        there = column == one
        before += np.where(there, np.cumsum(there, axis=-1) - 1, 0)
    x = (column + (before % _ABREAST + 0.5) / _ABREAST) / _COLUMNS
    return x, before // _ABREAST + 0.5


def trial_payload(trial: PlaygroundTrial, method: Method) -> live.Payload:
    """Picture of one trial: its draws, and the scores or ranks that the test read."""
    ranks = trial.ranks
    panels = [_drawn(trial)]
    if ranks.size:
        words = "rank", "draws", "if q = p"
        histogram = rank_histogram(ranks, SHOWN_BINS, words=words, height=PANEL_HEIGHT)
        panels.append(replace(histogram, title="Its ranks"))
    else:
        both = np.concatenate([trial.scores_p, trial.scores_q])
        limits = style.padded(both)
        edges = np.linspace(*limits, LINE_BINS + 1)
        sides = [np.histogram(side, edges)[0] for side in (trial.scores_q, trial.scores_p)]
        panels.append(
            Panel(
                [Bars(edges, sides[0], color=style.Q), Bars(edges, sides[1], color=style.P)],
                title="Its scores",
                x=Axis(limits, "score: high looks like p"),
                y=Axis((0, 1.1 * max(side.max() for side in sides)), "draws"),
                height=PANEL_HEIGHT,
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
    limits = [theta_frame(sides, axis) for axis in range(2)]
    flat = trial.p.shape[1] == 1
    return Panel(
        [
            Points(side[:, 0], side[:, 1], color=color, size=4, opacity=0.75)
            for side, color in zip(sides, (style.Q, style.P), strict=True)
        ],
        title=f"Its draws: {len(trial.p)} of p, {len(trial.q)} of q, each at an x of its own",
        x=Axis(limits[0], "θ" if flat else "θ₁"),
        y=Axis(limits[1], "" if flat else "θ₂", hidden=flat),
        height=PANEL_HEIGHT,
        legend=[("truth p", style.P, "circle"), ("estimate q", style.Q, "circle")],
    )
