"""A Dask cluster as README starts one: a scheduler and its workers, each a process of its own.

None of it runs in the process of the tests, whose threads would hold it up, and nothing is given
up because the machine is slow.
"""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.conftest import ROOT
from tests.server import stop
from tests.test_engine import LONG_WAIT

_PATIENT = {
    "DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "600s",
    "DASK_DISTRIBUTED__COMM__TIMEOUTS__TCP": "600s",
    "DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL": "3600s",
    "PYTHONPATH": str(ROOT),
}
_UNUSED = "600s"  # a scheduler whose tests were killed ends by itself, and its workers with it


class Cluster:
    """A scheduler and workers of one thread each.

    Args:
        folder: for what they leave.
        workers: how many to start.
    """

    def __init__(self, folder: Path, workers: int = 2) -> None:
        self.folder = folder
        self.workers: list[subprocess.Popen[bytes]] = []
        self._numbers = itertools.count()
        contact = folder / "scheduler.json"
        self._scheduler = self._start(
            "scheduler",
            ["--host", "127.0.0.1", "--port", "0", "--scheduler-file", str(contact)],
            ["--idle-timeout", _UNUSED],
        )
        self.address = self._address(contact)
        for _ in range(workers):
            self.start_worker()

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, *error: object) -> None:
        for process in [*self.workers, self._scheduler]:
            process.kill()
            process.wait()

    def start_worker(
        self, *options: str, env: Mapping[str, str] | None = None
    ) -> subprocess.Popen[bytes]:
        """One more worker; it registers by itself once it has started."""
        worker = self._start(
            "worker",
            [self.address, "--host", "127.0.0.1", "--nthreads", "1", "--no-nanny"],
            ["--memory-limit", "0", "--name", f"w{next(self._numbers)}", *options],
            env,
        )
        self.workers.append(worker)
        return worker

    def keep(self, count: int) -> None:
        """Start workers in place of those that have ended."""
        for process in [process for process in self.workers if process.poll() is not None]:
            self.workers.remove(process)
        while len(self.workers) < count:
            self.start_worker()

    def kill(self, pid: int) -> None:
        """End the worker of this process from one moment to the next."""
        (worker,) = [process for process in self.workers if process.pid == pid]
        worker.kill()
        worker.wait()

    def dismiss(self, worker: subprocess.Popen[bytes]) -> None:
        """End a worker."""
        stop(worker)
        self.workers.remove(worker)

    def end_scheduler(self) -> None:
        """The scheduler is gone from one moment to the next."""
        self._scheduler.kill()
        self._scheduler.wait()

    def _start(
        self,
        what: str,
        options: Sequence[str],
        more: Sequence[str],
        env: Mapping[str, str] | None = None,
    ) -> subprocess.Popen[bytes]:
        number = len(list(self.folder.glob("*.log")))
        with (self.folder / f"{number}-{what}.log").open("wb") as log:
            return subprocess.Popen(
                [sys.executable, "-P", "-m", f"distributed.cli.dask_{what}", "--no-dashboard",
                 *options, *more],
                cwd=self.folder, env={**os.environ, **_PATIENT, **(env or {})},
                stdout=log, stderr=log,
            )  # fmt: skip

    def _address(self, contact: Path) -> str:
        until = time.monotonic() + LONG_WAIT
        while time.monotonic() < until:
            assert self._scheduler.poll() is None, "the scheduler has ended"
            try:
                return str(json.loads(contact.read_text())["address"])
            except (OSError, ValueError):  # not written yet, or half
                time.sleep(0.05)
        raise AssertionError("the scheduler does not start")
