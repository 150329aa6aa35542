"""Where a trained localizer's ball lies, and where along x it is wrong: the CoLT page's maps."""

from validation_core.localization.maps import Maps, MapTask, Spine, places_of
from validation_core.localization.outline import (
    Projected,
    areas,
    bend,
    contours,
    intervals,
    outlines,
    project,
    rims,
    stacked,
)
from validation_core.localization.over_gamma import GammaMaps, GammaMapsStudy
from validation_core.localization.over_x import LocalRate, RateCurve, RateHeat, local_rate

__all__ = [
    "GammaMaps",
    "GammaMapsStudy",
    "LocalRate",
    "MapTask",
    "Maps",
    "Projected",
    "RateCurve",
    "RateHeat",
    "Spine",
    "areas",
    "bend",
    "contours",
    "intervals",
    "local_rate",
    "outlines",
    "places_of",
    "project",
    "rims",
    "stacked",
]
