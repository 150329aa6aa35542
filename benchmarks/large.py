"""Large tables on the command line, each in a process of its own: time, first line, memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks import rows as table
from benchmarks.lab import ROOT, Lab
from benchmarks.rows import Row
from validation_core.rng import stream
from validation_core.types import Array

_ROWS = 100  # written at a time


class Ran(NamedTuple):
    """What one command took: seconds, those until its first result, of the processor, peak MB."""

    seconds: float
    first: float
    cpu: float
    peak: float
    verdict: str


def rows(lab: Lab) -> Iterator[Row]:
    """200 MB of draws, alone and with all answers that come unasked, and the usual table.

    A megabyte here is 1e6 bytes.
    """
    size = "N = 5000, K = 1000, D = 10, float32"
    file, arrays = _made(lab.folder / "large.npz", 5000, 1000, 10)
    for answers, what in (("none", "the verdict alone"), ("usual", "the usual answers too")):
        ran = _ran(file, answers)
        yield _time(f"diagnose, {size}, command line, {what}", ran, all=(ran.seconds, 60.0))
        yield table.at_most(
            "peak memory of that", "MB", f"arrays {arrays:.0f} MB", peak=(ran.peak, 3 * arrays)
        )
    file.unlink()
    file, arrays = _made(lab.folder / "usual.npz", 1000, 200, 10)
    ran = _ran(file, "usual")
    limits = {"first": (ran.first, 2.0), "all": (ran.seconds, 60.0)}
    yield _time("diagnose, N = 1000, K = 200, D = 10, command line, cold start", ran, **limits)
    yield table.told("peak memory of that", f"{ran.peak:.0f} MB (arrays {arrays:.0f} MB)")


def _time(what: str, ran: Ran, **limits: tuple[float, float]) -> Row:
    note = f"{ran.cpu:.0f} s of the processor; first result after {ran.first:.1f} s; {ran.verdict}"
    return table.at_most(what, "s", note, **limits)


def _made(file: Path, n: int, k: int, d: int) -> tuple[Path, float]:
    """A table whose q is a little too wide, and the megabytes of its arrays."""
    rng = stream(0, "large", n, k, d)
    root = np.linalg.cholesky(0.5 * np.eye(d) + 0.5)
    x = rng.standard_normal((n, d)).astype(np.float32)
    theta = (x + rng.standard_normal((n, d)) @ root.T).astype(np.float32)
    q: Array = np.empty((n, k, d), np.float32)
    for first in range(0, n, _ROWS):
        part = slice(first, first + _ROWS)
        q[part] = x[part, None] + 1.03 * rng.standard_normal(q[part].shape) @ root.T
    np.savez(file, theta=theta, x=x, theta_q=q)
    return file, (theta.nbytes + x.nbytes + q.nbytes) / 1e6


def _ran(file: Path, answers: str) -> Ran:
    """The command on a file with an empty cache, and these answers."""
    with tempfile.TemporaryDirectory(dir=file.parent) as folder:
        result = Path(folder) / "found.json"
        start = time.perf_counter()
        process = subprocess.Popen(
            [sys.executable, "-m", "validation_core", "diagnose", str(file), "--answers", answers,
             "--json", str(result)],
            cwd=ROOT, env={**os.environ, "NPTLAB_CACHE": str(Path(folder) / "cache")},
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert process.stderr is not None
        lines = [(time.perf_counter() - start, line) for line in process.stderr]
        # wait4 gives what this child alone used.
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.perf_counter() - start
        if process.returncode:
            text = "".join(line for _, line in lines)
            raise RuntimeError(f"diagnose ended with {process.returncode}:\n{text}")
        data = json.loads(result.read_text(encoding="utf-8"))
    first = next(came for came, line in lines if ": p " in line)
    cpu = used.ru_utime + used.ru_stime
    return Ran(seconds, first, cpu, used.ru_maxrss * 1024 / 1e6, data["verdict"])
