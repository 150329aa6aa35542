"""A mend of a trained estimator by the exact posterior: the mended density, claim and truth."""

from dataclasses import replace

import numpy as np
import pytest

from validation_core import keys
from validation_core.benchmarks.trained import Trained
from validation_core.explorers.training.mended import MendedNatsStudy, density_ratio, describe_mend
from validation_core.mending import mend_table
from validation_core.rng import stream
from validation_core.scores.trained_scores import network_at, trained
from validation_core.statistics.areas import Estimate
from validation_core.store import Store
from validation_core.types import PosteriorTable

K = 20


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return Store(tmp_path_factory.mktemp("mended"))


@pytest.fixture(scope="module")
def training():
    """Of a flow that has seen too little."""
    usual = network_at(Trained(task="two_moons", estimator="maf"), 400)
    return replace(usual, recipe=replace(usual.recipe, epochs=10, patience=0))


@pytest.mark.slow
def test_the_mended_density_integrates_to_one(store, training):
    """By q's own draws: their mean ratio of mended to q's density is 1."""
    estimator, simulator = trained(store, training), training.source.benchmark.simulator
    rng = stream(0, "test mended density")
    pairs = simulator.pairs(300, rng)
    table = PosteriorTable(pairs.theta, pairs.x, estimator.draws(pairs.x, K, rng))
    function = mend_table(table, 0).mending()
    x = simulator.pairs(600, rng).x
    own = estimator.draws(x, 1, rng)[:, 0]
    log_ratio, bias = density_ratio(function, estimator, own, x, K, rng)
    ratio = np.exp(log_ratio)
    assert ratio.std() > 0.3, "the mend changes q"
    assert abs(ratio.mean() - 1) < 3 * ratio.std() / np.sqrt(len(x))
    assert (bias <= 0).all()


def test_a_mend_brings_q_nearer_to_the_exact_posterior_than_it_claims(store, training):
    study = MendedNatsStudy(training=training, rows=200, draws=K, pairs=100)
    study.run(store, lambda fraction, live: None)
    found = study.load(store)
    assert found.offered
    assert found.fall.value > 0.5 * found.claimed.value > 3 * found.claimed.error
    assert found.before.value - found.fall.value == pytest.approx(found.after.value)
    assert 0 < found.after.value < found.before.value
    claim, truth = describe_mend(found, study.pairs)
    assert f"gains {found.claimed.value:.2f} [" in claim
    assert f"falls by {found.fall.value:.2f} [" in truth
    assert "on 100 fresh pairs" in truth
    worse = found._replace(fall=Estimate(-0.02, 0.04))
    assert "rises by 0.02 [−0.06, 0.10] nats" in describe_mend(worse, study.pairs)[1]
    assert keys.read(keys.canonical_text(study)) == study
