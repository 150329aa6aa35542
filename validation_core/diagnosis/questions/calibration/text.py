"""How wrong q is, in sentences and as a table. Names come in here, as the user gave them."""

from __future__ import annotations

import math
from collections.abc import Sequence

from validation_core.diagnosis import records
from validation_core.diagnosis.claims import Claims
from validation_core.diagnosis.questions.base import Interval, Rows, as_numbers, called
from validation_core.diagnosis.questions.calibration.errors import (
    ALPHA,
    Calibration,
    CoverageRate,
    DensityDivergence,
    LearnedDivergence,
    ParameterErrors,
    Regions,
)
from validation_core.methods.skl import nats_in_words
from validation_core.statistics.effects import WIDEST

_NAMED = 5
_LEARNT = 0.15  # of the prior's variance: a q that takes away less is as good as the prior

READING_GUIDE = (
    "Each number has a 95% interval beside it: coverage is how often a nominal interval of q "
    "really holds the truth; bias is how far q sits too high, in q's own posterior sd; the ratio "
    "of widths is q's width by the width it needs, below 1 over-confident, above 1 "
    "under-confident; contraction is 1 - posterior variance / prior variance. If q were right, "
    "coverage would be nominal, bias 0 and the ratio 1, up to these intervals; p is corrected "
    "over parameters, and the worst parameter stands first."
)


def describe(
    result: Calibration, names: Sequence[str], claims: Claims | None = None
) -> tuple[str, ...]:
    """What is worst and by how much; then what else is off, and the whole of q."""
    parameters = result.parameters
    level = ALPHA if claims is None else claims.alpha
    off = [parameter for parameter in parameters if _pvalue(parameter, claims) <= level]
    sentences = []
    if off:
        sentences.append(_worst(off[0], names, result.k))
        sentences += _others(off, parameters, names, claims)
    elif parameters:
        sentences += _bounded(parameters)
    free = claims is None or claims.found
    sentences += (_wider(parameters, names) if free else []) or _blind(parameters, names)
    if result.regions is not None:
        sentences.append(_mass(result.regions, claims))
    if result.divergence is not None:
        sentences += _nats(result.divergence)
    if result.estimate is not None:
        sentences += [
            f"For comparison, an estimate without densities. {sentence}"
            for sentence in _nats(result.estimate)
        ]
    return tuple(sentences)


def _pvalue(errors: ParameterErrors, claims: Claims | None) -> float:
    """That a parameter is off: in the verdict's family, or corrected over parameters."""
    return errors.pvalue_adjusted if claims is None else claims.parameter(errors.index)


def rows(result: Calibration, names: Sequence[str], claims: Claims | None = None) -> Rows:
    """A row for each parameter, the worst first: every number and its interval."""
    return [
        _row(errors, called(names, errors.index), _pvalue(errors, claims))
        for errors in result.parameters
    ]


def _row(errors: ParameterErrors, name: str, pvalue: float) -> dict[str, str | float | int]:
    row: dict[str, str | float | int] = {"parameter": name}
    for rate in errors.coverage:
        row |= _cell(f"covered by {100 * rate.level:g}% intervals, %", rate.covers, 1, 100)
    row |= _cell("below q's median, %", errors.below_median, 1, 100)
    row |= _cell("bias, posterior sd (+ is too high)", errors.bias, 3)
    row |= _cell("width / needed width", errors.ratio, 3)
    row |= {"bias and width by": "q's mean and sd" if errors.by == "moments" else "ranks"}
    row |= _cell("contraction", errors.contraction, 3)
    return row | {
        "mean z-score": _rounded(errors.z_mean, 3),
        "sd of z-scores": _rounded(errors.z_sd, 3),
        "outside all draws, %": round(100 * errors.outside, 1),
        "p": float(f"{errors.pvalue:.3g}"),
        "p, corrected": float(f"{pvalue:.3g}"),
    }


def _cell(
    column: str, rate: Interval, digits: int, scale: float = 1
) -> dict[str, str | float | int]:
    if not rate.known:
        return {column: "", f"{column}, 95% interval": ""}
    low, high = (
        "?" if math.isnan(end) else f"{scale * end:.{digits}f}" for end in (rate.low, rate.high)
    )
    return {
        column: round(scale * rate.estimate, digits),
        f"{column}, 95% interval": f"{low} to {high}",
    }


def _rounded(value: float, digits: int) -> float | str:
    return "" if math.isnan(value) else round(value, digits)


def _worst(errors: ParameterErrors, names: Sequence[str], k: int) -> str:
    name = called(names, errors.index)
    sentence = f"{name} is the worst: {_covers(errors)}; {_bias(errors)}{_width(errors)}."
    if not errors.saturated:
        return sentence
    beyond = f"{100 * errors.outside:.0f}% of the truths lie outside all {k} draws of q"
    if errors.by == "moments":
        return f"{sentence} {beyond}, so that its bias and width are told by q's mean and sd."
    return f"{sentence} {beyond}, so that these are the least its errors can be."


def _covers(errors: ParameterErrors) -> str:
    """The nominal rate that is farthest off; that of the 80% interval where none is."""
    rate, half = max(errors.coverage, key=lambda rate: rate.excess), errors.below_median
    if max(half.low - 0.5, 0.5 - half.high) > max(rate.excess, 0):
        return f"{_percent(half)} of the truths lie below its median, not half"
    if rate.excess <= 0:
        rate = _middle(errors)
    nominal = f"its nominal {100 * rate.level:g}% interval"
    return f"{nominal} covers {_percent(rate.covers)} of the truths"


def _middle(errors: ParameterErrors) -> CoverageRate:
    """The rate of the 80% interval."""
    return next(rate for rate in errors.coverage if rate.level == 0.8)


def _bias(errors: ParameterErrors) -> str:
    bias, low, high = errors.bias
    least = "at least " * (errors.saturated and errors.by == "ranks")
    if not errors.bias.known:
        return "its bias cannot be told"
    if low > 0:
        return f"q sits {least}{bias:.2f} [{low:.2f}, {high:.2f}] posterior sd too high"
    if high < 0:
        return f"q sits {least}{-bias:.2f} [{-high:.2f}, {-low:.2f}] posterior sd too low"
    return f"its bias is {_signed(bias)} [{_signed(low)}, {_signed(high)}] posterior sd"


def _width(errors: ParameterErrors) -> str:
    ratio, low, high = errors.ratio
    if not errors.ratio.known:
        return ""
    if ratio >= 0.99 * WIDEST:
        return f" and q is {WIDEST:g} times or more as wide as it should be (under-confident)"
    if errors.by == "ranks" and ratio <= 1.01 / WIDEST:
        return f" and q is at most {1 / WIDEST:g} times as wide as it should be (over-confident)"
    shape = ".2g" if ratio < 0.1 else ".2f"
    top = format(high, shape) if high < 0.99 * WIDEST else "∞"
    interval = f"{ratio:{shape}} [{low:{shape}}, {top}]"
    if high < 1:
        return f" and q is {interval} times as wide as it should be (over-confident)"
    if low > 1:
        return f" and q is {interval} times as wide as it should be (under-confident)"
    return f" and its width is {interval} times what it should be"


def _others(
    off: Sequence[ParameterErrors],
    parameters: Sequence[ParameterErrors],
    names: Sequence[str],
    claims: Claims | None,
) -> list[str]:
    if len(parameters) == 1:
        return []
    level = ALPHA if claims is None else claims.alpha
    over = f"for {len(parameters)}" if claims is None else "for everything that was looked at"
    verb, listed = "is" if len(off) == 1 else "are", _listed(off, names)
    return [
        f"{len(off)} of {len(parameters)} parameters {verb} off at level "
        f"{100 * level:g}%, corrected {over}: {listed}."
    ]


def _listed(parameters: Sequence[ParameterErrors], names: Sequence[str]) -> str:
    more = f" and {len(parameters) - _NAMED} more" if len(parameters) > _NAMED else ""
    return ", ".join(called(names, errors.index) for errors in parameters[:_NAMED]) + more


def _bounded(parameters: Sequence[ParameterErrors]) -> list[str]:
    """What errors are left open where none was found."""
    middle = [_middle(errors).covers for errors in parameters]
    low, high = 100 * min(rate.low for rate in middle), 100 * max(rate.high for rate in middle)
    bias = max(max(-errors.bias.low, errors.bias.high) for errors in parameters)
    widths = [errors.ratio for errors in parameters if errors.ratio.known]
    which = (
        "The parameter is not found off: its nominal 80% interval covers"
        if len(parameters) == 1
        else "No parameter is found off: nominal 80% intervals cover"
    )
    open_ = (
        f"a bias of at most {bias:.2f} posterior sd"
        if bias < 0.99 * WIDEST
        else "a bias of any size"
    )
    if widths:
        narrow = min(ratio.low for ratio in widths)
        wide = max(ratio.high for ratio in widths)
        least = f"{narrow:.2f}" if narrow > 1.01 / WIDEST else "0"
        most = f"{wide:.2f}" if wide < 0.99 * WIDEST else "∞"
        open_ += f" and widths of {least} to {most} times the right one"
    stay = "are" if widths else "is"
    return [
        f"{which} between {low:.1f}% and {high:.1f}% of the truths; {open_} {stay} left open, "
        f"each by its own 95% interval."
    ]


def _wider(parameters: Sequence[ParameterErrors], names: Sequence[str]) -> list[str]:
    wider = [errors for errors in parameters if errors.contraction.high < 0]
    if not wider:
        return []
    widest = min(wider, key=lambda errors: errors.contraction.high)
    estimate, low, high = map(_signed, widest.contraction)
    others = len(wider) - 1
    more = f", and for {others} more parameter{'s' * (others > 1)}" if others else ""
    return [
        f"q is wider than the prior for {called(names, widest.index)} (contraction "
        f"{estimate} [{low}, {high}]){more}."
    ]


def _blind(parameters: Sequence[ParameterErrors], names: Sequence[str]) -> list[str]:
    """Parameters of which q seems to have learnt nothing: calibrated or not, it is the prior."""
    unlearnt = [errors for errors in parameters if (errors.contraction.high or 1) < _LEARNT]
    if not unlearnt:
        return []
    listed = _listed(unlearnt, names)
    most = max(errors.contraction.high for errors in unlearnt)
    return [
        f"q is hardly narrower than the prior for {listed} (contraction below {most:.2f}, "
        f"by 95% intervals): x says little of {'it' if len(unlearnt) == 1 else 'them'}, or q "
        "ignores it."
    ]


def _mass(mass: Regions, claims: Claims | None) -> str:
    p = (
        f"p {_p(mass.pvalue)} by exact KS, which is not part of the verdict unless SBC is "
        "asked to rank log q"
        if claims is None
        else f"p {_p(claims.densities())} for the truth's rank by log densities, adjusted in the "
        "verdict's family"
    )
    rates = ", ".join(f"{100 * rate.level:g}%: {_percent(rate.covers)}" for rate in mass.coverage)
    left = f" {mass.nan_rows} rows without a log q are left out." if mass.nan_rows else ""
    area, low, high = (_signed(end, 3) for end in mass.area)
    return (
        f"Highest-density regions of q hold the truth in (nominal: true) {rates}; area between "
        f"coverage and level {area} [{low}, {high}], {p}.{left}"
    )


def _nats(nats: DensityDivergence | LearnedDivergence) -> list[str]:
    if isinstance(nats, LearnedDivergence):
        return [_learned(nats)]
    fields = as_numbers(nats)
    ends = {"skl": nats.estimate, "ci_low": nats.low, "ci_high": nats.high}
    sentences = [*nats_in_words({**fields, **ends})]
    sentences.append(
        f"Against no divergence at all p {records.equals(nats.pvalue)}, by "
        f"{nats.relabelings:,} relabelings within x."
    )
    if nats.weighted:
        left = ", ".join(
            f"M = {weighting.m}: {weighting.estimate:.3f} [{_signed(weighting.low, 3)}, "
            f"{_signed(weighting.high, 3)}]"
            for weighting in nats.weighted
        )
        sentences.append(
            f"Importance sampling would leave at most, in nats, with M draws of q weighed by "
            f"p / q: {left}."
        )
    return sentences


def _learned(nats: LearnedDivergence) -> str:
    interval = f"{nats.estimate:.3f} [{nats.boot_low:.3f}, {nats.boot_high:.3f}] nats"
    if nats.slope <= 0:
        return (
            f"Symmetric divergence: the shared classifier sees none. On held-out rows its score "
            f"is no higher at the truth than at q's draws ({interval} after it was turned round)."
        )
    return (
        f"Symmetric divergence, as far as the shared classifier sees: {interval}, an estimate "
        f"on {nats.rows} held-out rows that overlooks what the classifier does; its logits "
        f"were multiplied by {nats.slope:.2f}, learnt on other rows, so that they are "
        f"log ratios."
    )


def _p(p: float) -> str:
    return f"= {p:.2g}" if p > 1e-300 else "< 1e-300"


def _signed(value: float, digits: int = 2) -> str:
    return f"{value:+.{digits}f}".replace("-", "−")


def _percent(rate: Interval) -> str:
    estimate, low, high = (100 * end for end in rate)
    return f"{estimate:.1f}% [{low:.1f}, {high:.1f}]"
