"""TARP's coverage curve: how often q's regions cover the truth, beside how often they should."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go

from validation_core import statistics
from validation_core.figures import style
from validation_core.figures.outcome import Drawn, ecdf_difference
from validation_core.rng import stream
from validation_core.statistics.coverage import atc, bootstrap_band, coverage, reading
from validation_core.types import Array

_HEIGHT = 340
_FEWEST = 2  # ranks that make a curve


def outcome(arrays: Mapping[str, Array], names: Sequence[str] = ()) -> list[Drawn]:
    """The coverage curve of one outcome, and its distance from the diagonal.

    Args:
        arrays: of the outcome of `TARP.test`, no leading axes.
        names: of the parameters; a distance is one number, whatever they are.
    """
    del names
    u = _ranks(arrays)
    return [
        Drawn(
            "Expected coverage",
            coverage_curve(u),
            f"{area(arrays)}The line says how often q's ball of each mass about the reference "
            "covers the truth; if q were right, all of it would stay in the grey room in 95 of "
            "100 tables. Coloured: its 95% bootstrap interval, at each level by itself.",
        ),
        Drawn(
            "Coverage less level",
            ecdf_difference(u),
            "The same line less the diagonal; if q were right, all of it would stay in the grey "
            "room in 95 of 100 tables. About random references, below and then above 0: q is too "
            "wide; above and then below: too narrow. About references that follow x, above 0: the "
            "truth lies nearer to them than q's draws do.",
        ),
    ]


def area(arrays: Mapping[str, Array]) -> str:
    """The area to curve with its interval and what that says of q; nothing without ranks."""
    u = _ranks(arrays)
    if u.size == 0:
        return ""
    if all(name in arrays for name in ("atc", "atc_low", "atc_high")):
        estimate, low, high = (float(arrays[name]) for name in ("atc", "atc_low", "atc_high"))
    else:
        estimate, low, high = (float(part) for part in atc(u, stream(0, "area to curve")))
    confidence = reading(low, high)
    word = f"q is {confidence}" if confidence != "neither" else "neither over- nor under-confident"
    return (
        f"ATC {_signed(estimate)} [{_signed(low)}, {_signed(high)}], the area between line and "
        f"diagonal above level 50% with its 95% interval: {word}. "
    )


def coverage_curve(u: Array, level: float = 0.95, *, height: int = _HEIGHT) -> go.Figure:
    """Share of ranks u (n,) up to each level in [0, 1], whatever range they fill themselves.

    Grey: where the whole curve stays with this chance when q = p. Coloured: the bootstrap band
    over simulations, at each level by itself.
    """
    if u.size == 0:
        return style.empty("No coverage yet", height=height)
    levels = statistics.GRID
    low, high = statistics.ecdf_band(u.size, level, levels)
    ends = bootstrap_band(u, stream(0, "coverage band"), level, levels)
    full = style.Axis("level: q's mass in the ball", (0, 1), percent=True)
    return style.figure(
        [
            style.band(levels, levels + low, levels + high, style.NULL, 0.3),
            style.line([0, 1], [0, 1], style.NULL, dash="dash", width=1),
            style.band(levels, *ends, style.Q, 0.25),
            style.line(
                levels, coverage(u, levels), style.Q, hover="level %{x:.0%}: covers %{y:.1%}"
            ),
        ],
        x=full,
        y=full._replace(label="expected coverage"),
        height=height,
        notes=[
            style.note("under-confident", 0.62, 0.95, style.NULL, anchor="right"),
            style.note("over-confident", 0.98, 0.5, style.NULL, anchor="right"),
        ],
    )


def _ranks(arrays: Mapping[str, Array]) -> Array:
    """The ranks (n,); none where there are too few for a curve."""
    u = np.asarray(arrays.get("u", np.zeros(0)), dtype=np.float64)
    return u if u.size >= _FEWEST else u[:0]


def _signed(value: float) -> str:
    return f"{value:+.3f}".replace("-", "−")
