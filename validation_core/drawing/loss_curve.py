"""Training curves of a score: loss and held-out AUC by epoch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from validation_core.drawing import style
from validation_core.drawing.marks import Axis, Grid, HLine, Line, Mark, Panel, Picture, empty
from validation_core.types import Array

_CHANCE = float(np.log(2))  # the loss of a classifier that knows nothing
_EPOCH = "epoch %{x}: "


def loss_curve(
    history: Mapping[str, Array] | Mapping[str, Sequence[float]], *, height: int = style.HEIGHT
) -> Picture:
    """Plot loss (0.693 is guessing) and held-out AUC (one half is guessing) against epochs.

    Args:
        history: arrays "epoch", "loss", "auc" of one length; "held_loss" where it was kept.
    """
    epoch = np.asarray(history.get("epoch", ()))
    if epoch.size == 0:
        return empty("Not trained yet", height=height)
    loss, auc = np.asarray(history["loss"]), np.asarray(history["auc"])
    held_out = np.asarray(history.get("held_loss", ()))
    losses: list[Mark] = [
        HLine(_CHANCE, dash="dot"),
        Line(epoch, loss, color=style.NULL, label="training loss", hover=_EPOCH + "loss %{y:.4f}"),
    ]
    if held_out.size:
        losses.append(Line(epoch, held_out, color=style.P, dash="dot", label="held-out loss"))
    label, hover = f"held-out AUC {auc[-1]:.3f}", _EPOCH + "AUC %{y:.4f}"
    learned = Line(epoch, auc, color=style.P, label=label, hover=hover)
    x = Axis((0.0, max(float(epoch[-1]), 1.0)), "epoch")
    loss_axis = Axis(style.padded(np.concatenate([loss, held_out, [_CHANCE]]), 0.08), "loss")
    auc_axis = Axis(style.padded(np.concatenate([auc, [0.5]]), 0.08), "AUC")
    half = height // 2 + 16
    return Grid(
        [
            Panel(losses, x=x, y=loss_axis, height=half, margin=128),
            Panel([HLine(0.5, dash="dot"), learned], x=x, y=auc_axis, height=half, margin=128),
        ],
        columns=1,
    )
