"""The localizer: a learnt centre theta_l(x), a learnt embedding phi, the distance between them."""

from validation_core.scores.localizer.recipe import (
    FEWEST,
    Anchors,
    Divergence,
    Embedding,
    Localizer,
    Preset,
    recipe,
)

__all__ = ["FEWEST", "Anchors", "Divergence", "Embedding", "Localizer", "Preset", "recipe"]
