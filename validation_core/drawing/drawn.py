"""A picture with its title and a sentence on how to read it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from validation_core.drawing.marks import Grid, Picture

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

FIGURE_ENDINGS = (".pdf", ".svg", ".png", ".csv")
"""Endings of a picture's file: vectors, vectors, pixels, and its numbers."""


@dataclass(frozen=True, eq=False, repr=False)
class Drawn:
    """A picture with its title and reading, as pages, reports and notebooks show it.

    In a notebook it shows itself.

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

    def save(self, path: Path | str, **look: Any) -> Path:
        """Write the picture: .pdf and .svg as vectors, .png, or .csv its numbers.

        Args:
            path: of the file.
            **look: `style` ("screen", or "paper": no title, letters of 8 points), `width` and
                `height` of a panel in inches, as for `drawing.image.FigureLook`.

        Raises:
            ValueError: for another suffix, style or size.

        Examples:
            >>> npt.run("sbc", table).figures()[0].save("ranks.pdf", style="paper").name
            'ranks.pdf'
        """
        from validation_core.drawing.image import FigureLook, figure_file

        path = Path(path)
        path.write_bytes(figure_file(self, path.suffix.lower(), FigureLook(**look)))
        return path

    def draw(self, ax: Any) -> Any:
        """Draw the picture on axes of matplotlib, which has to be installed.

        Args:
            ax: the axes of a single panel, or a sequence or array of as many as there are panels.

        Returns:
            `ax`.

        Raises:
            ValueError: for another number of axes.
        """
        from validation_core.drawing.matplotlib import draw

        draw(self.picture, ax)
        return ax

    def to_frame(self) -> pd.DataFrame:
        """Numbers of the picture: a row for each bar, point of a line and cell of a map."""
        import pandas as pd

        from validation_core.drawing.series import picture_rows

        return pd.DataFrame(picture_rows(self.picture))

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
