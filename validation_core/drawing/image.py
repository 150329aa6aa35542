"""Pictures as files: PDF, SVG or PNG of one or several panels, or their numbers."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Literal

from validation_core.drawing.alt import describe_picture, plain_words
from validation_core.drawing.drawn import FIGURE_ENDINGS, Drawn
from validation_core.drawing.letters import FAMILY, INK, PAPER, font_files, svg_line, wrap_text
from validation_core.drawing.marks import Grid, Panel
from validation_core.drawing.series import picture_rows
from validation_core.drawing.svg import LETTERS, panel_height, svg
from validation_core.row_files import csv_table
from validation_core.text import utf8_text

_PIXEL = {"screen": 1 / 96, "paper": 8 / 72 / LETTERS}
"""Inches: a browser's own, and such that letters have 8 points."""
_DENSITY = {"screen": 192, "paper": 300}  # dots of an inch of a PNG
_INCHES, _POINTS = (1.0, "in"), (72.0, "")  # a unit without a name is a point of a PDF
_COLUMN, _PAGE = 3.3, 6.9  # inches: of a journal's column, and of its page
_PANEL, _GAP = 460, 16  # pixels: width of a panel on a screen, and between panels
_TITLE, _NAME = 16, 13  # letters of a figure's title, and of a panel's
_WIDEST = 60  # inches


@dataclass(frozen=True)
class FigureLook:
    """Style and size of a figure's file.

    Args:
        style: `screen` has the title; `paper` leaves it to the caption, with letters of 8 points.
        width: of the whole figure in inches; by default 4.96 for each panel beside another on a
            screen, and on paper 3.3, a journal's column, or 6.9 for panels side by side.
        height: of each panel in inches; its own by default.

    Raises:
        ValueError: for an unknown style, or a size that no figure has.
    """

    style: Literal["screen", "paper"] = "screen"
    width: float | None = None
    height: float | None = None

    def __post_init__(self) -> None:
        if self.style not in _PIXEL:
            raise ValueError(
                f"The style of a figure is screen or paper; got {self.style!r}. Choose one."
            )
        for name, size in (("width", self.width), ("height", self.height)):
            if size is not None and not 1 <= size <= _WIDEST:
                raise ValueError(
                    f"The {name} of a figure is 1 to {_WIDEST} inches; got {size:g}. A journal's "
                    f"column is {_COLUMN} inches wide, its page {_PAGE}."
                )

    @property
    def pixel(self) -> float:
        """Inches of one pixel of the drawing."""
        return _PIXEL[self.style]

    def pixels_across(self, columns: int) -> float:
        """Width of a figure with so many panels side by side, in pixels of the drawing."""
        if self.width is not None:
            return self.width / self.pixel
        if self.style == "paper":
            return (_COLUMN if columns == 1 else _PAGE) / self.pixel
        return columns * (_PANEL + _GAP) + _GAP


SCREEN = FigureLook()


def figure_file(drawn: Drawn, suffix: str, look: FigureLook = SCREEN) -> bytes:
    """A figure as a file of this suffix, one of `FIGURE_ENDINGS`.

    Raises:
        ValueError: for another suffix.
    """
    if suffix == ".csv":
        return csv_table(picture_rows(drawn.picture))
    if suffix not in FIGURE_ENDINGS:
        raise ValueError(
            f"A figure is written as {', '.join(FIGURE_ENDINGS)}; got {suffix or 'no suffix'}. "
            "Choose one of these endings."
        )
    unit = _POINTS if suffix == ".pdf" else _INCHES
    return drawing_file(_sheet(drawn, look, unit), suffix, _DENSITY[look.style])


def sheet_svg(drawn: Drawn) -> str:
    """A figure as SVG with its description, in whatever font there is, without a script."""
    words = escape(utf8_text(describe_picture(drawn.picture, drawn.title)))
    drawing = _sheet(drawn, SCREEN, _INCHES)
    return drawing.replace(" viewBox", f' role="img" aria-label="{words}" viewBox', 1)


def drawing_file(drawing: str, suffix: str, density: int = 192) -> bytes:
    """An SVG whose letters are in the font of images, as .svg, .pdf or .png.

    Args:
        drawing: the SVG, as text.
        suffix: of the file.
        density: dots of an inch of a PNG.
    """
    if suffix == ".svg":
        return drawing.replace(">", f">{_font_faces()}", 1).encode()
    return _pdf(drawing) if suffix == ".pdf" else png_of(drawing, density)


def png_of(drawing: str, density: int = 192) -> bytes:
    """An SVG as PNG, in the font of images.

    Args:
        drawing: the SVG, as text.
        density: dots of an inch, of which the SVG's pixels have 96.
    """
    import resvg_py  # imported here: only saving an image needs it

    with font_files() as files:
        return bytes(
            resvg_py.svg_to_bytes(
                svg_string=drawing,
                dpi=96,
                zoom=density / 96,
                skip_system_fonts=True,
                font_files=files,
                font_family=FAMILY,
                sans_serif_family=FAMILY,
            )
        )


def _pdf(drawing: str) -> bytes:
    """An SVG as PDF: paths and letters, with the font in the file."""
    import svg2pdf_py  # imported here, as resvg_py

    fonts = svg2pdf_py.FontDatabase()
    with font_files() as files:
        for file in files:
            fonts.load_font_file(file)
    return bytes(svg2pdf_py.svg_to_pdf(drawing, fonts))


def _font_faces() -> str:
    """The font within an SVG, which then looks alike wherever a browser shows it."""
    with font_files() as files:
        faces = [
            f"@font-face{{font-family:'{FAMILY}';font-weight:{weight};src:url(data:font/ttf;base64,"
            f"{base64.b64encode(Path(file).read_bytes()).decode()})}}"
            for file, weight in zip(files, (400, 600), strict=True)
        ]
    return f"<style>{''.join(faces)}</style>"


def _sheet(drawn: Drawn, look: FigureLook, unit: tuple[float, str]) -> str:
    """The panels row by row, each of several under its title, dark on white.

    Args:
        unit: of the sheet's size: how many are an inch, and its name.
    """
    picture = drawn.picture
    panels = list(picture.panels) if isinstance(picture, Grid) else [picture]
    columns = min(picture.columns, len(panels)) if isinstance(picture, Grid) else 1
    edge = _GAP if look.style == "screen" else 2
    width = look.pixels_across(columns)
    wide = round((width - 2 * edge - _GAP * (columns - 1)) / columns)
    parts, top = [], float(edge)
    if look.style == "screen":
        lines = wrap_text(plain_words(drawn.title), width - 2 * edge, _TITLE, bold=True)
        parts += [
            svg_line(edge, top + 14 + 20 * i, line, _TITLE, bold=True)
            for i, line in enumerate(lines)
        ]
        top += 20 * len(lines) + 4
    for i in range(0, len(panels), columns):
        row = panels[i : i + columns]
        drawings, tall = _row(row, wide, len(panels) > 1, look)
        parts += [
            f'<g transform="translate({edge + j * (wide + _GAP)} {top:g})">{drawing}</g>'
            for j, drawing in enumerate(drawings)
        ]
        top += tall + _GAP
    height = top - _GAP + edge
    inch, name = unit[0] * look.pixel, unit[1]
    size = f'width="{width * inch:.5g}{name}" height="{height * inch:.5g}{name}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} viewBox="0 0 {width:g} {height:g}" '
        f'font-family="{FAMILY}, sans-serif">'
        f'<rect width="{width:g}" height="{height:g}" fill="{PAPER}"/>{"".join(parts)}</svg>'
    )


def _row(
    panels: Sequence[Panel], wide: int, titled: bool, look: FigureLook
) -> tuple[list[str], float]:
    """Drawings of panels side by side, and the height of the highest, in pixels."""
    names = [
        wrap_text(plain_words(str(panel.title)), wide, _NAME, bold=True) if titled else [""]
        for panel in panels
    ]
    above = max(18 * len(lines) if lines != [""] else 0 for lines in names)
    own = None if look.height is None else round(look.height / look.pixel)
    tall = max(panel_height(panel, wide) if own is None else own for panel in panels)
    drawings = [
        "".join(
            svg_line(0, 12 + 18 * i, line, _NAME, bold=True)
            for i, line in enumerate(lines)
            if line
        )
        + f'<g transform="translate(0 {above})">'
        + svg(panel, wide, height=own, ink=INK, paper=PAPER)
        + "</g>"
        for panel, lines in zip(panels, names, strict=True)
    ]
    return drawings, above + tall
