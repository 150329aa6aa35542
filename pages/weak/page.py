"""Weak classifiers: why a bad boundary silences C2ST and not the conformal tests."""

import pandas as pd
import streamlit as st

from pages.ui import address, forms, live
from validation_core.figures import weak as figures
from validation_core.figures.live import Payload
from validation_core.sweep import weak_classifiers as toy
from validation_core.types import Array

SIZES = (50, 100, 200, 500, 1000)
DRAWS = (1, 2, 5, 10, 20, 50, 200)

READING = (
    "**What you see.** p is a standard normal, q the same shifted by half a standard "
    "deviation in θ. A classifier with a straight boundary scores both; the sliders make it "
    "worse in two ways.\n\n**How to read it.** C2ST counts how often the *threshold* is "
    "right, so a misplaced one silences it. It also compares with a fair coin, which a "
    "one-sided classifier is not, so its null has the wrong variance (the dashed line "
    "corrects that part). Conformal tests rank scores of q among scores of p: a shift changes "
    "no rank. A turn removes the signal from the score itself, so all tests lose power "
    "together.\n\n**If q were correct,** the two clouds would coincide, and so would the two "
    "histograms. Every test would reject one sample in twenty, whatever the boundary."
)


@st.cache_data(max_entries=64, show_spinner=False)
def _trials(n: int, m: int) -> toy.Rates:
    """Rejections among the trials, for each test."""
    repeats = toy.trials_for(n)
    return toy.Rates(*_accuracy(n), *toy.rank_trials(n, m, repeats, seed=0))


@st.cache_data(max_entries=16, show_spinner=False)
def _accuracy(n: int) -> tuple[Array, Array]:
    """The part of the trials that does not depend on m."""
    return toy.accuracy_trials(n, toy.trials_for(n), seed=0)


@st.cache_data(max_entries=64, show_spinner="Running the trials")
def _chart(n: int, m: int, sample: int) -> Payload:
    """Everything the page draws, for every place of the sliders."""
    blocks = toy.draw(n, sample)
    return figures.payload(
        blocks,
        toy.sample_pvalues(blocks, m, sample),
        toy.closed_forms(n),
        _trials(n, m),
        toy.trials_for(n),
        m,
    )


@address.fragment
def _show(n: int, m: int, sample: int) -> None:
    """The chart, how to read it, and its numbers where the sliders were left."""
    c, degrees = live.chart(
        _chart(n, m, sample), key="weak", default=(1.0, 0.0), url=("c", "angle")
    )
    st.markdown(READING)
    st.caption(f"Closed forms and trials at c = {c:g}, {degrees:.0f}°, n = {n} a class")
    st.table(_numbers(n, m, c, degrees))


def _numbers(n: int, m: int, c: float, degrees: float) -> pd.DataFrame:
    """Power at one place, as a table that can be read aloud and copied."""
    rows, repeats = toy.at(toy.closed_forms(n), _trials(n, m), c, degrees), toy.trials_for(n)
    names = ("C2ST", "C2ST, per-class variance", "Multiple", f"Uniform({m})")
    return pd.DataFrame(
        {
            "Test": name,
            "Power, closed form": "none known" if exact != exact else f"{exact:.1%}",
            "Trials that rejected": f"{count} of {repeats}",
        }
        for name, (exact, count) in zip(names, rows, strict=True)
    ).set_index("Test")


with st.sidebar:
    n = forms.choice("Sample size per class, n", SIZES, "n", first=100, draw=st.select_slider)
    m = forms.choice(
        "Calibration draws per test point, m", DRAWS, "m", first=50, draw=st.select_slider
    )
    sample = forms.number("Sample number", 0, 9999, 0, "sample")

st.title("Can a bad classifier still find a bad posterior?", anchor=False)
_show(n, m, sample)
