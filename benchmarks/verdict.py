"""A verdict on an uploaded table, through the engine and on the command line, and its memory."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks import rows as table
from benchmarks.lab import ROOT, Lab
from benchmarks.memory import Watch
from benchmarks.rows import Row
from validation_core import sampling
from validation_core.benchmarks.gaussian import Gaussian
from validation_core.rng import stream

N, K, D = 1000, 200, 2
SIZE = f"N = {N}, K = {K}, D = {D}"
COLD = {"none": 6.0, "usual": 10.0, "all": 25.0}
"""Seconds on two cores that a command may take from a cold start, by the questions it asks."""


def rows(lab: Lab) -> Iterator[Row]:
    """Seconds and peak memory both ways; a process of its own each time."""
    file, size = upload_file(lab.folder)
    limit = 3 * size + 500
    command = [sys.executable, "-m", "benchmarks.diagnosing", str(file)]
    out, _, watch = watched([*command, str(lab.folder / "verdict")])
    data = json.loads(out)
    if data["state"] != "done":
        raise RuntimeError(f"The diagnosis {data['state']}: {data['message']}")
    first = min(data["came"].values())
    each = ", ".join(f"{name} {seconds:.1f}" for name, seconds in data["came"].items())
    yield table.at_most(
        f"verdict on an uploaded {SIZE} table, through warm workers", "s", each,
        all=(data["seconds"], 15.0), first=(first, 2.0),
    )  # fmt: skip
    yield _memory("peak memory of that, largest process", watch, limit, size)
    for questions, most in COLD.items():
        command = [sys.executable, "-m", "validation_core", "diagnose", str(file), "--json", "-"]
        cpu = _cpu()
        out, seconds, watch = watched(
            [*command, "--questions", questions], lab.folder / f"cold-{questions}"
        )
        note = f"verdict: {json.loads(out)['verdict']}; CPU {_cpu() - cpu:.0f} s"
        what = f"the same on the command line, from a cold start, --questions {questions}"
        yield table.at_most(what, "s", note, all=(seconds, most))
        yield _memory("peak memory of that, largest process", watch, limit, size)


def _cpu() -> float:
    """Seconds of processors that ended processes have taken."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def upload_file(folder: Path) -> tuple[Path, float]:
    """The table as a file, and its arrays' size in MB."""
    benchmark = Gaussian(perturbation="covariance_scaling", dim_x=D, dim_theta=D)
    sketch = sampling.table(benchmark, 1.0, N, K, stream(0, "upload"))
    arrays = {"theta": sketch.theta, "x": sketch.x, "theta_q": sketch.q}
    file = folder / "upload.npz"
    np.savez(file, allow_pickle=False, **arrays)
    return file, sum(array.nbytes for array in arrays.values()) / 2**20


def watched(command: list[str], cache: Path | None = None) -> tuple[str, float, Watch]:
    """A command's output, its seconds, and the memory of its processes.

    Args:
        command: what to run.
        cache: where it keeps results, where the command itself does not say it.
    """
    place = {} if cache is None else {"NPTLAB_CACHE": str(cache)}
    start = time.perf_counter()
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        env={**os.environ, **place},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with Watch(lambda: process.pid) as watch:
        out, errors = process.communicate(timeout=600)
    if process.returncode:
        raise RuntimeError(f"{' '.join(command[1:])} ended with {process.returncode}:\n{errors}")
    return out, time.perf_counter() - start, watch


def _memory(what: str, watch: Watch, limit: float, size: float) -> Row:
    peak = max(watch.peaks.values(), default=0.0)
    note = (
        f"arrays {size:.1f} MB; {len(watch.peaks)} process(es) together {watch.together:.0f} MB, "
        "shared pages counted in each"
    )
    row = table.at_most(what, "MB", note, peak=(peak, limit))
    return row._replace(numbers={**row.numbers, "peaks": list(watch.peaks.values())})
