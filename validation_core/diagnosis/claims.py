"""What relabelling lets a panel say: p-values adjusted in one family, and claims in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from validation_core.omnibus import Claim, OmnibusResult
from validation_core.omnibus.battery import LEARNED, Family

TITLES: Mapping[Family, str] = {
    "means": "Place of single parameters",
    "widths": "Width of single parameters",
    "shapes": "Skew and tails of single parameters",
    "pairs": "Dependence of two parameters",
    "norm": "Distance from q's centre, all parameters together",
    "densities": "Log densities that came with the table",
    "learned": "Learned scores",
    "over_x": "Changes over x",
    "learned_over_x": "Changes over x, by learned scores",
    "observation": "Near the observation",
}

_SCORES = {
    "classifier": "the classifier's score",
    "slots": "the score within x",
    "dc": "discriminative calibration's score",
    "colt": "CoLT's learned distance",
    "tarp": "TARP's distances",
    "log_q": "log q",
    "log_ratio": "log p − log q",
}
_KINDS = {
    "mean": "place",
    "width": "width",
    "shape": "skew or tails",
    "pair": "dependence",
    "score": "rank",
}


class _ClearestClaim(NamedTuple):
    """What stands out most of some families."""

    family: Family
    which: tuple[int, ...]
    """Parameters; empty for all of them together."""
    z: float


@dataclass(frozen=True, eq=False)
class Claims:
    """Every claim of a diagnosis with its p-value under the verdict's one error rate."""

    result: OmnibusResult
    alpha: float
    share: float = 1.0
    """Of the level, what these claims have: less while learned scores are to come."""

    @property
    def pvalue(self) -> float:
        """Of the verdict."""
        return self._p(self.result.pvalue)

    @property
    def found(self) -> bool:
        """Whether anything may be claimed at all."""
        return self.pvalue <= self.alpha

    def parameter(self, which: int) -> float:
        """That a parameter's own ranks are wrong, over all x."""
        return self._p(self._parameters.get(which, 1.0))

    @cached_property
    def _parameters(self) -> Mapping[int, float]:
        """The smallest p of each parameter's own claims: thousands of them are asked for."""
        smallest: dict[int, float] = {}
        for claim, p in zip(self.result.claims, self.result.adjusted, strict=True):
            if claim.of == "theta" and claim.along is None and len(claim.which) == 1:
                which = claim.which[0]
                smallest[which] = min(smallest.get(which, 1.0), float(p))
        return smallest

    def together(self) -> float:
        """That parameters are wrong together: pairs, their distance from q's centre, or tails."""
        return self._p(
            self.result.p(
                lambda one: one.along is None and one.family in ("norm", "pairs", "shapes")
            )
        )

    def densities(self) -> float:
        """That log densities which came with the table rank wrongly."""
        return self._p(self.result.p(lambda one: one.family == "densities"))

    def score(self) -> float:
        """That q's mass is wrong somewhere in theta, by any learned score."""
        return self._p(self.result.p(lambda one: one.family == "learned"))

    def over_x(self) -> float:
        """That something changes over x."""
        return self._p(self.result.p(lambda one: "over_x" in one.family))

    def place(self, kind: str, parameter: int, along: str, which: int) -> float:
        """That one error changes along one coordinate of x.

        Args:
            kind: shift or width of a parameter, or learned.
            parameter: which.
            along: x, component, mean; plane for two coordinates at once.
            which: the column, component or parameter.
        """

        def wanted(one: Claim) -> bool:
            if one.along is None or "over_x" not in one.family:
                return False
            there = (
                one.along.kind in ("balls", "products")
                if along == "plane"
                else (one.along.kind, one.along.which) == (along, which)
            )
            if kind == "learned":
                return there and one.of in LEARNED
            own = one.kind == ("mean" if kind == "shift" else "width")
            return there and own and one.of == "theta" and one.which == (parameter,)

        return self._p(self.result.p(wanted))

    def observation(self) -> float:
        """That the rows near the table's own observation are wrong."""
        return self._p(self.result.p(lambda one: one.family == "observation"))

    def _p(self, p: float) -> float:
        return min(1.0, p / self.share)

    def families(
        self, names: Sequence[str] = (), x_names: Sequence[str] = ()
    ) -> list[dict[str, Any]]:
        """Each family with its p and its clearest claim, the smallest p first."""
        rows = []
        for family, p in self.result.families.items():
            at = _lead(self.result, family)
            rows.append(
                {
                    "family": family,
                    "title": TITLES[family],
                    "pvalue": self._p(p),
                    "z": float(self.result.z[at]),
                    "claim": _claim_text(self.result.claims[at], names, x_names),
                    "claims": sum(claim.family == family for claim in self.result.claims),
                }
            )
        return rows

    def clearest_of(self, *families: Family) -> _ClearestClaim | None:
        """The clearest claim of some families over all x; None where none may be made."""
        at = self.result.first(lambda one: one.family in families and one.along is None)
        if at is None or self._p(float(self.result.adjusted[at])) > self.alpha:
            return None
        claim = self.result.claims[at]
        return _ClearestClaim(claim.family, claim.which, abs(float(self.result.z[at])))

    def clearest(self, names: Sequence[str] = (), x_names: Sequence[str] = ()) -> str:
        """What stands out most, to read."""
        return _claim_text(
            self.result.claims[int(np.argmax(self.result.evidence))], names, x_names
        )


def _lead(result: OmnibusResult, family: Family) -> int:
    at = result.first(lambda one: one.family == family)
    assert at is not None, "a family has claims"
    return at


def _claim_text(claim: Claim, names: Sequence[str] = (), x_names: Sequence[str] = ()) -> str:
    """What a claim is of: `width of theta_1, changing along x_2`."""
    parameters = [_called(names, index) for index in claim.which]
    if claim.of in _SCORES:
        what = f"rank of the true value by {_SCORES[claim.of]}"
    elif claim.of == "norm":
        what = f"{_KINDS[claim.kind]} of the distance from q's centre"
    elif claim.kind == "pair":
        what = f"dependence of {parameters[0]} and {parameters[1]}"
    else:
        whose = parameters[0] if parameters else "all parameters together"
        what = f"{_KINDS[claim.kind]} of {whose}"
    if claim.along is None:
        return what
    if claim.along.kind == "near":
        return f"{what}, near the observation"
    return f"{what}, changing along {_along(claim, names, x_names)}"


def _along(claim: Claim, names: Sequence[str], x_names: Sequence[str]) -> str:
    assert claim.along is not None
    kind, which = claim.along.kind, claim.along.which
    if kind == "x":
        return _column(which, x_names)
    if kind == "component":
        return f"principal component {which + 1} of x"
    if kind == "mean":
        return f"q's mean of {_called(names, which)}"
    return "several coordinates of x"


def _called(names: Sequence[str], which: int) -> str:
    """The name of a parameter, by its place; a number where the names do not reach."""
    return names[which] if which < len(names) else f"theta_{which + 1}"


def _column(which: int, x_names: Sequence[str] = ()) -> str:
    """The name of a column of x; numbered from 1 where it has none."""
    return x_names[which] if which < len(x_names) else f"x_{which + 1}"
