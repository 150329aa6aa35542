"""SBC's ranks, parameter by parameter: the worst first, each with its adjusted p-value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any, NamedTuple

import numpy as np
import plotly.graph_objects as go

from validation_core import statistics
from validation_core.figures import style
from validation_core.figures.outcome import Drawn, ecdf_difference, rank_histogram
from validation_core.scores.quantities import QUANTITIES, labels, parameters_of
from validation_core.statistics.curves import bins
from validation_core.types import Array

SHOWN = 6
"""Quantities that are drawn; a table has them all."""

_PANEL = 190  # pixels high
_LONG = 24  # letters of a name that fit over a panel


class Ranked(NamedTuple):
    """The quantities to draw: their names, ranks (F, n), and the level of each one's band."""

    names: list[str]
    u: Array
    level: float


def outcome(arrays: Mapping[str, Array], names: Sequence[str] = ()) -> list[Drawn]:
    """Rank histograms and distances from uniform of one outcome (no leading axes).

    Args:
        arrays: of the outcome of `SBC.test`.
        names: of the parameters; theta 1, theta 2, ... where empty.
    """
    u = np.asarray(arrays.get("u", np.zeros((0, 0))))
    k = int(arrays.get("k", 1))
    quantity_names = called_by(np.asarray(arrays.get("kinds", np.zeros(1, int))), len(u), names)
    adjusted = np.asarray(arrays.get("adjusted", np.ones(len(u))))
    ranked = worst_first(u, quantity_names, adjusted)
    several = " of every panel" * (len(u) > 1)
    hidden = f", and of {len(u) - SHOWN} more," * (len(u) > SHOWN)
    expectation = "would stay in the grey room in 95 of 100 tables"
    return [
        Drawn(
            "Ranks",
            rank_histograms(ranked, k),
            f"If q were right, all bars{several}{hidden} {expectation}. A heap in the middle: "
            f"q is too wide; at both ends: too narrow; at one end: shifted.{_cut(u.shape[-1], k)}",
        ),
        Drawn(
            "Distance from uniform",
            ecdf_differences(ranked),
            f"The share of ranks up to u, less u. If q were right, the line{several}{hidden} "
            f"{expectation}; above it, too many ranks lie to the left, below it too few.",
        ),
    ]


def _cut(n: int, k: int) -> str:
    """What to know of bins that do not hold equally many ranks."""
    if n == 0 or (k + 1) % bins(n, k) == 0:
        return ""
    return (
        f" The {k + 1} possible ranks do not divide into equal bins: one that an edge cuts counts "
        "on either side by its share."
    )


def called_by(kinds: Array, count: int, names: Sequence[str] = ()) -> list[str]:
    """What `count` quantities are called.

    Args:
        kinds: places of the families in the registry (F,), as in an outcome's arrays.
        count: how many there are.
        names: of the parameters, where they have some.
    """
    families = [list(QUANTITIES)[int(kind)] for kind in kinds]
    d = len(names) or parameters_of(families, count) or 0
    quantity_names = labels(families, list(names) or [f"theta {i + 1}" for i in range(d)])
    return (
        quantity_names
        if len(quantity_names) == count
        else [f"quantity {i + 1}" for i in range(count)]
    )


def worst_first(u: Array, names: Sequence[str], adjusted: Array) -> Ranked:
    """The quantities with the smallest Holm-adjusted p-values, which follow their names.

    Each one's band is so wide that all of them together, drawn or not, hold 95%.
    """
    distance = statistics.ks(u).statistic if u.size else np.zeros(len(u))
    order = np.lexsort((-distance, adjusted))[:SHOWN]  # by p; among equal ones, by distance
    titles = [f"{_short(names[i])}<br>{_told(float(adjusted[i]))}" for i in order]
    return Ranked(titles, u[order], 1 - 0.05 / max(len(u), 1))


def _told(p: float) -> str:
    return f"p = {p:.2g}" if p > 1e-300 else "p < 1e-300"


def _short(name: str) -> str:
    return escape(style.short(name, _LONG), quote=False)


def rank_histograms(ranked: Ranked, k: int) -> go.Figure:
    """Counts of the ranks 0 to k in equal bins, on one axis that no rank can change."""
    if ranked.u.size == 0:
        return style.empty("No ranks yet")
    number = bins(ranked.u.shape[-1], k)
    panels = [rank_histogram(ranks, number, k=k, level=ranked.level) for ranks in ranked.u]
    for panel in panels:
        panel.layout.annotations = ()
    return _side_by_side(panels, ranked.names)


def ecdf_differences(ranked: Ranked) -> go.Figure:
    """F_n(u) - u of each quantity, with its largest value."""
    if ranked.u.size == 0:
        return style.empty("No ranks yet")
    panels = [ecdf_difference(ranks, ranked.level) for ranks in ranked.u]
    return _side_by_side(panels, ranked.names)


def _side_by_side(panels: Sequence[go.Figure], titles: Sequence[str]) -> go.Figure:
    """Figures of one pair of axes as panels of one sheet, in rows of at most three."""
    count = len(panels)
    columns = count if count <= 3 else 2 if count == 4 else 3
    rows = -(-count // columns)
    reach = np.array([panel.layout.yaxis.range for panel in panels], dtype=float)
    limits = [float(reach[:, 0].min()), float(reach[:, 1].max())]
    traces: list[style.Trace] = []
    notes: list[style.Trace] = []
    shapes: list[style.Trace] = []
    axes: dict[str, Any] = {}
    for i, (panel, title) in enumerate(zip(panels, titles, strict=True)):
        row, column = divmod(i, columns)
        across, up = _domain(column, columns, 0.05), _domain(rows - 1 - row, rows, 0.24)
        mark, layout = str(i + 1) if i else "", panel.layout.to_plotly_json()
        lowest = i + columns >= count
        for trace in panel.data:
            own = {"xaxis": f"x{mark}", "yaxis": f"y{mark}"}
            traces.append({**trace.to_plotly_json(), **own})
        shapes += [_of(shape, mark) for shape in layout.get("shapes", ())]
        notes += [_of(annotation, mark) for annotation in layout.get("annotations", ())]
        notes.append(
            {
                **style.note(title, sum(across) / 2, up[1], None, anchor="center", paper=True),
                "yanchor": "bottom",
            }
        )
        x, y = layout["xaxis"], layout["yaxis"]
        axes[f"xaxis{mark}"] = {
            **x,
            "domain": across,
            "anchor": f"y{mark}",
            "nticks": 4,
            **({} if lowest else {"title": None}),
        }
        axes[f"yaxis{mark}"] = {
            **y,
            "domain": up,
            "anchor": f"x{mark}",
            "range": limits,
            "showticklabels": column == 0,
            **({} if column == 0 else {"title": None}),
        }
    placeholder = style.Axis("", (0, 1))  # replaced by the panels' own
    return style.figure(
        traces,
        x=placeholder,
        y=placeholder,
        height=max(style.HEIGHT, 84 + _PANEL * rows),
        notes=notes,
        shapes=shapes,
        extra={"margin": {"l": 56, "r": 16, "t": 40, "b": 44}, **axes},
    )


def _domain(place: int, number: int, gap: float) -> list[float]:
    """Where the panel at this place lies between 0 and 1."""
    width = (1 - gap * (number - 1)) / number
    low = place * (width + gap)
    return [low, min(low + width, 1.0)]


def _of(mark: style.Trace, axes: str) -> style.Trace:
    """A shape or a note, moved to the axes of a panel."""
    x, y = mark.get("xref", "x"), mark.get("yref", "y")
    return {
        **mark,
        "xref": f"x{axes}" + " domain" * (x == "paper"),
        "yref": f"y{axes}" + " domain" * (y == "paper"),
    }


def of_one(
    arrays: Mapping[str, Array], names: Sequence[str], index: int
) -> tuple[dict[str, Array], list[str]]:
    """One of SBC's quantities as if it were a parameter alone; its p-value stays corrected."""
    labels = called_by(arrays["kinds"], len(arrays["u"]), names)
    kinds = np.array([list(QUANTITIES).index("marginals")])
    part = {name: arrays[name][index : index + 1] for name in ("u", "adjusted")}
    return {**arrays, **part, "kinds": kinds}, [labels[index]]
