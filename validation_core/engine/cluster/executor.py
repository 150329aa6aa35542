"""Tasks on a Dask cluster, as an executor: sent, watched, cancelled, their results brought home.

A worker that dies is Dask's to replace: it runs the task elsewhere. What is decided here is what
travels: the task as JSON, and of the store what the worker asks for; back come the entries that
the task made, which are saved as if it had run here.
"""

from __future__ import annotations

import importlib
import logging
import socket
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import (
    CancelledError,
    Executor,
    Future,
    InvalidStateError,
    ThreadPoolExecutor,
)
from contextlib import suppress
from typing import Any, NamedTuple, TypeVar, cast

from validation_core import keys, setting_checks
from validation_core.engine.cluster.answers import (
    InvalidAnswer,
    RecheckSample,
    parse_answer,
    parse_entries,
    parse_progress,
)
from validation_core.engine.cluster.worker import (
    ClusterAnswer,
    ClusterMessage,
    Name,
    SentEntry,
    call,
    code_fingerprint,
    load_entries,
    numerical_versions,
    save_entries,
)
from validation_core.engine.task import Report, Task, TaskError, TaskStopped, perform
from validation_core.store import Store

CONNECT_SECONDS = 3.0  # seconds until somebody listens at a scheduler's address
_ANSWER = 30.0  # seconds that one who listens may take to answer: the machine may be busy
RETRY_SECONDS = 30.0  # seconds that one that did not answer is not asked again
_LARGE = "distributed.admin.large-graph-warning-threshold"
_INSTEAD = (
    "run on this machine: unset NPTLAB_SCHEDULER or set NPTLAB_FALLBACK=local; on the command "
    "line leave --engine out, or add `,local` to it."
)


class ClusterUnreachable(ValueError):
    """Why there is no cluster, and what can be done."""


class ClusterState(NamedTuple):
    """What a scheduler says of its workers."""

    threads: Mapping[str, int]
    """By worker's address."""
    gpus: Mapping[str, float]
    """How many each declares as its resource GPU."""


class SchedulerLink:
    """A scheduler's address and, while there is one, the connection to it.

    Args:
        address: as `dask scheduler` prints it.
        topic: what workers' reports are called.
        heard: told the text of each report, on a thread that must not wait.
    """

    def __init__(self, address: str, topic: str, heard: Callable[[str], None]) -> None:
        self.address = address
        self._topic = topic
        self._heard = heard
        self._client: Any = None
        self._scheduler = ""
        self._failed: tuple[float, ClusterUnreachable] | None = None
        self._lock = threading.RLock()

    def client(self) -> Any:
        """The connection, made anew where there is none.

        Raises:
            ClusterUnreachable: when the scheduler does not answer; at once if not lately.
        """
        with self._lock:
            if self.lives:
                return self._client
            if self._failed and time.monotonic() - self._failed[0] < RETRY_SECONDS:
                raise self._failed[1]
            self.close()
            try:
                self._client, self._failed = self.connect(), None
            except ClusterUnreachable as error:
                self._failed = time.monotonic(), error
                raise
            return self._client

    @property
    def lives(self) -> bool:
        """Whether there is a connection."""
        return self._client is not None and self._client.status == "running"

    def cluster(self) -> ClusterState:
        """The workers that the scheduler has now.

        Raises:
            ClusterUnreachable: when the scheduler does not answer.
        """
        scheduler_info = self.client().scheduler_info(n_workers=-1)
        if self._scheduler not in (
            "",
            scheduler_info["id"],
        ):  # another took its place and knows us not
            self.close()
            scheduler_info = self.client().scheduler_info(n_workers=-1)
        self._scheduler, workers = scheduler_info["id"], scheduler_info["workers"]
        resources = {name: worker.get("resources") or {} for name, worker in workers.items()}
        return ClusterState(
            {name: int(worker["nthreads"]) for name, worker in workers.items()},
            {name: float(amounts.get("GPU", 0)) for name, amounts in resources.items()},
        )

    def ask(self, workers: Iterable[str]) -> dict[str, object]:
        """Who these workers are: what each answers, by address; those that are gone do not."""
        message: ClusterMessage = {"versions": required_versions()}
        options = {"workers": sorted(workers), "on_error": "ignore"}
        answers: dict[str, object] = self.client().run(call, message, **options)
        return answers

    def close(self) -> None:
        """End the connection."""
        with self._lock:
            if self._client is not None:
                self._client.close(timeout=1)
            self._client = None

    def connect(self) -> Any:
        try:
            distributed = importlib.import_module("distributed")
        except ImportError as error:
            raise ClusterUnreachable(
                f"Work on a cluster needs the package distributed; got: {error}. Run `pip install "
                f"'.[dask]'` in the folder of this program, or {_INSTEAD}"
            ) from error
        importlib.import_module("dask").config.set({_LARGE: "1TB"})  # networks travel with tasks
        try:
            _knock(self.address)
            client = distributed.Client(
                self.address, timeout=_ANSWER, set_as_default=False, name="nptlab"
            )
        except Exception as error:  # of sockets, names, addresses and protocols
            port = self.address.rpartition(":")[2]
            raise ClusterUnreachable(
                f"A Dask scheduler must answer at {self.address}; got: {_cause(error)}. Start "
                f"one with `dask scheduler --port {port}` and workers with `dask worker "
                f"{self.address} --nthreads 1`, or {_INSTEAD}"
            ) from error
        client.subscribe_topic(self._topic, lambda event: self._heard(event[1]))
        return client


def _knock(address: str) -> None:
    """Wait until somebody listens there; the system accepts for a process that has no time.

    Raises:
        OSError: when nobody does for seconds.
    """
    place, _, port = address.rpartition(":")
    host = place.rpartition("/")[2].strip("[]")
    until = time.monotonic() + CONNECT_SECONDS
    while True:
        try:
            socket.create_connection((host, int(port)), CONNECT_SECONDS).close()
            return
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.1)


def required_versions() -> dict[str, str]:
    """Versions that a worker must have: those here, and one thread."""
    return {**numerical_versions(), "OMP_NUM_THREADS": "1"}


def _cause(error: Exception) -> str:
    return (str(error) or type(error).__name__).rstrip(".").replace("\n", " ")


_ASKED = 3  # times that a worker is asked who it is


class _Members:
    """The workers of a scheduler, as they were seen last."""

    def __init__(self, link: SchedulerLink) -> None:
        self.device = ""
        self._link = link
        self._cluster = ClusterState({}, {})
        self._met: set[str] = set()
        self._unfit: set[str] = set()
        self._silent: dict[str, int] = {}
        self._notices: list[str] = []

    @property
    def slots(self) -> int:
        """One task for each thread; one while there is none, so that work can wait."""
        return max(1, sum(self._cluster.threads[name] for name in self.fit))

    @property
    def declared(self) -> int:
        """How many GPUs the workers declare."""
        return int(sum(self._cluster.gpus[name] for name in self.fit))

    @property
    def gpus(self) -> int:
        """Tasks that run networks at once: the GPUs declared, one where nobody declares any."""
        return self.declared or (1 if self.device == "cuda" else self.slots)

    @property
    def fit(self) -> list[str]:
        """Addresses of those that were not refused."""
        return [name for name in self._cluster.threads if name not in self._unfit]

    @property
    def mixed(self) -> bool:
        """Whether some are refused and others not."""
        return 0 < len(self.fit) < len(self._cluster.threads)

    def refresh(self) -> bool:
        """See who is there; whether that has changed.

        Raises:
            ClusterUnreachable: when the scheduler does not answer.
        """
        before, self._cluster = self._cluster, self._link.cluster()
        return before != self._cluster

    def handshake(self) -> None:
        """Ask new ones who they are, which takes their first import of torch."""
        new = set(self._cluster.threads) - self._met
        self._met |= new
        answers = self._link.ask(new) if new else {}
        for worker in new - set(answers):  # it has gone, or fails at that
            self._silent[worker] = self._silent.get(worker, 0) + 1
            if self._silent[worker] < _ASKED:
                self._met.discard(worker)
            else:
                self.refuse(worker, "it does not say who it is")
        for worker, sent in answers.items():
            try:
                answer = parse_answer(sent)
                device = "" if "refused" in answer else answer["device"]
            except (InvalidAnswer, KeyError) as error:
                self.refuse(worker, f"asked who it is, {error}")
                continue
            if "refused" in answer:
                self.refuse(worker, answer["refused"])
            elif self.device != "cuda":
                self.device = device

    def is_refused(self, worker: str) -> bool:
        """Whether this worker is to have no task."""
        return worker in self._unfit

    def refuse(self, worker: str, reason: str) -> None:
        """Let this worker have no task while there are others."""
        if worker not in self._unfit:
            self._unfit.add(worker)
            self._notices.append(_unfit(worker, reason))

    def mark_suspect(self, worker: str) -> None:
        """This worker's code is not the code here."""
        notice = (
            f"The worker {worker} runs another state of this program's code than this process. "
            "Give both the same one, or results may differ."
        )
        if notice not in self._notices:
            self._notices.append(notice)

    def flush_notices(self, store: Store) -> None:
        """Say through a store what there is to say."""
        if not self._cluster.threads:
            self.refresh()
        if not self._cluster.threads:
            where = self._link.address
            store.note(
                f"The Dask scheduler at {where} has no worker yet: work waits for one. Start it "
                f"with `dask worker {where} --nthreads 1`."
            )
        while self._notices:
            store.note(self._notices.pop())


def _unfit(worker: str, reason: str) -> str:
    """Why a worker gets no task."""
    return (
        f"The worker {worker} must compute as this program does, to the bit; {reason}. Start it "
        "in the same environment as here, with PYTHONPATH naming a folder of this program."
    )


class RemoteFuture(Future[None]):
    """A task's future; cancelling it stops the task at its next report."""

    def __init__(self, executor: DaskExecutor, task: Task, store: Store, report: Report) -> None:
        super().__init__()
        self.id = uuid.uuid4().hex
        self.plain_task = task
        self.task = keys.encode(task)
        self.distrusted = 0
        """Answers that were not believed."""
        self.gpu = task.gpu
        self.store = store
        self.report = report
        self.asked: set[Name] = set()
        """What a worker lacked of the store."""
        self.remote: Any = None
        self._executor = executor
        self._named: frozenset[Name] = frozenset(
            ("models", key) for key in (*task.needs, *task.makes)
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

    def message(self) -> ClusterMessage:
        """The task, what the store has of what it names, and what a worker has asked for."""
        entries = load_entries(self.store, sorted(self.asked))
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


T = TypeVar("T")

_EVERY = 2.0  # seconds between looks at who is there
_DISTRUSTED = 5  # answers to one task that are not believed before it fails
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
        address = setting_checks.scheduler(address)
        self._topic = f"nptlab-{uuid.uuid4().hex}"
        # One thread sends and one passes reports on: each in order, and neither in the other's
        # way. The connection's own thread must not wait for anything.
        self._sender = ThreadPoolExecutor(1, "nptlab-send")
        self._listener = ThreadPoolExecutor(1, "nptlab-hear")
        self._link = SchedulerLink(address, self._topic, self._hear)
        self._members = _Members(self._link)
        self._sample = RecheckSample()
        self._checker = ThreadPoolExecutor(1, "nptlab-check")
        self._sent: dict[str, RemoteFuture] = {}
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
            ClusterUnreachable: when it does not answer within seconds.
        """
        self._members.refresh()

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: object) -> Future[T]:
        """Send `perform(task, store, report)`, the only function that workers know."""
        if fn is not perform or kwargs or len(args) != 3:
            raise ValueError(
                f"Workers run engine.tasks.perform(task, store, report) only; got {fn!r}. "
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
        self._sample.close()
        for threads in (self._sender, self._listener, self._checker):
            threads.shutdown(wait=wait)
        self._link.close()

    def _begin(self, sent: RemoteFuture) -> None:
        if sent.set_running_or_notify_cancel():
            self._send(sent)

    def _send(self, sent: RemoteFuture, worker: str = "") -> None:
        """Send a task; to a worker that has begun it, where there is one."""
        if sent.done():
            return
        try:
            client = self._link.client()
            self._members.flush_notices(sent.store)
            message: ClusterMessage = {
                **sent.message(),
                "topic": self._topic,
                "versions": required_versions(),
            }
            options = {"key": f"nptlab-{uuid.uuid4().hex}", "pure": False}
            sent.remote = client.submit(call, message, **options, **self._where(sent, worker))
            sent.remote.add_done_callback(lambda ended: self._back(sent, ended))
        except Exception as error:
            sent.settle(error)

    def _where(self, sent: RemoteFuture, worker: str) -> dict[str, object]:
        """Where Dask may run a task; it goes elsewhere when those workers have gone."""
        where: dict[str, object] = {}
        if worker or self._members.mixed:
            where = {"workers": [worker] if worker else self._members.fit}
            where["allow_other_workers"] = True
        if sent.gpu and self._members.declared:
            where["resources"] = {"GPU": 1}
        return where

    def _back(self, sent: RemoteFuture, ended: Any) -> None:
        """Something came of a task (called from Dask's thread for that)."""
        try:
            answer = ended.result()
            try:
                self._take(sent, parse_answer(answer))
            except InvalidAnswer as error:
                self._distrust(sent, self._who(ended, answer), str(error))
            ended.release()
        except CancelledError:
            lost = f"The Dask scheduler at {self._link.address} was lost while this ran. "
            sent.settle(TaskError(lost + "Start it again, then this; what was done is kept."))
        except Exception as error:
            sent.settle(_readable(error))

    def _take(self, sent: RemoteFuture, answer: ClusterAnswer) -> None:
        worker = answer["worker"]
        if "refused" in answer:
            self._refused(sent, worker, answer["refused"])
            return
        if self._members.is_refused(worker):
            raise InvalidAnswer("what it sent before was not right")
        if answer["sources"] != code_fingerprint():
            self._members.mark_suspect(worker)
        entries = parse_entries(answer, sent.plain_task, sent.store)
        for notice in answer.get("notices", ()):
            sent.store.note(notice)
        if entries and self._sample.wanted(worker, sent.plain_task, self._members.device):
            self._checker.submit(self._check, sent, answer, entries)
        else:
            self._keep(sent, answer, entries)

    def _check(self, sent: RemoteFuture, answer: ClusterAnswer, entries: list[SentEntry]) -> None:
        """Do the task here as well before its results are kept."""
        try:
            if problem := self._sample.differs(sent.plain_task, sent.store, entries):
                self._distrust(sent, answer["worker"], problem)
            elif not sent.done():
                self._keep(sent, answer, entries)
        except Exception as error:
            sent.settle(_readable(error))

    def _keep(self, sent: RemoteFuture, answer: ClusterAnswer, entries: list[SentEntry]) -> None:
        save_entries(sent.store, entries)
        if "lacks" in answer:
            self._lend(sent, {(kind, key) for kind, key in answer["lacks"]}, answer["worker"])
        elif "error" in answer:
            sent.settle(TaskError(answer["error"]))
        else:
            sent.settle(CancelledError() if "stopped" in answer else None)

    def _who(self, ended: Any, answer: object) -> str:
        """Which worker an answer came from: what the scheduler says, not what is in it."""
        with suppress(Exception):  # it has gone meanwhile
            holders = self._link.client().who_has([ended])
            return str(next(iter(next(iter(holders.values())))))
        return str(answer.get("worker", "")) if isinstance(answer, dict) else ""

    def _distrust(self, sent: RemoteFuture, worker: str, problem: str) -> None:
        """Let a worker have no more tasks, and another one do this."""
        self._members.refuse(worker, problem)
        sent.distrusted += 1
        if sent.distrusted >= _DISTRUSTED or not self._members.fit:
            raise TaskError(_unfit(worker, problem))
        self._sender.submit(self._send, sent)

    def _refused(self, sent: RemoteFuture, worker: str, reason: str) -> None:
        self._members.refuse(worker, reason)
        if not self._members.fit:
            raise TaskError(_unfit(worker, reason))
        self._sender.submit(self._send, sent)

    def _lend(self, sent: RemoteFuture, names: set[Name], worker: str) -> None:
        if names <= sent.asked:
            raise TaskError(
                f"The worker {worker} must keep what it is sent; it lacks {sorted(names)} again. "
                "Make room on its disk."
            )
        sent.asked |= names
        self._sender.submit(self._send, sent, worker)

    def _recall(self, sent: RemoteFuture) -> None:
        if sent.remote is not None and self._link.lives:
            with suppress(Exception):  # a cluster that is gone runs nothing
                sent.remote.cancel()

    def _hear(self, text: str) -> None:
        with suppress(RuntimeError):  # shut down
            self._listener.submit(self._report, text)

    def _report(self, text: str) -> None:
        report = parse_progress(text)
        if report is None:
            return
        name, fraction, live = report
        sent = self._sent.get(name)
        if sent is not None and not sent.done():
            with suppress(TaskStopped):  # it has been cancelled
                sent.report(fraction, live)

    def _watch(self) -> None:
        """Look who is there, now and again, and tell whoever listens."""
        while True:
            try:
                if self._members.refresh():
                    self._changed()
                self._members.handshake()
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
