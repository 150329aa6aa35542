"""Pictures of stated probabilities: reliability curves, and shares said against happened."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np

from validation_core.diagnosis.reliability import (
    EventReliability,
    Reliability,
    class_names,
    clearest_first,
    event_name,
)
from validation_core.drawing import style
from validation_core.drawing.drawn import Drawn
from validation_core.drawing.marks import Axis, Band, Grid, Line, Panel, Points

_SHOWN = 6
_HEIGHT = 260  # pixels
_READ = (
    "The share of rows in which the class is true, against the probability that was stated, by "
    "isotonic regression; dots are groups of rows. If the probabilities were right, the curve "
    "would lie in the grey band at 95% of places. Below the diagonal: stated too high."
)


def reliability_pictures(found: Reliability, names: Sequence[str]) -> tuple[Drawn, ...]:
    """The reliability curves of the events, the clearest first.

    Args:
        found: the test of all of them.
        names: of the classes.
    """
    classes = class_names(found, names)
    order = clearest_first(found.events)[:_SHOWN]
    panels = [_curve(one, escape(event_name(one, classes))) for one in order]
    picture: Panel | Grid = panels[0]
    if len(panels) > 1:
        picture = Grid(panels, columns=2 if len(panels) in (2, 4) else 3)
    return (Drawn("Reliability", picture, _READ),)


def _curve(one: EventReliability, name: str) -> Panel:
    grid = np.linspace(0, 1, one.curve.shape[1])
    known = np.isfinite(one.curve).all(axis=0)
    happens, low, high = one.curve[:, known]
    said, happened, _, _ = one.groups.T
    return Panel(
        [
            Band(grid[known], low, high),
            Line([0, 1], [0, 1], color=style.NULL, dash="dash"),
            Line(grid[known], happens, color=style.Q, hover="said %{x:.2f}: true in %{y:.1%}"),
            Points(said, happened, color=style.Q, size=7),
        ],
        x=Axis((0, 1), "stated probability", percent=True),
        y=Axis((0, 1), "share true", percent=True),
        title=name,
        height=_HEIGHT,
    )
