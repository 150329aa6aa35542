"""AutoML: the test is valid for any witness, the witness is good, stored whole, on time."""

import importlib.util
import itertools

import numpy as np
import plotly.graph_objects as go
import pytest

import validation_core as npt
from tests.records import record_of
from validation_core import keys, sampling, scores, statistics
from validation_core.benchmarks import BENCHMARKS
from validation_core.drawing import plotly
from validation_core.methods import C2ST, automl
from validation_core.methods.automl import AutoML
from validation_core.panels.record import pictures
from validation_core.rng import stream
from validation_core.scores import witness_network, witness_ridge, witness_rows, witness_training
from validation_core.scores.witness import Witness
from validation_core.scores.witness_rows import MemberFit
from validation_core.statistics import witness_test
from validation_core.statistics.permutation import share_beyond
from validation_core.store import Store
from validation_core.sweep.plan import Sweep
from validation_core.types import BlockScores, Joint, TwoSamples

TRIALS = 2000
GAUSSIAN = BENCHMARKS["gaussian"](perturbation="covariance_scaling")
GAMMA = GAUSSIAN.gammas[-1]
TABLE = sampling.table(GAUSSIAN, GAMMA, 60, 20, stream(0, "table"))


def _scores(shape, kind, *names):
    """Null scores: p and q alike."""
    values = stream(0, "scores", kind, *names).standard_normal(shape)
    return {"any": values**3, "tied": np.round(values), "flat": np.full(shape, 0.1)}[kind]


@pytest.mark.parametrize("kind", ["any", "tied", "flat"])
def test_level(kind):
    p, q = _scores((TRIALS, 60), kind, "p"), _scores((TRIALS, 45), kind, "q")
    found = AutoML(permutations=99).test(BlockScores(p, q), stream(1, kind))
    low, high = statistics.binomial_bounds(TRIALS, 0.05, 0.999)
    rejections = int((found.pvalue <= 0.05).sum())
    assert found.pvalue.min() > 0
    assert rejections <= high
    if kind == "any":
        assert rejections >= low
    if kind == "flat":  # counted ties: a witness that says nothing never rejects
        np.testing.assert_array_equal(found.pvalue, 1.0)


def test_the_classifier_of_c2st_may_be_the_witness():
    """Its probabilities, at its level; beta moves it back with C2ST's."""
    of_classifier = AutoML(permutations=99, engine="classifier")
    p, q = stream(4, "p").normal(0, 3, (TRIALS, 60)), stream(4, "q").normal(0, 3, (TRIALS, 45))
    found = of_classifier.test(BlockScores(p, q), stream(5))
    expected = (1 / (1 + np.exp(-p))).mean(1) - (1 / (1 + np.exp(-q))).mean(1)
    np.testing.assert_allclose(found.statistic, expected, atol=1e-12)
    low, high = statistics.binomial_bounds(TRIALS, 0.05, 0.999)
    assert low <= (found.pvalue <= 0.05).sum() <= high
    sweep = Sweep(
        benchmark=GAUSSIAN, methods=(of_classifier, C2ST(), AutoML()), gammas=(GAMMA,),
        betas=(0.0, 1.0),
    )  # fmt: skip
    networks = [sweep.network(method, GAMMA) for method in sweep.methods]
    assert networks[0] == networks[1] != networks[2]
    moved = [sweep.parts[m.label, sweep.places[1]][0].beta for m in sweep.methods]
    assert moved == [1.0, 1.0, 0.0]
    with pytest.raises(ValueError, match="ensemble, flaml, autogluon, classifier; got 'forest'"):
        AutoML(engine="forest")


def test_a_diagnosis_takes_the_classifier_for_a_witness(quick_training, tmp_path):
    table = npt.Table(*(getattr(TABLE, name) for name in ("theta", "x", "q")))
    options = {"store": Store(tmp_path), "engine": "classifier"}
    found = npt.run("automl", table, **options)
    assert 0 < found.pvalue <= 1
    assert found.sentences[1].startswith("The witness is higher under p than under q by ")
    assert [each.title for each in found.figures()] == [
        "The difference against its null", "What the witness says",
    ]  # fmt: skip


def test_level_of_few_scores_is_that_of_all_relabellings():
    """Two against two: 6 relabellings, each as likely; the smallest p-value is near 1/6."""
    p, q = stream(2, "p").standard_normal((TRIALS, 2)), stream(2, "q").standard_normal((TRIALS, 2))
    found = witness_test.permuted(p, q, 199, stream(3))
    first = (p[:, :, None] > q[:, None, :]).all(axis=(1, 2))  # the one that ranks first of 6
    low, high = statistics.binomial_bounds(199, 1 / 6, 0.99999)
    share = found.pvalue[first] * 200 - 1
    assert low <= share.min()
    assert share.max() <= high
    assert (found.pvalue[~first] > found.pvalue[first].mean()).mean() > 0.95


def test_trials_meet_relabellings_of_their_own():
    """One label set for all trials would give equal scores equal nulls."""
    row = stream(4).standard_normal(40)
    found = witness_test.permuted(
        np.tile(row[:20], (50, 1)), np.tile(row[20:], (50, 1)), 99, stream(5)
    )
    assert np.ptp(found.statistic) == 0
    assert len(np.unique(found.null[:, 0])) == 50


def test_relabelling_is_uniform():
    """Every label set of 2 of 4 as often as any other."""
    found = witness_test.permuted([1.0, 2.0], [4.0, 8.0], 6000, stream(6))
    expected = [np.mean(one) - (15 - sum(one)) / 2
                for one in itertools.combinations((1.0, 2.0, 4.0, 8.0), 2)]  # fmt: skip
    values, counts = np.unique(np.round(found.null, 9), return_counts=True)
    np.testing.assert_allclose(values, sorted(expected))
    low, high = statistics.binomial_bounds(6000, 1 / 6, 0.9999)
    assert low <= counts.min()
    assert counts.max() <= high


def test_pieces_of_memory_do_not_matter(monkeypatch):
    p, q = stream(7).standard_normal((2, 3, 30))
    whole = witness_test.permuted(p, q, 150, stream(8))
    monkeypatch.setattr(witness_test, "NUMBERS_AT_ONCE", 500)
    parts = witness_test.permuted(p, q, 150, stream(8))
    np.testing.assert_allclose(parts.null, whole.null, atol=1e-14)
    np.testing.assert_array_equal(parts.pvalue, whole.pvalue)


@pytest.mark.parametrize(
    "name", ["automl-balanced", "automl-unequal", "automl-null", "automl-rounded"]
)
def test_reference(reference, name):
    case, arrays, _ = reference(name)
    said = case["outputs"]
    predictions, labels = arrays["predictions"], arrays["labels"] == 1
    p, q = predictions[labels], predictions[~labels]
    found = witness_test.permuted(p, q, 9, stream(9))
    assert found.statistic == pytest.approx(said["tau"], rel=1e-11, abs=1e-13)

    # predictions[perm] meets the labels: place perm[i] is p's where labels[i] is.
    is_p = np.zeros(arrays["permutations"].shape, dtype=bool)
    np.put_along_axis(is_p, arrays["permutations"].astype(int), labels[None], axis=1)
    null = witness_test.relabelled(predictions, is_p)
    shares = share_beyond(found.statistic, null, witness_test.mean_difference_slack(predictions))
    assert float(shares) == pytest.approx(said["permutation_p"], abs=1e-15)

    peers = np.array(said["package_p_10000_permutations_5_seeds"])
    own = float(witness_test.permuted(p, q, 10_000, stream(10)).pvalue)
    error = np.sqrt(max(own * (1 - own), 1e-4) / 10_000)
    assert abs(own - peers.mean()) < 5 * error
    np.testing.assert_allclose(
        said["class_weights_package"], [len(q) / len(predictions), len(p) / len(predictions)]
    )  # what makes the classes count alike, as `problem.regression` does


def test_scale_and_place_of_the_witness_change_nothing():
    p, q = stream(11).standard_normal((2, 4, 50))
    before = AutoML().test(BlockScores(p, q), stream(12))
    after = AutoML().test(BlockScores(1e6 + 250 * p, 1e6 + 250 * q), stream(12))
    np.testing.assert_allclose(after.statistic, 250 * before.statistic, rtol=1e-8)
    np.testing.assert_array_equal(after.pvalue, before.pvalue)


def test_one_sided():
    p = stream(13).standard_normal(300)
    up, down = (float(AutoML().test(BlockScores(p + s, -p), stream(14)).pvalue) for s in (1, -1))
    assert up == 1 / 1000
    assert down == 1.0


SKEWED = {
    "lognormal": lambda rng, shape: rng.lognormal(size=shape),
    "chi2": lambda rng, shape: rng.chisquare(1, shape),
    "pareto": lambda rng, shape: rng.pareto(1.5, shape),
}


@pytest.mark.parametrize("sides", [(20, 500), (50, 50), (500, 20)])
@pytest.mark.parametrize("draw", SKEWED.values(), ids=SKEWED)
def test_a_skewed_witness_keeps_its_level_on_unequal_sides(draw, sides):
    """The normal limit rejected up to 0.3 here at 5%, which is why there is none."""
    rng = stream(15, *sides)
    p, q = (draw(rng, (TRIALS, n)) for n in sides)
    found = AutoML(permutations=199).test(BlockScores(p, q), rng)
    low, high = statistics.binomial_bounds(TRIALS, 0.05, 0.999)
    assert low <= (found.pvalue <= 0.05).sum() <= high


def test_identical_and_separated_samples():
    same = stream(17).standard_normal(200)
    found = AutoML().test(BlockScores(same, same), stream(18))
    assert float(found.statistic) == 0
    assert 0.35 < float(found.pvalue) < 0.65
    apart = AutoML().test(BlockScores(np.ones(80), np.zeros(80)), stream(19))
    assert float(apart.pvalue) == 1 / 1000


@pytest.mark.parametrize(
    ("p", "q", "rule"),
    [
        ([1.0], [1.0, 2.0], "at least two scores"),
        ([1.0, np.nan], [1.0, 2.0], "NaN"),
        ([1.0, np.inf], [1.0, 2.0], "finite"),
    ],
)
def test_scores_that_are_refused(p, q, rule):
    with pytest.raises(ValueError, match=rule):
        witness_test.permuted(p, q, 9, stream(0))


def test_options_that_are_refused():
    for bad in ({"permutations": 0}, {"engine": "sklearn"}, {"seconds": -1}):
        with pytest.raises(ValueError, match=next(iter(bad))):
            AutoML(**bad)
    with pytest.raises(ValueError, match="at least one permutation"):
        witness_test.permuted([0.0, 1.0], [0.0, 1.0], 0, stream(0))


def test_describes_itself():
    method = AutoML(seconds=30)
    assert method.label == "AutoML-style"
    assert method.budget(70, 9) == (70, 70)
    assert keys.read(keys.canonical_text(method)) == method
    recipe = method.recipe(70, 9)
    assert keys.read(keys.canonical_text(recipe)) == recipe == Witness(n=70, seconds=30)
    assert "AutoGluon" not in recipe.label


# The witness.


@pytest.fixture(scope="module")
def rows():
    return Witness(n=400).sample(GAUSSIAN, GAMMA, stream(20))


@pytest.fixture
def _few_steps(monkeypatch):
    """Of the network, the dearest member, where it need not have learnt much."""
    monkeypatch.setattr(witness_network, "NETWORK_STEPS", 80)


@pytest.fixture(scope="module")
def learnt(rows):
    return Witness(n=400).learn_all([rows], [0])[0]


def _test_rows(n=300):
    return sampling.blocks(GAUSSIAN, GAMMA, n, n, stream(21))


def test_it_sees_what_is_wrong_and_says_by_whom(learnt):
    told = learnt.summary
    assert told["r2"] > 0.05
    weights = [v for name, v in told.items() if name.startswith("weight ")]
    assert sum(weights) == pytest.approx(1)
    assert {name[3:] for name in told if name.startswith("r2 ")} == set(witness_training.MEMBERS)
    # (theta - mu)' S^-1 (theta - mu) is what tells: a plane cannot see it.
    assert told["r2 linear"] < 0.03 < told["r2 quadratic"]
    found = AutoML().test(scores.apply(learnt.at(), _test_rows()), stream(22))
    assert float(found.pvalue) == 1 / 1000


def test_held_out_r2_is_honest(learnt):
    """Of rows that it never saw: neither far above nor far below what the folds said."""
    drawn = sampling.blocks(GAUSSIAN, GAMMA, 4000, 4000, stream(23))
    made = scores.apply(learnt.at(), drawn)
    y = np.repeat([0.5, -0.5], 4000)
    h = np.concatenate([made.p, made.q])
    fresh = np.corrcoef(h, y)[0, 1] ** 2
    assert abs(fresh - learnt.summary["r2"]) < 0.05


def test_stored_and_read_it_gives_the_same_scores(learnt, tmp_path):
    recipe = Witness(n=400)
    store = Store(tmp_path)
    store.save(
        "models", "a", learnt.arrays(), spec=keys.canonical_text(recipe), meta=learnt.summary
    )
    again = recipe.read(store.load("models", "a").arrays, seconds=1.0, device="cpu")
    assert again.summary == learnt.summary
    rows = _test_rows().p
    before = learnt.at()(rows.theta, rows.x)
    np.testing.assert_array_equal(again.at()(rows.theta, rows.x), before)
    np.testing.assert_array_equal(again.at(0.7)(rows.theta, rows.x), before)
    assert np.ptp(before) > 0


@pytest.mark.usefixtures("_few_steps")
def test_the_same_seed_gives_the_same_witness(rows):
    first, again = (Witness(n=400).learn_all([rows], [0])[0].arrays() for _ in range(2))
    assert again.keys() == first.keys()
    for name, array in first.items():
        np.testing.assert_array_equal(again[name], array)


def test_no_member_is_begun_after_the_time(rows, monkeypatch):
    none = Witness(n=400, seconds=0).learn_all([rows], [0])[0]
    assert {n for n in none.summary if n.startswith("r2 ")} == {"r2 linear", "r2 quadratic"}
    begun = []

    def slow(name):
        def fit(asked, rng):
            begun.append(name)
            clock[0] += 10
            return MemberFit(np.zeros(len(asked.y)), 0.0, {})

        return fit

    clock = [0.0]
    monkeypatch.setattr(witness_training.time, "perf_counter", lambda: clock[0])
    monkeypatch.setattr(
        witness_training,
        "MEMBERS",
        {
            name: witness_training.EnsembleMember(slow(name), None)
            for name in witness_training.MEMBERS
        },
    )
    witness_training.train_ensemble(rows, 25, 0)
    assert begun == list(witness_training.MEMBERS)[:3]


def test_a_useless_member_gets_no_weight():
    rng = stream(24)
    n = 2000
    y = np.repeat([0.5, -0.5], n // 2)
    fold = np.arange(n) % witness_rows.FOLDS
    asked = witness_rows.WitnessRegression(np.zeros((n, 1)), y, np.full(n, 1 / n), fold)
    good = 0.3 * y + 0.2 * rng.standard_normal(n)
    held = {"noise": 0.3 * rng.standard_normal(n), "good": good, "wrong": -y,
            "zero": np.zeros(n)}  # fmt: skip
    weights = witness_training.stacking_weights(asked, held)
    assert weights["good"] > 0.97
    assert max(weights[name] for name in ("noise", "wrong", "zero")) < 0.03


def test_loudness_of_a_member_does_not_matter():
    rng = stream(51)
    y = np.repeat([0.5, -0.5], 300)
    asked = witness_rows.WitnessRegression(
        np.zeros((600, 1)), y, np.full(600, 1 / 600), np.arange(600) % 5
    )
    one, two = (y + 2 * rng.standard_normal(600) for _ in range(2))
    before = witness_training.stacking_weights(asked, {"one": one, "two": two})
    after = witness_training.stacking_weights(asked, {"one": 1e-3 * one, "two": 50 * two - 7})
    assert after == pytest.approx(before)
    assert min(before.values()) > 0.2
    assert asked.r2(50 * two - 7) == pytest.approx(asked.r2(two))
    assert asked.r2(-two) == pytest.approx(-asked.r2(two))
    assert asked.r2(two) == pytest.approx(np.corrcoef(two, y)[0, 1] ** 2)
    assert asked.r2(np.full(600, 0.1)) == 0


def test_where_no_member_explains_anything_one_is_the_witness():
    y = np.repeat([0.5, -0.5], 50)
    asked = witness_rows.WitnessRegression(
        np.zeros((100, 1)), y, np.full(100, 0.01), np.arange(100) % 5
    )
    less = np.where(np.arange(100) % 10 < 4, y, -y)
    weights = witness_training.stacking_weights(asked, {"wrong": -y, "less wrong": less})
    assert weights == {"wrong": 0.0, "less wrong": 1.0}


def test_folds_of_a_table_share_no_x():
    table = sampling.table(GAUSSIAN, GAMMA, 40, 3, stream(25))
    made = Witness().of_table(table, stream(26))
    assert (len(made.p), len(made.q)) == (40, 120)
    asked = witness_rows.build_regression(made, *witness_rows.robust_scaling(made), stream(27))
    for i in range(40):
        assert len({asked.fold[i], *asked.fold[40 + 3 * i : 43 + 3 * i]}) == 1
    np.testing.assert_array_equal(np.bincount(asked.fold[:40]), [8] * 5)
    # Balanced: a constant explains nothing, however many draws of q there are.
    assert asked.weight[:40].sum() == pytest.approx(0.5)
    assert asked.r2(np.zeros(160)) == pytest.approx(0)
    np.testing.assert_array_equal(made.q.x[3:6], np.repeat(table.x[1:2], 3, axis=0))


@pytest.mark.usefixtures("_few_steps")
def test_a_table_is_learnt_from():
    table = sampling.table(GAUSSIAN, GAMMA, 200, 4, stream(28))
    recipe = Witness()
    found = recipe.learn_all([recipe.of_table(table, stream(29))], [0])[0]
    drawn = _test_rows(500)
    assert float(AutoML().test(scores.apply(found.at(), drawn), stream(30)).pvalue) < 0.01


def test_long_tables_are_cut(monkeypatch):
    monkeypatch.setattr(witness_rows, "MOST_ROWS", 90)
    table = sampling.table(GAUSSIAN, GAMMA, 40, 5, stream(31))
    made = Witness().of_table(table, stream(32))
    np.testing.assert_array_equal(made.q.theta, table.q[:, :2].reshape(80, -1))
    np.testing.assert_array_equal(made.q.x, np.repeat(table.x, 2, axis=0))


@pytest.mark.usefixtures("_few_steps")
@pytest.mark.parametrize("kind", ["one column", "constants", "identical", "huge"])
def test_poor_rows(kind):
    """The smallest samples that are taken, in shapes that break a careless member."""
    rng = stream(33, kind)
    p, q = rng.standard_normal((2, witness_rows.FEWEST, 1))
    if kind == "constants":
        p, q = np.ones((2, witness_rows.FEWEST, 3))
    if kind == "identical":
        q = p
    if kind == "huge":
        p, q = 1e200 * p, 1e-200 * q
    none = np.empty((witness_rows.FEWEST, 0))
    recipe = Witness()
    made = recipe.of_blocks(TwoSamples(Joint(p, none), Joint(q, none)), rng)
    found = recipe.learn_all([made], [0])[0]
    again = recipe.read(found.arrays(), seconds=0.0, device="cpu")
    drawn = scores.apply(again.at(), TwoSamples(Joint(p, none), Joint(q, none)))
    assert np.isfinite(drawn.p).all()
    assert np.isfinite(drawn.q).all()
    assert 0 < float(AutoML(permutations=99).test(drawn, rng).pvalue) <= 1
    assert all(np.isfinite(number) for number in found.summary.values())


def test_rows_that_are_refused():
    few = witness_rows.FEWEST - 1
    with pytest.raises(
        ValueError, match=f"at least {witness_rows.FEWEST} rows .* got {few} and {few}"
    ):
        Witness(n=few).sample(GAUSSIAN, GAMMA, stream(34))
    table = sampling.table(GAUSSIAN, GAMMA, few, 5, stream(35))
    with pytest.raises(ValueError, match=f"at least {witness_rows.FEWEST} simulations"):
        Witness().of_table(table, stream(36))
    missing = Joint(np.full((20, 1), np.nan), np.zeros((20, 1)))
    rows = Witness().of_blocks(TwoSamples(missing, missing), stream(37))
    with pytest.raises(ValueError, match="NaN or infinity in 40 of 40 rows"):
        Witness().learn_all([rows], [0])


def test_products_give_way_to_random_squares(monkeypatch):
    """Where there are too many products, as many random quadratics serve."""

    rng = stream(38)
    z = rng.standard_normal((1200, 4))
    y = np.where(z[:, 0] * z[:, 1] > 0, 0.5, -0.5)
    asked = witness_rows.WitnessRegression(
        z, y, np.full(1200, 1 / 1200), np.arange(1200) % witness_rows.FOLDS
    )
    full = witness_ridge.fit_quadratic_ridge(asked, stream(39))
    monkeypatch.setattr(witness_ridge, "MOST_PRODUCTS", 9)
    random = witness_ridge.fit_quadratic_ridge(asked, stream(39))
    assert full.arrays["directions"].shape == (4, 0)
    assert random.arrays["directions"].shape == (4, 9)
    assert full.r2 > 0.3
    assert 0.1 < random.r2 <= full.r2 + 0.02


@pytest.mark.parametrize("name", witness_training.MEMBERS)
def test_a_stored_member_is_the_one_whose_folds_were_judged(name):
    """It fits the rows that it learnt from better than the folds were predicted, in their way."""
    rows = Witness(n=500).sample(GAUSSIAN, GAMMA, stream(40))
    asked = witness_rows.build_regression(rows, *witness_rows.robust_scaling(rows), stream(41))
    member = witness_training.MEMBERS[name]
    fit = member.fit(asked, stream(42))
    own = member.predict(fit.arrays, asked.z)
    assert fit.r2 == pytest.approx(asked.r2(fit.held))
    assert np.corrcoef(own, fit.held)[0, 1] > (0.3 if name in ("network", "neighbours") else 0.5)
    assert asked.r2(own) > fit.r2


@pytest.mark.slow
@pytest.mark.parametrize("perturbation", ["mean_shift", "covariance_scaling", "heavy_tail"])
def test_power(perturbation):
    """At the largest gamma, n = 1000, 100 tests of one witness; its level at q = p, at n = 100."""
    benchmark = BENCHMARKS["gaussian"](perturbation=perturbation)
    recipe = AutoML().recipe(1000, 1)
    gamma = benchmark.gammas[-1]
    found = recipe.learn_all([recipe.sample(benchmark, gamma, stream(43))], [0])[0]
    drawn = sampling.blocks(benchmark, gamma, 100_000, 100_000, stream(44))
    made = scores.apply(found.at(), drawn)
    stacked = BlockScores(made.p.reshape(100, 1000), made.q.reshape(100, 1000))
    tested = AutoML().test(stacked, stream(45))
    assert (tested.pvalue <= 0.05).mean() > 0.98
    null = sampling.blocks(benchmark, 0.0, 100_000, 100_000, stream(46))
    made = scores.apply(found.at(), null)
    stacked = BlockScores(made.p.reshape(1000, 100), made.q.reshape(1000, 100))
    rejected = int((AutoML().test(stacked, stream(47)).pvalue <= 0.05).sum())
    low, high = statistics.binomial_bounds(1000, 0.05, 0.999)
    assert low <= rejected <= high


# The libraries.

FLAML = importlib.util.find_spec("flaml") is not None
AUTOGLUON = importlib.util.find_spec("autogluon") is not None


@pytest.mark.parametrize(
    ("engine", "install"),
    [
        pytest.param("flaml", r"\.\[automl\]",
                     marks=pytest.mark.skipif(FLAML, reason="FLAML is installed")),
        pytest.param("autogluon", "autogluon.tabular",
                     marks=pytest.mark.skipif(AUTOGLUON, reason="AutoGluon is installed")),
    ],
)  # fmt: skip
def test_an_absent_library_is_said(engine, install, rows):
    recipe = AutoML(engine=engine).recipe(400, 1)
    with pytest.raises(ValueError, match=f"not installed whole.*{install}.*engine ensemble"):
        recipe.learn_all([rows], [0])


@pytest.mark.slow
@pytest.mark.skipif(not FLAML, reason="FLAML is not installed: pip install .[automl]")
@pytest.mark.filterwarnings("ignore")  # the library's own
def test_flaml_finds_a_witness(rows, tmp_path):
    from validation_core.scores import witness_search

    recipe = Witness(engine="flaml", n=400, seconds=5)
    learnt = recipe.learn_all([rows], [2**40])[0]
    assert learnt.summary["r2"] > 0.01
    drawn = _test_rows(500)
    made = scores.apply(learnt.at(), drawn)
    assert float(AutoML().test(made, stream(48)).pvalue) < 0.05

    store = Store(tmp_path)
    store.save(
        "models", "a", learnt.arrays(), spec=keys.canonical_text(recipe), meta=learnt.summary
    )
    again = recipe.read(store.load("models", "a").arrays, seconds=1.0, device="cpu")
    assert again.summary == learnt.summary
    # This process remembers what it found; another one searches anew.
    np.testing.assert_array_equal(scores.apply(again.at(), drawn).p, made.p)
    witness_search.fitted_models.clear()
    anew = scores.apply(again.at(), drawn)
    assert np.corrcoef(anew.p, made.p)[0, 1] > 0.3


# The figures.


def test_figures_draw(learnt):
    made = scores.apply(learnt.at(), _test_rows())
    found = AutoML().test(made, stream(49))
    drawn = pictures(record_of(AutoML, found.arrays))
    assert len(drawn) == 2
    sheets = [one.figure for one in drawn] + [plotly.figure(automl.member_weights(learnt.summary))]
    for sheet in sheets:
        go.Figure(sheet.to_dict())  # validation, which figures skip for speed
        assert sheet.data
        assert sheet.layout.xaxis.range is not None
        assert all(np.asarray(trace.y).dtype == np.float32 for trace in sheet.data)
        assert len(sheet.to_json()) < 60_000
    assert "if q were correct" in drawn[0].caption.lower()
    null = sheets[0]
    assert null.layout.shapes[0].x0 == pytest.approx(float(found.statistic))
    assert sum(null.data[0].y) == 999
    assert [sum(trace.y) for trace in sheets[1].data] == pytest.approx([1, 1])
    for label, bar in zip(sheets[2].layout.yaxis.ticktext, sheets[2].data, strict=True):
        name = label.split(" · ")[0]
        assert bar.x[0] == pytest.approx(learnt.summary[f"weight {name}"], abs=1e-6)


def test_figures_of_nothing_and_of_constants():
    for drawn in pictures(record_of(AutoML, {})):
        assert not drawn.figure.data
        assert drawn.figure.layout.annotations[0].text.startswith("No")
    assert automl.member_weights({}).marks[0].words.startswith("No")
    flat = AutoML(permutations=19).test(BlockScores(np.zeros(9), np.zeros(9)), stream(50))
    for drawn in pictures(record_of(AutoML, flat.arrays)):
        go.Figure(drawn.figure.to_dict())
        low, high = drawn.figure.layout.xaxis.range
        assert low < 0 < high
