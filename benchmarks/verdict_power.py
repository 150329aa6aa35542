"""What the verdict finds: shares of fresh tables of each error that are found, and its level.

Two columns: relabelling of the table alone, `without learned scores`, and `complete`, the whole
verdict. Quickly: eight tables of each error. With --full: forty, and the null tables of
tests/nulls.py at the size of an upload. Every table leaves a line in a file below --cache, and a
later run goes on from there.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from benchmarks import rows as table
from benchmarks.lab import Lab, say
from benchmarks.rows import Row
from tests.nulls import NULLS, Given
from validation_core import relabelling
from validation_core.diagnosis import learning, method_runs
from validation_core.methods import Omnibus
from validation_core.relabelling.table_statistics import RELABELINGS
from validation_core.rng import stream
from validation_core.statistics import binomial_bounds
from validation_core.tables import TableUpload, Upload
from validation_core.types import Array, PosteriorTable

ALPHA = 0.05
N, K, D = 1000, 200, 3
FULL, QUICK = 40, 8
NULL_TABLES: Mapping[Literal["alone", "complete"], int] = {"alone": 200, "complete": 40}
SECONDS = {"alone": 2.0, "complete": 9.0}
"""At most, of a table, on one thread."""
CONFIDENCE = 0.99
"""Of the binomial bounds of all kinds of null tables together."""
_THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")

Column = Literal["alone", "complete"]
WORDS: Mapping[Column, str] = {"alone": "without learned scores", "complete": "complete"}


def alone(draws: PosteriorTable, seed: int, **given: Any) -> float:
    """The p-value of relabelling without learned scores."""
    return relabelling.relabelled(draws, seed, **given).pvalue


def complete(draws: PosteriorTable, seed: int, **given: Any) -> float:
    """The p-value of the whole verdict: every score trained on half of the table."""
    arrays = {"theta": draws.theta, "x": draws.x, "theta_q": draws.q}
    upload = Upload.of(arrays | dict(given.get("densities") or {}), order="NKD")
    assert isinstance(upload, TableUpload)
    trained = {
        name: recipe.learn_all([learning.build_training_set(upload, recipe, seed)], [seed])[0]
        for name, recipe in method_runs.learned_score_recipes(upload).items()
    }
    answer = method_runs.run_relabelling(upload, Omnibus(), seed, trained)
    return 1.0 if answer.pvalue is None else answer.pvalue


VERDICTS: Mapping[Column, Callable[..., float]] = {"alone": alone, "complete": complete}

Change = Callable[[Array, Array, Array, np.random.Generator], tuple[Array, Array]]
"""Noise of truths z (N, D) and of draws e (N, K, D), both N(0, 1) and around q's mean, of an
error: of (z, e, x (N, M), generator)."""


class Error(NamedTuple):
    """One way in which q is wrong, and how often it must be found; None: only told."""

    change: Change
    least: float | None
    d: int = D
    floor: bool = False
    """Whether half of the tables must have the smallest p that there is."""


def _some(x: Array) -> Array:
    """1 in the 5% of rows with the largest first coordinate, else 0: (N,)."""
    return (x[:, 0] > np.quantile(x[:, 0], 0.95)).astype(float)


def _first(change: Array) -> Array:
    """The first parameter's change (N,) beside draws (N, K, D)."""
    return change[:, None]


def _of_first(e: Array, change: Callable[[Array], Array]) -> Array:
    out = np.array(e)
    out[..., 0] = change(e[..., 0])
    return out


def _correlated(z: Array, r: Array | float) -> Array:
    """The second parameter follows the first with correlation r."""
    out = np.array(z)
    out[:, 1] = r * z[:, 0] + np.sqrt(1 - np.square(r)) * z[:, 1]
    return out


def _three(z: Array, rng: np.random.Generator) -> Array:
    """The sign of z1 z2 z3 positive with probability 3/4; every pair stays independent."""
    out = np.array(z)
    out[(z.prod(axis=1) < 0) & (rng.random(len(z)) < 0.5), 2] *= -1
    return out


def _truncated(e: Array, rng: np.random.Generator) -> Array:
    """N(0, 1) within two sd."""
    out = np.array(e)
    while (beyond := np.abs(out) > 2).any():
        out[beyond] = rng.standard_normal(int(beyond.sum()))
    return out


def _skewed(e: Array, rng: np.random.Generator, alpha: float = 4.0) -> Array:
    """Skew-normal of mean 0 and variance 1 (Azzalini, 1985)."""
    delta = alpha / np.sqrt(1 + alpha**2)
    skew = delta * np.abs(rng.standard_normal(e.shape)) + np.sqrt(1 - delta**2) * e
    return (skew - delta * np.sqrt(2 / np.pi)) / np.sqrt(1 - 2 * delta**2 / np.pi)


def _student(e: Array, rng: np.random.Generator, freedom: float) -> Array:
    """Student t of variance 1."""
    return rng.standard_t(freedom, e.shape) / np.sqrt(freedom / (freedom - 2))


ERRORS: Mapping[str, Error] = {
    "1 sd shift in 5% of x": Error(
        lambda z, e, x, rng: (z, _of_first(e, lambda one: one + _first(_some(x)))), 0.9),
    "2x wide in 5% of x": Error(
        lambda z, e, x, rng: (z, e * np.where(_some(x), 2, 1)[:, None, None]), 0.8),
    "2x wide in 5% of x, one parameter": Error(
        lambda z, e, x, rng: (z, _of_first(e, lambda one: one * _first(1 + _some(x)))), None),
    "+-.3 sd by halves of x": Error(
        lambda z, e, x, rng: (z, _of_first(
            e, lambda one: one + _first(0.3 * np.sign(x[:, 0])))), 1.0),
    "widths 1.3 and 1/1.3 by halves of x": Error(
        lambda z, e, x, rng: (z, _of_first(
            e, lambda one: one * _first(1.3 ** np.sign(x[:, 0])))), 1.0),
    "correlation .3 missing": Error(lambda z, e, x, rng: (_correlated(z, 0.3), e), 1.0),
    "correlation +-.6 by sign of x missing": Error(
        lambda z, e, x, rng: (_correlated(z, 0.6 * np.sign(x[:, 0])), e), None),
    "three-way dependence missing": Error(lambda z, e, x, rng: (_three(z, rng), e), 1.0),
    "1 of 30 parameters 1.3x wide": Error(
        lambda z, e, x, rng: (z, _of_first(e, lambda one: 1.3 * one)), 1.0, d=30, floor=True),
    "truncated at 2 sd": Error(lambda z, e, x, rng: (z, _truncated(e, rng)), 1.0),
    "t5 tails": Error(lambda z, e, x, rng: (z, _student(e, rng, 5)), 1.0),
    "t3 tails": Error(lambda z, e, x, rng: (z, _student(e, rng, 3)), 1.0),
    "tempered by 1.2": Error(lambda z, e, x, rng: (z, np.sqrt(1.2) * e), 1.0),
    "skewed": Error(lambda z, e, x, rng: (z, _skewed(e, rng)), 1.0),
    "width exp(.4 x)": Error(
        lambda z, e, x, rng: (z, _of_first(
            e, lambda one: one * _first(np.exp(0.4 * x[:, 0])))), 1.0),
    "bias .1 sd in one of four": Error(
        lambda z, e, x, rng: (z, _of_first(e, lambda one: one + 0.1)), 0.55, d=4),
    "shift of .12 sd along the diagonal of six": Error(
        lambda z, e, x, rng: (z, e + 0.12 / np.sqrt(6)), 0.5, d=6),
    "width exp(.07 x_7) of ten x": Error(
        lambda z, e, x, rng: (z, _of_first(
            e, lambda one: one * _first(np.exp(0.07 * x[:, 6])))), None, d=10),
    "two modes merged": Error(lambda z, e, x, rng: (_bimodal(z, rng), e), 0.6),
    "5 of 1000 true values 30 sd away": Error(
        lambda z, e, x, rng: (z + 30 * (np.arange(N) % 200 == 7)[:, None], e), 0.95),
    "draws on a grid of .1 sd": Error(
        lambda z, e, x, rng: (z, np.round(x[:, None] + e, 1) - x[:, None]), 0.95),
    "1% of one parameter's draws outside the prior": Error(
        lambda z, e, x, rng: (z, _of_first(
            e, lambda one: np.where(rng.random(one.shape) < 0.01, 9.0, one))), 0.95),
}  # fmt: skip


def _bimodal(z: Array, rng: np.random.Generator, apart: float = 0.85) -> Array:
    """The first parameter in two modes, of mean 0 and variance 1."""
    out = np.array(z)
    side = rng.choice([-1.0, 1.0], len(z))
    out[:, 0] = apart * side + np.sqrt(1 - apart**2) * z[:, 0]
    return out


def wrong(name: str, trial: int) -> PosteriorTable:
    """A fresh table of an error: q is N(x, 1), changed."""
    error = ERRORS[name]
    rng = stream(trial, "verdict power", name)
    x = rng.standard_normal((N, error.d))
    z, e = error.change(
        rng.standard_normal((N, error.d)), rng.standard_normal((N, K, error.d)), x, rng
    )
    return PosteriorTable(x + z, x, x[:, None] + e)


class Asked(NamedTuple):
    """One table to look at."""

    kind: Literal["error", "null"]
    name: str
    trial: int
    column: Column


def rows(lab: Lab) -> Iterator[Row]:
    """Errors that are found, seconds, and the level on null tables."""
    tables = FULL if lab.full else QUICK
    errors = [Asked("error", name, trial, column)
              for trial in range(tables) for name in ERRORS for column in VERDICTS]  # fmt: skip
    nulls = [
        Asked("null", name, trial, column)
        for column, count in NULL_TABLES.items() for trial in range(count) for name in NULLS
    ] if lab.full else []  # fmt: skip
    remaining = (lab.kept or lab.folder) / "verdict_power.jsonl"
    remaining.parent.mkdir(parents=True, exist_ok=True)
    _fill(remaining, [*errors, *nulls])
    lines = _read(remaining)
    for name, error in ERRORS.items():
        yield _power(name, error, [lines[item] for item in errors if item.name == name], tables)
    yield from _times([lines[item] for item in errors])
    for column in VERDICTS if nulls else ():
        for name in NULLS:
            yield _level(name, column, [
                lines[item] for item in nulls if item.name == name and item.column == column
            ])  # fmt: skip


def _power(name: str, error: Error, lines: Sequence[dict[str, Any]], tables: int) -> Row:
    example, share, middle = [], {}, {}
    for column, words in WORDS.items():
        mine = [line for line in lines if line["column"] == column]
        p = np.array([line["p"] for line in mine])
        seconds = float(np.median([line["seconds"] for line in mine]))
        share[column], middle[column] = float(np.mean(p <= ALPHA)), float(np.median(p))
        example.append(
            f"{words} {share[column]:.2f}, median p {middle[column]:.3g}, {seconds:.1f} s"
        )
    must = "" if error.least is None else f">= {error.least:.4g}, complete"
    ok = None
    if error.least is not None and tables >= FULL:  # of a few tables the share is too coarse
        ok = share["complete"] >= error.least
    if error.floor:
        must += ", half of p at the floor"
        floor = middle["complete"] <= 1 / (RELABELINGS + 1)
        ok = ok if ok is None else ok and floor
    size = f"N, K, D = {N}, {K}, {error.d}"
    return table.told(
        f"found at {ALPHA:.0%}: {name}, {size}", f"{'; '.join(example)} (of {tables} tables)", ok,
        must, share=share, median=middle,
    )  # fmt: skip


def _times(lines: Sequence[dict[str, Any]]) -> Iterator[Row]:
    """Of tables of D parameters: 30 take longer, and have their own line."""
    usual = [line for line in lines if ERRORS[line["name"]].d <= D + 1]
    for column, words in WORDS.items():
        seconds = float(np.median([line["seconds"] for line in usual if line["column"] == column]))
        yield table.at_most(
            f"a table, {words}, N, K, D = {N}, {K}, {D}", "s", "median",
            seconds=(seconds, SECONDS[column]),
        )  # fmt: skip


def _level(name: str, column: Column, lines: Sequence[dict[str, Any]]) -> Row:
    p = np.array([line["p"] for line in lines])
    outside = (1 - CONFIDENCE) / len(NULLS)
    _, most = binomial_bounds(len(p), ALPHA, 1 - 2 * outside)
    return table.at_most(
        f"false alarms, {WORDS[column]}, null table '{name}'", "tables",
        f"of {len(p)} at {ALPHA:.0%}", wrong=(int((p <= ALPHA).sum()), most),
    )  # fmt: skip


def looked_at(asked: Sequence[Asked]) -> list[dict[str, Any]]:
    """The p-values of tables, on one thread, and the seconds of each."""
    return [_looked_at(item) for item in asked]


def _looked_at(asked: Asked) -> dict[str, Any]:
    value: Given = {}
    if asked.kind == "error":
        draws = wrong(asked.name, asked.trial)
    else:
        draws, value = NULLS[asked.name](stream(asked.trial, "level", asked.name), N, K)
    start = time.perf_counter()
    p = VERDICTS[asked.column](draws, asked.trial, **value)
    return {**asked._asdict(), "p": p, "seconds": time.perf_counter() - start}


def _fill(kept: Path, asked: Sequence[Asked]) -> None:
    """Work out what is not there yet; lines are written as they come."""
    done = _read(kept)
    missing = [item for item in asked if item not in done]
    step = 2 * len(ERRORS)
    parts = [missing[first : first + step] for first in range(0, len(missing), step)]
    os.environ.update(dict.fromkeys(_THREADS, "1"))  # read by each process as it starts
    workers = int(os.environ.get("NPTLAB_WORKERS", os.cpu_count() or 1))
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        futures = [pool.submit(looked_at, part) for part in parts]
        for count, future in enumerate(as_completed(futures), 1):
            with kept.open("a", encoding="utf-8") as file:
                file.writelines(json.dumps(line) + "\n" for line in future.result())
            say(f"{count} of {len(parts)} parts")


def _read(kept: Path) -> dict[Asked, dict[str, Any]]:
    """The lines that are complete: the last one may have been cut off."""
    lines = {}
    for line in kept.read_text(encoding="utf-8").splitlines() if kept.exists() else ():
        try:
            data = json.loads(line)
        except json.JSONDecodeError:
            continue
        lines[Asked(data["kind"], data["name"], data["trial"], data["column"])] = data
    return lines
