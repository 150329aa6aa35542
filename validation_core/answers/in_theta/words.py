"""Where in theta in words: shares of q's draws, checked by truths that no network has seen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from validation_core.answers.base import Found, called
from validation_core.answers.in_theta.shares import FACTOR, STRIPS
from validation_core.diagnosis.claims import Claims
from validation_core.diagnosis.words import equals

LEVEL = 0.05


def say(found: Found, names: Sequence[str], claims: Claims | None = None) -> tuple[str, ...]:
    """The answer first; then the strip of a parameter that is off most, and what was done.

    Args:
        found: shares and their intervals.
        names: of the parameters.
        claims: what may be claimed; None leaves this panel a level of its own.
    """
    told = found.plain
    off = _off(told["strips"])
    if claims is not None:
        return (*_claimed(told, off, names, claims), _tenths(told), _how(told))
    if told["pvalue"] > LEVEL and off:
        first = (
            "Strips of single parameters show a place in theta where q's mass is wrong, the "
            f"learned score does not (p {equals(told['pvalue'])}, exact, {told['rows']} "
            "rows)."
        )
    elif told["pvalue"] > LEVEL:
        first = (
            "No place in theta is found where q's mass is wrong: the truth's score ranks anywhere "
            f"among q's draws' at the same x (p {equals(told['pvalue'])}, exact, "
            f"{told['rows']} rows)."
        )
    else:
        first = (
            f"q's mass is wrong in theta (p {equals(told['pvalue'])}, exact, on rows that the "
            f"score has not seen). {_regions(told)}"
        )
    place = [_strip(off[0], names)] if off else []
    return (first, *place, _tenths(told), _how(told))


def _claimed(
    told: Mapping[str, Any], off: Sequence[Mapping[str, Any]], names: Sequence[str],
    claims: Claims,
) -> tuple[str, ...]:  # fmt: skip
    """What may be said under the verdict's error rate."""
    allowed = [one for one in off if claims.parameter(one["parameter"]) <= claims.alpha]
    place = [_strip(allowed[0], names)] if allowed else []
    p = claims.score()
    if p <= claims.alpha:
        return (
            f"q's mass is wrong in theta (p {equals(p)}, adjusted in the verdict's family, on "
            f"rows that no score has seen). {_regions(told)}",
            *place,
        )
    if place:
        return (
            "Strips of single parameters show a place in theta where q's mass is wrong, no "
            f"learned score does (p {equals(p)}).",
            *place,
        )
    return (
        "No place in theta is found where q's mass is wrong: the truth ranks anywhere among q's "
        f"draws at the same x by every learned score (p {equals(p)}, adjusted in the verdict's "
        "family).",
    )


def finds(found: Found) -> bool:
    """Whether q's mass is called wrong somewhere, at this panel's own level."""
    return found.plain["pvalue"] <= LEVEL or bool(_off(found.plain["strips"]))


def strip(one: Mapping[str, Any], names: Sequence[str]) -> str:
    """A strip of a parameter, to read."""
    at, name = int(one["strip"]), called(names, one["parameter"])
    if at == 0:
        return f"{name} is more than {-STRIPS[0]:g} sd below q's mean"
    if at == len(STRIPS):
        return f"{name} is more than {STRIPS[-1]:g} sd above q's mean"
    return f"{name} is {STRIPS[at - 1]:+g} to {STRIPS[at]:+g} sd from q's mean".replace("-", "−")


def interval(one: Mapping[str, Any]) -> str:
    """The truth's share with its interval."""
    low, high = 100 * one["low"], 100 * one["high"]
    return f"{100 * one['truth']:.1f}% [{low:.1f}, {high:.1f}]"


def ratio(one: Mapping[str, Any]) -> str:
    """How many times as frequent the truth is."""
    if one["ratio"] is None:
        return "–"
    return f"{one['ratio']:.2f} [{one['ratio_low']:.2f}, {one['ratio_high']:.2f}]"


def _regions(told: Mapping[str, Any]) -> str:
    said = []
    for key, claim in (
        ("missing", f"at least {FACTOR:g} times as frequent as q's draws"),
        ("excess", f"at most 1/{FACTOR:g} times as frequent"),
    ):
        one = told[key]
        if one["ratio"] is None:
            said.append(f"Nowhere does the score hold the truth for {claim}.")
            continue
        found = f"{ratio(one)} times as many" if _differs(one) else "which may be as many"
        said.append(
            f"{one['q']:.1%} of q's draws lie where the score holds the truth for {claim}: "
            f"{interval(one)} of the truths do, {found}."
        )
    if not any(map(_differs, (told["missing"], told["excess"], *told["deciles"]))):
        said.append("The error is too small, or spread too widely, for a place to be named.")
    return " ".join(said)


def _off(strips: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Strips whose interval leaves out q's share, those farthest from it first."""
    found = [one for one in strips if _differs(one)]
    return sorted(found, key=lambda one: -max(one["low"] - one["q"], one["q"] - one["high"]))


def _differs(one: Mapping[str, Any]) -> bool:
    """Whether the interval of the truth's share leaves out q's."""
    return not one["low"] <= one["q"] <= one["high"]


def _strip(one: Mapping[str, Any], names: Sequence[str]) -> str:
    side = "too little" if one["truth"] > one["q"] else "too much"
    return (
        f"q puts {side} mass where {strip(one, names)}: {one['q']:.1%} of its draws, "
        f"{interval(one)} of the truths."
    )


def _tenths(told: Mapping[str, Any]) -> str:
    tenths = told["deciles"]
    more = sum(one["ratio_low"] > 1 for one in tenths)
    less = sum(one["ratio_high"] < 1 for one in tenths)
    low, high = tenths[0], tenths[-1]
    return (
        "Checked by held-out truths alone, in tenths of q's draws by the learned ratio: in "
        f"{10 * more}% of q's draws the truth is more frequent, in {10 * less}% less, all "
        f"intervals holding together. In the lowest tenth it is {ratio(low)} times as frequent, "
        f"in the highest {ratio(high)} times."
    )


def _score(told: Mapping[str, Any]) -> str:
    """Which score was taken, and why."""
    held = told.get("held")
    if not held:
        return "The score is the classifier that tests share. "
    within, classifier = (
        f"{held[name]:+.3f}".replace("-", "−") for name in ("within", "classifier")
    )
    if told["score"] == "within":
        return (
            "The score sees each draw among the others at its x: on rows held out of learning it "
            f"told the truth by {within} nats, the classifier that tests share by {classifier}. "
        )
    return (
        "The score is the classifier that tests share: on rows held out of learning it told the "
        f"truth by {classifier} nats, one that sees each draw among the others at its x by "
        f"{within}. "
    )


def _how(told: Mapping[str, Any]) -> str:
    few = (
        f" Of {told['parameters']:,} parameters, maps and strips show the "
        f"{len(told['chosen'])} on which the learned ratio depends most."
        if told["parameters"] > len(told["chosen"]) else ""
    )  # fmt: skip
    return (
        f"{_score(told)}{told['scored']:,} draws of q at {told['rows']} held-out rows were "
        f"scored.{few} "
        "Brackets are exact 95% intervals, of all tenths, or of all strips, together."
    )
