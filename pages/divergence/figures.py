"""What the Symmetric divergence page draws: SKL on a logarithmic axis, a panel for each model."""

from __future__ import annotations

from collections.abc import Mapping

from pages.ui import live
from validation_core import keys
from validation_core.figures.divergence import views as figures
from validation_core.figures.live import Payload
from validation_core.simulations import Plan, Terms

VIEWS = {"iterations": "Iterations", "weighted": "Importance sampling", "trained": "IWVI"}

READ = {
    "iterations": "Each point is a mean over data sets, in nats; its bar is the 95% normal "
    "interval, formed before the logarithm and cut at the lower edge where it reaches 0; rings "
    "are medians. IWVI weighs as many draws as it was trained with, or more. Were q right, every "
    "point would be 0: on the lower edge.",
    "weighted": "Along a curve more draws of the same q are weighed by p over q, which brings it "
    "nearer: a steep curve is a q that weighing repairs. Were q right, the curve would be on the "
    "lower edge from M = 1 on.",
    "trained": "One curve is importance-weighted VI (IWVI), trained for the M draws that are "
    "weighed; the other is plain VI, its draws weighed alike. Where both lie together, training "
    "with M buys nothing that weighing does not. Were q right, both would be on the lower edge "
    "from M = 1 on.",
}
"""How to read each view, and what it would look like if q were right."""


ADDRESS = {"iterations": "weigh", "weighted": "after", "trained": "after"}
"""What the address calls the first slider of each view."""


def payload(view: str, plan: Plan, terms: Mapping[tuple[int, int], Terms]) -> Payload:
    """A view of what has run, made once."""
    key = ("divergence", view, keys.key(plan), figures.there(terms))
    return live.once(key, lambda: figures.payload(view, plan, terms))
