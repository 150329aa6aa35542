"""The tell of each defect: the plots that give it away, and what to look for in them."""

from __future__ import annotations

from collections.abc import Mapping

from validation_core.game.plots import Plot
from validation_core.game.rounds import Defect

TELLS: Mapping[Plot, Mapping[Defect, str]] = {
    "ranks": {
        "none": "all bars end in the grey band, or all but.",
        "biased": "the bars slope. True values lie mostly on one side of q's draws.",
        "narrow": "a valley. True values fall too often beyond nearly all of q's draws.",
        "wide": "a hill. True values fall too often in the middle of q's draws.",
        "missed": "one tall bar at rank 0, the rest level. Some true values lie below all of q's "
        "draws: on the mode that q misses.",
        "extra": "a gap at the lowest ranks, the rest level. Some of q's draws lie below nearly "
        "all true values: on a mode that p does not have.",
        "tails": "the outermost bars at both ends are low, the rest is level. A few of q's draws "
        "lie far out on either side.",
    },
    "ecdf": {
        "none": "the line stays in the grey band.",
        "biased": "one wide arch on one side of 0. Ranks are mostly low, or mostly high.",
        "narrow": "above 0 on the left, below it on the right. Low and high ranks are too many.",
        "wide": "below 0 on the left, above it on the right. Low and high ranks are too few.",
        "missed": "a jump at once, then a straight way back to 0. Many ranks are 0: true values "
        "on the mode that q misses.",
        "extra": "a dip at once, then a straight way back to 0. The lowest ranks are missing: "
        "q's draws on its extra mode lie below the true values.",
    },
    "units": {
        "none": "blue and orange agree but for chance.",
        "narrow": "blue is wider than orange.",
        "wide": "blue is narrower than orange.",
        "missed": "a blue bump on the left where orange has none.",
        "extra": "an orange bump on the left where blue has none.",
        "tails": "orange reaches far out on both sides, blue does not.",
    },
    "over-x": {
        "none": "all points lie in the grey band about one half.",
        "biased": "the points leave one half to one side, most at the largest means.",
        "blind": "the points climb. At low x true values lie below q's draws, at high x above: "
        "q does not follow x.",
    },
    "coverage": {
        "none": "the line stays on the diagonal, within the grey band.",
        "narrow": "the line sags below the diagonal. q's intervals hold too few true values.",
        "wide": "the line rises above the diagonal. q's intervals hold too many true values.",
    },
}
"""By plot, the defects that it gives away, and how.

No shift of q in its own units: that plot's test ranks distances from the centre, which a small
shift hardly changes.
"""
_ALIKE: Mapping[Plot, tuple[tuple[Defect, Defect], ...]] = {
    "ranks": (("none", "blind"), ("wide", "blind"), ("wide", "tails"), ("tails", "blind")),
    "ecdf": (("none", "blind"), ("wide", "blind"), ("wide", "tails"), ("biased", "missed"),
             ("biased", "extra")),
    "units": (("none", "blind"), ("wide", "tails"), ("tails", "blind"), ("wide", "blind"),
              ("wide", "extra")),
    "over-x": (("none", "narrow"), ("none", "wide"), ("none", "tails"), ("biased", "missed"),
               ("biased", "extra")),
    "coverage": (("none", "blind"), ("narrow", "biased"), ("narrow", "missed"), ("wide", "blind"),
                 ("wide", "tails"), ("wide", "extra")),
}  # fmt: skip


def alike(plot: Plot, one: Defect, other: Defect) -> bool:
    """Whether two defects look too much alike in a plot to be asked about together."""
    return (one, other) in _ALIKE[plot] or (other, one) in _ALIKE[plot]
