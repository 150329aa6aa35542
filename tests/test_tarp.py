"""TARP: exact for any references, agrees with the packages' counts, sees what theirs cannot."""

import dataclasses

import numpy as np
import plotly.graph_objects as go
import pytest
from scipy.stats import ks_2samp

from tests.given_uniforms import GivenUniforms
from tests.records import record_of
from validation_core import keys, sampling, scores, statistics
from validation_core.benchmarks import BENCHMARKS
from validation_core.drawing import plotly
from validation_core.hashing import again, hashed, occurrences, uniforms
from validation_core.methods import tarp
from validation_core.methods.tarp import TARP
from validation_core.panels.record import pictures
from validation_core.rng import stream
from validation_core.scores import reference as regression
from validation_core.scores import trained_scores
from validation_core.scores.reference import (
    ROWS,
    References,
    distances_from_references,
    fit_conditional_mean,
)
from validation_core.statistics import coverage
from validation_core.store import Store
from validation_core.types import Joint, PosteriorTable, TableScores

TRIALS = 2000
CASES = (
    "tarp-1-two_moons_undertrained",
    "tarp-2-two_moons_well_trained",
    "tarp-3-sir_undertrained",
    "tarp-4-sir_well_trained",
)
KINDS = [(reference, metric) for reference in ("random", "x")
         for metric in ("euclidean", "manhattan")]  # fmt: skip


def gaussian(perturbation="covariance_scaling"):
    return BENCHMARKS["gaussian"](perturbation=perturbation)


def learn(method, data, seed=0, n=200):
    return method.recipe(n, 1).learn_all([data], [seed])[0]


def learnt(method, benchmark, gamma=0.0, n=200):
    return learn(method, method.recipe(n, 1).sample(benchmark, gamma, stream(0, "train")), n=n)


def run(method, score, draws, trials, *names):
    """The test of a long table cut into equal trials."""
    built = scores.apply(score, draws)
    n, k = built.draws.shape[1:]
    cut = TableScores(
        built.truth.reshape(trials, 1, n // trials), built.draws.reshape(trials, 1, n // trials, k)
    )
    return method.test(cut, stream(1, *names))


def within_level(pvalues):
    low, high = statistics.binomial_bounds(len(pvalues), 0.05, 0.999)
    assert pvalues.min() > 0
    assert low <= (pvalues <= 0.05).sum() <= high


@pytest.mark.parametrize(("reference", "metric"), KINDS)
@pytest.mark.parametrize("k", [1, 12])
def test_level(reference, metric, k):
    """Whatever the references: with one draw per x as with several."""
    method, benchmark = TARP(reference=reference, metric=metric), gaussian()
    draws = sampling.table(benchmark, 0.0, 40 * TRIALS, k, stream(2, reference, metric))
    score = learnt(method, benchmark).at()
    within_level(run(method, score, draws, TRIALS, "level").pvalue)


@pytest.mark.parametrize("reference", ["random", "x"])
def test_level_with_ties(reference):
    """Rounded parameters: many draws are the truth, and many more as far away."""
    method, benchmark = TARP(reference=reference), gaussian()
    built = sampling.table(benchmark, 0.0, 40 * TRIALS, 10, stream(3, reference))
    draws = dataclasses.replace(built, theta=np.round(built.theta[:, :1] / 2),
                                q=np.round(built.q[..., :1] / 2))  # fmt: skip
    trained = learn(method, Joint(draws.theta[:200], draws.x[:200]))
    result = run(method, trained.at(), draws, TRIALS, "ties")
    assert result.arrays["tied"].mean() > 0.5
    within_level(result.pvalue)


@pytest.mark.parametrize("columns", ["constant", "none", "few"])
def test_level_where_x_repeats(columns):
    """One x for all rows, no x at all, or three: references by row, still exact."""
    rng = stream(4, columns)
    n, k = 40 * TRIALS, 8
    x = {"constant": np.ones((n, 2)), "none": np.empty((n, 0)),
         "few": rng.integers(3, size=(n, 1)).astype(float)}[columns]  # fmt: skip
    theta, q = rng.standard_normal((n, 2)), rng.standard_normal((n, k, 2))
    for reference in ("random", "x"):
        method = TARP(reference=reference)
        score = learn(method, Joint(rng.standard_normal((50, 2)), x[:50])).at()
        within_level(run(method, score, PosteriorTable(theta, x, q), TRIALS, columns).pvalue)


@pytest.mark.parametrize(("reference", "metric"), KINDS)
@pytest.mark.parametrize("gamma", [-0.6, 1.4])
def test_power(reference, metric, gamma):
    """A q that is too narrow or too wide is seen, and named."""
    method, benchmark = TARP(reference=reference, metric=metric), gaussian()
    draws = sampling.table(benchmark, gamma, 300 * 20, 40, stream(5, gamma))
    result = run(method, learnt(method, benchmark).at(), draws, 20, "power")
    assert (result.pvalue <= 0.05).mean() >= 0.9
    ends = [result.arrays[name] for name in ("atc_low", "atc_high")]
    readings = [coverage.reading(*each) for each in zip(*ends, strict=True)]
    wanted = "covers less than stated" if gamma < 0 else "covers more than stated"
    assert readings.count(wanted) >= 18


def test_blind_prior_is_seen_only_by_references_that_follow_x():
    benchmark = gaussian("blind_prior")
    gamma, trials = benchmark.gammas[-1], 1000
    draws = sampling.table(benchmark, gamma, 60 * trials, 20, stream(6))
    result = {
        reference: run(
            TARP(reference=reference),
            learnt(TARP(reference=reference), benchmark, gamma).at(), draws, trials, "blind",
        ).pvalue
        for reference in ("random", "x")
    }  # fmt: skip
    within_level(result["random"])
    assert (result["x"] <= 0.05).mean() >= 0.95


def test_outcome():
    method = TARP()
    built = TableScores(*(stream(7, i).standard_normal(s)
                         for i, s in enumerate([(3, 1, 30), (3, 1, 30, 9)])))  # fmt: skip
    outcome = method.test(built, stream(8))
    assert outcome.statistic.shape == outcome.pvalue.shape == (3,)
    assert outcome.budget == method.budget(30, 9) == (30, 270)
    assert outcome.arrays["u"].shape == (3, 30)
    np.testing.assert_array_equal(outcome.arrays["k"], [9, 9, 9])
    np.testing.assert_array_equal(outcome.arrays["tied"], 0)
    below, equal = statistics.count(built.truth[:, 0], built.draws[:, 0])
    assert not equal.any()
    u = outcome.arrays["u"]
    assert ((below / 10 <= u) & (u <= (below + 1) / 10)).all()
    np.testing.assert_array_equal(outcome.statistic, statistics.ks(u).statistic)


def test_identical_samples_do_not_reject():
    """All draws are the truth: every rank is a coin's."""
    theta = stream(9).standard_normal((TRIALS * 20, 2))
    draws = PosteriorTable(theta, stream(10).standard_normal((TRIALS * 20, 1)),
                  np.repeat(theta[:, None], 5, axis=1))  # fmt: skip
    for reference in ("random", "x"):
        method = TARP(reference=reference)
        trained = learn(method, Joint(theta[:100], draws.x[:100]))
        result = run(method, trained.at(), draws, TRIALS, "same")
        np.testing.assert_array_equal(result.arrays["tied"], 1)
        within_level(result.pvalue)


def test_describes_itself():
    labels = {TARP(reference=r, metric=m).label for r, m in KINDS}
    assert labels == {"TARP", "TARP manhattan", "TARP x", "TARP x manhattan"}
    for reference, metric in KINDS:
        method = TARP(reference=reference, metric=metric)
        assert keys.read(keys.canonical_text(method)) == method
        recipe = method.recipe(50, 10)
        assert (recipe.reference, recipe.metric, recipe.train) == (reference, metric, 50)
        assert keys.read(keys.canonical_text(recipe)) == recipe
    with pytest.raises(ValueError, match="reference is one of random, x; got 'prior'"):
        TARP(reference="prior")
    with pytest.raises(ValueError, match="metric is one of euclidean, manhattan; got 'cosine'"):
        TARP(metric="cosine")


def given(reference, name):
    """A case's table and references, in the units its distances are measured in."""
    case, arrays, expected = reference(name)
    theta, q = (arrays[part].astype(np.float64) for part in ("theta", "theta_q"))
    points = arrays["references"]
    if case["parameters"]["min_max_normalised"]:
        low = theta.min(0)
        width = theta.max(0) - low + 1e-10
        theta, q, points = (theta - low) / width, (q - low) / width, arrays["references_unit"]
    return case, arrays, expected, theta, q, points


@pytest.mark.parametrize("name", CASES)
def test_counts_agree_with_the_packages(reference, name):
    case, arrays, expected, theta, q, points = given(reference, name)
    outputs, k = case["outputs"], q.shape[1]
    both = np.concatenate([theta[:, None], q], axis=1)
    far = distances_from_references(both, points, case["parameters"]["metric"])
    below, equal = statistics.count(far[:, 0], far[:, 1:])
    np.testing.assert_array_equal(below, expected["counts"])
    assert equal.sum() == outputs["ties_total"]
    np.testing.assert_allclose(below / k, expected["coverage"], rtol=0, atol=1e-14)
    u = statistics.randomised_ranks(below, equal, k, GivenUniforms(arrays["v"]))
    np.testing.assert_allclose(u, expected["u"], rtol=0, atol=1e-14)
    result = statistics.ks(u)
    assert result.statistic == pytest.approx(outputs["ks_statistic_randomised"], rel=1e-9)
    assert result.pvalue == pytest.approx(outputs["ks_p_randomised"], rel=1e-6)


@pytest.mark.parametrize("name", CASES)
def test_curve_agrees_with_the_packages(reference, name):
    """But for ranks that a level cuts: theirs are fractions of k, ours randomised."""
    _, _, expected = reference(name)
    curve = coverage.coverage(expected["u"], expected["alpha"])
    assert np.abs(curve - expected["ecp_exact"]).max() <= 0.05


@pytest.mark.parametrize("name", CASES[1:3])
def test_where_sbi_finds_nothing_at_all(reference, name):
    """Its p-value compares points of the curve with points of the diagonal, as two samples."""
    case, _, expected = reference(name)
    assert statistics.ks(expected["u"]).pvalue < 0.05
    assert case["outputs"]["sbi_check_tarp_p"] > 0.999
    theirs = ks_2samp(expected["sbi_ecp"], expected["sbi_alpha"]).pvalue
    assert theirs == pytest.approx(case["outputs"]["sbi_check_tarp_p"], rel=1e-6)


def test_points_of_a_curve_are_no_sample():
    """q 30% too narrow: comparing curves never rejects, the coverage values always do."""
    rng, trials, n, k = stream(11), 60, 500, 100
    x = 3 * rng.standard_normal((trials * n, 2))
    theta = x + rng.standard_normal(x.shape)
    q = x[:, None] + 0.7 * rng.standard_normal((trials * n, k, 2))
    trained = learn(TARP(), Joint(theta[:500], x[:500]))
    result = run(TARP(), trained.at(), PosteriorTable(theta, x, q), trials, "narrow")
    assert (result.pvalue <= 0.05).all()
    curves = coverage.coverage(result.arrays["u"])
    assert all(ks_2samp(curve, statistics.GRID).pvalue > 0.05 for curve in curves)


def table(n=60, k=7, d=3, m=2, seed=12):
    rng = stream(seed)
    x = rng.standard_normal((n, m))
    theta = x[:, :1] + rng.standard_normal((n, d))
    return PosteriorTable(theta, x, x[:, None, :1] + rng.standard_normal((n, k, d)))


@pytest.mark.parametrize(("reference", "metric"), KINDS)
@pytest.mark.parametrize("d", [1, 3, 20])
def test_row_by_row_and_as_a_table(reference, metric, d):
    draws = table(d=d)
    score = learn(TARP(reference=reference, metric=metric), Joint(draws.theta, draws.x)).at()
    built = scores.apply(score, draws)
    np.testing.assert_allclose(score(draws.theta, draws.x), built.truth[0], rtol=1e-9)
    rows = score(draws.q.reshape(-1, d), np.repeat(draws.x, 7, axis=0))
    np.testing.assert_allclose(rows.reshape(-1, 7), built.draws[0], rtol=1e-9)
    by_hand = (draws.q - score.points(draws.x)[:, None]) / score.width
    by_hand = np.abs(by_hand) if metric == "manhattan" else by_hand**2
    np.testing.assert_allclose(built.draws[0], by_hand.sum(-1), rtol=1e-9)


@pytest.mark.parametrize("d", [1, 2, 9, 33])
@pytest.mark.parametrize("reference", ["random", "x"])
def test_a_draw_that_is_the_truth_ties(reference, d):
    draws = table(n=500, d=d)
    q = draws.q.copy()
    q[:, 3] = draws.theta
    score = learn(TARP(reference=reference), Joint(draws.theta, draws.x)).at()
    built = scores.apply(score, dataclasses.replace(draws, q=q))
    np.testing.assert_array_equal(built.draws[0, :, 3], built.truth[0])


@pytest.mark.parametrize("reference", ["random", "x"])
def test_references_see_x_alone(reference):
    draws, other = table(), table(seed=13)
    score = learn(TARP(reference=reference), Joint(draws.theta, draws.x)).at()
    points = score.points(draws.x)
    np.testing.assert_allclose(score.points(draws.x[::-1])[::-1], points, rtol=1e-12)
    assert not np.isclose(score.points(np.nextafter(draws.x, 9)), points).any()
    mixed = dataclasses.replace(other, x=draws.x)
    np.testing.assert_allclose(
        scores.apply(score, mixed).truth[0], score(other.theta, draws.x), rtol=1e-9
    )
    reseeded = learn(TARP(reference=reference), Joint(draws.theta, draws.x), seed=1).at()
    assert not np.isclose(reseeded.points(draws.x), points).any()


def test_random_references_fill_the_box_of_the_training_truths():
    draws = table(n=4000)
    pairs = Joint(draws.theta[:100], draws.x[:100])
    score = learn(TARP(), pairs).at()
    points = score.points(draws.x)
    low, high = pairs.theta.min(0), pairs.theta.max(0)
    assert ((low <= points) & (points <= high)).all()
    unit = (points - low) / (high - low)
    assert (statistics.ks(unit.T).pvalue > 1e-3).all()
    assert np.abs(np.corrcoef(unit.T) - np.eye(3)).max() < 0.06


def test_references_that_follow_x_are_about_the_mean():
    rng = stream(14)
    x = rng.standard_normal((3000, 2))
    mean = np.stack([4 * x[:, 0], 2 * x[:, 0] * x[:, 1]], axis=1)
    theta = mean + np.array([0.5, 1.0]) * rng.standard_normal((3000, 2))
    trained = learn(TARP(reference="x"), Joint(theta[:1000], x[:1000]))
    off = trained.at().points(x[1000:]) - mean[1000:]
    np.testing.assert_allclose(off.mean(0), 0, atol=0.1)
    np.testing.assert_allclose(off.std(0), [0.5, 1.0], rtol=0.1)
    expected = 1 - np.array([0.25, 1.0]) / theta.var(0)
    np.testing.assert_allclose(trained.mean.r2, expected, atol=0.03)
    assert trained.summary == {"r2": pytest.approx(expected.mean(), abs=0.03)}


def test_regression_of_noise_explains_nothing():
    """More columns than rows: the penalty chosen out of sample keeps the mean."""
    rng = stream(15)
    result = fit_conditional_mean(rng.standard_normal((100, 2)), rng.standard_normal((100, 300)))
    assert (result.r2 < 0.1).all()
    assert (result.sd > 0.8).all()
    fresh = result(rng.standard_normal((50, 300)))
    assert fresh.std() < 0.5


@pytest.mark.parametrize(("n", "f"), [(20, 5), (20, 19), (20, 40), (2, 3), (3, 0)])
def test_leave_one_out_residuals_equal_as_many_refits(n, f):
    """The closed form against as many fits, with fewer columns than rows, as many, and more."""
    rng = stream(16, n, f)
    features, theta = rng.standard_normal((n, f)), rng.standard_normal((n, 2))
    features, theta = features - features.mean(0), theta - theta.mean(0)
    whole = []
    for penalty in regression.RIDGE_PENALTIES * n:
        off = np.empty((n, 2))
        for i in range(n):
            others = np.delete(np.arange(n), i)
            middle, mean = features[others].mean(0), theta[others].mean(0)
            z = features[others] - middle
            slope = np.linalg.solve(z.T @ z + penalty * np.eye(f), z.T @ (theta[others] - mean))
            off[i] = theta[i] - mean - (features[i] - middle) @ slope
        whole.append((off**2).mean(0))
    _, errors = regression.fit_ridge(features, theta)
    np.testing.assert_allclose(errors, np.min(whole, axis=0), rtol=1e-6)


@pytest.mark.parametrize("reference", ["random", "x"])
def test_units_and_origin_of_a_parameter_do_not_matter(reference):
    draws = table(n=300, k=20)
    scale, shift = np.array([1e-3, 7.0, 1e5]), np.array([5.0, -3.0, 1e4])
    moved = PosteriorTable(draws.theta * scale + shift, draws.x, draws.q * scale + shift)
    counts = []
    for item in (draws, moved):
        score = learn(TARP(reference=reference), Joint(item.theta[:100], item.x[:100])).at()
        built = scores.apply(score, item)
        counts.append(statistics.count(built.truth, built.draws)[0])
    np.testing.assert_array_equal(*counts)


def test_order_of_draws_and_of_simulations_does_not_matter():
    draws = table(n=100, k=20)
    score = learn(TARP(), Joint(draws.theta, draws.x)).at()
    built = scores.apply(score, draws)
    shuffled = dataclasses.replace(draws, q=draws.q[:, stream(17).permutation(20)])
    again_made = scores.apply(score, shuffled)
    np.testing.assert_array_equal(
        statistics.count(built.truth, built.draws),
        statistics.count(again_made.truth, again_made.draws),
    )
    order = stream(18).permutation(100)
    other = scores.apply(score, PosteriorTable(draws.theta[order], draws.x[order], draws.q[order]))
    np.testing.assert_array_equal(other.truth, built.truth[:, order])
    np.testing.assert_array_equal(other.draws, built.draws[:, order])


def test_pieces_of_memory_do_not_matter(monkeypatch):
    draws = table(n=50)
    score = learn(TARP(reference="x"), Joint(draws.theta, draws.x)).at()
    whole = scores.apply(score, draws)
    monkeypatch.setattr("validation_core.scores.reference.NUMBERS_AT_ONCE", 60)
    monkeypatch.setattr("validation_core.hashing.NUMBERS_AT_ONCE", 7)
    parts = scores.apply(score, draws)
    np.testing.assert_array_equal(parts.truth, whole.truth)
    np.testing.assert_array_equal(parts.draws, whole.draws)


@pytest.mark.parametrize(("reference", "metric"), KINDS)
def test_stored_and_read(reference, metric):
    draws = table()
    recipe = References(reference=reference, metric=metric, train=30)
    source = trained_scores.Simulated(benchmark=gaussian(), gamma=0.2)
    training = trained_scores.Training(source=source, recipe=recipe, seed=5)
    store = Store()
    built = trained_scores.trained(store, training)
    read = trained_scores.load(store, training)
    assert read.summary == built.summary
    x = stream(19).standard_normal((len(draws), 3))
    before, after = (scores.apply(item.at(0.7), PosteriorTable(draws.theta, x, draws.q))
                     for item in (built, read))  # fmt: skip
    np.testing.assert_array_equal(before.truth, after.truth)
    np.testing.assert_array_equal(before.draws, after.draws)


def test_hashed_numbers_are_uniform_and_independent():
    x = np.arange(40_000.0).reshape(-1, 2)  # neighbours in every bit pattern
    words = hashed(x, np.array([3], np.uint64))
    assert len(np.unique(words)) == len(words)
    u = uniforms(words, 4)
    assert ((u > 0) & (u < 1)).all()
    assert (statistics.ks(u.T).pvalue > 1e-3).all()
    assert np.abs(np.corrcoef(u.T) - np.eye(4)).max() < 0.03
    assert np.abs(np.corrcoef(u[:-1, 0], u[1:, 0])[0, 1]) < 0.03
    means = [((words >> np.uint64(bit)) & np.uint64(1)).mean() for bit in range(64)]
    np.testing.assert_allclose(means, 0.5, atol=0.02)


def test_hash_is_of_numbers_not_of_their_storage():
    x = stream(20).standard_normal((50, 3)).astype(np.float32)
    salt = np.array([2**63 + 1], np.uint64)
    words = hashed(x, salt)
    np.testing.assert_array_equal(hashed(x.astype(np.float64), salt), words)
    np.testing.assert_array_equal(hashed(np.asfortranarray(x), salt), words)
    np.testing.assert_array_equal(
        hashed(np.array([[0.0]]), salt), hashed(np.array([[-0.0]]), salt)
    )
    assert not np.isin(hashed(x[:, ::-1], salt), words).any()
    assert not np.isin(hashed(x, salt + np.uint64(1)), words).any()


def test_repeated_rows_get_words_of_their_own():
    words = np.array([5, 9, 5, 5, 9, 7], np.uint64)
    times = occurrences(words)
    np.testing.assert_array_equal(times, [0, 0, 1, 2, 1, 0])
    built = again(words, times)
    np.testing.assert_array_equal(built[times == 0], words[times == 0])
    assert len(np.unique(built)) == 6
    assert len(occurrences(words[:0])) == 0


@pytest.mark.parametrize("columns", [0, 1])
def test_a_table_of_one_x_has_many_references(columns):
    draws = table(n=200, m=1)
    text = dataclasses.replace(draws, x=np.full((200, columns), 2.5))
    for reference in ("random", "x"):
        score = learn(TARP(reference=reference), Joint(text.theta, text.x)).at()
        assert len(np.unique(score.points(text.x), axis=0)) == 200
        # Rows by themselves have nothing but x: its first reference.
        rows = score(text.theta, text.x)
        assert rows[0] == pytest.approx(scores.apply(score, text).truth[0, 0])


@pytest.mark.parametrize("reference", ["random", "x"])
def test_a_parameter_that_never_changes(reference):
    draws = table(n=200)
    theta, q = draws.theta.copy(), draws.q.copy()
    theta[:, 1] = q[..., 1] = 3.0
    stuck = PosteriorTable(theta, draws.x, q)
    score = learn(TARP(reference=reference), Joint(theta, draws.x)).at()
    built = scores.apply(score, stuck)
    assert np.isfinite(built.draws).all()
    # It adds the same to every distance at an x: the others decide.
    free = PosteriorTable(theta[:, ::2], draws.x, q[..., ::2])
    unit = (free.q - score.points(draws.x)[:, None, ::2]) / score.width[::2]
    rest = built.draws[0] - (unit**2).sum(-1)
    np.testing.assert_allclose(rest, np.broadcast_to(rest[:, :1], rest.shape), atol=1e-9)
    # A q that does change it is seen.
    loose = dataclasses.replace(stuck, q=q + stream(21).standard_normal(q.shape) * [0, 1, 0])
    assert TARP().test(scores.apply(score, loose), stream(22)).pvalue < 1e-6


def test_heavy_tails_are_far_away_not_an_error():
    draws = table()
    q = draws.q.copy()
    q[:, 0] = 1e300
    score = learn(TARP(), Joint(draws.theta, draws.x)).at()
    built = scores.apply(score, dataclasses.replace(draws, q=q))
    assert (built.draws[0, :, 0] == np.inf).all()
    assert 0 < float(TARP().test(built, stream(23)).pvalue) <= 1


@pytest.mark.parametrize("reference", ["random", "x"])
def test_few_pairs(reference):
    method, draws = TARP(reference=reference), table(n=2, k=1, d=1)
    recipe = method.recipe(2, 1)
    score = recipe.learn_all([recipe.of_table(draws, stream(24))], [0])[0].at()
    assert 0 < float(method.test(scores.apply(score, draws), stream(25)).pvalue) <= 1
    item = PosteriorTable(draws.theta[:1], draws.x[:1], draws.q[:1])
    with pytest.raises(ValueError, match="at least 2 true pairs; got 1"):
        recipe.of_table(item, stream(26))
    with pytest.raises(ValueError, match="at least two ranks"):
        method.test(scores.apply(score, item), stream(27))


def test_numbers_that_are_none():
    draws = table()
    draws.theta[3, 1] = np.nan
    with pytest.raises(ValueError, match="finite numbers; got NaN or infinite"):
        TARP().recipe(9, 9).of_table(draws, stream(28))


@pytest.mark.parametrize("m", [0, 1, 17, 250])
def test_any_width_of_x(m):
    draws = table(n=80, m=max(m, 1))
    wide = dataclasses.replace(draws, x=draws.x[:, :m])
    trained = learn(TARP(reference="x"), Joint(wide.theta, wide.x))
    assert np.isfinite(scores.apply(trained.at(), wide).draws).all()
    assert np.isfinite(trained.summary["r2"])
    assert len(wide.x) < ROWS


def test_area_is_that_of_the_curve():
    u = stream(29).beta(2, 1.3, size=(4, 300))
    fine = np.linspace(0.5, 1, 20_001)
    share = (u[..., None] <= fine).mean(1)
    expected = ((share - fine)[:, 1:] + (share - fine)[:, :-1]).mean(-1) / 4
    atc = coverage.atc(u, stream(30))
    np.testing.assert_allclose(atc.estimate, expected, atol=1e-4)
    assert ((atc.low < atc.estimate) & (atc.estimate < atc.high)).all()
    assert coverage.atc(np.full(5, 0.25), stream(31)).estimate == pytest.approx(1 / 8)
    assert coverage.atc(np.ones(5), stream(31)).estimate == pytest.approx(-3 / 8)


@pytest.mark.parametrize("shape", [(1, 1), (1.3, 1.3), (0.8, 0.8), (1, 1.5)])
def test_area_lies_in_its_interval(shape):
    from scipy.special import betainc

    fine = np.linspace(0.5, 1, 10_001)
    truth = (betainc(*shape, fine) - fine).mean() / 2
    atc = coverage.atc(stream(32, *shape).beta(*shape, size=(3000, 200)), stream(33))
    inside = ((atc.low <= truth) & (truth <= atc.high)).mean()
    assert 0.93 <= inside <= 0.965


def test_resamples_in_pieces(monkeypatch):
    """Every resample draws n of n; memory bounds how many at once, not which."""
    u = stream(34).random((2, 40))
    whole = coverage.atc(u, stream(35))
    for times in coverage.bootstrap_counts(40, 9, stream(36)):
        assert (times.sum(1) == 40).all()
    monkeypatch.setattr(coverage, "SIMULATIONS_AT_ONCE", 200)
    np.testing.assert_allclose(coverage.atc(u, stream(35)), whole)


def test_reading():
    assert coverage.reading(0.01, 0.1) == "covers more than stated"
    assert coverage.reading(-0.1, -0.01) == "covers less than stated"
    assert coverage.reading(-0.01, 0.01) == "as stated"


def test_bootstrap_band_is_that_of_resampled_curves():
    """The multinomial short cut against simulations that are named one by one."""
    u = stream(37).beta(1.5, 1, size=80)
    low, high = coverage.bootstrap_band(u, stream(38), resamples=20_000)
    choice = stream(39).choice(u, size=(20_000, 80))
    ends = np.quantile(coverage.coverage(choice), [0.025, 0.975], axis=0)
    np.testing.assert_allclose([low, high], ends, atol=1.01 / 80)
    assert np.abs(np.array([low, high]) - ends).mean() < 0.003
    assert (low[0], high[-1]) == (0, 1)
    several = coverage.bootstrap_band(np.stack([u, u**2]), stream(40))
    assert [part.shape for part in several] == [(2, 101), (2, 101)]


def test_replicates_differ():
    """A generator made anew in every replicate would repeat one resample."""
    u = stream(41).random(50)
    low, high = coverage.bootstrap_band(u, stream(42))
    assert (high - low)[20:80].min() > 0.1


def test_whole_curve_stays_in_its_band():
    u = stream(43).random((4000, 100))
    low, high = (statistics.GRID + end for end in statistics.ecdf_band(100))
    curve = coverage.coverage(u)
    slack = 1e-9  # shares are k/100 on both sides
    inside = ((low - slack <= curve) & (curve <= high + slack)).all(-1).mean()
    assert 0.95 - 0.012 <= inside <= 0.985


def test_bad_coverage():
    for bad in ([0.5], [0.2, 1.5], [np.nan, 0.5], 0.5):
        with pytest.raises(ValueError, match="at least two ranks"):
            coverage.atc(bad, stream(44))
    with pytest.raises(ValueError, match="at least two ranks"):
        coverage.coverage([0.5])


def arrays_of(u):
    atc = coverage.atc(u, stream(45))
    return {"u": u, "k": np.array(20), "atc": atc.estimate, "atc_low": atc.low,
            "atc_high": atc.high, "tied": np.array(0.0)}  # fmt: skip


@pytest.mark.parametrize("u", [stream(46).random(300), np.zeros(0), np.array([0.5])])
def test_plotly_accepts_it(u):
    drawings = pictures(record_of(TARP, arrays_of(u) if u.size > 1 else {"u": u}))
    for item in drawings:
        go.Figure(item.figure.to_dict())  # figures skip validation for speed: once here
        assert item.figure.layout.paper_bgcolor == "rgba(0,0,0,0)"
        assert len(item.figure.to_json()) < 60_000
        assert item.title
        assert "If q were correct" in item.caption
        assert "q is correct" not in item.caption
    if u.size < 2:
        assert not drawings[0].figure.data
        assert drawings[0].figure.layout.annotations[0].text.startswith("No")
        assert "ATC" not in drawings[0].caption


def test_no_arrays_no_figure():
    assert not pictures(record_of(TARP, {}))[0].figure.data
    assert tarp.area_to_curve_text({}) == ""


def test_the_caption_has_the_area_and_no_word_on_confidence():
    arrays = arrays_of(stream(47).beta(3, 3, size=500))
    caption = pictures(record_of(TARP, arrays))[0].caption
    assert caption.startswith("ATC +0.0")
    assert "confident" not in caption
    assert tarp.area_to_curve_text({"u": arrays["u"]}).startswith("ATC +0.0")


def test_axes_do_not_hide_a_wide_posterior():
    """Truths all in the middle of q: the axis still runs from 0 to 1, and the curve leaves."""
    rng = stream(48)
    x = rng.standard_normal((400, 1))
    wide = PosteriorTable(x + 0.1 * rng.standard_normal((400, 1)), x,
                 x[:, None] + 3 * rng.standard_normal((400, 50, 1)))  # fmt: skip
    # A box far beyond the draws: distances from its points are ranks along a line.
    score = learn(TARP(), Joint(100 * wide.theta, wide.x)).at()
    outcome = TARP().test(scores.apply(score, wide), stream(49))
    u = outcome.arrays["u"]
    assert u.min() > 0.02
    assert u.max() < 0.98
    panel = tarp.coverage_curve(u)
    assert panel.x.limits == panel.y.limits == (0, 1)
    grey, _, band, line = plotly.figure(panel).data
    np.testing.assert_allclose(np.asarray(line.x)[[0, -1]], [0, 1])
    np.testing.assert_allclose(np.asarray(line.y)[[0, -1]], [0, 1])
    levels = np.asarray(line.x)
    np.testing.assert_array_equal(np.asarray(line.y)[levels < u.min()], 0)
    np.testing.assert_array_equal(np.asarray(line.y)[levels > u.max()], 1)
    outside = np.asarray(line.y) > np.asarray(grey.y)[: len(levels)]
    assert outside.sum() > 20
    assert len(band.y) == 2 * len(levels)
    assert float(outcome.pvalue) < 1e-6
