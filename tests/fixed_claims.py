"""Claims under which tests have questions told: with p-values as they wish, or a table's own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from validation_core.diagnosis import default_methods
from validation_core.diagnosis.tasks import register_upload, relabelling_for
from validation_core.relabelling.claims import Claims
from validation_core.relabelling.result import OmnibusResult


@dataclass(frozen=True)
class FixedClaims:
    """Claims that all have one p-value, but for parameters with their own."""

    pvalue: float = 0.0
    parameters: Mapping[int, float] = field(default_factory=dict)
    alpha: float = 0.05
    families: Sequence[str] = ("means", "widths", "shapes")
    """Claimed by themselves of every parameter that is off."""

    @property
    def level(self) -> float:
        return self.alpha

    def named_of_parameter(self, which: int) -> frozenset[str]:
        del which
        return frozenset(self.families)

    @property
    def found(self) -> bool:
        return self.pvalue <= self.alpha

    def parameter(self, which: int) -> float:
        return self.parameters.get(which, self.pvalue)

    def together(self) -> float:
        return self.pvalue

    densities = score = observation = together

    def over_x(self, parameter: int | None = None) -> float:
        return self.pvalue

    def place(self, kind: str, parameter: int, along: str, which: int) -> float:
        return self.pvalue

    def clearest_of(self, *families: str) -> None:
        return None

    def clearest(self, names=(), x_names=()) -> str:
        return "place of all parameters together"


CLAIMED, SILENT = FixedClaims(), FixedClaims(1.0)


def asked_alone(question, upload, seed, store) -> Claims:
    """The claims that a question makes which is asked alone."""
    register_upload(upload)
    studies = question.studies(upload, default_methods(), seed)
    task = relabelling_for(upload, studies, seed, store)
    task.run(store, lambda fraction, live: None)
    return Claims(OmnibusResult.read(task.load(store).arrays), 0.05)
