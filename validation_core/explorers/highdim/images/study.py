"""Study of the Images page: corrupted crops, scores by a classifier on frozen features, and power.

Bansal, Chen, Scott, Section 5.2, Appendix B.3, Fig. 3. One network learns at each gamma, with the
label and without it, from three seeds whose rejections are pooled, as in the paper. Features of
the test images are worked out once for all networks and betas.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from validation_core import statistics
from validation_core.benchmarks.corruptions import Corruption
from validation_core.benchmarks.images import Images
from validation_core.explorers.highdim import BETAS
from validation_core.explorers.highdim import METHODS as USUAL
from validation_core.explorers.highdim.patches import occlusion_sensitivity
from validation_core.explorers.highdim.ranked_images import Pixels, extremes, share_below, to_bytes
from validation_core.explorers.highdim.rejections import count_rejections
from validation_core.methods import Uniform
from validation_core.pieces import stack_by_name
from validation_core.rng import stream
from validation_core.scores import trained_scores
from validation_core.scores.feature_classifier import FeatureClassifier, TrainedFeatureClassifier
from validation_core.scores.features import TITLES, FeatureKind, count, extract
from validation_core.scores.trained_scores import Simulated, Training
from validation_core.study import Report, Study
from validation_core.types import Array, BlockScores, Integers, Joint, Preset

if TYPE_CHECKING:
    from validation_core.store import Store

METHODS = (*USUAL, Uniform(m=5), Uniform(m=2))
"""Methods of the paper, Uniform at each of its m."""
CONDITIONAL = (True, False)
"""Whether a network sees the label, in the order of results."""
PATCH, STRIDE = 8, 4
"""Pixels of the patch that is slid over an image, and of its steps."""
SUREST = 6
"""Images at either end of the score that are kept."""
SHOWN = (0, 2, 5, 6, 8, 9)
"""Labels of the examples."""
DEAR_TRIALS = 16
"""Number of trials where the features of an image take milliseconds."""
_LOOKED = 2  # trials of p, and of q, among whose images the surest are sought
_PATCHED = 48  # images of q over which the map is averaged
_FACTORS = (1, 2, 4, 5, 10, 20, 50, 100, 200, 500)


class ImageExamples(NamedTuple):
    """K examples at G gammas, which need no network."""

    gammas: Array
    """(G,)."""
    labels: tuple[str, ...]
    """Names of the examples' labels."""
    clean: Pixels
    """(K, 32, 32, 3)."""
    corrupted: Pixels
    """(G, K, 32, 32, 3)."""
    difference: Pixels
    """(G, K, 32, 32, 3) corrupted less clean, times `factor`, around grey."""
    factor: int


class ScoredImages(NamedTuple):
    """Scores and power by the networks: G gammas, B betas, K examples, S seeds."""

    pictures: ImageExamples
    clean: Array
    """(G, K) logits of the clean examples; by the first seed's network with labels, as all but
    power and AUC."""
    corrupted: Array
    """(G, K)."""
    clean_rank: Array
    """(G, K) share of p's images whose score is lower."""
    corrupted_rank: Array
    """(G, K)."""
    surest: Pixels
    """(G, 2, SUREST, 32, 32, 3) images with the lowest and with the highest scores."""
    surest_rank: Array
    """(G, 2, SUREST) share of p's images whose score is lower."""
    surest_q: NDArray[np.bool_]
    """(G, 2, SUREST) whether it is a draw of q."""
    looked: int
    """Number of images among which these were found, half of p and half of q."""
    hidden: Array
    """(G, C, C) mean change of q's logits where a grey patch hides a place."""
    hidden_examples: Array
    """(G, K, C, C) of the corrupted examples."""
    repaired: Array
    """(G, C, C) mean change of q's logits where a patch is as it was before the corruption."""
    auc: Array
    """(2, B, G, S) of p against q, with the label and without it."""
    rejections: NDArray[np.int16]
    """(2, methods, B, G, S) of the trials at level 5%."""
    trials: int
    n: int


@dataclass(frozen=True, kw_only=True)
class ImagesStudy(Study[ScoredImages], spec="images_study"):
    """Crops, scores, maps and power of one corruption at every gamma."""

    benchmark: Images
    features: FeatureKind = "filters"
    schedule: Preset = "interactive"
    """`paper`: 200 epochs at 1e-4; else as many steps times rate, in a quarter of the time."""
    n: int = 1024
    trials: int = 64
    seeds: int = 3
    seed: int = 0

    @classmethod
    def of(cls, benchmark: Images, features: FeatureKind) -> ImagesStudy:
        """Study of some features, with fewer trials and one network where they are expensive.

        Photographs come as shipped, by the paper's schedule.
        """
        if features == "filters":
            ready_made = benchmark.source == "photographs"
            return cls(benchmark=benchmark, schedule="paper" if ready_made else "interactive")
        return cls(benchmark=benchmark, features=features, trials=DEAR_TRIALS, seeds=1)

    @property
    def count(self) -> int:
        """Number of features of an image."""
        return count(self.features, self.benchmark.shape)

    @property
    def label(self) -> str:
        by = "" if self.features == "filters" else f", {TITLES[self.features]}"
        return f"High dimensions, {self.benchmark.label}{by}"

    def recipe(self, *, conditional: bool) -> FeatureClassifier:
        """Training recipe."""
        return FeatureClassifier.preset(
            self.schedule,
            features=self.features,
            shape=self.benchmark.shape,
            conditional=conditional,
        )

    @property
    def trainings(self) -> tuple[Training, ...]:
        """All trainings: with the label and without it, at each gamma, from each seed."""
        return tuple(
            self.training(gamma, conditional, s)
            for conditional in CONDITIONAL
            for gamma in self.benchmark.gammas
            for s in range(self.seeds)
        )

    def training(self, gamma: float, conditional: bool, s: int) -> Training:
        """Training of one network."""
        return Training(
            source=Simulated(benchmark=self.benchmark, gamma=gamma),
            recipe=self.recipe(conditional=conditional),
            seed=self.seed + s,
        )

    def compute(self, store: Store, report: Report) -> ScoredImages:
        """Score and test at each gamma; train the networks that the store lacks."""
        examples = draw_examples(self)
        steps = len(self.benchmark.gammas) + 1

        def described(step: int, gamma: float, side: str) -> _Described:
            return _described(
                self, gamma, side, lambda share: report((step + share / 2) / steps, {})
            )

        p = described(0, 0.0, "p")
        at_gamma: list[dict[str, Any]] = []
        for g, gamma in enumerate(self.benchmark.gammas, 1):
            q = described(g, gamma, "q")
            at_gamma.append(_at(self, _networks(self, store, gamma), gamma, p, q))
            report((g + 1) / steps, {"gamma": gamma})
        stacked = stack_by_name(at_gamma)
        # The gathered arrays begin with gamma; in the result it follows methods and betas.
        stacked["auc"] = np.moveaxis(stacked["auc"], 0, 2)
        stacked["rejections"] = np.moveaxis(stacked["rejections"], 0, 3)
        return ScoredImages(
            pictures=examples, looked=2 * _LOOKED * self.n, trials=self.trials, n=self.n, **stacked
        )


Networks = dict[bool, list[TrainedFeatureClassifier]]


class _Described(NamedTuple):
    """Features (n, F) and labels (n, M) of the images of all trials."""

    features: NDArray[np.float32]
    x: Array


def draw_examples(study: ImagesStudy) -> ImageExamples:
    """Draw the examples: the same crops at each gamma."""
    benchmark = study.benchmark
    clean, corrupted = _examples(study)
    away = corrupted - clean
    spread = float(np.quantile(np.abs(away[-1]), 0.99)) or 1.0
    factor = max((f for f in _FACTORS if f * spread <= 1), default=1)
    return ImageExamples(
        gammas=np.array(benchmark.gammas, float),
        labels=tuple(benchmark.names[label] for label in SHOWN),
        clean=to_bytes(clean),
        corrupted=to_bytes(corrupted),
        difference=to_bytes(factor * away),
        factor=factor,
    )


def _examples(study: ImagesStudy) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Clean (K, 32, 32, 3) and, at every gamma, corrupted (G, K, 32, 32, 3)."""
    benchmark = study.benchmark
    x = np.eye(benchmark.dims[1])[list(SHOWN)]
    drawn = [
        benchmark.q(x, gamma, stream(study.seed, "images", "examples")).reshape(
            len(x), *benchmark.shape
        )
        for gamma in (0.0, *benchmark.gammas)
    ]
    return drawn[0], np.stack(drawn[1:])


def _rows(study: ImagesStudy, gamma: float, side: str, trial: int) -> Joint:
    """Draw the test images of one trial from its own stream, the same at every gamma."""
    rng = stream(study.seed, "images", side, trial)
    x = study.benchmark.x(study.n, rng)
    draw = study.benchmark.theta if side == "p" else study.benchmark.q
    return Joint(draw(x, gamma, rng), x)


def _described(
    study: ImagesStudy, gamma: float, side: str, tell: Callable[[float], None]
) -> _Described:
    """Features of the test images of all trials, drawn and discarded in turn."""
    described, labels = [], []
    for trial in range(study.trials):
        rows = _rows(study, gamma, side, trial)
        images = study.recipe(conditional=True).images(rows.theta)
        described.append(extract(study.features, images))
        labels.append(rows.x)
        tell((trial + 1) / study.trials)
    return _Described(np.concatenate(described), np.concatenate(labels))


def _networks(study: ImagesStudy, store: Store, gamma: float) -> Networks:
    return {
        conditional: trained_scores.trained_together(
            store, [study.training(gamma, conditional, s) for s in range(study.seeds)]
        )
        for conditional in CONDITIONAL
    }


def _at(
    study: ImagesStudy,
    networks: Networks,
    gamma: float,
    described_p: _Described,
    described_q: _Described,
) -> dict[str, Any]:
    """Arrays of `ScoredImages` at one gamma, by field name."""
    auc = np.empty((2, len(BETAS), study.seeds), np.float32)
    rejections = np.empty((2, len(METHODS), len(BETAS), study.seeds), np.int16)
    first: BlockScores | None = None
    trials = range(study.trials)
    for c, conditional in enumerate(CONDITIONAL):
        for s, network in enumerate(networks[conditional]):
            p, q = (network.logits(BETAS, *side) for side in (described_p, described_q))
            first = first or BlockScores(p[0], q[0])
            for b in range(len(BETAS)):
                auc[c, b, s] = statistics.auc(p[b], q[b])
                rejections[c, :, b, s] = count_rejections(METHODS, p[b], q[b], study.seed, trials)
    assert first is not None
    seen = networks[True][0]
    return {
        "auc": auc,
        "rejections": rejections,
        **_ranked_examples(study, seen, gamma, first.p),
        **_surest(study, gamma, first),
        **_mapped(study, seen, gamma),
    }


def _logits(network: TrainedFeatureClassifier, images: NDArray[np.floating], x: Array) -> Array:
    """Logits (n,) of images (n, H, W, C)."""
    return network.at()(images.reshape(len(images), -1), x)


def _ranked_examples(
    study: ImagesStudy, network: TrainedFeatureClassifier, gamma: float, p: Array
) -> dict[str, Array]:
    clean, corrupted = _examples(study)
    x = np.eye(study.benchmark.dims[1])[list(SHOWN)]
    at = study.benchmark.gammas.index(gamma)
    before, after = (_logits(network, each, x) for each in (clean, corrupted[at]))
    return {
        "clean": before.astype(np.float32),
        "corrupted": after.astype(np.float32),
        "clean_rank": share_below(p, before),
        "corrupted_rank": share_below(p, after),
    }


def _surest(study: ImagesStudy, gamma: float, scored: BlockScores) -> dict[str, Any]:
    """The images with the lowest and the highest scores among some of p and of q."""
    count = _LOOKED * study.n
    scores = np.concatenate([scored.p[:count], scored.q[:count]])
    places = extremes(scored.p[:count], scored.q[:count], SUREST)
    images = np.concatenate(
        [_rows(study, gamma, side, trial).theta for side in ("p", "q") for trial in range(_LOOKED)]
    )
    return {
        "surest": to_bytes(images[places].reshape(2, SUREST, *study.benchmark.shape)),
        "surest_rank": share_below(scored.p, scores[places]),
        "surest_q": places >= count,
    }


def _mapped(
    study: ImagesStudy, network: TrainedFeatureClassifier, gamma: float
) -> dict[str, Array]:
    """Change of q's logits where a patch is hidden, and where it is restored."""
    benchmark = study.benchmark
    rng = stream(study.seed, "images", "patched")
    x = benchmark.x(_PATCHED, rng)
    drawn = [
        benchmark.q(x, each, stream(study.seed, "images", "patched q")).reshape(
            len(x), *benchmark.shape
        )
        for each in (0.0, gamma)
    ]
    example = _examples(study)[1][benchmark.gammas.index(gamma)]
    labels = np.eye(benchmark.dims[1])[list(SHOWN)]
    hidden = _hidden(network, drawn[1], np.zeros_like(drawn[1]), x)
    return {
        "hidden": hidden.mean(0).astype(np.float16),
        "hidden_examples": _hidden(network, example, np.zeros_like(example), labels),
        "repaired": _hidden(network, drawn[1], drawn[0], x).mean(0).astype(np.float16),
    }


def _hidden(
    network: TrainedFeatureClassifier,
    images: NDArray[np.floating],
    instead: NDArray[np.floating],
    x: Array,
) -> NDArray[np.float16]:
    """Change of the logits where a patch of other images replaces each place: (n, C, C)."""
    return occlusion_sensitivity(network.at(), images, instead, x, PATCH, STRIDE).astype(
        np.float16
    )


def pool_rejections(scored: ScoredImages) -> tuple[Integers, int]:
    """Rejections (2, methods, B, G) summed over seeds, and the number of trials."""
    rejections = scored.rejections.astype(np.int64)
    return rejections.sum(-1), scored.trials * rejections.shape[-1]


def shipped() -> Sequence[ImagesStudy]:
    """Studies that ship with NPT Lab: each corruption of the photographs."""
    return tuple(
        ImagesStudy.of(Images(corruption=corruption), "filters")
        for corruption in get_args(Corruption)
    )
