"""The store and the engine that all sessions of this server share, and who a session is."""

import hashlib
import uuid
from typing import TypeVar

import streamlit as st

from validation_core import engine
from validation_core.engine import Services
from validation_core.study import Study

_Result = TypeVar("_Result")


# Two lines in a module of its own: editing a cached function makes a second one.
@st.cache_resource(show_spinner=False)
def services() -> Services:
    """The store and the engine of this server."""
    return engine.start()


@st.cache_resource(show_spinner=False, max_entries=64)
def stored(key: str, _study: Study[_Result]) -> _Result:
    """A result that the store holds, read once for all sessions; keyed by the study's key."""
    result = _study.load(services().store)
    assert result is not None, "pages draw what the store holds"
    return result


def subscriber() -> str:
    """A name for whoever looks at this page: one per browser, so that a reload keeps it.

    Streamlit gives each browser a random token in a cookie, masked anew at each answer; where
    there is none (tests, cookies off) each session has a name of its own.
    """
    if "subscriber" not in st.session_state:
        token = _token(st.context.cookies.get("_streamlit_xsrf", ""))
        name = hashlib.sha256(token).hexdigest()[:16] if token else uuid.uuid4().hex
        st.session_state["subscriber"] = name
    return str(st.session_state["subscriber"])


def _token(cookie: str) -> bytes:
    """The token behind a cookie `2|mask|masked|time`; empty for anything else."""
    try:
        _, mask, masked, _ = cookie.split("|")
        key, text = bytes.fromhex(mask), bytes.fromhex(masked)
        return bytes(byte ^ key[i % len(key)] for i, byte in enumerate(text))
    except (ValueError, ZeroDivisionError):
        return b""
