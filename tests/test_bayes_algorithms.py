"""Terms of the divergence on simulated data, against closed forms and what the paper misprints."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm

from tests.conjugate import Conjugate, gaussian_skl, off
from validation_core.bayes import HeartTransplants, importance_weights
from validation_core.bayes.importance_weights import sampled_log_weights
from validation_core.bayes.posterior import FullGaussian
from validation_core.statistics.divergence_rows import importance_weighted
from validation_core.types import Joint

N, MS = 40_000, (1, 2, 5, 10, 20)


@pytest.fixture(scope="module")
def simulated():
    """The conjugate model with q = N(x / 2 + .3, .8): pairs and their weights."""
    rng = np.random.default_rng(0)
    pairs = Conjugate().simulate(N, rng)
    return pairs, sampled_log_weights(
        Conjugate(), off(pairs.x, 0.3, 0.8), pairs, max(MS), [rng] * N
    )


def _within(d, exact, errors=4):
    assert abs(d.mean() - exact) < errors * d.std(ddof=1) / np.sqrt(len(d))


def test_the_estimate_is_the_divergence(simulated, reference):
    _, result = simulated
    exact = reference("domke-conjugate-normal")[0]["outputs"]["exact_skl"]
    assert exact == pytest.approx(0.25875)
    _within(result.truth[:, 0] - result.draws[:, 0], exact)


def test_importance_weighting_is_exact_and_falls_with_m(simulated, reference):
    _, result = simulated
    exact = reference("domke-conjugate-normal")[0]["outputs"]["exact_importance_weighted"]
    d = importance_weighted(result.truth, result.draws, MS)
    for item, m in zip(d, MS, strict=True):
        _within(item, exact[str(m)])
    falls = d[:-1] - d[1:]
    assert (falls.mean(1) > 4 * falls.std(1) / np.sqrt(N)).all()


def test_the_truth_is_one_of_the_first_m(simulated):
    """z_2 .. z_M follow q, not z_1 .. z_M (the supplement's product from m = 1): with M draws
    beside the truth an exact q would have d = log (M + 1) / M, not 0.
    """
    pairs, result = simulated
    own = norm.logpdf(pairs.theta) + norm.logpdf(pairs.x, pairs.theta)
    own -= norm.logpdf(pairs.theta, pairs.x / 2 + 0.3, np.sqrt(0.8))
    np.testing.assert_allclose(result.truth[:, 0], own[:, 0], atol=1e-12)
    assert result.truth.shape == result.draws.shape == (N, max(MS))

    model, rng = HeartTransplants(), np.random.default_rng(0)
    pairs = model.simulate(50, rng)
    result = sampled_log_weights(model, model.exact(pairs.x), pairs, 20, [rng] * 50)
    d = importance_weighted(result.truth, result.draws, MS)
    np.testing.assert_allclose(d, 0, atol=1e-8)
    printed = np.logaddexp(result.truth[:, 0], result.draws[:, 0]) - result.draws[:, 1]
    np.testing.assert_allclose(printed, np.log(2), atol=1e-8)


def test_weights_need_the_data(simulated):
    """Claim 4 prints p / q(z_m), where p(z_m, x) / q(z_m | x) is meant."""
    pairs, result = simulated
    q = off(pairs.x, 0.3, 0.8)
    sketch = result.drawn[:, None]
    sides = pairs.theta[:, None], sketch
    without = [norm.logpdf(z[..., 0]) - q.log_density(z) for z in sides]
    printed = (without[0] - without[1])[:, 0]
    assert abs(printed.mean() - 0.25875) > 20 * printed.std() / np.sqrt(N)
    with_data = [
        item + norm.logpdf(pairs.x, z[..., 0]) for item, z in zip(without, sides, strict=True)
    ]
    _within((with_data[0] - with_data[1])[:, 0], 0.25875)


def test_the_mean_is_of_weights_not_of_their_logarithms(simulated):
    """Eq. 3 prints log (1 / M) sum log p / q: the inner log leaves a logarithm of what is mostly
    negative.
    """
    _, result = simulated
    printed = result.draws[:, :5].mean(1)
    assert (printed < 0).mean() > 0.9
    inside = [np.log(np.exp(side[:, :5]).mean(1)) for side in (result.truth, result.draws)]
    d = importance_weighted(result.truth, result.draws, (5,))[0]
    np.testing.assert_allclose(d, inside[0] - inside[1], atol=1e-12)


def test_the_bound_is_below_the_evidence(simulated):
    """ELBO = E_q log p(z, x) / q(z | x) = log p(x) - KL; the paper prints it upside down."""
    pairs, result = simulated
    evidence = norm.logpdf(pairs.x[:, 0], scale=np.sqrt(2))
    divergence = 0.5 * (0.8 / 0.5 - 1 - np.log(0.8 / 0.5) + 0.3**2 / 0.5)
    _within(result.draws[:, 0] - evidence, -divergence)


@pytest.mark.parametrize("missing", ["constant", "jacobian"])
def test_what_may_be_missing_from_q(simulated, missing):
    """What depends on x alone cancels; what depends on z, such as a Jacobian, does not."""

    class Lacking(FullGaussian):
        def log_density(self, z):
            lost = 3 * pairs.x if missing == "constant" else z[..., 0]
            return super().log_density(z) + lost

    pairs, _ = simulated
    q = off(pairs.x, 0.3, 0.8)
    rng = np.random.default_rng(0)
    got = sampled_log_weights(Conjugate(), Lacking(q.mean, q.scale), pairs, 5, [rng] * N)
    whole = sampled_log_weights(Conjugate(), q, pairs, 5, [np.random.default_rng(0)] * N)
    d, wanted = (importance_weighted(w.truth, w.draws, (1, 5)) for w in (got, whole))
    if missing == "constant":
        np.testing.assert_allclose(d, wanted, atol=1e-10)
    else:
        apart = d - wanted
        assert (np.abs(apart.mean(1)) > 5 * apart.std(1) / np.sqrt(N)).all()


def test_data_sets_without_q_have_no_weights():
    model, rng = HeartTransplants(), np.random.default_rng(0)
    pairs = model.simulate(4, rng)
    mean, scale = np.zeros((4, 2)), np.tile(np.eye(2), (4, 1, 1))
    mean[1, 0], scale[2, 1, 1] = np.nan, 0.0
    q = FullGaussian(mean, scale)
    assert q.ok.tolist() == [True, False, False, True]
    result = sampled_log_weights(model, q, pairs, 3, [rng] * 4)
    for side in (result.truth, result.draws):
        assert (np.isfinite(side).all(1) == q.ok).all()
        assert (np.isnan(side).all(1) == ~q.ok).all()


def test_a_few_data_sets_at_a_time_weigh_the_same(monkeypatch):
    model = HeartTransplants()
    pairs = model.simulate(7, np.random.default_rng(0))
    q = FullGaussian(np.zeros((7, 2)), np.tile(np.eye(2), (7, 1, 1)))
    whole = sampled_log_weights(model, q, pairs, 4, [np.random.default_rng(k) for k in range(7)])
    monkeypatch.setattr(importance_weights, "MODEL_NUMBERS_AT_A_TIME", 3 * 8 * 9)
    parts = sampled_log_weights(model, q, pairs, 4, [np.random.default_rng(k) for k in range(7)])
    alone = sampled_log_weights(
        model, FullGaussian(q.mean[4:5], q.scale[4:5]), Joint(pairs.theta[4:5], pairs.x[4:5]), 4,
        [np.random.default_rng(4)],
    )  # fmt: skip
    for item, other, single in zip(whole, parts, alone, strict=True):
        np.testing.assert_allclose(item, other, rtol=1e-12)
        np.testing.assert_allclose(item[4:5], single, rtol=1e-12)


def test_the_normal_has_the_density_that_it_draws_from():
    rng = np.random.default_rng(0)
    scale = np.tril(rng.standard_normal((3, 4, 4)))
    scale[:, 0, 0] *= -1  # either sign will do
    q = FullGaussian(rng.standard_normal((3, 4)), scale)
    z = q.sample(5, [rng] * 3)
    for k in range(3):
        wanted = multivariate_normal(q.mean[k], scale[k] @ scale[k].T).logpdf(z[k])
        np.testing.assert_allclose(q.log_density(z)[k], wanted, rtol=1e-9)
    many = q.sample(40_000, [rng] * 3)
    cov = scale[0] @ scale[0].T
    np.testing.assert_allclose(np.cov(many[0].T), cov, atol=0.06 * np.abs(cov).max())


def test_the_divergence_of_two_normals():
    rng = np.random.default_rng(0)
    first, two = (
        FullGaussian(rng.standard_normal((3, 4)), np.tril(rng.standard_normal((3, 4, 4))))
        for _ in range(2)
    )

    def kl(p, q, k):
        a, b = (s.scale[k] @ s.scale[k].T for s in (p, q))
        gap = q.mean[k] - p.mean[k]
        sizes = np.linalg.slogdet(b)[1] - np.linalg.slogdet(a)[1]
        inner = np.trace(np.linalg.solve(b, a)) + gap @ np.linalg.solve(b, gap)
        return 0.5 * (inner - 4 + sizes)

    wanted = [kl(first, two, k) + kl(two, first, k) for k in range(3)]
    np.testing.assert_allclose(gaussian_skl(first, two), wanted, rtol=1e-7)
    np.testing.assert_allclose(gaussian_skl(two, first), wanted, rtol=1e-7)
    turned = FullGaussian(first.mean, first.scale * [1.0, -1, 1, -1])
    np.testing.assert_allclose(gaussian_skl(first, turned), 0, atol=1e-18)
    x = np.zeros((1, 1))
    assert gaussian_skl(off(x, 0, 0.5), off(x, 0.3, 0.8)) == pytest.approx(0.25875)
    broken = FullGaussian(np.array([[np.nan]]), np.ones((1, 1, 1)))
    assert np.isnan(gaussian_skl(broken, off(x, 0, 1)))
