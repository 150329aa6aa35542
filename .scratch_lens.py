import streamlit as st
st.set_page_config(layout="wide")
from pages.ui import live
live.one_screen(1.7)
st.title("High dimensions", anchor=False)
from pages.highdim import lensing
@st.fragment
def f():
    lensing.show()
f()
