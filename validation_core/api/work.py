"""Long work of the front door, under a bar, and what every answer of it can do."""

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

_ME = "front door"


class Watch(Protocol):
    """What hears how far some work is."""

    every: float
    """Seconds between what it is told of work that runs elsewhere."""

    def note(self, text: str) -> None:
        """Something a user should know, such as where results are kept."""
        ...

    def begin(self, label: str) -> None:
        """A piece of work begins, if it is not done already."""
        ...

    def progress(self, done: int, part: float, total: int, seconds: float) -> None:
        """Pieces done and under way, of how many, and the time since the first began."""
        ...

    def end(self, task: Task, seconds: float, store: Store) -> None:
        """A piece of work has left its result in the store, so long after the first began."""
        ...

    def late(self, task: Task) -> None:
        """The time that the work was given was spent before this piece."""
        ...

    def left_out(self, question: str) -> None:
        """A question takes long on a table this large, and is asked by its name only."""
        ...


class SilentProgress:
    """Says nothing but what a user must know: as warnings."""

    every = 0.2

    def note(self, text: str) -> None:
        warnings.warn(text, UserWarning, stacklevel=2)

    def begin(self, label: str) -> None: ...
    def progress(self, done: int, part: float, total: int, seconds: float) -> None: ...
    def end(self, task: Task, seconds: float, store: Store) -> None: ...
    def late(self, task: Task) -> None: ...
    def left_out(self, question: str) -> None: ...


class _Bar:
    """A progress bar of tqdm: text on a terminal, a widget in a notebook."""

    every = 0.2

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

    def end(self, task: Task, seconds: float, store: Store) -> None: ...
    def late(self, task: Task) -> None:
        self.note(f"out of time before: {task.label}")

    def left_out(self, question: str) -> None:
        self.note(f"left out of a table this large: {question}; ask for it by name")

    def close(self) -> None:
        self._bar.close()


@contextmanager
def progress_watch(progress: bool | Watch) -> Iterator[Watch]:
    """What is told of the work: a bar where somebody may see it, else nothing."""
    if not isinstance(progress, bool):
        yield progress
        return
    # A kernel's standard error is no terminal, and is looked at all the same.
    if not progress or not (sys.stderr.isatty() or "ipykernel" in sys.modules):
        yield SilentProgress()
        return
    bar = _Bar()
    try:
        yield bar
    finally:
        bar.close()


class _OutOfTime(Exception):
    """The time that some work was given has gone."""


_LOOK = 0.2  # seconds between two looks at a clock while helpers work


class SharedQueue:
    """Tasks that this process takes from the front of a queue, and helpers from its back.

    Nobody begins what reads a network that is still to come. What a helper cannot do, such as a
    method that only this process knows, comes back.

    Args:
        queue: tasks whose results are missing.
        store: where results go.
        pool: the helpers; None for none.
    """

    def __init__(self, queue: Sequence[Task], store: Store, pool: WorkerPool | None) -> None:
        self._left, self._here = list(queue), list[Task]()
        self._lent: dict[Future[None], Task] = {}
        self._refused, self._ended = list[Task](), list[Task]()
        self._store, self._pool = store, pool
        self._changed = threading.Condition(threading.RLock())

    @property
    def waiting(self) -> Sequence[Task]:
        """What has not ended, as far as this process was told."""
        with self._changed:
            return [*self._left, *self._lent.values(), *self._ended]

    def ended(self) -> list[Task]:
        """What helpers have done since this was asked last."""
        with self._changed:
            ended, self._ended = self._ended, []
            return ended

    def take(self) -> Task | None:
        """The next for this process; None, after a while, where all is with helpers."""
        with self._changed:
            self._here.clear()
            self._lend()
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
        """The first that waits for no helper."""
        coming = _made_by(self._lent.values())
        return next((task for task in self._left if coming.isdisjoint(task.needs)), None)

    def _lend(self) -> None:
        """Give each helper without work something that it can begin."""
        while self._pool and len(self._lent) < self._pool.slots:
            coming = _made_by([*self._left, *self._lent.values(), *self._here])
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
            self._lent[future] = task
            future.add_done_callback(self._back)

    def _take_back(self) -> bool:
        """Whether something that no helper has begun, which may be starting, is here again."""
        # The pool's own way to cancel would end a helper that begins right now.
        return any(Future.cancel(future) for future in list(self._lent))

    def _back(self, future: Future[None]) -> None:
        with self._changed:
            task = self._lent.pop(future)
            if future.cancelled() or future.exception():
                self._refused.append(task)
                self._left.insert(0, task)
            else:
                self._ended.append(task)
                with suppress(RuntimeError):  # the helpers are being ended
                    self._lend()
            self._changed.notify()


def _made_by(tasks: Iterable[Task]) -> frozenset[str]:
    """Keys of what these leave in the store."""
    return frozenset(key for task in tasks for key in task.makes)


def _unheard(fraction: float, live: Mapping[str, JSON]) -> None:
    """How far a helper is: nobody looks."""


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
        queue: what is wanted, in order.
        store: where results go.
        watch: is told of each.
        budget: seconds; what would take longer is not run.
        helpers: worker processes that do some of it meanwhile, from the end.
        label: what the watch is told that a task is.
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
        _release_memory()  # a table may be nearly all that fits
        ended = [*([own] if own else []), *shared.ended()]


def _release_memory() -> None:
    """Give back what is free, where the C library can: after much of it was in use, 50 MB."""
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # musl has none
        if trim is not None:
            trim(0)


def run_on_engine(
    tasks: Sequence[Task], store: Store, watch: Watch, label: str, engine: str | None = None
) -> JobState:
    """Run tasks where `engine` says, and watch them.

    Args:
        tasks: what is wanted.
        store: where results go.
        watch: is told how far they are, and what the store has to say.
        label: what to call the work.
        engine: `local` for worker processes, `serial` for this one, `dask:ADDRESS` for a cluster,
            `dask:ADDRESS,local` for one that may be replaced by this machine; None as the
            environment says (NPTLAB_ENGINE, NPTLAB_SCHEDULER), which is `local` by default.

    Returns:
        How the job ended; some of its tasks may have failed.

    Raises:
        ValueError: for another name, or a cluster that does not answer.
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
