"""The symmetric divergence and its estimate from a classifier, against closed forms."""

import numpy as np
import pytest
from scipy.stats import genpareto, norm

from validation_core import statistics
from validation_core.statistics import divergence as nats

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


@pytest.mark.parametrize(
    "name",
    ["domke-conjugate-table", "domke-linear-gaussian", "domke-exact-posterior",
     "domke-heavy-tail"],
)  # fmt: skip
def test_reference_tables(name, reference):
    case, arrays, expected = reference(name)
    names = ("log_joint", "log_joint_draws", "log_q", "log_q_draws")
    d = nats.differences(*(arrays[one] for one in names))
    np.testing.assert_allclose(d, expected["d_mean_over_draws"], rtol=1e-9, atol=1e-9)
    first = [arrays[one][:, :1] if one.endswith("draws") else arrays[one] for one in names]
    np.testing.assert_allclose(
        nats.differences(*first), expected["d_first_draw"], rtol=1e-9, atol=1e-9
    )
    found = nats.divergence(d, np.random.default_rng(0))
    told = case["outputs"]["mean_over_draws"]
    close = {"rel": 1e-8, "abs": 1e-9}
    assert found.estimate == pytest.approx(told["estimate"], **close)
    assert found.sd == pytest.approx(told["sd_ddof1"], **close)
    assert found.median == pytest.approx(told["median"], **close)
    assert found.largest == pytest.approx(told["maximum"], **close)
    assert found.low == pytest.approx(told["ci_low"], abs=1e-5)  # 1.96 there, the quantile here
    assert found.high == pytest.approx(told["ci_high"], abs=1e-5)
    error = found.sd / np.sqrt(len(d))
    assert abs(found.estimate - case["outputs"]["exact_skl"]) <= 4 * error + 1e-12


def test_the_heavy_tail_is_noticed_and_light_ones_are_not(reference):
    heavy = {}
    for name in ("domke-heavy-tail", "domke-linear-gaussian"):
        _, arrays, _ = reference(name)
        d = nats.differences(*(arrays[one][:, :1] if one.endswith("draws") else arrays[one]
                               for one in ("log_joint", "log_joint_draws", "log_q",
                                           "log_q_draws")))  # fmt: skip
        heavy[name] = nats.divergence(d, np.random.default_rng(0)).heavy
    assert heavy == {"domke-heavy-tail": True, "domke-linear-gaussian": False}


@pytest.mark.parametrize("shape", [0.0, 0.3, 0.8])
def test_tail_shapes_are_the_known_ones(shape):
    values = genpareto.rvs(shape, size=40_000, random_state=np.random.default_rng(0))
    assert nats.tail_shape(values) == pytest.approx(shape, abs=0.15)


@pytest.mark.parametrize(
    "values", [np.zeros(100), np.ones(500), np.arange(10.0), [1.0] * 99 + [5]]
)
def test_tails_that_cannot_be_told_are_nan(values):
    assert np.isnan(nats.tail_shape(values))


def test_the_divergence_is_the_exact_one():
    d = nats.differences(*conjugate(200_000, 5, np.random.default_rng(0)))
    assert d.mean() == pytest.approx(EXACT, abs=4 * d.std() / np.sqrt(len(d)))


def test_what_depends_on_x_alone_cancels_in_its_row():
    rng = np.random.default_rng(0)
    joint, joint_draws, q, q_draws = conjugate(300, 4, rng)
    off = 1e3 * rng.standard_normal(300)
    np.testing.assert_allclose(
        nats.differences(joint + off, joint_draws + off[:, None], q, q_draws),
        nats.differences(joint, joint_draws, q, q_draws), atol=1e-9,
    )  # fmt: skip


def test_intervals_cover_the_exact_divergence():
    rng, trials, normal, boot = np.random.default_rng(0), 400, 0, 0
    for _ in range(trials):
        found = nats.divergence(nats.differences(*conjugate(200, 10, rng)), rng)
        normal += found.low <= EXACT <= found.high
        boot += found.boot_low <= EXACT <= found.boot_high
    least = statistics.binomial_bounds(trials, 0.93, 0.999)[0]  # a little short at 200 rows
    assert normal >= least
    assert boot >= least


def test_an_exact_posterior_has_none():
    d = nats.differences(*conjugate(500, 10, np.random.default_rng(0), 0.0, 0.5))
    np.testing.assert_allclose(d, 0, atol=1e-12)
    found = nats.divergence(d, np.random.default_rng(0))
    assert abs(found.estimate) < 1e-13


def test_rows_without_a_finite_density_are_counted():
    joint, joint_draws, q, q_draws = conjugate(100, 4, np.random.default_rng(0))
    q[:2], joint_draws[5, 1], joint[7] = -np.inf, -np.inf, np.nan
    d = nats.differences(joint, joint_draws, q, q_draws)
    found = nats.divergence(d, np.random.default_rng(0))
    assert found.infinite == 4
    assert np.isfinite(found.estimate)


def test_refusals_say_the_rule():
    with pytest.raises(ValueError, match=r"log densities have shapes \(N,\)"):
        nats.differences(np.zeros(3), np.zeros((3, 2)), np.zeros(3), np.zeros((3, 4)))
    with pytest.raises(ValueError, match=r"log densities have shapes \(N,\)"):
        nats.differences(np.zeros(3), np.zeros(3), np.zeros(3), np.zeros(3))
    with pytest.raises(ValueError, match="got 1 of 3"):
        nats.divergence([np.nan, 1.0, np.inf], np.random.default_rng(0))
    with pytest.raises(ValueError, match="got 3 rows"):
        nats.from_logits(np.zeros(3), np.zeros((3, 2)), np.random.default_rng(0))


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

    found = nats.from_logits(logits(truth), logits(draws), rng)
    assert found.slope * stretch == pytest.approx(1, abs=0.1)
    assert found.d.mean() == pytest.approx(EXACT, abs=0.02)


def test_a_classifier_that_overlooks_a_part_finds_less():
    """The logit of the sign alone: the divergence of two Bernoulli laws, not more."""
    rng = np.random.default_rng(0)
    n, k = 20_000, 20
    truth = rng.standard_normal(n) > 0
    draws = SHIFT + rng.standard_normal((n, k)) > 0
    found = nats.from_logits(5.0 * truth, 5.0 * draws, rng)
    p, q = 0.5, norm.cdf(SHIFT)
    coarse = (p - q) * np.log(p * (1 - q) / (q * (1 - p)))
    assert coarse < SHIFT**2
    assert found.d.mean() == pytest.approx(coarse, abs=0.015)


@pytest.mark.parametrize("spread", [1.0, 10.0])
def test_a_classifier_that_sees_nothing_finds_nothing(spread):
    trials, least = 400, 0
    rng = np.random.default_rng(0)
    for _ in range(trials):
        logits = spread * rng.standard_normal((100, 11))
        found = nats.divergence(nats.from_logits(logits[:, 0], logits[:, 1:], rng).d, rng)
        least += found.boot_low > 0
        assert abs(found.estimate) < 0.2
    assert least <= statistics.binomial_bounds(trials, 0.05, 0.999)[1]


def test_logits_that_part_the_sides_entirely_stay_finite():
    rng = np.random.default_rng(0)
    found = nats.from_logits(np.ones(60), -np.ones((60, 8)), rng)
    assert 5 < found.d.mean() < 20
    assert np.isfinite(found.d).all()


def test_constant_logits_have_no_divergence():
    found = nats.from_logits(np.full(60, 3.0), np.full((60, 8), 3.0), np.random.default_rng(0))
    assert (found.d == 0).all()
    assert found.slope == 0
