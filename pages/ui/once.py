"""What is worked out once for all sessions: forty who ask for the same wait for one computation.

For small things: words, tables of a few rows, pictures. A table that somebody uploaded is never
among them, nor anything that holds one. Payloads of live charts have a place of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import lru_cache
from typing import Any, TypeVar

import streamlit as st

_T = TypeVar("_T")
_MOST = 512


class _Passing(Exception):
    """What was made of something that is no longer there: seen once, and not kept."""

    def __init__(self, value: Any) -> None:
        super().__init__()
        self.value = value


def once(
    key: tuple[Hashable, ...], make: Callable[[], _T], sound: Callable[[], bool] = lambda: True
) -> _T:
    """What is made, or what was made before under this key.

    Args:
        key: its name and all that it depends on: numbers, strings, tuples of them.
        sound: asked when it has been made: whether files that it was read from are still there. A
            damaged one is moved aside, and would leave a gap under the key of the whole.
    """
    try:
        value: _T = _once(key, make, sound)
    except _Passing as passing:
        value = passing.value
    return value


@lru_cache(maxsize=32)  # a sweep with all its tasks takes 2 MB
def same(value: _T) -> _T:
    """The equal value that was seen first: what it has worked out of itself, its key and its
    tasks', is there. For frozen values that a page makes anew at every run."""
    return value


@st.cache_resource(show_spinner=False, max_entries=_MOST)
def _once(key: tuple[Hashable, ...], _make: Callable[[], Any], _sound: Callable[[], bool]) -> Any:
    value = _make()
    if not _sound():
        raise _Passing(value)
    return value
