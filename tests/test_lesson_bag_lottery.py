"""Lesson 3: ranks against their law, weighted ranks against uniform, and what is said of them."""

import numpy as np
import pytest
from scipy.stats import chisquare, kstest, norm

from tests.test_lessons import drawn, opened, state
from validation_core import statistics
from validation_core.lessons import LESSONS
from validation_core.lessons import bag_lottery as three
from validation_core.lessons.so_far import counts_so_far
from validation_core.store import Store


@pytest.fixture(scope="module")
def seen():
    return LESSONS["bag-lottery"].load(Store.usual())


@pytest.fixture(scope="module")
def many():
    """Twenty times as many bags."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(three, "TRIALS", 4000)
        return three.BagLottery(seed=3).compute(Store.usual(), lambda fraction, live: None)


@pytest.mark.parametrize("bias", three.BIASES)
@pytest.mark.parametrize("width", three.WIDTHS)
def test_ranks_follow_their_law(many, bias, width):
    b, w = three.BIASES.index(bias), three.WIDTHS.index(width)
    counts = np.bincount(many.ranks[:, b, w], minlength=three.BALLS)
    law = three.rank_probabilities(bias, width)
    assert law.sum() == pytest.approx(1)
    kept = law * 4000 >= 5
    expected = np.r_[4000 * law[kept], 4000 * law[~kept].sum() + 1e-9]
    observed = np.r_[counts[kept], counts[~kept].sum()]
    assert chisquare(observed, expected * observed.sum() / expected.sum()).pvalue > 1e-4


def test_the_law_of_a_correct_q_is_level():
    np.testing.assert_allclose(three.rank_probabilities(0, 1), 1 / three.BALLS, atol=1e-9)


def test_weighted_ranks_are_uniform_whatever_q_is(many):
    pvalues = [kstest(u, "uniform").pvalue for u in many.weighted.reshape(4000, -1).T]
    assert min(pvalues) > 0.05 / len(pvalues) / 5
    assert len(pvalues) == len(three.BIASES) * len(three.WIDTHS)


def test_weights_are_chances_of_being_the_true_one(many):
    """Of all balls with a chance about one in five, about one in five is true."""
    first, others = many.chances[..., 0], many.chances[..., 1:]
    for low, high in ((0.02, 0.08), (0.15, 0.25), (0.4, 0.6)):
        true = ((first > low) & (first < high)).sum()
        false = ((others > low) & (others < high)).sum()
        near = np.concatenate([first.ravel(), others.ravel()])
        mean = near[(near > low) & (near < high)].mean()
        assert true / (true + false) == pytest.approx(mean, rel=0.1)


def test_equal_densities_give_equal_weights():
    balls = np.random.default_rng(0).standard_normal((5, 10))
    np.testing.assert_allclose(three.importance_weights(balls, np.zeros(1), np.ones(1)), 0.1)
    ratio = norm.pdf(balls) / norm.pdf(balls, 0.5, 2)
    expected = ratio / ratio.sum(-1, keepdims=True)
    np.testing.assert_allclose(
        three.importance_weights(balls, np.array(0.5), np.array(2.0)), expected
    )


def test_pvalues_are_of_all_bags(seen):
    b, w = three.BIASES.index(-0.5), three.WIDTHS.index(1.4)
    expected = statistics.ks(seen.weighted[:, b, w]).pvalue
    assert seen.pvalues[1, b, w] == pytest.approx(expected)
    assert seen.pvalues[0, b, w] < 0.05


def test_the_right_picture_is_the_level_one():
    pick = drawn("bag-lottery").prediction.asked
    assert three.PICTURES[pick.right - 1] == (0.0, 1.0)


def test_counts_add_up(seen):
    counts = counts_so_far(seen.ranks, three.BALLS)
    assert (counts.sum(-1) == np.arange(len(seen.truth) + 1)[:, None, None]).all()
    np.testing.assert_array_equal(
        counts[-1, 0, 0], np.bincount(seen.ranks[:, 0, 0], minlength=three.BALLS)
    )


def test_a_link_opens_the_weights():
    query = {"lesson": "bag-lottery", "stage": "3", "width": "0.5", "bias": "-1", "trials": "40"}
    name, at = state(opened(query))
    assert name == "bag-lottery"
    assert (at["stage"], at["width"], at["bias"], at["trials"]) == (3, 0.5, -1, 40)
