"""Injected defects: nothing at no strength, what they say at a known one, any shape of table."""

import numpy as np
import pytest

from validation_core.answers.injections import INJECTIONS, Pool
from validation_core.rng import stream

N, K, D = 400, 60, 3
NAMES = (
    "bias", "too_wide", "too_narrow", "wrong_correlation", "heavy_tails", "light_tails",
    "missing_mode", "spurious_mode", "ignores_x", "support_leak",
)  # fmt: skip
NOTHING = {"too_wide": 1.0, "too_narrow": 1.0, "wrong_correlation": 1.0}


def pool(n=N, k=K, d=D, m=2, rho=0.6):
    rng = stream(0, "pool")
    x = rng.standard_normal((n, m))
    factor = np.linalg.cholesky((1 - rho) * np.eye(d) + rho)
    mean = x @ rng.standard_normal((m, d))
    return Pool(mean[:, None] + 2 * rng.standard_normal((n, k, d)) @ factor.T, x)


def which(t=5, n=N, k=K):
    return stream(0, "which").integers(k, size=(t, n))


def injected(name, strength, of=None, trials=5):
    of = of or pool()
    places = which(trials, *of.q.shape[:2])
    truth = INJECTIONS[name].apply(of, places, strength, stream(1, name))
    return of.standard(truth), of.standard(of.take(places)), of


def test_the_ten_causes():
    assert tuple(INJECTIONS) == NAMES
    for one in INJECTIONS.values():
        assert list(one.strengths) == sorted(set(one.strengths))
        assert one.title
        assert one.unit


@pytest.mark.parametrize("name", NAMES)
def test_no_strength_changes_no_law(name):
    """All but tails and shares at 0 give the very draw; those keep its moments."""
    nothing = NOTHING.get(name, 0.0)
    if name in ("heavy_tails", "light_tails"):
        nothing = 1e-5
    if name in ("ignores_x", "spurious_mode", "support_leak"):
        moved, own, _ = injected(name, nothing)
        np.testing.assert_allclose(moved.std((0, 1)), own.std((0, 1)), rtol=0.03)
        np.testing.assert_allclose(moved.mean((0, 1)), own.mean((0, 1)), atol=0.05)
        return
    moved, own, _ = injected(name, nothing)
    np.testing.assert_allclose(moved, own, atol=0.05 if "tails" in name else 1e-7)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("n", "k", "d", "m"), [(30, 1, 1, 1), (40, 5, 8, 1), (25, 4, 2, 0)])
def test_any_shape_gives_finite_truths(name, n, k, d, m):
    if d < INJECTIONS[name].least_dims:
        return
    of = pool(n, k, d, m, rho=0.3)
    for strength in INJECTIONS[name].strengths:
        truth = INJECTIONS[name].apply(of, which(3, n, k), strength, stream(0, "any"))
        assert truth.shape == (3, n, d)
        assert np.isfinite(truth).all()


def test_draws_and_caller_are_left_alone():
    of = pool()
    before = of.q.copy()
    for one in INJECTIONS.values():
        one.apply(of, which(), one.strengths[-1], stream(0, "alone"))
    np.testing.assert_array_equal(of.q, before)


def test_the_same_generator_gives_the_same_truths():
    for one in INJECTIONS.values():
        first, again = (
            one.apply(pool(), which(), one.strengths[3], stream(2, "same")) for _ in range(2)
        )
        np.testing.assert_array_equal(first, again)


def test_bias_is_in_posterior_sd():
    moved, own, _ = injected("bias", 0.4)
    size = np.abs(moved - own)  # widths are quantiles of the draws, near their sd
    np.testing.assert_allclose(size, 0.4, atol=0.15)
    assert size.mean() == pytest.approx(0.4, abs=0.01)


@pytest.mark.parametrize(("name", "factor"), [("too_wide", 1 / 1.4), ("too_narrow", 1.4)])
def test_width_is_a_factor_about_the_mean(name, factor):
    moved, own, _ = injected(name, 1.4)
    np.testing.assert_allclose(moved, factor * own, rtol=1e-9)


def test_wrong_correlation_keeps_the_marginals():
    moved, own, of = injected("wrong_correlation", 4.0, trials=20)
    np.testing.assert_allclose(moved.std(1), own.std(1), rtol=0.15)
    changed = [
        np.abs(np.corrcoef(a.T) - np.corrcoef(b.T)).max() for a, b in zip(moved, own, strict=True)
    ]
    assert np.median(changed) > 0.2
    white = of.white(of.mean + of.sd * moved)
    narrow = [np.linalg.eigvalsh(np.cov(one.T))[0] for one in white]
    assert np.median(narrow) < 0.4
    assert np.max(narrow) < 0.7


def test_tails_are_pulled_in_and_pushed_out():
    heavy, own, _ = injected("heavy_tails", 0.3)
    light, *_ = injected("light_tails", 0.3)
    far = [np.quantile(np.abs(one), 0.99) for one in (heavy, own, light)]
    assert far[0] < 0.8 * far[1] < 0.8 * 0.8 * far[2]


def test_a_normal_q_relative_to_t_is_told_by_its_radii():
    """Light tails: a normal draw becomes a draw of Student's t about the same scale."""
    rng = stream(0, "t")
    of = Pool(rng.standard_normal((2000, 100, 2)), rng.standard_normal((2000, 1)))
    truth = INJECTIONS["light_tails"].apply(of, which(1, 2000, 100), 0.2, rng)[0]
    t = rng.standard_normal((2000, 2)) * np.sqrt(5 / rng.chisquare(5, (2000, 1)))
    levels = [0.1, 0.5, 0.9, 0.98]
    got, wanted = (np.quantile(np.linalg.norm(a, axis=1), levels) for a in (truth, t))
    np.testing.assert_allclose(got, wanted, rtol=0.12)


def test_shares_are_shares():
    moved, own, of = injected("missing_mode", 0.2, trials=10)
    off = np.linalg.norm(of.white(of.mean + of.sd * (moved - own)), axis=2) > 1e-6
    assert 0.17 < off.mean() < 0.23
    for name in ("spurious_mode", "support_leak"):
        moved, own, _ = injected(name, 0.2, trials=10)
        assert 0.1 < (np.abs(moved - own).max(2) > 0).mean() < 0.3


def test_truths_stay_inside_the_box():
    moved, own, of = injected("support_leak", 0.3, trials=3)
    theta, draws = (of.mean + of.sd * one for one in (moved, own))
    outside = (draws < theta.min(1, keepdims=True)) | (draws > theta.max(1, keepdims=True))
    assert outside.any(2).mean() > 0.1


def test_residuals_follow_x_and_keep_their_law():
    moved, own, of = injected("ignores_x", 0.9)
    x = of.followed
    for t in range(len(moved)):
        z, before = (of.white((of.mean + of.sd * one)[None])[0] for one in (moved[t], own[t]))
        explained = np.square(x.T @ z).sum() / len(x) / np.square(z - z.mean(0)).sum(0).mean()
        assert explained * len(x) > 1.0
        np.testing.assert_allclose(np.cov(z.T), np.cov(before.T), atol=0.25)


def test_constant_columns_and_few_draws_do_no_harm():
    of = pool(k=2, d=4)
    of.q[..., 0] = 7.0
    for name, one in INJECTIONS.items():
        truth = one.apply(of, which(2, N, 2), one.strengths[2], stream(0, name))
        assert np.isfinite(truth).all()


def test_a_bias_is_told_in_widths_that_no_far_draw_moves():
    """And a parameter that never varies cannot be biased by a share of its width."""
    rng = np.random.default_rng(0)
    q = rng.standard_normal((50, 400, 3))
    q[:, :4, 1] *= 1e6
    q[..., 2] = 7.0
    pool = Pool(q, np.zeros((50, 1)))
    which = np.full((1, 50), 10)
    moved = INJECTIONS["bias"].apply(pool, which, 0.5, rng)[0] - q[:, 10]
    assert np.allclose(np.abs(moved[:, :2]), 0.5, atol=0.12)
    assert (moved[:, 2] == 0).all()
