"""Symmetric divergence over simulations: how long Figure 1 takes, and its first panel."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

from tests.benchmarks import rows as table
from tests.benchmarks.lab import ROOT, Lab, say
from tests.benchmarks.rows import Row
from validation_core.bayes import HeartTransplants, Hospitals
from validation_core.bayes.inference import ALGORITHMS
from validation_core.simulations import Plan, Run, collect, figure
from validation_core.store import Store

_WORKERS = 2
_POLL = 0.1
_LOOP = 5  # data sets that are inferred one by one; the rest is scaled


def rows(lab: Lab) -> Iterator[Row]:
    """The command line's own command from an empty cache, starting of processes included."""
    plan = figure(1)
    folder = lab.folder / "simulations"
    store = Store(folder)
    first, whole = _watch(plan, folder)
    found = collect(plan, store)
    worked = sum(float(np.nansum(terms.seconds)) for terms in found.values())
    note = f"{len(plan.runs())} runs of {plan.datasets} data sets, {_WORKERS} workers"
    yield table.at_most("Figure 1: first panel, heart transplants", "s", note,
                        seconds=(first, 15.0))  # fmt: skip
    yield table.at_most(
        "Figure 1 complete: five models, four algorithms, to 3000 iterations", "s",
        f"{note}, {worked:.0f} s of work", seconds=(whole, 300.0),
    )  # fmt: skip
    yield _batched()


def _watch(plan: Plan, folder: Path) -> tuple[float, float]:
    """Seconds until the heart's panel was complete, and until everything was."""
    store = Store(folder)
    heart = [run for run in plan.runs() if isinstance(run.model, HeartTransplants)]
    start, first = time.perf_counter(), 0.0
    words = ["-m", "validation_core", "divergence", "--figure", "1"]
    words += ["--html", str(folder / "figure.html")]
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


def _batched() -> Row:
    """All data sets as one batch against a loop over them, on one thread, with equal results."""
    run = Run(model=Hospitals(), inference=ALGORITHMS["vi"], iterations=300)
    y = run.pairs().x

    def fit(at: slice) -> tuple[float, np.ndarray]:
        rngs = run.streams("inference")[at]
        start = time.perf_counter()
        q = run.inference.fit(run.model, y[at], run.iterations, rngs)
        return time.perf_counter() - start, q.sample(1, run.streams("draws")[at])

    fit(slice(0, 1))
    together, draws = fit(slice(None))
    alone = [fit(slice(k, k + 1)) for k in range(_LOOP)]
    apart = max(float(np.abs(draws[k] - one[0]).max()) for k, (_, one) in enumerate(alone))
    loop = len(y) * float(np.mean([seconds for seconds, _ in alone]))
    note = f"{together:.1f} s against {loop:.0f} s, draws at most {apart:.1g} apart"
    return table.at_least(
        f"hospitals, VI, {len(y)} data sets: batched against a loop", "times faster", note,
        ratio=(loop / together, 20.0),
    )  # fmt: skip
