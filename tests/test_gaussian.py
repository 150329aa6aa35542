"""The Gaussian family against its formulas."""

import numpy as np
import pytest
from scipy import stats

from validation_core import sampling
from validation_core.benchmarks import BENCHMARKS, BayesModel, Spiral, Trained, Tree
from validation_core.benchmarks.gaussian import DIMENSIONS, Gaussian, gaussian_parameters
from validation_core.benchmarks.perturbations import PERTURBATIONS
from validation_core.methods import SBC
from validation_core.rng import stream
from validation_core.sweep.plan import Sweep

PERTURBED = [name for name in PERTURBATIONS if name != "blind_prior"]
DENSE = [(3, 3), (10, 10)]


def _middle(name):
    grid = PERTURBATIONS[name].gammas
    return grid[len(grid) // 2]


@pytest.mark.parametrize("dims", DENSE)
@pytest.mark.parametrize("name", list(PERTURBATIONS))
def test_log_ratio_has_the_signs_of_a_divergence(name, dims):
    """Its mean under p is KL(p|q) >= 0, and under q -KL(q|p) <= 0 (Gibbs)."""
    benchmark = Gaussian(perturbation=name, dim_x=dims[0], dim_theta=dims[1])
    gamma = _middle(name)
    blocks = sampling.blocks(benchmark, gamma, 4000, 4000, stream(0, name))
    for rows, sign in ((blocks.p, 1), (blocks.q, -1)):
        ratio = sign * benchmark.log_ratio(rows.theta, rows.x, gamma)
        assert np.isfinite(ratio).all()
        assert ratio.mean() > -3 * ratio.std() / np.sqrt(len(ratio))
        assert abs(ratio.mean()) > 0.005


@pytest.mark.parametrize("name", PERTURBED)
def test_exponentiated_ratio_averages_to_one(name):
    """E_q[p/q] = 1 where q covers p; E_p[q/p] = 1 otherwise: the ratio's constant is right."""
    benchmark, gamma = Gaussian(perturbation=name), PERTURBATIONS[name].gammas[1]
    blocks = sampling.blocks(benchmark, gamma, 40_000, 40_000, stream(1, name))
    rows, sign = (blocks.p, -1) if name == "mode_collapse" else (blocks.q, 1)
    weight = np.exp(sign * benchmark.log_ratio(rows.theta, rows.x, gamma))
    assert abs(weight.mean() - 1) < 5 * weight.std() / np.sqrt(len(weight)) + 1e-9


@pytest.mark.parametrize("name", PERTURBED)
def test_at_gamma_zero_nothing_differs(name):
    benchmark = Gaussian(perturbation=name)
    blocks = sampling.blocks(benchmark, 0.0, 500, 500, stream(2, name))
    assert not benchmark.log_ratio(blocks.p.theta, blocks.p.x, 0.0).any()
    x = benchmark.x(200, stream(3))
    same = [make(x, 0.0, stream(4)) for make in (benchmark.theta, benchmark.q)]
    # The samplers may use their stream differently; the laws are equal.
    a, b = (benchmark.whiten(theta - benchmark.mean(x), x) for theta in same)
    for sample in (a, b):
        assert stats.kstest(sample.ravel(), "norm").pvalue > 1e-4


def test_mean_shift_divergence_in_closed_form():
    """KL(p|q) + KL(q|p) = gamma^2 E[mu' S^-1 mu]."""
    benchmark, gamma = Gaussian(), 0.2
    blocks = sampling.blocks(benchmark, gamma, 100_000, 100_000, stream(5))
    p = benchmark.log_ratio(blocks.p.theta, blocks.p.x, gamma)
    q = benchmark.log_ratio(blocks.q.theta, blocks.q.x, gamma)
    mean = benchmark.whiten(benchmark.mean(blocks.p.x), blocks.p.x)
    expected = gamma**2 * (mean**2).sum(-1)
    # At each x the ratio has mean expected / 2 under p: its own mean over x would not settle,
    # since E[1 / |w2'x|] is infinite.
    centred = p - expected / 2
    assert abs(centred.mean()) < 4 * centred.std() / np.sqrt(len(p))
    assert q.mean() < 0


def test_covariance_is_scaled_not_the_sd():
    benchmark = Gaussian()
    x = np.repeat(benchmark.x(1, stream(6)), 50_000, axis=0)
    draws = benchmark.theta(x, 0.0, stream(7))
    index = np.arange(3)
    sigma = 0.9 ** np.abs(index[:, None] - index)
    np.testing.assert_allclose(np.cov(draws.T), benchmark.scale(x)[0] * sigma, rtol=0.05)
    wider = Gaussian(perturbation="covariance_scaling").q(x, 1.0, stream(8))
    np.testing.assert_allclose(np.cov(wider.T), 2 * np.cov(draws.T), rtol=0.05)


def test_anisotropic_widens_the_narrow_direction_only():
    benchmark = Gaussian(perturbation="anisotropic")
    x = np.repeat(benchmark.x(1, stream(9)), 50_000, axis=0)
    extra = np.cov(benchmark.q(x, 2.0, stream(10)).T) - np.cov(benchmark.theta(x, 2, stream(11)).T)
    v = gaussian_parameters(3, 3).narrow
    assert v @ extra @ v == pytest.approx(2.0, rel=0.05)
    assert np.trace(extra) == pytest.approx(2.0, rel=0.15)


@pytest.mark.parametrize(("size", "expected"), [(3, 0.0693), (10, 0.0539), (100, 0.0526)])
def test_smallest_eigenvalue(size, expected):
    assert gaussian_parameters(size, size).lam_min == pytest.approx(expected, abs=5e-5)


def test_heavy_tail_is_students_t():
    benchmark, gamma = Gaussian(perturbation="heavy_tail"), 0.5
    x = benchmark.x(20_000, stream(12))
    draws = benchmark.whiten(benchmark.q(x, gamma, stream(13)) - benchmark.mean(x), x)
    assert stats.kstest(draws[:, 0], stats.t(df=2).cdf).pvalue > 1e-4


@pytest.mark.parametrize("name", ["additional_mode", "mode_collapse"])
def test_second_mode_has_mass_gamma(name):
    benchmark, gamma = Gaussian(perturbation=name), 0.3
    x = benchmark.x(20_000, stream(14))
    two = (benchmark.q if name == "additional_mode" else benchmark.theta)(x, gamma, stream(15))
    mean = benchmark.mean(x)
    far = (mean**2).sum(-1) > 40 * benchmark.scale(x)  # modes well apart
    nearer = ((two + mean) ** 2).sum(-1) < ((two - mean) ** 2).sum(-1)
    share = nearer[far].mean()
    assert share == pytest.approx(gamma, abs=4 * np.sqrt(0.21 / far.sum()) + 0.01)


def test_blind_prior_ignores_x():
    benchmark = Gaussian(perturbation="blind_prior")
    x = benchmark.x(20_000, stream(16))
    q, p = benchmark.q(x, 1.0, stream(17)), benchmark.theta(x, 1.0, stream(18))
    assert abs(np.corrcoef(q[:, 0], benchmark.mean(x)[:, 0])[0, 1]) < 0.03
    assert stats.ks_2samp(q[:, 0], p[:, 0]).pvalue > 1e-4


@pytest.mark.parametrize("dims", DIMENSIONS)
def test_papers_dimensions(dims):
    benchmark = Gaussian(dim_x=dims[0], dim_theta=dims[1])
    table = sampling.table(benchmark, 0.1, 7, 4, stream(19))
    assert table.theta.shape == (7, dims[1])
    assert table.x.shape == (7, dims[0])
    assert table.q.shape == (7, 4, dims[1])


@pytest.mark.parametrize("bad", [{"perturbation": "none"}, {"dim_x": 0}, {"dim_theta": 2000}])
def test_bad_options_say_what_is_allowed(bad):
    with pytest.raises(ValueError, match="got"):
        Gaussian(**bad)


@pytest.mark.parametrize(
    ("name", "gamma", "rule"),
    [
        ("mode_collapse", 5, "from 0 to 1; got 5"),
        ("additional_mode", -1, "from 0 to 1; got -1"),
        ("heavy_tail", -1, "0 or more; got -1"),
        ("anisotropic", -0.5, "0 or more; got -0.5"),
        ("covariance_scaling", -1, "above -1; got -1"),
        ("mean_shift", np.nan, "a finite number; got nan"),
    ],
)
def test_a_gamma_without_a_q_is_refused_before_any_trial(name, gamma, rule):
    with pytest.raises(ValueError, match=rule):
        Sweep(benchmark=Gaussian(perturbation=name), methods=(SBC(),), gammas=(0.0, gamma))


@pytest.mark.parametrize("kind", BENCHMARKS.values())
def test_every_gamma_of_a_grid_has_a_q(kind):
    for options in [{"perturbation": n} for n in PERTURBATIONS] if kind is Gaussian else [{}]:
        benchmark = kind(**options)
        for gamma in benchmark.gammas:
            benchmark.check_gamma(gamma)


@pytest.mark.parametrize("benchmark", [Spiral(), Tree(noise="added"), Trained(), BayesModel()])
def test_other_benchmarks_refuse_a_negative_gamma(benchmark):
    with pytest.raises(ValueError, match=r"gamma .*; got -1"):
        benchmark.check_gamma(-1)


@pytest.mark.parametrize("dims", [(1, 1), (2, 2), (1, 2), (5, 1)])
@pytest.mark.parametrize("name", list(PERTURBATIONS))
def test_small_dimensions(name, dims):
    benchmark = Gaussian(perturbation=name, dim_x=dims[0], dim_theta=dims[1])
    blocks = sampling.blocks(benchmark, _middle(name), 300, 200, stream(20, name))
    assert blocks.p.theta.shape == (300, dims[1])
    for rows in (blocks.p, blocks.q):
        assert np.isfinite(benchmark.log_ratio(rows.theta, rows.x, _middle(name))).all()
        assert benchmark.log_p(rows.theta, rows.x, _middle(name)).shape == (len(rows),)


@pytest.mark.parametrize("dims", [*DENSE, (2, 1)])
def test_density_is_the_normals(dims):
    """Against scipy's, mode by mode; the second mode counts where p collapses only."""
    gaussian = Gaussian(dim_x=dims[0], dim_theta=dims[1])
    two = Gaussian(perturbation="mode_collapse", dim_x=dims[0], dim_theta=dims[1])
    x = gaussian.x(20, stream(21))
    theta = two.theta(x, 0.4, stream(22))
    index = np.arange(dims[1])
    sigma = 0.9 ** np.abs(index[:, None] - index)
    there, mirrored = (
        np.array([
            stats.multivariate_normal(sign * mean, scale * sigma).logpdf(row)
            for row, mean, scale in zip(theta, gaussian.mean(x), gaussian.scale(x), strict=True)
        ])
        for sign in (1, -1)
    )  # fmt: skip
    np.testing.assert_allclose(gaussian.log_p(theta, x, 0.4), there, rtol=1e-8)
    mixed = np.logaddexp(np.log(0.6) + there, np.log(0.4) + mirrored)
    np.testing.assert_allclose(two.log_p(theta, x, 0.4), mixed, rtol=1e-8)
    np.testing.assert_allclose(two.log_p(theta, x, 0.0), there, rtol=1e-8)


def test_density_integrates_to_one():
    benchmark = Gaussian(perturbation="mode_collapse", dim_x=2, dim_theta=1)
    x = benchmark.x(1, stream(23))
    grid = np.linspace(-40, 40, 80_001)
    density = np.exp(benchmark.log_p(grid[:, None], np.repeat(x, len(grid), axis=0), 0.3))
    assert np.trapezoid(density, grid) == pytest.approx(1.0, abs=1e-8)
