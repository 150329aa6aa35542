"""What the store holds of a plan so far, and the numbers that its figures draw."""

from __future__ import annotations

from collections.abc import MutableMapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from validation_core.simulations.plan import Plan
from validation_core.simulations.runs import MS, RunTerms, InferenceRun, RunTermsStudy
from validation_core.statistics import divergence as nats
from validation_core.types import Array

if TYPE_CHECKING:
    from validation_core.store import Store


Memory = MutableMapping[str, RunTerms]
"""What was read before, by the key of the run: a page asks twice a second."""


@dataclass(frozen=True, eq=False)
class Terms:
    """One curve: a model, an inference, and I numbers of iterations."""

    d: Array
    """Terms of the divergence in nats (I, len(MS), K), NaN where there is no run yet or no q."""
    done: NDArray[np.bool_]
    """Where there is a run (I,)."""
    failures: NDArray[np.int64]
    """Data sets without q (I,)."""
    seconds: Array
    """That a run took (I,), NaN where there is none."""


def missing(plan: Plan, store: Store) -> tuple[InferenceRun, ...]:
    """Runs whose terms a store lacks, in the order in which they should run."""
    return tuple(run for run in plan.runs() if not RunTermsStudy(of=run).done(store))


def collect(
    plan: Plan, store: Store, memory: Memory | None = None
) -> dict[tuple[int, int], Terms]:
    """Every curve of a plan as far as it has run, by (place of model, place of inference)."""
    known: Memory = {} if memory is None else memory
    return {
        (i, j): _terms(plan.row(i, j), plan.datasets, store, known)
        for i in range(len(plan.models))
        for j in range(len(plan.inferences))
    }


def _terms(row: tuple[InferenceRun, ...], k: int, store: Store, known: Memory) -> Terms:
    d = np.full((len(row), len(MS), k), np.nan)
    done, failures = np.zeros(len(row), bool), np.zeros(len(row), np.int64)
    seconds = np.full(len(row), np.nan)
    for at, run in enumerate(row):
        run_terms = known.get(run.key) or RunTermsStudy(of=run).load(store)
        if run_terms is not None:
            known[run.key] = run_terms
            d[at], failures[at], seconds[at] = run_terms
            done[at] = True
    return Terms(d, done, failures, seconds)


class Summary(NamedTuple):
    """The divergence that d (..., K) estimate, in nats; NaN where any of them is missing."""

    mean: Array
    low: Array
    """Normal 95% interval of the mean: it may be below 0, which a divergence is not."""
    high: Array
    median: Array
    largest: Array
    sd: Array
    """Of d over data sets."""


def summary(d: Array) -> Summary:
    """Of d (..., K): (...). A data set without q leaves its whole place without a number, as the
    mean over the others would flatter the inference: they are the easier ones.
    """
    there = np.asarray(np.isfinite(d).all(-1))
    rows = d[there]
    means = nats.means(rows)
    values = (
        means.estimate,
        means.low,
        means.high,
        np.median(rows, -1),
        rows.max(-1),
        rows.std(-1, ddof=1),
    )
    return Summary(*(_put(there, value) for value in values))


def _put(there: NDArray[np.bool_], values: Array) -> Array:
    filled = np.full(there.shape, np.nan)
    filled[there] = values
    return filled
