"""The work: a table beside those in which a known defect was injected, and what it is like."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from validation_core.diagnosis.questions.base import TableStudy, as_numbers
from validation_core.diagnosis.questions.cause import findings
from validation_core.diagnosis.questions.cause.causes import steps
from validation_core.diagnosis.questions.cause.classify import COUNTED, Likeness, classify, pvalue
from validation_core.diagnosis.questions.cause.features import PreparedTable, subsample
from validation_core.diagnosis.questions.cause.findings import Departure, Finding
from validation_core.diagnosis.questions.cause.reference_sets import reference_sets, refined
from validation_core.study import Report
from validation_core.tables import Upload, repeats
from validation_core.types import Array, PosteriorTable

if TYPE_CHECKING:
    from validation_core.store import Store

LEVEL, STRONG = 0.05, 0.01
"""p-values up to which something is off at all, and up to which a cause is named."""
_LEAST_WEIGHT, _CLEARLY = 0.45, 1.5  # a cause needs to be named, and times the next one's
_FARTHEST = 3.5  # typical distances within a cause's injected tables beyond which it is not named
_DETAILED = 3  # causes whose evidence is worked out


@dataclass(frozen=True)
class Strength:
    """How large a defect is, if it is of this shape."""

    value: float
    low: float
    high: float
    unit: str
    shape: str


@dataclass(frozen=True)
class Candidate:
    """One cause beside the table."""

    cause: str
    weight: float
    """How like it the table is; weights sum to 1."""
    apart: float
    """Distance from its likeliest shape, in typical ones."""
    share: float
    """Of the injected tables nearest to this one."""
    strength: Strength
    evidence: tuple[Finding, ...]
    """Of the likeliest causes only."""

    def to_json(self) -> dict[str, Any]:
        """Every number."""
        fields: dict[str, Any] = as_numbers(self)
        return {**fields, "evidence": [finding.to_json() for finding in self.evidence]}


@dataclass(frozen=True, eq=False)
class LikelyCause:
    """Which injected defect a table looks like, or that it looks like none or no single one."""

    cause: str
    """A cause, `unclear` or `none`."""
    why: str
    """Why it is unclear."""
    pvalue: float
    """That the table stands out among those in which a draw of q plays the truth; exact."""
    causes: tuple[Candidate, ...]
    """The likeliest first."""
    faults: tuple[repeats.Fault, ...]
    """What is wrong with the draws themselves."""
    seen: tuple[Departure, ...]
    """Departures of the table, whatever the cause."""
    nulls: int
    injected: int
    contraction: float
    """Share of q's variance that lies between rows, of the parameter that has least."""
    parameters: tuple[int, ...]
    """Those looked at."""
    used: tuple[int, ...]
    """Rows, draws and parameters looked at."""
    full: tuple[int, ...]
    """Of so many."""
    next_steps: tuple[str, ...]
    """What to do, the first thing first."""
    seconds: float
    places: Array
    """Injected tables in the plane in which the likeliest causes lie apart: (I, 2); this table
    lies at 0."""
    place_of: Array
    """Which of `causes` each has: (I,)."""
    null_places: Array
    """(B, 2)."""

    def to_json(self) -> dict[str, Any]:
        """Every number; the likeliest cause's evidence and strength once more at the end."""
        causes = [candidate.to_json() for candidate in self.causes]
        return {
            "cause": self.cause,
            "why": self.why,
            "pvalue": self.pvalue,
            "level": LEVEL,
            "weights": {candidate.cause: candidate.weight for candidate in self.causes},
            "causes": causes,
            "faults": list(self.faults),
            "seen": [departure.to_json() for departure in self.seen],
            "nulls": self.nulls,
            "injected": self.injected,
            "nearest": COUNTED,
            "contraction": self.contraction,
            "parameters": list(self.parameters),
            "used": list(self.used),
            "full": list(self.full),
            "evidence": causes[0]["evidence"],
            "strength": causes[0]["strength"],
            "next": list(self.next_steps),
            "seconds": self.seconds,
        }


@dataclass(frozen=True, kw_only=True)
class CauseStudy(TableStudy[LikelyCause], spec="cause"):
    """A table beside injected ones."""

    version: ClassVar[int] = 3
    about: ClassVar[str] = "Likely cause"

    def answer(self, upload: Upload, store: Store, report: Report) -> LikelyCause:
        """The likely cause of what is off in this table."""
        del store
        assert isinstance(upload.data, PosteriorTable)
        return cause_of(upload.data, self.seed, report)


def cause_of(
    table: PosteriorTable, seed: int, report: Report = lambda fraction, live: None
) -> LikelyCause:
    """The likely cause of what is off in a table, or that none or no single one is."""
    start = time.perf_counter()
    few, columns = subsample(table, seed)
    ready = PreparedTable.of(few, seed)
    coarse, injector = reference_sets(ready, report=lambda done: report(0.05 + 0.65 * done, {}))
    contraction = float(_contractions(ready.ranked.points).min())
    near = classify(coarse, contraction).close
    sets = refined(coarse, injector, near, lambda done: report(0.7 + 0.25 * done, {}))
    likeness, p = classify(sets, contraction), pvalue(sets.null)
    faults = tuple(repeats.faults(table))
    name, why = _verdict(likeness, p, faults)
    order = list(likeness.weights)
    causes = tuple(
        Candidate(
            cause=cause,
            weight=float(likeness.weights[cause]),
            apart=float(likeness.apart[cause]),
            share=float(likeness.shares.get(cause, 0.0)),
            strength=Strength(
                *likeness.strength[cause],
                unit=sets.variants[likeness.variant[cause]].unit,
                shape=sets.variants[likeness.variant[cause]].name,
            ),
            evidence=tuple(
                _renamed(finding, columns)
                for finding in (findings.evidence(cause, ready) if i < _DETAILED else ())
            ),
        )
        for i, cause in enumerate(order)
    )
    return LikelyCause(
        cause=name,
        why=why,
        pvalue=p,
        causes=causes,
        faults=faults,
        seen=tuple(
            replace(departure, finding=_renamed(departure.finding, columns))
            for departure in findings.departures(ready)
        ),
        nulls=len(sets.null) - 1,
        injected=len(sets.injected),
        contraction=contraction,
        parameters=tuple(columns.tolist()),
        used=few.q.shape,
        full=table.q.shape,
        next_steps=steps(name, causes[0].strength.shape),
        seconds=time.perf_counter() - start,
        places=likeness.places.astype(np.float32),
        place_of=np.array([order.index(sets.variants[v].cause) for v in sets.of], np.float32),
        null_places=likeness.null_places.astype(np.float32),
    )


def _verdict(likeness: Likeness, p: float, faults: Sequence[repeats.Fault]) -> tuple[str, str]:
    """The cause, `unclear` or `none`; and why it is unclear, else an empty text."""
    if p > LEVEL:
        return "none", ""
    if faults:  # a chain is wider or narrower than its draws, whatever q is
        return "unclear", "draws"
    (first, weight), (_, then) = list(likeness.weights.items())[:2]
    if p > STRONG:
        return "unclear", "weak"
    if weight < _LEAST_WEIGHT or weight < _CLEARLY * then:
        return "unclear", "several"
    if likeness.apart[first] > _FARTHEST:
        return "unclear", "far"
    return first, ""


def _contractions(points: Array) -> Array:
    """Share of the variance that lies between rows (n, K, D), from quantiles: (D,)."""
    low, middle, high = np.quantile(points, [0.16, 0.5, 0.84], axis=1)
    within = np.median(np.square((high - low) / 2), axis=0)
    low, high = np.quantile(middle, [0.16, 0.84], axis=0)
    # The median of K draws varies by pi / 2 of their variance over K.
    between = np.maximum(np.square((high - low) / 2) - within * np.pi / 2 / points.shape[1], 0)
    return np.asarray(between / np.maximum(between + within, 1e-300))


def _renamed(finding: Finding, columns: NDArray[np.intp]) -> Finding:
    """With its place among all parameters instead of those looked at."""
    return replace(finding, at=tuple(int(columns[i]) for i in finding.at))
