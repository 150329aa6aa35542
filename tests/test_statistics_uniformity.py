"""Uniformity statistics, their null laws, location of the deviation and the simultaneous band."""

import time

import numpy as np
import pytest
from scipy import stats
from scipy.special import erfc

from validation_core import statistics as st
from validation_core.rng import stream
from validation_core.statistics import uniformity_laws
from validation_core.statistics.uniformity import ks_location

TESTS = [st.ks, st.anderson_darling, st.cramer_von_mises]


@pytest.mark.parametrize("n", [2, 3, 7, 20, 60, 140, 141, 300, 1000, 5000])
def test_kolmogorov_law_is_scipys(n):
    distance = np.concatenate(
        [np.linspace(0.3, 2.5, 12) / np.sqrt(n), [0.4 / n, 0.5 / n, 1 / n, 2 / n, 0.5, 0.9, 1.0]]
    )
    distance = distance[distance <= 1]
    close = 1e-9 if n <= 140 else 3e-6
    ours, scipys = uniformity_laws.kolmogorov_sf(distance, n), stats.kstwo.sf(distance, n)
    np.testing.assert_allclose(ours, scipys, rtol=close, atol=1e-300)


@pytest.mark.parametrize("n", [1, 2, 19, 60, 140])
def test_durbins_series_is_his_matrix(n):
    """In every band, at its ends and on either side of its middle."""
    h = np.array([1e-9, 0.2, 0.5, np.nextafter(0.5, 1), 0.7, 1.0])
    for k in range(1, int(2 * np.sqrt(n)) + 2):
        matrix = uniformity_laws.durbin_matrix_entry(h, k, n)
        np.testing.assert_allclose(
            uniformity_laws.durbin_cdf((k - h) / n, n), matrix, rtol=0, atol=2e-14
        )


@pytest.mark.parametrize("n", [5, 40, 1000])
def test_statistics_are_scipys(n):
    u = stream(1, n).random((6, n)) ** np.linspace(0.9, 1.15, 6)[:, None]
    for row, ks, cvm in zip(u, st.ks(u).statistic, st.cramer_von_mises(u).statistic, strict=True):
        assert ks == pytest.approx(stats.kstest(row, "uniform").statistic, rel=1e-12)
        assert cvm == pytest.approx(stats.cramervonmises(row, "uniform").statistic, rel=1e-10)
    np.testing.assert_allclose(
        st.cramer_von_mises(u).pvalue,
        [stats.cramervonmises(row, "uniform").pvalue for row in u],
        rtol=1e-6,
        atol=1e-7,
    )


def test_limit_laws_at_tabled_points():
    big = 10**9
    tabled = uniformity_laws.anderson_darling_sf(np.array([1.933, 2.492, 3.0775, 3.878]), big)
    np.testing.assert_allclose(tabled, [0.1, 0.05, 0.025, 0.01], rtol=2e-3)
    tabled = uniformity_laws.cramer_von_mises_sf(
        np.array([0.34730, 0.46136, 0.58061, 0.74346]), big
    )
    np.testing.assert_allclose(tabled, [0.1, 0.05, 0.025, 0.01], rtol=1e-3)


def test_tails_stay_positive_and_follow_their_largest_term():
    z = np.array([10.0, 30.0, 60.0])
    leading = np.sqrt(3) * erfc(np.sqrt(z))  # 3 = prod 1/(1 - 2/(j(j+1))), j >= 2
    np.testing.assert_allclose(uniformity_laws.anderson_darling_sf(z, 1000), leading, rtol=0.04)
    strong = stream(2).random(1000) ** 2
    for test in TESTS:
        assert 0 < test(strong).pvalue < 1e-20


@pytest.mark.parametrize(
    "law", [uniformity_laws.anderson_darling_sf, uniformity_laws.cramer_von_mises_sf]
)
@pytest.mark.parametrize("n", [20, 1000])
def test_laws_descend_from_one(law, n):
    sf = law(np.linspace(0, 8, 2001), n)
    assert sf[0] == pytest.approx(1, abs=1e-6)
    assert (np.diff(sf) <= 1e-7).all()
    assert (np.diff(sf[sf < 1e-3]) < 0).all()


@pytest.mark.parametrize("test", TESTS)
def test_trials_do_not_meet(test):
    u = stream(3).random((2, 3, 50))
    together = test(u)
    assert together.statistic.shape == together.pvalue.shape == (2, 3)
    alone = test(u[1, 2])
    assert together.statistic[1, 2] == alone.statistic
    assert together.pvalue[1, 2] == pytest.approx(alone.pvalue, rel=1e-12)
    assert test(u[:0]).pvalue.shape == (0, 3)


@pytest.mark.parametrize("test", TESTS)
def test_equal_ranks_are_rejected_and_finite(test):
    for value in (0.0, 0.5, 1.0):
        outcome = test(np.full(50, value))
        assert np.isfinite(outcome.statistic)
        assert outcome.pvalue < 1e-6


@pytest.mark.parametrize("test", [*TESTS, ks_location, st.ecdf_difference])
@pytest.mark.parametrize(
    ("u", "says"),
    [
        ([0.5], "at least two"),
        (0.5, "at least two"),
        ([0.5, 1.5], r"lie in \[0, 1\]; got 0.5 to 1.5"),
        ([0.5, np.nan], r"lie in \[0, 1\]"),
    ],
)
def test_refuses_what_is_no_set_of_ranks(test, u, says):
    with pytest.raises(ValueError, match=says):
        test(u)


def test_location_is_where_the_distance_is_reached():
    u = stream(4).random((20, 80)) ** np.linspace(0.5, 2, 20)[:, None]
    u_star, difference = ks_location(u)
    np.testing.assert_allclose(np.abs(difference), st.ks(u).statistic, rtol=1e-12)
    assert (difference[:5] < 0).all()  # powers below one move ranks up: F_n below the diagonal
    assert (difference[-5:] > 0).all()
    for row, at, signed in zip(u, u_star, difference, strict=True):
        share = (row <= at).mean() if signed > 0 else (row < at).mean()
        assert share - at == pytest.approx(signed)


def test_ecdf_difference_counts_ranks_up_to_the_grid():
    u = np.array([[0.0, 0.25, 0.5, 0.5], [0.1, 0.9, 1.0, 1.0]])
    grid = [0.0, 0.25, 0.5, 1.0]
    share = st.ecdf_difference(u, grid) + grid
    assert share.tolist() == [[0.25, 0.5, 1.0, 1.0], [0.0, 0.25, 0.25, 1.0]]
    assert st.ecdf_difference(stream(5).random((2, 3, 9))).shape == (2, 3, len(st.GRID))


@pytest.mark.parametrize("n", [20, 60, 250, 1000, 5000])
def test_band_covers_all_points_at_once(n):
    lower, upper = st.ecdf_band(n)
    trials = 2000
    difference = st.ecdf_difference(stream(6, n).random((trials, n)))
    inside = ((difference >= lower) & (difference <= upper)).all(axis=-1).sum()
    low, high = st.binomial_bounds(trials, 0.952, 0.999)
    assert low <= inside <= high


@pytest.mark.parametrize(("level", "points"), [(0.5, 11), (0.9, 21), (0.99, 400)])
def test_band_keeps_other_levels_on_other_grids(level, points):
    grid = np.linspace(0, 1, points)
    lower, upper = st.ecdf_band(500, level, grid)
    difference = st.ecdf_difference(stream(7, level).random((4000, 500)), grid)
    inside = ((difference >= lower) & (difference <= upper)).all(axis=-1).mean()
    assert inside == pytest.approx(level, abs=0.03)
    assert inside > level - 3.5 * np.sqrt(level * (1 - level) / 4000)


def test_band_is_quick_remembered_and_read_only():
    start = time.thread_time()  # others may have the processor meanwhile
    lower, upper = st.ecdf_band(1003)
    assert time.thread_time() - start < 1
    assert st.ecdf_band(1003)[0] is lower
    assert not lower.flags.writeable
    assert lower[0] == upper[0] == lower[-1] == upper[-1] == 0
    assert (upper[1:-1] > 0).all()
    assert (lower[1:-1] < 0).all()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((0,), "n >= 1"),
        ((10, 1.0), "level within"),
        ((10, 0.95, [0.5, 0.2]), "ascends"),
        ((10, 0.95, [0.5, 1.2]), "ascends"),
        ((10, 0.95, []), "ascends"),
    ],
)
def test_band_refuses(arguments, says):
    with pytest.raises(ValueError, match=says):
        st.ecdf_band(*arguments)
