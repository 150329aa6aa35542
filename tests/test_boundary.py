"""The toy: closed forms against stored numbers and against trials."""

import numpy as np
import pytest
from scipy.stats import norm

from validation_core import sampling, statistics
from validation_core.benchmarks import boundary
from validation_core.benchmarks.boundary import Boundary
from validation_core.explorers.weak_classifiers import study as toy
from validation_core.rng import stream
from validation_core.scores import LinearBoundary

DEGREES = np.array([0, 18, 36, 54, 72, 90.0])


def test_c2st_power_over_the_shift():
    power = boundary.c2st_power(np.array([0, 0.5, 1, 1.5, 2]), 0.0, 100)
    np.testing.assert_allclose(power, [0.88, 0.82, 0.54, 0.09, 0.00], atol=0.006)


def test_powers_over_the_turn():
    angle = np.deg2rad(DEGREES)
    np.testing.assert_allclose(
        boundary.c2st_power(0.0, angle, 100), [0.88, 0.85, 0.74, 0.51, 0.23, 0.05], atol=0.006
    )
    np.testing.assert_allclose(
        boundary.multiple_power(angle, 100), [0.97, 0.95, 0.88, 0.65, 0.28, 0.05], atol=0.006
    )


def test_half_of_the_collapse_is_the_mis_sized_null():
    nominal = boundary.c2st_power(1.0, 0.0, 100)
    per_class = boundary.c2st_power(1.0, 0.0, 100, per_class=True)
    multiple = boundary.multiple_power(0.0, 100)
    assert (per_class - nominal) / (multiple - nominal) == pytest.approx(0.5, abs=0.05)


def test_accuracies_and_auc():
    p, q = boundary.class_accuracies(1.0, 0.0)
    assert (p, q) == pytest.approx((norm.cdf(1.25), norm.cdf(-0.75)))
    turned = boundary.class_accuracies(0.0, np.deg2rad(60))
    assert turned == pytest.approx((norm.cdf(0.125), norm.cdf(0.125)))
    assert boundary.exact_auc(np.pi / 2) == pytest.approx(0.5)
    assert boundary.exact_auc(0.0) == pytest.approx(norm.cdf(0.5 / np.sqrt(2)))


def test_placement_variance_is_that_of_a_uniform_under_the_null():
    assert boundary.placement_variance(np.pi / 2) == pytest.approx(1 / 12)
    draws = norm.cdf(stream(0, "placement").standard_normal(400_000) + 0.5)
    assert boundary.placement_variance(0.0) == pytest.approx(draws.var(), rel=0.01)


@pytest.mark.parametrize("n", [12, 120])
@pytest.mark.parametrize("per_class", [False, True])
def test_rejection_region_is_the_tests_own(per_class, n):
    region = boundary.rejection_region(n, 0.05, per_class)
    hits = np.arange(n + 1)
    rows = np.where(np.arange(n) < hits[:, None], 1.0, -1.0)  # (n + 1, n): so many right
    c2st = statistics.c2st(rows[:, None], -rows[None])
    pvalue = c2st.pvalue_per_class if per_class else c2st.pvalue
    np.testing.assert_array_equal(region, pvalue <= 0.05)


@pytest.mark.parametrize(("offset", "degrees"), [(0.0, 0), (1.0, 0), (0.5, 36), (0.0, 72)])
def test_closed_forms_agree_with_trials(offset, degrees):
    n, trials, angle = 100, 1000, np.deg2rad(degrees)
    rng = stream(1, "closed forms", offset, degrees)
    blocks = sampling.blocks(Boundary(), 0.5, n * trials, n * trials, rng)
    scored = toy.boundary_scores(blocks, angle, offset, trials)
    c2st, multiple = (
        statistics.c2st(scored.p, scored.q),
        statistics.multiple(scored.p, scored.q, rng),
    )
    for pvalue, power in (
        (c2st.pvalue, boundary.c2st_power(offset, angle, n)),
        (c2st.pvalue_per_class, boundary.c2st_power(offset, angle, n, per_class=True)),
        (multiple.pvalue, boundary.multiple_power(angle, n)),
    ):
        sd = np.sqrt(power * (1 - power) / trials)
        # Multiple's closed form is a normal approximation, off by less than .01 here.
        slack = 0.01 if pvalue is multiple.pvalue else 0.0
        assert abs((pvalue <= 0.05).mean() - power) < 3.5 * sd + slack


def test_uniform_power_of_the_digest():
    _, uniform = toy.count_rank_rejections(100, 10, 400, seed=3)
    assert uniform[0] / 400 == pytest.approx(0.99, abs=0.02)
    assert 4 <= uniform[-1] <= 38  # 5% of 400, four sd


def test_a_shift_moves_no_rank():
    blocks = toy.draw(60, seed=0)
    near, far = (toy.boundary_scores(blocks, 0.3, offset) for offset in (0.0, 1.7))
    assert statistics.auc(near.p, near.q) == statistics.auc(far.p, far.q)


def test_the_normal_law_counts_like_drawn_calibration_scores():
    law, rng = statistics.NormalLaw(0.25), stream(2, "law")
    test = np.full((4000, 1), 0.6)
    below, equal = law.counts(test, 20, rng)
    sketch, _ = statistics.count(test, 0.25 + rng.standard_normal((4000, 1, 20)))
    assert below.mean() == pytest.approx(sketch.mean(), abs=0.25)
    assert not equal.any()


def test_benchmark_log_ratio_is_the_oracle():
    bench, rng = Boundary(), stream(0, "ratio")
    x = bench.x(500, rng)
    theta = bench.q(x, 0.7, rng)
    expected = norm.logpdf(theta[:, 0]) - norm.logpdf(theta[:, 0], 0.7)
    np.testing.assert_allclose(bench.log_ratio(theta, x, 0.7), expected)
    assert not bench.log_ratio(theta, x, 0.0).any()
    assert bench.gammas[0] == 0.0
    assert 0.5 in bench.gammas


def test_score_means():
    blocks = toy.draw(50_000, seed=1)
    scored = toy.boundary_scores(blocks, 0.6, 1.2)
    means = boundary.score_means(1.2, 0.6)
    assert scored.p.mean() == pytest.approx(float(means.p), abs=0.02)
    assert scored.q.mean() == pytest.approx(float(means.q), abs=0.02)
    flat = LinearBoundary(offset=1.2, angle=0.6)(blocks.p.theta, blocks.p.x)
    np.testing.assert_array_equal(scored.p[0], flat)


def test_what_the_page_reads_at_one_place():
    exact = toy.closed_form_power(50)
    counts = toy.RejectionRates(*(np.arange(a.size).reshape(a.shape) for a in exact))
    row, column = 20, 9
    power, hits = toy.at(exact, 1.01, 44.0), toy.at(counts, 1.01, 44.0)
    assert (power[0], hits[0]) == (exact.c2st[row, column], row * 19 + column)
    assert (power[2], hits[2]) == (exact.multiple[column], column)
    assert np.isnan(power[3])
