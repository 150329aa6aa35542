"""A picture with its title and how to read it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from validation_core.drawing.marks import Grid, Picture

if TYPE_CHECKING:
    import plotly.graph_objects as go


@dataclass(frozen=True, eq=False)
class Drawn:
    """A picture as a page, a report or a notebook shows it."""

    title: str
    picture: Picture
    caption: str
    """How to read it, and what it would look like if q were correct."""

    @cached_property
    def figure(self) -> go.Figure:
        """It as plotly draws it."""
        from validation_core.drawing import plotly

        return plotly.figure(self.picture)

    @property
    def wide(self) -> bool:
        """Whether panels stand side by side, so that it has a row to itself."""
        return isinstance(self.picture, Grid) and self.picture.columns > 1
