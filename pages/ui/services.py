"""The store and the engine that all sessions of this server share."""

from typing import TypeVar

import streamlit as st

from validation_core import engine
from validation_core.engine import Services
from validation_core.study import Study

_Result = TypeVar("_Result")
_PATIENCE = 180.0  # seconds after a page was shut; a hidden one still asks once a minute


# In a module of its own: editing the file of a cached function would make a second engine.
@st.cache_resource(show_spinner=False)
def services() -> Services:
    """The store and the engine of this server."""
    started = engine.start()
    started.engine.patience = _PATIENCE
    return started


@st.cache_resource(show_spinner=False, max_entries=64)
def stored(key: str, _study: Study[_Result]) -> _Result:
    """A stored result, read once for all sessions and cached by the study's key."""
    result = _study.load(services().store)
    assert result is not None, "pages draw what the store holds"
    return result
