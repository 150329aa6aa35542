"""The five models against scipy on the parameters' own scale, by differences and by quadrature.

A model's density is of unconstrained coordinates. Here the change of variables is done anew: the
density of theta(z) by scipy.stats, times the derivative of theta in z, by differences.
"""

import itertools

import numpy as np
import pytest
import torch
from scipy import stats
from scipy.special import expit, gammaln, logit

from validation_core import keys
from validation_core.bayes import (
    MODELS,
    GLMBinomial,
    HeartTransplants,
    covariates,
    glm_binomial,
    hospitals,
)
from validation_core.bayes.model import log_joint, log_joint_gradient, log_joint_hessian
from validation_core.bayes.unconstrained import to_interval

EVERY = (*(kind() for kind in MODELS.values()), GLMBinomial(data="book"))
IDS = [f"{one.name}-{getattr(one, 'data', '')}".rstrip("-") for one in EVERY]
each_model = pytest.mark.parametrize("model", EVERY, ids=IDS)


def streams(n, seed=0):
    return [np.random.default_rng([seed, k]) for k in range(n)]


def simulated(model, n, seed=0):
    """z (n, D) and y (n, M)."""
    pairs = model.simulate(n, np.random.default_rng(seed))
    return pairs.theta, pairs.x


# Parameters on their own scale: theta(z), and log p(theta, y) by scipy.stats.


def glm_theta(z):
    return z


def glm_density(model, theta, y):
    t, n = model.counts.t, model.counts.n
    chance = expit(theta[0] + theta[1] * t + theta[2] * t**2)
    return stats.norm.logpdf(theta, 0, 10).sum() + stats.binom.logpmf(y, n, chance).sum()


def heart_theta(z):
    return np.array([expit(z[0]), np.exp(z[1])])


def heart_density(model, theta, y):
    p, rate = theta
    prior = stats.uniform.logpdf(p) + stats.gamma.logpdf(rate, 1 / 3, scale=1 / (1 / 3))
    lives = stats.expon.logpdf(y[1:], scale=1 / rate).sum()
    return prior + stats.binom.logpmf(y[0], 10, p) + lives


def hospitals_theta(z):
    return np.concatenate([[0.25 + 0.75 * expit(z[0]), -3 + 6 * expit(z[1])], expit(z[2:])])


def hospitals_density(model, theta, y):
    omega, mu, chance = theta[0], theta[1], theta[2:]
    prior = stats.uniform.logpdf(omega, 0.25, 0.75) + stats.uniform.logpdf(mu, -3, 6)
    # log odds are normal, so that the chances are logit-normal
    around = stats.norm.logpdf(logit(chance), mu, omega) - np.log(chance * (1 - chance))
    return prior + around.sum() + stats.binom.logpmf(y, hospitals.OPERATIONS, chance).sum()


def ionosphere_density(model, theta, y):
    chance = expit(model.covariates @ theta)
    return stats.norm.logpdf(theta).sum() + stats.bernoulli.logpmf(y, chance).sum()


def concrete_density(model, theta, y):
    mean = model.covariates @ theta
    return stats.norm.logpdf(theta).sum() + stats.norm.logpdf(y, mean, 1.0).sum()


OWN_SCALE = {
    "glm_binomial": (glm_theta, glm_density),
    "heart_transplants": (heart_theta, heart_density),
    "hospitals": (hospitals_theta, hospitals_density),
    "ionosphere": (glm_theta, ionosphere_density),
    "concrete": (glm_theta, concrete_density),
}


def log_jacobian(theta, z, step=1e-5):
    """log |det d theta / dz|, by central differences."""
    columns = [(theta(z + e) - theta(z - e)) / (2 * step) for e in step * np.eye(len(z))]
    return np.linalg.slogdet(np.stack(columns, 1))[1]


def points(model, n, seed=0):
    """z near where the prior puts it, with data of another z: y does not fit z too well."""
    rng = np.random.default_rng([seed, 1])
    z, y = simulated(model, n, seed)
    return 0.3 * z + 0.3 * rng.standard_normal(z.shape), y


@each_model
def test_densities_are_scipys_with_the_jacobian(model):
    theta, density = OWN_SCALE[model.name]
    z, y = points(model, 20)
    reports = [
        density(model, theta(a), b) + log_jacobian(theta, a) for a, b in zip(z, y, strict=True)
    ]
    np.testing.assert_allclose(log_joint(model, z, y), reports, rtol=1e-8, atol=1e-6)


@pytest.mark.parametrize("name", ["heart_transplants", "hospitals"])
def test_without_the_jacobian_densities_are_others(name):
    model, (theta, density) = MODELS[name](), OWN_SCALE[name]
    z, y = points(model, 20)
    bare = np.array([density(model, theta(a), b) for a, b in zip(z, y, strict=True)])
    assert np.ptp(log_joint(model, z, y) - bare) > 0.1  # and no constant mends it


@each_model
def test_gradients_and_hessians_are_those_of_differences(model):
    z, y = points(model, 4)
    d, step = model.dims[0], 1e-5
    at, data = torch.tensor(z), torch.tensor(y)
    slope = log_joint_gradient(model, at, data).numpy()
    near = [z + sign * e for e in step * np.eye(d) for sign in (1, -1)]
    values = np.array([log_joint(model, item, y) for item in near]).reshape(d, 2, -1)
    message = (values[:, 0] - values[:, 1]).T / (2 * step)
    np.testing.assert_allclose(slope, message, rtol=1e-5, atol=1e-3 * step**0.5)
    slopes = np.array(
        [log_joint_gradient(model, torch.tensor(item), data).numpy() for item in near]
    )
    slopes = slopes.reshape(d, 2, len(z), d)
    bend = np.moveaxis(slopes[:, 0] - slopes[:, 1], 0, 2) / (2 * step)
    np.testing.assert_allclose(
        log_joint_hessian(model, at, data).numpy(), bend, rtol=1e-5, atol=1e-5
    )


@each_model
def test_data_sets_and_points_broadcast(model):
    rng = np.random.default_rng(1)
    _, y = points(model, 3)
    z = 0.5 * rng.standard_normal((3, 4, model.dims[0]))
    result = log_joint(model, z, y[:, None])
    assert result.shape == (3, 4)
    assert result.dtype == np.float64
    one_by_one = [[log_joint(model, a, b) for a in some] for some, b in zip(z, y, strict=True)]
    np.testing.assert_allclose(result, one_by_one, rtol=1e-12)


@each_model
def test_far_points_stay_finite(model):
    _, y = points(model, 2)
    z = np.full((2, model.dims[0]), 60.0) * [[1], [-1]]
    assert np.isfinite(log_joint(model, z, y)).all()
    slope = log_joint_gradient(model, torch.tensor(z), torch.tensor(y))
    assert torch.isfinite(slope).all()


def test_chances_of_nearly_one_keep_their_logarithms():
    model, z = GLMBinomial(), np.array([50.0, 0, 0])
    n = model.counts.n
    prior = stats.norm.logpdf(z, 0, 10).sum()
    all_but_one = np.log(n).sum() - 50 * len(n) - (n - 1).sum() * np.log1p(np.exp(-50))
    assert log_joint(model, z, n - 1) == pytest.approx(prior + all_but_one, rel=1e-12)


def total(model, axes, data, weight=1.0):
    """Sum of p(z, y) over a grid of z, axes D of 1-d arrays, and the rows of data (N, M).

    Trapezoids on smooth functions that vanish at both ends: their error falls exponentially.
    """
    cell = np.prod([axis[1] - axis[0] for axis in axes]) * weight
    z = np.stack(np.meshgrid(*axes, indexing="ij"), -1).reshape(-1, len(axes))
    return sum(float(np.exp(log_joint(model, z, y)).sum()) for y in data) * cell


def test_glm_binomial_sums_to_one(monkeypatch):
    """Two years of few pairs."""
    few = glm_binomial.PeregrineCounts(np.array([-0.5, 1.0]), np.array([3.0, 2]), np.zeros(2))
    monkeypatch.setattr(glm_binomial, "PEREGRINES", few)
    counts = [np.array(y, float) for y in itertools.product(range(4), range(3))]
    axis = np.arange(-65.0, 65.1, 3)
    assert total(GLMBinomial(), [axis] * 3, counts) == pytest.approx(1, abs=1e-6)


def test_hospitals_sum_to_one(monkeypatch):
    """One unit with three operations."""
    monkeypatch.setattr(hospitals, "OPERATIONS", np.array([3.0]))
    monkeypatch.setattr(hospitals, "UNITS", 1)
    axes = np.arange(-18.0, 18.1, 0.75), np.arange(-18.0, 18.1, 0.75), np.arange(-9, 9.1, 0.125)
    result = total(hospitals.Hospitals(), axes, [np.array([y], float) for y in range(4)])
    assert result == pytest.approx(1, abs=1e-6)


@pytest.fixture
def small(monkeypatch):
    """A function: name, covariates (rows, columns), constant columns -> the model with these."""

    def make(name, raw, constant=0):
        shape = covariates.SHAPES[name]._replace(
            rows=len(raw), columns=len(raw[0]), constant=constant
        )
        monkeypatch.setitem(covariates.SHAPES, name, shape)
        monkeypatch.setattr(covariates, "real_covariates", lambda name: np.array(raw, float))
        return MODELS[name]()

    covariates.design_matrix.cache_clear()
    yield make
    covariates.design_matrix.cache_clear()


def test_ionosphere_sums_to_one(small):
    """Three returns and one number of each."""
    model = small("ionosphere", [[0.3, 1], [-1.0, 1], [2.0, 1]], constant=1)
    labels = [np.array(y, float) for y in itertools.product((0, 1), repeat=3)]
    assert total(model, [np.arange(-8, 8.1, 0.25)] * 2, labels) == pytest.approx(1, abs=1e-9)


def test_concrete_integrates_to_one(small):
    """Two samples and one number of each: y is integrated too."""
    model = small("concrete", [[1.0], [4.0]])
    step = 0.6
    data = [np.array(y) for y in itertools.product(np.arange(-15.0, 15, step), repeat=2)]
    result = total(model, [np.arange(-7, 7, 0.5)] * 2, data, step**2)
    assert result == pytest.approx(1, abs=1e-9)


def test_heart_transplants_integrate_to_one():
    """Over u, v, y and all eight lives.

    Lives enter by their sum S alone (the next test), so that eight integrals are one, of the
    volume S^7 / 7! dS; with S theta = e^t it is of e^{8 (t - v)} / 7! dt.
    """
    model, v_axis, t_axis = HeartTransplants(), np.arange(-75, 6.1, 0.6), np.arange(-7, 4.6, 0.3)
    u, v, t = np.meshgrid(np.arange(-25.0, 26), v_axis, t_axis, indexing="ij")
    volume = np.exp(8 * (t - v)) / 5040 * 0.6 * 0.3
    z, result = np.stack([u, v], -1), 0.0
    for y in range(11):
        lives = np.repeat(np.exp(t - v)[..., None] / 8, 8, -1)
        data = np.concatenate([np.full((*u.shape, 1), float(y)), lives], -1)
        result += float((np.exp(log_joint(model, z, data)) * volume).sum())
    assert result == pytest.approx(1, abs=1e-6)


def test_lives_enter_by_their_sum():
    rng = np.random.default_rng(0)
    lives = rng.exponential(size=8)
    rows = np.stack([np.append(4, lives), np.append(4, np.full(8, lives.mean()))])
    first, second = log_joint(HeartTransplants(), rng.standard_normal((1, 2)), rows)
    assert first == pytest.approx(second, rel=1e-12)


def within(values, expected, sd=4.5):
    """Whether column means are the expected ones, by their own standard errors."""
    error = values.std(0, ddof=1) / np.sqrt(len(values))
    assert np.all(np.abs(values.mean(0) - expected) <= sd * error + 1e-12)


@each_model
def test_simulated_pairs_solve_the_density_s_identities(model):
    """E g = 0 and E z_i g_j = -delta_ij of g = grad log p(z, y), for whatever p is smooth."""
    z, y = simulated(model, 4000)
    slope = log_joint_gradient(model, torch.tensor(z), torch.tensor(y)).numpy()
    within(slope, 0.0)
    d = model.dims[0]
    within((z[:, :, None] * slope[:, None]).reshape(-1, d * d), -np.eye(d).reshape(-1))


def test_priors_of_what_is_simulated():
    rng = np.random.default_rng(0)
    sketch = {name: kind().simulate(3000, rng) for name, kind in MODELS.items()}
    known = [
        (sketch["glm_binomial"].theta[:, 2], stats.norm(0, 10)),
        (expit(sketch["heart_transplants"].theta[:, 0]), stats.uniform()),
        (np.exp(sketch["heart_transplants"].theta[:, 1]), stats.gamma(1 / 3, scale=3)),
        (sketch["heart_transplants"].x[:, 0], None),
        (to_interval(sketch["hospitals"].theta[:, 0], 0.25, 1), stats.uniform(0.25, 0.75)),
        (to_interval(sketch["hospitals"].theta[:, 1], -3, 3), stats.uniform(-3, 6)),
        (sketch["ionosphere"].theta[:, 5], stats.norm()),
        (sketch["concrete"].theta[:, 8], stats.norm()),
    ]
    for values, law in known:
        if law is None:  # y is uniform on 0..10
            assert stats.chisquare(np.bincount(values.astype(int), minlength=11)).pvalue > 1e-3
        else:
            assert stats.kstest(values, law.cdf).pvalue > 1e-3


@pytest.mark.parametrize("name", ["glm_binomial", "hospitals", "ionosphere"])
def test_counts_have_their_chances(name):
    model = MODELS[name]()
    z, y = simulated(model, 3000, 1)
    n, eta = {
        "glm_binomial": lambda: (glm_binomial.PEREGRINES.n, z @ np.vander(
            glm_binomial.PEREGRINES.t, 3, increasing=True).T),
        "hospitals": lambda: (hospitals.OPERATIONS, z[:, 2:]),
        "ionosphere": lambda: (1.0, z @ model.covariates.T),
    }[name]()  # fmt: skip
    assert (y == np.round(y)).all()
    assert ((y >= 0) & (y <= n)).all()
    within(y - n * expit(eta), 0.0, sd=5)


def test_hospitals_spread_by_a_standard_deviation():
    z, _ = simulated(hospitals.Hospitals(), 4000, 0)
    omega, mu = to_interval(z[:, 0], 0.25, 1), to_interval(z[:, 1], -3, 3)
    standard = (z[:, 2:] - mu[:, None]) / omega[:, None]
    assert stats.kstest(standard.ravel(), stats.norm.cdf).pvalue > 1e-3


def test_strengths_have_their_noise():
    model = MODELS["concrete"]()
    z, y = simulated(model, 50, 0)
    noise = y - z @ model.covariates.T
    assert stats.kstest(noise.ravel(), stats.norm.cdf).pvalue > 1e-3


# What the paper prints otherwise. Each would fail with the printed formula.


def test_intervals_divide_by_their_length():
    """Printed: logit((x - a) / (a - b)), of a negative number."""
    inside = np.linspace(-2.9, 2.9, 30)
    u = np.log((inside + 3) / (3 - inside))
    np.testing.assert_allclose(to_interval(u, -3, 3), inside)
    np.testing.assert_allclose(logit((inside + 3) / (3 + 3)), u)
    with np.errstate(invalid="ignore"):
        assert np.isnan(logit((inside + 3) / (-3 - 3))).all()


def test_successes_have_the_sigmoid_of_the_predictor():
    """Printed: Binomial(n, predictor), which is a chance at this z too, but another one."""
    model, z = GLMBinomial(), np.array([0.5, 0.1, -0.2])
    t, n, y = model.counts
    predictor = z[0] + z[1] * t + z[2] * t**2
    assert ((predictor > 0) & (predictor < 1)).all()
    prior = stats.norm.logpdf(z, 0, 10).sum()
    result = log_joint(model, z, y) - prior
    assert result == pytest.approx(stats.binom.logpmf(y, n, expit(predictor)).sum(), rel=1e-10)
    assert abs(result - stats.binom.logpmf(y, n, predictor).sum()) > 1


def test_gamma_is_by_rate_and_a_life_by_its_rate():
    """The paper leaves open which: a mean of 1 and lives of mean 1 / theta, as BUGS has it."""
    z, x = simulated(HeartTransplants(), 20_000, 0)
    theta, lives = np.exp(z[:, 1]), x[:, 1:]
    within(theta, 1.0)  # by scale 1/9
    within(lives * theta[:, None], 1.0)  # by scale not even finite
    within(np.log(lives) + z[:, 1:], -np.euler_gamma)
    # and the density is of the same: from its exact posterior, shape a + 8, rate b + sum s
    exact = HeartTransplants().exact(x[:3])
    np.testing.assert_allclose(exact.rate, 1 / 3 + lives[:3].sum(1))


@pytest.mark.parametrize("survived", [0, 2, 8, 10])
def test_eight_lives_are_in_the_data_whatever_y_is(survived):
    model = HeartTransplants()
    assert model.dims == (2, 9)
    rows = model.simulate(3000, np.random.default_rng(0))
    of = rows.x[:, 0] == survived
    assert of.sum() > 100
    standard = rows.x[of, 1:] * np.exp(rows.theta[of, 1:])
    assert stats.kstest(standard.ravel(), stats.expon.cdf).pvalue > 1e-3
    # all 8 enter: the slope in v at rate r is a + 8 - (b + sum s) r
    y, z = np.append(survived, np.arange(1.0, 9)), np.array([[0.2, -0.7]])
    slope = log_joint_gradient(model, torch.tensor(z), torch.tensor(y[None]))[0, 1]
    assert float(slope) == pytest.approx(1 / 3 + 8 - (1 / 3 + 36) * np.exp(-0.7), rel=1e-12)


def test_heart_s_posterior_is_exact():
    model = HeartTransplants()
    pairs = model.simulate(40, np.random.default_rng(0))
    exact = model.exact(pairs.x)
    z = exact.sample(50, streams(40))
    result = log_joint(model, z, pairs.x[:, None]) - exact.log_density(z)
    rate = 1 / 3 + pairs.x[:, 1:].sum(1)
    # p(y) = 1 / 11, and lives integrate to b^a Gamma(a + 8) / (Gamma(a) (b + S)^(a + 8))
    a, gamma = 1 / 3, gammaln
    message = -np.log(11) + a * np.log(a) + gamma(a + 8) - gamma(a) - (a + 8) * np.log(rate)
    np.testing.assert_allclose(result, np.repeat(message[:, None], 50, 1), rtol=1e-11)


def test_heart_s_posterior_integrates_to_one_and_draws_have_its_moments():
    data = np.stack(
        [
            [8.0, 2, 3, 4, 4, 6, 7, 10, 12],  # the book's
            np.append(0.0, np.full(8, 30.0)),
            np.append(10.0, np.ones(8)),
        ]
    )
    exact = HeartTransplants().exact(data)
    assert exact.ok.all()
    u, v = np.meshgrid(np.arange(-40, 40, 0.2), np.arange(-12.0, 4, 0.05), indexing="ij")
    grid = np.broadcast_to(np.stack([u, v], -1).reshape(1, -1, 2), (3, u.size, 2))
    density = np.exp(exact.log_density(grid)) * 0.2 * 0.05
    np.testing.assert_allclose(density.sum(1), 1, atol=1e-8)
    mean, variance = exact.moments()
    np.testing.assert_allclose((density[..., None] * grid).sum(1), mean, atol=1e-7)
    np.testing.assert_allclose((density[..., None] * (grid - mean[:, None]) ** 2).sum(1), variance,
                               atol=1e-6)  # fmt: skip
    draws = exact.sample(20_000, streams(3))
    for k in range(3):
        within(draws[k], mean[k])
        within((draws[k] - mean[k]) ** 2, variance[k])
        assert stats.kstest(expit(draws[k, :, 0]), stats.beta(
            data[k, 0] + 1, 11 - data[k, 0]).cdf).pvalue > 1e-3  # fmt: skip


def test_concrete_s_posterior_is_exact():
    model = MODELS["concrete"]()
    pairs = model.simulate(5, np.random.default_rng(0))
    exact = model.exact(pairs.x)
    z = exact.sample(60, streams(5))
    result = log_joint(model, z, pairs.x[:, None]) - exact.log_density(z)
    x = model.covariates
    density = stats.multivariate_normal(cov=x @ x.T + np.eye(len(x))).logpdf(pairs.x)
    np.testing.assert_allclose(result, np.repeat(density[:, None], 60, 1), rtol=1e-10)
    # its density against scipy's, by another route to the same normal
    precision = x.T @ x + np.eye(x.shape[1])
    for k in range(5):
        law = stats.multivariate_normal(
            np.linalg.solve(precision, x.T @ pairs.x[k]), np.linalg.inv(precision)
        )
        np.testing.assert_allclose(exact.log_density(z)[k], law.logpdf(z[k]), rtol=1e-9)


def test_truths_rank_anywhere_among_exact_draws():
    """Joint check of simulation and posterior: coordinates are uniform in their posterior."""
    for name in ("heart_transplants", "concrete"):
        model = MODELS[name]()
        pairs = model.simulate(800, np.random.default_rng(0))
        draws = model.exact(pairs.x).sample(199, streams(800))
        ranks = (draws < pairs.theta[:, None]).sum(1)
        rng = np.random.default_rng(1)
        u = (ranks + rng.random(ranks.shape)) / 200
        worst = min(stats.kstest(column, stats.uniform.cdf).pvalue for column in u.T)
        assert worst > 1e-3 / u.shape[1], name


@each_model
def test_only_two_have_a_closed_form(model):
    _, y = points(model, 2)
    assert (model.exact(y) is None) == (model.name not in ("heart_transplants", "concrete"))


def test_the_real_counts_are_there():
    t, n, y = glm_binomial.PEREGRINES
    assert (t[0], t[-1], len(t), len(n), len(y)) == (-1, 1, 40, 40, 40)
    assert (n.sum(), y.sum(), (y <= n).all()) == (3537, 2191, True)
    t, n, y = glm_binomial.BOOK
    assert (t[0], t[-1], len(n), n[0], n[-1]) == (-0.95, 1, 40, 43, 39)
    assert (n.sum(), y.sum(), (y <= n).all()) == (2604, 1747, True)
    assert hospitals.OPERATIONS.sum() == 3319
    assert (hospitals.OBSERVED <= hospitals.OPERATIONS).all()


def test_an_unknown_choice_is_refused():
    with pytest.raises(ValueError, match=r"peregrine or of book; got 'falcon'; take"):
        GLMBinomial(data="falcon")


@each_model
def test_models_are_plain_keys_with_names_for_every_coordinate(model):
    assert keys.read(keys.canonical_text(model)) == model
    assert len(model.names) == len(set(model.names)) == model.dims[0]
    z, y = simulated(model, 3)
    assert (z.shape[1], y.shape[1]) == model.dims
    assert "stand-in" not in model.label
    assert len({keys.key(item) for item in EVERY}) == len(EVERY)


@each_model
def test_simulation_repeats_itself(model):
    first, again = simulated(model, 3, 7), simulated(model, 3, 7)
    assert all(np.array_equal(*sides) for sides in zip(first, again, strict=True))
