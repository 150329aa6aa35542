"""Where a trained localizer's ball lies, and where along x it is wrong: the CoLT page's maps."""

from validation_core.localization.maps import Maps, MapTask
from validation_core.localization.outline import Projected, bend, contours, intervals, project
from validation_core.localization.over_x import Curve, Heat, LocalRate, local_rate

__all__ = [
    "Curve",
    "Heat",
    "LocalRate",
    "MapTask",
    "Maps",
    "Projected",
    "bend",
    "contours",
    "intervals",
    "local_rate",
    "project",
]
