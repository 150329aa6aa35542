"""Study of the playground: one benchmark at every gamma, by networks learnt once for all.

One classifier and one localizer learn from draws at every gamma (`OverGamma`) and are held at
each; draws at neighbouring gammas share their random numbers. The result holds what is drawn:
draws, outlines, counts and p-values, no scores.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from validation_core import sampling, scores, statistics
from validation_core.benchmarks.boundary import Boundary
from validation_core.benchmarks.gaussian import Gaussian
from validation_core.benchmarks.over_gamma import AtGamma, OverGamma, refine_grid
from validation_core.benchmarks.perturbations import Perturbation
from validation_core.benchmarks.spiral import Spiral
from validation_core.benchmarks.trained import Trained
from validation_core.benchmarks.tree import Tree
from validation_core.localization.outline import rims, stacked
from validation_core.methods import C2ST, SBC, CoLT, Multiple, Uniform
from validation_core.methods.base import Method
from validation_core.precision import SMALLEST_PVALUE
from validation_core.rng import common, stream
from validation_core.scores import trained_scores
from validation_core.scores.classifier import Classifier, TrainedClassifier
from validation_core.scores.localizer import Localizer
from validation_core.scores.trained_scores import Simulated, Training
from validation_core.study import Report, Study
from validation_core.sweep import trials
from validation_core.sweep.trials import TrialDesign
from validation_core.types import (
    Array,
    Benchmark,
    BlockScores,
    Joint,
    PosteriorTable,
    Score,
    TableScores,
)

if TYPE_CHECKING:
    from validation_core.scores.trained_localizer import TrainedLocalizer
    from validation_core.store import Store

GAMMAS = 25
"""Strengths, at least: the papers' own and as many between them."""
_BENT = {"anisotropic": 0.25}
"""Where tests see it far below the papers' first step, the grid is even in a power of gamma."""
LEARNT = (400.0, 1000.0, 2000.0)
"""Simulations that a trained estimator has learnt from: those whose networks ship."""
ESTIMATOR = Trained(task="gaussian_mixture", estimator="nsf")
"""The trained estimator of the strip. Its task has a posterior at every x of the map over x; two
moons has none at an x that no theta can make."""
BETAS = tuple(round(0.05 * i, 2) for i in range(21))
POWER_BETAS = (0.0, 0.2, 0.4, 0.6, 0.8, 0.9, 0.95, 1.0)
"""Degradations at which power is counted."""
COLT_BETAS = (0.0, 0.4, 0.8, 1.0)
"""Degradations at which CoLT's power is measured: its tables are expensive."""
POINTS, CALIBRATION, DRAWS = 100, 50, 20
"""Test points of a trial, draws of p that calibrate each, draws of q at each x of a table."""
SAMPLES = 4
"""Fresh samples that a picture holds; "New sample" goes through them, and on to further ones."""
BINS = 40
METHODS: tuple[Method, ...] = (C2ST(), Multiple(), Uniform(m=CALIBRATION), CoLT(), SBC())

SHOWN = 80
"""Draws of p, and of q, that are shown at an x."""
_ON_LINE = 300  # of a single theta, which are counted in bins
TRUE_DRAWS = 1000  # draws of p that estimate its share in the ball at an x
_MEASURED = 1000  # draws of q whose distances give the ball's radius
DRAWS_PER_CELL = 400  # of each, for a cell of the map over x
BALL_DRAWS = 4000  # simulations whose ranks choose the ball, and as many that quote it
_SIDE = {1: 15, 2: 5}  # places a side; each is the middle of three cells of the map
_GRID = 61  # points a side at which distances are known, for the outline
_ROOM = 0.15  # of the frame's width, beyond that
_TAIL = 0.03  # of x, left outside at either end
_FRAME = 0.02  # of all draws shown, left outside the frame of theta at either end


def _benchmarks() -> tuple[Benchmark, ...]:
    """Benchmarks of the strip: seven perturbations straight and curved, boundary, tree, spiral, a
    trained estimator."""
    family = [
        Gaussian(perturbation=name, dim_x=2, dim_theta=2, curved=curved)
        for curved in (False, True)
        for name in get_args(Perturbation)
    ]
    straight = len(family) // 2
    return (*family[:straight], Boundary(), Tree(), Spiral(), ESTIMATOR, *family[straight:])


class Ranks(NamedTuple):
    """Conformal ranks of POINTS draws of q in S samples, at G gammas and B betas."""

    auc: Array
    """(G, B) of p against q on fresh draws."""
    counts: NDArray[np.uint8]
    """(S, G, B, BINS)."""
    pvalues: Array
    """(S, G, B) of the exact KS test."""

    @classmethod
    def joined(cls, samples: Sequence[Ranks]) -> Ranks:
        """Samples of several, in their order."""
        counts, pvalues = (np.concatenate(parts) for parts in list(zip(*samples, strict=True))[1:])
        return cls(samples[0].auc, counts, pvalues)

    def last(self) -> Ranks:
        """The last of these samples."""
        return self._replace(counts=self.counts[-1:], pvalues=self.pvalues[-1:])


class BallOverX(NamedTuple):
    """CoLT's ball at G gammas and V places x, for D parameters (one or two) and M data."""

    x_at: Array
    """(V, M)."""
    origin: Array
    """(V, D) where a picture of theta begins: the truth's mean at x where x is in the plane, the
    same place for all where it is on a line and the posteriors together make a shape."""
    p: Array
    """(G or 1, V, N, D) draws of the truth at each x: one set where gamma does not touch p."""
    q: Array
    """(G, V, N, D)."""
    centre: Array
    """(G, V, D)."""
    outline: Array
    """(G, V, L, 2) its rim, pieces with nan between them; (G, V, L, 2) stretches where D = 1."""
    u_star: float
    """q's mass in the ball, one for all gammas."""
    inside: Array
    """(G, 3) the truth's share in it over all x, with its 95% Wilson interval."""
    inside_at: Array
    """(G, V) the truth's share in it at each place."""
    x_edges: tuple[Array, ...]
    """M edges of the map's cells."""
    difference: Array
    """(G, ...) the truth's share less u_star in each cell: rows (last x) before columns."""

    @property
    def middle(self) -> int:
        """The place in the middle of all."""
        return int(np.abs(self.x_at - self.x_at.mean(0)).sum(1).argmin())


class Playground(NamedTuple):
    """Result for one benchmark at G gammas."""

    gammas: Array
    """(G,)."""
    ranks: Ranks
    where: BallOverX
    trial_pvalues: Array
    """(methods, POWER_BETAS, G, trials) p-values; nan where a test was not run."""

    def power(self, level: float) -> tuple[Array, int]:
        """Rejections (methods, POWER_BETAS, G) at a level, nan where not run, and trials."""
        there = ~np.isnan(self.trial_pvalues[..., 0])
        # In double precision: 0.05 in half precision is a little less than 0.05.
        hits = (self.trial_pvalues.astype(np.float64) <= level).sum(-1)
        return np.where(there, hits, np.nan), self.trial_pvalues.shape[-1]


@dataclass(frozen=True, kw_only=True)
class PlaygroundStudy(Study[Playground], spec="playground"):
    """Everything the playground shows of one benchmark with one or two parameters and data."""

    benchmark: Benchmark
    trials: int = 200
    seed: int = 0

    @property
    def label(self) -> str:
        return f"Playground of {self.benchmark.label}"

    @property
    def gammas(self) -> tuple[float, ...]:
        """Every gamma on the page, the papers' among them; a spiral's are whole steps."""
        if isinstance(self.benchmark, Spiral):
            return self.benchmark.gammas
        if isinstance(self.benchmark, Trained):
            return LEARNT
        perturbation = getattr(self.benchmark, "perturbation", "")
        return refine_grid(self.benchmark.gammas, GAMMAS, _BENT.get(perturbation, 1.0))

    @property
    def over(self) -> OverGamma:
        """The benchmark that the networks learn from."""
        return OverGamma(of=self.benchmark, grid=self.gammas)

    @property
    def classifier(self) -> Training:
        """Training of one classifier for every gamma."""
        recipe = Classifier(train=32_000, epochs=16, lr=2e-3, hidden=64)
        return Training(source=self._source, recipe=recipe, seed=self.seed)

    @property
    def localizer(self) -> Training:
        """Training of one centre and one embedding for every gamma."""
        recipe = Localizer(anchors=1500, draws=100).for_all_gammas(1)
        return Training(source=self._source, recipe=recipe, seed=self.seed)

    @property
    def _source(self) -> Simulated:
        return Simulated(benchmark=self.over, gamma=0.0)

    @property
    def trainings(self) -> tuple[Training, ...]:
        return self.classifier, self.localizer

    @property
    def design(self) -> TrialDesign:
        """Design of the trials behind the power curves."""
        return TrialDesign(trials=self.trials, n=POINTS, k=DRAWS, seed=self.seed)

    def compute(self, store: Store, report: Report) -> Playground:
        """Compute ranks, ball and power at every gamma; train the networks that the store lacks.

        Raises:
            ValueError: for more than two parameters or data.
        """
        d, m = self.benchmark.dims
        if d > 2 or m > 2:
            raise ValueError(
                f"The playground draws theta and x in the plane; got {d} parameters and {m} data. "
                "Take a benchmark with at most two of each."
            )
        trained_scores.ready(store, self.benchmark)
        classifier = trained_scores.trained(store, self.classifier)
        report(0.05, {})
        localizer = trained_scores.trained(store, self.localizer)
        report(0.3, {})
        ranks = self.ranks(classifier)
        report(0.35, {})
        where = self.where(localizer)
        report(0.5, {})
        power = self._power(classifier, localizer, report)
        return Playground(np.array(self.gammas), ranks, where, power)

    def scores_at(
        self, classifier: TrainedClassifier, localizer: TrainedLocalizer, index: int, beta: float
    ) -> Mapping[str, Score]:
        """Scores of the learning methods at one gamma and beta, by the method's label."""
        logit: Score = AtGamma(classifier.at(beta), self.over, index)
        distance: Score = AtGamma(localizer.at(beta), self.over, index)
        return {
            method.label: distance if method.localizes else logit
            for method in METHODS
            if method.needs_training
        }

    def ranks(self, classifier: TrainedClassifier, samples: range = range(SAMPLES)) -> Ranks:
        """Conformal ranks of q's draws by the classifier, at every gamma and beta.

        Every sample's q draws rank among calibration draws of their own; samples share x and
        random numbers over gamma, so that a histogram moves and does not flicker.
        """
        g, b = len(self.gammas), len(BETAS)
        auc, pvalues = np.empty((g, b)), np.empty((len(samples), g, b))
        counts = np.empty((len(samples), g, b, BINS), np.uint8)
        later = (samples.start,) if samples.start else ()
        method = Uniform(m=CALIBRATION)
        edges = np.linspace(0, 1, BINS + 1)
        n_q = len(samples) * POINTS
        for i, gamma in enumerate(self.gammas):
            rng = common(self.seed, "playground", "ranks", *later)
            drawn = sampling.blocks(self.benchmark, gamma, n_q * CALIBRATION, n_q, rng)
            grids = [
                classifier.grid(BETAS, Joint(rows.theta, self.over.at(rows.x, i)))
                for rows in (drawn.p, drawn.q)
            ]
            auc[i] = statistics.auc(*grids)
            for k, sample in enumerate(samples):
                of_p, of_q = (
                    side[:, k * size : (k + 1) * size]
                    for side, size in zip(grids, (POINTS * CALIBRATION, POINTS), strict=True)
                )
                for j in range(b):
                    outcome = method.test(
                        BlockScores(of_p[j], of_q[j]), stream(self.seed, "playground", sample)
                    )
                    counts[k, i, j] = np.histogram(outcome.arrays["u"], edges)[0]
                    pvalues[k, i, j] = outcome.pvalue
        return Ranks(auc.astype(np.float32), counts, pvalues.astype(np.float32))

    def where(self, localizer: TrainedLocalizer) -> BallOverX:
        """CoLT's ball at every gamma and x."""
        u_star, inside = self._ball(localizer)
        x_edges, cells, x_at = self._x_grid()
        p, q = self._shown(x_at)
        distance = localizer.at(0.0)
        g, v = len(self.gammas), len(x_at)
        d = q.shape[-1]
        origin = p[0].mean(1) if x_at.shape[1] > 1 else np.zeros((v, d))
        around = [side - origin[:, None] for side in (p, q)]
        lines = [theta_grid(around, axis) for axis in range(d)]
        mesh = origin[:, None] + _mesh(lines)
        centre = np.empty((g, v, d))
        outlines: list[list[Array]] = []
        inside_at, difference = np.empty((g, v)), np.empty((g, len(cells)))
        for i, gamma in enumerate(self.gammas):
            at = self.over.at(x_at, i)
            centre[i] = distance.centre(at)
            radius, inside_at[i] = self.share_inside(distance, x_at, gamma, i, u_star, TRUE_DRAWS)
            _, share = self.share_inside(distance, cells, gamma, i, u_star, DRAWS_PER_CELL)
            difference[i] = share - u_star
            field = distance.field(mesh, at).reshape(v, *(len(line) for line in lines[::-1]))
            outlines.append(
                [rim + at for rim, at in zip(rims(lines, field, radius), origin, strict=True)]
            )
        sides = [len(edges) - 1 for edges in x_edges[::-1]]
        return BallOverX(
            x_at=x_at.astype(np.float32),
            origin=origin.astype(np.float32),
            p=p.astype(np.float16),
            q=q.astype(np.float16),
            centre=centre.astype(np.float32),
            outline=stacked(outlines),
            u_star=u_star,
            inside=inside.astype(np.float32),
            inside_at=inside_at.astype(np.float32),
            x_edges=tuple(x_edges),
            difference=difference.reshape(g, *sides).astype(np.float32),
        )

    def _ball(self, localizer: TrainedLocalizer) -> tuple[float, Array]:
        """q's mass in the ball, chosen for all gammas at once, and the truth's share (G, 3) in it.

        The mass is that at which the ranks' law departs most from uniform on average over gammas,
        so that the ball means the same at each; shares are from simulations that did not choose
        it.
        """
        design = TrialDesign(n=2 * BALL_DRAWS, k=DRAWS, seed=self.seed)
        method = CoLT()
        u = np.empty((len(self.gammas), 2 * BALL_DRAWS))
        for i, gamma in enumerate(self.gammas):
            score = AtGamma(localizer.at(0.0), self.over, i)
            rng = stream(self.seed, "playground", "ball")
            table = sampling.table(self.benchmark, gamma, design.n, design.k, rng)
            u[i] = method.test(scores.apply(score, table), stream(self.seed, "ball")).arrays["u"]
        grid = np.linspace(0.05, 0.95, 91)
        departure = np.abs(statistics.ecdf_difference(u[:, :BALL_DRAWS], grid)).mean(0)
        u_star = float(grid[departure.argmax()])
        count = (u[:, BALL_DRAWS:] <= u_star).sum(1)
        low, high = statistics.wilson(count, np.full(len(count), BALL_DRAWS))
        return u_star, np.stack([count / BALL_DRAWS, low, high], axis=1)

    def share_inside(
        self, distance: Score, x: Array, gamma: float, index: int, u_star: float, draws: int
    ) -> tuple[Array, Array]:
        """Radius of the ball, and the truth's share in it (V,), at places x (V, M).

        Draws on the rim itself count by the part of q's that the ball needs to hold u_star: where
        p and q are one point, that is u_star of either. Random numbers are the same at every
        gamma.
        """
        rng = common(self.seed, "playground", "share", draws)
        far: list[NDArray[np.floating]] = []
        rows = np.repeat(x, draws, axis=0)
        for law in (self.benchmark.q, self.benchmark.theta):
            theta = law(rows, gamma, rng)
            far.append(distance(theta, self.over.at(rows, index)).reshape(len(x), draws))
        radius = np.quantile(far[0], u_star, axis=1)
        below, tied = (
            np.stack([beside(side, radius[:, None]).mean(1) for side in far])
            for beside in (np.less, np.equal)
        )
        needed = np.divide(u_star - below[0], tied[0], out=np.ones(len(x)), where=tied[0] > 0)
        return radius, below[1] + needed.clip(0, 1) * tied[1]

    def _x_grid(self) -> tuple[list[Array], Array, Array]:
        """Edges of the map's cells by dimension, their centres (C, M), and the places (V, M)."""
        x = self.benchmark.x(4000, stream(self.seed, "playground", "x"))
        side = 3 * _SIDE[x.shape[1]]
        low, high = np.quantile(x, [_TAIL, 1 - _TAIL], axis=0)
        edges = [np.linspace(*ends, side + 1) for ends in zip(low, high, strict=True)]
        middles = [(line[1:] + line[:-1]) / 2 for line in edges]
        cells = _mesh(middles)
        return edges, cells, _mesh([line[1::3] for line in middles])

    def _shown(self, x: Array) -> tuple[Array, Array]:
        """Draws of p (G or 1, V, N, D) and of q (G, V, N, D) at places x."""
        d = self.benchmark.dims[0]
        draws = SHOWN if d == 2 else _ON_LINE
        rows = np.repeat(x, draws, axis=0)
        sides = [
            np.stack(
                [law(rows, gamma, common(self.seed, "playground", name)) for gamma in self.gammas]
            ).reshape(len(self.gammas), len(x), draws, d)
            for name, law in (("p", self.benchmark.theta), ("q", self.benchmark.q))
        ]
        still = bool((sides[0] == sides[0][:1]).all())
        return (sides[0][:1] if still else sides[0]), sides[1]

    def _power(
        self, classifier: TrainedClassifier, localizer: TrainedLocalizer, report: Report
    ) -> Array:
        """p-values (methods, POWER_BETAS, G, trials) of trials that share their draws."""
        out = np.full(
            (len(METHODS), len(POWER_BETAS), len(self.gammas), self.trials), np.nan, np.float16
        )
        for i, gamma in enumerate(self.gammas):
            for j, beta in enumerate(POWER_BETAS):
                running = [m for m in METHODS if beta in betas_of(m)]
                read = self.scores_at(classifier, localizer, i, beta)
                tallies = trials.run_trials(self.benchmark, gamma, read, running, self.design)
                for method, tally in zip(running, tallies, strict=True):
                    out[METHODS.index(method), j, i] = np.maximum(tally.pvalues, SMALLEST_PVALUE)
            report(0.5 + 0.5 * (i + 1) / len(self.gammas), {})
        return out


@dataclass(frozen=True, kw_only=True)
class PlaygroundSampleStudy(Study[Ranks], spec="playground_sample"):
    """One more fresh sample, after those of the playground's own result."""

    of: PlaygroundStudy
    sample: int
    """Its number, from 0 over all samples."""

    @property
    def label(self) -> str:
        return f"Sample {self.sample + 1} of {self.of.benchmark.label}"

    @property
    def trainings(self) -> tuple[Training, ...]:
        return (self.of.classifier,)

    def compute(self, store: Store, report: Report) -> Ranks:
        """Rank the sample's draws at every gamma and beta."""
        del report
        trained_scores.ready(store, self.of.benchmark)
        classifier = trained_scores.trained(store, self.of.classifier)
        return self.of.ranks(classifier, range(self.sample, self.sample + 1))


class PlaygroundTrial(NamedTuple):
    """One trial in full: draws (n, D) of both sides, scores or ranks, and outcome."""

    p: Array
    q: Array
    scores_p: Array
    """(n,) of p's draws, or (n,) of the truths of a table."""
    scores_q: Array
    """(n,) of q's draws; of a table, those of the first draw at each x."""
    ranks: Array
    """(n,) where the test ranks, of the parameter that is farthest off; empty elsewhere."""
    statistic: float
    pvalue: float


@dataclass(frozen=True, kw_only=True)
class PlaygroundTrialStudy(Study[PlaygroundTrial], spec="playground_trial"):
    """One trial of the p-values over trials, recomputed in full."""

    of: PlaygroundStudy
    method: Method
    gamma: float
    beta: float
    trial: int

    @property
    def label(self) -> str:
        return f"Trial {self.trial + 1} of {self.method.label}, {self.of.benchmark.label}"

    @property
    def trainings(self) -> tuple[Training, ...]:
        if not self.method.needs_training:
            return ()
        return (self.of.localizer if self.method.localizes else self.of.classifier,)

    def compute(self, store: Store, report: Report) -> PlaygroundTrial:
        """Repeat the counted trial, to the bit."""
        del report
        trained_scores.ready(store, self.of.benchmark)
        index = self.of.gammas.index(self.gamma)
        read: Mapping[str, Score] = {}
        for training in self.trainings:
            network = trained_scores.trained(store, training)
            score: Score = AtGamma(network.at(self.beta), self.of.over, index)
            read = {self.method.label: score}
        drawn, scored, outcome = trials.replay_trial(
            self.of.benchmark, self.gamma, read, self.method, self.of.design, self.trial
        )
        if isinstance(drawn, PosteriorTable):
            assert isinstance(scored, TableScores)
            p, q = drawn.theta, drawn.q[:, 0]
            score_p, score_q = scored.truth[0], scored.draws[0, :, 0]
        else:
            assert isinstance(scored, BlockScores)
            p, q = drawn.p.theta, drawn.q.theta
            score_p, score_q = scored.p, scored.q
        u = np.asarray(outcome.arrays.get("u", np.zeros(0)))
        if u.ndim > 1:
            u = u[int(np.argmax(statistics.ks(u).statistic))]
        return PlaygroundTrial(
            p, q, score_p, score_q, u, float(outcome.statistic), float(outcome.pvalue)
        )


def betas_of(method: Method) -> tuple[float, ...]:
    """Degradations at which a method's power is measured."""
    if not method.degrades:
        return (0.0,)
    return COLT_BETAS if method.localizes else POWER_BETAS


def theta_grid(sides: Sequence[Array], axis: int) -> Array:
    """Grid points (_GRID,) over nearly all displayed draws of one parameter, with a margin."""
    both = np.concatenate([side[..., axis].ravel() for side in sides])
    low, high = np.quantile(both, [_FRAME, 1 - _FRAME])
    room = _ROOM * (high - low)
    return np.linspace(low - room, high + room, _GRID)


def _mesh(lines: Sequence[Array]) -> Array:
    """Every point of a grid, the first coordinate running fastest: (points, dimensions)."""
    return np.stack(np.meshgrid(*lines), axis=-1).reshape(-1, len(lines))


def named() -> dict[str, Benchmark]:
    """Benchmarks of the strip by their names in an address."""
    return {_name(benchmark): benchmark for benchmark in _benchmarks()}


def _name(benchmark: Benchmark) -> str:
    if not isinstance(benchmark, Gaussian):
        return benchmark.name
    return benchmark.perturbation + "-curved" * benchmark.curved


def shipped() -> tuple[PlaygroundStudy, ...]:
    """Studies whose results ship with the package."""
    return tuple(PlaygroundStudy(benchmark=benchmark) for benchmark in _benchmarks())
