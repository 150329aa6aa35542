"""What one method had to say about an upload: numbers, and sentences of them.

No sentence says that q is right, and none a p-value of 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from validation_core.methods.base import Method, kind_of
from validation_core.types import Array, Outcome

if TYPE_CHECKING:
    from validation_core.store import Store


SMALLEST = 1e-300
"""What a p-value is written as when it is too small for a float: never 0."""

LISTED = 20
"""Numbers of an observation that a reader of JSON can use."""
_TIED = 0.01  # share of truths that tie with a draw above which something has collapsed

Effect = float | str | list[float]
"""What JSON holds of a finding: a number, a word, or the numbers of an observation."""


@dataclass(frozen=True, eq=False)
class Record:
    """One row of a diagnosis; `arrays` carry what its figure draws."""

    name: str
    label: str
    title: str
    status: Literal["ran", "not run"]
    reason: str | None = None
    about: str = ""
    """What the statistic is, in the method's own words."""
    statistic: float | None = None
    pvalue: float | None = None
    draws_p: int = 0
    draws_q: int = 0
    seconds: float = 0.0
    effect: Mapping[str, Any] = field(default_factory=dict)
    """What was found beyond the p-value, each an `Effect`."""
    arrays: Mapping[str, Array] = field(default_factory=dict)

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
        effect: Mapping[str, Effect],
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
            effect={**outcome.effect, **_numbers(outcome.arrays), **effect},
            arrays={**outcome.arrays, **(arrays or {})},
        )

    @property
    def kind(self) -> type[Method]:
        """The method that it is of; `Method` itself for one that is no longer there."""
        return kind_of(self.name)

    def keep(self, store: Store, key: str, *, spec: str, label: str) -> None:
        """Put it into the store."""
        meta = {"label": label, "record": self.plain()}
        store.save("results", key, self.arrays, spec=spec, meta=meta)

    @classmethod
    def load(cls, store: Store, key: str) -> Record | None:
        """What was kept under a key, or None."""
        stored = store.load("results", key)
        if stored is None:
            return None
        record: Any = stored.meta["record"]
        return cls(**record, arrays=stored.arrays)

    def plain(self) -> dict[str, Any]:
        """All but the arrays, as JSON holds it."""
        attributes = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "arrays"}
        return {**attributes, "effect": dict(self.effect)}


def _numbers(arrays: Mapping[str, Array]) -> dict[str, float]:
    """Arrays of a single number are effects as well; what is not finite says nothing."""
    single = {name: float(a) for name, a in arrays.items() if np.ndim(a) == 0}
    return {name: value for name, value in single.items() if np.isfinite(value)}


def _outcome_effects(method: Method, outcome: Outcome) -> dict[str, Effect]:
    """Names and numbers of one outcome, no leading axes: those of its method, and of its null."""
    effects = method.effects(outcome)
    if not method.resamples:
        return effects
    least = outcome.effect.get("least_pvalue", 1 / (method.resamples + 1))
    return {**effects, "relabelings": method.resamples, "least_pvalue": float(least)}


def _place_effects(rows: np.ndarray, x: Array, worst: int) -> dict[str, Effect]:
    """Where a local test found most: its row of the upload, counted from 0, and x there.

    Args:
        rows: places (P,), among the rows that were read, of all observations it looked at.
        x: these observations (P, M).
        worst: which of them.
    """
    at: dict[str, Effect] = {"row": int(rows[worst])}
    if x.shape[1] <= LISTED:
        at["x_o"] = [float(value) for value in x[worst]]
    return at if len(rows) == 1 else {**at, "rows": [int(row) for row in rows]}


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
