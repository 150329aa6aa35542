"""Rows of the page of the papers: an item, its state and why, and links into the views."""

from collections import Counter
from collections.abc import Sequence
from urllib.parse import urlencode

import streamlit as st

from pages.papers import markup
from validation_core.explorers.papers import ITEMS, STATES, ItemState, Link
from validation_core.published import PAPERS, PaperName
from validation_core.text import count_text


def counts() -> str:
    """How many items there are in each state: a sentence to go on."""
    states = Counter(item.state for items in ITEMS.values() for item in items)
    return (
        f"Of {states.total()} items of three papers {states['agrees']} agree with what is here, "
        f"{states['differs']} differ and {states['not_built']} are not built"
    )


def show(papers: Sequence[PaperName], states: Sequence[ItemState], words: str) -> None:
    """The items of some papers, in some states, that contain some words."""
    chosen = {
        PAPERS[paper]: [
            item for item in ITEMS[paper] if item.state in states and item.matches(words)
        ]
        for paper in papers
    }
    shown = sum(map(len, chosen.values()))
    if not shown:
        st.info("No item has all of these words and states.", icon=":material/search_off:")
        return
    if shown < sum(map(len, ITEMS.values())):
        st.caption(f"{count_text(shown, 'item')}.")
    st.html(markup.render("rows", chosen=chosen, states=STATES, address=address))


def address(link: Link) -> str:
    """Where a link leads, from this page."""
    return link.page + ("?" + urlencode(link.query) if link.query else "")
