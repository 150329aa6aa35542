"""The shapes in which each cause is injected: a defect of one name comes in several."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from validation_core.answers.cause import biases, directions, modes
from validation_core.answers.cause.ranks import Ranked
from validation_core.answers.injections import (
    INJECTIONS,
    Apply,
    Pool,
    Which,
    radial,
    with_median,
    with_variance,
)
from validation_core.types import Array


@dataclass(frozen=True, kw_only=True)
class Variant:
    """One shape of a cause, injected at strengths between two."""

    cause: str
    name: str
    low: float
    high: float
    apply: Apply
    unit: str
    """What the strength counts: a key of the words for it."""
    nothing: float = 0.0
    """The strength at which nothing happens: 1 for factors."""
    least_dims: int = 1
    needs_x: bool = False

    def drawn(self, places: Array) -> Array:
        """Strengths at places of the logarithm of what they exceed `nothing` by; 0 to 1 inside."""
        low, high = np.log(self.low - self.nothing), np.log(self.high - self.nothing)
        return self.nothing + np.exp(np.minimum(low + (high - low) * places, high))

    def place(self, strengths: Array) -> Array:
        """The way back."""
        low, high = np.log(self.low - self.nothing), np.log(self.high - self.nothing)
        return np.asarray((np.log(strengths - self.nothing) - low) / (high - low))


def inverse(apply: Apply) -> Apply:
    """Too wide by s is too narrow by 1 / s."""

    def back(pool: Pool, which: Which, s: float, rng: np.random.Generator) -> Array:
        return apply(pool, which, 1 / s, rng)

    return back


def uneven(pool: Pool, which: Which, s: float, rng: np.random.Generator) -> Array:
    """Too wide by a factor that varies with x about s."""
    theta, x = pool.take(which), pool.followed
    a = rng.standard_normal((len(which), x.shape[1], 1)) / np.sqrt(max(x.shape[1], 1))
    factor = np.exp(np.log(s) * (1 + 0.5 * np.clip(x @ a, -2, 2)))
    return pool.mean + (theta - pool.mean) / factor


def tails(*, heavy: bool) -> Apply:
    """Anything between keeping the scale matrix and keeping the median radius."""

    def apply(pool: Pool, which: Which, s: float, rng: np.random.Generator) -> Array:
        wider = with_median(pool.q.shape[2], 1 / s) ** rng.random()
        return radial(pool, which, s, heavy=heavy, wider=wider)

    return apply


def even_tails(*, heavy: bool) -> Apply:
    """At the right variance: a t that is too heavy is too narrow in its middle as well."""

    def apply(pool: Pool, which: Which, s: float, rng: np.random.Generator) -> Array:
        del rng
        return radial(pool, which, s, heavy=heavy, wider=with_variance(1 / s))

    return apply


def variants(ranked: Ranked, pool: Pool) -> tuple[Variant, ...]:
    """All that can be injected into this table."""
    groups = ranked.groups
    likely = 1 / (1 + np.exp(-(groups.apart - 1.5) / 0.15))  # that two groups are two modes

    def second(theta: Array, chance: Array) -> NDArray[np.bool_]:
        return np.asarray(ranked.minor(theta) & (chance < likely))

    made = (
        *_made(), *_in_groups(second, groups.clear),
        _v("too_wide", "blurred", 0.1, 1.0, modes.sharpened(pool), "share of the spread"),
    )  # fmt: skip
    d, followed = pool.q.shape[2], pool.followed.shape[1] > 0
    return tuple(v for v in made if v.least_dims <= d and (followed or not v.needs_x))


def _in_groups(
    second: Callable[[Array, Array], NDArray[np.bool_]], clear: NDArray[np.bool_]
) -> tuple[Variant, ...]:
    if clear.mean() <= 0.02:
        return ()
    apply = modes.without(second)
    return (_v("spurious_mode", "group", 0.2, 1.0, apply, "share of the mode"),)


def _v(
    cause: str, name: str, low: float, high: float, apply: Apply, unit: str, *, least: int = 1,
    x: bool = False,
) -> Variant:  # fmt: skip
    return Variant(
        cause=cause, name=name, low=low, high=high, apply=apply, unit=unit, least_dims=least,
        needs_x=x, nothing=float(unit in ("times", "along", "across")),
    )  # fmt: skip


def _made() -> tuple[Variant, ...]:
    own = {name: one.apply for name, one in INJECTIONS.items()}
    bias, corr = "bias", "wrong_correlation"
    sd, along, part = "sd", "along", "correlation"
    return (
        _v(bias, "all", 0.05, 2, own["bias_all"], sd),
        _v(bias, "one", 0.1, 2, own["bias"], sd, least=2),
        _v(bias, "white", 0.05, 3, biases.whitened, sd, least=2),
        _v(bias, "mean", 0.05, 2, biases.proportional, sd),
        _v(bias, "x", 0.05, 2, biases.following, sd, x=True),
        _v(bias, "smooth", 0.05, 2, biases.smoothly, sd, x=True),
        _v("ignores_x", "shuffled", 0.6, 1.0, modes.elsewhere, "share of rows"),
        _v("ignores_x", "unread", 0.1, 0.99, biases.unread, "follows", x=True),
        _v(bias, "misread", 0.05, 2, biases.misread, sd, x=True),
        _v("too_wide", "all", 1.03, 3, own["too_wide"], "times"),
        _v("too_wide", "one", 1.05, 3, own["too_wide_one"], "times", least=2),
        _v("too_wide", "uneven", 1.05, 2, uneven, "times", x=True),
        _v("too_narrow", "all", 1.03, 3, own["too_narrow"], "times"),
        _v("too_narrow", "one", 1.05, 3, own["too_narrow_one"], "times", least=2),
        _v("too_narrow", "uneven", 1.05, 2, inverse(uneven), "times", x=True),
        _v(corr, "marginals", 1.1, 5, own[corr], along, least=2),
        _v(corr, "white", 1.1, 5, directions.whitened, along, least=2),
        _v(corr, "turning", 1.1, 8, directions.turning, along, least=2, x=True),
        _v(corr, "own", 1.1, 8, directions.own_axis, along, least=2),
        _v(corr, "fixed", 1.1, 8, directions.fixed, along, least=2),
        _v(corr, "narrow", 1.1, 3, inverse(directions.whitened), "across", least=2),
        _v(corr, "sign", 0.05, 1, directions.flipped, part, least=2),
        _v(corr, "independent", 0.05, 0.95, directions.independent, part, least=2),
        _v("heavy_tails", "radius", 0.03, 1, tails(heavy=True), "degrees"),
        _v("light_tails", "radius", 0.03, 0.7, tails(heavy=False), "degrees"),
        _v("heavy_tails", "heavy_even", 0.03, 0.42, even_tails(heavy=True), "degrees"),
        _v("light_tails", "light_even", 0.03, 0.42, even_tails(heavy=False), "degrees"),
        _v("missing_mode", "offset", 0.01, 0.6, modes.offset, "share of the truth"),
        _v("missing_mode", "mirrored", 0.01, 0.6, modes.mirrored, "share of the truth"),
        _v("missing_mode", "elsewhere", 0.01, 0.6, modes.elsewhere, "share of the truth"),
        _v("spurious_mode", "halfspace", 0.01, 0.4, own["spurious_mode"], "share of q"),
        _v("spurious_mode", "bridge", 0.05, 0.5, modes.bridge, "share of q"),
        _v("support_leak", "box", 0.003, 0.3, modes.box, "share of q"),
        _v("support_leak", "side", 0.01, 0.3, modes.one_sided, "share of q"),
        _v("ignores_x", "follows", 0.1, 0.99, own["ignores_x"], "follows", x=True),
    )
