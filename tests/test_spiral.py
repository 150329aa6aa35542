"""The spiral: EDM's noise levels, the standardised curve, and a truth that q can tie with."""

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad

from validation_core import sampling, statistics
from validation_core.benchmarks import spiral
from validation_core.benchmarks.spiral import Spiral, spiral_curve
from validation_core.estimators.diffusion import noise_levels
from validation_core.rng import stream


def test_noise_levels():
    result = noise_levels()
    assert result.shape == (21,)
    assert result[0] == pytest.approx(80)
    assert result[19] == pytest.approx(0.002)
    expected = [0.201, 0.099, 0.0449, 0.0184, 0.0066, 0.0020, 0.0]
    np.testing.assert_allclose(result[14:], expected, atol=5e-4)
    np.testing.assert_allclose(result[16:], expected[2:], atol=5e-5)
    assert result[20] == 0.0
    assert np.all(np.diff(result) < 0)
    assert noise_levels(18).shape == (19,)
    assert noise_levels(18)[[0, 17, 18]] == pytest.approx([80, 0.002, 0])
    with pytest.raises(ValueError, match="at least two steps; got 1"):
        noise_levels(1)


@pytest.mark.parametrize(("axis", "turn"), [(0, np.cos), (1, np.sin)])
def test_constants_are_the_moments_of_the_curve(axis, turn):
    width = spiral.HIGH - spiral.LOW
    mean = quad(lambda y: y * turn(y) / width, spiral.LOW, spiral.HIGH)[0]
    square = quad(lambda y: (y * turn(y)) ** 2 / width, spiral.LOW, spiral.HIGH)[0]
    assert spiral.MEAN[axis] == pytest.approx(mean, abs=1e-12)
    assert spiral.SD[axis] == pytest.approx(np.sqrt(square - mean**2), rel=1e-12)


def test_the_curve_is_standardised():
    n = 200_000
    theta = spiral_curve(Spiral().x(n, stream(0, "spiral")))
    np.testing.assert_allclose(theta.mean(axis=0), 0, atol=4 * 0.5 / np.sqrt(n))
    np.testing.assert_allclose(theta.std(axis=0), 0.5, rtol=0.01)
    # Its two ends and a point between, by hand: x cos x at 3 pi is -3 pi, x sin x is 0.
    bare = spiral_curve(np.array([[1.5], [3.0], [4.5]]) * np.pi) / 0.5 * spiral.SD + spiral.MEAN
    np.testing.assert_allclose(bare / np.pi, [[0, -1.5], [-3, 0], [0, 4.5]], atol=1e-12)


def test_x_is_uniform_over_its_range():
    x = Spiral().x(20_000, stream(1))
    assert x.shape == (20_000, 1)
    assert stats.kstest(x[:, 0], stats.uniform(1.5 * np.pi, 3 * np.pi).cdf).pvalue > 1e-4


@pytest.mark.parametrize("gamma", [1, 2, 3, 4, 5])
def test_q_is_the_point_and_noise_of_its_step(gamma):
    bench = Spiral()
    x = bench.x(20_000, stream(2, gamma))
    rest = bench.q(x, gamma, stream(3, gamma)) - bench.theta(x, gamma, stream(4))
    sd = [0.0020, 0.0066, 0.0184, 0.0449, 0.0990][gamma - 1]
    assert noise_levels()[20 - gamma] == pytest.approx(sd, rel=0.005)
    white = rest / noise_levels()[20 - gamma]
    assert white.std() == pytest.approx(1, abs=4 / np.sqrt(2 * white.size))
    assert stats.kstest(white.ravel(), "norm").pvalue > 1e-4
    assert abs(np.corrcoef(white.T)[0, 1]) < 4 / np.sqrt(len(x))


@pytest.mark.parametrize("k", [1, 3, 64])
def test_at_gamma_zero_every_draw_ties_with_the_truth(k):
    """To the bit, so that randomised ranks see ties and stay uniform."""
    draws = sampling.table(Spiral(), 0.0, 997, k, stream(5, k))
    np.testing.assert_array_equal(draws.q, np.repeat(draws.theta[:, None], k, axis=1))
    ranks = statistics.conformal_ranks(draws.theta[:, 0], draws.q[..., 0], stream(6))
    assert stats.kstest(ranks, "uniform").pvalue > 1e-4
    wide = np.repeat(draws.x, 3, axis=1)
    np.testing.assert_array_equal(spiral_curve(wide), draws.theta)


def test_nobody_knows_a_density_of_a_point():
    bench = Spiral()
    blocks = sampling.blocks(bench, 2.0, 5, 5, stream(7))
    assert bench.log_ratio(blocks.p.theta, blocks.p.x, 2.0) is None
    assert bench.log_p(blocks.p.theta, blocks.p.x, 2.0) is None


@pytest.mark.parametrize("gamma", [-1, 0.5, 6, 2.000001, float("nan")])
def test_gamma_is_a_number_of_steps(gamma):
    bench = Spiral()
    with pytest.raises(ValueError, match="an integer from 0 to 5; got"):
        bench.q(bench.x(3, stream(8)), gamma, stream(9))


def test_whole_gammas_of_any_type():
    bench = Spiral()
    assert bench.gammas == (0, 1, 2, 3, 4, 5)
    x = bench.x(3, stream(10))
    instances = [bench.q(x, gamma, stream(11)) for gamma in (3, 3.0, np.float64(3))]
    np.testing.assert_array_equal(instances[0], instances[1])
    np.testing.assert_array_equal(instances[0], instances[2])
