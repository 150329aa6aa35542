"""Render the card: HTML for page, report and notebook, and PNG for slides."""

from __future__ import annotations

import re
from functools import cache
from importlib import resources

from markupsafe import Markup, escape

from validation_core.diagnosis.card import CARD_ENDINGS, COLORS, Card
from validation_core.drawing import svg
from validation_core.drawing.alt import describe_picture
from validation_core.drawing.drawn import Drawn
from validation_core.drawing.image import drawing_file
from validation_core.drawing.letters import INK, PAPER, svg_line, wrap_text
from validation_core.drawing.marks import Panel
from validation_core.glossary import Term, linked
from validation_core.report.markup import render
from validation_core.text import utf8_text

_PICTURE, _NARROW = 430, 300
"""Pixels wide on a page and on a phone: its text then has the size of other text."""


_LINK = Markup('<a href="{address}" target="_blank" title="{meaning}">{mention}</a>')


def html(card: Card, words: str = "glossary") -> Markup:
    """The card as one element, without its style sheet; every name in it is escaped.

    Args:
        card: to render.
        words: address of the glossary, to which the first mention of each term links; empty for
            no links.
    """
    known: set[str] = set()

    def link(mention: str, term: Term) -> str:
        address = f"{words}#{term.anchor}"
        return _LINK.format(address=address, meaning=term.meaning, mention=Markup(mention))

    def line(text: str) -> Markup:
        escaped = _line(text)
        return Markup(linked(escaped, link, known)) if words else escaped

    facts = [(fact.label, line(fact.text)) for fact in card.facts]  # the first to be linked
    steps = [line(step) for step in card.next_steps]
    warning = line(card.warning) if card.warning else None
    waiting = card.picture is None and card.state == "testing"
    return render(
        "card",
        state=card.state.replace(" ", "-"),
        plain=card.picture is None and not waiting,
        color=COLORS[card.state] or "#8A8F98",
        warning=warning,
        title=card.title,
        sentence=line(card.sentence),
        picture=_picture(card.picture) if card.picture else None,
        waiting=waiting,
        facts=facts,
        steps=steps,
    )


def _line(words: str) -> Markup:
    """Escaped text without line breaks within `p = 0.5`."""
    space = "\N{NO-BREAK SPACE}"
    return escape(re.sub(r"\bp ([=<]) ", rf"p{space}\1{space}", utf8_text(words)))


def _picture(drawn: Drawn) -> dict[str, str]:
    """Title, drawing and caption of a card's figure."""
    panel = drawn.picture
    assert isinstance(panel, Panel), "a card has one panel"
    words = describe_picture(panel, drawn.title)
    return {
        "title": utf8_text(drawn.title),
        "drawing": Markup(svg.svg(panel, _PICTURE, title=words)),
        "narrow": Markup(svg.svg(panel, _NARROW, title=words)),
        "caption": utf8_text(drawn.caption),
    }


@cache
def css() -> str:
    """The style sheet of all cards."""
    return resources.files(__package__).joinpath("card.css").read_text(encoding="utf-8")


_WIDTH, _MARGIN, _GAP = 1120, 32, 34
_SHEET_PICTURE = (520, 330)  # pixels
_SOFT = "#57606A"
_BODY, _LINE = 17, 24


def image(card: Card, name: str = "", suffix: str = ".png") -> bytes:
    """The card as an image, dark letters on white; as PNG it has 2,240 pixels across.

    Args:
        card: to draw.
        name: of the table, for the last line.
        suffix: .png, .pdf or .svg.

    Raises:
        ValueError: for another suffix.
    """
    if suffix not in CARD_ENDINGS:
        raise ValueError(
            f"A card is written as {', '.join(CARD_ENDINGS)}; got {suffix or 'no suffix'}. Choose "
            "one of these endings."
        )
    return drawing_file(_sheet(card, name), suffix)


def _sheet(card: Card, name: str) -> str:
    """The card as one SVG: text to the right of its picture."""
    color = COLORS[card.state] or "#8A8F98"
    heading, top = _heading(card, color)
    left, bottom, picture = float(_MARGIN), top, list[str]()
    if card.picture is not None:
        picture, bottom = _sheet_picture(card.picture, left, top)
        left += _SHEET_PICTURE[0] + _GAP
    text, y = _facts_and_steps(card, left, top + 14)
    height = round(max(bottom, y) + 34)
    last = f"{card.loaded}{f' · {name}' if name else ''} · NPT Lab"
    parts = [*heading, *picture, *text, svg_line(_MARGIN, height - 16, last, 14, _SOFT)]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{height}" '
        f'viewBox="0 0 {_WIDTH} {height}" font-family="NPT Card">'
        f'<rect width="{_WIDTH}" height="{height}" fill="{PAPER}"/>'
        f'<rect width="8" height="{height}" fill="{color}"/>{"".join(parts)}</svg>'
    )


def _heading(card: Card, color: str) -> tuple[list[str], float]:
    """Warning, title and sentence, and where what is below them begins."""
    y, parts = float(_MARGIN), []
    for line in wrap_text(card.warning or "", _WIDTH - 2 * _MARGIN - 20, _BODY):
        if line:
            parts.append(svg_line(_MARGIN, y + 12, line, _BODY, COLORS["problem"], bold=True))
            y += _LINE
    y += 26
    parts += [
        f'<circle cx="{_MARGIN + 10}" cy="{y - 9}" r="9" fill="{color}"/>',
        svg_line(_MARGIN + 30, y, card.title, 28, bold=True),
    ]
    sentence, y = _paragraph(card.sentence, _MARGIN, y + 32, _WIDTH - 2 * _MARGIN, _LINE)
    return [*parts, *sentence], y + 6


def _sheet_picture(drawn: Drawn, left: float, top: float) -> tuple[list[str], float]:
    """A figure between its title and its caption, and where it ends."""
    panel, (width, height) = drawn.picture, _SHEET_PICTURE
    assert isinstance(panel, Panel), "a card has one panel"
    title = wrap_text(drawn.title, width, 16, bold=True)
    parts = [
        svg_line(left, top + 14 + 20 * i, line, 16, bold=True) for i, line in enumerate(title)
    ]
    drawing = svg.svg(panel, width, height=height, ink=INK, paper=PAPER)
    under = top + 4 + 20 * len(title)
    parts.append(f'<g transform="translate({left} {under})">{drawing}</g>')
    y = under + height + 20
    for line in wrap_text(drawn.caption, width, 14):
        parts.append(svg_line(left, y, line, 14, _SOFT))
        y += 19
    return parts, y


def _facts_and_steps(card: Card, left: float, y: float) -> tuple[list[str], float]:
    """The facts, each under its label, then the numbered steps, and where they end."""
    parts, wide, step = [], _WIDTH - _MARGIN - left, _LINE - 2
    for fact in card.facts:
        parts.append(svg_line(left, y, fact.label, _BODY, bold=True))
        text, y = _paragraph(fact.text, left, y + step, wide, step)
        parts += text
        y += 8
    parts.append(svg_line(left, y, "Next", _BODY, bold=True))
    y += step
    for i, words in enumerate(card.next_steps, 1):
        parts.append(svg_line(left, y, f"{i}.", _BODY))
        text, y = _paragraph(words, left + 22, y, wide - 22, step)
        parts += text
        y += 3
    return parts, y


def _paragraph(
    words: str, x: float, y: float, width: float, step: float
) -> tuple[list[str], float]:
    """Wrapped lines from (x, y) on, and where the next one would stand."""
    lines = wrap_text(words, width, _BODY)
    parts = [svg_line(x, y + i * step, line, _BODY) for i, line in enumerate(lines)]
    return parts, y + len(lines) * step
