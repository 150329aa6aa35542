"""The store and the engine that all sessions of this server share, and who a session is."""

import hashlib
import uuid

import streamlit as st

from validation_core import engine
from validation_core.engine import Services


# Two lines in a module of its own: editing a cached function makes a second one.
@st.cache_resource(show_spinner=False)
def services() -> Services:
    """The store and the engine of this server."""
    return engine.start()


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
