"""What the Conformal C2ST page reads from the store, once for all sessions."""

import streamlit as st

from pages.ui.services import services
from validation_core.sweep import conformal_explorer as workbench
from validation_core.sweep.conformal_explorer import GridTask, RankGrid, ScoreGrid


@st.cache_resource(show_spinner=False, max_entries=32)
def grid(key: str, _task: GridTask) -> ScoreGrid:
    """The stored scores of a task, read once; keyed by the task's key."""
    stored = _task.load(services().store)
    assert stored is not None, "pages draw a grid only when the store holds it"
    return stored


@st.cache_resource(show_spinner=False, max_entries=64)
def ranks(key: str, _scores: ScoreGrid, m: int, n: int, seed: int) -> RankGrid:
    """Ranks at every beta; keyed by the task's key."""
    return workbench.ranks(_scores, m, n, seed)
