"""At my observation: whether q can be trusted at one x, a row's, a typed or the real one."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from validation_core import codec, keys, sampling
from validation_core.diagnosis import learning, plan, tasks
from validation_core.diagnosis.questions.base import (
    LEVEL,
    Json,
    Names,
    Question,
    Rows,
    TableStudy,
    short_name,
)
from validation_core.diagnosis.questions.calibration.words import at_least
from validation_core.diagnosis.questions.in_theta.maps import strongest_parameters
from validation_core.diagnosis.questions.over_x import scan
from validation_core.diagnosis.tasks import method_training
from validation_core.drawing import style
from validation_core.drawing.drawn import Drawn
from validation_core.drawing.marks import Axis, Bars, Panel, Points, VLine
from validation_core.keys import Arrays, Specification
from validation_core.learn.stored_network import StoredNetwork
from validation_core.localization import neighbours, over_x
from validation_core.localization.neighbours import Reduced, reduced
from validation_core.methods import lc2st
from validation_core.methods.base import Method
from validation_core.precision import narrow
from validation_core.relabelling.claims import Claims, parameter_name, x_column_name
from validation_core.rng import stream
from validation_core.scores import Recipe
from validation_core.scores.lc2st import LC2STClassifier, LocalScore
from validation_core.scores.localizer import MapPlaces
from validation_core.scores.trained_scores import Training
from validation_core.statistics import ball_mass
from validation_core.statistics.local_test import distance_of_logits, local
from validation_core.study import Report
from validation_core.tables import TableUpload, Upload
from validation_core.text import equals, interval_text, number_text
from validation_core.types import Array, Benchmark, Interval, PosteriorTable

if TYPE_CHECKING:
    from validation_core.diagnosis.verdict import Diagnosis
    from validation_core.learn.training import Report as TrainingReport
    from validation_core.store import Store


Where = int | Sequence[float] | None
"""A row counted from 0; an observation of M numbers; or None: the upload's own or the middle."""

# A page asks again and again.
_middles: WeakKeyDictionary[Upload, int] = WeakKeyDictionary()
_standings: WeakKeyDictionary[Upload, neighbours.Standing] = WeakKeyDictionary()

FEWEST = 50
"""Rows below which half of them teach a local classifier nothing."""
_FAR, _APART = 3.0, 0.5


def unlike(upload: Upload) -> str | None:
    """That the table's own observation is unlike every simulation, in words; None where it is not.

    The rule: its nearest row is farther away than any looked-at row (300 of them, or all) is from
    its own nearest other row, at least 3 times as far as is usual, and at least 0.5 sd a column.
    If x_o came from the simulator, it would be exchangeable with the rows: the chance that it is
    the farthest of n + 1 is 1 / (n + 1), 0.3% for 300. The factor and the distance keep silent
    where that means little: in many dimensions all distances are alike, and rows of integers
    have no distance from their doubles.
    """
    if upload.observed is None or not isinstance(upload, TableUpload):
        return None
    if upload not in _standings:
        x = upload.observed[0]
        _standings[upload] = neighbours.standing(upload.data.x, np.asarray(x, np.float64))
    return _unlike(_standings[upload])


def _unlike(standing: neighbours.Standing | None) -> str | None:
    if standing is None or standing.farther > 0:
        return None
    if standing.nearest < max(_FAR * standing.usual, _APART):
        return None
    return (
        f"Your observation is unlike every simulation: its nearest is {standing.nearest:.2g} sd "
        f"away (usual: {standing.usual:.2g}). This diagnosis says nothing about q there."
    )


class ObservationQuestion(Question["AtObservation"]):
    """Whether q can be trusted at one x."""

    name = "observation"
    title = "At my observation"
    picks_x = True
    reading_guide = (
        "L-C2ST asks a classifier, trained on other rows, which of q's draws at this "
        "observation look like true values. Colours show the learned chance that a draw is "
        "the true value. If q were correct here, all draws would be pale near 1/2 but for "
        "noise, and T would be one of the grey nulls. At the nearest rows q's bias would be 0 "
        "and its width 1 times what it should be, within their intervals. q may be correct on "
        "the whole and wrong here, or the other way round."
    )

    @property
    def code(self) -> str:
        return super().code.replace("{seed})", "{seed}, where=None)")

    def obstacle(self, upload: Upload) -> str | None:
        if not isinstance(upload, TableUpload):
            return (
                "A local test looks at q's draws at one x; two samples p and q have no x. Upload "
                "theta, x and theta_q."
            )
        if upload.n < FEWEST:
            return (
                f"A local test learns on half of the rows and needs at least {FEWEST} rows; got "
                f"{upload.n}. Upload more rows."
            )
        return plan.upload_obstacle(upload)

    def studies(
        self, upload: TableUpload, methods: Sequence[Method], seed: int, where: Where = None
    ) -> tuple[_ObservationStudy, ...]:
        """L-C2ST and the rows nearby; then CoLT's ball there, where one of the methods learns it.

        Raises:
            ValueError: for a row that is not there or an observation that is not M finite numbers.
        """
        if self.obstacle(upload) is not None:
            return ()
        at = _ObservationPoint.of(upload, where)
        # A row is looked at by networks that learnt from the other half.
        second = not at.observed and at.row not in learning.held_out_rows(upload, seed)
        source = _LC2STFold(digest=upload.digest, second=bool(second))
        network = Training(source=source, recipe=LC2STEnsemble(), seed=seed)
        studies = [at.study(upload, seed, network, "local")]
        for method in methods:
            if method.localizes and plan.method_obstacle(method, upload) is None:
                localizer = method_training(upload, method, seed)
                assert localizer is not None
                studies.append(at.study(upload, seed, localizer, "ball"))
                break
        return tuple(studies)

    def gather(self, results: Sequence[AtObservation]) -> AtObservation:
        """The parts that are done as one."""
        return AtObservation(
            next((result.local for result in results if result.local), None),
            next((result.ball for result in results if result.ball), None),
        )

    def describe(self, result: AtObservation, names: Names, claims: Claims) -> tuple[str, ...]:
        """The answer first, then where it was looked, and what the numbers rest on."""
        theta, x_names = names
        sentences: list[str] = []
        if result.local is not None:
            local = result.local
            own = local.site.kind == "observed"
            if (warning := _unlike(local.site.standing)) is not None:
                sentences.append(warning)
            if (claims.observation() if own else claims.pvalue) <= claims.alpha:
                sentences += _answer(local, theta)
            else:
                sentences += _unclaimed(local, claims, own=own)
            sentences += _where(local.site, x_names)
        if result.ball is not None:
            sentences.append(_ball_text(result.ball))
        return tuple(sentences)

    def notes(self, result: AtObservation, names: Names) -> tuple[str, ...]:
        del names
        local = result.local
        return () if local is None else (_basis(local.test, local.nearby),)

    def rows(self, result: AtObservation, names: Names, claims: Claims) -> Rows:
        """A row for each parameter at the rows nearby, the worst first."""
        return [
            {
                "parameter": parameter_name(names.theta, ranks.parameter),
                "bias nearby, posterior sd (+ is too high)": _told(ranks.shift, "+.2f"),
                "width / needed width": _told(ranks.width, ".2f"),
                "p, adjusted": ranks.pvalue,
            }
            for ranks in (result.local.nearby.worst if result.local else ())
        ]

    def figures(self, result: AtObservation, names: Names, claims: Claims) -> tuple[Drawn, ...]:
        """Figures of the parts that are done."""
        del claims
        local = () if result.local is None else _local_figures(result.local.test, names.theta)
        return local if result.ball is None else (*local, _ball_drawn(result.ball, names.theta))

    def finds(self, result: AtObservation, claims: Claims) -> bool | None:
        """None, too, for an observation unlike every simulation: nothing is known of q there."""
        if result.local is not None and _unlike(result.local.site.standing) is not None:
            return None
        if result.local is None:
            return result.finds
        own = result.local.site.kind == "observed"
        return (claims.observation() if own else claims.pvalue) <= claims.alpha and result.finds

    def complete(self, document: Json, result: AtObservation, diagnosis: Diagnosis) -> None:
        self.tell_where(document, result, diagnosis)


@dataclass(frozen=True)
class _ObservationPoint:
    """What a study is told of where it looks."""

    row: int = 0
    x_o: tuple[float, ...] | None = None
    observed: str = ""

    @classmethod
    def of(cls, upload: TableUpload, where: Where) -> _ObservationPoint:
        table = upload.data
        n, m = table.x.shape
        if where is None:
            if upload.observed is not None:
                x, theta = upload.observed
                return cls(observed=keys.digest(x=x, theta=theta))
            if upload not in _middles:
                _middles[upload] = neighbours.central_row(table.x)
            return cls(row=_middles[upload])
        if isinstance(where, int | np.integer):
            if not 0 <= where < n:
                raise ValueError(
                    f"A row is counted from 0 to {n - 1}; got {int(where)}. Give one that is "
                    "there."
                )
            return cls(row=int(where))
        x_o = np.asarray(where, dtype=np.float64).ravel()
        if x_o.shape != (m,) or not np.isfinite(x_o).all():
            bad = int((~np.isfinite(x_o)).sum())
            raise ValueError(
                f"An observation has the {m} finite numbers of an x; got {x_o.size} with {bad} "
                "that are not finite. Give one number for each column of x."
            )
        row = int(neighbours.distances(table.x, x_o[None])[0].argmin())
        return cls(row=row, x_o=tuple(float(column) for column in x_o))

    def study(
        self, upload: Upload, seed: int, network: Training, part: Literal["local", "ball"]
    ) -> _ObservationStudy:
        return _ObservationStudy(
            digest=upload.digest,
            seed=seed,
            trainings=(network,),
            part=part,
            row=self.row,
            x_o=self.x_o,
            observed=self.observed,
        )


_LOOKED = 1000  # draws of q that are looked at, at most
_PARAMETERS = 50  # whose ranks nearby are told; of more, those over which the chance varies most
_SHOWN = 500  # draws on figures
_CURVES = 100  # nulls on figures
_MAPPED = 12  # parameters whose draws are kept for a map
_NULLS = 999
_SIZES: tuple[scan.Kind, scan.Kind] = ("shift", "width")
_LISTED = 20  # numbers of an observation that are told


@dataclass(frozen=True)
class _Site:
    """The observation that is looked at."""

    kind: Literal["row", "typed", "observed"]
    row: int
    """Whose draws serve, from 0; -1 for the upload's own."""
    columns: int
    x: tuple[float, ...]
    """Where q is looked at; empty where it is long."""
    asked: tuple[float, ...]
    """What was asked for."""
    standing: neighbours.Standing | None = field(metadata=codec.shown(flat=True), default=None)
    """Where it stands among the rows; None for one of them."""


@dataclass(frozen=True, eq=False)
class _LocalTest:
    """L-C2ST at one observation."""

    pvalue: float
    T: float
    null_high: float
    """The 95% quantile of T on its null."""
    nulls: int
    rows: int
    """That the classifiers learnt from."""
    draws: int
    mapped: tuple[int, ...]
    """Parameters whose draws are kept for a map."""
    d_low: float
    d_high: float
    """The middle 90% of the learned chance that a draw is the truth."""
    parameter: int | None
    """Of those whose ranks nearby are not a correct q's, the one over which the chance varies
    most; None where no parameter's are."""
    much: tuple[float, float]
    """The quarter of its draws where q puts too much mass; NaN without such a parameter."""
    little: tuple[float, float]
    """And too little."""
    d: Array
    """The chance of some draws: (K',)."""
    theta: Array
    """These draws: (K', P)."""
    t_null: Array
    """(H,)."""
    null_d: Array
    """The chance by some null classifiers: (H', K')."""


@dataclass(frozen=True)
class NearbyRanks:
    """How the truth's ranks in one parameter are off at the rows near an observation."""

    parameter: int
    shift: Interval
    """In posterior sd; 0 if q is right."""
    width: Interval
    """q's width by the width it needs; 1 if q is right."""
    pvalue: float
    """That q is right in it at these rows, adjusted for all parameters."""

    @property
    def open(self) -> bool:
        """Whether true values lie beyond all draws at one end: the shift is a bound."""
        return math.isnan(self.shift.low) or math.isnan(self.shift.high)

    @property
    def shifted(self) -> float:
        """How far the shift is from a right q's, in widths of its interval."""
        return math.inf if self.open else abs(self.shift.estimate) / _width(self.shift)

    @property
    def stretched(self) -> float:
        """How far the width is from a right q's, in widths of its interval."""
        return abs(self.width.estimate - 1) / _width(self.width) if self.width.known else 0.0


def _width(interval: Interval) -> float:
    return max(interval.high - interval.low, 1e-12)


@dataclass(frozen=True)
class NearbyRankTest:
    """The truth's ranks at the rows nearest to an observation."""

    rows: int
    worth: float
    """Equal rows that count as much as these do by nearness."""
    of: int
    """Rows in all."""
    pvalue: float
    """Against a q that is right at all of them, exact."""
    nulls: int
    all: int
    """Parameters in all."""
    parameters: tuple[NearbyRanks, ...]

    @property
    def worst(self) -> tuple[NearbyRanks, ...]:
        """Parameters, those whose shift or width is farthest from a right q's first."""
        return tuple(
            sorted(self.parameters, key=lambda ranks: -max(ranks.shifted, ranks.stretched))
        )


@dataclass(frozen=True, eq=False)
class _LocalAnswer:
    """What L-C2ST and the rows nearby say of an observation."""

    site: _Site = field(metadata=codec.shown(name="place"))
    test: _LocalTest = field(metadata=codec.shown(name="local"))
    nearby: NearbyRankTest = field(metadata=codec.shown(name="near"))


@dataclass(frozen=True, eq=False)
class _LocalBall:
    """CoLT's ball at an observation: q's mass in it, and the truth's at the rows nearby."""

    u_star: float
    """q's mass in it."""
    rate: float
    """The truth's beyond that, with its interval."""
    low: float
    high: float
    rows: int
    worth: float
    centre: tuple[float, ...]
    """In the parameters that are mapped."""
    mapped: tuple[int, ...]
    theta: Array
    """Draws of q: (K', P)."""
    inside: Array
    """1 for those in the ball: (K',)."""


@dataclass(frozen=True, eq=False)
class AtObservation:
    """Whether q can be trusted at one observation: the parts that are done."""

    local: _LocalAnswer | None = field(metadata=codec.shown(flat=True), default=None)
    ball: _LocalBall | None = field(metadata=codec.shown(optional=True), default=None)

    @property
    def finds(self) -> bool:
        """Whether q is called wrong at this observation, at a level of its own."""
        return self.local is not None and self.local.test.pvalue <= LEVEL


@dataclass(frozen=True, kw_only=True)
class _ObservationStudy(TableStudy[AtObservation], spec="observation"):
    """What q looks like at one observation, and the rows near it."""

    version: ClassVar[int] = 5
    about: ClassVar[str] = "At one observation"

    part: Literal["local", "ball"] = "local"
    """L-C2ST and the ranks nearby; or the ball of CoLT's localizer."""
    row: int = 0
    """The row whose draws serve, counted from 0; unused where the observation has its own."""
    x_o: tuple[float, ...] | None = None
    """The observation as it was typed; None for the row itself or the upload's own."""
    observed: str = ""
    """Fingerprint of the upload's observation, where that is looked at."""

    @property
    def label(self) -> str:
        what = "the observation" if self.observed else f"row {self.row}"
        return f"{self.about} ({what}{', ball' * (self.part == 'ball')}), an uploaded table"

    def answer(self, upload: TableUpload, store: Store, report: Report) -> AtObservation:
        """One part of it."""
        (network,) = self.networks(store, report)
        x, draws, truth = self._here(upload, upload.data)
        if self.part == "ball":
            return AtObservation(ball=_ball_at(network, upload, self.seed, x, draws, truth))
        test, nearby = _local(network, upload.data, self.seed, x, draws)
        return AtObservation(_LocalAnswer(self._site(upload.data, x), test, nearby))

    def _here(self, upload: Upload, table: PosteriorTable) -> tuple[Array, Array, Array]:
        """x (M,) at which q is looked at, its draws (K, D) and what is known of the truth (T, D).

        The draws are those of a row, so that q is looked at where these were drawn.
        """
        if self.observed:
            own = upload.observed
            if own is None:
                raise ValueError(
                    "This task looks at the observation that came with the table; got a table "
                    "without one. Upload x_o and theta_o with it."
                )
            return own[0], own[1][:_LOOKED], np.zeros((0, table.theta.shape[1]))
        at = slice(self.row, self.row + 1)
        return table.x[self.row], table.q[self.row, :_LOOKED], table.theta[at]

    def _site(self, table: PosteriorTable, x: Array) -> _Site:
        """Where it is, and how far from the rows."""
        x_o = x if self.x_o is None else np.asarray(self.x_o, np.float64)
        is_row = not self.observed and self.x_o is None
        few = len(x) <= _LISTED
        return _Site(
            kind="row" if is_row else "observed" if self.observed else "typed",
            row=-1 if self.observed else self.row,
            columns=len(x),
            x=tuple(float(column) for column in x) if few else (),
            asked=tuple(float(column) for column in x_o) if few else (),
            standing=None if is_row else neighbours.standing(table.x, x_o),
        )


def _local(
    network: _TrainedLC2ST, table: PosteriorTable, seed: int, x: Array, draws: Array
) -> tuple[_LocalTest, NearbyRankTest]:
    """L-C2ST at x with q's draws there, and the ranks of the true values nearby."""
    logits = network.logits(draws, x)
    statistic = distance_of_logits(logits)  # (H + 1,)
    tested = local(statistic[:1], statistic[None, 1:])
    chance = expit(logits[0].astype(np.float64))
    count = min(_SHOWN, len(draws))
    mapped = np.sort(strongest_parameters(draws.astype(np.float64), chance, _MAPPED))
    strongest = strongest_parameters(draws.astype(np.float64), chance, _PARAMETERS)
    nearby = nearby_rank_test(table, np.sort(strongest), x, seed)
    off = {ranks.parameter for ranks in nearby.parameters if ranks.pvalue <= LEVEL}
    parameter = next((int(which) for which in strongest if int(which) in off), None)
    much = little = (math.nan, math.nan)
    if parameter is not None:
        much, little = _quarters(draws[:, parameter].astype(np.float64), chance)
    d_low, d_high = np.quantile(chance, [0.05, 0.95])
    test = _LocalTest(
        pvalue=float(tested.pvalue[0]),
        T=float(statistic[0]),
        null_high=float(np.quantile(statistic[1:], 0.95)),
        nulls=len(statistic) - 1,
        rows=network.rows,
        draws=len(draws),
        mapped=tuple(int(column) for column in mapped),
        d_low=float(d_low),
        d_high=float(d_high),
        parameter=parameter,
        much=much,
        little=little,
        d=narrow(chance[:count]),
        theta=narrow(draws[:count][:, mapped]),
        t_null=narrow(statistic[1:]),
        null_d=narrow(expit(logits[1 : 1 + _CURVES, :count].astype(np.float64))),
    )
    return test, nearby


def _quarters(values: Array, chance: Array) -> tuple[tuple[float, float], tuple[float, float]]:
    """The quarters of a parameter's draws (K,) in which q puts too much and too little mass, by
    the chance (K,)."""
    edges = np.quantile(values, np.arange(1, 4) / 4)
    cell = np.searchsorted(edges, values, side="right")
    ends = np.quantile(values, np.arange(5) / 4)
    counts = np.bincount(cell, minlength=4)
    mean = np.bincount(cell, chance, minlength=4) / np.maximum(counts, 1)
    some = np.flatnonzero(counts)
    much, little = (int(some[pick(mean[some])]) for pick in (np.argmin, np.argmax))
    return (
        (float(ends[much]), float(ends[much + 1])),
        (float(ends[little]), float(ends[little + 1])),
    )


def nearby_rank_test(
    table: PosteriorTable, which: NDArray[np.int64], x: Array, seed: int
) -> NearbyRankTest:
    """Shift and width of the truth's ranks at the rows near x, with an exact p of them all.

    The p-value: in every row another of the truth and q's draws plays the truth, which changes
    nothing if q is right there; neighbours are chosen by x alone.
    """
    weight = neighbours.weights(table.x, x[None])  # (1, n)
    rows = np.flatnonzero(weight[0] > 0)
    few = PosteriorTable(
        table.theta[rows][:, which],
        table.x[rows, :0],
        table.q[np.ix_(rows, np.arange(table.q.shape[1]), which)],
    )
    feature_set = scan.parameter_features(few, seed)
    own = weight[0, rows]
    norm = float(np.sqrt(np.square(own).sum()))
    f, j, n = feature_set.scores.shape
    each = np.abs(feature_set.truth @ own) / norm  # (F,)
    rng = stream(seed, "observation", "nearby")
    picks = rng.integers(j, size=(_NULLS, n))
    nulls = np.zeros(_NULLS)
    for index in range(f):
        null_scores = feature_set.scores[index][picks, np.arange(n)]
        nulls = np.maximum(nulls, np.abs(null_scores @ own) / norm)
    beyond = (nulls >= each[:, None] * (1 - 1e-5)).sum(1)
    adjusted = (1 + beyond.reshape(len(_SIZES), -1).min(0)) / (_NULLS + 1)
    parameters = []
    for index, parameter in enumerate(which):
        raw = feature_set.truth[index]
        shift, width = (
            Interval.of(*scan.smooth_feature(kind, raw, own[None], table.q.shape[1])[:3, 0])
            for kind in _SIZES
        )
        p = float(adjusted[index])
        parameters.append(NearbyRanks(int(parameter), shift, width, p))
    return NearbyRankTest(
        rows=n,
        worth=float(over_x.totals(weight)[1][0]),
        of=len(table),
        pvalue=float(adjusted.min()),
        nulls=_NULLS,
        all=table.theta.shape[1],
        parameters=tuple(parameters),
    )


def _ball_at(
    localizer: Any, upload: TableUpload, seed: int, x: Array, draws: Array, truth: Array
) -> _LocalBall:
    """The ball of CoLT's localizer at x: q's mass in it, and the truth's at the rows nearby."""
    table, rows = upload.data, learning.held_out_rows(upload, seed)
    distance = localizer.at()
    # The halves of the map's scene, whose draws are not copied.
    middle = len(rows) // 2
    choose, quote = (sampling.lent(table, half) for half in (rows[:middle], rows[middle:]))
    rng = stream(seed, "map", "ranks")  # the map's tie-breakers: the same ball
    chose, quoted = (distance.ranks(part, rng).u for part in (choose, quote))
    u_star = float(ball_mass(chose, quoted).u_star)
    weight = neighbours.weights(quote.x, x[None])
    rate, low, high, worth = over_x.rates(weight, quoted <= u_star, u_star)
    places = MapPlaces(x[None], draws[None], truth[None], draws[None])
    here = distance.ball(places, u_star)
    count = min(_SHOWN, len(draws))
    inside = np.asarray(here.q_inside[0][:count], np.float64)
    # Which parameters the ball tells apart: those over which being inside varies most.
    mapped = np.sort(strongest_parameters(draws[:count].astype(np.float64), inside, 2))
    return _LocalBall(
        u_star=u_star,
        rate=float(rate[0]),
        low=float(low[0]),
        high=float(high[0]),
        rows=int((weight[0] > 0).sum()),
        worth=float(worth[0]),
        centre=tuple(float(here.centre[0, column]) for column in mapped),
        mapped=tuple(int(column) for column in mapped),
        theta=narrow(draws[:count][:, mapped]),
        inside=inside.astype(np.float32),
    )


ROWS = 3000
"""Rows that the classifiers learn from, at most: bounds their time."""
_DRAWS = 16  # of which one is taken at random
_RECIPE = LC2STClassifier(nulls=299)


@dataclass(frozen=True, kw_only=True)
class _LC2STFold(Specification, spec="lc2st_fold"):
    """One half of an uploaded table as a source of training rows: the other is looked at."""

    version: ClassVar[int] = 2

    digest: str
    second: bool = False
    """Learn from the rows that the tests look at, to look at one of those they learn from."""

    @property
    def label(self) -> str:
        """Its name in a list of trained models."""
        return f"Uploaded table {self.digest[:8]}, {'second' if self.second else 'first'} half"

    def training_set(self, recipe: Any, seed: int, store: Store) -> Any:
        """That half's rows."""
        rows = self._half(self.second, seed, store, recipe.most)
        return recipe.of_table(rows, stream(seed, "observation", "rows", int(self.second)))

    def test_table(
        self, n: int, k: int, rng: np.random.Generator, *, seed: int, store: Store
    ) -> PosteriorTable:
        """The other half's."""
        del n, k, rng
        return self._half(not self.second, seed, store)

    def _half(
        self, second: bool, seed: int, store: Store, most: int | None = None
    ) -> PosteriorTable:
        """The rows that the other networks learn from, or the second half, and a few draws."""
        upload = tasks.load_upload(store, self.digest)
        if not isinstance(upload, TableUpload):
            raise ValueError(
                "A local test learns from draws of q at each x; got two samples p and q, which "
                "have none. Upload a table of theta, x and theta_q."
            )
        return sampling.take(
            upload.data, learning.training_and_held_out_rows(upload, seed)[second], most
        )


@dataclass(frozen=True, kw_only=True)
class LC2STEnsemble(Recipe, spec="lc2st_ensemble"):
    """How a table's local classifiers are trained: as `LC2STClassifier`, with x in few numbers.

    Linhart, Gramfort, Rodrigues (2023), L-C2ST: the null classifiers serve every observation.
    """

    local: LC2STClassifier = _RECIPE

    @property
    def most(self) -> int:
        """Draws at each x that are looked at, at most."""
        return _DRAWS

    def sample(
        self, benchmark: Benchmark, gamma: float, rng: np.random.Generator
    ) -> PosteriorTable:
        """Rows of a benchmark to learn from."""
        return sampling.table(benchmark, gamma, 1000, 1, rng)

    def of_table(self, train: PosteriorTable, rng: np.random.Generator) -> PosteriorTable:
        """Up to ROWS rows of a table, in no order."""
        some = np.sort(rng.permutation(len(train))[:ROWS])
        return PosteriorTable(train.theta[some], train.x[some], train.q[some, :_DRAWS])

    def learn_all(
        self,
        data: Sequence[PosteriorTable],
        seeds: Sequence[int],
        report: TrainingReport | None = None,
    ) -> list[_TrainedLC2ST]:
        """The classifier and its nulls on each table."""
        from validation_core.learn import perceptron

        trained = []
        for table, seed in zip(data, seeds, strict=True):
            start = time.perf_counter()
            fewer = reduced(table.x)
            small = PosteriorTable(table.theta, fewer(table.x), table.q)
            score = self.local.learn(small, stream(seed, "observation", "local"))
            trained.append(
                _TrainedLC2ST(
                    score.parameters,
                    score.shift,
                    score.scale,
                    fewer.shift,
                    fewer.matrix,
                    len(table),
                    time.perf_counter() - start,
                    perceptron.pick_device(),
                )
            )
        return trained

    def read(self, arrays: Arrays, *, seconds: float, device: str) -> _TrainedLC2ST:
        """What `TrainedLC2ST.arrays` gave."""
        return _TrainedLC2ST.read(arrays, seconds=seconds, device=device)


@dataclass(frozen=True, eq=False)
class _TrainedLC2ST(StoredNetwork):
    """A classifier of the truth against q and its nulls, to be asked at any observation."""

    hoisted: ClassVar[str] = "parameters"

    parameters: Mapping[str, NDArray[np.float32]]
    """Of all networks, as `LocalScore` has them."""
    shift: Array  # (D + M',)
    scale: Array  # (D + M',)
    x_shift: Array  # (M,)
    x_matrix: Array  # (M, M'): x in few numbers
    rows: int
    """Rows it learnt from."""
    seconds: float = 0.0
    device: str = "cpu"

    @property
    def score(self) -> LocalScore:
        """The networks, of theta and x in few numbers."""
        return LocalScore(self.parameters, self.shift, self.scale)

    @property
    def summary(self) -> Mapping[str, float]:
        """How many nulls there are."""
        return {"nulls": float(self.score.nulls)}

    def logits(self, draws: Array, x_o: Array) -> Array:
        """Logits (H + 1, K) of q's draws (K, D) at one observation (M,), the nulls' last."""
        x = Reduced(self.x_shift, self.x_matrix)(x_o[None])
        return self.score(draws, np.repeat(x, len(draws), axis=0))


_CLAUSES = 3  # that a sentence says of parameters
_TOLD = 8  # draws of q from which quarters of them mean something
_NAMED = 5  # columns named in a warning


def _told(interval: Interval, form: str) -> str:
    """An interval, its ends open where true values lie beyond all draws; empty where unknown."""
    if not interval.known:
        return ""
    low = -math.inf if math.isnan(interval.low) else interval.low
    high = math.inf if math.isnan(interval.high) else interval.high
    return interval_text((interval.estimate, low, high), form).replace("inf", "∞")


def middle_in_words(x: Array) -> str:
    """The median of observations (n, M), as somebody would type it."""
    middle = np.median(np.asarray(x, dtype=np.float64), axis=0)
    return ", ".join(f"{value:.3g}" for value in middle)


def _answer(local: _LocalAnswer, names: Sequence[str]) -> list[str]:
    test, nearby = local.test, nearby_text(local.nearby, names)
    p = f"p {equals(test.pvalue)}"
    if test.pvalue > LEVEL:
        return [f"L-C2ST finds nothing against q at this observation ({p}).", nearby]
    if test.draws < _TOLD:
        few = f"Too few draws ({test.draws}) of q there to say where."
        return [f"Near this observation q looks wrong (L-C2ST, {p}): {few}", nearby]
    where = ""
    if test.parameter is not None:
        where = (
            f": too much mass for {parameter_name(names, test.parameter)} between "
            f"{ends_text(test.much)}, too little between {ends_text(test.little)}"
        )
    return [
        f"Near this observation q looks wrong (L-C2ST, {p}){where}.",
        f"The learned chance that a draw is the true value runs from {test.d_low:.2f} to "
        f"{test.d_high:.2f} over the middle 90% of q's draws; 0.5 is guessing.",
        nearby,
    ]


def _unclaimed(local: _LocalAnswer, claims: Claims, *, own: bool) -> list[str]:
    """What the numbers here are where the verdict claims nothing."""
    nearby = local.nearby
    why = (
        f"at the rows nearest to this observation p {equals(claims.observation())}, adjusted in "
        "the verdict's family"
        if own
        else f"over everything that was looked at p {equals(claims.pvalue)}"
    )
    return [
        f"Nothing is claimed against q here: {why}.",
        f"By themselves, L-C2ST gives p {equals(local.test.pvalue)} and the {nearby.rows} rows "
        f"nearest in x p {equals(nearby.pvalue)}.",
    ]


def ends_text(ends: Sequence[float]) -> str:
    return " and ".join(number_text(end) for end in ends)


def nearby_text(nearby: NearbyRankTest, names: Sequence[str]) -> str:
    """What the ranks nearby say: the parameters that are off, each by what its interval shows."""
    rows, p = f"At the {nearby.rows} rows nearest in x", f"p {equals(nearby.pvalue)}"
    if nearby.pvalue > LEVEL:
        return (
            f"{rows} the true values' ranks show no error ({p}, exact test that q is correct at "
            "all of them)."
        )
    off = [ranks for ranks in nearby.worst if ranks.pvalue <= LEVEL]
    sized = [clause for ranks in off for clause in _sizes_nearby(ranks, names)]
    if sized:
        return f"{rows} ({p}), {'; '.join(sized[:_CLAUSES])}."
    listed = ", ".join(parameter_name(names, ranks.parameter) for ranks in off[:_CLAUSES])
    return f"{rows} the true values' ranks in {listed} are not those of a correct q ({p})."


def _sizes_nearby(ranks: NearbyRanks, names: Sequence[str]) -> list[str]:
    """Bias and width of a parameter, each where its own interval excludes that of a right q."""
    name, clauses = parameter_name(names, ranks.parameter), []
    shift, width = ranks.shift, ranks.width
    side = "high" if shift.estimate >= 0 else "low"
    if ranks.open:
        bound = shift._replace(estimate=0.0)  # by ranks alone, which tell no more
        clauses.append(f"q's {name} sits {at_least(bound)} too {side}")
    elif shift.low > 0 or shift.high < 0:
        ends = shift if shift.estimate >= 0 else Interval(*(-shift[i] for i in (0, 2, 1)))
        clauses.append(f"q's {name} sits {interval_text(ends)} posterior sd too {side}")
    if width.low > 1 or width.high < 1:
        fit = "wide" if width.low > 1 else "narrow"
        clauses.append(
            f"q's {name} is {interval_text(width)} times as wide as it should be (too {fit})"
        )
    return clauses


def _where(site: _Site, x_names: Sequence[str]) -> list[str]:
    values = ", ".join(
        f"{x_column_name(at, x_names)} = {number_text(value, 4)}"
        for at, value in enumerate(site.x)
    )
    parenthesis = f" ({values})" if values else f" ({site.columns:,} columns)"
    standing = site.standing
    if standing is None:
        return [f"Looked at row {site.row}, counted from 0{parenthesis}."]
    far = (
        f"{standing.nearest:.2g} sd a column away; between neighbouring rows {standing.usual:.2g} "
        f"is usual, and {standing.farther:.0%} of the rows have no nearer one"
    )
    if site.kind == "typed":
        sentences = [
            f"q's draws are those of row {site.row}, counted from 0, the nearest to what was "
            f"asked for: {far}. q is looked at in that row{parenthesis}."
        ]
    else:
        sentences = [
            f"Looked at the observation that came with the table{parenthesis}; its nearest "
            f"row lies {far}."
        ]
    if standing.outside_count:
        listed = ", ".join(x_column_name(index, x_names) for index in standing.outside[:_NAMED])
        more = standing.outside_count - min(_NAMED, len(standing.outside))
        sentences.append(
            f"This observation lies outside the range of all rows in {listed}"
            f"{f' and {more} more' if more > 0 else ''}: no simulation is like it, and "
            "nothing here speaks for q there. Simulate nearer to it, or check the model."
        )
    elif standing.farther < 0.01:
        sentences.append(
            "This observation is farther from every row than 99 of 100 rows are from theirs: "
            "what is learnt from the rows may not hold there."
        )
    return sentences


def _basis(test: _LocalTest, nearby: NearbyRankTest) -> str:
    few = (
        f" Of {nearby.all:,} parameters, those {len(nearby.parameters)} over which the learned "
        "chance varies most are shown."
        if nearby.all > len(nearby.parameters)
        else ""
    )
    draws = f"{test.draws:,} draw{'s' * (test.draws > 1)}"
    return (
        f"L-C2ST learnt from {test.rows} rows other than this one, with {test.nulls} null "
        f"classifiers, and looks at {draws} of q. A test at one x_o borrows from its "
        "neighbours, so an error near it may show here. Nearby rows are weighted by distance "
        f"(effective number: {nearby.worth:.0f}). p-values are valid only if you did not "
        f"choose this observation because it looked bad.{few} Brackets are 95% intervals, each "
        "by itself."
    )


def _ball_text(ball: _LocalBall) -> str:
    inside = interval_text(
        (ball.u_star + ball.rate, ball.u_star + ball.low, ball.u_star + ball.high), ".1%"
    )
    reads = (
        "more than q gives it"
        if ball.low > 0
        else "less than q gives it"
        if ball.high < 0
        else "as much as q gives it, within its interval"
    )
    return (
        f"CoLT's ball here holds {ball.u_star:.0%} of q's mass; near this x true values lie in "
        f"it in {inside} of the {ball.rows} nearest held-out "
        f"rows, {reads}."
    )


_LONG = 32  # letters of a name on an axis


def _local_figures(test: _LocalTest, names: Sequence[str]) -> tuple[Drawn, ...]:
    labels = [short_name(parameter_name(names, index), _LONG) for index in test.mapped]
    d, theta, null_d, t_null = (
        np.asarray(array, np.float64) for array in (test.d, test.theta, test.null_d, test.t_null)
    )
    return (
        Drawn(
            "q's draws at this observation",
            lc2st.map_of(theta, d, labels),
            "Coloured by d, the learned chance that a draw is the true value: orange where q "
            "puts too much mass, blue where too little. If q were correct here, all would be "
            "pale but for the classifier's noise.",
        ),
        Drawn(
            "How sure the classifier is here",
            lc2st.pp_plot(d, null_d),
            "The share of q's draws whose d is at most this; grey: 95% of the null "
            "classifiers at each d. If q were correct here, the line would stay near the dashed "
            "step and in the grey.",
        ),
        Drawn(
            "T on its null here",
            lc2st.null_of_t(test.T, t_null),
            "Grey: T of classifiers whose labels were swapped within pairs at random. If q "
            "were correct here, the red line would be one of them, anywhere in the grey.",
        ),
    )


def _ball_drawn(ball: _LocalBall, names: Sequence[str]) -> Drawn:
    labels = [short_name(parameter_name(names, index), _LONG) for index in ball.mapped]
    theta = np.asarray(ball.theta, np.float64)
    return Drawn(
        "CoLT's ball at this observation",
        _ball_figure(theta, ball.inside, ball.centre, labels),
        "q's draws, those in the ball in its colour, its centre a star. If q were correct "
        "near this x, true values would lie in the ball as often as q's draws do.",
    )


def _ball_figure(
    theta: Array, inside: Array, centre: Sequence[float], names: Sequence[str]
) -> Panel:
    """Draws (K, 1) as two histograms, or (K, 2) as dots."""
    within = inside > 0
    color = style.method_style("colt").color
    limits = [_room(theta[:, axis], centre[axis]) for axis in range(theta.shape[1])]
    if theta.shape[1] == 1:
        edges = np.linspace(*limits[0], 31)
        counts = np.histogram(theta[:, 0], edges)[0]
        inside_counts = np.histogram(theta[within, 0], edges)[0]
        return Panel(
            [
                Bars(edges, counts, color=style.NULL, opacity=0.5),
                Bars(edges, inside_counts, color=color, opacity=0.8),
                VLine(centre[0], color=color),
            ],
            x=Axis(limits[0], names[0]),
            y=Axis((0, 1.1 * float(max(counts.max(), 1))), "q's draws"),
            height=style.HEIGHT,
        )
    return Panel(
        [
            *(
                Points(*theta[mask].T, color=shade, size=5, opacity=0.7)
                for mask, shade in ((~within, style.NULL), (within, color))
            ),
            Points(centre[:1], centre[1:], color=color, size=13, symbol="star", hover="centre"),
        ],
        x=Axis(limits[0], names[0]),
        y=Axis(limits[1], names[1]),
        height=320,
    )


def _room(values: Array, centre: float) -> tuple[float, float]:
    low, high = min(float(values.min()), centre), max(float(values.max()), centre)
    spare = 0.05 * (high - low) or 0.05 * max(abs(high), 1.0)
    return low - spare, high + spare
