"""The work: features of every row, stretches of x, two tests, and the worst places."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from validation_core import scores as scoring
from validation_core.diagnosis import learning
from validation_core.diagnosis.claims import Claims
from validation_core.diagnosis.questions.base import TableStudy, as_numbers
from validation_core.diagnosis.questions.over_x import features, scan
from validation_core.diagnosis.questions.over_x.features import Estimate, Features, Kind
from validation_core.localization import over_x as smoothing
from validation_core.narrow import narrow
from validation_core.omnibus.places import COLUMNS, XCoordinates, aside, coordinates, moments
from validation_core.rng import stream
from validation_core.study import Report
from validation_core.tables import Upload
from validation_core.types import Array, PosteriorTable

if TYPE_CHECKING:
    from validation_core.store import Store

LEVEL = 0.05
_DRAWN = 6  # places whose smoothed size is kept
_LISTED = 60  # places whose numbers are kept
_DOTS = 400  # rows marked on a map
_LEAST_NULLS = 199
_WORK = 1.5e11  # multiplications of one test, above which it takes fewer null tables
_CLASSIFIED = 4_000_000  # numbers of theta and x that a row is scored with, at most
_SCORED = 200_000  # draws that are scored, at most; as many at each row


@dataclass(frozen=True)
class Beyond:
    """The share of truths outside all of q's draws; and that of a right q."""

    share: float
    usual: float


@dataclass(frozen=True)
class Overall:
    """The size of one feature over all rows."""

    kind: Kind
    parameter: int
    """-1 for the learned score."""
    size: Estimate
    beyond: Beyond | None = None
    """For a shift."""

    def to_json(self) -> dict[str, Any]:
        """Its numbers, flat."""
        head = {"kind": self.kind, "parameter": self.parameter}
        return {**head, **as_numbers(self.size), **_beyond_json(self.beyond)}


@dataclass(frozen=True, eq=False)
class Curve:
    """The smoothed size of a feature along a coordinate."""

    sizes: Array
    """(5, G): places, value, low, high and half the room of a right q."""
    rows: Array
    """Where rows lie: (n',)."""


@dataclass(frozen=True, eq=False)
class Heat:
    """The smoothed size of a feature over the plane of two columns of x."""

    sizes: Array
    """(4, G, G): value, low, high and half the room of a right q, rows up; nan where few lie."""
    axes: Array
    """(2, G): across and up."""
    rows: Array
    """(n', 2)."""


@dataclass(frozen=True, eq=False)
class Place:
    """A feature along a coordinate: whether it changes there, and where it is worst."""

    kind: Kind
    parameter: int
    """-1 for the learned score."""
    along: str
    """x: a column; component: a principal component of x; mean: q's mean; plane: two columns."""
    which: int
    """The column, component or parameter; -1 for the plane."""
    p_varies: float
    """That it is the same all along, adjusted for all places looked at."""
    p_right: float
    """That its values are those of a right q, adjusted too."""
    share: float
    """Of the rows, in the region."""
    row: int
    """A row of the upload in the middle of the region, from 0."""
    region: scan.Region
    inside: Estimate
    """By rows that did not choose the region."""
    outside: Estimate
    beyond: Beyond | None = None
    """In the region; for a shift."""
    picture: Curve | Heat | None = None
    """Of the first places only."""

    def to_json(self) -> dict[str, Any]:
        """Its numbers, its region's among them."""
        names = ("kind", "parameter", "along", "which", "p_varies", "p_right", "share", "row")
        return {
            **{name: getattr(self, name) for name in names},
            **as_numbers(self.region),
            "inside": as_numbers(self.inside),
            "outside": as_numbers(self.outside),
            **_beyond_json(self.beyond),
        }


def _beyond_json(beyond: Beyond | None) -> dict[str, float]:
    return {} if beyond is None else {"beyond": beyond.share, "beyond_usual": beyond.usual}


@dataclass(frozen=True, eq=False)
class Scan:
    """Both tests of one set of features, and their worst places."""

    name: str
    """ranks: every parameter's; learned: a classifier's."""
    families: int
    """Scans that share the level: each p is multiplied by it."""
    rows: int
    nulls: int
    draws: int
    columns: int
    many: bool
    """Whether x has more columns than are looked along."""
    parameters: int
    looked_at: int
    coordinates: int
    aside: int
    """Draws at each x that give q's means, kept from the ranks."""
    constant: bool
    """Whether x never varies."""
    pairs_looked_at: int
    p_varies: float
    p_right: float
    sees: float | None
    """The local mean over a fifth of x, in normal scores, that is found in 80 of 100 tables."""
    overall: tuple[Overall, ...]
    pairs: tuple[Place, ...]
    """The smallest p first."""

    def to_json(self) -> dict[str, Any]:
        """Its numbers; places with a picture name it."""
        pairs = []
        for i, place in enumerate(self.pairs):
            label = {} if place.picture is None else {"drawn": f"{self.name}{i}"}
            pairs.append({**place.to_json(), **label})
        bare = as_numbers(replace(self, overall=(), pairs=()))
        return {**bare, "overall": [size.to_json() for size in self.overall], "pairs": pairs}


@dataclass(frozen=True, eq=False)
class ErrorsOverX:
    """Where over x q fails: the scans that are done."""

    parts: tuple[Scan, ...]

    def to_json(self) -> dict[str, Any]:
        """Every number."""
        return {"parts": [part.to_json() for part in self.parts]}

    @property
    def p_varies(self) -> float:
        """That nothing changes over x, by all scans."""
        return min(part.p_varies for part in self.parts)

    @property
    def p_right(self) -> float:
        """That all values are those of a right q, by all scans."""
        return min(part.p_right for part in self.parts)

    @property
    def finds(self) -> bool:
        """Whether q is called wrong somewhere, at a level of its own."""
        return min(self.p_varies, self.p_right) <= LEVEL

    @cached_property
    def worst(self) -> tuple[Place, ...]:
        """Places of all scans, the smallest p first.

        Null tables give many the same p: then a parameter comes before the classifier's score,
        which says neither which one nor how it is off, and the larger difference before the
        smaller.
        """
        places = [place for part in self.parts for place in part.pairs]
        return tuple(
            sorted(
                places,
                key=lambda place: (place.p_varies, place.kind == "learned", -_contrast(place)),
            )
        )

    @property
    def worst_row(self) -> int | None:
        """A row, counted from 0, in the middle of the worst place; None where none is found."""
        return next((place.row for place in self.worst if place.p_varies <= LEVEL), None)

    def judged(self, claims: Claims | None) -> ErrorsOverX:
        """With p-values of the verdict's family, where there is one."""
        if claims is None:
            return self

        def judged(place: Place) -> Place:
            p = claims.place(place.kind, place.parameter, place.along, place.which)
            return replace(place, p_varies=p, p_right=claims.pvalue)

        return ErrorsOverX(
            tuple(replace(part, pairs=tuple(map(judged, part.pairs))) for part in self.parts)
        )


def _contrast(place: Place) -> float:
    inside, outside = place.inside.value, place.outside.value
    return 0.0 if inside is None or outside is None else abs(inside - outside)


class _Inputs(NamedTuple):
    """What a test is told: features of n rows, where they lie, and their coordinates."""

    name: str
    """ranks or learned."""
    features: Features
    at: XCoordinates
    plane: Array | None
    """x (n, 2) where it has two columns that vary."""
    rows: NDArray[np.int64]
    """(n,) places of the rows in the upload."""


@dataclass(frozen=True, kw_only=True)
class OverXStudy(TableStudy[ErrorsOverX], spec="over_x"):
    """Where over x the truth's ranks are off: by every parameter, or by a classifier's logit."""

    version: ClassVar[int] = 3
    about: ClassVar[str] = "Where over x"

    learned: bool = False
    """Read the classifier's rank on the rows that it did not learn from; else each parameter's."""
    families: int = 1
    """Answers that share the level: each one's p is multiplied by it."""
    nulls: int = 999
    """Null tables of each test; fewer where they would take long."""

    @property
    def label(self) -> str:
        by = "by a classifier" if self.learned else "by ranks"
        return f"{self.about} {by}, an uploaded table"

    def answer(self, upload: Upload, store: Store, report: Report) -> ErrorsOverX:
        """Both tests, the worst places, and smoothed sizes of the first."""
        if not self.learned:
            return over_x(upload, self.seed, self.nulls, self.families, report=report)
        (network,) = self.networks(store, report)
        table, rows = upload.data, learning.kept(upload, self.seed)
        assert isinstance(table, PosteriorTable)
        kept_back = aside(upload.k, table.x.shape[1])
        count = max(1, min(_CLASSIFIED // sum(upload.dims), _SCORED // len(rows)))
        # Of a large table only what is scored is copied.
        most = slice(kept_back, kept_back + count)
        few = PosteriorTable(table.theta[rows], table.x[rows], table.q[rows, most])
        read = scoring.apply(network.at(), few)
        feature_set = features.of_scores(read.truth[0], read.draws[0], self.seed)
        at = coordinates(table.x, *moments(table.q[:, :kept_back]))
        at = at._replace(values=at.values[rows])
        inputs = _Inputs("learned", feature_set, at, _plane(few.x), rows)
        return _scanned(inputs, upload, self.seed, self.nulls, self.families, report)


def over_x(
    upload: Upload,
    seed: int = 0,
    nulls: int = 999,
    families: int = 1,
    report: Report = lambda done, live: None,
) -> ErrorsOverX:
    """Where over x the ranks of a table's parameters are off, without any network."""
    assert isinstance(upload.data, PosteriorTable)
    table = upload.data
    chosen, rows = features.selection(table, seed)
    kept_back = aside(table.q.shape[1], table.x.shape[1])
    few = table
    if len(chosen) < table.theta.shape[1]:
        few = PosteriorTable(
            table.theta[rows][:, chosen],
            table.x[rows],
            table.q[np.ix_(rows, np.arange(table.q.shape[1]), chosen)],
        )
    feature_set = features.of_parameters(
        PosteriorTable(few.theta, few.x, few.q[:, kept_back:]), seed
    )
    feature_set = feature_set._replace(
        parameters=tuple(int(chosen[parameter]) for parameter in feature_set.parameters)
    )
    at = coordinates(few.x, *moments(few.q[:, :kept_back]))
    which = tuple(
        int(chosen[column]) if kind == "mean" else column
        for kind, column in zip(at.kinds, at.which, strict=True)
    )
    inputs = _Inputs("ranks", feature_set, at._replace(which=which), _plane(few.x), rows)
    return _scanned(inputs, upload, seed, nulls, families, report)


def _plane(x: Array) -> Array | None:
    """x where it has two columns, both of which vary."""
    two = x.shape[1] == 2 and bool((np.ptp(x, axis=0) > 0).all())
    return np.asarray(x, np.float64) if two else None


def _scanned(
    inputs: _Inputs, upload: Upload, seed: int, nulls: int, families: int, report: Report
) -> ErrorsOverX:
    """The tests of these features, and what the worst of them look like."""
    over = scan.windows(inputs.at.values, stream(seed, "over x", "discs"), inputs.plane)
    f, _, n = inputs.features.scores.shape
    work = 2 * f * n * (over.blocks.shape[1] + over.discs.shape[1])
    count = int(min(nulls, max(_LEAST_NULLS, _WORK / work)))
    rng = stream(seed, "over x", inputs.name, "tests")
    varies = scan.varies(
        inputs.features.truth, over, count, rng, lambda done: report(0.5 * done, {})
    )
    right = scan.right(
        inputs.features.scores, over, count, rng, lambda done: report(0.5 + 0.5 * done, {})
    )
    m = upload.dims[1]
    kept_back = aside(upload.k, m)
    part = Scan(
        name=inputs.name,
        families=families,
        rows=n,
        nulls=count,
        draws=upload.k,
        columns=m,
        many=m > COLUMNS,
        parameters=upload.dims[0],
        looked_at=len({index for index in inputs.features.parameters if index >= 0}),
        coordinates=len(inputs.at.kinds),
        aside=kept_back,
        constant=not np.ptp(inputs.at.values, axis=0).any(),
        pairs_looked_at=varies.statistic.size,
        p_varies=min(1.0, families * varies.pvalue),
        p_right=min(1.0, families * right.pvalue),
        sees=_sees(right.null, n, families),
        overall=_overall(inputs.features, upload.k - kept_back),
        pairs=_places(inputs, over, (varies, right), families, seed, upload.k - kept_back),
    )
    return ErrorsOverX((part,))


def _sees(null: Array, n: int, families: int) -> float | None:
    level = LEVEL / families
    if (len(null) + 1) * level < 1 or n < 2 * features.FEWEST:
        return None
    return float((np.quantile(null, 1 - level) + 0.8416) / np.sqrt(n / 5))


def _overall(feature_set: Features, k: int) -> tuple[Overall, ...]:
    """Every feature's size over all rows, ranked among k draws."""
    sizes = []
    for i, (kind, which) in enumerate(zip(feature_set.kinds, feature_set.parameters, strict=True)):
        raw = feature_set.raw(i)
        sizes.append(Overall(kind, which, features.estimate(kind, raw), _beyond(kind, raw, k)))
    return tuple(sizes)


def _beyond(kind: Kind, raw: Array, k: int) -> Beyond | None:
    """The share of truths, by their normal scores, outside all of q's k draws."""
    if kind != "shift":
        return None
    share = float((np.abs(raw) > -ndtri(1 / (k + 1))).mean()) if raw.size else 0.0
    return Beyond(share, 2 / (k + 1))


def _places(
    inputs: _Inputs,
    over: scan.Windows,
    tests: tuple[scan.Tested, scan.Tested],
    families: int,
    seed: int,
    k: int,
) -> tuple[Place, ...]:
    """The worst pairs of a feature and a coordinate: numbers and, of the first, pictures."""
    n, (varies, right) = len(over.blocks), tests
    choose = np.zeros(n, dtype=bool)
    choose[stream(seed, "over x", inputs.name, "halves").permutation(n)[: n // 2]] = True
    ranked = np.lexsort((-varies.statistic.ravel(), varies.adjusted.ravel()))[:_LISTED]
    places = []
    for at, flat in enumerate(ranked):
        f, c = divmod(int(flat), varies.statistic.shape[1])
        kind, raw = inputs.features.kinds[f], inputs.features.raw(f)
        region, inside = scan.worst_region(over, inputs.features.truth[f], c, choose)
        along, which = _along(inputs.at, c)
        places.append(
            Place(
                kind=kind,
                parameter=inputs.features.parameters[f],
                along=along,
                which=which,
                p_varies=min(1.0, families * float(varies.adjusted[f, c])),
                p_right=min(1.0, families * float(right.adjusted[f, c])),
                share=float(inside.mean()),
                row=_typical(inputs, c, inside),
                region=region,
                inside=features.estimate(kind, raw[inside & ~choose]),
                outside=features.estimate(kind, raw[~inside & ~choose]),
                beyond=_beyond(kind, raw[inside], k),
                picture=_picture(inputs, kind, raw, c) if at < _DRAWN else None,
            )
        )
    return tuple(places)


def _typical(inputs: _Inputs, c: int, inside: NDArray[np.bool_]) -> int:
    """The row of the upload in the middle of a region."""
    within = np.flatnonzero(inside) if inside.any() else np.arange(len(inside))
    if c < len(inputs.at.kinds):
        along = inputs.at.values[within, c]
        return int(inputs.rows[within[np.abs(along - np.median(along)).argmin()]])
    assert inputs.plane is not None
    across = inputs.plane[within]
    return int(inputs.rows[within[np.square(across - np.median(across, axis=0)).sum(1).argmin()]])


def _along(at: XCoordinates, c: int) -> tuple[str, int]:
    return (at.kinds[c], at.which[c]) if c < len(at.kinds) else ("plane", -1)


def _picture(inputs: _Inputs, kind: Kind, raw: Array, c: int) -> Curve | Heat:
    if c < len(inputs.at.kinds):
        values = inputs.at.values[:, c]
        at, weights = smoothing.line(values)
        dots = np.quantile(values, np.linspace(0, 1, min(_DOTS, len(values))))
        sizes = np.stack([at, *features.smoothed(kind, raw, weights)])
        return Curve(narrow(sizes), narrow(dots))
    assert inputs.plane is not None
    across, up, weights = smoothing.plane(inputs.plane)
    sizes = features.smoothed(kind, raw, weights)
    sizes[:, smoothing.totals(weights)[1] < smoothing.FEWEST] = np.nan
    some = np.linspace(0, len(inputs.plane) - 1, min(_DOTS, len(inputs.plane))).astype(int)
    return Heat(
        narrow(sizes.reshape(len(sizes), len(up), len(across))),
        narrow(np.stack([across, up])),
        narrow(inputs.plane[some]),
    )
