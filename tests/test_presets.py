"""The papers' figures and the demonstrations: complete, reproducible, and true."""

import dataclasses
import shlex

import numpy as np
import pytest

from validation_core import keys
from validation_core.benchmarks import Gaussian, Lensing, Tree
from validation_core.cli import parser
from validation_core.cli.power import chosen_sweep
from validation_core.cli.power_line import command_line
from validation_core.explorers.highdim.lensing import table as lensing_table
from validation_core.methods import C2ST, SBC, TARP, AutoML, CoLT, Uniform
from validation_core.scores import trained_scores
from validation_core.scores.classifier import PRESETS, Classifier
from validation_core.scores.trained_scores import TrainTask
from validation_core.store import Store
from validation_core.sweep import costs, progress
from validation_core.sweep import presets as comparisons
from validation_core.sweep.plan import Batch, Sweep
from validation_core.sweep.trials import TrialDesign
from validation_core.types import PowerCell

ALL = [*comparisons.figures(), *comparisons.demonstrations()]
NAMES = [one.name for one in ALL]


def _cell(method, label, rejections, gamma=0.3, trials=100, **options):
    return PowerCell(
        benchmark="b", method=method, options=options, gamma=gamma, beta=0.0, trials=trials,
        rejections=rejections, alpha=0.05, protocol="pooled", draws_p=1, draws_q=1, seconds=1.0,
        label=label,
    )  # fmt: skip


def test_names_are_different_and_found():
    assert len(set(NAMES)) == len(NAMES)
    for name in NAMES:
        assert comparisons.by_name(name).name == name
    with pytest.raises(ValueError, match="A comparison is one of"):
        comparisons.by_name("nothing")


@pytest.mark.parametrize("one", ALL, ids=NAMES)
def test_a_comparison_is_whole(one):
    assert len(one.about) > 40
    labels = [method.label for method in one.sweep.methods]
    assert len(set(labels)) == len(labels)
    assert keys.read(keys.canonical_text(one.sweep)) == one.sweep
    assert one.sweep.tasks
    assert one.sweep.design.trials in (100, 200, 500, 1000)


@pytest.mark.parametrize("name", comparisons.PERTURBATIONS)
def test_the_conformal_figure_has_the_budgets_of_table_1(name):
    found = comparisons.by_name(f"conformal_{name}").sweep
    n, k = found.design.n, found.design.k
    budgets = {method.label: tuple(method.budget(n, k)) for method in found.methods}
    whole_mmd = name == "mean_shift"
    mmd = {"MMD-FUSE": (2 * n, 2 * n)} if whole_mmd else {"MMD-FUSE 250 rows": (250, 250)}
    assert budgets == {
        "C2ST": (n, n), "Multiple": (n, n), "AutoML-style": (n, n),
        "Uniform(50)": (50 * n, n), "Uniform(10)": (10 * n, n), "Uniform(1)": (n, n),
        "SBC": (n, 200 * n), "TARP": (n, 200 * n),
        "DC authors' net": (n, 10 * n), "DC our features": (n, 10 * n), **mmd,
    }  # fmt: skip
    assert ("2000 + 2000" in comparisons.by_name(f"conformal_{name}").differs) == (not whole_mmd)
    assert found.networks == 3
    assert found.gammas == Gaussian(perturbation=name).gammas


def _parsed(text):
    return chosen_sweep(parser().parse_args(shlex.split(text)[3:]))


@pytest.mark.parametrize("one", ALL, ids=NAMES)
def test_its_command_makes_it(one):
    assert _parsed(command_line(one.sweep, one)) == one.sweep


@pytest.mark.parametrize("wanted", [
    Sweep(benchmark=Tree(noise="added"), methods=(CoLT(embedding="identity"), SBC()),
          gammas=(0.0, 1.5), design=TrialDesign(n=100, k=50, trials=20, alpha=0.1)),
    Sweep(benchmark=Gaussian(perturbation="heavy_tail", dim_x=10, dim_theta=10, curved=True),
          methods=(C2ST(), Uniform(m=7), TARP(reference="x")), gammas=(0.2,),
          betas=(0.0, 0.95), recipe=PRESETS["paper"], seed=3,
          design=TrialDesign(seed=3, protocol="fresh")),
], ids=["tree", "degraded"])  # fmt: skip
def test_the_command_of_ones_own(wanted):
    assert _parsed(command_line(wanted)) == wanted


def test_sbc_is_silent_on_a_q_that_ignores_x():
    """What the demonstration says is what runs: SBC and random references near the level."""
    one = comparisons.by_name("blind").sweep
    small = dataclasses.replace(
        one, design=dataclasses.replace(one.design, trials=40, n=200, k=50),
        methods=tuple(m for m in one.methods if m.name in ("sbc", "tarp")),
    )  # fmt: skip
    store = Store()
    for task in progress.missing(small, store):
        task.run(store, lambda fraction, live: None)
    rates = {cell.label: cell.rate for cell in progress.collect(small, store).cells}
    silent = {rates[SBC().label], rates[TARP().label]}
    assert max(silent) <= 0.2
    assert rates[TARP(reference="x").label] >= 0.9


def test_disagreement_names_who_missed_what():
    wanted = comparisons.by_name("blind").sweep
    gamma = wanted.gammas[0]
    cells = [
        _cell("c2st", "C2ST", 100, gamma), _cell("sbc", "SBC", 4, gamma),
        _cell("tarp", "TARP", 6, gamma, reference="random"),
        _cell("mmd_fuse", "MMD", 5, gamma, points=250),
        _cell("dc", "DC", 40, gamma),
    ]  # fmt: skip
    place, found = comparisons.disagreement(wanted, cells)
    assert place.gamma == gamma
    assert [remark.silent.label for remark in found] == ["SBC", "TARP", "MMD"]
    assert all(remark.loud.label == "C2ST" for remark in found)
    assert "ignores x" in found[0].why
    assert "250 points" in found[2].why
    assert {remark.shown_by for remark in found} <= {*NAMES, ""}


def test_a_late_test_is_not_called_blind():
    """It rejects a larger error of the same kind: what it lacks is power."""
    wanted = comparisons.by_name("conformal_heavy_tail").sweep
    cells = [
        _cell("uniform", "U", 90, 0.2), _cell("sbc", "SBC", 10, 0.2), _cell("sbc", "SBC", 95, 0.5),
        _cell("uniform", "U", 99, 0.5),
    ]  # fmt: skip
    (remark,) = comparisons.disagreement(wanted, cells).remarks
    assert "where it is larger: at gamma = 0.5" in remark.why


def test_a_test_that_saw_a_smaller_error_alone_is_not_said_to_lack_power():
    """DC with its authors' network may see a small error and miss the next larger one."""
    wanted = comparisons.by_name("conformal_heavy_tail").sweep
    cells = [
        _cell("uniform", "U", 90, 0.3), _cell("dc", "DC", 5, 0.3), _cell("dc", "DC", 95, 0.1),
        _cell("uniform", "U", 99, 0.1),
    ]  # fmt: skip
    (remark,) = comparisons.disagreement(wanted, cells).remarks
    assert "larger" not in remark.why


def test_no_reason_denies_an_error_that_a_test_could_see():
    """A mean shift moves every marginal and many balls: what SBC and TARP lack is draws."""
    sweep = Sweep(benchmark=Gaussian(), methods=(C2ST(), SBC(), TARP()), gammas=(0.05,))
    cells = [_cell("c2st", "C2ST", 95, 0.05), _cell("sbc", "SBC", 8, 0.05),
             _cell("tarp", "TARP", 8, 0.05, reference="random"),
             _cell("tarp", "TARP x", 8, 0.05, reference="x")]  # fmt: skip
    reasons = [one.why for one in comparisons.disagreement(sweep, cells).remarks]
    assert len(reasons) == 3
    assert all("this number of draws" in why for why in reasons)


def test_tests_that_agree_need_no_words():
    wanted = comparisons.by_name("blind").sweep
    cells = [_cell("c2st", "C2ST", 90), _cell("sbc", "SBC", 85)]
    assert comparisons.disagreement(wanted, cells) is None
    assert comparisons.disagreement(wanted, []) is None


def test_costs_grow_with_what_they_are_of():
    small = comparisons.by_name("conformal_mean_shift").sweep
    large = dataclasses.replace(small, design=dataclasses.replace(small.design, n=2000, k=500))
    for method in small.methods:
        few, many = costs.of(small, method), costs.of(large, method)
        assert 0 < few.trial <= many.trial
        assert 0 < few.memory <= many.memory
        assert few.training >= 0
    store = Store()
    left = progress.missing(small, store)
    one, two = (costs.estimate(small, left, workers) for workers in (1, 2))
    assert one.seconds == pytest.approx(2 * two.seconds)
    assert one.memory < two.memory
    assert costs.estimate(small, (), 2).seconds == 0


def test_trees_take_longer_over_wide_rows():
    """Measured on the lens, whose rows have 512 numbers: 1.0 s, and of C2ST 0.02 s."""
    narrow = comparisons.by_name("conformal_mean_shift").sweep
    wide, *_ = lensing_table.sweeps(Lensing(), networks=1)
    tests = AutoML(), C2ST()
    trees, network = (costs.of(narrow, test).trial for test in tests)
    assert trees < 5 * network
    trees, network = (costs.of(wide, test).trial for test in tests)
    assert 10 * network < trees < 100 * network


def test_parts_that_draw_alike_are_priced_with_one_drawing(store):
    both = Sweep(
        benchmark=Gaussian(dim_x=3, dim_theta=3), methods=(SBC(), SBC(quantities="products")),
        gammas=(0.0, 0.5), design=TrialDesign(trials=20, n=500, k=100),
    )  # fmt: skip
    alone = [dataclasses.replace(both, methods=(method,)) for method in both.methods]
    one, other = (costs.remaining([sweep], store) for sweep in alone)
    drawn = costs.of(both, SBC()).drawing
    shared = one + other - 2 * 20 * drawn
    assert 0 < drawn < costs.of(both, SBC()).trial
    assert costs.remaining([both], store) == pytest.approx(shared)
    assert costs.remaining(alone, store) == pytest.approx(shared)


def test_a_network_is_priced_once_and_not_where_it_is_trained(store):
    sweep = Sweep(
        benchmark=Gaussian(dim_x=1, dim_theta=1), methods=(C2ST(), Uniform()), gammas=(0.3,),
        design=TrialDesign(trials=10, n=50, k=10),
    )  # fmt: skip
    training, left = costs.of(sweep, C2ST()).training, progress.missing(sweep, store)
    trials = [task for task in left if isinstance(task, Batch)]
    with_it, without = (costs.estimate(sweep, tasks, 1).seconds for tasks in (left, trials))
    assert training > 0
    assert with_it == pytest.approx(without + training)


@pytest.mark.parametrize("for_all", [False, True])
def test_training_is_counted_once_for_each_network(store, for_all):
    sweep = Sweep(
        benchmark=Gaussian(dim_x=1, dim_theta=1), methods=(C2ST(),), gammas=(0.0, 0.1, 0.3),
        design=TrialDesign(trials=2, n=20, k=10), networks=2, for_all_gammas=for_all,
        recipe=Classifier(train=100, epochs=2),
    )  # fmt: skip
    before = costs.of(sweep, C2ST()).training
    networks = {
        training
        for task in sweep.tasks
        if isinstance(task, TrainTask)
        for training in task.trainings
    }
    assert len(networks) == (2 if for_all else 6)
    recipes = [training.recipe.cost() for training in networks]
    assert before == pytest.approx(costs.machine_slowdown() * sum(recipes))
    left = progress.missing(sweep, store)
    for task in left:
        task.run(store, lambda fraction, live: None)
    seconds = sum(trained_scores.load(store, training).seconds for training in networks)
    run = progress.collect(sweep, store)
    assert run.training["C2ST"] == pytest.approx(seconds)
    assert costs.of(sweep, C2ST(), run).training == pytest.approx(seconds)
    trainings = [task for task in left if isinstance(task, TrainTask)]
    assert costs.estimate(sweep, trainings, 1, run).seconds == pytest.approx(seconds)


def test_costs_are_measured_once_trials_have_run():
    wanted = Sweep(
        benchmark=Gaussian(dim_x=1, dim_theta=1), methods=(SBC(),), gammas=(0.0,),
        design=TrialDesign(trials=20, n=50, k=10),
    )  # fmt: skip
    store = Store()
    for task in progress.missing(wanted, store):
        task.run(store, lambda fraction, live: None)
    found = progress.collect(wanted, store)
    measured = sum(cell.seconds for cell in found.cells) / 20
    assert costs.of(wanted, SBC(), found).trial == pytest.approx(measured)
    assert np.isfinite(costs.of(wanted, SBC()).trial)
