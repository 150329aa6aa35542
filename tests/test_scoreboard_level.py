"""The scoreboard's tests on exact posteriors: each rejects at most 5% of tables of a correct q."""

import pytest

from validation_core.benchmarks.trained import SimulatorPairs
from validation_core.explorers.training.scoreboard import DRAWS, TESTS
from validation_core.scores.classifier import TableClassifier
from validation_core.scores.upload_training import UploadTraining
from validation_core.simulators import TwoMoons
from validation_core.statistics import binomial_bounds
from validation_core.sweep.plan import Sweep, SweepPlace
from validation_core.sweep.trials import TrialDesign

N, TABLES = 100, 200


@pytest.mark.slow
def test_every_test_keeps_its_level_where_q_is_the_exact_posterior(store):
    """As on the scoreboard: scores are learnt from one further table, then held."""
    sweep = Sweep(
        benchmark=SimulatorPairs(simulator=TwoMoons()),
        methods=TESTS,
        gammas=(0.0,),
        design=TrialDesign(trials=TABLES, n=N, k=DRAWS),
        recipe=TableClassifier(n=N, k=DRAWS, recipe=UploadTraining().classifier),
    )
    tallies = sweep.run_at(SweepPlace(0.0, 0.0), store, lambda fraction, live: None)
    most = binomial_bounds(TABLES, 0.05, 1 - 1e-3 / len(TESTS))[1]
    rejected = {
        test.label: int((tally.pvalues <= 0.05).sum())
        for test, tally in zip(TESTS, tallies, strict=True)
    }
    assert all(count <= most for count in rejected.values()), rejected
