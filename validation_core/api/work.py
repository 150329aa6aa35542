"""Long work of the API: progress, sharing with helper processes, and engines."""

from __future__ import annotations

import ctypes
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from operator import attrgetter
from typing import Any, Protocol

from validation_core.engine import Engine, JobState, Task, WorkerPool
from validation_core.engine.start import executor
from validation_core.engine.task import perform
from validation_core.keys import JSON
from validation_core.store import Store

_ME = "api"


class Watch(Protocol):
    """Receives the progress of some work."""

    every: float
    """Seconds between progress reports of work in other processes."""

    def note(self, text: str) -> None:
        """Called with a message for the user, such as where results are kept."""
        ...

    def begin(self, label: str) -> None:
        """Called when a piece of work begins, unless it is done already."""
        ...

    def progress(self, done: int, part: float, total: int, seconds: float) -> None:
        """Called with the pieces done and running, their total, and the seconds elapsed."""
        ...

    def end(self, task: Task, seconds: float, store: Store) -> None:
        """Called when a piece of work has stored its result, with the seconds elapsed."""
        ...

    def late(self, task: Task) -> None:
        """Called when the time budget was spent before this piece."""
        ...

    def left_out(self, question: str) -> None:
        """Called for a question that takes long on this table, and is asked only by name."""
        ...


class SilentProgress:
    """Reports no progress; messages for the user become warnings."""

    every = 0.2

    def note(self, text: str) -> None:
        warnings.warn(text, UserWarning, stacklevel=2)

    def begin(self, label: str) -> None: ...
    def progress(self, done: int, part: float, total: int, seconds: float) -> None: ...
    def end(self, task: Task, seconds: float, store: Store) -> None: ...
    def late(self, task: Task) -> None: ...
    def left_out(self, question: str) -> None: ...


class _Bar(SilentProgress):
    """A progress bar of tqdm: text on a terminal, a widget in a notebook."""

    def __init__(self) -> None:
        with warnings.catch_warnings():  # without ipywidgets the bar is text
            warnings.simplefilter("ignore")
            from tqdm.auto import tqdm
        self._bar: Any = tqdm(total=1, leave=False, bar_format="{l_bar}{bar}| {elapsed}")

    def note(self, text: str) -> None:
        self._bar.write(text, file=sys.stderr)

    def begin(self, label: str) -> None:
        self._bar.set_description(label)

    def progress(self, done: int, part: float, total: int, seconds: float) -> None:
        self._bar.total = total
        self._bar.n = min(done + part, total)
        self._bar.refresh()

    def late(self, task: Task) -> None:
        self.note(f"out of time before: {task.label}")

    def left_out(self, question: str) -> None:
        self.note(f"left out of a table this large: {question}; ask for it by name")

    def close(self) -> None:
        self._bar.close()


@contextmanager
def progress_watch(progress: bool | Watch) -> Iterator[Watch]:
    """The watch of some work: a bar where somebody watches, else silence."""
    if not isinstance(progress, bool):
        yield progress
        return
    if not progress or not _watched():
        yield SilentProgress()
        return
    bar = _Bar()
    try:
        yield bar
    finally:
        bar.close()


def _watched() -> bool:
    """Whether somebody sees a bar: at a terminal, or in a notebook, whose cells may ask for input.

    What is executed for its outputs (nbclient, nbconvert, papermill) may not, and would keep every
    state of the bar.
    """
    kernel = getattr(sys.modules.get("ipykernel.kernelapp"), "IPKernelApp", None)
    if kernel is None or not kernel.initialized():
        return sys.stderr.isatty()
    request = kernel.instance().kernel.get_parent("shell")
    return bool(request.get("content", {}).get("allow_stdin", False))


class _OutOfTime(Exception):
    """The time budget of some work is spent."""


_LOOK = 0.2  # seconds between two checks of the clock while helpers work


class SharedQueue:
    """A queue of tasks: this process takes from its front, and helpers from its back.

    A task that reads a network starts only after its training. Tasks that a helper cannot run,
    such as a method defined in this process alone, are returned to the queue.

    Args:
        queue: tasks whose results are missing.
        store: of the results.
        pool: the helpers; None for none.
    """

    def __init__(self, queue: Sequence[Task], store: Store, pool: WorkerPool | None) -> None:
        self._left, self._here = list(queue), list[Task]()
        self._with_helpers: dict[Future[None], Task] = {}
        self._refused, self._ended = list[Task](), list[Task]()
        self._store, self._pool = store, pool
        self._changed = threading.Condition(threading.RLock())

    @property
    def waiting(self) -> Sequence[Task]:
        """Tasks that have not ended, as far as this process knows."""
        with self._changed:
            return [*self._left, *self._with_helpers.values(), *self._ended]

    def ended(self) -> list[Task]:
        """Tasks that helpers have finished since the last call."""
        with self._changed:
            ended, self._ended = self._ended, []
            return ended

    def take(self) -> Task | None:
        """The next task of this process; None, after a wait, when helpers have all of them."""
        with self._changed:
            self._here.clear()
            self._give_out()
            task = self._able()
            if task is None and self._take_back():
                task = self._able()
            if task is not None:
                self._left.remove(task)
                self._here.append(task)
            elif not self._ended:
                self._changed.wait(_LOOK)
            return task

    def _able(self) -> Task | None:
        """The first task that waits for no helper."""
        coming = _made_by(self._with_helpers.values())
        return next((task for task in self._left if coming.isdisjoint(task.needs)), None)

    def _give_out(self) -> None:
        """Give each idle helper a task that it can start."""
        while self._pool and len(self._with_helpers) < self._pool.slots:
            coming = _made_by([*self._left, *self._with_helpers.values(), *self._here])
            able = [
                task
                for task in self._left
                if coming.isdisjoint(task.needs) and task not in self._refused
            ]
            if not able:
                return
            task = able[-1]
            self._left.remove(task)
            future = self._pool.submit(perform, task, self._store, _unheard)
            self._with_helpers[future] = task
            future.add_done_callback(self._back)

    def _take_back(self) -> bool:
        """Take back a task that no helper has begun; returns whether one was."""
        # Cancelling by the pool would end a helper that begins it right now.
        return any(Future.cancel(future) for future in list(self._with_helpers))

    def _back(self, future: Future[None]) -> None:
        with self._changed:
            task = self._with_helpers.pop(future)
            if future.cancelled() or future.exception():
                self._refused.append(task)
                self._left.insert(0, task)
            else:
                self._ended.append(task)
                with suppress(RuntimeError):  # the helpers are being ended
                    self._give_out()
            self._changed.notify()


def _made_by(tasks: Iterable[Task]) -> frozenset[str]:
    """Keys of the results of these tasks."""
    return frozenset(key for task in tasks for key in task.makes)


def _unheard(fraction: float, live: Mapping[str, JSON]) -> None:
    """Ignore the progress of a helper."""


def run_in_turn(
    queue: Sequence[Task],
    store: Store,
    watch: Watch,
    budget: float | None = None,
    *,
    helpers: WorkerPool | None = None,
    label: Callable[[Task], str] = attrgetter("label"),
) -> None:
    """Run the tasks whose results are missing, one after the other, in this process.

    Args:
        queue: tasks in order.
        store: of the results.
        watch: receives the progress.
        budget: seconds after which the work stops.
        helpers: worker processes that run tasks from the end meanwhile.
        label: description of a task for the watch.
    """
    start, total = time.perf_counter(), len(queue)
    known = [task for task in queue if task.done(store)]
    missing = [task for task in queue if task not in known]
    shared = SharedQueue(missing, store, helpers)
    ended, done = known, 0

    def heard(fraction: float, live: Mapping[str, JSON]) -> None:
        seconds = time.perf_counter() - start
        if budget is not None and seconds > budget:
            raise _OutOfTime
        watch.progress(done, fraction, total, seconds)

    while True:
        for task in ended:
            done += 1
            watch.end(task, time.perf_counter() - start, store)
        waiting = shared.waiting
        if not waiting:
            return
        own = shared.take()
        try:
            heard(0.0, {})
            if own is not None and not own.done(store):
                watch.begin(label(own))
                own.run(store, heard)
        except _OutOfTime:
            watch.late(own or waiting[0])
            return
        _release_memory()  # a table may fill most of the memory
        ended = [*([own] if own else []), *shared.ended()]


def _release_memory() -> None:
    """Return free memory to the system, where the C library can: about 50 MB after heavy use."""
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # musl has none
        if trim is not None:
            trim(0)


def run_on_engine(
    tasks: Sequence[Task], store: Store, watch: Watch, label: str, engine: str | None = None
) -> JobState:
    """Run tasks on an engine, and watch them.

    Args:
        tasks: to run.
        store: of the results.
        watch: receives the progress and the notices of the store.
        label: description of the work.
        engine: `local` for worker processes, `serial` for this one, `dask:ADDRESS` for a cluster,
            `dask:ADDRESS,local` for one that may be replaced by this machine; None as the
            environment says (NPTLAB_ENGINE, NPTLAB_SCHEDULER), which is `local` by default.

    Returns:
        The final state of the job; some of its tasks may have failed.

    Raises:
        ValueError: for an unknown engine, or a cluster that does not answer.
    """
    runner = Engine(store, executor(engine, watch.note))
    past_notices: set[str] = set()
    try:
        job = runner.submit(tasks, _ME, label)
        watch.begin(label)
        state = job.snapshot()
        while state.active:
            state = runner.wait(job.key, _ME, timeout=watch.every)
            for notice in [notice for notice in store.notices if notice not in past_notices]:
                past_notices.add(notice)
                watch.note(notice)
            part = state.fraction * state.total - state.done
            watch.progress(state.done, part, state.total, state.seconds)
    finally:
        runner.close()
    return state
