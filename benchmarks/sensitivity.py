"""What the tests would have caught, and their level, on one table: seconds through warm workers.

`python -m benchmarks.sensitivity FILE CACHE` prints one JSON object; `rows` runs it in a
process of its own.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import rows as table
from benchmarks.lab import Lab
from benchmarks.rows import Row
from benchmarks.verdict import watched
from validation_core import diagnosis, engine, sampling, tables
from validation_core.benchmarks.gaussian import Gaussian
from validation_core.diagnosis import tasks as work
from validation_core.diagnosis.questions import Answer, TableStudy, by_name
from validation_core.diagnosis.questions.sensitivity import DEFAULT
from validation_core.rng import stream
from validation_core.store import Store

N, K, D = 1000, 200, 10
SIZE = f"N = {N}, K = {K}, D = {D}"
SEED = 0


def rows(lab: Lab) -> Iterator[Row]:
    """Seconds until there is something to read, and until all is there."""
    benchmark = Gaussian(perturbation="mean_shift", dim_x=D, dim_theta=D)
    sketch = sampling.table(benchmark, 0.0, N, K, stream(0, "upload"))
    file = lab.folder / "sensitivity.npz"
    parts = {"theta": sketch.theta, "x": sketch.x, "theta_q": sketch.q}
    singles = {name: part.astype(np.float32) for name, part in parts.items()}
    np.savez(file, allow_pickle=False, **singles)
    command = [sys.executable, "-m", "benchmarks.sensitivity", str(file)]
    out, _, _ = watched([*command, str(lab.folder / "answers")])
    data = json.loads(out)
    yield table.at_most(
        f"200 self-made tables of {SIZE}, all tests, networks trained", "s",
        data["level"], all=(data["checker"], 8.0),
    )  # fmt: skip
    ranks = max(data["came"][: len(DEFAULT)])
    yield table.at_most(
        f"sensitivity of that table to {', '.join(DEFAULT)}", "s",
        f"CPU of all, diagnosis included, {data['cpu']:.0f} s",
        by_ranks=(ranks, 3.0), all=(data["all"], 60.0),
    )  # fmt: skip
    for sentence in data["said"]:
        yield table.told("what it says", sentence)


def main(file: Path, cache: Path) -> None:
    """A diagnosis, then the checker, then the sensitivity, on warm workers."""
    services = engine.start(Store(cache))
    pool = services.engine.executor
    assert isinstance(pool, engine.WorkerPool)
    while pool.ready < pool.slots:
        time.sleep(0.02)
    store, upload = services.store, tables.read(file)
    assert isinstance(upload, tables.TableUpload)
    work.save_upload(store, upload)
    methods = diagnosis.default_methods()
    _done(services, work.tasks(upload, methods, SEED))

    checker, sensitivity = by_name("checker"), by_name("sensitivity")
    level = checker.studies(upload, methods, SEED)
    (took,) = _done(services, level)
    studies = sensitivity.studies(upload, methods, SEED)
    came = _done(services, studies)
    services.engine.close()
    found = diagnosis.verdict(work.records(store, upload, methods, SEED)[0], upload, seed=SEED)
    said = [
        Answer(question, question.gather([_kept(task, store) for task in tasks])).describe(found)
        for question, tasks in ((checker, level), (sensitivity, studies))
    ]
    print(json.dumps({
        "checker": took, "level": said[0][0], "came": came,
        "all": max(came), "said": said[1], "cpu": _cpu(),
    }))  # fmt: skip


def _kept(task: TableStudy[Any], store: Store) -> Any:
    stored = task.load(store)
    assert stored is not None
    return stored


def _done(services: Any, asked: Sequence[Any]) -> list[float]:
    """Seconds until each task was done."""
    start, came = time.perf_counter(), {}
    job = services.engine.submit(asked, "benchmark")
    while True:
        active = job.snapshot().active
        for i, task in enumerate(asked):
            if i not in came and task.done(services.store):
                came[i] = time.perf_counter() - start
        if not active:
            break
        time.sleep(0.01)
    state = job.snapshot()
    if len(came) < len(asked):
        raise RuntimeError(f"The work {state.state}: {state.message}")
    return [came[i] for i in range(len(asked))]


def _cpu() -> float:
    """Seconds of processors that the workers have taken by the time they ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
