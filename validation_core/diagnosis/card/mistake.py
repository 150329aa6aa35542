"""A card about a file whose true values and draws do not belong together as they were saved."""

from __future__ import annotations

from functools import partial

from validation_core.diagnosis.card import pictures
from validation_core.diagnosis.card.content import Content, Fact
from validation_core.diagnosis.card.inputs import CardInputs
from validation_core.drawing.drawn import Drawn
from validation_core.tables import TableUpload

_LABELS = {"rows": "Rows", "columns": "Columns", "scale": "Scale"}
_SHOWN = 3


def mistake_content(inputs: CardInputs) -> Content:
    """Return each mistake as a fact, the lines that correct it, and true values beside draws."""
    mistakes = [one for one in inputs.diagnosis.upload.mistakes if one.name in _LABELS]
    facts = tuple(
        Fact(_LABELS[one.name], one.finding.partition(". ")[0] + ".") for one in mistakes[:_SHOWN]
    )
    surface, names = inputs.asked.surface, dict.fromkeys(one.name for one in mistakes)
    lines = [line for one in mistakes for line in one.code.splitlines()]
    code = "; ".join(lines[:_SHOWN])
    more = len(lines) - _SHOWN
    and_more = f" (and {more} more)" if more > 0 else ""
    steps = (
        f"In your program: {code}{and_more}.",
        f"Or {surface.correcting(*names)}.",
        f"Then diagnose again. If the draws are meant as they are: {surface.as_saved}.",
    )
    return facts, steps, partial(_picture, inputs)


def _picture(inputs: CardInputs) -> Drawn | None:
    """The first parameter on another scale; None where rows or columns are in another order."""
    upload = inputs.diagnosis.upload
    columns = [one.column for one in upload.mistakes if one.column is not None]
    if not columns or not isinstance(upload, TableUpload):
        return None
    at = columns[0]
    return pictures.on_two_scales(
        upload.data.theta[:, at], upload.data.q[..., at], upload.names[at]
    )
