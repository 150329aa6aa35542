"""A verdict in words: never that q is right, never a p-value of 0."""

from __future__ import annotations

import math
from collections.abc import Mapping
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


def ball(record: Record) -> tuple[str, ...]:
    """What CoLT found, in sentences; none for other methods or where it did not run."""
    if record.name != "colt" or record.status != "ran":
        return ()
    told = record.effect
    return (
        f"q puts {told['u_star']:.0%} of its mass into the ball around the learnt centre; the "
        f"truth lies inside in {_percent(told, 'inside')} of the simulations that did not choose "
        f"it.",
        f"Estimate of the Kolmogorov distance d~ for the learned ball: {record.statistic:.3f} "
        f"[{told['low']:.3f}, {told['high']:.3f}].",
        f"Centre and embedding were learnt on rows that no test reads, in "
        f"{told['training_seconds']:.1f} s; on rows held out meanwhile the distance was "
        f"{told['localizer_distance']:.3f}. Brackets are 95% intervals.",
    )


def _percent(told: Mapping[str, float], name: str) -> str:
    low, high = (100 * told[f"{name}_{end}"] for end in ("low", "high"))
    return f"{100 * told[name]:.1f}% [{low:.1f}, {high:.1f}]"


def remark(record: Record) -> str | None:
    """What makes a method's answer weaker than it looks, if anything."""
    tied = record.effect.get("tied", 0.0)
    if tied <= _TIED:
        return None
    return (
        f"{record.label}: {tied:.0%} of the truths are exactly as far from the centre as a draw "
        f"of q. Such ties are broken at random, so that the test stays valid but sees less: are "
        f"the draws rounded, repeated or constant?"
    )


def sentence(found: Diagnosis) -> str:
    """What was found and how sure that is."""
    if found.verdict == "problem found":
        return _problem(found)
    if found.pending:
        return f"No test rejects q so far; {found.pending} still to answer."
    if found.verdict == "not enough data":
        return _too_little(found)
    return _silent(found)


def _problem(found: Diagnosis) -> str:
    titles = {record.label: record.title for record in found.records}
    label = min(found.adjusted, key=lambda each: found.adjusted[each])
    tests = len(found.adjusted) + found.pending
    said = (
        f"At level {100 * found.alpha:.3g}% the truth and q's draws differ: {titles[label]} gives "
        f"p {equals(found.adjusted[label])}"
        f"{f', adjusted for {tests} tests' if tests > 1 else ''}."
    )
    named = [f"{one.name}: {one.reading}" for one in found.flagged[:_NAMED]]
    return " ".join([said, *([f"By rank, {'; '.join(named)}."] if named else [])])


def _silent(found: Diagnosis) -> str:
    assert found.shift is not None
    best = "" if found.shift.test == "sbc" else ", with the best possible classifier,"
    return (
        f"No evidence against q: a test of this size{best} would have caught a shift of "
        f"{found.shift.size:.2f} posterior sd with {found.shift.power:.0%} power."
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
