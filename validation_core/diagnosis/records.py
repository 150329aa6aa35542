"""What one method had to say about an upload: a result, or why there is none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from validation_core.methods.base import Method, kind_of
from validation_core.types import Array, Outcome

if TYPE_CHECKING:
    from validation_core.store import Store

SMALLEST = 1e-300
"""What a p-value is written as when it is too small for a float: never 0."""

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
