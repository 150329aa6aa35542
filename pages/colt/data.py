"""What the CoLT page reads from the store, once for all sessions."""

import streamlit as st

from pages.ui.services import services
from validation_core import PowerCell
from validation_core.figures.colt.power import named
from validation_core.localization import Maps, MapTask
from validation_core.sweep.plan import Memory, Sweep, collect


@st.cache_resource(show_spinner=False, max_entries=16)
def maps(key: str, _task: MapTask) -> Maps:
    """A stored map; keyed by the task's key."""
    stored = _task.load(services().store)
    assert stored is not None, "pages draw a map only when the store holds it"
    return stored


def cells(sweep: Sweep) -> list[PowerCell]:
    """What has run of a sweep, under the names of its curves."""
    store = services().store
    return named(collect(sweep, store, _memory(str(store.root))).cells)


@st.cache_resource(show_spinner=False, max_entries=4)
def _memory(root: str) -> Memory:
    """Trials that were read from the store of that folder before."""
    return {}
