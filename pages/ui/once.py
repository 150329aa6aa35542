"""What is worked out once for all sessions: forty who ask for the same wait for one computation.

For small things: words, tables of a few rows, pictures. A table that somebody uploaded is never
among them, nor anything that holds one. Payloads of live charts have a place of their own.
"""

from collections.abc import Callable, Hashable
from typing import Any, TypeVar

import streamlit as st

_T = TypeVar("_T")
_MOST = 512


def once(key: tuple[Hashable, ...], make: Callable[[], _T]) -> _T:
    """What is made, or what was made before under this key.

    Args:
        key: its name and all that it depends on: numbers, strings, tuples of them.
    """
    made: _T = _once(key, make)
    return made


@st.cache_resource(show_spinner=False, max_entries=_MOST)
def _once(key: tuple[Hashable, ...], _make: Callable[[], Any]) -> Any:
    return _make()
