"""Long work on a page: ask for it, watch it, stop it. It runs in the engine, never in a page.

    state = jobs.ensure(tasks, "Train 7 classifiers", start=True)
    if state is None: draw the results that the store holds
    else:             jobs.panel(state)

A page may do this at every run: whoever asks for the same waits for one computation.
"""

import math
import re
import time
from collections.abc import Callable, Hashable, Sequence
from typing import TypeVar

import streamlit as st

from pages.ui import quotas, visitors
from pages.ui.services import services
from pages.ui.visitors import visitor
from validation_core.engine import Interrupted, JobState, Task, job_key
from validation_core.scores.trained_scores import TrainTask
from validation_core.text import count_text, duration_text

T = TypeVar("T")
_POLLS = ((10.0, 0.3), (60.0, 1.0), (math.inf, 3.0))
"""Up to what age of a job, in seconds, a page looks at it how often."""
_FETCH = 3.0  # seconds that a browser may take to ask for a download that was made


def ensure(
    tasks: Sequence[Task], label: str, *, start: bool, again: bool = False
) -> JobState | None:
    """The job of these tasks, or None when the store holds every result or nothing was asked for.

    Args:
        tasks: what is wanted.
        label: what to call it.
        start: submit what is missing, or join those who wait for it; a job that failed or was
            stopped is left at that, so that a page may pass True at every run.
        again: submit it even then: for a button that was pressed.
    """
    store, engine = services()
    if all(task.done(store) for task in tasks):
        return None
    known = engine.find(job_key(tasks))
    state = known.snapshot() if known else None
    given_up = state is not None and state.state in ("failed", "cancelled")
    if again or (start and not given_up):
        return _submit(tasks, label)
    return state


def _submit(tasks: Sequence[Task], label: str) -> JobState:
    """The job of these tasks, or one that could not begin: who has too many is told so."""
    engine, key = services().engine, job_key(tasks)
    under_way = {job.key: job for job in engine.jobs() if job.ended is None and job.key != key}
    own = sum(visitor() in job.watchers for job in under_way.values())
    why = "" if visitors.is_admin() else quotas.too_many_jobs(own, len(under_way))
    if not why:
        return engine.submit(tasks, visitor(), label).snapshot()
    return JobState(
        key=key,
        label=label,
        state="failed",
        fraction=0.0,
        done=0,
        total=len(tasks),
        message=why,
        live={},
        started=time.time(),
        seconds=0.0,
        subscribers=0,
        failures={},
    )


def only(name: str, tasks: Sequence[Task], label: str) -> JobState | None:
    """`ensure` for a session that looks at one thing of this name at a time: it starts by itself.

    What the session asked for before is left as soon as it asks for something else, or for
    nothing. A job that was stopped while it looked on stays so until it comes back to it; one
    that somebody gave up before starts again.
    """
    key = job_key(tasks) if tasks else ""
    before, stopped = st.session_state.get(f"only-{name}", ("", False))
    known = services().engine.find(key)
    cancelled = known is not None and known.snapshot().state == "cancelled"
    stopped = before == key and (stopped or cancelled)
    state = ensure(tasks, label, start=True, again=cancelled and not stopped)
    if before and before != key:  # only now: what both want goes on
        services().engine.leave(before, visitor())
    st.session_state[f"only-{name}"] = (key, stopped)
    return state


def lacking(name: str, asked: Hashable, tasks: Callable[[], Sequence[Task]]) -> Sequence[Task]:
    """What was missing of some tasks when the session first asked for this; none once all is done.

    It stays the same while they are worked out, and so does the job that they are. Networks are
    among them where something that reads them was missing.
    """
    store, slot = services().store, f"lacking-{name}"
    known = st.session_state.get(slot)
    if known is None or known[0] != asked:
        missing = [task for task in tasks() if not task.done(store)]
        read = {key for task in missing for key in getattr(task, "needs", ())}
        wanted = [
            task
            for task in missing
            if not isinstance(task, TrainTask) or read.intersection(task.makes)
        ]
        known = st.session_state[slot] = asked, tuple(wanted)
    left: tuple[Task, ...] = known[1]
    return () if all(task.done(store) for task in left) else left


def starting(tasks: Sequence[Task], label: str) -> Callable[[], None]:
    """What a button does that was pressed for these tasks: it submits them, again if need be."""

    def press() -> None:
        ensure(tasks, label, start=True, again=True)

    return press


def latest(tasks: Sequence[Task]) -> JobState | None:
    """The last job that has any of these tasks, unless it ended well; whoever asked for it.

    Trainings do not tell, where there are other tasks: several jobs may want the same network.
    """
    own = [task for task in tasks if not isinstance(task, TrainTask)] or tasks
    wanted = {task.key for task in own}
    for job in services().engine.jobs():
        if wanted & {task.key for task in job.tasks}:
            state = job.snapshot()
            return None if state.state == "done" else state
    return None


def panel(
    state: JobState | None, *, follow: bool = False, draw: Callable[[JobState], None] | None = None
) -> None:
    """Progress, and a button to stop or start again; the page runs anew once when the job ends.

    Args:
        state: from `ensure`; nothing is shown for None.
        follow: run the page anew whenever one more task is done, for results that refine.
        draw: draws the payload that the running task reports, at each look.
    """
    if state is not None:
        watched = st.fragment(_watch, run_every=_poll(state) if state.active else None)
        watched(state, follow, draw)


def _poll(state: JobState) -> float:
    """Seconds between two looks at a job: forty pages that wait for long ones cost little."""
    return next(interval for age, interval in _POLLS if state.seconds < age)


def undisturbed(make: Callable[[], T]) -> Callable[[], T]:
    """What makes a download on request; polls wait until a browser has had time to fetch it.

    Streamlit drops such a file when two more runs have ended, and a poll is one.
    """
    pause = st.session_state.setdefault("pause", [-math.inf])

    def whole() -> T:
        pause[0] = math.inf
        try:
            return make()
        finally:
            pause[0] = time.monotonic() + _FETCH

    return whole


def notices() -> None:
    """What the store has to say: a damaged file moved aside, a folder that cannot be written.

    They name folders of the server, and are its operator's.
    """
    store = services().store
    if not store.notices:
        return
    if not visitors.is_admin():
        st.caption("This server has a notice for whoever runs it.")
        return
    for notice in store.notices:
        st.warning(plain(notice), icon=":material/warning:")
    st.button("Dismiss notices", on_click=store.notices.clear)


def plain(text: str) -> str:
    """Text that Streamlit's Markdown shows as it is, whatever a user's file calls itself."""
    return re.sub(r"([\\`*_\[\]<>#|~$:&])", r"\\\1", " ".join(text.split()))


def running(drawn: Sequence[str]) -> None:
    """Jobs under way: one's own, an admin's all; the page runs anew when one begins or ends."""
    engine = services().engine
    states = active()
    if [state.key for state in states] != list(drawn):
        st.rerun()
    admin = visitors.is_admin()
    own = [state for state in states if admin or _is_mine(state.key)]
    for state in own:
        engine.touch(state.key, visitor())
        _show(state, everyone=admin)
    if others := len(states) - len(own):
        st.caption(f"{count_text(others, 'job')} of other visitors under way.")
    elif not states:
        st.caption("Nothing runs at the moment.")


def active() -> list[JobState]:
    """Jobs under way, the latest first."""
    states = (job.snapshot() for job in services().engine.jobs())
    return [state for state in states if state.active]


def _is_mine(key: str) -> bool:
    """Whether this visitor waits for a job."""
    job = services().engine.find(key)
    return job is not None and visitor() in job.watchers


def _again(key: str) -> None:
    job = services().engine.find(key)
    if job is not None:  # one that could not begin is asked for by the page, which runs now
        _submit(job.tasks, job.label)


def _resume(key: str) -> None:
    services().engine.resume(key, visitor())


def unfinished(job: Interrupted) -> None:
    """A job that an earlier server left, and what can be done about it."""
    engine = services().engine
    reach = job.problem or f"{job.done} of {job.total} done"
    with st.container(horizontal=True, vertical_alignment="center"):
        st.text(f"{job.label} · {reach}")
        if not job.problem:
            st.button("Resume", key=f"resume-{job.key}", on_click=_resume, args=(job.key,))
        st.button("Forget", key=f"forget-{job.key}", on_click=engine.forget, args=(job.key,))


def _watch(drawn: JobState, follow: bool, draw: Callable[[JobState], None] | None) -> None:
    while time.monotonic() < st.session_state.get("pause", [-math.inf])[0]:
        time.sleep(0.05)
    engine = services().engine
    engine.touch(drawn.key, visitor())
    job = engine.find(drawn.key)
    state = job.snapshot() if job else drawn
    older = state.active and _poll(state) != _poll(drawn)
    if state.active != drawn.active or (follow and state.done > drawn.done) or older:
        st.rerun()
    if state.active:
        _show(state)
        if draw:
            draw(state)
    elif state.state != "done":
        _ended(state)


def _show(state: JobState, *, everyone: bool = False) -> None:
    """Progress of a job under way, and buttons to wait for it no longer, or to stop it for all."""
    engine = services().engine
    text = f"{plain(state.label)} · {duration_text(state.seconds)}{_left(state)}"
    st.progress(state.fraction, text=text)
    with st.container(horizontal=True, vertical_alignment="center"):
        others = state.subscribers - 1
        wait = count_text(others, "other")
        st.button(
            "Leave" if others > 0 else "Cancel",
            key=f"leave-{state.key}",
            on_click=engine.leave,
            args=(state.key, visitor()),
            help=f"It goes on for {wait} who wait for it." if others > 0 else "Stops the work.",
        )
        if everyone:
            stop = f"stop-{state.key}"
            st.button("Stop for everyone", key=stop, on_click=engine.cancel, args=(state.key,))
        if state.message != state.label:
            st.caption(plain(state.message))


def _ended(state: JobState) -> None:
    message = plain(state.message)
    if state.state == "failed":
        st.error(f"{plain(state.label)} failed. {message}", icon=":material/error:")
    else:
        progress = f" {state.done} of {state.total} results are kept." if state.done else ""
        st.info(f"{plain(state.label)} was stopped.{progress}", icon=":material/stop_circle:")
    st.button("Start again", key=f"again-{state.key}", on_click=_again, args=(state.key,))


def _left(state: JobState) -> str:
    """What is left, once a tenth has shown the pace."""
    if state.fraction < 0.1 or state.seconds < 2:
        return ""
    return f", about {duration_text(state.seconds * (1 / state.fraction - 1))} left"
