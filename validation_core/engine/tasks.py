"""What the engine runs: tasks, and the one function that runs them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Executor, Future
from typing import Any, Protocol, TypeVar

from validation_core.store import JSON, Store

T = TypeVar("T")
Report = Callable[[float, Mapping[str, JSON]], None]
"""Told the fraction done and a small payload that a page may draw while the task runs."""


class Task(Protocol):
    """A frozen dataclass of this package whose result lands in the store.

    A task may name store keys that it `makes` and that it `needs` (networks, kind "models"): it
    then waits while another task under way makes what it needs. It may say by `gpu` whether it
    runs a network; one that says nothing is taken to, so that it queues where networks run on a
    GPU and is never the second one there.
    """

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


class TaskError(RuntimeError):
    """Why a task failed in another process, in words for a user."""


class Stopped(Exception):
    """Raised inside a task that nobody waits for any more."""


def needs_gpu(task: Task) -> bool:
    """Whether a task queues for the GPU, where there is one."""
    return bool(getattr(task, "gpu", True))


def perform(task: Task, store: Store, report: Report) -> None:
    """Run one task: what executors are given."""
    task.run(store, report)


def readable(error: BaseException) -> str:
    """An exception in a line a user can act on."""
    text = str(error).strip()
    if isinstance(error, ValueError | TaskError) and text:
        return text
    if isinstance(error, MemoryError):
        return "Not enough memory for this; choose smaller sizes."
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


class SerialExecutor(Executor):
    """Runs each task where it is submitted."""

    slots = 1

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        """A future that has ended already."""
        future: Future[T] = Future()
        future.set_running_or_notify_cancel()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future
