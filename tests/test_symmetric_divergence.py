"""Runs of the divergence over simulations: what they keep, share, gather, and their order."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import logsumexp

from validation_core.bayes import MODELS, HeartTransplants, Hospitals
from validation_core.bayes.algorithms import ALGORITHMS
from validation_core.bayes.laplace import Laplace
from validation_core.bayes.model import log_joint
from validation_core.bayes.regressions import Concrete
from validation_core.bayes.variational import Variational
from validation_core.engine import Engine
from validation_core.engine.task import SerialExecutor
from validation_core.store import Store
from validation_core.symmetric_divergence import (
    FOUR,
    GRID,
    MS,
    InferenceRun,
    Plan,
    RunTermsStudy,
    collect,
    curves,
    figure,
)
from validation_core.symmetric_divergence import importance_sample_size as made_for
from validation_core.symmetric_divergence.curves import figure_rows, rows
from validation_core.symmetric_divergence.runs import relative_cost, summarise_terms, trained

HEART, EXACT = HeartTransplants(), ALGORITHMS["exact"]


def run(run_, store):
    run_.run(store, lambda fraction, live: None)
    return run_.load(store)


def plan(**more):
    usual = {"models": (HEART,), "inferences": (Laplace(),), "iterations": (5, 20), "datasets": 6}
    return Plan(**{**usual, **more})


@pytest.fixture
def store():
    return Store()


@pytest.mark.parametrize("model", [kind() for kind in MODELS.values()], ids=list(MODELS))
def test_data_sets_of_fewer_are_the_first_of_more(model):
    few, many = (
        InferenceRun(model=model, inference=Laplace(), iterations=5, datasets=k) for k in (3, 7)
    )
    np.testing.assert_array_equal(few.pairs().theta, many.pairs().theta[:3])
    np.testing.assert_array_equal(few.pairs().x, many.pairs().x[:3])
    assert len(np.unique(many.pairs().theta[:, 0])) == 7


def test_what_is_found_of_a_data_set_does_not_depend_on_how_many_there_are(store):
    for inference in (Laplace(), Variational(m=2)):
        few, many = (
            run(InferenceRun(model=HEART, inference=inference, iterations=30, datasets=k), store)
            for k in (3, 8)
        )
        for side in ("truth", "draws", "drawn"):
            mine, theirs = getattr(few.weights, side), getattr(many.weights, side)
            np.testing.assert_allclose(mine, theirs[:3], rtol=1e-9, atol=1e-9)


def test_the_same_data_whatever_the_inference_and_iterations():
    first = InferenceRun(model=HEART, inference=Laplace(), iterations=5, datasets=4)
    for other in (replace(first, inference=EXACT), replace(first, iterations=900)):
        np.testing.assert_array_equal(first.pairs().x, other.pairs().x)
        assert other.key != first.key
    assert not np.array_equal(first.pairs().x, replace(first, seed=1).pairs().x)


def test_weights_are_log_joint_less_log_q(store):
    item = InferenceRun(model=HEART, inference=EXACT, iterations=1, datasets=5)
    result = run(item, store)
    q = HEART.exact(result.x)
    z = np.stack([result.theta, result.weights.drawn], 1)
    w = log_joint(HEART, z, result.x[:, None]) - q.log_density(z)
    np.testing.assert_allclose(result.weights.truth[:, 0], w[:, 0])
    np.testing.assert_allclose(result.weights.draws[:, 0], w[:, 1])
    np.testing.assert_allclose(np.ptp(w, axis=1), 0, atol=1e-9)  # q = p: the evidence, twice
    assert result.weights.truth.shape == (5, max(MS))
    assert result.q is None


def test_both_laplace_runs_come_of_one_climb_whoever_asks(store, tmp_path, monkeypatch):
    direct = InferenceRun(model=HEART, inference=Laplace(), iterations=40, datasets=4)
    adjusted = replace(direct, inference=Laplace(adjusted=True))
    run(direct, store)
    assert adjusted.done(store)
    monkeypatch.setattr(Laplace, "both", None)  # a second climb would fail
    run(adjusted, store)
    monkeypatch.undo()
    other = Store(tmp_path / "other")
    run(adjusted, other)
    assert direct.done(other)
    for item in (direct, adjusted):
        mine, theirs = item.load(store), item.load(other)
        for side in ("truth", "draws"):
            np.testing.assert_array_equal(
                getattr(mine.weights, side), getattr(theirs.weights, side)
            )
        np.testing.assert_array_equal(mine.q.mean, theirs.q.mean)
    means = [item.load(store).q.mean for item in (direct, adjusted)]
    assert np.abs(means[0] - means[1]).max() > 1e-3


def test_adjusted_laplace_waits_for_laplace():
    direct = InferenceRun(model=HEART, inference=Laplace(), iterations=40)
    adjusted = replace(direct, inference=Laplace(adjusted=True))
    assert adjusted.needs == direct.makes
    assert not direct.needs
    assert not replace(direct, inference=Variational()).needs
    clipped = replace(direct, inference=Laplace(adjusted=True, clip=True))
    assert clipped.needs != adjusted.needs


def test_the_engine_climbs_once_for_both(store, monkeypatch):
    climbs = []
    both = Laplace.both

    def counted(self, *arguments):
        climbs.append(self)
        return both(self, *arguments)

    monkeypatch.setattr(Laplace, "both", counted)
    wanted = plan(inferences=(Laplace(adjusted=True), Laplace()))
    engine = Engine(store, SerialExecutor())
    job = engine.submit(wanted.runs(), "test")
    assert job.snapshot().state == "done"
    engine.close()
    assert len(climbs) == len(wanted.iterations)
    assert all(item.done(store) for item in wanted.runs())


def test_terms_are_made_by_their_runs(store, monkeypatch):
    """What the gallery asks for: terms alone, one climb for both Laplace approximations."""
    climbs = []
    both = Laplace.both
    monkeypatch.setattr(Laplace, "both", lambda self, *a: climbs.append(self) or both(self, *a))
    wanted = plan(inferences=(Laplace(adjusted=True), Laplace()))
    tasks = tuple(RunTermsStudy(of=item) for item in wanted.runs())
    engine = Engine(store, SerialExecutor())
    assert engine.submit(tasks, "test").snapshot().state == "done"
    engine.close()
    assert all(task.done(store) for task in tasks)
    assert len(climbs) == len(wanted.iterations)


def test_a_run_without_its_posterior_fails_in_words(store):
    with pytest.raises(ValueError, match="closed form"):
        run(InferenceRun(model=Hospitals(), inference=EXACT, iterations=1, datasets=2), store)


def test_terms_are_those_of_algorithm_4(store):
    wanted = plan(inferences=(Laplace(), Variational(m=5)))
    for item in wanted.runs():
        run(item, store)
    result = collect(wanted, store)
    for (i, j), terms in result.items():
        for at, iterations in enumerate(wanted.iterations):
            stored = wanted.run(wanted.models[i], wanted.inferences[j], iterations).load(store)
            for place, m in enumerate(MS):
                direct = logsumexp(stored.weights.truth[:, :m], axis=1)
                direct -= logsumexp(stored.weights.draws[:, :m], axis=1)
                np.testing.assert_allclose(terms.d[at, place], direct, rtol=1e-6)
        assert terms.done.all()
        assert (terms.seconds > 0).all()
        assert not terms.failures.any()


def test_what_has_not_run_is_nothing_yet(store):
    wanted = plan()
    run(wanted.runs()[0], store)
    terms = collect(wanted, store)[0, 0]
    assert terms.done.tolist() == [True, False]
    assert np.isfinite(terms.d[0]).all()
    assert np.isnan(terms.d[1]).all()
    assert np.isnan(terms.seconds[1])
    (row,) = rows(wanted, collect(wanted, store))
    assert row["iterations"] == 5


def test_what_was_read_is_not_read_again(store, monkeypatch):
    wanted, memory = plan(), {}
    for item in wanted.runs():
        run(item, store)
    first = collect(wanted, store, memory)[0, 0]
    monkeypatch.setattr(InferenceRun, "load", None)
    again = collect(wanted, store, memory)[0, 0]
    np.testing.assert_array_equal(first.d, again.d)
    assert set(memory) == {item.key for item in wanted.runs()}


def test_data_sets_without_q_are_counted_and_leave_a_gap(store):
    """A few steps from 0, the Hessian of hospitals is not negative definite everywhere."""
    wanted = plan(models=(Hospitals(),), iterations=(2,), datasets=20)
    run(wanted.runs()[0], store)
    terms = collect(wanted, store)[0, 0]
    assert 0 < terms.failures[0] <= 20
    lacking = np.isnan(terms.d[0]).all(0)
    assert lacking.sum() == terms.failures[0]
    message = summarise_terms(terms.d)
    assert all(np.isnan(values).all() for values in message)
    (curve,) = curves.curves_along_iterations(wanted, {(0, 0): terms}, 0)
    assert curve.gap.tolist() == [True]
    (row,) = rows(wanted, {(0, 0): terms})
    assert row["skl"] is None
    assert row["failures"] == terms.failures[0]


def test_summary_is_the_normal_interval_and_more():
    d = np.random.default_rng(0).exponential(size=(2, 3, 50))
    d[1, 2, 7] = np.nan
    d[0, 0, 7] = np.inf
    message = summarise_terms(d)
    mean, reach = d[0, 1].mean(), 1.959964 * d[0, 1].std(ddof=1) / np.sqrt(50)
    values = [float(each[0, 1]) for each in message]
    ordered = np.sort(d[0, 1])
    direct = [mean, mean - reach, mean + reach, np.median(d[0, 1]), ordered[17], ordered[32],
              d[0, 1].max(), d[0, 1].std(ddof=1), d[0, 1].max() / d[0, 1].sum()]  # fmt: skip
    np.testing.assert_allclose(values, direct, rtol=1e-6)
    for each in message:
        assert np.isnan(each[1, 2])
        assert np.isnan(each[0, 0])
        assert np.isfinite(each).sum() == 4
    assert summarise_terms(d[0, 1]).mean.shape == ()


def test_the_exact_posterior_has_no_divergence(store):
    wanted = plan(models=(HEART, Concrete()), inferences=(EXACT,), iterations=(1,), datasets=3)
    for item in wanted.runs():
        run(item, store)
    for terms in collect(wanted, store).values():
        np.testing.assert_allclose(terms.d, 0, atol=1e-8)


def test_heart_comes_first_and_no_long_run_last():
    wanted = figure(1)
    order = wanted.runs()
    assert len(order) == len(set(order)) == 5 * len(FOUR) * len(GRID)
    hearts = len(FOUR) * len(GRID)
    assert all(isinstance(item.model, HeartTransplants) for item in order[:hearts])
    short = [item for item in order[hearts:] if item.iterations <= 300]
    assert list(order[hearts : hearts + len(short)]) == short
    prices = [relative_cost(item.model, item.inference, item.iterations) for item in order[-30:]]
    assert prices == sorted(prices, reverse=True)
    assert prices[0] > 20 * prices[-1]


def test_a_mean_that_one_data_set_carries_is_known():
    d = np.full((4, 20), 0.1)
    d[1, 4], d[2] = 2.5, -0.1
    d[3] = 1e-4 * d[1]
    found = summarise_terms(d)
    np.testing.assert_allclose(found.carried, [1 / 20, 2.5 / 4.4, 0, 2.5 / 4.4])
    assert found.dominated.tolist() == [False, True, False, False], "a mean of 0 but for noise"


def test_figure_2_needs_no_run_of_its_own():
    assert set(figure(2).runs()) < set(figure(1).runs())
    assert [inference.name for inference in figure(2).inferences] == ["adjusted_laplace"]


def test_figure_3_trains_with_m_and_shares_what_it_can():
    wanted = figure(3)
    assert [made_for(inference) for inference in wanted.inferences] == [1, 2, 5, 10, 20]
    assert [inference.name for inference in wanted.inferences] == ["vi"] + 4 * ["iwvi"]
    assert len(set(wanted.runs()) - set(figure(1).runs())) == 5 * 3 * len(GRID)
    assert trained((5,)) == (Variational(m=5),)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"models": ()}, "one or more models"),
        ({"inferences": (Laplace(), Laplace())}, "each once"),
        ({"iterations": (10, 10)}, "each once"),
        ({"iterations": (0,)}, "1 or more"),
        ({"iterations": (10, 100.5)}, "whole numbers, 1 or more; got 100.5"),
        ({"datasets": 1}, "2 or more data sets"),
        ({"datasets": 2.5}, "2 or more data sets, a whole number; got 2.5"),
        ({"inferences": (Variational(m=7),)}, "M = 7"),
    ],
)
def test_plans_that_make_no_sense_are_refused(wrong, said):
    with pytest.raises(ValueError, match=said):
        plan(**wrong)


def test_other_figures_and_other_m_are_refused():
    with pytest.raises(ValueError, match="1, 2 and 3; got 4"):
        figure(4)
    with pytest.raises(ValueError, match="M = 3"):
        trained((1, 3))


@pytest.fixture
def third(store):
    wanted = figure(3, [HEART], trained((1, 2, 5)), (10,), datasets=4)
    for item in wanted.runs():
        run(item, store)
    return wanted, collect(wanted, store)


def test_figure_3_sets_training_beside_weighting(third):
    wanted, result = third
    families = [curves.trained_with_each(wanted), curves.weighted(wanted, 0)]
    assert families[0].ms == (1, 2, 5)
    own, weighed = curves.curves_along_m(wanted, result, 0, families, (1, 2, 5))
    assert own.x.tolist() == weighed.x.tolist() == [1, 2, 5]
    assert own.found.mean[0] == weighed.found.mean[0]
    for place, inference in enumerate(wanted.inferences):
        terms = result[0, place].d[0, MS.index(made_for(inference))]
        assert own.found.mean[place] == pytest.approx(terms.mean())
    np.testing.assert_allclose(weighed.found.mean, result[0, 0].d[0, [0, 1, 2]].mean(-1))


def test_figures_2_and_3_have_a_curve_for_each_m_along_iterations(third):
    wanted, result = third
    for family, ms in (
        (curves.trained_with_each(wanted), (1, 2, 5)),
        (curves.weighted(wanted, 0), MS),
    ):
        drawn = curves.curves_for_each_m(wanted, result, 0, family)
        assert [curve.label for curve in drawn] == [f"M = {m}" for m in ms]
        assert all(curve.x.tolist() == [10] for curve in drawn)
        for curve, m in zip(drawn, ms, strict=True):
            place = family.places[MS.index(m)]
            expected = result[0, place].d[:, MS.index(m)].mean(-1)
            np.testing.assert_allclose(curve.found.mean, expected)


def test_rows_of_figures(third):
    wanted, result = third
    reports = [(row["trained_m"], row["m"]) for row in figure_rows(3, wanted, result)]
    assert reports == [(1, 1), (1, 2), (1, 5), (2, 2), (5, 5)]
    assert [row["m"] for row in figure_rows(1, wanted, result)] == [1, 2, 5]
    assert len(figure_rows(2, wanted, result)) == 3 * len(MS)
    assert len(figure_rows(2, wanted, result, (1, 10))) == 3 * 2
    row = figure_rows(2, wanted, result, (5,))[0]
    d = result[0, 0].d[0, MS.index(5)]
    assert row["skl"] == pytest.approx(d.mean())
    assert (row["k"], row["failures"], row["iterations"]) == (4, 0, 10)
    assert row["ci_low"] < row["skl"] < row["ci_high"]
