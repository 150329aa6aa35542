"""What does 0.2 nats mean? Two pairs of normals with the divergence that a slider chooses."""

from math import isfinite, sqrt

import numpy as np
import streamlit as st

from pages.components import live
from pages.components.divergence_words import size
from validation_core.figures.style import P, Q
from validation_core.simulations import meaning
from validation_core.simulations.meaning import GRID, Apart
from validation_core.types import Array

_X = np.linspace(-4, 6, 126)


def show(nats: float) -> None:
    """Both pairs under one slider, which starts at the grid's value nearest to this one."""
    start = meaning.nearest(nats)
    st.subheader(f"What does {size(nats if nats > 0 else GRID[start])} nats mean?", anchor=False)
    st.markdown(
        "The symmetric divergence is KL(p‖q) + KL(q‖p): 0 only where q is p, and how well draws "
        f"of the two can be told apart grows with it.{_from(nats)}"
    )
    live.chart(_chart(), key=f"meaning-{start}", default=(float(GRID[start]),))
    st.caption(
        "Blue is p, orange a q this far from it, each drawn as high as the other at its top. If q "
        "were right, the two curves would lie on one another, the best classifier would have AUC "
        "0.5, and one 90% interval of q in ten would miss."
    )


def _from(nats: float) -> str:
    if not isfinite(nats) or nats <= 0:
        return " Here there is no estimate above 0: the slider starts at its lowest value."
    if nats > GRID[-1]:
        return (
            f" The {size(nats)} nats estimated here are beyond the slider: of two normals of one "
            f"width, the means would be {size(sqrt(nats))} sd apart."
        )
    return (
        f" The slider starts beside the {size(nats)} nats estimated here."
        if nats >= GRID[0]
        else ""
    )


@st.cache_resource(show_spinner=False, max_entries=1)
def _chart() -> live.Payload:
    shifted, narrow, wide = (
        meaning.shifted(GRID), meaning.scaled(GRID), meaning.scaled(GRID, "wide"),
    )  # fmt: skip
    shown = [size(float(nats)) for nats in GRID]
    return live.payload(
        sliders=[live.slider("nats", GRID, label="Symmetric divergence in nats", shown=shown,
                             ends=("hard to see", "plain to see"))],
        panels=[
            _panel(shifted, "Same width, the mean off", _shift(shifted), 6),
            _panel(narrow, "Same mean, q too narrow", _scale(narrow, wide), 4),
        ],
        headline=live.text(
            "{nats} nats are a mean that is {delta} sd off, or a width that is wrong by a factor "
            "of {ratio}.",
            nats=live.over(shown, "nats"),
            delta=live.over([f"{delta:.2f}" for delta in shifted.mean], "nats"),
            ratio=live.over([f"{sd:.2f}" for sd in wide.sd], "nats"),
        ),
    )  # fmt: skip


def _panel(q: Apart, title: str, said: list[str], end: float) -> dict:
    away = (_X - q.mean[:, None]) / q.sd[:, None]
    return live.panel(
        [
            live.band(_X, 0 * _X, _bell(_X), color=P),
            live.line(_X, _bell(_X), color=P),
            live.band(_X, 0 * _X, live.over(_bell(away), "nats"), color=Q),
            live.line(_X, live.over(_bell(away), "nats"), color=Q, dash="6 3"),
        ],
        title=title, height=210, legend=[("p", P, "line"), ("q", Q, "dash")],
        x=live.axis((-4, end), "θ, in sds of p"), y=live.axis((0, 1.08), hidden=True),
        caption=live.over(said, "nats"),
    )  # fmt: skip


def _bell(z: Array) -> Array:
    return np.asarray(np.exp(-(z**2) / 2))


def _shift(q: Apart) -> list[str]:
    return [f"q is {q.mean[i]:.3g} sd off. {_tells(q, i)}" for i in range(len(GRID))]


def _scale(narrow: Apart, wide: Apart) -> list[str]:
    return [
        f"q has {narrow.sd[i]:.3g} of p's sd. {_tells(narrow, i)} Were q too wide by the same "
        f"factor, {_share(float(wide.misses[i]))} would."
        for i in range(len(GRID))
    ]


def _share(misses: float) -> str:
    return f"{misses:.2%}" if misses >= 1e-4 else "fewer than 0.01%"


def _tells(q: Apart, i: int) -> str:
    return (
        f"The best classifier has AUC {q.auc[i]:.3f} and is right {q.accuracy[i]:.1%} of the "
        f"time; total variation is {q.distance[i]:.3f}; {q.misses[i]:.1%} of q's 90% intervals "
        "miss the truth."
    )
