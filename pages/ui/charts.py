"""Draw figures on pages."""

from collections.abc import Sequence
from functools import lru_cache

import streamlit as st
from plotly.graph_objects import Figure
from streamlit.delta_generator import DeltaGenerator

from pages.ui import figure_files, showing
from validation_core import Drawn
from validation_core.drawing import plotly
from validation_core.drawing.alt import describe_picture
from validation_core.drawing.marks import Picture


def show(picture: Picture, key: str, *, title: str = "") -> None:
    """The picture in the theme's text colours, and in words for those who do not see it.

    Args:
        title: of the picture.
    """
    figure, words = _figure(_Shown(picture), title)
    # Plotly looks for the pointer where an enlarged chart no longer is.
    config = {"displayModeBar": False, "staticPlot": showing.presenting()}
    st.plotly_chart(figure, key=key, alt=words, config=config)


class _Shown:
    """A picture compared by identity: cached pictures are shown at every run."""

    def __init__(self, picture: Picture) -> None:
        self.picture = picture

    def __hash__(self) -> int:
        return id(self.picture)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Shown) and self.picture is other.picture


@lru_cache(maxsize=128)
def _figure(shown: _Shown, title: str) -> tuple[Figure, str]:
    """The Plotly figure, and the picture's description."""
    return plotly.figure(shown.picture), describe_picture(shown.picture, title)


def captioned(where: DeltaGenerator, title: str, picture: Picture, key: str, words: str) -> None:
    """A picture with a title above and a caption below, both Markdown."""
    with where:
        st.markdown(f"**{title}**")
        show(picture, key, title=title)
        st.caption(words)


def side_by_side(key: str, drawings: Sequence[Drawn]) -> None:
    """Figures in two columns, each with its title and caption."""
    for row in range(0, len(drawings), 2):
        columns = st.columns(2, gap="large")
        for i, (column, drawing) in enumerate(zip(columns, drawings[row : row + 2], strict=False)):
            name = f"{key}-{row + i}"
            captioned(column, drawing.title, drawing.picture, name, drawing.caption)
    figure_files.offer(drawings, key)
