"""Glossary: the terms of the field, each in a sentence or two."""

import streamlit as st

from validation_core.glossary import terms

st.title("Glossary", anchor=False)
st.caption("p is the true posterior, q the learned one, theta the parameters, x the data.")
for term in terms():
    st.subheader(term.name, anchor=term.anchor)
    st.markdown(term.meaning)
