"""The verdict at a glance: one state, one picture, how wrong, where, why, and what to do next.

The page, the report, a notebook and a PNG show the same card. It is put together from what has
answered so far: what is still to come is said to be, and nothing is claimed that the verdict does
not claim.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from validation_core import codec
from validation_core.diagnosis.card.content import CardState, Fact
from validation_core.diagnosis.card.inputs import CardInputs, reasons_once
from validation_core.diagnosis.card.mistake import mistake_content
from validation_core.diagnosis.card.problem import problem_content
from validation_core.diagnosis.card.silence import silence_content
from validation_core.diagnosis.questions import QUESTIONS, Answers, Asked
from validation_core.diagnosis.questions.base import Json
from validation_core.diagnosis.questions.observation.place import unlike
from validation_core.diagnosis.verdict import Diagnosis, scope_text
from validation_core.drawing import style
from validation_core.drawing.drawn import Drawn
from validation_core.tables import RanksUpload, SamplesUpload
from validation_core.text import count_text, first_text, level_text, said_equals, share_text

_TITLES: Mapping[CardState, str] = {
    "mistake": "Correct the file first",
    "problem": "Problem found",
    "silent": "No problem found",
    "unlike": "No answer for your observation",
    "too little": "Not enough data",
    "testing": "Testing",
}
_READ = 2  # ways in which parameters are read that a card names
_UNENDED = "Not all tests have ended"
_NEARER = "Simulate near your observation, and check that the model can produce it."


@dataclass(frozen=True, eq=False)
class Card:
    """A verdict that one can see."""

    state: CardState
    title: str
    sentence: str
    """How sure that is."""
    facts: tuple[Fact, ...]
    """How wrong, where, likely cause; or, beside silence, what could have been missed."""
    next_steps: tuple[str, ...]
    """Three, the most useful first."""
    draw_picture: Callable[[], Drawn | None]
    loaded: str
    """Describe the upload in a line, with the level and the seed."""
    warning: str | None = None
    """What must be known before all else; shown first."""

    @cached_property
    def picture(self) -> Drawn | None:
        """Drawn when it is looked at; None where nothing is known yet."""
        drawn = self.draw_picture()
        return drawn and replace(drawn, title=typeset(drawn.title))

    def to_json(self) -> Json:
        """Its words; the picture by its title."""
        return {
            "state": self.state,
            "warning": self.warning,
            "title": self.title,
            "sentence": self.sentence,
            "facts": codec.to_json(self.facts),
            "next_steps": list(self.next_steps),
            "picture": None if self.picture is None else self.picture.title,
        }


def diagnosis_card(diagnosis: Diagnosis, answers: Answers, asked: Asked | None = None) -> Card:
    """The card of a diagnosis with the answers that there are so far.

    Args:
        diagnosis: the verdict.
        answers: by the name of their question.
        asked: which questions were asked and which are being worked out; by default these answers
            are all that was asked, or everything is being worked out while tests are to come.
    """
    if asked is None:
        every = frozenset(question.name for question in QUESTIONS)
        asked = Asked(running=every) if diagnosis.pending else Asked.only(answers)
    warning = unlike(diagnosis.upload)
    state = _state(diagnosis)
    if warning and state in ("silent", "too little"):
        state = "unlike"
    inputs = CardInputs(diagnosis, answers, asked)
    if state == "mistake":
        facts, steps, draw_picture = mistake_content(inputs)
    elif state == "problem":
        facts, steps, draw_picture = problem_content(inputs)
    else:
        facts, steps, draw_picture = silence_content(inputs, state)
    steps = ((_NEARER, *steps) if warning else steps)[:3]
    sure = _sure(diagnosis, state, late=asked.late)
    return Card(
        state,
        _UNENDED if state == "testing" and not asked.running else _TITLES[state],
        typeset(" ".join((sure, *_corrected(diagnosis), *_scope(diagnosis)))),
        tuple(Fact(fact.label, typeset(fact.text)) for fact in reasons_once(facts)),
        tuple(typeset(step) for step in steps),
        draw_picture,
        _loaded(diagnosis),
        warning,
    )


def typeset(text: str) -> str:
    """Numbers with a minus instead of a hyphen, and no sign of a zero."""
    without = re.sub(r"(?<![\w.−-])[+−-](?=0(?:\.0+)?(?!\d|\.\d))", "", text)
    return re.sub(r"(?<![\w.)])-(?=\d|\.\d)", "−", without)


def _state(diagnosis: Diagnosis) -> CardState:
    if diagnosis.upload.unusable:
        return "mistake"
    if diagnosis.verdict == "problem found":
        return "problem"
    if diagnosis.pending:
        return "testing"
    return "too little" if diagnosis.verdict == "not enough data" else "silent"


def _sure(diagnosis: Diagnosis, state: CardState, *, late: bool) -> str:
    """How sure the verdict is, in a sentence."""
    level, p = level_text(diagnosis.alpha), diagnosis.pvalue
    if state == "mistake":
        return "True values and q's draws do not belong together: no test says anything of q yet."
    if state == "testing":
        so_far = "Nothing speaks against q so far."
        return so_far if diagnosis.tested else "No test has answered yet."
    if p is None:
        return "No test ran in time." if late else "No test could run on this table."
    if state == "problem" and diagnosis.pending:  # p is not what it will be
        return f"q is rejected at level {level}, whatever is still to come; its exact p follows."
    number = f"p {said_equals(p)}, level {level}"
    samples = isinstance(diagnosis.upload, SamplesUpload)
    if state == "problem" and samples:
        return f"If both had one law, {_one_in(p, 'pairs')} would differ this much ({number})."
    if state == "problem":
        return f"If q were correct, {_one_in(p, 'tables')} would look this wrong ({number})."
    if state == "unlike":
        return f"At the simulations themselves no problem is found ({number})."
    if samples:
        return (
            f"Samples like these are usual where both have one law ({number}). That does not "
            "show that they have."
        )
    return (
        f"Tables like this are usual where q is correct ({number}). That does not show that q is "
        "correct."
    )


def _scope(diagnosis: Diagnosis) -> tuple[str, ...]:
    """What the verdict is of, where it is not of q over the prior."""
    return () if diagnosis.upload.unusable else scope_text(diagnosis.upload)


def _corrected(diagnosis: Diagnosis) -> tuple[str, ...]:
    """The corrections under which the verdict was reached; none without any."""
    made = diagnosis.upload.corrected
    return (f"Corrected: {' '.join(one.done for one in made)}",) if made else ()


def _one_in(p: float, what: str) -> str:
    """How many look like this by chance: `at most 1 in 250 tables`."""
    if p >= 0.2:
        return f"{share_text(p)} of {what}"
    times = 1 / max(p, 1e-12)
    if times > 1e6:
        return f"fewer than one in a million {what}"
    rounded = float(f"{times:.2g}")
    return f"at most 1 in {rounded:,.0f} {what}"


def _loaded(diagnosis: Diagnosis) -> str:
    """Size of the upload: `1,000 simulations, 100 draws each, 2 parameters`."""
    upload = diagnosis.upload
    if isinstance(upload, SamplesUpload):
        return f"Two samples, {upload.n:,} points in the smaller one"
    rows, parameters = count_text(upload.n, "simulation"), count_text(upload.dims[0], "parameter")
    if isinstance(upload, RanksUpload):
        return f"{rows}, {upload.ranked}, {parameters}"
    without = "" if upload.dims[1] else ", no x"
    read = f"; {first_text(upload.read_as, _READ)}" if upload.read_as else ""
    return f"{rows}, {upload.drawn[1]} each, {parameters}{without}{read}"


CARD_ENDINGS = (".png", ".pdf", ".svg")
"""Endings of a card's file."""

COLORS: Mapping[CardState, str] = {
    "mistake": "#9A6700",
    "problem": style.OBSERVED,
    "silent": style.P,
    "unlike": style.OBSERVED,
    "too little": "#9A6700",
    "testing": "",
}
"""Of a state; its words say the same. Silence is not green: nothing shows that q is correct."""
