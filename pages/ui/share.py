"""Sharing: the page's link, its QR code, and stories of several pages."""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import segno
import streamlit as st
from streamlit.navigation.page import StreamlitPage

from pages.ui import address, jobs, own_story, story

_LOOK = """
button { padding: 0.4rem 0.8rem; border-radius: 8px; background: none; cursor: pointer;
  border: 1px solid color-mix(in srgb, var(--st-text-color) 28%, transparent);
  font: 0.875rem var(--st-font); color: var(--st-text-color); }
button:focus-visible { outline: 2px solid var(--st-primary-color); }
"""
_SCALE = 5  # pixels of a module of the code


def copy_link(
    key: str = "copy-link", *, label: str = "", other: Mapping[str, Sequence[str]] | None = None
) -> None:
    """Draw the button that copies the link, below the settings, whose values it has.

    Args:
        key: of the component.
        label: on the button; by default "Copy link".
        other: settings of the link in place of those on screen.
    """
    search = urlencode(address.settings() if other is None else other, doseq=True)
    _component()(key=key, data={"search": search, "label": label or "Copy link"})


def menu(page: StreamlitPage) -> None:
    """The button at the foot of the sidebar: link, code, present mode, story."""
    if st.sidebar.button("Share or present", icon=":material/ios_share:", key="share"):
        _dialog(page, urlencode(address.settings(), doseq=True))


@st.dialog("Share or present")
def _dialog(page: StreamlitPage, settings: str) -> None:
    """The dialog for a page with its present settings."""
    with st.container(horizontal=True, vertical_alignment="center"):
        copy_link("share-copy", other=parse_qs(settings, keep_blank_values=True))
        st.link_button("Present", f"?{settings}&present".replace("?&", "?"))
    st.image(code(absolute(settings)), width=200, alt="QR code of this page")
    st.caption("This page, with its settings.")
    _scenes(page, settings)


def code(link: str) -> str:
    """The QR code of a link as SVG, dark on light with a quiet zone in both themes."""
    return str(
        segno.make(link, error="m", micro=False).svg_inline(
            scale=_SCALE, border=4, dark="#000", light="#fff"
        )
    )


def absolute(query: str) -> str:
    """The address of the open page with these settings, for those who are elsewhere."""
    parts = urlsplit(st.context.url or "http://localhost:8501/")
    return f"{parts.scheme}://{parts.netloc}{parts.path}" + f"?{query}" * bool(query)


def _scenes(page: StreamlitPage, settings: str) -> None:
    """The list of the story's scenes."""
    st.markdown("**A story** of several pages, stepped through in present mode.")
    title = st.text_input("Title of this scene", value=page.title, max_chars=80, key="scene-title")
    scene = story.StoryScene(page.url_path, settings, story.named(title))
    st.button("Add scene", on_click=own_story.add, args=(scene,), icon=":material/add:")
    if scenes := own_story.story_scenes():
        _in_order(scenes)
        _taken_along(scenes)


def _in_order(scenes: Sequence[story.StoryScene]) -> None:
    """The scenes by their titles, with buttons that move them up and take them out."""
    for i, each in enumerate(scenes):
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.text(f"{i + 1}. {each.title}")
            st.button(
                ":material/arrow_upward:",
                key=f"up-{i}",
                on_click=own_story.move,
                args=(i, -1),
                disabled=i == 0,
                type="tertiary",
                help="Further up",
            )
            st.button(
                ":material/close:",
                key=f"out-{i}",
                on_click=own_story.remove,
                args=(i,),
                type="tertiary",
                help="Take it out",
            )


def _taken_along(scenes: Sequence[story.StoryScene]) -> None:
    """The story as a link, a file and a QR code."""
    try:
        query = story.story_query(scenes)
    except ValueError as refusal:
        st.error(str(refusal))
        return
    # Relative to the server's root: every page's path is one below it.
    root = absolute("").rpartition("/")[0]
    with st.container(horizontal=True):
        st.link_button("Open story", f"{root}/{scenes[0].page}?{query}")
        kept = own_story.pictures()
        images = {scene: kept[scene] for scene in scenes if scene in kept}
        if images:
            st.download_button(
                "Save as a file",
                data=jobs.undisturbed(lambda: own_story.story_html(tuple(scenes), images)),
                file_name="story.html",
                mime="text/html",
                on_click="ignore",
                key="story-file",
            )
    st.image(code(f"{root}/{scenes[0].page}?{query}"), width=260, alt="QR code of the story")
    st.caption("The story, as one link.")


@cache
def _component() -> Callable[..., Any]:
    return st.components.v2.component(
        "nptlab_copy_link",
        html='<button type="button">Copy link</button>\n',
        css=_LOOK,
        js=(Path(__file__).parent / "copy_link.js").read_text(),
    )
