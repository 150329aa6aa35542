"""Sentences and numbers of a picture at given places of its sliders, read from its payload.

    picture = Picture(payload)
    picture.headline(gamma=0.0)             # one sentence
    picture.texts(gamma=0.0)                # all, at every place of the other sliders
    picture.marks("points", 2, gamma=0.0)   # numbers of a panel's marks, each a dictionary

`false_claims` lists the sentences that call a correct q wrong.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from validation_core.drawing.live import Payload

LEVEL = 0.05
_CLAIMS = re.compile(
    r"do not rank like|are not uniform|q misses|q puts too|The error changes"
    r"|shows most|finds it|total variation between p and q is at least"
    r"|C2ST catches|rejects q in|q is rejected by|some region has another mass"
)
"""Words with which pages say that q is wrong."""
_CHANCE = re.compile(r"by chance|one correct q in \d+|one sample in \d+|q is correct")
_PVALUE = re.compile(
    r"(?:\bp(?:-value)?|Smirnov|Darling|Mises|variance) [=<]? ?(\d[\d.]*(?:e-?\d+)?)"
)


class Picture:
    """A payload, read as the browser reads it."""

    def __init__(self, payload: Payload) -> None:
        message = payload.message(payload.start)
        size = int.from_bytes(message[:4], "little")
        self.head: dict[str, Any] = json.loads(message[4 : 4 + size])
        self._body = message[4 + size :]
        self._sliders = {one["name"]: one["values"] for one in self.head["sliders"]}
        self._start = {one["name"]: one["start"] for one in self.head["sliders"]}

    def headline(self, **at: float) -> str:
        """The sentence above the sliders; those that are not named stand where they start."""
        return self._text(self.head["headline"], self._places({**self._start, **at}))

    def texts(self, **at: float) -> set[str]:
        """All sentences at these places, and at every place of the sliders that are not named."""
        return {
            text
            for words in self._words()
            for places in self._walk(words, self._places(at))
            if (text := self._text(words, places))
        }

    def marks(self, kind: str, panel: int, **at: float) -> list[dict[str, Any]]:
        """Marks of a kind in a panel, each with its numbers as arrays."""
        places = self._places({**self._start, **at})
        return [
            {name: self._value(value, places) for name, value in mark.items()}
            for mark in self.head["panels"][panel]["marks"]
            if mark["kind"] == kind
        ]

    def _places(self, at: dict[str, float]) -> dict[int, int]:
        names = list(self._sliders)
        return {
            names.index(name): int(np.abs(np.subtract(self._sliders[name], value)).argmin())
            for name, value in at.items()
            if name in self._sliders
        }

    def _words(self) -> Iterator[Any]:
        yield self.head["headline"]
        for panel in self.head["panels"]:
            yield from (panel["title"], panel["caption"])
            yield from (mark["label"] for mark in panel["marks"] if mark.get("label"))
            yield from (key["label"] for key in panel["legend"])

    def _walk(self, words: Any, fixed: dict[int, int]) -> Iterator[dict[int, int]]:
        grids = list(self._sliders.values())
        free = sorted({*_followed(words)} - {*fixed})
        for places in itertools.product(*(range(len(grids[i])) for i in free)):
            yield fixed | dict(zip(free, places, strict=True))

    def _text(self, words: Any, places: dict[int, int]) -> str:
        if isinstance(words, str):
            return words
        if "template" in words:
            parts = {name: self._text(part, places) for name, part in words["parts"].items()}
            return re.sub(r"\{(\w+)\}", lambda match: parts[match[1]], words["template"])
        return str(words["strings"][int(self._value(words, places))])

    def _value(self, value: Any, places: dict[int, int]) -> Any:
        """An array at these places; anything that is no array as it is."""
        if not (isinstance(value, dict) and "first" in value):
            return value
        kind = {1: "i1", 2: "<i2"}.get(value.get("bytes", 4), "<f4")
        numbers = np.frombuffer(self._body[: len(self._body) // 4 * 4], kind)
        size = int(np.prod(value["shape"]))
        array = numbers[value["first"] : value["first"] + size].reshape(value["shape"])
        array = array[tuple(places[i] for i in value["by"])]
        return array * value["step"] + value["middle"] if "step" in value else array


def _followed(words: Any) -> Iterator[int]:
    """Sliders that a sentence follows."""
    if isinstance(words, dict):
        yield from words.get("by", ())
        for part in words.get("parts", {}).values():
            yield from _followed(part)


def false_claims(texts: Iterable[str]) -> list[str]:
    """Sentences that call a correct q wrong, or show a low p-value without a word on chance."""
    return [
        text
        for text in texts
        if not _CHANCE.search(text)
        and (
            _CLAIMS.search(text)
            or any(float(p.rstrip(".")) <= LEVEL for p in _PVALUE.findall(text))
        )
    ]


def percents(text: str) -> NDArray[np.float64]:
    """Percentages that a sentence says, as shares."""
    return np.array([float(share) / 100 for share in re.findall(r"([\d.]+)%", text)])


ROUNDING = 0.005 + 1e-6
"""Farthest that a share may be from its whole percentage."""
