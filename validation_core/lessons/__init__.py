"""Lessons: each a study whose result is shipped, and what is drawn of it.

kind = LESSONS["same-or-different"]
kind.lesson(kind.study.load(store)).payload
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from validation_core import keys
from validation_core.figures import live
from validation_core.figures.live import Scene
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
    """A lesson before its numbers are there."""

    name: str
    title: str
    study: Study[Any]
    lesson: Callable[[Any], Lesson]


KINDS = (
    Kind(
        "same-or-different",
        "Same or different?",
        same_or_different._SameOrDifferent(),
        same_or_different._lesson,
    ),
    Kind(
        "ten-more-steps", "Ten more steps", ten_more_steps._TenMoreSteps(), ten_more_steps._lesson
    ),
    Kind("bag-lottery", "A bag lottery", bag_lottery._BagLottery(), bag_lottery._lesson),
    Kind("rain", "A rain of p-values", rain._RainOfPvalues(), rain._lesson),
    Kind("four-ways", "Four ways to fool yourself", four_ways._FourWaysStudy(), four_ways._lesson),
    Kind("hunt", "Hunt by hand, then CoLT hunts", hunt._Hunt(), hunt._lesson),
    Kind(
        "blind-prior",
        "What SBC and TARP cannot see",
        blind_prior._BlindPrior(),
        blind_prior._lesson,
    ),
    Kind(
        "number-with-units",
        "A number with units",
        number_with_units._NumberWithUnits(),
        number_with_units._lesson,
    ),
    Kind(
        "could-you-have-seen-it",
        "Could you have seen it?",
        could_you_have_seen_it._CouldYouHaveSeenIt(),
        could_you_have_seen_it._lesson,
    ),
)


def html(lesson: Lesson) -> str:
    """A lesson as one HTML file that runs without a server or a network."""
    papers = "; ".join(str(paper) for paper in lesson.papers)
    foot = f"NPT Lab. {papers}. In NPT Lab the same is asked of your own table."
    return live.html(f"{lesson.title} · NPT Lab", [Scene(lesson.title, lesson.payload)], foot)


LESSONS: Mapping[str, Kind] = keys.by_name(*KINDS)
