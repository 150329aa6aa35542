"""What a power curve draws: how often each method rejects along gamma, beta or m."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np

from validation_core import statistics
from validation_core.types import Array, PowerCell

Along = Literal["gamma", "beta", "m"]


class Curve(NamedTuple):
    """One method's counts along x, seeds pooled."""

    method: str
    label: str
    x: Array
    trials: Array
    rejections: Array

    @property
    def rate(self) -> Array:
        """Share rejected."""
        return self.rejections / self.trials

    @property
    def interval(self) -> tuple[Array, Array]:
        """95% Wilson interval of the share."""
        low, high = statistics.wilson(self.rejections, self.trials)
        return np.asarray(low), np.asarray(high)


def curves(cells: Sequence[PowerCell], x: Along) -> list[Curve]:
    """Cells gathered into curves by method and label; cells at one place are added up."""
    counts: dict[tuple[str, str], dict[float, list[int]]] = defaultdict(dict)
    for cell in cells:
        label = cell.method if x == "m" else cell.label or cell.method
        count = counts[cell.method, label].setdefault(_place(cell, x), [0, 0])
        count[0] += cell.trials
        count[1] += cell.rejections
    gathered = []
    for (method, label), at in counts.items():
        places = sorted(place for place in at if np.isfinite(place))
        if places:
            trials, rejections = np.array([at[place] for place in places], dtype=float).T
            gathered.append(Curve(method, label, np.array(places), trials, rejections))
    return gathered


def _place(cell: PowerCell, x: Along) -> float:
    if x == "gamma":
        return cell.gamma
    return cell.beta if x == "beta" else float(cell.options.get("m", np.nan))
