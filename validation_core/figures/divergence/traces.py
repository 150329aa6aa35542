"""Lines of a panel: points with intervals, open marks at the foot, crosses where q failed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from validation_core.figures import style
from validation_core.figures.divergence import axes
from validation_core.figures.style import Axis, Trace
from validation_core.simulations.curves import DivergenceCurve
from validation_core.types import Array, MethodStyle

_APART = 0.018  # of the axis' length, between the algorithms at one place


def traces(curves: Sequence[DivergenceCurve], x: Axis, y: Axis, along: str) -> Iterator[Trace]:
    foot, (floor, roof) = axes.foot(curves), y.limits
    top = roof / (roof / floor) ** 0.04
    step = (x.limits[1] / x.limits[0]) ** _APART
    for j, curve in enumerate(curves):
        look = style.algorithm_style(curve.name)
        at = curve.x * step ** (j - (len(curves) - 1) / 2)
        texts = _told(curve)
        symbols = [look.symbol + "-open" * bool(m <= foot) for m in curve.found.mean]
        mean, low, high = (_shown(values, foot) for values in curve.found[:3])
        yield _bars(at, low, high, look)
        yield {
            **style.line(
                at,
                mean,
                look.color,
                dash=look.dash,
                width=1.8,
                name=curve.label,
                hover=f"{curve.label}, %{{customdata[0]:,}} {along}<br>%{{text}}",
            ),
            "mode": "lines+markers",
            "customdata": curve.x[:, None].astype(int).tolist(),
            "text": texts,
            "legendgroup": curve.label,
            "cliponaxis": False,
            "marker": {
                "color": look.color,
                "size": 8,
                "symbol": symbols,
                "line": {"width": 1.5, "color": look.color},
            },
        }
        if curve.gap.any():
            yield {
                **style.line(
                    at[curve.gap],
                    np.full(int(curve.gap.sum()), top),
                    look.color,
                    hover=f"{curve.label}, %{{customdata[0]:,}} {along}<br>%{{text}}",
                ),
                "mode": "markers",
                "customdata": curve.x[curve.gap][:, None].astype(int).tolist(),
                "text": [text for text, gap in zip(texts, curve.gap, strict=True) if gap],
                "marker": {
                    "color": look.color,
                    "symbol": "x-thin",
                    "size": 8,
                    "line": {"width": 2, "color": look.color},
                },
            }


def _shown(values: Array, foot: float) -> Array:
    """On the axis: what lies below its foot at the foot, NaN where there is nothing."""
    return np.where(np.isfinite(values), np.clip(values, foot, axes.LARGEST), np.nan)


def _bars(x: Array, low: Array, high: Array, look: MethodStyle) -> Trace:
    nothing = np.full(len(x), np.nan)
    trace = style.line(
        np.stack([x, x, nothing], 1).ravel(),
        np.stack([low, high, nothing], 1).ravel(),
        look.color,
        width=1.5,
        opacity=0.75,
    )
    return {**trace, "connectgaps": False}


def _told(curve: DivergenceCurve) -> list[str]:
    """What the pointer reads at each place."""
    texts = []
    for i, mean in enumerate(curve.found.mean):
        if np.isfinite(mean):
            low, high, median, largest, _ = (float(values[i]) for values in curve.found[1:])
            texts.append(
                f"SKL {mean:.3g} [{low:.3g}, {high:.3g}] nats<br>median of d {median:.3g}, "
                f"largest {largest:.3g}, {curve.k} data sets"
            )
        elif curve.failures[i]:
            texts.append(f"no q on {curve.failures[i]} of {curve.k} data sets")
        else:
            texts.append("no finite estimate" if curve.done[i] else "no run yet")
    return texts
