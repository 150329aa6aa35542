"""What a diagnosis shows beyond its verdict, panel by panel, in the order a reader asks.

A page, the HTML report and the command line all show a panel from the same functions of its
answer's module; a new answer is a line here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from inspect import signature
from typing import TYPE_CHECKING, Any, Protocol

from validation_core.answers import (
    Answer,
    Found,
    cause,
    checker,
    in_theta,
    observation,
    over_x,
    sensitivity,
    size,
)
from validation_core.diagnosis import Diagnosis, distances
from validation_core.diagnosis.claims import Claims
from validation_core.figures import cause as draw_cause
from validation_core.figures import checker as draw_checker
from validation_core.figures import in_theta as draw_in_theta
from validation_core.figures import observation as draw_observation
from validation_core.figures import over_x as draw_over_x
from validation_core.figures import sensitivity as draw_sensitivity
from validation_core.figures import size as draw_size
from validation_core.figures.outcome import Drawn
from validation_core.types import Method
from validation_core.uploads import Upload

if TYPE_CHECKING:
    from validation_core.store import Store

Rows = list[dict[str, str | float | int]]


class Module(Protocol):
    """What a panel needs of its answer's module."""

    HOW: str
    CODE: str

    @staticmethod
    def obstacle(upload: Upload) -> str | None: ...
    @staticmethod
    def tasks(upload: Upload, methods: Sequence[Method], seed: int) -> tuple[Answer, ...]: ...
    @staticmethod
    def gather(founds: Sequence[Found]) -> Found: ...
    @staticmethod
    def say(found: Found, names: Sequence[str]) -> tuple[str, ...]: ...
    @staticmethod
    def table(found: Found, names: Sequence[str]) -> Rows: ...


@dataclass(frozen=True)
class Panel:
    """One question about q, and what answers it."""

    name: str
    title: str
    module: Any
    """The answer's module, a `Module`."""
    drawn: Callable[..., tuple[Drawn, ...]]
    """Its figures, of the answer, the names of theta and, where it speaks of x, those of x."""
    long: bool = False
    """Whether it takes so long that all others come first."""


PANELS: tuple[Panel, ...] = (
    Panel("size", "How wrong", size, draw_size.drawn),
    Panel("over_x", "Where over x", over_x, draw_over_x.drawn),
    Panel("in_theta", "Where in theta", in_theta, draw_in_theta.drawn),
    Panel("observation", "At my observation", observation, draw_observation.drawn),
    Panel("cause", "Likely cause", cause, draw_cause.drawn),
    Panel("sensitivity", "What would these tests have caught?", sensitivity,
          draw_sensitivity.drawn, long=True),
    Panel("checker", "Check the checker", checker, draw_checker.drawn),
)  # fmt: skip


def by_name(name: str) -> Panel:
    """The panel of a name.

    Raises:
        ValueError: for a name that none has.
    """
    for panel in PANELS:
        if panel.name == name:
            return panel
    known = ", ".join(panel.name for panel in PANELS)
    raise ValueError(f"A panel is one of {known}; got {name!r}. Choose one of those.")


def tasks(
    panels: Sequence[Panel], upload: Upload, methods: Sequence[Method], seed: int
) -> list[Answer]:
    """What these panels need worked out, as far as it can be on this upload."""
    return [
        task
        for panel in panels
        if panel.module.obstacle(upload) is None
        for task in panel.module.tasks(upload, methods, seed)
    ]


def answered(
    store: Store, upload: Upload, methods: Sequence[Method], seed: int,
    panels: Sequence[Panel] = PANELS,
) -> Mapping[str, Found]:  # fmt: skip
    """The answers to these panels that the store has so far, by the panel's name."""
    answers: dict[str, Found] = {}
    for panel in panels:
        each = [task.load(store) for task in tasks([panel], upload, methods, seed)]
        if done := [one for one in each if one is not None]:
            answers[panel.name] = panel.module.gather(done)
    return answers


def told(panel: Panel, answer: Found, diagnosis: Diagnosis) -> tuple[str, ...]:
    """What a panel says, the first sentence first; they may hold names that a user chose.

    Where relabelling ran a panel claims no more than the verdict does, with p adjusted in its
    family.
    """
    say = panel.module.say
    said = [*say(answer, *_names(say, diagnosis.upload), **_under(say, diagnosis))]
    if panel.name == "size":
        said += distances(diagnosis.records)
    if diagnosis.claims is not None:
        return tuple(said)
    if diagnosis.verdict != "problem found" and not diagnosis.pending and _finds(panel, answer):
        said.append(
            "This panel has a level of its own. The verdict, which corrects for every test that "
            "ran, finds no problem: take this for a hint, which more simulations would settle."
        )
    return tuple(said)


def _finds(panel: Panel, answer: Found) -> bool:
    """Whether a panel claims that q is wrong, at its own level."""
    finds = getattr(panel.module, "finds", None)
    named = answer.plain.get("cause", "none") != "none"
    return named or (finds is not None and finds(answer))


def rows(panel: Panel, answer: Found, diagnosis: Diagnosis) -> Rows:
    """The table of a panel, the worst first."""
    table = panel.module.table
    listed: Rows = table(answer, *_names(table, diagnosis.upload), **_under(table, diagnosis))
    return listed


def drawings(panel: Panel, answer: Found, diagnosis: Diagnosis) -> tuple[Drawn, ...]:
    """The figures of a panel."""
    return panel.drawn(
        answer, *_names(panel.drawn, diagnosis.upload), **_under(panel.drawn, diagnosis)
    )


def _under(function: Callable[..., Any], diagnosis: Diagnosis) -> dict[str, Claims | None]:
    """The verdict's claims, for a function that makes some."""
    return {"claims": diagnosis.claims} if "claims" in signature(function).parameters else {}


def _names(function: Callable[..., Any], upload: Upload) -> tuple[tuple[str, ...], ...]:
    """Names of the parameters, and those of x for a function that speaks of x."""
    places = [name for name in signature(function).parameters if name != "claims"]
    return (upload.names, upload.x_names)[: len(places) - 1]
