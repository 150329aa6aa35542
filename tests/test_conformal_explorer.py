"""The workbench's numbers: every view at every gamma and beta, and power."""

import json
import re
from dataclasses import asdict, replace
from itertools import pairwise

import numpy as np
import pytest
from scipy.stats import norm

from tests.picture_reading import Picture
from validation_core import keys, sampling, statistics
from validation_core.benchmarks.boundary import Boundary
from validation_core.benchmarks.gaussian import Gaussian
from validation_core.benchmarks.over_gamma import AtGamma
from validation_core.engine import Engine, WorkerPool
from validation_core.engine.task import SerialExecutor
from validation_core.explorers.conformal import panels, pictures, power_panels, power_study
from validation_core.explorers.conformal import study as workbench
from validation_core.explorers.conformal.power_study import ConformalPower
from validation_core.explorers.conformal.study import ConformalStudy, Learned
from validation_core.explorers.conformal.view import ConformalView, MeasuredPower
from validation_core.methods import C2ST, Multiple, Uniform
from validation_core.rng import common, stream
from validation_core.scores import trained_scores
from validation_core.scores.classifier import PRESETS, Classifier
from validation_core.scores.trained_scores import Simulated, Training, TrainTask
from validation_core.store import SHIPPED, Store
from validation_core.sweep import trials
from validation_core.sweep.plan import Sweep
from validation_core.sweep.progress import collect, keep_curves, missing
from validation_core.sweep.trials import TrialDesign
from validation_core.text import LEVELS
from validation_core.types import BlockScores

RECIPE = Classifier(train=300, epochs=8, lr=2e-3, hidden=32)
TRAINING = Training(source=Simulated(benchmark=Boundary(), gamma=0.5), recipe=RECIPE)
METHODS = (C2ST(), Multiple(), Uniform(m=10))
DESIGN = TrialDesign(trials=12, n=100)

LEARNED = Learned(
    benchmark=Gaussian(), recipe=Classifier(train=10_000, epochs=8, lr=6e-3, hidden=24)
)
STUDY = ConformalStudy(learned=LEARNED, n=1000, m=10, betas=(0.0, 0.5, 1.0))
POWER = ConformalPower(learned=LEARNED, n=100, ms=(10, 50), betas=(0.0, 0.9), trials=20)


SWEEP = Sweep(
    benchmark=TRAINING.source.benchmark, methods=METHODS, gammas=(0.5,), design=DESIGN,
    recipe=RECIPE,
)  # fmt: skip


def _quiet(fraction, live):
    pass


def _run(sweep, store):
    for task in missing(sweep, store):
        task.run(store, _quiet)


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return Store(tmp_path_factory.mktemp("store"))


@pytest.fixture(scope="module")
def seen(store):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(workbench, "P_ROWS", 10_240)
        STUDY.run(store, _quiet)
    return STUDY.load(store)


@pytest.fixture(scope="module")
def power(store):
    POWER.run(store, _quiet)
    return POWER.load(store)


@pytest.fixture(scope="module")
def oracle():
    return workbench.by_oracle(STUDY)


def test_mean_rank_is_one_minus_auc(seen):
    """Lemma 3.3, up to the noise of n ranks."""
    assert seen.mean.shape == (len(LEARNED.gammas), 3)
    assert np.abs(seen.mean - (1 - seen.auc)).max() < 4 * 0.29 / np.sqrt(1000) + 0.02


def test_counts_and_the_distribution_function_agree(seen):
    assert (seen.counts.sum(-1) == 1000).all()
    cumulated = seen.counts[..., :10].sum(-1) / 1000
    half = np.abs(workbench.POINTS - 0.5).argmin()
    np.testing.assert_allclose(seen.difference[..., half], cumulated - 0.5, atol=2e-3)


def test_a_correct_q_is_let_be_and_a_wrong_one_is_seen(seen, oracle):
    for found in (seen, oracle):
        assert found.gammas[0] == 0
        assert found.ks[0, 0] > 1e-3
        assert found.ks[-1, 0] < 1e-20
    assert seen.multiple_p[-1, 0] < 1e-6
    assert seen.accuracy_p[-1, 0] < 1e-6


def test_an_auc_implies_a_distance_only_beyond_its_interval():
    """Near one half it is no evidence, and of a correct q chance."""
    near = panels.auc_text(0.505, 0.49, 0.52, 0.0, True)
    assert near == "AUC 0.505 [0.490, 0.520]: by itself no evidence that p and q differ."
    assert panels.auc_text(0.6, 0.58, 0.62, 0.08, False).endswith(
        "[0.580, 0.620]: the total variation between p and q is at least 0.080."
    )
    assert "by chance, since q is correct" in panels.auc_text(0.52, 0.505, 0.535, 0.005, True)


def test_the_oracle_ranks_best(seen, oracle):
    """A network may come close, up to the noise of 2048 draws; gamma = 0 is a tie."""
    assert oracle.auc[0, 0] == 0.5
    assert (oracle.auc[:, 0] > seen.auc[:, 0] - 0.03).all()
    assert (np.diff(seen.auc[:, 0]) > -0.005).all(), "more is easier, on the same random numbers"
    np.testing.assert_allclose(seen.oracle_auc, oracle.auc[:, 0], atol=0.03)
    assert oracle.against.size == 0


def test_degrading_costs_auc(seen):
    assert seen.auc[-1, 0] > 0.7 > seen.auc[-1, -1]


def test_few_betas_are_those_of_many(store, seen, monkeypatch):
    monkeypatch.setattr(workbench, "P_ROWS", 10_240)
    first = replace(STUDY, betas=(0.0, 1.0)).compute(store, _quiet)
    for name in ("auc", "counts", "ks", "multiple", "density_q"):
        np.testing.assert_array_equal(getattr(first, name), getattr(seen, name)[:, [0, 2]])
    assert STUDY.first().betas == workbench.COARSE_BETAS


def test_pooled_where_there_are_too_few_scores(store, seen, monkeypatch):
    monkeypatch.setattr(workbench, "P_ROWS", 10_240)
    pooled = replace(STUDY, m=50, betas=(0.0,)).compute(store, _quiet)
    assert STUDY.n * STUDY.m <= seen.pool < STUDY.n * 50
    assert np.abs(pooled.mean[:, 0] - seen.mean[:, 0]).max() < 0.03


def test_a_result_holds_what_is_drawn(store, seen):
    size = (store.root / "results" / f"{STUDY.key}.npz").stat().st_size
    assert size < 90_000 / 7 * len(LEARNED.gammas)


def test_rank_variance_falls_as_one_over_m():
    rng = stream(7)
    p, q = rng.standard_normal(20_000), rng.standard_normal(200) - 0.5
    law = statistics.PooledLaw(p)
    below = law.cdf(q)[0]
    found = workbench.rank_variance((below * (1 - below)).mean())
    again = np.broadcast_to(q, (400, 200))
    for variance, m in zip(found, workbench.PAPER_M, strict=True):
        u = statistics.randomised_ranks(*law.counts(again, m, rng), m, rng)
        assert variance == pytest.approx(u.var(axis=0, ddof=1).mean(), rel=0.05)


def test_histograms_are_densities_whatever_the_scale(seen):
    width = 2 * workbench.REACH / seen.density_p.shape[-1]
    area = seen.density_p.astype(float).sum(-1) * width
    assert ((area > 0.9) & (area < 1.01)).all()  # what lies beyond the axis is not drawn
    rng = stream(8)
    scored = BlockScores(rng.standard_normal((1, 5000)), rng.standard_normal((1, 5000)) - 1)
    plain, stretched = (
        workbench.summarise_scores(STUDY, BlockScores(k * scored.p, k * scored.q)) for k in (1, 7)
    )
    np.testing.assert_allclose(stretched["density_p"], plain["density_p"], atol=0.02)
    np.testing.assert_allclose(stretched["threshold"], plain["threshold"], rtol=1e-5)


def test_the_oracle_rises_with_itself():
    """A score that is the oracle rises along it; one that is noise stays flat."""
    rng = stream(9)
    ratios = rng.standard_normal(4096) + 0.5, rng.standard_normal(4096) - 0.5
    own = workbench.score_quantiles(ratios, BlockScores(*(side[None] for side in ratios)))
    assert (np.diff(own["against"][0, 1]) > 0).all()
    noise = BlockScores(rng.standard_normal((1, 4096)), rng.standard_normal((1, 4096)))
    assert np.abs(workbench.score_quantiles(ratios, noise)["against"][0, 1]).max() < 0.4
    assert workbench.score_quantiles(None, noise)["against"].size == 0


def test_networks_for_all_gammas_or_for_each():
    assert len(LEARNED.trainings) == 1
    assert set(Gaussian().gammas) <= set(LEARNED.power_gammas) <= set(LEARNED.gammas)
    each = Learned(benchmark=Gaussian(), recipe=PRESETS["paper"], each=True)
    assert each.gammas == each.power_gammas == Gaussian().gammas
    source = Simulated(benchmark=Gaussian(), gamma=0.1)
    assert Training(source=source, recipe=PRESETS["paper"]) in each.trainings


def test_each_gamma_has_its_own_network(store):
    each = replace(LEARNED, recipe=RECIPE, each=True)
    score = each.score(store)
    rows = sampling.pairs(each.benchmark, 0.0, 50, common(0, "rows"))
    own = trained_scores.load(store, each.trainings[2]).grid((0.5,), rows)
    np.testing.assert_array_equal(score((0.5,), rows, 2), own)
    assert (score((0.5,), rows, 3) != own).any()


def test_power_is_what_a_sweep_counts(store, power):
    """The trials of `trials.py`."""
    score, i = LEARNED.score(store), 5
    gamma = LEARNED.power_gammas[i]
    index = LEARNED.gammas.index(gamma)
    (network,) = (trained_scores.load(store, training) for training in LEARNED.trainings)
    for j, beta in enumerate(POWER.betas):
        at = AtGamma(network.at(beta), LEARNED.over, index)
        design = TrialDesign(trials=20, n=100)
        law = POWER.laws(score)[i][j]
        told = trials.run_trials(
            Gaussian(), gamma, at, POWER.methods, design, pool=lambda _, own=law: own
        )
        for level in LEVELS:
            rejected = [(tally.pvalues <= level).sum() for tally in told]
            assert list(power.at(level)[:, j, i]) == rejected


def test_a_level_costs_nothing_and_few_trials_are_the_first(store, power):
    few = replace(POWER, trials=10).compute(store, _quiet).rejections
    assert (few <= power.rejections).all()
    assert (power.rejections <= few + 10).all()
    counts = [power.at(level) for level in LEVELS]
    assert all((a <= b).all() for a, b in pairwise(counts))
    assert (counts[1][:, 0, -1] >= 18).all(), "at the largest gamma all see it"
    assert (counts[1][:, 0, 0] <= 5).all()
    assert POWER.few() == POWER


def test_power_of_several_networks_is_their_mean_within_all_their_intervals(seen, power):
    """A second network that never rejects takes the level's curve down by half."""
    assert POWER.by_network(1) == (POWER,)
    assert [one.learned.seed for one in POWER.by_network(3)] == [0, 1, 2]
    never = power._replace(rejections=np.zeros_like(power.rejections))
    counted = MeasuredPower(POWER, (power, never))
    own, blind = (MeasuredPower(POWER, (one,)).rates(0.05) for one in (power, never))
    rates = counted.rates(0.05)
    np.testing.assert_allclose(rates.rate, own.rate / 2)
    np.testing.assert_array_equal(rates.high, np.maximum(own.high, blind.high))
    assert (rates.low == blind.low).all()
    look = ConformalView(STUDY, "Ranks", 0.05)
    said = Picture(pictures.payload(look, seen, counted)).texts()
    (caption,) = {text for text in said if "trials a point" in text}
    assert "20 trials a point with each of 2 networks, n = 100" in caption
    assert "from the lowest to the highest of the networks' 95% intervals" in caption
    table = power_panels.power_table(counted, 0.05)
    assert (table["Trials"] == 40).all()
    np.testing.assert_allclose(table["Power"], (table["Network 1"] + table["Network 2"]) / 2)
    np.testing.assert_allclose(table["Power"], table["Rejected"] / 40)


@pytest.mark.parametrize("view", ["Ranks", "Scores", "Other tests"])
@pytest.mark.parametrize("over_m", [False, True])
def test_every_view_follows_gamma_and_beta(seen, power, oracle, view, over_m):
    look = ConformalView(STUDY, view, 0.05, over_m)
    counted = MeasuredPower(POWER, (power,))
    whole = pictures.payload(look, seen, counted)
    assert [len(values) for values in whole.sliders] == [len(LEARNED.gammas), 21]
    assert len(whole.body) < 300_000
    for other in (counted._replace(old=True), None):
        assert pictures.payload(look, seen, other).head != whole.head
    before = pictures.payload(look._replace(oracle=True), oracle, None)
    assert before.sliders == whole.sliders, "they stay where they stand when a network has learnt"
    assert "oracle score" in before.head
    assert len(before.body) < 60_000


def test_where_q_is_p_no_distance_is_claimed(oracle):
    """An AUC of exactly one half; farther off the interval's lower end bounds the distance."""
    head = pictures.payload(ConformalView(STUDY, "Ranks", 0.05, oracle=True), oracle, None).head
    assert "AUC 0.500 [0.478, 0.522]: by itself no evidence that p and q differ." in head
    bound = statistics.total_variation_bounds(oracle.auc[-1, 0])[0]
    assert f"at least {bound:.3f}" not in head


def test_nothing_is_to_be_learnt_from_an_oracle_that_is_0(seen):
    shown = panels.score_against_oracle_panel(ConformalView(STUDY, "Scores", 0.05), seen)[0]
    first, *others = shown.caption.parts["words"].values
    assert "nothing to learn" in first
    assert all("the oracle, whose AUC is" in words for words in others)


def test_a_q_without_a_gamma_is_not_said_to_have_one():
    blind = replace(LEARNED, benchmark=Gaussian(perturbation="blind_prior"))
    study = replace(STUDY, learned=blind)
    alone = workbench.by_oracle(study)
    head = pictures.payload(ConformalView(study, "Ranks", 0.05, oracle=True), alone, None).head
    template = json.loads(head)["headline"]["template"]
    assert template.endswith("log p − log q: its AUC is {auc}, and {tested}")


def test_the_headline_says_how_many_draws_the_classifier_learnt_from(seen):
    head = pictures.payload(ConformalView(STUDY, "Ranks", 0.05), seen, None).head
    template = json.loads(head)["headline"]["template"]
    assert f"the classifier, trained on {LEARNED.recipe.train:,} draws a side, has an" in template


def test_between_counted_places_power_is_a_straight_line(power):
    rates = power_panels.interpolate_rates(MeasuredPower(POWER, (power,)), LEARNED.gammas, 0.05)
    assert rates.rate.shape == (4, 21, len(LEARNED.gammas))
    hits, trials = power.at(0.05), POWER.trials
    at = [LEARNED.gammas.index(gamma) for gamma in LEARNED.power_gammas]
    np.testing.assert_allclose(rates.rate[:, 0, at], hits[:, 0] / trials)
    np.testing.assert_allclose(rates.rate[:, 9, at], hits.mean(1) / trials)  # 0.45 of 0 to 0.9
    counted, beyond = np.split(np.array(rates), [19], axis=2)  # at 0.9
    assert (np.diff(counted[[1, 0, 2]], axis=0) >= 0).all(), "low, rate, high"
    assert np.isnan(beyond).all(), "nothing was counted there"


def test_power_over_m_says_where_it_is_counted_and_no_band_is_promised(seen, power):
    look = ConformalView(STUDY, "Ranks", 0.05, over_m=True)
    said = Picture(pictures.payload(look, seen, MeasuredPower(POWER, (power,)))).texts()
    (caption,) = [text for text in said if "trials a point" in text]
    assert "counted at beta = 0 and 0.9; lines between, none beyond 0.9." in caption
    assert "shaded" not in caption


def test_an_auc_of_1_leaves_room_for_what_was_not_drawn(seen):
    """4,096 draws that never cross bound the total variation, but not by 1."""
    perfect = seen._replace(auc=np.ones_like(seen.auc))
    said = Picture(pictures.payload(ConformalView(STUDY, "Ranks", 0.05), perfect, None)).texts()
    bounds = (re.search(r"at least (\d\.\d+)\.", text) for text in said)
    (bound,) = {found[1] for found in bounds if found}
    assert 0.9 < float(bound) < 0.99


@pytest.mark.parametrize("seed", range(4))
def test_the_interval_of_an_auc_covers_it_and_its_bound_holds(seed):
    """Normal scores of means apart by a shift: TV is known, also where the AUC is nearly 1."""
    rng, n = np.random.default_rng(seed), 500
    for shift in (0.3, 1.0, 3.0, 6.0):
        misses = 0
        for _ in range(200):
            auc = float(statistics.auc(shift + rng.standard_normal(n), rng.standard_normal(n)))
            low, high = statistics.wilson(auc * n, n)
            bound = statistics.total_variation_bounds(np.maximum(low, 1 - high))[0]
            misses += bound > 2 * norm.cdf(shift / 2) - 1
        assert misses <= 12


def test_what_is_shipped_is_what_the_page_opens_with():
    ranks, powers = workbench.shipped(), power_study.shipped()
    assert len(set(ranks)) == len(ranks) == 7 * 4
    assert len(set(powers)) == len(powers) == 3 * (7 * 4 + 7)  # networks; and over m
    learned = Learned(benchmark=Gaussian())
    assert ConformalStudy(learned=learned) in ranks
    assert set(ConformalPower(learned=learned).by_network(3)) <= set(powers)


def test_one_network_for_all_who_ask(store, monkeypatch):
    TrainTask(trainings=(TRAINING,)).run(store, _quiet)

    def never(*args):
        pytest.fail("trained again")

    monkeypatch.setattr(trained_scores, "train_and_store", never)
    assert store.has("models", keys.key(TRAINING))
    _run(SWEEP, store)
    assert TrainTask(trainings=(TRAINING,)).done(store)


def test_the_power_of_a_place_reads_back(store):
    at = replace(SWEEP, betas=(0.5,))
    _run(at, store)
    cells = collect(at, store).cells
    assert [cell.method for cell in cells] == ["c2st", "multiple", "uniform"]
    assert cells[2].options == {"m": 10}
    assert cells[0].beta == 0.5
    assert missing(at, store) == ()


def test_what_was_kept_along_one_axis_is_found_along_another(store):
    """Axes cross at a place."""
    across = replace(SWEEP, betas=(0.0, 0.5))
    _run(across, store)
    keep_curves(across, store)
    fresh = Store(store.root.parent / "fresh")
    for method in METHODS:
        curve = across.curve(method)
        curve.keep(fresh, curve.load(store))
    here = replace(SWEEP, betas=(0.5,))
    assert missing(here, fresh)
    assert missing(here, fresh, [across]) == ()
    cells = collect(here, fresh, None, [across]).cells
    found = collect(across, store).cells
    assert [*map(asdict, cells)] == [asdict(cell) for cell in found if cell.beta == 0.5]
    further = replace(SWEEP, betas=(0.5, 1.0))
    places = {part.beta for task in missing(further, fresh, [across])
              for part in getattr(task, "parts", ())}  # fmt: skip
    assert places == {1.0}


def test_progress_tells_the_course_of_the_training(tmp_path):
    told = []
    task = TrainTask(trainings=(TRAINING,))
    task.run(Store(tmp_path), lambda fraction, live: told.append((fraction, live)))
    fractions = [fraction for fraction, _ in told]
    assert fractions == sorted(fractions)
    assert fractions[-1] == 1.0
    courses = [live["history"] for _, live in told]
    assert len(courses[-1]["auc"]) > 3


@pytest.mark.slow
def test_serial_and_workers_agree_to_the_bit_and_cold_with_warm(tmp_path):
    """One result, whoever computes it, whether its network was stored or trained on the way."""
    wanted = replace(SWEEP, betas=(0.0, 0.6))
    tasks = [task for task in wanted.tasks if not isinstance(task, TrainTask)]
    parts = [part for task in tasks for part in task.parts]
    found = {}
    for name, executor in (("serial", SerialExecutor()), ("workers", WorkerPool(2))):
        engine = Engine(Store(tmp_path / name), executor)
        for who in ("cold", "warm"):
            if who == "warm":
                for part in parts:
                    engine.store.delete("results", part.key)
            job = engine.submit(tasks, "test")
            assert engine.wait(job.key, "test", 120).state == "done"
            arrays = [engine.store.load("results", p.key).arrays["pvalues"] for p in parts]
            found[name, who] = arrays
        engine.close()
    first = found["serial", "cold"]
    for other in found.values():
        for a, b in zip(first, other, strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(
    "study", workbench.shipped(), ids=lambda study: study.learned.benchmark.label
)
def test_shipped_networks_see_what_the_oracle_sees(study, tmp_path):
    """Also a wrong shape at each x, which the spread of theta over x hides (anisotropic)."""
    seen = study.load(Store(tmp_path, gallery=SHIPPED))
    above = float(seen.auc[-1, 0]) - 0.5, float(seen.oracle_auc[-1]) - 0.5
    share = 0.5 if study.learned.benchmark.perturbation == "heavy_tail" else 0.85
    assert above[0] > share * above[1]
