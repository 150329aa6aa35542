"""A comparison of several tables in words."""

from __future__ import annotations

from collections.abc import Sequence

from validation_core.diagnosis.comparison.differences import Measure
from validation_core.diagnosis.comparison.nearest import Ranking
from validation_core.diagnosis.questions.base import LEVEL
from validation_core.methods.base import kind_of
from validation_core.text import equals, interval_text, list_text
from validation_core.types import Interval

_QUOTED = 3  # tables whose distance a sentence quotes


def headline(ranking: Ranking, labels: Sequence[str]) -> tuple[str, str]:
    """Which table is nearest, or that the data cannot tell; and by how much."""
    nearest = labels[ranking.order[0]]
    by = [f"{number(ranking.behind[i])} lower than that of {labels[i]}" for i in ranking.farther]
    rest = len(by) - _QUOTED
    quoted = list_text([*by[:_QUOTED], *[f"lower than those of {rest} more"] * (rest > 0)])
    sure = "(95% intervals, for all pairs together)"
    if not ranking.tied:
        return (
            f"Nearest to the true posterior: {nearest}.",
            f"Its energy score is {quoted} {sure}.",
        )
    tied = [nearest, *(labels[i] for i in ranking.tied)]
    apart = number(ranking.behind[ranking.tied[0]])
    behind = f"; that of {nearest} is {quoted}" if by else ""
    return (
        f"The data cannot tell which is nearest to the true posterior: {list_text(tied, 'or')}.",
        f"The energy scores of {tied[0]} and {tied[1]} are {apart} apart{behind} {sure}.",
    )


def right_text(ranking: Ranking, labels: Sequence[str], pvalues: Sequence[float | None]) -> str:
    """Whether the nearest table is right, as far as its own tests tell; empty without tests.

    Args:
        ranking: of the tables.
        labels: their names.
        pvalues: from `rejections`.
    """
    first = (ranking.order[0], *ranking.tied)
    known = [(labels[i], p) for i in first if (p := pvalues[i]) is not None]
    wrong = [(label, p) for label, p in known if p <= LEVEL]
    if not known:
        return ""
    if not wrong:
        one, p = ("it", known[0][1]) if len(first) == 1 else ("them", min(p for _, p in known))
        return (
            f"Tests of {one} alone find no problem (p {equals(p)}, adjusted for all tests of all "
            f"tables). That does not show that {'it is' if len(first) == 1 else 'one is'} right."
        )
    listed = list_text([f"{label} (p {equals(p)})" for label, p in wrong])
    if len(first) == 1:
        return (
            f"It is not right all the same: tests of it alone reject it (p {equals(wrong[0][1])}, "
            "adjusted for all tests of all tables)."
        )
    return f"Not right all the same, by tests adjusted for all tests of all tables: {listed}."


def describe(
    measures: Sequence[Measure], labels: Sequence[str], reference: int = 0
) -> tuple[str, ...]:
    """For each other table, whether it is nearer than the reference, by every measure."""
    others = (other for other in range(len(labels)) if other != reference)
    return tuple(_against_other(measures, labels, reference, other) for other in others)


def _against_other(
    measures: Sequence[Measure], labels: Sequence[str], reference: int, other: int
) -> str:
    closer = {m.name: m.closer(other) for m in measures}
    a, b = labels[reference], labels[other]
    better = [m for m in measures if closer[m.name] is True]
    worse = [m for m in measures if closer[m.name] is False]
    if not better and not worse:
        gap = f", by {_gap(measures[0], other)}" if measures else ""
        return f"{b} and {a} cannot be told apart by these {len(measures)} measures{gap}."
    if better and worse:
        return (
            f"{b} is nearer than {a} by {_against(better[0], reference, other)}, but farther by "
            f"{_against(worse[0], reference, other)}."
        )
    word, of = ("nearer", better) if better else ("farther", worse)
    rest = len(measures) - len(of)
    unsure = f" {rest} of {len(measures)} measures cannot tell." if rest else ""
    first = next((m for m in of if kind_of(m.name).localizes), of[0])  # it looks for the worst
    return f"{b} is {word} than {a}: {_against(first, reference, other)}.{unsure}"


def _against(m: Measure, reference: int, other: int) -> str:
    return f"{m.title} {number(m.values[other])} against {number(m.values[reference])}"


def _gap(m: Measure, other: int) -> str:
    return f"{m.title} {number(m.differences[other])} apart"


def number(value: Interval) -> str:
    """An estimate with its interval, to read: with as many digits as tell its ends from 0."""
    ends = [abs(end) for end in value if end]
    digits = next(
        (digits for digits in range(3, 6) if min(ends, default=1) >= 0.5 * 10**-digits), 6
    )
    return interval_text(value, f".{digits}f")
