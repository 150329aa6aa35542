"""DC: the test is valid for any shared score, the score is good, no slot gives itself away."""

import numpy as np
import plotly.graph_objects as go
import pytest

from tests.conftest import in_turn
from tests.records import record_of
from validation_core import keys, sampling, scores, statistics
from validation_core.benchmarks import BENCHMARKS
from validation_core.methods import dc
from validation_core.methods.dc import DC
from validation_core.panels.record import pictures
from validation_core.rng import stream
from validation_core.scores.input_transform import InputTransform
from validation_core.scores.slot_classifier import SlotClassifier
from validation_core.scores.slot_classifier_training import (
    SlotObjective,
    flatten_parameters,
    initial_parameters,
)
from validation_core.statistics import slots
from validation_core.statistics.permutation import share_beyond
from validation_core.store import SHIPPED, Store
from validation_core.sweep import presets
from validation_core.sweep.progress import collect
from validation_core.types import Budget, PosteriorTable, TableScores

TRIALS = 2000
KINDS = ["multiclass", "binary"]
GAUSSIAN = BENCHMARKS["gaussian"](perturbation="covariance_scaling")


def _within(rejections, trials, *, conservative=False):
    low, high = statistics.binomial_bounds(trials, 0.05, 0.999)
    assert rejections <= high
    assert conservative or rejections >= low


def _learn(recipe, data, seed=0):
    return recipe.learn_all([recipe.of_table(data, stream(seed))], [seed])[0]


def _trials(score, draws, trials):
    """Scores of one large table as many small ones."""
    built = scores.apply(score, draws)
    k = built.draws.shape[-1]
    return TableScores(built.truth.reshape(trials, 1, -1), built.draws.reshape(trials, 1, -1, k))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("score", ["any", "tied", "flat"])
def test_level(score, kind):
    """Exchangeable scores, with offsets of their own in every row."""
    n, m = 25, 4
    rng = stream(0, "level", score, kind)
    raw = rng.standard_normal((TRIALS, 1, n, m + 1)) ** 3 + 5 * rng.standard_normal((n, 1))
    raw = {"any": raw, "tied": np.round(raw), "flat": np.full(raw.shape, 0.1)}[score]
    method = DC(kind=kind, m=m, permutations=99)
    outcome = method.test(TableScores(raw[..., 0], raw[..., 1:]), stream(1, score, kind))
    assert outcome.pvalue.shape == (TRIALS,)
    assert outcome.pvalue.min() >= 1 / 100
    _within(int((outcome.pvalue <= 0.05).sum()), TRIALS, conservative=score == "flat")
    if score == "flat":  # a score that says nothing never rejects
        np.testing.assert_array_equal(outcome.pvalue, 1.0)


@in_turn(500, 1000)
@pytest.mark.parametrize("kind", KINDS)
def test_level_of_a_trained_score(kind, trials):
    """It has learnt from other simulations, with the truth in slot 0 of every one of them."""
    n = 40
    method = DC(kind=kind, m=5, permutations=99)
    recipe = method.recipe(200, 5)
    trained = _learn(recipe, recipe.sample(GAUSSIAN, 0.0, stream(2)))
    table = sampling.table(GAUSSIAN, 0.0, n * trials, 5, stream(3))
    outcome = method.test(_trials(trained.at(0.0), table, trials), stream(4, kind))
    _within(int((outcome.pvalue <= 0.05).sum()), trials)
    assert outcome.statistic.mean() < 0  # what it learnt was noise


def test_slots_are_permuted_within_their_x_only():
    """Differences between rows add nothing to the null's spread: a row's own slots do."""
    rng = stream(5)
    values = rng.standard_normal((1, 60, 4)) + 100 * rng.standard_normal((60, 1))
    permutation = slots.permutation(values, 20_000, stream(6))
    expected = np.sqrt(values.var(axis=-1).sum(axis=-1)) / 60
    np.testing.assert_allclose(permutation.null.std(axis=-1), expected, rtol=0.03)
    np.testing.assert_allclose(
        permutation.null.mean(), values.mean(), atol=5 * expected.max() / 141
    )


def test_permutations_are_made_piece_by_piece(monkeypatch):
    values = stream(7).standard_normal((7, 11, 3))
    monkeypatch.setattr(slots, "NUMBERS_AT_ONCE", 50)
    permutation = slots.permutation(values, 31, stream(8))
    assert permutation.null.shape == (7, 31)
    assert (permutation.null >= values.min(axis=-1).mean(axis=-1)[:, None]).all()
    assert (permutation.null <= values.max(axis=-1).mean(axis=-1)[:, None]).all()
    assert len(np.unique(permutation.null)) > 200


def test_trials_meet_slots_of_their_own():
    values = np.broadcast_to(stream(9).standard_normal((20, 3)), (2, 20, 3))
    null = slots.permutation(values, 50, stream(10)).null
    assert not np.allclose(null[0], null[1])


@pytest.mark.parametrize("case", ["signal", "rounded", "large"])
def test_given_logits(reference, case):
    example, arrays, expected = reference(f"dc-logits-{case}")
    example, g, permutation = example["outputs"], arrays["logits"], arrays["permutation"]
    pairs = np.stack([np.stack([g[:, 0], g[:, k]], -1) for k in range(1, g.shape[1])])
    several = slots.multiclass_contributions(g)
    np.testing.assert_allclose(
        several - np.log(g.shape[1]), expected["log_softmax"], rtol=1e-11, atol=1e-12
    )
    same = {"rel": 1e-11, "abs": 1e-12}
    approx = {
        "multiclass_divergence": several[:, 0].mean(),
        "multiclass_sd_over_units_ddof0": several[:, 0].std(),
        "binary_weighted_divergence": slots.binary_contributions(g)[:, 0].mean(),
        "binary_unweighted_divergence": slots.binary_contributions(g, 1 / g.shape[1])[:, 0].mean(),
        "pairwise_divergence": slots.multiclass_contributions(pairs)[..., 0].mean(),
    }
    for name, value in approx.items():
        assert value == pytest.approx(example[name], **same), name
    _same_permutations(several, permutation, expected["permuted_mean_log_softmax"],
                       np.log(g.shape[1]), example["multiclass_permutation_p"])  # fmt: skip
    of_binary = expected["permuted_binary_divergence"]
    _same_permutations(slots.binary_contributions(g), permutation, of_binary, 0.0,
                       example["binary_weighted_permutation_p"])  # fmt: skip


def _same_permutations(values, permutation, expected, offset, pvalue):
    null = slots.permuted_divergences(values, permutation)
    np.testing.assert_allclose(null - offset, expected, rtol=1e-9, atol=1e-11)
    result = share_beyond(values[:, 0].mean(), null, slots.divergence_slack(values))
    assert float(result) == pvalue


FITTED = ["dc-conjugate-normal", "dc-null", "dc-two_moons_undertrained"]


@pytest.mark.parametrize("case", FITTED)
def test_logits_of_the_authors_package(reference, case):
    example, arrays, expected = reference(case)
    example = example["outputs"]
    for kind in KINDS:
        values = slots.contributions(arrays[f"logits_{kind}"], kind)
        assert values[:, 0].mean() == pytest.approx(
            example[f"{kind}_divergence_from_logits"], rel=1e-9, abs=1e-11
        )
        name, offset = ("permuted_mean_log_softmax", np.log(11))
        if kind == "binary":
            name, offset = ("permuted_binary_divergence", 0.0)
        pvalue = example[f"{kind}_permutation_p"]
        _same_permutations(values, arrays["permutation"], expected[name], offset, pvalue)
    units = slots.multiclass_contributions(arrays["logits_multiclass"])[:, 0]
    assert units.std() == pytest.approx(example["multiclass_sd_over_units_from_logits"], rel=1e-9)


def test_oracle_divergences(reference):
    """The mean over simulations is the quadrature's value for each number of draws."""
    outputs = reference("dc-exact-gaussians")[0]["outputs"]
    n, rng = 40_000, stream(11)
    for m in (1, 2, 5, 10, 50):
        theta = np.concatenate(
            [rng.standard_normal((n, 1)), 1 + rng.standard_normal((n, m))], axis=1
        )
        g = 0.5 - theta  # log N(0, 1) - log N(1, 1)
        rows = slots.multiclass_contributions(g)[:, 0]
        exact = outputs["multiclass_divergence_by_M"][str(m)]
        assert abs(rows.mean() - exact) < 4 * rows.std() / np.sqrt(n)
        assert rows.mean() < slots.most("multiclass", m)
        jensen = slots.binary_contributions(g)[:, 0]
        assert abs(jensen.mean() - outputs["balanced_binary_divergence"]) < 4 * jensen.std() / 200


def test_interval_covers(reference):
    """95 of 100 tables' intervals hold the exact divergence."""
    exact = reference("dc-exact-gaussians")[0]["outputs"]["multiclass_divergence_by_M"]["10"]
    rng = stream(12)
    theta = rng.standard_normal((1500, 100, 11)) + (np.arange(11) > 0)
    low, high = slots.mean_interval(slots.multiclass_contributions(0.5 - theta)[..., 0])
    assert 0.93 <= ((low <= exact) & (exact <= high)).mean() <= 0.97


@pytest.mark.parametrize("kind", KINDS)
def test_order_of_draws_and_rows(kind):
    g = stream(13).standard_normal((30, 6))
    shuffled = np.concatenate([g[:, :1], stream(14).permuted(g[:, 1:], axis=1)], axis=1)
    values = slots.contributions(g, kind)[:, 0]
    np.testing.assert_allclose(slots.contributions(shuffled, kind)[:, 0], values, rtol=1e-12)
    turned = slots.contributions(g[::-1], kind)[::-1, 0]
    np.testing.assert_allclose(turned, values, rtol=1e-12)


def test_what_depends_on_x_alone_changes_nothing():
    g = stream(15).standard_normal((30, 6))
    offset = 50 * stream(16).standard_normal((30, 1))
    before, after = slots.multiclass_contributions(g), slots.multiclass_contributions(g + offset)
    np.testing.assert_allclose(after, before, atol=1e-12)
    nulls = [slots.permutation(a, 99, stream(17)).pvalue for a in (before, after)]
    assert nulls[0] == nulls[1]


@pytest.mark.parametrize("kind", KINDS)
def test_outcome_is_that_of_the_draws_it_counts(kind):
    rng = stream(18)
    truth, draws = rng.standard_normal((3, 1, 40)), rng.standard_normal((3, 1, 40, 9))
    method = DC(kind=kind, m=6, permutations=49)
    outcome = method.test(TableScores(truth, draws), stream(19))
    fewer = method.test(TableScores(truth, draws[..., :6]), stream(19))
    np.testing.assert_array_equal(outcome.pvalue, fewer.pvalue)
    assert outcome.budget == method.budget(40, 9) == Budget(40, 240)
    assert outcome.arrays["null"].shape == (3, 49)
    np.testing.assert_allclose(outcome.arrays["rows"].mean(-1), outcome.statistic, rtol=1e-12)
    assert (outcome.arrays["low"] < outcome.statistic).all()
    assert (outcome.statistic < outcome.arrays["high"]).all()
    assert (outcome.arrays["rows"] <= outcome.arrays["most"][:, None] + 1e-12).all()
    assert all(a.dtype.kind == "f" for a in outcome.arrays.values())


def test_told_apart_always():
    """The largest divergence there is, and the smallest p-value."""
    truth, draws = np.full((1, 20), 60.0), np.zeros((1, 20, 4))
    for kind in KINDS:
        outcome = DC(kind=kind, m=4, permutations=99).test(TableScores(truth, draws), stream(20))
        assert outcome.pvalue == 1 / 100
        assert outcome.statistic == pytest.approx(
            slots.most(kind, 4) if kind == "multiclass" else np.log(2) * 0.5, abs=1e-6
        )


def test_worse_than_guessing_is_shown():
    """A score that points the wrong way: below 0, p large."""
    truth, draws = np.full((1, 20), -2.0), np.zeros((1, 20, 4))
    outcome = DC(m=4, permutations=99).test(TableScores(truth, draws), stream(21))
    assert outcome.statistic < -1
    assert outcome.pvalue == 1.0


@pytest.mark.parametrize("net", ["quadratic", pytest.param("paper", marks=pytest.mark.slow)])
@pytest.mark.parametrize("case", FITTED)
def test_learned_divergence(reference, case, net):
    """Where the authors' package gets to on the same tables, or beyond."""
    case, arrays, _ = reference(case)
    learn, test = (
        PosteriorTable(arrays[f"theta_{part}"], arrays[f"x_{part}"], arrays[f"theta_q_{part}"])
        for part in ("train", "validation")
    )
    for kind in KINDS:
        method = DC(kind=kind, net=net)
        trained = _learn(method.recipe(300, 10), learn)
        outcome = method.test(scores.apply(trained.at(0.0), test), stream(22))
        peer = np.mean(case["outputs"]["peer_cross_validated"][kind]["validation"])
        error = outcome.arrays["rows"].std() / np.sqrt(300)
        assert outcome.statistic > peer - max(1.5 * error, 0.01)
        if kind == "multiclass":
            fit = case["tolerance"]["fit"]
            assert fit["low"] < outcome.statistic < fit["high"] + 3 * error
        exact = case["outputs"].get(f"exact_{kind}_divergence")
        if exact is not None:
            assert abs(outcome.statistic - exact) < max(3 * error, 0.02)
        assert (outcome.pvalue == 0.001) == (case["id"] != "dc-null")


@pytest.mark.slow
@pytest.mark.parametrize("case", FITTED)
def test_networks_of_the_authors_score_reach_what_three_of_their_package_do(reference, case):
    """Means of three starts each, within two standard errors of held-out rows and of starts."""
    case, arrays, _ = reference(case)
    learn, test = (
        PosteriorTable(arrays[f"theta_{part}"], arrays[f"x_{part}"], arrays[f"theta_q_{part}"])
        for part in ("train", "validation")
    )
    method = DC(net="paper")
    recipe = method.recipe(300, 10)
    trained = recipe.learn_all([recipe.of_table(learn, stream(22))] * 3, [0, 1, 2])
    outcomes = [method.test(scores.apply(one.at(0.0), test), stream(22)) for one in trained]
    ours = np.array([outcome.statistic for outcome in outcomes])
    theirs = np.array(case["outputs"]["peer_cross_validated"]["multiclass"]["validation"])
    rows = np.mean([outcome.arrays["rows"].std() for outcome in outcomes]) / np.sqrt(300)
    error = np.sqrt(rows**2 + (ours.var(ddof=1) + theirs.var(ddof=1)) / 3)
    assert abs(ours.mean() - theirs.mean()) < 2 * error


def test_shipped_power_of_the_authors_score_is_that_of_another_network(tmp_path):
    """One more network rejected the mean shift in 45 of 60 trials: a fourth draw of its spread."""
    figure = presets.by_name("conformal_mean_shift").sweep
    (cell,) = (
        cell
        for cell in collect(figure, Store(tmp_path, gallery=SHIPPED)).cells
        if (cell.label, cell.gamma) == (DC(net="paper").label, 0.05)
    )
    rates = np.array([count.rejections / count.trials for count in cell.networks])
    assert len(rates) == 3
    between = rates.var(ddof=1) * (1 + 1 / 3)
    within = cell.rate * (1 - cell.rate) / 60
    assert abs(45 / 60 - cell.rate) < 2 * np.sqrt(between + within)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("perturbation", "gamma"), [("mean_shift", 0.1), ("covariance_scaling", 0.6)]
)
def test_power(perturbation, gamma, kind):
    """With the trained score, on tables of 300 other simulations; ours sees widths, too."""
    benchmark = BENCHMARKS["gaussian"](perturbation=perturbation)
    method = DC(kind=kind, permutations=99)
    recipe = method.recipe(600, 10)
    trained = _learn(recipe, recipe.sample(benchmark, gamma, stream(23)))
    table = sampling.table(benchmark, gamma, 300 * 30, 10, stream(24))
    outcome = method.test(_trials(trained.at(0.0), table, 30), stream(25))
    assert (outcome.pvalue <= 0.05).mean() >= 0.8
    assert trained.summary["divergence"] > 0


def test_products_see_a_width_that_32_units_do_not():
    held_out = {}
    for net in ("quadratic", "paper"):
        method = DC(net=net, permutations=19)
        recipe = method.recipe(500, 10)
        trained = _learn(recipe, recipe.sample(GAUSSIAN, 0.6, stream(26)))
        table = sampling.table(GAUSSIAN, 0.6, 4000, 10, stream(27))
        held_out[net] = float(
            method.test(scores.apply(trained.at(0.0), table), stream(28)).statistic
        )
    assert held_out["quadratic"] > held_out["paper"] + 0.02


def test_no_parameter_knows_of_slots():
    """Slots that hold the same numbers are guessed, whatever the parameters."""
    rng = stream(29)
    item = np.repeat(rng.standard_normal((40, 1, 5)), 4, axis=1)
    initial = initial_parameters(5, 5, 8, rng)
    vector = 10 * rng.standard_normal(flatten_parameters(initial).size)
    loss = SlotObjective(item, item, "multiclass", initial).loss(vector)
    assert loss == pytest.approx(np.log(4), rel=1e-6)


def test_scores_follow_their_draws():
    """Truth and draws may change places: each keeps its score."""
    recipe = SlotClassifier(n=60, m=3)
    trained = _learn(recipe, recipe.sample(GAUSSIAN, 1.0, stream(30)))
    table = sampling.table(GAUSSIAN, 1.0, 50, 3, stream(31))
    swapped = PosteriorTable(
        table.q[:, 0], table.x, np.stack([table.theta, *table.q[:, 1:].swapaxes(0, 1)], 1)
    )
    first, other = (scores.apply(trained.at(0.0), t) for t in (table, swapped))
    np.testing.assert_allclose(other.truth[0], first.draws[0, :, 0], rtol=1e-12)
    np.testing.assert_allclose(other.draws[0, :, 0], first.truth[0], rtol=1e-12)
    direct = trained.at(0.0)(table.theta, table.x)
    np.testing.assert_allclose(direct, first.truth[0], rtol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_gradient(kind):
    rng = stream(32)
    z, f = rng.standard_normal((30, 4, 3)), rng.standard_normal((30, 4, 5))
    initial = initial_parameters(3, 5, 6, rng)
    objective = SlotObjective(z, f, kind, initial)
    vector = 0.5 * rng.standard_normal(flatten_parameters(initial).size)
    value, gradient = objective.penalised(vector, 0.01)
    assert value == pytest.approx(
        objective.loss(vector) + 0.01 * (vector[:-1] ** 2).sum(), rel=1e-6
    )
    for along in np.eye(len(vector))[::5]:
        ends = [objective.penalised(vector + side * 0.02 * along, 0.01)[0] for side in (1, -1)]
        assert (ends[0] - ends[1]) / 0.04 == pytest.approx(gradient @ along, abs=2e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_loss_is_the_divergence_below_guessing(kind):
    """Training climbs what the test tests."""
    rng = stream(33)
    g = rng.standard_normal((30, 4, 1))
    initial = initial_parameters(1, 1, 2, rng)
    vector = np.zeros(flatten_parameters(initial).size)
    vector[-2] = 1.0  # the linear feature alone
    loss = SlotObjective(0 * g, g, kind, initial).loss(vector)
    rows = slots.contributions(g[..., 0], kind)[:, 0]
    assert slots.most(kind, 3) - loss == pytest.approx(rows.mean(), abs=1e-6)


def test_inputs_are_white_and_robust():
    table = sampling.table(GAUSSIAN, 0.0, 800, 10, stream(34))
    frame = InputTransform.fit(table, whiten=True, products=True)
    z = frame(table.q, table.x[:, None])[0][..., :3].reshape(-1, 3)
    np.testing.assert_allclose(np.cov(np.clip(z, -4, 4).T), np.eye(3), atol=0.4)
    far = PosteriorTable(
        table.theta, table.x, np.where(table.q > np.quantile(table.q, 0.999), 1e9, table.q)
    )
    observed = InputTransform.fit(far, whiten=True, products=True)(far.q, far.x[:, None])
    assert all(np.isfinite(a).all() for a in observed)
    assert np.abs(observed[0]).max() <= 8


@pytest.mark.parametrize(("d", "m"), [(1, 1), (2, 40), (40, 2), (60, 60)])
def test_features_stay_few(d, m):
    rng = stream(35, d, m)
    table = PosteriorTable(*(rng.standard_normal(s) for s in [(40, d), (40, m), (40, 3, d)]))
    inputs, features = InputTransform.fit(table, whiten=True, products=True)(
        table.q, table.x[:, None]
    )
    assert inputs.shape == (40, 3, d + m)
    assert features.shape[-1] <= 512 + d
    assert np.isfinite(features).all()


def test_stored_and_read_again(tmp_path):
    recipe = SlotClassifier(n=60, m=3, kind="binary")
    trained = _learn(recipe, recipe.sample(GAUSSIAN, 1.0, stream(36)))
    store = Store(tmp_path)
    store.save("models", "scorer", trained.arrays(), spec=keys.canonical_text(recipe), meta={})
    again = recipe.read(store.load("models", "scorer").arrays, seconds=1.0, device="cpu")
    table = sampling.table(GAUSSIAN, 1.0, 50, 3, stream(37))
    for beta in (0.0, 0.5, 1.0):
        first, other = (scores.apply(net.at(beta), table) for net in (trained, again))
        np.testing.assert_array_equal(first.draws, other.draws)
    assert again.summary == trained.summary
    assert keys.read(keys.canonical_text(recipe)) == recipe


def test_seed_fixes_the_network():
    recipe = SlotClassifier(n=60, m=3)
    data = recipe.sample(GAUSSIAN, 1.0, stream(38))
    first, again = recipe.learn_all([data, data], [1, 1])
    other = _learn(recipe, data, seed=2)
    for name, array in first.trained.items():
        np.testing.assert_array_equal(array, again.trained[name])
    assert not np.array_equal(first.trained["weight"], other.trained["weight"])


def test_degraded_scores_mix_parameters():
    recipe = SlotClassifier(n=60, m=3)
    trained = _learn(recipe, recipe.sample(GAUSSIAN, 1.0, stream(39)))
    half = trained.at(0.5).parameters
    for name in half:
        middle = (trained.trained[name].astype(float) + trained.initial[name]) / 2
        np.testing.assert_allclose(half[name], middle, rtol=1e-12)
    table = sampling.table(GAUSSIAN, 1.0, 200, 3, stream(40))
    spread = [scores.apply(trained.at(beta), table).truth.std() for beta in (0.0, 1.0)]
    assert spread[1] < spread[0]


def test_progress_is_told():
    reports = []
    recipe = SlotClassifier(n=60, m=3)
    data = recipe.sample(GAUSSIAN, 1.0, stream(41))
    recipe.learn_all([data], [0], lambda done, live: reports.append((done, dict(live))))
    fractions = [done for done, _ in reports]
    assert fractions == sorted(fractions)
    assert fractions[-1] == 1.0
    assert {"penalty", "divergence"} <= set(reports[0][1])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("net", ["quadratic", "paper"])
def test_samples_without_anything_to_learn(kind, net):
    """Draws that are the truth, or all one number, x that is constant: p = 1."""
    rng = stream(42)
    theta, x = rng.standard_normal((30, 1)), rng.standard_normal((30, 2))
    tables = [
        PosteriorTable(theta, x, np.repeat(theta[:, None], 4, axis=1)),
        PosteriorTable(np.ones((30, 1)), x, np.ones((30, 4, 1))),
        PosteriorTable(np.ones((30, 2)), np.zeros((30, 1)), np.ones((30, 4, 2))),
    ]
    method = DC(kind=kind, net=net, m=4, permutations=19)
    for table in tables:
        trained = _learn(method.recipe(30, 4), table)
        outcome = method.test(scores.apply(trained.at(0.0), table), stream(43))
        assert outcome.pvalue == 1.0
        assert np.isfinite(outcome.statistic)


def test_one_parameter():
    rng = stream(44)
    x = rng.standard_normal((400, 1))
    table = PosteriorTable(x + rng.standard_normal((400, 1)), x,
                  x[:, None] + 2 * rng.standard_normal((400, 5, 1)))  # fmt: skip
    learn, test = sampling.split_rows(table, stream(45))
    method = DC(m=5, permutations=199)
    trained = _learn(method.recipe(200, 5), learn)
    assert method.test(scores.apply(trained.at(0.0), test), stream(46)).pvalue == 1 / 200


def test_bad_input():
    rng = stream(47)
    truth, draws = rng.standard_normal((1, 30)), rng.standard_normal((1, 30, 4))
    with pytest.raises(ValueError, match=r"needs 10 draws at each x; got 4\. Lower m"):
        DC().test(TableScores(truth, draws), rng)
    with pytest.raises(ValueError, match="at least two simulations"):
        DC(m=4).test(TableScores(truth[:, :1], draws[:, :1]), rng)
    for bad, text in ((np.nan, "NaN in 1"), (np.inf, "1 infinite")):
        spoilt = truth.copy()
        spoilt[0, 3] = bad
        with pytest.raises(ValueError, match=text):
            DC(m=4).test(TableScores(spoilt, draws), rng)
    table = sampling.table(GAUSSIAN, 0.0, 20, 4, rng)
    with pytest.raises(ValueError, match="needs 10 draws at each x; got 4"):
        DC().recipe(20, 4).of_table(table, rng)
    few = PosteriorTable(table.theta[:5], table.x[:5], table.q[:5])
    with pytest.raises(ValueError, match="at least 8 simulations; got 5"):
        DC(m=4).recipe(8, 4).of_table(few, rng)
    for wrong, text in (({"kind": "pairs"}, "multiclass, binary"), ({"m": 0}, "m is at least 1"),
                        ({"net": "deep"}, "quadratic, paper"),
                        ({"permutations": 0}, "permutations is at least 1")):  # fmt: skip
        with pytest.raises(ValueError, match=text):
            DC(**wrong)
    with pytest.raises(ValueError, match="at least one permutation"):
        slots.permutation(np.zeros((4, 3)), 0, rng)
    with pytest.raises(ValueError, match="kind is one of"):
        slots.contributions(np.zeros((4, 3)), "pairs")
    with pytest.raises(ValueError, match="at least two rows"):
        slots.mean_interval(np.zeros(1))


def test_describes_itself():
    for built in (DC(), DC(kind="binary", m=3, permutations=99, net="paper")):
        assert keys.read(keys.canonical_text(built)) == built
    assert DC().label == "DC our features"
    assert DC().seed_name == "DC multiclass"
    assert DC(kind="binary", net="paper").label == "DC authors' net binary"
    assert DC().budget(1, 1).q == 10


def _arrays(kind="multiclass"):
    rng = stream(48)
    method = DC(kind=kind, m=4, permutations=199)
    truth, draws = 0.5 + rng.standard_normal((1, 300)), rng.standard_normal((1, 300, 4))
    return method.test(TableScores(truth, draws), rng).arrays


@pytest.mark.parametrize("kind", KINDS)
def test_figures(kind):
    drawings = pictures(record_of(DC, _arrays(kind)))
    assert len({item.title for item in drawings}) == len(drawings) == 3
    for item in drawings:
        go.Figure(item.figure.to_dict())
        assert item.caption.endswith(".")
        assert "q were correct" in item.caption
        assert item.figure.layout.xaxis.range is not None
        assert all(np.asarray(trace.y).dtype == np.float32 for trace in item.figure.data)
        assert len(item.figure.to_json()) < 20_000


def test_all_values_and_what_was_seen_are_within_the_axes():
    arrays = _arrays()
    null = dc.divergence_null_histogram(arrays["null"], 3.0)
    assert null.marks[0].heights.sum() == 199
    assert null.x.limits[1] > 3
    rows = dc.row_contributions(arrays["rows"], float(arrays["most"]))
    assert rows.marks[0].heights.sum() == 300
    bar = dc.divergence_bar(-5.0, -6.0, -4.0, float(np.log(5)))
    assert bar.x.limits[0] < -6  # not cut off at 0
    assert bar.x.limits[1] > np.log(5)


def test_flat_scores_are_drawn():
    outcome = DC(m=4).test(TableScores(np.zeros((1, 9)), np.zeros((1, 9, 4))), stream(49))
    for drawing in pictures(record_of(DC, outcome.arrays)):
        go.Figure(drawing.figure.to_dict())
        assert drawing.figure.data


def test_nothing_to_draw_is_said():
    for drawing in pictures(record_of(DC, {})):
        assert not drawing.figure.data
        assert drawing.figure.layout.annotations[0].text.startswith("No")
