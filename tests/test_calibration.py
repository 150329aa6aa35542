"""How wrong: closed forms of Gaussian errors, exactness at small K, and what is said of it."""

import json
import tracemalloc
from dataclasses import fields, replace

import numpy as np
import pytest
from scipy.special import ndtr, ndtri
from scipy.stats import norm

from tests.conftest import in_turn
from tests.fixed_claims import CLAIMED, FixedClaims
from tests.reports import code_of
from validation_core import codec, diagnosis, keys, statistics, tables
from validation_core.diagnosis import tasks
from validation_core.diagnosis.questions import Names, by_name
from validation_core.diagnosis.questions.calibration.parameters import marginal_errors
from validation_core.diagnosis.questions.calibration.pictures import SHOWN
from validation_core.diagnosis.questions.calibration.result import (
    CalibrationErrors,
    LearnedDivergence,
)
from validation_core.diagnosis.questions.calibration.rows import parameter_row
from validation_core.diagnosis.questions.calibration.studies import (
    LearnedDivergenceStudy,
    RowErrorStudy,
)
from validation_core.diagnosis.questions.calibration.words import errors_in_words, sizes_left
from validation_core.drawing.marks import Points
from validation_core.methods import SBC, SKL
from validation_core.statistics import contraction, effects, region_coverage
from validation_core.store import Store
from validation_core.tables import Upload
from validation_core.types import Interval, PosteriorTable

NAMES = ("alpha", "beta", "gamma")
QUESTION = by_name("size")


def claims(found):
    """Each parameter's own p, corrected over parameters alone."""
    each = {errors.index: errors.pvalue_adjusted for errors in found.parameters}
    return FixedClaims(min(each.values(), default=1.0), each)


def say(found, names):
    return QUESTION.describe(found, Names(names), claims(found))


def rows_of(found, names):
    return QUESTION.rows(found, Names(names), claims(found))


def ranks(shift, width, n, k, trials, rng):
    """Ranks of truths N(0, 1) among k draws of q = N(shift, width^2): (trials, n)."""
    below = rng.binomial(k, ndtr((rng.standard_normal((trials, n)) - shift) / width))
    return statistics.randomised_ranks(below, np.zeros_like(below), k, rng)


def gaussian(n=400, k=100, d=1, shift=0.0, width=1.0, seed=0, dtype=np.float64, **more):
    """theta ~ N(0, 1), x = theta + noise: posterior N(x / 2, 1 / 2); q is shifted and widened.

    Shifts are in the true posterior sd.
    """
    rng = np.random.default_rng(seed)
    theta = rng.standard_normal((n, d))
    x = theta + rng.standard_normal((n, d))
    q = x[:, None] / 2 + np.sqrt(0.5) * (shift + width * rng.standard_normal((n, k, d)))
    arrays = {"theta": theta, "x": x, "theta_q": q}
    return Upload.of({name: a.astype(dtype) for name, a in arrays.items()} | more)


def answered(upload, seed=0):
    """What ranks, moments and densities say, without a network."""
    tasks.register_upload(upload)
    task = RowErrorStudy(digest=upload.digest, seed=seed)
    found = task.answer(upload, None, lambda fraction, live: None)
    json.dumps(QUESTION.to_json(found), allow_nan=False)
    return found


@pytest.mark.parametrize("k", [1, 3, 200])
def test_central_intervals_of_a_right_q_cover_what_they_state_at_any_k(k):
    rng = np.random.default_rng(k)
    u = ranks(0, 1, 20_000, k, 1, rng)[0]
    count = np.array(effects.covered(u).estimate) * len(u)
    for level, inside in zip(effects.LEVELS, count, strict=True):
        low, high = statistics.binomial_bounds(len(u), level, 0.999)
        assert low <= inside <= high


@pytest.mark.parametrize(("shift", "width"), [(0.0, 0.5), (0.0, 1.7), (0.8, 0.6), (-1.0, 1.0)])
def test_coverage_is_the_known_one(shift, width):
    u = ranks(shift, width, 40_000, 400, 1, np.random.default_rng(1))[0]
    found = effects.covered(u)
    for j, level in enumerate(effects.LEVELS):
        reach = width * ndtri((1 + level) / 2)
        known = ndtr(shift + reach) - ndtr(shift - reach)
        assert abs(found.estimate[j] - known) < 4 * np.sqrt(known * (1 - known) / 40_000) + 0.003
    known = ndtr(shift)
    assert abs(effects.lower_half(u).estimate - known) < 0.012
    assert (found.low <= found.estimate).all()
    assert (found.estimate <= found.high).all()


@pytest.mark.parametrize("k", [3, 20, 200])
@pytest.mark.parametrize(("shift", "width"), [(0.5, 1.0), (-0.3, 0.6), (0.2, 1.8)])
def test_bias_and_width_are_the_known_ones_at_any_k(shift, width, k):
    """Few draws attenuate normal scores; what is told is free of that."""
    u = ranks(shift, width, 60_000, k, 1, np.random.default_rng(k))[0]
    found = effects.misfit(u, k)
    assert float(found.bias.estimate) == pytest.approx(shift / width, abs=0.04)
    assert float(found.ratio.estimate) == pytest.approx(width, rel=0.06)
    assert np.sign(found.bias.estimate) == np.sign(shift)  # q too high: positive


@in_turn(500, 1000)
@pytest.mark.parametrize(
    ("shift", "width", "n", "k"),
    [(0, 1, 5, 5), (0, 1, 50, 10), (0, 1, 300, 200), (0.3, 0.7, 300, 200), (-0.5, 1.5, 300, 20),
     (0.5, 0.4, 200, 100)],
)  # fmt: skip
def test_intervals_cover_bias_and_width(shift, width, n, k, trials):
    found = effects.misfit(ranks(shift, width, n, k, trials, np.random.default_rng(n + k)), k)
    least = statistics.binomial_bounds(trials, 0.935 if n > 5 else 0.92, 0.999)[0]
    for rate, known in ((found.bias, shift / width), (found.ratio, width)):
        assert ((rate.low <= known) & (known <= rate.high)).sum() >= least
        assert (rate.high >= rate.estimate).all()
        assert (rate.low <= rate.estimate).all()


def test_coverage_intervals_hold_at_every_level():
    trials, n = 2000, 60
    u = ranks(0, 0.7, n, 50, trials, np.random.default_rng(0))
    big = effects.covered(ranks(0, 0.7, 200_000, 50, 1, np.random.default_rng(1))[0]).estimate
    found = effects.covered(u)
    inside = ((found.low <= big) & (big <= found.high)).sum(0)
    assert (inside >= statistics.binomial_bounds(trials, 0.95, 0.999)[0]).all()


@pytest.mark.parametrize(("n", "k"), [(5, 1), (40, 3), (300, 100)])
def test_the_claim_that_a_parameter_is_off_keeps_its_level(n, k):
    trials = 4000
    u = ranks(0, 1, n, k, trials, np.random.default_rng(n))
    p = effects.off_pvalue(u)
    rejected = (p <= 0.05).sum()
    assert rejected <= statistics.binomial_bounds(trials, 0.05, 0.999)[1]
    assert rejected >= statistics.binomial_bounds(trials, 0.02, 0.999)[0]  # Bonferroni over three
    assert (p > 0).all()


@pytest.mark.parametrize(("shift", "width"), [(0.3, 1.0), (0.0, 0.8), (0.0, 1.25)])
def test_the_claim_is_made_of_a_wrong_parameter(shift, width):
    u = ranks(shift, width, 500, 100, 200, np.random.default_rng(0))
    assert (effects.off_pvalue(u) <= 0.05).mean() > 0.95


def sized(shift, width, n, k, trials, seed=0, truth=None):
    """Sizes of q = N(shift, width^2) beside truths N(0, 1), or others (trials, n)."""
    rng = np.random.default_rng(seed)
    truth = rng.standard_normal((trials, n)) if truth is None else truth
    draws = shift + width * rng.standard_normal((trials, n, k))
    below = (draws < truth[..., None]).sum(-1)
    u = statistics.randomised_ranks(below, np.zeros_like(below), k, rng)
    z = (draws.mean(-1) - truth) / draws.std(-1, ddof=1)
    return effects.sizes(u, z, k)


@pytest.mark.parametrize("k", [20, 50, 200])
@pytest.mark.parametrize("width", [1.0, 0.5])
@pytest.mark.parametrize("shift", [0.1, 0.5, 1.0, 1.5, 2.0, 3.0, 5.0])
def test_intervals_of_biases_within_and_beyond_the_draws_reach_hold_them(shift, width, k):
    trials = 100
    found = sized(shift, width, 100, k, trials)
    bias, least = shift / width, statistics.binomial_bounds(trials, 0.935, 0.999)[0]
    assert ((found.bias.low <= bias) & (bias <= found.bias.high)).sum() >= least
    told = ~np.isnan(found.ratio.estimate)
    assert ((found.ratio.low <= width) & (width <= found.ratio.high))[told].sum() >= (
        statistics.binomial_bounds(int(told.sum()), 0.9, 0.999)[0] if told.any() else 0
    )
    assert np.isinf(found.bias.high[found.open]).all()
    assert found.open.mean() > 0.95 or bias < 3
    assert found.open.mean() < 0.05 or bias > 0.4


def test_a_bias_in_a_part_of_the_rows_is_a_bound_on_its_average_and_no_width():
    trials, n = 100, 400
    truth = np.random.default_rng(1).standard_normal((trials, n))
    truth[:, :100] -= 3
    found = sized(0, 1, n, 50, trials, truth=truth)
    assert found.open.mean() > 0.75
    assert ((found.bias.low <= 0.75) & (found.bias.high >= 0.75)).mean() > 0.9
    assert np.isnan(found.ratio.estimate[found.open]).all()


@pytest.mark.parametrize(("shift", "width"), [(0.5, 0.02), (0.0, 0.1), (0.3, 0.1)])
@pytest.mark.parametrize("k", [3, 50])
def test_sizes_of_a_q_that_is_far_too_narrow_hold(shift, width, k):
    found = sized(shift, width, 100, k, 200)
    known = ~np.isnan(found.bias.estimate)
    held = (found.bias.low <= shift / width) & (shift / width <= found.bias.high)
    assert (known & ~held).sum() <= statistics.binomial_bounds(200, 0.06, 0.999)[1]
    told = ~np.isnan(found.ratio.estimate)
    assert ((found.ratio.low <= width) & (width <= found.ratio.high))[told].mean() > 0.9


SHAPES = {
    "normal": (lambda rng, size: rng.standard_normal(size), 0, 0),
    "too narrow": (lambda rng, size: 1.6 * rng.standard_normal(size), 0, 0),
    "too wide": (lambda rng, size: 0.5 * rng.standard_normal(size), 0, 0),
    "biased": (lambda rng, size: 0.7 + rng.standard_normal(size), 0, 0),
    "t3": (lambda rng, size: rng.standard_t(3, size) / np.sqrt(3), 0, 1),
    "flat": (lambda rng, size: rng.uniform(-1.7, 1.7, size), 0, -1),
    "skewed": (lambda rng, size: rng.gamma(4, 1, size) / 2 - 2, 1, 0),
}


@pytest.mark.parametrize("name", SHAPES)
def test_skew_and_tails_are_told_apart_from_bias_and_width(name):
    truth, skew, tails = SHAPES[name]
    rng = np.random.default_rng(0)
    trials, n, k = 60, 500, 60
    values = truth(rng, (trials, n))
    below = rng.binomial(k, ndtr(values))
    u = statistics.randomised_ranks(below, np.zeros_like(below), k, rng)
    found = effects.shape(u, k)
    for sign, wanted, p in (
        (np.sign(found.skew), skew, found.skew_pvalue),
        (found.tails, tails, found.tails_pvalue),
    ):
        if wanted:
            assert ((p <= 0.01) & (sign == wanted)).mean() > 0.9
        elif name != "skewed":  # which has heavier tails as well
            assert (p <= 0.01).sum() <= statistics.binomial_bounds(trials, 0.01, 0.999)[1]


def test_no_shape_is_told_of_few_ranks_or_of_one_draw():
    for n, k in ((10, 20), (100, 1)):
        assert np.isnan(effects.shape(np.linspace(0.01, 0.99, n), k)).all()


def planted(make, n=800, k=100, seed=0):
    """A parameter whose truths stand to q = N(0, 1) as `make` draws them."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, 1))
    truth = x + make(rng, (n, 1))
    return Upload.of({"theta": truth, "x": x, "theta_q": x[:, None] + make_q(rng, n, k)})


def make_q(rng, n, k):
    return rng.standard_normal((n, k, 1))


@pytest.mark.parametrize(
    ("name", "said", "never"),
    [
        ("t3", "q's tails are too light", ("too wide", "under-confident", "times as wide")),
        ("skewed", "q's skew is wrong: true values reach farther up", ("too high", "times as")),
        ("too narrow", "q is 0.6", ("tails", "skew", "too high", "too low")),
        ("biased", "posterior sd too low", ("times as wide", "tails", "skew", "its width is")),
    ],
)
def test_only_what_its_own_interval_shows_is_said(name, said, never):
    (one,) = answered(planted(SHAPES[name][0])).parameters
    words = "; ".join(errors_in_words(one))
    assert said in words
    assert not any(word in words for word in never)


def test_of_a_truncated_q_the_tails_are_said():
    rng = np.random.default_rng(0)
    q = norm.ppf(rng.uniform(norm.cdf(-1.5), norm.cdf(1.5), (800, 100, 1)))
    table = table_of(rng.standard_normal((800, 1)), q)
    assert "q's tails are too light" in say(answered(table), NAMES)[0]


def test_the_case_of_a_bias_of_3_sd_is_told_as_a_bound(shared):
    upload = tables.read(shared / "cases" / "bias_of_3_sd_in_a_quarter.npz")
    found = answered(upload)
    (one,) = found.parameters
    assert one.open
    assert np.isnan(one.bias.high)
    assert not one.ratio.known
    first = say(found, NAMES)[0]
    assert "q sits at least 0.3 sd of a normal law (0.7 by q's mean and sd) too high" in first
    assert "22% of the true values lie outside all 50 draws of q" in first
    numbers = QUESTION.to_json(found)["parameters"][0]
    assert numbers["open"] is True
    assert numbers["bias_high"] is None
    assert rows_of(found, NAMES)[0]["bias, posterior sd (+ is too high), 95% interval"].endswith(
        "∞"
    )


def test_a_width_cannot_be_told_from_one_draw():
    found = effects.misfit(ranks(0.4, 1, 3000, 1, 1, np.random.default_rng(0))[0], 1)
    assert np.isnan(found.ratio.estimate)
    assert float(found.bias.estimate) == pytest.approx(0.4, abs=0.15)


def test_few_ranks_are_refused():
    with pytest.raises(ValueError, match="at least two ranks"):
        effects.misfit([0.5], 10)


@pytest.mark.parametrize("u", [np.zeros(50), np.ones(50), np.full(50, 0.5), np.tile([0, 1], 25)])
@pytest.mark.parametrize("k", [1, 2, 50])
def test_extreme_ranks_give_finite_or_unknown_numbers(u, k):
    found = effects.misfit(u, k)
    assert np.isfinite(found.bias).all()
    assert np.isfinite(found.ratio).all() or k == 1
    assert 0 < effects.off_pvalue(u) <= 1


def test_moments_tell_a_bias_and_a_width_without_the_noise_of_few_draws():
    rng = np.random.default_rng(0)
    n, k, shift, width = 60_000, 8, 0.6, 0.5
    q = shift + width * rng.standard_normal((n, k, 1))
    z = contraction.zscores(contraction.moments(q), rng.standard_normal((n, 1)))[:, 0]
    found = effects.by_moments(z, k)
    assert float(found.bias.estimate) == pytest.approx(shift / width, abs=0.03)
    needed = np.sqrt(1 + width**2 / k)  # the truth's spread about a mean of k draws
    assert float(found.ratio.estimate) == pytest.approx(width / needed, rel=0.03)
    assert found.ratio.low < found.ratio.estimate < found.ratio.high


def test_moments_of_three_draws_say_nothing():
    assert np.isnan(effects.by_moments(np.zeros(10), 3).bias.estimate)


def test_contraction_is_not_cut_off_at_the_prior():
    rng = np.random.default_rng(0)
    theta, q = rng.standard_normal((4000, 2)), rng.standard_normal((4000, 50, 2)) * [0.5, 1.5]
    found = contraction.contraction(contraction.moments(q), theta)
    assert found.estimate == pytest.approx([0.75, 1 - 1.5**2], abs=0.12)
    assert found.high[1] < 0 < found.low[0]


def test_contraction_intervals_hold():
    rng, inside, trials = np.random.default_rng(0), 0, 400
    for _ in range(trials):
        theta, scale = rng.standard_normal((200, 1)), rng.uniform(0.3, 0.7, (200, 1, 1))
        found = contraction.contraction(
            contraction.moments(scale * rng.standard_normal((200, 20, 1))), theta
        )
        inside += bool(found.low[0] <= 1 - (0.25 + 0.16 / 12) <= found.high[0])
    assert inside >= statistics.binomial_bounds(trials, 0.94, 0.999)[0]


def test_moments_do_not_lose_digits_or_copy_the_table():
    rng = np.random.default_rng(0)
    draws = (1e4 + rng.standard_normal((3000, 200, 8))).astype(np.float32)
    tracemalloc.start()
    found = contraction.moments(draws)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < draws.nbytes
    whole = draws.astype(np.float64)
    np.testing.assert_allclose(found.mean, whole.mean(1), rtol=1e-12)
    np.testing.assert_allclose(found.variance, whole.var(1, ddof=1), rtol=1e-9)
    assert (contraction.moments(np.full((4, 7, 1), 0.1, np.float32)).variance == 0).all()


def test_marginals_hold_no_second_copy_of_the_draws():
    rng = np.random.default_rng(0)
    n, k, d = 2000, 400, 10
    draws = PosteriorTable(
        *(rng.standard_normal(s, dtype=np.float32) for s in ((n, d), (n, 1), (n, k, d)))
    )
    marginal_errors(draws, 0)  # what is remembered between calls
    tracemalloc.start()
    marginal_errors(draws, 0)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 0.6 * draws.q.nbytes


def test_ranks_are_those_of_sbc_itself(tmp_path):
    upload = gaussian(d=3)
    found, store = answered(upload, seed=4), Store(tmp_path)
    for task in tasks.tasks(upload, [SBC()], 4):
        task.run(store, lambda fraction, live: None)
    (record,), _ = tasks.records(store, upload, [SBC()], 4)
    for one in found.parameters:
        u = record.arrays["u"][one.index]
        assert one.pvalue == pytest.approx(float(effects.off_pvalue(u)))
        assert one.below_median.estimate == pytest.approx((u <= 0.5).mean())


def test_the_worst_stands_first_and_is_told(golden):
    width, shift = np.array([1.0, 0.5, 0.8]), np.array([0, 0.3, 0])
    upload = gaussian(n=1000, d=3, width=width, shift=shift, seed=1)
    found = answered(upload)
    every = found.parameters
    assert [one.index for one in every] == [1, 2, 0]
    assert every[0].bias.estimate == pytest.approx(0.6, abs=0.15)
    assert every[0].ratio.estimate == pytest.approx(0.5, rel=0.1)
    golden("calibration-worst", say(found, NAMES))
    rows = rows_of(found, NAMES)
    assert [row["parameter"] for row in rows] == ["beta", "gamma", "alpha"]
    assert rows[0]["width / needed width"] == pytest.approx(0.5, rel=0.1)


@pytest.mark.parametrize(("shift", "word"), [(-0.5, "low"), (0.5, "high")])
def test_a_pure_bias_is_seen_below_the_median(shift, word, golden):
    golden(f"calibration-too-{word}", say(answered(gaussian(n=800, shift=shift)), NAMES))


def test_where_nothing_is_off_what_is_left_open_is_told(golden):
    result = answered(gaussian(n=1000, d=2))
    assert all(one.pvalue_adjusted > 0.05 for one in result.parameters)
    sentences = say(result, NAMES)
    assert "correct" not in " ".join(sentences)
    golden("calibration-none-off", sentences)


def test_severity_is_positive_where_a_nominal_rate_lies_outside_its_interval():
    for one in answered(gaussian(n=600, d=2, width=np.array([0.6, 1.0]))).parameters:
        ends = [(rate.level, rate.covers.low, rate.covers.high)
                for rate in one.coverage]  # fmt: skip
        ends.append((0.5, one.below_median.low, one.below_median.high))
        assert one.severity == pytest.approx(max(max(lo - at, at - hi) for at, lo, hi in ends))
        assert (one.severity > 0) == any(not lo <= at <= hi for at, lo, hi in ends)


@pytest.mark.parametrize(("k", "by"), [(100, "moments"), (3, "ranks")])
def test_saturated_ranks_are_said_to_be(k, by, golden):
    upload = gaussian(n=500, k=k, shift=0.5, width=0.02)
    found = answered(upload)
    (one,) = found.parameters
    assert one.by == by
    golden(f"calibration-saturated-{by}", say(found, NAMES))
    assert one.open == (by == "ranks")
    if by == "moments":
        assert one.ratio.estimate == pytest.approx(0.02, rel=0.15)
        assert one.bias.estimate == pytest.approx(25, rel=0.2)


def test_an_estimator_wider_than_the_prior_is_told(golden):
    rng = np.random.default_rng(0)
    theta = rng.standard_normal((500, 1))
    upload = Upload.of(
        {"theta": theta, "x": theta, "theta_q": 2 * rng.standard_normal((500, 50, 1))}
    )
    golden("calibration-wider-than-prior", say(answered(upload), NAMES))


def table_of(theta, q):
    return Upload.of({"theta": theta, "x": np.ones((len(theta), 1)), "theta_q": q})


ODD = {
    "five rows, one draw": lambda: gaussian(n=5, k=1),
    "five rows, two draws": lambda: gaussian(n=5, k=2, d=2),
    "one draw": lambda: gaussian(n=50, k=1, d=3),
    "constant": lambda: Upload.of(
        {"theta": np.ones((20, 2)), "x": np.arange(20.0), "theta_q": np.ones((20, 6, 2))}
    ),
    "discrete": lambda: table_of(
        np.arange(20.0)[:, None] % 3, np.tile([0.0, 1.0, 2.0], (20, 2))[..., None]
    ),
    "leak": lambda: table_of(
        np.arange(30.0)[:, None], np.tile(np.arange(30.0)[:, None, None], (1, 8, 1))
    ),
    "huge": lambda: table_of(1e200 * np.arange(9.0)[:, None], -1e200 * np.ones((9, 6, 1))),
}


@pytest.mark.parametrize("make", ODD.values(), ids=ODD.keys())
def test_odd_tables_have_numbers_sentences_and_figures(make):
    upload = make()
    found = answered(upload)
    assert say(found, NAMES)
    assert len(rows_of(found, NAMES)) == upload.dims[0]
    for picture in QUESTION.figures(found, Names(NAMES), CLAIMED):
        type(picture.figure)(picture.figure.to_plotly_json())  # plotly accepts it


def test_discrete_parameters_keep_the_level():
    rng = np.random.default_rng(0)
    trials, off = 300, 0
    for _ in range(trials):
        theta, q = rng.poisson(1.5, (60, 1)), rng.poisson(1.5, (60, 9, 1))
        draws = PosteriorTable(theta.astype(float), np.zeros((60, 1)), q.astype(float))
        off += marginal_errors(draws, int(rng.integers(1 << 30)))[0].pvalue_adjusted <= 0.05
    assert off <= statistics.binomial_bounds(trials, 0.05, 0.999)[1]


def test_holm_holds_over_parameters():
    trials, off = 300, 0
    for seed in range(trials):
        rng = np.random.default_rng(seed)
        draws = PosteriorTable(*(rng.standard_normal(s) for s in ((40, 6), (40, 1), (40, 10, 6))))
        off += marginal_errors(draws, seed)[0].pvalue_adjusted <= 0.05
    assert off <= statistics.binomial_bounds(trials, 0.05, 0.999)[1]


@pytest.mark.parametrize("width", [0.6, 1.0, 1.5])
def test_highest_density_regions_cover_what_is_known(width):
    rng = np.random.default_rng(0)
    n, k = 20_000, 100
    truth, draws = rng.standard_normal(n), width * rng.standard_normal((n, k))
    log_q, log_q_draws = (norm.logpdf(one, scale=width) for one in (truth, draws))
    found = region_coverage.regions(log_q, log_q_draws, rng)
    known = 2 * ndtr(width * ndtri((1 + np.array(effects.LEVELS)) / 2)) - 1
    assert found.rates.estimate == pytest.approx(known, abs=0.015)
    assert (found.pvalue < 1e-6) == (width != 1.0)
    assert np.sign(found.area.estimate) == np.sign(width - 1) or width == 1.0
    levels, share, low, high = region_coverage.curve(found.needed)
    outside = ((share < low - 1e-12) | (share > high + 1e-12)).any()
    assert outside == (width != 1.0)
    assert levels[0] == 0
    assert share[-1] == 1


@pytest.mark.parametrize("k", [1, 7])
def test_regions_of_a_right_q_are_exact_with_ties(k):
    rng, trials = np.random.default_rng(k), 2000
    rejected = sum(
        statistics.ks(1 - statistics.conformal_ranks(
            np.round(rng.standard_normal(40)), np.round(rng.standard_normal((40, k))), rng
        )).pvalue <= 0.05
        for _ in range(trials)
    )  # fmt: skip
    low, high = statistics.binomial_bounds(trials, 0.05, 0.999)
    assert low <= rejected <= high


def with_densities(n=600, k=40, shift=0.3, width=0.8, seed=0):
    """The conjugate table with all four log densities, off by a function of x."""
    plain = gaussian(n, k, 1, shift, width, seed)
    data = plain.data
    x, sd = data.x, np.sqrt(0.5)

    def log_p(theta, x):
        return norm.logpdf(theta, x / 2, sd).sum(-1) + 17 * x.sum(-1)

    def log_q(theta, x):
        return norm.logpdf(theta, x / 2 + shift * sd, width * sd).sum(-1)

    return Upload.of({
        **plain.arrays(), "log_joint": log_p(data.theta, x), "log_q": log_q(data.theta, x),
        "log_joint_draws": log_p(data.q, x[:, None]), "log_q_draws": log_q(data.q, x[:, None]),
    })  # fmt: skip


def test_densities_bring_regions_and_the_divergence(golden):
    upload = with_densities()
    _, estimate = QUESTION.studies(upload, diagnosis.default_methods(), 0)
    assert isinstance(estimate, LearnedDivergenceStudy)
    found = answered(upload)
    variance = 0.8**2
    known = 0.5 * (1 / variance + variance - 2) + 0.3**2 / 2 * (1 + 1 / variance)
    nats = found.divergence
    assert nats.source == "densities"
    assert abs(nats.estimate - known) < 4 * nats.sd / np.sqrt(600)
    golden("calibration-densities", say(found, NAMES))
    assert len(QUESTION.figures(found, Names(NAMES), CLAIMED)) == 7


def test_the_divergence_is_that_of_the_record(tmp_path):
    """One number, one interval and one p-value, whoever tells them."""
    upload = with_densities(n=100, k=9, shift=0.1, width=1)
    tasks.register_upload(upload)
    store = Store(tmp_path)
    (work,) = tasks.tasks(upload, [SKL()], 3)
    work.run(store, lambda fraction, live: None)
    record = work.load(store)
    nats = answered(upload, seed=3).divergence
    named = {"estimate": "skl", "low": "ci_low", "high": "ci_high"}
    same = ("boot_low", "boot_high", "median", "largest", "auc", "k", "draws", "infinite")
    assert nats.pvalue == record.pvalue
    assert 0.0005 < record.pvalue < 1
    for own, other in {**named, **{name: name for name in same}}.items():
        assert getattr(nats, own) == record.effect.numbers[other], own


def test_weighing_more_draws_leaves_less_and_takes_twice_as_many():
    nats = answered(with_densities(n=2000, k=40, shift=0.6)).divergence
    left = nats.weighted
    assert [one.m for one in left] == [2, 5, 10, 20]
    values = [nats.estimate, *(one.estimate for one in left)]
    assert values == sorted(values, reverse=True)
    assert all(one.low < one.estimate < one.high for one in left)
    few = answered(with_densities(n=50, k=2)).divergence
    assert few.weighted == ()
    assert "Importance" not in " ".join(say(answered(with_densities(n=50, k=2)), NAMES))


def test_a_classifier_stands_beside_as_an_estimate(tmp_path):
    upload = with_densities(n=300, k=20, shift=1.0)
    tasks.register_upload(upload)
    store = Store(tmp_path)
    founds = []
    for task in QUESTION.studies(upload, diagnosis.default_methods(), 0):
        task.run(store, lambda fraction, live: None)
        founds.append(task.load(store))
    both = QUESTION.gather(founds)
    assert both.divergence.source == "densities"
    assert both.estimate.source == "classifier"
    said = say(both, NAMES)
    assert any(one.startswith("For comparison, an estimate without densities.") for one in said)
    drawn = QUESTION.figures(both, Names(NAMES), CLAIMED)
    assert drawn[-1].title == "Beside a classifier's estimate"
    ticks = drawn[-1].figure.layout.yaxis.ticktext
    assert list(ticks) == ["log densities", "classifier (estimate)"]
    exact, estimate = drawn[-1].figure.data[0].x
    assert exact == pytest.approx(both.divergence.estimate, rel=1e-6)
    assert estimate == pytest.approx(both.estimate.estimate, rel=1e-6)


def test_where_many_densities_are_infinite_no_divergence_is_told():
    upload = with_densities()
    log_q = np.array(upload.densities["log_q"])
    log_q[:61] = -np.inf
    found = answered(replace(upload, densities={**upload.densities, "log_q": log_q}))
    assert found.divergence is None


def test_an_infinite_density_is_said():
    upload = with_densities()
    log_q = np.array(upload.densities["log_q"])
    log_q[:3] = -np.inf
    found = answered(replace(upload, densities={**upload.densities, "log_q": log_q}))
    assert found.divergence.infinite == 3
    assert any("In 3 of 600 rows" in one for one in say(found, NAMES))


def test_without_densities_a_classifier_estimates_the_divergence(tmp_path):
    upload = gaussian(n=300, k=20, shift=1.5)
    tasks.register_upload(upload)
    store = Store(tmp_path)
    planned = QUESTION.studies(upload, diagnosis.default_methods(), 0)
    assert [type(task) for task in planned] == [RowErrorStudy, LearnedDivergenceStudy]
    assert planned[1].needs == {keys.key(planned[1].trainings[0])}
    founds = []
    for task in planned:
        task.run(store, lambda fraction, live: None)
        founds.append(task.load(store))
    both = QUESTION.gather(founds)
    nats = both.divergence
    assert nats.source == "classifier"
    assert nats.rows == 150
    assert 1.0 < nats.estimate < 3.0  # exact: 1.5^2 = 2.25
    assert any("as far as the shared classifier sees" in one for one in say(both, NAMES))
    for part in founds:  # what is there can be shown before the rest
        shown = QUESTION.gather([part])
        assert say(shown, NAMES)
        assert QUESTION.figures(shown, Names(NAMES), CLAIMED)


def test_without_a_classifier_among_the_methods_there_is_no_estimate():
    assert [type(task) for task in QUESTION.studies(gaussian(), [SBC()], 0)] == [RowErrorStudy]


def test_obstacles_say_the_rule():
    pair = Upload.of({"p": np.zeros((9, 1)), "q": np.ones((9, 1))})
    assert "two samples p and q, which have no x" in QUESTION.obstacle(pair)
    assert QUESTION.studies(pair, diagnosis.default_methods(), 0) == ()
    assert "at least 5 simulations; got 4" in QUESTION.obstacle(gaussian(n=4))
    assert QUESTION.obstacle(gaussian(n=5)) is None


def test_keys_follow_the_densities_and_the_seed():
    plain = gaussian(n=20)
    densities = {"log_q": np.zeros(20), "log_q_draws": np.zeros((20, 100))}
    rich = Upload.of({**plain.arrays(), **densities})
    first = {QUESTION.studies(one, (), seed)[0].key for one in (plain, rich) for seed in (0, 1)}
    assert len(first) == 4


@pytest.mark.parametrize("name", ["two_moons", "sir"])
@pytest.mark.parametrize("state", ["undertrained", "well_trained"])
def test_real_tables(name, state, shared):
    upload = tables.read(shared / "data" / f"{name}_{state}.npz")
    found = answered(upload)
    every = found.parameters
    assert any(one.pvalue_adjusted <= 0.05 for one in every)
    if state == "undertrained":
        assert every[0].pvalue_adjusted < 1e-4
        assert every[0].severity > 0
    for one in every:
        assert one.ratio.low <= one.ratio.estimate <= one.ratio.high
        assert 0.7 < one.ratio.estimate < 1.4
    assert say(found, upload.names)


def test_ranks_agree_with_the_reference(reference):
    """Below and equal from given tables, tie-breakers given: the coverage that follows."""
    _, arrays, expected = reference("sbc-two_moons_undertrained")
    k = arrays["theta_q"].shape[1]
    u = (expected["ranks"] + arrays["v"] * (1 + expected["ties"])).T / (k + 1)
    np.testing.assert_allclose(u, expected["u"].T)
    rates = effects.covered(u)
    by_hand = [[np.mean(np.abs(row - 0.5) <= level / 2) for level in effects.LEVELS] for row in u]
    np.testing.assert_allclose(rates.estimate, by_hand)


def test_figures_draw_six_and_escape_names():
    rng = np.random.default_rng(0)
    n, d = 100, 9
    upload = Upload.of({
        "theta": rng.standard_normal((n, d)), "x": rng.standard_normal((n, 1)),
        "theta_q": 0.5 * rng.standard_normal((n, 20, d)),
    })  # fmt: skip
    names = tuple(f"<b>{i}</b>" for i in range(d))
    drawn = QUESTION.figures(answered(upload), Names(names), CLAIMED)
    assert len(drawn) == 3
    for picture in drawn:
        assert "<b>" not in picture.figure.to_json().replace("\\u003c", "<")
        assert picture.caption
        assert "If q were correct" in picture.caption or "If q" in picture.caption
        assert picture.figure.layout.height <= 400
    assert len(drawn[0].figure.layout.yaxis.ticktext) == SHOWN
    assert "The table has 3 more parameters." in drawn[0].caption


def test_nothing_found_draws_and_says_nothing():
    empty = CalibrationErrors()
    assert QUESTION.figures(empty, Names(NAMES), CLAIMED) == ()
    assert say(empty, NAMES) == ()
    assert rows_of(empty, NAMES) == []


def test_the_code_runs_as_it_stands(tmp_path, capsys):
    upload = gaussian(n=40, k=5, d=2)
    path = tmp_path / "table.npz"
    np.savez(path, **upload.arrays())
    exec(code_of(QUESTION, path, 3), {})
    said = capsys.readouterr().out
    assert say(answered(tables.read(path), seed=3), upload.names)[0] in said


def test_the_same_seed_gives_the_same_numbers():
    upload = gaussian(n=60, k=7, d=2)
    first, again, other = (codec.to_json(answered(upload, seed)) for seed in (5, 5, 6))
    assert first == again
    assert first != other


def test_an_estimator_that_is_the_prior_is_told(golden):
    """Calibrated in every parameter, and of no use in one of them."""
    rng = np.random.default_rng(3)
    theta = rng.standard_normal((400, 2))
    x = theta[:, :1] + 0.1 * rng.standard_normal((400, 1))
    q = rng.standard_normal((400, 60, 2))
    q[..., 0] = x / 1.01 + 0.1 * q[..., 0]
    upload = Upload.of({"theta": theta, "x": x, "theta_q": q})
    golden("calibration-prior", say(answered(upload), NAMES))


def test_a_classifier_that_points_the_wrong_way_sees_nothing(golden):
    others = {
        field.name: 0 for field in fields(LearnedDivergence) if field.name not in ("slope", "rows")
    }
    nats = LearnedDivergence(**{**others, "rows": 250, "slope": -0.35})
    golden("calibration-blind-classifier", say(CalibrationErrors(divergence=nats), NAMES))


def test_one_open_error_is_one():
    rng = np.random.default_rng(1)
    upload = table_of(rng.standard_normal((60, 1)), rng.standard_normal((60, 1, 1)))
    found = answered(upload)
    assert not found.parameters[0].ratio.known  # a single draw has no width
    assert "the data still allow a bias" in say(found, NAMES)[0]


def test_ends_that_nothing_bounds_are_not_numbers(golden):
    rng = np.random.default_rng(2)
    five = table_of(rng.standard_normal((5, 1)), rng.standard_normal((5, 4, 1)))
    (one,) = answered(five).parameters
    ratio, bias = Interval(one.ratio.estimate, 0.05, 20.0), Interval(one.bias.estimate, -20.0, 3.0)
    open_ = replace(one, ratio=ratio, bias=bias, pvalue_adjusted=1.0)
    off = replace(one, ratio=Interval(2.58, 1.21, 20.0), pvalue_adjusted=0.01)
    both = [CalibrationErrors(parameters=(parameter,), k=4) for parameter in (open_, off)]
    golden("calibration-open-ends", [line for result in both for line in say(result, NAMES)])


def test_a_width_whose_search_was_held_at_a_limit_is_open_wherever_it_is_told():
    one = answered(gaussian(n=40, k=5, d=1)).parameters[0]
    left = replace(one, ratio=Interval(0.5, 0.05, 20.0), pvalue_adjusted=1.0)
    off = replace(left, ratio=Interval(0.5, 0.05, 0.79), pvalue_adjusted=0.01)
    assert "widths from 0 to ∞ times" in sizes_left([left])
    assert "q is 0.50 [0, 0.79] times as wide" in " ".join(errors_in_words(off))
    shown = [parameter_row(one, "a", CLAIMED) for one in (left, off)]
    ends = [row["width / needed width, 95% interval"] for row in shown]
    assert ends == ["0.000 to ∞", "0.000 to 0.790"]
    numbers = codec.to_json(CalibrationErrors(parameters=(left, off)))["parameters"]
    assert [(each["ratio_low"], each["ratio_high"]) for each in numbers] == [(0, None), (0, 0.79)]


def test_figures_of_an_open_bias_reach_the_axis_and_leave_the_width_out(shared):
    found = answered(tables.read(shared / "cases" / "bias_of_3_sd_in_a_quarter.npz"))
    (misfit,) = (
        drawn
        for drawn in QUESTION.figures(found, Names(NAMES), CLAIMED)
        if drawn.title == "Bias and width"
    )
    left, right = misfit.picture.panels
    (bias,), (ratio,) = (
        [mark for mark in panel.marks if isinstance(mark, Points)] for panel in (left, right)
    )
    assert bias.right[0] == left.x.limits[1]
    assert np.isnan(ratio.x).all()
    misfit.figure.to_json()
