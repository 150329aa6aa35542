"""Streamlit's own floor: one slider and one small chart in a fragment."""

import numpy as np
import plotly.graph_objects as go
import streamlit as st


@st.fragment
def chart() -> None:
    """The least that a slider can ask of Streamlit."""
    at = st.select_slider("beta", list(range(21)), 0, key="beta")
    heights = np.abs(np.sin(np.arange(20) + at)).astype("f4")
    figure = go.Figure(go.Bar(y=heights), layout={"height": 230})
    figure.update_yaxes(range=[0, 1])
    st.plotly_chart(figure, key="chart", config={"displayModeBar": False})


chart()
