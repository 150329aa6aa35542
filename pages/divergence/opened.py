"""One data set of a run opened up: its posterior, q, the two draws, and the arithmetic of d."""

from collections.abc import Sequence

import streamlit as st

from pages.ui import address, jobs, live
from pages.ui.forms import choice
from pages.ui.services import stored_if_there
from validation_core.engine import JobState
from validation_core.symmetric_divergence import InferenceRun, RunResult, one_run, terms
from validation_core.symmetric_divergence.terms import DatasetTerms, PosteriorDraws
from validation_core.text import begun_text
from validation_core.types import Array


@address.fragment
def show(run: InferenceRun, result: RunResult | None) -> None:
    """A slider over the data sets, in order of d, and what each is made of."""
    st.subheader("One data set opened up", anchor=False)
    st.markdown(
        "Algorithm 1 of Domke (2021) on a single data set: true parameters z are drawn and data y "
        "simulated from them; inference sees y alone and gives q, from which z~ is drawn. The log "
        "weights log p − log q of the two differ by d."
    )
    if result is None:
        st.caption("The data sets appear here once this run and the first panel are done.")
        return
    numbers = _numbers(run.key, run, result)
    if len(numbers.places) == 0:
        st.info("Inference gave no q on any data set, so there is none to open up.")
        return
    _failed(result)
    pair = _pair(run.model.names)
    _jumps(len(numbers.places))
    state, posterior, parts = _posterior(run, numbers)
    live.chart(
        live.once(
            ("opened", run.key, pair, parts),
            lambda: one_run.datasets_payload(run, result, numbers, posterior, pair),
        ),
        key=f"opened-{_jumped()}",
        default=(len(numbers.places) // 2,),
        url=("data-set",),
    )
    st.caption(one_run.how_to_read(run, result, len(numbers.places)))
    jobs.panel(state, follow=True)


def _failed(result: RunResult) -> None:
    lost = [str(k + 1) for k, ok in enumerate(result.ok) if not ok]
    if lost:
        st.caption(
            f"Without q, and so not among them: {len(lost)} of {len(result.ok)} data sets "
            f"({begun_text(lost, 8)})."
        )


def _pair(names: Sequence[str]) -> tuple[int, int]:
    """The two coordinates of the picture, chosen by the user where there are more."""
    if len(names) < 3:
        return (0, 1)
    left, right = st.columns(2)
    with left:
        across = names.index(choice("Across", names, "opened-across"))
    with right:
        up = names.index(choice("Up", names, "opened-up", first=names[1]))
    return across, up if up != across else (across + 1) % len(names)


def _jumps(count: int) -> None:
    ends = {"Smallest d": 0, "Median d": count // 2, "Largest d": count - 1}
    with st.container(horizontal=True):
        for label, place in ends.items():
            st.button(label, key=f"jump-{label}", on_click=_jump, args=(place,))


def _jump(place: int) -> None:
    """A chart of a new name starts where the address says."""
    st.session_state["opened-jumped"] = _jumped() + 1
    address.ask("data-set", str(place))


def _jumped() -> int:
    return int(st.session_state.get("opened-jumped", 0))


@st.cache_resource(show_spinner=False, max_entries=64)
def _numbers(key: str, _run: InferenceRun, _found: RunResult) -> DatasetTerms:
    return terms.numbers(_run, _found)


def _posterior(run: InferenceRun, numbers: DatasetTerms) -> tuple[JobState | None, Array, str]:
    """The job of the missing draws; the draws (V, draws, D), NaN while missing; and their key."""
    wanted = terms.tasks(run, numbers.places)
    if one_run.has_exact_posterior(run):
        parts = [(task, _exact(task.key, task)) for task in wanted]
        return None, one_run.gather_draws(numbers, parts, run), "exact"
    state = jobs.only("posterior-draws", wanted, f"Posterior draws of {run.model.label}")
    there = [(task, found.z) for task in wanted if (found := stored_if_there(task)) is not None]
    return (
        state,
        one_run.gather_draws(numbers, there, run),
        ",".join(task.key for task, _ in there),
    )


@st.cache_resource(show_spinner=False, max_entries=32)
def _exact(key: str, _task: PosteriorDraws) -> Array | None:
    return terms.exact(_task)
