"""How a classifier learnt: loss above, held-out AUC below, one axis of epochs."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import plotly.graph_objects as go

from validation_core.figures import style
from validation_core.types import Array

_CHANCE = float(np.log(2))  # the loss of a classifier that knows nothing


def loss_curve(history: Mapping[str, Array], *, height: int = style.HEIGHT) -> go.Figure:
    """Loss (0.693 is guessing) and held-out AUC (one half is guessing) against epochs.

    Args:
        history: arrays "epoch", "loss", "auc" of one length; "held_loss" where it was kept.
    """
    epoch = np.asarray(history.get("epoch", ()))
    if epoch.size == 0:
        return style.empty("Not trained yet", height=height)
    loss, auc = np.asarray(history["loss"]), np.asarray(history["auc"])
    held_out = np.asarray(history.get("held_loss", ()))
    low, high = _range(np.concatenate([loss, held_out, [_CHANCE]]))
    area = _range(np.concatenate([auc, [0.5]]))
    x = style.Axis("epoch", (0.0, max(float(epoch[-1]), 1.0)))
    below = {"xaxis": "x", "yaxis": "y2"}
    traces = [
        style.line(epoch, loss, style.NULL, hover="epoch %{x}: loss %{y:.4f}"),
        {**style.line(epoch, auc, style.P, hover="epoch %{x}: AUC %{y:.4f}"), **below},
    ]
    notes = [
        style.note("training loss", epoch[-1], loss[-1], style.NULL, shift=6),
        {
            **style.note(f"held-out AUC {auc[-1]:.3f}", epoch[-1], auc[-1], style.P, shift=6),
            "yref": "y2",
        },
    ]
    if held_out.size:
        traces.append(style.line(epoch, held_out, style.P, dash="dot"))
        notes[0]["yshift"] = -8
        notes.append(
            {**style.note("held-out loss", epoch[-1], held_out[-1], style.P, shift=6), "yshift": 8}
        )
    return style.figure(
        traces,
        x=x,
        y=style.Axis("loss", (low, high)),
        height=height,
        right=128,
        notes=notes,
        extra={
            "xaxis": {**x.layout(), "showgrid": False, "anchor": "y2"},
            "yaxis": {**style.Axis("loss", (low, high)).layout(), "domain": [0.56, 1]},
            "yaxis2": {**style.Axis("AUC", area).layout(), "domain": [0, 0.44]},
        },
        shapes=[
            {**style.hline(_CHANCE, dash="dot"), "yref": "y"},
            {**style.hline(0.5, dash="dot"), "yref": "y2"},
        ],
    )


def _range(values: Array) -> tuple[float, float]:
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    room = 0.08 * (high - low) or 0.05
    return low - room, high + room
