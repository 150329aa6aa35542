"""One run: K data sets simulated from a model, inferred, and the terms of the divergence."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from validation_core import keys
from validation_core.bayes import Model
from validation_core.bayes.algorithms import LogWeights, log_weights
from validation_core.bayes.inference import Inference, Laplace
from validation_core.bayes.posterior import FullGaussian, Posterior
from validation_core.keys import Specification
from validation_core.models import covariates
from validation_core.rng import stream
from validation_core.statistics.divergence import importance_weighted
from validation_core.study import Report
from validation_core.types import Array, Joint

if TYPE_CHECKING:
    from validation_core.store import Store

MS = (1, 2, 5, 10, 20, 50, 100)
"""Draws that importance sampling weighs, Algorithm 4: every run knows its terms for each."""


@dataclass(frozen=True, eq=False)
class RunResult:
    """What a run leaves."""

    theta: Array
    """True z (K, D), which inference has not seen."""
    x: Array
    """Data (K, M')."""
    weights: LogWeights
    ok: NDArray[np.bool_]
    """Where inference gave a q (K,)."""
    q: FullGaussian | None
    """It, where it is a normal."""
    seconds: float


@dataclass(frozen=True, kw_only=True)
class InferenceRun(Specification, spec="run"):
    """A model, an inference, its iterations, and K simulated data sets.

    Data sets have random streams of their own that no other field enters: all runs of a model and
    seed see the same ones, and those of a smaller K are the first of a larger one's.
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
        """Its own key: what the same climb also gives waits for it."""
        return frozenset({self.key})

    @property
    def needs(self) -> frozenset[str]:
        """Of adjusted Laplace, the run of Laplace, which leaves both: none climbs twice."""
        if not (isinstance(self.inference, Laplace) and self.inference.adjusted):
            return frozenset()
        return replace(self, inference=replace(self.inference, adjusted=False)).makes

    def pairs(self) -> Joint:
        """The simulated truths and data, K rows."""
        return simulated(self.model, self.seed, range(self.datasets))

    def streams(self, use: str) -> list[np.random.Generator]:
        """A generator for each data set."""
        return [stream(self.seed, use, k) for k in range(self.datasets)]

    def done(self, store: Store) -> bool:
        return store.has("results", self.key) and RunTermsStudy(of=self).done(store)

    def run(self, store: Store, report: Report) -> None:
        """Simulate, infer, weigh, and keep it, with what else the same work gives.

        Raises:
            ValueError: where the store lacks the model's covariates, or the model has no such
                posterior.
        """
        if self.done(store):
            return
        covariates(store, self.model)
        start = time.perf_counter()
        pairs = self.pairs()
        fits = self._fits(pairs.x, lambda fraction: report(fraction, {}))
        shared = time.perf_counter() - start
        for inference, q in fits:
            run = replace(self, inference=inference)
            if not run.done(store):
                run._keep(store, pairs, q, shared)
        report(1.0, {})

    def _fits(
        self, y: Array, report: Callable[[float], None]
    ) -> Sequence[tuple[Inference, Posterior]]:
        """What is inferred from data (K, M'); both Laplace approximations come of one climb."""
        if isinstance(self.inference, Laplace):
            return list(self.inference.both(self.model, y, self.iterations, report).items())
        rngs = self.streams("inference")
        q = self.inference.fit(self.model, y, self.iterations, rngs, report)
        return [(self.inference, q)]

    def _keep(self, store: Store, pairs: Joint, q: Posterior, before: float) -> None:
        start = time.perf_counter()
        weights = log_weights(self.model, q, pairs, max(MS), self.streams("draws"))
        seconds = before + time.perf_counter() - start
        arrays = {"theta": pairs.theta, "x": pairs.x, "ok": q.ok, **weights._asdict()}
        if isinstance(q, FullGaussian):
            arrays |= {"mean": q.mean, "scale": q.scale}
        meta = {"label": self.label, "seconds": seconds}
        store.save("results", self.key, arrays, spec=keys.text(self), meta=meta)
        RunTermsStudy(of=self).keep(store, weights, q.ok, seconds)

    def load(self, store: Store) -> RunResult | None:
        """The stored result, or None."""
        stored = store.load("results", self.key)
        if stored is None:
            return None
        of = stored.arrays
        q = FullGaussian(of["mean"], of["scale"]) if "mean" in of else None
        return RunResult(
            of["theta"],
            of["x"],
            LogWeights(*(of[name] for name in LogWeights._fields)),
            of["ok"].astype(bool),
            q,
            float(stored.meta["seconds"]),
        )


def simulated(model: Model, seed: int, which: Sequence[int]) -> Joint:
    """Data sets of these numbers, each from its own stream: z theta (V, D), y x (V, M')."""
    rows = [model.simulate(1, stream(seed, "data set", k)) for k in which]
    return Joint(np.concatenate([r.theta for r in rows]), np.concatenate([r.x for r in rows]))


class RunTerms(NamedTuple):
    """What figures need of one finished run."""

    d: Array
    """Terms of the divergence in nats (len(MS), K)."""
    failures: int
    """Data sets without q."""
    seconds: float


@dataclass(frozen=True, kw_only=True)
class RunTermsStudy(Specification, spec="summed"):
    """The terms of a run, kept beside it: a hundredth of its size, small enough to ship."""

    of: InferenceRun

    def done(self, store: Store) -> bool:
        """Whether figures can be drawn of the run."""
        return store.has("results", self.key)

    def keep(self, store: Store, found: LogWeights, ok: NDArray[np.bool_], seconds: float) -> None:
        """Save what the run has found."""
        d = np.asarray(importance_weighted(found.truth, found.draws, MS))
        meta = {"label": self.of.label, "failures": int((~ok).sum()), "seconds": seconds}
        store.save("results", self.key, {"d": d}, spec=keys.text(self), meta=meta)

    def load(self, store: Store) -> RunTerms | None:
        """The stored terms, or None."""
        stored = store.load("results", self.key)
        if stored is None:
            return None
        return RunTerms(
            stored.arrays["d"], int(stored.meta["failures"]), float(stored.meta["seconds"])
        )
