"""Power of the verdict and of each test against one injected defect of growing strength."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from validation_core.answers.base import Found
from validation_core.figures import style
from validation_core.figures.outcome import Drawn
from validation_core.figures.style import Trace

_HEIGHT = 340
_CAPTION = (
    "Share of tables with a defect of this strength in which it is found: by the verdict (thick, "
    "with its 95% interval), by each test alone at the level. Dashed: 80%, and the strength where "
    "the verdict gets there. With no defect at all, none would rise above the dotted level."
)


def drawn(found: Found, names: Sequence[str]) -> tuple[Drawn, ...]:
    """One figure for each defect."""
    del names
    return tuple(_curves(one, found.plain) for one in found.plain["injections"])


def _curves(one: Mapping[str, Any], told: Mapping[str, Any]) -> Drawn:
    title = f"If q were {one['title']}"
    if not one["strengths"]:
        return Drawn(title, style.empty("Nothing has been asked yet", height=_HEIGHT), _CAPTION)
    in_nats = one["unit"] == "nats" and one["nats"] is not None
    smallest = one["smallest"]
    sizes = np.array(one["nats"]["strengths"] if in_nats else one["strengths"]) - one["neutral"]
    if in_nats and smallest is not None:
        smallest = one["nats"]["smallest"]
    traces = _verdict(sizes, one["verdict"])
    traces += [
        trace for test in one["tests"]
        if (trace := _test(sizes, test["power"], test["name"], test["title"]))
    ]  # fmt: skip
    shapes = [style.level(told["power"]), style.level(told["alpha"], dash="dot")]
    if smallest is not None:
        shapes.append(style.upright(smallest - one["neutral"], style.P, dash="dash"))
    beyond = f" beyond {one['neutral']:g}" if one["neutral"] else ""
    decades = 10.0 ** np.arange(np.floor(np.log10(sizes[0])), np.ceil(np.log10(sizes[-1])) + 1)
    ticks = [float(t) for t in np.outer(decades, [1, 3]).ravel() if sizes[0] <= t <= sizes[-1]]
    sheet = style.figure(
        traces,
        x=style.Axis(
            f"{one['unit']}{beyond}", (sizes[0], sizes[-1]), log=True, ticks=ticks or None
        ),
        y=style.Axis("found", (0, 1.02), percent=True), height=_HEIGHT, shapes=shapes,
        extra={
            "showlegend": True,
            "legend": {"orientation": "h", "y": -0.28, "yanchor": "top", "font": {"size": 11}},
            "margin": {"l": 56, "r": 16, "t": 18, "b": 110},
        },
    )  # fmt: skip
    return Drawn(title, sheet, _CAPTION)


def _verdict(sizes: Sequence[float] | Any, powers: Sequence[Any]) -> list[Trace]:
    # Where fewer tests were asked than at weaker defects, there is but a lower bound: a false dip.
    at = [i for i, power in enumerate(powers) if power is not None and not power["bound"]]
    if not at:
        return []
    x = np.asarray(sizes)[at]
    rate, low, high = (np.array([powers[i][name] for i in at]) for name in ("rate", "low", "high"))
    line = style.line(
        x, rate, style.P, width=4, name="Verdict", hover="verdict at %{x:.3g}: %{y:.0%}"
    )
    return [{**style.area(x, low, high, style.P, 0.18), "showlegend": False}, line]


def _test(sizes: Any, powers: Sequence[Any], name: str, title: str) -> Trace | None:
    at = [i for i, power in enumerate(powers) if power is not None]
    if not at:
        return None
    look = style.method_style(name)
    trace = style.line(
        np.asarray(sizes)[at], [powers[i]["rate"] for i in at], look.color, dash=look.dash,
        width=1.5, name=title, hover=f"{title} at %{{x:.3g}}: %{{y:.0%}}",
    )  # fmt: skip
    marker = {"color": look.color, "symbol": look.symbol, "size": 6}
    return {**trace, "mode": "lines+markers", "marker": marker}
