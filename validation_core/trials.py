"""One method on some trials of a sweep: the unit that is computed, stored, resumed, shared out.

Trial t draws from random streams of its own, whatever gamma, beta, the other methods and the
process that runs it: curves share their random numbers, a long sweep begins with the trials of a
short one, and two machines agree.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from validation_core import power, sampling, scores, statistics
from validation_core.power import POOL, Progress, Trials
from validation_core.rng import stream
from validation_core.types import (
    Anew,
    Array,
    Benchmark,
    BlockScores,
    Draws,
    Method,
    Outcome,
    Score,
)


class Tally(NamedTuple):
    """What one method says in some trials: p-values and statistics (trials,), and their cost."""

    pvalues: Array
    statistics: Array
    draws_p: int
    draws_q: int
    seconds: float
    training: float = 0.0
    """Seconds that the network it read took, once for all trials."""


def together(parts: Sequence[Tally]) -> Tally:
    """Several parts of one place as one; the network was trained once."""
    pvalues, values, draws_p, draws_q, seconds, training = zip(*parts, strict=True)
    return Tally(
        np.concatenate(pvalues), np.concatenate(values), sum(draws_p), sum(draws_q), sum(seconds),
        max(training),
    )  # fmt: skip


def run(
    benchmark: Benchmark, gamma: float, score: Score | None, method: Method, design: Trials,
    trials: range, progress: Progress | None = None,
) -> Tally:  # fmt: skip
    """Test one method on the trials of a range.

    Args:
        benchmark: where draws come from.
        gamma: perturbation strength.
        score: what the method reads; None where it reads nothing learnt, or learns in each trial.
        method: the test.
        design: size of a trial, protocol, seed; its number of trials plays no part.
        trials: which.
        progress: told the fraction done.

    Raises:
        ValueError: when the method needs a learned score and there is none, or cannot be run on
            trials of this size.
    """
    start = time.perf_counter()
    read = _read(method, benchmark, gamma, score)
    if method.layout == "blocks" and method.reads != "rows" and design.protocol == "pooled":
        assert read is not None
        found, used = _pooled(benchmark, gamma, read, method, design, trials, progress)
    else:
        found = [
            _one(benchmark, gamma, read, method, design, trial)[0]
            for trial in _told(trials, progress)
        ]
        budget = method.budget(design.n, design.k)
        used = len(trials) * budget.p, len(trials) * budget.q
    return Tally(
        np.array([float(outcome.pvalue) for outcome in found]),
        np.array([float(outcome.statistic) for outcome in found]),
        *used,
        time.perf_counter() - start,
    )


def one(
    benchmark: Benchmark, gamma: float, score: Score | None, method: Method, design: Trials,
    trial: int,
) -> tuple[Outcome, Draws | None]:  # fmt: skip
    """One trial by itself, every calibration draw its own, and the table that a table test saw."""
    read = _read(method, benchmark, gamma, score)
    return _one(benchmark, gamma, read, method, design, trial)


def _read(method: Method, benchmark: Benchmark, gamma: float, score: Score | None) -> Score | None:
    """What all trials read, found once: to ask some benchmarks for a density is dear."""
    if isinstance(method, Anew):
        return None
    return power.score_of(method, benchmark, gamma, score)


def _one(
    benchmark: Benchmark, gamma: float, read: Score | None, method: Method, design: Trials,
    trial: int,
) -> tuple[Outcome, Draws | None]:  # fmt: skip
    rng = stream(design.seed, method.label, trial)
    n, k = design.n, design.k
    drawn: Draws | None
    if isinstance(method, Anew):
        (rows, each), (points, draws) = method.sizes(n, k)
        own = stream(design.seed, "anew", trial)
        learned = sampling.table(benchmark, gamma, rows, each, own)
        drawn = sampling.table(benchmark, gamma, points, draws, own)
        outcome = method.test(scores.apply(method.learn(learned, rng), drawn), rng)
        return replace(outcome, budget=method.budget(n, k)), drawn  # with what it learnt from
    assert read is not None
    if method.layout == "table":
        wanted = method.budget(1, k).q
        drawn = sampling.table(benchmark, gamma, n, wanted, stream(design.seed, "table", trial))
        return method.test(scores.apply(read, drawn), rng), drawn
    budget = method.budget(n, 1)
    own = stream(design.seed, "fresh", trial)
    blocks = sampling.blocks(benchmark, gamma, budget.p, budget.q, own)
    return method.test(scores.apply(read, blocks), rng), None


def _pooled(
    benchmark: Benchmark, gamma: float, score: Score, method: Method, design: Trials,
    trials: range, progress: Progress | None,
) -> tuple[list[Outcome], tuple[int, int]]:  # fmt: skip
    """Disjoint blocks for every trial; Uniform's counts from a law pooled beside the trials.

    That pool is the same for every part of a sweep, so that a trial's p-value does not depend on
    how the sweep was cut.
    """
    calibrated = method.budget(1, 1).p > 1
    pool = None
    if calibrated:
        p = np.concatenate([
            score(*power.joined([power.trial_truths(benchmark, gamma, design, t) for t in chunk]))
            for chunk in power.chunks(range(-POOL, 0))
        ])  # fmt: skip
        pool = statistics.Pool(p)
    found = []
    for chunk in power.chunks(trials, progress):
        rows = [power.trial_rows(benchmark, gamma, design, t) for t in chunk]
        p, q = (
            score(*power.joined(side)).reshape(len(chunk), -1)
            for side in ([r.p for r in rows], [r.q for r in rows])
        )
        rngs = [stream(design.seed, method.label, t) for t in chunk]
        for one_p, one_q, rng in zip(p, q, rngs, strict=True):
            found.append(method.test(BlockScores(one_p, one_q, pool), rng))
    drawn = len(trials) * design.n
    return found, (POOL * design.n if calibrated else drawn, drawn)


def _told(trials: range, progress: Progress | None) -> Iterator[int]:
    for trial in trials:
        yield trial
        if progress:
            progress((trial + 1 - trials.start) / len(trials))


def part(design: Trials, method: Method) -> Trials:
    """A design with what plays no part for this method set to one value: fewer things to run.

    Tables are drawn with as many draws at each x as the method looks at.
    """
    k = design.k
    if not isinstance(method, Anew):
        k = method.budget(1, design.k).q if method.layout == "table" else 1
    protocol = design.protocol if method.layout == "blocks" else "fresh"
    return replace(design, trials=1, alpha=0.05, k=k, protocol=protocol)
