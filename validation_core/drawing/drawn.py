"""A picture with its title and a sentence on how to read it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from validation_core.drawing.marks import Grid, Picture

if TYPE_CHECKING:
    import plotly.graph_objects as go


_NOTEBOOK_WIDTH = 640  # pixels


@dataclass(frozen=True, eq=False)
class Drawn:
    """A picture with its title and reading, as pages, reports and notebooks show it.

    Examples:
        >>> drawn = npt.run("sbc", table).figures()[0]
        >>> drawn.title, drawn.wide
        ('Ranks', True)
    """

    title: str
    picture: Picture
    caption: str
    """How to read it, and how it would look if q were correct."""

    @cached_property
    def figure(self) -> go.Figure:
        """The picture as a plotly figure."""
        from validation_core.drawing import plotly

        return plotly.figure(self.picture)

    def _repr_svg_(self) -> str | None:
        """The picture as SVG for a notebook, without a script; None for several panels."""
        from validation_core.drawing.alt import describe_picture
        from validation_core.drawing.svg import svg

        if isinstance(self.picture, Grid):
            return None
        words = describe_picture(self.picture, self.title)
        return svg(self.picture, _NOTEBOOK_WIDTH, title=words, alone=True, paper="none")

    @property
    def wide(self) -> bool:
        """Whether panels stand side by side, which needs a row of its own."""
        return isinstance(self.picture, Grid) and self.picture.columns > 1
