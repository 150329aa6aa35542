"""How wrong q is: the errors of each parameter and of q as a whole, as a record."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from typing import Any, Literal, NamedTuple

from scipy.special import ndtri

from validation_core import codec
from validation_core.relabelling.families import Family
from validation_core.statistics.effects import WIDEST
from validation_core.types import Array, Interval

SHAPE_LEVEL = 0.01
"""p-value up to which skew or tails of a parameter that is off are named."""

FEWEST_FOR_INTERVALS = 9
"""Draws of q at each x from which on its central 80% interval ends at draws."""


@dataclass(frozen=True)
class CoverageRate:
    """How often a central interval of q holds the truth."""

    level: float
    """Nominal mass of the interval."""
    excess: float
    """Distance of the level from the exact interval of the true rate; negative inside it."""
    covers: Interval


@dataclass(frozen=True)
class ShapeErrors:
    """Skew and tails of the true values against q's draws, beyond bias and width.

    NaN where they cannot be told.
    """

    skew: float = math.nan
    """Above 0 true values reach farther up than q's draws, below 0 farther down."""
    skew_pvalue: float = math.nan
    tails: float = math.nan
    """1 where q's tails look too light, -1 where too heavy."""
    tails_pvalue: float = math.nan


@dataclass(frozen=True)
class ParameterErrors:
    """How wrong q is in one parameter; intervals and means are NaN where they cannot be told."""

    pvalue: float
    severity: float
    """The largest `excess` over the intervals and the half below q's median."""
    coverage: tuple[CoverageRate, ...]
    below_median: Interval
    """Share of truths below q's median."""
    bias: Interval
    """In q's own posterior sd; positive where q sits too high. Where it is open, the estimate is
    that of q's mean and sd."""
    ratio: Interval
    """q's width by the width it needs; below 1 it is over-confident."""
    by: Literal["moments", "ranks"]
    """What bias and width are told by."""
    open: bool
    """Whether so many truths lie beyond all draws that the bias is a bound: its other end is NaN,
    and nothing is told of a width that ranks do not bound."""
    outside: float
    outside_expected: float
    z_mean: float
    z_sd: float
    z_rows: int
    index: int
    pvalue_adjusted: float = 1.0
    """By Holm over the parameters."""
    constant: bool = False
    contraction: Interval = Interval(math.nan, math.nan, math.nan)  # noqa: RUF009
    """1 - posterior variance / prior variance."""
    wider_pvalue: float = math.nan
    """p that q is no wider than the prior, whatever their tails; NaN where K = 1."""
    shape: ShapeErrors = ShapeErrors()

    @property
    def draws(self) -> int:
        """Draws of q at each x, K."""
        return round(2 / self.outside_expected) - 1

    @property
    def coarse(self) -> bool:
        """Whether so few draws have no central 80% interval: chance would place its ends."""
        return self.draws < FEWEST_FOR_INTERVALS

    @property
    def biased(self) -> bool:
        """Whether the bias's own interval excludes 0."""
        return self.bias.low > 0 or self.bias.high < 0

    @property
    def skewed(self) -> bool:
        """Whether the skew is told from that of a right q."""
        return self.shape.skew_pvalue <= SHAPE_LEVEL and not self.open

    @property
    def width(self) -> Interval:
        """The ratio with ends at 0 and infinity where those by ranks were held at a limit."""
        if self.by == "moments":
            return self.ratio
        ratio, low, high = self.ratio
        low = 0.0 if low <= 1.01 / WIDEST else low
        return Interval(ratio, low, math.inf if high >= 0.99 * WIDEST else high)

    def to_json(self) -> dict[str, Any]:
        """Its fields, an open end of the width as 0 or None."""
        _, low, high = self.width
        ends = {"ratio_low": low, "ratio_high": None if math.isinf(high) else high}
        return codec.fields_to_json(self) | codec.to_json(ends)

    @property
    def misfit(self) -> Literal["narrow", "wide", ""]:
        """How q's width is wrong, as far as its own interval says.

        A q that is too wide in its middle and too light in its tails is neither too wide nor too
        narrow: of the two that which is clearer is told, here or by `tails`.
        """
        word = self._width
        return "" if self._mixed and self._tails_clearer else word

    @property
    def tails(self) -> Literal["light", "heavy", ""]:
        """How q's tails are wrong beyond its width, where they are told."""
        return "" if self._mixed and not self._tails_clearer else self._tails

    @property
    def _width(self) -> Literal["narrow", "wide", ""]:
        return "narrow" if self.ratio.high < 1 else "wide" if self.ratio.low > 1 else ""

    @property
    def _tails(self) -> Literal["light", "heavy", ""]:
        if self.open or not self.shape.tails_pvalue <= SHAPE_LEVEL:
            return ""
        return "light" if self.shape.tails > 0 else "heavy"

    @property
    def _mixed(self) -> bool:
        return (self._width, self._tails) in (("wide", "light"), ("narrow", "heavy"))

    @property
    def _tails_clearer(self) -> bool:
        ratio = self.ratio
        reach = math.log(ratio.high / max(ratio.low, 1e-9)) / 2  # 1.96 standard errors
        width = 1.96 * abs(math.log(ratio.estimate)) / max(reach, 1e-9)
        return float(-ndtri(max(self.shape.tails_pvalue, 1e-300) / 2)) > width


@dataclass(frozen=True)
class ClaimedErrors(ParameterErrors):
    """The errors of a parameter of which only those are told that the verdict names.

    An interval without a right q's value is not enough: an error of another kind may explain it.
    """

    families: frozenset[Family] = frozenset()
    """Means, widths and shapes, of those that are claimed of this parameter by themselves."""

    @classmethod
    def of(cls, errors: ParameterErrors, families: Iterable[Family]) -> ClaimedErrors:
        """The same numbers, of which these families are told."""
        numbers = {one.name: getattr(errors, one.name) for one in fields(ParameterErrors)}
        return cls(**numbers, families=frozenset(families))

    @property
    def biased(self) -> bool:
        return "means" in self.families and super().biased

    @property
    def skewed(self) -> bool:
        return "shapes" in self.families and super().skewed

    @property
    def _width(self) -> Literal["narrow", "wide", ""]:
        return super()._width if "widths" in self.families else ""

    @property
    def _tails(self) -> Literal["light", "heavy", ""]:
        return super()._tails if "shapes" in self.families else ""


@dataclass(frozen=True)
class RegionRate:
    """How often a highest-density region of q holds the truth."""

    level: float
    covers: Interval


@dataclass(frozen=True, eq=False)
class DensityRegions:
    """Expected coverage of q's highest-density regions."""

    coverage: tuple[RegionRate, ...]
    area: Interval
    """Between coverage and level."""
    pvalue: float
    rows: int
    nan_rows: int
    """Rows without a log q, which are left out."""
    curve: Array
    """Levels, coverage and the ends of its 95% band (4, L)."""


class Histogram(NamedTuple):
    """A histogram: edges (B + 1,), counts (B,)."""

    edges: Array
    counts: Array


@dataclass(frozen=True)
class WeightedDivergence:
    """The divergence left when m draws of q are weighed by p / q, in nats."""

    m: int
    estimate: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class DensityDivergence:
    """The symmetric divergence by log densities, in nats: the numbers of the record of `SKL`."""

    estimate: float
    low: float
    high: float
    boot_low: float
    boot_high: float
    median: float
    largest: float
    auc: float
    auc_low: float
    auc_high: float
    k: int
    draws: int
    infinite: int
    heavy: bool
    tail: float | None
    rows: int
    sd: float
    positive: float
    pvalue: float
    relabelings: int
    weighted: tuple[WeightedDivergence, ...]
    source: Literal["densities"]
    beyond: int
    """Extreme terms that stand in the bars at the ends."""
    bars: Histogram
    """Of its terms."""
    null: Histogram
    """Of the means of relabelled tables."""


@dataclass(frozen=True, eq=False)
class LearnedDivergence:
    """The symmetric divergence as far as a classifier sees it, in nats."""

    estimate: float
    low: float
    high: float
    boot_low: float
    boot_high: float
    sd: float
    median: float
    largest: float
    positive: float
    tail: float | None
    infinite: int
    heavy: bool
    rows: int
    source: Literal["classifier"]
    slope: float
    """What logits were multiplied by, so that they are log ratios."""
    auc: float
    draws: int
    beyond: int
    """Extreme terms that stand in the bars at the ends."""
    bars: Histogram
    """Of its terms."""


_IF_KNOWN = codec.shown(optional=True)


@dataclass(frozen=True, eq=False)
class CalibrationErrors:
    """How wrong q is, as far as it has been worked out; JSON has no more."""

    n: int = field(metadata=_IF_KNOWN, default=0)
    k: int = field(metadata=_IF_KNOWN, default=0)
    parameters: tuple[ParameterErrors, ...] = field(metadata=_IF_KNOWN, default=())
    """The worst first."""
    regions: DensityRegions | None = field(metadata=_IF_KNOWN, default=None)
    divergence: DensityDivergence | LearnedDivergence | None = field(
        metadata=_IF_KNOWN, default=None
    )
    """By densities where they are there, else as far as the classifier sees."""
    estimate: LearnedDivergence | None = field(metadata=_IF_KNOWN, default=None)
    """The classifier's, beside that of the densities."""
