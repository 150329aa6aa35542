"""Save figures: vectors for a paper or a slide, pixels, or their numbers."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import streamlit as st

from pages.ui.jobs import plain, undisturbed
from validation_core import Drawn
from validation_core.drawing.image import FigureLook, figure_file
from validation_core.report.sections import slug

_KINDS = {".pdf": "PDF", ".svg": "SVG", ".png": "PNG", ".csv": "Numbers (CSV)"}
_TYPES = {
    ".pdf": "application/pdf",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".csv": "text/csv",
}
_LOOKS = {"paper": "For a paper", "screen": "For a screen"}


def offer(drawings: Sequence[Drawn], key: str) -> None:
    """A button that opens the choice of files of figures.

    Args:
        drawings: the figures.
        key: of the button.
    """
    offer_later({drawn.title: partial(_given, drawn) for drawn in drawings}, key)


def _given(drawn: Drawn) -> Drawn:
    return drawn


def offer_later(figures: Mapping[str, Callable[[], Drawn]], key: str) -> None:
    """A button that opens the choice of files of figures, each made when it is saved.

    Args:
        figures: what makes each, by its title.
        key: of the button.
    """
    opened = st.popover(
        "Save figure" if len(figures) == 1 else "Save figures",
        key=f"files-{key}",
        type="tertiary",
        icon=":material/image:",
        on_change="rerun",
    )
    if not opened.open:
        return
    with opened:
        suffix = st.segmented_control(
            "As", list(_KINDS), default=".pdf", format_func=_named, key=f"as-{key}", required=True
        )
        look = FigureLook() if suffix == ".csv" else _look(key)
        for i, (title, make) in enumerate(figures.items()):
            st.download_button(
                plain(title),
                undisturbed(partial(_file, make, suffix, look)),
                f"{slug(title)}{suffix}",
                _TYPES[suffix],
                key=f"save-{key}-{i}",
                on_click="ignore",
                icon=":material/download:",
            )


def _file(make: Callable[[], Drawn], suffix: str, look: FigureLook) -> bytes:
    return figure_file(make(), suffix, look)


def _named(choice: str) -> str:
    return {**_KINDS, **_LOOKS}[choice]


def _look(key: str) -> FigureLook:
    style = st.segmented_control(
        "Look",
        list(_LOOKS),
        default="paper",
        format_func=_named,
        required=True,
        key=f"look-{key}",
        help="For a paper: no title, letters of 8 points.",
    )
    width = st.number_input(
        "Width in inches",
        1.0,
        60.0,
        None,
        0.1,
        key=f"inches-{key}",
        placeholder="a column, or a page" if style == "paper" else "as here",
    )
    return FigureLook("screen" if style == "screen" else "paper", width)
