"""Trials of sweeps: those read from the store, kept for all sessions, and those still to run."""

from collections.abc import Sequence

import streamlit as st

from pages.ui import jobs
from pages.ui.services import services
from validation_core.sweep import costs
from validation_core.sweep.plan import Sweep
from validation_core.sweep.progress import TallyMemory, missing_of_all
from validation_core.text import rough_duration_text


def trials_read() -> TallyMemory:
    """Trials of the visitor's store that were read before, by key; new ones are added."""
    return _of_folder(str(services().store.root))


@st.cache_resource(show_spinner=False, max_entries=4)
def _of_folder(root: str) -> TallyMemory:
    return {}


def offer_missing(what: str, sweeps: Sequence[Sweep], name: str) -> None:
    """A button that runs the missing trials of sweeps, with its price, and their progress.

    Args:
        what: is run, in words that follow "Run".
        sweeps: whose trials it runs; they share their draws.
        name: of the job.
    """
    store = services().store
    left = missing_of_all(sweeps, store)
    if not left:
        return
    state = jobs.latest(left)
    if state is None:
        st.button(
            f"Run {what}: {rough_duration_text(costs.remaining(sweeps, store))}",
            key=f"run-{name}",
            icon=":material/play_arrow:",
            on_click=jobs.starting(left, name),
        )
    jobs.panel(state, follow=True)
