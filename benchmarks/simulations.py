"""Symmetric divergence over simulations: how long Figure 1 takes, and its first panel."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

from benchmarks import rows as table
from benchmarks.lab import ROOT, Lab, say
from benchmarks.rows import Row
from validation_core.bayes import HeartTransplants
from validation_core.store import Store
from validation_core.symmetric_divergence import GRID, Plan, collect, figure

_SEED = 1  # the gallery ships the runs of seed 0: nothing would be left to do
_WORKERS = 2
_POLL = 0.1


def rows(lab: Lab) -> Iterator[Row]:
    """The command line's own command from an empty cache, starting of processes included."""
    plan = figure(1, iterations=GRID[:6], seed=_SEED)
    folder = lab.folder / "simulations"
    store = Store(folder)
    first, whole = _watch(plan, folder)
    result = collect(plan, store)
    worked = sum(float(np.nansum(terms.seconds)) for terms in result.values())
    if not worked:
        raise RuntimeError("Nothing was worked out: the gallery ships these runs. Change _SEED.")
    note = f"{len(plan.runs())} runs of {plan.datasets} data sets, {_WORKERS} workers"
    yield table.at_most("Figure 1: first panel, heart transplants", "s", note,
                        seconds=(first, 15.0))  # fmt: skip
    yield table.at_most(
        "Figure 1 complete: five models, four algorithms, to 3000 iterations", "s",
        f"{note}, {worked:.0f} s of work", seconds=(whole, 300.0),
    )  # fmt: skip


def _watch(plan: Plan, folder: Path) -> tuple[float, float]:
    """Seconds until the heart's panel was complete, and until everything was."""
    store = Store(folder)
    heart = [run for run in plan.runs() if isinstance(run.model, HeartTransplants)]
    start, first = time.perf_counter(), 0.0
    words = ["-m", "validation_core", "divergence", "--figure", "1"]
    words += ["--iterations", ",".join(map(str, plan.iterations))]
    words += ["--seed", str(_SEED), "--html", str(folder / "figure.html")]
    process = subprocess.Popen(
        [sys.executable, *words], cwd=ROOT, env=_env(folder), stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )  # fmt: skip
    while process.poll() is None:
        time.sleep(_POLL)
        if not first and all(run.done(store) for run in heart):
            first = time.perf_counter() - start
            say(f"heart transplants after {first:.1f} s")
    if process.returncode:
        raise RuntimeError(f"The command ended with exit code {process.returncode}.")
    whole = time.perf_counter() - start
    return first or whole, whole


def _env(folder: Path) -> Mapping[str, str]:
    return {**os.environ, "NPTLAB_CACHE": str(folder), "NPTLAB_WORKERS": str(_WORKERS)}
