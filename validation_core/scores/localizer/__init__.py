"""The localizer: a learnt centre theta_l(x), a learnt embedding phi, the distance between them."""

from validation_core.scores.localizer.recipe import (
    FEWEST,
    STARTS,
    Anchors,
    Divergence,
    Embedding,
    Localizer,
    Preset,
    recipe,
)

__all__ = [
    "FEWEST",
    "STARTS",
    "Anchors",
    "Divergence",
    "Embedding",
    "Localizer",
    "Preset",
    "recipe",
]
