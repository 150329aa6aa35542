"""A card without a problem: which errors the tests would have missed."""

from __future__ import annotations

import math
from functools import partial

from validation_core.diagnosis.card import pictures
from validation_core.diagnosis.card.content import CardState, Content, Fact
from validation_core.diagnosis.card.inputs import CardInputs
from validation_core.diagnosis.card.ranks import ranks_content
from validation_core.diagnosis.questions import AnyQuestion
from validation_core.diagnosis.questions.calibration import CalibrationQuestion
from validation_core.diagnosis.questions.calibration.words import sizes_left, widest_bias
from validation_core.diagnosis.questions.cause import CauseQuestion
from validation_core.diagnosis.questions.over_x import OverXQuestion
from validation_core.diagnosis.questions.sensitivity import SensitivityQuestion
from validation_core.diagnosis.questions.sensitivity.result import InjectionPower
from validation_core.diagnosis.questions.surface import Surface
from validation_core.diagnosis.verdict import ENOUGH
from validation_core.drawing.drawn import Drawn
from validation_core.tables import RanksUpload, SamplesUpload, TableUpload, Upload
from validation_core.tables.repeats import SAME_THETA
from validation_core.text import capitalise
from validation_core.types import TwoSamples

_DRAWS_ENOUGH = 100  # of q at each x: more find little more
_MORE_DRAWS = f"Draw at least {_DRAWS_ENOUGH} times from q at each x."
_FEW_ROWS = 50  # below them no classifier is trained


def _quiet(surface: Surface) -> tuple[str, ...]:
    """What to do beside silence."""
    return (
        f"Compare it with another network or checkpoint ({surface.compare}): row by row, smaller "
        "differences show.",
        _more_tests(surface),
        f"{surface.one_x}: the verdict is an average over x.",
    )


def _quiet_samples(surface: Surface) -> tuple[str, ...]:
    return (
        f"{surface.bring} theta, x and theta_q for an answer parameter by parameter.",
        "Draw more points of both samples.",
        _more_tests(surface),
    )


def _more_tests(surface: Surface) -> str:
    return f"Run more tests ({surface.more_tests}) for other kinds of error."


def silence_content(inputs: CardInputs, state: CardState) -> Content:
    """Return facts, next steps and the picture of a verdict that found no problem."""
    facts, steps, draw_picture = _content(inputs, state)
    return facts, (*_untested(inputs), *steps)[:3], draw_picture


def _untested(inputs: CardInputs) -> tuple[str, ...]:
    """What makes tests run that did not: more time, or more rows."""
    asked, upload = inputs.asked, inputs.diagnosis.upload
    if asked.late:
        return (f"Raise {asked.surface.budget}: not everything was worked out in time.",)
    if inputs.diagnosis.tested or inputs.diagnosis.pending:
        return ()
    if upload.n < _FEW_ROWS:
        what = "points of both samples" if isinstance(upload, SamplesUpload) else "simulations"
        return (f"Bring at least {_FEW_ROWS} {what}; a few hundred are better.",)
    return (f"{asked.surface.every_test}: each says why it did not run.",)


def _content(inputs: CardInputs, state: CardState) -> Content:
    """The content as if every test had run that can."""
    diagnosis, surface = inputs.diagnosis, inputs.asked.surface
    upload, shift = diagnosis.upload, diagnosis.shift
    if isinstance(upload, SamplesUpload):
        return _alike_samples(inputs, state, upload.data)
    if isinstance(upload, RanksUpload):
        return ranks_content(inputs, state)
    if state == "testing" and shift is None:
        questions: tuple[AnyQuestion, ...] = (
            CalibrationQuestion(),
            OverXQuestion(),
            CauseQuestion(),
        )
        labels = ("How wrong", "Where", "Likely cause")
        waiting = map(inputs.why_not, questions)
        facts = tuple(Fact(*each) for each in zip(labels, waiting, strict=True))
        return facts, _quiet(surface), _no_picture
    if shift is None:
        return (_missed(inputs),), _quiet(surface), _no_picture
    size, rows, simulated = _smallest(inputs)
    where = " in one parameter" if upload.dims[0] > 1 else ""
    by = "" if simulated else "about "
    own = "" if upload.groups is None else ", each with draws of its own"
    facts = (
        Fact("Still possible", _possible(inputs)),
        Fact(
            "Could be missed",
            f"A bias below {by}{_size_text(size)} posterior sd{where}: one of that size would be "
            "found in 80 of 100 such tables.",
        ),
        Fact("Where", _nowhere(inputs)),
    )
    if state == "too little":
        need = math.ceil(shift._replace(size=size).rows_for(ENOUGH) / 10) * 10
        what = "distinct true values" if SAME_THETA in upload.dropped else "simulations"
        steps: tuple[str, ...] = (
            f"Bring about {need:,} {what}{own}: then a bias of {ENOUGH:g} posterior sd would be "
            "found.",
            *((_MORE_DRAWS,) if upload.effective_k < _DRAWS_ENOUGH else ()),
            *_quiet(surface),
        )
    else:
        steps = (
            f"To find half of that bias, bring about {rows:,} simulations{own}.",
            *_at_observation(upload, surface),
            *_quiet(surface),
        )
    return facts, steps, partial(_power_curve, inputs, size)


def _size_text(size: float) -> str:
    """A size in two digits, with a third where it would read as what is enough and is more."""
    text = f"{size:.2g}"
    return text if size <= ENOUGH or text != f"{ENOUGH:.2g}" else f"{size:.3f}"


def _missed(inputs: CardInputs) -> Fact:
    """Which error could have been missed, where no test tells which it would have found."""
    unknown = "What error these tests would find is not known."
    return Fact("Could be missed", unknown if inputs.diagnosis.tested else "Any error.")


def _alike_samples(inputs: CardInputs, state: CardState, data: TwoSamples) -> Content:
    """The content of a card about two samples without a problem."""
    shift, upload = inputs.diagnosis.shift, inputs.diagnosis.upload
    picture = partial(pictures.samples, data, upload.names)
    steps = _quiet_samples(inputs.asked.surface)
    if state == "testing":
        running = bool(inputs.asked.running)
        waiting = "Being worked out." if running else "Not worked out: its job did not end."
        return (Fact("What differs", waiting),), steps, picture
    if shift is None:
        return (_missed(inputs),), steps, picture
    missed = Fact(
        "Could be missed",
        f"A shift of one column by about {shift.size:.2g} sd would be found in 80 of 100 such "
        "pairs, with the best possible classifier; smaller ones more rarely.",
    )
    return (missed,), steps, picture


def _no_picture() -> None:
    """None is drawn where nothing is known yet."""


def _at_observation(upload: Upload, surface: Surface) -> tuple[str, ...]:
    if not upload.dims[1]:
        return ("Save x beside theta: the verdict is an average over all x; q may err at yours.",)
    if upload.observed is not None:
        return (f"{surface.x_o}: the verdict is an average over x, yours may differ.",)
    if isinstance(upload, TableUpload) and upload.observations is not None:
        return (f"{surface.my_observation}: the verdict is an average over x, yours may differ.",)
    return (
        "Bring your own observation x_o: the verdict is an average over all x; q may err there.",
    )


def _smallest(inputs: CardInputs) -> tuple[float, int, bool]:
    """The bias in one parameter that is found with 80% power, the rows for half of it, and whether
    simulated tables have told it."""
    shift, bias = inputs.diagnosis.shift, _bias(inputs)
    assert shift is not None
    if bias is not None and bias.smallest.known:
        rows = bias.rows_for_half or 4 * inputs.diagnosis.upload.n
        return bias.smallest.estimate, int(float(f"{rows:.2g}")), True
    return shift.size, int(float(f"{shift.rows_for(shift.size / 2):.2g}")), False


def _bias(inputs: CardInputs) -> InjectionPower | None:
    """Power against a bias in one parameter, where it is known at the level of the diagnosis."""
    result = inputs.of(SensitivityQuestion)
    if result is None or result.alpha != inputs.diagnosis.alpha:
        return None
    return next((one for one in result.injections if one.injection == "bias"), None)


def _possible(inputs: CardInputs) -> str:
    result = inputs.of(CalibrationQuestion)
    if result is None:
        return inputs.why_not(CalibrationQuestion())
    some = any(errors.ratio.known for errors in result.parameters)
    if not some and math.isinf(widest_bias(result.parameters)):
        return "Too few rows or draws to say how far q could be off."
    return f"{capitalise(sizes_left(result.parameters))}."


def _nowhere(inputs: CardInputs) -> str:
    result = inputs.of(OverXQuestion)
    if result is None:
        return inputs.why_not(OverXQuestion())
    size = result.detectable(inputs.claims)
    if size is None:
        return "No place in x stands out."
    where = " of one parameter" if inputs.diagnosis.upload.dims[0] > 1 else ""
    return (
        f"No place in x stands out. A bias{where} in one region with a fifth of the simulations "
        f"would have to be about {size:.2g} posterior sd for q to be found wrong in 80 of 100 "
        "such tables: fewer rows lie there."
    )


def _power_curve(inputs: CardInputs, size: float) -> Drawn | None:
    """The chance to find a bias in one parameter, against its size."""
    simulated = _bias(inputs)
    powers = (
        []
        if simulated is None
        else [
            (strength, power.rate, power.low, power.high)
            for strength, power in zip(simulated.strengths, simulated.verdict, strict=True)
            if power is not None and not power.bound
        ]
    )
    return pictures.detection_curve(size, inputs.diagnosis.alpha, powers)
