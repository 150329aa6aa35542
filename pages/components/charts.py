"""How every page puts a figure on screen."""

import plotly.graph_objects as go
import streamlit as st
from streamlit.delta_generator import DeltaGenerator


def show(figure: go.Figure, key: str, *, alt: str | None = None) -> None:
    """The figure in the theme's text colours, without a bar of buttons over it."""
    st.plotly_chart(figure, key=key, alt=alt, config={"displayModeBar": False})


def captioned(where: DeltaGenerator, title: str, figure: go.Figure, key: str, words: str) -> None:
    """A figure under its name and over the sentence that says how to read it."""
    with where:
        st.markdown(f"**{title}**")
        show(figure, key, alt=f"{title}. {words}")
        st.caption(words)
