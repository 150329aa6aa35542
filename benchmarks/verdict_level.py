"""The level of the whole verdict: how often exact posteriors of five shapes are called wrong.

Every table is drawn from its own posterior, so that each `problem found` is a false one. The
methods are those that run unasked. With `--shared 40`, which is what --full takes, the networks
learn from the training half of one table and serve 40 others, of which every row is new: a test
keeps its level with any network that did not see its rows, and what is tested is as many rows as
in a diagnosis of its own. With `--shared 0` each table trains its own networks, as on the command
line, at many times the cost. Each table leaves a line in a file below --cache, and a later run
goes on from there. By itself, with one process: `NPTLAB_WORKERS=1 python -m benchmarks
verdict_level --full --cache FOLDER`.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from benchmarks import rows as table
from benchmarks.lab import Lab, say
from benchmarks.rows import Row
from validation_core import keys
from validation_core.diagnosis.learning import build_training_set
from validation_core.diagnosis.method_runs import run_method
from validation_core.methods.base import Method
from validation_core.rng import stream
from validation_core.statistics import binomial_bounds
from validation_core.types import Array

if TYPE_CHECKING:
    from validation_core.tables import Upload

ALPHA = 0.05
FULL, QUICK = 400, 20
SHARED = 40
"""Tables that one training serves in the full run."""
CONFIDENCE = 0.95
"""Of the binomial bound: five shapes at once, so that each is held to 99%."""
_THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")

Law = Callable[[Array, int, np.random.Generator], Array]
"""k draws of the posterior at each x (n, M): (n, k, D). The first of them plays the truth."""


class Shape(NamedTuple):
    """Rows, draws of q at each, parameters, data, and the posterior that is exact there."""

    n: int
    k: int
    d: int
    m: int
    law: Law


def _gaussian(x: Array, k: int, rng: np.random.Generator) -> Array:
    """theta ~ N(0, 1), x = theta + N(0, 1): N(x / 2, 1 / 2)."""
    return x[:, None] / 2 + rng.standard_normal((len(x), k, 1)) / np.sqrt(2)


def _two_arcs(x: Array, k: int, rng: np.random.Generator) -> Array:
    """Two bent modes whose distance grows with x_1."""
    n = len(x)
    angle = rng.uniform(-1.5, 1.5, (n, k))
    side = rng.choice([-1.0, 1.0], (n, k))
    radius = 1 + 0.1 * rng.standard_normal((n, k))
    right = radius * np.cos(angle) + np.abs(x[:, :1])
    return np.stack([side * right + x[:, 1:2], radius * np.sin(angle)], axis=-1)


def _bounded(x: Array, k: int, rng: np.random.Generator) -> Array:
    """Five correlated parameters: in (0, 1), positive, and in units of 1e6 and 1e-6."""
    n = len(x)
    common = rng.standard_normal((n, k, 1))
    z = 0.8 * common + 0.6 * rng.standard_normal((n, k, 5))
    z += np.concatenate([x, x[:, :2]], axis=1)[:, None]
    columns = [1 / (1 + np.exp(-3 * z[..., 0])), np.exp(z[..., 1]), z[..., 2],
               1e6 * z[..., 3], 1e-6 * z[..., 4]]  # fmt: skip
    return np.stack(columns, axis=-1)


def _rounded_tails(x: Array, k: int, rng: np.random.Generator) -> Array:
    """Student t with 1.5 degrees of freedom, half of the parameters whole numbers: ties."""
    theta = x[:, None] + rng.standard_t(1.5, (len(x), k, 10))
    theta[..., ::2] = np.round(theta[..., ::2])
    return theta


def _skewed(x: Array, k: int, rng: np.random.Generator) -> Array:
    """Gamma laws whose width follows x, one parameter the sum of the others and noise."""
    theta = rng.gamma(2.0, 1.0, (len(x), k, 3)) * np.exp(x / 2)[:, None]
    theta[..., 2] += theta[..., 0] + theta[..., 1]
    return theta


SHAPES: Mapping[str, Shape] = {
    "gaussian": Shape(60, 20, 1, 1, _gaussian),
    "two arcs": Shape(200, 50, 2, 2, _two_arcs),
    "bounded": Shape(400, 100, 5, 3, _bounded),
    "rounded tails": Shape(200, 200, 10, 10, _rounded_tails),
    "skewed": Shape(1000, 100, 3, 3, _skewed),
}


def rows(lab: Lab) -> Iterator[Row]:
    """False alarms of each shape against the binomial bound of the level."""
    tables = FULL if lab.full else QUICK
    shared = (SHARED if lab.full else 0) if lab.shared is None else lab.shared
    file = f"verdict_level_shared_{shared}.jsonl" if shared else "verdict_level.jsonl"
    remaining = (lab.kept or lab.folder) / file
    remaining.parent.mkdir(parents=True, exist_ok=True)
    _fill(remaining, tables, shared)
    upload = _read(remaining)
    how = f"one training for {shared} tables of new rows" if shared else "a training each"
    outside = (1 - CONFIDENCE) / len(SHAPES)
    for name, shape in SHAPES.items():
        mine = [upload[name, trial] for trial in range(tables)]
        wrong = sum(item["problem"] for item in mine)
        # The upper end of a two-sided interval: one side of it holds half of what lies outside.
        _, most = binomial_bounds(tables, ALPHA, 1 - 2 * outside)
        seconds = float(np.mean([item["seconds"] for item in mine]))
        what = (
            f"false alarms of the whole verdict, exact posterior '{name}', "
            f"N, K, D, M = {', '.join(map(str, shape[:4]))}"
        )
        note = f"of {tables} at {ALPHA:.0%}, {how}; {_each(mine)}; {seconds:.1f} s a table"
        yield table.at_most(what, "tables", note, wrong=(wrong, most))


def _each(found: list[dict[str, Any]]) -> str:
    """How often each method by itself lies below the level."""
    labels = list(found[0]["pvalues"])
    rates = [np.mean([item["pvalues"][label] <= ALPHA for item in found]) for label in labels]
    return ", ".join(f"{label} {rate:.3f}" for label, rate in zip(labels, rates, strict=True))


def _fill(kept: Path, tables: int, shared: int) -> None:
    """Work out what is not there yet, all shapes in turn; lines are written as they come."""
    done = _read(kept)
    missing = [
        (name, first // shared if shared else None, trials)
        for first in range(0, tables, shared or 1)
        for name in SHAPES
        if (trials := [trial for trial in range(first, min(first + (shared or 1), tables))
                       if (name, trial) not in done])
    ]  # fmt: skip
    workers = int(os.environ.get("NPTLAB_WORKERS", os.cpu_count() or 1))
    os.environ.update(dict.fromkeys(_THREADS, "1"))  # read by each process as it starts
    count, last = 0, 0
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        futures = [pool.submit(some_tables, *item) for item in missing]
        for future in as_completed(futures):
            lines = future.result()
            with kept.open("a", encoding="utf-8") as file:
                file.writelines(json.dumps(line) + "\n" for line in lines)
            count += len(lines)
            if count >= last + 50:
                last = count
                say(f"{count} of {sum(len(trials) for *_, trials in missing)} tables")


def _read(kept: Path) -> dict[tuple[str, int], dict[str, Any]]:
    """The lines that are complete: the last one may have been cut off."""
    result = {}
    for line in kept.read_text(encoding="utf-8").splitlines() if kept.exists() else ():
        try:
            data = json.loads(line)
        except json.JSONDecodeError:
            continue
        result[data["shape"], data["trial"]] = data
    return result


def some_tables(name: str, training: int | None, trials: list[int]) -> list[dict[str, Any]]:
    """The verdicts on exact tables, whose networks learn once or, without `training`, for each."""
    import torch

    torch.set_num_threads(1)
    if training is None:
        return [_told(name, trial, _Networks(_exact(name, trial), trial)) for trial in trials]
    shared = _Networks(_exact(name, training, "trained on"), training)
    return [_told(name, trial, shared) for trial in trials]


def _exact(name: str, trial: int, *part: str) -> Upload:
    """A table of a shape: the first draw at each x plays the truth."""
    from validation_core.tables import Upload

    n, k, _, m, law = SHAPES[name]
    rng = stream(trial, "exact", name, *part)
    x = rng.standard_normal((n, m))
    sketch = law(x, k + 1, rng)
    arrays = {"theta": sketch[:, 0], "x": x, "theta_q": np.ascontiguousarray(sketch[:, 1:])}
    return Upload.of(arrays, order="NKD")


class _Networks:
    """The networks of one table, each trained once for all methods that read it."""

    def __init__(self, upload: Upload, seed: int) -> None:
        self._upload, self._seed = upload, seed
        self._trained: dict[str, Any] = {}

    def of(self, method: Method) -> Any:
        from validation_core import diagnosis

        how = diagnosis.recipe(self._upload, method)
        assert how is not None
        if (key := keys.canonical_text(how)) not in self._trained:
            learns = build_training_set(self._upload, how, self._seed)
            (self._trained[key],) = how.learn_all([learns], [self._seed])
        return self._trained[key]


def _told(name: str, trial: int, networks: _Networks) -> dict[str, Any]:
    """What a diagnosis of one exact table says with these networks."""
    from validation_core import diagnosis

    start = time.perf_counter()
    upload = _exact(name, trial)
    records = [
        run_method(upload, method, trial, network=partial(networks.of, method))
        for method in diagnosis.default_methods()
    ]
    verdict = diagnosis.verdict(records, upload, alpha=ALPHA, seed=trial)
    return {
        "shape": name, "trial": trial, "problem": verdict.verdict == "problem found",
        "verdict": verdict.verdict, "adjusted": min(verdict.adjusted.values()),
        "pvalues": {record.label: record.pvalue for record in records if record.status == "ran"},
        "seconds": time.perf_counter() - start,
    }  # fmt: skip
