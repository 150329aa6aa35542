"""The diffusion model: EDM's numbers, a sampler against closed forms, a network that learns."""

import numpy as np
import pytest

from validation_core import keys
from validation_core.estimators.diffusion import (
    PRESETS,
    SIGMA_DATA,
    STEPS,
    Diffusion,
    TrainedDiffusion,
    edm_scalings,
    network,
    noise_levels,
    sampling_trajectory,
    train_diffusion,
)
from validation_core.estimators.diffusion.network import NetworkShape, draw_noisy_examples
from validation_core.rng import stream
from validation_core.types import Joint

SHORT = Diffusion(pairs=4096, epochs=40, batch=256, hidden=32, layers=2, lr=5e-3)


def _spiral(x):
    return np.concatenate([x * np.cos(x), x * np.sin(x)], axis=1)


def _x(n, *names):
    return stream(0, "x", *names).uniform(1.5 * np.pi, 4.5 * np.pi, (n, 1))


def _data(n=SHORT.pairs):
    x = _x(n)
    return Joint(_spiral(x), x)


def _latents(n, *names):
    return stream(0, "latents", *names).standard_normal((n, 2))


def _errors(model, step, n=4000):
    """Samples less the truth, in the training scale."""
    x = _x(n, "test")
    (state,) = model.sample(x, [step], _latents(n))
    return (state - _spiral(x)) / model.theta_scale


@pytest.fixture(scope="module")
def trained():
    return train_diffusion(_data(), SHORT, seed=0)


def test_levels_are_those_of_edm():
    t = noise_levels(20)
    assert t.shape == (21,)
    np.testing.assert_allclose(t[[0, 19, 20]], [80, 0.002, 0], rtol=1e-12)
    expected = [0.201, 0.0990, 0.0449, 0.0184, 0.0066, 0.0020, 0]
    np.testing.assert_allclose(t[14:], expected, atol=5e-4, rtol=6e-3)
    assert np.all(np.diff(t) < 0)
    np.testing.assert_array_equal(noise_levels(), t)
    with pytest.raises(ValueError, match="at least two steps; got 1"):
        noise_levels(1)


def test_scalings_undo_the_target():
    """skip noisy + out target is theta again: a network without error is a perfect denoiser."""
    theta = stream(1).normal(0.3, 0.5, (1000, 2))
    built = draw_noisy_examples(theta, stream(2))
    scale = edm_scalings(np.exp(4 * built.code.astype(float)))
    again = scale.skip * built.into / scale.into + scale.out * built.target
    np.testing.assert_allclose(again, theta, atol=2e-5)


def test_network_sees_and_gives_unit_variance_at_every_level():
    rng = stream(3)
    theta = SIGMA_DATA * rng.standard_normal(200_000)
    for sigma in noise_levels()[:-1]:
        scale = edm_scalings(sigma)
        noisy = theta + sigma * rng.standard_normal(len(theta))
        assert np.std(scale.into * noisy) == pytest.approx(1, abs=0.01)
        assert np.std((theta - scale.skip * noisy) / scale.out) == pytest.approx(1, abs=0.01)
        # unit weight on F is EDM's weight on D
        weight = (sigma**2 + 0.25) / (sigma * 0.5) ** 2
        assert 1 / scale.out**2 == pytest.approx(weight, rel=1e-9)


def test_training_noise_is_lognormal():
    built = draw_noisy_examples(np.zeros((100_000, 2)), stream(4))
    log_sigma = 4 * built.code[:, 0]
    assert log_sigma.mean() == pytest.approx(-1.2, abs=0.02)
    assert log_sigma.std() == pytest.approx(1.2, abs=0.02)
    # one level per row, other noise in each coordinate
    assert built.code.shape == (100_000, 1)
    assert np.corrcoef(built.into.T)[0, 1] == pytest.approx(0, abs=0.02)


def test_sampler_is_exact_for_a_point():
    """D = theta makes straight trajectories: the state after step k is N(theta(..), t_k^2 I)."""
    theta, z = np.array([0.7, -0.4]), _latents(500)
    states = list(sampling_trajectory(lambda state, sigma: theta + 0 * state, z))
    assert len(states) == STEPS + 1
    for state, t in zip(states, noise_levels(), strict=True):
        np.testing.assert_allclose(state, theta * (1 - t / 80) + t * z, atol=1e-12)


def _gaussian(mean, variance):
    return lambda state, sigma: (variance * state + sigma**2 * mean) / (variance + sigma**2)


def _flow(z, mean, variance, t):
    """The probability flow of N(mean, variance) data from 80 z, at noise sd t."""
    return mean + np.sqrt((variance + t**2) / (variance + 80**2)) * (80 * z - mean)


@pytest.mark.parametrize(("total", "within"), [(20, 0.05), (80, 0.003)])
def test_sampler_has_the_mean_and_sd_of_gaussian_data_at_every_step(total, within):
    mean, sd = np.array([0.5, -1.0]), 0.5
    z = _latents(20_000)
    z = (z - z.mean(0)) / z.std(0)  # so that what is left is the sampler's own error
    states = sampling_trajectory(_gaussian(mean, sd**2), z, total)
    for state, t in zip(states, noise_levels(total), strict=True):
        # the flow of N(mean, sd^2) from 80 z, not from mean + 80 z
        shrunk = np.sqrt((sd**2 + t**2) / (sd**2 + 80**2))
        np.testing.assert_allclose(state.std(0), 80 * shrunk, rtol=within)
        np.testing.assert_allclose(state.mean(0), mean * (1 - shrunk), atol=within * 80 * shrunk)


def test_sampler_takes_heun_steps():
    """Centred Gaussian data make the flow x' = a(t) x, so that each step has its gain."""
    t, variance = noise_levels(), 0.25
    a, h = t / (variance + t**2), np.diff(t)
    gains = 1 + h / 2 * (a[:-1] + a[1:] * (1 + h * a[:-1]))
    gains[-1] = 1 + h[-1] * a[-2]  # Euler's, at 0
    z = _latents(10)
    states = list(sampling_trajectory(_gaussian(0.0, variance), z))
    for state, gain in zip(states[1:], np.cumprod(gains), strict=True):
        np.testing.assert_allclose(state, 80 * gain * z, rtol=1e-9)


def test_sampler_is_of_second_order():
    z, mean, variance = _latents(100), 0.3, 0.25
    errors = []
    for total in (20, 40, 80):
        *_, end = sampling_trajectory(_gaussian(mean, variance), z, total)
        errors.append(np.abs(end - _flow(z, mean, variance, 0.0)).max())
    assert errors[0] / errors[1] > 3.5
    assert errors[1] / errors[2] > 3.5


def test_sampler_evaluates_the_network_no_more_than_it_needs():
    calls = []

    def denoise(state, sigma):
        calls.append(sigma)
        return state

    states = sampling_trajectory(denoise, _latents(3))
    for _ in range(16):
        next(states)
    assert len(calls) == 30
    list(states)
    assert len(calls) == 39
    assert min(calls) == pytest.approx(0.002)


def test_the_network_is_three_parts_with_skips():
    """A sum of three parts, silu, and skips from the second hidden layer on."""
    import torch

    rng = stream(5)
    p = NetworkShape(theta=2, x=3, hidden=8, layers=3).initial(rng)
    into, x, code = (rng.standard_normal((6, k)).astype(np.float32) for k in (2, 3, 1))

    def silu(a):
        return a / (1 + np.exp(-a))

    def affine(name, h):
        return h @ p[f"{name}.weight"] + p[f"{name}.bias"]

    of_x = silu(affine("x0", x))
    of_x = affine("x2", of_x + silu(affine("x1", of_x)))
    angles = code * 8.0 ** (np.arange(8) / 7)
    waves = np.concatenate([np.sin(angles), np.cos(angles)], axis=1)
    of_level = affine("level1", silu(affine("level0", waves)))
    h = silu(affine("theta", into) + of_x + of_level)
    for name in ("trunk1", "trunk2"):
        h = h + silu(affine(name, h))
    tensors = {name: torch.from_numpy(array) for name, array in p.items()}
    built = network.forward_pass(
        tensors, torch.from_numpy(into), network.embed_x(tensors, torch.from_numpy(x)),
        network.embed_level(tensors, torch.from_numpy(code)),
    )  # fmt: skip
    np.testing.assert_allclose(built.numpy(), affine("out", h), rtol=1e-4, atol=1e-5)


def test_training_finds_the_spiral(trained):
    loss = trained.history["loss"]
    assert loss[-1] < 0.25 * loss[0]
    assert trained.history["epoch"][-1] == SHORT.epochs
    rms = np.sqrt((_errors(trained, STEPS) ** 2).mean())
    # a draw that ignores x is 0.7 away in each coordinate
    assert rms < 0.15
    np.testing.assert_allclose(trained.theta_scale, 2 * _data().theta.std(0), rtol=1e-5)


def test_fewer_steps_leave_more_noise(trained):
    spread = [np.sqrt((_errors(trained, step) ** 2).mean()) for step in (20, 15, 12, 8, 0)]
    assert np.all(np.diff(spread) > 0)
    assert spread[3] == pytest.approx(noise_levels()[8], rel=0.1)
    assert spread[4] == pytest.approx(80, rel=0.05)


@pytest.mark.slow
def test_a_tenth_of_the_default_training_lies_on_the_spiral():
    """Within 0.015 of a scale of 0.5, and the ideal noise before that."""
    model = train_diffusion(_data(Diffusion().pairs), Diffusion(epochs=70), seed=0)
    assert np.sqrt((_errors(model, 20) ** 2).mean()) < 0.015
    for step in (15, 16):
        errors = _errors(model, step, 20_000)
        np.testing.assert_allclose(errors.std(0), noise_levels()[step], rtol=0.03)
        np.testing.assert_allclose(errors.mean(0), 0, atol=0.005)


def test_states_of_one_trajectory_are_the_same_however_asked(trained):
    x, z = _x(50), _latents(50)
    together = trained.sample(x, [20, 15, 0, 20], z)
    for step, state in zip([20, 15, 0, 20], together, strict=True):
        (alone,) = trained.sample(x, [step], z)
        np.testing.assert_array_equal(alone, state)
        assert state.shape == (50, 2)
        assert state.dtype == np.float32
    start = 80 * z.astype(np.float32) * trained.theta_scale + trained.theta_shift
    np.testing.assert_allclose(together[2], start, rtol=1e-5)


def test_noise_is_in_the_units_of_theta(trained):
    assert trained.noise().shape == (21, 2)
    np.testing.assert_allclose(trained.noise()[15], noise_levels()[15] * trained.theta_scale)


def test_chunks_change_nothing(trained):
    x, z = _x(2500), _latents(2500)
    whole = trained.sample(x, [20, 17], z)
    for cut in (slice(0, 300), slice(300, 2500)):
        parts = trained.sample(x[cut], [20, 17], z[cut])
        for item, part in zip(whole, parts, strict=True):
            np.testing.assert_allclose(part, item[cut], rtol=1e-3, atol=1e-3)


def test_no_rows_and_no_steps(trained):
    (empty,) = trained.sample(np.empty((0, 1)), [20], np.empty((0, 2)))
    assert empty.shape == (0, 2)
    assert trained.sample(_x(5), [], _latents(5)) == []


def test_other_latents_other_samples(trained):
    x = _x(300)
    first, second = (trained.sample(x, [20], _latents(300, k))[0] for k in "ab")
    residuals = [(s - _spiral(x)) / trained.theta_scale for s in (first, second)]
    assert not np.array_equal(first, second)
    assert np.std(residuals[0] - residuals[1]) > 0.01


def test_same_seed_same_bits_other_seed_other_network():
    recipe = Diffusion(pairs=500, epochs=2, hidden=16)
    first, again = (train_diffusion(_data(500), recipe, seed=3) for _ in range(2))
    other = train_diffusion(_data(500), recipe, seed=4)
    for name, array in first.network.items():
        np.testing.assert_array_equal(array, again.network[name])
        assert not np.array_equal(array, other.network[name])
    np.testing.assert_array_equal(first.history["loss"], again.history["loss"])


def test_units_do_not_matter():
    recipe = Diffusion(pairs=500, epochs=2, hidden=16)
    data = _data(500)
    learnt_score = train_diffusion(data, recipe, seed=0)
    moved = train_diffusion(Joint(100 * data.theta + 7, data.x / 50 - 3), recipe, seed=0)
    x, z = _x(100), _latents(100)
    (item,), (other,) = learnt_score.sample(x, [20], z), moved.sample(x / 50 - 3, [20], z)
    np.testing.assert_allclose(other, 100 * item + 7, rtol=0.01, atol=1)


def test_arrays_survive_the_store(trained, tmp_path):
    from validation_core.store import Store

    store = Store(tmp_path)
    meta = {"seconds": trained.seconds, "device": trained.device}
    store.save("models", "0" * 32, trained.arrays(), spec="{}", meta=meta)
    stored = store.load("models", "0" * 32)
    again = TrainedDiffusion.read(stored.arrays, seconds=stored.meta["seconds"], device="cpu")
    x, z = _x(40), _latents(40)
    for item, other in zip(
        trained.sample(x, [20, 16], z), again.sample(x, [20, 16], z), strict=True
    ):
        np.testing.assert_array_equal(item, other)
    np.testing.assert_array_equal(again.history["loss"], trained.history["loss"])
    assert again.seconds == trained.seconds > 0


def test_default_network_is_small():
    recipe = Diffusion()
    start = NetworkShape(theta=2, x=1, hidden=recipe.hidden, layers=recipe.layers).initial(
        stream(0)
    )
    assert sum(array.nbytes for array in start.values()) < 300_000


def test_progress_is_told():
    reports = []
    recipe = Diffusion(pairs=300, epochs=5, hidden=8)
    model = train_diffusion(
        _data(300), recipe, 0, lambda done, live: reports.append((done, dict(live)))
    )
    assert [done for done, _ in reports] == pytest.approx([0.2, 0.4, 0.6, 0.8, 1.0])
    assert reports[-1][1] == {"epoch": 5.0, "loss": pytest.approx(model.history["loss"][-1])}


def test_what_does_not_fit_is_refused(trained):
    x, z = _x(4), _latents(4)
    with pytest.raises(ValueError, match=r"between 0 and 20; got \[21\]"):
        trained.sample(x, [21], z)
    with pytest.raises(ValueError, match=r"one row of latents"):
        trained.sample(x, [20], z[:3])
    with pytest.raises(ValueError, match=r"takes x \(4, 1\)"):
        trained.sample(np.zeros((4, 2)), [20], z)


def test_recipe():
    assert Diffusion.preset("interactive") == Diffusion()
    paper = Diffusion.preset("paper")
    assert (paper.pairs, paper.epochs, paper.lr) == (32_768, 50_000, 1e-4)
    assert keys.read(keys.canonical_text(paper)) == paper
    assert keys.key(paper) != keys.key(PRESETS["interactive"])
    with pytest.raises(ValueError, match="hidden lies between 8 and 1,024; got 4"):
        Diffusion(hidden=4)
