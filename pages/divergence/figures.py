"""Figures of the Symmetric divergence page: nats over iterations or M, a panel per model."""

from __future__ import annotations

from collections.abc import Mapping

from pages.ui import live
from validation_core import keys
from validation_core.drawing.live import Payload
from validation_core.symmetric_divergence import Plan, Terms, views
from validation_core.symmetric_divergence.lines import BARE, MARKS

VIEWS = {"iterations": "Iterations", "each-m": "Importance sampling", "over-m": "Over M"}

READ = {
    "iterations": f"{MARKS} IWVI weighs as many draws as it was trained with, or more. If q "
    "were correct, points and rings would lie about 0.",
    "each-m": "Each curve weighs M draws of the same q by p / q, which brings q nearer to p: "
    "Figure 2 of the paper, for adjusted Laplace. Where IWVI is chosen, each curve is VI trained "
    f"for the M draws that are weighed: Figure 3. {MARKS} {BARE} If q were correct, all curves "
    "would lie about 0.",
    "over-m": "Along each curve, more draws of the same q are weighed by p / q; along that of "
    "IWVI, q is trained anew for each M. Where it lies on VI's, nothing shows that training "
    "with M buys what weighing does not. The dashed line falls as 1/M, the rate of KL(q‖p) for "
    f"large M. {MARKS} If q were correct, curves would lie about 0 from M = 1 on.",
}
"""Reading guide of each view, with its appearance under a correct q."""


ADDRESS = {"iterations": "weigh", "each-m": "of", "over-m": "after"}
"""Name in the address of the first slider of each view."""


def payload(view: str, plan: Plan, terms: Mapping[tuple[int, int], Terms]) -> Payload:
    """A view of what has run, made once."""
    key = ("divergence", view, keys.key(plan), views.completion_mask(terms))
    return live.once(key, lambda: views.payload(view, plan, terms))
