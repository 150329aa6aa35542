"""Kinds of statistics, families that are tested together, and their shares of the level."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

StatisticKind = Literal["mean", "width", "shape", "pair", "score", "far", "gap", "range", "bounds"]
Family = Literal[
    "means",
    "widths",
    "shapes",
    "pairs",
    "together",
    "norm",
    "outliers",
    "spacing",
    "support",
    "densities",
    "learned",
    "over_x",
    "together_over_x",
    "learned_over_x",
    "observation",
    "weights",
    "own",
    "own_over_x",
]
SHARES: Mapping[Family, float] = {
    "means": 0.55,
    "widths": 0.16,
    "shapes": 0.04,
    "pairs": 0.12,
    "together": 0.3,
    "norm": 0.03,
    "outliers": 0.06,
    "spacing": 0.005,
    "support": 0.03,
    "densities": 0.08,
    "learned": 0.2,
    "over_x": 0.16,
    "together_over_x": 0.01,
    "learned_over_x": 0.06,
    "observation": 0.06,
    "weights": 0.4,
    "own": 0.3,
    "own_over_x": 0.06,
}
"""Weights within the level, of those families that are tested together: the most common errors
have most. Only a shift of all rows by a tenth of a sd is barely visible in a thousand rows, so
that means are worth more than all others (benchmarks); gross errors need little; quantities that
a user asks about are worth much."""
WEIGHT = "log_w"
"""The log weight of slots, where draws are weighted: claimed posterior over proposal."""
LEARNED = ("classifier", "slots", "dc", "colt", "tarp")
"""Scores that are learned on other rows, by name."""
RATIOS = ("classifier", "slots", "dc", "log_ratio")  # high looks like the truth
OWN = "own"
"""Whose score a user's own test quantity is; which of them is its number."""
ALL, WHITENED = "theta", "whitened"
"""Terms of the sums of squares over parameters: their statistics, or these decorrelated."""
EVERYWHERE = -3
"""Along all coordinates of x together."""
SUMS: tuple[Family, ...] = ("together", "together_over_x")
"""Families of sums of squares."""
LEARNED_FAMILIES: tuple[Family, ...] = ("learned", "learned_over_x")
"""Families of scores learned on half of the rows and tested on the others."""
