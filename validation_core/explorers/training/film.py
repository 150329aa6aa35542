"""The film of a training: an estimator beside the exact posterior, from before its first epoch.

Frames are taken at epochs 0, 1, 2, 3, 5, 8, 13, ..., at the epoch of the lowest held-out loss and
at the last. The same fresh simulations and random numbers serve all frames, so that what moves is
the estimator.
"""

from __future__ import annotations

import base64
import io
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from validation_core import codec
from validation_core.benchmarks.trained import SimulatorPairs
from validation_core.estimators import Estimator, TrainedEstimator
from validation_core.estimators.flows import MaskedAutoregressiveFlow, NeuralSplineFlow
from validation_core.explorers.training.ball import Balls, largest_balls
from validation_core.explorers.training.places import choose_places
from validation_core.explorers.training.scoreboard import shipped_estimators
from validation_core.provenance import Stopwatch
from validation_core.rng import stream
from validation_core.scores import trained_scores
from validation_core.scores.trained_scores import Simulated, Training
from validation_core.simulators import (
    SIR,
    GaussianLinear,
    GaussianLinearUniform,
    GaussianMixture,
    Simulator,
    TwoMoons,
)
from validation_core.study import Report, Study, throttled
from validation_core.types import Array, Joint

if TYPE_CHECKING:
    from validation_core.store import Store

PLACES = 9
"""Fixed x at which q is drawn."""
PAIRS = 500
"""Fresh pairs over which nats are counted."""
LEVELS: Array = np.linspace(0.05, 0.95, 19)
"""Levels of central intervals."""
WATCHED = 2000
"""Simulations up to which an estimator trains while one looks on."""
SHOWN = 2
"""Parameters that are drawn: the first ones."""
TRUTHS = 200
"""Fresh truths whose ranks give the coverage."""
_DRAWS = 200  # of q shown at a place in a frame
_EXACT = 400  # of p
_RANKED = 60  # draws of q that a truth is ranked among
_FRAME_SECONDS = 0.35
_BETWEEN_FRAMES = 1.0  # seconds between reports of losses alone: browsers draw one in 0.2


class Film(NamedTuple):
    """F frames of a training: V places x, S draws of q at each, E epochs, N fresh pairs."""

    epochs: Array
    """(F,) the epoch of each frame."""
    loss: Array
    """(E,) by epoch, nats a pair."""
    held_out: Array
    """(E,)"""
    floor: float
    """Mean of -log p over the held-out pairs: no estimator's expected loss is lower.

    NaN where losses are no nats, as a diffusion's.
    """
    places: Array
    """(V, M)"""
    x: Array
    """(N, M) of the fresh pairs."""
    p: Array
    """(V, 2 S, 2) draws of the exact posterior, first two parameters."""
    q: Array
    """(F, V, S, 2)"""
    ratios: Array
    """(F, N) log p - log q at fresh pairs; their mean is KL(p || q)."""
    coverage: Array
    """(F, D, levels) share of fresh truths in q's central intervals."""
    outside: Array
    """(F,) share of q's draws beyond the prior's box."""
    balls: Balls
    """Where p and q differ most at each place."""
    best: int
    """The frame of the lowest held-out loss; the last where the film has no such frame."""

    def newest(self) -> Film:
        """The last frame alone."""
        return self._replace(
            epochs=self.epochs[-1:],
            q=self.q[-1:],
            ratios=self.ratios[-1:],
            coverage=self.coverage[-1:],
            outside=self.outside[-1:],
            balls=Balls(*(part[-1:] for part in self.balls)),
            best=0,
        )


@dataclass(frozen=True, kw_only=True)
class FilmStudy(Study[Film], spec="training_film"):
    """An estimator's training on a simulator's pairs, watched; its network is kept as well.

    Args:
        still: one frame, of the network that the store has or that is trained unwatched.
    """

    version: ClassVar[int] = 2

    simulator: Simulator
    recipe: Estimator
    seed: int = 0
    still: bool = False

    @property
    def label(self) -> str:
        return f"Train {self.recipe.label} on {self.simulator.title}"

    @property
    def training(self) -> Training:
        """Of the network."""
        source = Simulated(benchmark=SimulatorPairs(simulator=self.simulator), gamma=0.0)
        return Training(source=source, recipe=self.recipe, seed=self.seed)

    @property
    def trainings(self) -> tuple[Training, ...]:
        return (self.training,) if self.still else ()

    @property
    def seconds(self) -> float:
        """Seconds, about, on one core: to the last epoch, with its frames."""
        frames = 1 if self.still else len(_fibonacci(self.recipe.epochs)) + 2
        return self.recipe.cost() + _FRAME_SECONDS * frames

    @property
    def makes(self) -> frozenset[str]:
        """The network's key: what reads it waits for the film."""
        return frozenset() if self.still else frozenset({self.training.key})

    @property
    def usual(self) -> bool:
        """Whether the estimator has its usual options for so many simulations."""
        return self.recipe == type(self.recipe)().for_simulations(self.recipe.simulations)

    def kept_epoch(self, film: Film) -> int:
        """The epoch of the network that is kept: with patience of the lowest held-out loss."""
        return int(film.epochs[film.best if self.recipe.patience else -1])

    def compute(self, store: Store, report: Report) -> Film:
        """Train and watch; the film so far is reported with every epoch."""
        if self.still:
            network = trained_scores.trained(store, self.training, report)
            camera = _Camera(self, store, report)
            camera.history = network.history
            held_out = network.history["held_out"]
            kept = 1 + int(np.argmin(held_out)) if self.recipe.patience else len(held_out)
            camera.take(network, kept)
            return camera.film()
        camera = _Camera(self, store, report)
        network = self.recipe.learn(camera.data, self.seed, camera.heard, camera.watch)
        camera.end()
        network = replace(network, seconds=max(0.0, network.seconds - camera.seconds))
        if not store.has("models", self.training.key):
            trained_scores.save_network(store, self.training, network)
        return camera.film()


class FilmedTask(NamedTuple):
    """What a film shows of its task, whatever learns: the exact posterior at V places x."""

    fresh: Joint
    """Pairs that no estimator learns from."""
    places: Array
    """(V, M)"""
    p: Array
    """(V, S, 2) draws, first two parameters."""


def filmed_task(simulator: Simulator, seed: int) -> FilmedTask:
    """The task's part of a film of this seed."""
    fresh = simulator.pairs(PAIRS, stream(seed, "film", "fresh pairs"))
    places = choose_places(fresh.x, PLACES, stream(seed, "film", "places"))
    at = np.repeat(places, _EXACT, axis=0)
    p = simulator.posterior(at, stream(seed, "film", "exact"))
    return FilmedTask(fresh, places, p.reshape(PLACES, _EXACT, -1)[..., :SHOWN])


class _Camera:
    """Takes frames while an estimator learns."""

    def __init__(self, study: FilmStudy, store: Store, report: Report) -> None:
        from validation_core.estimators.fitting import split

        self.study, self.report = study, report
        self._report_losses = throttled(lambda done, _: self._report_film(done), _BETWEEN_FRAMES)
        self.seconds = 0.0
        self.history: Mapping[str, Any] = {"loss": [], "held_out": []}
        self.data: Joint = study.training.source.training_set(study.recipe, study.seed, store)
        simulator, seed = study.simulator, study.seed
        self._floor = math.nan
        if study.recipe.nats:
            held = split(len(self.data), stream(seed, "order"))[0]
            log_p = simulator.log_posterior(self.data.theta[held], self.data.x[held])
            self._floor = -float(log_p.mean())
        self._fresh, self._places, self._p = filmed_task(simulator, seed)
        self._log_p = simulator.log_posterior(self._fresh.theta, self._fresh.x)
        self._frames: dict[int, _Frame] = {}
        self._epoch = 0
        self._now: TrainedEstimator | None = None
        self._best: tuple[float, int, TrainedEstimator | None] = (np.inf, -1, None)

    def watch(self, epoch: int, estimator: TrainedEstimator) -> None:
        """After each epoch, and before the first."""
        self._epoch, self._now = epoch, estimator
        if epoch in _fibonacci(self.study.recipe.epochs):
            self.take(estimator, epoch)
        if epoch == 0:
            self._report_film(0.0)

    def heard(self, fraction: float, live: Mapping[str, float]) -> None:
        """The losses of an epoch, after it was watched."""
        for name, values in self.history.items():
            values.append(live[name])
        if live["held_out"] < self._best[0]:
            self._best = live["held_out"], self._epoch, self._now
        if self._epoch in self._frames:
            self._report_film(fraction)
        else:
            self._report_losses(fraction, live)

    def _report_film(self, fraction: float) -> None:
        self.report(fraction, {"film": encoded(self.film())})

    def end(self) -> None:
        """Take the frames of the best and of the last epoch."""
        for epoch, estimator in ((self._best[1], self._best[2]), (self._epoch, self._now)):
            if estimator is not None and epoch not in self._frames:
                self.take(estimator, epoch)

    def take(self, estimator: TrainedEstimator, epoch: int) -> None:
        """Take the frame of an epoch."""
        watch = Stopwatch()
        self._frames[epoch] = self._frame(estimator)
        self.seconds += watch.seconds

    def _frame(self, estimator: TrainedEstimator) -> _Frame:
        seed, fresh = self.study.seed, self._fresh
        q = estimator.draws(self._places, _DRAWS, stream(seed, "film", "shown"))[..., :SHOWN]
        ranked = estimator.draws(fresh.x[:TRUTHS], _RANKED, stream(seed, "film", "ranked"))
        ratios = self._log_p - estimator.log_density(fresh.theta, fresh.x)
        return _Frame(
            q.astype(np.float16),
            ratios.astype(np.float32),
            _coverage(fresh.theta[:TRUTHS], ranked, stream(seed, "film", "ties")),
            float(1 - self.study.simulator.inside(ranked.reshape(-1, ranked.shape[-1])).mean()),
            largest_balls(self._p, q),
        )

    def film(self) -> Film:
        """The frames so far, in order of their epochs."""
        epochs = sorted(self._frames)
        frames = [self._frames[epoch] for epoch in epochs]
        held_out = np.asarray(self.history["held_out"], np.float32)
        best = 1 + int(held_out.argmin()) if len(held_out) else 0
        return Film(
            epochs=np.asarray(epochs),
            loss=np.asarray(self.history["loss"], np.float32),
            held_out=held_out,
            floor=self._floor,
            places=self._places.astype(np.float32),
            x=self._fresh.x.astype(np.float16),
            p=self._p.astype(np.float16),
            q=np.stack([frame.q for frame in frames]),
            ratios=np.stack([frame.ratios for frame in frames]),
            coverage=np.stack([frame.coverage for frame in frames]),
            outside=np.array([frame.outside for frame in frames], np.float32),
            balls=Balls(*map(np.stack, zip(*(frame.balls for frame in frames), strict=True))),
            best=epochs.index(best) if best in epochs else len(epochs) - 1,
        )


class _Frame(NamedTuple):
    q: Array
    ratios: Array
    coverage: Array
    outside: float
    balls: Balls


def _fibonacci(most: int) -> set[int]:
    """Epochs of frames: each about 1.6 times the one before."""
    one, other, out = 1, 2, {0}
    while one <= most:
        out.add(one)
        one, other = other, one + other
    return out


def _coverage(theta: Array, draws: Array, rng: np.random.Generator) -> Array:
    """Share of truths (n, D) in central intervals of draws (n, k, D): (D, levels).

    Ranks are made uniform within their steps: an exact posterior covers as often as a level says.
    """
    k = draws.shape[1]
    below = (draws < theta[:, None]).sum(1)
    u = (below + rng.random(theta.shape)) / (k + 1)
    return (np.abs(2 * u - 1)[..., None] <= LEVELS).mean(0).astype(np.float32)


def encoded(film: Film) -> Mapping[str, Any]:
    """A film as plain values, for the pipe between a worker and its server."""
    arrays, tree = codec.dump(film)
    packed = io.BytesIO()
    np.savez(packed, allow_pickle=False, **arrays)
    return {"tree": tree, "arrays": base64.b64encode(packed.getvalue()).decode()}


def decoded(reported: Mapping[str, Any]) -> Film:
    """The film of `encoded`."""
    with np.load(io.BytesIO(base64.b64decode(reported["arrays"]))) as arrays:
        return codec.load(Film, dict(arrays), reported["tree"])


def examples() -> Mapping[str, FilmStudy]:
    """Trainings that show something at once, by the words of their buttons."""
    return {
        "Two moons": FilmStudy(simulator=TwoMoons(), recipe=NeuralSplineFlow()),
        "Overfitting": FilmStudy(
            simulator=GaussianLinear(),
            recipe=MaskedAutoregressiveFlow(simulations=400, epochs=60, patience=0, lr=1e-3),
        ),
        "Two scales": FilmStudy(simulator=GaussianMixture(), recipe=NeuralSplineFlow()),
        "Epidemic": FilmStudy(simulator=SIR(), recipe=MaskedAutoregressiveFlow()),
        "Leakage": FilmStudy(simulator=GaussianLinearUniform(), recipe=MaskedAutoregressiveFlow()),
    }


def shipped() -> tuple[FilmStudy, ...]:
    """Films that ship: what a first visit shows, each task once, and one that overfits; and stills
    of the shipped estimators that nobody waits for."""
    stills = (
        FilmStudy(
            simulator=one.benchmark.simulator,
            recipe=one.benchmark.recipe(one.simulations),
            seed=one.benchmark.training_seed,
            still=True,
        )
        for one in shipped_estimators()
        if one.simulations > WATCHED
    )
    return (*examples().values(), *stills)
