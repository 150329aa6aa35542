"""A card whose verdict is a problem: how wrong, where, why, and what to do."""

from __future__ import annotations

from functools import partial

from validation_core.diagnosis.card import pictures
from validation_core.diagnosis.card.cause import likely_cause, next_steps_for
from validation_core.diagnosis.card.content import Content, Fact
from validation_core.diagnosis.card.inputs import CardInputs
from validation_core.diagnosis.card.picture_choice import problem_picture
from validation_core.diagnosis.card.place import where_wrong
from validation_core.diagnosis.card.ranks import ranks_content
from validation_core.diagnosis.card.size import clearest_test, how_wrong
from validation_core.tables import RanksUpload, SamplesUpload


def problem_content(inputs: CardInputs) -> Content:
    """Return facts, next steps and the picture of a verdict that found a problem."""
    upload = inputs.diagnosis.upload
    if isinstance(upload, SamplesUpload):
        differ = Fact("What differs", f"The two samples differ, {clearest_test(inputs)}.")
        shown, surface = partial(pictures.samples, upload.data, upload.names), inputs.asked.surface
        steps = (
            f"{surface.bring} theta, x and theta_q: with x, place and cause can be found too.",
            f"{surface.every_test} to see which difference it found.",
            "Draw more points of both samples to see whether it stays.",
        )
        return (differ,), steps, shown
    if isinstance(upload, RanksUpload):
        return ranks_content(inputs, "problem")
    facts = (
        Fact("How wrong", how_wrong(inputs)),
        Fact("Where", where_wrong(inputs)),
        Fact("Likely cause", likely_cause(inputs)),
    )
    return facts, next_steps_for(inputs), partial(problem_picture, inputs)
