"""Study of the Lensing page: four systems at every gamma, wrong pixels, and Table 2 repeated.

One classifier and one localizer learn from draws at all gammas (`OverGamma`) and are held at
each. Neighbouring gammas share their random numbers, so that pictures move and noise does not.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from validation_core import methods, sampling, scores, statistics
from validation_core.benchmarks.galaxies import SIDE
from validation_core.benchmarks.lens import NOISE
from validation_core.benchmarks.lensing import Lensing
from validation_core.benchmarks.over_gamma import AtGamma, OverGamma, refine_grid
from validation_core.pieces import stack_by_name
from validation_core.rng import common, stream
from validation_core.scores import trained_scores
from validation_core.scores.classifier import Classifier, TrainedClassifier
from validation_core.scores.localizer import Localizer
from validation_core.scores.trained_scores import Simulated, Training
from validation_core.study import Report, Study
from validation_core.text import SMALLEST
from validation_core.types import Array, PosteriorTable, Score

if TYPE_CHECKING:
    from validation_core.scores.trained_localizer import LocalizerDistance, TrainedLocalizer
    from validation_core.store import Store

BETAS = (0.0, 0.6, 0.7, 0.8, 0.9, 0.95)
"""Degradations of the paper's Table 2."""
DEGRADED_AT, PRINTED_DEGRADED_AT = 0.5, 1.0
"""The gammas at which the classifier is degraded: ours, and the paper's."""
POWER_GAMMAS = (0.0, 0.2, 0.3, 0.4, 0.5, 0.7, 1.0)
"""Strengths at which power is counted."""
PRINTED_GAMMAS = (0.6, 0.8, 0.9)
"""Strengths of the paper's Table 2 beside those."""
TRIALS, N, K = 50, 1000, 20
"""Test sets behind a rate, as in the paper; simulations in one, and draws of q at each."""
_GAMMAS = 17
_SHOWN = 2  # draws of q in a picture
_BRIGHTNESS = (0.9, 0.75, 0.55, 0.3)  # quantiles of total light at which systems are taken
_MAP_DRAWS = 2000  # of q at a system: correlations are off by .02
_HELD = 2000  # simulations behind an AUC and a map of the localizer's
_RANKED, _DRAWS = 600, 20  # simulations of the localizer's test, draws of q at each
_CLASSIFIER = replace(Lensing().classifier, train=18_000, epochs=20, batch=256)
_LOCALIZER = Localizer(embedding="identity", anchors=100, draws=32)
_Halves = NDArray[np.float16]


class LensingView(NamedTuple):
    """Result for V systems at G gammas; images are 16 x 16, first row on top."""

    gammas: Array
    """(G,)."""
    source: _Halves
    """(V, 16, 16) real galaxies, in units of the prior's mean peak."""
    image: _Halves
    """(V, 16, 16) observed images of the galaxies."""
    posterior: _Halves
    """(V, 16, 16) the exact posterior's mean."""
    draws: _Halves
    """(G, V, 2, 16, 16) of q."""
    residual: _Halves
    """(G, V, 16, 16) x - A theta of the first draw, in standard deviations of the noise."""
    off: _Halves
    """(G, V, 16, 16) q's mean less p's, in posterior standard deviations."""
    spread: _Halves
    """(G, 16, 16) q's standard deviation over p's, the same at each x."""
    classifier: _Halves
    """(G, V, 16, 16) correlation of minus its logit with each pixel over q's draws: positive
    where brighter pixels look more like q."""
    colt: _Halves
    """(G, 16, 16) how much further from the ball's centre true sources are than q's draws: the
    pixel's part of the mean squared distance, as a share of a pixel's in q."""
    auc: Array
    """(G,) of the classifier."""
    oracle: Array
    """(G,) of log p - log q."""
    inside: Array
    """(G, 3) true sources in the localizer's ball that holds half of q's draws, with the 95%
    Wilson interval."""
    pvalue: Array
    """(G,) of the localizer's ranks."""

    @property
    def agreement(self) -> Array:
        """Correlation over pixels (G, V) of the classifier's map with the true error."""
        seen, true = (_standard(maps) for maps in (self.classifier, self.off))
        return np.asarray((seen * true).mean(-1))


def _standard(maps: _Halves) -> Array:
    """Each map (..., 16, 16) standardised over its pixels (..., 256); a flat one is 0."""
    flat = maps.astype(np.float64).reshape(*maps.shape[:-2], -1)
    flat -= flat.mean(-1, keepdims=True)
    sd = flat.std(-1, keepdims=True)
    return np.asarray(flat / np.where(sd > 0, sd, 1))


@dataclass(frozen=True, kw_only=True)
class LensingStudy(Study[LensingView], spec="lensing_view"):
    """Train a classifier and a localizer for all gammas, and map each system by them."""

    benchmark: Lensing = field(default_factory=Lensing)
    classifier: Classifier = _CLASSIFIER
    """Recipe of the classifier for all gammas."""
    localizer: Localizer = _LOCALIZER
    """Recipe of the localizer: phi is the identity, so the distance is a sum over pixels."""
    count: int = _GAMMAS
    """Strengths of the slider, at least."""
    held: int = _HELD
    draws: int = _MAP_DRAWS
    seed: int = 0

    @property
    def label(self) -> str:
        return f"Which pixels are wrong, {self.benchmark.label}"

    @property
    def gammas(self) -> tuple[float, ...]:
        """The benchmark's own, and some in between."""
        return tuple(map(float, refine_grid(self.benchmark.gammas, self.count)))

    @property
    def over(self) -> OverGamma:
        """The benchmark that both networks learn from."""
        return OverGamma(of=self.benchmark, grid=self.gammas)

    @property
    def trainings(self) -> tuple[Training, ...]:
        """Trainings of the classifier and the localizer."""
        source = Simulated(benchmark=self.over, gamma=0.0)
        recipes = self.classifier, self.localizer.for_all_gammas(len(self.gammas))
        return tuple(Training(source=source, recipe=one, seed=self.seed) for one in recipes)

    def compute(self, store: Store, report: Report) -> LensingView:
        """Compute the maps; train the networks that the store lacks."""
        networks = trained_scores.trained_together(store, self.trainings)
        report(0.6, {})
        return _view(self, networks[0], networks[1], report)


def _view(
    study: LensingStudy, classifier: TrainedClassifier, localizer: TrainedLocalizer, report: Report
) -> LensingView:
    logit, distance, over = classifier.at(), localizer.at(), study.over
    source, image = simulate_systems(study)
    looked: list[dict[str, Array]] = []
    for index, gamma in enumerate(study.gammas):
        score = AtGamma(logit, over, index)
        drawn = draw_q(study, gamma, image)
        looked.append(
            {
                **closed_form_view(study, gamma, image, drawn),
                "classifier": -_correlations(score, image, drawn),
                **_areas(study, gamma, score),
                **_located(study, gamma, index, distance),
            }
        )
        report(0.6 + 0.4 * (index + 1) / len(study.gammas), {"gamma": gamma})
    posterior = study.benchmark.moments(image, 0.0).mean
    numbers = ("auc", "oracle", "inside", "pvalue")
    return LensingView(
        gammas=np.array(study.gammas),
        source=_pixels(source),
        image=_pixels(image),
        posterior=_pixels(posterior),
        **{
            name: values if name in numbers else _pixels(values)
            for name, values in stack_by_name(looked).items()
        },
    )


def _pixels(flat: Array) -> _Halves:
    """Reshape (..., 256) to images (..., 16, 16)."""
    return flat.reshape(*flat.shape[:-1], SIDE, SIDE).astype(np.float16)


def simulate_systems(study: LensingStudy) -> tuple[Array, Array]:
    """Real galaxies (V, D), from bright to faint, and their images (V, M)."""
    galaxies = study.benchmark.sources()
    order = np.argsort(galaxies.sum(1), kind="stable")
    source = galaxies[order[[round(part * (len(order) - 1)) for part in _BRIGHTNESS]]]
    noise = stream(study.seed, "lensing", "noise").standard_normal(source.shape)
    return source, source @ study.benchmark.forward.T + NOISE * noise


def draw_q(study: LensingStudy, gamma: float, image: Array) -> Array:
    """Draws of q at each system (V, n, D), on the same random numbers at every gamma."""
    rng = common(study.seed, "lensing", "draws")
    drawn = study.benchmark.q(np.repeat(image, study.draws, axis=0), gamma, rng)
    return drawn.reshape(len(image), study.draws, -1)


def closed_form_view(
    study: LensingStudy, gamma: float, image: Array, drawn: Array
) -> dict[str, Array]:
    """Pictures of the draws, and q's error in closed form."""
    p, q = (study.benchmark.moments(image, strength) for strength in (0.0, gamma))
    residual = (image - drawn[:, 0] @ study.benchmark.forward.T) / NOISE
    return {
        "draws": drawn[:, :_SHOWN],
        "residual": residual,
        "off": (q.mean - p.mean) / p.sd,
        "spread": q.sd / p.sd,
    }


def _correlations(score: Score, image: Array, drawn: Array) -> Array:
    """Correlation of a score with each pixel over draws (V, n, D) at each system: (V, D).

    By Stein's lemma it is the score's mean gradient, smoothed by q's own covariance and in q's
    standard deviations: a gradient by itself is mostly noise in directions that q never takes.
    """
    out = np.empty((len(image), drawn.shape[-1]))
    for i, (x, theta) in enumerate(zip(image, drawn, strict=True)):
        scored = np.asarray(score(theta, np.repeat(x[None], len(theta), axis=0)), np.float64)
        scored, theta = scored - scored.mean(), theta - theta.mean(0)
        spread = max(float(scored.std()), 1e-12) * theta.std(0)
        out[i] = scored @ theta / (len(theta) * spread)
    return out


def _areas(study: LensingStudy, gamma: float, score: Score) -> dict[str, Array]:
    """AUC of the classifier and of the oracle, on rows that trained neither network."""
    benchmark = study.benchmark
    rng = common(study.seed, "lensing", "held")
    rows = sampling.blocks(benchmark, gamma, study.held, study.held, rng)

    def oracle(theta: Array, x: Array) -> Array:
        return benchmark.log_ratio(theta, x, gamma)

    areas = [scores.apply(one, rows) for one in (score, oracle)]
    auc, best = (statistics.auc(area.p, area.q) for area in areas)
    return {"auc": np.asarray(auc), "oracle": np.asarray(best)}


def _located(
    study: LensingStudy, gamma: float, index: int, distance: LocalizerDistance
) -> dict[str, Array]:
    """The localizer's ball, and each pixel's part in q's error."""
    benchmark, over = study.benchmark, study.over
    rng = common(study.seed, "lensing", "ranked")
    table = sampling.table(benchmark, gamma, min(_RANKED, study.held), _DRAWS, rng)
    at = PosteriorTable(table.theta, over.at(table.x, index), table.q)
    ranks = stream(study.seed, "lensing", "ranks")
    outcome = methods.CoLT(embedding="identity").test(scores.apply(distance, at), ranks)
    u = outcome.arrays["u"]
    within = int((u <= 0.5).sum())
    low, high = statistics.wilson(within, len(u))
    return {
        "colt": _further(study, gamma, index, distance),
        "inside": np.array([within / len(u), float(low), float(high)]),
        "pvalue": np.maximum(outcome.pvalue, SMALLEST),
    }


def _further(study: LensingStudy, gamma: float, index: int, distance: LocalizerDistance) -> Array:
    """Part of each pixel (D,) in the mean squared distance, true sources minus q's draws.

    The localizer whitens symmetrically, so that its coordinates are still those of pixels.
    Both sides share x and random numbers.
    """
    benchmark = study.benchmark
    x = benchmark.x(study.held, common(study.seed, "lensing", "map"))
    centre = distance.frame.theta(distance.centre(study.over.at(x, index)))
    squared = [
        (distance.frame.theta(law(x, gamma, common(study.seed, "lensing", "sides"))) - centre) ** 2
        for law in (benchmark.theta, benchmark.q)
    ]
    p, q = (side.mean(0, dtype=np.float64) for side in squared)
    return np.asarray((p - q) / q.mean())
