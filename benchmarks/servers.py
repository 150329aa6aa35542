"""Servers under measurement: processes of their own, on a free port, with a cache of their own."""

from __future__ import annotations

import os
import secrets
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from benchmarks.cgroup import Group
from benchmarks.lab import ROOT
from tests.server import free_port, stop

WARM = 8.0
"""Seconds that workers take to import what they need, while a visitor looks around."""

_PATIENCE = 120.0  # seconds until a server that does not answer is given up
_SET_ELSEWHERE = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NPTLAB_ENGINE")


class Server(NamedTuple):
    """A server that answers."""

    port: int
    seconds: float
    """From its start until it was ready."""
    pid: int

    @property
    def url(self) -> str:
        return f"http://localhost:{self.port}"


@contextmanager
def product(cache: Path, *options: str) -> Iterator[Server]:
    """The dashboard on a cache folder, as README starts it, or with options of Streamlit's."""
    with _server(ROOT / "app.py", cache, "/api/ready", options) as server:
        yield server


@contextmanager
def within(cache: Path, group: Group) -> Iterator[Server]:
    """The dashboard in a control group; its temporary files are in memory, as in a container."""
    with TemporaryDirectory(dir="/dev/shm") as folder:
        settings = {"TMPDIR": folder}
        with _server(ROOT / "app.py", cache, "/api/ready", group=group, **settings) as server:
            yield server


@contextmanager
def operated(cache: Path) -> Iterator[Server]:
    """The dashboard as it is run for others: nobody is its admin."""
    with _server(ROOT / "app.py", cache, "/api/ready", admin=secrets.token_hex()) as server:
        yield server


@contextmanager
def floor(cache: Path) -> Iterator[Server]:
    """Streamlit with one slider and one small chart in a fragment: what no page can beat."""
    page = Path(__file__).with_name("floor_page.py")
    with _server(page, cache, "/_stcore/health") as server:
        yield server


@contextmanager
def _server(
    script: Path,
    cache: Path,
    ready: str,
    options: Sequence[str] = (),
    admin: str = "",
    group: Group | None = None,
    **settings: str,
) -> Iterator[Server]:
    port = free_port()
    cache.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "streamlit", "run", str(script), "--server.headless", "true"]
    command += ["--server.port", str(port), *options]
    # As README starts it: what a shell or a test run sets of threads is none of its business.
    env = {name: value for name, value in os.environ.items() if name not in _SET_ELSEWHERE}
    env |= {"NPTLAB_CACHE": str(cache), "NPTLAB_ADMIN": admin, **settings}
    log = cache / f"server-{port}.log"
    start = time.perf_counter()
    with log.open("wb") as out:
        process = subprocess.Popen(
            command, cwd=ROOT, env=env, stdout=out, stderr=out,
            preexec_fn=group.enter if group else None,
        )  # fmt: skip
        try:
            _wait(process, f"http://localhost:{port}{ready}", log)
            yield Server(port, time.perf_counter() - start, process.pid)
        finally:
            stop(process)


def _wait(process: subprocess.Popen[bytes], url: str, log: Path) -> None:
    until = time.perf_counter() + _PATIENCE
    while time.perf_counter() < until and process.poll() is None:
        try:
            with urllib.request.urlopen(url, timeout=5) as answer:
                if answer.status == 200:
                    return
        except (urllib.error.URLError, OSError):
            time.sleep(0.02)
    raise RuntimeError(f"The server did not answer at {url}:\n{log.read_text()[-2000:]}")
