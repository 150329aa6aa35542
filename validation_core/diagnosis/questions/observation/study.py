"""The work at one observation: L-C2ST, the truth's ranks at the rows nearby, CoLT's ball there."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from validation_core import sampling
from validation_core.diagnosis import learning
from validation_core.diagnosis.questions.base import Interval, TableStudy, as_numbers
from validation_core.diagnosis.questions.in_theta import regions
from validation_core.diagnosis.questions.observation.networks import TrainedLC2ST
from validation_core.diagnosis.questions.over_x import features
from validation_core.localization import maps, over_x
from validation_core.localization import over_x as smoothing
from validation_core.narrow import narrow
from validation_core.rng import stream
from validation_core.statistics import ball as ball_of
from validation_core.statistics.local import distance_of_logits, local
from validation_core.study import Report
from validation_core.tables import Upload
from validation_core.types import Array, PosteriorTable

if TYPE_CHECKING:
    from validation_core.store import Store

LEVEL = 0.05
_LOOKED = 1000  # draws of q that are looked at, at most
_PARAMETERS = 50  # whose ranks nearby are told; of more, those over which the chance varies most
_SHOWN = 500  # draws on figures
_CURVES = 100  # nulls on figures
_MAPPED = 12  # parameters whose draws are kept for a map
_NULLS = 999
_SIZES: tuple[features.Kind, features.Kind] = ("shift", "width")
_LISTED = 20  # numbers of an observation that are told


@dataclass(frozen=True)
class Site:
    """The observation that is looked at."""

    kind: Literal["row", "typed", "observed"]
    row: int
    """Whose draws serve, from 0; -1 for the upload's own."""
    columns: int
    x: tuple[float, ...]
    """Where q is looked at; empty where it is long."""
    asked: tuple[float, ...]
    """What was asked for."""
    standing: over_x.Standing | None = None
    """Where it stands among the rows; None for one of them."""

    def to_json(self) -> dict[str, Any]:
        """Its numbers, flat."""
        fields = as_numbers(replace(self, standing=None))
        del fields["standing"]
        return fields | (self.standing._asdict() if self.standing else {})


@dataclass(frozen=True, eq=False)
class LocalTest:
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
    parameter: int
    """Over which the chance varies most."""
    much: tuple[float, float]
    """The quarter of its draws where q puts too much mass."""
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
    """The truth's spread by that of q; 1 if q is right."""

    @property
    def shifted(self) -> float:
        """How far the shift is from a right q's, in widths of its interval."""
        return abs(self.shift.estimate) / _width(self.shift)

    @property
    def stretched(self) -> float:
        """How far the width is from a right q's, in widths of its interval."""
        return abs(self.width.estimate - 1) / _width(self.width)


def _width(interval: Interval) -> float:
    return max(interval.high - interval.low, 1e-12)


@dataclass(frozen=True)
class Nearby:
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
class LocalAnswer:
    """What L-C2ST and the rows nearby say of an observation."""

    site: Site
    test: LocalTest
    nearby: Nearby


@dataclass(frozen=True, eq=False)
class Ball:
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

    local: LocalAnswer | None = None
    ball: Ball | None = None

    @property
    def finds(self) -> bool:
        """Whether q is called wrong at this observation, at a level of its own."""
        return self.local is not None and self.local.test.pvalue <= LEVEL

    def to_json(self) -> dict[str, Any]:
        """Every number of the parts that are done."""
        fields: dict[str, Any] = {}
        if self.local is not None:
            fields["place"] = self.local.site.to_json()
            fields["local"] = as_numbers(self.local.test)
            fields["near"] = as_numbers(self.local.nearby)
        if self.ball is not None:
            fields["ball"] = as_numbers(self.ball)
        return fields


@dataclass(frozen=True, kw_only=True)
class ObservationStudy(TableStudy[AtObservation], spec="observation"):
    """What q looks like at one observation, and the rows near it."""

    version: ClassVar[int] = 3
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

    def answer(self, upload: Upload, store: Store, report: Report) -> AtObservation:
        """One part of it."""
        assert isinstance(upload.data, PosteriorTable)
        (network,) = self.networks(store, report)
        x, draws, truth = self._here(upload, upload.data)
        if self.part == "ball":
            return AtObservation(ball=_ball(network, upload, self.seed, x, draws, truth))
        test, nearby = _local(network, upload.data, self.seed, x, draws)
        return AtObservation(LocalAnswer(self._site(upload.data, x), test, nearby))

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

    def _site(self, table: PosteriorTable, x: Array) -> Site:
        """Where it is, and how far from the rows."""
        x_o = x if self.x_o is None else np.asarray(self.x_o, np.float64)
        is_row = not self.observed and self.x_o is None
        few = len(x) <= _LISTED
        return Site(
            kind="row" if is_row else "observed" if self.observed else "typed",
            row=-1 if self.observed else self.row,
            columns=len(x),
            x=tuple(float(column) for column in x) if few else (),
            asked=tuple(float(column) for column in x_o) if few else (),
            standing=None if is_row else over_x.standing(table.x, x_o),
        )


def _local(
    network: TrainedLC2ST, table: PosteriorTable, seed: int, x: Array, draws: Array
) -> tuple[LocalTest, Nearby]:
    """L-C2ST at x with q's draws there, and the ranks of the truths nearby."""
    logits = network.logits(draws, x)
    statistic = distance_of_logits(logits)  # (H + 1,)
    tested = local(statistic[:1], statistic[None, 1:])
    chance = expit(logits[0].astype(np.float64))
    count = min(_SHOWN, len(draws))
    mapped = np.sort(regions.strongest(draws.astype(np.float64), chance, _MAPPED))
    which = np.sort(regions.strongest(draws.astype(np.float64), chance, _PARAMETERS))
    parameter = int(regions.strongest(draws.astype(np.float64), chance, 1)[0])
    much, little = _quarters(draws[:, parameter].astype(np.float64), chance)
    d_low, d_high = np.quantile(chance, [0.05, 0.95])
    test = LocalTest(
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
    return test, _nearby(table, which, x, seed)


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


def _nearby(table: PosteriorTable, which: NDArray[np.int64], x: Array, seed: int) -> Nearby:
    """Shift and width of the truth's ranks at the rows near x, with an exact p of them all.

    The p-value: in every row another of the truth and q's draws plays the truth, which changes
    nothing if q is right there; neighbours are chosen by x alone.
    """
    weight = over_x.weights(table.x, x[None])  # (1, n)
    rows = np.flatnonzero(weight[0] > 0)
    few = PosteriorTable(
        table.theta[rows][:, which],
        table.x[rows, :0],
        table.q[np.ix_(rows, np.arange(table.q.shape[1]), which)],
    )
    feature_set = features.of_parameters(few, seed)
    own = weight[0, rows]
    norm = float(np.sqrt(np.square(own).sum()))
    f, j, n = feature_set.scores.shape
    observed = np.abs(feature_set.truth @ own).max() / norm
    rng = stream(seed, "observation", "nearby")
    picks = rng.integers(j, size=(_NULLS, n))
    nulls = np.zeros(_NULLS)
    for index in range(f):
        null_scores = feature_set.scores[index][picks, np.arange(n)]
        nulls = np.maximum(nulls, np.abs(null_scores @ own) / norm)
    at_least = int((nulls >= observed * (1 - 1e-5)).sum())
    parameters = []
    for index, parameter in enumerate(which):
        raw = feature_set.truth[index]
        shift, width = (
            Interval(*map(float, features.smoothed(kind, raw, own[None])[:3, 0]))
            for kind in _SIZES
        )
        parameters.append(NearbyRanks(int(parameter), shift, width))
    return Nearby(
        rows=n,
        worth=float(smoothing.totals(weight)[1][0]),
        of=len(table),
        pvalue=(1 + at_least) / (_NULLS + 1),
        nulls=_NULLS,
        all=table.theta.shape[1],
        parameters=tuple(parameters),
    )


def _ball(localizer: Any, upload: Upload, seed: int, x: Array, draws: Array, truth: Array) -> Ball:
    """The ball of CoLT's localizer at x: q's mass in it, and the truth's at the rows nearby."""
    table, rows = upload.data, learning.kept(upload, seed)
    assert isinstance(table, PosteriorTable)
    distance = localizer.at()
    # The halves of the map's scene, whose draws are not copied.
    middle = len(rows) // 2
    choose, quote = (sampling.lent(table, half) for half in (rows[:middle], rows[middle:]))
    rng = stream(seed, "map", "ranks")  # the map's tie-breakers: the same ball
    chose, quoted = (maps.distance_ranks(distance, part, rng).u for part in (choose, quote))
    u_star = float(ball_of(chose, quoted).u_star)
    weight = over_x.weights(quote.x, x[None])
    rate, low, high, worth = smoothing.rates(weight, quoted <= u_star, u_star)
    places = maps.MapPlaces(x[None], draws[None], truth[None], draws[None])
    here = maps.at_places(distance, places, u_star)
    count = min(_SHOWN, len(draws))
    inside = np.asarray(here.q_inside[0][:count], np.float64)
    # Which parameters the ball tells apart: those over which being inside varies most.
    mapped = np.sort(regions.strongest(draws[:count].astype(np.float64), inside, 2))
    return Ball(
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
