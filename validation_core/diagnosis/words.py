"""A verdict in words: never that q is right, never a p-value of 0."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from validation_core.diagnosis.records import SMALLEST

if TYPE_CHECKING:
    from validation_core.diagnosis.records import Record
    from validation_core.diagnosis.verdict import Diagnosis

ENOUGH = 0.5
"""Shift in posterior sds that a silent test must have been able to see to count as an answer."""

_SURE = 2.0  # half widths of a 95% interval, beyond which chance does not reach
_SOME = 1e-3  # nats: float32 rounds to less
_LONG = 1e6  # nats from which on digits are too many to read
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
    said = _FINDINGS.get(record.name)
    own = said(record, x_names) if said else ()
    return (*own, *_relabeled(record))


def ball(record: Record, x_names: Sequence[str] = ()) -> tuple[str, ...]:
    """What CoLT found, in sentences; none for other methods or where it did not run."""
    del x_names
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


def distances(records: Sequence[Record]) -> tuple[str, ...]:
    """How far q is from the truth by CoLT's measure, in a sentence; none where it did not run."""
    return tuple(
        f"CoLT's d~, the largest difference between the truth's mass and q's over balls around "
        f"the learned centre: {record.statistic:.3f} [{record.effect['low']:.3f}, "
        f"{record.effect['high']:.3f}]; 0 if q were right."
        for record in records
        if record.name == "colt" and record.status == "ran"
    )


def _coverage(record: Record, x_names: Sequence[str]) -> tuple[str, ...]:
    del x_names
    told = record.effect
    said = told["reading"]
    word = f"q is {said}" if said != "neither" else "neither over- nor under-confident"
    return (
        f"Area between expected coverage and level (ATC): {_signed(told['atc'])} "
        f"[{_signed(told['atc_low'])}, {_signed(told['atc_high'])}]; by this 95% interval alone, "
        f"{word}.",
    )


def _divergence(record: Record, x_names: Sequence[str]) -> tuple[str, ...]:
    del x_names
    told = record.effect
    return (
        f"Divergence of q's draws from the truth, as far as this score tells them apart: "
        f"{_signed(told['divergence'])} nats [{_signed(told['divergence_low'])}, "
        f"{_signed(told['divergence_high'])}], a 95% interval; 0 is guessing, "
        f"{told['divergence_most']:.2f} the most there can be.",
    )


def _symmetric(record: Record, x_names: Sequence[str]) -> tuple[str, ...]:
    del x_names
    return nats(record.effect)


def nats(told: Mapping[str, Any]) -> tuple[str, ...]:
    """A symmetric divergence in sentences, from the numbers of its record."""
    rows = told["k"] + told["infinite"]
    drawn = "one draw" if told["draws"] == 1 else f"{told['draws']:,} draws"
    said = [
        f"Symmetric divergence KL(p || q) + KL(q || p), mean over x: {_nats(told['skl'])} nats "
        f"[{_ends(told, 'ci')}], from {told['k']:,} simulations with {drawn} of q at each; by the "
        f"bootstrap [{_ends(told, 'boot')}]; median of its terms {_nats(told['median'])}, "
        f"largest {_nats(told['largest'])}.",
        f"log p / q is higher at the truth than at a draw of q in {_percent(told, 'auc')} of "
        f"pairs at the same x; 50% if q were right.",
    ]
    if told["skl"] + _SURE * (told["ci_high"] - told["skl"]) < -_SOME:
        said.append(
            "No divergence is below 0, and this is, by more than chance: the log densities do not "
            "belong together. Are log p and log q exchanged, in different coordinates, or off by "
            "a constant at the truths that the draws lack?"
        )
    if told["infinite"]:
        said.append(
            f"In {told['infinite']:,} of {rows:,} rows a log density is not finite: there the "
            f"divergence is infinite, and the number is that of the other rows."
        )
    if told["heavy"]:
        said.append(
            f"Its terms have a heavy tail (Pareto k = {told['tail']:.2f}, above 0.5): few rows "
            f"carry the mean, and the intervals are too short. The p-value stays valid."
        )
    return tuple(said)


def _ends(told: Mapping[str, Any], name: str) -> str:
    return f"{_nats(told[f'{name}_low'])}, {_nats(told[f'{name}_high'])}"


def _nats(value: float) -> str:
    text = f"{value:.3f}" if abs(value) < _LONG else f"{value:.4g}"
    return f"−{text[1:]}" if value < 0 else text


def _difference(record: Record, x_names: Sequence[str]) -> tuple[str, ...]:
    del x_names
    told = record.effect
    took = f" It was learnt in {told['training_seconds']:.1f} s on rows that no test reads."
    return (f"The witness is higher under p than under q by {_signed(told['tau'])}.{took}",)


def _local(record: Record, x_names: Sequence[str]) -> tuple[str, ...]:
    told = record.effect
    x = told.get("x_o", [])
    called = x_names if len(x_names) == len(x) else [f"x_{i + 1}" for i in range(len(x))]
    values = ", ".join(f"{name} = {value:.3g}" for name, value in zip(called, x, strict=True))
    points = len(told.get("rows", [0]))
    where = (
        "Looked at one held-out observation, the nearest to the median of x:" if points == 1
        else f"Looked at the {points} held-out observations nearest to the median of x, the worst "
        "of which is"
    )  # fmt: skip
    return (
        f"{where} row {told['row']}, counted from 0{f' ({values})' if values else ''}. There T, "
        f"the mean squared distance from 1/2 of the learned chance that a draw is the truth, is "
        f"{told['T']:.3g}. Its classifiers learnt from the rows that are not held out.",
    )


def _relabeled(record: Record) -> tuple[str, ...]:
    told = record.effect
    if "relabelings" not in told:
        return ()
    least = pvalue_text(told["least_pvalue"])
    return (f"p is from {told['relabelings']:,} relabelings, so that none is below {least}.",)


_FINDINGS: Mapping[str, Callable[[Record, Sequence[str]], tuple[str, ...]]] = {
    "colt": ball, "tarp": _coverage, "skl": _symmetric, "dc": _divergence, "automl": _difference,
    "lc2st": _local,
}  # fmt: skip


def _signed(value: float) -> str:
    return f"{value:+.3f}".replace("-", "−")


def _percent(told: Mapping[str, Any], name: str) -> str:
    low, high = (100 * told[f"{name}_{end}"] for end in ("low", "high"))
    return f"{100 * told[name]:.1f}% [{low:.1f}, {high:.1f}]"


def remark(record: Record, *, tests: int = 1, alpha: float = 1.0) -> str | None:
    """What makes a method's answer weaker than it looks, if anything.

    Args:
        record: of one method.
        tests: that Holm's correction is over.
        alpha: the level of all of them.
    """
    if record.status != "ran":
        return None
    told = record.effect
    least = told.get("least_pvalue", 0.0)
    if tests * least > alpha:
        return (
            f"{record.label} cannot reject by itself at level {100 * alpha:.3g}%: from "
            f"{told['relabelings']:,} relabelings no p is below {pvalue_text(least)}, and the "
            f"correction for {tests} tests multiplies it. Ask for more relabelings or fewer tests."
        )
    tied = told.get("tied", 0.0)
    if tied <= _TIED:
        return None
    place = "the reference" if record.name == "tarp" else "the centre"
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
    named = [f"{one.name}: {one.reading}" for one in found.flagged[:_NAMED]]
    return " ".join([rejection(found), *([f"By rank, {'; '.join(named)}."] if named else [])])


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
    one = " in one parameter" if found.claims is not None else ""
    p = f" (p {equals(found.claims.pvalue)})" if found.claims is not None else ""
    return (
        f"No evidence against q{p}: a test of this size{best} would have caught a shift of "
        f"{found.shift.size:.2f} posterior sd{one} with {found.shift.power:.0%} power."
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
