"""How wrong is q: each parameter's sizes of error and those of the whole, with intervals.

Everything but the classifier's divergence reads all rows and learns nothing. CoLT's distance d~
is in its own record.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from validation_core import keys, scores
from validation_core.answers.base import Answer, Found
from validation_core.answers.size.marginals import marginals
from validation_core.answers.size.told import CODE, HOW, finds, say, table
from validation_core.answers.size.whole import by_densities, regions, told
from validation_core.diagnosis import tasks as diagnoses
from validation_core.diagnosis.obstacles import obstacle as hinders
from validation_core.diagnosis.obstacles import unusable
from validation_core.diagnosis.run import held_back
from validation_core.rng import stream
from validation_core.statistics import divergence
from validation_core.tasks import Live
from validation_core.types import Array, Draws, Method, learnt
from validation_core.uploads import Upload

if TYPE_CHECKING:
    from validation_core.store import Store

__all__ = [
    "CODE", "HOW", "Learned", "Sizes", "finds", "gather", "obstacle", "say", "table", "tasks",
]  # fmt: skip

LEAST_ROWS = 5
SCORED = 100
"""Draws at each x whose logits the classifier's divergence reads: bounds its time."""


@dataclass(frozen=True, kw_only=True)
class Sizes(Answer):
    """What ranks, moments and densities say; nothing is learnt."""

    about: ClassVar[str] = "Sizes of errors"
    version: ClassVar[int] = 2

    densities: str = ""
    """Fingerprint of the log densities, which the table's own does not cover."""

    def answer(self, upload: Upload, store: Store, report: Live) -> Found:
        del store
        data = upload.data
        assert isinstance(data, Draws)
        numbers = marginals(data, self.seed)
        report(0.8, {})
        mass, drawn = regions(upload.densities, self.seed)
        nats, bars = by_densities(upload, self.seed)
        plain = {
            "n": upload.n, "k": upload.k, "parameters": numbers, "regions": mass,
            "divergence": nats,
        }  # fmt: skip
        return Found(plain, {**drawn, **bars})


@dataclass(frozen=True, kw_only=True)
class Learned(Answer):
    """The symmetric divergence as far as a classifier sees it, on rows it did not learn from."""

    about: ClassVar[str] = "Divergence by a classifier"

    def answer(self, upload: Upload, store: Store, report: Live) -> Found:
        (network,) = self.networks(store, report)
        few = held_back(upload, self.seed, SCORED)
        logits = scores.apply(network.at(), few)
        found = divergence.from_logits(
            logits.truth[0], logits.draws[0], stream(self.seed, "size", "halves")
        )
        nats, bars = told(
            found.d, self.seed, source="classifier", slope=found.slope, auc=float(network.auc),
            draws=few.q.shape[1],
        )  # fmt: skip
        return Found({"divergence": nats}, bars)


def obstacle(upload: Upload) -> str | None:
    """Why sizes cannot be worked out on this upload, or None."""
    if not isinstance(upload.data, Draws):
        return (
            "Sizes of errors compare the truth with q's draws at the same x; two samples p and q "
            "have no x. Upload theta, x and theta_q."
        )
    if upload.n < LEAST_ROWS:
        return (
            f"Sizes of errors need at least {LEAST_ROWS} simulations; got {upload.n}. Bring more."
        )
    return unusable(upload)


def tasks(upload: Upload, methods: Sequence[Method], seed: int) -> tuple[Answer, ...]:
    """What ranks and densities say; then a classifier's divergence.

    The classifier is the one that the first of these methods reads which has one; without such
    a method there is no estimate.
    """
    if obstacle(upload) is not None:
        return ()
    given = dict(upload.densities)
    marked = keys.digest(**{name: np.asarray(one) for name, one in given.items()}) if given else ""
    first = Sizes(digest=upload.digest, seed=seed, densities=marked)
    for method in methods:
        if method.reads == "classifier" and learnt(method) and hinders(method, upload) is None:
            network = diagnoses.training(upload, method, seed)
            assert network is not None
            return first, Learned(digest=upload.digest, seed=seed, trainings=(network,))
    return (first,)


def gather(founds: Sequence[Found]) -> Found:
    """What is known so far, of one or both tasks.

    divergence is that of the densities, and the classifier's then an estimate beside it; or else
    the classifier's.
    """
    plain: dict[str, Any] = {}
    arrays: dict[str, Array] = {}
    for found in founds:
        if "divergence" in plain and found.plain.get("divergence"):
            plain["estimate"] = found.plain["divergence"]
            continue
        plain |= {name: value for name, value in found.plain.items() if value is not None}
        arrays |= found.arrays
    return Found(plain, arrays)
