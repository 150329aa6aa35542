"""Claims that relabelling allows a panel: p-values adjusted in one family, and claims in words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from validation_core.relabelling.families import LEARNED, OWN, SUMS, Family
from validation_core.relabelling.magnitudes import FAR
from validation_core.relabelling.own_nulls import ASKED
from validation_core.relabelling.result import Claim, OmnibusResult
from validation_core.text import list_text, share_text, signed_text
from validation_core.types import Array

TITLES: Mapping[Family, str] = {
    "means": "Place of single parameters",
    "widths": "Width of single parameters",
    "shapes": "Skew and tails of single parameters",
    "pairs": "Dependence of two parameters",
    "together": "Weak errors of several parameters together",
    "norm": "Distance from q's centre, all parameters together",
    "outliers": "True values or draws far out",
    "spacing": "Distance to the nearest draw",
    "support": "Draws outside the range of all true values",
    "densities": "Log densities that came with the table",
    "learned": "Learned scores",
    "over_x": "Changes over x",
    "together_over_x": "Weak changes over x together",
    "learned_over_x": "Changes over x, by learned scores",
    "observation": "Near the observation",
    "weights": "Weights of true values among those of draws",
    "own": "Quantities of your own",
    "own_over_x": "Changes of your quantities over x",
}

_SCORES = {
    "classifier": "the classifier's score",
    "slots": "the score within x",
    "dc": "discriminative calibration's score",
    "colt": "CoLT's learned distance",
    "tarp": "TARP's distances",
    "log_q": "log q",
    "log_ratio": "log p − log q",
    "log_w": "its weight",
    "normal_ratio": "log p − log q, q taken as normal at each x",
}
_KINDS = {
    "mean": "place",
    "width": "width",
    "shape": "skew or tails",
    "pair": "dependence",
    "score": "rank",
}
_TIED = 0.01  # shares of equal numbers differ by more where numbers are rounded or repeated
EXPLAINED = "not claimed: q is wrong, but errors of other kinds would explain this one"
"""Said of a family that is rejected where none of its claims is under its own null."""
UNNAMED = "q is wrong, and no kind of error stands out by itself"
"""Said where every family that is rejected is such a one."""


class ClearestClaim(NamedTuple):
    """The clearest claim of some families."""

    claim: Claim
    z: float


class Magnitude(NamedTuple):
    """An error of magnitudes: outliers, rounding, draws outside the range of the true values."""

    family: Family
    parameter: int
    sentence: str


@dataclass(frozen=True, eq=False)
class Claims:
    """Every claim of a diagnosis with its p-value under the verdict's one error rate."""

    result: OmnibusResult
    alpha: float
    quantities: tuple[str, ...] = ()
    """Names of a user's own quantities."""
    events: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """Of own quantities that are 0 or 1: how often each is 1, at the true values and at q's
    draws."""

    @property
    def pvalue(self) -> float:
        """The verdict's p-value."""
        return self.result.pvalue

    @property
    def found(self) -> bool:
        """Whether any claim is permitted."""
        return self.pvalue <= self.alpha

    @cached_property
    def named(self) -> NDArray[np.float64]:
        """(C,) p that each claim is true by itself, not for another kind of error: the larger of
        its p in the verdict and of that under its own null."""
        return np.maximum(self.result.adjusted, self.result.own)

    @property
    def level(self) -> float:
        """Largest p of a named claim; claims less clear than ASKED get no null of their own."""
        return min(self.alpha, ASKED)

    def parameter(self, which: int) -> float:
        """The p-value that a parameter's own ranks are right, over all x."""
        return self._parameters.get(which, 1.0)

    @cached_property
    def _parameters(self) -> Mapping[int, float]:
        """The smallest p of each parameter's own claims: thousands of them are read."""
        smallest: dict[int, float] = {}
        for claim, p in zip(self.result.claims, self.result.adjusted, strict=True):
            if claim.of == "theta" and claim.along is None and len(claim.which) == 1:
                which = claim.which[0]
                smallest[which] = min(smallest.get(which, 1.0), float(p))
        return smallest

    def together(self) -> float:
        """The p-value that parameters are right together: pairs, norm and tails."""
        return self._named(
            lambda one: one.along is None and one.family in ("norm", "pairs", "shapes")
        )

    def densities(self) -> float:
        """The p-value that log densities which came with the table rank rightly."""
        return self.result.p(lambda one: one.family == "densities")

    def quantity(self, name: str) -> float:
        """The p-value that a user's own quantity ranks rightly, over all x."""
        if name not in self.quantities:
            return 1.0
        which = (self.quantities.index(name),)
        return self.result.p(lambda one: one.family == "own" and one.which == which)

    def score(self) -> float:
        """The p-value that q's mass is right everywhere in theta, by any learned score."""
        return self.result.p(lambda one: one.family == "learned")

    def over_x(self, parameter: int | None = None) -> float:
        """The p-value that nothing, or nothing of a parameter's own ranks, changes over x, beyond
        errors that are alike at every x."""
        return self._named(
            lambda one: (
                "over_x" in one.family
                and (parameter is None or (one.of == "theta" and one.which == (parameter,)))
            )
        )

    def place(self, kind: str, parameter: int, along: str, which: int) -> float:
        """The p-value that one error is alike along one coordinate of x, and no clearer one of
        its parameter explains what differs.

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

        return self._named(wanted, self._may_be_listed)

    def observation(self) -> float:
        """The p-value that the rows near the table's own observation are right."""
        return self.result.p(lambda one: one.family == "observation")

    def _named(
        self, wanted: Callable[[Claim], bool], allowed: Callable[[int], bool] = lambda at: True
    ) -> float:
        """The smallest p of some claims that each is true by itself, of those `allowed`."""
        some = [
            float(self.named[at])
            for at, claim in enumerate(self.result.claims)
            if wanted(claim) and allowed(at)
        ]
        return min(some, default=1.0)

    def _lead(self, family: Family) -> int:
        """The clearest claim of a family, of those that are true by themselves if any is."""
        some = [at for at, claim in enumerate(self.result.claims) if claim.family == family]
        at = max(
            filter(self._may_be_listed, some),
            key=lambda at: float(self.result.minus_log_p[at]),
            default=None,
        )
        if at is None:
            at = self.result.first(lambda claim: claim.family == family)
        assert at is not None, "a family has claims"
        return at

    def _named_of(self, family: Family) -> int | None:
        """The clearest claim of a family that may be made; None where none may."""
        return self._clearest_named(lambda claim: claim.family == family)

    def _clearest_named(self, wanted: Callable[[Claim], bool] = lambda claim: True) -> int | None:
        """The place of the clearest claim that may be made of some; None where none may."""
        return self._clearest(
            at
            for at, claim in enumerate(self.result.claims)
            if self.named[at] <= self.level and wanted(claim)
        )

    def _clearest(self, some: Iterable[int]) -> int | None:
        """The place of the clearest of some claims; None of none."""
        return max(some, key=lambda at: float(self.result.minus_log_p[at]), default=None)

    def families(
        self, names: Sequence[str] = (), x_names: Sequence[str] = ()
    ) -> list[dict[str, Any]]:
        """Each family with its p and its clearest claim, the smallest p first.

        `named` says whether the claim is true by itself: where it is not, the family's p says
        that q is wrong, and the claim says no more.
        """
        rows = []
        for family, p in self.result.families.items():
            at = self._lead(family)
            named = self._may_be_listed(at)
            text = self.text(self.result.claims[at], names, x_names)
            rows.append(
                {
                    "family": family,
                    "title": TITLES[family],
                    "pvalue": p,
                    "named": named,
                    "pvalue_named": float(self.named[at]),
                    "z": float(self.result.z[at]),
                    "claim": EXPLAINED if p <= self.alpha and not named else text,
                    "sentence": self._sentence(at, names) if named else None,
                    "claims": sum(claim.family == family for claim in self.result.claims),
                }
            )
        return rows

    def _may_be_listed(self, at: int) -> bool:
        """Whether a claim is true by itself, and no clearer one over x explains it.

        A bias in part of x spreads the ranks as a wrong width does, and skews them as a wrong
        shape does; their own nulls remove a bias that is alike at every x alone. So does one along
        a coordinate of x with the widths along it.
        """
        if self.named[at] > self.level:
            return False
        claim, clear = self.result.claims[at], self.result.minus_log_p
        width_over_x = (claim.family, claim.kind) == ("over_x", "width")
        if claim.family not in ("widths", "shapes") and not width_over_x:
            return True
        along = claim.along if width_over_x and claim.along and claim.along.which >= 0 else None
        place = self._clearest_named(
            lambda one: (
                (one.family, one.kind, one.which) == ("over_x", "mean", claim.which)
                and along in (None, one.along)
            )
        )
        return place is None or bool(clear[place] < clear[at])

    def named_of_parameter(self, which: int) -> frozenset[Family]:
        """The families of which a claim about this parameter alone, over all x, may be listed."""
        return frozenset(
            claim.family
            for at, claim in enumerate(self.result.claims)
            if claim.which == (which,) and claim.along is None and self._may_be_listed(at)
        )

    def clearest_of(self, *families: Family) -> ClearestClaim | None:
        """The clearest claim of some families that may be listed; None where none may.

        Of changes over x, those of one parameter's place or width.
        """
        at = self._clearest(
            at
            for at, claim in enumerate(self.result.claims)
            if claim.family in families
            and (claim.family != "over_x" or len(claim.which) == 1)
            and self._may_be_listed(at)
        )
        if at is None:
            return None
        return ClearestClaim(self.result.claims[at], abs(float(self.result.z[at])))

    def clearest(self, names: Sequence[str] = (), x_names: Sequence[str] = ()) -> str:
        """The clearest of all permitted claims, those about single parameters first."""
        at = self._clearest_of_all
        return UNNAMED if at is None else self.text(self.result.claims[at], names, x_names)

    @property
    def clearest_family(self) -> Family | None:
        """Family of that claim; None where none may be named."""
        at = self._clearest_of_all
        return None if at is None else self.result.claims[at].family

    @property
    def _clearest_of_all(self) -> int | None:
        at = self._clearest_named(lambda claim: claim.family not in SUMS)
        if at is None:
            at = self._clearest_named()
        if at is None and not self.found:
            at = int(np.argmax(self.result.minus_log_p))
        return at

    def sentences(self, names: Sequence[str] = ()) -> tuple[str, ...]:
        """Permitted claims about magnitudes and own quantities, with their numbers: outliers,
        rounding, draws outside the range of the true values; where true values rank."""
        out = []
        families: tuple[Family, ...] = (*_MAGNITUDES, "own")
        for family in families:
            at = self._named_of(family)
            if at is not None and (sentence := self._sentence(at, names)):
                out.append(sentence)
        return tuple(out)

    def magnitude(self, names: Sequence[str] = ()) -> Magnitude | None:
        """Gross outliers, rounding or draws outside the range of the true values, where they are
        clearer than any error of single parameters or pairs; None elsewhere."""
        at = self._clearest_named(
            lambda one: one.family in (*_MAGNITUDES, "means", "widths", "shapes", "pairs")
        )
        if at is None or self.result.claims[at].family not in _MAGNITUDES:
            return None
        claim, sentence = self.result.claims[at], self._sentence(at, names)
        if sentence is None or not self._gross(at):
            return None
        return Magnitude(claim.family, claim.which[0], sentence)

    def _gross(self, at: int) -> bool:
        """Whether outliers are more than tails, beyond the farthest bound; whether distances are
        those of equal numbers."""
        family, numbers = self.result.claims[at].family, self.result.numbers[at]
        if family == "outliers":
            bound, count, expected = numbers[:3]
            return bool(bound == FAR[-1] and count > expected)
        return family != "spacing" or bool(abs(numbers[0] - numbers[1]) > _TIED)

    def text(self, claim: Claim, names: Sequence[str], x_names: Sequence[str]) -> str:
        """Subject of a claim: `width of theta_1, changing along x_2`."""
        return _claim_text(claim, names, x_names, self.quantities)

    def of_quantity(self) -> str | None:
        """The clearest claim about an own quantity over all x, with its numbers; None where none
        may be made."""
        at = self._named_of("own")
        return None if at is None else self._sentence(at, ())

    def _sentence(self, at: int, names: Sequence[str]) -> str | None:
        """A claim about magnitudes or an own quantity with its numbers; None for any other, and
        where the numbers do not show it."""
        claim, numbers = self.result.claims[at], self.result.numbers[at]
        if claim.family == "own":
            name = quantity_name(self.quantities, claim.which[0])
            shares = self.events.get(name)
            if shares is not None:
                return _event(name, *shares, single=claim.kind == "width")
            return _ranks_of_own(name, numbers)
        words = _bounds if claim.kind == "bounds" else _MAGNITUDES.get(claim.family)
        return None if words is None else words(parameter_name(names, claim.which[0]), numbers)


def _outliers(name: str, numbers: Array) -> str | None:
    bound, count, expected, rows = numbers[:4]
    if round(count) == round(expected):
        return None
    if count > expected:
        return (
            f"{name}: {count:,.0f} of {rows:,.0f} true values lie more than {bound:g} robust sd "
            f"from the median of q's draws at their x; about {expected:.2g} would if q were "
            "correct."
        )
    return (
        f"{name}: {count:,.0f} of {rows:,.0f} true values lie more than {bound:g} robust sd from "
        f"the median of q's draws, where the draws' own tails call for about {expected:.2g}: q "
        "has outliers or tails that the true values lack."
    )


def _spacing(name: str, numbers: Array) -> str:
    tied, usual, apart, between = numbers[:4]
    if usual > tied + _TIED:
        return (
            f"{name}: {usual:.1%} of q's draws equal another draw at their x, {tied:.1%} of true "
            "values do: q's draws are rounded, repeated or clipped."
        )
    return (
        f"{name}: the nearest draw is typically {apart:.2g} robust sd from a true value, "
        f"{between:.2g} from another draw."
    )


def _support(name: str, numbers: Array) -> str:
    below, above, slots, low, high = numbers
    share = (below + above) / max(slots, 1)
    ends = " to ".join(signed_text(end, ".4g") for end in (low, high))
    return (
        f"{name}: {share_text(share)} of q's draws lie outside the range of all true values, "
        f"{ends}. Is that the prior's whole range?"
    )


def _ranks_of_own(name: str, numbers: Array) -> str:
    mean, spread, rows, z_mean, z_spread = numbers
    if abs(z_mean) >= abs(z_spread):
        return (
            f"{name}: the true value lies above {mean:.0%} of q's draws on average over "
            f"{rows:,.0f} rows; it would lie above 50% if q were correct."
        )
    where = "too often" if spread > 1 else "too rarely"
    return (
        f"{name}: the true value lies among the lowest or highest of q's draws {where}: its rank "
        f"spreads {spread:.2f} times as widely as it would if q were correct."
    )


def _event(name: str, true: float, drawn: float, *, single: bool) -> str:
    both = f"{name} holds for {true:.1%} of true values and {drawn:.1%} of q's draws"
    return f"{both}; at single x q's share of it is wrong." if single else f"{both}."


def _bounds(name: str, numbers: Array) -> str:
    below, above, slots, low, high = numbers
    share = (below + above) / max(slots, 1)
    ends = " to ".join(signed_text(end, ".4g") for end in (low, high))
    return f"{share_text(share)} of {name}'s draws lie outside the prior's bounds, {ends}."


_MAGNITUDES: Mapping[Family, Callable[[str, Array], str | None]] = {
    "outliers": _outliers,
    "spacing": _spacing,
    "support": _support,
}


def _claim_text(
    claim: Claim, names: Sequence[str], x_names: Sequence[str], quantities: Sequence[str]
) -> str:
    parameters = [parameter_name(names, index) for index in claim.which]
    if claim.of in _SCORES:
        what = f"rank of the true value by {_SCORES[claim.of]}"
    elif claim.of == OWN:
        what = f"{_KINDS[claim.kind]} of {quantity_name(quantities, claim.which[0])}"
    elif claim.of == "norm":
        what = f"{_KINDS[claim.kind]} of the distance from q's centre"
    elif claim.kind == "gap":
        what = f"distance of {parameters[0]} to the nearest draw"
    elif claim.kind == "far":
        what = f"{parameters[0]} far from q's centre"
    elif claim.kind == "bounds":
        what = f"draws of {parameters[0]} outside the prior's bounds"
    elif claim.kind == "range":
        what = f"draws of {parameters[0]} outside the range of all true values"
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
        return x_column_name(which, x_names)
    if kind == "component":
        return f"principal component {which + 1} of x"
    if kind == "mean":
        return f"q's mean of {parameter_name(names, which)}"
    return "several coordinates of x"


def parameter_name(names: Sequence[str], which: int) -> str:
    """The name of a parameter, by its place; its number where names are missing."""
    return names[which] if which < len(names) else f"theta_{which + 1}"


def quantity_name(names: Sequence[str], which: int) -> str:
    """The name of a user's own quantity, by its number; the number where names are missing."""
    return names[which] if which < len(names) else f"quantity {which + 1}"


def x_column_name(which: int, x_names: Sequence[str]) -> str:
    """The name of a column of x; numbered from 1 where it has none."""
    return x_names[which] if which < len(x_names) else f"x_{which + 1}"


def x_columns_text(columns: Sequence[int], x_names: Sequence[str]) -> str:
    """Columns of x by name, three or more in a row by their ends: `week5 to week8 and dose`."""
    runs: list[list[int]] = []
    for column in columns:
        if runs and column == runs[-1][-1] + 1:
            runs[-1].append(column)
        else:
            runs.append([column])
    words: list[str] = []
    for run in runs:
        named = [x_column_name(column, x_names) for column in run]
        words += [f"{named[0]} to {named[-1]}"] if len(run) > 2 else named
    return list_text(words)
