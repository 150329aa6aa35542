"""A lesson: a question, the student's prediction, the computation, and its limits.

All of a lesson is one payload for the browser (`drawing.live`): its panels, its sliders, and the
text around them. The open stage and the student's prediction are sliders too, without a
rail, so that words follow them and the address carries them as it does any other.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import Any, NamedTuple

from latex2mathml.converter import convert
from numpy.typing import ArrayLike

from validation_core.drawing import live
from validation_core.drawing.marks import Number, Over, Panel, Slider, Words, values_and_sliders
from validation_core.types import Paper

_Pack = Callable[[Any], Any]

_CLOSE = 0.03  # of a bar's length
_RATE = 30.0  # values a second that a lesson's sliders play at the least

STAGE = "stage"
"""The slider that says which stage is open."""
SAID = "said"
"""The slider that is 1 once the reader has gone from the bars of a prediction to the answer."""


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


def run_through(slider: Slider, seconds: float, begin: float = 1.0) -> tuple[Beat, Beat]:
    """Two beats: a slider goes to its first value, and from there to its last.

    Args:
        slider: the slider.
        seconds: how long the second beat takes.
        begin: how long the first takes.
    """
    first, *_, last = slider.grid
    return (
        Beat(at={slider.name: first}, seconds=begin),
        Beat(at={slider.name: last}, seconds=seconds),
    )


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
    """A number guessed by dragging a bar, then shown beside the computed one; a share by default.

    Args:
        name: of the slider that holds the guess.
        label: name of the guessed number.
        truth: the computed number, in the slider's units; it may follow sliders.
        values: numbers that can be guessed; the bar is as long as they.
        form: how they are written.
        found: how the computed one is written; as they are by default.
        start: where the bar stands at first.
    """

    name: str = "guess"
    label: str
    truth: Number
    values: ArrayLike = range(101)
    form: str = "{:.0f}%"
    found: str = ""
    start: float = 50

    @cached_property
    def slider(self) -> Slider:
        """The slider that holds the guess, without a rail."""
        return Slider(
            self.name,
            self.values,
            label="Prediction",
            form=self.form,
            start=self.start,
            hidden=True,
        )

    @property
    def words(self) -> Over:
        """The guess, for a sentence."""
        return self.slider.words


@dataclass(frozen=True, kw_only=True)
class PictureGuess:
    """A guess by choosing one of several pictures.

    Args:
        name: of the slider that holds the guess: 0 (none yet), 1, ..., one for each picture.
        label: of that slider.
        panels: the lesson's panels that are the pictures, drawn small, in the order 1, 2, ...
        right: the number of the right one, as computed; it may follow sliders.
        found: written on the right one, once it is revealed.
        scale: how to read the axes that all of the pictures share.
    """

    name: str = "guess"
    label: str = "Your picture"
    panels: Sequence[int]
    right: Number
    found: str = "right"
    scale: str = ""

    @property
    def slider(self) -> Slider:
        """The slider that holds the guess, without a rail."""
        return Slider(self.name, range(len(self.panels) + 1), label=self.label, hidden=True)


@dataclass(frozen=True, kw_only=True)
class Prediction:
    """The student's prediction, before anything is revealed.

    Args:
        asked: bars, or pictures.
        answer: the prediction beside the computed answer, in words over the prediction's sliders;
            shown first in the reveal, of bars only once something was predicted.
    """

    asked: Sequence[NumberGuess] | PictureGuess
    answer: Words

    @property
    def sliders(self) -> tuple[Slider, ...]:
        """The sliders that hold the prediction; after bars, the one that says it was made."""
        if isinstance(self.asked, PictureGuess):
            return (self.asked.slider,)
        said = Slider(SAID, range(2), label="Prediction made", hidden=True)
        return (*(guess.slider for guess in self.asked), said)

    def made(self, values: Mapping[str, float]) -> Mapping[str, float]:
        """The prediction's sliders among all `values`, once something was predicted; else none."""
        own = {slider.name: values[slider.name] for slider in self.sliders}
        moved = any(abs(own[slider.name] - slider.first) > 1e-9 for slider in self.sliders)
        return own if moved and values[STAGE] > 0 else {}


class Scored(NamedTuple):
    """A prediction beside the computed answer, in words."""

    asked: str
    said: str
    found: str
    close: bool
    """Whether the right picture was picked, or a number within 3% of its bar's length."""


@dataclass(frozen=True, kw_only=True)
class FollowUp:
    """A page on which the same question is put to the reader's own table or to a benchmark.

    Args:
        label: of the link to it.
        page: its name in pages/main.py; by default that of the reader's own table.
        query: settings of its address.
    """

    label: str
    page: str = "diagnose/page.py"
    query: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Lesson:
    """Panels, sliders, stages and prediction of a lesson; `payload` packs them.

    Args:
        prediction: what is asked, and the answer.
        stages: the first asks for the prediction, the second reveals.
        sliders: of the panels; the stage's and the prediction's are added.
        panels: the pictures.
        papers: its sources.
        onwards: where the same is asked of the reader's own table.
        notes: for a lecturer, shown by a key.
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
    notes: Sequence[str] = ()

    @property
    def all_sliders(self) -> tuple[Slider, ...]:
        """The stage's slider, the prediction's, then the others."""
        titles = [stage.title for stage in self.stages]
        stage = Slider(STAGE, range(len(titles)), names=titles, label="Stage", hidden=True)
        others = (*self.prediction.sliders, *self.sliders)
        return (stage, *(replace(slider, rate=max(slider.rate, _RATE)) for slider in others))

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

    def scored(self, values: Sequence[float]) -> tuple[Scored, ...]:
        """The prediction among values of all sliders, scored; nothing before the answer is seen.

        Args:
            values: of `all_sliders`, in their order.
        """
        at = {slider.name: value for slider, value in zip(self.all_sliders, values, strict=True)}
        if not self.prediction.made(at):
            return ()
        asked = self.prediction.asked
        if isinstance(asked, PictureGuess):
            names = [str(self.panels[i].title) or f"Picture {i + 1}" for i in asked.panels]
            picked, right = int(at[asked.name]), int(self._number(asked.right, at))
            same = picked == right
            return (Scored(self.question, names[picked - 1], names[right - 1], same),)
        rows = []
        for bar in asked:
            truth, grid = self._number(bar.truth, at), bar.slider.grid
            close = abs(at[bar.name] - truth) <= _CLOSE * (grid[-1] - grid[0])
            said, found = bar.form.format(at[bar.name]), (bar.found or bar.form).format(truth)
            rows.append(Scored(bar.label, said, found, close))
        return tuple(rows)

    def _number(self, number: Number, at: Mapping[str, float]) -> float:
        """A number where the sliders stand."""
        values, by = values_and_sliders(number)
        grids = {slider.name: slider.grid for slider in self.all_sliders}
        return float(values[tuple(grids[name].index(at[name]) for name in by)])

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
            "notes": list(self.notes),
        }

    def _predicted(self, pack: _Pack) -> dict[str, Any]:
        asked, answer = self.prediction.asked, pack(self.prediction.answer)
        if isinstance(asked, PictureGuess):
            pick = {
                "slider": self._index(asked.name),
                "right": pack(asked.right),
                "panels": list(asked.panels),
                "found": asked.found,
                "scale": asked.scale,
            }
            return {"pick": pick, "answer": answer}
        bars = [
            {"slider": self._index(bar.name), "label": bar.label, "truth": pack(bar.truth)}
            for bar in asked
        ]
        return {"bars": bars, "said": self._index(SAID), "answer": answer}

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
        names = set(self.url) - {STAGE}
        asked = {
            name
            for stage in self.stages
            for name in (*stage.sliders, *stage.at, *(n for b in stage.beats for n in b.at))
        }
        if unknown := asked - names:
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
