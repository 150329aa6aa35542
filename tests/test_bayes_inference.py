"""Laplace, variational and exact posteriors: closed forms, gradients, and one data set as many."""

import numpy as np
import pytest
import torch
from scipy.special import logsumexp
from scipy.stats import norm

from tests.conjugate import Conjugate, Quadratic, gaussian_skl
from validation_core.bayes import MODELS, HeartTransplants, variational
from validation_core.bayes.algorithms import ALGORITHMS, with_options
from validation_core.bayes.importance_weights import sampled_log_weights
from validation_core.bayes.inference import ExactPosterior
from validation_core.bayes.laplace import Laplace
from validation_core.bayes.model import log_joint, log_joint_gradient, log_joint_hessian
from validation_core.bayes.posterior import FullGaussian
from validation_core.bayes.variational import Variational, trained_with
from validation_core.learn.adam import Adam
from validation_core.rng import stream

CONCRETE, HEART, HOSPITALS = (MODELS[n]() for n in ("concrete", "heart_transplants", "hospitals"))


def _rngs(k):
    return [stream(0, "inference", i) for i in range(k)]


def _tensor(array):
    return torch.from_numpy(np.ascontiguousarray(array))


def _at(model, z, y, **options):
    """Laplace's q where a climb ended at z."""
    at, data = _tensor(z), _tensor(y)
    slope, curvature = log_joint_gradient(model, at, data), log_joint_hessian(model, at, data)
    return Laplace(**options).normal(at, slope, curvature)


def test_the_registry():
    assert list(ALGORITHMS) == [
        "laplace", "adjusted_laplace", "vi", "iwvi", "renyi", "chi", "exact",
    ]  # fmt: skip
    assert all(item.name == name for name, item in ALGORITHMS.items())
    assert ALGORITHMS["iwvi"] == Variational(m=10, samples=50, estimator="dreg")
    assert ALGORITHMS["vi"] == Variational(m=1, samples=10, estimator="dreg")
    several = [*ALGORITHMS.values(), Laplace(clip=True), Laplace(adjusted=True, clip=True),
               Variational(m=5), Variational(estimator="plain")]  # fmt: skip
    assert len({item.label for item in several}) == len(several)
    assert Laplace(clip=True).name == "laplace_clipped"
    assert "clipped" in Laplace(clip=True).label


def test_the_adjusted_mean_is_one_newton_step():
    """The paper prints its mean as H^-1 g."""
    model, mode, at = Quadratic(), np.array([[1.0, -2.0]]), np.array([[0.3, 0.4]])
    np.testing.assert_allclose(_at(model, at, mode, adjusted=True).mean, mode, atol=1e-14)
    slope = log_joint_gradient(model, _tensor(at), _tensor(mode)).numpy()
    printed = np.linalg.solve(-model.curvature, slope[0])
    np.testing.assert_allclose(printed, [-0.7, 2.4])
    np.testing.assert_allclose(at[0] - printed, mode[0])
    np.testing.assert_array_equal(_at(model, at, mode).mean, at)
    np.testing.assert_allclose(_at(model, at, mode).scale, model.exact(mode).scale, atol=1e-15)


@pytest.mark.parametrize("iterations", [0, 1, 10, 300])
def test_adjusted_laplace_is_exact_for_a_normal_posterior(iterations):
    k, rng = 20, np.random.default_rng(0)
    pairs = CONCRETE.simulate(k, rng)
    q = ALGORITHMS["adjusted_laplace"].fit(CONCRETE, pairs.x, iterations, _rngs(k))
    assert gaussian_skl(q, CONCRETE.exact(pairs.x)).max() < 1e-16
    result = sampled_log_weights(CONCRETE, q, pairs, 5, _rngs(k))
    size = np.abs(log_joint(CONCRETE, pairs.theta, pairs.x)).max()
    assert np.abs(result.truth[:, 0] - result.draws[:, 0]).max() < 1e-8 * size
    fit = ALGORITHMS["laplace"].fit(CONCRETE, pairs.x, iterations, _rngs(k))
    assert gaussian_skl(fit, CONCRETE.exact(pairs.x)).min() > 1


def test_laplace_climbs_with_one_adam_at_two_rates():
    """Its moments live on where the rate changes."""
    pairs = HEART.simulate(5, np.random.default_rng(0))
    data, z = _tensor(pairs.x), torch.zeros((5, 2), dtype=torch.float64)
    theirs = torch.optim.Adam([z], lr=0.01)
    for step in range(41):
        theirs.param_groups[0]["lr"] = 0.01 if step < 20 else 0.001
        z.grad = -log_joint_gradient(HEART, z, data)
        theirs.step()
    mine = Laplace().fit(HEART, pairs.x, 41, [])
    np.testing.assert_allclose(mine.mean, z.numpy(), rtol=1e-12)


def test_adam_goes_on_at_other_rates():
    with pytest.raises(ValueError, match="got 2 for 1"):
        Adam([([torch.zeros(1)], 0.1)]).set_lr(0.1, 0.2)


def _modes(y):
    return np.stack([np.log((y[:, 0] + 1) / (11 - y[:, 0])),
                     np.log((1 / 3 + 8) / (1 / 3 + y[:, 1:].sum(1)))], 1)  # fmt: skip


def _blocks(y):
    """Divergence of the converged approximation along each coordinate (K, 2), by quadrature."""
    q, exact = _at(HEART, _modes(y), y), HEART.exact(y)
    centre, sd = q.mean, np.sqrt(np.square(q.scale).sum(-1))
    t = np.linspace(-40, 40, 8001)
    values = np.empty_like(centre)
    for i in range(2):
        z = np.repeat(centre[:, None], len(t), 1)
        z[..., i] += t * sd[:, i, None]
        p, width = exact.log_density(z), sd[:, i, None] * (t[1] - t[0])
        p -= logsumexp(p, axis=1, keepdims=True) + np.log(width)
        own = -0.5 * t**2 - np.log(sd[:, i, None] * np.sqrt(2 * np.pi))
        values[:, i] = ((np.exp(p) - np.exp(own)) * (p - own) * width).sum(1)
    return values


def test_converged_laplace_on_hearts_has_the_divergence_of_the_closed_form(reference):
    wanted = reference("domke-heart")[0]["outputs"]
    years = np.exp(np.linspace(-4, 4, 11))[:, None] * np.ones(8)
    blocks = _blocks(np.concatenate([np.arange(11.0)[:, None], years], 1))
    np.testing.assert_allclose(blocks[:, 0], wanted["p_block_by_y"], rtol=1e-6)
    np.testing.assert_allclose(blocks[:, 1], wanted["theta_block"], rtol=1e-6)
    assert blocks.sum(1).mean() == pytest.approx(wanted["total_mean"], rel=1e-6)
    assert wanted["total_mean"] == pytest.approx(0.166, abs=5e-4)


def test_the_estimate_finds_it(reference):
    wanted, k, rng = reference("domke-heart")[0]["outputs"], 40_000, np.random.default_rng(0)
    pairs = HEART.simulate(k, rng)
    for adjusted in (False, True):
        q = _at(HEART, _modes(pairs.x), pairs.x, adjusted=adjusted)
        result = sampled_log_weights(HEART, q, pairs, 1, [rng] * k)
        d = (result.truth - result.draws)[:, 0]
        assert abs(d.mean() - wanted["total_mean"]) < 4 * d.std() / np.sqrt(k)


def test_many_iterations_converge_and_few_are_told_as_they_are():
    """From 0, Adam gets as far as its rates let it: a tiny theta is out of reach, and its d are
    as large as they come.
    """
    rng, years = np.random.default_rng(0), np.exp([0.0, 25.0])
    y = np.concatenate([[[7.0], [7.0]], years[:, None] * rng.standard_exponential((2, 8))], 1)
    q = Laplace().fit(HEART, y, 3000, [])
    assert q.ok.all()
    assert gaussian_skl(q, _at(HEART, _modes(y), y))[0] < 1e-4
    draws = q.sample(1, [rng] * 2)
    d = log_joint(HEART, _modes(y), y) - log_joint(HEART, draws[:, 0], y)
    assert np.isfinite(d).all()
    assert d[1] > 1e4 > 10 > d[0]


def test_a_hessian_that_is_not_definite_is_a_failure():
    k = 20
    pairs = HOSPITALS.simulate(k, np.random.default_rng(0))
    q = Laplace().fit(HOSPITALS, pairs.x, 10, [])
    assert not q.ok.any()
    assert np.isnan(q.mean).all()
    assert np.isnan(sampled_log_weights(HOSPITALS, q, pairs, 2, _rngs(k)).truth).all()
    assert Laplace().fit(HOSPITALS, pairs.x, 300, []).ok.all()

    clipped = Laplace(clip=True).fit(HOSPITALS, pairs.x, 10, [])
    assert clipped.ok.all()
    z = _tensor(clipped.mean)
    values, vectors = np.linalg.eigh(-log_joint_hessian(HOSPITALS, z, _tensor(pairs.x)).numpy())
    assert (values.min(1) < 0).all()
    raised = vectors / np.maximum(values, 1e-6)[:, None] @ np.swapaxes(vectors, 1, 2)
    covariance = clipped.scale @ np.swapaxes(clipped.scale, 1, 2)
    np.testing.assert_allclose(covariance, raised, rtol=1e-6, atol=1e-3)
    assert (np.triu(clipped.scale, 1) == 0).all()


def test_failures_are_of_their_own_data_sets_alone():
    curvature = -np.array([np.eye(2), [[1.0, 2], [2, 1]], np.full((2, 2), np.nan), 4 * np.eye(2)])
    zero = torch.zeros((4, 2), dtype=torch.float64)
    q = Laplace(adjusted=True).normal(zero, zero + 1, _tensor(curvature))
    assert q.ok.tolist() == [True, False, False, True]
    np.testing.assert_allclose(q.mean[[0, 3]], [[1, 1], [0.25, 0.25]])
    assert np.isnan(q.mean[[1, 2]]).all()
    clipped = Laplace(clip=True).normal(zero, zero, _tensor(curvature))
    assert clipped.ok.tolist() == [True, True, False, True]


def test_a_definite_hessian_is_left_as_it_is_by_clipping():
    pairs = HEART.simulate(10, np.random.default_rng(0))
    first, two = (Laplace(clip=clip).fit(HEART, pairs.x, 300, []) for clip in (False, True))
    assert gaussian_skl(first, two).max() < 1e-20


def _state(k, d, seed=0):
    rng = np.random.default_rng(seed)
    mean = rng.standard_normal((k, d))
    scale = np.tril(rng.standard_normal((k, d, d)))
    return _tensor(mean), _tensor(scale)


def _bound(model, mean, scale, eps, y, m, held):
    """Log weights of groups, for autograd; q's own numbers held inside log q if asked."""
    z = mean[:, None] + eps @ scale.mT
    own, root = (mean.detach(), scale.detach()) if held else (mean, scale)
    white = torch.linalg.solve_triangular(root, (z - own[:, None]).mT, upper=False).mT
    log_q = -0.5 * white.square().sum(-1)
    log_q = log_q - root.diagonal(dim1=-2, dim2=-1).abs().log().sum(-1, keepdim=True)
    return (model.unnormalised_log_joint(z, y) - log_q).reshape(len(y), -1, m)


@pytest.mark.parametrize("estimator", ["dreg", "plain"])
@pytest.mark.parametrize(("m", "samples"), [(1, 6), (3, 6), (5, 4)])
def test_hand_written_gradients_are_those_of_autograd(estimator, m, samples):
    way = Variational(m=m, samples=samples, estimator=estimator)
    pairs = HOSPITALS.simulate(4, np.random.default_rng(0))
    y, (mean, scale) = _tensor(pairs.x)[:, None], _state(4, 14)
    groups = way.groups
    eps = _tensor(np.random.default_rng(1).standard_normal((4, groups * m, 14)))
    slopes = way.slopes(HOSPITALS, mean, scale, eps, y)
    mean, scale = mean.requires_grad_(), scale.requires_grad_()
    w = _bound(HOSPITALS, mean, scale, eps, y, m, held=estimator == "dreg")
    if estimator == "plain":
        goal = w.logsumexp(-1).mean(-1).sum()
    else:
        goal = (w.softmax(-1).detach().square() * w).sum(-1).mean(-1).sum()
    for mine, theirs in zip(slopes, torch.autograd.grad(goal, (mean, scale)), strict=True):
        wanted = theirs.tril() if theirs.ndim == 3 else theirs
        np.testing.assert_allclose(mine.numpy(), wanted.numpy(), rtol=1e-8, atol=1e-8)


def test_the_landing_sticks():
    """At the exact posterior the gradient is zero for every eps, whatever m; plain's is not."""
    pairs = CONCRETE.simulate(5, np.random.default_rng(0))
    q = CONCRETE.exact(pairs.x)
    mean, scale, y = _tensor(q.mean), _tensor(np.array(q.scale)), _tensor(pairs.x)[:, None]
    eps = _tensor(np.random.default_rng(1).standard_normal((5, 10, 9)))
    for m in (1, 5):
        way = Variational(m=m, samples=10)
        for slope in way.slopes(CONCRETE, mean, scale, eps, y):
            assert slope.abs().max() < 1e-8
        slopes = Variational(m=m, estimator="plain").slopes(CONCRETE, mean, scale, eps, y)
        assert min(slope.abs().max() for slope in slopes) > 1


def _dropped(model, mean, scale, eps, y, m):
    """Sticking the landing as it stands at m = 1: the score term dropped, shares not squared."""
    mean, scale = (t.clone().requires_grad_() for t in (mean, scale))
    goal = _bound(model, mean, scale, eps, y, m, held=True).logsumexp(-1).mean(-1).sum()
    return torch.autograd.grad(goal, (mean, scale))


def test_doubly_reparameterised_and_plain_agree_and_a_dropped_score_is_biased():
    m, k, rng = 5, 100, np.random.default_rng(0)
    y = torch.full((k, 1, 1), 1.3, dtype=torch.float64)
    mean = torch.full((k, 1), 0.2, dtype=torch.float64)
    scale = torch.full((k, 1, 1), 1.2, dtype=torch.float64)
    eps = _tensor(rng.standard_normal((k, m * 4000, 1)))
    result = {
        estimator: Variational(m=m, samples=m * 4000, estimator=estimator).slopes(
            Conjugate(), mean, scale, eps, y
        )
        for estimator in ("dreg", "plain")
    }
    result["dropped"] = _dropped(Conjugate(), mean, scale, eps, y, m)
    parts = {
        name: torch.cat([a.reshape(k, -1) for a in pair], 1).numpy()
        for name, pair in result.items()
    }

    def off(name):
        apart = parts[name] - parts["plain"]
        return np.abs(apart.mean(0)) / (apart.std(0) / np.sqrt(k))

    assert (off("dreg") < 4).all()
    assert (off("dropped") > 20).all()
    assert (parts["dreg"].var(0) < parts["plain"].var(0)).all()


@pytest.mark.parametrize("way", [Variational(), Variational(m=4, samples=4, estimator="plain")])
def test_data_sets_together_are_what_each_is_alone(way, monkeypatch):
    k, iterations = 6, 40
    pairs = HOSPITALS.simulate(k, np.random.default_rng(0))
    together = way.fit(HOSPITALS, pairs.x, iterations, _rngs(k))
    monkeypatch.setattr(variational, "NOISE_NUMBERS_AT_A_TIME", 7 * 10 * 14)
    for i, rng in enumerate(_rngs(k)):
        alone = way.fit(HOSPITALS, pairs.x[i : i + 1], iterations, [rng])
        for item, other in ((together.mean, alone.mean), (together.scale, alone.scale)):
            np.testing.assert_allclose(item[i], other[0], rtol=1e-12, atol=1e-12)
    assert np.abs(together.mean[0] - together.mean[1]).max() > 1e-3


def test_it_starts_at_a_standard_normal_and_halves_its_steps():
    y = np.full((2, 1), 50.0)
    start = Variational().fit(Conjugate(), y, 0, _rngs(2))
    np.testing.assert_array_equal(start.mean, 0)
    np.testing.assert_array_equal(start.scale, 1)
    # Far from the mode Adam moves by its rate: 51 steps of .001, then 51 of .0001.
    moved = Variational().fit(Conjugate(), y, 102, _rngs(2))
    np.testing.assert_allclose(moved.mean, 51 * 0.0011, rtol=1e-2)


@pytest.mark.parametrize("way", [Variational(), Variational(m=5)], ids=lambda w: w.name)
def test_it_converges_to_a_normal_posterior(way):
    y = np.array([[0.5, -0.3], [0.0, 1.0]])
    q = way.fit(Quadratic(), y, 6000, _rngs(2))
    assert gaussian_skl(q, Quadratic().exact(y)).max() < 1e-5


@pytest.mark.slow
def test_variational_inference_is_exact_on_concrete_where_it_has_converged():
    """20,000 iterations: rates of .001 and a posterior that is .03 wide take as many. The plain
    gradient, which does not vanish there, keeps the noise of its last steps.
    """
    k = 4
    pairs = CONCRETE.simulate(k, np.random.default_rng(0))
    exact = CONCRETE.exact(pairs.x)
    q = Variational().fit(CONCRETE, pairs.x, 20_000, _rngs(k))
    assert gaussian_skl(q, exact).max() < 1e-3
    fit = Variational(estimator="plain").fit(CONCRETE, pairs.x, 20_000, _rngs(k))
    assert gaussian_skl(fit, exact).min() > 5e-3


def test_evaluations_of_a_step():
    assert [Variational(m=m).groups for m in (1, 2, 3, 10, 20)] == [10, 5, 3, 1, 1]


def test_a_step_averages_over_several_groups_whatever_m():
    """One group of M >= 10 left q under-trained: 0.95 nats on concrete with M = 20."""
    assert [trained_with(m).groups for m in (1, 2, 5, 10, 20, 100)] == [10, 5, 2, 5, 5, 5]
    assert [trained_with(m).m for m in (1, 2, 5, 10, 20)] == [1, 2, 5, 10, 20]
    assert trained_with(2) == Variational(m=2)
    assert with_options("iwvi", m=20) == trained_with(20)
    assert with_options("iwvi", m=20, samples=20) == Variational(m=20, samples=20)
    assert with_options("vi") == Variational()


NATS_GRID = np.linspace(-12.0, 12.0, 20_001)


def _renyi_bound(alpha, mean, sd, y):
    """log E_q w^(1 - alpha) / (1 - alpha) of q = N(mean, sd^2) on `Conjugate`, by quadrature."""
    log_q = norm.logpdf(NATS_GRID, mean, sd)
    log_w = norm.logpdf(NATS_GRID) + norm.logpdf(y, NATS_GRID) - log_q
    inside = np.exp(log_q + (1 - alpha) * log_w)
    return np.log(np.trapezoid(inside, NATS_GRID)) / (1 - alpha)


@pytest.mark.parametrize("alpha", [0.5, 0.9, -0.5, -1.0])
def test_directions_of_renyi_are_gradients_of_its_bound(alpha):
    """Those of the bound over alpha, up to Monte Carlo: 40 data sets of one y, 20,000 draws."""
    k, y, mean, sd = 40, 1.3, 0.4, 0.8
    eps = _tensor(np.random.default_rng(0).standard_normal((k, 20_000, 1)))
    at = torch.full((k, 1), mean, dtype=torch.float64)
    scale = torch.full((k, 1, 1), sd, dtype=torch.float64)
    data = torch.full((k, 1, 1), y, dtype=torch.float64)
    found = Variational(alpha=alpha).slopes(Conjugate(), at, scale, eps, data)
    h = 1e-4
    exact = [
        (_renyi_bound(alpha, mean + h * i, sd + h * j, y)
         - _renyi_bound(alpha, mean - h * i, sd - h * j, y)) / (2 * h * alpha)
        for i, j in ((1, 0), (0, 1))
    ]  # fmt: skip
    for mine, theirs in zip(found, exact, strict=True):
        values = mine.numpy().ravel()
        assert abs(values.mean() - theirs) < 5 * values.std(ddof=1) / np.sqrt(k) + 1e-3


def test_a_renyi_bound_near_order_1_is_the_elbo():
    pairs = HOSPITALS.simulate(4, np.random.default_rng(0))
    y, (mean, scale) = _tensor(pairs.x)[:, None], _state(4, 14)
    eps = _tensor(np.random.default_rng(1).standard_normal((4, 10, 14)))
    one, near = (
        Variational(alpha=alpha).slopes(HOSPITALS, mean, scale, eps, y) for alpha in (1, 1 - 1e-12)
    )
    for mine, theirs in zip(one, near, strict=True):
        np.testing.assert_allclose(mine.numpy(), theirs.numpy(), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("name", ["renyi", "chi"])
def test_every_order_is_exact_on_a_normal_posterior(name):
    y = np.array([[0.5, -0.3], [0.0, 1.0]])
    q = ALGORITHMS[name].fit(Quadratic(), y, 6000, _rngs(2))
    assert gaussian_skl(q, Quadratic().exact(y)).max() < 1e-5


@pytest.mark.slow
def test_nearer_to_chi_a_q_covers_more_of_a_skewed_posterior():
    """Log theta of heart transplants has a heavier left tail: the sd of q grows as alpha falls."""
    y = np.tile([8.0, 2, 3, 4, 4, 6, 7, 10, 12], (3, 1))
    sds = [
        np.abs(ALGORITHMS[name].fit(HEART, y, 6000, _rngs(3)).scale[:, 1]).max(-1).mean()
        for name in ("vi", "renyi", "chi")
    ]
    assert sds == sorted(sds)


def test_progress_is_reported():
    calls = []
    y = np.zeros((1, 1))
    Variational().fit(Conjugate(), y, 250, _rngs(1), calls.append)
    assert calls == [0.0, 0.4, 0.8]


def test_refusals():
    with pytest.raises(ValueError, match="got m = 0"):
        Variational(m=0)
    with pytest.raises(ValueError, match="got 'stl'"):
        Variational(estimator="stl")
    with pytest.raises(ValueError, match="Hospitals has not"):
        ExactPosterior().fit(HOSPITALS, np.zeros((1, 12)), 0, [])


@pytest.mark.parametrize("model", [HEART, CONCRETE, Conjugate()], ids=lambda m: m.name)
def test_the_exact_posterior_has_no_divergence(model):
    k = 30
    pairs = model.simulate(k, np.random.default_rng(0))
    q = ExactPosterior().fit(model, pairs.x, 0, [])
    assert q.ok.all()
    result = sampled_log_weights(model, q, pairs, 4, _rngs(k))
    evidence = result.truth[:, :1]
    scale = 1e-9 * (1 + np.abs(log_joint(model, pairs.theta, pairs.x))[:, None])
    assert (np.abs(result.truth - evidence) < scale).all()
    assert (np.abs(result.draws - evidence) < scale).all()


def test_the_exact_posterior_of_hearts_is_the_one_of_the_book():
    q = HeartTransplants().exact(np.array([[8.0, 2, 3, 4, 4, 6, 7, 10, 12]]))
    z = q.sample(40_000, [np.random.default_rng(0)])[0]
    means, variances = q.moments()
    error = np.sqrt(variances[0] / len(z))
    assert (np.abs(z.mean(0) - means[0]) < 4 * error).all()
    assert np.exp(z[:, 1]).mean() == pytest.approx((8 + 1 / 3) / (48 + 1 / 3), rel=0.01)


def test_full_gaussian_is_what_all_others_give():
    pairs = HEART.simulate(3, np.random.default_rng(0))
    for name in ("laplace", "adjusted_laplace", "vi", "iwvi"):
        q = ALGORITHMS[name].fit(HEART, pairs.x, 20, _rngs(3))
        assert isinstance(q, FullGaussian)
        assert q.mean.shape == (3, 2)
        assert (np.triu(q.scale, 1) == 0).all()
