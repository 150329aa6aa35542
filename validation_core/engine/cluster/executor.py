"""Tasks on a Dask cluster, as an executor: sent, watched, cancelled, their results brought home.

A worker that dies is Dask's to replace: it runs the task elsewhere. What is decided here is what
travels: the task as JSON, and of the store what the worker asks for; back come the entries that
the task made, which are saved as if it had run here.
"""

from __future__ import annotations

import json
import logging
import threading
import uuid
from collections.abc import Callable, Mapping
from concurrent.futures import CancelledError, Executor, Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Any, TypeVar

from validation_core.engine.cluster import remote
from validation_core.engine.cluster.link import Link, wanted
from validation_core.engine.cluster.members import Members, unfit
from validation_core.engine.cluster.remote import Entry, Name
from validation_core.engine.cluster.sent import Sent
from validation_core.engine.job import Stopped, TaskError, perform

T = TypeVar("T")

_EVERY = 2.0  # seconds between looks at who is there
_log = logging.getLogger(__name__)


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
        host, _, port = address.rpartition(":")
        if not (host and port.isdecimal()):
            raise ValueError(
                f"A scheduler's address is like tcp://host:8786; got {address!r}. Copy the one "
                "that `dask scheduler` prints."
            )
        self._topic = f"nptlab-{uuid.uuid4().hex}"
        # One thread sends and one passes reports on: each in order, and neither in the other's
        # way. The connection's own thread must not wait for anything.
        self._sender = ThreadPoolExecutor(1, "nptlab-send")
        self._listener = ThreadPoolExecutor(1, "nptlab-hear")
        self._link = Link(address, self._topic, self._hear)
        self._members = Members(self._link)
        self._sent: dict[str, Sent] = {}
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._changed: Callable[[], None] = lambda: None
        threading.Thread(target=self._watch, daemon=True).start()

    @property
    def slots(self) -> int:
        """As many as the cluster has threads."""
        return self._members.slots

    @property
    def gpus(self) -> int:
        """As many as the cluster declares; one where it computes on CUDA and declares none."""
        return self._members.gpus

    @property
    def device(self) -> str:
        """Where workers train networks; empty until the first has said."""
        return self._members.device

    def listen(self, changed: Callable[[], None]) -> None:
        """Call this when workers have come or gone."""
        self._changed = changed

    def connect(self) -> None:
        """Reach the scheduler now.

        Raises:
            Unreachable: when it does not answer within seconds.
        """
        self._members.look()

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        """Send `perform(task, store, report)`, the only function that workers know."""
        if fn is not perform or kwargs or len(args) != 3:
            raise ValueError(
                f"Workers run engine.tasks.perform(task, store, report) only; got {fn!r}. "
                "Make it a task."
            )
        sent = Sent(self, *args)
        with self._lock:
            if self._closed.is_set():
                raise RuntimeError("A cluster that was let go takes no tasks. Start another.")
            self._sent[sent.id] = sent
            self._sender.submit(self._begin, sent)
        sent.add_done_callback(lambda ended: self._sent.pop(sent.id, None))
        return sent

    def stop(self, sent: Sent) -> bool:
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
        self._link.close()

    def _begin(self, sent: Sent) -> None:
        if sent.set_running_or_notify_cancel():
            self._send(sent)

    def _send(self, sent: Sent, worker: str = "") -> None:
        """Send a task; to a worker that has begun it, where there is one."""
        if sent.done():
            return
        try:
            client = self._link.client()
            self._members.tell(sent.store)
            message = {**sent.message(), "topic": self._topic, "versions": wanted()}
            options = {"key": f"nptlab-{uuid.uuid4().hex}", "pure": False}
            sent.remote = client.submit(
                remote.call, message, **options, **self._where(sent, worker)
            )
            sent.remote.add_done_callback(lambda ended: self._back(sent, ended))
        except Exception as error:
            sent.settle(error)

    def _where(self, sent: Sent, worker: str) -> dict[str, Any]:
        """Where Dask may run a task; it goes elsewhere when those workers have gone."""
        where: dict[str, Any] = {}
        if worker or self._members.mixed:
            where = {"workers": [worker] if worker else self._members.fit}
            where["allow_other_workers"] = True
        if sent.gpu and self._members.declared:
            where["resources"] = {"GPU": 1}
        return where

    def _back(self, sent: Sent, ended: Any) -> None:
        """Something came of a task (called from Dask's thread for that)."""
        try:
            answer = ended.result()
            ended.release()
            self._take(sent, answer)
        except CancelledError:
            lost = f"The Dask scheduler at {self._link.address} was lost while this ran. "
            sent.settle(TaskError(lost + "Start it again, then this; what was done is kept."))
        except Exception as error:
            sent.settle(_readable(error))

    def _take(self, sent: Sent, answer: Mapping[str, Any]) -> None:
        worker = answer["worker"]
        if "refused" in answer:
            self._refused(sent, worker, answer["refused"])
            return
        if answer["sources"] != remote.sources():
            self._members.doubt(worker)
        remote.put(sent.store, map(Entry.of, answer["entries"]))
        for notice in answer["notices"]:
            sent.store.note(notice)
        if "lacks" in answer:
            self._lend(sent, {(kind, key) for kind, key in answer["lacks"]}, worker)
        elif "error" in answer:
            sent.settle(TaskError(answer["error"]))
        else:
            sent.settle(CancelledError() if "stopped" in answer else None)

    def _refused(self, sent: Sent, worker: str, reason: str) -> None:
        self._members.refuse(worker, reason)
        if not self._members.fit:
            raise TaskError(unfit(worker, reason))
        self._sender.submit(self._send, sent)

    def _lend(self, sent: Sent, names: set[Name], worker: str) -> None:
        if names <= sent.asked:
            raise TaskError(
                f"The worker {worker} must keep what it is sent; it lacks {sorted(names)} again. "
                "Make room on its disk."
            )
        sent.asked |= names
        self._sender.submit(self._send, sent, worker)

    def _recall(self, sent: Sent) -> None:
        if sent.remote is not None and self._link.lives:
            with suppress(Exception):  # a cluster that is gone runs nothing
                sent.remote.cancel()

    def _hear(self, text: str) -> None:
        with suppress(RuntimeError):  # shut down
            self._listener.submit(self._report, text)

    def _report(self, text: str) -> None:
        name, fraction, live = json.loads(text)
        sent = self._sent.get(name)
        if sent is not None and not sent.done():
            with suppress(Stopped):  # it has been cancelled
                sent.report(fraction, live)

    def _watch(self) -> None:
        """Look who is there, now and again, and tell whoever listens."""
        while True:
            try:
                if self._members.look():
                    self._changed()
                self._members.meet()
            except Exception as error:  # the tasks that need the cluster say it aloud
                _log.debug("The cluster at %s: %s", self._link.address, error)
            if self._closed.wait(_EVERY):
                return


def _readable(error: Exception) -> Exception:
    if type(error).__name__ == "KilledWorker":
        return TaskError(
            "The processes of several workers ended while they ran this, most often for want of "
            "memory. Choose smaller sizes, or give workers more (`dask worker --memory-limit`)."
        )
    return error
