"""Jobs on a page: submit, watch, stop. They run in the engine, never in a page.

    state = jobs.ensure(tasks, "Train 7 classifiers", start=True)
    if state is None: draw the results that the store holds
    else:             jobs.panel(state)

A page may do this at every run: all sessions that submit the same tasks share one computation.
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
from validation_core.text import count_text, duration_text, list_text, rough_duration_text

T = TypeVar("T")
_POLLS = ((10.0, 0.3), (60.0, 1.0), (math.inf, 3.0))
"""Largest age of a job and interval between polls of it, in seconds."""
_ADDRESS = re.compile(r"(?<=:)(?=//)|(?<=www)(?=\.)|(?=@)", re.IGNORECASE)
_LATE = (1.5, 5.0)  # times and seconds more than promised from which on it takes longer
_FETCH = 3.0  # seconds that a browser may take to fetch a prepared download


def ensure(
    tasks: Sequence[Task], label: str, *, start: bool, again: bool = False
) -> JobState | None:
    """The job of these tasks, or None when the store holds every result or none was submitted.

    Args:
        tasks: of the job.
        label: description of the job.
        start: submit the missing tasks, or join their job. A failed job is not restarted, nor
            one that was stopped while this session looked on: a page may pass True at every run.
        again: restart such a job too: for a button that was pressed.
    """
    store, engine = services()
    if all(task.done(store) for task in tasks):
        return None
    known = engine.find(job_key(tasks))
    state = known.snapshot() if known else None
    given_up = state is not None and (state.state == "failed" or _stopped_here(state))
    if again or (start and not given_up):
        return _submit(tasks, label)
    return state


def _shown() -> set[str]:
    """Keys of the jobs that this session started or saw under way."""
    keys: set[str] = st.session_state.setdefault("shown-jobs", set())
    return keys


def _stopped_here(state: JobState) -> bool:
    """Whether a job was stopped while this session looked on."""
    return state.state == "cancelled" and state.key in _shown()


def _submit(tasks: Sequence[Task], label: str) -> JobState:
    """Submit these tasks; over a quota, the result is a failed job with the reason."""
    engine, key = services().engine, job_key(tasks)
    under_way = {job.key: job for job in engine.jobs() if job.ended is None and job.key != key}
    own = sum(visitor() in job.watchers for job in under_way.values())
    why = "" if visitors.is_admin() else quotas.too_many_jobs(own, len(under_way))
    if not why:
        _shown().add(key)
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
    """`ensure` for a session that has at most one job of this name; the job starts by itself.

    The session leaves its last job as soon as it needs another one, or none. A job stopped while
    it was shown stays stopped until the session returns to it.
    """
    key = job_key(tasks) if tasks else ""
    before = st.session_state.get(f"only-{name}", "")
    state = ensure(tasks, label, start=True)
    if before and before != key:  # only now: tasks of both jobs go on
        services().engine.leave(before, visitor())
        _shown().discard(before)
    st.session_state[f"only-{name}"] = key
    return state


def lacking(name: str, asked: Hashable, tasks: Callable[[], Sequence[Task]]) -> Sequence[Task]:
    """Tasks that were missing when the session first needed them; none once all are done.

    The list, and so the job, stays the same while they run. It has the trainings of networks that
    a missing task reads.
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
    """The callback of a button that submits these tasks, again after a failure."""

    def press() -> None:
        ensure(tasks, label, start=True, again=True)

    return press


def latest(tasks: Sequence[Task]) -> JobState | None:
    """The last job of any visitor that has one of these tasks, unless it succeeded.

    One that was stopped counts for the sessions that looked on: others are offered to start it.
    Trainings are ignored where there are other tasks: several jobs may need the same network.
    """
    own = [task for task in tasks if not isinstance(task, TrainTask)] or tasks
    wanted = {task.key for task in own}
    for job in services().engine.jobs():
        if wanted & {task.key for task in job.tasks}:
            state = job.snapshot()
            counts = state.active or state.state == "failed" or _stopped_here(state)
            return state if counts else None
    return None


def offer(task: Task, button: str, *, key: str, icon: str, about: str = "") -> None:
    """A button that runs a task, with a caption below it; once it was pressed, its progress."""
    state = latest([task])
    if state is None:
        st.button(button, key=key, icon=icon, on_click=starting([task], task.label))
        if about:
            st.caption(about)
    panel(state)


def panel(
    state: JobState | None, *, follow: bool = False, draw: Callable[[JobState], None] | None = None
) -> None:
    """Progress, and a button to stop or restart; the page reruns when the job ends.

    Args:
        state: from `ensure`; nothing is shown for None.
        follow: rerun the page whenever a task is done, for results that refine.
        draw: draws the payload of the running task, at each poll.
    """
    if state is not None:
        if state.active:
            _shown().add(state.key)
        watched = st.fragment(_watch, run_every=_poll(state) if state.active else None)
        watched(state, follow, draw)


def _poll(state: JobState) -> float:
    """Seconds between two polls of a job, longer for long jobs."""
    return next(interval for age, interval in _POLLS if state.seconds < age)


def undisturbed(make: Callable[[], T]) -> Callable[[], T]:
    """Wrap the maker of a download; polls then wait until the browser has fetched it.

    Streamlit drops such a file after two more runs, and a poll is one.
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
    """Notices of the store: a damaged file moved aside, a folder that cannot be written.

    They name folders of the server, so only its operator sees them.
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
    """Text escaped for Streamlit's Markdown, such as names in a user's file.

    Addresses, which become links however they are escaped, are parted by a sign without width.
    """
    line = _ADDRESS.sub("\u2060", " ".join(text.split()))
    return re.sub(r"([\\`*_\[\]<>#|~$:&])", r"\\\1", line)


def running(drawn: Sequence[str]) -> None:
    """Running jobs: the visitor's own, or all for an admin; the page reruns on changes."""
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
    """Running jobs, newest first."""
    states = (job.snapshot() for job in services().engine.jobs())
    return [state for state in states if state.active]


def _is_mine(key: str) -> bool:
    """Whether this visitor waits for a job."""
    job = services().engine.find(key)
    return job is not None and visitor() in job.watchers


def _again(key: str) -> None:
    job = services().engine.find(key)
    if job is not None:  # the page, which runs now, submits one that could not begin
        _submit(job.tasks, job.label)


def _resume(key: str) -> None:
    services().engine.resume(key, visitor())


def unfinished(job: Interrupted) -> None:
    """An unfinished job of an earlier server, with buttons to resume or delete it."""
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
    """Progress of a running job, and buttons to leave it, or to stop it for all."""
    engine = services().engine
    st.progress(state.fraction, text=f"{plain(state.label)}{_time(state)}")
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
        message = waiting_text(state.key) if state.state == "queued" else state.message
        if message != state.label:
            st.caption(plain(message))


def _ended(state: JobState) -> None:
    message = plain(state.message)
    if state.state == "failed":
        st.error(f"{plain(state.label)} failed. {message}", icon=":material/error:")
    else:
        progress = f" {state.done} of {state.total} results are kept." if state.done else ""
        st.info(f"{plain(state.label)} was stopped.{progress}", icon=":material/stop_circle:")
    st.button("Start again", key=f"again-{state.key}", on_click=_again, args=(state.key,))


def waiting_text(key: str) -> str:
    """Say behind what a queued job waits: the visitor's own jobs, by name where there is one, and
    others by number: those of a page that was closed may be anybody's."""
    ahead = [state for state in active() if state.key != key and state.state == "running"]
    own = [state.label for state in ahead if _is_mine(state.key)]
    mine = [f"\u201c{own[0]}\u201d"] if len(own) == 1 else [f"{len(own)} of your jobs"] * bool(own)
    others = len(ahead) - len(own)
    of_others = [count_text(others, "other job")] * (others > 0)
    behind = list_text([*mine, *of_others])
    return f"Waiting behind {behind}." if behind else "Waiting for a worker."


def _time(state: JobState) -> str:
    """How long a job has run, and the time left; nothing of one that waits for its turn."""
    if state.state == "queued":
        return ""
    seconds, left = state.seconds - state.waited, max(state.total - state.found, 1)
    done = (state.fraction * state.total - state.found) / left
    return f" · {duration_text(seconds)}{_left((state.key, state.started), seconds, done)}"


def _left(job: Hashable, seconds: float, done: float) -> str:
    """The remaining time, estimated once a quarter is done; it never rises.

    What takes long comes last: so much more is promised, the more so the earlier.
    """
    if done < 0.25 or seconds < 2:
        return ""
    estimate = seconds * (1 / done - 1) * (2 - done)
    ends: dict[Hashable, float] = st.session_state.setdefault("job-ends", {})
    left = falling(ends.get(job, math.inf) - seconds, estimate)
    if left is None:
        return ", longer than expected"
    ends[job] = seconds + left
    return f", {rough_duration_text(left)} left"


def falling(promised: float, estimate: float) -> float | None:
    """The seconds left to say: no more than what was promised; None once that is far too little.

    Args:
        promised: seconds left by what was said last, less what has passed since.
        estimate: seconds left by the progress so far.
    """
    if estimate > _LATE[0] * max(promised, 0) + _LATE[1]:
        return None
    return max(0.0, min(promised, estimate))
