"""How wrong q is: the size of the problem in a sentence."""

from __future__ import annotations

import math
from collections.abc import Sequence

from validation_core.diagnosis.card.inputs import CardInputs, ProblemKind, side_of_zero
from validation_core.diagnosis.card.picture_choice import error_correlations
from validation_core.diagnosis.questions.calibration.result import ClaimedErrors, ParameterErrors
from validation_core.diagnosis.questions.calibration.words import (
    at_least,
    errors_in_words,
    few_draws_cover,
    shape_in_words,
)
from validation_core.diagnosis.questions.cause import CauseQuestion
from validation_core.diagnosis.questions.in_theta import InThetaQuestion
from validation_core.diagnosis.questions.over_x.result import OverXPlace
from validation_core.diagnosis.questions.over_x.words import beyond_text
from validation_core.methods.record import findings
from validation_core.statistics import effects
from validation_core.text import count_text, first_text, share_text, signed_text
from validation_core.types import Interval

_NAMED = 3  # parameters that a sentence names
_WRONG = {"width": "width", "shape": "skew or tails"}


def clearest_test(inputs: CardInputs) -> str:
    """Which test rejects most clearly."""
    adjusted = inputs.diagnosis.adjusted
    label = min(adjusted, key=lambda each: adjusted[each])
    titles = {record.label: record.title for record in inputs.diagnosis.records}
    return f"most clearly by {titles[label]}"


def how_wrong(inputs: CardInputs) -> str:
    """The size of the error: of all parameters that are off alike, then of the worst."""
    kind, same = inputs.problem.kind, inputs.same_way
    if inputs.worst is None and not inputs.diagnosis.relabelled and inputs.by_ranks:
        return _of_ranks(inputs)
    one = _HOW_WRONG[kind](inputs)
    if len(same) > 1:
        one = f"{_of_several(inputs, same)}; worst {one}"
    return f"{one}{_also_off(inputs)}"


def _also_off(inputs: CardInputs) -> str:
    """Which parameters are off in another way than is told.

    Of a place one kind of error is told: its parameter may be off in others at every x.
    """
    problem = inputs.problem
    if problem.kind in ("mass", "quantity", "test"):
        return ""
    told = {*problem.parameters, *(errors.index for errors in inputs.same_way)}
    others = []
    for errors in inputs.off:
        name, here = inputs.called(errors.index), errors.index in told
        ways = ", ".join(_ways(errors, told=problem.kind if here else None))
        if here and problem.place is not None and ways:
            others.append(f"{name} ({ways})")
        if not here:
            others.append(f"{name} ({ways})" if ways else name)
    return f" Also off: {first_text(others, _NAMED)}." if others else ""


def _ways(errors: ClaimedErrors, told: ProblemKind | None) -> list[str]:
    """`too high`, `too narrow`: how a parameter is off, but for a kind that is told already."""
    side = side_of_zero(errors.bias)
    return [
        *(["too high" if side > 0 else "too low"] if errors.biased and told != "bias" else []),
        *([f"too {errors.misfit}"] if errors.misfit and told != "width" else []),
        *(["wrong skew"] if errors.skewed else []),
        *([f"tails too {errors.tails}"] if errors.tails else []),
    ]


def _of_several(inputs: CardInputs, same: Sequence[ParameterErrors]) -> str:
    """`All 5 parameters too narrow (0.79 to 0.85 times the width they need)`."""
    d = inputs.diagnosis.upload.dims[0]
    some = f"{len(same)} of {d}" if len(same) < d else "Both" if d == 2 else f"All {d}"
    which = f"{some} parameters"
    if inputs.problem.kind == "width":
        ratios = [errors.ratio.estimate for errors in same]
        side = "narrow" if ratios[0] < 1 else "wide"
        return f"{which} too {side} ({_range(ratios)} times the width they need)"
    sides = {side_of_zero(errors.bias) for errors in same}
    side = " too high" if sides == {1} else " too low" if sides == {-1} else ""
    sizes = [abs(errors.bias.estimate) for errors in same]
    more = " or more" * any(errors.open for errors in same)
    return f"{which} biased: q sits {_range(sizes)}{more} posterior sd{side or ' off'}"


def _range(numbers: Sequence[float]) -> str:
    low, high = (
        f"{end:.2f}" if end < 10 else f"{end:.3g}" for end in (min(numbers), max(numbers))
    )
    return low if low == high else f"{low} to {high}"


def _of_ranks(inputs: CardInputs) -> str:
    """SBC's reading of the parameters that it rejects."""
    told = [f"{one.name}: {one.reading}" for one in inputs.by_ranks[:_NAMED]]
    more = len(inputs.by_ranks) - len(told)
    are = "is" if more == 1 else "are"
    others = f"; {count_text(more, 'more parameter')} {are} off" if more else ""
    return f"{'; '.join(told)}{others}, by the ranks of true values (SBC)."


def _range_text(low: float, high: float) -> str:
    """`(−0.31 to 0.07)`."""
    return f"({signed_text(low, '.2f')} to {signed_text(high, '.2f')})"


def _of_bias(inputs: CardInputs) -> str:
    problem = inputs.problem
    name = inputs.called(problem.parameters[0])
    if problem.place is not None:
        inside, beyond = problem.place.inside, beyond_text(problem.place)
        if inside.value is None:
            return f"{name}: q's centre is off there; too few rows to say by how much."
        size = bias_text(inside.value, inside.low, inside.high)
        return f"{name}: q sits {size} there{f'; {beyond}' if beyond else ''}."
    worst = inputs.worst
    if worst is None or not worst.biased:
        return _of_shape(inputs, worst) or f"{name}: q's centre is off."
    size = bias_text(*worst.bias)
    if worst.open:
        return (
            f"{name}: q sits {size}; {share_text(worst.outside)} of true values lie outside all "
            "of its draws."
        )
    below = share_text(worst.below_median.estimate)
    return f"{name}: q sits {size}; {below} of true values lie below its median, not 50%."


def _of_shape(inputs: CardInputs, worst: ParameterErrors | None) -> str:
    """Width, skew and tails of a parameter whose bias is not told; empty where none is."""
    clauses = [] if worst is None else errors_in_words(worst)
    if worst is None or not clauses:
        return ""
    return f"{inputs.called(worst.index)}: {'; '.join(clauses)}."


def bias_text(value: float, low: float | None, high: float | None) -> str:
    """A bias with its interval; one with an open end as a bound."""
    side = "high" if value >= 0 else "low"
    ends = [math.nan if end is None else end for end in (low, high)]
    if any(map(math.isnan, ends)):
        return f"{at_least(Interval(value, *ends))} too {side}"
    least, most = ends if value >= 0 else (-ends[1], -ends[0])
    return f"{abs(value):.2f} posterior sd too {side} {_range_text(least, most)}"


def _of_width(inputs: CardInputs) -> str:
    problem = inputs.problem
    name = inputs.called(problem.parameters[0])
    if problem.place is not None:
        return f"{name}: {_width_there(problem.place)}"
    worst = inputs.worst
    if worst is None:
        assert inputs.single is not None, "what no size tells of is claimed"
        return f"{name}: q has the wrong {_WRONG[inputs.single.claim.kind]}."
    rate = max(worst.coverage, key=lambda rate: rate.excess)
    covers = rate.covers
    coverage = (
        f"{name}: {rate.level:.0%} intervals hold {share_text(covers.estimate)} of true values "
        f"({share_text(covers.low).rstrip('%')} to {share_text(covers.high)})"
    )
    if worst.coarse:
        coverage = f"{name}: {few_draws_cover(worst)}"
    sentences = [coverage] if rate.excess > 0 else []
    if worst.misfit and len(inputs.same_way) < 2:  # several have their widths told together
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


def _of_mode(inputs: CardInputs) -> str:
    result = inputs.of(CauseQuestion)
    assert result is not None, "a mode is the cause's own"
    finding = result.causes[0].evidence[0]
    name, of_q = inputs.called(inputs.problem.parameters[0]), finding.right or 0.0
    ends = f"({share_text(finding.low).rstrip('%')} to {share_text(finding.high)})"
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


def _of_pair(inputs: CardInputs) -> str:
    names = [inputs.called(which) for which in inputs.problem.parameters]
    errors, own = error_correlations(inputs)
    return (
        f"{names[0]} and {names[1]}: true values deviate from q's centre with correlation "
        f"{signed_text(errors, '+.2f')}, q's draws with {signed_text(own, '+.2f')}."
    )


def _of_mass(inputs: CardInputs) -> str:
    result = inputs.of(InThetaQuestion)
    claims, upload = inputs.claims, inputs.diagnosis.upload
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


def _of_quantity(inputs: CardInputs) -> str:
    sentence = inputs.claims.of_quantity()
    assert sentence is not None, "a quantity is claimed"
    return sentence


def _of_test(inputs: CardInputs) -> str:
    """The words of the test that rejects most clearly, where none tells of single parameters."""
    adjusted, x_names = inputs.diagnosis.adjusted, inputs.diagnosis.upload.x_names
    label = min(adjusted, key=lambda each: adjusted[each])
    record = next(one for one in inputs.diagnosis.records if one.label == label)
    told = findings(record, x_names)[:1] or tuple(
        f"{one.name}: {one.reading}." for one in inputs.diagnosis.flagged[:1]
    )
    return " ".join((f"True values and q's draws differ, {clearest_test(inputs)}.", *told))


def _of_magnitude(inputs: CardInputs) -> str:
    assert inputs.magnitude is not None, "the problem is its own"
    return inputs.magnitude.sentence


_HOW_WRONG = {
    "magnitude": _of_magnitude,
    "bias": _of_bias,
    "width": _of_width,
    "mode": _of_mode,
    "pair": _of_pair,
    "mass": _of_mass,
    "quantity": _of_quantity,
    "test": _of_test,
}
