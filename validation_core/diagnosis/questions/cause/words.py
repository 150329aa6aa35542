"""The likely cause in sentences."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from validation_core.diagnosis.questions.base import LEVEL, Names
from validation_core.diagnosis.questions.cause.advice import cause_title
from validation_core.diagnosis.questions.cause.finding_words import departure_text, value_text
from validation_core.diagnosis.questions.cause.findings import Departure, Finding
from validation_core.diagnosis.questions.cause.result import APART, Candidate, LikelyCause
from validation_core.relabelling.claims import Claims, parameter_name
from validation_core.tables.repeats import Fault
from validation_core.text import (
    begun_text,
    capitalise,
    equals,
    interval_text,
    list_text,
    share_text,
)

FAULTS: Mapping[Fault, str] = {
    "chain": "consecutive draws of q at one x are correlated, as in a chain that was not thinned",
    "repeated draws": "draws of q repeat within rows",
    "repeated simulations": "simulations share theta and are not independent",
    "truth among draws": "q's draws contain the true values",
    "other scale": "they are on another scale than the true values",
}
"""What is wrong with the draws themselves."""
_SAID: Mapping[str, Callable[[Finding, str], str]] = {
    "support_leak": lambda e, name: (
        f"{share_text(e.value)} of {name}'s draws lie where no true value does "
        f"({share_text(e.low)} to {share_text(e.high)}): outside the prior."
    ),
    "proposal": lambda e, name: (
        f"True values spread less than q's draws ({name}: {e.value:.2f} times, {e.low:.2f} to "
        f"{e.high:.2f}): do they come from a proposal, not the prior?"
    ),
    "heavy_tails": lambda e, name: (
        f"q's tails are too heavy: {name}'s true values reach {value_text(e)} times as far as q's "
        "draws, beside half of each."
    ),
    "light_tails": lambda e, name: (
        f"q's tails are too light: {name}'s true values reach {value_text(e)} times as far as q's "
        "draws, beside half of each."
    ),
}
"""Causes that a statistic of their own names, with their size."""


def headline(result: LikelyCause, names: Names, claims: Claims) -> str:
    """The cause in one sentence, or that it cannot be told: what a card says.

    Args:
        result: what was worked out.
        names: as the user gave them.
        claims: every claim with its p-value under one error rate, and the level.
    """
    if result.faults:
        faults = list_text([FAULTS[fault] for fault in result.faults])
        return f"The cause cannot be told: the draws themselves are faulty ({faults})."
    if told_by_itself(result):
        finding = result.causes[0].evidence[0]
        return _SAID[result.cause](finding, parameter_name(names.theta, finding.at[0]))
    if result.cause not in ("none", "unclear"):
        return f"{capitalise(candidate_title(result.causes[0]))}."
    n = f"{result.full[0]:,} simulations"
    if result.why == "several":
        return f"More than one cause fits: {weights_text(likeliest(result))}."
    if (departure := _sized(result, claims)) is not None:
        return f"{_departure_side(departure.finding, names.theta)}; why cannot be told from {n}."
    if result.cause == "unclear":
        return f"The cause cannot be told from {n}."
    return f"The cause cannot be told from {n}: none of the known defects is clear by itself."


def told_by_itself(result: LikelyCause) -> bool:
    """Whether a statistic of the cause's own names it, with its size."""
    return result.cause in _SAID and result.causes[0].strength.shape == APART


def _sized(result: LikelyCause, claims: Claims) -> Departure | None:
    """The clearest place or width that is off, its interval without what it would be."""
    for departure in result.seen:
        finding = departure.finding
        p = max(_adjusted(departure, claims), departure.pvalue)
        off = finding.right is not None and not finding.low <= finding.right <= finding.high
        if finding.what in ("bias", "width") and off and p <= claims.alpha:
            return departure
    return None


def _departure_side(finding: Finding, names: Sequence[str]) -> str:
    """`q is too wide in mass`; by how much stands under How wrong."""
    name = parameter_name(names, finding.at[0])
    if finding.what == "width":
        return f"q is too {'wide' if finding.value > 1 else 'narrow'} in {name}"
    return f"q sits too {'high' if finding.value > 0 else 'low'} in {name}"


def seen_text(result: LikelyCause, names: Sequence[str], claims: Claims) -> str:
    """The departures that are not chance, or that there is none."""
    clear = [departure for departure in result.seen if departure.pvalue <= LEVEL]
    judged = [replace(departure, pvalue=_adjusted(departure, claims)) for departure in clear]
    clear = [departure for departure in judged if departure.pvalue <= claims.alpha]
    if clear:
        texts = [departure_text(departure, names) for departure in clear[:_MOST]]
        return f"What was seen: {'; '.join(texts)}."
    return f"What was seen most clearly: {claims.clearest(names)}."


_MOST = 4  # departures that are told


def _adjusted(departure: Departure, claims: Claims) -> float:
    """Its p in the verdict's family."""
    what, at = departure.finding.what, departure.finding.at
    if what in ("follows_x", "spread_x"):
        return claims.over_x(at[0] if at else None)
    if what in ("bias", "width"):
        return claims.parameter(at[0])
    return claims.together()


STRENGTHS: Mapping[str, Callable[[str], str]] = {
    "sd": lambda s: f"off by about {s} posterior sd",
    "times": lambda s: f"about {s} times as wide as it should be",
    "along": lambda s: f"about {s} times as wide as it should be along one direction",
    "across": lambda s: f"about {s} times as wide as it should be along one direction",
    "correlation": lambda s: f"correlations changed by a share of about {s}",
    "degrees": lambda s: f"as Student's t with about {s} degrees of freedom beside a normal",
    "skew": lambda s: f"as skewed as a log-normal of log sd {s}",
    "reach": lambda s: f"true values reach {s} times as far, beside half of them",
    "share of the prior": lambda s: f"true values spread about {s} times as far as q's draws",
    "share of the mode": lambda s: f"a share of about {s} of the smaller mode's mass",
    "share of the truth": lambda s: f"a share of about {s} of the true posterior's mass",
    "share of q": lambda s: f"a share of about {s} of q's mass",
    "share of the spread": lambda s: f"blurred by a share of about {s} of its local spread",
    "share of rows": lambda s: f"in a share of about {s} of the rows",
    "follows": lambda s: f"residuals follow x with correlation about {s}",
}
"""How large, by what the strength counts."""


def strength_text(candidate: Candidate) -> str:
    """`about 1.4 [1.2, 1.6] times as wide as it should be`."""
    strength = candidate.strength
    value, low, high = strength.value, strength.low, strength.high
    narrow = candidate.cause == "too_narrow" or strength.unit == "across"
    if strength.unit == "degrees" or narrow:  # the strength is their inverse
        value, low, high = 1 / value, 1 / high, 1 / low
    return STRENGTHS[strength.unit](interval_text((value, low, high), ".2g"))


def candidate_title(candidate: Candidate) -> str:
    """A cause as a sentence without its full stop, by its likeliest shape."""
    return cause_title(candidate.cause, candidate.strength.shape)


def likeliest(result: LikelyCause) -> Sequence[Candidate]:
    """Two or three causes that cannot be told apart: the third only where it is near them."""
    first, second, *others = result.causes
    near = (third for third in others[:1] if 2 * third.weight >= first.weight)
    return first, second, *near


def weights_text(causes: Sequence[Candidate]) -> str:
    """Causes with their weights: `q is biased (62%); …`; those that round to nothing left out."""
    weighty = [candidate for candidate in causes if candidate.weight >= 0.005] or causes[:1]
    return "; ".join(
        f"{candidate_title(candidate)} ({candidate.weight:.0%})" for candidate in weighty
    )


def why_unclear(result: LikelyCause) -> str:
    """Why no cause is named, before another sentence; nothing where the headline says it."""
    if result.why == "weak":
        return "Your table is too weakly off to tell what it is. "
    if result.why == "far":
        return (
            "Your table is far from all simulated defects; several may act together. Nearest: "
            f"{weights_text(result.causes[:3])}. "
        )
    if result.why == "unseen":
        return (
            f"It resembles simulated defects ({weights_text(result.causes[:3])}), but none of "
            "them is clear by itself. "
        )
    return ""


def stands_out_text(result: LikelyCause) -> str:
    """How many tables with a correct q look as bad."""
    nulls = result.nulls
    worse = max(0, round(result.pvalue * (nulls + 1)) - 1)
    many = "none" if worse == 0 else f"{worse}"
    verb = "looks" if worse < 2 else "look"
    p = equals(result.pvalue)
    return f"{many} of {nulls} simulated tables with a correct q {verb} this bad (p {p})"


def logs_note(result: LikelyCause, names: Names) -> tuple[str, ...]:
    """Which parameters were looked at in their logarithm."""
    if not result.logs:
        return ()
    listed = begun_text([parameter_name(names.theta, j) for j in result.logs], 8)
    return (f"Looked at in the logarithm, where rows are less skewed: {listed}.",)


def subsample_note(result: LikelyCause) -> tuple[str, ...]:
    """Say which part of a large table was looked at; nothing where it was all."""
    used, full = result.used, result.full
    if used == full:
        return ()
    return (
        f"Looked at {used[0]} of {full[0]} simulations, {used[1]} of {full[1]} draws at each and "
        f"{used[2]} of {full[2]} parameters.",
    )
