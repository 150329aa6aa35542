"""Where in theta in words: shares of q's draws, checked by truths that no network has seen."""

from __future__ import annotations

from collections.abc import Sequence

from validation_core.diagnosis.claims import Claims, called
from validation_core.diagnosis.questions.in_theta.regions import FACTOR, STRIPS, Share, Strip
from validation_core.diagnosis.questions.in_theta.study import LEVEL, MassInTheta
from validation_core.diagnosis.records import equals


def describe(
    result: MassInTheta, names: Sequence[str], claims: Claims | None = None
) -> tuple[str, ...]:
    """The answer first; then the strip of a parameter that is off most, and what was done.

    Args:
        result: shares and their intervals.
        names: of the parameters.
        claims: what may be claimed; None leaves this panel a level of its own.
    """
    off = result.off
    if claims is not None:
        return (*_claimed(result, names, claims), _tenths(result), _basis(result))
    if result.pvalue > LEVEL and off:
        first = (
            "Strips of single parameters show a place in theta where q's mass is wrong, the "
            f"learned score does not (p {equals(result.pvalue)}, exact, {result.rows} rows)."
        )
    elif result.pvalue > LEVEL:
        first = (
            "No place in theta is found where q's mass is wrong: the truth's score ranks anywhere "
            f"among q's draws' at the same x (p {equals(result.pvalue)}, exact, "
            f"{result.rows} rows)."
        )
    else:
        first = (
            f"q's mass is wrong in theta (p {equals(result.pvalue)}, exact, on rows that the "
            f"score has not seen). {_regions(result)}"
        )
    place = [_strip(off[0], names)] if off else []
    return (first, *place, _tenths(result), _basis(result))


def _claimed(result: MassInTheta, names: Sequence[str], claims: Claims) -> tuple[str, ...]:
    """What may be said under the verdict's error rate."""
    allowed = [strip for strip in result.off if claims.parameter(strip.parameter) <= claims.alpha]
    place = [_strip(allowed[0], names)] if allowed else []
    p = claims.score()
    if p <= claims.alpha:
        return (
            f"q's mass is wrong in theta (p {equals(p)}, adjusted in the verdict's family, on "
            f"rows that no score has seen). {_regions(result)}",
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


def strip_text(strip: Strip, names: Sequence[str]) -> str:
    """A strip of a parameter, to read."""
    at, name = strip.strip, called(names, strip.parameter)
    if at == 0:
        return f"{name} is more than {-STRIPS[0]:g} sd below q's mean"
    if at == len(STRIPS):
        return f"{name} is more than {STRIPS[-1]:g} sd above q's mean"
    return f"{name} is {STRIPS[at - 1]:+g} to {STRIPS[at]:+g} sd from q's mean".replace("-", "−")


def ratio_text(share: Share) -> str:
    """How many times as frequent the truth is."""
    if share.ratio is None:
        return "–"
    return f"{share.ratio:.2f} [{share.ratio_low:.2f}, {share.ratio_high:.2f}]"


def _interval(share: Share) -> str:
    """The truth's share with its interval."""
    low, high = 100 * share.low, 100 * share.high
    return f"{100 * share.truth:.1f}% [{low:.1f}, {high:.1f}]"


def _regions(result: MassInTheta) -> str:
    sentences = []
    for share, claim in (
        (result.missing, f"at least {FACTOR:g} times as frequent as q's draws"),
        (result.excess, f"at most 1/{FACTOR:g} times as frequent"),
    ):
        if share.ratio is None:
            sentences.append(f"Nowhere does the score hold the truth for {claim}.")
            continue
        comparison = (
            f"{ratio_text(share)} times as many" if share.differs else "which may be as many"
        )
        sentences.append(
            f"{share.q:.1%} of q's draws lie where the score holds the truth for {claim}: "
            f"{_interval(share)} of the truths do, {comparison}."
        )
    tenths = [tenth.share for tenth in result.deciles]
    if not any(share.differs for share in (result.missing, result.excess, *tenths)):
        sentences.append("The error is too small, or spread too widely, for a place to be named.")
    return " ".join(sentences)


def _strip(strip: Strip, names: Sequence[str]) -> str:
    share = strip.share
    side = "too little" if share.truth > share.q else "too much"
    return (
        f"q puts {side} mass where {strip_text(strip, names)}: {share.q:.1%} of its draws, "
        f"{_interval(share)} of the truths."
    )


def _tenths(result: MassInTheta) -> str:
    shares = [tenth.share for tenth in result.deciles]
    more = sum(share.ratio_low is not None and share.ratio_low > 1 for share in shares)
    less = sum(share.ratio_high is not None and share.ratio_high < 1 for share in shares)
    return (
        "Checked by held-out truths alone, in tenths of q's draws by the learned ratio: in "
        f"{10 * more}% of q's draws the truth is more frequent, in {10 * less}% less, all "
        f"intervals holding together. In the lowest tenth it is {ratio_text(shares[0])} times as "
        f"frequent, in the highest {ratio_text(shares[-1])} times."
    )


def _score(result: MassInTheta) -> str:
    """Which score was taken, and why."""
    if result.held is None:
        return "The score is the classifier that tests share. "
    within, classifier = (
        f"{nats:+.3f}".replace("-", "−") for nats in (result.held.within, result.held.classifier)
    )
    if result.score == "within":
        return (
            "The score sees each draw among the others at its x: on rows held out of learning it "
            f"told the truth by {within} nats, the classifier that tests share by {classifier}. "
        )
    return (
        "The score is the classifier that tests share: on rows held out of learning it told the "
        f"truth by {classifier} nats, one that sees each draw among the others at its x by "
        f"{within}. "
    )


def _basis(result: MassInTheta) -> str:
    few = (
        f" Of {result.parameters:,} parameters, maps and strips show the "
        f"{len(result.chosen)} on which the learned ratio depends most."
        if result.parameters > len(result.chosen)
        else ""
    )
    return (
        f"{_score(result)}{result.scored:,} draws of q at {result.rows} held-out rows were "
        f"scored.{few} "
        "Brackets are exact 95% intervals, of all tenths, or of all strips, together."
    )
