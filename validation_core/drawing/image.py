"""Pictures as files: SVG of one or several panels, and PNG in the card's font."""

from __future__ import annotations

from html import escape
from importlib import resources
from typing import TYPE_CHECKING

from validation_core.drawing import svg
from validation_core.drawing.alt import describe_picture
from validation_core.drawing.marks import Grid
from validation_core.text import utf8_text

if TYPE_CHECKING:
    from validation_core.drawing.drawn import Drawn

INK, PAPER = "#22272E", "#FFFFFF"
FONTS = tuple(
    resources.files(__package__).joinpath(f"card-{weight}.ttf")
    for weight in ("regular", "semibold")
)
"""The card's font, regular and semibold."""
_ZOOM = 2
_WIDTH, _ALONE = 460, 640
"""Width of a panel in pixels: beside others, and alone."""
_HEAD, _GAP = 34, 16  # pixels above and between panels


def figure_file(drawn: Drawn, suffix: str) -> bytes:
    """A figure as a file of this suffix: .svg or .png.

    Raises:
        ValueError: for another suffix.
    """
    if suffix not in (".svg", ".png"):
        raise ValueError(
            f"A figure is written as .svg or .png, by a result as .html too; got "
            f"{suffix or 'no suffix'}. Choose one of these endings."
        )
    drawing = sheet_svg(drawn)
    return drawing.encode() if suffix == ".svg" else png_of(drawing)


def png_of(drawing: str) -> bytes:
    """An SVG as PNG of twice its size, in the card's font.

    Args:
        drawing: the SVG, as text.
    """
    import resvg_py  # imported here: only saving an image needs it

    with resources.as_file(FONTS[0]) as regular, resources.as_file(FONTS[1]) as semibold:
        return bytes(
            resvg_py.svg_to_bytes(
                svg_string=drawing,
                zoom=_ZOOM,
                skip_system_fonts=True,
                font_files=[str(regular), str(semibold)],
                font_family="NPT Card",
                sans_serif_family="NPT Card",
            )
        )


def sheet_svg(drawn: Drawn) -> str:
    """An SVG of the title over the panels, dark on white, which needs no font and no script."""
    picture = drawn.picture
    panels = picture.panels if isinstance(picture, Grid) else [picture]
    columns = picture.columns if isinstance(picture, Grid) else 1
    wide = _WIDTH if columns > 1 else _ALONE
    step = max(panel.height for panel in panels) + _GAP
    width = columns * (wide + _GAP) + _GAP
    height = _HEAD + step * -(-len(panels) // columns) + _GAP
    placed = []
    for i, panel in enumerate(panels):
        drawing = svg.svg(panel, wide, ink=INK, paper=PAPER)
        x, y = _GAP + (i % columns) * (wide + _GAP), _HEAD + step * (i // columns)
        placed.append(f'<g transform="translate({x} {y})">{drawing}</g>')
    words = utf8_text(describe_picture(picture, drawn.title))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" style="max-width:100%;height:auto" role="img" '
        f'aria-label="{escape(words)}" font-family="NPT Card, sans-serif">'
        f'<rect width="{width}" height="{height}" fill="{PAPER}"/>'
        f'<text x="{_GAP}" y="22" font-size="16" font-weight="600" fill="{INK}">'
        f"{escape(utf8_text(drawn.title))}</text>{''.join(placed)}</svg>"
    )
