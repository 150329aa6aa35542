"""Scan the ranks of true values over x, and measure the worst places on other rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from validation_core.diagnosis import learning
from validation_core.diagnosis.questions.base import TableStudy
from validation_core.diagnosis.questions.over_x.features import (
    OverXFeatures,
    OverXKind,
    learned_score_features,
    parameter_features,
    select_parameters_and_rows,
)
from validation_core.diagnosis.questions.over_x.region import clarity_by, worst_region
from validation_core.diagnosis.questions.over_x.result import (
    BeyondDraws,
    ErrorsOverX,
    FeatureScan,
    OverallSize,
    OverXCurve,
    OverXHeat,
    OverXPlace,
    order_of_p,
)
from validation_core.diagnosis.questions.over_x.scan import (
    ScanTest,
    scan_correctness,
    scan_variation,
)
from validation_core.diagnosis.questions.over_x.sizes import estimate_size, smooth_feature
from validation_core.diagnosis.questions.over_x.windows import ScanWindows, build_scan_windows
from validation_core.localization import over_x
from validation_core.precision import narrow
from validation_core.relabelling.places import (
    COLUMNS,
    XCoordinates,
    coordinates,
    draws_set_aside,
    moments,
)
from validation_core.rng import stream
from validation_core.scores import apply
from validation_core.statistics import contraction
from validation_core.study import Report
from validation_core.tables import TableUpload
from validation_core.types import Array, Integers, PosteriorTable

if TYPE_CHECKING:
    from validation_core.store import Store


_DRAWN = 6  # places whose smoothed size is kept
_LISTED = 60  # places whose numbers are kept
_DOTS = 400  # rows marked on a map
_LEAST_NULLS = 199
_WORK = 1.5e11  # multiplications of one test, above which it takes fewer null tables
_CLASSIFIED = 4_000_000  # numbers of theta and x that a row is scored with, at most
_SCORED = 200_000  # draws that are scored, at most; as many at each row


class _OverXInputs(NamedTuple):
    """Input of a test: features of n rows, their coordinates, and their places in the upload."""

    name: str
    """ranks or learned."""
    features: OverXFeatures
    at: XCoordinates
    plane: Array | None
    """x (n, 2) where it has two columns that vary."""
    rows: Integers
    """(n,) places of the rows in the upload."""


@dataclass(frozen=True, kw_only=True)
class OverXStudy(TableStudy[ErrorsOverX], spec="over_x"):
    """Where over x the truth's ranks are off: by every parameter, or by a classifier's logit."""

    version: ClassVar[int] = 7
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
        table, rows = upload.in_no_order.data, learning.held_out_rows(upload, self.seed)
        kept_back = draws_set_aside(upload.k, table.x.shape[1])
        count = max(1, min(_CLASSIFIED // sum(upload.dims), _SCORED // len(rows)))
        # Of a large table only what is scored is copied.
        most = slice(kept_back, kept_back + count)
        few = PosteriorTable(table.theta[rows], table.x[rows], table.q[rows, most])
        read = apply(network.at(), few)
        feature_set = learned_score_features(read.truth[0], read.draws[0], self.seed)
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
    table = upload.in_no_order.data
    chosen, rows = select_parameters_and_rows(table, seed)
    kept_back = draws_set_aside(table.q.shape[1], table.x.shape[1])
    few = table
    if len(chosen) < table.theta.shape[1]:
        few = PosteriorTable(
            table.theta[rows][:, chosen],
            table.x[rows],
            table.q[np.ix_(rows, np.arange(table.q.shape[1]), chosen)],
        )
    feature_set = parameter_features(PosteriorTable(few.theta, few.x, few.q[:, kept_back:]), seed)
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
    over = build_scan_windows(inputs.at.values, stream(seed, "over x", "discs"), inputs.plane)
    f, _, n = inputs.features.scores.shape
    work = 2 * f * n * (over.blocks.shape[1] + over.discs.shape[1])
    count = int(min(nulls, max(_LEAST_NULLS, _WORK / work)))
    rng = stream(seed, "over x", inputs.name, "tests")
    varies = scan_variation(
        inputs.features.truth, over, count, rng, lambda done: report(0.5 * done, {})
    )
    right = scan_correctness(
        inputs.features.scores, over, count, rng, lambda done: report(0.5 + 0.5 * done, {})
    )
    m = upload.dims[1]
    kept_back = draws_set_aside(upload.k, m)
    part = FeatureScan(
        name=inputs.name,
        families=families,
        rows=n,
        nulls=count,
        draws=upload.k,
        effective=upload.effective_k,
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
        overall=_overall(inputs, _ZScores.of(inputs, upload)),
        pairs=_places(inputs, over, (varies, right), families, seed, _ZScores.of(inputs, upload)),
    )
    return ErrorsOverX((part,))


@dataclass(frozen=True, eq=False)
class _ZScores:
    """z-scores of each parameter at the rows that are scanned, by the draws that rank them."""

    table: PosteriorTable
    rows: Integers
    aside: int
    known: dict[int, Array]

    @classmethod
    def of(cls, inputs: _OverXInputs, upload: TableUpload) -> _ZScores:
        """Those of an upload's rows."""
        table = upload.in_no_order.data
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


def _overall(inputs: _OverXInputs, scores: _ZScores) -> tuple[OverallSize, ...]:
    """Every feature's size over all rows, ranked among k draws."""
    features, sizes = inputs.features, []
    for i, (kind, which) in enumerate(zip(features.kinds, features.parameters, strict=True)):
        raw = features.raw(i)
        size = estimate_size(kind, raw, scores.k, scores.at(which))
        sizes.append(OverallSize(kind, which, size, _beyond(kind, raw, scores.k)))
    return tuple(sizes)


def _beyond(kind: OverXKind, raw: Array, k: int) -> BeyondDraws | None:
    """The share of truths, by their normal scores, outside all of q's k draws."""
    if kind == "learned":
        return None
    share = float((np.abs(raw) > -ndtri(1 / (k + 1))).mean()) if raw.size else 0.0
    return BeyondDraws(share, 2 / (k + 1))


def _places(
    inputs: _OverXInputs,
    over: ScanWindows,
    tests: tuple[ScanTest, ScanTest],
    families: int,
    seed: int,
    scores: _ZScores,
) -> tuple[OverXPlace, ...]:
    """The worst pairs of a feature and a coordinate: numbers and, of the first, pictures.

    Where none changes clearly, rows that measure have no part in which pair comes first: else the
    intervals of the first would seldom hold the truth as often as they say.
    """
    n, (varies, right) = len(over.blocks), tests
    choose = np.zeros(n, dtype=bool)
    choose[stream(seed, "over x", inputs.name, "halves").permutation(n)[: n // 2]] = True
    clarity = clarity_by(over, inputs.features.truth, choose)
    p = order_of_p(np.minimum(1.0, families * varies.adjusted))
    ranked = np.lexsort((-clarity.ravel(), p.ravel()))[:_LISTED]
    places = []
    for at, flat in enumerate(ranked):
        f, c = divmod(int(flat), varies.statistic.shape[1])
        kind, raw = inputs.features.kinds[f], inputs.features.raw(f)
        region, inside = worst_region(over, inputs.features.truth[f], c, choose)
        along, which = _along(inputs.at, c)
        z = scores.at(inputs.features.parameters[f])
        there, elsewhere = (
            estimate_size(kind, raw[rows], scores.k, None if z is None else z[rows])
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
                clarity=float(clarity[f, c]),
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
    inputs: _OverXInputs, kind: OverXKind, raw: Array, c: int, k: int
) -> OverXCurve | OverXHeat:
    if c < len(inputs.at.kinds):
        values = inputs.at.values[:, c]
        at, weights = over_x.line(values)
        dots = np.quantile(values, np.linspace(0, 1, min(_DOTS, len(values))))
        sizes = np.stack([at, *smooth_feature(kind, raw, weights, k)])
        return OverXCurve(narrow(sizes), narrow(dots))
    assert inputs.plane is not None
    across, up, weights = over_x.plane(inputs.plane)
    sizes = smooth_feature(kind, raw, weights, k)
    sizes[:, over_x.totals(weights)[1] < over_x.FEWEST] = np.nan
    some = np.linspace(0, len(inputs.plane) - 1, min(_DOTS, len(inputs.plane))).astype(int)
    return OverXHeat(
        narrow(sizes.reshape(len(sizes), len(up), len(across))),
        narrow(np.stack([across, up])),
        narrow(inputs.plane[some]),
    )
