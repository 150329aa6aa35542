"""What nats mean: two pairs of normals with the divergence that a slider chooses."""

from __future__ import annotations

import numpy as np

from validation_core.figures import live
from validation_core.figures.divergence.nats import size
from validation_core.figures.marks import Axis, Band, Line, Panel, Slider, over, text
from validation_core.figures.style import P, Q
from validation_core.simulations import meaning
from validation_core.simulations.meaning import GRID, NormalPair
from validation_core.types import Array

_X = np.linspace(-4, 6, 126)


def payload() -> live.Payload:
    """Both pairs of normals over nats."""
    shifted, narrow, wide = (
        meaning.shifted(GRID),
        meaning.scaled(GRID),
        meaning.scaled(GRID, "wide"),
    )
    labels = [size(float(nats)) for nats in GRID]
    return live.payload(
        sliders=[
            Slider(
                "nats",
                GRID,
                label="Symmetric divergence in nats",
                names=labels,
                ends=("hard to see", "plain to see"),
            )
        ],
        panels=[
            _panel(shifted, "Same width, the mean off", _shift(shifted), 6),
            _panel(narrow, "Same mean, q too narrow", _scale(narrow, wide), 4),
        ],
        headline=text(
            "{nats} nats are a mean that is {delta} sd off, or a width that is wrong by a factor "
            "of {ratio}.",
            nats=over(labels, "nats"),
            delta=over([f"{delta:.2f}" for delta in shifted.mean], "nats"),
            ratio=over([f"{sd:.2f}" for sd in wide.sd], "nats"),
        ),
    )


def _panel(q: NormalPair, title: str, captions: list[str], end: float) -> Panel:
    away = (_X - q.mean[:, None]) / q.sd[:, None]
    return Panel(
        [
            Band(_X, 0 * _X, _bell(_X), color=P),
            Line(_X, _bell(_X), color=P),
            Band(_X, 0 * _X, over(_bell(away), "nats"), color=Q),
            Line(_X, over(_bell(away), "nats"), color=Q, dash="6 3"),
        ],
        title=title,
        height=210,
        legend=[("p", P, "line"), ("q", Q, "dash")],
        x=Axis((-4, end), "θ, in sds of p"),
        y=Axis((0, 1.08), hidden=True),
        caption=over(captions, "nats"),
    )


def _bell(z: Array) -> Array:
    return np.asarray(np.exp(-(z**2) / 2))


def _shift(q: NormalPair) -> list[str]:
    return [f"q is {q.mean[i]:.3g} sd off. {_tells(q, i)}" for i in range(len(GRID))]


def _scale(narrow: NormalPair, wide: NormalPair) -> list[str]:
    return [
        f"q has {narrow.sd[i]:.3g} of p's sd. {_tells(narrow, i)} Were q too wide by the same "
        f"factor, {_share(float(wide.misses[i]))} would."
        for i in range(len(GRID))
    ]


def _share(misses: float) -> str:
    return f"{misses:.2%}" if misses >= 1e-4 else "fewer than 0.01%"


def _tells(q: NormalPair, i: int) -> str:
    return (
        f"The best classifier has AUC {q.auc[i]:.3f} and is right {q.accuracy[i]:.1%} of the "
        f"time; total variation is {q.distance[i]:.3f}; {q.misses[i]:.1%} of q's 90% intervals "
        "miss the truth."
    )
