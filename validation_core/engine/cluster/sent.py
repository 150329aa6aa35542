"""A task on its way through a cluster."""

from __future__ import annotations

import uuid
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from validation_core import keys
from validation_core.engine.cluster import remote
from validation_core.engine.cluster.remote import Name
from validation_core.engine.job import Report, Task, needs_gpu
from validation_core.store import Store

if TYPE_CHECKING:
    from validation_core.engine.cluster.executor import DaskExecutor


class Sent(Future[Any]):
    """A task's future; cancelling it stops the task at its next report."""

    def __init__(self, executor: DaskExecutor, task: Task, store: Store, report: Report) -> None:
        super().__init__()
        self.id = uuid.uuid4().hex
        self.task = keys.encode(task)
        self.gpu = needs_gpu(task)
        self.store = store
        self.report = report
        self.asked: set[Name] = set()
        """What a worker lacked of the store."""
        self.remote: Any = None
        self._executor = executor
        self._named: frozenset[Name] = frozenset(
            ("models", key) for what in ("needs", "makes") for key in getattr(task, what, ())
        )

    def cancel(self) -> bool:
        """Stop the task, waiting or running."""
        return super().cancel() or self._executor.stop(self)

    def settle(self, error: BaseException | None = None) -> None:
        """It has ended, well or by an error, unless it was settled meanwhile."""
        with suppress(InvalidStateError):
            if error is None:
                self.set_result(None)
            else:
                self.set_exception(error)

    def message(self) -> dict[str, Any]:
        """The task, what the store has of what it names, and what a worker has asked for."""
        entries = remote.find(self.store, sorted(self.asked))
        absent = self.asked - {entry.name for entry in entries}
        rest = self._named - self.asked
        present = {name for name in rest if self.store.has(*name)}
        return {
            "task": self.task,
            "id": self.id,
            "given": [entry.plain() for entry in entries],
            "held": sorted(present),
            "absent": sorted(absent | (rest - present)),
        }
