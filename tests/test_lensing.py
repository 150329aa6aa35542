"""Lensing: the prior, the lens, the exact posterior, the diffusion's closed form, the study."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from validation_core import keys, published, sampling, statistics
from validation_core.benchmarks import galaxy_files, galaxy_images, lens
from validation_core.benchmarks.lens import NOISE, PIXELS, RIDGE
from validation_core.benchmarks.lensing import Lensing
from validation_core.explorers.highdim.lensing.study import LensingStudy
from validation_core.explorers.highdim.lensing.table import sweeps
from validation_core.rng import stream
from validation_core.scores.localizer import Localizer
from validation_core.store import Store

BIASES = ("turned lens", "convolved likelihood")


@pytest.fixture(scope="module")
def system():
    return Lensing().system


def test_prior_is_of_real_galaxies(system):
    hubble = galaxy_files.load_galaxies("hubble")
    assert hubble.shape[1:] == (16, 16)
    assert 600 < len(hubble) < 900
    values = np.linalg.eigvalsh(system.prior)[::-1]
    assert values[-1] >= 0.99 * RIDGE
    held = np.cumsum(values) / values.sum()
    assert 15 <= int((held < 0.9).sum()) + 1 <= 20
    mean = system.mean.reshape(16, 16)  # looks alike in the eight symmetries of the square
    np.testing.assert_allclose(mean, mean.T, atol=1e-12)
    np.testing.assert_allclose(mean, mean[::-1], atol=1e-12)
    assert mean[7:9, 7:9].mean() > 5 * mean[0].mean()


@pytest.mark.parametrize("kind", ["isothermal", "affine"])
def test_lens_keeps_surface_brightness(kind):
    forward = lens.lens_matrix(kind)
    assert forward.shape == (PIXELS, PIXELS)
    assert (forward >= 0).all()
    light = forward.sum(1).reshape(16, 16)
    assert light.max() <= 1 + 1e-9
    np.testing.assert_allclose(light[6:10, 6:10], 1, atol=1e-3)


def test_isothermal_lens_makes_a_ring():
    """A compact source at the middle is seen about one Einstein radius from it, not there."""
    source = np.zeros((16, 16))
    source[7:9, 7:9] = 1
    image = (lens.lens_matrix("isothermal") @ source.ravel()).reshape(16, 16)
    x, y = lens.pixel_coordinates()
    radius = np.hypot(x, y)
    brightest = radius[np.argsort(image.ravel())[-20:]]
    assert abs(brightest.mean() - lens.EINSTEIN) < 0.1
    assert image[7:9, 7:9].mean() < 0.7 * image.max()


def test_affine_lens_is_its_warp():
    """A linear ramp over the source is seen as the warped ramp, away from the edges."""
    x, y = lens.pixel_coordinates()
    seen = (lens.bilinear_weights(*lens.affine_rays(0.0)) @ x).reshape(16, 16)
    (a, b), _ = lens.WARP
    expected = (a * x + b * y).reshape(16, 16)
    np.testing.assert_allclose(seen[5:11, 5:11], expected[5:11, 5:11], atol=1e-12)


def test_posterior_is_conjugate(system):
    """Against the joint covariance of (theta, x), conditioned by Schur's complement."""
    prior, forward = system.prior, system.lens
    seen = forward @ prior @ forward.T + NOISE**2 * np.eye(PIXELS)
    cross = prior @ forward.T
    gain = np.linalg.solve(seen, cross.T).T
    np.testing.assert_allclose(system.posterior.gain, gain, atol=1e-7)
    covariance = prior - gain @ cross.T
    np.testing.assert_allclose(system.posterior.covariance, covariance, atol=1e-8)
    left = np.trace(covariance) / np.trace(prior)
    assert 0.02 < left < 0.5  # neither a point nor the prior
    narrowed = PIXELS - np.trace(np.linalg.solve(prior, covariance))
    assert 10 < narrowed < 100


@pytest.mark.parametrize("n", [800, pytest.param(2000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("gamma", [0.0, 0.5, 1.0])
def test_diffusion_leads_to_its_closed_form(system, gamma, n):
    """Mean, and covariance in Frobenius norm, of n draws by the steps themselves at one x.

    Beside it n draws of the closed form: what is left is Monte Carlo error, alike in both.
    """
    x = np.repeat(Lensing().x(1, stream(0)), n, axis=0)
    law = Lensing().estimator(gamma)
    mean = Lensing().moments(x[:1], gamma).mean[0]
    errors = []
    for diffusion in ("reverse SDE", "closed form"):
        draws = Lensing(diffusion=diffusion).q(x, gamma, stream(1, diffusion))
        off = draws - mean
        spread = np.sqrt(np.trace(law.covariance))
        assert np.linalg.norm(off.mean(0)) < 3 * spread / np.sqrt(n)
        apart = np.linalg.norm(np.cov(off.T) - law.covariance)
        errors.append(apart / np.linalg.norm(law.covariance))
    sde, closed = errors
    assert sde < 1.2 * closed


@pytest.mark.parametrize("bias", BIASES)
def test_steps_are_exact_without_bias(bias, system):
    """At a gamma of nearly 0 the recursion gives the posterior: within 2% in Frobenius norm."""
    law = Lensing(biased=bias).estimator(1e-9)
    posterior = system.posterior
    for one, other in ((law.gain, posterior.gain), (law.covariance, posterior.covariance)):
        assert np.linalg.norm(one - other) < 1e-6 * np.linalg.norm(other)


@pytest.mark.parametrize("bias", BIASES)
def test_defect_grows_with_gamma(bias, system):
    """Kullback-Leibler divergence of q from p, averaged over x, rises and is 0 at 0."""
    whitening = system.posterior.whitening
    seen = system.lens @ system.prior @ system.lens.T + NOISE**2 * np.eye(PIXELS)

    def divergence(gamma):
        law = Lensing(biased=bias).estimator(gamma)
        ratio = np.linalg.eigvalsh(whitening @ law.covariance @ whitening.T)
        off = whitening @ (law.gain - system.posterior.gain)
        return 0.5 * ((ratio - 1 - np.log(ratio)).sum() + np.trace(off @ seen @ off.T))

    values = [divergence(gamma) for gamma in (0.0, 0.5, 1.0)]
    assert values[0] == pytest.approx(0, abs=1e-9)
    assert 0.3 < values[1] < values[2] / 2 < 10


def test_turned_lens_is_right_on_average(system):
    """The mean of q over x is the prior's: no test of means of single pixels could see it."""
    law = Lensing().estimator(1.0)
    x = system.seen[None]
    np.testing.assert_allclose(Lensing().moments(x, 1.0).mean[0], system.mean, atol=1e-9)
    assert np.abs(law.gain - system.posterior.gain).max() > 0.01


def test_log_ratio_is_that_of_the_densities(system):
    benchmark, gamma = Lensing(), 0.7
    rows = sampling.blocks(benchmark, gamma, 4, 4, stream(2))
    law = benchmark.estimator(gamma)
    for side in (rows.p, rows.q):
        p, q = (benchmark.moments(side.x, strength).mean for strength in (0.0, gamma))
        expected = [
            multivariate_normal(p[i], system.posterior.covariance).logpdf(theta)
            - multivariate_normal(q[i], law.covariance).logpdf(theta)
            for i, theta in enumerate(side.theta)
        ]
        np.testing.assert_allclose(
            benchmark.log_ratio(side.theta, side.x, gamma), expected, rtol=1e-6
        )
    expected = [
        multivariate_normal(mean, system.posterior.covariance).logpdf(theta)
        for theta, mean in zip(rows.p.theta, benchmark.moments(rows.p.x, 0.0).mean, strict=True)
    ]
    np.testing.assert_allclose(benchmark.log_p(rows.p.theta, rows.p.x, gamma), expected, rtol=1e-8)


def test_ratio_at_gamma_zero_is_zero():
    rows = sampling.blocks(Lensing(), 0.0, 20, 20, stream(3))
    assert not Lensing().log_ratio(rows.p.theta, rows.p.x, 0.0).any()


def test_pairs_are_of_the_joint(system):
    """(theta, x) of p has the covariance of prior and lens: pixels' variances and one cross."""
    rows = sampling.pairs(Lensing(), 0.0, 4000, stream(4))
    np.testing.assert_allclose(rows.theta.var(0), np.diag(system.prior), rtol=0.2)
    residual = rows.x - rows.theta @ system.lens.T
    assert residual.std() == pytest.approx(NOISE, rel=0.01)


@pytest.mark.parametrize(
    ("field", "value"),
    [("lens", "glass"), ("galaxies", "none"), ("biased", "no"), ("diffusion", "fast")],
)
def test_unknown_options_are_refused(field, value):
    with pytest.raises(ValueError, match=f"{field} is .* or .*; got '{value}'"):
        Lensing(**{field: value})


def test_gamma_outside_is_refused():
    with pytest.raises(ValueError, match=r"biased score, from 0 to 1; got 1\.5"):
        Lensing().q(np.zeros((1, PIXELS)), 1.5, stream(0))


def blobs(n=40, side=32, channels=0):
    across = np.arange(side) - side / 2
    width = np.linspace(2, 6, n)[:, None, None]
    light = np.exp(-0.5 * (across[:, None] ** 2 + across**2) / width**2)
    light = light + 0.01 * np.random.default_rng(0).standard_normal(light.shape)
    return np.repeat(light[..., None], channels, axis=-1) if channels else light


def save_npy(path, array):
    np.save(path / "galaxies.npy", array)
    return path / "galaxies.npy"


def save_npz(path, array):
    np.savez(path / "galaxies.npz", galaxies=array, labels=np.zeros(3))
    return path / "galaxies.npz"


def save_h5(path, array):
    import h5py

    with h5py.File(path / "galaxies.h5", "w") as file:
        file["galaxies"] = array
    return path / "galaxies.h5"


@pytest.mark.parametrize("save", [save_npy, save_npz, save_h5])
def test_probes_are_read(save, tmp_path, monkeypatch):
    monkeypatch.setenv("NPTLAB_PROBES", str(save(tmp_path, blobs(channels=3))))
    benchmark = Lensing(galaxies="probes")
    assert benchmark.sources().shape == (40, PIXELS)
    mean = benchmark.system.mean.reshape(16, 16)
    assert mean[7:9, 7:9].min() > 0.5
    assert benchmark.x(3, stream(0)).shape == (3, PIXELS)
    assert "PROBES" in benchmark.label


@pytest.mark.parametrize("side", [16, 32, 40])
def test_reduced_by_area_means(side):
    light = np.random.default_rng(1).random((2, side, side))
    small = galaxy_images.downsample(light)
    assert small.shape == (2, 16, 16)
    np.testing.assert_allclose(small.mean((1, 2)), light.mean((1, 2)))
    if side == 32:
        np.testing.assert_allclose(small, light.reshape(2, 16, 2, 16, 2).mean((2, 4)))


def refused(monkeypatch, path):
    monkeypatch.setenv("NPTLAB_PROBES", str(path))
    with pytest.raises(ValueError, match="NPTLAB_PROBES" + r"|Galaxy images") as caught:
        Lensing(galaxies="probes").x(1, stream(0))
    return str(caught.value)


def test_another_file_of_probes_has_another_key(monkeypatch, tmp_path):
    benchmark, other = Lensing(galaxies="probes"), Lensing(galaxies="probes")
    path = tmp_path / "probes.npy"
    monkeypatch.setenv("NPTLAB_PROBES", str(path))
    np.save(path, np.zeros((40, 16, 16)))
    first = keys.canonical_text(benchmark)
    assert keys.read(first) == benchmark
    np.save(path, np.zeros((41, 16, 16)))
    assert keys.canonical_text(other) != first
    assert "probes" not in keys.canonical_text(Lensing())


def test_probes_without_a_file_are_refused(monkeypatch, tmp_path):
    monkeypatch.delenv("NPTLAB_PROBES", raising=False)
    with pytest.raises(ValueError, match="got no environment variable NPTLAB_PROBES"):
        Lensing(galaxies="probes").x(1, stream(0))
    assert "no such file" in refused(monkeypatch, tmp_path / "none.npy")
    assert ".png" in refused(monkeypatch, tmp_path / "none.png")


def test_probes_of_wrong_shape_are_refused(monkeypatch, tmp_path):
    for wrong in (np.zeros((40, 256)), np.zeros((40, 8, 8)), np.zeros((3, 32, 32))):
        assert str(wrong.shape) in refused(monkeypatch, save_npy(tmp_path, wrong))
    holes = blobs()
    holes[0, 0, 0] = np.nan
    assert "got 1 that are not" in refused(monkeypatch, save_npy(tmp_path, holes))
    np.savez(tmp_path / "two.npz", a=blobs(), b=blobs())
    assert "a, b" in refused(monkeypatch, tmp_path / "two.npz")


def test_probes_are_never_unpickled(monkeypatch, tmp_path):
    np.save(tmp_path / "objects.npy", np.array([{}, {}], dtype=object), allow_pickle=True)
    assert "could not be read" in refused(monkeypatch, tmp_path / "objects.npy")


@pytest.mark.slow
def test_classifier_keeps_its_level():
    """At gamma = 0, C2ST, Multiple and Uniform(20) by the trained classifier: 200 test sets."""
    from validation_core.methods import C2ST, Multiple, Uniform
    from validation_core.sweep import trials

    benchmark = Lensing()
    recipe = benchmark.classifier
    (network,) = recipe.learn_all([recipe.sample(benchmark, 0.0, stream(5))], [0])
    design = trials.TrialDesign(trials=200, n=300, seed=6)
    methods = [C2ST(), Multiple(), Uniform(m=20)]
    most = statistics.binomial_bounds(200, 0.05, 0.999)[1]
    for tally in trials.run_trials(benchmark, 0.0, network.at(), methods, design):
        assert (tally.pvalues <= 0.05).sum() <= most


SMALL = LensingStudy(
    benchmark=Lensing(),
    classifier=replace(Lensing().classifier, train=600, epochs=2, hidden=32),
    localizer=Localizer(embedding="identity", anchors=8, draws=8),
    count=1,
    held=200,
    draws=100,
)


@pytest.fixture(scope="module")
def seen(tmp_path_factory):
    store = Store(tmp_path_factory.mktemp("lensing"))
    small = replace(SMALL, benchmark=LensingAtThreeGammas())
    small.run(store, lambda fraction, live: None)
    return small.load(store)


class LensingAtThreeGammas(Lensing, spec="test_lensing_few"):
    """Three strengths."""

    @property
    def gammas(self):
        return 0.0, 0.5, 1.0


def test_study(seen):
    assert seen.draws.shape == (3, 4, 2, 16, 16)
    assert seen.draws.dtype == np.float16
    assert not seen.off[0].any()
    np.testing.assert_allclose(seen.spread[0], 1, atol=1e-3)
    assert not seen.colt[0].any()
    assert np.abs(seen.off[2]).max() > np.abs(seen.off[1]).max() > 0.2
    assert seen.oracle[0] == 0.5
    assert seen.oracle[2] > seen.oracle[1] > 0.7
    assert np.abs(seen.classifier.astype(float)).max() <= 1
    sizes = np.sqrt((seen.residual.astype(float) ** 2).mean((-1, -2)))
    assert (np.abs(sizes[0] - 1) < 0.25).all()  # draws of p fit the data


def test_true_error_is_that_of_the_means(seen):
    """Mean differences of many draws are the closed form's map."""
    benchmark = Lensing()
    x = np.repeat(seen.image[:1].astype(float).reshape(1, -1), 20_000, axis=0)
    p, q = benchmark.theta(x, 0.0, stream(7)), benchmark.q(x, 1.0, stream(8))
    measured = (q.mean(0) - p.mean(0)) / p.std(0)
    np.testing.assert_allclose(measured, seen.off[2, 0].ravel(), atol=0.06)


def test_sweeps_are_table_2():
    over_gamma, printed, over_beta, as_printed = sweeps()
    assert {*over_gamma.gammas, *printed.gammas} >= set(published.LENSING_GAMMA.places)
    assert over_gamma.gammas[0] == 0
    assert over_beta.betas == (0.0, 0.6, 0.7, 0.8, 0.9, 0.95)
    assert {method.name for method in over_gamma.methods} == {
        "c2st", "multiple", "uniform", "sbc", "tarp", "dc", "automl", "mmd_fuse",
    }  # fmt: skip
    labels = {method.label for method in over_gamma.methods}
    assert {"DC authors' net", "DC our features"} <= labels
    assert over_gamma.recipe == Lensing().classifier
    assert (as_printed.gammas, as_printed.betas) == ((1.0,), published.LENSING_BETA.places)
    assert [method.label for method in as_printed.methods] == [
        "C2ST", "Multiple", "Uniform(50)", "AutoML of the classifier",
    ]  # fmt: skip
    learnt = {method.label: over_gamma.network(method, 0.5) for method in over_gamma.methods}
    assert learnt["C2ST"] == learnt["AutoML of the classifier"]
    assert learnt["C2ST"].recipe.train == 2000
    for label in ("DC authors' net", "DC our features", "AutoML-style"):
        assert learnt[label].recipe.n == 2000
    for sweep in (over_gamma, over_beta, printed, as_printed):
        assert sweep.design.trials == 50
        assert keys.read(keys.canonical_text(sweep)) == sweep
    shared = set(over_gamma.parts) & set(over_beta.parts)
    assert shared  # what both ask for runs once
