"""A card about ranks that came without q's draws: which parameters are off, and no more."""

from __future__ import annotations

from functools import partial

import numpy as np

from validation_core.diagnosis.card import pictures
from validation_core.diagnosis.card.content import CardState, Content, Fact
from validation_core.diagnosis.card.inputs import CardInputs
from validation_core.diagnosis.card.size import how_wrong
from validation_core.drawing.drawn import Drawn

_UNSEEN = "Ranks alone do not tell; q's draws and x would."


def ranks_content(inputs: CardInputs, state: CardState) -> Content:
    """Return facts, next steps and the picture of a verdict on ranks."""
    steps = (
        "Save theta, x and theta_q: with q's draws, the size of an error, its place and its cause "
        "can be found too.",
        f"{inputs.asked.surface.every_test} to see the ranks of every parameter.",
        "Bring more simulations: smaller errors show.",
    )
    shift = inputs.diagnosis.shift
    if state == "problem":
        facts = (Fact("How wrong", how_wrong(inputs)), Fact("Where and why", _UNSEEN))
        return facts, steps, partial(_picture, inputs)
    if state == "testing":
        running = bool(inputs.asked.running)
        waiting = "Being worked out." if running else "Not worked out: its job did not end."
        return (Fact("How wrong", waiting),), steps, _no_picture
    if shift is None:
        return (Fact("Could be missed", "Any error."),), steps, _no_picture
    where = " in one parameter" if inputs.diagnosis.upload.dims[0] > 1 else ""
    missed = Fact(
        "Could be missed",
        f"A bias below about {shift.size:.2g} posterior sd{where}; and any error that leaves the "
        "ranks of single parameters even: in how parameters go together, or with signs that "
        "cancel over x.",
    )
    curve = partial(pictures.detection_curve, shift.size, inputs.diagnosis.alpha, [])
    return (missed, Fact("Where and why", _UNSEEN)), steps, curve


def _picture(inputs: CardInputs) -> Drawn | None:
    """Coverage, or the share below each quantile, of the parameter that is rejected first."""
    ranked = [record for record in inputs.diagnosis.records if record.kind.ranks_parameters]
    if not ranked or not inputs.by_ranks:
        return None
    (parameter,) = inputs.problem.parameters
    u = np.asarray(ranked[0].arrays["u"][parameter], np.float64)
    draw = pictures.quantiles if inputs.problem.kind == "bias" else pictures.coverage
    return draw(u, inputs.called(parameter))


def _no_picture() -> None:
    """None is drawn where nothing is known yet."""
