"""The pictures of one method's record: which figures, under which name, read how."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from scipy.special import ndtri

from validation_core.diagnosis import Record
from validation_core.figures import sbc, style
from validation_core.figures.nulls import on_null
from validation_core.figures.outcome import Drawn
from validation_core.figures.outcomes import figures
from validation_core.figures.ranks import ecdf_difference, rank_histogram
from validation_core.scores.quantities import QUANTITIES
from validation_core.types import Array


def pictures(
    record: Record, *, alpha: float = 0.05, names: Sequence[str] = (), only: int | None = None
) -> tuple[Drawn, ...]:
    """What a record looks like; nothing for a method that did not run or draws nothing.

    Args:
        record: of one method.
        alpha: level whose critical value is marked.
        names: of the parameters.
        only: index of the quantity to draw, where a method ranks several; else the worst ones.
    """
    if record.status != "ran":
        return ()
    if record.name in _MEANING:
        shown = _ranks(record.arrays["u"], _MEANING[record.name])
        return _with_ball(shown, record) if record.name == "colt" else shown
    if record.name == "multiple":
        return (_multiple(record, alpha),)
    if record.name == "c2st":
        return (_accuracy(record, alpha),)
    if record.name == "sbc" and only is not None:
        return tuple(sbc.outcome(*_one(record.arrays, names, only)))
    theta = record.arrays.get("theta_q", np.zeros((0, 0, 0)))
    return tuple(figures(record.name, record.arrays, names, theta))


def _one(
    arrays: Mapping[str, Array], names: Sequence[str], index: int
) -> tuple[dict[str, Array], list[str]]:
    """One of SBC's quantities as if it were a parameter alone; its p-value stays corrected."""
    called = sbc.called_by(arrays["kinds"], len(arrays["u"]), names)
    kinds = np.array([list(QUANTITIES).index("marginals")])
    part = {name: arrays[name][index : index + 1] for name in ("u", "adjusted")}
    return {**arrays, **part, "kinds": kinds}, [called[index]]


_SCORED = (
    "A heap on the right: the truth scores above q's draws, so the classifier tells them apart."
)
_MEANING = {
    "within_x": _SCORED,
    "uniform": "A heap on the left: q's draws score below the truth, so the classifier tells them "
    "apart.",
    "colt": "A heap on the left: the truth lies nearer the centre than q's draws, so that balls "
    "around it hold more truth than q gives them; on the right: less.",
}  # fmt: skip


def _ranks(u: Array, meaning: str) -> tuple[Drawn, ...]:
    return (
        Drawn(
            "Ranks",
            rank_histogram(u),
            f"If q were right, all bars would stay in the grey room. {meaning}",
        ),
        Drawn(
            "Ranks, cumulated",
            ecdf_difference(u),
            "If q were right, the line would stay in the grey room as a whole in 95 of 100 "
            "tables; where it leaves, too many or too few ranks lie below.",
        ),
    )


def _with_ball(shown: tuple[Drawn, ...], record: Record) -> tuple[Drawn, ...]:
    """Ranks of CoLT, with the mass of the ball marked where they are cumulated."""
    histogram, cumulated = shown
    u_star, color = record.effect["u_star"], style.method_style("colt").color
    cumulated.figure.add_shape(style.upright(u_star, color, dash="dot"))
    below = cumulated.figure.layout.annotations[0].y > 0  # where the largest distance is not
    mark = style.note("u*", u_star, 0 if below else 1, color, shift=4)
    cumulated.figure.add_annotation(
        {**mark, "yref": "paper", "yanchor": "bottom" if below else "top"}
    )
    words = f"{cumulated.caption} Dotted: the ball's mass u*, chosen by one half of the ranks."
    return histogram, cumulated._replace(caption=words)


def _multiple(record: Record, alpha: float) -> Drawn:
    assert record.statistic is not None
    return Drawn(
        "Standardised mean rank",
        on_null(record.statistic, mean=0.0, sd=1.0, critical=ndtri(1 - alpha), label="T"),
        "If q were right, T would fall under the grey curve; far to the right, the classifier's "
        "scores tell q's draws from the truth. Dashed: this test's own level, uncorrected.",
    )


def _accuracy(record: Record, alpha: float) -> Drawn:
    assert record.statistic is not None
    sd = np.sqrt(1 / record.draws_p + 1 / record.draws_q) / 4  # of a fair coin, both sides
    return Drawn(
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
