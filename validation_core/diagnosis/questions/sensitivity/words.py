"""Sentences about the sizes of defects that would be found, and that could have been missed."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

from validation_core.diagnosis.questions.sensitivity.result import (
    STAGES,
    InjectionPower,
    Sensitivity,
)
from validation_core.relabelling.claims import parameter_name
from validation_core.text import capitalise, interval_text

_PHRASES: Mapping[str, str] = {
    "bias": "a bias of {} posterior sd in {}",
    "bias_all": "a bias of {} posterior sd in {}",
    "too_wide_one": "a q {} times as wide as it should be in {}",
    "too_wide": "a q {} times as wide as it should be in {}",
    "too_narrow_one": "a q {} times as wide as it should be in {}",
    "too_narrow": "a q {} times as wide as it should be in {}",
    "wrong_correlation": "a q {} times as wide as it should be along a direction that no "
    "parameter shows",
    "heavy_tails": "a q with tails of a Student's t of 1 / {} degrees of freedom in {}",
    "light_tails": (
        "a q with tails too light (true values have those of a Student's t of 1 / {} degrees "
        "of freedom) in {}"
    ),
    "missing_mode": "a missing mode with a share of {} of the true posterior's mass",
    "spurious_mode": "a share of {} of q's mass where no true value lies",
    "ignores_x": "a q blind to x, with a correlation of {} between true values' residuals and x",
    "support_leak": "a share of {} of q's mass outside the true posterior's support, over {}",
    "tilt_bias": "a defect of KL(p‖q) = {} nats along {}",
    "tilt_narrow": "a defect of KL(p‖q) = {} nats that draws q together in {}",
    "tilt_wide": "a defect of KL(p‖q) = {} nats that spreads q out in {}",
    "tilt_correlation": "a defect of KL(p‖q) = {} nats along the product of {}",
    "tilt_mode": "a defect of KL(p‖q) = {} nats between q's modes",
}
"""Defects in words, with room for the size and for the parameters that each sits in."""
_NOUNS: Mapping[str, str] = {
    "bias": "a bias in one parameter",
    "bias_all": "a bias in all parameters",
    "too_wide_one": "too wide a q in one parameter",
    "too_wide": "too wide a q in all parameters",
    "too_narrow_one": "too narrow a q in one parameter",
    "too_narrow": "too narrow a q in all parameters",
    "missing_mode": "a missing mode",
    "spurious_mode": "mass where no true value lies",
    "ignores_x": "blindness to x",
    "tilt_bias": "a tilt along one parameter",
    "tilt_correlation": "a wrong correlation",
    "tilt_narrow": "a q drawn together in one parameter",
    "tilt_wide": "a q spread out in one parameter",
    "tilt_mode": "a wrong share of a mode",
}


def _phrase(injection: InjectionPower, size: str, where: str) -> str:
    """A defect of a size in words, and in which parameters it sits."""
    unknown = f"{injection.title} ({{}} {injection.unit})"
    return _PHRASES.get(injection.injection, unknown).format(size, where)


def _where(injection: InjectionPower, result: Sensitivity, names: Sequence[str]) -> str:
    """The parameters that a defect sits in, and how they were chosen."""
    d = result.parameters
    if d == 1:
        return parameter_name(names, injection.parameter or 0)
    if injection.spread == "all":
        of = "that vary at once" if len(names) > d else "at once"
        return f"both parameters {of}" if d == 2 else f"all {d} parameters {of}"
    if injection.spread == "two":
        return "two parameters, drawn at random"
    if injection.parameter is None:
        return "one parameter, drawn at random in each table"
    return f"one parameter ({parameter_name(names, injection.parameter)}, drawn at random)"


def smallest_size_text(
    injection: InjectionPower, result: Sensitivity, names: Sequence[str], alpha: float
) -> str:
    """The smallest size of a defect that would be found with this power, and its interval.

    Where the diagnosis has another level alpha, the level of these powers is said.
    """
    power = f"{result.power:.0%} power{_level(result, alpha)}"
    where = _where(injection, result, names)
    if not injection.strengths:
        return f"Not computed yet: what would be found of a q that is {injection.title}."
    if not injection.smallest.known:
        last = injection.verdict[-1]
        assert last is not None
        most = _phrase(injection, _shown(injection, injection.strengths[-1]), where)
        who = "these tests" if injection.networks else "the tests that train no network"
        return (
            f"{capitalise(most)}, the strongest tried, would not be found with {power} by {who}: "
            f"they found it in {interval_text((last.rate, last.low, last.high), '.0%')} of the "
            "tables."
        )
    estimate, *ends = injection.smallest
    low, high = (
        edge if math.isnan(end) else _shown(injection, end)
        for end, edge in zip(ends, ("below", "above"), strict=True)
    )
    if _inverted(injection):
        turned = {"below": "above", "above": "below"}
        low, high = turned.get(high, high), turned.get(low, low)
    size = f"{_shown(injection, estimate)} [{low}, {high}]"
    _table = f"about {_rounded(injection.rows_for_half or 0):,} simulations"
    law = (
        "" if injection.rows_by == "resampling" else ", if what is found shrinks as 1 / sqrt(rows)"
    )
    share = "A quarter" if injection.unit == "nats" else "Half"
    return (
        f"{capitalise(_phrase(injection, size, where))} would be found with {power}"
        f"{_beside(injection)}. {share} of it would need {_table}{law}."
    )


def _beside(injection: InjectionPower) -> str:
    """The smallest size in nats, or where it is nats already, what bias is as far off."""
    if injection.nats is None or not injection.nats.smallest.known:
        return ""
    nats = injection.nats.smallest.estimate
    if injection.unit == "nats":
        bias = f", like a bias of {_two_digits(math.sqrt(2 * nats))} posterior sd"
        return bias if injection.injection == "tilt_bias" else ""
    normal = "" if injection.exact else " if q is near normal"
    return f": KL(p‖q) = {_two_digits(nats)} nats{normal}"


def _level(result: Sensitivity, alpha: float) -> str:
    return "" if result.alpha == alpha else f" at level {result.alpha:.3g}"


def missed_text(result: Sensitivity, alpha: float) -> tuple[str, ...]:
    """A sentence on what these sizes leave open, in nats; none before anything is found."""
    open_ = [
        f"{_noun(injection, result)} of up to {_two_digits(injection.nats.smallest.estimate)}"
        for injection in result.injections
        if injection.nats is not None
        and injection.nats.smallest.known
        and injection.injection in _NOUNS
    ]
    if not open_:
        return ()
    return (
        f"What could have been missed{_level(result, alpha)}, in nats of KL(p‖q): "
        f"{'; '.join(open_)}; and defects of other kinds.",
    )


def _noun(injection: InjectionPower, result: Sensitivity) -> str:
    """A defect in words, and in how many parameters it sits where there are several."""
    noun = _NOUNS[injection.injection]
    return (
        noun if result.parameters > 1 else re.sub(r" (in|along) (one|all) parameters?$", "", noun)
    )


def _shown(injection: InjectionPower, strength: float) -> str:
    """A strength in its unit; one that is shown in nats, in those."""
    if _inverted(injection):  # all widths are told as q's by the width that it needs
        return f"{1 / strength:.3g}"
    if injection.unit != "nats":
        return _number(strength, injection)
    nats = injection.nats
    if nats is None:  # the parameter never varies, and nothing leans anywhere
        return "0"
    by_strength = dict(zip(injection.strengths, nats.strengths, strict=True))
    by_strength |= zip(injection.smallest, nats.smallest, strict=True)
    return _two_digits(by_strength[strength])


def _inverted(injection: InjectionPower) -> bool:
    """Whether its strength is how many times too narrow q is."""
    return injection.injection.startswith("too_narrow")


def _two_digits(value: float) -> str:
    """Two digits that tell, never as a power of ten."""
    if value <= 0:
        return "0"
    return f"{float(f'{value:.2g}'):.{max(0, 1 - math.floor(math.log10(value)))}f}"


def _number(value: float, injection: InjectionPower) -> str:
    """A strength with two digits of the smallest one's distance from no defect."""
    size = injection.smallest.estimate if injection.smallest.known else value
    off = abs((size or value) - injection.neutral)
    digits = 2 if off <= 0 else min(5, max(1, 1 - math.floor(math.log10(off))))
    return f"{value:.{digits}f}"


def _rounded(rows: int) -> int:
    """Two digits are known of a number of rows."""
    return int(float(f"{rows:.2g}"))


def basis_text(result: Sensitivity) -> str:
    """Level, tables and tests that the powers rest on."""
    stage = min(injection.stage for injection in result.injections)
    trials = min(injection.trials for injection in result.injections)
    hard = [injection.title for injection in result.injections if injection.localizer]
    rests = "relabelling within x" if result.relabelled else f"Holm over {result.tests} tests"
    sentence = (
        f"Power of the verdict at level {result.alpha:.3g}, {rests}, on "
        f"{trials} tables for each strength; brackets are 95% intervals."
    )
    if result.thinned:
        sentence = (
            f"{sentence} To save time, these tables have {result.draws} draws of q at each x."
        )
    if stage < STAGES.index("classifier"):
        return f"{sentence} So far without the tests that train a network, which can only add."
    if stage < STAGES.index("localizer"):
        return sentence
    asked = f": a q {', or '.join(hard)}" if hard else "; there was none"
    return (
        f"{sentence} CoLT, whose localizer takes long to train, was asked only of defects that no "
        f"other test found{asked}."
    )
