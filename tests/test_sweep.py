"""Sweeps: the same trials however they are cut, nothing twice, one method's failure its own."""

import dataclasses

import numpy as np
import pandas as pd
import pytest

from validation_core import keys
from validation_core.benchmarks.gaussian import Gaussian
from validation_core.engine import Engine
from validation_core.engine.task import SerialExecutor
from validation_core.methods import C2ST, SBC, MMDFuse, Multiple, Uniform, WithinX
from validation_core.precision import three_digits
from validation_core.scores.classifier import Classifier
from validation_core.scores.trained_scores import Simulated, Training, TrainTask
from validation_core.store import Store
from validation_core.sweep import progress, trials
from validation_core.sweep.plan import Batch, MethodTrials, Sweep, SweepPlace
from validation_core.sweep.rates import exceeds_level, rate_interval, standard_error
from validation_core.sweep.trial_detail import TrialStudy, first_trial
from validation_core.sweep.trials import Tally, TrialDesign, merge_tallies
from validation_core.types import NetworkCount, PowerCell

QUICK = Classifier(train=200, epochs=3, hidden=16)
DESIGN = TrialDesign(trials=70, n=60, k=12)
BENCHMARK = Gaussian(perturbation="covariance_scaling", dim_x=2, dim_theta=2)


def _sweep(*methods, **changes):
    return Sweep(
        benchmark=BENCHMARK, methods=methods or (SBC(), C2ST(), Uniform(m=5)),
        **{"gammas": (0.0, 1.4), "design": DESIGN, "recipe": QUICK, **changes},
    )  # fmt: skip


def _run(wanted, store):
    for task in progress.missing(wanted, store):
        task.run(store, lambda fraction, live: None)


@pytest.fixture
def store():
    return Store()


def test_a_sweep_runs_and_tells(store):
    wanted = _sweep()
    assert progress.collect(wanted, store).cells == []
    _run(wanted, store)
    found = progress.collect(wanted, store)
    assert found.complete
    assert [(c.label, c.gamma) for c in found.cells] == [
        (m.label, g) for m in wanted.methods for g in wanted.gammas
    ]
    assert all(cell.trials == 70 for cell in found.cells)
    assert found.training["SBC"] == 0 < found.training["C2ST"]
    sbc = [cell for cell in found.cells if cell.method == "sbc"]
    assert sbc[0].rejections < sbc[1].rejections
    assert sbc[0].draws_q == 70 * 60 * 12
    rows = progress.progress_rows(found)
    assert all(row["low"] <= row["rate"] <= row["high"] for row in rows)


def test_several_networks_are_averaged_and_shown_with_their_spread(store):
    wanted = _sweep(networks=3)
    _run(wanted, store)
    found = progress.collect(wanted, store)
    assert found.complete
    alone = [progress.collect(_sweep(seed=seed), store) for seed in range(3)]
    assert [one.complete for one in alone[:1]] == [True]
    for cell in found.cells:
        if cell.method == "sbc":
            assert cell.networks == ()
            assert cell.trials == 70
            continue
        same = [
            c for one in alone for c in one.cells if (c.label, c.gamma) == (cell.label, cell.gamma)
        ]
        assert cell.networks == tuple((c.rejections, c.trials) for c in same)
        assert cell.rate == pytest.approx(np.mean([c.rate for c in same]))
        low, high = rate_interval(cell)
        ends = [rate_interval(c) for c in same]
        assert (low, high) == (min(e.low for e in ends), max(e.high for e in ends))
        rates = [c.rate for c in same]
        assert standard_error(cell) == pytest.approx(np.std(rates, ddof=1) / np.sqrt(3))
    progress.keep_curves(wanted, store)
    assert progress.missing(wanted, store) == ()
    assert [cell.networks for cell in progress.collect(wanted, store).cells] == [
        cell.networks for cell in found.cells
    ]


def test_a_level_is_broken_by_any_of_several_networks():
    cell = PowerCell("b", "c2st", {}, 0.0, 0.0, 600, 60, 0.05, "pooled", 1, 1, 1.0)
    spread = [NetworkCount(10, 200), NetworkCount(11, 200), NetworkCount(39, 200)]
    assert exceeds_level(dataclasses.replace(cell, networks=tuple(spread)), 0.999)
    even = (NetworkCount(15, 200),) * 3
    assert not exceeds_level(dataclasses.replace(cell, networks=even, rejections=45), 0.999)


def test_first_a_picture_of_everything():
    """Ten trials of every method everywhere stand before any further trial."""
    order = [t.parts[0] for t in _sweep().tasks if isinstance(t, Batch)]
    firsts = [task.first for task in order]
    assert firsts == sorted(firsts)
    assert [task.count for task in order[:4]] == [10] * 4
    assert {(t.first, t.first + t.count) for t in order} == {(0, 10), (10, 20), (20, 50), (50, 70)}


def test_every_network_is_trained_before_it_is_read():
    made = set()
    for task in _sweep().tasks:
        if isinstance(task, TrainTask):
            made |= task.makes
        else:
            assert task.needs <= made
    assert len(made) == 2


@pytest.mark.parametrize("method", [SBC(), C2ST(), Uniform(m=5), Multiple(), WithinX(),
                                    MMDFuse(points=20, permutations=19)],
                         ids=lambda m: m.name)  # fmt: skip
def test_trials_do_not_depend_on_the_cut(method):
    """Trial t is the same whatever part it is computed in."""
    design = trials.effective_design(DESIGN, method)

    def score(theta, x):
        return theta[:, 0] + 0.3 * x[:, 0] * theta[:, 1]

    (whole,) = trials.run_trials(BENCHMARK, 0.4, score, [method], design, range(12))
    parts = [trials.run_trials(BENCHMARK, 0.4, score, [method], design, r)[0]
             for r in (range(5), range(5, 12))]  # fmt: skip
    joined = trials.merge_tallies(parts)
    np.testing.assert_array_equal(joined.pvalues, whole.pvalues)
    np.testing.assert_array_equal(joined.statistics, whole.statistics)


def test_more_trials_add_to_those_that_are_there(store):
    _run(_sweep(design=dataclasses.replace(DESIGN, trials=50)), store)
    before = {entry.key for entry in store.entries()}
    longer = _sweep(design=dataclasses.replace(DESIGN, trials=100))
    left = progress.missing(longer, store)
    assert {(p.first, p.count) for t in left for p in t.parts} == {(50, 50)}
    _run(longer, store)
    assert before <= {entry.key for entry in store.entries()}
    # Where a sweep of twenty was run first, none of its trials is run again either.
    (few,) = {
        part.first + part.count
        for part in _sweep(
            SBC(), gammas=(0.0,), design=dataclasses.replace(DESIGN, trials=20)
        ).parts["SBC", SweepPlace(0.0, 0.0)][-1:]
    }
    assert few in {part.first for part in longer.parts["SBC", SweepPlace(0.0, 0.0)]}
    short, long = (progress.collect(_sweep(design=dataclasses.replace(DESIGN, trials=n)), store)
                   for n in (50, 100))  # fmt: skip
    place = ("SBC", SweepPlace(0.0, 0.0))
    np.testing.assert_array_equal(long.pvalues[place][:50], short.pvalues[place])


def test_a_further_method_adds_its_own_trials_only(store):
    _run(_sweep(SBC()), store)
    left = progress.missing(_sweep(SBC(), C2ST()), store)
    assert {p.method.name for t in left if isinstance(t, Batch) for p in t.parts} == {"c2st"}


def test_the_level_costs_no_trial(store):
    _run(_sweep(SBC()), store)
    strict = _sweep(SBC(), design=dataclasses.replace(DESIGN, alpha=0.01))
    assert progress.missing(strict, store) == ()
    loose = progress.collect(_sweep(SBC()), store).cells
    assert progress.collect(strict, store).cells[1].rejections <= loose[1].rejections


def test_what_plays_no_part_costs_no_trial():
    """Draws per x mean nothing to a test of blocks, nor beta to one that reads no network."""
    few, many = (_sweep(SBC(), C2ST(), design=dataclasses.replace(DESIGN, k=k)) for k in (5, 50))
    at = SweepPlace(0.0, 0.0)
    assert few.parts["C2ST", at] == many.parts["C2ST", at]
    assert few.parts["SBC", at] != many.parts["SBC", at]
    along = _sweep(SBC(), C2ST(), gammas=(1.4,), betas=(0.0, 1.0))
    sound, dead = SweepPlace(1.4, 0.0), SweepPlace(1.4, 1.0)
    assert along.parts["SBC", sound] == along.parts["SBC", dead]
    assert along.parts["C2ST", sound] != along.parts["C2ST", dead]


def test_beta_degrades(store):
    wanted = _sweep(C2ST(), gammas=(1.4,), betas=(0.0, 1.0), recipe=Classifier(train=400),
                    design=dataclasses.replace(DESIGN, trials=20, n=300))  # fmt: skip
    _run(wanted, store)
    sound, dead = progress.collect(wanted, store).cells
    assert sound.rejections > 15
    assert dead.rejections < 5


def test_a_finished_curve_is_one_record(store):
    wanted = _sweep()
    _run(wanted, store)
    before = progress.collect(wanted, store)
    progress.keep_curves(wanted, store)
    for parts in wanted.parts.values():
        for part in parts:
            store.delete("results", part.key)
    assert progress.missing(wanted, store) == ()
    after = progress.collect(wanted, store)
    kept, counted = (pd.DataFrame(progress.progress_rows(each)) for each in (after, before))
    to_three_digits = ["statistic", "statistic_low", "statistic_high"]
    pd.testing.assert_frame_equal(kept[to_three_digits], counted[to_three_digits], rtol=1e-3)
    pd.testing.assert_frame_equal(
        *(each.drop(columns=to_three_digits) for each in (kept, counted))
    )
    for place, pvalues in before.pvalues.items():
        np.testing.assert_array_equal(after.pvalues[place], pvalues.astype(np.float32))


@pytest.mark.parametrize("level", [0.01, 0.05, 0.1, 1 / 3])
def test_a_pvalue_at_the_level_rejects_in_either_precision(level):
    exact = Tally(np.array([level, np.nextafter(np.float32(level), 1)]), np.zeros(2), 0, 0, 0.0)
    kept = exact._replace(pvalues=exact.pvalues.astype(np.float32))
    for tally in (exact, kept, merge_tallies([kept, exact])):
        np.testing.assert_array_equal(tally.rejected(level)[:2], [True, False])


@pytest.mark.parametrize(
    ("values", "kind"),
    [([0.5, 0.25, 1e-3], "float16"), ([0.5, 1e-7], "float32"), ([1e5, 1.0], "float32")],
)
def test_statistics_keep_three_digits(values, kind):
    kept = three_digits(values)
    assert kept.dtype == kind
    np.testing.assert_allclose(kept.astype(float), values, rtol=1e-3)


def test_an_unfinished_curve_is_not_kept(store):
    wanted = _sweep(SBC())
    progress.missing(wanted, store)[0].run(store, lambda fraction, live: None)
    progress.keep_curves(wanted, store)
    assert not store.has("results", wanted.curve(SBC()).key)
    assert len(progress.collect(wanted, store).cells) == 1


def test_memory_is_read_once(store, monkeypatch):
    wanted, memory = _sweep(SBC()), {}
    _run(wanted, store)
    first = progress.progress_rows(progress.collect(wanted, store, memory))
    monkeypatch.setattr(MethodTrials, "load", lambda *a: pytest.fail("read again"))
    assert progress.progress_rows(progress.collect(wanted, store, memory)) == first


def test_a_method_that_fails_stops_no_other(store, monkeypatch):
    def refuse(self, scores, rng):
        raise ValueError("This test needs something else; got this. Do that.")

    monkeypatch.setattr(WithinX, "test", refuse)
    wanted = _sweep(WithinX(), SBC(), gammas=(0.0,))
    engine = Engine(store, SerialExecutor())
    try:
        state = engine.submit(wanted.tasks, "test").snapshot()
    finally:
        engine.close()
    assert state.state == "failed"
    assert "needs something else" in state.message
    assert progress.collect(wanted, store).done == {"Within x": 0, "SBC": 70}


def test_a_learned_method_without_a_score_is_refused():
    with pytest.raises(ValueError, match="reads a trained classifier"):
        trials.run_trials(BENCHMARK, 0.0, None, [C2ST()], DESIGN, range(1))


@pytest.mark.parametrize("method", [SBC(), C2ST(), Uniform(m=3)], ids=lambda m: m.name)
def test_one_test_is_kept_whole(method, store):
    wanted = _sweep(method)
    task = first_trial(wanted, method, SweepPlace(1.4, 0.0))
    assert task.load(store) is None
    task.run(store, lambda fraction, live: None)
    found = task.load(store)
    assert task.done(store)
    assert 0 < found.pvalue <= 1
    budget = method.budget(DESIGN.n, DESIGN.k)
    assert (found.draws_p, found.draws_q) == budget
    if method.layout == "table":
        assert found.theta.shape == (60, 12, 2)
        assert found.arrays["u"].shape == (2, 60)


def test_specifications_can_be_read_back():
    """Records of interrupted sweeps, and tasks sent to workers, are these texts."""
    wanted = _sweep()
    for task in (*wanted.tasks, first_trial(wanted, SBC(), wanted.places[0])):
        again = keys.read(keys.canonical_text(task))
        assert again == task
        assert again.key == task.key
    curve = wanted.curve(SBC())
    assert keys.read(keys.canonical_text(curve)) == curve


def test_only_networks_queue_for_a_gpu():
    wanted = _sweep(SBC(), C2ST(), MMDFuse())
    needs = {p.method.name: t.gpu for t in wanted.tasks if isinstance(t, Batch) for p in t.parts}
    assert needs == {"sbc": False, "c2st": True, "mmd_fuse": False}
    assert isinstance(first_trial(wanted, SBC(), wanted.places[0]), TrialStudy)


def test_fresh_and_pooled_agree(store):
    """Uniform's pooled counts against calibration draws of its own, on the same score."""
    source = Simulated(benchmark=BENCHMARK, gamma=1.4)
    training = Training(source=source, recipe=QUICK)
    rates = []
    for protocol in ("pooled", "fresh"):
        design = TrialDesign(n=60, protocol=protocol)
        task = MethodTrials(
            source=source, method=Uniform(m=5), network=training, beta=0.0, design=design,
            first=0, count=200,
        )  # fmt: skip
        task.run(store, lambda fraction, live: None)
        rates.append((task.load(store).pvalues <= 0.05).mean())
    sd = np.sqrt(2 * max(rates[0] * (1 - rates[0]), 0.05) / 200)
    assert abs(rates[0] - rates[1]) < 4 * sd
