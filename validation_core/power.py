"""Power: how often a method rejects, over many trials at one gamma and one beta.

Two protocols. *Fresh* is the papers' own: every test point of Uniform(m) gets m
calibration draws of its own, (m + 1) n scores a trial. *Pooled* scores n draws from p and n from
q per trial; C2ST and Multiple use them as disjoint blocks, which is their fresh protocol, and
Uniform(m) draws its binomial counts from the pooled law of all trials' p scores, for every m at
once. With N pooled scores that law is off by less than sqrt(log(40) / (2 N)) in 95 of 100 pools
(Dvoretzky, Kiefer, Wolfowitz); `POOL` keeps N >= 100 n, where the level of the KS test at 5%
moves to 5.2% at most, and 200 trials bring it to 5.1%.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, is_dataclass
from typing import Any, Literal, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from validation_core import sampling, scores, statistics
from validation_core.rng import stream
from validation_core.scores.ratio import Ratio
from validation_core.scores.rows import Rows
from validation_core.types import (
    Array,
    Benchmark,
    Blocks,
    BlockScores,
    Fixed,
    Joint,
    Method,
    Outcome,
    PowerCell,
    Score,
    TableScores,
)

POOL = 100
"""Pooled calibration scores for each test point of a trial, at least."""

_CHUNK = 10  # trials sampled and scored at once: bounds memory at 100 dimensions

Progress = Callable[[float], None]


@dataclass(frozen=True, kw_only=True)
class Trials:
    """How a power is estimated."""

    trials: int = field(default=200, metadata={"label": "Trials", "min": 1, "max": 10_000})
    n: int = field(default=1000, metadata={"label": "Test points", "min": 10, "max": 10_000})
    k: int = field(default=100, metadata={"label": "Draws per x (tables)", "min": 1, "max": 5000})
    alpha: float = field(default=0.05, metadata={"label": "Level"})
    protocol: Literal["pooled", "fresh"] = "pooled"
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0 < self.alpha < 1:
            raise ValueError(f"The level lies between 0 and 1; got {self.alpha}. 0.05 is usual.")
        if self.trials < 1 or self.n < 2 or self.k < 1:
            raise ValueError(
                f"A power needs trials >= 1, n >= 2 and k >= 1; got {self.trials}, {self.n} and "
                f"{self.k}. Raise the one that is too small."
            )


@dataclass(frozen=True, eq=False)
class Tested:
    """Every method's p-values (trials,) at one point of a sweep, and what they cost."""

    methods: tuple[Method, ...]
    pvalues: NDArray[np.floating]  # (methods, trials)
    statistics: NDArray[np.floating]  # (methods, trials)
    draws: tuple[tuple[int, int], ...]  # from p and from q, over all trials
    seconds: float

    def cells(
        self, benchmark: Benchmark, gamma: float, beta: float, design: Trials
    ) -> list[PowerCell]:
        """One count of rejections per method."""
        return [
            PowerCell(
                benchmark=benchmark.label, method=method.name, options=options(method),
                gamma=gamma, beta=beta, trials=len(p), rejections=int((p <= design.alpha).sum()),
                alpha=design.alpha, protocol=protocol_of(method, design), draws_p=draws[0],
                draws_q=draws[1], seconds=self.seconds, label=method.label,
                statistic=float(t.mean()), statistic_low=float(np.quantile(t, 0.05)),
                statistic_high=float(np.quantile(t, 0.95)),
            )
            for method, p, t, draws in zip(
                self.methods, self.pvalues, self.statistics, self.draws, strict=True
            )
        ]  # fmt: skip


def options(method: Method) -> dict[str, Any]:
    """A method's field values."""
    return asdict(cast("Any", method)) if is_dataclass(method) else {}


def protocol_of(method: Method, design: Trials) -> Literal["pooled", "fresh"]:
    """Tables cannot be pooled: their calibration draws belong to one x."""
    return design.protocol if method.layout == "blocks" else "fresh"


def run(
    benchmark: Benchmark,
    gamma: float,
    score: Score | Mapping[str, Score] | None,
    methods: Sequence[Method],
    design: Trials,
    progress: Progress | None = None,
) -> Tested:
    """Test every method on the same trials.

    Trial t has its own random stream, whatever gamma and beta: curves share their random numbers
    and are smoother for it, and the first trials of a longer run are those of a shorter one.

    Args:
        benchmark: where draws come from.
        gamma: perturbation strength.
        score: the learned score of all methods, or each method's own by its label; None where
            no method needs one.
        methods: what to test.
        design: number and size of trials.
        progress: told the fraction done.

    Raises:
        ValueError: when a method needs a learned score and there is none.
    """
    start = time.perf_counter()
    if unfit := [method.label for method in methods if method.reads in ("rows", "local")]:
        raise ValueError(
            f"Trials that share draws need a score fixed beforehand; got {', '.join(unfit)}. "
            "Run it by trials.run."
        )
    read = {method.label: score_of(method, benchmark, gamma, score) for method in methods}
    results: _Result = {}
    for own in {id(made): made for made in read.values()}.values():
        blocks = [m for m in methods if m.layout == "blocks" and read[m.label] is own]
        results |= _blocks(benchmark, gamma, own, blocks, design, progress)
    tables = [method for method in methods if method.layout == "table"]
    results |= _tables(benchmark, gamma, read, tables, design, progress)
    found = [results[method.label] for method in methods]
    return Tested(
        tuple(methods),
        np.array([one.pvalues for one in found]).reshape(len(found), design.trials),
        np.array([one.statistics for one in found]).reshape(len(found), design.trials),
        tuple(one.draws for one in found),
        time.perf_counter() - start,
    )


class _Found(NamedTuple):
    pvalues: Array  # (trials,)
    statistics: Array  # (trials,)
    draws: tuple[int, int]


_Result = dict[str, _Found]


def score_of(
    method: Method, benchmark: Benchmark, gamma: float, score: Score | Mapping[str, Score] | None
) -> Score:
    """The score that a method reads: one made without learning, or the learned one.

    Raises:
        ValueError: when the method reads a learned score and there is none, or a log ratio that
            the benchmark does not know.
    """
    if isinstance(method, Fixed):
        return method.score(log_q(benchmark, gamma))
    if method.reads == "rows":
        return Rows()
    if method.reads == "ratio":
        return Ratio(benchmark, gamma)
    own = score.get(method.label) if isinstance(score, Mapping) else score
    if own is None:
        raise ValueError(
            f"{method.label} reads a trained {method.reads}; got no score. Train one for this "
            "benchmark and gamma first."
        )
    return own


def log_q(benchmark: Benchmark, gamma: float) -> Callable[[Array, Array], Array] | None:
    """log q_gamma(theta|x) of a benchmark, or None where it does not know it."""
    theta, x = (np.zeros((1, width)) for width in benchmark.dims)
    known = benchmark.log_p(theta, x, gamma), benchmark.log_ratio(theta, x, gamma)
    if any(part is None for part in known):
        return None

    def density(theta: Array, x: Array) -> Array:
        p, ratio = benchmark.log_p(theta, x, gamma), benchmark.log_ratio(theta, x, gamma)
        assert p is not None
        assert ratio is not None
        return p - ratio

    return density


def _blocks(
    benchmark: Benchmark, gamma: float, score: Score, methods: Sequence[Method],
    design: Trials, progress: Progress | None,
) -> _Result:  # fmt: skip
    if not methods:
        return {}
    if design.protocol == "fresh":
        return _fresh(benchmark, gamma, score, methods, design, progress)
    return _pooled(benchmark, gamma, score, methods, design, progress)


def _pooled(
    benchmark: Benchmark, gamma: float, score: Score, methods: Sequence[Method],
    design: Trials, progress: Progress | None,
) -> _Result:  # fmt: skip
    p, q = _trial_scores(benchmark, gamma, score, design, progress)
    pool = p
    short = POOL - design.trials
    if short > 0 and any(method.budget(1, 1).p > 1 for method in methods):
        extra = [trial_truths(benchmark, gamma, design, t) for t in range(-short, 0)]
        pool = np.concatenate([p, score(*joined(extra)).reshape(-1, design.n)])
    all_scores = BlockScores(p, q, statistics.Pool(pool.ravel()))
    found: _Result = {}
    for method in methods:
        outcome = method.test(all_scores, stream(design.seed, method.label))
        draws = (pool.size if method.budget(1, 1).p > 1 else p.size, q.size)
        found[method.label] = _Found(outcome.pvalue, outcome.statistic, draws)
    return found


def _trial_scores(
    benchmark: Benchmark, gamma: float, score: Score, design: Trials, progress: Progress | None
) -> tuple[Array, Array]:
    """Scores (trials, n) of p and of q: all that the network ever sees."""
    parts = []
    for chunk in chunks(range(design.trials), progress):
        rows = [trial_rows(benchmark, gamma, design, t) for t in chunk]
        p, q = score(*joined([r.p for r in rows])), score(*joined([r.q for r in rows]))
        parts.append((p.reshape(len(chunk), -1), q.reshape(len(chunk), -1)))
    return np.concatenate([p for p, _ in parts]), np.concatenate([q for _, q in parts])


def trial_rows(benchmark: Benchmark, gamma: float, design: Trials, trial: int) -> Blocks:
    """The independent rows of one trial, n of p and n of q."""
    rng = stream(design.seed, "trial", trial)
    return sampling.blocks(benchmark, gamma, design.n, design.n, rng)


def trial_truths(benchmark: Benchmark, gamma: float, design: Trials, trial: int) -> Joint:
    """The rows of p alone, of trials with negative numbers, which feed the pool."""
    rng = stream(design.seed, "trial", trial)
    return sampling.truths(benchmark, gamma, design.n, design.n, rng)


def joined(parts: list[Joint]) -> tuple[Array, Array]:
    """theta and x of some samples, one below the other."""
    return np.concatenate([j.theta for j in parts]), np.concatenate([j.x for j in parts])


def chunks(trials: range, progress: Progress | None = None) -> Iterator[range]:
    """The trials a few at a time."""
    for first in range(trials.start, trials.stop, _CHUNK):
        chunk = range(first, min(first + _CHUNK, trials.stop))
        yield chunk
        if progress:
            progress((chunk.stop - trials.start) / len(trials))


def _fresh(
    benchmark: Benchmark, gamma: float, score: Score, methods: Sequence[Method],
    design: Trials, progress: Progress | None,
) -> _Result:  # fmt: skip
    """One trial after another, every calibration set of its own."""
    n = design.n
    most = max(method.budget(n, 1).p for method in methods)
    outcomes: dict[str, list[Outcome]] = {method.label: [] for method in methods}
    for chunk in chunks(range(design.trials), progress):
        for trial in chunk:
            rng = stream(design.seed, "fresh", trial)
            drawn = sampling.blocks(benchmark, gamma, most, n, rng)
            scored = scores.apply(score, drawn)
            for method in methods:
                own = BlockScores(scored.p[: method.budget(n, 1).p], scored.q)
                outcome = method.test(own, stream(design.seed, method.label, trial))
                outcomes[method.label].append(outcome)
    return _collected(methods, outcomes, design)


def _tables(
    benchmark: Benchmark, gamma: float, read: Mapping[str, Score], methods: Sequence[Method],
    design: Trials, progress: Progress | None,
) -> _Result:  # fmt: skip
    outcomes: dict[str, list[Outcome]] = {method.label: [] for method in methods}
    for chunk in chunks(range(design.trials if methods else 0), progress):
        for trial in chunk:
            rng = stream(design.seed, "table", trial)
            drawn = sampling.table(benchmark, gamma, design.n, design.k, rng)
            made: dict[int, TableScores] = {}
            for method in methods:
                own = read[method.label]
                if id(own) not in made:
                    made[id(own)] = scores.apply(own, drawn)
                own_rng = stream(design.seed, method.label, trial)
                outcomes[method.label].append(method.test(made[id(own)], own_rng))
    return _collected(methods, outcomes, design)


def _collected(
    methods: Sequence[Method], outcomes: Mapping[str, Sequence[Outcome]], design: Trials
) -> _Result:
    return {
        method.label: _Found(
            np.array([float(one.pvalue) for one in outcomes[method.label]]),
            np.array([float(one.statistic) for one in outcomes[method.label]]),
            _spent(method, design),
        )
        for method in methods
    }


def _spent(method: Method, design: Trials) -> tuple[int, int]:
    budget = method.budget(design.n, design.k)
    return design.trials * budget.p, design.trials * budget.q
