"""Two small tables to try a diagnosis on."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

SAMPLES: Mapping[str, str] = {
    "sample_well_trained": (
        "draws of the exact posterior of a straight line seen at five places: what a perfectly "
        "trained estimator would give (400 rows, 50 draws at each)"
    ),
    "sample_undertrained": (
        "the same line with draws from a posterior 30% too narrow, its slope 0.3 posterior sd too "
        "high: what an undertrained estimator often gives (400 rows, 50 draws at each)"
    ),
}
"""Description of each sample by its name, for the page that offers it."""


def sample_path(name: str) -> Path:
    """The path of a sample's file."""
    return Path(__file__).parents[1] / "data" / f"{name}.npz"
