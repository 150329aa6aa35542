"""The symmetric divergence and its estimate from a classifier, against closed forms."""

import numpy as np
import pytest
from scipy.stats import binom, genpareto, norm

from validation_core import statistics
from validation_core.scores import log_ratio
from validation_core.statistics import (
    classifier_divergence,
    divergence_mean,
    divergence_rows,
    divergence_test,
    pareto_tail,
    slots,
)
from validation_core.statistics.permutation import share_beyond

SHIFT, VARIANCE = 0.3, 0.8
EXACT = 0.25875
"""Of the conjugate model with q = N(x / 2 + 0.3, 0.8) for N(x / 2, 1 / 2)."""


def conjugate(n, k, rng, shift=SHIFT, variance=VARIANCE):
    """log densities of z ~ N(0, 1), x | z ~ N(z, 1) at truths and at q's draws."""
    z = rng.standard_normal(n)
    x = z + rng.standard_normal(n)
    centre = x / 2 + shift
    draws = centre[:, None] + np.sqrt(variance) * rng.standard_normal((n, k))

    def joint(theta, data):
        return norm.logpdf(theta) + norm.logpdf(data, theta)

    return (
        joint(z, x), joint(draws, x[:, None]), norm.logpdf(z, centre, np.sqrt(variance)),
        norm.logpdf(draws, centre[:, None], np.sqrt(variance)),
    )  # fmt: skip


def differences(*densities):
    """d (n,): the log ratio at the truth less its mean over q's draws."""
    ratios = log_ratio.of_densities(dict(zip(log_ratio.NAMES, densities, strict=True)))
    return ratios.truth[0] - ratios.draws[0].mean(axis=-1)


@pytest.mark.parametrize(
    "name",
    ["domke-conjugate-table", "domke-linear-gaussian", "domke-exact-posterior",
     "domke-heavy-tail"],
)  # fmt: skip
def test_reference_tables(name, reference):
    case, arrays, expected = reference(name)
    names = log_ratio.NAMES
    d = differences(*(arrays[one] for one in names))
    np.testing.assert_allclose(d, expected["d_mean_over_draws"], rtol=1e-9, atol=1e-9)
    first = [arrays[one][:, :1] if one.endswith("draws") else arrays[one] for one in names]
    np.testing.assert_allclose(differences(*first), expected["d_first_draw"], rtol=1e-9, atol=1e-9)
    result = divergence_mean.divergence(d, np.random.default_rng(0))
    published = case["outputs"]["mean_over_draws"]
    close = {"rel": 1e-8, "abs": 1e-9}
    assert result.estimate == pytest.approx(published["estimate"], **close)
    assert result.sd == pytest.approx(published["sd_ddof1"], **close)
    assert result.median == pytest.approx(published["median"], **close)
    assert result.largest == pytest.approx(published["maximum"], **close)
    assert result.low == pytest.approx(
        published["ci_low"], abs=1e-5
    )  # 1.96 there, the quantile here
    assert result.high == pytest.approx(published["ci_high"], abs=1e-5)
    error = result.sd / np.sqrt(len(d))
    assert abs(result.estimate - case["outputs"]["exact_skl"]) <= 4 * error + 1e-12


def test_the_heavy_tail_is_noticed_and_light_ones_are_not(reference):
    heavy = {}
    for name in ("domke-heavy-tail", "domke-linear-gaussian"):
        _, arrays, _ = reference(name)
        d = differences(*(
            arrays[one][:, :1] if one.endswith("draws") else arrays[one] for one in log_ratio.NAMES
        ))  # fmt: skip
        heavy[name] = divergence_mean.divergence(d, np.random.default_rng(0)).heavy
    assert heavy == {"domke-heavy-tail": True, "domke-linear-gaussian": False}


@pytest.mark.parametrize("shape", [0.0, 0.3, 0.8])
def test_tail_shapes_are_the_known_ones(shape):
    values = genpareto.rvs(shape, size=40_000, random_state=np.random.default_rng(0))
    assert pareto_tail.tail_shape(values) == pytest.approx(shape, abs=0.15)


def test_a_tail_may_be_exponential_exactly():
    """One of the rates that are weighed is then 0: 20 values over the threshold, the fifth a third
    of the largest.
    """
    over = np.concatenate([np.linspace(0.2, 1, 5), np.linspace(1.1, 3, 15)])
    values = np.concatenate([np.linspace(0, 1, 80), 1 + over])
    beside = np.append(values[:-1], values[-1] + 1e-9)
    assert pareto_tail.tail_shape(values) == pytest.approx(
        pareto_tail.tail_shape(beside), abs=1e-6
    )


@pytest.mark.parametrize(
    "values", [np.zeros(100), np.ones(500), np.arange(10.0), [1.0] * 99 + [5]]
)
def test_tails_that_cannot_be_told_are_nan(values):
    assert np.isnan(pareto_tail.tail_shape(values))


def test_the_divergence_is_the_exact_one():
    d = differences(*conjugate(200_000, 5, np.random.default_rng(0)))
    assert d.mean() == pytest.approx(EXACT, abs=4 * d.std() / np.sqrt(len(d)))


def test_what_depends_on_x_alone_cancels_in_its_row():
    rng = np.random.default_rng(0)
    joint, joint_draws, q, q_draws = conjugate(300, 4, rng)
    off = 1e3 * rng.standard_normal(300)
    np.testing.assert_allclose(
        differences(joint + off, joint_draws + off[:, None], q, q_draws),
        differences(joint, joint_draws, q, q_draws), atol=1e-9,
    )  # fmt: skip


def test_intervals_cover_the_exact_divergence():
    rng, trials, normal, boot = np.random.default_rng(0), 400, 0, 0
    for _ in range(trials):
        result = divergence_mean.divergence(differences(*conjugate(200, 10, rng)), rng)
        normal += result.low <= EXACT <= result.high
        boot += result.boot_low <= EXACT <= result.boot_high
    least = statistics.binomial_bounds(trials, 0.93, 0.999)[0]  # a little short at 200 rows
    assert normal >= least
    assert boot >= least


def test_an_exact_posterior_has_none():
    d = differences(*conjugate(500, 10, np.random.default_rng(0), 0.0, 0.5))
    np.testing.assert_allclose(d, 0, atol=1e-12)
    result = divergence_mean.divergence(d, np.random.default_rng(0))
    assert abs(result.estimate) < 1e-13


def test_rows_without_a_finite_density_are_counted():
    joint, joint_draws, q, q_draws = conjugate(100, 4, np.random.default_rng(0))
    q[:2], joint_draws[5, 1], joint[7] = -np.inf, -np.inf, np.nan
    d = differences(joint, joint_draws, q, q_draws)
    result = divergence_mean.divergence(d, np.random.default_rng(0))
    assert result.infinite == 4
    assert np.isfinite(result.estimate)


def test_refusals_say_the_rule():
    with pytest.raises(ValueError, match="got 1 of 3"):
        divergence_mean.divergence([np.nan, 1.0, np.inf], np.random.default_rng(0))
    with pytest.raises(ValueError, match="got 3 rows"):
        classifier_divergence.from_logits(np.zeros(3), np.zeros((3, 2)), np.random.default_rng(0))


@pytest.mark.parametrize("stretch", [0.2, 1.0, 5.0])
def test_logits_on_any_scale_give_the_divergence(stretch):
    """An over-confident classifier does not make q look worse: its logits are put to scale."""
    rng = np.random.default_rng(0)
    n, k, sd = 20_000, 20, np.sqrt(0.5)
    truth = sd * rng.standard_normal(n)  # less the posterior's mean x / 2
    draws = SHIFT + np.sqrt(VARIANCE) * rng.standard_normal((n, k))

    def logits(theta):
        return 3 + stretch * (
            norm.logpdf(theta, 0, sd) - norm.logpdf(theta, SHIFT, np.sqrt(VARIANCE))
        )

    result = classifier_divergence.from_logits(logits(truth), logits(draws), rng)
    assert result.slope * stretch == pytest.approx(1, abs=0.1)
    assert result.d.mean() == pytest.approx(EXACT, abs=0.02)


def test_a_classifier_that_overlooks_a_part_finds_less():
    """The logit of the sign alone: the divergence of two Bernoulli laws, not more."""
    rng = np.random.default_rng(0)
    n, k = 20_000, 20
    truth = rng.standard_normal(n) > 0
    draws = SHIFT + rng.standard_normal((n, k)) > 0
    result = classifier_divergence.from_logits(5.0 * truth, 5.0 * draws, rng)
    p, q = 0.5, norm.cdf(SHIFT)
    coarse = (p - q) * np.log(p * (1 - q) / (q * (1 - p)))
    assert coarse < SHIFT**2
    assert result.d.mean() == pytest.approx(coarse, abs=0.015)


def test_a_logit_that_no_slope_calibrates_can_find_more_than_there_is():
    """The cube of the log ratio of N(1/2, 1) and N(-1/2, 1), whose divergence is 1."""
    rng = np.random.default_rng(0)
    truth, draws = 0.5 + rng.standard_normal(20_000), rng.standard_normal((20_000, 20)) - 0.5
    found = classifier_divergence.from_logits(truth**3, draws**3, rng)
    assert divergence_mean.means(found.d).low > 1


@pytest.mark.parametrize("spread", [1.0, 10.0])
def test_a_classifier_that_sees_nothing_finds_nothing(spread):
    trials, least = 400, 0
    rng = np.random.default_rng(0)
    for _ in range(trials):
        logits = spread * rng.standard_normal((100, 11))
        result = divergence_mean.divergence(
            classifier_divergence.from_logits(logits[:, 0], logits[:, 1:], rng).d, rng
        )
        least += result.boot_low > 0
        assert abs(result.estimate) < 0.2
    assert least <= statistics.binomial_bounds(trials, 0.05, 0.999)[1]


def test_logits_that_part_the_sides_entirely_stay_finite():
    rng = np.random.default_rng(0)
    result = classifier_divergence.from_logits(np.ones(60), -np.ones((60, 8)), rng)
    assert 5 < result.d.mean() < 20
    assert np.isfinite(result.d).all()


def test_constant_logits_have_no_divergence():
    result = classifier_divergence.from_logits(
        np.full(60, 3.0), np.full((60, 8), 3.0), np.random.default_rng(0)
    )
    assert (result.d == 0).all()
    assert result.slope == 0


NAMES = ("log_joint", "log_joint_draws", "log_q", "log_q_draws")
TABLES = ("domke-conjugate-table", "domke-linear-gaussian", "domke-exact-posterior",
          "domke-heavy-tail")  # fmt: skip


def ratios(arrays, k=None):
    """Log ratios (n,) and (n, K) of a table of log densities."""
    joint, joint_draws, q, q_draws = (arrays[name] for name in NAMES)
    return joint - q, (joint_draws - q_draws)[:, :k]


@pytest.mark.parametrize("name", TABLES)
def test_reference_importance_weighting(name, reference):
    case, arrays, expected = reference(name)
    truth, draws = ratios(arrays)
    for m in (1, 2, 5):
        first = np.column_stack([truth, draws[:, : m - 1]])
        (d,) = divergence_rows.importance_weighted(first, draws[:, m - 1 : 2 * m - 1], [m])
        np.testing.assert_allclose(d, expected[f"d_iw_M{m}"], rtol=1e-9, atol=1e-9)
        published = case["outputs"][f"importance_weighted_M{m}"]
        mean = divergence_mean.means(d)
        assert float(mean.estimate) == pytest.approx(published["estimate"], rel=1e-9, abs=1e-9)
        assert float(mean.low) == pytest.approx(published["ci_low"], abs=1e-5)  # 1.96 there
        assert float(mean.high) == pytest.approx(published["ci_high"], abs=1e-5)
        if m == 5:  # one group of 9 draws: the very same; more of them are averaged
            np.testing.assert_allclose(
                divergence_rows.weighted(truth, draws[:, :9], m), d, atol=1e-12
            )


@pytest.mark.parametrize("name", TABLES)
def test_reference_sign_flips(name, reference):
    """The given signs give the given p; our own relabelings the same within their noise."""
    case, arrays, expected = reference(name)
    d, signs = expected["d_first_draw"], arrays["signs"]
    null = slots.permuted_divergences(np.column_stack([d, -d]), (signs < 0).astype(np.int64))
    np.testing.assert_allclose(null, (signs * d).mean(1), atol=1e-12)
    published = case["outputs"]["sign_flip_p_first_draw"]
    assert float(share_beyond(d.mean(), null, 1e-12)) == published
    result = divergence_test.relabelled(*ratios(arrays, 1), np.random.default_rng(0), len(signs))
    assert float(result.pvalue) == pytest.approx(published, abs=0.01)
    assert float(result.statistic) == pytest.approx(d.mean(), abs=1e-9)


def test_importance_weighting_gives_the_exact_numbers(reference):
    case, *_ = reference("domke-conjugate-normal")
    joint, joint_draws, q, q_draws = conjugate(60_000, 39, np.random.default_rng(0))
    truth, draws = joint - q, joint_draws - q_draws
    for m, known in case["outputs"]["exact_importance_weighted"].items():
        d = divergence_rows.weighted(truth, draws, int(m))
        assert abs(d.mean() - known) < 4 * d.std() / np.sqrt(len(d)), m


def test_importance_weighting_takes_all_m_at_once_over_leading_axes():
    rng = np.random.default_rng(0)
    first, second = rng.standard_normal((2, 3, 7, 10))
    d = divergence_rows.importance_weighted(first, second, (1, 4, 10))
    assert d.shape == (3, 3, 7)
    for i, m in enumerate((1, 4, 10)):
        known = np.log(np.exp(first[..., :m]).sum(-1) / np.exp(second[..., :m]).sum(-1))
        np.testing.assert_allclose(d[i], known, atol=1e-12)
    moved = divergence_rows.importance_weighted(first + 800, second + 800, [4])[0]
    np.testing.assert_allclose(moved, d[1],
                               atol=1e-9)  # fmt: skip


def test_without_weighing_nothing_changes_and_odd_draws_are_left_over():
    joint, joint_draws, q, q_draws = conjugate(50, 8, np.random.default_rng(0))
    truth, draws = joint - q, joint_draws - q_draws
    np.testing.assert_allclose(
        divergence_rows.weighted(truth, draws, 1),
        differences(joint, joint_draws, q, q_draws),
        atol=1e-9,
    )
    np.testing.assert_allclose(
        divergence_rows.weighted(truth, draws, 2),
        divergence_rows.weighted(truth, draws[:, :6], 2),
        atol=1e-12,
    )


def test_infinite_weights_stay_infinite_or_missing():
    truth = np.array([[np.inf, 0.0], [0.0, -np.inf], [np.nan, 0.0]])
    draws = np.array([[0.0, 0.0], [-np.inf, -np.inf], [0.0, 0.0]])
    one, two = divergence_rows.importance_weighted(truth, draws, (1, 2))
    assert list(one[:2]) == list(two[:2]) == [np.inf, np.inf]
    assert np.isnan([one[2], two[2]]).all()


def test_means_are_those_of_rows_and_missing_where_one_is():
    d = np.array([[1.0, 2.0, 6.0], [0.0, np.nan, 1.0]])
    result = divergence_mean.means(d)
    reach = 1.959964 * np.std([1, 2, 6], ddof=1) / np.sqrt(3)
    np.testing.assert_allclose([part[0] for part in result], [3, 3 - reach, 3 + reach], atol=1e-6)
    assert np.isnan([part[1] for part in result]).all()
    with pytest.raises(ValueError, match="got 1; bring more"):
        divergence_mean.means([1.0])


LAWS = {
    "skewed": lambda rng, shape: -(rng.exponential(size=shape) ** 2),
    "heavy": lambda rng, shape: rng.standard_t(1.5, shape),
    "heavy and skewed": lambda rng, shape: -np.abs(rng.standard_t(1.2, shape)),
}


def flipped(truth, draws, rng):
    """p-values of plain sign flips of the mean difference."""
    d = truth - draws.mean(-1)
    signs = rng.choice([-1.0, 1.0], size=(199, d.shape[-1]))
    null = d @ signs.T / d.shape[-1]
    return share_beyond(d.mean(-1), null, 1e-12)


@pytest.mark.parametrize("k", [1, 20])
@pytest.mark.parametrize("law", LAWS)
def test_relabelling_holds_its_level(law, k):
    """2000 tables in which the truth's ratio is one of q's, whatever function of x is added."""
    rng, repeats = np.random.default_rng(k), 2000
    values = LAWS[law](rng, (repeats, 30, k + 1)) + 50 * rng.standard_normal((repeats, 30, 1))
    result = divergence_test.relabelled(values[..., 0], values[..., 1:], rng, 199)
    low, high = statistics.binomial_bounds(repeats, 0.05, 0.999)
    assert low <= (result.pvalue <= 0.05).sum() <= high
    assert result.null.shape == (repeats, 199)


def test_flipping_signs_would_not_hold_it_with_more_draws_than_one():
    """d is then not symmetric about 0: a mean of many draws against one truth."""
    rng, repeats = np.random.default_rng(0), 2000
    low, high = statistics.binomial_bounds(repeats, 0.05, 0.999)
    rejections = {}
    for k in (1, 20):
        values = rng.exponential(size=(repeats, 30, k + 1)) ** 2
        p = flipped(values[..., 0], values[..., 1:], rng)
        rejections[k] = int((p <= 0.05).sum())
    assert low <= rejections[1] <= high
    assert not low <= rejections[20] <= high


def test_rows_that_are_not_finite_do_not_break_the_level():
    """Leaving them out treats truth and draws alike."""
    rng, repeats = np.random.default_rng(0), 2000
    values = rng.standard_t(2, (repeats, 30, 6))
    values[rng.random(values.shape) < 0.05] = -np.inf
    result = divergence_test.relabelled(values[..., 0], values[..., 1:], rng, 199)
    low, high = statistics.binomial_bounds(repeats, 0.05, 0.999)
    assert low <= (result.pvalue <= 0.05).sum() <= high
    finite = np.isfinite(values[0]).all(-1)
    d = values[0, finite, 0] - values[0, finite, 1:].mean(-1)
    assert result.statistic[0] == pytest.approx(d.mean())


def test_relabelling_says_nothing_where_nothing_differs():
    rng = np.random.default_rng(0)
    off = 1e6 * rng.standard_normal((40, 1))
    same = divergence_test.relabelled(off[:, 0], np.repeat(off, 5, axis=1), rng, 99)
    assert float(same.pvalue) == 1
    assert float(same.statistic) == 0
    lost = divergence_test.relabelled(np.full(5, np.nan), np.zeros((5, 2)), rng, 99)
    assert float(lost.pvalue) == 1
    clear = divergence_test.relabelled(np.full(40, 3.0), np.zeros((40, 5)), rng, 99)
    assert float(clear.pvalue) == 1 / 100


def test_relabelling_has_power():
    rng = np.random.default_rng(0)
    result = [
        float(divergence_test.relabelled(joint - q, joint_draws - q_draws, rng, 99).pvalue) <= 0.05
        for joint, joint_draws, q, q_draws in (conjugate(100, 10, rng) for _ in range(100))
    ]
    assert np.mean(result) > 0.95


def test_paired_auc_is_the_known_one():
    """log N(t; 0, 1) - log N(t; g, 1) falls in t: P(truth's is higher) = Phi(g / sqrt 2)."""
    rng, g = np.random.default_rng(0), 0.7
    truth, draws = rng.standard_normal(40_000), g + rng.standard_normal((40_000, 5))
    shares = divergence_rows.paired(-g * truth, -g * draws)
    known = norm.cdf(g / np.sqrt(2))
    assert abs(divergence_rows.paired_auc(-g * truth, -g * draws) - known) < 4 * shares.std() / 200
    assert float(divergence_rows.paired_auc(np.zeros(9), np.zeros((9, 4)))) == 0.5
    assert float(divergence_rows.paired_auc([2.0, 0.0], [[1.0, 2.0], [1.0, 0.0]])) == 0.5
    assert np.isnan(divergence_rows.paired_auc([0.0, np.nan], np.zeros((2, 3))))
    assert divergence_rows.paired_auc(np.zeros((3, 9)), np.zeros((3, 9, 4))).shape == (3,)


def test_weights_and_ratios_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match=r"one shape \(..., N, M\)"):
        divergence_rows.importance_weighted(np.zeros((3, 2)), np.zeros((3, 3)), [1])
    for wrong in ([0], [3], []):
        with pytest.raises(ValueError, match="M lies among 1 to 2"):
            divergence_rows.importance_weighted(np.zeros((3, 2)), np.zeros((3, 2)), wrong)
    with pytest.raises(ValueError, match="got M = 3 and 4"):
        divergence_rows.weighted(np.zeros(3), np.zeros((3, 4)), 3)
    rng = np.random.default_rng(0)
    for draws in (np.zeros(3), np.zeros((3, 0)), np.zeros((2, 4))):
        with pytest.raises(ValueError, match="log ratios have shapes"):
            divergence_test.relabelled(np.zeros(3), draws, rng)
    with pytest.raises(ValueError, match="at least one permutation"):
        divergence_test.relabelled(np.zeros(3), np.zeros((3, 2)), rng, 0)


@pytest.mark.parametrize(("n", "ranks"), [(6, (1, 6)), (25, (8, 18)), (100, (40, 61))])
def test_an_interval_of_the_median_lies_between_two_ordered_terms(n, ranks):
    """Tables of the sign test: coverage 1 - 2 P(Bin(n, 1/2) < rank) of 95% or more, and no less
    of a narrower one.
    """
    d = np.random.default_rng(0).permutation(np.arange(1.0, n + 1))
    found = divergence_mean.medians(d)
    assert (found.low, found.high) == ranks
    assert found.estimate == np.median(d)
    assert 1 - 2 * binom.cdf(ranks[0] - 1, n, 0.5) >= 0.95 > 1 - 2 * binom.cdf(ranks[0], n, 0.5)


def test_the_interval_covers_the_median_of_a_law_without_a_mean():
    d = np.random.default_rng(1).standard_cauchy((2000, 40)) + 3
    found = divergence_mean.medians(d)
    covered = ((found.low <= 3) & (found.high >= 3)).sum()
    low, _ = statistics.binomial_bounds(2000, 0.95, 0.999)
    assert low <= covered <= 0.99 * 2000


def test_medians_of_few_rows_and_of_none():
    found = divergence_mean.medians([[1.0, 2, 4], [1, np.nan, 2]])
    np.testing.assert_array_equal(found.estimate, [2, np.nan])
    assert np.isnan([found.low, found.high]).all()
    assert np.isnan(divergence_mean.medians([1.0] * 9 + [np.nan]).low)
    with pytest.raises(ValueError, match="a row or more; got 0"):
        divergence_mean.medians([])
