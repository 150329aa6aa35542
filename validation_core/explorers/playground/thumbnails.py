"""The strip of thumbnails over gamma."""

from __future__ import annotations

from typing import Any

import numpy as np

from validation_core.benchmarks.gaussian import Gaussian
from validation_core.benchmarks.perturbations import PERTURBATIONS
from validation_core.explorers.playground.study import BallOverX
from validation_core.rng import common
from validation_core.types import Array, Benchmark

_DOTS = 70
_WIDE, _HIGH = 64, 44


def thumbnail(name: str, benchmark: Benchmark, known: BallOverX | None) -> dict[str, Any]:
    """Thumbnail of a benchmark's draws of p and q: points in a box of 64 by 44.

    At one x where x has two numbers, over all x where it has one; at the largest gamma.

    Args:
        name: in an address.
        benchmark: that draws.
        known: draws of a network's q, which are shown instead: at the first gamma.
    """
    sides = _drawn(name, benchmark) if known is None else _kept(known)
    low, high = np.quantile(np.concatenate(sides), [0.02, 0.98], axis=0)
    p, q = (
        np.round(3 + np.clip((side - low) / (high - low), 0, 1) * (_WIDE - 6, _HIGH - 6), 1)
        for side in sides
    )
    return {
        "name": name,
        "label": _short(benchmark),
        "about": benchmark.summary,
        "p": p.tolist(),
        "q": q.tolist(),
    }


def _drawn(name: str, benchmark: Benchmark) -> list[Array]:
    rng = common(0, "thumbnail", name)
    d, m = benchmark.dims
    x = benchmark.x(_DOTS, rng)
    if m > 1:
        x = np.repeat(x.mean(0, keepdims=True), _DOTS, axis=0)
    gamma = max(benchmark.gammas)
    sides = [law(x, gamma, rng) for law in (benchmark.theta, benchmark.q)]
    if d == 1:
        sides = [np.concatenate([side, x], axis=1) for side in sides]
    return sides


def _kept(where: BallOverX) -> list[Array]:
    return [side[0, where.middle, :_DOTS].astype(float) for side in (where.p, where.q)]


def _short(benchmark: Benchmark) -> str:
    if not isinstance(benchmark, Gaussian):
        return benchmark.title
    title = PERTURBATIONS[benchmark.perturbation].title
    return f"{title.capitalize()}, curved" if benchmark.curved else title.capitalize()
