"""Chains that start at the truth: exact draws of the posterior, and how many they are worth."""

import numpy as np
import pytest
import torch
from scipy.stats import beta, gamma, kstest, logistic

from tests.conjugate import Quadratic
from tests.effective_size import estimate_effective_sample_size
from validation_core.bayes import MODELS, hmc
from validation_core.bayes.mode import find_mode
from validation_core.bayes.model import log_joint_gradient, log_joint_hessian
from validation_core.rng import stream

MANY = 400
LEVEL = 1e-3


def _rngs(k):
    return [stream(0, "chains", i) for i in range(k)]


def worth(draws, chains=16):
    """Effective sample size of the mean of draws (K, n, D), n a multiple of the chains."""
    k, n, d = draws.z.shape
    return estimate_effective_sample_size(draws.z.reshape(k, chains, n // chains, d))


def _simulated(name, k):
    model = MODELS[name]()
    return model, model.simulate(k, np.random.default_rng(0))


def test_draws_of_concrete_have_the_moments_of_its_posterior():
    model, pairs = _simulated("concrete", 40)
    draws = hmc.draws(model, pairs.x, pairs.theta, 400, _rngs(40))
    assert draws.z.shape == (40, 400, 9)
    exact = model.exact(pairs.x)
    sd = np.sqrt(np.square(exact.scale).sum(-1))
    off = (draws.z.mean(1) - exact.mean) / sd * np.sqrt(worth(draws))
    assert 0.8 < np.sqrt(np.square(off).mean()) < 1.25
    assert (draws.z.var(1) / sd**2).mean() == pytest.approx(1, abs=0.05)
    white = np.linalg.solve(exact.scale, np.swapaxes(draws.z - exact.mean[:, None], 1, 2))
    assert np.abs((white @ np.swapaxes(white, 1, 2) / 400).mean(0) - np.eye(9)).max() < 0.06


def test_draws_of_hearts_follow_its_posterior():
    """One state of each of many data sets is an independent draw, through the posterior's own
    distribution function uniform.
    """
    model, pairs = _simulated("heart_transplants", MANY)
    draws = hmc.draws(model, pairs.x, pairs.theta, 8, _rngs(MANY), chains=4)
    exact = model.exact(pairs.x)
    z = draws.z[:, -1]
    p = beta.cdf(1 / (1 + np.exp(-z[:, 0])), exact.a, exact.b)
    theta = gamma.cdf(np.exp(z[:, 1]) * exact.rate, 8 + 1 / 3)
    for u in (p, theta, 2 * np.abs(p - 0.5), 2 * np.abs(theta - 0.5)):
        assert kstest(u, "uniform").pvalue > LEVEL
    assert (z != pairs.theta).all(1).mean() > 0.99
    # They have left the truth: its place among posteriors says nothing of theirs.
    true = beta.cdf(1 / (1 + np.exp(-pairs.theta[:, 0])), exact.a, exact.b)
    assert abs(np.corrcoef(true, p)[0, 1]) < 4 / np.sqrt(MANY)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["hospitals", "glm_binomial"])
def test_pooled_over_simulated_data_sets_they_follow_the_prior(name):
    """The mean of p(z | y) over p(y) is p(z): whatever bias a chain had would show."""
    model, pairs = _simulated(name, MANY)
    draws = hmc.draws(model, pairs.x, pairs.theta, 4, _rngs(MANY), chains=4)
    z = draws.z[:, -1]
    for u in logistic.cdf(z[:, :2]).T if name == "hospitals" else ():
        assert kstest(u, "uniform").pvalue > LEVEL
    if name == "glm_binomial":
        for item in z.T / 10:
            assert kstest(item, "norm").pvalue > LEVEL
    assert (np.abs(z - pairs.theta).max(1) > 1e-6).mean() > 0.99


@pytest.mark.parametrize("name", list(MODELS))
def test_chains_mix_on_every_model(name):
    model, pairs = _simulated(name, 4)
    draws = hmc.draws(model, pairs.x, pairs.theta, 800, _rngs(4))
    assert ((draws.acceptance > 0.6) & (draws.acceptance < 0.98)).all()
    assert worth(draws).min() > 40
    assert np.isfinite(draws.z).all()
    halves = draws.z[:, :400], draws.z[:, 400:]
    sd = draws.z.std(1)
    gap = np.abs(halves[0].mean(1) - halves[1].mean(1)) / sd
    assert (gap < 5 * np.sqrt(4 / worth(draws))).all()


def test_the_tuning_does_not_know_the_truth(monkeypatch):
    """Else the states were no exact draws: the chain's law would depend on where it starts."""
    steps = []

    class Seen(hmc.HMCChains):
        def __init__(self, target, z, rngs, step):
            super().__init__(target, z, rngs, step)
            steps.append(step)

    monkeypatch.setattr(hmc, "HMCChains", Seen)
    model, pairs = _simulated("hospitals", 3)
    draws = [
        hmc.draws(model, pairs.x, start, 5, _rngs(3)) for start in (pairs.theta, pairs.theta + 1.5)
    ]
    half = len(steps) // 2
    np.testing.assert_array_equal(steps[:half], steps[half:])
    assert (draws[0].z != draws[1].z).any()


@pytest.mark.parametrize("name", list(MODELS))
def test_the_pilot_starts_at_the_mode(name):
    model, pairs = _simulated(name, 5)
    z, root = find_mode(model, pairs.x, _rngs(5))
    y = torch.from_numpy(pairs.x)
    slope = log_joint_gradient(model, z, y)
    assert torch.einsum("kij,ki->kj", root, slope).abs().max() < 1e-3
    curvature = -log_joint_hessian(model, z, y)
    white = root.mT @ curvature @ root
    np.testing.assert_allclose(white.numpy(), np.tile(np.eye(len(z[0])), (5, 1, 1)), atol=1e-6)
    alone, _ = find_mode(model, pairs.x[3:4], _rngs(5)[3:4])
    np.testing.assert_allclose(alone[0], z[3], rtol=1e-9, atol=1e-9)


def test_a_poor_scale_is_mended_by_the_pilot(monkeypatch):
    model, pairs = _simulated("ionosphere", 2)
    wide = 3 * torch.eye(model.dims[0], dtype=torch.float64).repeat(2, 1, 1)
    monkeypatch.setattr(hmc, "find_mode", lambda *given: (find_mode(*given)[0], wide))
    draws = hmc.draws(model, pairs.x, pairs.theta, 304, _rngs(2))
    assert worth(draws).min() > 50
    assert (draws.acceptance > 0.6).all()


def test_trajectories_run_back_to_where_they_came_from():
    model, y = Quadratic(), torch.tensor([[0.3, -1.0], [2.0, 0.0]], dtype=torch.float64)
    root = torch.tensor([[0.8, 0.3], [-0.1, 1.1]], dtype=torch.float64).repeat(2, 1, 1)
    target = hmc.WhitenedTarget(model, y[:, None], root)
    rng = np.random.default_rng(0)
    z, p = (torch.from_numpy(rng.standard_normal((2, 3, 2))) for _ in range(2))
    steps = np.array([7, 3])
    chain = hmc.HMCChains(target, z, _rngs(2), np.array([0.2, 0.4]))
    before = chain.value - 0.5 * p.square().sum(-1)
    there = chain.trajectory(p, steps)
    assert (there[0] - z).abs().min() > 1e-3
    chain.step = chain.step / 4
    lost = [
        (value - 0.5 * q.square().sum(-1) - before).abs().max()
        for _, value, _, q in (there, chain.trajectory(p, 4 * steps))
    ]
    assert lost[1] < lost[0] / 8 < 0.1  # the leapfrog is of second order
    back = hmc.HMCChains(target, there[0], _rngs(2), np.array([0.2, 0.4]))
    z_back, _, _, p_back = back.trajectory(-there[3], steps)
    np.testing.assert_allclose(z_back.numpy(), z.numpy(), atol=1e-12)
    np.testing.assert_allclose(p_back.numpy(), -p.numpy(), atol=1e-12)


def test_refusals():
    model, pairs = _simulated("heart_transplants", 2)
    with pytest.raises(ValueError, match="got n = 0"):
        hmc.draws(model, pairs.x, pairs.theta, 0, _rngs(2))
    start = np.array([[np.nan, 0.0], [0.0, 0.0]])
    with pytest.raises(ValueError, match="1 of 2 starts"):
        hmc.draws(model, pairs.x, start, 3, _rngs(2))


def _autoregressive(phi, shape, rng):
    noise = rng.standard_normal(shape)
    values = np.empty(shape)
    values[..., 0, :] = noise[..., 0, :]
    for i in range(1, shape[-2]):
        values[..., i, :] = phi * values[..., i - 1, :]
        values[..., i, :] += np.sqrt(1 - phi**2) * noise[..., i, :]
    return values


@pytest.mark.parametrize("phi", [-0.5, 0.0, 0.5, 0.9])
def test_effective_draws_of_an_autoregression(phi):
    chains = _autoregressive(phi, (3, 8, 500, 2), np.random.default_rng(0))
    wanted = 8 * 500 * (1 - phi) / (1 + phi)
    np.testing.assert_allclose(estimate_effective_sample_size(chains), wanted, rtol=0.3)
    assert estimate_effective_sample_size(chains).mean() == pytest.approx(wanted, rel=0.15)


def test_chains_that_disagree_are_worth_little():
    rng = np.random.default_rng(0)
    chains = rng.standard_normal((4, 200, 1)) + 5 * np.arange(4.0)[:, None, None]
    assert estimate_effective_sample_size(chains) < 10


def test_states_that_do_not_move_are_worth_nothing_known():
    assert np.isnan(estimate_effective_sample_size(np.ones((2, 50, 3)))).all()
    assert np.isnan(estimate_effective_sample_size(np.zeros((2, 3, 3)))).all()
