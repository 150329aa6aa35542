"""Geweke's joint test: the law of its chains in closed form, its level, and what it finds."""

from dataclasses import dataclass

import numpy as np
import pytest
from scipy.stats import binom, kstest

from tests.conjugate import Conjugate, off
from validation_core.bayes import Hospitals
from validation_core.bayes.inference import ExactPosterior, Inference
from validation_core.bayes.laplace import Laplace
from validation_core.statistics.sign_flips import largest_mean
from validation_core.symmetric_divergence.geweke import JointChains, JointTestStudy, joint_test


@dataclass(frozen=True, kw_only=True)
class Off(Inference, spec="test_off"):
    """N(x / 2 + shift, variance), which is right for 0 and 1 / 2."""

    shift: float = 0.0
    variance: float = 0.5
    name, label = "off", "Off"

    def _fit(self, problem):
        return off(problem.y, self.shift, self.variance)


def chains(inference, seed=0, **more):
    usual = {"model": Conjugate(), "iterations": 1, "turns": 4, "chains": 30}
    study = JointTestStudy(inference=inference, seed=seed, **{**usual, **more})
    return study.compute(None, lambda fraction, live: None)


def test_the_chain_is_the_autoregression_that_it_must_be():
    """z' = z / 2 + shift + noise of variance 1/4 + v: mean and variance after each turn."""
    shift, v, n = 0.3, 0.8, 4000
    z = chains(Off(shift=shift, variance=v), chains=n).z[..., 0]
    mean, variance = 0.0, 1.0
    for turn in range(1, 5):
        mean, variance = mean / 2 + shift, variance / 4 + 0.25 + v
        assert abs(z[turn].mean() - mean) < 5 * np.sqrt(variance / n)
        assert abs(z[turn].var() - variance) < 5 * variance * np.sqrt(2 / n)
    np.testing.assert_allclose(
        np.corrcoef(z[0], z[1])[0, 1], 0.5 / np.sqrt(1 / 4 + 0.25 + v), atol=0.06
    )


def test_its_level_is_what_it_says():
    """Exact inference on 400 seeds: rejections at 5% and 20% within their binomial bounds."""
    runs = 400
    values = np.array([
        joint_test(chains(ExactPosterior(), seed=seed, chains=15, turns=2), ("z",), seed).pvalue
        for seed in range(runs)
    ])  # fmt: skip
    for turn in (0, 1):
        for level in (0.05, 0.2):
            rejected = int((values[:, turn] <= level).sum())
            assert rejected <= binom.isf(0.001, runs, level)
        assert kstest(values[:, turn], "uniform").pvalue > 0.001


@pytest.mark.parametrize("wrong", [{"shift": 0.3}, {"variance": 1.0}, {"variance": 0.2}])
def test_it_finds_what_is_off_more_surely_with_each_turn(wrong):
    found = [
        joint_test(chains(Off(**wrong), seed=seed, chains=400), ("z",), seed) for seed in range(10)
    ]
    rates = np.mean([test.pvalue <= 0.05 for test in found], 0)
    assert rates[-1] >= rates[0]
    assert rates[-1] >= 0.9
    name = "z" if "shift" in wrong else "z, squared"
    assert all(test.names[np.abs(test.drift[-1]).argmax()] == name for test in found[:5])


def test_swapping_first_and_last_changes_no_size():
    """What makes the test exact: the statistic sees a swapped pair as its negative."""
    made = chains(ExactPosterior())
    swapped = JointChains(made.z[[0, 4]][::-1], made.lost[:1])
    straight = JointChains(made.z[[0, 4]], made.lost[:1])
    tests = [joint_test(each, ("z",)) for each in (straight, swapped)]
    np.testing.assert_allclose(tests[0].drift, -tests[1].drift)
    assert tests[0].statistic == pytest.approx(tests[1].statistic)


def test_where_there_is_no_q_the_chain_stays():
    made = chains(Laplace(), model=Hospitals(), iterations=2, chains=10, turns=2)
    lost = int(made.lost[0])
    assert 0 < lost <= 10
    assert int((made.z[1] == made.z[0]).all(-1).sum()) == lost


def test_signs_are_flipped_for_all_functions_together():
    """Two copies of one function are no second chance."""
    rng = np.random.default_rng(0)
    d = rng.normal(0.3, 1, 40)
    one, two = (largest_mean(np.tile(d, (n, 1)), np.random.default_rng(1)) for n in (1, 2))
    assert one.pvalue == two.pvalue
    np.testing.assert_allclose(one.statistic, abs(d.sum()) / np.sqrt((d**2).sum()))
    assert largest_mean(np.zeros((3, 5)), rng).pvalue == 1.0
    with pytest.raises(ValueError, match="finite numbers"):
        largest_mean(np.array([[1.0, np.nan]]), rng)
