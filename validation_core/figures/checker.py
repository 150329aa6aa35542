"""The level of each test on self-made tables, and how its p-values are spread there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from validation_core.answers.base import Found
from validation_core.figures import style
from validation_core.figures.outcome import Drawn
from validation_core.figures.ranks import rank_histogram
from validation_core.types import Array

_DRAWN = 6
_BINS = 20
_LINE = 26  # pixels that one test takes


def drawn(found: Found, names: Sequence[str]) -> tuple[Drawn, ...]:
    """Rates with their intervals, then p-values of the tests whose rates are farthest off."""
    del names
    told = found.plain
    order = sorted(
        range(len(told["tests"])), key=lambda i: -abs(told["tests"][i]["rate"] - told["alpha"])
    )
    spread = [_pvalues(told["tests"][i], found.arrays["pvalues"][i]) for i in order[:_DRAWN]]
    return (_rates(told), *spread)


def _rates(told: Mapping[str, Any]) -> Drawn:
    every = [{"title": "Verdict", "name": "", **told["verdict"]}, *told["tests"]]
    every = every[::-1]  # the verdict on top
    top = min(1.0, 1.15 * max([told["alpha"], *(one["high"] for one in every)]))
    traces = []
    for place, one in enumerate(every):
        color = style.method_style(one["name"]).color if one["name"] else style.P
        traces += [
            style.line([one["low"], one["high"]], [place, place], color),
            {
                "type": "scatter", "mode": "markers", "x": [one["rate"]], "y": [place],
                "marker": {"color": color, "size": 9}, "name": one["title"],
                "hovertemplate": f"{one['title']}: %{{x:.1%}} of {told['trials']}<extra></extra>",
            },
        ]  # fmt: skip
    ticks = {"tickvals": list(range(len(every))), "ticktext": [one["title"] for one in every]}
    y = {**style.Axis("", (-0.6, len(every) - 0.4)).layout(), **ticks, "showgrid": False}
    sheet = style.figure(
        traces, x=style.Axis("share of tables rejected", (0, top), percent=True),
        y=style.Axis("", (-0.6, len(every) - 0.4)), height=90 + _LINE * len(every),
        shapes=[style.upright(told["alpha"], style.NULL, dash="dash")],
        extra={"yaxis": y, "margin": {"l": 190, "r": 16, "t": 18, "b": 44}},
    )  # fmt: skip
    return Drawn(
        "How often the tests reject a q that is right", sheet,
        f"Dashed: the level, {told['alpha']:.3g}. A test that keeps it has its bar across the "
        "dashed line or left of it, whatever q is; lines are 95% intervals.",
    )  # fmt: skip


def _pvalues(test: Mapping[str, Any], pvalue: Array) -> Drawn:
    sheet = rank_histogram(pvalue, bins=_BINS, height=200)
    sheet.layout.xaxis.title.text = "p-value"
    sheet.layout.yaxis.title.text = "tables"
    sheet.layout.annotations[0].text = "even"
    right = (
        "its heap at 1 is the price of asking about several parameters at once"
        if test["name"] == "sbc" else "a heap on the right: it could see more than it does"
    )  # fmt: skip
    return Drawn(
        f"p-values of {test['title']}", sheet,
        "On tables in which q is right, all bars stay in the grey room in 95 of 100 cases. A heap "
        f"on the left: the test rejects too often; {right}.",
    )  # fmt: skip
