"""Where over x: which observations q fails for, and whether that can be told from chance."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from validation_core import codec
from validation_core.diagnosis import learning, plan
from validation_core.diagnosis.questions.base import (
    LEVEL,
    Json,
    Names,
    Question,
    Rows,
    TableStudy,
    heat_map,
    short_name,
)
from validation_core.diagnosis.questions.calibration import at_least
from validation_core.diagnosis.questions.over_x import scan
from validation_core.diagnosis.questions.over_x.scan import Disc, FeatureSize, Kind, OverXFeatures
from validation_core.diagnosis.tasks import method_training
from validation_core.drawing import style
from validation_core.drawing.drawn import Drawn
from validation_core.drawing.marks import Axis, Band, HLine, Line, Panel, Points
from validation_core.localization import over_x
from validation_core.methods import WithinX
from validation_core.methods.base import Method
from validation_core.precision import narrow
from validation_core.relabelling.claims import Claims, parameter_name, x_column_name
from validation_core.relabelling.places import (
    CHOSEN,
    COLUMNS,
    COMPONENTS,
    XCoordinates,
    coordinates,
    draws_set_aside,
    moments,
)
from validation_core.rng import stream
from validation_core.scores import apply
from validation_core.statistics import contraction
from validation_core.study import Report
from validation_core.tables import TableUpload, Upload
from validation_core.text import capitalise, equals, interval_text, list_text, number_text
from validation_core.types import Array, Interval, PosteriorTable

if TYPE_CHECKING:
    from validation_core.diagnosis.verdict import Diagnosis
    from validation_core.store import Store


FEWEST = 40
"""Rows below which no stretch of x has enough of them."""


class OverXQuestion(Question["ErrorsOverX"]):
    """Which observations q fails for."""

    name = "over_x"
    title = "Where over x"
    reading_guide = (
        "Each line is the size of one error of q near each x, smoothed over neighbours: how far q "
        "sits too high, its width by the width it needs, or how well a classifier tells true "
        "values from q's draws. If q were correct, the line would stay inside the grey band at 95 "
        "of 100 places. Only the p-values tell a bump from chance: they count every place and "
        "every error that was looked at."
    )

    def obstacle(self, upload: Upload) -> str | None:
        if not isinstance(upload, TableUpload):
            return (
                "A map over x needs x: two samples p and q have none. Upload theta, x and theta_q "
                "to see where q fails."
            )
        if upload.n < FEWEST:
            return (
                f"A map over x compares stretches of at least 10 rows each and needs {FEWEST} "
                f"rows; got {upload.n}. Upload more rows."
            )
        return plan.upload_obstacle(upload)

    def studies(
        self, upload: TableUpload, methods: Sequence[Method], seed: int
    ) -> tuple[_OverXStudy, ...]:
        """Every parameter's ranks at once; a classifier's where one of the methods trains it."""
        if self.obstacle(upload) is not None:
            return ()
        network = None
        for method in methods:
            if method.reads_classifier and plan.method_obstacle(WithinX(), upload) is None:
                network = method_training(upload, method, seed)
                break
        if network is None:
            return (_OverXStudy(digest=upload.digest, seed=seed),)
        return (
            _OverXStudy(digest=upload.digest, seed=seed, families=2),
            _OverXStudy(
                digest=upload.digest, seed=seed, learned=True, families=2, trainings=(network,)
            ),
        )

    def gather(self, results: Sequence[ErrorsOverX]) -> ErrorsOverX:
        """The parts that are done as one; each one's p is already adjusted for all."""
        return ErrorsOverX(tuple(part for result in results for part in result.parts))

    def describe(self, result: ErrorsOverX, names: Names, claims: Claims) -> tuple[str, ...]:
        """The answer first; then the next worst place, what p is of, and what was done."""
        theta, x_names = names
        places, p = result.changing(claims), result.p_changes(claims)
        if places:
            return (
                f"q's error changes over x (p {equals(p)}). {_place(places[0], theta, x_names)}",
                *_next(places, theta, x_names),
            )
        if claims.found:
            return (f"The error looks the same at every x (test for change: p {equals(p)}).",)
        return (
            f"No sign of an error at any place of x (p {equals(claims.over_x())})."
            f"{_caught(result)}",
        )

    def notes(self, result: ErrorsOverX, names: Names) -> tuple[str, ...]:
        del names
        return (_basis(result), *_notes(result))

    def rows(self, result: ErrorsOverX, names: Names, claims: Claims) -> Rows:
        """A row for each place, the smallest p first."""
        return [
            {
                "what": _feature_text(place, names.theta),
                "along": _coordinate_text(place, *names),
                "p, changes over x": place.p_varies,
                "p, right q": place.p_right,
                "worst where": region_text(place, *names),
                "share of rows": place.share,
                "size there": _size_text(place.kind, place.inside),
                "size elsewhere": _size_text(place.kind, place.outside),
            }
            for place in result.judged(claims).worst
        ]

    def figures(self, result: ErrorsOverX, names: Names, claims: Claims) -> tuple[Drawn, ...]:
        """The worst places whose sizes are told, at most six: a curve along a coordinate, a heat
        map over two."""
        theta, x_names = names
        places = [place for place in result.judged(claims).worst if _drawn(place)]
        return tuple(_figure(place, theta, x_names) for place in places[:_MOST])

    def finds(self, result: ErrorsOverX, claims: Claims) -> bool:
        return bool(result.changing(claims))

    def complete(self, document: Json, result: ErrorsOverX, diagnosis: Diagnosis) -> None:
        self.tell_where(document, result, diagnosis)


_DRAWN = 6  # places whose smoothed size is kept
_LISTED = 60  # places whose numbers are kept
_DOTS = 400  # rows marked on a map
_LEAST_NULLS = 199
_SIMPLER = {"plane": 0.85, "component": 0.9, "mean": 0.9}  # of the clarity of a column of x
_WORK = 1.5e11  # multiplications of one test, above which it takes fewer null tables
_CLASSIFIED = 4_000_000  # numbers of theta and x that a row is scored with, at most
_SCORED = 200_000  # draws that are scored, at most; as many at each row


@dataclass(frozen=True)
class _Beyond:
    """The share of truths outside all of q's draws; and that of a right q."""

    share: float = field(metadata=codec.shown(name="beyond"))
    usual: float = field(metadata=codec.shown(name="beyond_usual"))


@dataclass(frozen=True)
class _Overall:
    """The size of one feature over all rows."""

    kind: Kind
    parameter: int
    """-1 for the learned score."""
    size: FeatureSize = field(metadata=codec.shown(flat=True))
    beyond: _Beyond | None = field(metadata=codec.shown(flat=True), default=None)
    """For a shift."""


@dataclass(frozen=True, eq=False)
class _OverXCurve:
    """The smoothed size of a feature along a coordinate."""

    sizes: Array
    """(5, G): places, value, low, high and half the room of a right q."""
    rows: Array
    """Where rows lie: (n',)."""


@dataclass(frozen=True, eq=False)
class _OverXHeat:
    """The smoothed size of a feature over the plane of two columns of x."""

    sizes: Array
    """(4, G, G): value, low, high and half the room of a right q, rows up; nan where few lie."""
    axes: Array
    """(2, G): across and up."""
    rows: Array
    """(n', 2)."""


@dataclass(frozen=True, eq=False, kw_only=True)
class OverXPlace:
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
    clarity: float = 0.0
    """The largest |z| of a change along the coordinate."""
    region: scan.Region = field(metadata=codec.shown(flat=True))
    inside: FeatureSize
    """By rows that did not choose the region."""
    outside: FeatureSize
    beyond: _Beyond | None = field(metadata=codec.shown(flat=True), default=None)
    """In the region; None for the learned score."""
    picture: _OverXCurve | _OverXHeat | None = field(
        metadata=codec.shown(hidden=True), default=None
    )
    """Of the first places only."""

    @property
    def told(self) -> bool:
        """Whether the size of the error there is told from that of a right q."""
        return self.inside.excludes(1.0 if self.kind == "width" else 0.0)


@dataclass(frozen=True, eq=False)
class _FeatureScan:
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
    overall: tuple[_Overall, ...]
    pairs: tuple[OverXPlace, ...]
    """The smallest p first."""

    def to_json(self) -> Json:
        """Its numbers; places with a picture name it."""
        fields = codec.fields_to_json(self)
        for i, (place, numbers) in enumerate(zip(self.pairs, fields["pairs"], strict=True)):
            if place.picture is not None:
                numbers["drawn"] = f"{self.name}{i}"
        return fields


@dataclass(frozen=True, eq=False)
class ErrorsOverX:
    """Where over x q fails: the scans that are done."""

    parts: tuple[_FeatureScan, ...]

    @property
    def p_varies(self) -> float:
        """That nothing changes over x, by all scans."""
        return min(part.p_varies for part in self.parts)

    @property
    def p_right(self) -> float:
        """That all values are those of a right q, by all scans."""
        return min(part.p_right for part in self.parts)

    @cached_property
    def worst(self) -> tuple[OverXPlace, ...]:
        """Places of all scans, the smallest p first.

        Null tables give many the same p: then a parameter comes before the classifier's score,
        which says neither which one nor how it is off, the clearer change before the less clear,
        one coordinate before two together unless these are clearly better, and the larger
        difference before the smaller.
        """
        places = [place for part in self.parts for place in part.pairs]

        def order(place: OverXPlace) -> tuple[float, bool, float, float]:
            clarity = place.clarity * _SIMPLER.get(place.along, 1.0)
            return place.p_varies, place.kind == "learned", -clarity, -_contrast(place)

        return tuple(sorted(places, key=order))

    @property
    def worst_row(self) -> int | None:
        """A row, counted from 0, in the middle of the worst place; None where none is found."""
        return next((place.row for place in self.worst if place.p_varies <= LEVEL), None)

    def p_changes(self, claims: Claims) -> float:
        """That the error is the same at every x.

        The verdict's family asks whether q is right everywhere: an error that is the same at
        every x can have a small p there. So that a change is claimed, its own test, which lets q
        be wrong alike everywhere, must say so too.
        """
        return max(self.p_varies, claims.over_x())

    def changing(self, claims: Claims) -> list[OverXPlace]:
        """Places where a change may be claimed, those with a size that can be told first, then
        the clearest."""
        if self.p_changes(claims) > claims.alpha:
            return []
        places = [place for place in self.judged(claims).worst if place.p_varies <= claims.alpha]
        return sorted(places, key=lambda place: not (place.told or place.kind == "learned"))

    def judged(self, claims: Claims) -> ErrorsOverX:
        """With p-values of the verdict's family."""

        def judged(place: OverXPlace) -> OverXPlace:
            p = claims.place(place.kind, place.parameter, place.along, place.which)
            return replace(place, p_varies=max(p, place.p_varies), p_right=claims.pvalue)

        return ErrorsOverX(
            tuple(replace(part, pairs=tuple(map(judged, part.pairs))) for part in self.parts)
        )


def _contrast(place: OverXPlace) -> float:
    inside, outside = place.inside.value, place.outside.value
    return 0.0 if inside is None or outside is None else abs(inside - outside)


class _OverXInputs(NamedTuple):
    """What a test is told: features of n rows, where they lie, and their coordinates."""

    name: str
    """ranks or learned."""
    features: OverXFeatures
    at: XCoordinates
    plane: Array | None
    """x (n, 2) where it has two columns that vary."""
    rows: NDArray[np.int64]
    """(n,) places of the rows in the upload."""


@dataclass(frozen=True, kw_only=True)
class _OverXStudy(TableStudy[ErrorsOverX], spec="over_x"):
    """Where over x the truth's ranks are off: by every parameter, or by a classifier's logit."""

    version: ClassVar[int] = 5
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

    def answer(self, upload: TableUpload, store: Store, report: Report) -> ErrorsOverX:
        """Both tests, the worst places, and smoothed sizes of the first."""
        if not self.learned:
            return find_errors_over_x(upload, self.seed, self.nulls, self.families, report=report)
        (network,) = self.networks(store, report)
        table, rows = upload.data, learning.held_out_rows(upload, self.seed)
        kept_back = draws_set_aside(upload.k, table.x.shape[1])
        count = max(1, min(_CLASSIFIED // sum(upload.dims), _SCORED // len(rows)))
        # Of a large table only what is scored is copied.
        most = slice(kept_back, kept_back + count)
        few = PosteriorTable(table.theta[rows], table.x[rows], table.q[rows, most])
        read = apply(network.at(), few)
        feature_set = scan.learned_score_features(read.truth[0], read.draws[0], self.seed)
        at = coordinates(table.x, *moments(table.q[:, :kept_back]))
        at = at._replace(values=at.values[rows])
        inputs = _OverXInputs("learned", feature_set, at, _plane(few.x), rows)
        return _scanned(inputs, upload, self.seed, self.nulls, self.families, report)


def find_errors_over_x(
    upload: TableUpload,
    seed: int = 0,
    nulls: int = 999,
    families: int = 1,
    report: Report = lambda done, live: None,
) -> ErrorsOverX:
    """Where over x the ranks of a table's parameters are off, without any network."""
    table = upload.data
    chosen, rows = scan.select_parameters_and_rows(table, seed)
    kept_back = draws_set_aside(table.q.shape[1], table.x.shape[1])
    few = table
    if len(chosen) < table.theta.shape[1]:
        few = PosteriorTable(
            table.theta[rows][:, chosen],
            table.x[rows],
            table.q[np.ix_(rows, np.arange(table.q.shape[1]), chosen)],
        )
    feature_set = scan.parameter_features(
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
    inputs = _OverXInputs("ranks", feature_set, at._replace(which=which), _plane(few.x), rows)
    return _scanned(inputs, upload, seed, nulls, families, report)


def _plane(x: Array) -> Array | None:
    """x where it has two columns, both of which vary."""
    two = x.shape[1] == 2 and bool((np.ptp(x, axis=0) > 0).all())
    return np.asarray(x, np.float64) if two else None


def _scanned(
    inputs: _OverXInputs, upload: TableUpload, seed: int, nulls: int, families: int, report: Report
) -> ErrorsOverX:
    """The tests of these features, and what the worst of them look like."""
    over = scan.build_scan_windows(inputs.at.values, stream(seed, "over x", "discs"), inputs.plane)
    f, _, n = inputs.features.scores.shape
    work = 2 * f * n * (over.blocks.shape[1] + over.discs.shape[1])
    count = int(min(nulls, max(_LEAST_NULLS, _WORK / work)))
    rng = stream(seed, "over x", inputs.name, "tests")
    varies = scan.scan_variation(
        inputs.features.truth, over, count, rng, lambda done: report(0.5 * done, {})
    )
    right = scan.scan_correctness(
        inputs.features.scores, over, count, rng, lambda done: report(0.5 + 0.5 * done, {})
    )
    m = upload.dims[1]
    kept_back = draws_set_aside(upload.k, m)
    part = _FeatureScan(
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
        overall=_overall(inputs, _ZScores.of(inputs, upload)),
        pairs=_places(inputs, over, (varies, right), families, seed, _ZScores.of(inputs, upload)),
    )
    return ErrorsOverX((part,))


def _sees(null: Array, n: int, families: int) -> float | None:
    level = LEVEL / families
    if (len(null) + 1) * level < 1 or n < 2 * scan.FEWEST:
        return None
    return float((np.quantile(null, 1 - level) + 0.8416) / np.sqrt(n / 5))


@dataclass(frozen=True, eq=False)
class _ZScores:
    """z-scores of each parameter at the rows that are scanned, by the draws that rank them."""

    table: PosteriorTable
    rows: NDArray[np.int64]
    aside: int
    known: dict[int, Array]

    @classmethod
    def of(cls, inputs: _OverXInputs, upload: TableUpload) -> _ZScores:
        """Those of an upload's rows."""
        table = upload.data
        return cls(table, inputs.rows, draws_set_aside(upload.k, upload.dims[1]), {})

    @property
    def k(self) -> int:
        """Draws that rank the truth."""
        return self.table.q.shape[1] - self.aside

    def at(self, parameter: int) -> Array | None:
        """(n,), NaN where draws do not differ; None for the learned score."""
        if parameter < 0:
            return None
        if parameter not in self.known:
            which = slice(parameter, parameter + 1)
            draws = self.table.q[self.rows, self.aside :, which]
            truth = self.table.theta[self.rows, which]
            self.known[parameter] = contraction.zscores(contraction.moments(draws), truth)[:, 0]
        return self.known[parameter]


def _overall(inputs: _OverXInputs, scores: _ZScores) -> tuple[_Overall, ...]:
    """Every feature's size over all rows, ranked among k draws."""
    features, sizes = inputs.features, []
    for i, (kind, which) in enumerate(zip(features.kinds, features.parameters, strict=True)):
        raw = features.raw(i)
        size = scan.estimate_size(kind, raw, scores.k, scores.at(which))
        sizes.append(_Overall(kind, which, size, _beyond(kind, raw, scores.k)))
    return tuple(sizes)


def _beyond(kind: Kind, raw: Array, k: int) -> _Beyond | None:
    """The share of truths, by their normal scores, outside all of q's k draws."""
    if kind == "learned":
        return None
    share = float((np.abs(raw) > -ndtri(1 / (k + 1))).mean()) if raw.size else 0.0
    return _Beyond(share, 2 / (k + 1))


def _places(
    inputs: _OverXInputs,
    over: scan.ScanWindows,
    tests: tuple[scan.ScanTest, scan.ScanTest],
    families: int,
    seed: int,
    scores: _ZScores,
) -> tuple[OverXPlace, ...]:
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
        z = scores.at(inputs.features.parameters[f])
        there, elsewhere = (
            scan.estimate_size(kind, raw[rows], scores.k, None if z is None else z[rows])
            for rows in (inside & ~choose, ~inside & ~choose)
        )
        places.append(
            OverXPlace(
                kind=kind,
                parameter=inputs.features.parameters[f],
                along=along,
                which=which,
                p_varies=min(1.0, families * float(varies.adjusted[f, c])),
                p_right=min(1.0, families * float(right.adjusted[f, c])),
                share=float(inside.mean()),
                row=_typical(inputs, c, inside),
                region=region,
                inside=there,
                outside=elsewhere,
                beyond=_beyond(kind, raw[inside], scores.k),
                clarity=float(varies.statistic[f, c]),
                picture=_picture(inputs, kind, raw, c, scores.k) if at < _DRAWN else None,
            )
        )
    return tuple(places)


def _typical(inputs: _OverXInputs, c: int, inside: NDArray[np.bool_]) -> int:
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


def _picture(
    inputs: _OverXInputs, kind: Kind, raw: Array, c: int, k: int
) -> _OverXCurve | _OverXHeat:
    if c < len(inputs.at.kinds):
        values = inputs.at.values[:, c]
        at, weights = over_x.line(values)
        dots = np.quantile(values, np.linspace(0, 1, min(_DOTS, len(values))))
        sizes = np.stack([at, *scan.smooth_feature(kind, raw, weights, k)])
        return _OverXCurve(narrow(sizes), narrow(dots))
    assert inputs.plane is not None
    across, up, weights = over_x.plane(inputs.plane)
    sizes = scan.smooth_feature(kind, raw, weights, k)
    sizes[:, over_x.totals(weights)[1] < over_x.FEWEST] = np.nan
    some = np.linspace(0, len(inputs.plane) - 1, min(_DOTS, len(inputs.plane))).astype(int)
    return _OverXHeat(
        narrow(sizes.reshape(len(sizes), len(up), len(across))),
        narrow(np.stack([across, up])),
        narrow(inputs.plane[some]),
    )


def _coordinate_text(place: OverXPlace, names: Sequence[str], x_names: Sequence[str] = ()) -> str:
    """What a pair is looked at along, to read."""
    along, which = place.along, place.which
    if along == "component":
        return f"principal component {which + 1} of x"
    if along == "mean":
        return f"q's mean of {parameter_name(names, which)}"
    if along == "plane":
        return f"({x_column_name(0, x_names)}, {x_column_name(1, x_names)})"
    return x_column_name(which, x_names)


def _feature_text(place: OverXPlace, names: Sequence[str]) -> str:
    """What is off, to read."""
    if place.kind == "learned":
        return "score of the true values"
    kind = "bias" if place.kind == "shift" else place.kind
    return f"{kind} of {parameter_name(names, place.parameter)}"


def region_text(place: OverXPlace, names: Sequence[str], x_names: Sequence[str] = ()) -> str:
    """The stretch of x, to read."""
    what, where = _coordinate_text(place, names, x_names), place.region
    if isinstance(where, Disc):
        return _disc_text(where, [x_column_name(i, x_names) for i in range(2)])
    return _stretch_text(what, where.low, where.high, outside=where.outside_of) or "x is anything"


def _disc_text(disc: Disc, columns: Sequence[str]) -> str:
    """An ellipse in the plane by its axes, those left out that exclude nothing."""
    binding = [i for i, ends in enumerate(disc.ends) if ends != (None, None)]
    if len(binding) == 1:
        (i,) = binding
        if text := _stretch_text(columns[i], *disc.ends[i], outside=disc.outside_of):
            return text
    spans = " and ".join(
        f"{name} is {number_text(at)} ± {number_text(reach, 2)}"
        for name, at, reach in zip(columns, disc.centre, disc.radius, strict=True)
    )
    return f"not both {spans}" if disc.outside_of else spans


def _stretch_text(what: str, low: float | None, high: float | None, *, outside: bool) -> str:
    """From `low` to below `high`, or outside of that; empty where nothing is excluded."""
    if outside and (low is None or high is None):
        low, high = high, low
    if low is None:
        return "" if high is None else f"{what} < {number_text(high)}"
    if high is None:
        return f"{what} ≥ {number_text(low)}"
    if outside:
        return f"{what} is below {number_text(low)} or from {number_text(high)} on"
    return f"{what} is from {number_text(low)} to {number_text(high)}"


def rows_in_region(upload: TableUpload, place: OverXPlace) -> NDArray[np.intp]:
    """Rows of the table that lie in a place's region, in their order."""
    table = upload.data
    region = place.region
    if isinstance(region, Disc):
        off = (table.x - np.asarray(region.centre)) / np.asarray(region.radius)
        inside = np.square(off).sum(1) <= 1
    else:
        values = _values_along(table, place)
        low = -np.inf if region.low is None else region.low
        high = np.inf if region.high is None else region.high
        inside = (values >= low) & (values < high)
    return np.flatnonzero(inside != region.outside_of)


def _values_along(table: PosteriorTable, place: OverXPlace) -> Array:
    """What a place is along, at every row (n,)."""
    if place.along == "x":
        return np.asarray(table.x[:, place.which], np.float64)
    kept_back = draws_set_aside(table.q.shape[1], table.x.shape[1])
    if place.along == "mean":  # by the draws that the scan kept from the ranks
        return np.asarray(table.q[:, :kept_back, place.which].mean(1), np.float64)
    at = coordinates(table.x, *moments(table.q[:, :kept_back]))
    named = zip(at.kinds, at.which, strict=True)
    return at.values[:, list(named).index((place.along, place.which))]


def _size_text(kind: Kind, estimate: FeatureSize) -> str:
    """A number with its interval, signed as it is."""
    if estimate.open:
        return "unknown (beyond all draws)" if estimate.value is None else _bound(estimate)
    if estimate.value is None:
        return f"unknown ({estimate.n} rows)"
    if kind == "width":
        high = "…" if estimate.high is None else format(estimate.high, ".2f")
        return f"{estimate.value:.2f} [{estimate.low:.2f}, {high}]"
    assert estimate.low is not None
    assert estimate.high is not None
    return interval_text((estimate.value, estimate.low, estimate.high), "+.2f")


def _bound(estimate: FeatureSize) -> str:
    """A shift whose other end is open, signed."""
    low, high = estimate.low, estimate.high
    if low is not None:
        return f"at least +{number_text(low, 2)}"
    return f"at most {number_text(high or 0.0, 2)}"


def _place(place: OverXPlace, names: Sequence[str], x_names: Sequence[str]) -> str:
    where = f"Where {region_text(place, names, x_names)} ({place.share:.0%} of the rows)"
    inside = _off(place, place.inside, names)
    beyond = beyond_text(place)
    return f"{where}, {inside}{f': {beyond}' if beyond else ''}; {_elsewhere(place, names)}."


_USUAL = 0.05  # share of a right q's truths beyond all draws from which on it is said

_NOTHING_SEEN: Mapping[Kind, str] = {
    "shift": "no bias is seen",
    "width": "no error of its width is seen",
    "learned": "no difference is seen",
}


def _elsewhere(place: OverXPlace, names: Sequence[str]) -> str:
    """What q is like outside a place: no number where its interval holds that of a right q."""
    outside, null = place.outside, 1.0 if place.kind == "width" else 0.0
    if outside.value is not None and not outside.excludes(null):
        return f"elsewhere, {_NOTHING_SEEN[place.kind]}"
    return f"elsewhere, {_off(place, outside, names)}"


def beyond_text(place: OverXPlace) -> str:
    """How many true values of a place lie beyond all draws, where that makes a size a bound."""
    if place.beyond is None or not place.inside.open:
        return ""
    share, usual = place.beyond.share, place.beyond.usual
    right = f" ({usual:.0%} if q were correct)" if usual > _USUAL else ""
    return f"{share:.0%} of the true values there lie beyond all of q's draws{right}"


def _off(what: OverXPlace, estimate: FeatureSize, names: Sequence[str]) -> str:
    """How q is off in a region, by numbers that are not those of its choice."""
    whose = f"q's {parameter_name(names, what.parameter)}"
    if what.kind == "width" and estimate.open:
        return f"the width of {whose} cannot be told"
    if estimate.value is None:
        return f"too few rows ({estimate.n}) to say by how much"
    if what.kind == "learned":
        off = _size_text("learned", estimate)
        return f"the true values' score lies {off} sd from that of q's draws"
    if what.kind == "shift":
        return f"{whose} sits {_unsigned(estimate)}"
    high = estimate.high
    narrow, wide = high is not None and high < 1, (estimate.low or 0.0) > 1
    off = " (too narrow)" if narrow else " (too wide)" if wide else ""
    return f"{whose} is {_size_text('width', estimate)} times as wide as it should be{off}"


def _unsigned(estimate: FeatureSize) -> str:
    value, low, high = estimate.value, estimate.low, estimate.high
    assert value is not None
    side = "high" if value >= 0 else "low"
    if estimate.open:
        ends = (math.nan if end is None else end for end in (low, high))
        return f"{at_least(Interval(value, *ends))} too {side}"
    assert low is not None
    assert high is not None
    low, high = (low, high) if value >= 0 else (-high, -low)
    return f"{interval_text((abs(value), low, high))} posterior sd too {side}"


def _next(places: Sequence[OverXPlace], names: Sequence[str], x_names: Sequence[str]) -> list[str]:
    """The worst place of another parameter or kind, and how many more there are."""
    some = [place for place in places if place.told or place.kind == "learned"]
    places = some if places[0] in some else [places[0], *some]
    features = list(dict.fromkeys((place.kind, place.parameter) for place in places))
    if len(features) < 2:
        return []
    second = next(place for place in places if (place.kind, place.parameter) == features[1])
    rest = len(features) - 2
    more = f" {rest} more {'varies' if rest == 1 else 'vary'} over x." if rest > 0 else ""
    return [f"{_place(second, names, x_names)}{more}"]


def _caught(result: ErrorsOverX) -> str:
    anywhere = () if result.parts[0].constant else result.parts
    sees = [part.sees for part in anywhere if part.sees is not None]
    if not sees:
        return ""
    return (
        f" An error of {max(sees):.2f} posterior sd over a fifth of x would have been found in "
        "about 80 of 100 such tables."
    )


def _basis(result: ErrorsOverX) -> str:
    pairs = sum(part.pairs_looked_at for part in result.parts)
    nulls = list_text([f"{part.nulls:,}" for part in result.parts])
    sources = {
        "ranks": "true values' ranks in every parameter on {rows} rows",
        "learned": "their ranks under the classifier's score on {rows} rows that no network saw",
    }
    basis = list_text([sources[part.name].format(rows=part.rows) for part in result.parts])
    return (
        f"Looked at {basis}, over every stretch of each coordinate. p is adjusted for all "
        f"{pairs} pairs of an error and a coordinate, by {nulls} null tables each, and is "
        "never below the verdict's. Regions were found on one half of the rows and measured "
        "on the other, in normal scores: one is one posterior sd where q is Gaussian. "
        "Brackets are 95% intervals."
    )


def _notes(result: ErrorsOverX) -> list[str]:
    first = result.parts[0]
    notes = []
    which, means = (
        (", those that q's means follow most", ", and q's means")
        if first.aside
        else (", evenly spaced", "")
    )
    if first.many:
        notes.append(
            f"x has {first.columns:,} columns, more than {COLUMNS}: looked along {CHOSEN} of "
            f"them{which}, {COMPONENTS} principal components{means}."
        )
    for part in result.parts:
        if 0 < part.looked_at < part.parameters:
            notes.append(
                f"There are {part.parameters:,} parameters: half of the rows chose the "
                f"{part.looked_at} whose ranks are farthest from uniform; the other half tests "
                "and measures them."
            )
    if first.aside:
        notes.append(
            f"q's means come from {first.aside} draws at each x that the ranks do not use."
        )
    if first.constant:
        notes.append("x never varies, so there is only one place to look at.")
    return notes


_MOST = 6
_LONG = 48  # letters of a name on an axis
_TITLED = 24  # in a title, which holds two of them
_AXES = {
    "shift": "bias of q, posterior sd",
    "width": "q's width / width needed",
    "learned": "score: true values less q's draws, sd",
}
_MEANING = {
    "shift": "Above 0, q sits too high there; below 0, too low.",
    "width": "Above 1, q is too wide there; below 1, too narrow.",
    "learned": "Away from 0, a classifier tells true values from q's draws there.",
}


def _drawn(place: OverXPlace) -> bool:
    """Whether a place has a size to draw: beyond the reach of the draws no width has."""
    if place.picture is None:
        return False
    values = place.picture.sizes[1 if isinstance(place.picture, _OverXCurve) else 0]
    return bool(np.isfinite(values).any())


def _figure(place: OverXPlace, names: Sequence[str], x_names: Sequence[str]) -> Drawn:
    short = (
        [style.short(name, _TITLED) for name in names],
        [style.short(name, _TITLED) for name in x_names],
    )
    what, along = _feature_text(place, short[0]), _coordinate_text(place, *short)
    title = f"{capitalise(what)} over {along}"
    p = f"Test for change over x: adjusted p {equals(place.p_varies)}."
    if isinstance(place.picture, _OverXCurve):
        figure = _curve(place.kind, place.picture, short_name(along, _LONG))
        null = "1" if place.kind == "width" else "0"
        caption = (
            "Line: estimated error at each x. Band: 95% interval. "
            f"{_MEANING[place.kind]} If q were correct, the line would stay near {null}, at 95 "
            f"of 100 places inside the grey band. {p}"
        )
        return Drawn(title, figure, caption)
    assert place.picture is not None
    figure = _heat(place.kind, place.picture, _columns(x_names))
    caption = (
        f"Colour: estimated error; dots: rows; blank where they are few. {_MEANING[place.kind]} "
        f"If q were correct, all would be pale but for noise. {p}"
    )
    return Drawn(title, figure, caption)


def _columns(x_names: Sequence[str]) -> tuple[str, str]:
    first, second = (short_name(x_column_name(i, x_names), _LONG) for i in range(2))
    return first, second


def _curve(kind: Kind, curve: _OverXCurve, along: str) -> Panel:
    at, value, low, high, room = np.asarray(curve.sizes, np.float64)
    middle = 1.0 if kind == "width" else 0.0
    grey = (np.exp(-room), np.exp(room)) if kind == "width" else (-room, room)
    ends = np.concatenate([low, high, value, *grey])
    ends = ends[np.isfinite(ends)]
    top, bottom = float(ends.max()), float(ends.min())
    spare = 0.08 * (top - bottom) or 0.1
    low, high = np.maximum(low, bottom - spare), np.minimum(high, top + spare)  # open: the axis
    width = float(at[-1] - at[0]) or 1.0
    feet = np.full(len(curve.rows), bottom - 0.6 * spare)
    return Panel(
        [
            HLine(middle, dash="dash"),
            Band(at, *grey, opacity=0.25),
            Band(at, low, high, color=style.P, opacity=0.2),
            Line(at, value, color=style.P, hover="%{x:.3g}: %{y:.2f}"),
            Points(curve.rows, feet, color=style.NULL, symbol="line-ns-open", opacity=0.5),
        ],
        x=Axis((float(at[0]) - 0.02 * width, float(at[-1]) + 0.02 * width), along),
        y=Axis((bottom - spare, top + spare), _AXES[kind]),
        height=style.HEIGHT,
    )


def _heat(kind: Kind, picture: _OverXHeat, columns: tuple[str, str]) -> Panel:
    sides = [_cells(places) for places in np.asarray(picture.axes, np.float64)]
    value = np.asarray(picture.sizes, np.float64)[0]
    middle = 1.0 if kind == "width" else 0.0
    reach = max(0.2, float(np.nanmax(np.abs(value - middle), initial=0)))
    return heat_map(value, sides, columns, picture.rows, reach=reach, middle=middle)


def _cells(places: Array) -> tuple[float, float]:
    """Where cells begin and end that have evenly spaced places (A,) in their middles."""
    half = float(places[1] - places[0]) / 2 or 0.5
    return float(places[0]) - half, float(places[-1]) + half
