"""Where a trained localizer's ball lies, and where along x it is wrong: the CoLT page's maps."""

from validation_core.localization.maps import Maps, MapTask, places_of
from validation_core.localization.outline import (
    areas,
    contours,
    intervals,
    outlines,
    project,
    rims,
    stacked,
    truth_curve,
)
from validation_core.localization.over_gamma import GammaMapsStudy
from validation_core.localization.over_x import LocalRate, RateCurve, local_rate

__all__ = [
    "GammaMapsStudy",
    "LocalRate",
    "MapTask",
    "Maps",
    "RateCurve",
    "areas",
    "contours",
    "intervals",
    "local_rate",
    "outlines",
    "places_of",
    "project",
    "rims",
    "stacked",
    "truth_curve",
]
