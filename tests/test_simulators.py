"""Simulators with known posteriors: densities, exact draws, and tests' level on both."""

import math

import numpy as np
import pytest
from scipy.stats import kstest, truncnorm

from validation_core import keys, statistics
from validation_core.methods import SBC, TARP
from validation_core.relabelling import relabelled
from validation_core.rng import stream
from validation_core.simulators import (
    SIMULATORS,
    SIR,
    GaussianLinear,
    GaussianLinearUniform,
    GaussianMixture,
    TwoMoons,
    two_moons,
)
from validation_core.simulators.truncated_normal import draw_between, log_interval_mass
from validation_core.types import PosteriorTable, TableScores

PLANE = {
    "two_moons": TwoMoons(),
    "gaussian_linear": GaussianLinear(dimensions=2),
    "gaussian_linear_uniform": GaussianLinearUniform(dimensions=2),
    "gaussian_mixture": GaussianMixture(),
    "sir": SIR(),
}
"""Each simulator with two parameters."""
CELLS = {"two_moons": 1000, "gaussian_mixture": 500, "sir": 70}
"""On each side of a grid over the posterior, where 300 are too many or too few."""
each = pytest.mark.parametrize("name", PLANE)


def test_every_simulator_is_here():
    assert set(PLANE) == set(SIMULATORS)


@each
def test_what_a_simulator_says_of_itself_fits_its_draws(name):
    simulator = SIMULATORS[name]()
    pairs = simulator.pairs(5, stream(0, name))
    assert (pairs.theta.shape[1], pairs.x.shape[1]) == simulator.dims
    assert len(simulator.names) == len(set(simulator.names)) == simulator.dims[0]
    assert bool(simulator.quasi) == (name == "sir")
    assert simulator.inside(pairs.theta).all()
    assert np.isfinite(simulator.log_prior(pairs.theta)).all()
    assert keys.read(keys.canonical_text(simulator)) == simulator


@each
@pytest.mark.parametrize("row", [0, 1])
def test_a_density_integrates_to_one_and_draws_follow_it(name, row):
    """By a grid over the posterior at an x, the second of them near the prior's edge."""
    simulator, rng = PLANE[name], stream(row, "density", name)
    theta = simulator.prior(1, rng)
    if row and simulator.support:
        theta = 0.97 * np.sign(theta) * simulator.support[1]
    x = simulator.simulate(theta, rng)
    drawn = simulator.posterior(np.repeat(x, 4000, axis=0), rng)
    low, high = drawn.min(0), drawn.max(0)
    low, high = low - 0.3 * (high - low), high + 0.3 * (high - low)
    if simulator.support:
        low, high = np.maximum(low, simulator.support[0]), np.minimum(high, simulator.support[1])
    cells = CELLS.get(name, 300)
    corners = np.stack(np.meshgrid(*2 * [np.arange(cells)], indexing="ij"), axis=-1)
    # Edges of a posterior may lie along the grid: there a point is anywhere in its cell.
    within = rng.random((cells**2, 2)) if simulator.support else 0.5
    grid = low + (corners.reshape(-1, 2) + within) * (high - low) / cells
    log = simulator.log_posterior(grid, np.repeat(x, len(grid), axis=0))
    mass = np.exp(log).reshape(cells, cells) * np.prod((high - low) / cells)
    assert mass.sum() == pytest.approx(1, abs=3e-3)
    for j in (0, 1):
        share = np.concatenate([[0], np.cumsum(mass.sum(1 - j))]) / mass.sum()
        ends = np.linspace(low[j], high[j], cells + 1)
        assert kstest(drawn[:, j], lambda at: np.interp(at, ends, share)).pvalue > 1e-3  # noqa: B023


@each
def test_true_values_have_the_log_density_that_exact_draws_have(name):
    """Mean log p at true values less that at draws is 0 within 3 standard errors, and ranks are
    even."""
    simulator, rng = SIMULATORS[name](), stream(2, "log density", name)
    n, k = (100, 9) if name == "sir" else (1500, 19)
    pairs = simulator.pairs(n, rng)
    at = np.repeat(pairs.x, k, axis=0)
    truth = simulator.log_posterior(pairs.theta, pairs.x)
    draws = simulator.log_posterior(simulator.posterior(at, rng), at).reshape(n, k)
    assert np.isfinite(draws).all()
    off = truth - draws.mean(1)
    assert abs(off.mean()) < 3 * off.std() / math.sqrt(n)
    assert statistics.ks(statistics.conformal_ranks(truth, draws, rng)).pvalue > 1e-3


def test_rows_of_x_may_repeat():
    for simulator in PLANE.values():
        rng = stream(3, "repeated")
        x = np.repeat(simulator.pairs(3, rng).x, [1, 3, 2], axis=0)
        theta = simulator.prior(6, rng)
        one_by_one = [simulator.log_posterior(theta[i, None], x[i, None])[0] for i in range(6)]
        np.testing.assert_allclose(simulator.log_posterior(theta, x), one_by_one, rtol=1e-12)
        assert simulator.posterior(x, rng).shape == (6, 2)


def test_the_box_cuts_two_moons_by_the_share_that_a_fine_grid_has():
    """The evidence is that share times 2 (of signs) by the prior's density 1/4, at the edge."""
    simulator, rng = TwoMoons(), stream(4, "mass")
    theta = np.array([[0.98, -0.98], [-0.99, 0.97], [0.99, 0.98], [0.0, 0.02], [-0.97, -0.99]])
    x = simulator.simulate(theta, rng)
    angles = (np.arange(2000) + 0.5) / 2000 * math.pi - math.pi / 2
    z = np.linspace(-6, 6, 1201)
    weights = np.exp(-(z**2) / 2) / np.exp(-(z**2) / 2).sum() / len(angles)
    radii = 0.1 + 0.01 * z
    p0, p1 = np.outer(radii, np.cos(angles)) + 0.25, np.outer(radii, np.sin(angles))
    for at, true in zip(x, theta, strict=True):
        shift = p0 - at[0]
        fits = (shift >= 0) & (shift + np.abs(at[1] - p1) <= math.sqrt(2))
        off = at - np.array([0.25 - abs(true.sum()) / 2**0.5, (true[1] - true[0]) / 2**0.5])
        radius = np.hypot(*off)
        density = np.exp(-(((radius - 0.1) / 0.01) ** 2) / 2) / (
            math.sqrt(2 * math.pi) * 0.01 * math.pi * radius
        )
        mass = density / 2 / np.exp(simulator.log_posterior(true[None], at[None])[0])
        assert mass == pytest.approx(weights @ fits.sum(1), abs=1e-4)


def test_no_theta_could_have_made_an_x_far_away(monkeypatch):
    monkeypatch.setattr(two_moons, "MOST_TRIES", 100)
    x = np.array([[5.0, 5.0]])
    for ask in (
        lambda: TwoMoons().posterior(x, stream(0)),
        lambda: TwoMoons().log_posterior(0 * x, x),
    ):
        with pytest.raises(ValueError, match=r"got \[5\.0, 5\.0\]\. Take x from the simulator"):
            ask()


@pytest.mark.parametrize(("low", "high"), [(-1, 2), (5, 7), (-40, -38), (37, math.inf), (-9, 9)])
def test_a_cut_normal_is_right_in_its_tails(low, high):
    law, n = truncnorm(low, high), 2000
    low, high = np.full(n, float(low)), np.full(n, float(high))
    z = draw_between(low, high, stream(5, "cut"))
    assert ((z >= low) & (z <= high)).all()
    assert kstest(z, law.cdf).pvalue > 1e-3
    log_normal = -(z**2) / 2 - math.log(math.sqrt(2 * math.pi))
    np.testing.assert_allclose(log_normal - log_interval_mass(low, high), law.logpdf(z), rtol=1e-6)


SHAPES = ((8, 5), (12, 20), (20, 9), (30, 50), (60, 20))
"""N and K of tables from exact samplers."""
FEWER = ((4, 5), (5, 20), (6, 9), (8, 19), (8, 50))
"""Of an epidemic's, whose posterior takes milliseconds at each x."""


def exact_tables(name, tables, shapes):
    """Slots (tables, N, K + 1, D), x (tables, N, M) and reference points (tables, N, D) of the
    largest N and K.
    """
    small = name.startswith("gaussian_linear")
    simulator = SIMULATORS[name](**({"dimensions": 3} if small else {}))
    rng = stream(6, "exact tables", name)
    n, k = (max(sizes) for sizes in zip(*shapes, strict=True))
    pairs = simulator.pairs(tables * n, rng)
    draws = simulator.posterior(np.repeat(pairs.x, k, axis=0), rng)
    slots = np.concatenate([pairs.theta[:, None], draws.reshape(len(pairs), k, -1)], axis=1)
    at = simulator.prior(tables * n, rng)
    return (
        slots.reshape(tables, n, k + 1, -1),
        pairs.x.reshape(tables, n, -1),
        at.reshape(tables, n, -1),
    )


def check_level(name, tables, shapes, relabelled_tables):
    """SBC, TARP and relabelling reject 5% of tables of exact draws, at every shape."""
    every, every_x, every_at = exact_tables(name, tables, shapes)
    rng, asked = stream(7, "level", name), 0
    confidence = 1 - 1e-3 / (3 * len(shapes))
    low, high = statistics.binomial_bounds(tables, 0.05, confidence)
    wrong = 0
    for n, k in shapes:
        slots, x = every[:, :n, : k + 1], every_x[:, :n]
        ranked = {
            SBC(): np.moveaxis(slots, -1, 1),
            TARP(): np.linalg.norm(slots - every_at[:, :n, None], axis=-1)[:, None],
        }
        for method, values in ranked.items():
            scores = TableScores(values[..., 0], values[..., 1:])
            rejected = int((method.test(scores, rng).pvalue <= 0.05).sum())
            assert rejected <= high, (method.label, n, k)
            assert rejected >= low or method.name == "sbc", (method.label, n, k)  # Bonferroni
        for i in range(relabelled_tables):
            table = PosteriorTable(slots[i, :, 0], x[i], slots[i, :, 1:])
            wrong += relabelled(table, i, relabelings=19).pvalue <= 0.05
            asked += 1
    assert wrong <= statistics.binomial_bounds(asked, 0.05, confidence)[1] if asked else True


@each
def test_tests_keep_their_level_on_exact_draws(name):
    shapes = FEWER[:1] if name == "sir" else SHAPES[:2]
    check_level(name, 40 if name == "sir" else 200, shapes, 0)


@pytest.mark.slow
@each
def test_tests_keep_their_level_over_five_shapes(name):
    check_level(name, 400, FEWER if name == "sir" else SHAPES, 80)
