"""What a localizer climbs: W2 and Sinkhorn against reference numbers, and ranks with a slope."""

import numpy as np
import pytest
import torch

from validation_core.rng import stream
from validation_core.scores import localizer_training

CASES = ("uniform", "beta", "ranks", "collapsed", "narrow")


def _value_and_gradient(function, u):
    ranks = torch.tensor(u, dtype=torch.float64, requires_grad=True)
    value = function(ranks)
    value.backward()
    return value.item(), ranks.grad.numpy()


def _by_rank(u, gradient):
    """Gradients in the order of the ranks; among equal ranks any order is a subgradient."""
    return gradient[np.lexsort((gradient, u))]


@pytest.mark.parametrize("name", CASES)
def test_w2_is_the_reference(reference, name):
    case, arrays, expected = reference(f"sinkhorn-{name}")
    value, gradient = _value_and_gradient(localizer_training.squared_wasserstein, arrays["u"])
    assert value == pytest.approx(case["outputs"]["w2_squared"], rel=1e-12)
    np.testing.assert_allclose(
        _by_rank(arrays["u"], gradient), _by_rank(arrays["u"], expected["gradient_w2_squared"]),
        rtol=1e-12, atol=1e-15,
    )  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_sinkhorn_is_the_reference(reference, name):
    """geomloss at our scaling, and the fixed point that its annealing stops just short of."""
    case, arrays, expected = reference(f"sinkhorn-{name}")
    kind = f"blur{localizer_training.SINKHORN_BLUR}_scaling{localizer_training.SINKHORN_SCALING}"
    value, gradient = _value_and_gradient(localizer_training.sinkhorn_divergence, arrays["u"])
    assert value == pytest.approx(case["outputs"][f"geomloss_{kind}"], rel=1e-6)
    np.testing.assert_allclose(gradient, expected[f"gradient_geomloss_{kind}"], atol=1e-7)
    converged = case["outputs"][f"converged_blur{localizer_training.SINKHORN_BLUR}"]
    assert 0.95 * converged < value <= converged
    default = case["outputs"]["geomloss_blur0.05_scaling0.5"]
    assert converged - value < (converged - default) / 5, "geomloss's own scaling is no worse"
    slope = expected[f"gradient_converged_blur{localizer_training.SINKHORN_BLUR}"]
    assert gradient @ slope / np.linalg.norm(gradient) / np.linalg.norm(slope) > 0.97


def test_w2_is_twice_sinkhorn_as_the_blur_goes_to_0(monkeypatch):
    u = torch.from_numpy(stream(0).beta(2.0, 4.0, 80))
    gaps = []
    for blur in (0.2, 0.05, 0.01):
        monkeypatch.setattr(localizer_training, "SINKHORN_BLUR", blur)
        gaps.append(
            abs(
                float(
                    localizer_training.squared_wasserstein(u)
                    / localizer_training.sinkhorn_divergence(u)
                )
                - 2
            )
        )
    assert gaps[0] > gaps[1] > gaps[2]
    assert gaps[2] < 1e-2


@pytest.mark.parametrize(
    "far", [localizer_training.squared_wasserstein, localizer_training.sinkhorn_divergence]
)
def test_0_on_the_grid_largest_at_an_end(far):
    """The grid is uniform, ranks all 1 are as far as ranks go, collapsed ones earn a quarter."""
    n = 50
    grid = (torch.arange(n, dtype=torch.float64) + 0.5) / n
    ends, middle = torch.ones(n, dtype=torch.float64), torch.full((n,), 0.5, dtype=torch.float64)
    assert float(far(grid)) == pytest.approx(0, abs=1e-9)
    assert float(far(grid[torch.from_numpy(stream(1).permutation(n))])) < 1e-9
    at_end, at_middle = float(far(ends)), float(far(middle))
    assert at_end / at_middle == pytest.approx(4, rel=0.06)
    if far is localizer_training.squared_wasserstein:
        assert at_end == pytest.approx(1 / 3, rel=1e-3)


def test_w2_gradient_moves_ranks_away_from_the_grid():
    u = torch.tensor([0.9, 0.05, 0.6], dtype=torch.float64, requires_grad=True)
    localizer_training.squared_wasserstein(u).backward()
    np.testing.assert_allclose(
        u.grad.numpy(), 2 / 3 * (u.detach() - torch.tensor([5, 1, 3]).double() / 6)
    )


def _distances(n=40, k=15, digits=None):
    rng = stream(2)
    truth, draws = (
        rng.gamma(2.0, size=n),
        rng.gamma(2.0, size=(n, k)) * rng.gamma(1.0, size=(n, 1)),
    )
    if digits is not None:
        truth, draws = np.round(truth, digits), np.round(draws, digits)
    return truth, draws


def _soft(truth, draws, tau=0.1):
    """Soft ranks, and the gradients of a fixed combination of them."""
    tensors = [torch.tensor(a, dtype=torch.float64, requires_grad=True) for a in (truth, draws)]
    u = localizer_training.soft_ranks(*tensors, tau)
    weights = torch.linspace(-1, 2, len(u), dtype=torch.float64)
    (u * weights).sum().backward()
    return u.detach().numpy(), *(tensor.grad.numpy() for tensor in tensors)


@pytest.mark.parametrize("digits", [None, 1, 0], ids=["distinct", "some ties", "many ties"])
def test_forward_is_the_exact_mid_rank(digits):
    truth, draws = _distances(digits=digits)
    u, *_ = _soft(truth, draws)
    below, equal = (draws < truth[:, None]).sum(1), (draws == truth[:, None]).sum(1)
    assert (equal > 0).any() == (digits is not None)
    np.testing.assert_allclose(u, (below + equal / 2) / draws.shape[1], atol=1e-14)


def test_gradient_is_that_of_a_sigmoid_over_the_rows_own_spread():
    truth, draws = _distances()
    _, of_truth, of_draws = _soft(truth, draws, tau=0.3)
    softness = 0.3 * draws.std(axis=1, keepdims=True)
    soft = 1 / (1 + np.exp((draws - truth[:, None]) / softness))
    weights = np.linspace(-1, 2, len(truth))[:, None]
    slope = weights * soft * (1 - soft) / softness / draws.shape[1]
    np.testing.assert_allclose(of_draws, -slope, rtol=1e-9, atol=1e-15)
    np.testing.assert_allclose(of_truth, slope.sum(1), rtol=1e-9, atol=1e-15)


@pytest.mark.parametrize("scale", [1e-3, 10.0, 1e6])
def test_gradient_is_blind_to_the_scale_of_phi(scale):
    """du / d log d stays: larger distances are no shortcut, and no reason to stop."""
    truth, draws = _distances()
    u, *before = _soft(truth, draws)
    scaled, *after = _soft(scale * truth, scale * draws)
    np.testing.assert_array_equal(scaled, u)
    for item, other in zip(before, after, strict=True):
        np.testing.assert_allclose(other * scale, item, rtol=1e-5)


def test_one_row_far_wider_than_the_others_does_not_sway_them():
    truth, draws = _distances()
    wide = draws.copy()
    wide[0] *= 1e6
    _, before, _ = _soft(truth, draws)
    _, after, _ = _soft(truth, wide)
    np.testing.assert_allclose(after[1:], before[1:], rtol=1e-6)


def test_constant_distances_have_a_finite_gradient():
    """All of them, or those of one row: a collapsed phi must not turn parameters into NaN."""
    flat_truth, flat_draws = np.full(6, 0.7), np.full((6, 4), 0.7)
    u, *gradients = _soft(flat_truth, flat_draws)
    assert (u == 0.5).all()
    assert all(np.isfinite(gradient).all() for gradient in gradients)
    truth, draws = _distances()
    draws[3] = truth[3]
    u, *gradients = _soft(truth, draws)
    assert u[3] == 0.5
    assert all(np.isfinite(gradient).all() for gradient in gradients)
    steepest = np.abs(np.delete(gradients[0], 3)).max()
    assert np.abs(gradients[0][3]) < 10 * steepest, "one flat row rules all"


def test_collapse_is_no_reward():
    """Ties count half: an embedding that has collapsed is no farther than 1/12, 1/3 is possible.

    Counted strictly, all ranks would be 0, the farthest that there is.
    """
    u, *_ = _soft(np.zeros(50), np.zeros((50, 7)))
    assert float(localizer_training.squared_wasserstein(torch.from_numpy(u))) < 1 / 12
    strict = torch.zeros(50, dtype=torch.float64)
    assert float(localizer_training.squared_wasserstein(strict)) > 0.33


def test_one_draw_is_enough_for_a_rank():
    truth, draws = _distances(k=1)
    u, *gradients = _soft(truth, draws)
    assert set(u) <= {0.0, 1.0}
    assert all(np.isfinite(gradient).all() for gradient in gradients)
