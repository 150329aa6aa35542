"""A verdict in words: never that q is right, never a p-value of 0."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from validation_core.diagnosis.records import SMALLEST

if TYPE_CHECKING:
    from validation_core.diagnosis.records import Record
    from validation_core.diagnosis.verdict import Diagnosis

ENOUGH = 0.5
"""Shift in posterior sds that a silent test must have been able to see to count as an answer."""

_NAMED = 3  # parameters named in the sentence; the table has them all
_TIED = 0.01  # share of truths that tie with a draw above which something has collapsed


def pvalue_text(p: float | None) -> str:
    """A p-value to read: two digits, and never 0."""
    if p is None:
        return "–"
    if p <= SMALLEST:
        return "< 1e-300"
    if p < 1e-3:
        mantissa, _, exponent = f"{p:.1e}".partition("e")
        return f"{mantissa}e{int(exponent)}"
    return f"{p:.2g}" if p < 0.995 else "1"


def equals(p: float | None) -> str:
    """A p-value with its sign, to follow a letter: `= 0.034`, `< 1e-300`."""
    text = pvalue_text(p)
    return text if text.startswith("<") else f"= {text}"


def findings(record: Record, x_names: Sequence[str] = ()) -> tuple[str, ...]:
    """What a method found beyond its p-value, in sentences; none where it found none.

    They may hold names a user chose: escape them where they are drawn.
    """
    if record.status != "ran":
        return ()
    return (*record.kind.findings(record, x_names), *_relabeled(record))


def distances(records: Sequence[Record]) -> tuple[str, ...]:
    """How far q is from the truth by CoLT's measure, in a sentence; none where it did not run."""
    return tuple(
        f"CoLT's d~, the largest difference between the truth's mass and q's over balls around "
        f"the learned centre: {record.statistic:.3f} [{record.effect['low']:.3f}, "
        f"{record.effect['high']:.3f}]; 0 if q were right."
        for record in records
        if record.kind.localizes and record.status == "ran"
    )


def _relabeled(record: Record) -> tuple[str, ...]:
    effect = record.effect
    if "relabelings" not in effect:
        return ()
    least = pvalue_text(effect["least_pvalue"])
    return (f"p is from {effect['relabelings']:,} relabelings, so that none is below {least}.",)


def remark(record: Record, *, tests: int = 1, alpha: float = 1.0) -> str | None:
    """What makes a method's answer weaker than it looks, if anything.

    Args:
        record: of one method.
        tests: that Holm's correction is over.
        alpha: the level of all of them.
    """
    if record.status != "ran":
        return None
    effect = record.effect
    least = effect.get("least_pvalue", 0.0)
    if tests * least > alpha:
        return (
            f"{record.label} cannot reject by itself at level {100 * alpha:.3g}%: from "
            f"{effect['relabelings']:,} relabelings no p is below {pvalue_text(least)}, and the "
            f"correction for {tests} tests multiplies it. Ask for more relabelings or fewer tests."
        )
    tied = effect.get("tied", 0.0)
    if tied <= _TIED:
        return None
    place = record.kind.about
    return (
        f"{record.label}: {tied:.0%} of the truths are exactly as far from {place} as a draw "
        f"of q. Such ties are broken at random, so that the test stays valid but sees less: are "
        f"the draws rounded, repeated or constant?"
    )


def sentence(found: Diagnosis) -> str:
    """What was found and how sure that is."""
    if found.verdict == "problem found":
        return _problem(found)
    if found.pending:
        return f"Nothing speaks against q so far; {found.pending} still to answer."
    if found.verdict == "not enough data":
        return _too_little(found)
    return _silent(found)


def _problem(found: Diagnosis) -> str:
    readings = [f"{parameter.name}: {parameter.reading}" for parameter in found.flagged[:_NAMED]]
    return " ".join(
        [rejection(found), *([f"By rank, {'; '.join(readings)}."] if readings else [])]
    )


def rejection(found: Diagnosis) -> str:
    """What rejects q most clearly, in a sentence without what ranks look like."""
    if found.claims is not None:
        upload = found.upload
        return (
            f"At level {100 * found.alpha:.3g}% the truth and q's draws differ "
            f"(p {equals(found.claims.pvalue)}, exact over everything that was looked at). What "
            f"stands out most: {found.claims.clearest(upload.names, upload.x_names)}."
        )
    titles = {record.label: record.title for record in found.records}
    label = min(found.adjusted, key=lambda each: found.adjusted[each])
    tests = len(found.adjusted) + found.pending
    return (
        f"At level {100 * found.alpha:.3g}% the truth and q's draws differ: {titles[label]} gives "
        f"p {equals(found.adjusted[label])}"
        f"{f', adjusted for {tests} tests' if tests > 1 else ''}."
    )


def _silent(found: Diagnosis) -> str:
    if found.shift is None:
        return (
            "No test rejects q. What shift these would have caught is not known: SBC or Multiple "
            "beside them would tell."
        )
    best = ", with the best possible classifier," if found.shift.test == "multiple" else ""
    where = " in one parameter" if found.claims is not None else ""
    p = f" (p {equals(found.claims.pvalue)})" if found.claims is not None else ""
    return (
        f"No evidence against q{p}: a test of this size{best} would have caught a shift of "
        f"{found.shift.size:.2f} posterior sd{where} with {found.shift.power:.0%} power."
    )


def _too_little(found: Diagnosis) -> str:
    if found.shift is None:
        return "No test could run on what was read."
    # A detectable shift falls with the square root of the rows.
    rows = math.ceil(found.upload.n * (found.shift.size / ENOUGH) ** 2 / 10) * 10
    return (
        f"No test rejects q, but one of this size catches with {found.shift.power:.0%} power only "
        f"a shift of {found.shift.size:.2g} posterior sd or more. About {rows} rows would show "
        f"one of {ENOUGH:g}."
    )
