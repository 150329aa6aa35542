"""The work: score held-out draws, compare shares, and average the log ratio over theta."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from validation_core import sampling, scores, statistics
from validation_core.answers.base import Answer, Found
from validation_core.answers.in_theta import binned, shares
from validation_core.diagnosis import learning, run
from validation_core.narrow import narrow
from validation_core.rng import stream
from validation_core.statistics import slots
from validation_core.tasks import Live
from validation_core.types import Array, Draws, TableScores
from validation_core.uploads import Upload

if TYPE_CHECKING:
    from validation_core.scores.slots.trained import TrainedSlots
    from validation_core.store import Store

PARAMETERS = 5
"""Parameters whose pairs are mapped: those that the log ratio depends on most."""
SCORED = 100_000
"""Draws of q that are scored, at most; as many at each row."""
_MAPS = 4  # pairs in q's sds
_OWN = 2  # pairs on the parameters' own axes
_TRUTHS = 300  # marked on a map
_FEWEST_DRAWS = 5  # from which q's mean and sd at an x say where a draw lies
_NUMBERS = 4_000_000  # of theta and x that a row is scored with, at most


@dataclass(frozen=True, kw_only=True)
class InTheta(Answer):
    """Where in theta q puts too much or too little mass, by the score that tells truths better.

    `trainings` are the classifier that tests share and, where there is one, the score within x.
    """

    version: ClassVar[int] = 3
    about: ClassVar[str] = "Where in theta"

    def answer(self, upload: Upload, store: Store, report: Live) -> Found:
        """On rows that no score has seen."""
        classifier, *within = self.networks(store, report)
        held = _held(upload, self.seed, classifier, *within) if within else {}
        if within and held["within"] >= held["classifier"]:
            kind, (few, read) = "within", self._within(upload, within[0])
        else:
            kind, (few, read) = "classifier", self._classified(upload, classifier)
        found = in_theta(few, read.truth[0], read.draws[0], upload.k, self.seed)
        return Found({**found.plain, "score": kind, "held": held}, found.arrays)

    def _within(self, upload: Upload, network: TrainedSlots) -> tuple[Draws, TableScores]:
        """Held-out rows with as many draws as are scored, seen among all of them."""
        assert isinstance(upload.data, Draws)
        rows = learning.kept(upload, self.seed)
        read = scores.apply(network.at(), sampling.lent(upload.data, rows))
        most = min(read.draws.shape[-1], max(1, SCORED // len(rows)))
        return sampling.take(upload.data, rows, most), replace(read, draws=read.draws[..., :most])

    def _classified(self, upload: Upload, network: Any) -> tuple[Draws, TableScores]:
        """Held-out rows with as many draws as are scored, and their logits."""
        n = len(learning.kept(upload, self.seed))
        most = min(upload.k, max(1, SCORED // n), max(1, _NUMBERS // sum(upload.dims)))
        few = run.held_back(upload, self.seed, most)
        return few, scores.apply(network.at(), few)


def _held(upload: Upload, seed: int, classifier: Any, within: TrainedSlots) -> dict[str, float]:
    """Nats by which each score tells the truth among its row's draws, on the same rows.

    They are rows of the learning half that the classifier was watched on, and that the folds of
    the score within x answered for while they were held out.
    """
    assert isinstance(upload.data, Draws)
    m = learning.slot_recipe(upload).m
    watched = learning.watched(upload, seed)
    watched = watched[watched < len(within.rows)]
    rows = learning.places(upload, seed)[0][watched]
    read = scores.apply(classifier.at(), sampling.take(upload.data, rows, m))
    both = np.concatenate([read.truth[0][:, None], read.draws[0]], axis=1)
    told = slots.contributions(both, "multiclass")[:, 0]
    return {"within": float(within.rows[watched].mean()), "classifier": float(told.mean())}


def in_theta(table: Draws, truth: Array, draws: Array, k: int, seed: int) -> Found:
    """Shares and maps of a table by the log ratio of its truths (n,) and draws (n, K')."""
    n, shown, d = table.q.shape
    u = statistics.conformal_ranks(truth, draws, stream(seed, "in theta", "ranks"))
    tenths = shares.deciles(truth, draws, k, stream(seed, "in theta", "ties"))
    much = float(np.log(shares.FACTOR))
    ratio = draws.ravel().astype(np.float64)
    mine, theirs = _standardised(table)
    frame = theirs.reshape(-1, d) if shown >= _FEWEST_DRAWS else table.q.reshape(-1, d)
    chosen = binned.strongest(frame, ratio, PARAMETERS)
    plain: dict[str, Any] = {
        "rows": n, "scored": int(ratio.size), "draws": k, "parameters": d,
        "pvalue": max(float(statistics.ks(u).pvalue), 1e-300), "deciles": tenths,
        "missing": shares.region(truth >= much, draws >= much, k, 2),
        "excess": shares.region(truth <= -much, draws <= -much, k, 2),
        "chosen": [int(one) for one in chosen], "strips": [], "maps": [],
    }  # fmt: skip
    arrays: dict[str, Array] = {}
    if shown >= _FEWEST_DRAWS:
        plain["strips"] = shares.strips(mine[:, chosen], theirs[:, :, chosen], k, chosen)
        _map(plain, arrays, theirs.reshape(-1, d), mine, ratio, chosen, True, _MAPS)
    own = _OWN if plain["maps"] else _MAPS
    _map(plain, arrays, table.q.reshape(-1, d), table.theta, ratio, chosen, False, own)
    return Found(plain, {name: narrow(array) for name, array in arrays.items()})


def _standardised(table: Draws) -> tuple[Array, Array]:
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


def _map(
    plain: dict[str, Any], arrays: dict[str, Array], draws: Array, truth: Array, ratio: Array,
    chosen: NDArray[np.int64], standardised: bool, most: int,
) -> None:  # fmt: skip
    """Adds maps of the strongest pairs of some parameters, or of the one there is."""
    frame = "sd" if standardised else "own"
    some = np.linspace(0, len(truth) - 1, min(_TRUTHS, len(truth))).astype(int)
    if len(chosen) == 1:
        which = int(chosen[0])
        side = binned.edges(draws[:, which], standardised)
        label = f"{frame}0"
        arrays[f"{label}.line"] = binned.line(draws[:, which], ratio, side)
        arrays[f"{label}.edges"] = side
        arrays[f"{label}.truth"] = truth[some, which]
        plain["maps"].append({"of": [which], "frame": frame, "drawn": label})
        return
    found = binned.pairs(draws, ratio, chosen)
    for at, (a, b) in enumerate(found[:most]):
        sides = binned.edges(draws[:, a], standardised), binned.edges(draws[:, b], standardised)
        label = f"{frame}{at}"
        arrays[f"{label}.plane"] = binned.plane(draws[:, a], draws[:, b], ratio, sides)
        arrays[f"{label}.edges"] = np.stack(sides)
        arrays[f"{label}.truth"] = truth[some][:, [a, b]]
        plain["maps"].append({"of": [a, b], "frame": frame, "drawn": label})
