"""Where in theta q puts too much or too little mass, by a score learned on other rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from validation_core import sampling, scores, statistics
from validation_core.diagnosis import learning
from validation_core.diagnosis.questions.base import TableStudy
from validation_core.diagnosis.questions.in_theta.maps import strongest_maps, strongest_parameters
from validation_core.diagnosis.questions.in_theta.result import (
    HeldOutNats,
    MassInTheta,
    RatioMap,
    ThetaStrip,
)
from validation_core.diagnosis.questions.in_theta.shares import (
    decile_shares,
    region_share,
    strip_shares,
)
from validation_core.rng import stream
from validation_core.statistics import slots
from validation_core.study import Report
from validation_core.tables import TableUpload, Upload
from validation_core.types import Array, PosteriorTable, TableScores

if TYPE_CHECKING:
    from validation_core.scores.slots_training import TrainedSlots
    from validation_core.store import Store


SCORED = 100_000
"""Draws of q that are scored, at most; as many at each row."""
_PARAMETERS = 5  # whose pairs are mapped: those that the log ratio depends on most
_MAPS = 4  # pairs in q's sds
_OWN = 2  # pairs on the parameters' own axes
_FEWEST_DRAWS = 5  # from which q's mean and sd at an x say where a draw lies
_NUMBERS = 4_000_000  # of theta and x that a row is scored with, at most
FACTOR = 2.0
"""A truth so many times as frequent, or as rare, is told of."""


@dataclass(frozen=True, kw_only=True)
class InThetaStudy(TableStudy[MassInTheta], spec="in_theta"):
    """Where in theta q puts too much or too little mass, by the score that tells truths better.

    `trainings` are the classifier that tests share and, where there is one, the score within x.
    """

    version: ClassVar[int] = 4
    about: ClassVar[str] = "Where in theta"

    def answer(self, upload: TableUpload, store: Store, report: Report) -> MassInTheta:
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
        read = scores.apply(network.at(), sampling.rows_view(upload.in_no_order.data, rows))
        most = min(read.draws.shape[-1], max(1, SCORED // len(rows)))
        return sampling.take(upload.in_no_order.data, rows, most), replace(
            read, draws=read.draws[..., :most]
        )

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
    read = scores.apply(classifier.at(), sampling.take(upload.in_no_order.data, rows, m))
    both = np.concatenate([read.truth[0][:, None], read.draws[0]], axis=1)
    nats = slots.contributions(both, "multiclass")[:, 0]
    return HeldOutNats(float(within.rows[watched].mean()), float(nats.mean()))


def mass_in_theta(
    table: PosteriorTable, truth: Array, draws: Array, k: int, seed: int
) -> MassInTheta:
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
    strips: tuple[ThetaStrip, ...] = ()
    maps: list[RatioMap] = []
    if standard:
        strips = strip_shares(own[:, chosen], theirs[:, :, chosen], k, chosen)
        maps = strongest_maps(theirs.reshape(-1, d), own, ratio, chosen, "sd", _MAPS)
    most = _OWN if maps else _MAPS
    maps += strongest_maps(table.q.reshape(-1, d), table.theta, ratio, chosen, "own", most)
    return MassInTheta(
        rows=n,
        scored=int(ratio.size),
        draws=k,
        parameters=d,
        pvalue=max(float(statistics.ks(u).pvalue), 1e-300),
        deciles=tenths,
        missing=region_share(truth >= much, draws >= much, k, 2),
        excess=region_share(truth <= -much, draws <= -much, k, 2),
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
