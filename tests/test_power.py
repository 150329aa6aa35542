"""Power curves: the two protocols agree, trials are reproducible, counts add up."""

import numpy as np
import pytest

from validation_core import power, statistics
from validation_core.benchmarks.boundary import Boundary
from validation_core.benchmarks.gaussian import Gaussian
from validation_core.methods import C2ST, SBC, Multiple, Uniform, WithinX
from validation_core.power import Trials
from validation_core.scores.linear import LinearBoundary

METHODS = (C2ST(), Multiple(), Uniform(m=5), Uniform(m=20))
SCORE = LinearBoundary()


@pytest.mark.parametrize("gamma", [0.0, 0.25])
def test_pooled_agrees_with_fresh(gamma):
    """Rates within four Monte-Carlo sds of each other, p-values alike in law."""
    trials, n = 300, 100
    rates, pvalues = [], []
    for protocol in ("pooled", "fresh"):
        design = Trials(trials=trials, n=n, protocol=protocol, seed=3)
        tested = power.run(Boundary(), gamma, SCORE, METHODS, design)
        rates.append((tested.pvalues <= 0.05).mean(1))
        pvalues.append(tested.pvalues)
    sd = np.sqrt(2 * np.maximum(rates[0] * (1 - rates[0]), 0.02) / trials)
    assert (np.abs(rates[0] - rates[1]) < 4 * sd).all()
    for a, b in zip(*pvalues, strict=True):
        assert statistics.ks(np.searchsorted(np.sort(a), b) / trials).statistic < 0.16


def test_c2st_and_multiple_share_nothing_between_trials():
    """Pooled and fresh are one protocol for them; each trial's draws are its own."""
    tested = power.run(Boundary(), 0.0, SCORE, (C2ST(), Multiple()), Trials(trials=40, n=100))
    assert len(np.unique(tested.pvalues[1])) == 40
    assert tested.draws == ((4000, 4000), (4000, 4000))


def test_a_longer_run_begins_with_the_shorter():
    short = power.run(Boundary(), 0.25, SCORE, (C2ST(),), Trials(trials=15, n=50))
    longer = power.run(Boundary(), 0.25, SCORE, (C2ST(),), Trials(trials=40, n=50))
    np.testing.assert_array_equal(longer.pvalues[0, :15], short.pvalues[0])


def test_few_trials_still_rank_against_a_large_pool():
    """100 n calibration scores, however few trials: the level holds from the first refinement."""
    tested = power.run(Boundary(), 0.0, SCORE, (Uniform(),), Trials(trials=5, n=40))
    assert tested.draws[0][0] == 100 * 40


def test_level_of_the_pooled_protocol():
    design = Trials(trials=2000, n=60)
    tested = power.run(Boundary(), 0.0, SCORE, (Multiple(), Uniform(m=1), Uniform(m=50)), design)
    low, high = statistics.binomial_bounds(2000, 0.05, 0.999)
    rejections = (tested.pvalues <= 0.05).sum(1)
    assert (low <= rejections).all()
    assert (rejections <= high).all()


def test_tables_are_tested_fresh():
    design = Trials(trials=8, n=60, k=20)
    tested = power.run(Gaussian(), 0.3, SCORE, (SBC(), WithinX()), design)
    cells = tested.cells(Gaussian(), 0.3, 0.0, design)
    assert [cell.protocol for cell in cells] == ["fresh", "fresh"]
    assert cells[0].draws_p == 8 * 60
    assert cells[0].draws_q == 8 * 60 * 20


def test_cells_count_rejections():
    design = Trials(trials=30, n=100)
    tested = power.run(Boundary(), 0.5, SCORE, METHODS, design)
    for cell, pvalues in zip(
        tested.cells(Boundary(), 0.5, 0.0, design), tested.pvalues, strict=True
    ):
        assert cell.rejections == (pvalues <= 0.05).sum()
        assert cell.trials == 30
        assert cell.rate == cell.rejections / 30
    assert cells_options(tested, design)["m"] == 20


def cells_options(tested, design):
    return tested.cells(Boundary(), 0.5, 0.0, design)[-1].options


def test_order_of_power_with_a_shifted_threshold():
    """Fig. 1 of the conformal paper: the shift ruins C2ST and leaves the conformal tests alone."""
    shifted = LinearBoundary(offset=1.5)
    tested = power.run(Boundary(), 0.5, shifted, METHODS, Trials(trials=100, n=100))
    c2st, multiple, *_, uniform = (tested.pvalues <= 0.05).mean(1)
    assert c2st < 0.25 < 0.8 < min(multiple, uniform)


@pytest.mark.parametrize("bad", [{"trials": 0}, {"n": 1}, {"k": 0}, {"alpha": 0.0}])
def test_bad_designs_are_refused(bad):
    with pytest.raises(ValueError, match="got"):
        Trials(**bad)


def test_a_learned_method_without_a_score_says_so():
    with pytest.raises(ValueError, match="trained classifier"):
        power.run(Boundary(), 0.5, None, (Multiple(),), Trials(trials=1, n=10))
