"""A sweep of eight methods: first picture, whole, killed and resumed, shared out, on a cluster."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from benchmarks import rows as table
from benchmarks.lab import ROOT, Lab, say
from benchmarks.rows import Row
from validation_core.cli.power_line import command_line
from validation_core.methods import C2ST, SBC, Multiple
from validation_core.scores.trained_scores import TrainTask
from validation_core.store import Store
from validation_core.sweep import costs
from validation_core.sweep import presets as comparisons
from validation_core.sweep.plan import Sweep
from validation_core.sweep.progress import collect, missing

COMPARISON = comparisons.by_name("conformal_mean_shift")
_POLL = 0.2


def rows(lab: Lab) -> Iterator[Row]:
    """The whole sweep with --full; otherwise its first 50 trials, and the rest is scaled."""
    sweep = COMPARISON.sweep
    if not lab.full:
        sweep = replace(sweep, design=replace(sweep.design, trials=50))
    yield from _whole(lab, sweep)
    yield from _shared(lab)
    yield _killed(lab)


class Watched(NamedTuple):
    """When a sweep's first picture was complete and when it ended, in seconds from its start."""

    first: float
    seconds: float


def _start(sweep: Sweep, workers: int, folder: Path, engine: str) -> subprocess.Popen[bytes]:
    """The command line's own command."""
    words = [*command_line(sweep).split()[1:], "--engine", engine]
    return subprocess.Popen(
        [sys.executable, *words], cwd=ROOT, env=_env(folder, workers),
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip


def _run(sweep: Sweep, workers: int, folder: Path, stop_at: int | None = None) -> Watched:
    """Run a sweep to its end, or kill it when so many of its parts are there."""
    store = Store(folder)
    opening = [parts[0].key for parts in sweep.parts.values()]
    start, first = time.perf_counter(), 0.0
    process = _start(sweep, workers, folder, "local")
    while process.poll() is None:
        time.sleep(_POLL)
        if not first and all(store.has("results", key) for key in opening):
            first = time.perf_counter() - start
        if stop_at is not None and first and len(_files(sweep, folder)) >= stop_at:
            process.kill()
            process.wait()
            break
    seconds = time.perf_counter() - start
    if stop_at is None and process.returncode:
        raise RuntimeError(f"The sweep ended with exit code {process.returncode}.")
    return Watched(first or seconds, seconds)


def _env(folder: Path, workers: int) -> Mapping[str, str]:
    return {**os.environ, "NPTLAB_CACHE": str(folder), "NPTLAB_WORKERS": str(workers)}


def _whole(lab: Lab, sweep: Sweep) -> Iterator[Row]:
    """Killed once a third is there, then resumed: nothing that was there is computed again."""
    folder = lab.folder / "sweep"
    guess = costs.estimate(sweep, missing(sweep, Store(folder)), 2)
    wanted = sum(len(parts) for parts in sweep.parts.values())
    begun = _run(sweep, 2, folder, stop_at=wanted // 3)
    time.sleep(2.0)  # its workers end with it, but may be writing
    before = _files(sweep, folder)
    rest = _run(sweep, 2, folder)
    after = _files(sweep, folder)
    again = sum(after[key] != file for key, file in before.items())
    seconds = begun.seconds + rest.seconds
    tests = sweep.design.trials * len(sweep.places) * len(sweep.methods)
    what = f"8 methods x {len(sweep.places)} gammas x {sweep.design.trials} trials, two workers"
    yield table.at_most(f"{what}: first complete picture", "s", first=(begun.first, 60.0))
    scaled = _scaled(sweep, folder, seconds)
    note = "" if lab.full else f"{seconds:.0f} s for {tests} tests, scaled to 200 trials by parts"
    yield table.at_most("the same, in full", "min", note, seconds=(scaled / 60, 30.0))
    ok = again == 0 and collect(sweep, Store(folder)).complete
    yield table.told(
        "resumed after a kill", f"{len(before)} of {wanted} parts were there, {again} run twice",
        ok, "none twice", kept=len(before), twice=again,
    )  # fmt: skip
    yield table.told("said before it was run", f"{guess.seconds:.0f} s for {seconds:.0f} s",
                     guess=guess.seconds, seconds=seconds)  # fmt: skip


def _files(sweep: Sweep, folder: Path) -> dict[str, int]:
    """The file of each part that is there: one that is written again is another (its time of
    change says when it was last read)."""
    keys = [part.key for parts in sweep.parts.values() for part in parts]
    files = {key: folder / "results" / f"{key}.npz" for key in keys}
    return {key: file.stat().st_ino for key, file in files.items() if file.exists()}


def _scaled(sweep: Sweep, folder: Path, seconds: float) -> float:
    """Seconds for 200 trials: training once, the tests by their number."""
    progress = collect(sweep, Store(folder))
    testing = sum(cell.seconds for cell in progress.cells) / 2
    return seconds + testing * (200 / sweep.design.trials - 1)


def _shared(lab: Lab) -> Iterator[Row]:
    """Two workers against one, on tests whose networks are trained."""
    sweep = replace(
        COMPARISON.sweep, methods=(SBC(), C2ST(), Multiple()),
        design=replace(COMPARISON.sweep.design, trials=400),
    )  # fmt: skip
    seconds = {}
    for workers in (1, 2):
        folder = lab.folder / f"shared-{workers}"
        _prepare(sweep, folder)
        seconds[workers] = _run(sweep, workers, folder).seconds
        say(f"{workers} workers: {seconds[workers]:.1f} s")
    yield table.at_least(
        "throughput with two workers against one", "times",
        f"{seconds[1]:.1f} s and {seconds[2]:.1f} s, start of the processes included",
        ratio=(seconds[1] / seconds[2], 1.7),
    )  # fmt: skip


def _prepare(sweep: Sweep, folder: Path) -> None:
    store = Store(folder)
    for task in sweep.tasks:
        if isinstance(task, TrainTask) and not task.done(store):
            task.run(store, lambda fraction, live: None)


def _killed(lab: Lab) -> Row:
    """A cluster of two workers, one killed in mid-sweep: the counts are those of this machine."""
    what = "Dask, two workers, one killed in mid-sweep"
    if find_spec("distributed") is None:
        return table.told(what, "not run: pip install '.[dask]'")
    from distributed import LocalCluster

    sweep = replace(
        COMPARISON.sweep, methods=(SBC(), C2ST(), Multiple()), gammas=(0.0, 0.1, 0.3),
        design=replace(COMPARISON.sweep.design, trials=100),
    )  # fmt: skip
    here, there = lab.folder / "here", lab.folder / "there"
    _run(sweep, 2, here)
    cluster = LocalCluster(  # type: ignore[no-untyped-call]
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
    )
    with cluster:
        process = _start(sweep, 2, there, f"dask:{cluster.scheduler_address}")
        while process.poll() is None and len(_files(sweep, there)) < 8:
            time.sleep(_POLL)
        next(iter(cluster.workers.values())).process.process.kill()
        process.wait()
    counts = [
        [cell.rejections for cell in collect(sweep, Store(folder)).cells]
        for folder in (here, there)
    ]
    same = counts[0] == counts[1] and process.returncode == 0
    return table.told(what, "finished, same counts" if same else f"counts {counts}", same,
                      "finishes, same counts")  # fmt: skip
