"""Trials: outcomes of tests at one gamma and one beta, repeated, and how they are computed.

Trial t draws from random streams of its own, independent of gamma, beta, the other methods and the
process: curves share their random numbers, a long sweep begins with the trials of a
short one. Trials are scored and tested together in fixed blocks, whichever part
of a sweep needs them: a p-value does not depend, even in its last digit, on how a sweep was
cut. Methods that read the same draws share them.

Two protocols. *Fresh* is the papers' own: every test point of Uniform(m) gets m calibration draws
of its own, (m + 1) n scores a trial. *Pooled* scores n draws from p and n from q per trial; C2ST
and Multiple use them as disjoint blocks, which is their fresh protocol, and Uniform(m) draws its
binomial counts from a law of `POOL` n further scores of p, one for all trials and every m. With N
pooled scores that law is off by less than sqrt(log(40) / (2 N)) in 95 of 100 pools (Dvoretzky,
Kiefer, Wolfowitz): the level of the KS test at 5% moves to 5.2% at most.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, is_dataclass, replace
from typing import Any, Literal, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from validation_core import sampling, scores
from validation_core.keys import Specification
from validation_core.methods.base import Method
from validation_core.provenance import Stopwatch
from validation_core.rng import Streams, Unsplit, stream
from validation_core.statistics import PooledLaw
from validation_core.types import (
    Array,
    Benchmark,
    BlockScores,
    Joint,
    Outcome,
    PosteriorTable,
    PowerCell,
    Score,
    Scores,
    TableScores,
    TwoSamples,
    check_level,
)

POOL = 100
"""Pooled calibration scores for each test point of a trial."""

TRIALS_PER_CHUNK = 10  # trials sampled and scored at once: bounds memory at 100 dimensions
_NUMBERS = 1 << 20  # of all their tables together
_WIDE = 600  # numbers in a row, beyond which they are fewer

FractionDone = Callable[[float], None]
Protocol = Literal["pooled", "fresh"]


@dataclass(frozen=True, kw_only=True)
class TrialDesign(Specification, spec="trials"):
    """Number, size and protocol of the trials behind an estimate of power."""

    trials: int = field(default=200, metadata={"label": "Trials", "min": 1, "max": 10_000})
    n: int = field(default=1000, metadata={"label": "Test points", "min": 10, "max": 10_000})
    k: int = field(default=100, metadata={"label": "Draws per x (tables)", "min": 1, "max": 5000})
    alpha: float = field(default=0.05, metadata={"label": "Level"})
    protocol: Protocol = "pooled"
    seed: int = 0

    def __post_init__(self) -> None:
        check_level(self.alpha)
        if self.trials < 1 or self.n < 2 or self.k < 1:
            raise ValueError(
                f"A power needs trials >= 1, n >= 2 and k >= 1; got {self.trials}, {self.n} and "
                f"{self.k}. Raise the one that is too small."
            )


class Tally(NamedTuple):
    """Outcomes of one method in some trials: p-values and statistics (trials,), and their cost."""

    pvalues: Array
    statistics: Array
    draws_p: int
    draws_q: int
    seconds: float
    """Its own seconds, and its share of drawing and scoring with other methods."""
    training: float = 0.0
    """Training seconds of the network that it read, once for all trials."""

    def rejected(self, level: float) -> NDArray[np.bool_]:
        """Whether each trial rejects: (trials,).

        In single precision, in which whole curves are kept: a p-value of 1/20 is at most 0.05
        also where it was rounded.
        """
        return self.pvalues.astype(np.float32) <= np.float32(level)

    def cell(
        self, benchmark: Benchmark, method: Method, gamma: float, beta: float, design: TrialDesign
    ) -> PowerCell:
        """Count rejections at the level of a design."""
        low, high = np.quantile(self.statistics, [0.05, 0.95])
        pooled = _protocol_of(method, design) == "pooled" and _calibrated(method)
        return PowerCell(
            benchmark=benchmark.label,
            method=method.name,
            options=_options(method),
            gamma=gamma,
            beta=beta,
            trials=len(self.pvalues),
            rejections=int(self.rejected(design.alpha).sum()),
            alpha=design.alpha,
            protocol=_protocol_of(method, design) if method.pooled else "fresh",
            draws_p=POOL * design.n if pooled else self.draws_p,  # one pool for all parts
            draws_q=self.draws_q,
            seconds=self.seconds,
            label=method.label,
            statistic=float(self.statistics.mean()),
            statistic_low=float(low),
            statistic_high=float(high),
        )


class MethodFailed(Exception):
    """One of several methods failed: its name and the cause; the others can run without it."""

    def __init__(self, method: Method, error: Exception) -> None:
        super().__init__(f"{method.label}: {error}")
        self.method, self.error = method, error


def merge_tallies(parts: Sequence[Tally]) -> Tally:
    """Merge the parts of one place; training is counted once."""
    pvalues, values, draws_p, draws_q, seconds, training = zip(*parts, strict=True)
    return Tally(
        np.concatenate(pvalues),
        np.concatenate(values),
        sum(draws_p),
        sum(draws_q),
        sum(seconds),
        max(training),
    )


def _options(method: Method) -> dict[str, float | int | str | bool]:
    """Field values of a method."""
    return asdict(method) if is_dataclass(method) else {}


def _protocol_of(method: Method, design: TrialDesign) -> Protocol:
    """Protocol of a method; tables are not pooled: their calibration draws belong to one x."""
    return design.protocol if method.layout == "blocks" else "fresh"


def effective_design(design: TrialDesign, method: Method) -> TrialDesign:
    """Set the fields of a design that a method does not use to one value, to share keys.

    The protocol stands in the keys of every method of blocks, also of one that always draws
    afresh. Tables are drawn with as many draws at each x as the method uses.
    """
    k = design.k
    if not method.learns_anew:
        k = method.budget(1, design.k).q if method.layout == "table" else 1
    return replace(design, trials=1, alpha=0.05, k=k, protocol=_protocol_of(method, design))


def run_trials(
    benchmark: Benchmark,
    gamma: float,
    score: Score | Mapping[str, Score] | Sequence[Score | None] | None,
    methods: Sequence[Method],
    design: TrialDesign,
    trials: range | None = None,
    *,
    pool: Callable[[Score], PooledLaw] | None = None,
    progress: FractionDone | None = None,
) -> list[Tally]:
    """Run methods on the trials of a range: a tally for each.

    Args:
        benchmark: where draws come from.
        gamma: perturbation strength.
        score: the methods' score, or the score of each, by its label or in their order; None where
            no method reads a learned one, or they learn in each trial.
        methods: the tests; one may stand there several times, each with a score of its own.
        design: size of a trial, protocol, seed.
        trials: numbers of the trials; by default all of the design.
        pool: gives a score's stored calibration law; without it the law is drawn anew.
        progress: called with the fraction done.

    Raises:
        ValueError: when a method needs a learned score and there is none.
        MethodFailed: when one of several methods fails; a single one raises its own exception.
    """
    trials = range(design.trials) if trials is None else trials
    given = score if isinstance(score, Sequence) else [score] * len(methods)
    running = [
        _Running(method, _read(method, benchmark, gamma, own))
        for method, own in zip(methods, given, strict=True)
    ]
    place = _TrialPlace(benchmark, gamma, design, pool or _pool_of(benchmark, gamma, design))
    groups: dict[_Draw, list[_Running]] = {}
    for each in running:
        groups.setdefault(_draw_of(each.method, design), []).append(each)
    for i, (draw, members) in enumerate(groups.items()):
        size = draw.most(place)
        for chunk in _chunks(trials, size):
            try:
                _test_block(place, draw, members, chunk, size)
            except MethodFailed as failure:
                if len(methods) > 1:
                    raise
                raise failure.error from None
            if progress:
                progress((i + (chunk.stop - trials.start) / len(trials)) / len(groups))
    return [each.tally(design, len(trials)) for each in running]


def run_trial(
    benchmark: Benchmark,
    gamma: float,
    score: Score | None,
    method: Method,
    design: TrialDesign,
    trial: int,
) -> tuple[Outcome, PosteriorTable | None]:
    """Run one trial without pooling.

    Args:
        benchmark: source of the draws.
        gamma: strength of the perturbation.
        score: the score that the method reads, if any.
        method: the test.
        design: size of the trial, and seed.
        trial: its number.

    Returns:
        The outcome, and the table of a table test (None for other tests).
    """
    read = _read(method, benchmark, gamma, score)
    rng = stream(design.seed, method.seed_name, trial)
    place = _TrialPlace(benchmark, gamma, design, lambda score: PooledLaw(()))
    if method.learns_anew:
        outcome, table = _learnt_anew(place, method, trial, rng)
        return replace(outcome, budget=method.budget(design.n, design.k)), table
    assert read is not None
    drawn = _draw_of(method, replace(design, protocol="fresh")).rows(place, trial)
    outcome = method.test(scores.apply(read, drawn), rng)
    return outcome, drawn if isinstance(drawn, PosteriorTable) else None


def _pooled_at_once(benchmark: Benchmark) -> int:
    """Trials held in memory at once: fewer for images, whose rows are wide."""
    return max(1, TRIALS_PER_CHUNK * _WIDE // max(_WIDE, sum(benchmark.dims)))


def calibration_scores(
    benchmark: Benchmark, gamma: float, score: Score, design: TrialDesign
) -> Array:
    """Pooled scores (POOL n,) of rows of p, from trials that are never tested."""
    chunks = _chunks(range(-POOL, 0), _pooled_at_once(benchmark))
    return np.concatenate(
        [
            _scores_of(score, [_truths(benchmark, gamma, design, t) for t in chunk])
            for chunk in chunks
        ]
    )


def score_read_by(
    method: Method, benchmark: Benchmark, gamma: float, score: Score | Mapping[str, Score] | None
) -> Score:
    """The score that a method reads: its own unlearned one, or the learned one.

    Raises:
        ValueError: when the method reads a learned score and there is none, or a log ratio that
            the benchmark does not know.
    """
    if method.is_fixed:
        return method.score_on(benchmark, gamma)
    own = score.get(method.label) if isinstance(score, Mapping) else score
    if own is None:
        name = "classifier" if method.reads_classifier else "score of its own"
        raise ValueError(
            f"{method.label} reads a trained {name}; got no score. Train one for this "
            "benchmark and gamma first."
        )
    return own


class _TrialPlace(NamedTuple):
    """Benchmark, gamma and design from which trials are drawn."""

    benchmark: Benchmark
    gamma: float
    design: TrialDesign
    pool: Callable[[Score], PooledLaw]


class _Running:
    """A method with its outcomes so far."""

    def __init__(self, method: Method, score: Score | None) -> None:
        self.method, self.score = method, score
        self.pvalues: list[NDArray[np.floating]] = []
        self.statistics: list[NDArray[np.floating]] = []
        self.seconds = 0.0
        self.together = True
        """Whether its test may take several trials at once."""
        self.pool: PooledLaw | None = None

    def add(self, outcome: Outcome) -> None:
        """Record the outcome of one trial."""
        self.pvalues.append(np.atleast_1d(outcome.pvalue))
        self.statistics.append(np.atleast_1d(outcome.statistic))

    def tally(self, design: TrialDesign, trials: int) -> Tally:
        """Tally of all outcomes."""
        budget, n = self.method.budget(design.n, design.k), design.n
        draws = trials * budget.p, trials * budget.q
        if _protocol_of(self.method, design) == "pooled" and self.method.pooled:
            draws = (POOL * n if _calibrated(self.method) else trials * n, trials * n)
        pvalues, values = np.concatenate(self.pvalues), np.concatenate(self.statistics)
        return Tally(pvalues.astype(float), values.astype(float), *draws, self.seconds)


class _Draw(NamedTuple):
    """Specification of the draws of one trial: methods with equal ones share them."""

    kind: Literal["pooled", "fresh", "table", "anew"]
    size: tuple[int, int] = (0, 0)
    """Rows of p and q of fresh blocks; 0 and draws at each x of a table."""

    def rows(self, place: _TrialPlace, trial: int) -> TwoSamples | PosteriorTable:
        """The draws of a trial."""
        benchmark, gamma, design, _ = place
        if self.kind == "table":
            rng = stream(design.seed, "table", trial)
            return sampling.table(benchmark, gamma, design.n, self.size[1], rng)
        name, size = ("fresh", self.size) if self.kind == "fresh" else ("trial", (design.n,) * 2)
        return sampling.blocks(benchmark, gamma, *size, stream(design.seed, name, trial))

    def most(self, place: _TrialPlace) -> int:
        """Trials drawn at once."""
        if self.kind == "pooled":
            return _pooled_at_once(place.benchmark)
        per_row = self.size[1] if self.kind == "table" else sum(self.size) // place.design.n
        numbers = place.design.n * per_row * sum(place.benchmark.dims)
        return max(1, min(TRIALS_PER_CHUNK, _NUMBERS // max(numbers, 1)))


def _draw_of(method: Method, design: TrialDesign) -> _Draw:
    if method.learns_anew:
        return _Draw("anew")
    if method.layout == "table":
        return _Draw("table", (0, method.budget(1, design.k).q))
    if design.protocol == "pooled" and method.pooled:
        return _Draw("pooled")
    return _Draw("fresh", method.budget(design.n, 1))


def _read(
    method: Method, benchmark: Benchmark, gamma: float, score: Score | Mapping[str, Score] | None
) -> Score | None:
    """The score that all trials read, found once: some benchmarks' densities are expensive."""
    return None if method.learns_anew else score_read_by(method, benchmark, gamma, score)


def _calibrated(method: Method) -> bool:
    """Whether each test point has its own calibration draws, which a pool can replace."""
    return method.layout == "blocks" and method.pooled and method.budget(1, 1).p > 1


def _pool_of(
    benchmark: Benchmark, gamma: float, design: TrialDesign
) -> Callable[[Score], PooledLaw]:
    return lambda score: PooledLaw(calibration_scores(benchmark, gamma, score, design))


def _test_block(
    place: _TrialPlace, draw: _Draw, members: Sequence[_Running], wanted: range, size: int
) -> None:
    """Draw and score some trials, once for each score, and run every method on them.

    Their block is drawn whole: the last digits of a law or of a network's output depend on
    the other rows of the same call.
    """
    first = wanted.start - wanted.start % size
    block = range(first, first + size)
    watch = Stopwatch()
    drawn = [draw.rows(place, trial) for trial in block] if draw.kind != "anew" else []
    shared = watch.seconds / len(members)
    readers: dict[int, list[_Running]] = {}
    for each in members:
        readers.setdefault(id(each.score), []).append(each)
    for same in readers.values():
        watch = Stopwatch()
        with _blamed(same[0].method):
            scored = _scored(draw, same, drawn)
        scoring = watch.seconds / len(same)
        for each in same:
            watch = Stopwatch()
            with _blamed(each.method):
                if draw.kind == "anew":
                    _anew(place, each, wanted)
                else:
                    _tested(place, draw, each, scored, block, wanted)
            each.seconds += shared + scoring + watch.seconds


@contextmanager
def _blamed(method: Method) -> Iterator[None]:
    """Attribute an exception raised inside to this method."""
    try:
        yield
    except Exception as error:
        raise MethodFailed(method, error) from error


def _anew(place: _TrialPlace, each: _Running, wanted: range) -> None:
    for trial in wanted:
        rng = stream(place.design.seed, each.method.seed_name, trial)
        each.add(_learnt_anew(place, each.method, trial, rng)[0])


def _learnt_anew(
    place: _TrialPlace, method: Method, trial: int, rng: np.random.Generator
) -> tuple[Outcome, PosteriorTable]:
    """Learn on a table of this trial, and test on another."""
    benchmark, gamma, design, _ = place
    (rows, each), (points, draws) = method.sizes(design.n, design.k)
    own = stream(design.seed, "anew", trial)
    learned = sampling.table(benchmark, gamma, rows, each, own)
    table = sampling.table(benchmark, gamma, points, draws, own)
    return method.test(scores.apply(method.learn(learned, rng), table), rng), table


def _scored(
    draw: _Draw, same: Sequence[_Running], drawn: Sequence[TwoSamples | PosteriorTable]
) -> list[Scores]:
    """Scores of each trial, by the one score that these methods read."""
    if draw.kind == "anew":
        return []
    score = same[0].score
    assert score is not None
    if draw.kind != "pooled":
        return [scores.apply(score, cast("Any", rows)) for rows in drawn]
    blocks = cast("Sequence[TwoSamples]", drawn)
    q = _scores_of(score, [rows.q for rows in blocks]).reshape(len(blocks), -1)
    p: Array = np.empty((len(blocks), 0))
    if not all(_calibrated(each.method) for each in same):
        p = _scores_of(score, [rows.p for rows in blocks]).reshape(len(blocks), -1)
    return [BlockScores(one_p, one_q) for one_p, one_q in zip(p, q, strict=True)]


def _tested(
    place: _TrialPlace,
    draw: _Draw,
    each: _Running,
    scored: Sequence[Scores],
    block: range,
    wanted: range,
) -> None:
    """Test a block at once, or trial by trial where the method uses the generator differently."""
    seed, name = place.design.seed, each.method.seed_name
    scored = _calibrated_scores(place, draw, each, scored)
    which = slice(wanted.start - block.start, wanted.stop - block.start)
    if each.together:
        rngs = Streams([stream(seed, name, trial) for trial in block])
        try:
            outcome = each.method.test(_stacked(scored), cast("np.random.Generator", rngs))
        except Unsplit:
            each.together = False
        else:
            each.pvalues.append(outcome.pvalue[which])
            each.statistics.append(outcome.statistic[which])
            return
    for trial, of_trial in zip(wanted, scored[which], strict=True):
        each.add(each.method.test(of_trial, stream(seed, name, trial)))


def _calibrated_scores(
    place: _TrialPlace, draw: _Draw, each: _Running, scored: Sequence[Scores]
) -> Sequence[Scores]:
    """The scores with their calibration pool, where the method reads one."""
    if draw.kind != "pooled" or not _calibrated(each.method):
        return scored
    assert each.score is not None
    each.pool = each.pool or place.pool(each.score)
    nothing = np.empty(0)
    return [BlockScores(nothing, cast("BlockScores", s).q, each.pool) for s in scored]


class _OpenedTrial(NamedTuple):
    """One trial in full: its draws, their scores, and the outcome."""

    drawn: TwoSamples | PosteriorTable
    scores: Scores
    outcome: Outcome


def replay_trial(
    benchmark: Benchmark,
    gamma: float,
    score: Score | Mapping[str, Score] | None,
    method: Method,
    design: TrialDesign,
    trial: int,
) -> _OpenedTrial:
    """Repeat a trial of `run_trials` to the bit, for methods that do not learn in a trial."""
    each = _Running(method, _read(method, benchmark, gamma, score))
    place = _TrialPlace(benchmark, gamma, design, _pool_of(benchmark, gamma, design))
    draw = _draw_of(method, design)
    size = draw.most(place)
    first = trial - trial % size
    block = range(first, first + size)
    drawn = [draw.rows(place, one) for one in block]
    uncalibrated = _scored(draw, [each], drawn)
    scored = _calibrated_scores(place, draw, each, uncalibrated)
    rngs = [stream(design.seed, method.seed_name, one) for one in block]
    index = trial - first
    try:
        whole = method.test(_stacked(scored), cast("np.random.Generator", Streams(rngs)))
        arrays = {name: array[index] for name, array in whole.arrays.items()}
        outcome = replace(
            whole, statistic=whole.statistic[index], pvalue=whole.pvalue[index], arrays=arrays
        )
    except Unsplit:
        outcome = method.test(scored[index], stream(design.seed, method.seed_name, trial))
    return _OpenedTrial(drawn[index], uncalibrated[index], outcome)


def _stacked(scored: Sequence[Scores]) -> Scores:
    """Stack trials along a leading axis."""
    if isinstance(scored[0], BlockScores):
        blocks = cast("Sequence[BlockScores]", scored)
        p, q = np.stack([s.p for s in blocks]), np.stack([s.q for s in blocks])
        return BlockScores(p, q, blocks[0].reference)
    tables = cast("Sequence[TableScores]", scored)
    x = None if tables[0].x is None else np.stack([cast("Array", s.x) for s in tables])
    truth, draws = np.stack([s.truth for s in tables]), np.stack([s.draws for s in tables])
    return TableScores(truth, draws, x)


def _truths(benchmark: Benchmark, gamma: float, design: TrialDesign, trial: int) -> Joint:
    """Rows of p alone, from trials with negative numbers, which feed the pool."""
    rng = stream(design.seed, "trial", trial)
    return sampling.truths(benchmark, gamma, design.n, design.n, rng)


def _scores_of(score: Score, parts: Sequence[Joint]) -> Array:
    """Scores of the rows of several samples."""
    rows = Joint.joined(parts)
    return score(rows.theta, rows.x)


def _chunks(trials: range, size: int) -> Iterator[range]:
    """Split the trials into ranges cut at multiples of `size`."""
    first = trials.start
    while first < trials.stop:
        last = min(first - first % size + size, trials.stop)
        yield range(first, last)
        first = last
