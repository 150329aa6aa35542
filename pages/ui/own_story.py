"""The story composed in this browser, with the pictures of its scenes; saved as one file.

Scenes outlast a reload; a picture lives in the session that saw it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import streamlit as st

from pages.ui import kept
from pages.ui.story import MOST, StoryScene
from validation_core.drawing import html
from validation_core.drawing.live import Payload

_KEPT = "story"


@dataclass(frozen=True)
class ScenePicture:
    """The last picture of a scene's page, and the values of its sliders."""

    payload: Payload
    at: tuple[float, ...]


def story_scenes() -> list[StoryScene]:
    """The scenes of this browser's story."""
    stored = kept.load(_KEPT).get("scenes")
    return [
        StoryScene(*map(str, parts[:3]))  # another version may keep more of each
        for parts in (stored if isinstance(stored, list) else ())
        if isinstance(parts, list) and len(parts) >= 3
    ]


def add(scene: StoryScene) -> None:
    """Append a scene, with the present picture of its page."""
    known = story_scenes()
    if len(known) < MOST:
        _save([*known, scene])
    keep(scene)


def remove(index: int) -> None:
    """Remove a scene."""
    known = story_scenes()
    _save(known[:index] + known[index + 1 :])


def move(index: int, by: int) -> None:
    """Move a scene up or down."""
    known = story_scenes()
    to = min(max(index + by, 0), len(known) - 1)
    known.insert(to, known.pop(index))
    _save(known)


def _save(scenes: Sequence[StoryScene]) -> None:
    parts = [[scene.page, scene.query, scene.title] for scene in scenes]
    kept.save(_KEPT, "A browser's story", {"scenes": parts})


def drawn(payload: Payload, at: Sequence[float]) -> None:
    """Record the open page's live chart; only the first of several."""
    st.session_state.setdefault("drawn", ScenePicture(payload, tuple(at)))


def begin() -> None:
    """Forget the last page's live chart when a page begins."""
    st.session_state.pop("drawn", None)


def keep(scene: StoryScene) -> None:
    """Keep the open page's live chart as this scene's picture."""
    picture: ScenePicture | None = st.session_state.get("drawn")
    if picture is not None:
        pictures()[scene] = picture


def pictures() -> dict[StoryScene, ScenePicture]:
    """Pictures of the scenes that this session has shown."""
    by_scene: dict[StoryScene, ScenePicture] = st.session_state.setdefault("pictures", {})
    return by_scene


def story_html(story: Sequence[StoryScene], seen: Mapping[StoryScene, ScenePicture]) -> str:
    """A story as one file; scenes that have no picture are left out.

    Args:
        story: its scenes.
        seen: pictures by scene; a download is made outside any session.

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
