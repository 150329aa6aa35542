"""Where a trained localizer's ball lies, and where along x it is wrong: the CoLT page's maps."""

from validation_core.localization.ball_theory import BallTheory, BallTheoryStudy
from validation_core.localization.map_draws import places_of
from validation_core.localization.maps import Maps, MapTask
from validation_core.localization.outline import (
    areas,
    ball_outlines,
    contours,
    intervals,
    project,
    rims,
    stacked,
)
from validation_core.localization.over_gamma import GammaMapsStudy
from validation_core.localization.over_x import LocalRate, RateCurve, local_rate
from validation_core.localization.truth_curves import truth_curve

__all__ = [
    "BallTheory",
    "BallTheoryStudy",
    "GammaMapsStudy",
    "LocalRate",
    "MapTask",
    "Maps",
    "RateCurve",
    "areas",
    "ball_outlines",
    "contours",
    "intervals",
    "local_rate",
    "places_of",
    "project",
    "rims",
    "stacked",
    "truth_curve",
]
