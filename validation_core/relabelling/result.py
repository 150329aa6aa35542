"""The result of relabelling within x: every claim with its adjusted p-value."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import partial
from typing import get_args

import numpy as np
from scipy.special import ndtri_exp

from validation_core.relabelling.calibration import CalibratedTest
from validation_core.relabelling.families import (
    ALL,
    LEARNED,
    LEARNED_FAMILIES,
    OWN,
    SUMS,
    WEIGHT,
    WHITENED,
    Family,
    StatisticKind,
)
from validation_core.types import Array

_FAMILIES, _KINDS = get_args(Family), get_args(StatisticKind)
_OF = (ALL, "norm", "log_q", "log_ratio", *LEARNED, WHITENED, OWN, "normal_ratio", WEIGHT)
_ALONG = ("x", "component", "mean", "products", "balls", "near", "everywhere")
_NONE = -1  # in the codes of cells
NUMBERS_QUOTED = 5
"""Numbers of a claim about magnitudes that sentences quote."""


@dataclass(frozen=True)
class XScope:
    """Scope of a cell over x."""

    kind: str
    """x: a column; component: a principal component of x; mean: q's mean of a parameter; products
    of two coordinates; balls; near: the rows nearest to the observation; everywhere: all
    coordinates together."""
    which: int = _NONE
    """The column, component or parameter, from 0."""


@dataclass(frozen=True)
class Claim:
    """Claim of a cell whose p is small."""

    family: Family
    kind: StatisticKind
    of: str
    """theta, norm, log_q, log_ratio, normal_ratio, log_w, own or a learned
    score."""
    which: tuple[int, ...]
    """Parameters, from 0, empty for all of them together; of an own quantity, its number."""
    along: XScope | None
    """None: over all x."""


def _without_noise(p: Array) -> Array:
    """Counts over B + 1 and shares of the level, as written: 0.001 for 0.0002 / 0.2; at most 1."""
    return np.minimum(1.0, np.round(p, 12))


@dataclass(frozen=True, eq=False)
class OmnibusResult:
    """All tested cells, and one p-value that is exact for any learner."""

    claims: tuple[Claim, ...]
    """(C,)."""
    z: Array
    """(C,) the largest standardised statistic of each."""
    adjusted: Array
    """(C,) p, adjusted over all claims and for the share of the level that they have."""
    own: Array
    """(C,) p of each under its own null, adjusted likewise (`own_nulls`); 1 where not asked."""
    minus_log_p: Array
    """(C,) comparable -log p, by which claims are ordered."""
    offset: Array
    """(C,) terms that make a -log p of z comparable."""
    numbers: Array
    """(C, 5) numbers in sentences about magnitudes and own quantities, NaN elsewhere (see
    `TableStatistics.numbers`)."""
    null: Array
    """(B,) the largest -log p of each labelling, without learned scores."""
    learned_null: Array
    """(B',) the same with learned scores alone; (0,) without any."""
    share: float = 1.0
    """Share of the level for claims without learned scores."""

    @classmethod
    def of(
        cls,
        tested: CalibratedTest,
        own: Array,
        claims: tuple[Claim, ...],
        *,
        share: float,
        numbers: Array | None = None,
    ) -> OmnibusResult:
        """Result of one part of the statistics, at its share of the level."""
        adjusted, own = (_without_noise(p / share) for p in (tested.adjusted, own))
        more = np.log(share)
        return cls(
            claims,
            tested.z,
            adjusted,
            own,
            tested.minus_log_p + more,
            tested.scale.offset - more,
            np.full((len(claims), NUMBERS_QUOTED), np.nan) if numbers is None else numbers,
            tested.null + more,
            np.zeros(0),
            share,
        )

    def with_learned(self, learned: OmnibusResult) -> OmnibusResult:
        """Result with learned scores: where one part is rejected whole, the other has all."""
        parts = (self, learned)
        # A p that was cut off at 1 may have been anything above the share: it stays.
        of_all = [np.where(p.adjusted < 1, _without_noise(p.adjusted * p.share), 1) for p in parts]
        adjusted = [
            np.minimum(part.adjusted, np.maximum(other.adjusted.max(), p))
            for part, other, p in zip(parts, parts[::-1], of_all, strict=True)
        ]

        def both(name: str) -> Array:
            return np.concatenate([getattr(part, name) for part in parts])

        return OmnibusResult(
            claims=(*self.claims, *learned.claims),
            z=both("z"),
            adjusted=np.concatenate(adjusted),
            own=both("own"),
            minus_log_p=both("minus_log_p"),
            offset=both("offset"),
            numbers=both("numbers"),
            null=self.null,
            learned_null=learned.null,
            share=self.share,
        )

    @property
    def pvalue(self) -> float:
        """The p-value of everything together, exact whatever was learned."""
        return float(self.adjusted.min())

    @property
    def relabelings(self) -> int:
        """Number of relabelings, B."""
        return len(self.null)

    @property
    def families(self) -> Mapping[Family, float]:
        """Adjusted p of each family, the smallest first; among equal ones the clearest."""
        names = dict.fromkeys(claim.family for claim in self.claims)
        lead = {name: self.first(partial(_belongs, name)) for name in names}
        order = sorted(names, key=lambda name: self._order(lead[name]))
        return {name: float(self.adjusted[lead[name]]) for name in order}

    def first(self, wanted: Callable[[Claim], bool] = lambda claim: True) -> int | None:
        """Index of the clearest of some claims; None where there are none."""
        some = [i for i, claim in enumerate(self.claims) if wanted(claim)]
        return min(some, key=self._order) if some else None

    def p(self, wanted: Callable[[Claim], bool] = lambda claim: True) -> float:
        """The smallest adjusted p of some claims; 1 where there are none."""
        at = self.first(wanted)
        return 1.0 if at is None else float(self.adjusted[at])

    def _order(self, at: int | None) -> tuple[float, bool, float]:
        """The smallest p first; among equal ones those of a parameter, then the clearest."""
        if at is None:
            return 2.0, False, 0.0
        several = self.claims[at].family in SUMS
        return float(self.adjusted[at]), several, -float(self.minus_log_p[at])

    def critical(self, alpha: float, family: Family) -> float:
        """The |z| at which a family is found at this level; inf without the family."""
        at = next((i for i, claim in enumerate(self.claims) if claim.family == family), None)
        if at is None:
            return float("inf")
        learned = family in LEARNED_FAMILIES
        null, share = (self.learned_null, 1 - self.share) if learned else (self.null, self.share)
        # The largest -log p that more than alpha of all labellings, this one among them, reach.
        count = int(np.floor(alpha * share * (len(null) + 1)))
        if count < 1:
            return float("inf")
        least = float(np.sort(null)[::-1][count - 1])
        return float(-ndtri_exp(min(-least - np.log(2) - self.offset[at], -1e-12)))

    def arrays(self) -> dict[str, Array]:
        """Everything to store, by flat names."""
        rows = [
            (
                _FAMILIES.index(claim.family),
                _KINDS.index(claim.kind),
                _OF.index(claim.of),
                *(*claim.which, _NONE, _NONE)[:2],
                *(
                    (_ALONG.index(claim.along.kind), claim.along.which)
                    if claim.along
                    else (_NONE, _NONE)
                ),
            )
            for claim in self.claims
        ]
        kept = {stored: np.asarray(getattr(self, name)) for name, stored in _STORED.items()}
        return {"claims": np.array(rows, np.float64).reshape(-1, 7), **kept}

    @classmethod
    def read(cls, arrays: Mapping[str, Array]) -> OmnibusResult:
        """Result from the output of `arrays`."""
        claims = []
        for family, kind, of, a, b, along, at in arrays["claims"].astype(int):
            which = tuple(int(index) for index in (a, b) if index != _NONE)
            where = None if along == _NONE else XScope(_ALONG[along], int(at))
            claims.append(Claim(_FAMILIES[family], _KINDS[kind], _OF[of], which, where))
        share = float(arrays["share"])
        kept = {name: arrays[stored] for name, stored in _STORED.items() if name != "share"}
        return cls(claims=tuple(claims), share=share, **kept)


_STORED = {
    field.name: {"minus_log_p": "evidence"}.get(field.name, field.name)
    for field in fields(OmnibusResult)
    if field.name != "claims"
}
"""Names of the stored arrays by their field."""


def _belongs(family: Family, claim: Claim) -> bool:
    return claim.family == family
