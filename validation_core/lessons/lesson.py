"""A lesson: a question, the student's prediction, the computation, and its limits.

All of a lesson is one payload for the browser (`drawing.live`): its panels, its sliders, and the
text around them. The open stage and the student's prediction are sliders too, without a
rail, so that words follow them and the address carries them as it does any other.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np
from latex2mathml.converter import convert

from validation_core.drawing import live
from validation_core.drawing.marks import Number, Panel, Slider, Words
from validation_core.types import Paper

_Pack = Callable[[Any], Any]

_RATE = 30.0  # values a second that a lesson's sliders play at the least

STAGE = "stage"
"""The slider that says which stage is open."""


PERCENTAGES = np.arange(101)
PERCENTAGE_NAMES = tuple(f"{percent}%" for percent in PERCENTAGES)


def percentage_guess_slider(name: str, start: float = 50) -> Slider:
    """Slider of a predicted share from 0% to 100%, without a rail."""
    return Slider(
        name, PERCENTAGES, label="Prediction", names=PERCENTAGE_NAMES, start=start, hidden=True
    )


@dataclass(frozen=True, kw_only=True)
class Beat:
    """One step of the animation of a stage.

    Args:
        at: target values of sliders, by their names.
        words: text shown meanwhile; by default the stage's own.
        seconds: how long it takes, gliding and a rest after it.
    """

    at: Mapping[str, float] = field(default_factory=dict)
    words: Words = ""
    seconds: float = 4.0


@dataclass(frozen=True, kw_only=True)
class Formula:
    """The formula behind a lesson, with the sliders' values highlighted in it.

    Args:
        latex: with \\text{@name} where the value of that name stands.
        values: those values, in words that follow sliders.
        source: paper, section, equation.
    """

    latex: str
    values: Mapping[str, Words] = field(default_factory=dict)
    source: str

    @property
    def mathml(self) -> str:
        """MathML of the formula, with an empty <mn data-value="name"> for each value.

        Raises:
            ValueError: when a value has no place in the formula, or a place no value.
        """
        markup = re.sub(
            r"<mtext>@([\w-]+)</mtext>",
            r'<mn class="lit" data-value="\1"></mn>',
            _mathml(self.latex),
        )
        places = set(re.findall(r'data-value="([\w-]+)"', markup))
        if places != set(self.values):
            raise ValueError(
                f"Each value of a formula has its place \\text{{@name}}, and each place a value; "
                f"got places {sorted(places)} and values {sorted(self.values)}."
            )
        return markup


@cache
def _mathml(latex: str) -> str:
    return convert(latex, display="block")


@dataclass(frozen=True, kw_only=True)
class Stage:
    """One step of a lesson.

    Args:
        title: on its button, a word or two.
        words: plain text, without Markdown.
        panels: the lesson's panels that are visible; of these, the first alone where it is shown
            to a room.
        sliders: which sliders have a rail.
        at: values of sliders when the stage is entered; the others stay.
        beats: the story of this stage.
        formula: below the words.
    """

    title: str
    words: Words
    panels: Sequence[int] = ()
    sliders: Sequence[str] = ()
    at: Mapping[str, float] = field(default_factory=dict)
    beats: Sequence[Beat] = ()
    formula: Formula | None = None


@dataclass(frozen=True, kw_only=True)
class NumberGuess:
    """A number guessed by dragging a bar, then shown beside the computed one.

    Args:
        slider: its slider, hidden; the bar is as long as its values.
        label: name of the guessed number.
        truth: the computed number, in the slider's units; it may follow sliders.
    """

    slider: str
    label: str
    truth: Number


@dataclass(frozen=True, kw_only=True)
class PictureGuess:
    """A guess by choosing one of several pictures.

    Args:
        slider: its slider, hidden, over 0 (none yet), 1, ..., one for each picture.
        panels: the lesson's panels that are the pictures, drawn small, in the order 1, 2, ...
        right: the number of the right one, as computed; it may follow sliders.
    """

    slider: str
    panels: Sequence[int]
    right: Number


@dataclass(frozen=True, kw_only=True)
class Prediction:
    """The student's prediction, before anything is revealed.

    Args:
        asked: bars, or pictures.
        answer: the prediction beside the computed answer, in words over the prediction's sliders;
            shown first in the reveal, once something was predicted.
    """

    asked: Sequence[NumberGuess] | PictureGuess
    answer: Words

    @property
    def sliders(self) -> tuple[str, ...]:
        """Names of the sliders that hold the prediction."""
        if isinstance(self.asked, PictureGuess):
            return (self.asked.slider,)
        return tuple(bar.slider for bar in self.asked)


@dataclass(frozen=True, kw_only=True)
class FollowUp:
    """A page on which the same question is put to the reader's own table or to a benchmark.

    Args:
        page: its name in pages/main.py.
        query: settings of its address.
    """

    page: str
    label: str
    query: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Lesson:
    """Panels, sliders, stages and prediction of a lesson; `payload` packs them.

    Args:
        sliders: of the panels and of the prediction; the stage's is added.
        stages: the first asks for the prediction, the second reveals.
        papers: its sources.
        url: names of sliders that the address carries.
    """

    name: str
    title: str
    question: str
    minutes: int
    prediction: Prediction
    stages: Sequence[Stage]
    sliders: Sequence[Slider]
    panels: Sequence[Panel]
    papers: Sequence[Paper] = ()
    onwards: FollowUp

    @property
    def all_sliders(self) -> tuple[Slider, ...]:
        """The stage's slider, then the others."""
        titles = [stage.title for stage in self.stages]
        stage = Slider(STAGE, range(len(titles)), names=titles, label="Stage", hidden=True)
        return (stage, *(replace(slider, rate=max(slider.rate, _RATE)) for slider in self.sliders))

    @property
    def url(self) -> tuple[str, ...]:
        """Names of the sliders in the address."""
        return tuple(slider.name for slider in self.all_sliders)

    def entered(self, values: Sequence[float]) -> tuple[float, ...]:
        """Values of sliders once the stage in `values` (its first) is entered.

        Those that no stage up to it moves keep their initial value; so does the stage, which does
        not move by itself.
        """
        places = {slider.name: slider.first for slider in self.all_sliders}
        last = int(min(max(values[0], 0), len(self.stages) - 1))
        for stage in self.stages[: last + 1]:
            places |= stage.at
        return tuple(places.values())

    @property
    def payload(self) -> live.Payload:
        """Pack the lesson for the browser.

        Raises:
            ValueError: when a stage names an unknown panel or slider.
        """
        self._check()
        return live.payload(
            sliders=self.all_sliders, panels=self.panels, columns=2, lesson=self._described
        )

    def _described(self, pack: _Pack) -> dict[str, Any]:
        return {
            "name": self.name,
            "title": self.title,
            "question": self.question,
            "minutes": self.minutes,
            "prediction": self._predicted(pack),
            "stages": [self._staged(stage, pack) for stage in self.stages],
        }

    def _predicted(self, pack: _Pack) -> dict[str, Any]:
        asked, answer = self.prediction.asked, pack(self.prediction.answer)
        if isinstance(asked, PictureGuess):
            pick = {"slider": self._index(asked.slider), "right": pack(asked.right)}
            return {"pick": pick | {"panels": list(asked.panels)}, "answer": answer}
        bars = [
            {"slider": self._index(bar.slider), "label": bar.label, "truth": pack(bar.truth)}
            for bar in asked
        ]
        return {"bars": bars, "answer": answer}

    def _staged(self, stage: Stage, pack: _Pack) -> dict[str, Any]:
        described = {
            "title": stage.title,
            "words": pack(stage.words),
            "panels": list(stage.panels),
            "sliders": [self._index(name) for name in stage.sliders],
            "at": self._at(stage.at),
            "beats": [
                {"at": self._at(beat.at), "words": pack(beat.words), "seconds": beat.seconds}
                for beat in stage.beats
            ],
        }
        if formula := stage.formula:
            described["formula"] = {
                "mathml": formula.mathml,
                "values": {name: pack(value) for name, value in formula.values.items()},
                "source": formula.source,
            }
        return described

    def _at(self, at: Mapping[str, float]) -> dict[str, float]:
        return {str(self._index(name)): float(value) for name, value in at.items()}

    def _index(self, name: str) -> int:
        return self.url.index(name)

    def _check(self) -> None:
        names = {slider.name for slider in self.sliders}
        asked = {
            name
            for stage in self.stages
            for name in (*stage.sliders, *stage.at, *(n for b in stage.beats for n in b.at))
        }
        if unknown := (asked | set(self.prediction.sliders)) - names:
            raise ValueError(
                f"Stages move the lesson's sliders, {sorted(names)}; got {sorted(unknown)}."
            )
        pictures = self.prediction.asked
        shown = {i for stage in self.stages for i in stage.panels}
        shown |= set(pictures.panels) if isinstance(pictures, PictureGuess) else set()
        if shown != set(range(len(self.panels))):
            raise ValueError(
                f"Every panel is seen in a stage; got stages with {sorted(shown)} of "
                f"{len(self.panels)} panels."
            )
