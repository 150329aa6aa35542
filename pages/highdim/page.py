"""High dimensions: a sphere, photographs, digits and galaxies, and the tests that still see."""

import streamlit as st

from pages.highdim import digits, images, lensing, sphere_flow
from pages.ui import address, jobs, live
from pages.ui.forms import segmented

SYSTEMS = {"images": "Images", "lensing": "Lensing", "digits": "Digits", "sphere": "Sphere flow"}
SHOW = {
    "images": images.show,
    "lensing": lensing.show,
    "digits": digits.show,
    "sphere": sphere_flow.show,
}


@address.fragment
def _system(name: str) -> None:
    SHOW[name]()


live.one_screen(1.7)
st.title("Do the tests still see it in high dimensions?", anchor=False)
jobs.notices()
_system(segmented("System", SYSTEMS, "system", label_visibility="collapsed"))
