"""The power of the tests against injections: the result of the question of sensitivity."""

from __future__ import annotations

from dataclasses import dataclass

from validation_core.diagnosis.null_tables.trials import ExcludedMethod
from validation_core.types import Array, Interval

STAGES = ("ranks", "classifier", "localizer")
"""Stages of tests in the order of cost; each goes on from the one before."""


@dataclass(frozen=True)
class Power:
    """A share of tables in which a defect is found, with its exact 95% interval."""

    rejections: int
    trials: int
    rate: float
    low: float
    high: float


@dataclass(frozen=True)
class VerdictPower(Power):
    """The verdict's power."""

    bound: bool
    """Whether it is but a lower bound, as fewer tests were asked than at weaker defects."""


@dataclass(frozen=True)
class MethodPower:
    """One test's power at each strength (L,); None where it was not asked."""

    name: str
    label: str
    title: str
    power: tuple[Power | None, ...]


@dataclass(frozen=True)
class InjectedNats:
    """Strengths (L,), and the smallest one found, in nats."""

    strengths: tuple[float, ...]
    smallest: Interval


@dataclass(frozen=True, eq=False)
class InjectionPower:
    """The power against one injection, up to one stage."""

    injection: str
    title: str
    unit: str
    stage: int
    neutral: float
    """The strength that changes nothing."""
    strengths: tuple[float, ...]
    """(L,), ascending."""
    spread: str
    """Number of parameters that it sits in: one, two, all, or empty for a direction."""
    parameter: int | None
    """The one that it sits in."""
    nats: InjectedNats | None
    """None where they are not known, or where nothing changes at any strength."""
    exact: bool
    """Whether nats hold whatever q is; otherwise they hold if q is near normal."""
    verdict: tuple[VerdictPower | None, ...]
    tests: tuple[MethodPower, ...]
    smallest: Interval
    """The smallest strength that the verdict finds with 80% power, NaN where none is known."""
    ratio: float | None
    """Factor of the rows that half of it takes, where resampling has told."""
    rows_for_half: int | None
    rows_by: str
    trials: int
    networks: bool
    """Whether a classifier was trained."""
    localizer: bool
    pvalues: Array
    """(L, methods, T), NaN where not asked."""


@dataclass(frozen=True, eq=False)
class Sensitivity:
    """The power of the tests against injections on one table, and what holds for all of them."""

    injections: tuple[InjectionPower, ...]
    alpha: float
    power: float
    n: int
    draws: int
    """Beside each truth."""
    tests: int
    relabelled: bool
    """Whether the verdict is relabelling's."""
    parameters: int
    """Those that vary: what is fixed holds no defect."""
    left_out: tuple[ExcludedMethod, ...]
    thinned: bool
    """Whether draws were left out to save time."""
