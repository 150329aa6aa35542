"""The paper's tables as tasks: every number has its method, every task can be sent and stored."""

import pytest

from validation_core import keys, papers
from validation_core.benchmarks import Gaussian
from validation_core.methods import METHODS
from validation_core.methods.colt import CoLT
from validation_core.models import Simulated
from validation_core.power import Trials
from validation_core.scores.classifier import TableClassifier
from validation_core.scores.localizer import Localizer
from validation_core.store import Store

TABLES = {
    "table 3": papers.blind_prior_tasks, "table 4": papers.type_one_tasks,
    "tree": papers.tree_tasks,
}  # fmt: skip
tables = pytest.mark.parametrize("name", TABLES)


@tables
@pytest.mark.parametrize("preset", ["interactive", "paper"])
def test_published_numbers_stand_beside_the_method_they_are_of(name, preset):
    found = TABLES[name](preset)
    assert len({one.task.key for one in found}) == len(found)
    for one in found:
        labels = {method.label for method in one.task.methods}
        assert {each.label for each in one.published} <= labels
        assert one.task.design.trials == 200
        assert one.task.design.alpha == 0.05
        if one.task.beta == 1:  # an untrained localizer is no method of the paper
            assert not any(each.label.startswith("CoLT") for each in one.published)
    printed = {each.label.split()[0] for one in found for each in one.published}
    assert {"CoLT", "C2ST"} <= printed


@tables
def test_tasks_can_be_sent_to_a_worker(name):
    for one in TABLES[name]():
        assert keys.read(keys.text(one.task)) == one.task


@pytest.mark.parametrize("tasks", [papers.tree_maps, papers.spiral_maps])
def test_maps_can_be_sent_to_a_worker(tasks):
    found = tasks()
    assert len({task.key for task in found}) == len(found)
    assert all(keys.read(keys.text(task)) == task for task in found)
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
    places = list(dict.fromkeys(one.place for one in papers.blind_prior_tasks()))
    assert places == ["(3, 3)", "(10, 10)", "(50, 10)", "(100, 100)"]
    assert {one.task.training.source.gamma for one in papers.type_one_tasks()} == {0.0}
    for one in papers.tree_tasks():
        assert (one.task.design.n, one.task.design.k) == (1000, 100)
    for one in papers.blind_prior_tasks():
        assert (one.task.design.n, one.task.design.k) == (100, 500)
        assert one.task.training.source.benchmark.perturbation == "blind_prior"


def test_who_competes():
    """Each trained network once, on one budget; what learns nothing first, at beta = 1."""
    source = Simulated(benchmark=Gaussian(dim_x=2, dim_theta=2), gamma=0.2)
    design = Trials(trials=4, n=40, k=10)
    floor, *learned, c2st = papers.contest(source, CoLT(fresh=True), design, seed=3)
    assert floor.beta == 1
    assert floor.methods[0].name == "colt"
    assert {"sbc"} <= {method.name for method in floor.methods} <= {"colt", *METHODS}
    assert [task.methods[0].embedding for task in learned] == list(papers.EMBEDDINGS)
    for task in (floor, *learned):
        networks = task.trainings.values()
        (training,) = (one for one in networks if isinstance(one.recipe, Localizer))
        assert (training.recipe.anchors, training.recipe.draws) == (40, 10)
        assert training.recipe.fresh
        assert training.seed == 3
    assert isinstance(c2st.training.recipe, TableClassifier)
    assert (c2st.training.recipe.n, c2st.training.recipe.k) == (40, 10)
    assert all(task.design == design for task in (floor, *learned, c2st))


def test_c2st_of_the_same_budget_tells_the_blind_prior(tmp_path):
    """Its classifier learns from one table and finds a q that ignores x at (3, 3)."""
    source = Simulated(benchmark=Gaussian(perturbation="blind_prior"), gamma=1.0)
    task = papers.contest(source, CoLT(), Trials(trials=20, n=100, k=50))[-1]
    store = Store(tmp_path)
    task.run(store, lambda fraction, live: None)
    (cell,) = task.load(store)
    assert cell.rejections >= 18
