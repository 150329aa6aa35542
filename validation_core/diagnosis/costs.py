"""The cost of a diagnosis: seconds and memory of each method on an uploaded table."""

from __future__ import annotations

from validation_core.diagnosis import learning
from validation_core.methods.base import Method, Work
from validation_core.scores.classifier import Classifier
from validation_core.sweep.costs import (
    PROCESS_BYTES,
    TEST_SECONDS,
    MethodCost,
    learning_seconds,
    machine_slowdown,
    relative_width,
)
from validation_core.tables import Upload


def on_table(upload: Upload, method: Method) -> MethodCost:
    """The cost of a method on a user's table, its network included."""
    n, k, (d, m) = upload.n, max(1, upload.k), upload.dims
    half = n if not method.needs_training else max(1, n // 2)
    recipe = learning.recipe(upload, method)
    rows = method.rows(half, k) / 1e6 * relative_width(d + m)
    work = Work(rows, half, k, d, n // 2)
    training, trial = learning_seconds(recipe), TEST_SECONDS + method.cost(work)
    if isinstance(recipe, Classifier):
        training = recipe.cost(0.8 * half)
    memory = 4.0 * (n + half) * k * d + 8.0 * half * k
    return MethodCost(
        machine_slowdown() * training, machine_slowdown() * trial, PROCESS_BYTES + memory
    )
