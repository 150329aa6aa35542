"""The verdict at a glance: one state, one picture, how wrong, where, why, and what to do next.

The page, the report, a notebook and a PNG show the same card. It is put together from what has
answered so far: what is still to come is said to be, and nothing is claimed that the verdict does
not claim.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from validation_core.diagnosis import card_pictures
from validation_core.diagnosis.questions import QUESTIONS, Answers, AnyQuestion, Asked, Names
from validation_core.diagnosis.questions.base import Json
from validation_core.diagnosis.questions.calibration import (
    CalibrationQuestion,
    ParameterErrors,
    at_least,
    errors_in_words,
    shape_in_words,
    widest_bias,
)
from validation_core.diagnosis.questions.cause import FAULTS, CauseQuestion, headline, steps_for
from validation_core.diagnosis.questions.in_theta import InThetaQuestion
from validation_core.diagnosis.questions.observation import unlike
from validation_core.diagnosis.questions.over_x import (
    OverXPlace,
    OverXQuestion,
    beyond_text,
    region_text,
    rows_in_region,
)
from validation_core.diagnosis.questions.sensitivity import SensitivityQuestion
from validation_core.diagnosis.verdict import ENOUGH, Diagnosis, Parameter
from validation_core.drawing import style
from validation_core.drawing.drawn import Drawn
from validation_core.methods.record import findings
from validation_core.relabelling.battery import Family
from validation_core.relabelling.claims import Claims, Magnitude, parameter_name, x_column_name
from validation_core.statistics import effects
from validation_core.statistics.ranks import midranks_among
from validation_core.tables import SamplesUpload, TableUpload
from validation_core.text import (
    count_text,
    equals,
    first_text,
    level_text,
    list_text,
    share_text,
    signed_text,
)
from validation_core.types import Array, Interval, PosteriorTable, TwoSamples

if TYPE_CHECKING:
    from validation_core.diagnosis.questions.base import Question

R = TypeVar("R")
State = Literal["problem", "silent", "too little", "testing"]
Kind = Literal["bias", "width", "mode", "pair", "mass", "magnitude", "test"]

_TITLES = {
    "problem": "Problem found",
    "silent": "No problem found",
    "too little": "Not enough data",
    "testing": "Testing",
}
_UNENDED = "Not all tests have ended"
_ROWS = 2_000  # of a table, the most that its picture shows
_DRAWS = 200
_PLAIN = 0.4  # posterior sd of bias from which on a histogram shows it
_FACTOR = 1.25  # of width, likewise
_CLEARER = 2.0  # times the z of single parameters: then two of them together are the finding
_DRAWS_ENOUGH = 100  # of q at each x: more find little more
_NAMED = 3  # parameters that a sentence names
_PLAIN_RANKS = 3.0  # sds that ranks must be shifted or spread by, to say how


@dataclass(frozen=True)
class _Fact:
    """One line of the card."""

    label: str
    text: str
    """It may hold names that a user chose."""


@dataclass(frozen=True, eq=False)
class Card:
    """A verdict that one can see."""

    state: State
    title: str
    sentence: str
    """How sure that is."""
    facts: tuple[_Fact, ...]
    """How wrong, where, likely cause; or, beside silence, what could have been missed."""
    next_steps: tuple[str, ...]
    """Three, the most useful first."""
    draw_picture: Callable[[], Drawn | None]
    loaded: str
    """What was read, in a line."""
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
            "facts": [asdict(fact) for fact in self.facts],
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
    state = _state(diagnosis)
    seen = _CardInputs(diagnosis, answers, asked)
    if state == "problem":
        facts, steps, draw_picture = _wrong(seen)
    else:
        facts, steps, draw_picture = _unseen(seen, state)
    warning = unlike(diagnosis.upload)
    steps = ((_NEARER, *steps) if warning else steps)[:3]
    return Card(
        state,
        _UNENDED if state == "testing" and not asked.running else _TITLES[state],
        typeset(_sure(diagnosis, state)),
        tuple(_Fact(fact.label, typeset(fact.text)) for fact in facts),
        tuple(typeset(step) for step in steps),
        draw_picture,
        _loaded(diagnosis),
        warning,
    )


def typeset(text: str) -> str:
    """Numbers with a minus instead of a hyphen, and no sign of a zero."""
    without = re.sub(r"(?<![\w.−-])[+−-](?=0(?:\.0+)?(?!\d|\.\d))", "", text)
    return re.sub(r"(?<![\w.)])-(?=\d|\.\d)", "−", without)


def _state(diagnosis: Diagnosis) -> State:
    if diagnosis.verdict == "problem found":
        return "problem"
    if diagnosis.pending:
        return "testing"
    return "too little" if diagnosis.verdict == "not enough data" else "silent"


def _sure(diagnosis: Diagnosis, state: State) -> str:
    level, p = level_text(diagnosis.alpha), diagnosis.pvalue
    if state == "testing":
        return "Nothing speaks against q so far."
    if p is None:
        return "No test could run on this table."
    if state == "problem" and diagnosis.pending:  # p is not what it will be
        return f"q is rejected at level {level}, whatever is still to come; its exact p follows."
    number, samples = f"p {equals(p)}, level {level}", not diagnosis.upload.k
    if state == "problem" and samples:
        return f"If both had one law, {_one_in(p, 'pairs')} would differ this much ({number})."
    if state == "problem":
        return f"If q were correct, {_one_in(p, 'tables')} would look this wrong ({number})."
    if samples:
        return (
            f"Samples like these are usual where both have one law ({number}). That does not "
            "show that they have."
        )
    return (
        f"Tables like this are usual where q is correct ({number}). That does not show that q is "
        "correct."
    )


def _one_in(p: float, what: str) -> str:
    if p >= 0.2:
        return f"{p:.0%} of {what}"
    times = 1 / max(p, 1e-12)
    if times > 1e6:
        return f"fewer than one in a million {what}"
    rounded = float(f"{times:.2g}")
    return f"at most 1 in {rounded:,.0f} {what}"


def _loaded(diagnosis: Diagnosis) -> str:
    upload = diagnosis.upload
    if not upload.k:
        return f"Two samples, {upload.n:,} points in the smaller one"
    draws, parameters = count_text(upload.k, "draw"), count_text(upload.dims[0], "parameter")
    return f"{count_text(upload.n, 'simulation')}, {draws} each, {parameters}"


class _Problem(NamedTuple):
    """What is wrong most plainly: in which parameters, and at which rows."""

    kind: Kind
    parameters: tuple[int, ...]
    place: OverXPlace | None = None
    """Where over x, if it changes there."""


@dataclass(frozen=True, eq=False)
class _CardInputs:
    """A diagnosis beside the answers, each in its own type."""

    diagnosis: Diagnosis
    answers: Answers
    asked: Asked

    def of(self, question: type[Question[R]]) -> R | None:
        """The result of a question, where there is one."""
        answer = self.answers.get(question.name)
        known = answer is not None and isinstance(answer.question, question)
        return cast("R", answer.result) if answer is not None and known else None

    @property
    def names(self) -> Names:
        return Names.of(self.diagnosis.upload)

    @property
    def table(self) -> TableUpload:
        """What was read, of cards that two samples do not get."""
        upload = self.diagnosis.upload
        assert isinstance(upload, TableUpload)
        return upload

    @property
    def claims(self) -> Claims:
        """Under which answers are read; there are none where this has none."""
        return self.diagnosis.require_claims()

    def called(self, parameter: int) -> str:
        """A parameter's name."""
        return parameter_name(self.diagnosis.upload.names, parameter)

    def why_not(self, question: AnyQuestion) -> str:
        """Why a question has no answer."""
        return self.asked.why(question, self.diagnosis.upload)

    @cached_property
    def alike(self) -> bool:
        """Whether over x was asked, and no change was found."""
        result = self.of(OverXQuestion)
        return result is not None and result.p_changes(self.claims) > self.diagnosis.alpha

    @cached_property
    def changing(self) -> Sequence[OverXPlace]:
        """Places where a change over x is claimed, the clearest first."""
        result = self.of(OverXQuestion)
        return () if result is None else result.changing(self.claims)

    @cached_property
    def place(self) -> OverXPlace | None:
        """The clearest of them where a parameter's error changes."""
        return next((place for place in self.changing if place.kind != "learned"), None)

    @cached_property
    def off(self) -> tuple[ParameterErrors, ...]:
        """Parameters that are off under the verdict's error rate, the worst first."""
        result = self.of(CalibrationQuestion)
        if result is None:
            return ()
        return tuple(
            errors
            for errors in result.parameters
            if self.claims.parameter(errors.index) <= self.diagnosis.alpha
        )

    @cached_property
    def worst(self) -> ParameterErrors | None:
        """The errors of the problem's first parameter, where they are claimed."""
        index = self.problem.parameters[0]
        return next((errors for errors in self.off if errors.index == index), None)

    @cached_property
    def magnitude(self) -> Magnitude | None:
        """Outliers, rounding or draws outside the prior, where they are the clearest claim."""
        if not self.diagnosis.relabelled:
            return None
        return self.claims.magnitude(self.diagnosis.upload.names)

    @cached_property
    def mode(self) -> int | None:
        """The parameter in which q misses a mode or has one too many, where the cause says so."""
        result = self.of(CauseQuestion)
        if result is None or result.cause not in ("missing_mode", "spurious_mode"):
            return None
        first = result.causes[0].evidence[0]
        counted = result.cause == "missing_mode" or first.what == "minor"
        return first.at[0] if counted and first.at else None

    @cached_property
    def problem(self) -> _Problem:
        """What stands out most of all that is claimed."""
        if self.magnitude is not None:
            return _Problem("magnitude", (self.magnitude.parameter,))
        if self.mode is not None:
            return _Problem("mode", (self.mode,))
        if self.place is not None:
            kind: Kind = "bias" if self.place.kind == "shift" else "width"
            return _Problem(kind, (self.place.parameter,), self.place)
        return self._clearest()

    def _clearest(self) -> _Problem:
        if not self.diagnosis.relabelled:
            return self._of_parameters() or self._of_ranks() or _Problem("test", self._mapped())
        single = self.claims.clearest_of("means", "widths", "shapes")
        pair = self.claims.clearest_of("pairs")
        if pair is not None and (single is None or pair.z > _CLEARER * single.z):
            return _Problem("pair", pair.which)
        if single is None:
            return _Problem("mass", self._mapped())
        if (known := self._of_parameters()) is not None:
            return known
        if not single.which:
            return _Problem("mass", self._mapped())
        return _Problem("bias" if single.family == "means" else "width", single.which)

    def _of_parameters(self) -> _Problem | None:
        if not self.off:
            return None
        worst = self.off[0]
        return _Problem("bias" if _shifted(worst) else "width", (worst.index,))

    def _of_ranks(self) -> _Problem | None:
        """The parameter that SBC rejects most clearly."""
        worst = self.by_ranks
        if not worst:
            return None
        ranked = [one for one in self.diagnosis.parameters if one.family == "marginals"]
        shift, spread = _departures(worst[0], self.diagnosis.upload.n)
        kind: Kind = "bias" if abs(shift) >= abs(spread) else "width"
        return _Problem(kind, (ranked.index(worst[0]),))

    @cached_property
    def by_ranks(self) -> tuple[Parameter, ...]:
        """Parameters that SBC rejects after all corrections, the worst first."""
        return tuple(one for one in self.diagnosis.flagged if one.family == "marginals")

    @cached_property
    def same_way(self) -> tuple[ParameterErrors, ...]:
        """Parameters that are off in the way of the worst, the worst first.

        Of a bias any that has one; of a width those that are too narrow, or too wide, as it is.
        """
        kind, worst = self.problem.kind, self.worst
        if worst is None or self.problem.place is not None:
            return ()
        if kind == "bias":
            same = [errors for errors in self.off if _side(errors.bias, 0.0)]
            key = _bias_size
        elif kind == "width" and (side := _side(worst.ratio, 1.0)):
            same = [errors for errors in self.off if _side(errors.ratio, 1.0) == side]
            key = _width_size
        else:
            return ()
        return tuple(sorted(same, key=key, reverse=True)) if worst in same else ()

    def _mapped(self) -> tuple[int, ...]:
        """The two parameters over which learned scores vary most; the first two before that."""
        result = self.of(InThetaQuestion)
        if result is not None and result.maps:
            return tuple(result.maps[0].of)
        return tuple(range(min(2, self.diagnosis.upload.dims[0])))


def _departures(parameter: Parameter, n: int) -> tuple[float, float]:
    """How far a parameter's ranks are shifted and spread, in the sds of uniform ones."""
    shift = (parameter.mean_rank - 0.5) * math.sqrt(12 * n)
    return shift, (parameter.spread - 1) / 12 * math.sqrt(180 * n)


def _side(interval: Interval, correct: float) -> int:
    """On which side of a correct q's value an interval lies; 0 where it holds it."""
    if not interval.known or not (interval.low > correct or interval.high < correct):
        return 0
    return 1 if interval.low > correct else -1


def _bias_size(errors: ParameterErrors) -> float:
    return abs(errors.bias.estimate)


def _width_size(errors: ParameterErrors) -> float:
    return abs(math.log(max(errors.ratio.estimate, 1e-300)))


def _shifted(errors: ParameterErrors) -> bool:
    """Whether it is a parameter's centre that is off: a shift alone spoils coverage as well."""
    if not errors.biased:
        return False
    half = max(errors.below_median.low - 0.5, 0.5 - errors.below_median.high)
    return half > 0 and half > 0.4 * max(rate.excess for rate in errors.coverage)


_Content = tuple[tuple[_Fact, ...], tuple[str, ...], Callable[[], Drawn | None]]
"""Facts, next steps, and what draws the picture."""


def _wrong(seen: _CardInputs) -> _Content:
    upload = seen.diagnosis.upload
    if isinstance(upload, SamplesUpload):
        differ = _Fact("What differs", f"The two samples differ, {_clearest_test(seen)}.")
        shown = partial(card_pictures.samples, upload.data, upload.names)
        return (differ,), _STEPS_OF_SAMPLES, shown
    facts = (
        _Fact("How wrong", _how_wrong(seen)),
        _Fact("Where", _where(seen)),
        _Fact("Likely cause", _cause(seen)),
    )
    return facts, _steps(seen), partial(_picture, seen)


def _clearest_test(seen: _CardInputs) -> str:
    """Which test rejects most clearly."""
    adjusted = seen.diagnosis.adjusted
    label = min(adjusted, key=lambda each: adjusted[each])
    titles = {record.label: record.title for record in seen.diagnosis.records}
    return f"most clearly by {titles[label]}"


def _how_wrong(seen: _CardInputs) -> str:
    """The size of the error: of all parameters that are off alike, then of the worst."""
    kind, same = seen.problem.kind, seen.same_way
    if seen.worst is None and not seen.diagnosis.relabelled and seen.by_ranks:
        return _of_ranks(seen)
    one = _HOW_WRONG[kind](seen)
    if len(same) > 1:
        one = f"{_of_several(seen, same)} Clearest is {one}"
    return f"{one}{_also_off(seen)}"


def _also_off(seen: _CardInputs) -> str:
    """Which other parameters are off, in another way than is told."""
    told = {*seen.problem.parameters, *(errors.index for errors in seen.same_way)}
    others = [_off(seen, errors) for errors in seen.off if errors.index not in told]
    if not others or seen.problem.kind in ("mass", "test"):
        return ""
    return f" Also off: {first_text(others, _NAMED)}."


def _off(seen: _CardInputs, errors: ParameterErrors) -> str:
    """`theta_3 (too high)`: a parameter and in which ways it is off, as far as that is told."""
    side = _side(errors.bias, 0.0)
    ways = [
        *(["too high" if side > 0 else "too low"] if side else []),
        *([f"too {errors.misfit}"] if errors.misfit else []),
        *(["wrong skew"] if errors.skewed else []),
        *([f"tails too {errors.tails}"] if errors.tails else []),
    ]
    name = seen.called(errors.index)
    return f"{name} ({', '.join(ways)})" if ways else name


def _of_several(seen: _CardInputs, same: Sequence[ParameterErrors]) -> str:
    """`All 5 parameters too narrow (0.79 to 0.85 times the width they need).`"""
    d = seen.diagnosis.upload.dims[0]
    some = f"{len(same)} of {d}" if len(same) < d else "Both" if d == 2 else f"All {d}"
    which = f"{some} parameters"
    if seen.problem.kind == "width":
        ratios = [errors.ratio.estimate for errors in same]
        side = "narrow" if ratios[0] < 1 else "wide"
        return f"{which} too {side} ({_range(ratios)} times the width they need)."
    sides = {_side(errors.bias, 0.0) for errors in same}
    side = " too high" if sides == {1} else " too low" if sides == {-1} else ""
    sizes = [abs(errors.bias.estimate) for errors in same]
    more = " or more" * any(errors.open for errors in same)
    return f"{which} biased: q sits {_range(sizes)}{more} posterior sd{side or ' off'}."


def _range(numbers: Sequence[float]) -> str:
    low, high = (
        f"{end:.2f}" if end < 10 else f"{end:.3g}" for end in (min(numbers), max(numbers))
    )
    return low if low == high else f"{low} to {high}"


def _of_ranks(seen: _CardInputs) -> str:
    """What SBC says of the parameters that it rejects."""
    told = [f"{one.name}: {one.reading}" for one in seen.by_ranks[:_NAMED]]
    more = len(seen.by_ranks) - len(told)
    others = f"; {more} more parameters are off" if more else ""
    return f"{'; '.join(told)}{others} (by the ranks of true values, SBC)."


def _range_text(low: float, high: float) -> str:
    """`(−0.31 to 0.07)`."""
    return f"({signed_text(low, '.2f')} to {signed_text(high, '.2f')})"


def _of_bias(seen: _CardInputs) -> str:
    problem = seen.problem
    name = seen.called(problem.parameters[0])
    if problem.place is not None:
        inside, beyond = problem.place.inside, beyond_text(problem.place)
        if inside.value is None:
            return f"{name}: q's centre is off there; too few rows to say by how much."
        size = _high_or_low(inside.value, inside.low, inside.high)
        return f"{name}: q sits {size} there{f'; {beyond}' if beyond else ''}."
    worst = seen.worst
    if worst is None or not worst.biased:
        return _of_shape(seen, worst) or f"{name}: q's centre is off."
    size = _high_or_low(*worst.bias)
    if worst.open:
        return (
            f"{name}: q sits {size}; {share_text(worst.outside)} of true values lie outside all "
            "of its draws."
        )
    below = share_text(worst.below_median.estimate)
    return f"{name}: q sits {size}; {below} of true values lie below its median, not 50%."


def _of_shape(seen: _CardInputs, worst: ParameterErrors | None) -> str:
    """Width, skew and tails of a parameter whose bias is not told; empty where none is."""
    clauses = [] if worst is None else errors_in_words(worst)
    if worst is None or not clauses:
        return ""
    return f"{seen.called(worst.index)}: {'; '.join(clauses)}."


def _high_or_low(value: float, low: float | None, high: float | None) -> str:
    """A bias with its interval; one with an open end as a bound."""
    side = "high" if value >= 0 else "low"
    ends = [math.nan if end is None else end for end in (low, high)]
    if any(map(math.isnan, ends)):
        return f"{at_least(Interval(value, *ends))} too {side}"
    least, most = ends if value >= 0 else (-ends[1], -ends[0])
    return f"{abs(value):.2f} posterior sd too {side} {_range_text(least, most)}"


def _of_width(seen: _CardInputs) -> str:
    problem = seen.problem
    name = seen.called(problem.parameters[0])
    if problem.place is not None:
        return f"{name}: {_width_there(problem.place)}"
    worst = seen.worst
    if worst is None:
        return f"{name}: q has the wrong width or shape."
    rate = max(worst.coverage, key=lambda rate: rate.excess)
    covers = rate.covers
    coverage = (
        f"{name}: {rate.level:.0%} intervals hold {share_text(covers.estimate)} of true values "
        f"({100 * covers.low:.0f} to {100 * covers.high:.0f}%)"
    )
    sentences = [coverage] if rate.excess > 0 else []
    if worst.misfit:
        sentences.append(
            f"q is too {worst.misfit}: {worst.ratio.estimate:.2f} times the width it needs"
        )
    sentences += shape_in_words(worst)
    if not sentences:
        return f"{coverage}."
    return f"{'. '.join(sentences)}." if rate.excess > 0 else f"{name}: {'. '.join(sentences)}."


def _width_there(place: OverXPlace) -> str:
    """q's width in a place."""
    inside, beyond = place.inside, beyond_text(place)
    if inside.value is None or inside.low is None:
        why = beyond or "too few rows to say by how much"
        return f"the spread of true values differs there; {why}."
    high = effects.WIDEST if inside.high is None else inside.high
    if not inside.excludes(1.0):
        return (
            f"q's width changes over x; there it is {inside.low:.2f} to {high:.2f} times what it "
            "should be (95% interval)."
        )
    ends = _range_text(inside.low, high)
    return f"q is {inside.value:.2f} times as wide as it should be there {ends}."


def _of_mode(seen: _CardInputs) -> str:
    result = seen.of(CauseQuestion)
    assert result is not None, "a mode is the cause's own"
    finding = result.causes[0].evidence[0]
    name, of_q = seen.called(seen.problem.parameters[0]), finding.right or 0.0
    ends = f"({100 * finding.low:.0f} to {100 * finding.high:.2g}%)"
    if result.cause == "spurious_mode":
        true = "almost no" if finding.value < 0.005 else share_text(finding.value)
        return (
            f"{name}: {share_text(of_q)} of q's draws lie in a group of their own, with {true} "
            f"true values {ends}."
        )
    theirs = "almost none" if of_q < 0.005 else share_text(of_q)
    return (
        f"{name}: {share_text(finding.value)} of true values {ends} lie in a group of their own, "
        f"where q puts {theirs} of its draws."
    )


def _of_pair(seen: _CardInputs) -> str:
    names = [seen.called(which) for which in seen.problem.parameters]
    errors, own = _correlations(seen)
    return (
        f"{names[0]} and {names[1]}: true values deviate from q's centre with correlation "
        f"{signed_text(errors, '+.2f')}, q's draws with {signed_text(own, '+.2f')}."
    )


def _of_mass(seen: _CardInputs) -> str:
    result = seen.of(InThetaQuestion)
    claims, upload = seen.claims, seen.diagnosis.upload
    scored = claims.score() <= claims.alpha
    missing = result is not None and result.missing.ratio is not None and result.missing.differs
    if result is not None and missing and scored:
        share = result.missing
        times = f"about {share.ratio:.1f} times too little"
        return (
            f"About {share_text(share.truth)} of true values fall in regions where q puts "
            f"{share_text(share.q)} of its draws: {times}."
        )
    return f"Clearest: {claims.clearest(upload.names, upload.x_names)}."


def _of_test(seen: _CardInputs) -> str:
    """The words of the test that rejects most clearly, where none tells of single parameters."""
    adjusted, x_names = seen.diagnosis.adjusted, seen.diagnosis.upload.x_names
    label = min(adjusted, key=lambda each: adjusted[each])
    record = next(one for one in seen.diagnosis.records if one.label == label)
    told = findings(record, x_names)[:1] or tuple(
        f"{one.name}: {one.reading}." for one in seen.diagnosis.flagged[:1]
    )
    return " ".join((f"True values and q's draws differ, {_clearest_test(seen)}.", *told))


def _of_magnitude(seen: _CardInputs) -> str:
    assert seen.magnitude is not None, "the problem is its own"
    return seen.magnitude.sentence


_HOW_WRONG = {
    "magnitude": _of_magnitude,
    "bias": _of_bias,
    "width": _of_width,
    "mode": _of_mode,
    "pair": _of_pair,
    "mass": _of_mass,
    "test": _of_test,
}


def _where(seen: _CardInputs) -> str:
    result, problem = seen.of(OverXQuestion), seen.problem
    if result is None:
        return seen.why_not(OverXQuestion())
    if problem.place is not None:
        region = region_text(problem.place, *seen.names)
        unread = _unread(seen)
        follows = f" q's error follows {_listed(unread, seen.names.x)}." if unread else ""
        share = f"{problem.place.share:.0%} of simulations"
        return f"Where {region}: {share}.{_elsewhere(problem.place)}{follows}"
    p = f"p {equals(result.p_changes(seen.claims))}"
    if seen.alike:
        return f"At every x alike: no sign that the error changes over x ({p})."
    if seen.place is not None:
        return f"It changes over x ({p}), most where {region_text(seen.place, *seen.names)}."
    if seen.changing:
        return f"It changes over x ({p}), in the learned score, not in one parameter."
    return f"It changes over x ({p}), not in one place."


def _unread(seen: _CardInputs) -> list[int]:
    """The columns of x that q seems not to use; none where it is not said to ignore x.

    A q that is the posterior of the other columns errs by what these would have told it: its error
    follows them, and no column that it uses.
    """
    cause = seen.of(CauseQuestion)
    if cause is None or cause.cause != "ignores_x":
        return []
    return sorted({at.which for at in seen.changing if (at.kind, at.along) == ("shift", "x")})


def _listed(columns: Sequence[int], names: Sequence[str]) -> str:
    """`week5 to week8 and x_12`: three or more in a row by their ends."""
    runs: list[list[int]] = []
    for column in columns:
        if runs and runs[-1][-1] == column - 1:
            runs[-1].append(column)
        else:
            runs.append([column])
    words: list[str] = []
    for run in runs:
        named = [x_column_name(at, names) for at in run]
        words += [f"{named[0]} to {named[-1]}"] if len(run) > 2 else named
    return list_text(words)


def _elsewhere(place: OverXPlace) -> str:
    outside = place.outside
    if outside.value is None:
        return ""
    if not outside.excludes(1.0 if place.kind == "width" else 0.0):
        return " Elsewhere no error is seen."
    if place.kind == "width":
        return f" Elsewhere q is {outside.value:.2f} times as wide as it should be."
    return f" Elsewhere q sits {_high_or_low(outside.value, outside.low, outside.high)}."


def _cause(seen: _CardInputs) -> str:
    result = seen.of(CauseQuestion)
    if result is None:
        return seen.why_not(CauseQuestion())
    if seen.magnitude is not None and not result.faults and result.cause in _OPEN:
        return _CAUSE_OF_MAGNITUDE[seen.magnitude.family]
    against = {"q is too wide": "too_narrow", "q is too narrow": "too_wide"}
    finding = _found(seen)
    if finding and not result.faults and result.cause in ("none", against.get(finding)):
        return f"{finding}; why cannot be told from {seen.diagnosis.upload.n:,} simulations."
    return headline(result, seen.names, seen.claims)


def _found(seen: _CardInputs) -> str:
    """What is wrong, without its size: `q is too wide`; empty where that is not one word."""
    kind, worst = seen.problem.kind, seen.worst
    if kind == "bias":
        return "q is biased"
    side = 0 if worst is None or kind != "width" else _side(worst.ratio, 1.0)
    return {1: "q is too wide", -1: "q is too narrow"}.get(side, "")


_BY_KIND = {
    "mode": "missing_mode", "pair": "wrong_correlation", "mass": "unclear", "magnitude": "unclear"
}  # fmt: skip
_OPEN = ("unclear", "none")
"""Of a cause that is not named."""
_CAUSE_OF_MAGNITUDE: Mapping[Family, str] = {
    "outliers": "Some true values lie far outside q; why cannot be told from the table.",
    "spacing": "The draws or the true values are rounded or repeated.",
    "support": "q has draws where no true value lies; why cannot be told from the table.",
}
_OF_MAGNITUDE: Mapping[Family, str] = {
    "outliers": "Look at the rows of these true values: a failed simulation, another unit, or a "
    "prior wider than the one q was trained on?",
    "spacing": "Find where draws are rounded or repeated: a saved precision, an integer type, a "
    "sampler that stands still.",
    "support": "Check that q's draws are transformed back into the prior's range, and that q was "
    "trained on this prior.",
}
_NEARER = "Simulate near your observation, and check that the model can produce it."
_LOOK_FIRST = "Look at where q is wrong first"
_MORE = (
    "Train on more simulations and diagnose again; Compare posteriors shows what it gained.",
    "Open At my observation: the error there may be larger or smaller than on average.",
    "Open Each test to see what every single one found.",
)
_STEPS_OF_SAMPLES = (
    "Upload theta, x and theta_q: with x, place and cause can be found too.",
    "Open Each test to see which difference it found.",
    "Draw more points of both samples to see whether it stays.",
)


def _steps(seen: _CardInputs) -> tuple[str, ...]:
    """Three: where to simulate, if it is one place, then what helps against the cause."""
    result, problem = seen.of(CauseQuestion), seen.problem
    cause = "unclear" if result is None else result.cause
    if result is not None and cause not in _OPEN:
        steps = list(steps_for(cause, result.causes[0].strength.shape))
    else:
        steps = list(steps_for(_BY_KIND.get(problem.kind) or _provisional(seen), ""))
    if seen.magnitude is not None and cause in _OPEN:
        steps = [_OF_MAGNITUDE[seen.magnitude.family]]
    if unread := _unread(seen):
        that = "it reaches" if len(unread) == 1 else "they reach"
        inputs = _listed(unread, seen.names.x)
        steps.insert(0, f"q does not seem to use {inputs}: check that {that} the network.")
    elif problem.place is not None:
        region = region_text(problem.place, *seen.names)
        steps.insert(0, f"Simulate more where {region}, and check how x is scaled there.")
    if result is not None and result.faults:
        steps = [f"Mend the draws first: {FAULTS[fault]}." for fault in result.faults] + steps
    if seen.alike:
        steps = [step for step in steps if not step.startswith(_LOOK_FIRST)]
    more = [step for step in _MORE if not (seen.alike and "At my observation" in step)]
    return tuple(dict.fromkeys([*steps, *more]))[:3]


def _provisional(seen: _CardInputs) -> str:
    """The cause that the size of the error suggests, before or beside the injected tables."""
    problem = seen.problem
    if problem.kind == "bias":
        return "bias"
    worst = seen.worst
    ratio = None if worst is None or not worst.misfit else worst.ratio.estimate
    if worst is None and not seen.diagnosis.relabelled and seen.by_ranks:
        spread = _departures(seen.by_ranks[0], seen.diagnosis.upload.n)[1]
        ratio = None if abs(spread) < _PLAIN_RANKS else 1 / max(seen.by_ranks[0].spread, 1e-300)
    if problem.place is not None:
        ratio = problem.place.inside.value
    if ratio is None or math.isnan(ratio):
        return "unclear"
    return "too_narrow" if ratio < 1 else "too_wide"


def _unseen(seen: _CardInputs, state: State) -> _Content:
    """What silence is worth."""
    diagnosis = seen.diagnosis
    upload, shift = diagnosis.upload, diagnosis.shift
    if isinstance(upload, SamplesUpload):
        return _alike_samples(seen, state, upload.data)
    if state == "testing" and shift is None:
        questions: tuple[AnyQuestion, ...] = (
            CalibrationQuestion(),
            OverXQuestion(),
            CauseQuestion(),
        )
        labels = ("How wrong", "Where", "Likely cause")
        waiting = map(seen.why_not, questions)
        facts = tuple(_Fact(*each) for each in zip(labels, waiting, strict=True))
        return facts, _QUIET, _no_picture
    if shift is None:
        return (_missed(seen),), _QUIET, _no_picture
    size, rows, simulated = _smallest(seen)
    where = " in one parameter" if upload.dims[0] > 1 else ""
    by = "" if simulated else "about "
    facts = (
        _Fact("Still possible", _possible(seen)),
        _Fact(
            "Could be missed",
            f"A bias below {by}{size:.2g} posterior sd{where}: one of that size would be found in "
            "80 of 100 such tables.",
        ),
        _Fact("Where", _nowhere(seen)),
    )
    if state == "too little":
        need = math.ceil(upload.n * (size / ENOUGH) ** 2 / 10) * 10
        steps: tuple[str, ...] = (
            f"Bring about {need:,} simulations: then a bias of {ENOUGH:g} posterior sd would be "
            "found.",
            *((_MORE_DRAWS,) if upload.k < _DRAWS_ENOUGH else ()),
            *_QUIET,
        )
    else:
        steps = (
            f"To find half of that bias, bring about {rows:,} simulations.",
            _at_observation(upload.observed is not None),
            *_QUIET,
        )
    return facts, steps[:3], partial(_power_curve, seen, size)


def _missed(seen: _CardInputs) -> _Fact:
    """What could have been missed, where no test tells what it would have found."""
    ran = any(record.status == "ran" for record in seen.diagnosis.records)
    missed = "What error these tests would find is not known." if ran else "Any error."
    return _Fact("Could be missed", missed)


def _alike_samples(seen: _CardInputs, state: State, data: TwoSamples) -> _Content:
    """What silence about two samples is worth."""
    shift, upload = seen.diagnosis.shift, seen.diagnosis.upload
    picture = partial(card_pictures.samples, data, upload.names)
    if state == "testing":
        running = bool(seen.asked.running)
        waiting = "Being worked out." if running else "Not worked out: its job did not end."
        return (_Fact("What differs", waiting),), _QUIET_SAMPLES, picture
    if shift is None:
        return (_missed(seen),), _QUIET_SAMPLES, picture
    missed = _Fact(
        "Could be missed",
        f"A shift of one column by about {shift.size:.2g} sd would be found in 80 of 100 such "
        "pairs, with the best possible classifier; smaller ones more rarely.",
    )
    return (missed,), _QUIET_SAMPLES, picture


_MORE_DRAWS = f"Draw at least {_DRAWS_ENOUGH} times from q at each x."


def _no_picture() -> None:
    """None is drawn where nothing is known yet."""


_QUIET = (
    "Compare it with another network or checkpoint in Compare posteriors: row by row, smaller "
    "differences show.",
    "Run more tests (under Each test) for other kinds of error.",
    "Open At my observation: the verdict is an average over x.",
)
_QUIET_SAMPLES = (
    "Upload theta, x and theta_q for an answer parameter by parameter.",
    "Draw more points of both samples.",
    "Run more tests (under Each test) for other kinds of error.",
)


def _at_observation(own: bool) -> str:
    if own:
        return "Open At my observation: the verdict is an average over x, yours may differ."
    return "Bring your own observation x_o: the verdict is an average over all x; q may err there."


def _smallest(seen: _CardInputs) -> tuple[float, int, bool]:
    """The bias in one parameter that is found with 80% power, the rows for half of it, and whether
    simulated tables have told it."""
    shift, n = seen.diagnosis.shift, seen.diagnosis.upload.n
    assert shift is not None
    result = seen.of(SensitivityQuestion)
    for injection in () if result is None else result.injections:
        if injection.injection == "bias" and injection.smallest.known:
            rows = injection.rows_for_half or 4 * n
            return injection.smallest.estimate, int(float(f"{rows:.2g}")), True
    return shift.size, int(float(f"{4 * n:.2g}")), False


def _possible(seen: _CardInputs) -> str:
    result = seen.of(CalibrationQuestion)
    if result is None:
        return seen.why_not(CalibrationQuestion())
    known = [errors for errors in result.parameters if errors.ratio.known]
    if not known:
        return "Too few rows to say how far q could be off."
    bias = widest_bias(known)
    largest = f"A bias up to {bias:.2f} posterior sd" if bias < effects.WIDEST else "Any bias"
    narrow = min(errors.ratio.low for errors in known)
    wide = max(errors.ratio.high for errors in known)
    return (
        f"{largest}, and widths from {narrow:.2f} to {wide:.2f} times what they should be (95% "
        "intervals)."
    )


def _nowhere(seen: _CardInputs) -> str:
    result = seen.of(OverXQuestion)
    if result is None:
        return seen.why_not(OverXQuestion())
    sees = [part.sees for part in result.parts if part.sees is not None and not part.constant]
    if not sees:
        return "No place in x stands out."
    return (
        "No place in x stands out. An error in one region with a fifth of the simulations would "
        "have to be about "
        f"{max(sees):.2g} posterior sd to be found: fewer rows lie there."
    )


def _residuals(seen: _CardInputs, rows: NDArray[np.intp] | None) -> tuple[Array, Array]:
    """Truth (n, P) and draws (n, K', P) of the problem's parameters, in q's sd from its mean."""
    table = seen.table.data
    chosen = np.arange(len(table.theta)) if rows is None else rows
    if len(chosen) > _ROWS:
        chosen = chosen[np.linspace(0, len(chosen) - 1, _ROWS).astype(int)]
    columns = list(seen.problem.parameters)
    q = table.q[chosen][..., columns].astype(np.float64)
    mean, sd = np.asarray(q.mean(1)), np.asarray(q.std(1, ddof=1))
    safe = np.where(sd > 0, sd, 1.0)
    truth = (table.theta[chosen][:, columns] - mean) / safe
    draws = (q[:, :_DRAWS] - mean[:, None]) / safe[:, None]
    return truth, draws


def _correlations(seen: _CardInputs) -> tuple[float, float]:
    """Of true values and of q's draws about q's centre, in the problem's two parameters."""
    truth, draws = _residuals(seen, None)
    return _pearson(truth), _pearson(draws.reshape(-1, 2))


def _pearson(points: Array) -> float:
    if not np.all(points.std(0) > 0):
        return 0.0
    return float(np.corrcoef(points[:, 0], points[:, 1])[0, 1])


def _picture(seen: _CardInputs) -> Drawn:
    """Truths over q's draws where that shows it, coverage where the error is small."""
    problem, place = seen.problem, seen.problem.place
    names = [seen.called(which) for which in problem.parameters]
    table = seen.table.data
    rows: NDArray[np.intp] | None = None
    where = ""
    if place is not None:
        rows = rows_in_region(seen.table, place)
        where = f" where {region_text(place, *seen.names)}"
        if len(rows) < 10:
            rows, where = None, ""
    if table.q.shape[1] < 2:
        return card_pictures.coverage(_ranks(table, problem.parameters[0], rows), names[0], where)
    if problem.kind in ("pair", "mass", "test") and len(problem.parameters) > 1:
        truth, draws = _residuals(seen, rows)
        return card_pictures.cloud(truth[:, :2], draws[..., :2], names[:2], where)
    if problem.kind in ("mode", "mass", "magnitude", "test") or _plain(seen):
        truth, draws = _residuals(seen, rows)
        return card_pictures.overlay(truth[:, 0], draws[..., 0], names[0], where)
    ranks = _ranks(table, problem.parameters[0], rows)
    worst = seen.worst if rows is None else None
    if problem.kind == "bias":
        below = None if worst is None else worst.below_median.estimate
        return card_pictures.quantiles(ranks, names[0], where, below)
    if worst is None:
        return card_pictures.coverage(ranks, names[0], where)
    rate = max(worst.coverage, key=lambda rate: rate.excess)
    return card_pictures.coverage(ranks, names[0], where, (rate.level, rate.covers.estimate))


def _plain(seen: _CardInputs) -> bool:
    """Whether histograms side by side show the error."""
    problem = seen.problem
    if problem.place is not None:
        bias = ratio = problem.place.inside.value
    else:
        worst = seen.worst
        if worst is None:
            return True
        bias, ratio = worst.bias.estimate, worst.ratio.estimate
    if bias is None or ratio is None:
        return False
    if problem.kind == "bias":
        return abs(bias) >= _PLAIN
    return ratio > 0 and abs(math.log(ratio)) >= math.log(_FACTOR)


def _ranks(table: PosteriorTable, parameter: int, rows: NDArray[np.intp] | None) -> Array:
    """Mid-ranks of the true values among q's draws, within (0, 1)."""
    chosen = slice(None) if rows is None else rows
    return midranks_among(table.theta[chosen, parameter], table.q[chosen, :, parameter])


def _power_curve(seen: _CardInputs, size: float) -> Drawn | None:
    """What would have been caught: the chance to find a bias in one parameter."""
    result = seen.of(SensitivityQuestion)
    injections = () if result is None else result.injections
    simulated = next((one for one in injections if one.injection == "bias"), None)
    powers = (
        []
        if simulated is None
        else [
            (strength, power.rate, power.low, power.high)
            for strength, power in zip(simulated.strengths, simulated.verdict, strict=True)
            if power is not None and not power.bound
        ]
    )
    return card_pictures.detection_curve(size, seen.diagnosis.alpha, powers)


COLORS = {"problem": style.OBSERVED, "silent": style.P, "too little": "#9A6700", "testing": ""}
"""Of a state; its words say the same. Silence is not green: nothing shows that q is correct."""
