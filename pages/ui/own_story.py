"""The story that this session puts together, and the pictures it has seen of its scenes.

They can be saved as one file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import streamlit as st

from pages.ui.story import MOST, Scene
from validation_core.drawing import html
from validation_core.drawing.live import Payload


@dataclass(frozen=True)
class Picture:
    """What a scene's page drew last, and where its sliders stood."""

    payload: Payload
    at: tuple[float, ...]


def story_scenes() -> list[Scene]:
    """The scenes that this session has put together."""
    own: list[Scene] = st.session_state.setdefault("scenes", [])
    return own


def add(scene: Scene) -> None:
    """One more, at the end; with the picture that its page shows now."""
    known = story_scenes()
    if len(known) < MOST:
        known.append(scene)
    keep(scene)


def remove(index: int) -> None:
    """Take a scene out."""
    if index < len(story_scenes()):
        story_scenes().pop(index)


def move(index: int, by: int) -> None:
    """Further up or down."""
    own = story_scenes()
    to = min(max(index + by, 0), len(own) - 1)
    own.insert(to, own.pop(index))


def drawn(payload: Payload, at: Sequence[float]) -> None:
    """The page that is open has drawn this; of several live charts the first counts."""
    st.session_state.setdefault("drawn", Picture(payload, tuple(at)))


def begin() -> None:
    """A page begins: it has drawn nothing yet."""
    st.session_state.pop("drawn", None)


def keep(scene: Scene) -> None:
    """What the open page has drawn is this scene's picture."""
    picture: Picture | None = st.session_state.get("drawn")
    if picture is not None:
        pictures()[scene] = picture


def pictures() -> dict[Scene, Picture]:
    """What this session has seen of its scenes."""
    by_scene: dict[Scene, Picture] = st.session_state.setdefault("pictures", {})
    return by_scene


def story_html(story: Sequence[Scene], seen: Mapping[Scene, Picture]) -> str:
    """A story as one file; scenes that have no picture are left out.

    Args:
        seen: pictures; a download is made where there is no session to ask.

    Raises:
        ValueError: when none of them has one.
    """
    slides = [
        html.Scene(scene.title, seen[scene].payload, seen[scene].at)
        for scene in story
        if scene in seen
    ]
    foot = "A story of NPT Lab."
    if missing := [scene.title for scene in story if scene not in seen]:
        foot += f" Without a live picture, and so not here: {', '.join(missing)}."
    return html.html("A story · NPT Lab", slides, foot)
