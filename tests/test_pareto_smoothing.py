"""Pareto-smoothed weights: the shape of a known tail, smoothed means, weights that are equal."""

import numpy as np
import pytest

from validation_core.statistics.pareto_smoothing import pareto_smoothed


@pytest.mark.parametrize("k", [0.2, 0.5, 0.9])
def test_the_shape_of_a_tail_is_found(k):
    rng = np.random.default_rng(0)
    weights = rng.pareto(1 / k, 20_000) + 1
    assert pareto_smoothed(np.log(weights)).k == pytest.approx(k, abs=0.12)


def test_a_mean_over_smoothed_weights_is_right():
    rng = np.random.default_rng(1)
    z = rng.standard_normal(4000)
    found = pareto_smoothed(0.5 * z)  # E[w z] / E[w] = 0.5
    assert found.k < found.reliable_below
    assert np.exp(found.log_weights) @ z == pytest.approx(0.5, abs=0.08)
    assert found.effective == pytest.approx(4000 * np.exp(-0.25), rel=0.1)


def test_equal_weights_are_all_worth_the_same():
    found = pareto_smoothed(np.zeros(100))
    assert found.effective == pytest.approx(100)
    assert found.k == 0


@pytest.mark.parametrize("draws", [6, 20])
def test_of_too_few_draws_no_tail_is_told(draws):
    assert np.isnan(pareto_smoothed(np.arange(float(draws))).k)


@pytest.mark.parametrize("draws", [24, 400, 5000])
@pytest.mark.parametrize("size", [1, 1e3, 1e5])
def test_weights_equal_but_for_rounding_to_single_precision_have_no_heavy_tail(size, draws):
    """Of the sizes the last leaves steps of 0.008 nats, at which most of the tail ties."""
    log_q = -size * (1 + np.random.default_rng(2).random(draws))
    found = pareto_smoothed(
        (log_q - np.pi).astype(np.float32) - log_q.astype(np.float32).astype(float)
    )
    assert found.k <= 0
    assert found.effective == pytest.approx(draws, rel=1e-3)


def test_weights_that_tie_with_the_cutoff_are_no_tail():
    """Two values, as of a discrete q: neither moment is infinite."""
    log_weights = np.log(np.repeat([0.5, 5.5], [360, 40]))
    found = pareto_smoothed(log_weights)
    assert found.k < 0
    assert found.effective == pytest.approx(400 / (0.9 * 0.5**2 + 0.1 * 5.5**2), rel=0.05)
    assert np.isnan(pareto_smoothed(np.log(np.repeat([1, 2], [397, 3]))).k)


@pytest.mark.parametrize(
    "log_weights",
    [np.repeat([0, 20], [399, 1]), 1e3 * np.random.default_rng(3).standard_normal(400)],
)
def test_where_a_draw_has_all_weight_the_tail_is_infinite(log_weights):
    assert pareto_smoothed(log_weights).k == np.inf
