"""The likely cause: which injected defect a table looks like.

Defects are injected into the table's own draws; no cause is named unless the table stands out
among those in which a draw of q plays the truth, and lies near one cause's injected tables alone.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from validation_core.answers.base import Answer, Found
from validation_core.answers.cause import clouds, evidence, seen, weigh
from validation_core.answers.cause.told import CODE, HOW, say, table
from validation_core.answers.cause.words import NEXT, TITLES, steps
from validation_core.diagnosis.obstacles import unusable
from validation_core.tasks import Live
from validation_core.types import Array, Draws, Method
from validation_core.uploads import Upload, repeats

if TYPE_CHECKING:
    from validation_core.store import Store

__all__ = [
    "CODE", "HOW", "NEXT", "TITLES", "Cause", "cause_of", "gather", "obstacle", "say", "table",
    "tasks",
]  # fmt: skip

LEAST_ROWS, LEAST_DRAWS = 100, 20

LEVEL, STRONG = 0.05, 0.01
"""p-values up to which something is off at all, and up to which a cause is named."""
LEAST_WEIGHT, CLEARLY = 0.45, 1.5
"""Weight that a cause needs, and times the next one's, to be named."""
FARTHEST = 3.5
"""Typical distances within a cause's injected tables beyond which it is not named."""

_TOLD = 3  # causes whose evidence is worked out


@dataclass(frozen=True, kw_only=True)
class Cause(Answer):
    """A table beside injected ones."""

    version: ClassVar[int] = 2
    about: ClassVar[str] = "Likely cause"

    def answer(self, upload: Upload, store: Store, report: Live) -> Found:
        del store
        assert isinstance(upload.data, Draws)
        return cause_of(upload.data, self.seed, report)


def cause_of(table: Draws, seed: int, report: Live = lambda fraction, live: None) -> Found:
    """The likely cause of what is off in a table, or that none or no single one is."""
    start = time.perf_counter()
    some, columns = clouds.some(table, seed)
    ranked, pool, features = clouds.ready(some, seed)
    first, injector = clouds.clouds(
        ranked, pool, features, seed, report=lambda done: report(0.05 + 0.65 * done, {})
    )
    contraction = float(contractions(ranked.points).min())
    near = weigh.weigh(first, contraction).close
    every = clouds.closer(
        first, injector, near, seed, report=lambda done: report(0.7 + 0.25 * done, {})
    )
    found, p = weigh.weigh(every, contraction), weigh.pvalue(every.null)
    faults = repeats.faults(table)
    name, why = named(found, p, faults)
    read = evidence.Table(ranked, pool, features, seed)
    causes: list[dict[str, Any]] = [
        {
            "cause": cause, "weight": weight, "apart": found.apart[cause],
            "share": float(found.shares.get(cause, 0.0)),
            "strength": {
                **dict(zip(("value", "low", "high"), found.strength[cause], strict=True)),
                "unit": every.variants[found.variant[cause]].unit,
                "shape": every.variants[found.variant[cause]].name,
            },
            "evidence": _renamed(evidence.of(cause, read), columns) if i < _TOLD else [],
        }
        for i, (cause, weight) in enumerate(found.weights.items())
    ]  # fmt: skip
    plain = {
        "cause": name, "why": why, "pvalue": p, "level": LEVEL, "weights": dict(found.weights),
        "causes": causes, "faults": list(faults), "seen": _renamed(seen.seen(read), columns),
        "nulls": len(every.null) - 1, "injected": len(every.injected),
        "nearest": weigh.COUNTED, "contraction": contraction, "parameters": columns.tolist(),
        "used": list(some.q.shape), "full": list(table.q.shape),
        "evidence": causes[0]["evidence"], "strength": causes[0]["strength"],
        "next": list(steps(name, causes[0]["strength"]["shape"])),
        "seconds": time.perf_counter() - start,
    }  # fmt: skip
    order = list(found.weights)
    labels = [order.index(every.variants[v].cause) for v in every.of]
    arrays: dict[str, Array] = {
        "places": found.places.astype(np.float32),
        "causes": np.array(labels, dtype=np.float32),
        "null_places": found.null_places.astype(np.float32),
    }
    return Found(plain, arrays)


def named(found: weigh.Weighed, p: float, faults: Sequence[repeats.Fault]) -> tuple[str, str]:
    """The cause, `unclear` or `none`; and why it is unclear, else an empty text."""
    if p > LEVEL:
        return "none", ""
    if faults:  # a chain is wider or narrower than its draws, whatever q is
        return "unclear", "draws"
    (first, weight), (_, then) = list(found.weights.items())[:2]
    if p > STRONG:
        return "unclear", "weak"
    if weight < LEAST_WEIGHT or weight < CLEARLY * then:
        return "unclear", "several"
    if found.apart[first] > FARTHEST:
        return "unclear", "far"
    return first, ""


def contractions(points: Array) -> Array:
    """Share of the variance that lies between rows (n, K, D), from quantiles: (D,)."""
    low, middle, high = np.quantile(points, [0.16, 0.5, 0.84], axis=1)
    within = np.median(np.square((high - low) / 2), axis=0)
    low, high = np.quantile(middle, [0.16, 0.84], axis=0)
    # The median of K draws varies by pi / 2 of their variance over K.
    between = np.maximum(np.square((high - low) / 2) - within * np.pi / 2 / points.shape[1], 0)
    return np.asarray(between / np.maximum(between + within, 1e-300))


def obstacle(upload: Upload) -> str | None:
    """Why no cause can be worked out on this upload, or None."""
    if not isinstance(upload.data, Draws):
        return (
            "A cause is told from the truth's place among q's draws at the same x; two samples p "
            "and q have no x. Upload theta, x and theta_q."
        )
    if upload.n < LEAST_ROWS or upload.k < LEAST_DRAWS:
        return (
            f"A cause needs at least {LEAST_ROWS} simulations with {LEAST_DRAWS} draws of q at "
            f"each; got {upload.n} with {upload.k}. Bring more."
        )
    return unusable(upload)


def tasks(upload: Upload, methods: Sequence[Method], seed: int) -> tuple[Answer, ...]:
    """One task; none where there is an obstacle."""
    del methods
    return () if obstacle(upload) else (Cause(digest=upload.digest, seed=seed),)


def gather(founds: Sequence[Found]) -> Found:
    """The only one."""
    return founds[0]


def _renamed(pieces: list[evidence.Told], columns: NDArray[np.intp]) -> list[dict[str, Any]]:
    """Evidence with places among all parameters instead of those looked at."""
    return [{**one, "at": [int(columns[i]) for i in one["at"]]} for one in pieces]
