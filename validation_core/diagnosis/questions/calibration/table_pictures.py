"""Pictures of the table itself: q's intervals against the true values, and ranks of all
parameters."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from validation_core import statistics
from validation_core.diagnosis.questions.base import short_name
from validation_core.diagnosis.questions.calibration.figure_names import RANKS_OF_ALL, RECOVERY
from validation_core.diagnosis.questions.calibration.parameters import sbc_ranks
from validation_core.diagnosis.questions.calibration.pictures import NAME_LETTERS, SHOWN
from validation_core.drawing import style
from validation_core.drawing.drawn import Drawn
from validation_core.drawing.marks import Axis, Band, Grid, HLine, Line, Mark, Panel, Points
from validation_core.relabelling.claims import parameter_name
from validation_core.text import share_text
from validation_core.types import Array, PosteriorTable

_NOMINAL = 0.9  # mass of the intervals drawn, as near as K draws have one
_ROWS = 60  # intervals of a panel
_NUMBERS = 20_000_000  # of draws that are ranked for a picture, at most
_LINES = 40  # parameters whose ranks are drawn
_COLORS = (style.Q, "#5A6FD6", "#1FA37F", "#AE3F8B")  # of the worst lines, which have a name
_LEVELS = np.linspace(0, 1, 101)


def recovery_picture(table: PosteriorTable, worst: Sequence[int], names: Sequence[str]) -> Drawn:
    """Plot q's mean and central interval against the true value, a panel for each parameter.

    Args:
        table: theta (N, D) and draws (N, K, D).
        worst: indices of the parameters, the worst first; the first few are drawn.
        names: of all D parameters, as the user gave them.
    """
    rows = _spread(len(table.theta), _ROWS)
    k = table.q.shape[1]
    cut = max(1, int((1 - _NOMINAL) / 2 * (k + 1)))
    nominal = (k + 1 - 2 * cut) / (k + 1)  # exact: the true value is one of k + 1 equal draws
    panels, missed = [], 0
    for at in worst[:SHOWN]:
        truth = table.theta[rows, at].astype(np.float64)
        draws = np.sort(table.q[rows][..., at].astype(np.float64), axis=1)
        low, high = draws[:, cut - 1], draws[:, k - cut]
        outside = np.asarray((truth < low) | (truth > high), bool)
        missed += int(outside.sum())
        panels.append(_recovered(truth, draws.mean(1), low, high, outside, _called(names, at)))
    drawn = len(rows) * len(panels)
    more = (
        f" The {len(panels)} worst of {len(names)} parameters." if len(names) > len(panels) else ""
    )
    return Drawn(
        RECOVERY,
        Grid(panels, columns=min(2, len(panels))),
        f"Dot and whisker: q's mean and central {share_text(nominal)} interval at "
        f"{len(rows):,} simulations; blue where it misses the true value (dashed line): "
        f"{missed:,} of {drawn:,}, where a correct q would miss about {(1 - nominal) * drawn:.0f}."
        f"{more}",
    )


def _recovered(
    truth: Array, mean: Array, low: Array, high: Array, outside: NDArray[np.bool_], name: str
) -> Panel:
    ends = style.padded(np.concatenate([truth, low, high]))
    marks: list[Mark] = [Line(ends, ends, color=style.NULL, dash="dash", width=1.2)]
    for which, color in ((~outside, style.Q), (outside, style.P)):
        if which.any():
            marks.append(
                Points(
                    truth[which],
                    mean[which],
                    low=low[which],
                    high=high[which],
                    color=color,
                    size=5,
                    opacity=0.75,
                    hover="true %{x}, q's mean %{y}",
                )
            )
    return Panel(
        marks,
        x=Axis(ends, f"true {name}"),
        y=Axis(ends, "q's mean and interval"),
        height=style.HEIGHT,
    )


def ranks_of_all_picture(
    table: PosteriorTable, worst: Sequence[int], names: Sequence[str], seed: int
) -> Drawn:
    """Plot the ECDF of each parameter's ranks less the diagonal, all in one panel.

    Args:
        table: theta (N, D) and draws (N, K, D).
        worst: indices of the parameters, the worst first.
        names: of all D parameters, as the user gave them.
        seed: of the tie-breakers.
    """
    n, k, d = table.q.shape
    rows = _spread(n, max(100, _NUMBERS // (k * d)))
    shown = list(worst[:_LINES])
    some = table
    if len(rows) < n:
        some = PosteriorTable(table.theta[rows], table.x[rows], table.q[rows])
    ranks = sbc_ranks(some, seed)[shown]
    low, high = statistics.ecdf_band(len(rows), 1 - 0.05 / d, _LEVELS)
    lines = statistics.ecdf_difference(ranks, _LEVELS)
    leaves = np.asarray(np.any((lines < low) | (lines > high), axis=-1))
    reach = 1.15 * max(float(np.abs(lines).max()), float(high.max()), float(-low.min()))
    called = [_called(names, at) for at in shown]
    marks: list[Mark] = [Band(_LEVELS, low, high), HLine(0)]
    colors = dict(zip(np.flatnonzero(leaves).tolist(), _COLORS, strict=False))
    for i in reversed(range(len(shown))):
        marks.append(
            Line(
                _LEVELS,
                lines[i],
                color=colors.get(i, style.NULL),
                width=1.8 if leaves[i] else 1.2,
                hover=f"{called[i]}: u = %{{x:.2f}}, %{{y:+.3f}}",
            )
        )
    part = f" at {len(rows):,} of {n:,} simulations" if len(rows) < n else ""
    few = f" The {len(shown)} worst of {d} are drawn." if len(shown) < d else ""
    all_lines = "the line" if d == 1 else "all lines"
    return Drawn(
        RANKS_OF_ALL,
        Panel(
            marks,
            x=Axis((0, 1), "u"),
            y=Axis((-reach, reach), "F(u) − u"),
            height=style.HEIGHT,
            legend=[(called[i], color, "line") for i, color in colors.items()],
        ),
        f"A line for each parameter: the share of its true values' ranks up to u{part}, less u. "
        f"If q were correct, {all_lines} would stay in the grey band in 95 of 100 tables. Up, "
        f"then down: q too narrow; down, then up: too wide; one hill: q too high; one valley: too "
        f"low.{few}",
    )


def _called(names: Sequence[str], at: int) -> str:
    return short_name(parameter_name(names, at), NAME_LETTERS, ends=True)


def _spread(n: int, most: int) -> Array:
    """At most so many of n rows, evenly spaced."""
    return np.unique(np.linspace(0, n - 1, min(n, most)).astype(int))
