"""The paper's tables as tasks: every number has its method, every task can be sent and stored."""

import pytest

from validation_core import keys
from validation_core.benchmarks import Gaussian, Spiral, Tree
from validation_core.benchmarks.gaussian import DIMENSIONS
from validation_core.methods import METHODS
from validation_core.methods.colt import CoLT
from validation_core.scores.classifier import TableClassifier
from validation_core.scores.localizer import Localizer
from validation_core.store import Store
from validation_core.sweep import colt_paper
from validation_core.sweep.progress import collect, missing
from validation_core.sweep.trials import TrialDesign

TABLES = {
    "table 3": colt_paper.blind_prior_sweeps, "table 4": colt_paper.type_one_sweeps,
    "tree": colt_paper.tree_sweeps,
}  # fmt: skip
tables = pytest.mark.parametrize("name", TABLES)


@tables
@pytest.mark.parametrize("preset", ["interactive", "paper"])
def test_every_column_has_the_tests_of_the_paper_with_three_networks(name, preset):
    found = TABLES[name](preset)
    assert len(set(found)) == len(found)
    for sweep in found:
        assert (sweep.design.trials, sweep.design.alpha) == (200, 0.05)
        untrained = sweep.betas == (1.0,)
        assert sweep.networks == (1 if untrained else 3)
    tests = {method.name for sweep in found for method in sweep.methods}
    assert tests == {"colt", "c2st", "sbc", "tarp"}


@tables
def test_tasks_can_be_sent_to_a_worker(name):
    for sweep in TABLES[name]():
        assert all(keys.read(keys.canonical_text(task)) == task for task in sweep.tasks)


def test_maps_of_the_figures_can_be_sent_to_a_worker():
    found = [*colt_paper.shipped_maps(), colt_paper.shipped_training()]
    assert len({task.key for task in found}) == len(found)
    assert all(keys.read(keys.canonical_text(task)) == task for task in found)


def test_a_figure_of_power_has_a_panel_for_each_size_and_three_networks():
    panels = colt_paper.error_panels("heavy_tail", curved=True)
    assert [(panel.dim_x, panel.dim_theta) for panel in panels] == list(DIMENSIONS)
    untrained, *trained = colt_paper.figure_sweeps(panels[0])
    for panel in (*panels, *colt_paper.error_panels("heavy_tail")):
        full = panel == panels[0]
        assert [s.networks for s in colt_paper.figure_sweeps(panel)] == [1, 3, 3, 3] + [3] * full
    for sweep in (untrained, *trained):
        assert sweep.for_all_gammas
        assert sweep.gammas == panels[0].gammas
        assert (sweep.design.trials, sweep.design.n, sweep.design.k) == (200, 100, 500)


def test_where_one_network_for_all_gammas_finds_less_each_gamma_has_its_own():
    small, ten, *large = colt_paper.error_panels("anisotropic")
    for panel in (small, ten, Tree()):
        assert not any(sweep.for_all_gammas for sweep in colt_paper.figure_sweeps(panel))
    bent = colt_paper.error_panels("anisotropic", curved=True)
    for panel in (*large, *bent, Spiral(), *colt_paper.error_panels("mean_shift")):
        assert all(sweep.for_all_gammas for sweep in colt_paper.figure_sweeps(panel))


def test_the_tables_are_run_where_the_paper_ran_them():
    dims = list(dict.fromkeys(one.benchmark.dims for one in colt_paper.blind_prior_sweeps()))
    assert dims == [(3, 3), (10, 10), (10, 50), (100, 100)]
    assert {one.gammas for one in colt_paper.type_one_sweeps()} == {(0.0,)}
    for one in colt_paper.tree_sweeps():
        assert (one.design.n, one.design.k) == (1000, 100)
    for one in colt_paper.blind_prior_sweeps():
        assert (one.design.n, one.design.k) == (100, 500)
        assert one.benchmark.perturbation == "blind_prior"


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
