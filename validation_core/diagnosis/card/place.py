"""Where over x q is wrong, and which columns of x it seems not to use."""

from __future__ import annotations

from validation_core.diagnosis.card.inputs import CardInputs
from validation_core.diagnosis.card.size import bias_text
from validation_core.diagnosis.questions.cause import CauseQuestion
from validation_core.diagnosis.questions.over_x import OverXQuestion
from validation_core.diagnosis.questions.over_x.region_words import region_text
from validation_core.diagnosis.questions.over_x.result import OverXPlace
from validation_core.relabelling.claims import x_columns_text
from validation_core.text import equals


def where_wrong(inputs: CardInputs) -> str:
    """Say where over x q is wrong, or that no change over x is found."""
    result, problem = inputs.of(OverXQuestion), inputs.problem
    if result is None:
        claimed = f" Claimed: {inputs.change}." if inputs.change else ""
        return f"{inputs.why_not(OverXQuestion())}{claimed}"
    if problem.place is not None:
        region = region_text(problem.place, *inputs.names)
        unread = unread_columns(inputs)
        follows = f" q's error follows {x_columns_text(unread, inputs.names.x)}." if unread else ""
        share = f"{problem.place.share:.0%} of simulations"
        name = inputs.called(problem.place.parameter)
        return f"Where {region}: {share}.{_elsewhere(problem.place, name)}{follows}"
    # Until all tests have answered, p is not what it will be.
    pending = inputs.diagnosis.pending
    p = "" if pending else f" (p {equals(result.p_changes(inputs.claims))})"
    if inputs.alike and "over_x" in (inputs.claims.clearest_family or ""):
        return (
            f"No change over x is found{p}: an error that is the same everywhere would explain "
            "what was found along x."
        )
    if inputs.alike:
        return f"No change over x is found{p}."
    if inputs.place is not None:
        return f"It changes over x{p}, most where {region_text(inputs.place, *inputs.names)}."
    if inputs.changing:
        return f"It changes over x{p}, in the learned score, not in one parameter."
    return f"It changes over x{p}, not in one place."


def unread_columns(inputs: CardInputs) -> list[int]:
    """Return the columns of x that q seems not to use; none where it is not said to ignore x.

    A q that is the posterior of the other columns errs by what these would have told it: its error
    follows them, and no column that it uses.
    """
    cause = inputs.of(CauseQuestion)
    if cause is None or cause.cause != "ignores_x":
        return []
    return sorted({at.which for at in inputs.changing if (at.kind, at.along) == ("shift", "x")})


def _elsewhere(place: OverXPlace, name: str) -> str:
    """The error of this parameter outside a place, after a space; empty where it is not known."""
    outside = place.outside
    if outside.value is None:
        return ""
    if not outside.excludes(1.0 if place.kind == "width" else 0.0):
        error = "wrong width" if place.kind == "width" else "bias"
        return f" Elsewhere no {error} of {name} is seen."
    if place.kind == "width":
        return f" Elsewhere q is {outside.value:.2f} times as wide as it should be."
    return f" Elsewhere q sits {bias_text(outside.value, outside.low, outside.high)}."
