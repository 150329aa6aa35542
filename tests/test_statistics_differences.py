"""The Multiple test, the area under the curve, and accuracy."""

import numpy as np
import pytest
from scipy import stats

from validation_core import statistics as st
from validation_core.rng import stream


def test_auc_is_that_of_a_double_loop():
    rng = stream(1)
    p, q = rng.standard_normal((3, 30)).round(1) + 0.3, rng.standard_normal((3, 20)).round(1)
    pairs = p[:, :, None] - q[:, None, :]
    by_hand = (pairs > 0).mean(axis=(1, 2)) + 0.5 * (pairs == 0).mean(axis=(1, 2))
    np.testing.assert_allclose(st.auc(p, q), by_hand, rtol=1e-13)
    np.testing.assert_allclose(st.multiple(p, q, rng).auc, by_hand, rtol=1e-13)


def test_is_mann_whitney_up_to_the_variance():
    rng = stream(2)
    p, q = rng.standard_normal(400) + 0.1, rng.standard_normal(400)
    z = stats.mannwhitneyu(p, q, alternative="greater", method="asymptotic", use_continuity=False)
    ours = st.multiple(p, q, rng)
    assert ours.auc == pytest.approx(z.statistic / 400**2)
    assert ours.statistic == pytest.approx(stats.norm.isf(z.pvalue), rel=0.05)
    assert ours.pvalue == pytest.approx(stats.norm.sf(ours.statistic))


@pytest.mark.parametrize(("n_p", "n_q"), [(1000, 1000), (800, 1600)])
def test_swapping_the_sides_turns_the_sign(n_p, n_q):
    rng = stream(3, n_p)
    p, q = rng.standard_normal((50, n_p)) + 0.05, rng.standard_normal((50, n_q))
    there, back = st.multiple(p, q, rng), st.multiple(q, p, rng)
    np.testing.assert_allclose(there.statistic, -back.statistic, rtol=0.1, atol=0.05)
    np.testing.assert_allclose(there.auc, 1 - back.auc, rtol=1e-12)


@pytest.mark.parametrize("change", [np.exp, np.arctan, lambda s: 5 * s - 2])
def test_increasing_transforms_change_nothing(change):
    rng = stream(4)
    p, q = rng.standard_normal((4, 60)).round(2), rng.standard_normal((4, 90)).round(2)
    here, there = st.multiple(p, q, stream(5)), st.multiple(change(p), change(q), stream(5))
    for one, other in zip(here, there, strict=True):
        np.testing.assert_array_equal(one, other)


def test_tie_breakers_belong_to_q_scores_in_their_order():
    """Sorting must not carry a tie-breaker to another score: U of each is compared one by one."""
    p, q = np.array([0.0, 0, 1, 2]), np.array([2.0, 0, -1, 1, 0])
    xi = stream(6).random(5)
    u = [(sum(p < s) + x * sum(p == s)) / 4 for s, x in zip(q, xi, strict=True)]
    result = st.multiple(p, q, stream(6))
    assert (0.5 - np.mean(u)) * 2 / result.sigma == pytest.approx(result.statistic)


def test_leading_axes_broadcast_and_trials_do_not_meet():
    rng = stream(7)
    p, q = rng.standard_normal((2, 1, 40)), rng.standard_normal((3, 30))
    result = st.multiple(p, q, rng)
    assert result.statistic.shape == result.auc.shape == result.sigma.shape == (2, 3)
    assert result.auc[1, 2] == st.auc(p[1, 0], q[2])
    assert st.c2st(p, q).accuracy.shape == st.c2st(p, q).p_hits.shape == (2, 3)


def test_equal_scores_leave_the_tie_breakers():
    result = st.multiple(np.zeros((2000, 20)), np.zeros((2000, 30)), stream(8))
    np.testing.assert_allclose(result.sigma**2, 20 / 360)
    assert (result.auc == 0.5).all()
    assert result.statistic.std() == pytest.approx(1, abs=0.06)


def test_infinite_scores_are_ranked():
    assert st.auc([np.inf, np.inf, 0.0], [-np.inf, 0.0]) == pytest.approx(5.5 / 6)


def test_accuracy_counts_each_side():
    result = st.c2st([1.0, 2, -1, 3], [-1.0, 0.0, 2, -3])
    assert (result.p_hits, result.q_hits) == (3, 3)  # a score at the threshold is called q
    assert result.accuracy == 0.75
    assert result.pvalue == pytest.approx(stats.binom.sf(5, 8, 0.5))
    assert st.c2st([1.0, 2, -1, 3], [-1.0, 0.0, 2, -3], threshold=2.5).p_hits == 1


@pytest.mark.parametrize("value", [-1.0, 0.0, 1.0])
def test_a_constant_score_is_no_evidence_whatever_the_sizes(value):
    result = st.c2st(np.full(160, value), np.full(180, value))
    assert result.accuracy == 0.5
    assert result.pvalue == result.pvalue_per_class == 0.5
    few = st.c2st(np.full(60, value), np.full(80, value))  # exact: a difference of 0 or more
    assert 0.5 < few.pvalue < few.pvalue_per_class == 1


def test_perfect_separation_is_evidence_but_never_certainty():
    result = st.c2st(np.ones(50), -np.ones(50))
    assert result.accuracy == 1
    assert 0 < result.pvalue_per_class < 1e-10
    assert st.c2st(-np.ones(50), np.ones(50)).pvalue_per_class > 0.999


@pytest.mark.parametrize("test", [st.auc, st.c2st, lambda p, q: st.multiple(p, q, stream(9))])
@pytest.mark.parametrize(
    ("p", "q", "says"),
    [
        ([1.0], [1.0, 2.0], "at least two each"),
        ([1.0, 2.0], [1.0], "at least two each"),
        (1.0, [1.0, 2.0], "at least two each"),
        ([1.0, np.nan], [1.0, 2.0], "NaN in 1 of 2"),
    ],
)
def test_refuses_too_few_scores_and_nan(test, p, q, says):
    with pytest.raises(ValueError, match=says):
        test(p, q)
