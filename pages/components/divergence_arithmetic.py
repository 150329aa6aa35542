"""The arithmetic of one d, written out, and the order of all of them."""

import numpy as np

from pages.components import live
from pages.components.divergence_words import size as nats
from pages.components.divergence_words import tick
from validation_core.figures.style import NULL, P, Q, method_style
from validation_core.simulations.opened import Numbers
from validation_core.simulations.terms import scale

SKL = method_style("skl").color
_COLUMNS = 0.66, 1.0


def written(said: Numbers) -> dict:
    """Algorithm 1 as a small table that follows the slider k."""
    rows = [(0.62, "log p − log q", "", said.weights)]
    if np.isfinite(said.log_q[said.places]).any():
        rows = [(0.84, "log p(z, y)", P, said.log_p), (0.73, "log q(z | y)", Q, said.log_q),
                *rows]  # fmt: skip
    marks = [
        live.note(at, 0.95, words, anchor="end", color=NULL)
        for at, words in zip(_COLUMNS, ("true z", "q's draw z~"), strict=True)
    ]
    for height, label, color, values in rows:
        marks.append(live.note(0, height, label, color=color))
        marks += [
            live.note(at, height, live.over(_numbers(values[said.places, i]), "k"), color=color,
                      anchor="end")
            for i, at in enumerate(_COLUMNS)
        ]  # fmt: skip
    marks += [
        live.line([0, 1], [0.575, 0.575], color=NULL, width=1),
        live.note(0, 0.49, "d, their difference", color=SKL),
        live.note(1, 0.49, live.over(_numbers(said.d[said.places], " nats"), "k"), color=SKL,
                  anchor="end"),
    ]  # fmt: skip
    return live.panel(
        marks, title="d, written out", height=190, x=live.axis((0, 1), hidden=True),
        y=live.axis((0.4, 1), hidden=True),
        caption=live.over([_says(float(d)) for d in said.d[said.places]], "k"),
    )  # fmt: skip


def _numbers(values: np.ndarray, unit: str = "") -> list[str]:
    shown = [f"{v + 0.0:,.3f}" if abs(v) < 1e6 else f"{v:.4e}" for v in np.round(values, 9)]
    return [one.replace("-", "−") + unit for one in shown]


def _says(d: float) -> str:
    if abs(d) < 1e-9:
        return "p / q is the same at the truth and at q's draw, as everywhere where q is p."
    side, factor = ("at the truth", "at q's draw")[:: 1 if d > 0 else -1], np.exp(min(abs(d), 700))
    size = f"{factor:.3g}" if abs(d) < 9 else f"e^{nats(abs(d))}"
    return f"p / q is {size} times as large {side[0]} as {side[1]}."


def order(said: Numbers) -> dict:
    """All d from the smallest to the largest; a press chooses one."""
    d = said.d[said.places]
    axis = scale(d)
    places = np.arange(len(d))
    powers = axis.ticks(float(d.min()), float(d.max()), 7)
    at = axis.at(d)
    low, high = min(float(at.min()), 0.0), max(float(at.max()), 0.0)
    if high - low < 0.4:  # all are 0 but for rounding
        low, high = -0.4, 0.4
    room, side = 0.06 * (high - low) or 1.0, 0.04 * len(d)
    return live.panel(
        [
            live.hline(0.0, color=NULL),
            live.points(places, at, color=SKL, size=4.5, opacity=0.8),
            live.points(live.over(places[:, None], "k"), live.over(at[:, None], "k"), color="",
                        size=12, symbol="ring"),
        ],
        title="All d, from the smallest", height=380, click="k",
        x=live.axis((-1 - side, len(d) + side), "data sets in order of d: press one", ticks=()),
        y=live.axis((low - room, high + room), "d in nats (symmetric-log)", ticks=axis.at(powers),
                    shown=[tick(float(v)) for v in powers]),
    )  # fmt: skip
