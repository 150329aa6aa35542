"""The curved Gaussian family: one frozen map, after the perturbation."""

import numpy as np
import pytest

from validation_core import keys, sampling
from validation_core.benchmarks.gaussian import HIDDEN, Gaussian, curved_map
from validation_core.benchmarks.perturbations import PERTURBATIONS
from validation_core.rng import stream


@pytest.mark.parametrize("dim", [1, 3, 10])
def test_weights_are_torchs_default_and_fixed(dim):
    built = curved_map(dim)
    assert [w.shape for w in built] == [(HIDDEN, dim), (HIDDEN,), (dim, HIDDEN), (dim,)]
    for weights, fan_in in zip(built, (dim, dim, HIDDEN, HIDDEN), strict=True):
        bound = 1 / np.sqrt(fan_in)
        assert np.abs(weights).max() <= bound
    inward = np.concatenate([built.inward.ravel(), built.phase])
    assert inward.std() == pytest.approx(1 / np.sqrt(3 * dim), rel=0.15)
    assert np.abs(built.outward).max() > 0.9 / np.sqrt(HIDDEN)
    with pytest.raises(ValueError, match="read-only"):
        built.inward[0, 0] = 1.0
    curved_map.cache_clear()
    np.testing.assert_array_equal(curved_map(dim).outward, built.outward)


def test_it_is_the_network_of_the_paper():
    """Against the same weights in torch's own layers."""
    import torch
    from torch import nn

    built, gain = curved_map(3), 1.7
    first, second = nn.Linear(3, HIDDEN).double(), nn.Linear(HIDDEN, 3).double()
    for layer, weight, bias in ((first, *built[:2]), (second, *built[2:])):
        for ours, theirs in ((weight, layer.weight), (bias, layer.bias)):
            bound = layer.in_features**-0.5  # what torch starts from lies within it too
            assert max(np.abs(ours).max(), np.abs(theirs.detach().numpy()).max()) <= bound
        layer.weight.data, layer.bias.data = torch.tensor(weight), torch.tensor(bias)
    theta = stream(0, "curved").standard_normal((50, 3))
    expected = second(torch.sin(gain * first(torch.tensor(theta)))).detach().numpy()
    np.testing.assert_allclose(built(theta, gain), expected, atol=1e-14)


def test_a_larger_gain_is_further_from_affine():
    """The share of the image that no affine map of theta explains."""
    theta = stream(1, "curved").standard_normal((4000, 3))
    design = np.column_stack([theta, np.ones(len(theta))])
    left = []
    for gain in (0.1, 0.5, 1.0, 2.0, 5.0):
        image = curved_map(3)(theta, gain)
        rest = image - design @ np.linalg.lstsq(design, image, rcond=None)[0]
        left.append(rest.var(axis=0).sum() / image.var(axis=0).sum())
    assert left[0] < 1e-4
    assert np.all(np.diff(left) > 0)
    assert left[-1] > 0.5


@pytest.mark.parametrize("perturbation", PERTURBATIONS)
@pytest.mark.parametrize("dims", [(3, 3), (50, 10)])
def test_p_and_q_are_perturbed_first_and_bent_after(perturbation, dims):
    straight = Gaussian(perturbation=perturbation, dim_x=dims[0], dim_theta=dims[1])
    bent = Gaussian(
        perturbation=perturbation, dim_x=dims[0], dim_theta=dims[1], curved=True, gain=2.0
    )
    gamma = straight.gammas[-1]
    flat, curved = (sampling.table(b, gamma, 40, 5, stream(2)) for b in (straight, bent))
    f = curved_map(dims[1])
    np.testing.assert_array_equal(flat.x, curved.x)
    np.testing.assert_allclose(curved.theta, f(flat.theta, 2.0), atol=1e-12)
    np.testing.assert_allclose(curved.q, f(flat.q, 2.0), atol=1e-12)


def test_nobody_knows_the_density_of_the_curved_family():
    bent = Gaussian(curved=True)
    x = bent.x(5, stream(3))
    theta = bent.theta(x, 0.0, stream(4))
    for gamma in (0.0, 0.1):
        assert bent.log_ratio(theta, x, gamma) is None
        assert bent.log_p(theta, x, gamma) is None


def test_labels_say_curved_and_gain():
    assert Gaussian(curved=True, gain=2.5).label.endswith("curved, gain 2.5")
    assert "curved" not in Gaussian().label
    assert "bends" in Gaussian(curved=True).summary
    gaussian = Gaussian(curved=True, gain=2.0)
    assert keys.read(keys.canonical_text(gaussian)) == gaussian
    assert keys.key(gaussian) != keys.key(Gaussian(curved=True))


@pytest.mark.parametrize("gain", [0.0, -1.0, 11.0, float("nan")])
def test_bad_gains_say_what_is_allowed(gain):
    with pytest.raises(ValueError, match=r"between 0.1 and 10; got"):
        Gaussian(curved=True, gain=gain)
