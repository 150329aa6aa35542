"""Where a trained localizer's ball lies, and where along x it is wrong: the CoLT page's maps."""

from validation_core.maps.bend import bend
from validation_core.maps.outline import Projected, contours, intervals, project
from validation_core.maps.over_x import Curve, Heat, LocalRate, local_rate
from validation_core.maps.record import Maps
from validation_core.maps.task import MapTask

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
