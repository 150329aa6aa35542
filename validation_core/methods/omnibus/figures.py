"""Relabelling within x: how large the clearest claim is, and what each kind of claim says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go

from validation_core.diagnosis.claims import Claims
from validation_core.figures import style
from validation_core.figures.outcome import Drawn
from validation_core.methods.mmd_fuse.figures import null
from validation_core.omnibus import OmnibusResult
from validation_core.omnibus.battery import Family
from validation_core.types import Array

_LEVEL = 0.05
_LINE = 26  # pixels of one family
_LABELS = 128

_SHORT: Mapping[Family, str] = {
    "means": "Place",
    "widths": "Width",
    "shapes": "Skew and tails",
    "pairs": "Pairs",
    "norm": "From q's centre",
    "densities": "Densities",
    "learned": "Learned scores",
    "over_x": "Over x",
    "learned_over_x": "Learned, over x",
    "observation": "Near x_o",
}
"""Families beside an axis, that a phone has room for."""

_NULL = (
    "Grey is the clearest of all claims, as −log p, when another of truth and draws plays the "
    "truth at every x; dashed is what 1 in 20 of those exceed, red what was seen. If q were "
    "right, red would be anywhere in the grey."
)
_FAMILIES = (
    "p of each kind of claim, adjusted for all of them together: left of the dashed level it is "
    "claimed. If q were right, every mark would stay right of it in 95 of 100 tables."
)


def outcome(arrays: Mapping[str, Array], names: Sequence[str] = ()) -> list[Drawn]:
    """The figures of one test; of a benchmark's trial only what was seen among labellings."""
    del names
    sheets: list[Drawn] = []
    if "claims" in arrays:
        result = OmnibusResult.read(arrays)
        sheets.append(Drawn("What is claimed", families(Claims(result, _LEVEL)), _FAMILIES))
    observed = float(np.max(arrays["evidence"])) if "evidence" in arrays else float("nan")
    if np.isfinite(observed):
        figure = null(np.asarray(arrays["null"]), observed)
        figure.layout.xaxis.title.text = "clearest claim, −log p"
        sheets.append(Drawn("Seen, and relabelled", figure, _NULL))
    return sheets


def families(claims: Claims) -> go.Figure:
    """Adjusted p of each family on a log axis, the smallest on top."""
    rows = claims.families()[::-1]
    color = style.method_style("omnibus").color
    p = np.array([row["pvalue"] for row in rows])
    least = 0.7 / (claims.result.relabelings + 1)
    marker = {
        "symbol": ["circle" if pvalue <= claims.alpha else "circle-open" for pvalue in p],
        "size": 10,
        "color": color,
    }
    lines = [
        style.line([pvalue, 1.0], [place, place], style.NULL, width=1)
        for place, pvalue in enumerate(p)
    ]
    marks = {
        "type": "scatter",
        "mode": "markers",
        "x": style.f4(p),
        "y": list(range(len(rows))),
        "marker": marker,
        "name": "adjusted p",
        "text": [f"{row['title']}: {row['claim']}" for row in rows],
        "hovertemplate": "%{text}: p = %{x:.3g}<extra></extra>",
    }
    height = 80 + _LINE * len(rows)
    limits = (-0.6, len(rows) - 0.4)
    ticks = {
        "tickvals": list(range(len(rows))),
        "ticktext": [_SHORT[row["family"]] for row in rows],
    }
    return style.figure(
        [*lines, marks],
        x=style.Axis("adjusted p", (least, 1.2)),
        y=style.Axis("", limits),
        height=height,
        shapes=[style.vline(claims.alpha, style.NULL, dash="dash")],
        extra={
            "yaxis": {**style.Axis("", limits).layout(), **ticks, "showgrid": False},
            "xaxis": {
                **style.Axis("adjusted p", (least, 1.2)).layout(),
                "type": "log",
                "range": [float(np.log10(least)), float(np.log10(1.3))],
                "tickvals": [0.001, 0.01, 0.05, 0.2, 1.0],
            },
            "margin": {"l": _LABELS, "r": 16, "t": 14, "b": 44},
        },
    )
