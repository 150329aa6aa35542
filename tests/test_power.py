"""Power curves: the two protocols agree, trials are reproducible, counts add up."""

import numpy as np
import pytest

from validation_core import rng, statistics
from validation_core.benchmarks.boundary import Boundary
from validation_core.benchmarks.gaussian import Gaussian
from validation_core.methods import C2ST, SBC, TARP, Multiple, Uniform, WithinX
from validation_core.scores import LinearBoundary
from validation_core.sweep import trials as engine
from validation_core.sweep.trials import TrialDesign

METHODS = (C2ST(), Multiple(), Uniform(m=5), Uniform(m=20))
SCORE = LinearBoundary()


def _pvalues(gamma, methods, design, score=SCORE):
    """(methods, trials) on the boundary benchmark."""
    return np.array(
        [t.pvalues for t in engine.run_trials(Boundary(), gamma, score, methods, design)]
    )


def _cells(benchmark, gamma, methods, design):
    tallies = engine.run_trials(benchmark, gamma, SCORE, methods, design)
    return [tally.cell(benchmark, method, gamma, 0.0, design)
            for tally, method in zip(tallies, methods, strict=True)]  # fmt: skip


@pytest.mark.parametrize("gamma", [0.0, 0.25])
def test_pooled_agrees_with_fresh(gamma):
    """Rates within four Monte-Carlo sds of each other, p-values alike in law."""
    trials, n = 300, 100
    rates, pvalues = [], []
    for protocol in ("pooled", "fresh"):
        design = TrialDesign(trials=trials, n=n, protocol=protocol, seed=3)
        tested = _pvalues(gamma, METHODS, design)
        rates.append((tested <= 0.05).mean(1))
        pvalues.append(tested)
    sd = np.sqrt(2 * np.maximum(rates[0] * (1 - rates[0]), 0.02) / trials)
    assert (np.abs(rates[0] - rates[1]) < 4 * sd).all()
    for a, b in zip(*pvalues, strict=True):
        assert statistics.ks(np.searchsorted(np.sort(a), b) / trials).statistic < 0.16


def test_c2st_and_multiple_share_nothing_between_trials():
    """Pooled and fresh are one protocol for them; each trial's draws are its own."""
    methods = (C2ST(), Multiple())
    tested = engine.run_trials(Boundary(), 0.0, SCORE, methods, TrialDesign(trials=40, n=100))
    assert len(np.unique(tested[1].pvalues)) == 40
    assert [(tally.draws_p, tally.draws_q) for tally in tested] == [(4000, 4000)] * 2


def test_a_longer_run_begins_with_the_shorter():
    short = _pvalues(0.25, METHODS, TrialDesign(trials=15, n=50))
    longer = _pvalues(0.25, METHODS, TrialDesign(trials=40, n=50))
    np.testing.assert_array_equal(longer[:, :15], short)


def test_a_method_says_the_same_alone_and_beside_others():
    design = TrialDesign(trials=12, n=50)
    together = _pvalues(0.25, METHODS, design)
    for method, pvalues in zip(METHODS, together, strict=True):
        np.testing.assert_array_equal(_pvalues(0.25, [method], design)[0], pvalues)


@pytest.mark.parametrize("method", [*METHODS, SBC(), WithinX(), TARP()], ids=lambda m: m.label)
def test_trials_at_once_are_trials_one_by_one(method, monkeypatch):
    """To the last digits of a law, which depend on what is evaluated beside it."""
    design = TrialDesign(trials=7, n=40, k=9)
    (together,) = engine.run_trials(Boundary(), 0.25, SCORE, [method], design)
    monkeypatch.setattr(engine, "TRIALS_PER_CHUNK", 1)
    (alone,) = engine.run_trials(Boundary(), 0.25, SCORE, [method], design)
    np.testing.assert_array_equal(together.statistics, alone.statistics)
    np.testing.assert_allclose(together.pvalues, alone.pvalues, rtol=1e-12)
    # Where a test cannot be given many streams as one, it is run trial by trial.
    monkeypatch.setattr(engine, "Streams", lambda generators: rng.Streams([]))
    (single,) = engine.run_trials(Boundary(), 0.25, SCORE, [method], design)
    np.testing.assert_array_equal(single.statistics, alone.statistics)
    np.testing.assert_allclose(single.pvalues, alone.pvalues, rtol=1e-12)


def test_streams_draw_for_each_row_from_its_own():
    def generators():
        return [rng.stream(0, i) for i in range(3)]

    streams = rng.Streams(generators())
    chances = np.linspace(0, 1, 12).reshape(3, 4)
    made = [streams.random((3, 4)), streams.binomial(9, chances)]
    for i, own in enumerate(generators()):
        np.testing.assert_array_equal(made[0][i], own.random(4))
        np.testing.assert_array_equal(made[1][i], own.binomial(9, chances[i]))
    for draw in (lambda: streams.random(3), lambda: streams.integers(4, size=(3, 4))):
        with pytest.raises(rng.Unsplit):
            draw()


def test_few_trials_still_rank_against_a_large_pool():
    """100 n calibration scores, however few trials: the level holds from the first refinement."""
    (tested,) = engine.run_trials(
        Boundary(), 0.0, SCORE, (Uniform(),), TrialDesign(trials=5, n=40)
    )
    assert tested.draws_p == 100 * 40


def test_level_of_the_pooled_protocol():
    design = TrialDesign(trials=2000, n=60)
    tested = _pvalues(0.0, (Multiple(), Uniform(m=1), Uniform(m=50)), design)
    low, high = statistics.binomial_bounds(2000, 0.05, 0.999)
    rejections = (tested <= 0.05).sum(1)
    assert (low <= rejections).all()
    assert (rejections <= high).all()


def test_tables_are_tested_fresh():
    design = TrialDesign(trials=8, n=60, k=20)
    methods = (SBC(), WithinX())
    cells = _cells(Gaussian(), 0.3, methods, design)
    assert [cell.protocol for cell in cells] == ["fresh", "fresh"]
    assert cells[0].draws_p == 8 * 60
    assert cells[0].draws_q == 8 * 60 * 20


def test_cells_count_rejections():
    design = TrialDesign(trials=30, n=100)
    cells = _cells(Boundary(), 0.5, METHODS, design)
    for cell, pvalues in zip(cells, _pvalues(0.5, METHODS, design), strict=True):
        assert cell.rejections == (pvalues <= 0.05).sum()
        assert cell.trials == 30
        assert cell.rate == cell.rejections / 30
    assert cells[-1].options["m"] == 20


def test_order_of_power_with_a_shifted_threshold():
    """Fig. 1 of the conformal paper: the shift ruins C2ST and leaves the conformal tests alone."""
    shifted = LinearBoundary(offset=1.5)
    tested = _pvalues(0.5, METHODS, TrialDesign(trials=100, n=100), shifted)
    c2st, multiple, *_, uniform = (tested <= 0.05).mean(1)
    assert c2st < 0.25 < 0.8 < min(multiple, uniform)


@pytest.mark.parametrize("bad", [{"trials": 0}, {"n": 1}, {"k": 0}, {"alpha": 0.0}])
def test_bad_designs_are_refused(bad):
    with pytest.raises(ValueError, match="got"):
        TrialDesign(**bad)


def test_a_learned_method_without_a_score_says_so():
    with pytest.raises(ValueError, match="trained classifier"):
        engine.run_trials(Boundary(), 0.5, None, (Multiple(),), TrialDesign(trials=1, n=10))
