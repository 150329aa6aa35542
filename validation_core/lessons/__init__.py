"""Lessons: each a study whose result is shipped, and the pictures drawn from it.

kind = LESSONS["same-or-different"]
kind.lesson(kind.study.load(store)).payload
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from validation_core import keys
from validation_core.drawing import html
from validation_core.drawing.html import Scene
from validation_core.lessons import (
    bag_lottery,
    blind_prior,
    could_you_have_seen_it,
    four_ways,
    hunt,
    number_with_units,
    rain,
    same_or_different,
    ten_more_steps,
)
from validation_core.lessons.lesson import Lesson
from validation_core.study import Study


@dataclass(frozen=True)
class Kind:
    """A lesson's study, and the function that builds the lesson from its result."""

    name: str
    title: str
    study: Study[Any]
    lesson: Callable[[Any], Lesson]


KINDS = (
    Kind(
        "same-or-different",
        "Same or different?",
        same_or_different.SameOrDifferent(),
        same_or_different.build_lesson,
    ),
    Kind(
        "ten-more-steps",
        "Ten more steps",
        ten_more_steps.TenMoreSteps(),
        ten_more_steps.build_lesson,
    ),
    Kind("bag-lottery", "A bag lottery", bag_lottery.BagLottery(), bag_lottery.build_lesson),
    Kind("rain", "A rain of p-values", rain.RainOfPvalues(), rain.build_lesson),
    Kind(
        "four-ways",
        "Four ways to fool yourself",
        four_ways.FourWaysStudy(),
        four_ways.build_lesson,
    ),
    Kind("hunt", "Hunt by hand, then CoLT hunts", hunt.Hunt(), hunt.build_lesson),
    Kind(
        "blind-prior",
        "What SBC and TARP cannot see",
        blind_prior.BlindPrior(),
        blind_prior.build_lesson,
    ),
    Kind(
        "number-with-units",
        "A number with units",
        number_with_units.NumberWithUnits(),
        number_with_units.build_lesson,
    ),
    Kind(
        "could-you-have-seen-it",
        "Could you have seen it?",
        could_you_have_seen_it.CouldYouHaveSeenIt(),
        could_you_have_seen_it.build_lesson,
    ),
)


def lesson_html(lesson: Lesson) -> str:
    """A lesson as one HTML file that runs without a server or a network."""
    papers = "; ".join(str(paper) for paper in lesson.papers)
    foot = f"NPT Lab. {papers}. In NPT Lab the same is asked of your own table."
    return html.html(f"{lesson.title} · NPT Lab", [Scene(lesson.title, lesson.payload)], foot)


LESSONS: Mapping[str, Kind] = keys.by_name(*KINDS)
