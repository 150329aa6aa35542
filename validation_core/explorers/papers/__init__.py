"""The papers held against the product: their items, and their numbers beside ours."""

from validation_core.explorers.papers import colt_items, conformal_items, divergence_items
from validation_core.explorers.papers.item import STATES, Item, ItemState, Link
from validation_core.published import PaperName

ITEMS: dict[PaperName, tuple[Item, ...]] = {
    "conformal": conformal_items.ITEMS,
    "colt": colt_items.ITEMS,
    "divergence": divergence_items.ITEMS,
}
"""The items of each paper."""

__all__ = ["ITEMS", "STATES", "Item", "ItemState", "Link"]
