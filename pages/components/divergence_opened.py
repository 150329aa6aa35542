"""One data set of a run opened up: its posterior, q, the two draws, and the arithmetic of d."""

from collections.abc import Sequence

import numpy as np
import streamlit as st

from pages.components import jobs, live
from pages.components.divergence_arithmetic import order, written
from pages.components.divergence_plane import picture
from pages.components.divergence_words import size
from pages.components.services import services
from validation_core.engine import JobState
from validation_core.models import covariates
from validation_core.simulations import Found, Run, opened
from validation_core.simulations.opened import Numbers, Opened
from validation_core.types import Array


@st.fragment
def show(run: Run, found: Found | None) -> None:
    """A slider over the data sets, in order of d, and what each is made of."""
    st.subheader("One data set opened up", anchor=False)
    st.markdown(
        "Algorithm 1 of Domke (2021) on a single data set: true parameters z are drawn and data y "
        "simulated from them; inference sees y alone and gives q, from which z~ is drawn. The log "
        "weights log p − log q of the two differ by d."
    )
    if found is None:
        st.caption("The data sets will stand here once this run and the first panel are done.")
        return
    try:
        covariates(services().store, run.model)
    except ValueError as error:
        st.error(jobs.plain(str(error)), icon=":material/error:")
        return
    said = _numbers(run.key, run, found)
    if len(said.places) == 0:
        st.info("Inference gave no q on any data set, so that none has a d to open up.")
        return
    _failed(found)
    pair = _pair(run.model.names)
    _jumps(len(said.places))
    state, posterior, parts = _posterior(run, said)
    live.chart(
        _chart(run.key, pair, parts, run, found, said, posterior),
        key=f"opened-{_jumped()}", default=(len(said.places) // 2,), url=("data-set",),
    )  # fmt: skip
    st.caption(_reading(run, found, len(said.places)))
    jobs.panel(state, follow=True)


def _failed(found: Found) -> None:
    lost = np.flatnonzero(~found.ok)
    if len(lost):
        first = ", ".join(str(k + 1) for k in lost[:8])
        st.caption(
            f"Without q, and so not among them: {len(lost)} of {len(found.ok)} data sets "
            f"({first}{', …' if len(lost) > 8 else ''})."
        )


def _pair(names: Sequence[str]) -> tuple[int, int]:
    """Which two coordinates the picture has; chosen where there are more."""
    if len(names) < 3:
        return (0, 1)
    places = range(len(names))
    columns = st.columns(2)
    across, up = (
        column.selectbox(label, places, first, key=f"{key}-{len(names)}",
                         format_func=lambda i: names[i])
        for column, label, first, key in zip(
            columns, ("Across", "Up"), (0, 1), ("opened-across", "opened-up"), strict=True
        )
    )  # fmt: skip
    return across, up if up != across else (across + 1) % len(names)


def _jumps(count: int) -> None:
    ends = {"Smallest d": 0, "Median d": count // 2, "Largest d": count - 1}
    with st.container(horizontal=True):
        for label, place in ends.items():
            st.button(label, key=f"jump-{label}", on_click=_jump, args=(place,))


def _jump(place: int) -> None:
    """A chart of a new name starts where the address says."""
    st.session_state["opened-jumped"] = _jumped() + 1
    st.query_params["data-set"] = str(place)


def _jumped() -> int:
    return int(st.session_state.get("opened-jumped", 0))


@st.cache_resource(show_spinner=False, max_entries=64)
def _numbers(key: str, _run: Run, _found: Found) -> Numbers:
    return opened.numbers(_run, _found)


def _posterior(run: Run, said: Numbers) -> tuple[JobState | None, Array, str]:
    """The job of what is missing; draws (V, draws, D) at each place, NaN where it is still at
    it; and a name for these."""
    wanted = opened.tasks(run, said.places)
    if run.model.exact(np.zeros((0, run.model.dims[1]))) is not None:
        every = [(task, _exact(task.key, task)) for task in wanted]
        return None, _gathered(said, every, run), "exact"
    state = jobs.ensure(wanted, f"Posterior draws of {run.model.label}", start=True)
    store = services().store
    there = [(task, _load(task.key, task)) for task in wanted if task.done(store)]
    there = [(task, z) for task, z in there if z is not None]
    return state, _gathered(said, there, run), ",".join(task.key for task, _ in there)


def _gathered(said: Numbers, parts: Sequence[tuple[Opened, Array | None]], run: Run) -> Array:
    every = np.full((run.datasets, opened.DRAWS, run.model.dims[0]), np.nan)
    for task, z in parts:
        every[list(task.which)] = z
    return every[said.places]


@st.cache_resource(show_spinner=False, max_entries=32)
def _exact(key: str, _task: Opened) -> Array | None:
    return opened.exact(_task)


@st.cache_resource(show_spinner=False, max_entries=32)
def _load(key: str, _task: Opened) -> Array | None:
    return _task.load(services().store)


@st.cache_resource(show_spinner=False, max_entries=32)
def _chart(
    key: str, pair: tuple[int, int], parts: str, _run: Run, _found: Found, _said: Numbers,
    _posterior: Array,
) -> live.Payload:  # fmt: skip
    said = _said
    shown = [f"no. {k + 1}, d = {size(float(said.d[k]))}" for k in said.places]
    return live.payload(
        sliders=[live.slider("k", np.arange(len(said.places)), label="Data set, in order of d",
                             shown=shown,
                             start=len(said.places) // 2, ends=("smallest d", "largest d"))],
        panels=[picture(_run, _found, said, _posterior, pair), order(said), written(said)],
        columns=3,
    )  # fmt: skip


def _reading(run: Run, found: Found, places: int) -> str:
    exact = run.model.exact(np.zeros((0, run.model.dims[1]))) is not None
    blue = (
        "Blue points are drawn from the exact posterior."
        if exact
        else "Blue points are posterior draws: the true z of simulated data is one, and "
        "Hamiltonian Monte Carlo that starts there keeps it one at every state, whatever it mixes "
        "like. (Who picks a data set by its d has looked at z, so the first states, which "
        "remember it most, are left out.)"
    )
    few = f" Of {len(found.ok)} data sets, {places} evenly spaced ranks of d are shown." * (
        places == opened.MOST and len(found.ok) > places
    )
    q = "circles" if found.q is None else "ellipses, which hold 50% and 90% of it"
    more = " The picture shows the two chosen coordinates only." * (run.model.dims[0] > 2)
    return (
        f"{blue} Orange {q}, are q.{more}{few} If q were right, orange would lie as blue does, "
        "and z and z~ could swap places: d would be as often below 0 as above."
    ).replace("circles, are", "circles are")
