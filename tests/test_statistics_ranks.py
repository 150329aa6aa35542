"""Counts, randomised ranks and the calibration pool."""

import tracemalloc

import numpy as np
import pytest
from scipy import stats

from validation_core import statistics as st
from validation_core.rng import stream
from validation_core.types import Reference

INCREASING = {
    "affine": lambda s: 3 * s - 7,
    "exp": np.exp,
    "cube": lambda s: s**3,
    "arctan": np.arctan,
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_counts_are_those_of_a_double_loop(dtype):
    rng = stream(1)
    test = rng.standard_normal((2, 3, 5)).round(1).astype(dtype)
    calibration = rng.standard_normal((2, 3, 5, 7)).round(1).astype(dtype)
    below, equal = st.count(test, calibration)
    for place in np.ndindex(test.shape):
        assert below[place] == sum(c < test[place] for c in calibration[place])
        assert equal[place] == sum(c == test[place] for c in calibration[place])


def test_counts_do_not_depend_on_memory_layout_or_size():
    rng = stream(2)
    draws = rng.standard_normal((300, 2000, 3), dtype=np.float32).round(2)  # (N, K, D): one table
    truth = rng.standard_normal((300, 3), dtype=np.float32).round(2)
    below, equal = st.count(truth.T, draws.transpose(2, 0, 1))
    by_hand = (draws < truth[:, None]).sum(axis=1).T, (draws == truth[:, None]).sum(axis=1).T
    np.testing.assert_array_equal(below, by_hand[0])
    np.testing.assert_array_equal(equal, by_hand[1])


def test_leading_axes_broadcast():
    rng = stream(3)
    test, calibration = rng.standard_normal((4, 6)), rng.standard_normal((6, 9))
    below, _ = st.count(test, calibration)
    np.testing.assert_array_equal(below[2], st.count(test[2], calibration)[0])


def test_counting_needs_little_memory():
    calibration = np.zeros((4, 1000, 1000), dtype=np.float32)  # 16 MB
    test = np.zeros((4, 1000), dtype=np.float32)
    tracemalloc.start()
    st.count(test, calibration)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2e6


def test_infinite_scores_have_ranks():
    below, equal = st.count([-np.inf, np.inf], [[-np.inf, 0.0], [np.inf, 0.0]])
    assert below.tolist() == [0, 1]
    assert equal.tolist() == [1, 1]


@pytest.mark.parametrize(
    ("test", "calibration", "says"),
    [
        ([1.0, 2.0], [[1.0], [2.0], [3.0]], "its own row"),
        ([1.0], [1.0], "its own row"),
        ([np.nan], [[1.0]], "NaN in 1 of 1"),
        ([1.0], [[1.0, np.nan]], "NaN in 1 of 2"),
    ],
)
def test_counting_refuses_what_has_no_rank(test, calibration, says):
    with pytest.raises(ValueError, match=says):
        st.count(test, calibration)


@pytest.mark.parametrize("name", INCREASING)
def test_increasing_transforms_leave_ranks_and_pvalues_identical(name):
    rng = stream(4)
    test, calibration = (
        rng.standard_normal((3, 50)).round(2),
        rng.standard_normal((3, 50, 9)).round(2),
    )
    change = INCREASING[name]
    u = st.conformal_ranks(test, calibration, stream(5))
    moved = st.conformal_ranks(change(test), change(calibration), stream(5))
    np.testing.assert_array_equal(u, moved)
    pool, moved_pool = st.PooledLaw(calibration), st.PooledLaw(change(calibration))
    here = st.randomised_ranks(*pool.counts(test, 9, stream(6)), 9, stream(7))
    there = st.randomised_ranks(*moved_pool.counts(change(test), 9, stream(6)), 9, stream(7))
    np.testing.assert_array_equal(here, there)


def test_a_constant_score_gives_the_tie_breakers():
    u = st.conformal_ranks(np.zeros(40), np.zeros((40, 5)), stream(8))
    np.testing.assert_allclose(u, stream(8).random(40))


def test_ranks_stay_within_the_unit_interval():
    rng = stream(9)
    u = st.randomised_ranks(rng.integers(0, 51, 10_000), np.zeros(10_000), 50, rng)
    assert u.min() >= 0
    assert u.max() <= 1


class TestPool:
    def test_is_a_reference(self):
        reference: Reference = st.PooledLaw([0.0])
        assert reference.counts(np.zeros(3), 4, stream(1))[1].tolist() == [4, 4, 4]

    def test_cdf_is_the_share_below_and_equal(self):
        pool = st.PooledLaw([[3.0, 1.0], [1.0, 2.0]])
        below, equal = pool.cdf(np.array([[0.0, 1.0], [2.5, 3.0]]))
        assert len(pool) == 4
        assert below.tolist() == [[0, 0], [0.75, 0.75]]
        assert equal.tolist() == [[0, 0.5], [0, 0.25]]

    def test_cdf_is_within_the_dvoretzky_bound(self):
        pool = st.PooledLaw(stream(10).standard_normal(200_000))
        at = np.linspace(-4, 4, 999)
        assert np.abs(pool.cdf(at)[0] - stats.norm.cdf(at)).max() < st.dkw(200_000) < 0.0031

    @pytest.mark.parametrize("score", [-1.0, 0.0, 2.0])
    def test_counts_are_distributed_as_those_of_fresh_draws(self, score):
        rng, m, repeats = stream(11, score), 4, 40_000
        pool = st.PooledLaw(rng.standard_normal(400_000).round())
        test = np.full(repeats, score)
        drawn = st.count(test, rng.standard_normal((repeats, m)).round())
        tables = [
            np.bincount((below * (m + 1) + equal).astype(int), minlength=(m + 1) ** 2)
            for below, equal in (drawn, pool.counts(test, m, rng))
        ]
        counts = np.array(tables)[:, np.sum(tables, axis=0) >= 10]
        assert stats.chi2_contingency(counts).pvalue > 1e-3

    @pytest.mark.parametrize("shift", [0.0, 0.3])
    def test_power_is_that_of_fresh_draws(self, shift):
        rng, trials, n, m = stream(12, shift), 1500, 100, 10
        test = rng.standard_normal((trials, n)) - shift
        fresh = st.conformal_ranks(test, rng.standard_normal((trials, n, m)), rng)
        pool = st.PooledLaw(rng.standard_normal(200_000))
        pooled = st.randomised_ranks(*pool.counts(test, m, rng), m, rng)
        rates = [(st.ks(u).pvalue <= 0.05).mean() for u in (fresh, pooled)]
        assert abs(rates[0] - rates[1]) < 3.5 * np.sqrt(2 * max(rates) * (1 - max(rates)) / trials)

    def test_counts_never_exceed_m(self):
        rng = stream(13)
        pool = st.PooledLaw(np.repeat([0.1, 0.2, 0.3], [1, 1, 5]))
        below, equal = pool.counts(rng.choice([0.0, 0.1, 0.2, 0.3, 1.0], 5000), 7, rng)
        assert (below + equal).max() == 7
        assert min(below.min(), equal.min()) == 0

    @pytest.mark.parametrize(("scores", "says"), [([], "got none"), ([np.nan], "NaN")])
    def test_refuses_what_is_no_law(self, scores, says):
        with pytest.raises(ValueError, match=says):
            st.PooledLaw(scores)
