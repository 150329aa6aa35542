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


class _NotStored(Exception):
    """The store has no sound file of a result; an exception, unlike None, is not cached."""


def stored(study: Study[_Result]) -> _Result:
    """A result that the store holds, read once for all sessions."""
    result = stored_if_there(study)
    assert result is not None, "pages draw what the store holds"
    return result


def stored_if_there(study: Study[_Result]) -> _Result | None:
    """A result, read once for all sessions; None where the store lacks it or it is damaged."""
    if not study.done(services().store):
        return None
    try:
        return _read(study.key, study)
    except _NotStored:
        return None


@st.cache_resource(show_spinner=False, max_entries=64)
def _read(key: str, _study: Study[_Result]) -> _Result:
    result = _study.load(services().store)
    if result is None:
        raise _NotStored(key)
    return result
