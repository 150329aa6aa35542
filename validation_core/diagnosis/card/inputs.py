"""A diagnosis beside its answers, and which of its problems a card is about."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeVar, cast

from validation_core.diagnosis.card.content import Fact
from validation_core.diagnosis.questions import Answers, AnyQuestion, Asked, Names
from validation_core.diagnosis.questions.calibration import CalibrationQuestion
from validation_core.diagnosis.questions.calibration.claimed import claimed_errors
from validation_core.diagnosis.questions.calibration.result import ClaimedErrors, ParameterErrors
from validation_core.diagnosis.questions.cause import CauseQuestion
from validation_core.diagnosis.questions.in_theta import InThetaQuestion
from validation_core.diagnosis.questions.over_x import OverXQuestion
from validation_core.diagnosis.questions.over_x.result import OverXPlace
from validation_core.diagnosis.verdict import Diagnosis, Parameter
from validation_core.relabelling.claims import Claims, ClearestClaim, Magnitude, parameter_name
from validation_core.relabelling.families import Family
from validation_core.tables import TableUpload
from validation_core.types import Interval

if TYPE_CHECKING:
    from validation_core.diagnosis.questions.base import Question


R = TypeVar("R")
ProblemKind = Literal["bias", "width", "mode", "pair", "mass", "magnitude", "quantity", "test"]
_RARER = 10.0  # times the p of a change over x: then an error everywhere is the finding
_OF_PARAMETERS = ("means", "widths", "shapes", "pairs")
_UNKNOWN = "Not known. "
_CLEARER = 2.0  # times the z of single parameters: then two, or a quantity, are the finding


def reasons_once(facts: Sequence[Fact]) -> tuple[Fact, ...]:
    """The facts, why something is not known in the first alone that has that reason."""
    told: set[str] = set()
    out = []
    for fact in facts:
        again = fact.text in told and fact.text.startswith(_UNKNOWN)
        out.append(Fact(fact.label, f"{_UNKNOWN}The reason is the same.") if again else fact)
        told.add(fact.text)
    return tuple(out)


class Problem(NamedTuple):
    """The plainest error of q: in which parameters, and at which rows."""

    kind: ProblemKind
    parameters: tuple[int, ...]
    place: OverXPlace | None = None
    """Where over x, if it changes there."""


@dataclass(frozen=True, eq=False)
class CardInputs:
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
        """A user's names of parameters and columns of x."""
        return Names.of(self.diagnosis.upload)

    @property
    def table(self) -> TableUpload:
        """The table, of cards that two samples do not get."""
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
        """Why a question has no answer; where it can have none, that nothing is known first."""
        upload = self.diagnosis.upload
        unknown = self.asked.state(question, upload) == "impossible"
        return _UNKNOWN * unknown + self.asked.why(question, upload)

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
    def off(self) -> tuple[ClaimedErrors, ...]:
        """Parameters that are off under the verdict's error rate, the worst first."""
        result = self.of(CalibrationQuestion)
        return () if result is None else claimed_errors(result.parameters, self.claims)

    @cached_property
    def worst(self) -> ClaimedErrors | None:
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
    def quantity(self) -> str | None:
        """The user's own test quantity that is off most clearly; None where none is claimed."""
        own = self.claims.clearest_of("own")
        return None if own is None else self.claims.quantities[own.claim.which[0]]

    @cached_property
    def single(self) -> ClearestClaim | None:
        """The clearest claim about single parameters; over x too where that has no answer."""
        over_x: tuple[Family, ...] = ("over_x",) if self.of(OverXQuestion) is None else ()
        return self.claims.clearest_of("means", "widths", "shapes", *over_x)

    @cached_property
    def change(self) -> str | None:
        """That claim in words, where it is one of a change over x: `place of theta_1, changing
        along x_1`; None where it is not."""
        if not self.diagnosis.relabelled or self.single is None:
            return None
        claim = self.single.claim
        return None if claim.along is None else self.claims.text(claim, *self.names)

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
    def problem(self) -> Problem:
        """The claim that stands out most."""
        if self.magnitude is not None:
            return Problem("magnitude", (self.magnitude.parameter,))
        if self.mode is not None:
            return Problem("mode", (self.mode,))
        if self.place is not None and not self._clearer_everywhere:
            kind: ProblemKind = "bias" if self.place.kind == "shift" else "width"
            return Problem(kind, (self.place.parameter,), self.place)
        return self._clearest()

    @cached_property
    def _clearer_everywhere(self) -> bool:
        """Whether an error that is alike at every x is far less likely by chance than any change
        over x."""
        over_x = self.of(OverXQuestion)
        if over_x is None or not self.diagnosis.relabelled:
            return False
        alike = [
            family["pvalue_named"]
            for family in self.diagnosis.families()
            if family["family"] in _OF_PARAMETERS and family["named"]
        ]
        return _RARER * min(alike, default=1.0) <= over_x.p_changes(self.claims)

    def _clearest(self) -> Problem:
        if not self.diagnosis.relabelled:
            return self._of_parameters() or self._of_ranks() or Problem("test", self._mapped())
        single = self.single
        pair = self.claims.clearest_of("pairs")
        own = self.claims.clearest_of("own")
        others = [claim.z for claim in (single, pair) if claim is not None]
        if own is not None and own.z > _CLEARER * max(others, default=0.0):
            return Problem("quantity", self._mapped())
        if pair is not None and (single is None or pair.z > _CLEARER * single.z):
            return Problem("pair", pair.claim.which)
        if single is None:
            return Problem("mass", self._mapped())
        claim = single.claim
        if claim.along is None and (known := self._of_parameters()) is not None:
            return known
        if not claim.which:
            return Problem("mass", self._mapped())
        return Problem("bias" if claim.kind == "mean" else "width", claim.which)

    def _of_parameters(self) -> Problem | None:
        if not self.off:
            return None
        worst = next((errors for errors in self.off if errors.families), self.off[0])
        return Problem("bias" if _shifted(worst) else "width", (worst.index,))

    def _of_ranks(self) -> Problem | None:
        """The parameter that SBC rejects most clearly."""
        worst = self.by_ranks
        if not worst:
            return None
        ranked = [one for one in self.diagnosis.parameters if one.family == "marginals"]
        shift, spread = rank_departures(worst[0], self.diagnosis.upload.n)
        kind: ProblemKind = "bias" if abs(shift) >= abs(spread) else "width"
        return Problem(kind, (ranked.index(worst[0]),))

    @cached_property
    def by_ranks(self) -> tuple[Parameter, ...]:
        """Parameters that SBC rejects after all corrections, the worst first."""
        return tuple(one for one in self.diagnosis.flagged if one.family == "marginals")

    @cached_property
    def same_way(self) -> tuple[ClaimedErrors, ...]:
        """Parameters that are off in the way of the worst, the worst first.

        Of a bias any that has one; of a width those that are too narrow, or too wide, as it is.
        """
        kind, worst = self.problem.kind, self.worst
        if worst is None or self.problem.place is not None:
            return ()
        if kind == "bias":
            same = [errors for errors in self.off if errors.biased]
            key = _bias_size
        elif kind == "width" and worst.misfit:
            same = [errors for errors in self.off if errors.misfit == worst.misfit]
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


def rank_departures(parameter: Parameter, n: int) -> tuple[float, float]:
    """How far a parameter's ranks are shifted and spread, in the sds of uniform ones."""
    shift = (parameter.mean_rank - 0.5) * math.sqrt(12 * n)
    return shift, (parameter.spread - 1) / 12 * math.sqrt(180 * n)


def side_of_zero(interval: Interval) -> int:
    """On which side of 0 an interval lies, 1 or -1; 0 where it holds it."""
    if not interval.known or interval.low <= 0 <= interval.high:
        return 0
    return 1 if interval.low > 0 else -1


def _bias_size(errors: ParameterErrors) -> float:
    return abs(errors.bias.estimate)


def _width_size(errors: ParameterErrors) -> float:
    return abs(math.log(max(errors.ratio.estimate, 1e-300)))


def _shifted(errors: ClaimedErrors) -> bool:
    """Whether it is a parameter's centre that is off: a shift alone spoils coverage as well."""
    if not errors.biased:
        return False
    if errors.families == {"means"}:
        return True
    half = max(errors.below_median.low - 0.5, 0.5 - errors.below_median.high)
    return half > 0 and half > 0.4 * max(rate.excess for rate in errors.coverage)
