"""An observation among simulations: exact levels, power, ties, several at once, what is named."""

import numpy as np
import pytest

from validation_core import statistics
from validation_core.diagnosis.my_observation.likeness import farthest_text, rank_among
from validation_core.statistics.strangeness import (
    ShrunkCovariance,
    benjamini_hochberg,
    conformal_pvalues,
    strangeness,
)

SIZES = [(1000, 10), (1000, 100), (200, 50)]


def drawn(n, d, rng, correlation=0.0):
    common = rng.standard_normal((n, 1))
    return np.sqrt(1 - correlation) * rng.standard_normal((n, d)) + np.sqrt(correlation) * common


def rejections(n, d, trials, *, shift=0.0, correlation=0.0):
    count = 0
    for seed in range(trials):
        rng = np.random.default_rng(seed)
        x = drawn(n + 1, d, rng, correlation)
        x_o = x[n:].copy()
        x_o[0, 0] += shift
        count += strangeness(x[:n], x_o, rng).pvalue[0] <= 0.05
    return count


def within(count, trials, chance=0.999):
    low, high = statistics.binomial_bounds(trials, 0.05, chance)
    return low <= count <= high


def test_an_observation_of_the_simulator_is_rejected_at_the_level():
    assert within(rejections(60, 30, 1500), 1500)


@pytest.mark.slow
@pytest.mark.parametrize(("n", "d"), SIZES)
def test_the_level_holds_in_few_and_many_coordinates(n, d):
    assert within(rejections(n, d, 800), 800)


@pytest.mark.parametrize(
    ("n", "d", "correlation", "least"),
    [(1000, 10, 0.5, 0.95), (1000, 100, 0.5, 0.9), (200, 50, 0.5, 0.8), (200, 50, 0.0, 0.55)],
)
def test_a_coordinate_that_is_off_by_4_sd_is_found(n, d, correlation, least):
    trials = 40
    found = rejections(n, d, trials, shift=4.0, correlation=correlation)
    assert found >= np.floor(trials * least) - 3


@pytest.mark.parametrize("values", [2, 5])
def test_ties_are_broken_at_random(values):
    trials, rejected = 2000, 0
    rng = np.random.default_rng(0)
    for _ in range(trials):
        score = rng.integers(0, values, 40).astype(float)
        rejected += conformal_pvalues(score[:39], score[39:], rng)[0] <= 0.05
    assert within(rejected, trials)


def test_the_covariance_is_that_of_ledoit_and_wolf():
    from sklearn.covariance import ledoit_wolf

    rng = np.random.default_rng(1)
    for n, d in ((80, 5), (20, 30)):
        rows = drawn(n, d, rng, 0.4)
        covariance, _ = ledoit_wolf(rows)
        away = drawn(7, d, rng) - rows.mean(0)
        precision = np.linalg.inv(covariance)
        shrunk = ShrunkCovariance(rows)
        expected = np.einsum("ni,ij,nj->n", away, precision, away)
        assert np.allclose(shrunk.mahalanobis(away + rows.mean(0)), expected)
        residuals = away @ precision / np.sqrt(np.diag(precision))
        assert np.allclose(shrunk.residuals(away + rows.mean(0)), residuals)


def test_a_column_that_never_varies_gives_an_observation_away():
    rng = np.random.default_rng(2)
    x = np.column_stack([rng.standard_normal((100, 2)), np.zeros(100)])
    x_o = np.array([[0.0, 0.0, 0.01]])
    assert strangeness(x, x_o, rng).pvalue[0] == pytest.approx(1 / 101)
    several = strangeness(x, np.vstack([x_o, [[0.0, 0.0, 0.0]]]), rng)
    assert several.pvalue[0] <= 1 / 50
    assert several.pvalue[1] > 0.05


@pytest.mark.parametrize("size", [1e-250, 1e250])
def test_numbers_of_any_size_are_ranked(size):
    rng = np.random.default_rng(6)
    x, x_o = rng.standard_normal((60, 2)), np.array([[9.0, 0.0]])
    assert strangeness(size * x, size * x_o, rng).pvalue[0] == pytest.approx(1 / 61)


def test_several_observations_do_not_hide_one_another():
    rng = np.random.default_rng(3)
    x = rng.standard_normal((400, 4))
    wrong = np.full((12, 4), 5.0) + 0.01 * rng.standard_normal((12, 4))
    right = rng.standard_normal((12, 4))
    found = strangeness(x, np.vstack([wrong, right]), rng)
    assert (found.adjusted[:12] <= 0.05).all()
    assert (found.adjusted[12:] <= 0.05).sum() <= 3
    assert found.joint < 0.01


def test_several_have_one_p_and_one_has_its_own():
    rng = np.random.default_rng(12)
    several, one = (strangeness(drawn(60, 2, rng), drawn(j, 2, rng), rng) for j in (4, 1))
    assert several.overall == min(1, 2 * min(several.adjusted.min(), several.joint))
    assert one.overall == one.pvalue[0]
    far = strangeness(drawn(800, 2, rng), np.vstack([drawn(3, 2, rng), [[9.0, 9.0]]]), rng)
    assert far.unlike(2 * far.adjusted[3]).tolist() == [3]
    assert not len(far.unlike(1.9 * far.adjusted[3]))


def test_the_joint_test_of_several_keeps_its_level():
    trials, rejected = 600, 0
    for seed in range(trials):
        rng = np.random.default_rng(seed)
        rejected += strangeness(drawn(40, 2, rng), drawn(5, 2, rng), rng).joint <= 0.05
    assert within(rejected, trials)


def test_false_discoveries_are_adjusted_for():
    assert np.allclose(benjamini_hochberg(np.array([0.01, 0.04, 0.03, 0.5])),
                       [0.04, 0.16 / 3, 0.16 / 3, 0.5])  # fmt: skip


def test_only_the_coordinate_that_is_off_is_named():
    rng = np.random.default_rng(4)
    wrong = 0
    for seed in range(20):
        x = drawn(301, 6, rng, 0.8)
        x_o = x[300:].copy()
        x_o[0, 2] += 6
        text = farthest_text(rank_among(x[:300], x_o, seed), list("abcdef"))
        assert "c" in text.removeprefix(", farthest in ")
        wrong += text != ", farthest in c"
    assert wrong <= 2


def test_summaries_count_as_one_strangeness_more():
    rng = np.random.default_rng(5)
    x, x_o = rng.standard_normal((200, 3)), np.zeros((1, 3))
    summaries = rng.standard_normal((200, 1)), np.array([[9.0]])
    assert strangeness(x, x_o, rng).pvalue[0] > 0.1
    found = strangeness(x, x_o, rng, summaries=summaries)
    assert found.pvalue[0] < 0.03
    assert found.parts["summaries"][0] < 0.03


def test_too_few_simulations_are_refused():
    with pytest.raises(ValueError, match="at least 20 simulations; got 5"):
        strangeness(np.zeros((5, 1)), np.zeros((1, 1)), np.random.default_rng(0))
