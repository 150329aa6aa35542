"""Picture of Geweke's joint test over its turns."""

from __future__ import annotations

import numpy as np

from validation_core.drawing import live
from validation_core.drawing.marks import (
    Axis,
    HBand,
    HLine,
    Line,
    Mark,
    Panel,
    Points,
    Slider,
    VLine,
    over,
    sentence,
)
from validation_core.drawing.null_histogram import null_histogram
from validation_core.drawing.style import NULL, OBSERVED, method_style
from validation_core.symmetric_divergence.geweke import JointTest
from validation_core.text import count_text, said_equals

_COLOR = method_style("skl").color
_LEVEL = 0.05


def joint_payload(test: JointTest, correct: bool = False) -> live.Payload:
    """Picture of the drift of every function, and of the largest on its null, over the turns.

    Args:
        test: the drifts, their null and p-values.
        correct: whether q is known to be the posterior.
    """
    turns = len(test.pvalue)
    labels = [count_text(turn + 1, "turn") for turn in range(turns)]
    texts = [f"p-value {said_equals(float(p))}, {_says(float(p), correct)}" for p in test.pvalue]
    farthest = [test.names[int(np.abs(row).argmax())] for row in test.drift]
    return live.payload(
        sliders=[
            Slider(
                "turn",
                np.arange(1, turns + 1),
                label="Turns",
                names=[str(turn + 1) for turn in range(turns)],
                start=turns,
                ends=("one inference", "errors pile up"),
            )
        ],
        panels=[_drift(test), _null(test)],
        headline=sentence(
            "After {turn}: {found}. Farthest from the prior: {what}.",
            turn=over(labels, "turn"),
            found=over(texts, "turn"),
            what=over(farthest, "turn"),
        ),
    )


def _says(pvalue: float, correct: bool) -> str:
    if pvalue > _LEVEL:
        return "no evidence against q"
    return "low by chance, since q is exact" if correct else "evidence that q is not p"


def _drift(test: JointTest) -> Panel:
    turns = np.arange(1, len(test.pvalue) + 1)
    reach = 1.1 * max(3.0, float(np.abs(test.drift).max()))
    worst = int(np.abs(test.drift[-1]).argmax())
    marks: list[Mark] = [HBand(-1.96, 1.96, color=NULL, opacity=0.15), HLine(0.0, color=NULL)]
    for j, row in enumerate(test.drift.T):
        mine = j == worst
        marks.append(
            Line(
                turns,
                row,
                color=OBSERVED if mine else _COLOR,
                width=2.2 if mine else 1.0,
                opacity=1.0 if mine else 0.45,
            )
        )
    marks += [
        Points(turns, test.drift[:, worst], color=OBSERVED, size=6),
        VLine(over(turns.astype(float), "turn"), color=NULL, width=1),
    ]
    return Panel(
        marks,
        title="Drift from the prior",
        height=260,
        click="turn",
        x=Axis((0.7, len(turns) + 0.3), "turns", ticks=turns),
        y=Axis((-reach, reach), "mean difference, in standard errors"),
        legend=[(test.names[worst], OBSERVED, "line"), ("the other functions", _COLOR, "line")],
        caption="Each line is a coordinate of z or its square; 95% of each would lie in the band.",
    )


def _null(test: JointTest) -> Panel:
    top = 1.08 * max(float(test.null.max()), float(test.statistic.max()))
    edges = np.linspace(0, top, 41)
    counts = np.stack([np.histogram(row, edges)[0] for row in test.null])
    flips = test.null.shape[1]
    return null_histogram(
        edges,
        over(counts, "turn"),
        over(test.statistic, "turn"),
        Axis((0, top), "largest drift, in standard errors"),
        "random signs",
        title="The largest, among those with random signs",
        caption=over(
            [
                f"{round(p * (flips + 1)) - 1:,} of {flips:,} random signs give one as large."
                for p in test.pvalue
            ],
            "turn",
        ),
        height=260,
    )
