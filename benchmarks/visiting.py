"""What visitors do on any page: move what it lets them move, mostly its pictures' sliders."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.client import Range, Visitor, Widget
from validation_core.rng import stream

PAGES = (
    "", "lessons", "lecture", "name-that-defect", "weak-classifiers", "glossary",
    "conformal-c2st", "colt", "symmetric-divergence", "high-dimensions", "compare", "diagnose",
    "compare-posteriors", "methods", "models", "train-an-estimator",
)  # fmt: skip
"""Every page, as the address calls it."""

_WEIGHTS = {"bidi_component": 4.0, "slider": 1.0, "expander": 0.5, "multiselect": 0.5}
_SELDOM = 0.03
"""Of what sets workers to hours of work: whoever tries each seed is no usual visitor."""
_BEGINS_WORK = (
    "seed", "preset", "training", "divergence", "fresh", "more", "kind", "rows", "gain", "model",
    "trials-", "dim", "n_", "k_", "iterations", "datasets", "sphere-", "own-m",
)  # fmt: skip
_NEVER = ("bound", "None", "with-draws", "look-x")
_CLOCK = 2  # of a process, all its threads together: CPUCLOCK_SCHED of Linux


def movable(visitor: Visitor) -> list[Widget]:
    """What can be moved on the page, without its buttons."""
    return [
        widget
        for widget in visitor.widgets.values()
        if widget.kind not in ("button", "file_uploader", "text_input")
        and widget.key not in _NEVER
        and widget.choices
    ]


async def interact(visitor: Visitor, rng: np.random.Generator) -> tuple[str, float]:
    """Move one thing to a place drawn at random: its key, and the seconds it took.

    On a page without any, open it anew.
    """
    widgets = movable(visitor)
    if not widgets:
        return "reload", await visitor.reload()
    weights = np.array([_weight(widget) for widget in widgets])
    widget = widgets[rng.choice(len(widgets), p=weights / weights.sum())]
    return widget.key, await visitor.set(widget.key, _value(widget, rng))


def _weight(widget: Widget) -> float:
    if widget.key.startswith(_BEGINS_WORK):
        return _SELDOM
    return _WEIGHTS.get(widget.kind, 1.0)


def _value(widget: Widget, rng: np.random.Generator) -> Any:
    choices: Sequence[Any] = widget.choices
    if isinstance(choices, Range):
        steps = int(min(200, (choices.high - choices.low) / choices.step))
        return float(choices.low + choices.step * rng.integers(steps + 1))
    if widget.kind == "multiselect":
        return [choice for choice in choices if rng.random() < 0.6]
    if widget.kind == "bidi_component" and not isinstance(choices[0], str):
        return [float(rng.choice(grid)) for grid in choices]
    return choices[int(rng.integers(len(choices)))]


def spent(pid: int) -> float:
    """Seconds that a process has run on a processor, to the microsecond."""
    return time.clock_gettime((~pid << 3) | _CLOCK)


def descriptors(pid: int) -> int:
    """Open files, sockets and pipes of a process."""
    return len(os.listdir(f"/proc/{pid}/fd"))


def table_file(path: Path, rows: int, columns: int, nbytes: float) -> Path:
    """A table of so many rows and columns of x, of ten parameters and about so many bytes."""
    k = int(nbytes / 4 / rows / 10)
    shapes = {"theta": (rows, 10), "x": (rows, columns), "theta_q": (rows, k, 10)}
    rng = stream(0, path.stem)
    draws = {name: rng.standard_normal(shape, dtype=np.float32) for name, shape in shapes.items()}
    np.savez(path, **draws)  # type: ignore[arg-type]
    return path
