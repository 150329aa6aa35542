"""Weak classifiers: why a bad boundary silences C2ST and not the conformal tests."""

import pandas as pd
import streamlit as st

from pages.ui import address, forms, jobs, live
from pages.ui.services import services, stored
from validation_core.drawing.live import Payload
from validation_core.explorers.weak_classifiers import pictures
from validation_core.explorers.weak_classifiers.study import (
    DRAWS,
    SIZES,
    BoundaryPower,
    BoundaryPowerStudy,
    at,
    draw,
    false_alarms,
    sample_pvalues,
)

READING = (
    "**What you see.** p is a standard normal, q the same shifted by half a standard "
    "deviation in θ. A classifier with a straight boundary scores both; the sliders make it "
    "worse in two ways.\n\n**How to read it.** C2ST counts how often the *threshold* is "
    "right, so a misplaced one silences it. It also compares with a fair coin, which a "
    "one-sided classifier is not, so its null has the wrong variance (the dashed line "
    "corrects that part). Conformal tests rank scores of q among scores of p: a shift changes "
    "no rank. A turn removes the signal from the score itself, so all tests lose power "
    "together."
)


@address.fragment
def _show(study: BoundaryPowerStudy, m: int, sample: int) -> None:
    """The chart, how to read it, and its numbers where the sliders were left."""
    power = stored(study)
    payload = live.once(("weak", study.key, m, sample), lambda: _chart(power, study.n, m, sample))
    c, degrees = live.chart(
        payload, key="weak", default=(1.0, 0.0), url=("c", "angle"), save_as="Weak classifiers"
    )
    with st.container(key="reading"):
        st.markdown(READING)
        st.markdown(pictures.correct_q_text(study.n))
        st.caption(f"Closed forms and trials at c = {c:g}, {degrees:.0f}°, n = {study.n} a class")
        st.table(_numbers(power, study.n, m, c, degrees))


def _chart(power: BoundaryPower, n: int, m: int, sample: int) -> Payload:
    """Everything the page draws, for every place of the sliders."""
    blocks = draw(n, sample)
    pvalues = sample_pvalues(blocks, m, sample)
    return pictures.payload(blocks, pvalues, power.exact, power.rejections(m), power.trials, m)


def _numbers(power: BoundaryPower, n: int, m: int, c: float, degrees: float) -> pd.DataFrame:
    """Power and false alarms at one place, as a table that can be read aloud and copied."""
    exact, counts, alarms = (
        at(rates, c, degrees) for rates in (power.exact, power.rejections(m), false_alarms(n))
    )
    names = ("C2ST", "C2ST, per-class variance", "Multiple", f"Uniform({m})")
    return pd.DataFrame(
        {
            "Test": name,
            "Power, closed form": "none known"
            if rate != rate
            else pictures.closed_form_text(rate),
            "Trials that rejected": f"{count:.0f} of {power.trials}",
            "Would reject a correct q": pictures.closed_form_text(alarm),
        }
        for name, rate, count, alarm in zip(names, exact, counts, alarms, strict=True)
    ).set_index("Test")


with st.sidebar:
    n = forms.choice("Sample size per class, n", SIZES, "n", first=100, draw=st.select_slider)
    m = forms.choice(
        "Calibration draws per test point, m", DRAWS, "m", first=50, draw=st.select_slider
    )
    sample = forms.number("Sample number", 0, 9999, 0, "sample")

live.one_screen(1.7)
st.title("Can a bad classifier still find a bad posterior?", anchor=False)
jobs.notices()
study = BoundaryPowerStudy(n=n)
if study.done(services().store):
    _show(study, m, sample)
else:
    jobs.panel(jobs.ensure([study], study.label, start=True))
