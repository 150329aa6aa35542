"""One run: K data sets simulated from a model, inferred, and the terms of the divergence."""

from __future__ import annotations

from collections.abc import Callable, Iterator, MutableMapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Integral
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from validation_core.bayes import MODELS, HeartTransplants, Model
from validation_core.bayes.algorithms import ALGORITHMS
from validation_core.bayes.importance_weights import LogWeights, sampled_log_weights
from validation_core.bayes.inference import Inference
from validation_core.bayes.laplace import Laplace
from validation_core.bayes.posterior import FullGaussian, Posterior
from validation_core.bayes.variational import trained_with
from validation_core.keys import Specification
from validation_core.provenance import Stopwatch
from validation_core.rng import stream
from validation_core.statistics import divergence_mean
from validation_core.statistics.divergence_rows import importance_weighted
from validation_core.study import Report, Study
from validation_core.types import Array, Integers, Joint

if TYPE_CHECKING:
    from validation_core.store import Store


MS = (1, 2, 5, 10, 20, 50, 100)
"""Draws that importance sampling weighs, Algorithm 4: every run knows its terms for each."""


@dataclass(frozen=True, eq=False)
class RunResult:
    """Result of a run: truths, data, q, and log weights."""

    theta: Array
    """True z (K, D), which inference has not seen."""
    x: Array
    """Data (K, M')."""
    truth: Array
    draws: Array
    drawn: Array
    """Log weights, with the two above: see `LogWeights`."""
    ok: NDArray[np.bool_]
    """Whether inference gave a q (K,)."""
    seconds: float
    mean: Array | None = None
    scale: Array | None = None
    """Scale of q where it is normal."""

    @property
    def weights(self) -> LogWeights:
        """Log weights of the truths and of q's draws."""
        return LogWeights(self.truth, self.draws, self.drawn)

    @property
    def q(self) -> FullGaussian | None:
        """The posterior q where it is normal, else None."""
        if self.mean is None or self.scale is None:
            return None
        return FullGaussian(self.mean, self.scale)


@dataclass(frozen=True, kw_only=True)
class InferenceRun(Study[RunResult], spec="run"):
    """A model, an inference, its iterations, and K simulated data sets.

    The random streams of data sets depend on the model and the seed alone: all runs of a model and
    seed share their data sets, and a smaller K gives the first ones of a larger K.
    """

    gpu: ClassVar[bool] = False

    model: Model
    inference: Inference
    iterations: int
    datasets: int = 100
    seed: int = 0

    @property
    def label(self) -> str:
        return f"{self.inference.label} of {self.model.label}, {self.iterations:,} iterations"

    @property
    def makes(self) -> frozenset[str]:
        """Keys of the results that it makes: its own."""
        return frozenset({self.key})

    @property
    def needs(self) -> frozenset[str]:
        """Keys that it waits for: adjusted Laplace waits for Laplace, whose climb gives both."""
        if not (isinstance(self.inference, Laplace) and self.inference.adjusted):
            return frozenset()
        return replace(self, inference=replace(self.inference, adjusted=False)).makes

    def pairs(self) -> Joint:
        """Simulated truths and data, K rows."""
        return simulate_datasets(self.model, self.seed, range(self.datasets))

    def streams(self, use: str) -> list[np.random.Generator]:
        """A generator for each data set."""
        return [stream(self.seed, use, k) for k in range(self.datasets)]

    def done(self, store: Store) -> bool:
        return store.has("results", self.key) and RunTermsStudy(of=self).done(store)

    def run(self, store: Store, report: Report) -> None:
        """Simulate, infer, weigh and store the result, with further results of the same climb.

        Raises:
            ValueError: where the model has no such posterior.
        """
        if self.done(store):
            return
        watch = Stopwatch()
        pairs = self.pairs()
        fits = self._fits(pairs.x, lambda fraction: report(fraction, {}))
        shared = watch.seconds
        for inference, q in fits:
            run = replace(self, inference=inference)
            if not run.done(store):
                run.keep_fit(store, pairs, q, shared)
        report(1.0, {})

    def _fits(
        self, y: Array, report: Callable[[float], None]
    ) -> Sequence[tuple[Inference, Posterior]]:
        """Posteriors inferred from data (K, M'); one climb gives both Laplace approximations."""
        if isinstance(self.inference, Laplace):
            return list(self.inference.both(self.model, y, self.iterations, report).items())
        rngs = self.streams("inference")
        q = self.inference.fit(self.model, y, self.iterations, rngs, report)
        return [(self.inference, q)]

    def keep_fit(self, store: Store, pairs: Joint, q: Posterior, before: float) -> None:
        """Weigh q's draws and store the result; `before` is the seconds of the fit."""
        watch = Stopwatch()
        weights = sampled_log_weights(self.model, q, pairs, max(MS), self.streams("draws"))
        normal = (q.mean, q.scale) if isinstance(q, FullGaussian) else ()
        seconds = before + watch.seconds
        result = RunResult(pairs.theta, pairs.x, *weights, q.ok, seconds, *normal)
        self.keep(store, result, seconds=seconds)
        RunTermsStudy(of=self).keep(store, _RunTerms.of(result), seconds=0.0)  # of the run


def simulate_datasets(model: Model, seed: int, which: Sequence[int]) -> Joint:
    """Simulate these data sets, each from its own stream: theta (V, D), x (V, M')."""
    return Joint.joined([model.simulate(1, stream(seed, "data set", k)) for k in which])


class _RunTerms(NamedTuple):
    """Terms of one finished run, the part of its result that figures need."""

    d: Array
    """Terms of the divergence in nats (len(MS), K)."""
    failures: int
    """Data sets without q."""
    seconds: float

    @classmethod
    def of(cls, result: RunResult) -> _RunTerms:
        """The terms of a result."""
        d = importance_weighted(result.truth, result.draws, MS)
        return cls(d.astype(np.float32), int((~result.ok).sum()), result.seconds)


@dataclass(frozen=True, kw_only=True)
class RunTermsStudy(Study[_RunTerms], spec="summed"):
    """The terms of a run, stored beside it: a hundredth of its size, small enough to ship."""

    of: InferenceRun

    @property
    def label(self) -> str:
        return self.of.label

    @property
    def makes(self) -> frozenset[str]:
        """Keys of the results that its run makes."""
        return self.of.makes

    @property
    def needs(self) -> frozenset[str]:
        """Keys that its run waits for."""
        return self.of.needs

    def run(self, store: Store, report: Report) -> None:
        """Run the inference, which stores its terms as well."""
        self.of.run(store, report)


GRID = (10, 30, 100, 300, 1000, 3000, 10_000, 30_000)
"""Iterations of inference. Step sizes fall at half of them, so that each is a run of its own."""

MOST = GRID[3:]
"""Iterations up to which a page's grid may go."""

TRAINED = (1, 2, 5, 10, 20)
"""M that Figure 3 trains with."""

FOUR = "laplace", "adjusted_laplace", "vi", "iwvi"
"""Algorithms of Figure 1."""

_LONG = 300  # iterations beyond which a run is sent off early, not in the order of reading
_AT_ONCE = 40.0  # fixed cost of a step, in hundreds of numbers


@dataclass(frozen=True, kw_only=True)
class Plan(Specification, spec="plan"):
    """Models, inferences and iterations: a run for each combination.

    Raises:
        ValueError: for an empty or repeated choice, or numbers that count nothing.
    """

    models: tuple[Model, ...]
    inferences: tuple[Inference, ...]
    iterations: tuple[int, ...] = GRID
    datasets: int = 100
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("models", "inferences", "iterations"):
            values: tuple[Any, ...] = getattr(self, name)
            if not values or len(set(values)) < len(values):
                labels = (
                    ", ".join(str(getattr(choice, "label", choice)) for choice in values) or "none"
                )
                raise ValueError(
                    f"A plan has one or more {name}, each once; got {labels}. Leave out what is "
                    f"repeated, or name one."
                )
        for n in self.iterations:
            if not isinstance(n, Integral) or n < 1:
                raise ValueError(
                    f"Iterations are whole numbers, 1 or more; got {n}. Try {GRID[0]}."
                )
        if not isinstance(self.datasets, Integral) or self.datasets < 2:
            raise ValueError(
                f"An interval needs 2 or more data sets, a whole number; got {self.datasets}. "
                f"Try 100."
            )
        for inference in self.inferences:
            _known(importance_sample_size(inference))

    def run(self, model: Model, inference: Inference, iterations: int) -> InferenceRun:
        """The run of one combination."""
        return InferenceRun(
            model=model,
            inference=inference,
            iterations=iterations,
            datasets=self.datasets,
            seed=self.seed,
        )

    def row(self, model: int, inference: int) -> tuple[InferenceRun, ...]:
        """Runs of one curve along the iterations, by the indices of its model and inference."""
        return self._rows[model, inference]

    @cached_property
    def _rows(self) -> dict[tuple[int, int], tuple[InferenceRun, ...]]:
        return {
            (i, j): tuple(self.run(model, inference, n) for n in self.iterations)
            for i, model in enumerate(self.models)
            for j, inference in enumerate(self.inferences)
        }

    def runs(self) -> tuple[InferenceRun, ...]:
        """All runs, ordered for several workers.

        Heart transplants come first, to fill a panel soon; then the runs of few iterations of the
        other models, the cheapest model first; last the long runs, the costliest first, so that no
        worker is left alone with one.
        """
        return tuple(dict.fromkeys(self._ordered()))

    def _ordered(self) -> Iterator[InferenceRun]:
        runs = [run for row in self._rows.values() for run in row]
        heart = [run for run in runs if isinstance(run.model, HeartTransplants)]
        others = sorted(
            (run for run in runs if not isinstance(run.model, HeartTransplants)),
            key=lambda run: relative_cost(run.model, None, 1),
        )
        yield from sorted(heart, key=lambda run: run.iterations)
        yield from (run for run in others if run.iterations <= _LONG)
        long = [run for run in others if run.iterations > _LONG]
        yield from sorted(
            long, key=lambda run: -relative_cost(run.model, run.inference, run.iterations)
        )


def relative_cost(model: Model, inference: Inference | None, iterations: int) -> float:
    """Approximate cost of a run in arbitrary units, for ordering."""
    step = np.prod(model.dims, dtype=float) / 100 + _AT_ONCE
    draws = 1.0 if inference is None else float(_draws(inference))
    return float(step * draws * iterations)


def _draws(inference: Inference) -> int:
    """Points at which one step evaluates the model."""
    return int(getattr(inference, "m", 1)) * int(getattr(inference, "groups", 1))


def importance_sample_size(inference: Inference) -> int:
    """M of the importance sampling that an inference is tested with: the M of its own bound."""
    return int(getattr(inference, "m", 1))


def figure(
    number: int,
    models: Sequence[Model] = (),
    inferences: Sequence[Inference] = (),
    iterations: Sequence[int] = (),
    *,
    datasets: int = 100,
    seed: int = 0,
) -> Plan:
    """The plan of one of the paper's figures.

    Args:
        number: 1, the divergence against iterations; 2, the same for importance sampling of
            adjusted Laplace, a curve for each M; 3, for VI trained with M.
        models: by default all five.
        inferences: by default the figure's own.
        iterations: by default the grid.

    Raises:
        ValueError: for another number, or choices that make no plan.
    """
    if number not in (1, 2, 3):
        raise ValueError(f"Figures are 1, 2 and 3; got {number}. Choose one of them.")
    own = {
        1: tuple(ALGORITHMS[name] for name in FOUR),
        2: (ALGORITHMS["adjusted_laplace"],),
        3: trained(),
    }[number]
    return Plan(
        models=tuple(models) or tuple(kind() for kind in MODELS.values()),
        inferences=tuple(inferences) or own,
        iterations=tuple(iterations) or GRID,
        datasets=datasets,
        seed=seed,
    )


def trained(ms: Sequence[int] = TRAINED) -> tuple[Inference, ...]:
    """VI (M = 1), and importance weighted VI for every larger M.

    Raises:
        ValueError: for an M that runs are not tested with.
    """
    for m in ms:
        _known(m)
    return tuple(trained_with(m) for m in ms)


def _known(m: int) -> None:
    if m not in MS:
        raise ValueError(
            f"Runs are tested with M = {', '.join(map(str, MS))}; got M = {m}. Choose one of them."
        )


RunMemory = MutableMapping[str, _RunTerms]
"""Cache of terms read before, by the run's key: a page reads twice a second."""


@dataclass(frozen=True, eq=False)
class Terms:
    """Terms of one curve: a model, an inference, and I numbers of iterations."""

    d: Array
    """Terms of the divergence in nats (I, len(MS), K), NaN where there is no run yet or no q."""
    done: NDArray[np.bool_]
    """Whether there is a run (I,)."""
    failures: Integers
    """Data sets without q (I,)."""
    seconds: Array
    """Seconds that a run took (I,), NaN where there is none."""


def missing(plan: Plan, store: Store) -> tuple[InferenceRun, ...]:
    """Runs whose terms the store lacks, in running order."""
    return tuple(run for run in plan.runs() if not RunTermsStudy(of=run).done(store))


def collect(
    plan: Plan, store: Store, memory: RunMemory | None = None
) -> dict[tuple[int, int], Terms]:
    """Collect the terms of every curve of a plan, as far as it has run.

    Args:
        plan: the requested runs.
        store: holds the terms of finished runs.
        memory: cache of terms read before; new ones are added.

    Returns:
        Terms of each curve, by (index of model, index of inference).
    """
    known: RunMemory = {} if memory is None else memory
    return {
        (i, j): _terms(plan.row(i, j), plan.datasets, store, known)
        for i in range(len(plan.models))
        for j in range(len(plan.inferences))
    }


def _terms(row: tuple[InferenceRun, ...], k: int, store: Store, known: RunMemory) -> Terms:
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


_MOST = 0.5
_CLOSEST = 1e-3  # nats: below that a mean is noise to any reader, whoever carries it


class TermSummary(NamedTuple):
    """Summary of terms d (..., K) over data sets, in nats; NaN where any of them is missing."""

    mean: Array
    """Estimate of the divergence, which a few data sets may dominate."""
    low: Array
    """Normal 95% interval of the mean: it may be below 0, which a divergence is not."""
    high: Array
    median: Array
    """Median of d, with its 95% interval; that is NaN with fewer than six data sets."""
    median_low: Array
    median_high: Array
    largest: Array
    sd: Array
    """Standard deviation of d over data sets."""
    carried: Array
    """Share of the largest term in the sum over data sets; 0 where the mean is not above 0."""

    @property
    def dominated(self) -> NDArray[np.bool_]:
        """Whether most of a mean above a thousandth of a nat is one data set's."""
        return np.asarray((self.carried > _MOST) & (self.mean > _CLOSEST))

    @property
    def medians(self) -> tuple[Array, Array, Array]:
        """The median and both ends of its interval."""
        return self.median, self.median_low, self.median_high


def summarise_terms(d: Array) -> TermSummary:
    """Summarise terms d (..., K) over data sets: (...), NaN where any data set lacks q.

    The mean over the others would flatter the inference, as they are the easier ones.
    """
    there = np.asarray(np.isfinite(d).all(-1))
    rows = d[there]
    means, largest = divergence_mean.means(rows), rows.max(-1)
    total = means.estimate * d.shape[-1]
    carried = np.divide(largest, total, out=np.zeros_like(largest), where=total > 0)
    values = (*means, *divergence_mean.medians(rows), largest, rows.std(-1, ddof=1), carried)
    return TermSummary(*(_put(there, value) for value in values))


def _put(there: NDArray[np.bool_], values: Array) -> Array:
    filled = np.full(there.shape, np.nan)
    filled[there] = values
    return filled
