"""p-values over trials, one brick for each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from validation_core.drawing import live, style
from validation_core.drawing.marks import (
    Axis,
    Bars,
    HLine,
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
from validation_core.drawing.rank_histogram import rank_histogram
from validation_core.explorers.playground.pictures import beta_slider, gamma_slider
from validation_core.explorers.playground.sizes import (
    LEVEL,
    LINE_BINS,
    PANEL_HEIGHT,
    SHOWN_BINS,
    short_title,
)
from validation_core.explorers.playground.study import (
    METHODS,
    POWER_BETAS,
    Playground,
    PlaygroundTrial,
)
from validation_core.explorers.playground.theta_panels import theta_frame
from validation_core.methods.base import Method
from validation_core.panels.gamma_scale import STRENGTH, GammaScale
from validation_core.text import said_equals, share_text, signed_text
from validation_core.types import Array, Integers

_COLUMNS = 20  # of the histogram of p-values


def pvalue_bricks(
    seen: Playground, method: Method, betas: Sequence[float], scale: GammaScale = STRENGTH
) -> live.Payload:
    """P-values of one method over all trials, each a brick that a press opens.

    The highest column fills the panel at every gamma and beta, so that a level wall looks level.
    """
    which = [i for i, beta in enumerate(POWER_BETAS) if beta in betas]
    pvalues = np.asarray(seen.trial_pvalues[METHODS.index(method)][which], np.float64)
    numbers, label = np.arange(pvalues.shape[-1]), short_title(method)
    opened = Slider(
        "trial",
        numbers,
        names=[str(i + 1) for i in numbers],
        label="Opened trial",
        ends=("or press a brick", ""),
    )
    return live.payload(
        sliders=[gamma_slider(seen, scale), beta_slider(betas), opened],
        panels=[_wall(pvalues, label, _uneven(method, seen.where.p.shape[-1]))],
        headline=_headline(seen, pvalues <= LEVEL, label, scale),
        columns=1,
    )


def _wall(pvalues: Array, label: str, why: str) -> Panel:
    """A brick for each p-value (B, G, trials) in its column; `why` says that it is not level."""
    by, trials = ("beta", "gamma"), pvalues.shape[-1]
    rank, counts = _piled(pvalues)  # (B, G, trials), (B, G, columns)
    highest = counts.max(-1, keepdims=True)
    y = (rank + 0.5) / highest
    rejected = pvalues <= LEVEL
    edges = np.linspace(0, 1, _COLUMNS + 1)
    first = np.arange(_COLUMNS) < round(LEVEL * _COLUMNS)
    columns: list[Mark] = [
        Bars(edges, over(np.where(side, counts / highest, 0), *by), color=color, opacity=0.3)
        for side, color in ((~first, style.NULL), (first, style.Q))
    ]
    bricks: list[Mark] = [
        Points(
            over(np.where(side, pvalues, np.nan), *by, coarse=True),
            over(np.where(side, y, np.nan), *by, coarse=True),
            color=color,
            size=6,
            symbol="square",
            opacity=0.9,
        )
        for side, color in ((~rejected, style.NULL), (rejected, style.Q))
    ]
    here = over(np.stack([pvalues, y], axis=-1), *by, coarse=True)
    at = over(np.moveaxis(pvalues, -1, 0)[..., None], "trial", *by, coarse=True)
    up = over(np.moveaxis(y, -1, 0)[..., None], "trial", *by, coarse=True)
    even = trials / _COLUMNS
    average = f"{even:g} on average" if why else f"{even:g}, if q = p"
    level = (
        f"If q were correct, the wall would be level, {even:g} bricks in each column, but for "
        "chance."
    )
    return Panel(
        [
            *columns,
            HLine(over(even / highest[..., 0], *by), label=average),
            *bricks,
            Points(at, up, color="", size=13, symbol="ring"),
            VLine(LEVEL, color=style.NULL, dash="4 3", label="level"),
        ],
        title=f"p-values of {label} in {trials} trials",
        x=Axis((-0.012, 1.012), "p-value of a trial"),
        y=Axis((0, 1.04), hidden=True),
        caption="Each brick is a trial with fresh draws, at its p-value; those left of the line "
        f"reject q at {LEVEL:.0%}. {why or level}",
        height=360,
        click="trial",
        at=here,
    )


def _uneven(method: Method, parameters: int) -> str:
    """Why a test's wall is not level even if q is correct; empty where it is."""
    few = f"If q were correct, about {LEVEL:.0%} or fewer would lie there, and the wall "
    if method.ranks_parameters and parameters > 1:
        return (
            f"{few}would still not be level: its peak at 1 comes from the Bonferroni correction "
            f"for {parameters} parameters."
        )
    if method.name == "c2st":
        return (
            f"{few}would have gaps: C2ST counts right answers, so its p-values take few values "
            "and a column may stay empty."
        )
    return ""


def _headline(
    seen: Playground, rejected: NDArray[np.bool_], label: str, scale: GammaScale
) -> Text:
    right = np.broadcast_to(seen.gammas == 0, rejected.shape[:-1])
    begin = f"At {{gamma}}{{right}} {label} rejects q"
    return sentence(
        f"{begin if len(seen.gammas) > 1 else f'{label} rejects this q'} in {{share}} of "
        f"{rejected.shape[-1]} trials{{chance}}.",
        gamma=over([_place(gamma, scale) for gamma in seen.gammas], "gamma"),
        right=over(np.where(right, ", where q is correct,", ""), "beta", "gamma"),
        share=written(rejected.mean(-1), share_text, "beta", "gamma"),
        chance=over(
            np.where(right, f", by chance: its level is {LEVEL:.0%}", f" at level {LEVEL:.0%}"),
            "beta",
            "gamma",
        ),
    )


def _place(gamma: float, scale: GammaScale) -> str:
    return scale.text(gamma) if scale.logarithmic else f"γ = {gamma:g}"


def _piled(pvalues: Array) -> tuple[Integers, Integers]:
    """How many earlier trials stand in each one's column (..., R), and all columns' counts."""
    column = np.minimum((pvalues * _COLUMNS).astype(int), _COLUMNS - 1)
    there = column[..., None] == np.arange(_COLUMNS)  # (..., R, columns)
    upto = there.cumsum(-2)
    return (upto * there).sum(-1) - 1, upto[..., -1, :]


def trial_payload(
    trial: PlaygroundTrial, method: Method, *, correct: bool = False
) -> live.Payload:
    """Picture of one trial: its draws, and the scores or ranks that the test read.

    Args:
        trial: the trial.
        method: its test.
        correct: whether q is known to be correct, so that a rejection is chance.
    """
    ranks = trial.ranks
    panels = [_drawn(trial)]
    if ranks.size:
        words = "rank", "draws", "if q = p"
        histogram = rank_histogram(ranks, SHOWN_BINS, words=words, height=PANEL_HEIGHT)
        several = method.ranks_parameters and trial.p.shape[1] > 1
        whose = ", of the parameter that is farthest off" * several
        panels.append(replace(histogram, title=f"Its ranks{whose}"))
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
                legend=[("true p", style.P, "circle"), ("estimate q", style.Q, "circle")],
            )
        )
    verdict = "rejects q" if trial.pvalue <= LEVEL else "does not reject q"
    if correct and trial.pvalue <= LEVEL:
        verdict = "rejects a correct q, by chance"
    return live.payload(
        panels=panels,
        headline=f"This trial {verdict}: {method.statistic} "
        f"{signed_text(trial.statistic, '.3f')}, p-value {said_equals(trial.pvalue)}.",
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
        legend=[("true p", style.P, "circle"), ("estimate q", style.Q, "circle")],
    )
