"""The font of images: its files, and lines of words that fit a width."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from html import escape
from importlib import resources

from validation_core.text import utf8_text

FAMILY = "NPT Card"
INK, PAPER = "#22272E", "#FFFFFF"
_FONTS = ("card-regular.ttf", "card-semibold.ttf")


_SCRIPTS = {
    **{chr(0x2080 + i): (str(i), 0.2) for i in range(10)},
    **{mark: (plain, -0.35) for mark, plain in zip("⁰⁴⁵⁶⁷⁸⁹⁺⁻", "0456789+−", strict=True)},
}
"""Letters that the font has at full size alone, and how far below the line they stand, in em."""
_RAISED = re.compile(f"[{''.join(_SCRIPTS)}]+")


def svg_words(words: str, size: float) -> str:
    """Text of an SVG in this font, escaped; subscripts and exponents are small letters.

    Args:
        words: unescaped.
        size: of the letters, in pixels.
    """
    parts, last, off = [], 0, 0.0
    for found in [*_RAISED.finditer(words), None]:
        between = words[last : found.start() if found else len(words)]
        if between:
            parts.append(
                f'<tspan dy="{-off:g}">{escape(between)}</tspan>' if off else escape(between)
            )
            off = 0.0
        if found:
            last, shift = found.end(), size * _SCRIPTS[found.group()[0]][1]
            small = "".join(_SCRIPTS[mark][0] for mark in found.group())
            parts.append(f'<tspan dy="{shift - off:g}" font-size="{0.7 * size:g}">{small}</tspan>')
            off = shift
    return "".join(parts)


def svg_line(
    x: float, y: float, words: str, size: int, color: str = INK, *, bold: bool = False
) -> str:
    """A line of words as an SVG element that begins at (x, y), in pixels."""
    weight = ' font-weight="600"' if bold else ""
    return (
        f'<text x="{x:g}" y="{y:g}" font-size="{size}" fill="{color}"{weight}>'
        f"{svg_words(utf8_text(words), size)}</text>"
    )


@contextmanager
def font_files() -> Iterator[list[str]]:
    """Paths of the font, regular and semibold, while they are needed."""
    with ExitStack() as stack:
        files = [resources.files(__package__).joinpath(font) for font in _FONTS]
        yield [str(stack.enter_context(resources.as_file(file))) for file in files]


def wrap_text(words: str, width: float, size: int, *, bold: bool = False) -> list[str]:
    """Wrap text by the widths of the font.

    Args:
        words: one paragraph.
        width: of a line, in pixels.
        size: of the font, in pixels.
        bold: whether in the semibold font.
    """
    from PIL import ImageFont

    with font_files() as files:
        font = ImageFont.truetype(files[bold], size)
    lines: list[str] = [""]
    for word in utf8_text(words).split():
        longer = f"{lines[-1]} {word}".strip()
        if font.getlength(longer) <= width or not lines[-1]:
            lines[-1] = longer
        else:
            lines.append(word)
    return lines
