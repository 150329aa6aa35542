"""Pictures of several posteriors of the same simulations, compared."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np

from validation_core.diagnosis.comparison import Measure, Ranking
from validation_core.drawing import style
from validation_core.drawing.drawn import Drawn
from validation_core.drawing.marks import Axis, Line, Panel, Points, VLine
from validation_core.text import capitalise
from validation_core.types import Array

SHOWN = 6
"""Parameters whose differences are drawn; a table has them all."""
_LONG = 22  # letters of a label
_ROW = 30  # pixels


def history(measures: Sequence[Measure], labels: Sequence[str]) -> tuple[Drawn, ...]:
    """Plot each measure over the tables in their given order, a history of checkpoints.

    Args:
        measures: measures with a value for each table.
        labels: names of the tables.
    """
    return tuple(_history(measure, labels) for measure in measures)


def _history(measure: Measure, labels: Sequence[str]) -> Drawn:
    at = np.arange(1, len(labels) + 1)
    value, low, high = (np.array(part) for part in zip(*measure.values, strict=True))
    room = 0.08 * max(float(high.max() - low.min()), 1e-9)
    ends = (float(low.min()) - room, float(high.max()) + room)
    if measure.from_uniform:
        ends = (0.0, ends[1])
    points = Points(
        at,
        value,
        low=low,
        high=high,
        color=style.Q,
        size=8,
        texts=[escape(label) for label in labels],
        hover="%{text}: %{y:.3f}",
    )
    panel = Panel(
        [Line(at, value, color=style.Q), points],
        x=Axis(
            (0.6, len(labels) + 0.4),
            "table, in the order given",
            ticks=at,
            names=[_short(label) for label in labels],
        ),
        y=Axis(ends, measure.title),
        height=style.HEIGHT,
    )
    better = (
        "Higher is nearer to the true posterior"
        if measure.higher_is_better
        else "Lower is nearer to the true posterior"
    )
    zero = (
        "; a correct one has 0, but ranks of a sample are never exactly uniform"
        if ends[0] == 0
        else ""
    )
    return Drawn(
        capitalise(measure.title),
        panel,
        f"{capitalise(measure.about)}. {better}{zero}. Bars are 95% intervals "
        "of each table by itself.",
    )


def energy_score_gaps(ranking: Ranking, labels: Sequence[str]) -> Drawn:
    """Plot how far each table's energy score exceeds the nearest one's, a row each."""
    estimate, low, high = np.array([ranking.behind[i] for i in ranking.order]).T
    names = [_short(labels[i]) for i in ranking.order]
    return Drawn(
        "How far behind the nearest is each?",
        _forest(estimate, low, high, names, "energy score above the nearest, prior sd"),
        f"Farther right is farther from the true posterior. A line that touches 0 cannot be told "
        f"from {escape(names[0])}, the lowest. Lines are 95% intervals for all pairs of tables "
        "together.",
    )


def differences(
    measures: Sequence[Measure], labels: Sequence[str], reference: int
) -> tuple[Drawn, ...]:
    """Plot paired differences from the reference in units of their standard error, a picture for
    each other table.

    Args:
        measures: measures with paired differences, a row each.
        labels: names of the tables.
        reference: index of the reference table.
    """
    others = [i for i in range(len(labels)) if i != reference] if measures else []
    return tuple(
        Drawn(
            "All measures" + f", {escape(_short(labels[i]))}" * (len(others) > 1),
            _differences(measures, i),
            f"Each measure less that of {escape(_short(labels[reference]))}, in half-widths of "
            "its interval. Left of 0: nearer to the true posterior than it; a line that touches "
            "0: the two cannot be told apart. Lines are 95% intervals for all pairs of tables "
            "together.",
        )
        for i in others
    )


def _differences(measures: Sequence[Measure], table: int) -> Panel:
    """Each measure of one table less that of the reference, left where it is nearer the truth."""
    signs = np.array([-1 if measure.higher_is_better else 1 for measure in measures])[:, None]
    intervals = signs * np.array([measure.differences[table] for measure in measures])  # (M, 3)
    middle, ends = intervals[:, :1], np.sort(intervals, axis=1)
    reach = np.maximum((ends[:, 2:] - ends[:, :1]) / 2, 1e-12)
    middle, low, high = (np.ravel(each / reach) for each in (middle, ends[:, :1], ends[:, 2:]))
    return _forest(middle, low, high, [one.title for one in measures], "in half-widths")


def parameter_differences(
    crps: Array, names: Sequence[str], label: str, reference: str
) -> tuple[Drawn, ...]:
    """Plot differences in CRPS of one table from the reference, the largest first.

    Args:
        crps: estimates and ends of their intervals (D, 3), in prior standard deviations.
        names: of the D parameters.
        label: name of the table.
        reference: name of the reference table.
    """
    if not len(crps):
        return ()
    order = np.argsort(-np.abs(crps[:, 0]), kind="stable")[:SHOWN]
    estimate, low, high = crps[order].T
    figure = _forest(
        estimate, low, high, [_short(names[i]) for i in order], "difference in CRPS, prior sd"
    )
    more = f" The {SHOWN} of {len(crps)} that differ most." if len(crps) > SHOWN else ""
    return (
        Drawn(
            f"By parameter, {escape(_short(label))}",
            figure,
            f"Continuous ranked probability score of {escape(_short(label))} less that of "
            f"{escape(_short(reference))}. Left of 0, it predicts the parameter better.{more}",
        ),
    )


def _forest(middle: Array, low: Array, high: Array, names: Sequence[str], label: str) -> Panel:
    far = 1.15 * float(np.max(np.abs([low, high])))
    near = far if (middle < 0).any() else 0.1 * far + max(0.0, -1.15 * float(np.min(low)))
    hover = "%{x:.3f}"
    return Panel(
        [
            VLine(0, dash="dash"),
            Points(
                middle,
                np.arange(len(middle)),
                left=low,
                right=high,
                color=style.Q,
                size=9,
                hover=hover,
            ),
        ],
        x=Axis((-near, far), label),
        y=Axis.of_rows([escape(name) for name in names]),
        height=90 + _ROW * len(middle),
    )


def _short(label: str) -> str:
    return style.short(label, _LONG, ends=True)  # files of checkpoints differ at theirs
