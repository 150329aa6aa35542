"""The base class of results: display in notebooks, data frames, and files."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from validation_core.drawing.drawn import Drawn

if TYPE_CHECKING:
    import pandas as pd

Rows = Sequence[Mapping[str, object]]


def check_not_read(path: Path | str, read: Sequence[Path | str]) -> None:
    """Refuse to write a result over a file that it was read from.

    Raises:
        ValueError: for such a path.
    """
    if Path(path).resolve() in {Path(one).resolve() for one in read}:
        raise ValueError(
            f"A result is written beside the file that is read; got {path} for both. Name another."
        )


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

    def to_latex(self, *, digits: int = 3) -> str:
        """Its table in LaTeX, with the rules of the package booktabs.

        Args:
            digits: significant digits of a number.
        """
        from validation_core.row_files import latex_table

        return latex_table(self.rows(), digits)

    def figure(self, title: str | int = 0, *, ax: Any = None) -> Any:
        """One of its figures: a plotly Figure, or drawn on axes of matplotlib.

        Args:
            title: of the figure, or its place in `figures`; `recovery`, `ecdf`, `coverage` and
                `contraction` are those of a diagnosis or of its question `size`.
            ax: axes of matplotlib, as many as the figure has panels.

        Returns:
            The plotly Figure, or `ax` where that is given.

        Raises:
            ValueError: when there is no such figure, or for another number of axes.
        """
        drawn = self.drawn(title)
        return drawn.figure if ax is None else drawn.draw(ax)

    def save_figure(self, title: str | int, path: Path | str, **look: Any) -> Path:
        """Write one of its figures: .pdf and .svg as vectors, .png, .html, or .csv its numbers.

        Args:
            title: of the figure, its usual name or its place, as for `figure`.
            path: of the file.
            **look: `style`, `width` and `height`, as for `Drawn.save`.

        Raises:
            ValueError: when there is no such figure, or for another suffix, style or size.

        Examples:
            >>> result = npt.run("sbc", table)
            >>> result.save_figure(0, "ranks.pdf", style="paper", width=3.3).name
            'ranks.pdf'
        """
        drawn, path = self.drawn(title), Path(path)
        if path.suffix.lower() != ".html":
            return drawn.save(path, **look)
        from validation_core.report.document import sheet

        path.write_text(sheet(drawn.title, (), (drawn,), {}, {}), encoding="utf-8")
        return path

    def drawn(self, title: str | int = 0) -> Drawn:
        """The figure of this title, usual name or place, with its caption and numbers.

        Raises:
            ValueError: when there is none.
        """
        from validation_core.diagnosis.questions.calibration import CalibrationQuestion
        from validation_core.diagnosis.questions.calibration.figure_names import USUAL_NAMES
        from validation_core.text import nearest_name

        figures = self.figures()
        titles = [drawing.title for drawing in figures]
        place = title
        if isinstance(title, str):
            folded = [name.casefold() for name in titles]
            full = USUAL_NAMES.get(title, title).casefold()
            place = folded.index(full) if full in folded else title
        if isinstance(place, int) and -len(figures) <= place < len(figures):
            return figures[place]
        listed = "; ".join(dict.fromkeys(titles)) or "none"
        near = nearest_name(str(title), [*titles, *USUAL_NAMES])
        remedy = f"Did you mean {near!r}?" if near else "Name one of them, or its place."
        if title in USUAL_NAMES:
            remedy = (
                f'It is a figure of the question "{CalibrationQuestion.name}". {self._asking()}'
            )
        raise ValueError(f"The figures here are: {listed}; got {title!r}. {remedy}")

    def _asking(self) -> str:
        """Why the question of the usual figures has no answer, or how it gets one."""
        return "Ask that, too."

    def document(self) -> str:
        """One HTML file that needs nothing else and asks no network for anything."""
        from validation_core.report.document import sheet

        numbers = json.loads(self.to_json())
        rows = self.rows()
        return sheet(self.title, self.sentences, self.figures(), {"Numbers": rows}, numbers)

    def save(self, path: Path | str) -> Path:
        """Write a file: .html the document, .json every number, .csv or .tex the table.

        Raises:
            ValueError: for another suffix.
        """
        path = Path(path)
        writers, suffix = self._writers(), path.suffix.lower()
        if suffix not in writers:
            raise ValueError(
                f"A result is saved as {', '.join(writers)}; got {path.name}. Choose one of "
                "these endings."
            )
        path.write_bytes(writers[suffix]())
        return path

    def _writers(self) -> Mapping[str, Callable[[], bytes]]:
        """Functions that make the bytes of a file, by its suffix."""
        from validation_core.row_files import csv_table, latex_table

        return {
            ".html": lambda: self.document().encode("utf-8"),
            ".json": lambda: self.to_json().encode("utf-8"),
            ".csv": lambda: csv_table(self.rows()),
            ".tex": lambda: latex_table(self.rows()).encode("utf-8"),
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
