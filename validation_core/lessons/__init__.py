"""Lessons: each a study whose result is shipped, and the pictures drawn from it.

study = LESSONS["same-or-different"]
study.lesson(study.load(store)).payload
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from validation_core import keys
from validation_core.drawing import html
from validation_core.drawing.html import Scene
from validation_core.lessons.bag_lottery import BagLottery
from validation_core.lessons.blind_prior import BlindPrior
from validation_core.lessons.could_you_have_seen_it import CouldYouHaveSeenIt
from validation_core.lessons.four_ways import FourWaysStudy
from validation_core.lessons.hunt import Hunt
from validation_core.lessons.lesson import Lesson
from validation_core.lessons.number_with_units import NumberWithUnits
from validation_core.lessons.rain import RainOfPvalues
from validation_core.lessons.same_or_different import SameOrDifferent
from validation_core.lessons.study import LessonStudy
from validation_core.lessons.ten_more_steps import TenMoreSteps

LESSONS: Mapping[str, LessonStudy[Any]] = keys.by_name(
    SameOrDifferent(),
    TenMoreSteps(),
    BagLottery(),
    RainOfPvalues(),
    FourWaysStudy(),
    Hunt(),
    BlindPrior(),
    NumberWithUnits(),
    CouldYouHaveSeenIt(),
)


def lesson_html(lesson: Lesson) -> str:
    """A lesson as one HTML file that runs without a server or a network."""
    papers = "; ".join(str(paper) for paper in lesson.papers)
    foot = f"NPT Lab. {papers}. In NPT Lab the same is asked of your own table."
    return html.html(f"{lesson.title} · NPT Lab", [Scene(lesson.title, lesson.payload)], foot)
