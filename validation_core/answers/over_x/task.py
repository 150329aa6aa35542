"""The work: features of every row, stretches of x, two tests, and the worst places."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from validation_core import scores as scoring
from validation_core.answers.base import Answer, Found
from validation_core.answers.over_x import features, quotes, scan
from validation_core.answers.over_x.features import Features
from validation_core.answers.over_x.windows import Windows, windows
from validation_core.diagnosis import learning
from validation_core.maps import over_x as smoothing
from validation_core.narrow import narrow
from validation_core.omnibus.coordinates import COLUMNS, Coordinates, aside, coordinates, moments
from validation_core.rng import stream
from validation_core.tasks import Live
from validation_core.types import Array, Draws
from validation_core.uploads import Upload

if TYPE_CHECKING:
    from validation_core.store import Store

DRAWN = 6
"""Pairs of a feature and a coordinate whose course is kept."""
LISTED = 60
"""Pairs whose numbers are kept."""
_DOTS = 400  # rows marked on a map
_LEAST_NULLS = 199
_WORK = 1.5e11  # multiplications of one test, above which it takes fewer null tables
_CLASSIFIED = 4_000_000  # numbers of theta and x that a row is scored with, at most
_SCORED = 200_000  # draws that are scored, at most; as many at each row


class Looked(NamedTuple):
    """What a test is told: features of n rows, where they lie, and their coordinates."""

    features: Features
    at: Coordinates
    plane: Array | None
    """x (n, 2) where it has two columns that vary."""
    rows: NDArray[np.int64]
    """(n,) places of the rows in the upload."""


@dataclass(frozen=True, kw_only=True)
class OverX(Answer):
    """Where over x the truth's ranks are off: by every parameter, or by a classifier's logit."""

    version: ClassVar[int] = 2
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

    def answer(self, upload: Upload, store: Store, report: Live) -> Found:
        """Both tests, the worst pairs with their places, and the courses of the first."""
        if not self.learned:
            return over_x(upload, self.seed, self.nulls, self.families, report=report)
        (network,) = self.networks(store, report)
        table, rows = upload.data, learning.kept(upload, self.seed)
        assert isinstance(table, Draws)
        kept_back = aside(upload.k, table.x.shape[1])
        count = max(1, min(_CLASSIFIED // sum(upload.dims), _SCORED // len(rows)))
        # Of a large table only what is scored is copied.
        most = slice(kept_back, kept_back + count)
        few = Draws(table.theta[rows], table.x[rows], table.q[rows, most])
        read = scoring.apply(network.at(), few)
        found = features.of_scores(read.truth[0], read.draws[0], self.seed)
        at = coordinates(table.x, *moments(table.q[:, :kept_back]))
        looked = Looked(found, at._replace(values=at.values[rows]), _plane(few.x), rows)
        return told(looked, upload, self.seed, self.nulls, self.families, report, "learned")


def over_x(
    upload: Upload, seed: int = 0, nulls: int = 999, families: int = 1,
    report: Live = lambda done, live: None,
) -> Found:  # fmt: skip
    """Where over x the ranks of a table's parameters are off, without any network."""
    assert isinstance(upload.data, Draws)
    table = upload.data
    chosen, rows = features.looked_at(table, seed)
    kept_back = aside(table.q.shape[1], table.x.shape[1])
    few = table
    if len(chosen) < table.theta.shape[1]:
        few = Draws(
            table.theta[rows][:, chosen],
            table.x[rows],
            table.q[np.ix_(rows, np.arange(table.q.shape[1]), chosen)],
        )
    found = features.of_parameters(Draws(few.theta, few.x, few.q[:, kept_back:]), seed)
    found = found._replace(parameters=tuple(int(chosen[one]) for one in found.parameters))
    at = coordinates(few.x, *moments(few.q[:, :kept_back]))
    which = tuple(
        int(chosen[one]) if kind == "mean" else one
        for kind, one in zip(at.kinds, at.which, strict=True)
    )
    looked = Looked(found, at._replace(which=which), _plane(few.x), rows)
    return told(looked, upload, seed, nulls, families, report, "ranks")


def _plane(x: Array) -> Array | None:
    """x where it has two columns, both of which vary."""
    two = x.shape[1] == 2 and bool((np.ptp(x, axis=0) > 0).all())
    return np.asarray(x, np.float64) if two else None


def told(
    looked: Looked, upload: Upload, seed: int, nulls: int, families: int, report: Live, name: str
) -> Found:
    """The tests of these features, and what the worst of them look like."""
    over = windows(looked.at.values, stream(seed, "over x", "discs"), looked.plane)
    f, _, n = looked.features.scores.shape
    work = 2 * f * n * (over.blocks.shape[1] + over.discs.shape[1])
    count = int(min(nulls, max(_LEAST_NULLS, _WORK / work)))
    rng = stream(seed, "over x", name, "tests")
    varies = scan.varies(
        looked.features.truth, over, count, rng, lambda done: report(0.5 * done, {})
    )
    right = scan.right(
        looked.features.scores, over, count, rng, lambda done: report(0.5 + 0.5 * done, {})
    )
    m = upload.dims[1]
    kept_back = aside(upload.k, m)
    pairs, arrays = _pairs(looked, over, varies, right, families, seed, name, upload.k - kept_back)
    plain = {
        "families": families, "rows": n, "nulls": count, "draws": upload.k, "columns": m,
        "many": m > COLUMNS, "parameters": upload.dims[0],
        "looked_at": len({one for one in looked.features.parameters if one >= 0}),
        "coordinates": len(looked.at.kinds), "aside": kept_back,
        "constant": not np.ptp(looked.at.values, axis=0).any(),
        "pairs_looked_at": varies.statistic.size,
        "p_varies": min(1.0, families * varies.pvalue),
        "p_right": min(1.0, families * right.pvalue),
        "sees": _sees(right.null, n, families),
        "overall": _overall(looked.features, upload.k - kept_back), "pairs": pairs,
    }  # fmt: skip
    return Found({"parts": [{"name": name, **plain}]}, arrays)


def _sees(null: Array, n: int, families: int) -> float | None:
    """The local mean over a fifth of x, in normal scores, that is found in 80 of 100 tables."""
    level = 0.05 / families
    if (len(null) + 1) * level < 1 or n < 2 * quotes.FEWEST:
        return None
    return float((np.quantile(null, 1 - level) + 0.8416) / np.sqrt(n / 5))


def _overall(found: Features, k: int) -> list[dict[str, Any]]:
    """Every feature's size over all rows, ranked among k draws."""
    listed = []
    for i, (kind, which) in enumerate(zip(found.kinds, found.parameters, strict=True)):
        raw = _raw(found, i)
        one = {"kind": kind, "parameter": which, **quotes.quote(kind, raw)}
        listed.append(one | (_beyond(raw, k) if kind == "shift" else {}))
    return listed


def _beyond(raw: Array, k: int) -> dict[str, float]:
    """The share of truths, by their normal scores, outside all of q's k draws; and a right q's."""
    share = float((np.abs(raw) > -ndtri(1 / (k + 1))).mean()) if raw.size else 0.0
    return {"beyond": share, "beyond_usual": 2 / (k + 1)}


def _raw(found: Features, feature: int) -> Array:
    """The scores a feature is quoted by: of a width, those of its parameter's shift (n,)."""
    wide = found.kinds[feature] == "width"
    at = feature - len(found.kinds) // 2 if wide else feature
    return np.asarray(found.truth[at], np.float64)


def _pairs(
    looked: Looked, over: Windows, varies: scan.Tested, right: scan.Tested, families: int,
    seed: int, name: str, k: int,
) -> tuple[list[dict[str, Any]], dict[str, Array]]:  # fmt: skip
    """The worst pairs of a feature and a coordinate: numbers and, of the first, courses."""
    n = len(over.blocks)
    choose = np.zeros(n, dtype=bool)
    choose[stream(seed, "over x", name, "halves").permutation(n)[: n // 2]] = True
    ranked = np.lexsort((-varies.statistic.ravel(), varies.adjusted.ravel()))[:LISTED]
    pairs: list[dict[str, Any]] = []
    arrays: dict[str, Array] = {}
    for at, flat in enumerate(ranked):
        f, c = divmod(int(flat), varies.statistic.shape[1])
        kind, raw = looked.features.kinds[f], _raw(looked.features, f)
        where, inside = quotes.place(over, looked.features.truth[f], c, choose)
        pair = {
            "kind": kind, "parameter": looked.features.parameters[f], **_along(looked.at, c),
            "p_varies": min(1.0, families * float(varies.adjusted[f, c])),
            "p_right": min(1.0, families * float(right.adjusted[f, c])),
            "share": float(inside.mean()), "row": _typical(looked, c, inside), **where,
            "inside": quotes.quote(kind, raw[inside & ~choose]),
            "outside": quotes.quote(kind, raw[~inside & ~choose]),
        }  # fmt: skip
        if kind == "shift":
            pair |= _beyond(raw[inside], k)
        if at < DRAWN:
            label = f"{name}{at}"
            pair["drawn"] = label
            arrays |= _drawing(looked, kind, raw, c, label)
        pairs.append(pair)
    return pairs, arrays


def _typical(looked: Looked, c: int, inside: NDArray[np.bool_]) -> int:
    """The row of the upload in the middle of a stretch."""
    within = np.flatnonzero(inside) if inside.any() else np.arange(len(inside))
    if c < len(looked.at.kinds):
        along = looked.at.values[within, c]
        return int(looked.rows[within[np.abs(along - np.median(along)).argmin()]])
    assert looked.plane is not None
    across = looked.plane[within]
    return int(looked.rows[within[np.square(across - np.median(across, axis=0)).sum(1).argmin()]])


def _along(at: Coordinates, c: int) -> dict[str, Any]:
    if c < len(at.kinds):
        return {"along": at.kinds[c], "which": at.which[c]}
    return {"along": "plane", "which": -1}


def _drawing(looked: Looked, kind: str, raw: Array, c: int, label: str) -> dict[str, Array]:
    """A curve (5, G) with its places first, or a heat map (5, G, G) and its axes (2, G)."""
    arrays: dict[str, Array] = {}
    if c < len(looked.at.kinds):
        values = looked.at.values[:, c]
        at, weights = smoothing.line(values)
        arrays[f"{label}.curve"] = np.stack([at, *quotes.course(kind, raw, weights)])
        arrays[f"{label}.dots"] = np.quantile(values, np.linspace(0, 1, min(_DOTS, len(values))))
    else:
        assert looked.plane is not None
        across, up, weights = smoothing.plane(looked.plane)
        found = quotes.course(kind, raw, weights)
        found[:, smoothing.totals(weights)[1] < smoothing.FEWEST] = np.nan
        arrays[f"{label}.axes"] = np.stack([across, up])
        arrays[f"{label}.heat"] = found.reshape(len(found), len(up), len(across))
        some = np.linspace(0, len(looked.plane) - 1, min(_DOTS, len(looked.plane)))
        arrays[f"{label}.dots"] = looked.plane[some.astype(int)]
    return {name: narrow(array) for name, array in arrays.items()}
