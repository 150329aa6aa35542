"""Injected defects: nothing at no strength, what they say at a known one, any shape of table."""

from itertools import pairwise

import numpy as np
import pytest

from validation_core.diagnosis.injections import DEFECTS, INJECTIONS, tilts
from validation_core.diagnosis.injections.draw_pool import DrawPool
from validation_core.diagnosis.injections.normal_nats import mean_precision
from validation_core.diagnosis.injections.tilts import MODE_TILT, TILTS, TiltDirection
from validation_core.diagnosis.null_tables.method_battery import method_pvalues
from validation_core.diagnosis.null_tables.pooled_scores import PooledScores
from validation_core.methods import SBC
from validation_core.relabelling.played_truths import SelfMadeTables
from validation_core.rng import stream
from validation_core.statistics import binomial_bounds
from validation_core.types import PosteriorTable

N, K, D = 400, 60, 3
CAUSES = dict.fromkeys(one.cause for one in INJECTIONS.values())
NAMES = (
    "bias", "bias_all", "too_wide_one", "too_wide", "too_narrow_one", "too_narrow",
    "wrong_correlation", "heavy_tails", "light_tails", "missing_mode", "spurious_mode",
    "ignores_x", "support_leak",
)  # fmt: skip
NOTHING = {name: 1.0 for name in NAMES if name.startswith("too_") or name == "wrong_correlation"}


def pool(n=N, k=K, d=D, m=2, rho=0.6):
    rng = stream(0, "pool")
    x = rng.standard_normal((n, m))
    factor = np.linalg.cholesky((1 - rho) * np.eye(d) + rho)
    mean = x @ rng.standard_normal((m, d))
    return DrawPool(mean[:, None] + 2 * rng.standard_normal((n, k, d)) @ factor.T, x)


def which(t=5, n=N, k=K):
    return stream(0, "which").integers(k, size=(t, n))


def injected(name, strength, of=None, trials=5):
    of = of or pool()
    places = which(trials, *of.q.shape[:2])
    truth = INJECTIONS[name].apply(of, places, strength, stream(1, name))
    return of.standard(truth), of.standard(of.take(places)), of


def test_ten_causes_and_those_in_one_parameter_first():
    assert tuple(INJECTIONS) == NAMES
    assert tuple(CAUSES) == (
        "bias", "too_wide", "too_narrow", "wrong_correlation", "heavy_tails", "light_tails",
        "missing_mode", "spurious_mode", "ignores_x", "support_leak",
    )  # fmt: skip
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
    moved, own, _ = injected("bias_all", 0.4)
    size = np.abs(moved - own)  # widths are quantiles of the draws, near their sd
    np.testing.assert_allclose(size, 0.4, atol=0.15)
    assert size.mean() == pytest.approx(0.4, abs=0.01)


@pytest.mark.parametrize(("name", "factor"), [("too_wide", 1 / 1.4), ("too_narrow", 1.4)])
def test_width_is_a_factor_about_the_mean(name, factor):
    moved, own, _ = injected(name, 1.4)
    np.testing.assert_allclose(moved, factor * own, rtol=1e-9)


@pytest.mark.parametrize(
    ("name", "every", "strength"),
    [("bias", "bias_all", 0.4), ("too_wide_one", "too_wide", 1.4),
     ("too_narrow_one", "too_narrow", 1.4)],
)  # fmt: skip
def test_one_parameter_is_drawn_evenly_and_the_others_stay(name, every, strength):
    """Each trial has its own, as large as where all have it; with one way all have the same."""
    of = pool()
    moved, own, _ = injected(name, strength, of, trials=300)
    off = (moved != own).any(1)  # (T, D)
    assert (off.sum(1) == 1).all()
    low, high = binomial_bounds(300, 1 / D, 1 - 1e-4)
    assert ((off.sum(0) >= low) & (off.sum(0) <= high)).all()
    whole, again, _ = injected(every, strength, of, trials=300)
    size = np.abs(whole - again).mean((0, 1))
    np.testing.assert_allclose(np.abs(moved - own).mean(1)[off].mean(), size.mean(), rtol=0.05)
    fixed = DrawPool(of.q, of.x, direction_seed=3)
    moved, own, _ = injected(name, strength, fixed, trials=8)
    assert (moved != own).any((0, 1)).nonzero()[0].tolist() == [fixed.parameter]
    assert of.parameter is None
    assert {DrawPool(of.q, of.x, seed).parameter for seed in range(40)} == set(range(D))


def normal_kl(moment, r, mean):
    """KL of N(mean, moment) from N(0, r)."""
    inverse = np.linalg.inv(r)
    determinants = np.linalg.slogdet(r)[1] - np.linalg.slogdet(moment)[1]
    return (np.trace(inverse @ moment) - len(r) + determinants + mean @ inverse @ mean) / 2


def test_nats_of_what_is_moved_are_those_of_normals():
    """Correlated parameters: a bias in one of them is farther off than it looks alone."""
    of = pool(n=60, k=2000, rho=0.6)
    r, ones = 0.4 * np.eye(D) + 0.6, np.ones(D)
    np.testing.assert_allclose(mean_precision(of), np.diag(np.linalg.inv(r)), rtol=0.02)
    one = np.eye(D)[0]
    wanted = {
        "bias": normal_kl(r, r, 0.3 * one),
        "bias_all": np.mean([
            normal_kl(r, r, 0.3 * np.array([a, b, c]))
            for a in (-1, 1) for b in (-1, 1) for c in (-1, 1)
        ]),
        "too_wide": normal_kl(r / 1.3**2, r, 0 * ones),
        "too_narrow": normal_kl(r * 1.3**2, r, 0 * ones),
    }  # fmt: skip
    for name, factor in (("too_wide_one", 1 / 1.3), ("too_narrow_one", 1.3)):
        scale = np.diag(ones + (factor - 1) * one)
        wanted[name] = normal_kl(scale @ r @ scale, r, 0 * ones)
    for name, nats in wanted.items():
        got = INJECTIONS[name].nats(of, 0.3 if name.startswith("bias") else 1.3)
        assert got == pytest.approx(nats, rel=0.03), name
    assert INJECTIONS["bias"].nats(pool(rho=0.0, d=1, k=2000), 0.2) == pytest.approx(0.02)
    assert INJECTIONS["bias"].nats(pool(k=5), 0.2) is None
    assert INJECTIONS["spurious_mode"].nats(of, 0.1) == pytest.approx(-np.log(0.9))


def test_nats_of_a_missing_mode_and_of_what_follows_x_are_those_of_draws():
    rng = stream(0, "mode")
    z = rng.standard_normal(400_000) + 6 * (rng.random(400_000) < 0.1)
    log_ratio = np.logaddexp(np.log(0.9), np.log(0.1) + 6 * z - 18)
    error = 5 * log_ratio.std() / np.sqrt(len(z))
    assert abs(INJECTIONS["missing_mode"].nats(pool(), 0.1) - log_ratio.mean()) < error
    # Residuals s x + sqrt(1 - s^2) e beside e, in two coordinates: x has two.
    wanted = -np.log(1 - 0.36)
    assert INJECTIONS["ignores_x"].nats(pool(k=400), 0.6) == pytest.approx(wanted, rel=0.05)


def test_nothing_is_no_nats():
    for name, one in INJECTIONS.items():
        if one.nats is not None:
            assert one.nats(pool(), NOTHING.get(name, 0.0)) == pytest.approx(0.0, abs=1e-9)
            sizes = [one.nats(pool(), strength) for strength in one.strengths]
            assert sizes == sorted(sizes)


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
    of = DrawPool(rng.standard_normal((2000, 100, 2)), rng.standard_normal((2000, 1)))
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


def test_a_bias_of_an_angle_has_the_size_it_is_told_in_where_draws_lie_at_both_ends():
    """Moved by the gap around its ends it would be found far more often than what is claimed."""
    rng = np.random.default_rng(0)
    n, k, strength = 1600, 100, 0.056
    centre = rng.uniform(-np.pi, np.pi, n)
    away = rng.vonmises(0, 8.0, (n, k))
    wrapped = (centre[:, None] + away + np.pi) % (2 * np.pi) - np.pi
    pool = DrawPool(wrapped[..., None], centre[:, None])
    width = np.diff(np.quantile(away, [0.16, 0.84], axis=1), axis=0)[0] / 2
    assert pool.width.max() < 1.5 * width.max()
    assert pool.width.mean() == pytest.approx(width.mean(), rel=0.1)

    def found(widths):  # by the score test of a von Mises law's place
        rejected = 0
        for _ in range(200):
            truth = away[np.arange(n), rng.integers(k, size=n)] - strength * widths
            score = np.sin(truth)
            rejected += abs(score.sum()) > 1.96 * np.sqrt(np.square(score).sum())
        return rejected / 200

    claimed, real = found(pool.width[:, 0]), found(width)
    assert abs(claimed - real) < 0.15
    old = np.diff(np.quantile(wrapped, [0.16, 0.84], axis=1), axis=0)[0] / 2
    assert found(old) > real + 0.2


def test_the_width_of_two_far_modes_is_that_within_them():
    rng = np.random.default_rng(0)
    modes = np.where(rng.random((200, 100, 1)) < 0.5, -5.0, 5.0)
    q = modes + rng.standard_normal((200, 100, 1))
    assert DrawPool(q, q[:, 0]).width.mean() == pytest.approx(1, abs=0.05)


def test_a_bias_is_told_in_widths_that_no_far_draw_moves():
    """And a parameter that never varies cannot be biased by a share of its width."""
    rng = np.random.default_rng(0)
    q = rng.standard_normal((50, 400, 3))
    q[:, :4, 1] *= 1e6
    q[..., 2] = 7.0
    pool = DrawPool(q, np.zeros((50, 1)))
    which = np.full((1, 50), 10)
    moved = INJECTIONS["bias_all"].apply(pool, which, 0.5, rng)[0] - q[:, 10]
    assert np.allclose(np.abs(moved[:, :2]), 0.5, atol=0.12)
    assert (moved[:, 2] == 0).all()


DIRECTIONS = (
    TiltDirection((1,)),
    TiltDirection((0,), -1.0),
    TiltDirection((2, 2)),
    TiltDirection((0, 2), -1.0),
)


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_nats_of_a_tilt_by_brute_force(direction):
    of, tau = pool(n=30, k=25), 0.7
    total = 0.0
    for row in of.q:
        z = (row - row.mean(0)) / row.std(0)
        g = direction.sign * np.prod([z[:, j] for j in direction.columns], axis=0)
        g = (g - g.mean()) / g.std()
        chance = np.exp(tau * g) / np.exp(tau * g).sum()
        total += sum(p * np.log(p * len(row)) for p in chance)
    assert tilts.tilt_nats(of, direction, tau) == pytest.approx(total / 30, rel=1e-10)


def test_a_tilted_normal_is_a_shifted_one():
    """KL is tau^2 / 2 where draws are many, and the truths lie tau sd off."""
    rng = stream(0, "tilted")
    of = DrawPool(rng.standard_normal((40, 4000, 2)), rng.standard_normal((40, 1)))
    for tau in (0.1, 0.4, 1.0):
        assert tilts.tilt_nats(of, TiltDirection((0,)), tau) == pytest.approx(tau**2 / 2, rel=0.02)
    made = tilts.choose_tilted_draws(of, TiltDirection((0,)), 0.4, rng.random((200, 40)))
    z = of.standard(of.take(made))
    error = 1 / np.sqrt(z[..., 0].size)
    assert abs(z[..., 0].mean() - 0.4) < 5 * error
    assert abs(z[..., 1].mean()) < 5 * error


def test_a_tilted_square_is_a_wider_normal():
    """exp(tau (z^2 - 1) / sqrt 2) times a normal: variance 1 / (1 - sqrt 2 tau)."""
    rng = stream(0, "square")
    of = DrawPool(rng.standard_normal((20, 20_000, 1)), np.zeros((20, 1)))
    tau, variance = 0.2, 1 / (1 - np.sqrt(2) * 0.2)
    wanted = (variance - 1 - np.log(variance)) / 2
    assert tilts.tilt_nats(of, TiltDirection((0, 0)), tau) == pytest.approx(wanted, rel=0.05)


@pytest.mark.parametrize("name", TILTS)
def test_a_tilt_of_nothing_chooses_every_draw_as_often(name):
    """Level: chances are even to the bit, and counts lie within binomial bounds."""
    of = pool(n=50, k=8)
    which, moved = TILTS[name].tables(of, np.zeros((4000, 50), np.intp), 0.0, stream(0, name))
    assert moved is None
    assert TILTS[name].nats(of, 0.0) == pytest.approx(0.0, abs=1e-12)
    low, high = binomial_bounds(which.size, 1 / 8, 1 - 1e-3 / 8)
    counts = np.bincount(which.ravel(), minlength=8)
    assert ((counts >= low) & (counts <= high)).all()
    each = np.stack([np.bincount(one, minlength=8) for one in which.T])  # rows, draws
    low, high = binomial_bounds(4000, 1 / 8, 1 - 1e-3 / each.size)
    assert ((each >= low) & (each <= high)).all()


@pytest.mark.parametrize("name", TILTS)
def test_what_a_tilt_chooses_has_its_chances(name):
    """Draw by draw, in the one direction that all trials share."""
    of = DrawPool(pool(n=5, k=6).q, pool(n=5, k=6).x, direction_seed=4)
    which, _ = TILTS[name].tables(of, np.zeros((40_000, 5), np.intp), 0.9, stream(1, name))
    counts = np.stack([np.bincount(one, minlength=6) for one in which.T])
    share = counts / 40_000
    kl = np.mean(np.sum(share * np.log(np.maximum(6 * share, 1e-12)), axis=1))
    assert kl == pytest.approx(TILTS[name].nats(of, 0.9), abs=0.01)
    if name != "tilt_correlation":
        z = of.standard(of.take(which))  # (T, n, D)
        lean = np.abs(z.mean((0, 1))) if name == "tilt_bias" else np.abs(z.var((0, 1)) - 1)
        assert int(lean.argmax()) == of.parameter


@pytest.mark.parametrize("name", TILTS)
def test_a_stronger_tilt_chooses_no_draw_that_leans_less(name):
    of = DrawPool(pool().q, pool().x, direction_seed=2)
    made = [
        TILTS[name].tables(of, which(), tau, stream(3, name))[0] for tau in (0.0, 0.2, 0.5, 1.0)
    ]
    _, own = of.directions(which(), stream(0, "unused"))
    draw = {
        "tilt_bias": tilts.one_parameter_direction,
        "tilt_narrow": tilts.outward_direction,
        "tilt_wide": tilts.inward_direction,
        "tilt_correlation": tilts.two_parameter_direction,
    }[name]
    g = draw(np.arange(D), own).of(of.standard(np.swapaxes(of.q, 0, 1)).swapaxes(0, 1))
    leans = [g[np.arange(N), one] for one in made]
    for weaker, stronger in pairwise(leans):
        assert (stronger >= weaker - 1e-12).all()
    assert (leans[-1] > leans[0]).any()


def test_tilted_tables_keep_their_level_and_lose_it_with_strength():
    """SBC on tables whose truth was chosen; a draw that plays the truth is no draw there."""
    of = pool(n=200, k=40)
    rows = PosteriorTable(of.q[:, 0], of.x, of.q)
    pooled = PooledScores.of(SBC().score(), rows)
    found = []
    for tau in (0.0, 0.4):
        places, moved = TILTS["tilt_bias"].tables(of, which(400, 200, 40), tau, stream(5, "level"))
        p = method_pvalues(
            SBC(), pooled.on(SelfMadeTables(rows, places, moved)), stream(6, "ties")
        )
        found.append(int((p <= 0.05).sum()))
    low, high = binomial_bounds(400, 0.05, 0.999)
    assert low <= found[0] <= high
    assert found[1] > 360


def test_what_is_chosen_has_no_place_where_it_was_moved_to():
    with pytest.raises(ValueError, match=r"got a call for.*Call `tables`"):
        TILTS["tilt_bias"].apply(pool(), which(), 0.1, stream(0, "moved"))
    assert set(DEFECTS) == {*INJECTIONS, *TILTS, MODE_TILT.name}
    assert {one.cause for one in TILTS.values()} <= set(CAUSES)
    truths = INJECTIONS["bias"].tables(pool(), which(), 0.1, stream(0, "moved"))
    np.testing.assert_array_equal(truths[0], which())
    assert truths[1].shape == (5, N, D)


@pytest.mark.parametrize(("n", "k", "d"), [(30, 1, 2), (20, 2, 2), (300, 5, 7)])
def test_any_shape_of_table_is_tilted(n, k, d):
    of = pool(n, k, d)
    of.q[..., 0] = 7.0  # a parameter that never varies leans nowhere
    for one in TILTS.values():
        for strength in one.strengths:
            places, _ = one.tables(of, which(3, n, k), strength, stream(0, "any"))
            assert places.shape == (3, n)
            assert places.min() >= 0
            assert places.max() < k
            assert 0 <= one.nats(of, strength) <= np.log(k) + 1e-12


@pytest.mark.parametrize("name", ["spurious_mode", "support_leak", "ignores_x"])
def test_a_truth_that_is_another_draw_does_not_stand_there_twice(name):
    places, moved = INJECTIONS[name].tables(pool(), which(), 0.4, stream(0, name))
    assert moved is None
    assert (places != which()).mean() > 0.1


@pytest.mark.parametrize("k", [3, 12, 60])
def test_chosen_truths_follow_x_as_far_as_few_draws_allow(k):
    of = DrawPool(pool(k=k).q, pool(k=k).x, direction_seed=3)
    explained = []
    for strength in (0.0, 0.5, 0.9):
        places, _ = INJECTIONS["ignores_x"].tables(of, which(20, N, k), strength, stream(0, "x"))
        z = of.white(of.take(places))
        size = np.square(np.einsum("nr,tnd->trd", of.followed, z)).sum((1, 2)) / N
        explained.append((size / np.square(z).sum((1, 2))).mean())
    assert explained[0] < 0.01 < 0.04 < explained[1] < explained[2]
    assert k < 60 or explained[1] == pytest.approx(0.25 * 2 / D, rel=0.25)


def counts(k=80, n=500):
    """q is Poisson about x, so that draws of a row are often equal."""
    rng = stream(0, "counts")
    x = rng.poisson(3.0, (n, 1)).astype(float)
    return DrawPool((x[:, None] + rng.poisson(1.5, (n, k, 1))).astype(float), x, direction_seed=0)


@pytest.mark.parametrize("step", [1.0, 0.5])
def test_whole_numbers_stay_whole_and_move_by_what_is_said(step):
    of = DrawPool(step * counts().q, counts().x, direction_seed=0)
    places = which(200, 500, 80)
    for strength in (0.1, 0.4):
        moved = INJECTIONS["bias"].tables(of, places, strength, stream(0, "bias"))[1]
        assert (moved % step == 0).all()
        off = (moved - of.take(places)) / of.width
        # Those at the end of q's support cannot go beyond it.
        assert 0.6 * strength < np.abs(off.mean()) < 1.05 * strength
        assert (moved.min(0) >= of.q.min(1)).all()
    far = INJECTIONS["missing_mode"].tables(of, places, 0.1, stream(0, "mode"))[1]
    assert (far % step == 0).all()
    assert np.abs(far - of.take(places)).max() > 5 * step


def test_draws_that_differ_are_moved_as_they_are():
    of = pool()
    moved = INJECTIONS["bias_all"].tables(of, which(), 0.1, stream(0, "bias"))[1]
    np.testing.assert_array_equal(
        moved, INJECTIONS["bias_all"].apply(of, which(), 0.1, stream(0, "bias"))
    )


@pytest.mark.parametrize("name", DEFECTS)
def test_a_parameter_that_is_fixed_holds_no_defect(name):
    """A fixed parameter that moved would be found by that alone, whatever else is wrong with q."""
    free = pool()
    fixed = np.concatenate([np.ones((*free.q.shape[:2], 1)), free.q], axis=2)
    for seed in range(4):
        of = DrawPool(fixed, free.x, direction_seed=seed)
        assert of.parameter != 0
        places, moved = DEFECTS[name].tables(
            of, which(), DEFECTS[name].strengths[-1], stream(seed, name)
        )
        truths = of.take(places) if moved is None else moved
        np.testing.assert_allclose(truths[..., 0], 1.0, atol=1e-12)
        assert not np.array_equal(truths, of.take(which()))
