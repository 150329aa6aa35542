"""A cache of values computed once for all sessions; concurrent requests share one computation.

It is for small values: text, tables of a few rows, figures. It never holds an uploaded table.
Payloads of live charts have a cache of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import lru_cache
from typing import Any, TypeVar

import streamlit as st

_T = TypeVar("_T")
_MOST = 512


class _Passing(Exception):
    """A value made from a file that is gone: returned once, and not cached."""

    def __init__(self, value: Any) -> None:
        super().__init__()
        self.value = value


def once(
    key: tuple[Hashable, ...], make: Callable[[], _T], sound: Callable[[], bool] = lambda: True
) -> _T:
    """The value of a key, made on first use.

    Args:
        key: a name and everything that the value depends on: numbers, strings, tuples of them.
        make: makes the value.
        sound: called afterwards: whether the files that it was read from still exist. A damaged
            one is moved aside, and the incomplete value must not be cached.
    """
    try:
        value: _T = _once(key, make, sound)
    except _Passing as passing:
        value = passing.value
    return value


@lru_cache(maxsize=32)  # a sweep with all its tasks takes 2 MB
def same(value: _T) -> _T:
    """The first equal value, which has cached its key and tasks.

    For frozen values that a page makes anew at every run.
    """
    return value


@st.cache_resource(show_spinner=False, max_entries=_MOST)
def _once(key: tuple[Hashable, ...], _make: Callable[[], Any], _sound: Callable[[], bool]) -> Any:
    value = _make()
    if not _sound():
        raise _Passing(value)
    return value
