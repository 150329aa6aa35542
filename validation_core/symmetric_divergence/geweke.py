"""Geweke's joint test of an inference: data and parameters drawn from one another, in turns.

From z of the prior, data y are simulated, inference makes q from y alone, and q's draw is the next
z. Where q is the posterior, z keeps the law of the prior at every turn, and the chain is the same
backwards: the first and the t-th z are exchangeable, which makes the test exact. Small errors of q
pile up from turn to turn. (Geweke runs one long chain; many short ones need no estimate of its
autocorrelation.)

References:
    Getting it right: joint distribution tests of posterior simulators, Geweke (2004).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

from validation_core.bayes.inference import Inference
from validation_core.bayes.model import Model
from validation_core.rng import stream
from validation_core.statistics import sign_flips
from validation_core.study import Report, Study
from validation_core.symmetric_divergence.runs import InferenceRun
from validation_core.types import Array, Integers

if TYPE_CHECKING:
    from validation_core.store import Store

TURNS = 8
CHAINS = 100


class JointChains(NamedTuple):
    """Chains of turns between z and y."""

    z: Array
    """(turns + 1, chains, D): first the prior's draw."""
    lost: Integers
    """Chains on whose data inference gave no q at each turn (turns,): their z stays."""


class JointTest(NamedTuple):
    """The test after each of T turns, with F functions of z: each coordinate and its square."""

    names: tuple[str, ...]
    """The functions."""
    drift: Array
    """Mean difference from the prior's z over its standard error (T, F)."""
    statistic: Array
    """The largest |drift| after each turn (T,)."""
    pvalue: Array
    """By random signs (T,): each turn's test is exact alone."""
    null: Array
    """The statistic with random signs (T, B)."""


@dataclass(frozen=True, kw_only=True)
class JointTestStudy(Study[JointChains], spec="joint_test"):
    """Chains of Geweke's test for a model and an inference."""

    gpu: ClassVar[bool] = False

    model: Model
    inference: Inference
    iterations: int
    seed: int = 0
    chains: int = CHAINS
    turns: int = TURNS

    @classmethod
    def about(cls, run: InferenceRun) -> JointTestStudy:
        """The test of a run's model and inference."""
        return cls(
            model=run.model, inference=run.inference, iterations=run.iterations, seed=run.seed
        )

    @property
    def label(self) -> str:
        return (
            f"Joint test of {self.inference.label} of {self.model.label}, "
            f"{self.iterations:,} iterations"
        )

    def compute(self, store: Store, report: Report) -> JointChains:
        """Run the chains, all of them as one batch at each turn."""
        del store
        z = np.concatenate([self.model.sample_prior(1, rng) for rng in self._streams("prior", 0)])
        states, lost = [z], []
        for turn in range(self.turns):
            data = [
                self.model.simulate_data(z[k : k + 1], rng)
                for k, rng in enumerate(self._streams("data", turn))
            ]
            rngs = self._streams("inference", turn)
            q = self.inference.fit(self.model, np.concatenate(data), self.iterations, rngs)
            draws = q.sample(1, self._streams("draw", turn))[:, 0]
            z = np.where(q.ok[:, None], draws, z)
            states.append(z)
            lost.append(int((~q.ok).sum()))
            report((turn + 1) / self.turns, {})
        return JointChains(np.stack(states), np.array(lost))

    def _streams(self, use: str, turn: int) -> list[np.random.Generator]:
        return [stream(self.seed, "joint test", use, turn, k) for k in range(self.chains)]


def _differences(first: Array, last: Array) -> Array:
    """Differences (F, chains) of each coordinate, and of its square about the middle of both.

    The middle is that of all values together, which no swap of a pair changes.
    """
    middle = np.median(np.concatenate([first, last]), 0)
    squares = np.square(last - middle) - np.square(first - middle)
    return np.concatenate([last - first, squares], 1).T


def joint_test(chains: JointChains, names: tuple[str, ...], seed: int = 0) -> JointTest:
    """Test after each turn that z has kept the law of the prior.

    Args:
        chains: of one inference.
        names: of the coordinates of z.
        seed: of the random signs.
    """
    differences = np.stack([_differences(chains.z[0], z) for z in chains.z[1:]])
    root = np.sqrt(np.square(differences).sum(-1))
    drift = np.divide(differences.sum(-1), root, out=np.zeros_like(root), where=root > 0)
    tests = [
        sign_flips.largest_mean(difference, stream(seed, "joint test", "signs", turn))
        for turn, difference in enumerate(differences)
    ]
    return JointTest(
        (*names, *(f"{name}, squared" for name in names)),
        drift,
        np.array([test.statistic for test in tests]),
        np.array([test.pvalue for test in tests]),
        np.stack([test.null for test in tests]),
    )
