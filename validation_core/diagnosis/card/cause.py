"""The likely cause of the problem, and what to do about it."""

from __future__ import annotations

import math
from collections.abc import Mapping

from validation_core.diagnosis.card.inputs import CardInputs, rank_departures
from validation_core.diagnosis.card.place import unread_columns
from validation_core.diagnosis.questions.cause import LEAST_DRAWS, CauseQuestion
from validation_core.diagnosis.questions.cause.advice import TITLES, steps_for
from validation_core.diagnosis.questions.cause.words import FAULTS, headline, likeliest
from validation_core.diagnosis.questions.over_x import OverXQuestion
from validation_core.diagnosis.questions.over_x.region_words import region_text
from validation_core.relabelling.claims import x_columns_text
from validation_core.relabelling.families import Family
from validation_core.tables import TableUpload
from validation_core.text import count_text

_PLAIN_RANKS = 3.0  # sds that ranks must be shifted or spread by, to say how
_BY_KIND = {
    "mode": "missing_mode", "pair": "wrong_correlation", "mass": "unclear", "magnitude": "unclear",
    "quantity": "unclear",
}  # fmt: skip
_OPEN = ("unclear", "none")
"""Of a cause that is not named."""
_CAUSE_OF_MAGNITUDE: Mapping[Family, str] = {
    "outliers": "Some true values lie far outside q; why cannot be told from the table.",
    "spacing": "The draws or the true values are rounded, repeated or clipped.",
    "support": "q has draws where no true value lies; why cannot be told from the table.",
}
_OF_MAGNITUDE: Mapping[Family, str] = {
    "outliers": "Look at the rows of these true values: a failed simulation, another unit, or a "
    "prior wider than the one q was trained on?",
    "spacing": "Find where draws are rounded, repeated or clipped: a saved precision, an integer "
    "type, the ends of a range, a sampler that stands still.",
    "support": "Check that q's draws are transformed back into the prior's range, and that q was "
    "trained on this prior.",
}
_DRAW_MORE = "Draw 100 times from q at each x: {draws} cannot tell the cause."
_LOOK_FIRST = "Look at where q is wrong first"


def likely_cause(inputs: CardInputs) -> str:
    """Name the cause in a sentence, or say that it cannot be told."""
    result = inputs.of(CauseQuestion)
    if result is None:
        return inputs.why_not(CauseQuestion())
    if inputs.magnitude is not None and not result.faults and result.cause in _OPEN:
        return _CAUSE_OF_MAGNITUDE[inputs.magnitude.family]
    against = {"q is too wide": "too_narrow", "q is too narrow": "too_wide"}
    finding = _found(inputs)
    if finding and not result.faults and result.cause in ("none", against.get(finding)):
        return f"Why {finding} cannot be told from {inputs.diagnosis.upload.n:,} simulations."
    said = headline(result, inputs.names, inputs.claims)
    if finding and said.startswith(finding) and said == f"{TITLES[result.cause]}.":  # not news
        return f"No other known defect fits better; why {finding} cannot be told from the table."
    return said


def _found(inputs: CardInputs) -> str:
    """The problem without its size: `q is too wide`; empty where that is not one word."""
    kind, worst = inputs.problem.kind, inputs.worst
    if kind == "bias":
        return "q is biased"
    return f"q is too {worst.misfit}" if worst and kind == "width" and worst.misfit else ""


def next_steps_for(inputs: CardInputs) -> tuple[str, ...]:
    """Return three steps: where to simulate, if it is one place, then against the cause."""
    result, problem, vague = inputs.of(CauseQuestion), inputs.problem, steps_for("unclear", "")
    cause = "unclear" if result is None else result.cause
    if result is not None and cause not in _OPEN:
        steps = list(steps_for(cause, result.causes[0].strength.shape))
    elif result is not None and result.why == "several":
        steps = [steps_for(one.cause, one.strength.shape)[0] for one in likeliest(result)]
    else:
        steps = list(steps_for(_BY_KIND.get(problem.kind) or _provisional(inputs), ""))
    if inputs.magnitude is not None and cause in _OPEN:
        steps = [_OF_MAGNITUDE[inputs.magnitude.family]]
    if unread := unread_columns(inputs):
        that = "it reaches" if len(unread) == 1 else "they reach"
        columns = x_columns_text(unread, inputs.names.x)
        steps.insert(0, f"q does not seem to use {columns}: check that {that} the network.")
    elif problem.place is not None:
        region = region_text(problem.place, *inputs.names)
        steps.insert(0, f"Simulate more where {region}, and check how x is scaled there.")
    if result is not None and result.faults:
        steps = [f"Mend the draws first: {FAULTS[fault]}." for fault in result.faults] + steps
    upload = inputs.diagnosis.upload
    if isinstance(upload, TableUpload) and upload.k < LEAST_DRAWS:
        draws = count_text(upload.k, "draw")
        steps = [_DRAW_MORE.format(draws=draws), *(step for step in steps if step not in vague)]
    if inputs.alike:
        steps = [step for step in steps if not step.startswith(_LOOK_FIRST)]
    if ask := _ask(inputs):  # what is vague speaks of defects among which a cause is looked for
        steps = [step for step in steps if step not in vague]
        steps.insert(1, ask)
    return tuple(dict.fromkeys([*steps, *_more(inputs)]))[:3]


def _ask(inputs: CardInputs) -> str:
    """To ask for the cause, and for the place; empty where the cause was asked, or cannot be."""
    upload, asked = inputs.diagnosis.upload, inputs.asked
    why, where = CauseQuestion(), OverXQuestion()
    if why.name in inputs.answers or asked.state(why, upload) != "not asked":
        return ""
    if where.name in inputs.answers or asked.state(where, upload) != "not asked":
        return f"Ask why q is wrong: {asked.surface.asking(why.name)}."
    return f"Ask why and where q is wrong: {asked.surface.asking(why.name, where.name)}."


def _more(inputs: CardInputs) -> tuple[str, ...]:
    """What to do whatever the cause is."""
    surface = inputs.asked.surface
    there = f"{surface.one_x}: the error there may be larger or smaller than on average."
    return (
        f"Train on more simulations and diagnose again; {surface.compare} shows what it gained.",
        *(() if inputs.alike else (there,)),
        f"{surface.every_test} to see what every single one found.",
    )


def _provisional(inputs: CardInputs) -> str:
    """The cause that the size of the error suggests, before or beside the injected tables."""
    problem = inputs.problem
    if problem.kind == "bias":
        return "bias"
    worst = inputs.worst
    ratio = None if worst is None or not worst.misfit else worst.ratio.estimate
    if worst is None and not inputs.diagnosis.relabelled and inputs.by_ranks:
        spread = rank_departures(inputs.by_ranks[0], inputs.diagnosis.upload.n)[1]
        ratio = None if abs(spread) < _PLAIN_RANKS else 1 / max(inputs.by_ranks[0].spread, 1e-300)
    if problem.place is not None:
        ratio = problem.place.inside.value
    if ratio is None or math.isnan(ratio):
        return "unclear"
    return "too_narrow" if ratio < 1 else "too_wide"
