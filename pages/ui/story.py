"""A story: scenes, each a page with its settings, in one link that steps through them.

    ?story=eNqL...&scene=2&present

A scene is what its page's address says, so that it shows the same to whoever opens the link. The
pictures that this session has seen of its scenes can be saved as one file.
"""

from __future__ import annotations

import base64
import binascii
import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import parse_qs, urlencode

import streamlit as st

from validation_core.drawing import html
from validation_core.drawing.live import Payload

STORY, SCENE = "story", "scene"
_MOST = 40
_LONGEST = 6000  # characters of a story in a link
_BYTES = 60_000  # of it, unpacked
_TITLE = 80


@dataclass(frozen=True)
class Scene:
    """A page by its path, its address's settings, and a title of one line."""

    page: str
    query: str
    title: str

    @property
    def settings(self) -> Mapping[str, list[str]]:
        """What the address says."""
        return parse_qs(self.query, keep_blank_values=True)


@dataclass(frozen=True)
class Picture:
    """What a scene's page drew last, and where its sliders stood."""

    payload: Payload
    at: tuple[float, ...]


def packed(scenes: Sequence[Scene]) -> str:
    """Scenes as a link carries them.

    Raises:
        ValueError: when they are too many or too long for one.
    """
    text = json.dumps([[s.page, s.query, s.title] for s in scenes], separators=(",", ":"))
    result = base64.urlsafe_b64encode(zlib.compress(text.encode(), 9)).decode().rstrip("=")
    if len(scenes) > _MOST or len(result) > _LONGEST:
        raise ValueError(
            f"A story has at most {_MOST} scenes and {_LONGEST} characters in its link; got "
            f"{len(scenes)} scenes and {len(result)} characters. Take some out."
        )
    return result


def unpacked(text: str, pages: Sequence[str]) -> tuple[Scene, ...]:
    """The scenes of a link.

    Args:
        pages: paths that there are.

    Raises:
        ValueError: for what is no story of these pages.
    """
    try:
        if len(text) > _LONGEST:
            raise ValueError
        raw = base64.urlsafe_b64decode(text.encode("ascii") + b"=" * (-len(text) % 4))
        unpack = zlib.decompressobj()
        whole = unpack.decompress(raw, _BYTES)
        if unpack.unconsumed_tail or not unpack.eof:
            raise ValueError
        scenes = tuple(_scene(each, pages) for each in json.loads(whole))
        if not 0 < len(scenes) <= _MOST:
            raise ValueError
    except (ValueError, TypeError, binascii.Error, zlib.error, RecursionError):
        raise ValueError(
            "This link holds no story that can be read: it was cut, or made by another version. "
            "Ask for it anew."
        ) from None
    return scenes


def _scene(parts: object, pages: Sequence[str]) -> Scene:
    if not isinstance(parts, list) or len(parts) != 3:
        raise ValueError
    page, query, title = parts
    if not (isinstance(page, str) and isinstance(query, str) and isinstance(title, str)):
        raise TypeError
    if page not in pages:
        raise ValueError
    parse_qs(query, max_num_fields=200)
    return Scene(page, query, named(title))


def named(title: str) -> str:
    """A title of one line that fits a bar."""
    line = "".join(sign if sign.isprintable() else " " for sign in title)
    return " ".join(line.split())[:_TITLE] or "A scene"


# ---- Of a session ----


def story_scenes() -> list[Scene]:
    """The scenes that this session has put together."""
    own: list[Scene] = st.session_state.setdefault("scenes", [])
    return own


def add(scene: Scene) -> None:
    """One more, at the end; with the picture that its page shows now."""
    known = story_scenes()
    if len(known) < _MOST:
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


def link(story: Sequence[Scene], index: int = 0) -> dict[str, str | list[str]]:
    """The settings of the address at a scene, in present mode."""
    scene = story[index]
    return {**scene.settings, STORY: packed(story), SCENE: str(index), "present": ""}


def story_query(story: Sequence[Scene], index: int = 0) -> str:
    """The same as text."""
    return urlencode(link(story, index), doseq=True)


def pictures() -> dict[Scene, Picture]:
    """What this session has seen of its scenes."""
    by_scene: dict[Scene, Picture] = st.session_state.setdefault("pictures", {})
    return by_scene
