"""Where over x q is wrong, as a record: places of x with their sizes of errors, and the scans."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from validation_core import codec
from validation_core.diagnosis.detectable_shift import detectable_shift_over_x
from validation_core.diagnosis.questions.base import LEVEL, Json
from validation_core.diagnosis.questions.over_x.features import OverXKind
from validation_core.diagnosis.questions.over_x.region import Region
from validation_core.diagnosis.questions.over_x.sizes import FeatureSize
from validation_core.relabelling.claims import Claims
from validation_core.types import Array

_SIMPLER = {"plane": 0.85, "component": 0.9, "mean": 0.9}  # of the clarity of a column of x


@dataclass(frozen=True)
class BeyondDraws:
    """The share of truths outside all of q's draws; and that of a right q."""

    share: float = field(metadata=codec.shown(name="beyond"))
    usual: float = field(metadata=codec.shown(name="beyond_usual"))


@dataclass(frozen=True)
class OverallSize:
    """The size of one feature over all rows."""

    kind: OverXKind
    parameter: int
    """-1 for the learned score."""
    size: FeatureSize = field(metadata=codec.shown(flat=True))
    beyond: BeyondDraws | None = field(metadata=codec.shown(flat=True), default=None)
    """For a shift."""


@dataclass(frozen=True, eq=False)
class OverXCurve:
    """The smoothed size of a feature along a coordinate."""

    sizes: Array
    """(5, G): places, value, low, high and half the room of a right q."""
    rows: Array
    """Where rows lie: (n',)."""


@dataclass(frozen=True, eq=False)
class OverXHeat:
    """The smoothed size of a feature over the plane of two columns of x."""

    sizes: Array
    """(4, G, G): value, low, high and half the room of a right q, rows up; nan where few lie."""
    axes: Array
    """(2, G): across and up."""
    rows: Array
    """(n', 2)."""


@dataclass(frozen=True, eq=False, kw_only=True)
class OverXPlace:
    """A feature along a coordinate: whether it changes there, and where it is worst."""

    kind: OverXKind
    parameter: int
    """-1 for the learned score."""
    along: str
    """x: a column; component: a principal component of x; mean: q's mean; plane: two columns."""
    which: int
    """The column, component or parameter; -1 for the plane."""
    p_varies: float
    """That it is the same all along, adjusted for all places looked at."""
    p_right: float
    """That its values are those of a right q, adjusted too."""
    share: float
    """Of the rows, in the region."""
    row: int
    """A row of the upload in the middle of the region, from 0."""
    clarity: float = 0.0
    """The largest |z| of a change along the coordinate, by the rows that chose the region."""
    region: Region = field(metadata=codec.shown(flat=True))
    inside: FeatureSize
    """By rows that did not choose the region."""
    outside: FeatureSize
    beyond: BeyondDraws | None = field(metadata=codec.shown(flat=True), default=None)
    """In the region; None for the learned score."""
    picture: OverXCurve | OverXHeat | None = field(metadata=codec.shown(hidden=True), default=None)
    """Of the first places only."""

    @property
    def told(self) -> bool:
        """Whether the size of the error there is told from that of a right q."""
        return self.inside.excludes(1.0 if self.kind == "width" else 0.0)


@dataclass(frozen=True, eq=False)
class FeatureScan:
    """Both tests of one set of features, and their worst places."""

    name: str
    """ranks: every parameter's; learned: a classifier's."""
    families: int
    """Scans that share the level: each p is multiplied by it."""
    rows: int
    nulls: int
    draws: int
    effective: int
    """Draws that tell as much: of weighted ones fewer."""
    columns: int
    many: bool
    """Whether x has more columns than are looked along."""
    parameters: int
    looked_at: int
    coordinates: int
    aside: int
    """Draws at each x that give q's means, kept from the ranks."""
    constant: bool
    """Whether x never varies."""
    pairs_looked_at: int
    p_varies: float
    p_right: float
    overall: tuple[OverallSize, ...]
    pairs: tuple[OverXPlace, ...]
    """The smallest p up to LEVEL first, then the clearest change."""

    def to_json(self) -> Json:
        """Its numbers; places with a picture name it."""
        fields = codec.fields_to_json(self)
        for i, (place, numbers) in enumerate(zip(self.pairs, fields["pairs"], strict=True)):
            if place.picture is not None:
                numbers["drawn"] = f"{self.name}{i}"
        return fields


@dataclass(frozen=True, eq=False)
class ErrorsOverX:
    """Where over x q fails: the scans that are done."""

    parts: tuple[FeatureScan, ...]

    @property
    def p_varies(self) -> float:
        """That nothing changes over x, by all scans."""
        return min(part.p_varies for part in self.parts)

    @property
    def p_right(self) -> float:
        """That all values are those of a right q, by all scans."""
        return min(part.p_right for part in self.parts)

    @cached_property
    def worst(self) -> tuple[OverXPlace, ...]:
        """Places of all scans, the smallest p up to LEVEL first.

        Null tables give many the same p: then a parameter comes before the classifier's score,
        which says neither which one nor how it is off, the clearer change, by the rows that chose
        the region, before the less clear, and one coordinate before two together unless these are
        clearly better.
        """
        places = [place for part in self.parts for place in part.pairs]

        def order(place: OverXPlace) -> tuple[float, bool, float]:
            clarity = place.clarity * _SIMPLER.get(place.along, 1.0)
            return float(order_of_p(place.p_varies)), place.kind == "learned", -clarity

        return tuple(sorted(places, key=order))

    def p_changes(self, claims: Claims) -> float:
        """That the error is the same at every x.

        The verdict's family asks whether q is right everywhere: an error that is the same at
        every x can have a small p there. So that a change is claimed, its own test, which lets q
        be wrong alike everywhere, must say so too.
        """
        return max(self.p_varies, claims.over_x())

    def detectable(self, claims: Claims) -> float | None:
        """The bias of one parameter over a fifth of x, in posterior sds, with which relabelling
        within x finds q wrong in 80 of 100 such tables; None where it is not known."""
        ranks = (part for part in self.parts if part.name == "ranks" and not part.constant)
        part = next(ranks, None)
        if part is None:
            return None
        over_x, mean = (
            claims.result.critical(claims.alpha, family) for family in ("over_x", "means")
        )
        size = detectable_shift_over_x(part.rows, part.effective, over_x, mean, part.parameters)
        return size if np.isfinite(size) else None

    def changing(self, claims: Claims) -> list[OverXPlace]:
        """Places where a change may be claimed, in the order of `worst`: which of them have sizes
        that are told from a right q's moves none."""
        if self.p_changes(claims) > claims.alpha:
            return []
        return [place for place in self.judged(claims).worst if place.p_varies <= claims.alpha]

    def judged(self, claims: Claims) -> ErrorsOverX:
        """With p-values of the verdict's family."""

        def judged(place: OverXPlace) -> OverXPlace:
            p = claims.place(place.kind, place.parameter, place.along, place.which)
            return replace(place, p_varies=max(p, place.p_varies), p_right=claims.pvalue)

        return ErrorsOverX(
            tuple(replace(part, pairs=tuple(map(judged, part.pairs))) for part in self.parts)
        )


def order_of_p(p: Array | float) -> Array:
    """What places are ordered by: p up to LEVEL; above, chance orders it, all are alike."""
    return np.where(np.asarray(p) <= LEVEL, p, 1.0)
