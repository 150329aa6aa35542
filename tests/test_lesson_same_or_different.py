"""Lesson 1: its numbers against closed forms, and what it says against its numbers."""

import numpy as np
import pytest
from scipy.stats import binom, kstest, norm

from tests.test_lessons import drawn, opened, state
from validation_core.lessons import LESSONS
from validation_core.lessons import same_or_different as one
from validation_core.store import Store


@pytest.fixture(scope="module")
def seen():
    return LESSONS["same-or-different"].load(Store.usual())


def test_expected_accuracy_is_the_closed_form(seen):
    gammas = np.array(one.GAMMAS)
    exact = (norm.cdf(0.25) + norm.cdf(gammas - 0.25)) / 2
    sd = 0.5 / np.sqrt(2 * one.EXPECTED_ACCURACY_DRAWS)
    assert np.abs(seen.expected - exact).max() < 4 * sd
    assert exact[one.GAMMAS.index(0.5)] == pytest.approx(norm.cdf(0.25))


def test_observed_accuracies_are_within_a_binomial_bound(seen):
    exact = (norm.cdf(0.25) + norm.cdf(np.array(one.GAMMAS) - 0.25)) / 2
    for row, n in zip(seen.observed, one.SIZES, strict=True):
        hits = np.rint(row * 2 * n)
        assert (binom.cdf(hits, 2 * n, exact) > 1e-5).all()
        assert (binom.sf(hits - 1, 2 * n, exact) > 1e-5).all()


def test_the_null_has_the_law_of_a_fixed_classifier(seen):
    """Class counts are fixed, so the null is narrower than a fair coin's (methods 0.4)."""
    a = norm.cdf(0.25)
    for row, n in zip(seen.null, one.SIZES, strict=True):
        assert row.mean() == pytest.approx(0.5, abs=4 * 0.5 / np.sqrt(2 * n * one.SAMPLES))
        sd = np.sqrt(a * (1 - a) / (2 * n))
        assert row.std() == pytest.approx(sd, rel=4 / np.sqrt(2 * one.SAMPLES))


def test_pvalues_follow_the_plus_one_rule(seen):
    pvalues = one.monte_carlo_pvalues(seen)
    assert pvalues.shape == (one.SAMPLES + 1, len(one.SIZES), len(one.GAMMAS))
    assert (pvalues[0] == 1).all()
    assert pvalues.min() == pytest.approx(1 / (one.SAMPLES + 1))
    t, n, g = 137, 3, 8
    above = (seen.null[n, :t] >= seen.observed[n, g] - 1e-12).sum()
    assert pvalues[t, n, g] == (1 + above) / (1 + t)


def test_under_the_null_its_pvalues_are_uniform():
    """Observed at gamma = 0 against a null of its own, over many seeds."""
    rng = np.random.default_rng(0)
    n, trials = 100, 400
    hits = rng.binomial(n, norm.cdf(0.25), trials) + rng.binomial(n, norm.cdf(-0.25), trials)
    null = rng.binomial(n, norm.cdf(0.25), (trials, 400)) + rng.binomial(
        n, norm.cdf(-0.25), (trials, 400)
    )
    ties = (null == hits[:, None]).sum(1)
    p = ((null > hits[:, None]).sum(1) + rng.random(trials) * (1 + ties)) / 401
    assert kstest(p, "uniform").pvalue > 1e-3
    assert ((null >= hits[:, None]).sum(1) + 1 <= 0.05 * 401).mean() <= 0.05 + 3 * 0.011


def test_the_histogram_counts_every_null_sample(seen):
    counts, edges = one.cumulative_histograms(seen.null)
    assert (counts.sum(-1) == np.arange(one.SAMPLES + 1)[:, None]).all()
    at_the_end, _ = np.histogram(np.clip(seen.null[2], edges[0], edges[-1] - 1e-9), edges)
    np.testing.assert_array_equal(counts[-1, 2], at_the_end)


def test_the_numbers_that_are_shipped_are_the_code_s():
    fresh = one.SameOrDifferent().compute(Store.usual(), lambda fraction, live: None)
    shipped = LESSONS["same-or-different"].load(Store.usual())
    for ours, theirs in zip(fresh, shipped, strict=True):
        np.testing.assert_allclose(ours, theirs)


def test_a_link_to_the_reveal_opens_it():
    name, at = state(opened({"lesson": "same-or-different", "stage": "1", "guess": "75"}))
    assert name == "same-or-different"
    assert (at["stage"], at["guess"], at["gamma"]) == (1, 75, 0.5)


def test_the_truth_on_the_bar_is_the_computed_one(seen):
    (bar,) = drawn("same-or-different").prediction.asked
    assert bar.truth == 100 * seen.expected[one.GAMMAS.index(0.5)]
