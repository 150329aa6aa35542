"""Reference points for TARP: drawn once from a box, or where theta is expected at each x."""

from validation_core.scores.reference.distance import Distance, Metric, distances
from validation_core.scores.reference.recipe import (
    FEWEST,
    Follows,
    References,
    TrainedReferences,
)

__all__ = [
    "FEWEST",
    "Distance",
    "Follows",
    "Metric",
    "References",
    "TrainedReferences",
    "distances",
]
