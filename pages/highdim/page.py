"""High dimensions: a sphere, photographs, digits and galaxies, and the tests that still see."""

import streamlit as st

from pages.highdim import digits, images, sphere_flow
from pages.ui import jobs, live
from pages.ui.forms import segmented

SYSTEMS = {"images": "Images", "digits": "Digits", "sphere": "Sphere flow"}
SHOW = {"images": images.show, "digits": digits.show, "sphere": sphere_flow.show}


@st.fragment
def _system(name: str) -> None:
    SHOW[name]()


live.one_screen(1.7)
st.title("Do the tests still see it in high dimensions?", anchor=False)
jobs.notices()
_system(segmented("System", SYSTEMS, "system", label_visibility="collapsed"))
