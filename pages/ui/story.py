"""A story: scenes, each a page with its settings, in one link that steps through them.

    ?story=eNqL...&scene=2&present

A scene is stored as its page's address, so that every reader of the link sees the same.
"""

from __future__ import annotations

import base64
import binascii
import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import parse_qs, urlencode

STORY, SCENE = "story", "scene"
MOST = 40
"""Most scenes of a story."""
_LONGEST = 6000  # characters of a story in a link
_BYTES = 60_000  # of it, unpacked
_TITLE = 80


@dataclass(frozen=True)
class StoryScene:
    """A page by its path, its address's settings, and a title of one line."""

    page: str
    query: str
    title: str

    @property
    def settings(self) -> Mapping[str, list[str]]:
        """The settings of the address."""
        return parse_qs(self.query, keep_blank_values=True)


def packed(scenes: Sequence[StoryScene]) -> str:
    """Encode scenes for a link.

    Raises:
        ValueError: when they are too many or too long for a link.
    """
    text = json.dumps([[s.page, s.query, s.title] for s in scenes], separators=(",", ":"))
    result = base64.urlsafe_b64encode(zlib.compress(text.encode(), 9)).decode().rstrip("=")
    if len(scenes) > MOST or len(result) > _LONGEST:
        raise ValueError(
            f"A story has at most {MOST} scenes and {_LONGEST} characters in its link; got "
            f"{len(scenes)} scenes and {len(result)} characters. Take some out."
        )
    return result


def unpacked(text: str, pages: Sequence[str]) -> tuple[StoryScene, ...]:
    """Decode the scenes of a link.

    Args:
        text: made by `packed`.
        pages: known paths.

    Raises:
        ValueError: for text that is no story of these pages.
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
        if not 0 < len(scenes) <= MOST:
            raise ValueError
    except (ValueError, TypeError, binascii.Error, zlib.error, RecursionError):
        raise ValueError(
            "This link holds no story that can be read: it was cut, or made by another version. "
            "Ask for it anew."
        ) from None
    return scenes


def _scene(parts: object, pages: Sequence[str]) -> StoryScene:
    if not isinstance(parts, list) or len(parts) != 3:
        raise ValueError
    page, query, title = parts
    if not (isinstance(page, str) and isinstance(query, str) and isinstance(title, str)):
        raise TypeError
    if page not in pages:
        raise ValueError
    parse_qs(query, max_num_fields=200)
    return StoryScene(page, query, named(title))


def named(title: str) -> str:
    """A title shortened to one line of the bar."""
    line = "".join(sign if sign.isprintable() else " " for sign in title)
    return " ".join(line.split())[:_TITLE].rstrip() or "A scene"


def link(story: Sequence[StoryScene], index: int = 0) -> dict[str, str | list[str]]:
    """The settings of the address at a scene, in present mode."""
    scene = story[index]
    return {**scene.settings, STORY: packed(story), SCENE: str(index), "present": ""}


def story_query(story: Sequence[StoryScene], index: int = 0) -> str:
    """The same as text."""
    return urlencode(link(story, index), doseq=True)
