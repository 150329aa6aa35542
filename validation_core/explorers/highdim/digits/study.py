"""Study of the digits: draws of a generator that stops early, and power of tests against it.

One classifier learns at each gamma (`Digits.classifier`). The generator's states after every step
come from one run of its sampler, so that draws at all gammas share their latents and their cost.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from validation_core import methods, statistics
from validation_core.benchmarks.digits import LABELS, SIDE, Digits, Truth
from validation_core.explorers.highdim import BETAS, METHODS
from validation_core.explorers.highdim.patches import occlusion_sensitivity
from validation_core.explorers.highdim.ranked_images import Pixels, extremes, share_below, to_bytes
from validation_core.explorers.highdim.rejections import count_rejections
from validation_core.pieces import stack_by_name
from validation_core.rng import stream
from validation_core.scores import trained_scores
from validation_core.scores.feature_classifier import TrainedFeatureClassifier
from validation_core.scores.features import extract
from validation_core.scores.trained_scores import Simulated, Training
from validation_core.study import Report, Study
from validation_core.sweep.plan import Sweep
from validation_core.sweep.trials import TrialDesign
from validation_core.types import Array

if TYPE_CHECKING:
    from validation_core.store import Store

ROWS = 6
"""Examples of each label."""
SUREST = 12
"""Digits at either end of the score that are kept."""
PATCH, STRIDE = 4, 2
"""Pixels of the patch that is slid over a digit, and of its steps."""
_LOOKED = 1000  # digits of p, and of q, among which the surest are sought
_PATCHED = 200  # digits over which the map is averaged


class GeneratedDigits(NamedTuple):
    """Result at G gammas and B betas: digits, their scores, and power."""

    gammas: Array
    """(G,) steps left out."""
    real: Pixels
    """(ROWS, 10, 14, 14) draws of p, a column for each label."""
    drawn: Pixels
    """(G, ROWS, 10, 14, 14) draws of q from the same latents."""
    rank: Array
    """(G, ROWS, 10) share of p's digits whose score is lower than that draw of q's."""
    surest: Pixels
    """(G, 2, SUREST, 14, 14) digits with the lowest and with the highest scores."""
    surest_q: NDArray[np.bool_]
    """(G, 2, SUREST) whether it is a draw of q."""
    hidden: Array
    """(G, C, C) mean change of q's logits where a black patch hides a place."""
    auc: Array
    """(B, G) of p against q."""
    rejections: NDArray[np.int16]
    """(methods, B, G) of the trials at level 5%."""
    trials: int
    n: int


@dataclass(frozen=True, kw_only=True)
class DigitsStudy(Study[GeneratedDigits], spec="digits_study"):
    """Digits, scores, maps and power at every number of steps left out."""

    benchmark: Digits
    n: int = 512
    trials: int = 100
    seed: int = 0

    @classmethod
    def of(cls, truth: Truth) -> DigitsStudy:
        """The shipped study: few digits show the generator's flaws, many the steps left out."""
        few = truth == "handwritten"
        return cls(
            benchmark=Digits(truth_is=truth), n=100 if few else 512, trials=300 if few else 100
        )

    @property
    def label(self) -> str:
        return f"High dimensions, {self.benchmark.label}"

    @property
    def trainings(self) -> tuple[Training, ...]:
        """Trainings of the generator, and of a classifier at each gamma."""
        generator = trained_scores.network_behind(self.benchmark)
        assert generator is not None
        return (generator, *(self.training(gamma) for gamma in self.benchmark.gammas))

    def training(self, gamma: float) -> Training:
        """Training of the classifier at one gamma."""
        source = Simulated(benchmark=self.benchmark, gamma=gamma)
        return Training(source=source, recipe=self.benchmark.classifier, seed=self.seed)

    def compute(self, store: Store, report: Report) -> GeneratedDigits:
        """Draw, score and test; train the networks that the store lacks."""
        trained_scores.ready(store, self.benchmark)
        rows = _rows(self, report)
        x = one_hot_labels()
        drawn = self.benchmark.states(x, stream(self.seed, "digits", "examples"))
        at_gamma = []
        for g, gamma in enumerate(self.benchmark.gammas):
            network = trained_scores.trained(store, self.training(gamma))
            at_gamma.append(_at(self, network, rows, g, drawn[g]))
            report(0.6 + 0.4 * (g + 1) / len(self.benchmark.gammas), {})
        stacked = stack_by_name(at_gamma)
        stacked["auc"] = stacked["auc"].T
        stacked["rejections"] = np.moveaxis(stacked["rejections"], 0, 2)
        real = self.benchmark.theta(x, 0.0, stream(self.seed, "digits", "examples of p"))
        return GeneratedDigits(
            gammas=np.array(self.benchmark.gammas, float),
            real=to_bytes(real).reshape(ROWS, LABELS, SIDE, SIDE),
            trials=self.trials,
            n=self.n,
            **stacked,
        )


class _Rows(NamedTuple):
    """Digits of all trials: labels and features, and some of the images."""

    x_p: Array
    p: NDArray[np.float32]
    """(trials n, F)."""
    first_p: Array
    """(some n, 196)."""
    x_q: Array
    q: list[NDArray[np.float32]]
    """(trials n, F) at each gamma."""
    first_q: list[Array]


def _rows(study: DigitsStudy, report: Report) -> _Rows:
    """Draw the digits of every trial from its own stream, and compute their features."""
    benchmark = study.benchmark
    recipe = benchmark.classifier
    x_p, p, first_p = [], [], []
    x_q: list[Array] = []
    q: list[list[Array]] = [[] for _ in benchmark.gammas]
    first_q: list[list[Array]] = [[] for _ in benchmark.gammas]
    for trial in range(study.trials):
        rng = stream(study.seed, "digits", "trial", trial)
        x_p.append(benchmark.x(study.n, rng))
        theta = benchmark.theta(x_p[-1], 0.0, rng)
        p.append(extract(recipe.features, recipe.images(theta)))
        x_q.append(benchmark.x(study.n, rng))
        states = benchmark.states(x_q[-1], rng)
        for g, state in enumerate(states):
            q[g].append(extract(recipe.features, recipe.images(state)))
            if trial * study.n < _LOOKED:
                first_q[g].append(state)
        if trial * study.n < _LOOKED:
            first_p.append(theta)
        report(0.6 * (trial + 1) / study.trials, {})
    return _Rows(
        np.concatenate(x_p),
        np.concatenate(p),
        np.concatenate(first_p),
        np.concatenate(x_q),
        [np.concatenate(each) for each in q],
        [np.concatenate(each) for each in first_q],
    )


def _at(
    study: DigitsStudy, network: TrainedFeatureClassifier, rows: _Rows, g: int, drawn: Array
) -> dict[str, Any]:
    """Arrays of `GeneratedDigits` at one gamma, by field name; `drawn` are the examples of q."""
    p = network.logits(BETAS, rows.p, rows.x_p)
    q = network.logits(BETAS, rows.q[g], rows.x_q)
    scores = network.at()(drawn, one_hot_labels())
    rejections = [
        count_rejections(METHODS, *at, study.seed, range(study.trials))
        for at in zip(p, q, strict=True)
    ]
    return {
        "drawn": to_bytes(drawn).reshape(ROWS, LABELS, SIDE, SIDE),
        "rank": share_below(p[0], scores).reshape(ROWS, LABELS),
        "auc": np.array(statistics.auc(p, q), np.float32),
        "rejections": np.stack(rejections, axis=-1),
        "hidden": _hidden(study, network, rows, g),
        **_surest(rows, p[0], q[0], g),
    }


def _surest(rows: _Rows, p: Array, q: Array, g: int) -> dict[str, Any]:
    """The digits with the lowest and the highest scores among some of p and of q."""
    count = len(rows.first_p)
    places = extremes(p[:count], q[:count], SUREST)
    digits = np.concatenate([rows.first_p, rows.first_q[g]])[places]
    return {"surest": to_bytes(digits).reshape(2, SUREST, SIDE, SIDE), "surest_q": places >= count}


def _hidden(
    study: DigitsStudy, network: TrainedFeatureClassifier, rows: _Rows, g: int
) -> NDArray[np.float16]:
    """Mean change of q's logits where a black patch hides a place: (C, C), rows from above."""
    digits = rows.first_q[g][:_PATCHED].reshape(-1, *study.benchmark.shape)
    black = np.full_like(digits, -1.0)
    score = network.at()
    changes = occlusion_sensitivity(score, digits, black, rows.x_q[: len(digits)], PATCH, STRIDE)
    return changes.mean(0).astype(np.float16)


def one_hot_labels() -> Array:
    """One-hot labels of ROWS rows of the ten digits: (10 ROWS, 10)."""
    return np.tile(np.eye(LABELS), (ROWS, 1))


def shipped() -> tuple[DigitsStudy, ...]:
    """Studies that ship with NPT Lab: against handwritten digits, and against all steps."""
    return tuple(map(DigitsStudy.of, get_args(Truth)))


def sweeps() -> Sequence[Sweep]:
    """Sweeps of CoLT and of discriminative calibration, where q differs from p by gamma alone."""
    benchmark = Digits(truth_is="generated")
    design = TrialDesign(trials=40, n=128, k=10)
    return (
        Sweep(
            benchmark=benchmark,
            methods=(methods.CoLT(), methods.DC()),
            gammas=benchmark.gammas,
            design=design,
            recipe=benchmark.classifier,
        ),
    )
