"""The level of each test on self-made tables, and how its p-values are spread there."""

from __future__ import annotations

from validation_core.diagnosis.questions.type1_error import MethodLevel, TypeIError
from validation_core.figures import style
from validation_core.figures.outcome import Drawn, rank_histogram
from validation_core.types import Array

_DRAWN = 6
_BINS = 20
_LINE = 26  # pixels that one test takes


def figures(result: TypeIError) -> tuple[Drawn, ...]:
    """Rates with their intervals, then p-values of the tests whose rates are farthest off."""
    by_test = zip(result.tests, result.pvalues, strict=True)
    order = sorted(by_test, key=lambda test: -abs(test[0].rejections.rate - result.alpha))
    return (_rates(result), *(_pvalues(test, pvalues) for test, pvalues in order[:_DRAWN]))


def _rates(result: TypeIError) -> Drawn:
    rows = [*result.tests[::-1], MethodLevel("", "", "Verdict", result.verdict)]  # it is on top
    top = min(1.0, 1.15 * max([result.alpha, *(row.rejections.high for row in rows)]))
    traces = []
    for place, row in enumerate(rows):
        color = style.method_style(row.name).color if row.name else style.P
        rate = row.rejections
        traces += [
            style.line([rate.low, rate.high], [place, place], color),
            {
                "type": "scatter",
                "mode": "markers",
                "x": [rate.rate],
                "y": [place],
                "marker": {"color": color, "size": 9},
                "name": row.title,
                "hovertemplate": f"{row.title}: %{{x:.1%}} of {result.trials}<extra></extra>",
            },
        ]
    ticks = {"tickvals": list(range(len(rows))), "ticktext": [row.title for row in rows]}
    y = {**style.Axis("", (-0.6, len(rows) - 0.4)).layout(), **ticks, "showgrid": False}
    sheet = style.figure(
        traces,
        x=style.Axis("share of tables rejected", (0, top), percent=True),
        y=style.Axis("", (-0.6, len(rows) - 0.4)),
        height=90 + _LINE * len(rows),
        shapes=[style.vline(result.alpha, style.NULL, dash="dash")],
        extra={"yaxis": y, "margin": {"l": 190, "r": 16, "t": 18, "b": 44}},
    )
    return Drawn(
        "How often the tests reject a q that is right",
        sheet,
        f"Dashed: the level, {result.alpha:.3g}. A test that keeps it has its bar across the "
        "dashed line or left of it, whatever q is; lines are 95% intervals.",
    )


def _pvalues(test: MethodLevel, pvalue: Array) -> Drawn:
    sheet = rank_histogram(pvalue, bins=_BINS, height=200)
    sheet.layout.xaxis.title.text = "p-value"
    sheet.layout.yaxis.title.text = "tables"
    sheet.layout.annotations[0].text = "even"
    right = (
        "its heap at 1 is the price of asking about several parameters at once"
        if test.name == "sbc"
        else "a heap on the right: it could see more than it does"
    )
    return Drawn(
        f"p-values of {test.title}",
        sheet,
        "On tables in which q is right, all bars stay in the grey room in 95 of 100 cases. A heap "
        f"on the left: the test rejects too often; {right}.",
    )
