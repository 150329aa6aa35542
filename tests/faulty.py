"""A server without pages, for tests that do it harm: an engine, two workers, a sweep.

    python -m tests.faulty

reads commands as JSON lines and writes what becomes of each.

    {"run": FOLDER, "seed": 0}    resume what an earlier server left there, ask for the sweep
    {"clock": SECONDS}            from now on `time.time` is that much ahead
    {"memory": FOLDER}            where the next store goes while the disk takes nothing
"""

from __future__ import annotations

import json
import os
import sys
import time
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any

from validation_core import memory_folder
from validation_core.benchmarks.gaussian import Gaussian
from validation_core.cli import process
from validation_core.engine import Engine, SelfCheck, Task, WorkerPool
from validation_core.methods import C2ST, Multiple, Uniform
from validation_core.scores.classifier import Classifier
from validation_core.scores.trained_scores import Simulated, Training, TrainTask
from validation_core.store import Store
from validation_core.sweep.plan import Batch, MethodTrials
from validation_core.sweep.trials import TrialDesign

_ME = "me"
_QUICK = Classifier(train=200, epochs=3, lr=2e-3, batch=64, hidden=16, layers=2)


def sweep(seed: int) -> list[Task]:
    """Some 1.5 seconds of work: checks, networks and powers that read them."""
    benchmark = Gaussian(perturbation="mean_shift", dim_x=3, dim_theta=2)
    tasks: list[Task] = [SelfCheck(seed=seed + i, rounds=20) for i in range(12)]
    for gamma in (0.0, 0.3):
        source = Simulated(benchmark=benchmark, gamma=gamma)
        training = Training(source=source, recipe=_QUICK, seed=seed)
        parts = tuple(
            MethodTrials(source=source, method=method, network=training, beta=0.0,
                  design=TrialDesign(trials=1, n=50, k=1), first=0, count=30)
            for method in (C2ST(), Multiple(), Uniform(m=5))
        )  # fmt: skip
        tasks += [TrainTask(trainings=(training,)), Batch(parts=parts)]
    return tasks


class Lent(Executor):
    """A pool that outlives the engines it is lent to."""

    def __init__(self, pool: WorkerPool) -> None:
        self.pool = pool
        self.slots = pool.slots

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        return self.pool.submit(fn, *args, **kwargs)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """It is not ours."""


def _run(folder: Path, seed: int, pool: WorkerPool) -> None:
    store = Store(folder)
    engine = Engine(store, Lent(pool))
    for left in engine.interrupted():
        engine.forget(left.key) if left.problem else engine.resume(left.key, _ME)
    job = engine.submit(sweep(seed), _ME, "A sweep")
    before = -1.0
    while (state := job.snapshot()).active:
        engine.touch(job.key, _ME)
        if state.fraction != before:
            before = state.fraction
            _say(fraction=before, pids=pool.pids())
        time.sleep(0.01)
    while any(other.snapshot().active for other in engine.jobs()):
        time.sleep(0.01)
    engine.close()
    left = [job.key for job in engine.interrupted()]
    _say(
        state=state.state,
        message=state.message,
        notices=store.notices,
        left=left,
        seconds=state.seconds,
    )


def _say(**facts: object) -> None:
    print(json.dumps(facts), flush=True)


def main() -> None:
    """Serve commands until the input ends."""
    process.prepare_process()
    clock = time.time
    pool = WorkerPool(2)
    while pool.ready < 2:
        time.sleep(0.01)
    _say(ready=os.getpid())
    for line in sys.stdin:
        command = json.loads(line)
        if "clock" in command:
            ahead = command["clock"]
            time.time = lambda ahead=ahead: clock() + ahead
        elif "memory" in command:
            memory_folder.SHARED_MEMORY = Path(command["memory"])
        else:
            _run(Path(command["run"]), command["seed"], pool)
    pool.shutdown()


if __name__ == "__main__":
    main()
