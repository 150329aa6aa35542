"""Shapes of every cause, as they are injected into a table's own draws.

A defect of one name comes in several shapes: biases lie along whitened directions, with q's mean,
with x, or as if x were misread; correlations are wrong along one direction or altogether; modes
are missing, spurious or blurred.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

import numpy as np
from numpy.typing import NDArray

from validation_core.diagnosis.injections import INJECTIONS
from validation_core.diagnosis.injections.draw_pool import DrawPool
from validation_core.diagnosis.injections.injection import Apply
from validation_core.diagnosis.questions.cause.ranked_rows import RankedRows
from validation_core.diagnosis.questions.cause.variants import biases, correlations, masses, widths
from validation_core.diagnosis.questions.cause.variants.modifiers import in_one, in_part, inverse
from validation_core.types import Array


@dataclass(frozen=True)
class Variant:
    """One shape of a cause, injected at strengths between two."""

    cause: str
    name: str
    low: float
    high: float
    apply: Apply
    unit: str
    """What the strength counts: a key of the words for it."""
    _: KW_ONLY
    least_dims: int = 1
    needs_x: bool = False
    needs_blindness: bool = False
    """Whether a q that follows x cannot have it."""

    @property
    def neutral(self) -> float:
        """The strength that changes nothing: 1 for a factor, 0 for all others."""
        return 1.0 if self.unit in ("times", "along", "across") else 0.0

    def strengths(self, places: Array) -> Array:
        """Strengths at places of the logarithm of what they exceed `neutral` by; 0 to 1 inside."""
        low, high = np.log(self.low - self.neutral), np.log(self.high - self.neutral)
        return self.neutral + np.exp(np.minimum(low + (high - low) * places, high))

    def place(self, strengths: Array) -> Array:
        """The way back."""
        low, high = np.log(self.low - self.neutral), np.log(self.high - self.neutral)
        return np.asarray((np.log(strengths - self.neutral) - low) / (high - low))


def injectable_variants(ranked: RankedRows, pool: DrawPool) -> tuple[Variant, ...]:
    """All that can be injected into this table."""
    groups = ranked.groups
    likely = 1 / (1 + np.exp(-(groups.apart - 1.5) / 0.15))  # that two groups are two modes

    def second(theta: Array, chance: Array) -> NDArray[np.bool_]:
        return np.asarray(ranked.minor(theta) & (chance < likely))

    variants = [*_of_any_table()]
    if groups.clear.mean() > 0.02:
        apply = masses.without_mode(second)
        variants.append(Variant("spurious_mode", "group", 0.2, 1.0, apply, "share of the mode"))
    blurred = widths.blurred(pool)
    variants.append(Variant("too_wide", "blurred", 0.1, 1.0, blurred, "share of the spread"))
    d, followed = pool.q.shape[2], pool.followed.shape[1] > 0
    return tuple(v for v in variants if v.least_dims <= d and (followed or not v.needs_x))


def _of_any_table() -> tuple[Variant, ...]:
    own = {name: injection.apply for name, injection in INJECTIONS.items()}
    bias, corr = "bias", "wrong_correlation"
    sd, along, part = "sd", "along", "correlation"
    narrow, wide, turning = own["too_narrow"], own["too_wide"], correlations.along_turning
    light = widths.even_tails(heavy=False)
    return (
        Variant(bias, "all", 0.05, 2, own["bias_all"], sd),
        Variant(bias, "one", 0.1, 2, own["bias"], sd, least_dims=2),
        Variant(bias, "white", 0.05, 3, biases.along_one, sd, least_dims=2),
        Variant(bias, "mean", 0.05, 2, biases.with_mean, sd),
        Variant(bias, "x", 0.05, 2, biases.with_x, sd, needs_x=True),
        Variant(bias, "smooth", 0.05, 2, biases.smoothly_with_x, sd, needs_x=True),
        Variant("ignores_x", "shuffled", 0.6, 1.0, masses.elsewhere, "share of rows"),
        Variant("ignores_x", "unread", 0.1, 0.99, biases.of_unread_x, "follows", needs_x=True),
        Variant(bias, "misread", 0.05, 2, biases.of_misread_x, sd, needs_x=True),
        Variant(bias, "part", 0.2, 5, in_part(biases.in_one_or_along), sd, needs_x=True),
        Variant("too_wide", "all", 1.03, 3, wide, "times"),
        Variant("too_wide", "one", 1.05, 3, own["too_wide_one"], "times", least_dims=2),
        Variant("too_wide", "uneven", 1.05, 2, widths.uneven, "times", needs_x=True),
        Variant("too_wide", "wide_part", 1.1, 3, in_part(wide), "times", needs_x=True),
        Variant("too_narrow", "all", 1.03, 3, narrow, "times"),
        Variant("too_narrow", "one", 1.05, 3, own["too_narrow_one"], "times", least_dims=2),
        Variant("too_narrow", "uneven", 1.05, 2, inverse(widths.uneven), "times", needs_x=True),
        Variant("too_narrow", "narrow_part", 1.1, 3, in_part(narrow), "times", needs_x=True),
        Variant(corr, "marginals", 1.1, 5, own[corr], along, least_dims=2),
        Variant(corr, "white", 1.1, 5, correlations.along_one, along, least_dims=2),
        Variant(corr, "turning", 1.1, 8, turning, along, least_dims=2, needs_x=True),
        Variant(corr, "own", 1.1, 8, correlations.along_own, along, least_dims=2),
        Variant(corr, "fixed", 1.1, 8, correlations.by_fixed_noise, along, least_dims=2),
        Variant(corr, "narrow", 1.1, 3, inverse(correlations.along_one), "across", least_dims=2),
        Variant(corr, "sign", 0.05, 1, correlations.flipped, part, least_dims=2),
        Variant(corr, "independent", 0.05, 0.95, correlations.independent, part, least_dims=2),
        Variant("heavy_tails", "radius", 0.03, 1, widths.tails(heavy=True), "degrees"),
        Variant("light_tails", "radius", 0.03, 0.7, widths.tails(heavy=False), "degrees"),
        Variant("heavy_tails", "heavy_even", 0.03, 0.42, widths.even_tails(heavy=True), "degrees"),
        Variant("light_tails", "light_even", 0.03, 0.42, light, "degrees"),
        Variant("heavy_tails", "one", 0.03, 0.42, widths.one_tail(heavy=True), "degrees"),
        Variant("light_tails", "one", 0.03, 0.42, widths.one_tail(heavy=False), "degrees"),
        Variant("wrong_skew", "all", 0.05, 1, widths.skewed, "skew"),
        Variant("wrong_skew", "one", 0.05, 1, in_one(widths.skewed), "skew", least_dims=2),
        Variant("proposal", "tilted", 0.2, 0.9, masses.of_proposal, "share of the prior"),
        Variant("missing_mode", "offset", 0.01, 0.6, masses.offset, "share of the truth"),
        Variant("missing_mode", "mirrored", 0.01, 0.6, masses.mirrored, "share of the truth"),
        Variant("missing_mode", "elsewhere", 0.01, 0.6, masses.elsewhere, "share of the truth"),
        Variant("spurious_mode", "halfspace", 0.01, 0.4, own["spurious_mode"], "share of q"),
        Variant("spurious_mode", "bridge", 0.05, 0.5, masses.bridge, "share of q"),
        Variant("support_leak", "box", 0.003, 0.3, masses.box, "share of q"),
        Variant("support_leak", "side", 0.01, 0.3, masses.side, "share of q"),
        Variant(
            "ignores_x",
            "follows",
            0.1,
            0.99,
            own["ignores_x"],
            "follows",
            needs_x=True,
            needs_blindness=True,
        ),
    )
