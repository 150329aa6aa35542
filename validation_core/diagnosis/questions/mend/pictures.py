"""The picture of what each mend regains."""

from __future__ import annotations

from validation_core.drawing import style
from validation_core.drawing.drawn import Drawn
from validation_core.drawing.marks import Axis, Mark, Panel, Points, VLine
from validation_core.mending import Mended

_LINE = 34  # pixels that one mend takes


def gain_picture(result: Mended) -> Drawn:
    """Draw the nats that each mend regains, with their intervals."""
    mends = (("Weights", result.gain), ("Ranks alone", result.by_ranks))
    ends = [end for _, nats in mends for end in nats]
    pad = 0.08 * max(0.02, max(ends) - min(0.0, *ends))
    marks: list[Mark] = [VLine(0.0, dash="dash")]
    marks += [
        Points(
            [nats.estimate],
            [place],
            left=[nats.low],
            right=[nats.high],
            color=style.P if place == 0 else style.NULL,
            size=9,
            hover=f"{title}: %{{x:.3f}} nats",
        )
        for place, (title, nats) in enumerate(mends)
    ]
    panel = Panel(
        marks,
        x=Axis((min(0.0, *ends) - pad, max(0.0, *ends) + pad), "nats regained"),
        y=Axis.of_rows([title for title, _ in mends]),
        height=90 + _LINE * len(mends),
    )
    return Drawn(
        "What a mend regains",
        panel,
        "Nats of KL(p‖q) that each mend regains on rows that it was not learned from, with 95% "
        "intervals. If q were correct, both would lie at the dashed 0 or left of it.",
    )
