"""The workbench's numbers, from cached scores alone, and the tasks that make them."""

from dataclasses import asdict, replace

import numpy as np
import pytest

from validation_core import keys, models, statistics
from validation_core.benchmarks.boundary import Boundary
from validation_core.benchmarks.gaussian import Gaussian
from validation_core.engine import Engine, SerialExecutor, WorkerPool
from validation_core.methods import C2ST, Multiple, Uniform
from validation_core.models import Simulated, Training, TrainTask
from validation_core.rng import stream
from validation_core.scores.classifier import Classifier
from validation_core.store import Store
from validation_core.sweep import conformal_explorer as workbench
from validation_core.sweep.conformal_explorer import GridTask, ScoreGrid, with_training
from validation_core.sweep.plan import Sweep, _keep, collect, missing
from validation_core.sweep.trials import TrialDesign

RECIPE = Classifier(train=300, epochs=8, lr=2e-3, hidden=32)
TRAINING = Training(source=Simulated(benchmark=Boundary(), gamma=0.5), recipe=RECIPE)
TASK = GridTask(training=TRAINING, betas=(0.0, 0.5, 1.0), n_p=20_000, n_q=4000)
METHODS = (C2ST(), Multiple(), Uniform(m=10))
DESIGN = TrialDesign(trials=12, n=100)


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
def grid(store):
    TASK.run(store, _quiet)
    return TASK.load(store)


def _gaussian_grid(shift, n_p=50_000, n_q=5000):
    """Scores with a known law: N(0, 1) under p, N(-shift, 1) under q, at one beta."""
    rng = stream(7, shift)
    p, q = rng.standard_normal((1, n_p)), rng.standard_normal((1, n_q)) - shift
    none = np.zeros(0)
    return ScoreGrid(np.zeros(1), p, q, np.atleast_1d(statistics.auc(p, q)), none, none, none)


def test_mean_rank_is_one_minus_auc(grid):
    """Lemma 3.3, up to the noise of n ranks."""
    found = workbench.ranks(grid, m=10, n=2000)
    assert np.abs(found.mean - (1 - found.auc)).max() < 4 * 0.29 / np.sqrt(2000)
    assert found.u.shape == (3, 2000)
    assert found.disjoint


def test_ranks_of_the_null_are_uniform_and_shifts_are_seen():
    assert workbench.ranks(_gaussian_grid(0.0), 50, 1000).ks.pvalue[0] > 0.001
    assert workbench.ranks(_gaussian_grid(0.3), 50, 1000).ks.pvalue[0] < 1e-4


def test_pooled_where_there_are_too_few_scores():
    grid = _gaussian_grid(0.3)
    exact, pooled = workbench.ranks(grid, 50, 1000), workbench.ranks(grid, 200, 1000)
    assert exact.disjoint
    assert not pooled.disjoint
    assert abs(exact.mean[0] - pooled.mean[0]) < 0.02


def test_total_variation_is_bounded_from_below():
    """N(0,1) against N(-1,1): TV = 2 Phi(1/2) - 1 = .383."""
    bound = workbench.ranks(_gaussian_grid(1.0), 10, 100).total_variation[0]
    assert 0.2 < bound < 0.383


def test_rank_variance_falls_as_one_over_m():
    grid = _gaussian_grid(0.5)
    found = workbench.rank_variance(grid.p[0], grid.q[0], stream(8))
    cdf = statistics.PooledLaw(grid.p[0]).cdf(grid.q[0, :200])[0]
    m = np.array(workbench.PAPER_M)
    expected = (m * (cdf * (1 - cdf)).mean() + 1 / 12) / (m + 1) ** 2
    np.testing.assert_allclose(found, expected, rtol=0.15)


def test_others_at_every_beta(grid):
    found = workbench.others(grid, n=1000)
    assert found.multiple.pvalue.shape == found.c2st.pvalue.shape == (3,)
    assert found.multiple.pvalue[0] < 0.01


def test_spread_is_a_density_whatever_the_scale(grid):
    found = workbench.spread(grid)
    area = (found.p * np.diff(found.edges)).sum(1)
    assert ((area > 0.9) & (area <= 1 + 1e-9)).all()  # what lies beyond the axis is not drawn
    stretched = workbench.spread(grid._replace(p=7 * grid.p, q=7 * grid.q))
    np.testing.assert_allclose(stretched.p, found.p, atol=0.02)
    np.testing.assert_allclose(stretched.threshold, found.threshold, rtol=1e-5)


def test_the_oracle_rises_with_itself(grid):
    """A score that is the oracle rises along it; one that is noise stays flat."""
    own = grid._replace(
        p=np.repeat(grid.oracle_p[None], 3, 0), q=np.repeat(grid.oracle_q[None], 3, 0)
    )
    found = workbench.against_oracle(own)
    assert (np.diff(found.middle[0]) > 0).all()
    rng = stream(9)
    noise = grid._replace(p=rng.standard_normal(own.p.shape), q=rng.standard_normal(own.q.shape))
    assert np.abs(workbench.against_oracle(noise).middle).max() < 0.4
    assert workbench.against_oracle(grid._replace(oracle_p=np.zeros(0))) is None


def test_degrading_costs_auc(grid):
    assert grid.auc[0] > 0.6
    assert grid.auc[0] == pytest.approx(float(grid.oracle_auc[0]), abs=0.05)
    assert grid.p.shape == (3, 20_000)


def test_one_network_for_all_who_ask(store, grid, monkeypatch):
    def never(*args):
        pytest.fail("trained again")

    monkeypatch.setattr(models, "train", never)
    assert store.has("models", keys.key(TRAINING))
    _run(SWEEP, store)
    assert TrainTask(trainings=(TRAINING,)).done(store)


def test_the_power_of_a_place_reads_back(store, grid):
    at = replace(SWEEP, betas=(0.5,))
    _run(at, store)
    cells = collect(at, store).cells
    assert [cell.method for cell in cells] == ["c2st", "multiple", "uniform"]
    assert cells[2].options == {"m": 10}
    assert cells[0].beta == 0.5
    assert missing(at, store) == ()


def test_what_was_kept_along_one_axis_is_found_along_another(store, grid):
    """The page's three axes cross at a place."""
    across = replace(SWEEP, betas=(0.0, 0.5))
    _run(across, store)
    _keep(across, store)
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


def test_a_gpu_trains_one_batch_first():
    other = GridTask(training=Training(source=Simulated(benchmark=Gaussian(), gamma=0.1)))
    coarse = replace(TASK, betas=(0.0, 1.0))
    grids = [coarse, TASK, other]
    one, two = (TrainTask(trainings=(grid.training,)) for grid in (TASK, other))
    assert with_training(grids, "cpu") == (one, coarse, TASK, two, other)
    both = TrainTask(trainings=(TASK.training, other.training))
    assert with_training(grids, "cuda") == (both, *grids)
    assert both.makes == TASK.needs | other.needs


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
            job = engine.submit([TASK, *tasks], "test")
            assert engine.wait(job.key, "test", 120).state == "done"
            arrays = [engine.store.load("results", p.key).arrays["pvalues"] for p in parts]
            arrays.append(engine.store.load("results", TASK.key).arrays["q"])
            found[name, who] = arrays
        engine.close()
    first = found["serial", "cold"]
    for other in found.values():
        for a, b in zip(first, other, strict=True):
            np.testing.assert_array_equal(a, b)
