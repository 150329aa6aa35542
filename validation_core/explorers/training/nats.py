"""How far a trained estimator is from the exact posterior, in nats, both ways."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np

from validation_core.benchmarks.trained import SimulatorPairs, Trained
from validation_core.estimators import TrainedEstimator
from validation_core.rng import stream
from validation_core.scores import trained_scores
from validation_core.scores.trained_scores import Simulated, Training
from validation_core.simulators import Simulator
from validation_core.statistics.areas import Estimate, mean_with_error
from validation_core.study import Report, Study
from validation_core.text import interval_text, share_text
from validation_core.types import Array, Benchmark, Interval

if TYPE_CHECKING:
    from validation_core.store import Store

DRAWS = 20
"""Draws of q at each x behind KL(q || p)."""


class Nats(NamedTuple):
    """KL divergences over fresh simulations, in nats a pair."""

    forward: Estimate
    """KL(p || q): mean of log p - log q at true values."""
    backward: Estimate
    """KL(q || p) of q restricted to where p has mass; of all of q it is infinite if `outside`."""
    outside: float
    """Share of q's draws where p has none, as beyond the prior's box (leakage)."""


@dataclass(frozen=True, kw_only=True)
class NatsStudy(Study[Nats], spec="true_nats"):
    """Both divergences of a trained estimator, over fresh pairs."""

    training: Training
    pairs: int = 2000
    seed: int = 0

    @property
    def label(self) -> str:
        return f"True nats of {self.training.label}"

    @property
    def trainings(self) -> tuple[Training, ...]:
        return (self.training,)

    def compute(self, store: Store, report: Report) -> Nats:
        simulator = simulator_of(self.training)
        estimator = trained_scores.trained(store, self.training, report)
        rng = stream(self.seed, "true nats")
        fresh = simulator.pairs(self.pairs, rng)
        draws = estimator.draws(fresh.x, DRAWS, rng)
        return true_nats(simulator, estimator, fresh.theta, fresh.x, draws)


def simulator_of(training: Training) -> Simulator:
    """The simulator that an estimator's training pairs come from."""
    return cast("SimulatorPairs", cast("Simulated", training.source).benchmark).simulator


def true_nats(
    simulator: Simulator, estimator: TrainedEstimator, theta: Array, x: Array, draws: Array
) -> Nats:
    """Both divergences, over pairs that the estimator has not learnt from.

    Args:
        simulator: whose posterior p is known.
        estimator: q.
        theta: true values (n, D).
        x: their data (n, M).
        draws: of q at each x (n, k, D).
    """
    forward = simulator.log_posterior(theta, x) - estimator.log_density(theta, x)
    backward, outside = _backward(simulator, estimator, x, draws)
    return Nats(mean_with_error(forward), mean_with_error(backward), outside)


def _backward(
    simulator: Simulator, estimator: TrainedEstimator, x: Array, draws: Array
) -> tuple[Array, float]:
    """log q - log p at q's draws, a mean for each x (n,), and the share of draws without p.

    Where q puts a share 1 - z of its mass at an x outside, its density inside is q / z.
    """
    n, k, d = draws.shape
    at = np.repeat(x, k, axis=0)
    log_p = simulator.log_posterior(draws.reshape(-1, d), at).reshape(n, k)
    log_q = estimator.log_density(draws.reshape(-1, d), at).reshape(n, k)
    inside = np.isfinite(log_p)
    count = inside.sum(1)
    total = np.where(inside, log_q - np.where(inside, log_p, 0.0), 0.0).sum(1)
    some = count > 0  # q without a draw where p has mass tells nothing of the ratio there
    means = total[some] / count[some] - np.log(count[some] / k)
    return means, float(1 - inside.mean())


def mean_of_trainings(parts: Sequence[Estimate]) -> Estimate:
    """The mean of trainings at the same pairs; its standard error is at most theirs' mean."""
    error = sum(part.error for part in parts) / len(parts)
    return Estimate(sum(part.value for part in parts) / len(parts), error)


def nats_over_trainings(parts: Sequence[Estimate]) -> Interval:
    """The mean of trainings, from the lowest to the highest end of their 95% intervals."""
    low, high = zip(*(part.interval() for part in parts), strict=True)
    return Interval.of(mean_of_trainings(parts).value, min(low), max(high))


def nats_text(nats: Estimate) -> str:
    """An estimate of nats with its 95% interval."""
    return interval_text((nats.value, *nats.interval()))


def below_zero(estimates: Iterable[float]) -> list[str]:
    """What an estimate of a KL below 0 means, in a sentence; none where there is no such one."""
    said = "KL is never below 0; an estimate of it can be, by chance."
    return [said] if any(estimate < 0 for estimate in estimates) else []


def describe_nats(nats: Nats) -> list[str]:
    """Both divergences in a sentence each, with 95% intervals."""
    said = [f"KL(p‖q) is {nats_text(nats.forward)} nats: what q loses at true values."]
    if nats.outside:
        said.append(
            f"KL(q‖p) is infinite: {share_text(nats.outside)} of q's draws lie where p has no "
            f"mass (leakage). Of q without these it is {nats_text(nats.backward)} nats."
        )
    else:
        said.append(f"KL(q‖p) is {nats_text(nats.backward)} nats, over q's own draws.")
    return [*said, *below_zero([nats.forward.value, nats.backward.value])]


def nats_line(benchmark: Benchmark, gammas: Sequence[float], store: Store) -> str:
    """KL(p || q) of a trained estimator at each gamma where the store has it, in a sentence.

    Empty for any other benchmark, and where nothing is known.
    """
    if not isinstance(benchmark, Trained):
        return ""
    studies = {
        gamma: NatsStudy(training=trained_scores.network_at(benchmark, gamma)) for gamma in gammas
    }
    known = {
        gamma: nats.forward
        for gamma, study in studies.items()
        if (nats := study.load(store)) is not None
    }
    if not known:
        return ""
    each = [f"after {benchmark.place(gamma)} {nats_text(one)}" for gamma, one in known.items()]
    said = [f"True error of q, KL(p‖q) in nats: {', '.join(each)}."]
    said += below_zero(one.value for one in known.values())
    return " ".join([*said, benchmark.simulator.quasi]).rstrip()
