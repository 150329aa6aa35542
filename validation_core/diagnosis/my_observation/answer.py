"""An answer about one's own observation: its words, numbers, pictures, and what it cannot say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from validation_core.diagnosis.questions.base import Json, Rows
from validation_core.drawing.drawn import Drawn


@dataclass(frozen=True, eq=False)
class ObservationAnswer:
    """One answer about an observation."""

    name: str
    """In JSON."""
    title: str
    """The question."""
    sentences: tuple[str, ...]
    """The first is the answer."""
    cannot: str
    """What it cannot say."""
    wrong: bool | None
    """Whether it claims that something is wrong; None where it cannot tell."""
    pvalue: float | None
    """Of that claim, at a level of its own; None for an answer that is no test."""
    drawn: tuple[Drawn, ...]
    rows: Rows
    numbers: Mapping[str, object]
    notes: tuple[str, ...] = ()
    """How it was got."""

    @cached_property
    def state(self) -> str:
        """`problem`, `no problem` or `cannot tell`."""
        return {True: "problem", False: "no problem", None: "cannot tell"}[self.wrong]

    def to_json(self) -> Json:
        """Its words and numbers."""
        return {
            "name": self.name,
            "title": self.title,
            "state": self.state,
            "pvalue": self.pvalue,
            "sentences": list(self.sentences),
            "cannot": self.cannot,
            **self.numbers,
        }


def worst_first(answers: Sequence[ObservationAnswer]) -> tuple[ObservationAnswer, ...]:
    """Answers that claim an error first; otherwise in the order in which they are asked."""
    order = {True: 0, None: 1, False: 1}
    return tuple(sorted(answers, key=lambda answer: order[answer.wrong]))
