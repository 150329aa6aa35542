"""The frame around every page: settings and navigation."""

from pathlib import Path

import streamlit as st

from pages.ui import address, share, showing, visitors

# A file of our own: Streamlit would fetch a Material icon's picture from outside.
ICON = Path(__file__).parents[1] / "assets" / "icon.svg"

PAGES = {
    "": [st.Page("playground/page.py", title="Playground", icon=":material/home:", default=True)],
    "Learn": [
        st.Page("learn/page.py", title="Lessons", icon=":material/menu_book:", url_path="lessons"),
        st.Page(
            "learn/lecture.py", title="Lecture", icon=":material/co_present:", url_path="lecture"
        ),
        st.Page(
            "game/page.py",
            title="Name that defect",
            icon=":material/quiz:",
            url_path="name-that-defect",
        ),
        st.Page(
            "weak/page.py",
            title="Weak classifiers",
            icon=":material/school:",
            url_path="weak-classifiers",
        ),
        st.Page(
            "glossary.py", title="Glossary", icon=":material/dictionary:", url_path="glossary"
        ),
    ],
    "Explore": [
        st.Page(
            "conformal/page.py",
            title="Conformal C2ST",
            icon=":material/tune:",
            url_path="conformal-c2st",
        ),
        st.Page("colt/page.py", title="CoLT", icon=":material/target:", url_path="colt"),
        st.Page(
            "divergence/page.py",
            title="Symmetric divergence",
            icon=":material/balance:",
            url_path="symmetric-divergence",
        ),
        st.Page(
            "train/page.py",
            title="Train an estimator",
            icon=":material/model_training:",
            url_path="train-an-estimator",
        ),
        st.Page(
            "highdim/page.py",
            title="High dimensions",
            icon=":material/photo_library:",
            url_path="high-dimensions",
        ),
        st.Page(
            "compare/page.py",
            title="Compare methods",
            icon=":material/stacked_line_chart:",
            url_path="compare",
        ),
    ],
    "Diagnose": [
        st.Page(
            "diagnose/page.py",
            title="My posterior",
            icon=":material/troubleshoot:",
            url_path="diagnose",
        ),
        st.Page(
            "observation/page.py",
            title="My observation",
            icon=":material/my_location:",
            url_path="observation",
        ),
        st.Page(
            "posteriors.py",
            title="Compare posteriors",
            icon=":material/compare_arrows:",
            url_path="compare-posteriors",
        ),
    ],
    "Lab": [
        st.Page(
            "catalogue.py",
            title="Methods and benchmarks",
            icon=":material/list_alt:",
            url_path="methods",
        ),
        st.Page(
            "papers/page.py",
            title="The papers, item by item",
            icon=":material/checklist:",
            url_path="papers",
        ),
        st.Page(
            "models/page.py",
            title="Models and jobs",
            icon=":material/inventory_2:",
            url_path="models",
        ),
    ],
}

visitors.visitor()  # records the owner of this session, which the gate checks for uploads
# Before the menu, whose front end would otherwise fetch the page's icon.
if not st.session_state.setdefault("framed", False):
    st.set_page_config(page_icon=str(ICON), layout="wide")
    st.session_state["framed"] = True
page = st.navigation(PAGES, expanded=True)  # all of it, above the button that shares
st.set_page_config(page_title=f"{page.title} · NPT Lab")
st.html(Path(__file__).with_name("ui") / "frame.css")
address.arrive(page.url_path)
showing.begin({each.url_path: each for section in PAGES.values() for each in section})
page.run()
showing.end()
if not (showing.presenting() or st.context.is_embedded):
    share.menu(page)
    showing.drawer()
address.write()
