"""What relabelling found: every claim with its p-value, adjusted for all that was looked at."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import get_args

import numpy as np
from scipy.special import ndtri_exp

from validation_core.omnibus.battery import Cell, Tested
from validation_core.omnibus.coordinates import Coordinates
from validation_core.omnibus.features import LEARNED, Family, Kind
from validation_core.types import Array

_FAMILIES, _KINDS = get_args(Family), get_args(Kind)
_OF = ("theta", "norm", "log_q", "log_ratio", *LEARNED)
_ALONG = ("x", "component", "mean", "products", "balls", "near")
_NONE = -1  # in the codes of cells


@dataclass(frozen=True)
class Along:
    """Where over x a cell looks."""

    kind: str
    """x: a column; component: a principal component of x; mean: q's mean of a parameter; products
    of two coordinates; balls; near: the rows nearest to the observation."""
    which: int = _NONE
    """The column, component or parameter, from 0."""


@dataclass(frozen=True)
class Claim:
    """What a cell claims where its p is small."""

    family: Family
    kind: Kind
    of: str
    """theta, norm, log_q, log_ratio or a learned score."""
    which: tuple[int, ...]
    """Parameters, from 0; empty for all of them together."""
    along: Along | None
    """None: over all x."""


@dataclass(frozen=True, eq=False)
class Omnibus:
    """Everything that was looked at, and one exact p-value."""

    claims: tuple[Claim, ...]
    """(C,)."""
    z: Array
    """(C,) the largest standardised statistic of each."""
    adjusted: Array
    """(C,) p, adjusted over all claims by stepping down (Westfall, Young)."""
    evidence: Array
    """(C,) comparable -log p, by which claims are ordered."""
    null: Array
    """(B,) the largest evidence of each labelling."""
    offset: Array
    """(C,) what turns z into evidence."""

    @classmethod
    def of(cls, tested: Tested, cells: tuple[Cell, ...], at: Coordinates | None) -> Omnibus:
        """The test of these cells, the places of which are along these coordinates."""
        claims = tuple(
            Claim(cell.family, cell.kind, cell.of, cell.which, _along(cell, at)) for cell in cells
        )
        return cls(
            claims, tested.z, tested.adjusted, tested.evidence, tested.null, tested.scale.offset
        )

    @property
    def pvalue(self) -> float:
        """Of everything together: exact."""
        return float(self.adjusted.min())

    @property
    def relabelings(self) -> int:
        """B."""
        return len(self.null)

    @property
    def families(self) -> Mapping[Family, float]:
        """Adjusted p of each family, the smallest first; among equal ones the clearest."""
        names = dict.fromkeys(claim.family for claim in self.claims)
        lead = {name: self.first(partial(_belongs, name)) for name in names}
        order = sorted(names, key=lambda name: self._order(lead[name]))
        return {name: float(self.adjusted[lead[name]]) for name in order}

    def first(self, wanted: Callable[[Claim], bool] = lambda claim: True) -> int | None:
        """The place of the clearest claim of some; None where there is none of them."""
        some = [i for i, claim in enumerate(self.claims) if wanted(claim)]
        return min(some, key=self._order) if some else None

    def p(self, wanted: Callable[[Claim], bool] = lambda claim: True) -> float:
        """The smallest adjusted p of some claims; 1 where there is none of them."""
        at = self.first(wanted)
        return 1.0 if at is None else float(self.adjusted[at])

    def _order(self, at: int | None) -> tuple[float, float]:
        return (2.0, 0.0) if at is None else (float(self.adjusted[at]), -float(self.evidence[at]))

    def critical(self, alpha: float, family: Family) -> float:
        """The |z| at which a family is found at this level; inf without the family."""
        at = next((i for i, claim in enumerate(self.claims) if claim.family == family), None)
        if at is None:
            return float("inf")
        # The largest evidence that more than alpha of all labellings, this one among them, reach.
        count = int(np.floor(alpha * (len(self.null) + 1)))
        if count < 1:
            return float("inf")
        least = float(np.sort(self.null)[::-1][count - 1])
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
        return {
            "claims": np.array(rows, np.float64).reshape(-1, 7),
            "z": self.z,
            "adjusted": self.adjusted,
            "evidence": self.evidence,
            "null": self.null,
            "offset": self.offset,
        }

    @classmethod
    def read(cls, arrays: Mapping[str, Array]) -> Omnibus:
        """What `arrays` gave."""
        claims = []
        for family, kind, of, a, b, along, at in arrays["claims"].astype(int):
            which = tuple(int(index) for index in (a, b) if index != _NONE)
            where = None if along == _NONE else Along(_ALONG[along], int(at))
            claims.append(Claim(_FAMILIES[family], _KINDS[kind], _OF[of], which, where))
        rest = (arrays[name] for name in ("z", "adjusted", "evidence", "null", "offset"))
        return cls(tuple(claims), *rest)


def _belongs(family: Family, claim: Claim) -> bool:
    return claim.family == family


def _along(cell: Cell, at: Coordinates | None) -> Along | None:
    if cell.along is None or at is None:
        return None if cell.family != "observation" else Along("near")
    if cell.along < 0:
        return Along("products" if cell.along == -1 else "balls")
    return Along(at.kinds[cell.along], at.which[cell.along])
