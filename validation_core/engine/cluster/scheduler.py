"""The connection to a Dask scheduler, and its workers that compute as this program does."""

from __future__ import annotations

import importlib
import socket
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from validation_core.engine.cluster import worker
from validation_core.engine.task import on_gpu
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


class SchedulerLink:
    """A scheduler's address and, while there is one, the connection to it.

    Args:
        address: as `dask scheduler` prints it.
        topic: under which workers report progress.
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

    def workers(self) -> Mapping[str, Mapping[str, Any]]:
        """What the scheduler says of its workers, by address.

        Raises:
            ClusterUnreachable: when the scheduler does not answer.
        """
        info = self.client().scheduler_info(n_workers=-1)
        if self._scheduler not in ("", info["id"]):  # another took its place and knows us not
            self.close()
            info = self.client().scheduler_info(n_workers=-1)
        self._scheduler = info["id"]
        workers: Mapping[str, Mapping[str, Any]] = info["workers"]
        return workers

    def close(self) -> None:
        """End the connection."""
        with self._lock:
            if self._client is not None:
                self._client.close(timeout=1)
            self._client = None

    def connect(self) -> Any:
        """A new connection.

        Raises:
            ClusterUnreachable: when the scheduler does not answer.
        """
        try:
            distributed = importlib.import_module("distributed")
        except ImportError as error:
            raise ClusterUnreachable(
                f"Work on a cluster needs the package distributed; got: {error}. Run `pip install "
                f"'.[dask]'` in the folder of this program, or {_INSTEAD}"
            ) from error
        # what is small enough travels with tasks
        importlib.import_module("dask").config.set({_LARGE: "1TB"})
        place, _, port = self.address.rpartition(":")
        try:
            host = place.rpartition("/")[2].strip("[]")
            # nobody is told within seconds; the system accepts for a process that has no time
            socket.create_connection((host, int(port)), CONNECT_SECONDS).close()
            client = distributed.Client(
                self.address, timeout=_ANSWER, set_as_default=False, name="nptlab"
            )
        except Exception as error:  # of sockets, names, addresses and protocols
            cause = (str(error) or type(error).__name__).rstrip(".").replace("\n", " ")
            raise ClusterUnreachable(
                f"A Dask scheduler must answer at {self.address}; got: {cause}. Start "
                f"one with `dask scheduler --port {port}` and workers with `dask worker "
                f"{self.address} --nthreads 1`, or {_INSTEAD}"
            ) from error
        client.subscribe_topic(self._topic, lambda event: self._heard(event[1]))
        return client


class SeenWorker(NamedTuple):
    """A worker as it was seen last."""

    threads: int
    gpus: float
    """How many it declares as its resource GPU."""


class ClusterWorkers:
    """The workers of a scheduler; those that compute otherwise are refused and named."""

    def __init__(self, link: SchedulerLink) -> None:
        self.device = ""
        """Where they train networks; empty until the first has said."""
        self.seen: Mapping[str, SeenWorker] = {}
        self._link = link
        self._met: set[str] = set()
        self._refused: set[str] = set()
        self._notices: list[str] = []

    @property
    def fit(self) -> list[str]:
        """Addresses of those that were not refused."""
        return [name for name in self.seen if name not in self._refused]

    @property
    def slots(self) -> int:
        """One task for each thread; one while there is none, so that work can wait."""
        return max(1, sum(self.seen[name].threads for name in self.fit))

    @property
    def declared(self) -> int:
        """How many GPUs the workers declare."""
        return int(sum(self.seen[name].gpus for name in self.fit))

    @property
    def gpus(self) -> int:
        """Tasks that run networks at once: the GPUs declared, one where nobody declares any."""
        return self.declared or (1 if on_gpu(self.device) else self.slots)

    def where(self, gpu: bool) -> dict[str, object]:
        """Where Dask may run a task; elsewhere when those workers have gone."""
        where: dict[str, object] = {}
        if 0 < len(self.fit) < len(self.seen):
            where = {"workers": self.fit, "allow_other_workers": True}
        if gpu and self.declared:
            where["resources"] = {"GPU": 1}
        return where

    def refresh(self) -> bool:
        """See who is there; whether that has changed.

        Raises:
            ClusterUnreachable: when the scheduler does not answer.
        """
        before = self.seen
        self.seen = {
            name: SeenWorker(
                int(info["nthreads"]), float((info.get("resources") or {}).get("GPU", 0))
            )
            for name, info in self._link.workers().items()
        }
        return before != self.seen

    def meet(self) -> None:
        """Ask new ones who they are, which takes their first import of torch."""
        new = sorted(set(self.seen) - self._met)
        if not new:
            return
        arguments = "introduce", worker.required_versions()
        client = self._link.client()
        # those that have gone, or could not be asked, are left out and asked again
        answers = client.run(worker.call, *arguments, workers=new, on_error="ignore")
        self._met |= set(answers)
        for name, answer in answers.items():
            if "differs" in answer:
                self.refuse(name, answer["differs"])
            elif not on_gpu(self.device):
                self.device = answer["device"]

    def refuse(self, name: str, reason: str) -> str:
        """Let this worker have no task while there are others; why, in words for a user."""
        words = (
            f"The worker {name} must compute as this program does, to the bit; {reason}. Start it "
            "in the same environment as here, with PYTHONPATH naming a folder of this program."
        )
        if name not in self._refused:
            self._refused.add(name)
            self._notices.append(words)
        return words

    def flush_notices(self, store: Store) -> None:
        """Say through a store what there is to say."""
        if not self.seen:
            self.refresh()
        if not self.seen:
            where = self._link.address
            store.note(
                f"The Dask scheduler at {where} has no worker yet: work waits for one. Start it "
                f"with `dask worker {where} --nthreads 1`."
            )
        while self._notices:
            store.note(self._notices.pop())
