"""One data set opened up, the terms of a run, and what a divergence means: their arithmetic."""

import dataclasses
import json
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import chi2, norm

from validation_core import statistics
from validation_core.bayes import MODELS
from validation_core.bayes.algorithms import ALGORITHMS
from validation_core.bayes.model import log_joint
from validation_core.drawing import framed
from validation_core.rng import stream
from validation_core.symmetric_divergence import MS, InferenceRun, RunResult, terms
from validation_core.symmetric_divergence.terms import (
    BINS,
    FLIPS,
    PosteriorDraws,
    SymlogScale,
    histogram_on_scale,
    spread,
    term_scale,
)


class Shelf:
    """A store in memory."""

    def __init__(self):
        self.kept = {}

    def has(self, kind, key):
        return (kind, key) in self.kept

    def save(self, kind, key, arrays, *, spec, meta):
        json.dumps(meta)
        self.kept[kind, key] = SimpleNamespace(arrays=arrays, meta=meta, spec=spec)

    def load(self, kind, key):
        return self.kept.get((kind, key))


def ran(model="heart_transplants", inference="laplace", iterations=300, datasets=12):
    run = InferenceRun(
        model=MODELS[model](), inference=ALGORITHMS[inference], iterations=iterations,
        datasets=datasets,
    )  # fmt: skip
    shelf = Shelf()
    run.run(shelf, lambda *_: None)
    return run, run.load(shelf)


@pytest.fixture(scope="module")
def heart():
    return ran()


def quadrature(one, i):
    """Divergence, total variation, AUC by quadrature, and the share of misses, of q at a place."""
    p, q = norm(), norm(one.mean[i], one.sd[i])
    reach = 12.0 * max(1, one.sd[i])
    cuts = [-2, -1, 0, 1, 2, one.mean[i]]

    def over(f):
        return quad(f, -reach, reach, limit=800, points=cuts, epsabs=1e-12)[0]

    skl = over(lambda x: (p.pdf(x) - q.pdf(x)) * (p.logpdf(x) - q.logpdf(x)))
    distance = over(lambda x: abs(p.pdf(x) - q.pdf(x))) / 2
    low, high = q.interval(terms.INTERVAL_LEVEL)
    return skl, distance, 1 - (p.cdf(high) - p.cdf(low))


@pytest.mark.parametrize("i", [0, 24, 46, 62, 80])
@pytest.mark.parametrize("kind", ["shifted", "narrow", "wide"])
def test_closed_forms_against_quadrature(kind, i):
    grid = terms.NATS
    one = (
        terms.shifted_normal_pair(grid)
        if kind == "shifted"
        else terms.scaled_normal_pair(grid, kind)
    )
    skl, distance, misses = quadrature(one, i)
    assert skl == pytest.approx(grid[i], rel=1e-6)
    assert one.distance[i] == pytest.approx(distance, abs=1e-6)
    assert one.accuracy[i] == pytest.approx((1 + distance) / 2, abs=1e-6)
    assert one.misses[i] == pytest.approx(misses, abs=1e-9)


@pytest.mark.parametrize("kind", ["shifted", "narrow", "wide"])
def test_the_best_classifier_by_simulation(kind):
    """AUC of the log ratio, within five standard errors of 400,000 pairs."""
    one = (
        terms.shifted_normal_pair(0.7)
        if kind == "shifted"
        else terms.scaled_normal_pair(0.7, kind)
    )
    rng = np.random.default_rng(3)
    q = norm(one.mean, one.sd)
    x = rng.standard_normal(400_000), one.mean + one.sd * rng.standard_normal(400_000)
    ratios = [norm.logpdf(v) - q.logpdf(v) for v in x]
    assert np.mean(ratios[0] > ratios[1]) == pytest.approx(float(one.auc), abs=5 * 0.5 / 632)


def test_no_divergence_is_no_difference():
    for one in (
        terms.shifted_normal_pair(0.0),
        terms.scaled_normal_pair(0.0),
        terms.scaled_normal_pair(0.0, "wide"),
    ):
        assert (one.mean, one.sd) == (0, 1)
        assert (float(one.auc), float(one.accuracy), float(one.distance)) == (0.5, 0.5, 0)
        assert float(one.misses) == pytest.approx(1 - terms.INTERVAL_LEVEL)


def test_a_divergence_below_0_is_refused():
    with pytest.raises(ValueError, match=r"0 or more nats; got -0.1"):
        terms.shifted_normal_pair([0.2, -0.1])


@pytest.mark.parametrize(
    ("nats", "near"), [(0.2, 0.2), (1e9, 10), (1e-9, 1e-3), (-1, 1e-3), (np.nan, 1e-3),
                       (np.inf, 10)],
)  # fmt: skip
def test_the_slider_starts_at_the_nearest_value(nats, near):
    assert terms.NATS[terms.nearest(nats)] == pytest.approx(near, rel=0.02)


def test_the_spread_of_a_run(heart):
    run, found = heart
    got = spread(found)
    d = found.weights.truth[:, 0] - found.weights.draws[:, 0]
    np.testing.assert_allclose(got.d[0], d)
    np.testing.assert_allclose(got.mean[0], d.mean())
    np.testing.assert_allclose(got.signs[0], d.sum() / np.sqrt(np.square(d).sum()))
    np.testing.assert_allclose(got.auc[0], (d > 0).mean())
    assert (got.without, got.infinite) == (0, 0)
    assert got.null.shape == (len(MS), FLIPS)
    assert (np.abs(got.null) <= np.sqrt(run.datasets) + 1e-9).all()
    # Equal sums differ by rounding, on either side.
    more, most = ((got.null >= got.signs[:, None] + off).sum(1) for off in (1e-9, -1e-9))
    assert (got.pvalue >= (1 + more) / (FLIPS + 1)).all()
    assert (got.pvalue <= (1 + most) / (FLIPS + 1)).all()
    assert (more > 0).any()


def test_what_has_no_q_or_no_finite_term_is_counted(heart):
    _, found = heart
    truth = found.weights.truth.copy()
    truth[2] = np.nan
    truth[5, 0] = np.inf
    ok = np.arange(12) != 2
    got = spread(dataclasses.replace(found, truth=truth, ok=ok))
    assert (got.without, got.infinite) == (1, 1)
    assert got.places.tolist() == [0, 1, 3, 4, 6, 7, 8, 9, 10, 11]
    assert np.isfinite(got.mean).all()
    np.testing.assert_array_equal(got.d[0], spread(found).d[0][got.places])


def test_fewer_than_two_terms_have_no_mean(heart):
    _, found = heart
    truth = np.full_like(found.weights.truth, np.nan)
    truth[0] = 0
    assert spread(dataclasses.replace(found, truth=truth, ok=np.arange(12) == 0)) is None


def test_where_q_is_p_all_terms_are_0():
    _, found = ran(inference="exact", iterations=1, datasets=30)
    got = spread(found)
    assert got.none.all()
    assert not got.heavy.any()
    np.testing.assert_array_equal(got.pvalue, 1)


def test_a_histogram_holds_heavy_tails_whole():
    d = np.random.default_rng(0).standard_t(1, (3, 200)) * [[1], [1e-2], [1e-2]]
    d[0, 7], d[2, 9] = 1e10, -3e4
    axis = term_scale(d)
    edges, heights = histogram_on_scale(d, axis)
    np.testing.assert_array_equal(heights.sum(1), 200)
    assert np.abs(edges).min() == 0
    np.testing.assert_allclose(np.diff(edges), edges[1] - edges[0])
    assert BINS <= len(edges) - 1 <= BINS + 2
    at = np.searchsorted(edges, axis.at(d[1]), side="right") - 1
    np.testing.assert_array_equal(heights[1], np.bincount(at, minlength=len(edges) - 1))
    assert np.count_nonzero(heights[1]) > 5, "the row with the least spread is still seen"


def test_all_terms_0_still_have_an_axis():
    edges, heights = histogram_on_scale(np.zeros((2, 5)), term_scale(np.zeros((2, 5))))
    assert heights.max() == 5
    assert edges[0] < 0 < edges[-1]


@pytest.mark.parametrize(
    ("low", "high"), [(-3, 1e10), (-1e-9, 0.5), (-2e3, 2e3), (0, 0), (-1e12, -5), (3, 40)]
)
def test_ticks_are_powers_of_ten_that_keep_apart(low, high):
    axis = SymlogScale(0.01)
    nats = axis.ticks(low, high)
    assert 0 in nats
    assert (np.diff(nats) > 0).all()
    assert len(nats) <= 10
    inside = nats[nats != 0]
    assert ((inside >= min(low, 0)) & (inside <= max(high, 0))).all()
    np.testing.assert_allclose(np.log10(np.abs(inside)), np.round(np.log10(np.abs(inside))))
    reach = float(axis.at(np.array(high)) - axis.at(np.array(low)))
    assert np.diff(axis.at(nats)).min(initial=np.inf) > reach / 20


@pytest.mark.parametrize("inference", ["laplace", "exact"])
def test_the_arithmetic_of_algorithm_1(inference):
    run, found = ran(inference=inference, iterations=200, datasets=8)
    got = terms.numbers(run, found)
    for side, z in enumerate((found.theta, found.weights.drawn)):
        np.testing.assert_allclose(
            got.log_p[:, side], log_joint(run.model, z, found.x), rtol=1e-9, atol=1e-9
        )
    np.testing.assert_allclose(got.log_p - got.log_q, got.weights, atol=1e-12)
    np.testing.assert_allclose(got.weights[:, 0] - got.weights[:, 1], got.d)
    assert sorted(got.places) == list(range(8))
    assert (np.diff(got.d[got.places]) >= 0).all()


def test_data_sets_without_d_are_not_opened(heart):
    run, found = heart
    truth = found.weights.truth.copy()
    truth[3], truth[8] = np.nan, np.inf
    got = terms.numbers(run, dataclasses.replace(found, truth=truth))
    assert sorted(set(range(12)) - set(got.places)) == [3, 8]
    nothing = np.full_like(truth, np.nan)
    assert len(terms.numbers(run, dataclasses.replace(found, truth=nothing)).places) == 0


def test_many_data_sets_are_thinned_with_their_ends_and_median():
    run, found = ran(iterations=1, datasets=303)
    got = terms.numbers(run, found)
    assert len(got.places) == len(set(got.places)) == terms.MOST
    shown = got.d[got.places]
    assert shown[0] == got.d.min()
    assert shown[-1] == got.d.max()
    assert shown[len(shown) // 2] == np.median(got.d)
    tasks = terms.tasks(run, got.places)
    assert sorted(k for task in tasks for k in task.which) == sorted(got.places)


def test_blocks_of_posterior_draws_serve_every_inference(heart):
    run = dataclasses.replace(heart[0], datasets=60)
    places = np.arange(60)[::-1]
    tasks = terms.tasks(run, places)
    assert sorted(k for task in tasks for k in task.which) == list(range(60))
    assert places[30] in tasks[0].which, "what the figure shows first is drawn first"
    other = dataclasses.replace(run, inference=ALGORITHMS["adjusted_laplace"], iterations=10)
    same = terms.tasks(other, np.arange(60))
    assert {task.key for task in tasks} == {task.key for task in same}
    assert len({task.key for task in tasks}) == 3


def test_posterior_draws_are_those_of_the_run_s_data(heart):
    """Means of chains against the closed form: each standardised by its own draws' worth."""
    run, found = heart
    task = PosteriorDraws(model=run.model, seed=run.seed, which=tuple(range(12)))
    shelf = Shelf()
    assert task.load(shelf) is None
    task.run(shelf, lambda *_: None)
    z = task.load(shelf).z
    assert task.done(shelf)
    assert z.shape == (12, terms.DRAWS, 2)
    mean, variance = run.model.exact(found.x).moments()
    off = (z.mean(1) - mean) / np.sqrt(variance)
    # 80 independent draws or more of each, and 24 means at once
    assert np.abs(off).max() < 4.5 / np.sqrt(60)
    assert np.square(off).mean() < 3 / 80


def test_exact_draws_where_there_is_a_closed_form(heart):
    run, found = heart
    task = PosteriorDraws(model=run.model, seed=run.seed, which=(4, 9), draws=4000)
    z = terms.exact(task)
    mean, variance = run.model.exact(found.x[[4, 9]]).moments()
    assert np.abs((z.mean(1) - mean) / np.sqrt(variance / 4000)).max() < 4.5
    few = terms.exact(dataclasses.replace(task, which=(9,)))
    np.testing.assert_array_equal(few[0], z[1])
    assert terms.exact(PosteriorDraws(model=MODELS["hospitals"](), seed=0, which=(0,))) is None


def test_ellipses_hold_their_share():
    rng = np.random.default_rng(5)
    scale_ = np.tril(rng.standard_normal((4, 3, 3)))
    mean = rng.standard_normal((4, 3))
    rows, middle = scale_[:, [2, 0]], mean[:, [2, 0]]
    for share in (0.5, 0.9):
        outline = terms.normal_ellipses(middle, rows, share)
        covariance = rows @ rows.swapaxes(1, 2)
        off = outline - middle[:, None]
        squared = np.einsum("vli,vij,vlj->vl", off, np.linalg.inv(covariance), off)
        np.testing.assert_allclose(squared, chi2(2).ppf(share), rtol=1e-6)
        np.testing.assert_allclose(outline[:, 0], outline[:, -1])


def test_without_q_there_is_no_ellipse():
    mean, rows = np.zeros((2, 2)), np.stack([np.eye(2), np.full((2, 2), np.nan)])
    outline = terms.normal_ellipses(mean, rows, 0.9)
    assert np.isfinite(outline[0]).all()
    assert np.isnan(outline[1]).all()


def test_a_frame_holds_every_point():
    rng = stream(0, "frame")
    parts = [rng.standard_normal((5, 20, 2)), 3 + rng.standard_normal((5, 1, 2))]
    parts[0][2] = np.nan
    centre, half = framed.bounding_boxes(parts)
    every = (np.concatenate(parts, 1) - centre[:, None]) / half[:, None]
    assert np.nanmax(np.abs(every)) <= 1
    assert np.nanmax(np.abs(every), 1).min() > 0.9 or half[2].max() < 1e-6
    assert (half > 0).all()


def test_ticks_are_round_and_inside():
    rng = np.random.default_rng(1)
    for low, width in zip(rng.normal(0, 100, 500), 10 ** rng.uniform(-3, 5, 500), strict=True):
        values = framed.round_ticks(low, low + width)
        assert 2 <= len(values) <= 4
        assert values[0] >= low - 1e-9 * width
        assert values[-1] <= low + width * (1 + 1e-9)


def test_the_null_of_signs_keeps_its_level():
    """Exact q of another law than the prior's: d is symmetric, and p-values are uniform."""
    rng = np.random.default_rng(11)
    small = 0
    for _ in range(400):
        w = rng.standard_t(2, (2, 15, max(MS)))
        found = RunResult(
            np.zeros((15, 1)), np.zeros((15, 1)), w[0], w[1], np.zeros((15, 1)),
            np.ones(15, bool), 0.0,
        )  # fmt: skip
        small += spread(found, seed=int(rng.integers(1 << 30))).pvalue[0] <= 0.05
    low, high = statistics.binomial_bounds(400, 0.05)
    assert low <= small <= high
