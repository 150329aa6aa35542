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


def test_too_few_draws_have_no_tail():
    assert pareto_smoothed(np.arange(6.0)).k == np.inf
