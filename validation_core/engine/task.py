"""Tasks, and the one function that runs them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from concurrent.futures import Executor, Future
from typing import ParamSpec, Protocol, Self, TypedDict, TypeVar

from validation_core.keys import JSON
from validation_core.store import Store, StoreFullError, StorePlace
from validation_core.study import Report

T = TypeVar("T")
P = ParamSpec("P")


class Task(Protocol):
    """A frozen dataclass of this package whose result is kept in the store.

    It waits while another running task makes a result that it needs. Tasks that may run a network
    run one at a time on a GPU.
    """

    @property
    def makes(self) -> Collection[str]:
        """Keys of networks (kind "models") that it writes."""
        ...

    @property
    def needs(self) -> Collection[str]:
        """Keys of networks that it reads."""
        ...

    @property
    def gpu(self) -> bool:
        """Whether it may run a network."""
        ...

    @property
    def label(self) -> str:
        """A description in one line."""
        ...

    @property
    def key(self) -> str:
        """Its key: `keys.key(self)`."""
        ...

    def done(self, store: Store) -> bool:
        """Whether the store holds its result."""
        ...

    def run(self, store: Store, report: Report) -> None:
        """Compute and store the result."""
        ...


class JoinableTask(Task, Protocol):
    """A task that runs on a GPU together with others like it at the cost of one."""

    @property
    def alike(self) -> Hashable | None:
        """Equal for tasks that may run as one; None for a task that runs alone."""
        ...

    def joined(self, others: Sequence[Self]) -> Task:
        """The task that does the work of this one and of others."""
        ...


class TaskRequest(TypedDict):
    """One line of input of a worker process: a task and the location of its store."""

    task: JSON
    store: StorePlace


class TaskReply(TypedDict, total=False):
    """One line of output of a worker: ready with a device, progress, or the end of a task."""

    ready: str
    progress: tuple[float, Mapping[str, JSON]]
    done: bool
    error: str
    notices: Sequence[str]


class TaskError(RuntimeError):
    """Failure of a task in another process, with a message for the user."""


class TaskStopped(Exception):
    """Raised inside a task that has no subscribers any more."""


def perform(task: Task, store: Store, report: Report) -> None:
    """Run one task; the function that executors are given."""
    task.run(store, report)


def on_gpu(device: str) -> bool:
    """Whether a device, as torch names it, is a GPU that tasks take turns on."""
    return device.startswith("cuda")


def describe_error(error: BaseException) -> str:
    """An exception as a one-line message for the user."""
    text = str(error).strip()
    if isinstance(error, ValueError | TaskError | StoreFullError) and text:
        return text
    if isinstance(error, MemoryError):
        return "Not enough memory for this; choose smaller sizes."
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


class SerialExecutor(Executor):
    """Runs each task in the thread that submits it."""

    slots = 1

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Run at once; returns a finished future."""
        future: Future[T] = Future()
        future.set_running_or_notify_cancel()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future


def numpy_as_json(value: object) -> JSON:
    """`default` of `json.dumps` for numpy numbers and arrays in reports."""
    if hasattr(value, "tolist"):
        numbers: JSON = value.tolist()
        return numbers
    raise TypeError(f"A report holds plain values; got {type(value).__name__}.")
