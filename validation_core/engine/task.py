"""Tasks, and the one function that runs them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Executor, Future
from typing import ParamSpec, Protocol, TypedDict, TypeVar

from validation_core.keys import JSON
from validation_core.store import Store, StoreFullError, StorePlace

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
