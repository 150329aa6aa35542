"""The advisor: a test recommended for the available draws and the aim, with reasons."""

import streamlit as st

from pages.ui import forms
from validation_core.methods.base import RANK_ROWS
from validation_core.sweep.advice import WANTS, Situation, advise, calibration


def advisor() -> None:
    """Questions on the left, one answer on the right."""
    st.subheader("Which test should I run?", anchor=False)
    questions, answer = st.columns([2, 3], gap="large")
    with questions:
        want = forms.choice("I want", list(WANTS), "want", words=WANTS.__getitem__, draw=st.radio)
        pairs = forms.number("True pairs (θ, x) to test on", RANK_ROWS, 1_000_000, 1000, "pairs")
        more = forms.number(
            "Further pairs my simulator could give",
            0,
            100_000_000,
            0,
            "more",
            step=1000,
            help="For calibration: 0 if simulating is expensive.",
        )
        draws = forms.number("Draws of q at each x", 1, 100_000, 100, "draws")
        seconds = forms.number("Seconds to spend", 1, 86_400, 60, "seconds")
    at = Situation(pairs=pairs, more=more, draws=draws, seconds=float(seconds), want=want)
    advice = advise(at)
    with answer:
        st.markdown(f"### {advice.method.label}")
        st.markdown(advice.method.summary)
        st.markdown("\n".join(f"- {reason}" for reason in advice.why))
        st.markdown(f"**What it cannot do.** {advice.limits}")
        if advice.instead is not None:
            st.markdown(f"**Beside it: {advice.instead.label}.** {advice.instead_why}")
        rows = advice.rows(at)
        learns = ", those to learn from included," * advice.method.runs_network
        m = calibration(at)
        room = (
            f"Uniform could afford m = {m} here." if m else "Uniform has nothing to calibrate on."
        )
        st.caption(
            f"It would use {rows:,} true pairs{learns} and up to {rows * at.draws:,} draws from "
            f"q. {room}"
        )
