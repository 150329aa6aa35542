"""What the sensitivity of the tests is in words, and as a table."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from validation_core.diagnosis.questions.base import Rows, called
from validation_core.diagnosis.questions.sensitivity.study import (
    InjectionPower,
    Power,
    Sensitivity,
)

READING_GUIDE = (
    "Each curve is the share of tables in which a defect of that strength is found: a draw of q "
    "plays the truth and is moved, in one parameter or direction drawn at random or in all "
    "parameters, so that q is wrong by just that much. Nats are the divergence KL of the truth "
    "from q, worked out as if q were normal where the sentence says so. Where the curve of the "
    "verdict passes 80%, a defect of that size would most likely not have stayed unseen. Whether "
    "q is right or not, the curves begin at the level, about 5%, on the left. Tests that were not "
    "asked at a strength count as silent there: the verdict's power is then a lower bound."
)

_PHRASES: Mapping[str, str] = {
    "bias": "a bias of {} posterior sd in {}",
    "bias_all": "a bias of {} posterior sd in {}",
    "too_wide_one": "a q that is {} times too wide in {}",
    "too_wide": "a q that is {} times too wide in {}",
    "too_narrow_one": "a q that is {} times too narrow in {}",
    "too_narrow": "a q that is {} times too narrow in {}",
    "wrong_correlation": "a q that is {} times too wide along a direction that no parameter shows",
    "heavy_tails": "a q with tails of a Student's t of 1 / {} degrees of freedom in {}",
    "light_tails": "a truth with tails of a Student's t of 1 / {} degrees of freedom in {}",
    "missing_mode": "a missing mode with a share of {} of the truth's mass",
    "spurious_mode": "a share of {} of q's mass where the truth never is",
    "ignores_x": "a q blind to x, with a correlation of {} between the truth's residuals and x",
    "support_leak": "a share of {} of q's mass outside the truth's support, over {}",
    "tilt_bias": "a defect of {} nats along {}",
    "tilt_narrow": "a defect of {} nats that draws q together in {}",
    "tilt_wide": "a defect of {} nats that spreads q out in {}",
    "tilt_correlation": "a defect of {} nats along the product of {}",
}
"""With its size and, after it, the parameters that it sits in."""

_NOUNS: Mapping[str, str] = {
    "bias": "a bias in one parameter",
    "bias_all": "a bias in all parameters",
    "too_wide_one": "too wide a q in one parameter",
    "too_wide": "too wide a q in all parameters",
    "too_narrow_one": "too narrow a q in one parameter",
    "too_narrow": "too narrow a q in all parameters",
    "missing_mode": "a missing mode",
    "spurious_mode": "mass where the truth never is",
    "ignores_x": "blindness to x",
    "tilt_bias": "a tilt along one parameter",
    "tilt_correlation": "a wrong correlation",
    "tilt_narrow": "a q drawn together in one parameter",
    "tilt_wide": "a q spread out in one parameter",
}


def _phrase(injection: InjectionPower, size: str, where: str) -> str:
    """A defect of a size in words, and in which parameters it sits."""
    unknown = f"{injection.title} ({{}} {injection.unit})"
    return _PHRASES.get(injection.injection, unknown).format(size, where)


def describe(result: Sensitivity, names: Sequence[str]) -> tuple[str, ...]:
    """What would be found, and what half of it would take; then what could have been missed."""
    injections = result.injections
    sentences = [_sentence(injection, result, names) for injection in injections]
    return (*sentences, *_missed(injections), _how(result), *map(str, result.left_out))


def _where(injection: InjectionPower, result: Sensitivity, names: Sequence[str]) -> str:
    """In how many parameters a defect sits, and by which rule they were chosen."""
    d = result.parameters
    if d == 1:
        return "the one parameter that there is"
    if injection.spread == "all":
        return f"all {d} parameters at once"
    if injection.spread == "two":
        return "two parameters, drawn at random"
    if injection.parameter is None:
        return "one parameter, drawn at random in each table"
    return f"one parameter ({called(names, injection.parameter)}, drawn at random)"


def _sentence(injection: InjectionPower, result: Sensitivity, names: Sequence[str]) -> str:
    power, where = f"{result.power:.0%} power", _where(injection, result, names)
    if not injection.strengths:
        return f"What would be found of a q that is {injection.title} is still to be asked."
    if not injection.smallest.known:
        last = injection.verdict[-1]
        assert last is not None
        most = _phrase(injection, _shown(injection, injection.strengths[-1]), where)
        who = "these tests" if injection.networks else "the tests that train no network"
        return (
            f"{_capital(most)}, the strongest tried, would not be found with {power} by {who}: "
            f"they found it in {100 * last.rate:.0f}% [{100 * last.low:.0f}, "
            f"{100 * last.high:.0f}] of the tables."
        )
    estimate, *ends = injection.smallest
    low, high = (
        edge if math.isnan(end) else _shown(injection, end)
        for end, edge in zip(ends, ("below", "above"), strict=True)
    )
    size = f"{_shown(injection, estimate)} [{low}, {high}]"
    rows = f"about {_rounded(injection.rows_for_half or 0):,} simulations"
    law = (
        "" if injection.rows_by == "resampling" else ", if what is found shrinks as 1 / sqrt(rows)"
    )
    share = "A quarter" if injection.unit == "nats" else "Half"
    return (
        f"{_capital(_phrase(injection, size, where))} would be found with {power}"
        f"{_beside(injection)}. {share} of it would need {rows}{law}."
    )


def _beside(injection: InjectionPower) -> str:
    """The smallest size in nats, or where it is nats already, what bias is as far off."""
    if injection.nats is None or not injection.nats.smallest.known:
        return ""
    nats = injection.nats.smallest.estimate
    if injection.unit == "nats":
        bias = f", like a bias of {_two_digits(math.sqrt(2 * nats))} posterior sd"
        return bias if injection.injection == "tilt_bias" else ""
    return f": {_two_digits(nats)} nats" + ("" if injection.exact else " if q is near normal")


def _missed(injections: Sequence[InjectionPower]) -> tuple[str, ...]:
    """What these sizes leave open, in nats; nothing before anything is found."""
    open_ = [
        f"{_NOUNS[injection.injection]} of up to {_two_digits(injection.nats.smallest.estimate)}"
        for injection in injections
        if injection.nats is not None
        and injection.nats.smallest.known
        and injection.injection in _NOUNS
    ]
    if not open_:
        return ()
    return (
        f"What could have been missed, in nats: {'; '.join(open_)}; and defects of other kinds.",
    )


def _shown(injection: InjectionPower, strength: float) -> str:
    """A strength in its unit; one that is shown in nats, in those."""
    if injection.unit != "nats":
        return _number(strength, injection)
    nats = injection.nats
    if nats is None:  # the parameter never varies, and nothing leans anywhere
        return "0"
    by_strength = dict(zip(injection.strengths, nats.strengths, strict=True))
    by_strength |= zip(injection.smallest, nats.smallest, strict=True)
    return _two_digits(by_strength[strength])


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _two_digits(value: float) -> str:
    """Two digits that tell, never as a power of ten."""
    if value <= 0:
        return "0"
    return f"{float(f'{value:.2g}'):.{max(0, 1 - math.floor(math.log10(value)))}f}"


def _number(value: float, injection: InjectionPower) -> str:
    """With as many digits as tell two of how far the smallest found departs from no defect."""
    size = injection.smallest.estimate if injection.smallest.known else value
    off = abs((size or value) - injection.neutral)
    digits = 2 if off <= 0 else min(5, max(1, 1 - math.floor(math.log10(off))))
    return f"{value:.{digits}f}"


def _rounded(rows: int) -> int:
    """Two digits are known of a number of rows."""
    return int(float(f"{rows:.2g}"))


def _how(result: Sensitivity) -> str:
    stages = [injection for injection in result.injections if not injection.networks]
    trials = min(injection.trials for injection in result.injections)
    open_ = [injection.title for injection in result.injections if not injection.localizer]
    rests = "relabelling within x" if result.relabelled else f"Holm over {result.tests} tests"
    sentence = (
        f"Power of the verdict at level {result.alpha:.3g}, {rests}, on "
        f"{trials} tables for each strength; brackets are 95% intervals."
    )
    if result.thinned:
        sentence = (
            f"{sentence} To save time, these tables have {result.draws} draws of q at each x."
        )
    if stages:
        return f"{sentence} So far without the tests that train a network, which can only add."
    if open_:
        return f"{sentence} CoLT's localizer was not trained for: {', '.join(open_)}."
    return f"{sentence} CoLT's localizer was trained at one strength of each."


def rows(result: Sensitivity) -> Rows:
    """One row for each defect, strength and test, the verdict first, the strongest first."""
    return [
        row
        for injection in result.injections
        for i in reversed(range(len(injection.strengths)))
        for title, powers in (
            ("Verdict", injection.verdict),
            *((test.title, test.power) for test in injection.tests),
        )
        if (power := powers[i]) is not None
        for row in (_row(injection, i, title, power),)
    ]


def _row(
    injection: InjectionPower, i: int, title: str, power: Power
) -> dict[str, str | float | int]:
    nats = "" if injection.nats is None else round(injection.nats.strengths[i], 6)
    return {
        "q is": injection.title,
        "strength": nats if injection.unit == "nats" else injection.strengths[i],
        "unit": injection.unit,
        "nats": nats,
        "test": title,
        "found": power.rate,
        "95% low": power.low,
        "95% high": power.high,
        "tables": power.trials,
    }
