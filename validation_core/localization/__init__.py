"""Where a trained localizer's ball lies, and where along x it is wrong: the CoLT page's maps."""

from validation_core.localization.maps import Maps, MapTask, places_of
from validation_core.localization.outline import Projected, bend, contours, intervals, project
from validation_core.localization.over_x import LocalRate, RateCurve, RateHeat, local_rate

__all__ = [
    "LocalRate",
    "MapTask",
    "Maps",
    "Projected",
    "RateCurve",
    "RateHeat",
    "bend",
    "contours",
    "intervals",
    "local_rate",
    "places_of",
    "project",
]
