"""Annealed importance sampling: q itself at one state, both bounds, and the two meeting."""

import numpy as np
import pytest
from scipy.stats import norm

from tests.conjugate import Conjugate, off
from validation_core.bayes import MODELS
from validation_core.bayes.annealing import AnnealedTarget, annealed_weights
from validation_core.bayes.hmc import WhitenedTarget
from validation_core.bayes.laplace import Laplace
from validation_core.bayes.model import log_joint
from validation_core.rng import stream
from validation_core.symmetric_divergence import InferenceRun
from validation_core.symmetric_divergence.bounds import STATES, BoundsStudy, bounds

K = 400
SHIFT, VARIANCE = 0.3, 0.8


@pytest.fixture(scope="module")
def example():
    """A q that is off and too wide, whose divergence is 0.25875 nats at every x."""
    rng = np.random.default_rng(0)
    pairs = Conjugate().simulate(K, rng)
    q = off(pairs.x, SHIFT, VARIANCE)
    drawn = q.mean + q.scale[:, 0] * rng.standard_normal((K, 1))
    return pairs, q, drawn


def rngs(use):
    return [stream(0, use, k) for k in range(K)]


def weights(example, states):
    pairs, q, drawn = example
    starts = pairs.theta, drawn
    streams = rngs("truth"), rngs("draws")
    return annealed_weights(Conjugate(), q, pairs.x, starts, states, streams)


def test_one_state_is_algorithm_1(example):
    pairs, q, drawn = example
    found = weights(example, 1)
    for mine, z in zip(found, (pairs.theta, drawn), strict=True):
        expected = log_joint(Conjugate(), z, pairs.x) - q.log_density(z[:, None])[:, 0]
        np.testing.assert_allclose(mine, expected)


def test_a_bridge_is_the_weighted_mean_of_both_log_densities(example):
    import torch

    pairs, q, _ = example
    y, mean, root = (torch.from_numpy(part) for part in (pairs.x, q.mean, np.array(q.scale)))
    posterior = WhitenedTarget(Conjugate(), y[:, None], root)
    z = torch.linspace(-2, 2, 5, dtype=torch.float64).repeat(K, 1)[..., None]
    value, slope = AnnealedTarget(posterior, mean[:, None], 0.3).at(z)
    joint = log_joint(Conjugate(), z.numpy(), pairs.x[:, None])
    expected = 0.3 * joint + 0.7 * norm.logpdf(z.numpy()[..., 0], q.mean, q.scale[:, 0])
    away = value.numpy() - expected  # a function of y alone
    np.testing.assert_allclose(away, np.repeat(away[:, :1], 5, 1), atol=1e-9)
    h = 1e-5
    up, down = (
        AnnealedTarget(posterior, mean[:, None], 0.3).at(z + sign * h * root)[0]
        for sign in (1, -1)
    )
    numeric = ((up - down) / (2 * h)).numpy()
    np.testing.assert_allclose(slope.numpy()[..., 0], numeric, atol=1e-6)


@pytest.mark.parametrize("states", [1, 2, 8, 32])
def test_the_means_lie_on_both_sides_of_the_evidence(example, states):
    """log p(y) of x ~ N(0, 2), known here; both bounds within five standard errors."""
    pairs, *_ = example
    evidence = norm.logpdf(pairs.x[:, 0], 0, np.sqrt(2))
    found = weights(example, states)
    above, below = found.truth - evidence, found.draws - evidence
    error = 5 / np.sqrt(K)
    assert above.mean() > -error * above.std()
    assert below.mean() < error * below.std()


def test_weights_forward_are_unbiased_for_the_evidence(example):
    """E exp(W) = p(y), whatever the number of states: Neal (1998)."""
    pairs, *_ = example
    evidence = norm.logpdf(pairs.x[:, 0], 0, np.sqrt(2))
    for states in (1, 4, 16):
        ratio = np.exp(weights(example, states).draws - evidence)
        assert abs(ratio.mean() - 1) < 5 * ratio.std() / np.sqrt(K)


def test_the_divergence_falls_as_states_are_added(example):
    d = {t: np.subtract(*weights(example, t)) for t in (1, 4, 64)}
    assert abs(d[1].mean() - 0.25875) < 5 * d[1].std() / np.sqrt(K)
    assert d[64].mean() < d[4].mean() < d[1].mean()
    assert abs(d[64].mean()) < 0.02


def test_an_exact_q_has_the_evidence_at_every_state():
    rng = np.random.default_rng(1)
    pairs = Conjugate().simulate(K, rng)
    q = off(pairs.x, 0.0, 0.5)
    starts = pairs.theta, q.mean + q.scale[:, 0] * rng.standard_normal((K, 1))
    found = annealed_weights(Conjugate(), q, pairs.x, starts, 8, (rngs("a"), rngs("b")))
    evidence = norm.logpdf(pairs.x[:, 0], 0, np.sqrt(2))
    np.testing.assert_allclose(found.truth, evidence, atol=1e-9)
    np.testing.assert_allclose(found.draws, evidence, atol=1e-9)


def test_data_sets_without_q_have_no_weight(example):
    pairs, q, drawn = example
    scale = np.array(q.scale)
    scale[3] = np.nan
    broken = type(q)(q.mean, scale)
    found = annealed_weights(
        Conjugate(), broken, pairs.x, (pairs.theta, drawn), 4, (rngs("truth"), rngs("draws"))
    )
    for mine, whole in zip(found, weights(example, 4), strict=True):
        assert np.isnan(mine[3])
        there = np.arange(K) != 3
        np.testing.assert_allclose(mine[there], whole[there])


@pytest.fixture(scope="module")
def of_hearts(tmp_path_factory):
    from validation_core.store import Store

    store = Store(tmp_path_factory.mktemp("bounds"))
    run = InferenceRun(
        model=MODELS["heart_transplants"](), inference=Laplace(), iterations=300, datasets=20
    )
    study = BoundsStudy(of=run)
    study.run(store, lambda fraction, live: None)
    return run.load(store), study.load(store)


def test_the_bounds_of_a_run_begin_with_its_own_terms(of_hearts):
    run, annealed = of_hearts
    assert annealed.truth.shape == (len(STATES), 20)
    np.testing.assert_allclose(annealed.truth[0], run.weights.truth[:, 0])
    np.testing.assert_allclose(annealed.draws[0], run.weights.draws[:, 0])


def test_bounds_surround_the_evidence_of_heart_transplants(of_hearts):
    """log p(y) = log p(z, y) - log p(z | y) at any z, from the closed-form posterior."""
    run, annealed = of_hearts
    model = MODELS["heart_transplants"]()
    z = run.theta[:, None]
    evidence = (log_joint(model, z, run.x[:, None]) - model.exact(run.x).log_density(z))[:, 0]
    weighed, chains = bounds(run, annealed)
    for each in (weighed, chains):
        error = 5 / np.sqrt(len(evidence))
        above, below = each.upper - evidence, each.lower - evidence
        assert (above.mean(-1) > -error * above.std(-1)).all()
        assert (below.mean(-1) < error * below.std(-1)).all()
        np.testing.assert_allclose(each.gap.estimate, (each.upper - each.lower).mean(-1))
    assert abs(chains.gap.estimate[-1]) < abs(chains.gap.estimate[0])
