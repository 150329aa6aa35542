"""The base of a lesson: a study whose result ships, and the lesson built from it.

class FalseAlarms(LessonStudy[NullPvalues], spec="lesson_false_alarms"):
    name, number, title, short = "false-alarms", 10, "False alarms", "Alarms"
    ...
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from validation_core.drawing.marks import Panel, Slider
from validation_core.lessons.lesson import FollowUp, Lesson, Prediction, Stage
from validation_core.study import R, Study
from validation_core.text import uncapitalise
from validation_core.types import Paper


@dataclass(frozen=True, kw_only=True)
class LessonStudy(Study[R]):
    """A lesson: the computation behind it, and its question, stages and pictures.

    A subclass has these constants, `compute`, and three functions of the computed result. Its
    `sliders` are those of the panels; the prediction brings its own. `short` is its title in a
    word or two, where all lessons stand in one row.
    """

    name: ClassVar[str]
    number: ClassVar[int]
    title: ClassVar[str]
    short: ClassVar[str]
    question: ClassVar[str]
    minutes: ClassVar[int]
    sliders: ClassVar[Sequence[Slider]] = ()
    papers: ClassVar[Sequence[Paper]] = ()
    onwards: ClassVar[FollowUp]
    seed: int = 0

    @property
    def label(self) -> str:
        return f"Lesson: {uncapitalise(self.title)}"

    def prediction(self, result: R) -> Prediction:
        """Prediction that the lesson asks for, and its answer."""
        raise NotImplementedError

    def stages(self, result: R) -> Sequence[Stage]:
        """The steps of the lesson: prediction, reveal, and on to the limits."""
        raise NotImplementedError

    def panels(self, result: R) -> Sequence[Panel]:
        """The pictures, which stages name by their place."""
        raise NotImplementedError

    def lesson(self, result: R) -> Lesson:
        """The lesson of a result."""
        return Lesson(
            name=self.name,
            title=f"{self.number}. {self.title}",
            question=self.question,
            minutes=self.minutes,
            prediction=self.prediction(result),
            stages=self.stages(result),
            sliders=self.sliders,
            panels=self.panels(result),
            papers=self.papers,
            onwards=self.onwards,
        )
