"""`power`: rejections of methods on a benchmark over gamma and beta."""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, cast

from validation_core.command.options import (
    benchmark,
    entry,
    json_option,
    level,
    methods,
    numbers,
    tell,
    write,
)
from validation_core.engine import Engine, SerialExecutor, WorkerPool
from validation_core.models import Simulated, Training
from validation_core.power import Trials
from validation_core.scores.classifier import PRESETS
from validation_core.statistics import wilson
from validation_core.store import Store
from validation_core.tasks import PowerTask, TrainTask
from validation_core.types import Benchmark, Method


def add(parser: argparse.ArgumentParser) -> None:
    """Its arguments."""
    option = parser.add_argument
    option("--benchmark", required=True, metavar="NAME")
    option("--set", action="append", default=[], metavar="field=value", help="benchmark's options")
    option("--method", action="append", required=True, metavar="NAME[:field=value,...]")
    option("--gamma", type=numbers, required=True, metavar="0,0.1,0.2")
    option(
        "--beta",
        type=numbers,
        default=(0.0,),
        metavar="0,0.5",
        help="how far networks are moved back to their random start",
    )
    option("--trials", type=int, default=200)
    option("--n", type=int, default=1000, help="test points of a trial")
    option("--k", type=int, default=100, help="draws of q at each x, for tables")
    option("--alpha", type=level, default=0.05)
    option("--seed", type=int, default=0)
    option("--preset", default="interactive", help="how classifiers are trained")
    option("--protocol", choices=("pooled", "fresh"), default="pooled")
    option("--engine", default="local", metavar="local|serial|dask:ADDRESS")
    json_option(parser)
    parser.set_defaults(run=run)


def run(chosen: argparse.Namespace) -> None:
    """Train what is not trained, count rejections, and print them.

    Raises:
        ValueError: for options that cannot be used, or when the work fails.
    """
    on = benchmark(chosen.benchmark, chosen.set)
    design = Trials(
        trials=chosen.trials, n=chosen.n, k=chosen.k, alpha=chosen.alpha,
        protocol=chosen.protocol, seed=chosen.seed,
    )  # fmt: skip
    tasks, training = _power_tasks(chosen, on, methods(chosen.method), design)
    store = Store()
    _run_on_engine([*training, *tasks], store, chosen.engine)
    options = dataclasses.asdict(cast("Any", on))
    cells = [
        {**dataclasses.asdict(cell), "benchmark": chosen.benchmark, "set": options}
        for task in tasks
        for cell in task.load(store) or ()
    ]
    write({"cells": cells}, chosen.json, lambda: _print_cells(cells))


def _power_tasks(
    chosen: argparse.Namespace, on: Benchmark, wanted: Sequence[Method], design: Trials
) -> tuple[list[PowerTask], list[TrainTask]]:
    """One task for each gamma and beta, and those that train the networks they read."""

    recipe = entry(PRESETS, chosen.preset, "preset")
    trainings = [
        Training(source=Simulated(benchmark=on, gamma=gamma), recipe=recipe, seed=chosen.seed)
        for gamma in chosen.gamma
    ]
    tasks = [
        PowerTask(training=one, beta=beta, methods=tuple(wanted), design=design)
        for one in trainings
        for beta in chosen.beta
    ]
    needed = dict.fromkeys(one for task in tasks for one in task.trainings.values())
    return tasks, [TrainTask(trainings=(one,)) for one in needed]


def _run_on_engine(tasks: Sequence[Any], store: Store, name: str) -> None:

    if name not in ("local", "serial"):
        raise ValueError(
            f"This version runs on the engines local and serial; got {name!r}. Leave --engine out "
            f"to use the processors of this machine."
        )
    engine = Engine(store, WorkerPool() if name == "local" else SerialExecutor())
    try:
        job = engine.submit(tasks, "command line", "Power")
        state = job.snapshot()
        while state.active:
            state = engine.wait(job.key, "command line", timeout=5.0)
            tell(f"{state.seconds:6.1f} s  {state.done} of {state.total} done")
    finally:
        engine.close()
    if state.state != "done":
        raise ValueError(state.message)


def _print_cells(cells: Sequence[Mapping[str, Any]]) -> None:

    for cell in cells:
        low, high = wilson(cell["rejections"], cell["trials"])
        rate = cell["rejections"] / cell["trials"]
        print(
            f"{cell['label']:<14} gamma {cell['gamma']:<6g} beta {cell['beta']:<6g} power "
            f"{rate:.3f} [{low:.3f}, {high:.3f}], {cell['trials']} trials, {cell['protocol']}"
            f"{_mean(cell)}"
        )


def _mean(cell: Mapping[str, Any]) -> str:
    """Mean of the statistic and where the middle 90% of the trials' lie, if they were kept."""
    if cell["statistic"] is None:
        return ""
    low, high = cell["statistic_low"], cell["statistic_high"]
    return f", statistic {cell['statistic']:.3g} [{low:.3g}, {high:.3g}]"
