"""How every page puts a figure on screen."""

from collections.abc import Sequence

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from validation_core import Drawn
from validation_core.figures import plotly
from validation_core.figures.marks import Picture


def show(
    picture: Picture, key: str, *, alt: str | None = None, save_as: str | None = None
) -> None:
    """The picture in the theme's text colours, without a bar of buttons over it.

    Args:
        save_as: name of a file: a button that saves the figure as SVG then appears over it.
    """
    saving = {
        "displayModeBar": "hover",
        "displaylogo": False,
        "modeBarButtons": [["toImage"]],
        "toImageButtonOptions": {"format": "svg", "filename": save_as},
    }
    config = {"displayModeBar": False} if save_as is None else saving
    st.plotly_chart(plotly.figure(picture), key=key, alt=alt, config=config)


def captioned(
    where: DeltaGenerator,
    title: str,
    picture: Picture,
    key: str,
    words: str,
    *,
    save_as: str | None = None,
) -> None:
    """A picture under its name and over the sentence that says how to read it, both Markdown."""
    with where:
        st.markdown(f"**{title}**")
        show(picture, key, alt=f"{title}. {words}", save_as=save_as)
        st.caption(words)


def side_by_side(key: str, drawings: Sequence[Drawn]) -> None:
    """Figures two by two, each with its title and how to read it."""
    for row in range(0, len(drawings), 2):
        columns = st.columns(2, gap="large")
        for i, (column, drawing) in enumerate(zip(columns, drawings[row : row + 2], strict=False)):
            name = f"{key}-{row + i}"
            captioned(column, drawing.title, drawing.picture, name, drawing.caption)
