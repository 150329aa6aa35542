"""The connection to a Dask scheduler: made when it is first needed, and again when it was lost."""

from __future__ import annotations

import importlib
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from validation_core.engine.cluster import remote

_PATIENCE = 3.0  # seconds for a scheduler to answer
_REMEMBER = 30.0  # seconds that one that did not answer is not asked again
_LARGE = "distributed.admin.large-graph-warning-threshold"
_INSTEAD = (
    "run on this machine: unset NPTLAB_SCHEDULER or set NPTLAB_FALLBACK=local; on the command "
    "line leave --engine out, or add `,local` to it."
)


class Unreachable(ValueError):
    """Why there is no cluster, and what can be done."""


class Cluster(NamedTuple):
    """What a scheduler says of its workers."""

    threads: Mapping[str, int]
    """By worker's address."""
    gpus: Mapping[str, float]
    """How many each declares as its resource GPU."""


class Link:
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
        self._failed: tuple[float, Unreachable] | None = None
        self._lock = threading.RLock()

    def client(self) -> Any:
        """The connection, made anew where there is none.

        Raises:
            Unreachable: when the scheduler does not answer; at once where it did not lately.
        """
        with self._lock:
            if self.lives:
                return self._client
            if self._failed and time.monotonic() - self._failed[0] < _REMEMBER:
                raise self._failed[1]
            self.close()
            try:
                self._client, self._failed = self._connect(), None
            except Unreachable as error:
                self._failed = time.monotonic(), error
                raise
            return self._client

    @property
    def lives(self) -> bool:
        """Whether there is a connection."""
        return self._client is not None and self._client.status == "running"

    def cluster(self) -> Cluster:
        """The workers that the scheduler has now.

        Raises:
            Unreachable: when the scheduler does not answer.
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
        return Cluster(
            {name: int(worker["nthreads"]) for name, worker in workers.items()},
            {name: float(amounts.get("GPU", 0)) for name, amounts in resources.items()},
        )

    def ask(self, workers: Iterable[str]) -> dict[str, Mapping[str, Any]]:
        """Who these workers are: what each answers, by address; those that are gone do not."""
        message = {"versions": wanted()}
        options = {"workers": sorted(workers), "on_error": "ignore"}
        answers: dict[str, Mapping[str, Any]] = self.client().run(remote.call, message, **options)
        return answers

    def close(self) -> None:
        """End the connection."""
        with self._lock:
            if self._client is not None:
                self._client.close(timeout=1)
            self._client = None

    def _connect(self) -> Any:
        try:
            distributed: Any = importlib.import_module("distributed")
        except ImportError as error:
            raise Unreachable(
                f"Work on a cluster needs the package distributed; got: {error}. Run `pip install "
                f"'.[dask]'` in the folder of this program, or {_INSTEAD}"
            ) from error
        importlib.import_module("dask").config.set({_LARGE: "1TB"})  # networks travel with tasks
        try:
            client = distributed.Client(
                self.address, timeout=_PATIENCE, set_as_default=False, name="nptlab"
            )
        except Exception as error:  # of sockets, names, addresses and protocols
            port = self.address.rpartition(":")[2]
            raise Unreachable(
                f"A Dask scheduler must answer at {self.address}; got: {_reason(error)}. Start "
                f"one with `dask scheduler --port {port}` and workers with `dask worker "
                f"{self.address} --nthreads 1`, or {_INSTEAD}"
            ) from error
        client.subscribe_topic(self._topic, lambda event: self._heard(event[1]))
        return client


def wanted() -> dict[str, str]:
    """Versions that a worker must have: those here, and one thread."""
    return {**remote.versions(), "OMP_NUM_THREADS": "1"}


def _reason(error: Exception) -> str:
    return (str(error) or type(error).__name__).rstrip(".").replace("\n", " ")
