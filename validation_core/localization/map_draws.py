"""Simulations and places that a map is drawn from: none that the network learnt from."""

from __future__ import annotations

import numpy as np

from validation_core.rng import common, stream
from validation_core.scores.localizer import MapPlaces
from validation_core.scores.trained_scores import Simulated
from validation_core.types import Array, Benchmark, Pairs, PosteriorTable

SHOWN = 300
"""Draws of q shown at a place."""
TRUTHS = 200
"""True draws shown beside them, where p can be sampled."""
MEASURED = 2000
"""Further draws of q whose distances give the radius."""
_SHOWN_NUMBERS = 700_000  # of all draws shown: bounds the size of a page and a file
_NUMBERS = 20_000_000  # of all draws measured: bounds the memory
_TAIL = 0.01  # the slider leaves out this much of x at either end


def split_in_halves(table: PosteriorTable) -> tuple[PosteriorTable, PosteriorTable]:
    """Halves of a table in random order: rows that choose a ball, and rows that measure it.

    Raises:
        ValueError: when either half would have fewer than two rows.
    """
    n = len(table) // 2
    if n < 2:
        raise ValueError(
            "One half of the test simulations chooses the ball and the other quotes it, at least "
            f"two each; got {len(table)} in all. Bring more simulations."
        )
    first, second = slice(n), slice(n, None)
    return (
        PosteriorTable(table.theta[first], table.x[first], table.q[first]),
        PosteriorTable(table.theta[second], table.x[second], table.q[second]),
    )


def places_of(benchmark: Benchmark, gamma: float, count: int, seed: int = 0) -> MapPlaces:
    """Draws of p and q at places x of a benchmark, to show before any training.

    The same x at every gamma, and draws that move with it.
    """
    rng = stream(seed, "places")
    source = Simulated(benchmark=benchmark, gamma=gamma)
    if isinstance(benchmark, Pairs) and not benchmark.theta_at_x:
        return simulate_places(source, benchmark.pairs(1000, gamma, rng).x, count, rng)
    return simulate_places(source, benchmark.x(1000, rng), count, common(seed, "places", "draws"))


def simulate_places(
    source: Simulated, x: Array, count: int, rng: np.random.Generator
) -> MapPlaces:
    """`count` new places, new draws of p and q at each, in the order of a slider.

    One x: evenly between the 1% and the 99% quantile of x (n, M). More: as many fresh x, along
    the first principal component of x. Where theta comes with its x alone, one truth at each.
    """
    benchmark, gamma = source.benchmark, source.gamma
    if isinstance(benchmark, Pairs) and not benchmark.theta_at_x:
        return _with_truths(benchmark, gamma, x, count, rng)
    if x.shape[1] == 1:
        low, high = np.quantile(x[:, 0], [_TAIL, 1 - _TAIL])
        at = np.linspace(low, high, count)[:, None]
    else:
        at = benchmark.x(count, rng)
        at = at[np.argsort(first_component_scores(x, at), kind="stable")]
    d, _ = benchmark.dims
    most = max(5, _SHOWN_NUMBERS // (count * d))
    draws = min(SHOWN, most * SHOWN // (SHOWN + TRUTHS))
    truths = min(TRUTHS, most * TRUTHS // (SHOWN + TRUTHS))
    measured = _measured(benchmark, count)
    q = benchmark.q(np.repeat(at, draws + measured, axis=0), gamma, rng)
    q = q.reshape(count, draws + measured, d)
    truth = benchmark.theta(np.repeat(at, truths, axis=0), gamma, rng).reshape(count, truths, d)
    return MapPlaces(at, q[:, :draws], truth, q[:, draws:])


def _with_truths(
    benchmark: Pairs, gamma: float, x: Array, count: int, rng: np.random.Generator
) -> MapPlaces:
    """Fresh simulations as places."""
    pairs = benchmark.pairs(count, gamma, rng)
    order = np.argsort(first_component_scores(x, pairs.x), kind="stable")
    at, truth = pairs.x[order], pairs.theta[order]
    draws = min(SHOWN, max(3, _SHOWN_NUMBERS // truth.size))
    measured = _measured(benchmark, count)
    q = benchmark.draws(at, draws + measured, gamma, rng)
    return MapPlaces(at, q[:, :draws], truth[:, None], q[:, draws:])


def _measured(benchmark: Benchmark, count: int) -> int:
    """Further draws of q at each of so many places."""
    return min(MEASURED, max(100, _NUMBERS // (count * sum(benchmark.dims))))


def draws_of_table(table: PosteriorTable, count: int) -> MapPlaces:
    """Up to `count` rows of a table, evenly in the order of x or of its first principal component.

    Each has its own draws of q, shown and measured alike, and the one truth that it was made with.
    """
    x = table.x
    order = np.argsort(x[:, 0] if x.shape[1] == 1 else first_component_scores(x, x), kind="stable")
    ends = _TAIL * (len(x) - 1), (1 - _TAIL) * (len(x) - 1)
    rows = order[np.round(np.linspace(*ends, min(count, len(x)))).astype(int)]
    q = table.q[rows]
    draws = min(SHOWN, max(3, _SHOWN_NUMBERS // (len(rows) * q.shape[2])))
    return MapPlaces(x[rows], q[:, :draws], table.theta[rows][:, None], q)


def first_component_scores(x: Array, at: Array) -> Array:
    """Places at (V, M) along the first principal component of the standardised x (n, M): (V,)."""
    x = np.asarray(x, dtype=np.float64)[:1000]
    shift, scale = x.mean(0), x.std(0)
    scale = np.where(scale > 0, scale, np.inf)  # constant columns order nothing
    z = (x - shift) / scale
    # The smaller of the two Gram matrices has the same leading direction.
    few = len(z) < z.shape[1]
    vector = np.linalg.eigh(z @ z.T if few else z.T @ z)[1][:, -1]
    direction = z.T @ vector if few else vector
    direction = direction * np.sign(direction[np.abs(direction).argmax()])  # else its sign is luck
    return np.asarray(((at - shift) / scale) @ direction)
