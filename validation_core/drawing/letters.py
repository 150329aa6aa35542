"""The font of images: its files, and lines of words that fit a width."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib import resources

from validation_core.text import utf8_text

FAMILY = "NPT Card"
INK, PAPER = "#22272E", "#FFFFFF"
_FONTS = ("card-regular.ttf", "card-semibold.ttf")


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
