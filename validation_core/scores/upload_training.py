"""How networks that learn from an upload are trained: few rows, within seconds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from validation_core.scores.classifier import Classifier


@dataclass(frozen=True, kw_only=True)
class UploadTraining:
    """Recipes of the two networks that every upload's tests may learn."""

    classifier: Classifier = field(
        default_factory=lambda: Classifier(
            epochs=200, lr=3e-3, batch=128, hidden=128, keep_best=True
        )
    )
    """A faster rate than a benchmark's and the best held-out step; see `learning.recipe` for how
    epochs follow from rows."""
    localizer: Mapping[str, Any] = field(
        default_factory=lambda: {"batch": 64, "draws_step": 16, "blur_steps": 500}
    )
    """What its interactive localizer has otherwise: a fifth of the time of its own defaults, and
    on half of 1000 rows nearly their power (measured: 16 draws a step find what 32 do; fewer blur
    steps miss wrong detail)."""


USUAL = UploadTraining()
_in_use = [USUAL]


def upload_training() -> UploadTraining:
    """The training in use."""
    return _in_use[-1]


@contextmanager
def trained_by(training: UploadTraining) -> Iterator[None]:
    """Train by other recipes meanwhile, in all threads: shorter ones, or more thorough."""
    _in_use.append(training)
    try:
        yield
    finally:
        _in_use.remove(training)
