"""Figures of the Symmetric divergence page: nats over iterations or M, a panel per model."""

from __future__ import annotations

from collections.abc import Mapping

from pages.ui import live
from validation_core import keys
from validation_core.drawing.live import Payload
from validation_core.symmetric_divergence import Plan, Terms, views
from validation_core.symmetric_divergence.lines import MARKS

VIEWS = {"iterations": "Iterations", "weighted": "Importance sampling", "trained": "IWVI"}

READ = {
    "iterations": f"{MARKS} IWVI weighs as many draws as it was trained with, or more. If q "
    "were correct, points and rings would lie about 0.",
    "weighted": (
        "Along each curve, more draws of the same q are weighed by p / q, which brings q nearer "
        f"to p. A steep curve is a q that weighing repairs. {MARKS} If q were correct, the curve "
        "would lie about 0 from M = 1 on."
    ),
    "trained": "One curve is importance-weighted VI (IWVI), trained for the M draws that are "
    "weighed; the other is plain VI, its draws weighed alike. Where both lie together, training "
    f"with M buys nothing that weighing does not. {MARKS} If q were correct, both would lie "
    "about 0 "
    "from M = 1 on.",
}
"""Reading guide of each view, with its appearance under a correct q."""


ADDRESS = {"iterations": "weigh", "weighted": "after", "trained": "after"}
"""Name in the address of the first slider of each view."""


def payload(view: str, plan: Plan, terms: Mapping[tuple[int, int], Terms]) -> Payload:
    """A view of what has run, made once."""
    key = ("divergence", view, keys.key(plan), views.completion_mask(terms))
    return live.once(key, lambda: views.payload(view, plan, terms))
