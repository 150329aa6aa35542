"""Numbers as the sentences of several methods say them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def signed(value: float) -> str:
    """Three digits with their sign."""
    return f"{value:+.3f}".replace("-", "−")


def percent(effect: Mapping[str, Any], name: str) -> str:
    """A share with its interval, by its name in an effect."""
    low, high = (100 * effect[f"{name}_{end}"] for end in ("low", "high"))
    return f"{100 * effect[name]:.1f}% [{low:.1f}, {high:.1f}]"
