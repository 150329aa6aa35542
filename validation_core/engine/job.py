"""A job: some tasks that are wanted together, and how far they are."""

from __future__ import annotations

import hashlib
import os
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field
from typing import ClassVar, Literal, NamedTuple, ParamSpec, Protocol, TypedDict, TypeVar, cast

import numpy as np

from validation_core import keys
from validation_core.keys import JSON, Arrays, Specification
from validation_core.rng import stream
from validation_core.store import Store, StoreFullError, StorePlace

State = Literal["queued", "running", "done", "cancelled", "failed"]
ACTIVE: tuple[State, ...] = ("queued", "running")


@dataclass(frozen=True)
class JobState:
    """A job at one moment: what a page shows of it."""

    key: str
    label: str
    state: State
    fraction: float
    done: int
    total: int
    message: str
    live: Mapping[str, JSON]
    """What the task that reported last had to show."""
    started: float
    """When it was asked for, in seconds since 1970."""
    seconds: float
    subscribers: int
    failures: Mapping[str, str]
    """What went wrong, by the key of each task that failed; the others go on."""

    @property
    def active(self) -> bool:
        """Whether it waits or works."""
        return self.state in ACTIVE

    @property
    def history(self) -> Mapping[str, Sequence[float]]:
        """The course of the training that reported last, as `models.trace` tells it."""
        return cast("Mapping[str, Sequence[float]]", self.live.get("history") or {})


class Interrupted(NamedTuple):
    """A job that a server left unfinished; `problem` says why it cannot be resumed.

    `subscriber` is who asked for it first.
    """

    key: str
    label: str
    done: int
    total: int
    created: float
    problem: str = ""
    subscriber: str = ""


def job_key(tasks: Sequence[Task]) -> str:
    """The key of the job of these tasks."""
    return keys.key(tuple(task.key for task in tasks))


@dataclass(eq=False)
class TaskRun:
    """One task under way, for every job that waits for it."""

    task: Task
    key: str
    state: State = "queued"
    fraction: float = 0.0
    live: Mapping[str, JSON] = field(default_factory=dict)
    error: str = ""
    stopped: bool = False
    future: Future[None] | None = None
    jobs: list[Job] = field(default_factory=list)
    makes: frozenset[str] = frozenset()
    needs: frozenset[str] = frozenset()
    gpu: bool = True

    def __post_init__(self) -> None:
        self.makes, self.needs = frozenset(self.task.makes), frozenset(self.task.needs)
        self.gpu = self.task.gpu

    @property
    def begun(self) -> bool:
        """Whether somebody works on it: a worker may still be starting."""
        return self.future is None or self.future.running() or self.future.done()


class Job:
    """Tasks that are wanted together, and by whom."""

    def __init__(
        self, key: str, label: str, tasks: tuple[Task, ...], lock: threading.RLock
    ) -> None:
        self.key = key
        self.label = label
        self.tasks = tasks
        self.total = len({task.key for task in tasks})
        self.runs: list[TaskRun] = []
        self.watchers: dict[str, float] = {}
        self.cancelled = False
        self.latest: TaskRun | None = None
        self.served = 0  # when it last got a turn; never
        self.ended: float | None = None  # by the clock that nobody sets
        self.started = time.time()
        self._began = time.monotonic()
        self._lock = lock

    @property
    def state(self) -> State:
        """What it does now, or how it ended."""
        states = {run.state for run in self.runs}
        if self.cancelled:
            return "cancelled"
        if "running" in states or ("queued" in states and states - {"queued"}):
            return "running"
        if "queued" in states:
            return "queued"
        return "failed" if states - {"done"} else "done"

    def snapshot(self) -> JobState:
        """The job at this moment."""
        with self._lock:
            left = sum(run.state != "done" for run in self.runs)
            parts = sum(run.fraction for run in self.runs if run.state == "running")
            done = self.total - left
            return JobState(
                key=self.key,
                label=self.label,
                state=self.state,
                fraction=min((done + parts) / self.total, 1.0) if self.total else 1.0,
                done=done,
                total=self.total,
                message=self._message(done),
                live=self.latest.live if self.latest else {},
                started=self.started,
                seconds=(self.ended or time.monotonic()) - self._began,
                subscribers=len(self.watchers),
                failures={run.key: run.error for run in self.runs if run.state == "failed"},
            )

    def _message(self, done: int) -> str:
        failed = [run for run in self.runs if run.state == "failed"]
        if failed and self.state == "failed":
            more = f" ({len(failed)} of {self.total} failed)" if self.total > 1 else ""
            return f"{failed[0].task.label}: {failed[0].error}{more}"
        if self.state == "queued":
            return "Waiting for its turn"
        sent = [run for run in self.runs if run.state == "running"]
        if sent and not any(run.begun for run in sent):
            return "Waiting for a worker"
        running = next((run for run in sent if run.begun), None)
        now = self.latest if self.latest and self.latest.state == "running" else running
        count = f"{done} of {self.total} done" if self.total > 1 else ""
        return " · ".join(part for part in (count, now.task.label if now else "") if part)


# ---- What the engine runs: tasks, and the one function that runs them ----


T = TypeVar("T")
P = ParamSpec("P")
Report = Callable[[float, Mapping[str, JSON]], None]
"""Told the fraction done and a small payload that a page may draw while the task runs."""


class Task(Protocol):
    """A frozen dataclass of this package whose result lands in the store.

    It waits while another task under way makes what it needs. One that may run a network queues
    where networks run on a GPU, and is never the second one there.
    """

    @property
    def makes(self) -> Collection[str]:
        """Keys of the store (networks, kind "models") that it writes."""
        ...

    @property
    def needs(self) -> Collection[str]:
        """Those that it reads."""
        ...

    @property
    def gpu(self) -> bool:
        """Whether it may run a network."""
        ...

    @property
    def label(self) -> str:
        """What it does, in a line."""
        ...

    @property
    def key(self) -> str:
        """Its name: `keys.key(self)`."""
        ...

    def done(self, store: Store) -> bool:
        """Whether the store holds its result."""
        ...

    def run(self, store: Store, report: Report) -> None:
        """Compute, and write the result into the store."""
        ...


class TaskRequest(TypedDict):
    """What a worker process reads, a line each: a task and where its store is."""

    task: JSON
    store: StorePlace


class TaskReply(TypedDict, total=False):
    """What it writes, a line each: that it is ready and with what, how far it is, how it ended."""

    ready: str
    progress: tuple[float, Mapping[str, JSON]]
    done: bool
    error: str
    notices: Sequence[str]


class TaskError(RuntimeError):
    """Why a task failed in another process, in words for a user."""


class TaskStopped(Exception):
    """Raised inside a task that nobody waits for any more."""


def perform(task: Task, store: Store, report: Report) -> None:
    """Run one task: what executors are given."""
    task.run(store, report)


def describe_error(error: BaseException) -> str:
    """An exception in a line a user can act on."""
    text = str(error).strip()
    if isinstance(error, ValueError | TaskError | StoreFullError) and text:
        return text
    if isinstance(error, MemoryError):
        return "Not enough memory for this; choose smaller sizes."
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


class SerialExecutor(Executor):
    """Runs each task where it is submitted."""

    slots = 1

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """A future that has ended already."""
        future: Future[T] = Future()
        future.set_running_or_notify_cancel()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future


def numpy_as_json(value: object) -> JSON:
    """JSON for the numbers and arrays of numpy that tasks report, as `json.dumps` asks for it."""
    if hasattr(value, "tolist"):
        numbers: JSON = value.tolist()
        return numbers
    raise TypeError(f"A report holds plain values; got {type(value).__name__}.")


# ---- A small task that shows whether workers work, and agree with this process to the bit ----


_SIZE = 50_000


@dataclass(frozen=True, kw_only=True)
class SelfCheck(Specification, spec="self_check"):
    """Draw random numbers, sort them, and store a fingerprint of every bit."""

    gpu: ClassVar[bool] = False
    makes: ClassVar[Collection[str]] = ()
    needs: ClassVar[Collection[str]] = ()

    seed: int = 0
    rounds: int = 20

    @property
    def label(self) -> str:
        """What it does, in a line."""
        return f"Check of a worker, seed {self.seed}"

    def done(self, store: Store) -> bool:
        """Whether the store holds its fingerprint."""
        return store.has("results", self.key)

    def run(self, store: Store, report: Report) -> None:
        """Compute and store; about 3 ms a round.

        Raises:
            ValueError: when there is nothing to compute.
        """
        start = time.perf_counter()
        arrays = self._numbers(report)
        meta = {"label": self.label, "seconds": time.perf_counter() - start, "pid": os.getpid()}
        store.save("results", self.key, arrays, spec=keys.canonical_text(self), meta=meta)

    def agrees(self, store: Store) -> bool:
        """Whether the stored fingerprint is what this process computes, to the bit."""
        stored = store.load("results", self.key)
        here = self._numbers(lambda fraction, live: None)
        return stored is not None and keys.digest(**stored.arrays) == keys.digest(**here)

    def _numbers(self, report: Report) -> Arrays:
        if self.rounds < 1:
            raise ValueError(f"A check needs at least one round; got {self.rounds}. Raise it.")
        rng, hasher = stream(self.seed, "self check"), hashlib.sha256()
        means = np.empty(self.rounds)
        for i in range(self.rounds):
            numbers = np.exp(np.sort(rng.standard_normal(_SIZE)))
            hasher.update(numbers.tobytes())
            means[i] = numbers.mean()
            report((i + 1) / self.rounds, {"round": i + 1})
        return {"means": means, "fingerprint": np.frombuffer(hasher.digest(), np.uint8)}
