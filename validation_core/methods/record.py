"""Result of one method on an upload: numbers, and sentences about them.

No sentence says that q is right, and none a p-value of 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Literal

import numpy as np

from validation_core.codec import dump, fields_to_json, load, shown
from validation_core.keys import JSON
from validation_core.methods.base import Method, kind_of
from validation_core.text import SMALLEST, interval_text, level_text, pvalue_text
from validation_core.types import Array, Integers, Outcome

LISTED = 20
"""Numbers of an observation that a reader of JSON can use."""
_FEW_DRAWS = 50  # at each x: from there on a law of ranks is within 1% of the exact one
_TIED = 0.01  # share of truths that tie with a draw above which something has collapsed
Effect = float | str
"""One effect of an outcome beyond the p-value: a number, or a word."""


@dataclass(frozen=True, kw_only=True)
class Effects:
    """Effects beyond the p-value and how they were computed; JSON omits empty fields."""

    numbers: Mapping[str, bool | int | float] = field(default_factory=dict)
    """Of the outcome, by the names that its method gives them."""
    words: Mapping[str, str] = field(default_factory=dict)
    classifier_auc: float | None = None
    """Of the classifier that several methods share, on rows set aside while it was trained."""
    localizer_distance: float | None = None
    """On rows set aside while the localizer was trained."""
    training_seconds: float | None = None
    relabelings: int | None = None
    least_pvalue: float | None = None
    """The smallest p-value that there can be from so many."""
    row: int | None = None
    """Where a local test found most: the place in the upload, counted from 0."""
    x_o: tuple[float, ...] | None = None
    """The observation there; None where it is too long to be read."""
    rows: tuple[int, ...] | None = None
    """All places where it looked, if there were several."""
    scores: tuple[str, ...] | None = None
    """Learned scores that relabelling read."""
    whole: bool | None = None
    """Whether these are all that there will be."""
    claims: int | None = None
    quantities: tuple[str, ...] | None = None
    """Names of the user's own test quantities that it ranked."""

    @classmethod
    def of(cls, effects: Mapping[str, JSON]) -> Effects:
        """Effects from the output of `to_json`."""
        known = {name: value for name, value in effects.items() if name in _FACTS}
        others = {name: value for name, value in effects.items() if name not in _FACTS}
        words = {name: value for name, value in others.items() if isinstance(value, str)}
        numbers = {name: value for name, value in others.items() if name not in words}
        return load(cls, {}, {"numbers": numbers, "words": words, **known})

    def to_json(self) -> dict[str, JSON]:
        """All effects as one object."""
        facts = {name: getattr(self, name) for name in _FACTS}
        known = {name: fact for name, fact in facts.items() if fact is not None}
        return dump({**self.numbers, **self.words, **known})[1]


_FACTS = tuple(f.name for f in fields(Effects) if f.name not in ("numbers", "words"))
_NONE = Effects()


@dataclass(frozen=True, eq=False)
class Record:
    """One row of a diagnosis; `arrays` hold the numbers of its figure.

    Examples:
        >>> (record,) = npt.diagnose(table, methods="sbc", questions="none").diagnosis.records
        >>> record.label, record.status, round(record.pvalue, 4)
        ('SBC', 'ran', 0.0019)
    """

    name: str
    label: str
    title: str
    status: Literal["ran", "not run"]
    reason: str | None = None
    about: str = ""
    """Name of the statistic, as the method states it."""
    statistic: float | None = None
    pvalue: float | None = None
    draws_p: int = 0
    draws_q: int = 0
    seconds: float = 0.0
    effect: Effects = field(default_factory=Effects)
    arrays: Mapping[str, Array] = field(default_factory=dict, metadata=shown(hidden=True))

    @classmethod
    def not_run(cls, method: Method, reason: str) -> Record:
        """A method that these draws cannot serve."""
        return cls(method.name, method.label, method.title, "not run", reason, method.statistic)

    @classmethod
    def ran(
        cls,
        method: Method,
        outcome: Outcome,
        seconds: float,
        effect: Effects = _NONE,
        arrays: Mapping[str, Array] | None = None,
    ) -> Record:
        """A method's outcome on one upload, no leading axes; `arrays` join the outcome's own."""
        return cls(
            name=method.name,
            label=method.label,
            title=method.title,
            status="ran",
            about=method.statistic,
            statistic=float(outcome.statistic),
            pvalue=max(float(outcome.pvalue), SMALLEST),
            draws_p=int(outcome.budget.p),
            draws_q=int(outcome.budget.q),
            seconds=seconds,
            effect=Effects.of({**outcome.effect, **_numbers(outcome.arrays), **effect.to_json()}),
            arrays={**outcome.arrays, **(arrays or {})},
        )

    @property
    def kind(self) -> type[Method]:
        """Its method; `Method` itself for one that no longer exists."""
        return kind_of(self.name)

    def at_saved_rows(self, saved: Integers | None) -> Record:
        """The record with places of rows among those that were saved.

        Args:
            saved: place of each row that was tested; None where none was left out.
        """
        row, rows = self.effect.row, self.effect.rows
        if saved is None or row is None:
            return self
        several = None if rows is None else tuple(int(saved[one]) for one in rows)
        return replace(self, effect=replace(self.effect, row=int(saved[row]), rows=several))

    def to_json(self) -> dict[str, JSON]:
        """All but the arrays."""
        return fields_to_json(self)


def _numbers(arrays: Mapping[str, Array]) -> dict[str, float]:
    """Arrays of a single number are effects as well; values that are not finite are left out."""
    single = {name: float(a) for name, a in arrays.items() if np.ndim(a) == 0}
    return {name: value for name, value in single.items() if np.isfinite(value)}


def findings(record: Record, x_names: Sequence[str] = ()) -> tuple[str, ...]:
    """Findings of a method beyond its p-value, in sentences; empty where there are none.

    They may hold names a user chose: escape them where they are drawn.
    """
    if record.status != "ran":
        return ()
    return (*record.kind.findings(record, x_names), *_relabeled(record))


def _distance(record: Record) -> str:
    """CoLT's distance with its interval."""
    numbers = record.effect.numbers
    assert record.statistic is not None
    return interval_text((record.statistic, numbers["low"], numbers["high"]), ".3f")


def few_draws_text(record: Record) -> str:
    """That ranks among few draws at each x bring laws of ranks nearer to uniform; empty if not.

    A rank among K draws is a random function of the true one, and none moves two laws apart.
    """
    k = record.draws_q // max(1, record.draws_p)
    if k >= _FEW_DRAWS:
        return ""
    return f" Ranked among {k} draws at each x it comes out too small, if anything."


def distance_sentences(records: Sequence[Record]) -> tuple[str, ...]:
    """How far q is from the truth by CoLT's measure, in a sentence; none where it did not run."""
    return tuple(
        "CoLT's d~, the largest difference between p's mass and q's over regions around the "
        f"learned centre: {_distance(record)}; 0 if q were correct."
        f"{few_draws_text(record)}"
        for record in records
        if record.kind.localizes and record.status == "ran"
    )


def _relabeled(record: Record) -> tuple[str, ...]:
    effect = record.effect
    if effect.relabelings is None:
        return ()
    least = pvalue_text(effect.least_pvalue)
    return (f"p is from {effect.relabelings:,} relabelings, so that none is below {least}.",)


def remark(
    record: Record, *, tests: int = 1, alpha: float = 1.0, weighted: bool = False
) -> str | None:
    """Caveats that weaken a method's answer, if there are any.

    Args:
        record: of one method.
        tests: that Holm's correction is over.
        alpha: the level of all of them.
        weighted: whether draws were weighted, so that true values are among those drawn anew.
    """
    if record.status != "ran":
        return None
    effect = record.effect
    least = effect.least_pvalue or 0.0
    if tests * least > alpha:
        return (
            f"{record.label} cannot reject by itself at level {level_text(alpha)}: from "
            f"{effect.relabelings:,} relabelings no p is below {pvalue_text(least)}, and the "
            f"correction for {tests} tests multiplies it. Ask for more relabelings or fewer tests."
        )
    tied = effect.numbers.get("tied", 0.0)
    if tied <= _TIED or weighted:
        return None
    place = record.kind.about
    return (
        f"{record.label}: {tied:.0%} of the true values are exactly as far from {place} as a draw "
        f"of q. Such ties are broken at random, so that the test stays valid but sees less: are "
        f"the draws rounded, repeated or constant?"
    )
