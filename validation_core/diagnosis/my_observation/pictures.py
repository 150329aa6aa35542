"""Pictures of one's own observation among simulations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from validation_core.diagnosis.questions.base import short_name
from validation_core.drawing import style
from validation_core.drawing.drawn import Drawn
from validation_core.drawing.marks import Axis, Band, Bars, Line, Mark, Panel, Points
from validation_core.drawing.null_histogram import permutation_histogram
from validation_core.localization import neighbours
from validation_core.relabelling.claims import x_column_name
from validation_core.statistics.strangeness import Strangeness, deviations_from_median
from validation_core.types import Array

_NEAREST = 5  # simulations drawn beside the observation
_NAMED = 16  # coordinates that have a row each; of more, a line runs over their places
_LETTERS = 24
_LEGEND = ("your observation", style.OBSERVED, "circle")
_MIDDLE = (0.025, 0.975)


def among_simulations(x: Array, x_o: Array, x_names: Sequence[str]) -> Drawn:
    """The coordinates of an observation (M,), its nearest simulations, and 95% of all x (n, M)."""
    rows = np.argsort(neighbours.distances(x, x_o[None])[0], kind="stable")[:_NEAREST]
    near, at = x[rows].astype(np.float64), x_o.astype(np.float64)
    low, high = np.quantile(x.astype(np.float64), _MIDDLE, axis=0)
    title = "Your observation beside its nearest simulations"
    if len(x_o) > _NAMED:
        return Drawn(
            title,
            _as_series(near, at, low, high),
            "Red: your observation. Grey lines: the five simulations nearest to it. Band: the "
            "middle 95% of all simulations at each place.",
        )
    together = np.concatenate([x, x_o[None]]).astype(np.float64)
    scaled = deviations_from_median(together, np.vstack([low, high, at, near]))
    names = [short_name(x_column_name(i, x_names), _LETTERS, ends=True) for i in range(len(x_o))]
    places = np.arange(len(x_o))
    marks: list[Mark] = [
        Points(0 * places, places, color=style.NULL, size=1, left=scaled[0], right=scaled[1]),
        *(Points(row, places, color=style.NULL, size=6, symbol="ring") for row in scaled[3:]),
        Points(scaled[2], places, color=style.OBSERVED, size=9, hover="%{x:.2f} sd"),
    ]
    panel = Panel(
        marks,
        x=Axis(style.padded(scaled), "sds from the median"),
        y=Axis.of_rows(names),
        height=max(style.HEIGHT, 90 + 24 * len(names)),
        legend=[_LEGEND, ("nearest simulations", style.NULL, "ring")],
    )
    return Drawn(
        title,
        panel,
        "Red: your observation. Rings: the five simulations nearest to it. Lines: the middle 95% "
        "of all simulations.",
    )


def _as_series(near: Array, at: Array, low: Array, high: Array) -> Panel:
    """Many coordinates as lines over their places, in their own unit where they share one."""
    spread = np.maximum(high - low, 1e-300)
    alike = float(np.quantile(spread, 0.9)) <= 30 * float(np.quantile(spread, 0.1))
    if not alike:
        middle = (low + high) / 2
        scaled = [(each - middle) * 2 / spread for each in (low, high, at)]
        low, high, at, near = *scaled, (near - middle) * 2 / spread
    places = np.arange(len(at), dtype=float)
    shown = np.concatenate([low, high, at, near.ravel()])
    return Panel(
        [
            Band(places, low, high),
            *(Line(places, row, color=style.NULL, width=1, opacity=0.7) for row in near),
            Line(places, at, color=style.OBSERVED),
        ],
        x=Axis((0.0, float(len(at) - 1)), "column of x"),
        y=Axis(style.padded(shown), "x" if alike else "half widths of the middle 95%"),
        height=style.HEIGHT,
        legend=[("your observation", style.OBSERVED, "line"), ("simulations", style.NULL, "line")],
    )


def strangeness_shown(ranked: Strangeness, at: int, titles: Mapping[str, str]) -> Drawn:
    """The strangeness in which an observation stands out most, beside those of simulations."""
    name = min(ranked.parts, key=lambda part: float(ranked.parts[part][at]))
    held, seen = ranked.values[name]
    values, observed = held.astype(np.float64), float(seen[at])
    label = titles[name]
    if name == "mahalanobis":
        values, observed = np.sqrt(np.maximum(values, 0)), float(np.sqrt(max(observed, 0)))
    if values.min() > 0 and observed > 5 * values.max():
        values, observed = np.log10(values), float(np.log10(observed))
        label = f"{label}, log10"
    return Drawn(
        "How strange it is",
        permutation_histogram(values, observed, label, hover="%{x}: %{y}", height=style.HEIGHT),
        "Grey: the simulations. Red: your observation. If the simulator had made it, the red line "
        "would be one of them.",
    )


def weights_shown(log_weights: Array) -> Drawn:
    """log p - log q of q's draws (K,), less their mean."""
    values = log_weights - log_weights.mean()
    edges = np.linspace(*style.padded(values), 31)
    counts = np.histogram(values, edges)[0].astype(float)
    return Drawn(
        "log p less log q at q's draws",
        Panel(
            [Bars(edges, counts, color=style.Q)],
            x=Axis((float(edges[0]), float(edges[-1])), "log p − log q, nats, less its mean"),
            y=Axis((0.0, 1.15 * float(max(counts.max(), 1))), "draws"),
            height=style.HEIGHT,
        ),
        "If q were correct, log p less log q would be the same at every draw: one bar.",
    )


def predictive_shown(x_rep: Array, x_o: Array, x_names: Sequence[str]) -> Drawn:
    """An observation (M,) among draws of x at q's draws (L, M)."""
    return Drawn(
        "Your observation among data that q predicts",
        among_simulations(x_rep, x_o, x_names).picture,
        "Red: your observation. Grey: data simulated at q's draws, the five nearest and the "
        "middle 95%.",
    )
