"""Trials of sweeps that were read from the store, kept for all sessions."""

import streamlit as st

from pages.ui.services import services
from validation_core.sweep.progress import Memory


def trials_read() -> Memory:
    """Trials of the visitor's store that were read before, by key; new ones are added."""
    return _of_folder(str(services().store.root))


@st.cache_resource(show_spinner=False, max_entries=4)
def _of_folder(root: str) -> Memory:
    return {}
