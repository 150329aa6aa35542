"""Display modes of a page: presentation (`?present`), or embedded (`?embed=true`).

Present mode has no menu, large type, and a bar that changes the theme, restarts, and steps through
the scenes of a story (`story.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import streamlit as st
from streamlit.navigation.page import StreamlitPage

from pages.ui import address, own_story, story

PRESENT = "present"
_HERE = Path(__file__).parent
_ROOM = """
html { font-size: clamp(18px, 2.6vh, 30px); --nearer: 1.35; }
[data-testid="stSidebar"], [data-testid="stSidebarCollapsedControl"], [data-testid="stHeader"],
[data-testid="stExpandSidebarButton"] { display: none !important; }
.stMainBlockContainer { padding: 0.7rem 1.2rem 2.6rem !important; max-width: none !important; }
.stMainBlockContainer h1 { font-size: 1.15rem !important;
  padding: 0 0 1rem !important; }
[data-testid="stCaptionContainer"], .st-key-lesson, .st-key-reading,
[data-testid="stDownloadButton"],
[data-testid="stLayoutWrapper"]:has(> [data-testid="stPopover"]),
[data-testid="stLayoutWrapper"]:has(> .st-key-upload),
[data-testid="stPageLink"], [class*="st-key-copy-link"] { display: none !important; }
[data-testid="stElementContainer"]:has(.stPlotlyChart) { zoom: var(--nearer); }
[data-testid="stFullScreenFrame"]:has(.stPlotlyChart) { width: calc(100% / var(--nearer)); }
.stPlotlyChart { height: calc(100% / var(--nearer)) !important; }
.stPlotlyChart .js-plotly-plot { width: calc(100% * var(--nearer)) !important; }
.stMainBlockContainer:has(.st-key-lesson) h1 { position: absolute; width: 1px; height: 1px;
  padding: 0; overflow: hidden; clip-path: inset(50%); }
.stMainBlockContainer [data-testid="stVerticalBlock"] { gap: 0.4rem; }
.stVerticalBlock[class*="st-key-answer-"] { padding: 0.4rem 0.8rem !important; }
.stVerticalBlock[class*="st-key-answer-"], .stVerticalBlock[class*="st-key-answer-"]
  [data-testid="stVerticalBlock"] { gap: 0.1rem !important; }
.stVerticalBlock[class*="st-key-answer-"] h3 { font-size: 1rem; padding: 0 0 1rem; }
.stVerticalBlock[class*="st-key-answer-"] p { font-size: 0.8rem; }
.st-key-look-at [data-testid="stWidgetLabel"] { display: none; }
.st-key-showing { position: fixed; right: 1rem; bottom: 0.5rem; width: auto; z-index: 99; }
"""
_FRAME = """
[data-testid="stSidebar"], [data-testid="stSidebarCollapsedControl"],
[data-testid="stExpandSidebarButton"] { display: none !important; }
.stMainBlockContainer { padding: 0.8rem 1rem 1rem !important; max-width: none !important; }
"""


def presenting() -> bool:
    """Whether the address asks for present mode."""
    return address.beside(PRESENT) is not None


def drawer() -> None:
    """Shut the menu of a telephone, which lies over the page, once a page is chosen."""
    with st.sidebar:
        _drawer()(key="drawer")


def begin(pages: Mapping[str, StreamlitPage]) -> None:
    """Set a page's style before it runs, and in present mode draw the bar.

    Args:
        pages: by their paths.
    """
    own_story.begin()
    if st.context.is_embedded:
        st.html(f"<style>{_FRAME}</style>")
    if not presenting():
        return
    st.html(f"<style>{_ROOM}</style>")
    scenes, index = _story(list(pages))
    bar = {
        "count": len(scenes),
        "index": index,
        "title": scenes[index].title if scenes else "",
        "anew": story.story_query(scenes, index) if scenes else PRESENT,
    }
    with st.container(key="showing"):
        result = _component()(key="showing-bar", data=bar, on_turn_change=_noted)
    by = result.get("turn")
    if scenes and isinstance(by, int) and 0 <= index + by < len(scenes):
        address.leave()
        to = index + by
        st.switch_page(pages[scenes[to].page], query_params=story.link(scenes, to))


def end() -> None:
    """Keep the picture of a page, after it has run, for its scene."""
    text = address.beside(story.STORY)
    if text and presenting() and "story" in st.session_state:
        scenes, index = st.session_state["story"]
        if scenes:
            own_story.keep(scenes[index])


def _story(pages: list[str]) -> tuple[tuple[story.StoryScene, ...], int]:
    """The scenes in the address, and the open one's number; none without a story."""
    text = address.beside(story.STORY)
    st.session_state["story"] = (), 0
    if not text:
        return (), 0
    try:
        scenes = story.unpacked(text, pages)
    except ValueError as refusal:
        st.warning(str(refusal), icon=":material/link_off:")
        return (), 0
    position = address.number(address.beside(story.SCENE) or "0") or 0.0
    index = int(min(max(position, 0), len(scenes) - 1))
    st.session_state["story"] = scenes, index
    return scenes, index


@cache
def _component() -> Callable[..., Any]:
    return st.components.v2.component(
        "nptlab_showing",
        html='<div class="bar" role="toolbar" aria-label="Presentation"></div>\n',
        css=(_HERE / "showing.css").read_text(),
        js=(_HERE / "showing.js").read_text(),
    )


@cache
def _drawer() -> Callable[..., Any]:
    return st.components.v2.component("nptlab_drawer", js=(_HERE / "drawer.js").read_text())


def _noted() -> None:
    """Do nothing: Streamlit keeps a component's trigger only with a callback."""
