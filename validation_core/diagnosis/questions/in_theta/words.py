"""Where in theta q's mass is wrong, in sentences."""

from __future__ import annotations

from collections.abc import Sequence

from validation_core.diagnosis.questions.in_theta.result import (
    STRIPS,
    MassInTheta,
    Share,
    ThetaStrip,
)
from validation_core.diagnosis.questions.in_theta.study import FACTOR
from validation_core.relabelling.claims import Claims, parameter_name
from validation_core.text import (
    equals,
    interval_text,
    share_interval_text,
    share_text,
    signed_text,
)


def claimed_sentences(
    result: MassInTheta, names: Sequence[str], claims: Claims
) -> tuple[str, ...]:
    """Say where q's mass is wrong, as far as the verdict's error rate allows it."""
    allowed = [strip for strip in result.off if claims.parameter(strip.parameter) <= claims.alpha]
    place = [_strip(allowed[0], names)] if allowed else []
    p = claims.score()
    if p <= claims.alpha:
        return (f"{_mass(result)} (p {equals(p)}).", _regions(result), *place)
    if place:
        rest = f"No learned score finds a place (p {equals(p)}): single parameters show it."
        return (*place, rest)
    return (f"No place in theta is found where q's mass is wrong (p {equals(p)}).",)


def _mass(result: MassInTheta) -> str:
    """Where q's mass is wrong, in shares as they are estimated."""
    missing, excess = result.missing, result.excess
    if missing.differs and missing.ratio is not None:
        return (
            f"About {share_text(missing.truth)} of true values fall in regions where q puts "
            f"{share_text(missing.q)} of its draws: about {missing.ratio:.1f} times too little"
        )
    if excess.differs and excess.ratio is not None:
        return (
            f"About {share_text(excess.q)} of q's draws lie in regions where "
            f"{share_text(excess.truth)} of true values fall: about "
            f"{1 / max(excess.ratio, 1e-3):.1f} times too much"
        )
    return "q's mass is wrong in theta, but no region of the learned ratio stands out"


def strip_text(strip: ThetaStrip, names: Sequence[str]) -> str:
    """A strip of a parameter, to read."""
    at, name = strip.strip, parameter_name(names, strip.parameter)
    if at == 0:
        return f"{name} is more than {-STRIPS[0]:g} sd below q's mean"
    if at == len(STRIPS):
        return f"{name} is more than {STRIPS[-1]:g} sd above q's mean"
    low, high = (signed_text(edge, "+g") for edge in STRIPS[at - 1 : at + 1])
    return f"{name} is {low} to {high} sd from q's mean"


def ratio_text(share: Share) -> str:
    """How many times as frequent the truth is."""
    if share.ratio is None:
        return "–"
    assert share.ratio_low is not None
    assert share.ratio_high is not None
    return interval_text((share.ratio, share.ratio_low, share.ratio_high))


def _interval(share: Share) -> str:
    """The truth's share with its interval."""
    return share_interval_text((share.truth, share.low, share.high))


def _regions(result: MassInTheta) -> str:
    sentences = []
    for share, claim in (
        (result.missing, f"q too low by {FACTOR:g} times or more"),
        (result.excess, f"q too high by {FACTOR:g} times or more"),
    ):
        if share.ratio is None:
            sentences.append(f"The score finds no place with {claim}.")
            continue
        comparison = (
            f"{ratio_text(share)} times as many" if share.differs else "which may be as many"
        )
        sentences.append(
            f"Where the score says {claim}: {share_text(share.q)} of q's draws, "
            f"{_interval(share)} of true values, {comparison}."
        )
    tenths = [tenth.share for tenth in result.deciles]
    if not any(share.differs for share in (result.missing, result.excess, *tenths)):
        sentences.append("The error is too small, or spread too widely, for a place to be named.")
    return " ".join(sentences)


def _strip(strip: ThetaStrip, names: Sequence[str]) -> str:
    share = strip.share
    side = "too little" if share.truth > share.q else "too much"
    return (
        f"q puts {side} mass where {strip_text(strip, names)}: {share_text(share.q)} of its "
        f"draws, {_interval(share)} of the true values."
    )


def tenths_text(result: MassInTheta) -> str:
    """Say in how many tenths true values are more frequent, or less, than q's draws."""
    shares = [tenth.share for tenth in result.deciles]
    more = sum(share.ratio_low is not None and share.ratio_low > 1 for share in shares)
    less = sum(share.ratio_high is not None and share.ratio_high < 1 for share in shares)
    return (
        "Checked by held-out true values alone, in tenths of q's draws by the learned ratio: "
        f"true values are more frequent in {10 * more}% of q's draws, less frequent in "
        f"{10 * less}% (all intervals hold together). In the lowest tenth they are "
        f"{ratio_text(shares[0])} times as frequent, in the highest {ratio_text(shares[-1])} "
        "times."
    )


def _score(result: MassInTheta) -> str:
    """Which score was taken, and why."""
    if result.held is None:
        return "The score is the classifier that tests share. "
    within, classifier = (
        signed_text(nats, "+.3f") for nats in (result.held.within, result.held.classifier)
    )
    if result.score == "within":
        return (
            "The score sees each draw among the others at its x: on held-out rows it tells "
            f"true values from draws by {within} nats, the classifier that tests share by "
            f"{classifier}. "
        )
    return (
        "The score is the classifier that tests share: on held-out rows it tells true values "
        f"from draws by {classifier} nats, one that sees each draw among the others at its x "
        f"by {within}. "
    )


def basis_text(result: MassInTheta) -> str:
    """Say which score was read, on how many draws and rows."""
    few = (
        f" Of {result.parameters:,} parameters, maps and strips show the "
        f"{len(result.chosen)} on which the learned ratio depends most."
        if result.parameters > len(result.chosen)
        else ""
    )
    return (
        f"{_score(result)}{result.scored:,} draws of q at {result.rows} held-out rows were "
        f"scored.{few} Brackets are exact 95% intervals, of all tenths, or of all strips, "
        "together."
    )
