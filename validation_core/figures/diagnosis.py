"""The pictures of one method's record: which figures, under which name, read how."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import plotly.graph_objects as go
from scipy.special import ndtri

from validation_core.diagnosis import Record
from validation_core.figures import style
from validation_core.figures.nulls import on_null
from validation_core.figures.ranks import ecdf_difference, rank_histogram
from validation_core.types import Array


class Picture(NamedTuple):
    """A figure, what it shows, and one sentence on how to read it."""

    title: str
    figure: go.Figure
    words: str


def pictures(record: Record, *, alpha: float = 0.05, parameter: int = 0) -> tuple[Picture, ...]:
    """What a record looks like; nothing for a method that did not run or draws nothing.

    Args:
        record: of one method.
        alpha: level whose critical value is marked.
        parameter: index of the parameter whose ranks are drawn, where a method ranks several.
    """
    if record.status != "ran":
        return ()
    if "u" in record.arrays:
        u = record.arrays["u"]
        shown = _ranks(u[parameter] if u.ndim > 1 else u, _MEANING.get(record.name, _SCORED))
        return _with_ball(shown, record) if record.name == "colt" else shown
    if record.name == "multiple":
        return (_multiple(record, alpha),)
    return (_accuracy(record, alpha),) if record.name == "c2st" else ()


_SCORED = (
    "A heap on the right: the truth scores above q's draws, so the classifier tells them apart."
)
_MEANING = {
    "sbc": "A heap in the middle: q is too wide; at both ends: too narrow; at one end: shifted.",
    "uniform": "A heap on the left: q's draws score below the truth, so the classifier tells them "
    "apart.",
    "colt": "A heap on the left: the truth lies nearer the centre than q's draws, so that balls "
    "around it hold more truth than q gives them; on the right: less.",
}  # fmt: skip


def _ranks(u: Array, meaning: str) -> tuple[Picture, ...]:
    return (
        Picture(
            "Ranks",
            rank_histogram(u),
            f"If q were right, all bars would stay in the grey room. {meaning}",
        ),
        Picture(
            "Ranks, cumulated",
            ecdf_difference(u),
            "If q were right, the line would stay in the grey room as a whole in 95 of 100 "
            "tables; where it leaves, too many or too few ranks lie below.",
        ),
    )


def _with_ball(shown: tuple[Picture, ...], record: Record) -> tuple[Picture, ...]:
    """Ranks of CoLT, with the mass of the ball marked where they are cumulated."""
    histogram, cumulated = shown
    u_star, color = record.effect["u_star"], style.method_style("colt").color
    cumulated.figure.add_shape(style.upright(u_star, color, dash="dot"))
    below = cumulated.figure.layout.annotations[0].y > 0  # where the largest distance is not
    mark = style.note("u*", u_star, 0 if below else 1, color, shift=4)
    cumulated.figure.add_annotation(
        {**mark, "yref": "paper", "yanchor": "bottom" if below else "top"}
    )
    words = f"{cumulated.words} Dotted: the ball's mass u*, chosen by one half of the ranks."
    return histogram, cumulated._replace(words=words)


def _multiple(record: Record, alpha: float) -> Picture:
    assert record.statistic is not None
    return Picture(
        "Standardised mean rank",
        on_null(record.statistic, mean=0.0, sd=1.0, critical=ndtri(1 - alpha), label="T"),
        "If q were right, T would fall under the grey curve; far to the right, the classifier's "
        "scores tell q's draws from the truth. Dashed: this test's own level, uncorrected.",
    )


def _accuracy(record: Record, alpha: float) -> Picture:
    assert record.statistic is not None
    sd = np.sqrt(1 / record.draws_p + 1 / record.draws_q) / 4  # of a fair coin, both sides
    return Picture(
        "Held-out accuracy",
        on_null(
            record.statistic,
            mean=0.5,
            sd=float(sd),
            critical=0.5 + ndtri(1 - alpha) * sd,
            label="accuracy",
        ),
        "If q were right, a classifier could only guess and its accuracy would fall under the "
        "grey curve. Dashed: this test's own level, uncorrected.",
    )
