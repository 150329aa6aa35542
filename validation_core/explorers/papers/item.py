"""An item of a paper: something that it defines, claims, tabulates or draws, and ours."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal, NamedTuple

ItemState = Literal["agrees", "differs", "not_built"]
STATES: dict[ItemState, str] = {"agrees": "Agrees", "differs": "Differs", "not_built": "Not built"}


class Link(NamedTuple):
    """A view of a page."""

    page: str
    """Path of the page in the address."""
    label: str
    query: Mapping[str, str] = MappingProxyType({})


class Item(NamedTuple):
    """An item in our words, where it stands in the product, and why it agrees or not."""

    section: str
    text: str
    state: ItemState
    why: str
    links: tuple[Link, ...] = ()
    names: tuple[str, ...] = ()
    """Methods and benchmarks, by their names in the registries, that it is about."""

    def matches(self, words: str) -> bool:
        """Whether each of some words stands in the item, whatever its case."""
        text = " ".join((self.section, self.text, self.why, *self.names)).casefold()
        return all(word in text for word in words.casefold().split())
