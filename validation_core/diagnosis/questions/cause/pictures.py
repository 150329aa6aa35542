"""Pictures of the likely cause: weights of all causes, and the table among injected ones."""

from __future__ import annotations

import numpy as np

from validation_core.diagnosis.questions.cause.advice import TITLES
from validation_core.diagnosis.questions.cause.result import LikelyCause
from validation_core.drawing import style
from validation_core.drawing.drawn import Drawn
from validation_core.drawing.marks import Axis, Bars, Key, Panel, Points
from validation_core.text import readable_name
from validation_core.types import Array

_COLORS = ("#CC6677", "#2E9B8A", "#6A5ACD", "#A8791B")
_LINE = 24  # pixels that one cause takes
_PLANE = 380


def weights_picture(result: LikelyCause) -> Drawn:
    """Draw the weight of every cause as a bar, the likeliest on top."""
    causes = result.causes
    bars = [
        Bars(
            [i - 0.4, i + 0.4],
            [candidate.weight],
            color=_color(i),
            opacity=1,
            upright=False,
            hover=f"{TITLES[candidate.cause]}: %{{x:.1%}}",
        )
        for i, candidate in enumerate(causes)
    ]
    names = [readable_name(candidate.cause) for candidate in causes]
    panel = Panel(
        bars,
        x=Axis((0, 1), "weight", percent=True),
        y=Axis.of_rows(names),
        height=70 + _LINE * len(causes),
    )
    return Drawn(
        "Which known defect does it resemble?",
        panel,
        "Each bar: resemblance to tables with that defect; they sum to 1 whether or not "
        "anything is off. If q were correct, no cause would be named (this table's p against "
        f"a correct q: {result.pvalue:.2g}).",
    )


def plane_picture(result: LikelyCause) -> Drawn:
    """Draw the table among injected ones, in the plane in which the likeliest causes lie apart."""
    places, causes, null = result.places, result.place_of, result.null_places
    likeliest = result.causes[: len(_COLORS)]
    named = [readable_name(candidate.cause) for candidate in likeliest]
    clouds: list[tuple[Key, Array, float, float]] = [
        (("another cause", style.NULL, "circle"), places[causes >= len(likeliest)], 4, 0.25),
        *(
            ((named[i], _color(i), "circle"), places[causes == i], 6, 0.75)
            for i in reversed(range(len(likeliest)))
        ),
        (("no defect", style.NULL, "x-thin-open"), null, 4, 0.9),
        (("this table", style.OBSERVED, "star"), np.zeros((1, 2)), 16, 1),
    ]
    points = [
        Points(
            *at.T,
            color=color,
            size=size,
            opacity=opacity,
            symbol=symbol,
            label=name,
            hover=str(name),
        )
        for (name, color, symbol), at, size, opacity in clouds
    ]
    around = np.concatenate([places[causes < len(likeliest)], null, np.zeros((1, 2))])
    low, high = np.quantile(around, [0.01, 0.99], axis=0)
    pad = 0.08 * np.maximum(high - low, 1e-6)
    low, high = np.minimum(low - pad, -pad), np.maximum(high + pad, pad)
    x, y = (Axis((float(low[i]), float(high[i]))) for i in range(2))  # directions have no name
    panel = Panel(points, x=x, y=y, height=_PLANE, legend=[key for key, *_ in clouds])
    return Drawn(
        "Your table among simulated defects",
        panel,
        "Each point is a table: the star is yours, crosses are simulated tables with a correct q, "
        "dots those with a simulated defect of some size. The plane is the one in which the "
        "likeliest causes lie apart. If q were correct, the star would lie among the crosses.",
    )


def _color(place: int) -> str:
    return _COLORS[place] if place < len(_COLORS) else style.NULL
