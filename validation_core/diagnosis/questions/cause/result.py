"""The likely cause as a record: causes with their weights, strengths and findings."""

from __future__ import annotations

from dataclasses import dataclass, field

from validation_core import codec
from validation_core.diagnosis.questions.base import LEVEL, Json
from validation_core.diagnosis.questions.cause.findings import Departure, Finding
from validation_core.diagnosis.questions.cause.similarity import COUNTED
from validation_core.tables import repeats
from validation_core.types import Array

APART = "apart"
"""The shape of a mode that q has no draws in: told by a gap, not by simulated defects."""


@dataclass(frozen=True)
class Strength:
    """How large a defect is, if it is of this shape."""

    value: float
    low: float
    high: float
    unit: str
    shape: str


@dataclass(frozen=True)
class Candidate:
    """One cause beside the table."""

    cause: str
    weight: float
    """How like it the table is; weights sum to 1."""
    apart: float
    """Distance from its likeliest shape, in typical ones."""
    share: float
    """Of the injected tables nearest to this one."""
    strength: Strength
    evidence: tuple[Finding, ...]
    """Of the likeliest causes only."""


@dataclass(frozen=True, eq=False)
class LikelyCause:
    """Which injected defect a table looks like, or that it looks like none or no single one."""

    cause: str
    """A cause, `unclear` or `none`."""
    why: str
    """Why it is unclear."""
    pvalue: float
    """That the table stands out among those in which a draw of q plays the truth; exact."""
    causes: tuple[Candidate, ...]
    """The likeliest first."""
    faults: tuple[repeats.Fault, ...]
    """What is wrong with the draws themselves."""
    seen: tuple[Departure, ...]
    """Departures of the table, whatever the cause."""
    shapes: tuple[str, ...]
    """Skew and tails that are seen beside any bias and width."""
    nulls: int
    injected: int
    contraction: float
    """Share of q's variance that lies between rows, of the parameter that has least."""
    parameters: tuple[int, ...]
    """Those looked at."""
    logs: tuple[int, ...]
    """Those of them looked at in their logarithm."""
    used: tuple[int, ...]
    """Rows, draws and parameters looked at."""
    full: tuple[int, ...]
    """Of so many."""
    next_steps: tuple[str, ...] = field(metadata=codec.shown(name="next"))
    """What to do, the first thing first."""
    seconds: float
    places: Array
    """Injected tables in the plane in which the likeliest causes lie apart: (I, 2); this table
    lies at 0."""
    place_of: Array
    """Which of `causes` each has: (I,)."""
    null_places: Array
    """(B, 2)."""

    def to_json(self) -> Json:
        """Every number; the likeliest cause's evidence and strength once more at the end."""
        fields = codec.fields_to_json(self)
        first = fields["causes"][0]
        before: Json = {
            "causes": {
                "level": LEVEL,
                "weights": {candidate.cause: candidate.weight for candidate in self.causes},
            },
            "contraction": {"nearest": COUNTED},
            "next": {"evidence": first["evidence"], "strength": first["strength"]},
        }
        shown: Json = {}
        for name, value in fields.items():
            shown |= {**before.get(name, {}), name: value}
        return shown
