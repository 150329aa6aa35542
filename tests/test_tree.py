"""The tree against reference numbers, and its samplers against its densities."""

import numpy as np
import pytest
from scipy import stats
from scipy.special import ndtr

from validation_core import sampling
from validation_core.benchmarks import tree
from validation_core.benchmarks.tree import SD, Tree
from validation_core.rng import stream


def _moments(classes, sd=0.0):
    """Mean (2,) and covariance (2, 2) of a blurred mixture, from its components."""
    parts = [tree.grow_trees()[name] for name in classes]
    weight, mean, covariance = (np.concatenate(part) for part in zip(*parts, strict=True))
    weight = weight / weight.sum()
    middle = weight @ mean
    second = np.einsum("k,kij->ij", weight, covariance + mean[:, :, None] * mean[:, None])
    return middle, second - np.outer(middle, middle) + sd**2 * np.eye(2)


def _projected(direction, classes, sd):
    """The law of direction'theta under a blurred mixture, as a CDF."""
    parts = [tree.grow_trees()[name] for name in classes]
    weight, mean, covariance = (np.concatenate(part) for part in zip(*parts, strict=True))
    spread = np.sqrt(np.einsum("i,kij,j->k", direction, covariance, direction) + sd**2)
    at = mean @ direction
    grid = np.arange(-2, 2, 1e-3)  # dense enough to interpolate: the spread is 0.01 or more
    values = ndtr((grid[:, None] - at) / spread) @ (weight / weight.sum())
    return lambda s: np.interp(s, grid, values)


def test_components_are_those_of_the_original(shared, reference):
    case, _, _ = reference("tree-components")
    stored = np.load(shared / "reference" / "tree-components.npz")
    for name, mixture in tree.grow_trees().items():
        for part, values in mixture._asdict().items():
            limits = case["tolerance"][part]
            np.testing.assert_allclose(
                values, stored[f"{part}_{name}"], rtol=limits["rtol"], atol=limits["atol"]
            )
        assert mixture.weight.sum() == pytest.approx(case["outputs"][f"weight_sum_{name}"])


@pytest.mark.parametrize("name", ["A-0.01", "A-0.025", "B-0.025", "AB-0.01"])
def test_densities_are_those_of_the_original(reference, name):
    case, value, want = reference(f"tree-density-{name}")
    classes, sd = case["parameters"]["classes"], case["parameters"]["sigma"]
    for part in ("grid", "points"):
        limits = case["tolerance"][f"log_density_{part}"]
        log_density = tree.mixture_log_density(value[part].reshape(-1, 2), classes, sd)
        np.testing.assert_allclose(
            log_density,
            want[f"log_density_{part}"].ravel(),
            rtol=limits["rtol"],
            atol=limits["atol"],
        )


def test_numbers_of_the_trees():
    both = tree.grow_trees()
    assert {len(mixture.weight) for mixture in both.values()} == {127 * 8}
    np.testing.assert_allclose(both["A"].mean[0], [0.02134, 0.06333], atol=5e-6)
    np.testing.assert_allclose(both["B"].mean[0], [-0.01454, 0.02551], atol=6e-6)
    mean, covariance = _moments("AB")
    np.testing.assert_allclose(mean, [-0.0001, 0.0006], atol=5e-5)
    np.testing.assert_allclose(np.sqrt(np.diag(covariance)), [0.4999, 0.4999], atol=5e-5)
    mean, covariance = _moments("A")
    np.testing.assert_allclose(mean, [0.3719, 0.3646], atol=5e-5)
    np.testing.assert_allclose(np.sqrt(np.diag(covariance)), [0.3331, 0.3415], atol=5e-5)
    minor = np.sqrt(np.linalg.eigvalsh(both["A"].covariance)[:, 0])
    assert minor[0] == minor.max() == pytest.approx(0.016, abs=5e-4)
    assert np.sort(minor)[: 64 * 8].mean() == pytest.approx(0.0042, abs=1e-4)  # the last branches
    for mixture in both.values():
        assert np.array_equal(mixture.covariance, np.swapaxes(mixture.covariance, 1, 2))


def test_the_sign_of_x_picks_the_tree():
    bench, rng = Tree(), stream(0, "tree")
    x = np.concatenate([np.zeros((1, 1)), bench.x(40_000, rng)])
    for draws in (bench.theta(x, 2.0, rng), bench.q(x, 2.0, rng)):
        for rows, name in ((x[:, 0] >= 0, "A"), (x[:, 0] < 0, "B")):
            expected = _moments(name)[0]
            assert np.abs(draws[rows].mean(axis=0) - expected).max() < 0.4 * 4 / np.sqrt(20_000)
    theta = bench.theta(x, 0.0, rng)
    in_a = x[:, 0] >= 0
    for rows, name in ((in_a, "A"), (~in_a, "B")):
        np.testing.assert_allclose(
            bench.log_p(theta, x, 1.0)[rows], tree.mixture_log_density(theta[rows], name, SD)
        )


@pytest.mark.parametrize("n", [20_000, pytest.param(60_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize(("noise", "sd"), [("scaled", 0.025), ("added", 0.01 * np.sqrt(3.25))])
def test_samplers_follow_their_densities(noise, sd, n):
    """Every projection of the draws has the mixture's law, and none has a neighbour's."""
    bench = Tree(noise=noise)
    assert bench.sd(1.5) == pytest.approx(sd)
    rng = stream(1, noise)
    for name, sign in (("A", 1.0), ("B", -1.0)):
        x = np.full((n, 1), sign)
        p, q = bench.theta(x, 1.5, rng), bench.q(x, 1.5, rng)
        for degrees in (0, 45, 90, 135, 20):
            direction = np.array([np.cos(np.deg2rad(degrees)), np.sin(np.deg2rad(degrees))])
            for draws, blur in ((p, SD), (q, sd)):
                values = _projected(direction, name, blur)(draws @ direction)
                assert stats.kstest(values, "uniform").pvalue > 1e-4
        wrong = _projected(np.array([1.0, 0.0]), name, 4 * sd)(q[:, 0])
        assert stats.kstest(wrong, "uniform").pvalue < 1e-4


def test_cells_of_the_plane_hold_the_mass_the_density_gives_them():
    """Chi-square over cells of a grid: the joint law, not only projections."""
    sd, n, width = 0.05, 100_000, 0.2
    fine = np.arange(-1.8, 1.8, 0.02) + 0.01
    grid = np.stack(np.meshgrid(fine, fine, indexing="ij"), axis=-1)
    density = np.exp(tree.mixture_log_density(grid.reshape(-1, 2), "AB", sd)) * 0.02**2
    assert density.sum() == pytest.approx(1.0, abs=1e-4)
    per = round(width / 0.02)
    cells = density.reshape(len(fine) // per, per, len(fine) // per, per).sum(axis=(1, 3))
    edges = np.arange(len(cells) + 1) * width - 1.8
    draws = tree.draw_mixture("AB", sd, n, stream(2, "cells"))
    counts, *_ = np.histogram2d(*draws.T, bins=[edges, edges])
    full = n * cells > 10
    expected = np.append(n * cells[full], n * (1 - cells[full].sum()))
    observed = np.append(counts[full], n - counts[full].sum())
    assert full.sum() > 60
    assert stats.chisquare(observed, expected * n / expected.sum()).pvalue > 1e-4


@pytest.mark.parametrize("noise", ["scaled", "added"])
def test_log_ratio_is_the_oracle(noise):
    bench, gamma = Tree(noise=noise), 1.0
    blocks = sampling.blocks(bench, gamma, 20_000, 20_000, stream(3, noise))
    p, q = (bench.log_ratio(rows.theta, rows.x, gamma) for rows in (blocks.p, blocks.q))
    assert p.mean() > 4 * p.std() / np.sqrt(len(p))
    assert q.mean() < -4 * q.std() / np.sqrt(len(q))
    weight = np.exp(q)
    assert abs(weight.mean() - 1) < 5 * weight.std() / np.sqrt(len(weight))
    assert not bench.log_ratio(blocks.p.theta, blocks.p.x, 0.0).any()
    near = bench.log_ratio(blocks.p.theta, blocks.p.x, 1e-9)
    assert np.abs(near).max() < 1e-6


def test_the_two_definitions_of_noise():
    scaled, added = Tree(), Tree(noise="added")
    assert scaled.noise == "scaled"
    for gamma in scaled.gammas:
        assert scaled.sd(gamma) == pytest.approx(0.01 * (1 + gamma))
        assert added.sd(gamma) ** 2 == pytest.approx(0.01**2 + (0.01 * gamma) ** 2)
    assert scaled.sd(0) == added.sd(0) == SD
    assert scaled.gammas == (0, 0.5, 1, 1.5, 2, 2.5, 3, 3.5, 4)
    assert scaled.label != added.label
    # Added noise is what the text says it is: q's draws are p's plus a normal of sd 0.01 gamma.
    x = np.ones((50_000, 1))
    sum_of_both = added.theta(x, 3.0, stream(4)) + 0.03 * stream(5).standard_normal((50_000, 2))
    assert stats.ks_2samp(sum_of_both[:, 0], added.q(x, 3.0, stream(6))[:, 0]).pvalue > 1e-4


def test_chunks_do_not_show():
    theta = tree.draw_mixture("B", SD, 1300, stream(7))
    one_by_one = np.concatenate(
        [tree.mixture_log_density(row[None], "B", SD) for row in theta[::100]]
    )
    np.testing.assert_allclose(
        tree.mixture_log_density(theta, "B", SD)[::100], one_by_one, atol=1e-9
    )


def test_bad_noise_says_what_is_allowed():
    with pytest.raises(ValueError, match="'scaled' or 'added'; got"):
        Tree(noise="more")
