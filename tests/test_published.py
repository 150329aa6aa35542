"""The paper's tables as tasks: every number has its method, every task can be sent and stored."""

import pytest

from validation_core import keys
from validation_core.benchmarks import Gaussian
from validation_core.methods import METHODS
from validation_core.methods.colt import CoLT
from validation_core.scores.classifier import TableClassifier
from validation_core.scores.localizer import Localizer
from validation_core.store import Store
from validation_core.sweep import colt_paper
from validation_core.sweep.progress import collect, missing
from validation_core.sweep.trials import TrialDesign

TABLES = {
    "table 3": colt_paper.blind_prior_tasks, "table 4": colt_paper.type_one_tasks,
    "tree": colt_paper.tree_tasks,
}  # fmt: skip
tables = pytest.mark.parametrize("name", TABLES)


@tables
@pytest.mark.parametrize("preset", ["interactive", "paper"])
def test_published_numbers_stand_beside_the_method_they_are_of(name, preset):
    found = TABLES[name](preset)
    assert len({one.sweep for one in found}) == len(found)
    for one in found:
        labels = {method.label for method in one.sweep.methods}
        assert {each.label for each in one.published} <= labels
        assert one.sweep.design.trials == 200
        assert one.sweep.design.alpha == 0.05
        if one.sweep.betas == (1.0,):  # an untrained localizer is no method of the paper
            assert not any(each.label.startswith("CoLT") for each in one.published)
    printed = {each.label.split()[0] for one in found for each in one.published}
    assert {"CoLT", "C2ST"} <= printed


@tables
def test_tasks_can_be_sent_to_a_worker(name):
    for one in TABLES[name]():
        assert all(keys.read(keys.canonical_text(task)) == task for task in one.sweep.tasks)


@pytest.mark.parametrize("tasks", [colt_paper.tree_maps, colt_paper.spiral_maps])
def test_maps_can_be_sent_to_a_worker(tasks):
    found = tasks()
    assert len({task.key for task in found}) == len(found)
    assert all(keys.read(keys.canonical_text(task)) == task for task in found)
    gammas = [task.training.source.gamma for task in found]
    assert gammas == sorted(gammas)


def _rates(found, label):
    return [
        each.value for one in found for each in one.published
        if each.label == label
    ]  # fmt: skip


def test_the_numbers_of_the_paper():
    """Chen, Bansal, Scott, Tables 3 and 4, Section 4.2, in the order of the dimensions."""
    blind, null, tree = (make() for make in TABLES.values())
    assert _rates(blind, "CoLT identity") == [1, 1, 1, 1]
    assert _rates(blind, "CoLT mlp") == [0.975, 0.778, 0.693, 0.452]
    assert _rates(blind, "C2ST") == [1, 1, 0.847, 0.122]
    assert _rates(null, "C2ST") == [0.077, 0.043, 0.020, 0.023]
    assert _rates(null, "SBC") == [(0.035, 0.040)] * 4
    assert _rates(tree, "CoLT mlp") == [0.877, 1.0]
    assert _rates(tree, "C2ST") == [0.0, 0.065]


def test_the_tables_are_run_where_the_paper_ran_them():
    places = list(dict.fromkeys(one.place for one in colt_paper.blind_prior_tasks()))
    assert places == ["(3, 3)", "(10, 10)", "(50, 10)", "(100, 100)"]
    assert {one.sweep.gammas for one in colt_paper.type_one_tasks()} == {(0.0,)}
    for one in colt_paper.tree_tasks():
        assert (one.sweep.design.n, one.sweep.design.k) == (1000, 100)
    for one in colt_paper.blind_prior_tasks():
        assert (one.sweep.design.n, one.sweep.design.k) == (100, 500)
        assert one.sweep.benchmark.perturbation == "blind_prior"


def test_who_competes():
    """Each trained network once, on one budget; what learns nothing first, at beta = 1."""
    benchmark = Gaussian(dim_x=2, dim_theta=2)
    design = TrialDesign(trials=4, n=40, k=10)
    floor, *learned, c2st = colt_paper.contest(benchmark, [0.2], CoLT(fresh=True), design, seed=3)
    assert floor.betas == (1.0,)
    assert floor.methods[0].name == "colt"
    assert {"sbc"} <= {method.name for method in floor.methods} <= {"colt", *METHODS}
    assert [sweep.methods[0].embedding for sweep in learned] == list(colt_paper.EMBEDDINGS)
    for sweep in (floor, *learned):
        training = sweep.network(sweep.methods[0], 0.2)
        assert isinstance(training.recipe, Localizer)
        assert (training.recipe.anchors, training.recipe.draws) == (40, 10)
        assert training.recipe.fresh
        assert training.seed == 3
    assert isinstance(c2st.recipe, TableClassifier)
    assert (c2st.recipe.n, c2st.recipe.k) == (40, 10)
    assert all(sweep.design == design for sweep in (floor, *learned, c2st))


def test_c2st_of_the_same_budget_tells_the_blind_prior(tmp_path):
    """Its classifier learns from one table and finds a q that ignores x at (3, 3)."""
    benchmark = Gaussian(perturbation="blind_prior")
    sweep = colt_paper.contest(benchmark, [1.0], CoLT(), TrialDesign(trials=20, n=100, k=50))[-1]
    store = Store(tmp_path)
    for task in missing(sweep, store):
        task.run(store, lambda fraction, live: None)
    (cell,) = collect(sweep, store).cells
    assert cell.rejections >= 18
