"""Pictures of the errors: coverage, bias and width, contraction, regions, divergence."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from validation_core import codec
from validation_core.diagnosis.questions.calibration.figure_names import CONTRACTION, COVERAGE
from validation_core.diagnosis.questions.calibration.result import (
    DensityDivergence,
    LearnedDivergence,
    ParameterErrors,
)
from validation_core.diagnosis.questions.calibration.rows import open_ended
from validation_core.drawing import style
from validation_core.drawing.drawn import Drawn
from validation_core.drawing.marks import (
    Anchor,
    Axis,
    Band,
    Grid,
    HBand,
    HLine,
    Line,
    Mark,
    Note,
    Panel,
    Points,
    VLine,
)
from validation_core.methods import skl
from validation_core.text import count_text, first_text
from validation_core.types import Array

SHOWN = 6
"""Parameters that are drawn; the table has them all."""
_ROW = 40  # pixels high
# letters of a name that fit beside a row on a narrow screen; sigma_1, sigma_2 end apart
NAME_LETTERS = 14
_LETTER = 1 / 44  # of a narrow screen's axis that a letter takes
_MARKS = ("diamond", "circle", "square")


def coverage_picture(
    worst: Sequence[ParameterErrors], labels: Sequence[str], hidden: int
) -> Drawn:
    """Draw the true coverage of nominal intervals, a row for each parameter."""
    rates = [errors.coverage for errors in worst]
    levels = [rate.level for rate in rates[0]]
    lowest = min(rate.covers.low for each in rates for rate in each)
    places = np.arange(float(len(worst)))
    marks: list[Mark] = [
        VLine(level, dash="dash", width=1, label=f"{100 * level:g}%") for level in levels
    ]
    for j, level in enumerate(levels):
        # Levels stand a little above one another, so that whiskers do not hide each other.
        at = places + 0.2 * (j - 1)
        ends = np.array([each[j].covers for each in rates])
        hover = f"nominal {100 * level:g}%: true %{{x:.1%}}"
        marks.append(_whiskers(ends, at, hover=hover, symbol=_MARKS[j % len(_MARKS)]))
    axis = Axis((min(0.4, lowest - 0.04), 1.01), "share of true values covered", percent=True)
    more = f" The table has {count_text(hidden, 'more parameter')}." if hidden else ""
    return Drawn(
        COVERAGE,
        _rows(marks, axis, labels),
        "Diamond, circle and square: how often q's central 50, 80 and 95% intervals hold the "
        "true value, with 95% intervals. If q were correct, each mark's whisker would meet "
        f"its own dashed line in about 95 of 100 cases; left of it q is over-confident.{more}",
    )


def misfit_picture(worst: Sequence[ParameterErrors], labels: Sequence[str]) -> Drawn:
    """Draw bias and ratio of widths side by side, a row for each parameter."""
    places = np.arange(float(len(worst)))
    biases = np.array([open_ended(errors) for errors in worst])
    told = np.abs(biases[np.isfinite(biases)])
    reach = max(0.2, 1.1 * float(told.max(initial=0)))
    biases = np.clip(biases, -reach, reach)  # an open end is the axis's
    ratios = np.array([errors.ratio for errors in worst])
    finite = ratios[np.isfinite(ratios) & (ratios > 0)]
    wide = max(1.5, 1.1 * float(np.exp(np.abs(np.log(finite)).max(initial=0))))
    ratios = np.clip(ratios, 1 / wide, wide)
    right = _whiskers(ratios, places, hover="width / needed width: %{x:.2f}")
    left = _whiskers(biases, places, hover="bias: %{x:+.2f} posterior sd")
    ticks = [tick for tick in (0.05, 0.1, 0.25, 0.5, 1, 2, 4, 10, 20) if 1 / wide <= tick <= wide]
    if len(ticks) < 3:
        ticks = [0.7, 1, 1.4]
    panels = [
        _rows([VLine(at, dash="dash", width=1), marks], axis, labels)
        for at, marks, axis in (
            (0, left, Axis((-reach, reach), "bias, posterior sd")),
            (1, right, Axis((1 / wide, wide), "width / needed", log=True, ticks=ticks)),
        )
    ]
    return Drawn(
        "Bias and width",
        Grid(panels, columns=2),
        "Left: how far q sits too high (right of the dashed line) or too low, in its own "
        "posterior sd. Right: q's width divided by the width it should have, below 1 "
        "over-confident, above 1 under-confident. If q were correct, about 95 of 100 whiskers "
        "would cross the dashed lines.",
    )


def contraction_pictures(worst: Sequence[ParameterErrors], labels: Sequence[str]) -> list[Drawn]:
    """Draw z-scores against contraction; no picture where neither is known."""
    contracted = [
        (errors, name)
        for errors, name in zip(worst, labels, strict=True)
        if np.isfinite([errors.contraction.estimate, errors.z_mean, errors.z_sd]).all()
    ]
    if not contracted:
        return []
    x = np.array([errors.contraction.estimate for errors, _ in contracted])
    mean = np.array([errors.z_mean for errors, _ in contracted])
    sd = np.array([errors.z_sd for errors, _ in contracted])
    reach = max(2.0, 1.25 * float((np.abs(mean) + sd).max()))
    low = min(-0.05, float(x.min()) - 0.1)
    points = Points(
        x,
        mean,
        low=mean - sd,
        high=mean + sd,
        color=style.Q,
        size=9,
        texts=[name for _, name in contracted],
        hover="%{text}: contraction %{x:.2f}, mean z %{y:+.2f}",
    )
    # Names stand over their dots; where they would lie on one another, over the first of them.
    notes: list[Mark] = []
    order = np.argsort(x)
    starts = np.flatnonzero(np.diff(x[order], prepend=-np.inf) > 0.2 * (1.05 - low))
    for near in np.split(order, starts[1:]):
        place, names = float(x[near[0]]), [contracted[i][1] for i in near]
        words = first_text(names, 2 if len("".join(names[:2])) <= NAME_LETTERS else 1)
        half = len(words) * _LETTER * (1.05 - low) / 2  # of the axis
        edge: Anchor = "middle"
        if place + half > 1.05:
            edge = "end"
        elif place - half < low:
            edge = "start"
        notes.append(Note(place, float((mean + sd)[near].max()), words, anchor=edge, rise=11))
    panel = Panel(
        [
            HBand(-1, 1, opacity=0.15),
            HLine(0, dash="dash"),
            VLine(0, dash="dot"),
            VLine(1, dash="dot"),
            points,
            *notes,
        ],
        x=Axis((low, 1.05), "contraction: 1 − posterior variance / prior variance"),
        y=Axis((-reach, reach), "z-score: mean ± sd"),
        height=style.HEIGHT,
    )
    return [
        Drawn(
            CONTRACTION,
            panel,
            "Dot and whisker: mean and sd over simulations of (q's mean − true value) / q's "
            "sd. If q were correct and near normal, dots would lie on the dashed line and "
            "whiskers fill the grey band. Left of contraction 0, q is wider than the prior; "
            "at 1 it is a point.",
        )
    ]


def regions_picture(curve: Array) -> Drawn:
    """Draw coverage of highest-density regions against their nominal mass."""
    levels, share, low, high = curve
    panel = Panel(
        [
            Band(levels, np.clip(low, 0, 1), np.clip(high, 0, 1), opacity=0.25),
            Line([0, 1], [0, 1], color=style.NULL, dash="dash", width=1),
            Line(levels, share, color=style.Q, hover="nominal %{x:.0%}: true %{y:.1%}"),
        ],
        x=Axis((0, 1), "nominal mass of the region", percent=True),
        y=Axis((0, 1), "share of true values covered", percent=True),
        height=style.HEIGHT,
    )
    return Drawn(
        "Highest-density regions",
        panel,
        "If q were correct, the curve would stay in the grey band as a whole in 95 of 100 tables. "
        "Below the dashed line q is over-confident, above it under-confident.",
    )


def divergence_pictures(
    nats: DensityDivergence | LearnedDivergence, estimate: LearnedDivergence | None
) -> list[Drawn]:
    """The symmetric divergence: by log densities where they are there, or by a classifier."""
    more = (
        f" End bars count {count_text(nats.beyond, 'value')} beyond the axis."
        if nats.beyond
        else ""
    )
    title = "Symmetric divergence, simulation by simulation"
    if isinstance(nats, LearnedDivergence):
        terms = skl.terms(*nats.bars, nats.estimate, nats.boot_low, nats.boot_high)
        return [Drawn(title, terms, skl.LEARNT + more)]
    terms = skl.terms(*nats.bars, nats.estimate, nats.low, nats.high)
    null = skl.null(*nats.null, nats.estimate)
    pictures = [
        Drawn(title, terms, skl.TERMS + more),
        Drawn("The divergence against its null", null, skl.NULLS),
    ]
    if nats.weighted:
        unweighted = {"m": 1, "estimate": nats.estimate, "low": nats.low, "high": nats.high}
        left = skl.weighted([unweighted, *codec.to_json(nats.weighted)])
        pictures.append(Drawn("What importance sampling leaves", left, skl.WEIGHTED))
    if estimate is not None:
        both = skl.compared(codec.to_json(nats), codec.to_json(estimate))
        pictures.append(Drawn("Beside a classifier's estimate", both, skl.COMPARED))
    return pictures


def _rows(marks: Sequence[Mark], axis: Axis, labels: Sequence[str]) -> Panel:
    """A row for each name, the first on top."""
    return Panel(marks, x=axis, y=Axis.of_rows(labels), height=84 + _ROW * max(len(labels), 2))


def _whiskers(ends: Array, at: Array, *, hover: str, symbol: str = "circle") -> Points:
    """Dots with horizontal intervals: estimate, low and high of each (P, 3)."""
    middle, low, high = ends.T
    return Points(
        middle, at, left=low, right=high, color=style.Q, size=7, symbol=symbol, hover=hover
    )
