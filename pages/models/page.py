"""Models and jobs: what is kept on disk, what runs, what was left unfinished."""

import streamlit as st

from pages.models import stored
from pages.ui import jobs
from pages.ui.services import services, subscriber
from validation_core.engine import SelfCheck
from validation_core.store import StoreEntry

_MIB, _GIB = 2**20, 2**30

store, engine = services()


def _forget(entries: list[StoreEntry]) -> None:
    """Delete files; those of the gallery stay."""
    for entry in entries:
        store.delete(entry.kind, entry.key)


def _bound() -> None:
    """Set the bound on disk use; what was used longest ago makes room at once."""
    store.limit = int(st.session_state["bound"] * _GIB)


def _check() -> None:
    """Send one small task to each worker, anew."""
    checks = [SelfCheck(seed=seed) for seed in range(getattr(engine.executor, "slots", 1))]
    for self_check in checks:
        store.delete("results", self_check.key)
    st.session_state["checks"] = checks
    engine.submit(checks, subscriber(), "Check of the workers")


entries = store.entries()
own = [entry for entry in entries if not entry.shipped]

st.title("Models and jobs", anchor=False)
st.write(
    f"{len(own)} files take {store.size() / _MIB:,.1f} of {store.limit / _MIB:,.0f} MiB. "
    "When full, the least recently used files are deleted."
)
if len(own) < len(entries):
    st.caption(f"{len(entries) - len(own)} shipped results are not counted.")
jobs.notices()

st.subheader("Running", anchor=False)
now = [state.key for state in jobs.active()]
st.fragment(jobs.running, run_every=0.5 if now else 5.0)(now)

left = engine.interrupted()
if left:
    st.subheader("Interrupted", anchor=False)
    st.caption("A server ended before these did. Resuming computes only what is missing.")
for job in left:
    jobs.unfinished(job)

st.subheader("On disk", anchor=False)
if own:
    chosen = stored.table(own)
    with st.container(horizontal=True):
        st.button(
            f"Delete chosen ({len(chosen)})", on_click=_forget, args=(chosen,), disabled=not chosen
        )
        with st.popover("Delete all", disabled=not own):
            st.button(f"Delete all {len(own)} files", on_click=_forget, args=(own,))
else:
    st.caption("Nothing is kept yet. What you train or compute on another page appears here.")
if len(own) < len(entries) and st.toggle("Show what came with NPT Lab", key="shipped"):
    stored.table([entry for entry in entries if entry.shipped], key="shipped-files")
st.number_input(
    "Bound on disk use (GiB)",
    min_value=0.1,
    value=store.limit / _GIB,
    step=0.5,
    key="bound",
    on_change=_bound,
    width=220,
)

st.subheader("Workers", anchor=False)
st.button("Check the workers", on_click=_check)
checks = st.session_state.get("checks", [])
if checks:
    state = jobs.ensure(checks, "Check of the workers", start=False)
    if state is not None and not state.active:  # while it runs it stands above
        jobs.panel(state)
    if state is None:
        agree = sum(self_check.agrees(store) for self_check in checks)
        st.write(
            f"{agree} of {len(checks)} checks gave the same numbers in a worker as in this "
            "process, to the bit."
        )
