"""The augmented divergence bounds that of z from above, and is what its closed form says."""

import numpy as np
import pytest
from scipy.stats import norm

from tests.conjugate import Conjugate, off
from validation_core.bayes.importance_weights import sampled_log_weights
from validation_core.bayes.two_stage_normal import TwoStageNormal

OFF, STRETCH = np.array([0.0, 0.3, 1.0, -1.0, 0.0, 0.5]), np.array([1.0, 1, 1, 1, 2.5, 0.4])


def _within(d, exact, errors=4):
    assert abs(d.mean() - exact) < errors * d.std(ddof=1) / np.sqrt(len(d))


def test_the_divergence_of_z_is_that_of_the_marginal(reference):
    case, _, _ = reference("domke-conjugate-normal")
    assert TwoStageNormal(first=0.5, second=0.3).skl() == pytest.approx(
        case["outputs"]["exact_skl"]
    )
    assert TwoStageNormal(first=0.1, second=0.7).skl() == pytest.approx(
        case["outputs"]["exact_skl"]
    )
    assert TwoStageNormal(shift=0, first=0.2, second=0.3).skl() == pytest.approx(0, abs=1e-15)


def test_the_marginal_terms_are_those_of_the_normal_that_it_is():
    mixture, n = TwoStageNormal(), 20_000
    pairs = Conjugate().simulate(n, np.random.default_rng(0))
    rng = np.random.default_rng(1)
    known = sampled_log_weights(Conjugate(), off(pairs.x, 0.3, 0.8), pairs, 1, [rng] * n)
    _within((known.truth - known.draws)[:, 0], mixture.skl())
    _within(mixture.marginal(n, rng), mixture.skl())


@pytest.mark.parametrize(("away", "stretch"), list(zip(OFF, STRETCH, strict=True)))
def test_simulation_agrees_with_the_closed_form(away, stretch):
    mixture = TwoStageNormal(shift=-0.4, first=0.6, second=0.2)
    d = mixture.simulate(200_000, np.random.default_rng(0), away, stretch)
    _within(d, mixture.bound(away, stretch))


def test_the_bound_is_tight_at_q_s_own_law_and_above_elsewhere():
    mixture = TwoStageNormal()
    bound = mixture.bound(OFF, STRETCH)
    assert bound[0] == mixture.skl()
    assert (bound[1:] > mixture.skl() + 1e-3).all()
    between = 0.5 * ((STRETCH - 1) ** 2 + OFF**2 * (1 + STRETCH)) / STRETCH
    np.testing.assert_allclose(bound - mixture.skl(), between, atol=1e-15)
    assert mixture.bound(np.zeros((3, 1)), np.ones(4)).shape == (3, 4)


def test_at_q_s_own_law_h_cancels():
    """log p(z, x) r(h | z, x) / q(z, h | x) is then log p(z, x) / q(z | x), whatever h is."""
    mixture, rng = TwoStageNormal(), np.random.default_rng(0)
    z, h, x = 3 * rng.standard_normal((3, 50))
    own = norm.logpdf(z) + norm.logpdf(x, z) - norm.logpdf(z, x / 2 + 0.3, np.sqrt(0.8))
    np.testing.assert_allclose(mixture.log_weight(z, h, x), own, atol=1e-12)
    assert np.ptp(mixture.log_weight(z, h, x, stretch=2) - own) > 1


def test_h_that_forgets_z_estimates_something_else():
    """Corollary 3 prints h ~ p(h | x); Algorithm 3 has h ~ p(h | z, x)."""
    mixture, rng, n, stretch = TwoStageNormal(), np.random.default_rng(0), 100_000, 2.5
    z = rng.standard_normal(n)
    x = z + rng.standard_normal(n)
    other = x / 2 + np.sqrt(0.5) * rng.standard_normal(n)  # another z of the posterior at x
    own = 0.375 * (x / 2 + 0.3), 0.5 * 0.3 / 0.8  # its mean without z's share, its variance
    noise = np.sqrt(stretch * own[1]) * rng.standard_normal(n)
    h, printed = own[0] + 0.625 * z + noise, own[0] + 0.625 * other + noise
    first = [mixture.log_weight(z, at, x, 0.0, stretch) for at in (h, printed)]
    h_q = x / 2 + 0.3 + np.sqrt(0.5) * rng.standard_normal(n)
    z_q = h_q + np.sqrt(0.3) * rng.standard_normal(n)
    second = mixture.log_weight(z_q, h_q, x, 0.0, stretch)
    exact = mixture.bound(0.0, stretch)
    _within(first[0] - second, exact)
    wrong = first[1] - second
    assert abs(wrong.mean() - exact) > 20 * wrong.std() / np.sqrt(n)


def test_refusals():
    with pytest.raises(ValueError, match="variance above 0"):
        TwoStageNormal(first=0)
    for ask in (
        TwoStageNormal().bound,
        lambda **k: TwoStageNormal().simulate(3, np.random.default_rng(0), **k),
    ):
        with pytest.raises(ValueError, match="stretch"):
            ask(stretch=0.0)
