"""A picture with its title and a sentence on how to read it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from validation_core.drawing.marks import Grid, Picture

if TYPE_CHECKING:
    import plotly.graph_objects as go


@dataclass(frozen=True, eq=False, repr=False)
class Drawn:
    """A picture with its title and reading, as pages, reports and notebooks show it.

    In a notebook it shows itself.

    Examples:
        >>> drawn = npt.run("sbc", table).figures()[0]
        >>> drawn.title, drawn.wide
        ('Ranks', True)
        >>> drawn.save("ranks.svg").name
        'ranks.svg'
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

    def save(self, path: Path | str) -> Path:
        """Write the picture under its title: .svg or .png.

        Args:
            path: of the file.

        Raises:
            ValueError: for another suffix.
        """
        from validation_core.drawing.image import figure_file

        path = Path(path)
        path.write_bytes(figure_file(self, path.suffix))
        return path

    def _repr_svg_(self) -> str:
        """The picture as a notebook shows it: one that is not trusted draws SVG, but no HTML."""
        from validation_core.drawing.image import sheet_svg

        return sheet_svg(self)

    def __repr__(self) -> str:
        return f"{self.title}. {self.caption}"

    @property
    def wide(self) -> bool:
        """Whether panels stand side by side, which needs a row of its own."""
        return isinstance(self.picture, Grid) and self.picture.columns > 1
