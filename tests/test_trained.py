"""The benchmark of trained estimators, the scoreboard of tests on it, and what ships of both."""

from dataclasses import replace
from typing import get_args

import numpy as np
import pytest

import validation_core as npt
from tests.test_docs import one_line, table_rows
from validation_core import gallery, keys, sampling
from validation_core.benchmarks import Trained
from validation_core.benchmarks.over_gamma import OverGamma
from validation_core.benchmarks.trained import EstimatorName, TaskName
from validation_core.drawing.over_sliders import freeze_sliders
from validation_core.estimators import ESTIMATORS
from validation_core.explorers.training import learning_curve, scoreboard, scoreboard_panels
from validation_core.explorers.training.nats import NatsStudy
from validation_core.explorers.training.scoreboard import Scoreboard
from validation_core.methods import C2ST, DC, SBC, TARP, CoLT, Multiple, Omnibus, Uniform
from validation_core.panels.gamma_scale import GammaScale
from validation_core.rng import stream
from validation_core.scores import trained_scores
from validation_core.scores.classifier import Classifier
from validation_core.scores.trained_scores import Simulated, TrainTask
from validation_core.simulators import SIMULATORS
from validation_core.store import Store
from validation_core.sweep import progress
from validation_core.sweep.plan import Batch, Sweep
from validation_core.sweep.trials import TrialDesign
from validation_core.text import interval_text

SMALL = Trained(estimator="maf", along="epochs", simulations=60)
"""Networks of one or two epochs: wrong at once."""
FEW = Classifier(train=60, epochs=2)
HEADING = "Which test finds a real estimator's error first"


def test_every_task_and_estimator_is_an_option():
    assert set(SIMULATORS) == set(get_args(TaskName))
    assert set(ESTIMATORS) == set(get_args(EstimatorName))


def test_gamma_counts_what_q_improves_with():
    assert Trained().recipe(400).simulations == 400
    by_epochs = Trained(along="epochs", simulations=300).recipe(7)
    assert (by_epochs.simulations, by_epochs.epochs, by_epochs.patience) == (300, 7, 0)
    assert Trained().place(10_000) == "10,000 simulations"
    assert not any(Trained().is_exact(gamma) for gamma in (0, *Trained().gammas))
    assert GammaScale.of(Trained()) == ("Simulations", "simulations", True)
    with pytest.raises(ValueError, match=r"whole number from 1 on; got 0.5. Choose among 400"):
        Trained().recipe(0.5)
    with pytest.raises(ValueError, match=r"Let `trained_scores.ready`"):
        Trained(training_seed=77).draws(np.zeros((1, 2)), 1, 400, stream(0))


def test_keys_stay():
    """Networks and trials are found again."""
    assert keys.key(Trained()) == "cba59442977e137429af640734c4154e"
    training = trained_scores.network_at(Trained(), 1000)
    assert keys.read(keys.canonical_text(training)) == training


def test_a_network_is_trained_once_and_before_whatever_draws_from_it(tmp_path):
    store = Store(tmp_path)
    sweep = Sweep(
        benchmark=SMALL,
        methods=(SBC(), C2ST()),
        gammas=(1.0, 2.0),
        design=TrialDesign(trials=3, n=20, k=5),
        recipe=FEW,
        for_all_gammas=True,
    )
    seen: set[str] = set()
    made = [key for task in sweep.tasks if isinstance(task, TrainTask) for key in task.makes]
    assert len(made) == len(set(made)) == 3  # two estimators and a classifier for both
    for task in sweep.tasks:
        assert task.needs <= seen
        seen |= task.makes
    for task in sweep.tasks:
        assert isinstance(task, TrainTask | Batch)
        task.run(store, lambda *_: None)
    cells = progress.collect(sweep, store).cells
    assert [(cell.gamma, cell.trials) for cell in cells] == [(1, 3), (2, 3)] * 2
    assert progress.missing(sweep, store) == ()


def test_draws_at_all_gammas_come_from_the_network_of_each(tmp_path):
    store, over = Store(tmp_path), OverGamma(of=SMALL, grid=(1.0, 2.0))
    trained_scores.ready(store, over)
    x = SMALL.x(4, stream(1))
    for index, gamma in enumerate(over.grid):
        drawn = over.q(over.at(x, index), 0.0, stream(2))
        np.testing.assert_array_equal(drawn, SMALL.q(x, gamma, stream(2)))
    assert len(trained_scores.networks_behind(Simulated(benchmark=over, gamma=0.0))) == 2


def test_power_and_one_test_run_from_the_front_door(tmp_path):
    result = npt.power(
        "trained",
        gamma=[1],
        methods=["sbc", "tarp"],
        trials=4,
        n=30,
        k=10,
        estimator="maf",
        along="epochs",
        simulations=60,
        store=Store(tmp_path),
    )
    assert [cell.trials for cell in result.cells] == [4, 4]
    linear = replace(SMALL, task="gaussian_linear")
    known = npt.run("skl", linear, gamma=1, n=40, k=10, relabelings=39, store=Store(tmp_path))
    assert known.pvalue <= 0.05
    ranked = npt.run("sbc", SMALL, gamma=1, n=40, k=10, quantities="log_q", store=Store(tmp_path))
    assert ranked.pvalue <= 1


def test_log_q_is_asked_without_log_p(tmp_path, monkeypatch):
    trained_scores.ready(Store(tmp_path), SMALL)
    monkeypatch.setattr(Trained, "log_p", None)
    density = SBC(quantities="log_q").score_on(SMALL, 1.0)
    table = sampling.table(SMALL, 1.0, 5, 3, stream(3))
    assert np.isfinite(density(table.theta, table.x)).all()


def test_the_scoreboard_says_which_test_is_first(tmp_path):
    store = Store(tmp_path)
    board = Scoreboard(
        benchmark=SMALL,
        gammas=(1.0, 2.0),
        sizes=(30, 60),
        seeds=(0, 1),
        tests=(Omnibus(learned=False, relabelings=39), SBC(), TARP()),
        trials=4,
    )
    empty = scoreboard.columns(board, store)
    assert [column.most for column in empty] == [0, 0]
    for study in board.studies:
        if study.training.recipe.epochs == 1:
            study.run(store, lambda *_: None)
    one, two = scoreboard.columns(board, store)
    assert two.most == 0
    assert one.most == 60
    assert len(one.nats) == 2
    assert one.forward.low > 0  # after one epoch q is far off
    for nats in one.nats:
        assert one.forward.low <= nats.forward.value <= one.forward.high
    assert one.outside > 0
    first = one.first
    assert first
    least = first[0].first.n
    assert all(row.first is None or row.first.n >= least for row in one.rows)
    assert first[0].first.rate >= max(row.first.rate for row in first)
    low, high = first[0].first.interval[1:]
    assert low <= first[0].first.rate <= high
    payload = scoreboard_panels.payload(board, (one, two))
    assert payload.sliders == ((1.0, 2.0),)
    said = [scoreboard_panels.sentence(board, column) for column in (one, two)]
    assert (
        f"is first rejected in 50% of tables or more with {least} fresh simulations: by" in said[0]
    )
    assert f"(2 trainings, {interval_text(one.forward)} nats from the truth on average)" in said[0]
    assert said[1].endswith("no test has been run on q.")
    panel = freeze_sliders(scoreboard_panels.table(board, (one, two)), {"gamma": 0})
    assert "KL(p‖q), nats" in panel.y.names


def test_tests_within_noise_of_the_first_are_named_beside_it():
    """Of the epidemic's flow DC alone passes one half, by 51% [9.8, 79] of three networks."""
    board = shipped_board("sir", "maf")
    columns = scoreboard.columns(board, Store.usual())
    said = [scoreboard_panels.sentence(board, column) for column in columns]
    assert "with 100 fresh simulations: by our DC (51% " in said[0]
    assert said[0].endswith("Not told from our DC there, on these 3 networks: Relabelling.")


def test_a_test_that_rejects_more_tables_of_each_network_is_told_from_another():
    """CoLT rejects 46, 52 and 66% of tables, relabelling 24, 14 and 20%: intervals overlap."""
    board = shipped_board("two_moons", "nsf")
    column = scoreboard.columns(board, Store.usual())[1]
    at = {
        row.test.label: next(power for power in row.powers if power.n == 300)
        for row in column.rows
    }
    colt, verdict = at["CoLT fourier"], at["Relabelling"]
    assert (colt.rejections, verdict.rejections) == ((23, 26, 33), (12, 7, 10))
    assert verdict.interval.high > colt.interval.low
    assert verdict.pvalue_against(colt) == colt.pvalue_against(verdict) < 1e-6
    assert "Not told" not in scoreboard_panels.sentence(board, column)


def shipped_board(task, estimator):
    """The scoreboard that ships of a task's estimators of one kind."""
    (board,) = (
        board
        for board in scoreboard.shipped()
        if (board.benchmark.task, board.benchmark.estimator) == (task, estimator)
    )
    return board


def test_the_scoreboards_trials_are_those_of_its_sweep(tmp_path):
    """Run at once they share draws; part by part, as on Compare, the outcomes are the same."""
    store = Store(tmp_path)
    tests = (SBC(), TARP(), Multiple(), Uniform(m=4), CoLT(), DC())
    board = Scoreboard(benchmark=SMALL, gammas=(1.0,), sizes=(30,), tests=tests, trials=21)
    study = board.study(1.0, 30, 0)
    study.run(store, lambda *_: None)
    at_once = study.load(store)
    for task in progress.missing(study.sweep, store):
        task.run(store, lambda *_: None)
    run = progress.collect(study.sweep, store)
    for test, pvalues in zip(tests, at_once.pvalues, strict=True):
        assert pvalues == pytest.approx(run.pvalues[test.label, (1.0, 0.0)], abs=1e-7)


def test_what_ships_is_whole_and_small():
    part = gallery.part("trained")
    store = Store.usual()
    assert part.missing(store) == []
    behind = set(part.trainings)
    for study in part.studies:
        if isinstance(study, NatsStudy) and study.training.seed == 0:
            assert study.training in behind
    files = [next((gallery.FOLDER / kind).glob(f"{key}.*")) for kind, key in part.entries()]
    assert sum(file.stat().st_size for file in files) < 13_000_000


def test_true_error_falls_with_simulations():
    """Of every shipped estimator, and each is found by some test."""
    for board in scoreboard.shipped():
        shown = scoreboard.columns(board, Store.usual())
        nats = [column.forward.estimate for column in shown]
        assert nats[-1] < nats[0]
        assert shown[0].first, "no test finds the worst estimator"


def test_what_the_docs_say_of_5000_simulations_is_what_ships():
    boards, store = scoreboard.shipped(), Store.usual()
    shown = [column for board in boards for column in scoreboard.columns(board, store)]
    least = {
        row.test.label: min(column.rows[i].powers[-1].rate for column in shown)
        for i, row in enumerate(shown[0].rows)
    }
    assert {column.most for column in shown} == {5000}
    trainings = sum(len(column.rows[0].powers[-1].trials) for column in shown)
    assert f"find each of {trainings} estimators in every table" in one_line("docs/scoreboard.md")
    assert least["Relabelling"] == least["DC our features"] == 1
    assert max(least["SBC"], least["TARP"]) < 0.9


def test_what_the_docs_say_of_true_errors_is_what_ships():
    store = Store.usual()
    for task in {board.benchmark.simulator for board in scoreboard.shipped()}:
        said = learning_curve.sentence(learning_curve.learning_curves(task, store), "maf")
        nearest = "Neural spline flow" if task.name == "two_moons" else "Diffusion model"
        assert f"the nearest to p is: {nearest}, " in said
        assert "Flow matching, " in said.partition("Not told from it: ")[2]
    board = replace(shipped_board("gaussian_mixture", "maf"), gammas=(10_000,), sizes=())
    (column,) = scoreboard.columns(board, store)
    low, middle, high = sorted(nats.forward.value for nats in column.nats)
    said = f"two are {low:.2f} and {middle:.2f} nats from p, one {high:.2f}"
    assert said in one_line("docs/estimators.md")


def test_what_the_docs_say_of_three_trainings_is_what_ships():
    """On spline flows that learnt two moons from 2,000 simulations."""
    board = shipped_board("two_moons", "nsf")
    columns = {column.gamma: column for column in scoreboard.columns(board, Store.usual())}
    at = {
        row.test.label: next(power.rejections for power in row.powers if power.n == 1000)
        for row in columns[2000].rows
    }
    said = one_line("docs/scoreboard.md")
    for begun, test in (
        ("DC, with our features, rejects", "DC our features"),
        ("CoLT", "CoLT fourier"),
    ):
        first, second, third = at[test]
        assert f"{begun} {first}, {second} and {third}" in said
    assert set(at["Relabelling"]) == {50}


def test_the_readmes_table_is_what_ships():
    rows = [
        list(found)
        for board in scoreboard.shipped()
        if board.benchmark.estimator == "nsf"  # the page has the others too
        for found in scoreboard_panels.findings(board, scoreboard.columns(board, Store.usual()))
    ]
    assert rows
    written = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    assert table_rows("README.md", HEADING) == rows, f"README's rows are\n{written}"
