"""The score within x: exact whatever it learnt, blind to places, and worth its features."""

from dataclasses import replace

import numpy as np
import pytest

from tests.conftest import in_turn
from tests.fixed_claims import CLAIMED
from validation_core import diagnosis, keys, sampling, scores, statistics
from validation_core.diagnosis import learning, plan, tasks
from validation_core.diagnosis.questions import Names, by_name
from validation_core.diagnosis.questions.in_theta.result import HeldOutNats
from validation_core.methods import DC
from validation_core.rng import stream
from validation_core.scores import slot_features, trained_scores, trees
from validation_core.scores.slots import Slots
from validation_core.scores.slots_training import equalise_tied_slots
from validation_core.scores.upload_training import USUAL
from validation_core.statistics import slots as divergences
from validation_core.store import Store
from validation_core.tables import Upload
from validation_core.types import Joint, PosteriorTable, TwoSamples

ROWS = 30


def _quick(n, k, **options):
    return Slots(n=n, k=k, **{"trees": 20, "m": min(k, 8), "scored": min(k, 16), **options})


def _learnt(recipe, table, seed=0):
    return recipe.learn_all([recipe.of_table(table, stream(seed))], [seed])[0]


def _ranks(trained, table, *names):
    read = scores.apply(trained.at(), table)
    return statistics.conformal_ranks(read.truth, read.draws, stream(1, *names))[0]


def _within(rejections, trials):
    low, high = statistics.binomial_bounds(trials, 0.05, 0.999)
    assert low <= rejections <= high


def normals(n, k, d=3, seed=0, correlation=0.0):
    """theta ~ N(x, .49 R) with q's draws uncorrelated: right where the correlation is 0."""
    rng = stream(seed, "normals")
    x, z = rng.standard_normal((n, 3)), rng.standard_normal((n, d))
    z = z @ np.linalg.cholesky((1 - correlation) * np.eye(d) + correlation).T
    at = np.resize(np.arange(3), d)
    return PosteriorTable(
        x[:, at] + 0.7 * z, x, x[:, None, at] + 0.7 * rng.standard_normal((n, k, d))
    )


# What a slot is seen as


@pytest.mark.parametrize(("p", "k"), [(1, 5), (3, 40), (10, 8)])
def test_a_slot_is_measured_by_the_others_alone(p, k):
    """Downdates agree with means and Cholesky factors of the other slots, one by one."""
    rng = stream(0, "among", p)
    z = rng.standard_normal((p, 4, k + 1)) * 3 + 5
    z[0, :, 2] += 30  # far out: its own share of the scatter is large
    alone, white, norm = slot_features.standardise_among_others(z, k + 1)
    share = max(1e-4, 0.5 * min(1.0, p / k) ** 2)
    for row in range(4):
        scatter = np.diag(np.square(z[:, row] - z[:, row].mean(1, keepdims=True)).sum(1))
        for slot in range(k + 1):
            others = np.delete(z[:, row], slot, axis=1)
            off = others - others.mean(1, keepdims=True)
            mine = z[:, row, slot] - others.mean(1)
            np.testing.assert_allclose(alone[:, row, slot], mine / off.std(1, ddof=1), rtol=1e-8)
            covariance = ((1 - share) * off @ off.T + share * scatter) / (k - 1)
            expected = np.linalg.solve(np.linalg.cholesky(covariance), mine)
            np.testing.assert_allclose(white[:, row, slot], expected, rtol=1e-6, atol=1e-8)
            np.testing.assert_allclose(
                norm[0, row, slot], np.linalg.norm(expected) / np.sqrt(p), rtol=1e-6
            )


def test_neighbours_are_others():
    rng = stream(0, "near")
    z = rng.standard_normal((2, 3, 30))
    near = slot_features.neighbour_log_distances(z, 9, 21)
    unit = (z - z.mean(2, keepdims=True)) / z.std(2, keepdims=True)
    for row in range(3):
        for slot in range(9):
            off = np.delete(unit[:, row, :21], slot, axis=1) - unit[:, row, slot, None]
            nearest = np.sort(np.linalg.norm(off, axis=0))
            expected = np.log(nearest[[2, 6, 15]])
            np.testing.assert_allclose(near[:, row, slot], expected, atol=1e-4)


def test_the_place_of_a_slot_is_not_seen():
    """Slots that change places take their scores along; the truth's place is one like others."""
    trained = _learnt(_quick(100, 40), normals(100, 40, correlation=0.5))
    table = normals(60, 40, seed=2)
    read = scores.apply(trained.at(), table)
    before = np.concatenate([read.truth[0][:, None], read.draws[0]], axis=1)
    order = stream(3).permutation(17)
    values = np.concatenate([table.theta[:, None], table.q], axis=1)
    values[:, :17] = values[:, order]
    read = scores.apply(trained.at(), PosteriorTable(values[:, 0], table.x, values[:, 1:]))
    after = np.concatenate([read.truth[0][:, None], read.draws[0]], axis=1)
    off = np.abs(after - before[:, order])
    assert np.quantile(off, 0.99) < 1e-6  # a sum in another order may pass a tree's cut


def test_pieces_of_a_table_are_scored_alike(monkeypatch):
    trained = _learnt(_quick(100, 40), normals(100, 40, correlation=0.5))
    table = normals(60, 40, seed=2)
    whole = scores.apply(trained.at(), table)
    monkeypatch.setattr(slot_features, "NUMBERS_AT_ONCE", 700)
    view = sampling.rows_view(normals(60, 40, seed=2), np.arange(60))
    parts = scores.apply(trained.at(), view)
    np.testing.assert_allclose(parts.draws, whole.draws, atol=1e-9)


def test_equal_slots_have_equal_scores_to_the_bit():
    table = normals(200, 24, correlation=0.5)
    coarse = PosteriorTable(np.round(table.theta), table.x, np.round(table.q))
    read = scores.apply(_learnt(_quick(200, 24), coarse).at(), coarse)
    same = (coarse.q[:, :16] == coarse.theta[:, None]).all(axis=-1)
    assert same.sum() > 100
    np.testing.assert_array_equal(np.broadcast_to(read.truth[0][:, None], same.shape)[same],
                                  read.draws[0][same])  # fmt: skip
    assert len(np.unique(read.draws[0, 0])) == len(np.unique(coarse.q[0, :16], axis=0))


def test_ties_take_one_score():
    theta = np.array([[[1.0, 2], [1, 3], [1, 2], [0, 2]], [[5, 5], [4, 4], [3, 3], [2, 2]]])
    result = equalise_tied_slots(np.array([[1.0, 2, 3, 4], [5, 6, 7, 8]]), theta)
    np.testing.assert_array_equal(result, [[1, 2, 1, 4], [5, 6, 7, 8]])


def test_many_parameters_keep_those_that_are_off():
    table = normals(60, 20, d=50)
    table.theta[:, 41] += 2
    frame = slot_features.fit_slot_features(table, whole=21, context=21)
    assert len(frame.parameters) == 32
    assert 41 in frame.parameters
    wide = PosteriorTable(table.theta, stream(0).standard_normal((60, 90)), table.q)
    observed = slot_features.fit_slot_features(wide, whole=21, context=21)(wide, 4)
    assert observed.own.shape[1:] == (60, 5)
    assert observed.x.shape == (20, 60)


@pytest.mark.parametrize("d", [1, 2, 6, 9, 14])
def test_chances_belong_to_features(d):
    table = normals(40, 20, d=d)
    frame = slot_features.fit_slot_features(table, whole=21, context=21)
    chance = frame.chance(21)
    assert len(chance) == len(frame(table, 5).rows())
    assert chance.sum() == pytest.approx(1)


# Trees


def _two_classes(n=4000, seed=0):
    rng = stream(seed, "two classes")
    columns = rng.standard_normal((4, n)).astype(np.float32)
    truth = rng.random(n) < np.where(columns[0] * columns[1] > 0, 0.3, 0.05)
    return columns, truth


def test_a_forest_answers_as_its_nodes_say():
    columns, truth = _two_classes()
    how = trees.TreeSettings(cuts=4, leaf=30, chance=np.full(4, 0.25))
    grown = [trees.grow_tree(columns, truth, how, stream(i)) for i in range(5)]
    forest = trees.Forest.of(grown)
    answers = forest(np.ascontiguousarray(columns.T))
    expected = np.zeros(50)
    for tree in grown:
        for row in range(50):
            node = 0
            while np.isfinite(tree.cut[node]):
                node = tree.child[node] + int(columns[tree.feature[node], row] > tree.cut[node])
            expected[row] += tree.value[node] / 5
    np.testing.assert_allclose(answers[:50], expected, rtol=1e-6)


def test_leaves_are_as_large_as_asked_and_hold_both_classes_alike():
    columns, truth = _two_classes()
    how = trees.TreeSettings(cuts=4, leaf=30, chance=np.full(4, 0.25))
    tree = trees.grow_tree(columns, truth, how, stream(0))
    forest = trees.Forest.of([tree])
    text = replace(forest, value=np.arange(len(tree.value), dtype=np.float32))
    leaf, inverse = np.unique(text(np.ascontiguousarray(columns.T)), return_inverse=True)
    values = tree.value[leaf.astype(int)]
    assert np.bincount(inverse).min() >= 30
    assert len(values) > 10
    size = np.bincount(inverse)
    truths = np.bincount(inverse, truth)
    weighed = truths * (~truth).sum() / truth.sum()  # both classes weigh alike, a row is unsure
    expected = (weighed + 1) / (weighed + size - truths + 2)
    np.testing.assert_allclose(values, expected, rtol=1e-5)


def test_trees_see_what_no_single_coordinate_shows():
    columns, truth = _two_classes()
    how = trees.TreeSettings(cuts=4, leaf=30, chance=np.full(4, 0.25))
    forest = trees.Forest.of([trees.grow_tree(columns, truth, how, stream(i)) for i in range(20)])
    fresh, label = _two_classes(seed=1)
    answers = forest(np.ascontiguousarray(fresh.T))
    assert statistics.auc(answers[label], answers[~label]) > 0.65


# Learning


def test_held_out_answers_are_of_trees_that_saw_no_slot_of_the_row():
    """Without anything to learn, held-out rows tell nothing and get no weight to speak of."""
    trained = _learnt(Slots(n=300, k=40, trees=20), normals(300, 40))
    assert abs(trained.summary["divergence"]) < 0.02
    learnt = _learnt(Slots(n=300, k=40, trees=20), normals(300, 40, correlation=0.6))
    assert learnt.summary["divergence"] > 0.1


@pytest.mark.parametrize("kind", ["trees", "network", "best"])
def test_a_missing_correlation_is_found(kind):
    table = normals(800, 60, correlation=0.4, seed=4)
    learn, test = sampling.split_rows(table, stream(0))
    trained = _learnt(Slots(kind=kind, n=400, k=60), learn)
    assert (trained.forest is None) <= (kind != "trees")
    assert statistics.ks(_ranks(trained, test)).pvalue < 1e-4
    read = scores.apply(trained.at(), test)
    both = np.concatenate([read.truth[0][:, None], read.draws[0]], axis=1)
    mean = divergences.contributions(both[:, :16], "multiclass")[:, 0].mean()
    assert mean == pytest.approx(trained.summary["divergence"], abs=0.06)


def test_one_seed_one_score():
    table = normals(100, 30, correlation=0.5)
    arrays = [_learnt(_quick(100, 30), table, seed=seed).arrays() for seed in (0, 0, 1)]
    assert keys.digest(**arrays[0]) == keys.digest(**arrays[1]) != keys.digest(**arrays[2])


def test_recipes_refuse_what_cannot_be():
    with pytest.raises(ValueError, match="kind is one of best, trees, network; got 'forest'"):
        Slots(kind="forest")
    with pytest.raises(ValueError, match="whole is at least 65; got 20"):
        Slots(whole=20)
    with pytest.raises(ValueError, match="at least 25 simulations; got 20"):
        Slots().of_table(normals(20, 20), stream(0))
    with pytest.raises(ValueError, match="at least 8 others at its x; got 4"):
        Slots().of_table(normals(50, 4), stream(0))
    trained = _learnt(_quick(50, 20), normals(50, 20))
    with pytest.raises(ValueError, match="got 7 rows alone"):
        trained.at()(np.zeros((7, 3)), np.zeros((7, 3)))


# Level


def _law(name, n, k, rng):
    """Slots (n, K + 1, D) of exact posteriors at x (n, M)."""
    x = rng.standard_normal((n, 2))
    if name == "gaussian":
        return x, x[:, None] + rng.standard_normal((n, k + 1, 2))
    if name == "binary":
        return x, (rng.random((n, k + 1, 3)) < 1 / (1 + np.exp(-x[:, :1, None]))).astype(float)
    if name == "rounded":
        return x, np.round(x[:, None] + rng.standard_normal((n, k + 1, 2)))
    if name == "cauchy":
        return x, x[:, None] + np.exp(x[:, :1, None]) * rng.standard_cauchy((n, k + 1, 2))
    d = 10 if name == "ten" else 3
    return x, x[:, None, np.resize([0, 1], d)] + rng.standard_normal((n, k + 1, d))


SHAPES = {"gaussian": 20, "binary": 20, "rounded": 30, "cauchy": 40, "eight": 8, "ten": 30}


@in_turn(200, 400)
@pytest.mark.parametrize("kind", ["trees", "network"])
@pytest.mark.parametrize("name", SHAPES)
def test_level(name, kind, trials):
    """Exact posteriors under a score that learnt from a wrong q: tables of 30 rows."""
    k = SHAPES[name]
    rng = stream(0, "level", name)
    x, theta = _law(name, 120, k, rng)
    wrong = theta[:, 0] * 1.5 + 0.5 if name != "binary" else 1 - theta[:, 0] * theta[:, 1]
    trained = _learnt(_quick(120, k, kind=kind), PosteriorTable(wrong, x, theta[:, 1:]))
    assert trained.weights.any()
    x, theta = _law(name, trials * ROWS, k, rng)
    u = _ranks(trained, PosteriorTable(theta[:, 0], x, theta[:, 1:]), name, kind)
    _within(int((statistics.ks(u.reshape(trials, ROWS)).pvalue <= 0.05).sum()), trials)


@in_turn(200, 400)
@pytest.mark.parametrize("kind", ["multiclass", "binary"])
def test_level_of_discriminative_calibration(kind, trials):
    method = DC(kind=kind, net="within", m=6, permutations=99)
    rng = stream(0, "level", kind)
    x, theta = _law("gaussian", 200, 30, rng)
    trained = _learnt(method.recipe(200, 30), PosteriorTable(theta[:, 0] * 1.3, x, theta[:, 1:]))
    x, theta = _law("gaussian", trials * ROWS, 30, rng)
    read = scores.apply(trained.at(), PosteriorTable(theta[:, 0], x, theta[:, 1:]))
    assert read.draws.shape[-1] == 6
    tables = type(read)(
        read.truth.reshape(trials, 1, ROWS), read.draws.reshape(trials, 1, ROWS, -1)
    )
    outcome = method.test(tables, stream(1, kind))
    _within(int((outcome.pvalue <= 0.05).sum()), trials)


def test_extremes_are_finite():
    table = normals(60, 20)
    table.q[0, 3] = 1e30
    table.theta[1] = -1e200
    table.q[:, :, 2] = 4.0  # a parameter that never varies
    table.theta[:, 2] = 4.0
    read = scores.apply(_learnt(_quick(60, 20), table).at(), table)
    assert np.isfinite(read.truth).all()
    assert np.isfinite(read.draws).all()


# Uploads


def _upload(n=120, k=40, d=3, correlation=0.5):
    table = normals(n, k, d, correlation=correlation)
    return Upload.of({"theta": table.theta, "x": table.x, "theta_q": table.q})


def test_a_store_keeps_it_and_gives_the_same_scores(tmp_path):
    upload, store = _upload(), Store(tmp_path)
    tasks.save_upload(store, upload)
    training = tasks.slot_score_training(upload, 3)
    assert "within x" in training.label
    first = trained_scores.trained(store, training)
    again = trained_scores.trained(Store(tmp_path), training)
    assert keys.read(keys.canonical_text(training)) == training
    held_out = sampling.rows_view(upload.data, learning.held_out_rows(upload, 3))
    mine, theirs = (scores.apply(item.at(), held_out) for item in (first, again))
    np.testing.assert_array_equal(mine.draws, theirs.draws)
    np.testing.assert_array_equal(mine.truth, theirs.truth)
    assert again.summary == first.summary


def test_two_samples_and_small_tables_have_none(tmp_path):
    rng = stream(0)
    sides = (Joint(rng.standard_normal((90, 2)), np.zeros((90, 0))) for _ in range(2))
    two = Upload.of({name: side.theta for name, side in zip("pq", sides, strict=True)})
    assert isinstance(two.data, TwoSamples)
    assert "two samples p and q, which have no x" in plan.slots_obstacle(two)
    assert "needs at least 50; got 49" in plan.slots_obstacle(_upload(n=49))
    assert "at least 8 others at its x; got 7" in plan.slots_obstacle(_upload(k=7))
    assert plan.slots_obstacle(_upload(n=50, k=8)) is None
    learnt = trained_scores.trained(Store(tmp_path), _trained(_upload(n=50, k=8)))
    assert np.isfinite(learnt.summary["divergence"])


def _trained(upload):
    tasks.register_upload(upload)
    _kept.append(upload)
    return tasks.slot_score_training(upload, 0)


_kept = []


def test_long_tables_learn_from_fewer_draws():
    """What a row costs is bounded, and no more is asked for than there is."""
    small = learning.slot_recipe(_upload(n=60, k=9))
    assert (small.n, small.m, small.scored) == (30, 9, 9)
    usual = learning.slot_recipe(_upload(n=1000, k=200))
    assert (usual.n, usual.m, usual.scored, usual.context) == (500, 15, 64, 200)
    long = learning.slot_recipe(_upload(n=20_000, k=20, d=1))
    assert long.n == 3000
    assert long.m < 15
    assert long.scored == 16


def test_rows_that_the_classifier_was_watched_on():
    upload = _upload()
    rows, _ = learning.training_and_held_out_rows(upload, 5)
    training = learning.build_training_set(upload, USUAL.classifier, 5)
    watched = rows[learning.validation_rows(upload, 5)]
    np.testing.assert_array_equal(training.held_p.theta, upload.data.theta[watched])


def test_discriminative_calibration_sees_all_draws():
    method = DC(net="within", m=10)
    assert method.label == "DC within x"
    assert method.budget(5, 200).q == 1000
    assert method.budget(5, 4).q == 50
    recipe = learning.recipe(_upload(k=40), method)
    assert isinstance(recipe, Slots)
    assert (recipe.n, recipe.k, recipe.scored) == (60, 40, 10)
    assert "scored anew" in method.unfit(200)
    with pytest.raises(ValueError, match="n is at least 25; got 20"):
        method.recipe(20, 40)


def test_a_table_is_calibrated_by_what_sees_all_its_draws(tmp_path):
    """From the recipe to the record, through the store, on a defect that it finds."""
    upload = _upload(n=300, k=30, correlation=0.6)
    tasks.register_upload(upload)
    (train, task) = tasks.tasks(upload, [DC(net="within", permutations=199)], 0)
    store = Store(tmp_path)
    train.run(store, lambda done, live: None)
    task.run(store, lambda done, live: None)
    record = task.load(store)
    assert record.pvalue == 1 / 200
    assert record.statistic > 0.1
    assert record.draws_q == 150 * 10


# Where in theta


def _said(result, names):
    question = by_name("in_theta")
    sentences = (
        question.describe(result, Names(names), CLAIMED),
        question.notes(result, Names(names)),
    )
    return " ".join(sentence for part in sentences for sentence in part)


def _answer(upload, store):
    tasks.register_upload(upload)
    (task,) = by_name("in_theta").studies(upload, diagnosis.default_methods(), 0)
    task.run(store, lambda done, live: None)
    return task, task.load(store)


@pytest.mark.usefixtures("short_training")
def test_the_map_in_theta_takes_the_score_that_tells_more(tmp_path):
    """A correlation is one cut deep within x; a classifier trained shortly is blind to it."""
    upload = _upload(n=600, k=60, correlation=0.6)
    task, result = _answer(upload, Store(tmp_path))
    assert len(task.trainings) == 2
    assert result.score == "within"
    assert result.held.within > 0.1 > result.held.classifier
    assert result.pvalue < 1e-4
    assert result.deciles[0].share.ratio_high < 1 < result.deciles[-1].share.ratio_low
    text = _said(result, upload.names)
    assert "The score sees each draw among the others at its x: on held-out rows" in text
    # The claimed ratio is calibrated: its mean over q's draws is 1.
    claimed = np.mean([tenth.claimed for tenth in result.deciles])
    assert claimed == pytest.approx(1, abs=0.15)


@pytest.mark.usefixtures("short_training")
def test_the_map_in_theta_keeps_a_classifier_that_tells_more(monkeypatch, tmp_path):
    monkeypatch.setattr(
        "validation_core.diagnosis.questions.in_theta.study.held_information",
        lambda *_: HeldOutNats(within=-0.01, classifier=0.02),
    )
    _, result = _answer(_upload(n=120, k=20), Store(tmp_path))
    assert result.score == "classifier"
    text = _said(result, ())
    assert "by +0.020 nats, one that sees each draw among the others at its x by −0.010" in text


@pytest.mark.usefixtures("short_training")
def test_few_draws_leave_the_classifier_alone(tmp_path):
    task, result = _answer(_upload(n=120, k=7), Store(tmp_path))
    assert len(task.trainings) == 1
    assert result.score == "classifier"
    assert "The score is the classifier that tests share." in _said(result, ())
