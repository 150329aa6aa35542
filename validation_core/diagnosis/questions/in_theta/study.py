"""The work: score held-out draws, compare shares, and average the log ratio over theta."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from validation_core import sampling, scores, statistics
from validation_core.diagnosis import learning
from validation_core.diagnosis.questions.base import TableStudy, as_numbers
from validation_core.diagnosis.questions.in_theta import regions
from validation_core.diagnosis.questions.in_theta.regions import Share, Strip, Tenth
from validation_core.narrow import narrow
from validation_core.rng import stream
from validation_core.statistics import slots
from validation_core.study import Report
from validation_core.tables import Upload
from validation_core.types import Array, PosteriorTable, TableScores

if TYPE_CHECKING:
    from validation_core.scores.slots_training import TrainedSlots
    from validation_core.store import Store

LEVEL = 0.05
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
class RatioMap:
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
class Nats:
    """By how much each score tells the truth among its row's draws, on rows held out."""

    within: float
    classifier: float


@dataclass(frozen=True, eq=False)
class MassInTheta:
    """Where in theta q puts too much or too little mass."""

    rows: int
    scored: int
    """Draws."""
    draws: int
    parameters: int
    pvalue: float
    """That the truth's score ranks anywhere among q's draws' at the same x."""
    deciles: tuple[Tenth, ...]
    """The lowest ratio first."""
    missing: Share
    """Where the score holds the truth for much more frequent."""
    excess: Share
    """For much rarer."""
    chosen: tuple[int, ...]
    """Parameters that are mapped."""
    strips: tuple[Strip, ...]
    maps: tuple[RatioMap, ...]
    score: Literal["", "within", "classifier"] = ""
    """Which score was read."""
    held: Nats | None = None

    @property
    def finds(self) -> bool:
        """Whether q's mass is called wrong somewhere, at a level of its own."""
        return self.pvalue <= LEVEL or bool(self.off)

    @property
    def off(self) -> list[Strip]:
        """Strips whose interval leaves out q's share, those farthest from it first."""
        differing = [strip for strip in self.strips if strip.share.differs]
        return sorted(differing, key=lambda strip: -strip.share.apart)

    def to_json(self) -> dict[str, Any]:
        """Every number; maps are named by their frame and place in it."""
        tenths = [{**as_numbers(tenth.share), "claimed": tenth.claimed} for tenth in self.deciles]
        strips = [
            {"parameter": strip.parameter, "strip": strip.strip, **as_numbers(strip.share)}
            for strip in self.strips
        ]
        frames = [part.frame for part in self.maps]
        maps = [
            {"of": list(part.of), "frame": frame, "drawn": f"{frame}{frames[:i].count(frame)}"}
            for i, (part, frame) in enumerate(zip(self.maps, frames, strict=True))
        ]
        fields = as_numbers(replace(self, deciles=(), strips=(), maps=(), held=None))
        fields |= {"deciles": tenths, "strips": strips, "maps": maps}
        fields["held"] = {} if self.held is None else as_numbers(self.held)
        return fields


@dataclass(frozen=True, kw_only=True)
class InThetaStudy(TableStudy[MassInTheta], spec="in_theta"):
    """Where in theta q puts too much or too little mass, by the score that tells truths better.

    `trainings` are the classifier that tests share and, where there is one, the score within x.
    """

    version: ClassVar[int] = 4
    about: ClassVar[str] = "Where in theta"

    def answer(self, upload: Upload, store: Store, report: Report) -> MassInTheta:
        """On rows that no score has seen."""
        classifier, *within = self.networks(store, report)
        nats = _held(upload, self.seed, classifier, *within) if within else None
        sees_rows = nats is not None and nats.within >= nats.classifier
        few, read = (
            self._within(upload, within[0]) if sees_rows else self._classified(upload, classifier)
        )
        result = in_theta(few, read.truth[0], read.draws[0], upload.k, self.seed)
        return replace(result, score="within" if sees_rows else "classifier", held=nats)

    def _within(self, upload: Upload, network: TrainedSlots) -> tuple[PosteriorTable, TableScores]:
        """Held-out rows with as many draws as are scored, seen among all of them."""
        assert isinstance(upload.data, PosteriorTable)
        rows = learning.kept(upload, self.seed)
        read = scores.apply(network.at(), sampling.lent(upload.data, rows))
        most = min(read.draws.shape[-1], max(1, SCORED // len(rows)))
        return sampling.take(upload.data, rows, most), replace(read, draws=read.draws[..., :most])

    def _classified(self, upload: Upload, network: Any) -> tuple[PosteriorTable, TableScores]:
        """Held-out rows with as many draws as are scored, and their logits."""
        n = len(learning.kept(upload, self.seed))
        most = min(upload.k, max(1, SCORED // n), max(1, _NUMBERS // sum(upload.dims)))
        few = learning.held_back(upload, self.seed, most)
        return few, scores.apply(network.at(), few)


def _held(upload: Upload, seed: int, classifier: Any, within: TrainedSlots) -> Nats:
    """Nats by which each score tells the truth among its row's draws, on the same rows.

    They are rows of the learning half that the classifier was watched on, and that the folds of
    the score within x answered for while they were held out.
    """
    assert isinstance(upload.data, PosteriorTable)
    m = learning.slot_recipe(upload).m
    watched = learning.watched(upload, seed)
    watched = watched[watched < len(within.rows)]
    rows = learning.places(upload, seed)[0][watched]
    read = scores.apply(classifier.at(), sampling.take(upload.data, rows, m))
    both = np.concatenate([read.truth[0][:, None], read.draws[0]], axis=1)
    nats = slots.contributions(both, "multiclass")[:, 0]
    return Nats(float(within.rows[watched].mean()), float(nats.mean()))


def in_theta(table: PosteriorTable, truth: Array, draws: Array, k: int, seed: int) -> MassInTheta:
    """Shares and maps of a table by the log ratio of its truths (n,) and draws (n, K')."""
    n, scored, d = table.q.shape
    u = statistics.conformal_ranks(truth, draws, stream(seed, "in theta", "ranks"))
    tenths = regions.deciles(truth, draws, k, stream(seed, "in theta", "ties"))
    much = float(np.log(regions.FACTOR))
    ratio = draws.ravel().astype(np.float64)
    own, theirs = _standardised(table)
    standard = scored >= _FEWEST_DRAWS
    chosen = regions.strongest(
        theirs.reshape(-1, d) if standard else table.q.reshape(-1, d), ratio, _PARAMETERS
    )
    strips: tuple[Strip, ...] = ()
    maps: list[RatioMap] = []
    if standard:
        strips = regions.strips(own[:, chosen], theirs[:, :, chosen], k, chosen)
        maps = _maps(theirs.reshape(-1, d), own, ratio, chosen, "sd", _MAPS)
    most = _OWN if maps else _MAPS
    maps += _maps(table.q.reshape(-1, d), table.theta, ratio, chosen, "own", most)
    return MassInTheta(
        rows=n,
        scored=int(ratio.size),
        draws=k,
        parameters=d,
        pvalue=max(float(statistics.ks(u).pvalue), 1e-300),
        deciles=tenths,
        missing=regions.region(truth >= much, draws >= much, k, 2),
        excess=regions.region(truth <= -much, draws <= -much, k, 2),
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
) -> list[RatioMap]:
    """Maps of the strongest pairs of some parameters, or of the one there is."""
    some = np.linspace(0, len(truth) - 1, min(_TRUTHS, len(truth))).astype(int)
    if len(chosen) == 1:
        which = int(chosen[0])
        side = regions.edges(draws[:, which], frame == "sd")
        line = regions.line(draws[:, which], ratio, side)
        return [_ratio_map((which,), frame, line, side, truth[some, which])]
    maps = []
    for a, b in regions.pairs(draws, ratio, chosen)[:most]:
        sides = (
            regions.edges(draws[:, a], frame == "sd"),
            regions.edges(draws[:, b], frame == "sd"),
        )
        plane = regions.plane(draws[:, a], draws[:, b], ratio, sides)
        maps.append(_ratio_map((a, b), frame, plane, np.stack(sides), truth[some][:, [a, b]]))
    return maps


def _ratio_map(
    of: tuple[int, ...], frame: Frame, ratio: Array, edges: Array, truth: Array
) -> RatioMap:
    return RatioMap(of, frame, narrow(ratio), narrow(edges), narrow(truth))
