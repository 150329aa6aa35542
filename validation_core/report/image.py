"""Pictures as files: SVG of one or several panels, PNG in the card's font, or a page."""

from __future__ import annotations

from html import escape
from importlib import resources

from validation_core.drawing import svg
from validation_core.drawing.drawn import Drawn
from validation_core.drawing.marks import Grid
from validation_core.report.numbers import utf8_text

INK, PAPER = "#22272E", "#FFFFFF"
FONTS = ("card-regular.ttf", "card-semibold.ttf")
_ZOOM = 2
_WIDTH, _HEAD, _GAP = 460, 34, 16  # pixels: of a panel, above and between panels


def figure_file(drawn: Drawn, suffix: str) -> bytes:
    """A figure as a file of this suffix: .svg, .png or .html.

    Raises:
        ValueError: for another suffix.
    """
    if suffix == ".html":
        from validation_core.report.document import sheet

        return sheet(drawn.title, (), (drawn,), {}, {}).encode()
    if suffix not in (".svg", ".png"):
        raise ValueError(
            f"A figure is written as .svg, .png or .html; got {suffix or 'no suffix'}. Choose one "
            "of these endings."
        )
    drawing = _sheet(drawn)
    return drawing.encode() if suffix == ".svg" else png_of(drawing)


def png_of(drawing: str) -> bytes:
    """An SVG as PNG of twice its size, in the card's font.

    Args:
        drawing: the SVG, as text.
    """
    import resvg_py  # imported here: only saving an image needs it

    files = [resources.files(__package__).joinpath(font) for font in FONTS]
    with resources.as_file(files[0]) as regular, resources.as_file(files[1]) as semibold:
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


def _sheet(drawn: Drawn) -> str:
    """The title over the panels, dark on white."""
    picture = drawn.picture
    panels = picture.panels if isinstance(picture, Grid) else [picture]
    columns = picture.columns if isinstance(picture, Grid) else 1
    step = max(panel.height for panel in panels) + _GAP
    width = columns * (_WIDTH + _GAP) + _GAP
    height = _HEAD + step * -(-len(panels) // columns) + _GAP
    placed = []
    for i, panel in enumerate(panels):
        drawing = svg.svg(panel, _WIDTH, ink=INK, paper=PAPER)
        x, y = _GAP + (i % columns) * (_WIDTH + _GAP), _HEAD + step * (i // columns)
        placed.append(f'<g transform="translate({x} {y})">{drawing}</g>')
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" font-family="NPT Card, sans-serif">'
        f'<rect width="{width}" height="{height}" fill="{PAPER}"/>'
        f'<text x="{_GAP}" y="22" font-size="16" font-weight="600" fill="{INK}">'
        f"{escape(utf8_text(drawn.title))}</text>{''.join(placed)}</svg>"
    )
