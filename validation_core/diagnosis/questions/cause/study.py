"""Find the likely cause: by a statistic of its own, or by likeness to injected tables."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from validation_core.diagnosis.questions.base import LEVEL, TableStudy
from validation_core.diagnosis.questions.cause import findings, own_nulls
from validation_core.diagnosis.questions.cause.advice import steps_for
from validation_core.diagnosis.questions.cause.findings import Finding
from validation_core.diagnosis.questions.cause.missed_mode import far_group
from validation_core.diagnosis.questions.cause.prepared_table import (
    PARAMETERS,
    PreparedTable,
    subsample,
)
from validation_core.diagnosis.questions.cause.reference_sets import (
    ReferenceSets,
    build_reference_sets,
    refine_reference_sets,
)
from validation_core.diagnosis.questions.cause.result import (
    APART,
    Candidate,
    LikelyCause,
    Strength,
)
from validation_core.diagnosis.questions.cause.screening import LABELLINGS, screening
from validation_core.diagnosis.questions.cause.similarity import (
    CauseSimilarity,
    classify_cause,
    null_pvalue,
)
from validation_core.diagnosis.questions.cause.variants import Variant
from validation_core.study import Report
from validation_core.tables import TableUpload, repeats
from validation_core.types import Array, PosteriorTable

if TYPE_CHECKING:
    from validation_core.store import Store


STRONG = 0.01
"""p-values up to which something is off at all, and up to which a cause is named."""
_LEAST_WEIGHT, _CLEARLY = 0.45, 1.5  # a cause needs to be named, and times the next one's
_FARTHEST = 3.5  # typical distances within a cause's injected tables beyond which it is not named
_WIDTHS = ("too_wide", "too_narrow")
_DETAILED = 3  # causes whose evidence is worked out


@dataclass(frozen=True, kw_only=True)
class CauseStudy(TableStudy[LikelyCause], spec="cause"):
    """A table beside injected ones."""

    version: ClassVar[int] = 5
    about: ClassVar[str] = "Likely cause"

    def answer(self, upload: TableUpload, store: Store, report: Report) -> LikelyCause:
        """The likely cause of what is off in this table."""
        del store
        return find_likely_cause(upload.data, self.seed, report, upload.as_came)


def find_likely_cause(
    table: PosteriorTable,
    seed: int,
    report: Report = lambda fraction, live: None,
    came: PosteriorTable | None = None,
) -> LikelyCause:
    """The likely cause of what is off in a table, or that none or no single one is.

    Args:
        table: its draws count equally.
        seed: of the result.
        report: called with the fraction done.
        came: the table with weighted draws as they came, in which faults are sought.
    """
    start = time.perf_counter()
    many = table.q.shape[2]
    screened = screening(table, seed) if many > PARAMETERS else None
    chosen = None if screened is None else np.sort(screened.order[:PARAMETERS])
    few, columns = subsample(table, seed, chosen)
    ready = PreparedTable.of(few, seed)
    coarse, injector = build_reference_sets(
        ready, report=lambda done: report(0.05 + 0.65 * done, {})
    )
    contraction = float(_contractions(ready.ranked.points).min())
    near = classify_cause(coarse, contraction).close
    sets = refine_reference_sets(
        coarse, injector, near, lambda done: report(0.7 + 0.25 * done, {})
    )
    likeness = classify_cause(sets, contraction)
    # Parameters that were chosen by how they stand out are no longer exchangeable with null ones.
    p = null_pvalue(sets.null) if screened is None else screened.pvalue
    faults = tuple(repeats.faults(came or table))
    direct = _told_directly(ready, sets) if p <= STRONG and not faults else None
    name, why = _verdict(likeness, p, faults, direct, ready)
    tails = own_nulls.clearly_tailed(ready) if _only_a_width(name, sets, likeness) else None
    if tails is not None:
        # A width and tails are alike to ranks; what no width decides goes first.
        pieces = findings.cause_findings(tails, ready)
        name, direct = tails, _Direct(tails, _of_finding(pieces[0], "reach"), pieces)
    order = sorted(likeness.weights, key=lambda cause: cause != name)
    causes = tuple(
        _candidate(cause, sets, likeness, direct, ready, columns if i < _DETAILED else None)
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
            for departure in findings.find_departures(ready, many)
        ),
        shapes=own_nulls.shapes(ready),
        nulls=len(sets.null) - 1 if screened is None else LABELLINGS,
        injected=len(sets.injected),
        contraction=contraction,
        parameters=tuple(columns.tolist()),
        logs=tuple(int(columns[j]) for j in ready.ranked.logs),
        used=few.q.shape,
        full=table.q.shape,
        next_steps=steps_for(name, causes[0].strength.shape),
        seconds=time.perf_counter() - start,
        places=likeness.places.astype(np.float32),
        place_of=np.array([order.index(sets.variants[v].cause) for v in sets.of], np.float32),
        null_places=likeness.null_places.astype(np.float32),
    )


class _Direct(NamedTuple):
    """A cause that a statistic of its own names, without likeness to injected tables."""

    cause: str
    strength: Strength
    evidence: tuple[Finding, ...]


def _told_directly(table: PreparedTable, sets: ReferenceSets) -> _Direct | None:
    """The cause that a statistic of its own names; None where none does.

    Draws beyond a sharp end of the true values, true values apart from all draws, a mode of q
    that they are never in, or true values from a proposal.
    """
    if found := own_nulls.leak(table, sets.pvalue("leak_max")):
        evidence = findings.leaking(table, found.parameter)
        return _Direct("support_leak", _of_finding(evidence[0], "share of q"), evidence)
    if (apart := far_group(table)) is not None:
        finding, over_x = apart
        if not over_x:
            return _Direct("missing_mode", _of_finding(finding, "share of the truth"), (finding,))
        pieces = findings.cause_findings("bias", table)
        value, low, high = (
            abs(pieces[0].value),
            *sorted((abs(pieces[0].low), abs(pieces[0].high))),
        )
        return _Direct("bias", Strength(value, low, high, "sd", "part"), pieces)
    if (group := own_nulls.spurious_group(table)) is not None:
        finding = findings.in_minor(*group)
        theirs = replace(finding, value=group.share, low=group.share, high=group.share)
        others = (
            one for one in findings.cause_findings("spurious_mode", table) if one.what != "minor"
        )
        return _Direct("spurious_mode", _of_finding(theirs, "share of q"), (finding, *others))
    if own_nulls.from_proposal(table, sets.pvalue("spread_min", low=True)):
        pieces = findings.cause_findings("proposal", table)
        return _Direct("proposal", _of_finding(pieces[0], "share of the prior"), pieces)
    return None


def _of_finding(finding: Finding, unit: str) -> Strength:
    return Strength(finding.value, finding.low, finding.high, unit, APART)


def _candidate(
    cause: str,
    sets: ReferenceSets,
    likeness: CauseSimilarity,
    direct: _Direct | None,
    table: PreparedTable,
    columns: NDArray[np.intp] | None,
) -> Candidate:
    """A cause beside the table; its evidence where the parameters' own places are given."""
    own = direct if direct is not None and direct.cause == cause else None
    shape = sets.variants[likeness.variant[cause]]
    evidence: tuple[Finding, ...] = ()
    if columns is not None:
        pieces = own.evidence if own else findings.cause_findings(cause, table)
        evidence = tuple(_renamed(finding, columns) for finding in pieces)
    return Candidate(
        cause=cause,
        weight=float(likeness.weights[cause]),
        apart=float(likeness.apart[cause]),
        share=float(likeness.shares.get(cause, 0.0)),
        strength=(
            own.strength
            if own
            else Strength(
                *likeness.strength[cause],
                unit=shape.unit,
                shape=_seen_shape(shape, table) if columns is not None else shape.name,
            )
        ),
        evidence=evidence,
    )


def _only_a_width(cause: str, sets: ReferenceSets, likeness: CauseSimilarity) -> bool:
    """Whether a cause is one width for all x."""
    shapes = sets.variants[likeness.variant[cause]].name if cause in _WIDTHS else ""
    return shapes in ("all", "one")


def _seen_shape(shape: Variant, table: PreparedTable) -> str:
    """The shape that a bias has over x, whatever shape of injected ones it is most like."""
    if shape.cause != "bias":
        return shape.name
    over_x = own_nulls.bias_over_x(table)
    if over_x is None:
        return shape.name if shape.name in ("all", "one", "white") else "all"
    return "part" if "part" in (over_x, shape.name) else over_x


def _verdict(
    likeness: CauseSimilarity,
    p: float,
    faults: Sequence[repeats.Fault],
    direct: _Direct | None,
    table: PreparedTable,
) -> tuple[str, str]:
    """The cause, `unclear` or `none`; and why it is unclear, else an empty text."""
    if p > LEVEL:
        return "none", ""
    if faults:  # a chain is wider or narrower than its draws, whatever q is
        return "unclear", "draws"
    if direct is not None:
        return direct.cause, ""
    if p > STRONG:
        return "unclear", "weak"
    weights = {c: w for c, w in likeness.weights.items() if not _ruled_out(c, table)}
    (first, weight), (_, then) = list(weights.items())[:2]
    if weight < _LEAST_WEIGHT * sum(weights.values()) or weight < _CLEARLY * then:
        return "unclear", "several"
    if likeness.apart[first] > _FARTHEST:
        return "unclear", "far"
    if not own_nulls.supports_cause(first, table):
        return "unclear", "unseen"
    return first, ""


def _ruled_out(cause: str, table: PreparedTable) -> bool:
    """Whether a cause has statistics of its own that do not see it, however like it a table is."""
    if cause in ("support_leak", "proposal"):
        return True  # they would have told it before
    return cause in ("missing_mode", "spurious_mode") and not own_nulls.supports_cause(
        cause, table
    )


def _contractions(points: Array) -> Array:
    """Share of the variance that lies between rows (n, K, D), from quantiles: (D,)."""
    low, middle, high = np.quantile(points, [0.16, 0.5, 0.84], axis=1)
    within = np.median(np.square((high - low) / 2), axis=0)
    low, high = np.quantile(middle, [0.16, 0.84], axis=0)
    # The median of K draws varies by pi / 2 of their variance over K.
    between = np.maximum(np.square((high - low) / 2) - within * np.pi / 2 / points.shape[1], 0)
    return np.asarray(between / np.maximum(between + within, 1e-300))


def _renamed(finding: Finding, columns: NDArray[np.intp]) -> Finding:
    """A finding with the places of its parameters among all, not among those looked at."""
    return replace(finding, at=tuple(int(columns[i]) for i in finding.at))
