"""One live chart with every mark, and how often Python has heard of it."""

import numpy as np
import streamlit as st

from pages.ui.live import chart
from validation_core.drawing import live, style
from validation_core.drawing.marks import (
    Axis,
    Bars,
    HBand,
    Heat,
    HLine,
    Line,
    Note,
    Panel,
    Points,
    Shades,
    Slider,
    VLine,
    over,
    sentence,
)

CELLS = 13
PLACES = np.linspace(0, 1, CELLS)
EDGES = np.linspace(0, 1, CELLS + 1)
CENTRES = (EDGES[1:] + EDGES[:-1]) / 2


def panels(title: str) -> list[Panel]:
    """A hot cell in the lowest row and a cold one above it run along with the slider."""
    heat = np.zeros((CELLS, CELLS, CELLS))
    heat[range(CELLS), 0, range(CELLS)] = 5
    heat[range(CELLS), 1, range(CELLS)] = -2
    heat[:, -1] = np.nan
    # A diagonal: places of which neither coordinate alone is the slider's.
    path = np.stack([CENTRES, CENTRES[::-1]], 1)
    short = np.where(CENTRES <= 0.5, CENTRES, np.nan)
    gone = over(np.where(PLACES < 0.9, PLACES, np.nan), "x")
    unit = Axis((0, 1))
    share = Axis((0, 1), "share", percent=True)
    rows = Axis.of_rows(["mass", "spin"])
    return [
            Panel(
                [
                    Heat(EDGES, EDGES, Shades(over(heat, "x"), limit=2,
                                              label="p less q")),
                    Points(over(path[:, :1], "x"), over(path[:, 1:], "x"),
                                color=style.P, symbol="ring"),
                    Points(path[:, 0], path[:, 1], color=style.Q, symbol="cross"),
                ],
                title="Map", x=unit, y=unit, square=True, click="x", at=path,
                legend=[("here", style.P, "ring"), ("the way", style.Q, "cross")],
            ),
            Panel(
                [
                    Line(CENTRES, short, color=style.P, label="short"),
                    Line(CENTRES, np.nan * CENTRES, color=style.Q, label="nowhere"),
                    VLine(gone, label="here"),
                ],
                title=title, x=unit, y=unit, click="x",
            ),
            Panel(
                [
                    HBand(0.125, 0.375),
                    Bars([0, 0.25, 0.5, 1], over(np.outer(PLACES, [1, 0.5, 0.25]), "x"),
                         color=style.Q, label="counts"),
                    Line([0, 1, 1, 0], [0, 0, 0.5, 0], color=style.P, fill=0.2),
                    HLine(0.05, label="level"),
                    Note(0.5, 0.5, over([f"{x:.2f}" for x in PLACES], "x")),
                ],
                title="Bars", x=share, y=share, legend=[("region", style.P, "band")],
            ),
            Panel(
                [Points([0.3, 0.62], [0, 1], color="")], title="Rows", x=share, y=rows,
            ),
            Panel(
                [Points([1], [0.5], color=style.P, label="SBC")],
                title="Nameless",
                x=Axis((0, 2), "tests", ticks=[1], names=[""]),
                y=unit,
            ),
            Panel(
                [
                    Line([0, 3], [3, 0.4], color=style.P, dash="6 4"),
                    Line([0, 2.2], [-0.5, 1], color=style.P),
                    Points([2.1], [1.5], color=style.Q, label="run"),
                ],
                title="Ticks",
                x=Axis((-0.5, 3.5), ticks=[0, 1, 2, 3], names=["10", "30", "", "300"]),
                y=Axis((-0.6, 3.1), ticks=[0, 1, 2, 3], names=["0", "1", "10", "100"]),
                legend=[("VI", style.P, "line"), ("IWVI", style.P, "dash")],
            ),
    ]  # fmt: skip


def payload(title: str) -> live.Payload:
    """All of them, and the slider."""
    return live.payload(
        sliders=[Slider("x", PLACES, label="Place", play=True)],
        panels=panels(title),
        headline=sentence("At {x}.", x=over([f"{x:.2f}" for x in PLACES], "x")),
    )


if __name__ == "__main__":
    st.session_state.runs = st.session_state.get("runs", 0) + 1
    st.title("Live")
    title = "Other line" if st.toggle("Another payload") else "Line"
    (x,) = chart(payload(title), key="live")
    st.markdown(f"Run {st.session_state.runs}: x = {x:.2f}")
