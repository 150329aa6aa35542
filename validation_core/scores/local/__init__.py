"""The local score: one classifier of truth against q, and many whose labels say nothing.

A score of H + 1 test quantities: the logits of all H + 1 networks, learnt together. Light: torch
is met only where a network learns or is asked.
"""

from validation_core.scores.local.recipe import FEWEST, Local
from validation_core.scores.local.score import LocalScore

__all__ = ["FEWEST", "Local", "LocalScore"]
