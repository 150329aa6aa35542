"""Where in theta: which parts of parameter space q gives too much or too little mass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from validation_core import codec, sampling, scores, statistics
from validation_core.diagnosis import learning, plan
from validation_core.diagnosis.questions.base import (
    Json,
    Names,
    Question,
    Rows,
    TableStudy,
    heat_map,
    short_name,
)
from validation_core.diagnosis.tasks import method_training, slot_score_training
from validation_core.drawing import style
from validation_core.drawing.drawn import Drawn
from validation_core.drawing.marks import Axis, Band, HLine, Line, Panel, Points
from validation_core.methods import WithinX
from validation_core.methods.base import Method
from validation_core.precision import narrow
from validation_core.relabelling.claims import Claims, parameter_name
from validation_core.rng import stream
from validation_core.statistics import PooledLaw, slots
from validation_core.study import Report
from validation_core.tables import TableUpload, Upload
from validation_core.text import equals, interval_text, share_text, signed_text
from validation_core.types import Array, PosteriorTable, TableScores

if TYPE_CHECKING:
    from validation_core.diagnosis.verdict import Diagnosis
    from validation_core.scores.slots_training import TrainedSlots
    from validation_core.store import Store


class InThetaQuestion(Question["_MassInTheta"]):
    """Which parts of parameter space q gives too much or too little mass."""

    name = "in_theta"
    title = "Where in theta"
    mapped_by_localizers = True
    reading_guide = (
        "A score learns, on other rows, how much more frequent true values are than q's draws "
        "at each theta and x. It is a classifier of theta and x, or trees and a network that "
        "see each draw among the others at its x, whichever is better on held-out rows. Maps "
        "average that ratio over q's draws in each cell, on a log scale: blue where q puts "
        "too little mass, orange where too much. Counts of held-out true values check it. If "
        "q were correct, every tenth of q's draws would hold a tenth of the true values "
        "within its interval, and maps would be pale but for the score's noise."
    )

    def obstacle(self, upload: Upload) -> str | None:
        if not isinstance(upload, TableUpload):
            return (
                "A map over theta compares true values with q's draws at the same x; two "
                "samples p and q have no x. Upload theta, x and theta_q."
            )
        return plan.method_obstacle(WithinX(), upload) or plan.upload_obstacle(upload)

    def studies(
        self, upload: TableUpload, methods: Sequence[Method], seed: int
    ) -> tuple[_InThetaStudy, ...]:
        """One, reading the classifier that the tests share and, where there is one, the score
        within x: it shows whichever tells truths better on rows that neither learnt from.
        """
        if self.obstacle(upload) is not None:
            return ()
        network = method_training(upload, WithinX(), seed)
        assert network is not None
        both = [network]
        if plan.slots_obstacle(upload) is None:
            both.append(slot_score_training(upload, seed))
        return (_InThetaStudy(digest=upload.digest, seed=seed, trainings=tuple(both)),)

    def gather(self, results: Sequence[_MassInTheta]) -> _MassInTheta:
        """The one there is."""
        return results[0]

    def describe(self, result: _MassInTheta, names: Names, claims: Claims) -> tuple[str, ...]:
        """The answer first; then the strip of a parameter that is off most, and what was done."""
        return (*_claimed(result, names.theta, claims), _tenths_text(result))

    def notes(self, result: _MassInTheta, names: Names) -> tuple[str, ...]:
        del names
        return (_basis(result),)

    def rows(self, result: _MassInTheta, names: Names, claims: Claims) -> Rows:
        """A row for each tenth of q's draws and each strip of a parameter, the worst first."""
        shares = [
            (f"tenth {at + 1} of q's draws by learned ratio", tenth.share)
            for at, tenth in enumerate(result.deciles)
        ]
        shares += [(_strip_text(strip, names.theta), strip.share) for strip in result.strips]
        shares.sort(key=lambda row: -row[1].apart)
        return [
            {
                "where": where,
                "q's share": share.q,
                "truth's share": share.truth,
                "low": share.low,
                "high": share.high,
                "times as frequent": _ratio_text(share),
            }
            for where, share in shares
        ]

    def figures(self, result: _MassInTheta, names: Names, claims: Claims) -> tuple[Drawn, ...]:
        """The tenths, then the maps of the pairs on which the log ratio depends most."""
        del claims
        scored = f"{result.scored:,}"
        return (
            _tenths_figure(result),
            *(_map(ratio_map, scored, names.theta) for ratio_map in result.maps[:_MOST]),
        )

    def finds(self, result: _MassInTheta, claims: Claims) -> bool:
        strips = any(claims.parameter(strip.parameter) <= claims.alpha for strip in result.off)
        return claims.score() <= claims.alpha or strips

    def complete(self, document: Json, result: _MassInTheta, diagnosis: Diagnosis) -> None:
        self.tell_where(document, result, diagnosis)


SCORED = 100_000
"""Draws of q that are scored, at most; as many at each row."""
_PARAMETERS = 5  # whose pairs are mapped: those that the log ratio depends on most
_MAPS = 4  # pairs in q's sds
_OWN = 2  # pairs on the parameters' own axes
_TRUTHS = 300  # marked on a map
_FEWEST_DRAWS = 5  # from which q's mean and sd at an x say where a draw lies
_NUMBERS = 4_000_000  # of theta and x that a row is scored with, at most


Frame = Literal["sd", "own"]


@dataclass(frozen=True, eq=False)
class _RatioMap:
    """The learned log ratio of p to q over one parameter or two."""

    of: tuple[int, ...]
    """Which parameters."""
    frame: Frame
    """In q's sds around its mean at each x, or on the parameters' own axes."""
    ratio: Array
    """(C, C), the second parameter up; or (2, C): along one, and half of its 95% interval."""
    edges: Array
    """Of the cells: (2, C + 1), or (C + 1,)."""
    truth: Array
    """Some truths: (n', 2) or (n',)."""


@dataclass(frozen=True)
class HeldOutNats:
    """By how much each score tells the truth among its row's draws, on rows held out."""

    within: float
    classifier: float


@dataclass(frozen=True, eq=False)
class _MassInTheta:
    """Where in theta q puts too much or too little mass."""

    rows: int
    scored: int
    """Draws."""
    draws: int
    parameters: int
    pvalue: float
    """That the truth's score ranks anywhere among q's draws' at the same x."""
    deciles: tuple[_Tenth, ...]
    """The lowest ratio first."""
    missing: _Share
    """Where the score holds the truth for much more frequent."""
    excess: _Share
    """For much rarer."""
    chosen: tuple[int, ...]
    """Parameters that are mapped."""
    strips: tuple[_ThetaStrip, ...]
    maps: tuple[_RatioMap, ...]
    score: Literal["", "within", "classifier"] = ""
    """Which score was read."""
    held: HeldOutNats | None = None

    @property
    def off(self) -> list[_ThetaStrip]:
        """Strips whose interval leaves out q's share, those farthest from it first."""
        differing = [strip for strip in self.strips if strip.share.differs]
        return sorted(differing, key=lambda strip: -strip.share.apart)

    def to_json(self) -> Json:
        """Every number; maps are named by their frame and place in it."""
        fields = codec.fields_to_json(self)
        frames = [part.frame for part in self.maps]
        for i, (part, frame) in enumerate(zip(fields["maps"], frames, strict=True)):
            part["drawn"] = f"{frame}{frames[:i].count(frame)}"
        return {**fields, "held": fields["held"] or {}}


@dataclass(frozen=True, kw_only=True)
class _InThetaStudy(TableStudy[_MassInTheta], spec="in_theta"):
    """Where in theta q puts too much or too little mass, by the score that tells truths better.

    `trainings` are the classifier that tests share and, where there is one, the score within x.
    """

    version: ClassVar[int] = 4
    about: ClassVar[str] = "Where in theta"

    def answer(self, upload: TableUpload, store: Store, report: Report) -> _MassInTheta:
        """On rows that no score has seen."""
        classifier, *within = self.networks(store, report)
        nats = held_information(upload, self.seed, classifier, *within) if within else None
        sees_rows = nats is not None and nats.within >= nats.classifier
        few, read = (
            self._within(upload, within[0]) if sees_rows else self._classified(upload, classifier)
        )
        result = mass_in_theta(few, read.truth[0], read.draws[0], upload.k, self.seed)
        return replace(result, score="within" if sees_rows else "classifier", held=nats)

    def _within(
        self, upload: TableUpload, network: TrainedSlots
    ) -> tuple[PosteriorTable, TableScores]:
        """Held-out rows with as many draws as are scored, seen among all of them."""
        rows = learning.held_out_rows(upload, self.seed)
        read = scores.apply(network.at(), sampling.lent(upload.data, rows))
        most = min(read.draws.shape[-1], max(1, SCORED // len(rows)))
        return sampling.take(upload.data, rows, most), replace(read, draws=read.draws[..., :most])

    def _classified(self, upload: Upload, network: Any) -> tuple[PosteriorTable, TableScores]:
        """Held-out rows with as many draws as are scored, and their logits."""
        n = len(learning.held_out_rows(upload, self.seed))
        most = min(upload.k, max(1, SCORED // n), max(1, _NUMBERS // sum(upload.dims)))
        few = learning.held_out_table(upload, self.seed, most)
        return few, scores.apply(network.at(), few)


def held_information(
    upload: TableUpload, seed: int, classifier: Any, within: TrainedSlots
) -> HeldOutNats:
    """Nats by which each score tells the truth among its row's draws, on the same rows.

    They are rows of the learning half that the classifier was watched on, and that the folds of
    the score within x answered for while they were held out.
    """
    m = learning.slot_recipe(upload).m
    watched = learning.validation_rows(upload, seed)
    watched = watched[watched < len(within.rows)]
    rows = learning.training_and_held_out_rows(upload, seed)[0][watched]
    read = scores.apply(classifier.at(), sampling.take(upload.data, rows, m))
    both = np.concatenate([read.truth[0][:, None], read.draws[0]], axis=1)
    nats = slots.contributions(both, "multiclass")[:, 0]
    return HeldOutNats(float(within.rows[watched].mean()), float(nats.mean()))


def mass_in_theta(
    table: PosteriorTable, truth: Array, draws: Array, k: int, seed: int
) -> _MassInTheta:
    """Shares and maps of a table by the log ratio of its truths (n,) and draws (n, K')."""
    n, scored, d = table.q.shape
    u = statistics.conformal_ranks(truth, draws, stream(seed, "in theta", "ranks"))
    tenths = decile_shares(truth, draws, k, stream(seed, "in theta", "ties"))
    much = float(np.log(FACTOR))
    ratio = draws.ravel().astype(np.float64)
    own, theirs = _standardised(table)
    standard = scored >= _FEWEST_DRAWS
    chosen = strongest_parameters(
        theirs.reshape(-1, d) if standard else table.q.reshape(-1, d), ratio, _PARAMETERS
    )
    strips: tuple[_ThetaStrip, ...] = ()
    maps: list[_RatioMap] = []
    if standard:
        strips = strip_shares(own[:, chosen], theirs[:, :, chosen], k, chosen)
        maps = _maps(theirs.reshape(-1, d), own, ratio, chosen, "sd", _MAPS)
    most = _OWN if maps else _MAPS
    maps += _maps(table.q.reshape(-1, d), table.theta, ratio, chosen, "own", most)
    return _MassInTheta(
        rows=n,
        scored=int(ratio.size),
        draws=k,
        parameters=d,
        pvalue=max(float(statistics.ks(u).pvalue), 1e-300),
        deciles=tenths,
        missing=_region_share(truth >= much, draws >= much, k, 2),
        excess=_region_share(truth <= -much, draws <= -much, k, 2),
        chosen=tuple(int(parameter) for parameter in chosen),
        strips=strips,
        maps=tuple(maps),
    )


def _standardised(table: PosteriorTable) -> tuple[Array, Array]:
    """Truth (n, D) and draws (n, K', D) in sds around the mean at each x; 0 where all agree.

    Mean and sd are those of truth and draws together, so that both enter alike: from few draws
    alone, a right q's truth would lie farther out than the draws that made the scale.
    """
    points = table.q.shape[1] + 1
    mean = (table.q.sum(axis=1, dtype=np.float64) + table.theta) / points
    mine, theirs = table.theta - mean, table.q - mean[:, None]
    squares = np.square(theirs).sum(axis=1) + np.square(mine)
    sd = np.sqrt(squares / points)
    safe = np.where(sd > 0, sd, np.inf)
    return mine / safe, theirs / safe[:, None]


def _maps(
    draws: Array, truth: Array, ratio: Array, chosen: NDArray[np.int64], frame: Frame, most: int
) -> list[_RatioMap]:
    """Maps of the strongest pairs of some parameters, or of the one there is."""
    some = np.linspace(0, len(truth) - 1, min(_TRUTHS, len(truth))).astype(int)
    if len(chosen) == 1:
        which = int(chosen[0])
        side = cell_edges(draws[:, which], frame == "sd")
        line = _ratio_line(draws[:, which], ratio, side)
        return [_ratio_map((which,), frame, line, side, truth[some, which])]
    maps = []
    for a, b in _strongest_pairs(draws, ratio, chosen)[:most]:
        sides = (cell_edges(draws[:, a], frame == "sd"), cell_edges(draws[:, b], frame == "sd"))
        plane = ratio_plane(draws[:, a], draws[:, b], ratio, sides)
        maps.append(_ratio_map((a, b), frame, plane, np.stack(sides), truth[some][:, [a, b]]))
    return maps


def _ratio_map(
    of: tuple[int, ...], frame: Frame, ratio: Array, edges: Array, truth: Array
) -> _RatioMap:
    return _RatioMap(of, frame, narrow(ratio), narrow(edges), narrow(truth))


_DECILES = 10
STRIPS = (-1.5, -0.5, 0.5, 1.5)
"""Edges of the strips of a parameter, in q's sds around its mean."""
FACTOR = 2.0
"""A truth so many times as frequent, or as rare, is told of."""
_CELLS = 20  # a side of a map
FEWEST = 10
"""Draws of q below which a cell of a map is blank."""
_REACH = 3.0  # sds around q's mean
_TAIL = 0.005
_STRIPS = 8
_AT_ONCE = 64  # parameters
_CLIP = 5.0  # one draw far out shall not stand for its cell


@dataclass(frozen=True)
class _Share:
    """The truth's share of a region against q's, with an exact interval."""

    count: int
    """Truths in the region."""
    n: int
    """Truths in all."""
    q: float
    truth: float
    low: float
    high: float
    ratio: float | None
    """How many times as frequent the truth is; None where q has no draw."""
    ratio_low: float | None
    ratio_high: float | None

    @classmethod
    def of(cls, count: int, n: int, k: int, q_share: float, tests: int) -> _Share:
        """With an interval that holds for all `tests`.

        q's share is itself an average over k draws a row: as if of n k / (k + 1) rows rather
        than n.

        Args:
            count: truths in the region.
            n: truths in all.
            k: draws of q at each.
            q_share: share of q's draws there.
            tests: regions that share the 5%.
        """
        worth = k / (k + 1)
        low, high = statistics.clopper_pearson(count * worth, n * worth, 1 - 0.05 / tests)
        shares = (count / n, float(low), float(high))
        ratios = [share / q_share if q_share > 0 else None for share in shares]
        return cls(int(count), int(n), float(q_share), *shares, *ratios)

    @property
    def differs(self) -> bool:
        """Whether the interval leaves out q's share."""
        return not self.low <= self.q <= self.high

    @property
    def apart(self) -> float:
        """How far q's share lies outside the interval; below 0 inside."""
        return max(self.low - self.q, self.q - self.high)


@dataclass(frozen=True)
class _Tenth:
    """A tenth of q's draws by learned ratio."""

    share: _Share = field(metadata=codec.shown(flat=True))
    claimed: float
    """How many times as frequent the truth is there, as the score claims."""


@dataclass(frozen=True)
class _ThetaStrip:
    """A strip of one parameter."""

    parameter: int
    strip: int
    """Which, from 0, between the edges STRIPS."""
    share: _Share = field(metadata=codec.shown(flat=True))


def decile_shares(
    truth: Array, draws: Array, k: int, rng: np.random.Generator
) -> tuple[_Tenth, ...]:
    """The truth's share in each tenth of q's draws by score, lowest first.

    Args:
        truth: scores (n,).
        draws: scores (n, K').
        k: draws that the table has.
        rng: parts what is tied.
    """
    below, equal = PooledLaw(draws).cdf(truth)
    u = below + rng.random(len(truth)) * equal
    cell = np.minimum((u * _DECILES).astype(int), _DECILES - 1)
    counts = np.bincount(cell, minlength=_DECILES)
    ordered = np.array_split(np.sort(draws, axis=None).astype(np.float64), _DECILES)
    return tuple(
        _Tenth(_Share.of(int(count), len(truth), k, 1 / _DECILES, _DECILES), _mean_ratio(part))
        for count, part in zip(counts, ordered, strict=True)
    )


def _region_share(
    inside: NDArray[np.bool_], q_inside: NDArray[np.bool_], k: int, tests: int
) -> _Share:
    """A region by which truths (n,) and which draws (n, K') lie in it."""
    return _Share.of(int(inside.sum()), len(inside), k, float(q_inside.mean()), tests)


def strip_shares(
    truth: Array, draws: Array, k: int, parameters: NDArray[np.int64]
) -> tuple[_ThetaStrip, ...]:
    """The truth's share in each strip of some parameters, in q's sds around its mean.

    Args:
        truth: (n, P) standardised.
        draws: (n, K', P) standardised.
        k: draws that the table has.
        parameters: (P,) which they are.
    """
    count = len(STRIPS) + 1
    regions = []
    for at, which in enumerate(parameters):
        own = np.searchsorted(STRIPS, truth[:, at])
        theirs = np.searchsorted(STRIPS, draws[:, :, at])
        for strip in range(count):
            share = _region_share(own == strip, theirs == strip, k, count * len(parameters))
            regions.append(_ThetaStrip(int(which), strip, share))
    return tuple(regions)


def _mean_ratio(logits: Array) -> float:
    """The mean of exp(logit): p's share over q's, if the score is the log ratio."""
    if not len(logits):
        return 1.0
    return float(np.exp(np.minimum(logits, 50.0)).mean())


def strongest_parameters(z: Array, ratio: Array, most: int) -> NDArray[np.int64]:
    """Up to `most` parameters, those over whose strips the mean log ratio varies most first.

    Args:
        z: draws (P, D).
        ratio: log ratios (P,).
        most: how many.
    """
    clipped = np.clip(ratio, -_CLIP, _CLIP)
    strength = np.zeros(z.shape[1])
    for first in range(0, z.shape[1], _AT_ONCE):
        part = z[:, first : first + _AT_ONCE]
        edges = np.quantile(part, np.arange(1, _STRIPS) / _STRIPS, axis=0)
        cell = (part[None] >= edges[:, None]).sum(0)
        for at in range(part.shape[1]):
            strength[first + at] = _between(cell[:, at], clipped)
    return np.argsort(-strength, kind="stable")[:most]


def _strongest_pairs(
    z: Array, ratio: Array, parameters: NDArray[np.int64]
) -> list[tuple[int, int]]:
    """Pairs of some parameters, that over whose cells the mean log ratio varies most first."""
    clipped = np.clip(ratio, -_CLIP, _CLIP)
    strips = {}
    for parameter in parameters:
        edges = np.quantile(z[:, parameter], np.arange(1, _STRIPS) / _STRIPS)
        strips[int(parameter)] = np.searchsorted(edges, z[:, parameter], side="right")
    combinations = [(a, b) for i, a in enumerate(strips) for b in list(strips)[i + 1 :]]
    strength = [_between(_STRIPS * strips[a] + strips[b], clipped) for a, b in combinations]
    return [
        combinations[i] for i in np.argsort([-variance for variance in strength], kind="stable")
    ]


def cell_edges(values: Array, standardised: bool) -> Array:
    """Edges (C + 1,) of cells over draws (P,): within 3 sds, or where nearly all lie."""
    if standardised:
        return np.linspace(-_REACH, _REACH, _CELLS + 1)
    low, high = np.quantile(values, [_TAIL, 1 - _TAIL])
    if low == high:
        low, high = low - 0.5, high + 0.5
    return np.linspace(low, high, _CELLS + 1)


def ratio_plane(across: Array, up: Array, ratio: Array, sides: tuple[Array, Array]) -> Array:
    """Log of the mean ratio (C, C), rows up; nan where fewer than FEWEST draws lie.

    The mean of p/q over q's draws in a cell is p's mass there over q's; a mean of logarithms
    would be below 0 wherever the ratio varies within a cell.
    """
    bins = sides[1], sides[0]
    counts, _, _ = np.histogram2d(up, across, bins=bins)
    sums, _, _ = np.histogram2d(up, across, bins=bins, weights=_times(ratio))
    few = counts < FEWEST
    return np.where(few, np.nan, np.log(np.where(few, 1, sums) / np.maximum(counts, 1)))


def _ratio_line(values: Array, ratio: Array, side: Array) -> Array:
    """Log of the mean ratio along one parameter, and half of its 95% interval: (2, C)."""
    times = _times(ratio)
    counts, _ = np.histogram(values, side)
    sums, _ = np.histogram(values, side, weights=times)
    squares, _ = np.histogram(values, side, weights=times**2)
    few, some = counts < FEWEST, np.maximum(counts, 1)
    mean = np.where(few, 1, sums) / some
    half = 1.96 * np.sqrt(np.maximum(squares / some - mean**2, 0) / some) / mean
    return np.where(few, np.nan, np.stack([np.log(mean), half]))


def _times(ratio: Array) -> Array:
    return np.exp(np.clip(ratio, -_CLIP, _CLIP))


def _between(cell: NDArray[np.int64], ratio: Array) -> float:
    """Variance of the mean log ratio between cells."""
    counts = np.bincount(cell)
    mean = np.bincount(cell, ratio) / np.maximum(counts, 1)
    return float(counts @ (mean - ratio.mean()) ** 2 / len(ratio))


def _claimed(result: _MassInTheta, names: Sequence[str], claims: Claims) -> tuple[str, ...]:
    """What may be said under the verdict's error rate."""
    allowed = [strip for strip in result.off if claims.parameter(strip.parameter) <= claims.alpha]
    place = [_strip(allowed[0], names)] if allowed else []
    p = claims.score()
    if p <= claims.alpha:
        return (f"{_mass(result)} (p {equals(p)}).", _regions(result), *place)
    if place:
        rest = f"No learned score finds a place (p {equals(p)}): single parameters show it."
        return (*place, rest)
    return (f"No place in theta is found where q's mass is wrong (p {equals(p)}).",)


def _mass(result: _MassInTheta) -> str:
    """Where q's mass is wrong, in shares as they are estimated."""
    missing, excess = result.missing, result.excess
    if missing.differs and missing.ratio is not None:
        return (
            f"About {share_text(missing.truth)} of true values fall in regions where q puts "
            f"{share_text(missing.q)} of its draws: about {missing.ratio:.1f} times too little"
        )
    if excess.differs and excess.ratio is not None:
        return (
            f"About {share_text(excess.q)} of q's draws lie in regions where "
            f"{share_text(excess.truth)} of true values fall: about "
            f"{1 / max(excess.ratio, 1e-3):.1f} times too much"
        )
    return "q's mass is wrong in theta, but no region of the learned ratio stands out"


def _strip_text(strip: _ThetaStrip, names: Sequence[str]) -> str:
    """A strip of a parameter, to read."""
    at, name = strip.strip, parameter_name(names, strip.parameter)
    if at == 0:
        return f"{name} is more than {-STRIPS[0]:g} sd below q's mean"
    if at == len(STRIPS):
        return f"{name} is more than {STRIPS[-1]:g} sd above q's mean"
    low, high = (signed_text(edge, "+g") for edge in STRIPS[at - 1 : at + 1])
    return f"{name} is {low} to {high} sd from q's mean"


def _ratio_text(share: _Share) -> str:
    """How many times as frequent the truth is."""
    if share.ratio is None:
        return "–"
    assert share.ratio_low is not None
    assert share.ratio_high is not None
    return interval_text((share.ratio, share.ratio_low, share.ratio_high))


def _interval(share: _Share) -> str:
    """The truth's share with its interval."""
    return interval_text((share.truth, share.low, share.high), ".1%")


def _regions(result: _MassInTheta) -> str:
    sentences = []
    for share, claim in (
        (result.missing, f"q too low by {FACTOR:g} times or more"),
        (result.excess, f"q too high by {FACTOR:g} times or more"),
    ):
        if share.ratio is None:
            sentences.append(f"The score finds no place with {claim}.")
            continue
        comparison = (
            f"{_ratio_text(share)} times as many" if share.differs else "which may be as many"
        )
        sentences.append(
            f"Where the score says {claim}: {share.q:.1%} of q's draws, {_interval(share)} of "
            f"true values, {comparison}."
        )
    tenths = [tenth.share for tenth in result.deciles]
    if not any(share.differs for share in (result.missing, result.excess, *tenths)):
        sentences.append("The error is too small, or spread too widely, for a place to be named.")
    return " ".join(sentences)


def _strip(strip: _ThetaStrip, names: Sequence[str]) -> str:
    share = strip.share
    side = "too little" if share.truth > share.q else "too much"
    return (
        f"q puts {side} mass where {_strip_text(strip, names)}: {share.q:.1%} of its draws, "
        f"{_interval(share)} of the true values."
    )


def _tenths_text(result: _MassInTheta) -> str:
    shares = [tenth.share for tenth in result.deciles]
    more = sum(share.ratio_low is not None and share.ratio_low > 1 for share in shares)
    less = sum(share.ratio_high is not None and share.ratio_high < 1 for share in shares)
    return (
        "Checked by held-out true values alone, in tenths of q's draws by the learned ratio: "
        f"true values are more frequent in {10 * more}% of q's draws, less frequent in "
        f"{10 * less}% (all intervals hold together). In the lowest tenth they are "
        f"{_ratio_text(shares[0])} times as frequent, in the highest {_ratio_text(shares[-1])} "
        "times."
    )


def _score(result: _MassInTheta) -> str:
    """Which score was taken, and why."""
    if result.held is None:
        return "The score is the classifier that tests share. "
    within, classifier = (
        signed_text(nats, "+.3f") for nats in (result.held.within, result.held.classifier)
    )
    if result.score == "within":
        return (
            "The score sees each draw among the others at its x: on held-out rows it tells "
            f"true values from draws by {within} nats, the classifier that tests share by "
            f"{classifier}. "
        )
    return (
        "The score is the classifier that tests share: on held-out rows it tells true values "
        f"from draws by {classifier} nats, one that sees each draw among the others at its x "
        f"by {within}. "
    )


def _basis(result: _MassInTheta) -> str:
    few = (
        f" Of {result.parameters:,} parameters, maps and strips show the "
        f"{len(result.chosen)} on which the learned ratio depends most."
        if result.parameters > len(result.chosen)
        else ""
    )
    return (
        f"{_score(result)}{result.scored:,} draws of q at {result.rows} held-out rows were "
        f"scored.{few} "
        "Brackets are exact 95% intervals, of all tenths, or of all strips, together."
    )


_LEAST_REACH = 0.2  # of the colours: a classifier that guesses leaves the map pale
_MOST = 5  # maps
_LONG = 32  # letters of a name on an axis
_FRAMES = {"sd": "sd from q's mean", "own": "its own units"}


def _tenths_figure(result: _MassInTheta) -> Drawn:
    tenths = result.deciles
    at = np.arange(1, len(tenths) + 1)
    shares = [(tenth.share.truth, tenth.share.low, tenth.share.high) for tenth in tenths]
    value, low, high = np.array(shares).T
    claimed = np.array([tenth.claimed for tenth in tenths]) / len(tenths)
    top = 1.1 * float(max(high.max(), 2 / len(tenths)))
    hover = "tenth %{x}: %{y:.1%} of the true values"
    panel = Panel(
        [
            HLine(1 / len(tenths), dash="dash"),
            Line(at, np.minimum(claimed, top), color=style.NULL, width=1.5),
            Points(at, value, low=low, high=high, color=style.P, size=9, hover=hover),
        ],
        x=Axis((0.5, len(tenths) + 0.5), "tenth of q's draws, by learned ratio", ticks=at),
        y=Axis((0, top), "share of the true values", percent=True),
        height=style.HEIGHT,
    )
    return Drawn(
        "Do true values fall where q expects them?",
        panel,
        "Points: the share of held-out true values, with exact intervals that hold together. "
        "If q were correct, all would lie at the dashed 10% within their intervals. On the "
        "right, above it: q puts too little mass there; on the left, below it: too much. Grey "
        "line: what the score claims.",
    )


def _map(ratio_map: _RatioMap, scored: str, names: Sequence[str]) -> Drawn:
    frame = _FRAMES[ratio_map.frame]
    labels = [parameter_name(names, which) for which in ratio_map.of]
    where = "in q's sds around its mean" if ratio_map.frame == "sd" else "on their own axes"
    if len(labels) == 1:
        figure = _line_figure(ratio_map, f"{short_name(labels[0], _LONG)}, {frame}")
        return Drawn(
            f"Learned ratio over {labels[0]}, {where}",
            figure,
            f"Learned log ratio of p's mass to q's, from {scored} draws of q; band: 95%, of "
            "this average alone. Above 0: q puts too little mass there; below 0: too much. If "
            "q were correct, the line would stay near 0 but for the score's noise. Ticks "
            "below: held-out true values.",
        )
    figure = _plane_figure(ratio_map, [f"{short_name(name, _LONG)}, {frame}" for name in labels])
    return Drawn(
        f"Learned ratio over {labels[0]} and {labels[1]}, {where}",
        figure,
        f"Colour: learned log ratio of p's mass to q's in each cell, from {scored} draws of q; "
        "blank below ten. Blue: q puts too little mass there; orange: too much. If q were "
        "correct, all would be pale but for the score's noise. Dots: held-out true values.",
    )


def _line_figure(ratio_map: _RatioMap, name: str) -> Panel:
    mean, half = np.asarray(ratio_map.ratio, np.float64)
    edges = np.asarray(ratio_map.edges, np.float64)
    at, some = (edges[1:] + edges[:-1]) / 2, np.isfinite(mean)
    reach = max(_LEAST_REACH, 1.1 * float(np.max((np.abs(mean) + half)[some], initial=0)))
    band = (mean - half)[some], (mean + half)[some]
    feet = np.full(len(ratio_map.truth), -reach)
    return Panel(
        [
            HLine(0, dash="dash"),
            Band(at[some], *band, color=style.P, opacity=0.2),
            Line(at[some], mean[some], color=style.P, hover="%{x:.3g}: %{y:.2f}"),
            Points(
                ratio_map.truth, feet, color=style.P, size=6, symbol="line-ns-open", opacity=0.6
            ),
        ],
        x=Axis((float(edges[0]), float(edges[-1])), name),
        y=Axis((-1.1 * reach, reach), "learned log p/q"),
        height=style.HEIGHT,
    )


def _plane_figure(ratio_map: _RatioMap, names: Sequence[str]) -> Panel:
    sides = np.asarray(ratio_map.edges, np.float64)
    z = np.asarray(ratio_map.ratio, np.float64)
    reach = max(_LEAST_REACH, float(np.nanmax(np.abs(z), initial=0)))
    return heat_map(
        z, tuple(sides), names, ratio_map.truth, reach=reach, bar="log p/q", color=style.P
    )
