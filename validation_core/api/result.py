"""The base class of results: display in notebooks, data frames, and files."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from validation_core.drawing.drawn import Drawn

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

Rows = Sequence[Mapping[str, object]]


class Result(ABC):
    """An answer: sentences, figures and rows of numbers.

    In a notebook it shows itself as one self-contained HTML document, figures included.

    Examples:
        >>> result = npt.run("sbc", table)
        >>> result.title, list(result.to_frame())
        ('SBC', ['method', 'statistic', 'pvalue', 'draws_p', 'draws_q', 'seconds'])
        >>> result.save("sbc.html").name
        'sbc.html'
    """

    @property
    @abstractmethod
    def title(self) -> str:
        """A heading."""

    @property
    @abstractmethod
    def sentences(self) -> tuple[str, ...]:
        """The result in words, the main sentence first, unescaped: names are the user's own."""

    @abstractmethod
    def figures(self) -> tuple[Drawn, ...]:
        """Its figures, each with a title and a caption on how to read it."""

    @abstractmethod
    def rows(self) -> Rows:
        """Rows of its table: plain values by column name."""

    @abstractmethod
    def to_json(self) -> str:
        """Every number as JSON text."""

    def to_frame(self) -> pd.DataFrame:
        """Its table as a pandas DataFrame."""
        import pandas as pd

        return pd.DataFrame(list(self.rows()))

    def figure(self, title: str | int = 0) -> go.Figure:
        """One of its figures as a plotly Figure.

        Args:
            title: of the figure, or its place in `figures`; `recovery`, `ecdf`, `coverage` and
                `contraction` are those of a diagnosis or of its question `size`.

        Raises:
            ValueError: when there is no such figure.
        """
        return self._drawn(title).figure

    def save_figure(self, title: str | int, path: Path | str) -> Path:
        """Write one of its figures: .svg, .png or .html.

        Args:
            title: of the figure, its usual name or its place, as for `figure`.
            path: of the file.

        Raises:
            ValueError: when there is no such figure, or for another suffix.
        """
        path, drawn = Path(path), self._drawn(title)
        if path.suffix != ".html":
            return drawn.save(path)
        from validation_core.report.document import sheet

        path.write_text(sheet(drawn.title, (), (drawn,), {}, {}), encoding="utf-8")
        return path

    def _drawn(self, title: str | int) -> Drawn:
        """The figure of this title, usual name or place.

        Raises:
            ValueError: when there is none.
        """
        from validation_core.diagnosis.questions.calibration.figure_names import USUAL_NAMES

        figures = self.figures()
        titles = [drawing.title for drawing in figures]
        if isinstance(title, str):
            title = USUAL_NAMES.get(title, title)
        at = titles.index(title) if title in titles else title
        if not isinstance(at, int) or not -len(figures) <= at < len(figures):
            raise ValueError(
                f"{self.title} has the figures {', '.join(titles) or 'none'}; got {title!r}. "
                "Name one of them, or its place."
            )
        return figures[at]

    def document(self) -> str:
        """One HTML file that needs nothing else and asks no network for anything."""
        from validation_core.report.document import sheet

        numbers = json.loads(self.to_json())
        rows = self.rows()
        return sheet(self.title, self.sentences, self.figures(), {"Numbers": rows}, numbers)

    def save(self, path: Path | str) -> Path:
        """Write a file: .html the document, .json every number, .csv the table.

        Raises:
            ValueError: for another suffix.
        """
        path = Path(path)
        writers = self._writers()
        if path.suffix not in writers:
            raise ValueError(
                f"{self.title} is saved as {', '.join(writers)}; got {path.name}. Choose one of "
                "these endings."
            )
        path.write_bytes(writers[path.suffix]())
        return path

    def _writers(self) -> Mapping[str, Callable[[], bytes]]:
        """Functions that make the bytes of a file, by its suffix."""
        from validation_core.report.numbers import csv_table

        return {
            ".html": lambda: self.document().encode("utf-8"),
            ".json": lambda: self.to_json().encode("utf-8"),
            ".csv": lambda: csv_table(self.rows()),
        }

    def _repr_html_(self) -> str:
        """The document in an iframe, which confines its styles and scripts."""
        inside = escape(self.document(), quote=True)
        return (
            f'<iframe srcdoc="{inside}" title="{escape(self.title, quote=True)}" '
            'style="width:100%;height:640px;border:0" loading="lazy"></iframe>'
        )

    def __repr__(self) -> str:
        return "\n".join([self.title, *self.sentences])
