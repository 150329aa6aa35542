"""Models and jobs: stored files, running jobs, and unfinished ones."""

import streamlit as st

from pages.models import stored
from pages.ui import jobs, recent, visitors
from pages.ui.services import services
from pages.ui.visitors import visitor
from validation_core.engine import SelfCheck
from validation_core.settings import ADMIN
from validation_core.store import StoreEntry
from validation_core.text import count_text, number_text

_GIB = 2**30
_LEAST = 0.1  # GiB

store, engine = services()


def _forget(entries: list[StoreEntry]) -> None:
    """Delete files; those of the gallery stay."""
    for entry in entries:
        store.delete(entry.kind, entry.key)


def _bound() -> None:
    """Set the bound on disk use; files used longest ago are deleted at once."""
    store.limit = int(st.session_state["bound"] * _GIB)


def _check() -> None:
    """Send one small task to each worker, anew."""
    checks = [SelfCheck(seed=seed) for seed in range(engine.slots)]
    for self_check in checks:
        store.delete("results", self_check.key)
    st.session_state["checks"] = checks
    engine.submit(checks, visitor(), "Check of the workers")


def _say_token() -> None:
    """Check the entered token, which is never stored."""
    text = st.session_state.pop("token", "")
    st.session_state["wrong-token"] = visitors.become_admin(text) if text else ""


def _log_in() -> None:
    """The form in which the operator of a public server enters the token."""
    if not ADMIN.value():
        return
    with st.popover("I run this server", icon=":material/key:", type="tertiary"):
        st.text_input("Admin token", type="password", key="token", on_change=_say_token)
        st.caption("The value of NPTLAB_ADMIN where the server was started.")
    if why := st.session_state.get("wrong-token"):
        st.error(why, icon=":material/error:")


def _on_disk(entries: list[StoreEntry]) -> None:
    """Every file, to be chosen and deleted, and the bound on all of them."""
    own = [entry for entry in entries if not entry.shipped]
    if own:
        chosen = stored.table(own)
        with st.container(horizontal=True):
            st.button(
                f"Delete chosen ({len(chosen)})",
                on_click=_forget,
                args=(chosen,),
                disabled=not chosen,
            )
            with st.popover("Delete all", disabled=not own):
                st.button(f"Delete all {len(own):,} files", on_click=_forget, args=(own,))
    else:
        st.caption("Nothing is kept yet. What you train or compute on another page appears here.")
    if len(own) < len(entries) and st.toggle("Show what came with NPT Lab", key="shipped"):
        stored.table([entry for entry in entries if entry.shipped], key="shipped-files")
    bound = store.limit / _GIB
    st.number_input(
        "Bound on disk use (GiB)",
        min_value=min(_LEAST, bound),  # the folder's file may say less
        value=bound,
        step=0.5,
        key="bound",
        on_change=_bound,
        width=220,
    )


def _own_tables() -> None:
    """This browser's uploads, each with a button to delete it."""
    tables = recent.listed()
    if not tables:
        st.caption("This browser has brought no table. Networks and results are shared by all.")
    for entry in tables:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.text(f"{entry['label']}, {entry['n']:,} rows")
            key = f"delete-{entry['digest']}"
            st.button("Delete", key=key, on_click=recent.delete, args=(entry["digest"],))


def _workers() -> None:
    """Check that workers agree with this process to the bit."""
    st.button("Check the workers", on_click=_check)
    checks = st.session_state.get("checks", [])
    if not checks:
        return
    state = jobs.ensure(checks, "Check of the workers", start=False)
    if state is not None and not state.active:  # while it runs it stands above
        jobs.panel(state)
    if state is None:
        agree = sum(self_check.agrees(store) for self_check in checks)
        st.write(
            f"{agree} of {len(checks)} checks gave the same numbers in a worker as in this "
            "process, to the bit."
        )


admin = visitors.is_admin()
own, shipped = store.counts()

st.title("Models and jobs", anchor=False)
used, bound = number_text(store.size() / _GIB, 2), number_text(store.limit / _GIB)
st.write(
    f"{count_text(own, 'file')} {'takes' if own == 1 else 'take'} {used} of {bound} GiB. "
    "When full, the least recently used files are deleted."
)
if shipped:
    st.caption(f"{shipped:,} shipped results are not counted.")
jobs.notices()

st.subheader("Running", anchor=False)
now = [state.key for state in jobs.active()]
st.fragment(jobs.running, run_every=1.0 if now else 5.0)(now)

left = [job for job in engine.interrupted() if admin or job.subscriber == visitor()]
if left:
    st.subheader("Interrupted", anchor=False)
    st.caption("A server ended before these did. Resuming computes only what is missing.")
for job in left:
    jobs.unfinished(job)

if admin:
    st.subheader("On disk", anchor=False)
    _on_disk(store.entries())
    st.subheader("Workers", anchor=False)
    _workers()
else:
    st.subheader("Your tables", anchor=False)
    _own_tables()
    _log_in()
