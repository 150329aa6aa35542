"""The score within x: it sees each slot among the other slots of its row."""

from validation_core.scores.slots.recipe import FEWEST, FEWEST_DRAWS, NAMES, Kind, Slots

__all__ = ["FEWEST", "FEWEST_DRAWS", "NAMES", "Kind", "Slots"]
