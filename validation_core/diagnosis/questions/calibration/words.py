"""Errors of q in sentences."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from validation_core import codec
from validation_core.diagnosis.questions.base import Names
from validation_core.diagnosis.questions.calibration.result import (
    CoverageRate,
    DensityDivergence,
    DensityRegions,
    LearnedDivergence,
    ParameterErrors,
)
from validation_core.methods.skl import nats_in_words
from validation_core.relabelling.claims import Claims, parameter_name
from validation_core.statistics.effects import WIDEST
from validation_core.text import (
    count_text,
    equals,
    first_text,
    interval_text,
    level_text,
    list_text,
    share_interval_text,
    share_text,
    signed_text,
)
from validation_core.types import Interval

_NAMED = 5
_FEWEST_FOR_MOMENTS = 20  # draws at each x whose sd is known well enough to measure by
_LEARNED_SHARE = 0.15  # of the prior's variance: a q that takes away less is as good as the prior


def worst_parameter(errors: ParameterErrors, names: Sequence[str], k: int) -> str:
    """Say how the worst parameter is off, with coverage first."""
    name = parameter_name(names, errors.index)
    clauses = errors_in_words(errors) or ["no bias, width, skew or tails by themselves say how"]
    sentence = f"{name} is the worst: {_covers(errors)}; {list_text(clauses)}."
    if errors.open:
        return f"{sentence} {_outside(errors, k)}: ranks do not tell how far."
    if errors.by == "moments":
        return (
            f"{sentence} {_outside(errors, k)}, so that its bias and width are measured by q's "
            "mean and sd."
        )
    return sentence


def _outside(errors: ParameterErrors, k: int) -> str:
    return f"{share_text(errors.outside)} of the true values lie outside all {k} draws of q"


def errors_in_words(errors: ParameterErrors) -> list[str]:
    """How a parameter is off: bias, width, skew, tails, each only where its own null is rejected.

    They do not contradict each other: beside tails that are too light q is not called too wide.
    """
    clauses = [_bias(errors)] if errors.biased else []
    if errors.misfit:
        clauses.append(_width(errors))
    return [*clauses, *shape_in_words(errors)]


def shape_in_words(errors: ParameterErrors) -> list[str]:
    """Skew and tails, where they are told from those of a right q."""
    shape, clauses = errors.shape, []
    if errors.skewed:
        way = "up" if shape.skew > 0 else "down"
        clauses.append(
            f"q's skew is wrong: true values reach farther {way} than its draws "
            f"(p {equals(shape.skew_pvalue)})"
        )
    if errors.tails:
        clauses.append(f"q's tails are too {errors.tails} (p {equals(shape.tails_pvalue)})")
    return clauses


def _covers(errors: ParameterErrors) -> str:
    """The nominal rate that is farthest off; that of the 80% interval where none is."""
    rate, half = max(errors.coverage, key=lambda rate: rate.excess), errors.below_median
    if errors.coarse:
        return few_draws_cover(errors)
    if max(half.low - 0.5, 0.5 - half.high) > max(rate.excess, 0):
        return f"{share_interval_text(half)} of true values lie below its median, not half"
    if rate.excess <= 0:
        rate = _middle(errors)
    held = share_interval_text(rate.covers)
    return f"{100 * rate.level:g}% intervals hold {held} of true values"


def few_draws_cover(errors: ParameterErrors) -> str:
    """Where true values lie beside draws that are too few for intervals."""
    if errors.draws == 1:
        return f"{share_interval_text(errors.below_median)} of true values lie below its draw"
    held, right = 1 - errors.outside, 1 - errors.outside_expected
    return (
        f"{share_text(held)} of true values lie between the least and the greatest of its "
        f"{errors.draws} draws, where {share_text(right)} should"
    )


def _middle(errors: ParameterErrors) -> CoverageRate:
    """The rate of the 80% interval."""
    return next(rate for rate in errors.coverage if rate.level == 0.8)


def _bias(errors: ParameterErrors) -> str:
    bias, low, high = errors.bias
    side = "high" if bias >= 0 else "low"
    if errors.open:
        return f"q sits {at_least(errors.bias)} too {side}"
    size = errors.bias if bias >= 0 else Interval(-bias, -high, -low)
    told = errors.z_mean if bias >= 0 else -errors.z_mean
    return f"q sits {interval_text(size)} posterior sd too {side}{_by_moments(told, size, errors)}"


def at_least(bias: Interval) -> str:
    """A bias whose other end is open: `at least 1.9 sd of a normal law (3.0 by q's mean and sd)`.

    Its bound is of normal scores: those of a skewed law are larger than its distance in sd.
    """
    bound = abs(bias.low if math.isnan(bias.high) else bias.high)
    told = abs(bias.estimate)
    more = "" if told <= bound else f" ({told:.1f} by q's mean and sd)"
    digits = max(1, -math.floor(math.log10(bound))) if bound > 0 else 1
    least = math.floor(10**digits * bound) / 10**digits
    return f"at least {least:.{digits}f} sd of a normal law{more}"


def _by_moments(size: float, by_ranks: Interval, errors: ParameterErrors) -> str:
    """A size by q's mean and sd, where they tell another one than ranks: of a posterior that is
    not normal, ranks tell the size that a normal one would need."""
    known = errors.by == "ranks" and errors.draws >= _FEWEST_FOR_MOMENTS and not math.isnan(size)
    if not known or by_ranks.low <= size <= by_ranks.high:
        return ""
    return f" ({signed_text(size, '.2f')} by q's mean and sd)"


def _width(errors: ParameterErrors) -> str:
    ratio, low, high = errors.ratio
    side = "over-confident" if errors.misfit == "narrow" else "under-confident"
    if ratio >= 0.99 * WIDEST:
        return f"q is {WIDEST:g} times or more as wide as it should be ({side})"
    if errors.by == "ranks" and (low == 0 or ratio <= 1.01 / WIDEST):
        least = max(high if low == 0 else 0.0, 1 / WIDEST)
        return f"q is at most {least:.2g} times as wide as it should be ({side})"
    shape = ".2g" if ratio < 0.1 else ".2f"
    bottom, top = width_ends([errors], shape)
    by_sd = 1 / errors.z_sd if errors.z_sd > 0 else math.nan
    told = _by_moments(by_sd, errors.ratio, errors)
    return f"q is {ratio:{shape}} [{bottom}, {top}] times as wide as it should be{told} ({side})"


def others_off(
    off: Sequence[ParameterErrors],
    parameters: Sequence[ParameterErrors],
    names: Sequence[str],
    claims: Claims,
) -> list[str]:
    """Say how many parameters are off, and name the first; nothing for a table of one."""
    if len(parameters) == 1:
        return []
    verb, listed = "is" if len(off) == 1 else "are", _listed(off, names)
    return [
        f"{len(off)} of {len(parameters)} parameters {verb} off at level "
        f"{level_text(claims.alpha)}, corrected for everything that was looked at: {listed}."
    ]


def _listed(parameters: Sequence[ParameterErrors], names: Sequence[str]) -> str:
    return first_text([parameter_name(names, errors.index) for errors in parameters], _NAMED)


def clearest_error(
    parameters: Sequence[ParameterErrors], claims: Claims, names: Names
) -> list[str]:
    """How q is wrong where no parameter by itself is; nothing where nothing is claimed."""
    if not claims.found:
        return []
    pair = claims.clearest_of("pairs")
    if pair is not None and len(pair.claim.which) == 2:
        first, second = (parameter_name(names.theta, which) for which in pair.claim.which)
        return [f"Each parameter alone looks right; {first} and {second} together do not."]
    which = "Each parameter alone" if len(parameters) > 1 else parameter_name(names.theta, 0)
    clearest = claims.clearest(names.theta, names.x)
    told = "over all x"
    if parameters[0].coarse:
        told = f"as far as {count_text(parameters[0].draws, 'draw')} at each x can tell"
    return [f"{which} looks right {told}. Clearest error: {clearest}."]


def errors_left_open(parameters: Sequence[ParameterErrors]) -> list[str]:
    """Say which errors are left open where none was found."""
    middle = [_middle(errors).covers for errors in parameters]
    low, high = min(rate.low for rate in middle), max(rate.high for rate in middle)
    which = f"No error is found in {'the' if len(parameters) == 1 else 'any'} parameter"
    held = (
        f"80% intervals hold between {share_text(low)} and {share_text(high)} of the true values"
    )
    if parameters[0].coarse:
        few = parameters[0].draws
        make = "makes" if few == 1 else "make"
        held = f"{count_text(few, 'draw')} at each x {make} no 80% interval"
    return [f"{which}: {held}; the data still allow {sizes_left(parameters)}."]


def sizes_left(parameters: Sequence[ParameterErrors]) -> str:
    """The largest bias and the widths that intervals of these parameters hold."""
    bias = widest_bias(parameters)
    left = (
        f"a bias up to {bias:.2f} posterior sd" if bias < 0.99 * WIDEST else "a bias of any size"
    )
    if known := [errors for errors in parameters if errors.ratio.known]:
        least, most = width_ends(known)
        left += f" and widths from {least} to {most} times what they should be"
    return f"{left} (95% intervals)"


def width_ends(parameters: Sequence[ParameterErrors], form: str = ".2f") -> tuple[str, str]:
    """The least and greatest width that intervals of these parameters hold: `0`, `2.37`, `∞`."""
    low = min(errors.width.low for errors in parameters)
    high = max(errors.width.high for errors in parameters)
    return format(low, form) if low else "0", "∞" if math.isinf(high) else format(high, form)


def widest_bias(parameters: Sequence[ParameterErrors]) -> float:
    """The largest bias that any parameter's interval holds; infinite where an end is open."""
    ends = np.array([(-errors.bias.low, errors.bias.high) for errors in parameters])
    return float(np.where(np.isnan(ends), np.inf, ends).max())


def wider_than_prior(
    parameters: Sequence[ParameterErrors], names: Sequence[str], alpha: float
) -> list[str]:
    """Say for which parameters q is wider than the prior; nothing where for none.

    Its variance is, and the distances of its draws are at this level over all parameters.
    """
    level = alpha / len(parameters) if parameters else 0.0
    wider = [
        errors
        for errors in parameters
        if errors.contraction.high < 0 and errors.wider_pvalue <= level
    ]
    if not wider:
        return []
    widest = min(wider, key=lambda errors: errors.contraction.high)
    others = len(wider) - 1
    more = f", and for {count_text(others, 'more parameter')}" if others else ""
    return [
        f"q is wider than the prior for {parameter_name(names, widest.index)} (contraction "
        f"{interval_text(widest.contraction, '+.2f')}){more}."
    ]


def like_the_prior(parameters: Sequence[ParameterErrors], names: Sequence[str]) -> list[str]:
    """Parameters of which q seems to have learnt nothing: calibrated or not, it is the prior."""
    unlearnt = [errors for errors in parameters if (errors.contraction.high or 1) < _LEARNED_SHARE]
    if not unlearnt:
        return []
    listed = _listed(unlearnt, names)
    most = max(errors.contraction.high for errors in unlearnt)
    return [
        f"q is hardly narrower than the prior for {listed} (contraction below {most:.2f}, "
        f"by 95% intervals): x says little of {'it' if len(unlearnt) == 1 else 'them'}, or q "
        "ignores it."
    ]


def regions_text(mass: DensityRegions, claims: Claims) -> str:
    """Say how often highest-density regions hold the true value, with p of their ranks."""
    p = (
        f"p {equals(claims.densities())} for the true values' ranks by log densities, adjusted in "
        "the verdict's family"
    )
    rates = ", ".join(
        f"{100 * rate.level:g}%: {share_interval_text(rate.covers)}" for rate in mass.coverage
    )
    left = f" {mass.nan_rows} rows without a log q are left out." if mass.nan_rows else ""
    return (
        f"Highest-density regions of q hold the true value in (nominal: observed) {rates}; "
        f"area between coverage and level {interval_text(mass.area, '+.3f')}, {p}.{left}"
    )


def divergence_sentences(nats: DensityDivergence | LearnedDivergence) -> list[str]:
    """Say how large the symmetric divergence is, and by which estimate."""
    if isinstance(nats, LearnedDivergence):
        return [_learned(nats)]
    fields = codec.to_json(nats)
    ends = {"skl": nats.estimate, "ci_low": nats.low, "ci_high": nats.high}
    sentences = [*nats_in_words({**fields, **ends})]
    sentences.append(
        f"Test of no divergence: p {equals(nats.pvalue)}, by {nats.relabelings:,} relabelings "
        "within x."
    )
    if nats.weighted:
        left = ", ".join(
            f"M = {weighting.m}: "
            f"{interval_text((weighting.estimate, weighting.low, weighting.high), '.3f')}"
            for weighting in nats.weighted
        )
        sentences.append(
            f"Importance sampling would leave at most, in nats, with M draws of q weighed by "
            f"p / q: {left}."
        )
    return sentences


def _learned(nats: LearnedDivergence) -> str:
    interval = f"{interval_text((nats.estimate, nats.boot_low, nats.boot_high), '.3f')} nats"
    if nats.slope <= 0:
        return (
            "Symmetric divergence: the shared classifier sees none. On held-out rows its "
            f"score is no higher at true values than at q's draws ({interval} after its sign "
            "was reversed)."
        )
    return (
        f"Symmetric divergence, as far as the shared classifier sees: {interval} on "
        f"{nats.rows} held-out rows, usually less than the true one: it misses what the "
        "classifier misses, though a badly calibrated one can exceed it. Its logits were "
        f"multiplied by {nats.slope:.2f}, learnt on other rows, to make them log ratios."
    )
