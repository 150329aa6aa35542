"""Tasks on a Dask cluster, as an executor: submitted, watched, cancelled, their results kept.

Dask moves the data, runs a task elsewhere whose worker has died, and tells when none of several
workers survives it. Said here is which entries of the store go with a task, and that what comes
back is checked and saved as if the task had run on this machine.
"""

from __future__ import annotations

import json
import logging
import threading
import uuid
from collections.abc import Callable
from concurrent.futures import (
    CancelledError,
    Executor,
    Future,
    InvalidStateError,
    ThreadPoolExecutor,
)
from contextlib import suppress
from typing import Any, TypeVar, cast

from validation_core import keys, setting_checks
from validation_core.engine.cluster import worker
from validation_core.engine.cluster.checks import InvalidAnswer, checked_entries
from validation_core.engine.cluster.entries import Entry, load_read, nbytes
from validation_core.engine.cluster.scheduler import ClusterWorkers, SchedulerLink
from validation_core.engine.task import Task, TaskError, TaskStopped, perform
from validation_core.store import Store
from validation_core.study import Report

SCATTER_BYTES = 2**18
"""Entries of so many bytes are scattered once, smaller ones go with each task."""
_SCATTERED = 16  # of them that workers keep for the tasks to come
_EVERY = 2.0  # seconds between looks at who is there
_TRIES = 5  # times that a task is sent before it fails
_RETRIES = 2  # by Dask, of what fails outside the task
_log = logging.getLogger(__name__)
T = TypeVar("T")


class RemoteFuture(Future[None]):
    """A task's future; cancelling it stops the task at its next report."""

    def __init__(self, executor: DaskExecutor, task: Task, store: Store, report: Report) -> None:
        super().__init__()
        self.id = uuid.uuid4().hex
        self.task = task
        self.text = keys.canonical_text(task)
        self.store = store
        self.report = report
        self.tries = 0
        self.remote: Any = None
        """Dask's future."""
        self._executor = executor

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


class DaskExecutor(Executor):
    """An executor of tasks on the workers of a Dask scheduler.

    The connection is made in the background, and again when it was lost; until there is one,
    tasks fail with what to do about it. Workers run with one thread each (`--nthreads 1`).

    Args:
        address: of the scheduler, `tcp://host:port`.

    Raises:
        ValueError: when that is no address.
    """

    def __init__(self, address: str) -> None:
        address = setting_checks.scheduler(address)
        self._topic = f"nptlab-{uuid.uuid4().hex}"
        # One thread sends, one takes results and one passes reports on: each in order, and none
        # in another's way. The connection's own thread must not wait for anything, nor Dask's
        # for callbacks, which all connections of this process share.
        self._sender = ThreadPoolExecutor(1, "nptlab-send")
        self._receiver = ThreadPoolExecutor(1, "nptlab-receive")
        self._listener = ThreadPoolExecutor(1, "nptlab-hear")
        self.link = SchedulerLink(address, self._topic, self._hear)
        self.workers = ClusterWorkers(self.link)
        self.scattered: dict[str, Any] = {}
        """Dask's futures of large entries, by kind, key and content; used last stands last."""
        self._sent: dict[str, RemoteFuture] = {}
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._changed: Callable[[], None] = lambda: None
        threading.Thread(target=self._watch, daemon=True).start()

    @property
    def slots(self) -> int:
        """As many as the cluster has threads."""
        return self.workers.slots

    @property
    def gpus(self) -> int:
        """As many as the cluster declares; one where it computes on CUDA and declares none."""
        return self.workers.gpus

    @property
    def device(self) -> str:
        """Where workers train networks; empty until the first has said."""
        return self.workers.device

    def listen(self, changed: Callable[[], None]) -> None:
        """Call this when workers have come or gone."""
        self._changed = changed

    def connect(self) -> None:
        """Reach the scheduler now.

        Raises:
            ClusterUnreachable: when it does not answer within seconds.
        """
        self.workers.refresh()

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: object) -> Future[T]:
        """Send `perform(task, store, report)`, the only function that workers know."""
        if fn is not perform or kwargs or len(args) != 3:
            raise ValueError(
                f"Workers run engine.task.perform(task, store, report) only; got {fn!r}. "
                "Make it a task."
            )
        sent = RemoteFuture(self, *args)
        with self._lock:
            if self._closed.is_set():
                raise RuntimeError("A cluster that was let go takes no tasks. Start another.")
            self._sent[sent.id] = sent
            self._sender.submit(self._begin, sent)
        sent.add_done_callback(lambda ended: self._sent.pop(sent.id, None))
        return cast("Future[T]", sent)

    def stop(self, sent: RemoteFuture) -> bool:
        """Tell the cluster that nobody waits for a task any more."""
        if sent.done():
            return False
        sent.settle(CancelledError())
        with suppress(RuntimeError):  # shut down: the connection goes, and all tasks with it
            self._sender.submit(self._recall, sent)
        return True

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Cancel every task and let the cluster go."""
        del cancel_futures
        with self._lock:
            self._closed.set()
        for sent in list(self._sent.values()):
            sent.cancel()
        for threads in (self._sender, self._listener):
            threads.shutdown(wait=wait)
        self.link.close()
        self._receiver.shutdown(wait=wait)

    def _begin(self, sent: RemoteFuture) -> None:
        if sent.set_running_or_notify_cancel():
            self._send(sent)

    def _send(self, sent: RemoteFuture) -> None:
        if sent.done():
            return
        try:
            client = self.link.client()
            self.workers.flush_notices(sent.store)
            request: worker.ClusterRequest = {
                "task": sent.text,
                "versions": worker.required_versions(),
                "topic": self._topic,
                "name": sent.id,
            }
            given = [self._movable(client, entry) for entry in load_read(sent.task, sent.store)]
            sent.tries += 1
            sent.remote = client.submit(
                worker.call, "run_task", request, *given,
                key=f"nptlab-{uuid.uuid4().hex}", pure=False, retries=_RETRIES,
                **self.workers.where(sent.task.gpu),
            )  # fmt: skip
            sent.remote.add_done_callback(lambda ended: self._ended(sent, ended))
        except Exception as error:
            sent.settle(error)

    def _movable(self, client: Any, entry: Entry) -> Any:
        """An entry or, of a large one, the future that Dask moves to where it is read."""
        if nbytes(entry) < SCATTER_BYTES or not self.workers.fit:
            return entry
        name = f"{entry['kind']}/{entry['key']}/{keys.digest(**entry['arrays'])}"
        future = self.scattered.pop(name, None)
        if future is None or future.status != "finished":  # lost with the worker that had it
            try:
                (future,) = client.scatter([entry], hash=False)
            except Exception as error:  # that worker has died meanwhile
                _log.debug("Not scattered: %s", error)
                return entry
        self.scattered[name] = future
        for oldest in list(self.scattered)[:-_SCATTERED]:
            del self.scattered[oldest]
        return future

    def _ended(self, sent: RemoteFuture, ended: Any) -> None:
        with suppress(RuntimeError):  # shut down
            self._receiver.submit(self._back, sent, ended)

    def _back(self, sent: RemoteFuture, ended: Any) -> None:
        """Something came of a task."""
        try:
            result = outcome(ended)
            if isinstance(result, dict) and "differs" in result:
                raise InvalidAnswer(result["differs"])
            for name, stored in checked_entries(result, sent.task, sent.store).items():
                if not sent.store.has(*name):
                    arrays, meta, spec = stored
                    sent.store.save(*name, arrays, spec=spec, meta=meta)
            for notice in result["notices"]:
                sent.store.note(notice)
            stopped = CancelledError() if "stopped" in result else None
            sent.settle(TaskError(result["error"]) if "error" in result else stopped)
        except InvalidAnswer as error:
            self._again(sent, self.workers.refuse(self._who(ended), str(error)))
        except CancelledError:
            if self.link.lives:  # a worker has died that had what was scattered for it
                self._again(sent, _KILLED)
            else:
                lost = f"The Dask scheduler at {self.link.address} was lost while this ran. "
                sent.settle(TaskError(lost + "Start it again, then this; what was done is kept."))
        except Exception as error:
            killed = type(error).__name__ == "KilledWorker"
            sent.settle(TaskError(_KILLED) if killed else error)

    def _again(self, sent: RemoteFuture, reason: str) -> None:
        """Send a task once more, unless that has been tried often enough."""
        if sent.tries >= _TRIES or not self.workers.fit:
            sent.settle(TaskError(reason))
        else:
            with suppress(RuntimeError):  # shut down
                self._sender.submit(self._send, sent)

    def _who(self, ended: Any) -> str:
        """Which worker a result came from."""
        holders: list[str] = []
        with suppress(Exception):  # the scheduler has gone as well
            (holders,) = self.link.client().who_has([ended]).values()
        return str(next(iter(holders), "that has gone"))

    def _recall(self, sent: RemoteFuture) -> None:
        if sent.remote is not None and self.link.lives:
            with suppress(Exception):  # a cluster that is gone runs nothing
                sent.remote.cancel()

    def _hear(self, text: str) -> None:
        with suppress(RuntimeError):  # shut down
            self._listener.submit(self._report, text)

    def _report(self, text: str) -> None:
        name, fraction, live = json.loads(text)
        sent = self._sent.get(name)
        if sent is not None and not sent.done():
            with suppress(TaskStopped):  # it has been cancelled
                sent.report(fraction, live)

    def _watch(self) -> None:
        """Look who is there, now and again, and tell whoever listens."""
        while True:
            try:
                if self.workers.refresh():
                    self._changed()
                self.workers.meet()
            except Exception as error:  # the tasks that need the cluster say it aloud
                _log.debug("The cluster at %s: %s", self.link.address, error)
            if self._closed.wait(_EVERY):
                return


def outcome(ended: Any) -> Any:
    """What came of a task.

    Raises:
        CancelledError: where its connection was closed meanwhile. Dask would wait for ever.
    """
    while ended.client.status == "running":
        with suppress(TimeoutError):
            return ended.result(timeout=_EVERY)
    raise CancelledError


_KILLED = (
    "The processes of several workers ended while they ran this, most often for want of "
    "memory. Choose smaller sizes, or give workers more (`dask worker --memory-limit`)."
)
