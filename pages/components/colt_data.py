"""What the CoLT page reads from the store, once for all sessions."""

import streamlit as st

from pages.components.services import services
from validation_core.maps import Maps, MapTask
from validation_core.tasks import PowerTask
from validation_core.types import PowerCell


@st.cache_resource(show_spinner=False, max_entries=16)
def maps(key: str, _task: MapTask) -> Maps:
    """A stored map; keyed by the task's key."""
    found = _task.load(services().store)
    assert found is not None, "pages draw a map only when the store holds it"
    return found


@st.cache_resource(show_spinner=False, max_entries=1024)
def cells(key: str, _task: PowerTask) -> list[PowerCell]:
    """Stored counts; keyed by the task's key."""
    found = _task.load(services().store)
    assert found is not None, "pages draw counts only when the store holds them"
    return found
