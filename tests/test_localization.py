"""Maps: the ball holds what it says, signs point the right way, and where x matters is found."""

from dataclasses import dataclass
from importlib import import_module
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pytest

from tests.conftest import in_turn
from validation_core import keys, sampling, statistics
from validation_core.benchmarks.gaussian import Gaussian
from validation_core.benchmarks.spiral import Spiral
from validation_core.diagnosis import learning
from validation_core.diagnosis import tasks as diagnoses
from validation_core.localization import (
    Maps,
    MapTask,
    areas,
    contours,
    grid,
    intervals,
    local_rate,
    map_draws,
    over_x,
    project,
    stacked,
    truth_curve,
    truth_curves,
)
from validation_core.rng import stream
from validation_core.scores import trained_scores
from validation_core.scores.localizer import Localizer
from validation_core.scores.localizer_networks import LocalizerFrame
from validation_core.scores.trained_localizer import TrainedLocalizer
from validation_core.scores.trained_scores import Simulated, Training
from validation_core.statistics.uniformity import ks_location
from validation_core.store import Store
from validation_core.tables import Upload
from validation_core.types import Benchmark, Paper

TINY = Localizer(
    embedding="identity", anchors=40, draws=20, steps=15, blur_steps=15, batch=32, hidden=8,
    layers=1,
)  # fmt: skip
PLAIN = Localizer(embedding="identity", hidden=2, layers=1)


@dataclass(frozen=True, kw_only=True)
class Normals(Benchmark):
    """p = N(x_1, 1) in each coordinate; q shifts by gamma and scales the sd, perhaps at x > 0."""

    name: ClassVar[str] = "normals"
    title: ClassVar[str] = "Normals"
    paper: ClassVar[Paper] = Paper("nobody", 2025, "by hand")
    version: ClassVar[int] = 1

    d: int = 1
    m: int = 1
    sd: float = 1.0
    only_right: bool = False
    known: bool = True

    label = summary = "normals"
    gammas = (0.0,)

    @property
    def dims(self):
        return self.d, self.m

    def x(self, n, rng):
        return rng.standard_normal((n, self.m))

    def theta(self, x, gamma, rng):
        return x[:, :1] + rng.standard_normal((len(x), self.d))

    def _q(self, x, gamma):
        off = (x[:, :1] > 0) if self.only_right else np.ones((len(x), 1))
        return x[:, :1] + gamma * off, 1 + (self.sd - 1) * off

    def q(self, x, gamma, rng):
        mean, sd = self._q(x, gamma)
        return mean + sd * rng.standard_normal((len(x), self.d))

    def _log(self, theta, mean, sd):
        z = (theta - mean) / sd
        each = -(z**2) / 2 - np.log(sd) - np.log(2 * np.pi) / 2
        return each.sum(1)

    def log_p(self, theta, x, gamma):
        return self._log(theta, x[:, :1], np.ones((len(x), 1))) if self.known else None

    def log_ratio(self, theta, x, gamma):
        if not self.known:
            return None
        return self.log_p(theta, x, gamma) - self._log(theta, *self._q(x, gamma))


@dataclass(frozen=True, kw_only=True)
class Constant(Normals):
    """One theta, whatever x is."""

    def theta(self, x, gamma, rng):
        return np.full((len(x), self.d), 3.0)

    q = theta


def by_hand(d, m, offset=0.0, frames=3):
    """A localizer whose centre is x_1 + offset in every coordinate, distances as they are."""
    linear = np.zeros((m, d), np.float32)
    linear[0] = 1
    centre = {
        "weight0": np.zeros((m, 2), np.float32), "bias0": np.zeros(2, np.float32),
        "weight1": np.zeros((2, d), np.float32), "bias1": np.zeros(d, np.float32),
        "linear": linear, "shift": np.full(d, offset, np.float32),
    }  # fmt: skip
    share = np.linspace(0, 1, frames)
    film = {f"centre.{name}": np.stack([s * a for s in share]).astype(np.float16)
            for name, a in centre.items()}  # fmt: skip
    told = {name: share.astype(np.float32) for name in ("step", "train", "held", "w2")}
    starts = {f"start_{name}": np.array([0.1]) for name in ("origin", "mean", "blur")}
    frame = LocalizerFrame(np.zeros(d), np.eye(d), np.zeros(m), np.ones(m))
    return TrainedLocalizer(
        "identity", centre, {}, centre, {}, frame, {**told, **starts}, film, kept=frames - 1
    )


def keep(store, training, localizer):
    meta = {"seconds": 0.0, "device": "cpu"}
    store.save("models", keys.key(training), localizer.arrays(), spec="", meta=meta)


def mapped(store, benchmark, gamma=0.0, offset=0.0, *, n=400, k=60, places=5, seed=0):
    training = Training(source=Simulated(benchmark=benchmark, gamma=gamma), recipe=PLAIN)
    keep(store, training, by_hand(*benchmark.dims, offset))
    task = MapTask(training=training, n=n, k=k, places=places, seed=seed)
    task.run(store, lambda fraction, live: None)
    return task.load(store)


def reads(maps):
    """The truth's share in the ball less q's, as the ranks and as the places' draws tell it."""
    return float(maps.inside - maps.u_star), maps.truth_inside.mean() - maps.q_inside.mean()


@pytest.mark.parametrize("d", [1, 2, 5])
def test_the_ball_holds_u_star_of_q(store, d):
    benchmark = Normals(d=d, m=2, sd=2.0)
    maps = mapped(store, benchmark, gamma=0.5)
    assert maps.q.shape == (5, 300, d)
    assert maps.truth.shape == (5, 200, d)
    distance = by_hand(d, 2).at()
    fresh = benchmark.q(np.repeat(maps.x_at, 4000, axis=0), 0.5, stream(9))
    far = distance.field(fresh.reshape(5, 4000, d), maps.x_at)
    mass = (far <= maps.radius[:, None]).mean(1)
    u = float(maps.u_star)
    # The radius is a quantile of 2000 draws, the mass a share of 4000.
    sd = np.sqrt(u * (1 - u) * (1 / 2000 + 1 / 4000))
    np.testing.assert_allclose(mass, u, atol=4.5 * sd)
    shown = np.sqrt(u * (1 - u) * (1 / 2000 + 1 / 300))
    np.testing.assert_allclose(maps.q_inside.mean(1), u, atol=4.5 * shown)


@pytest.mark.parametrize(
    ("gamma", "sd", "offset", "sign"),
    [
        (1.5, 1.0, 1.5, -1),  # around q's mean: the truth lies elsewhere
        (1.5, 1.0, -1.5, 1),  # on p's far side: the truth is nearer than q
        (0.0, 0.5, 0.0, -1),  # q too narrow: the truth falls outside
        (0.0, 2.0, 0.0, 1),  # q too wide: the middle holds more of the truth
    ],
)
@pytest.mark.parametrize("d", [1, 2])
def test_signs_point_the_right_way(store, d, gamma, sd, offset, sign):
    maps = mapped(store, Normals(d=d, sd=sd), gamma=gamma, offset=offset)
    by_rank, by_place = reads(maps)
    assert sign * by_rank > 0.1
    assert sign * by_place > 0.1
    assert float(maps.inside_low) <= float(maps.inside) <= float(maps.inside_high)
    assert not float(maps.inside_low) <= float(maps.u_star) <= float(maps.inside_high)
    assert 0 < float(maps.pvalue) < 1e-4
    # The densities say the same: p - q summed over the ball, and its opposite outside.
    cell = np.prod([axis[1] - axis[0] for axis in (maps.grid_x, maps.grid_y) if axis.size])
    within = maps.field <= maps.radius.reshape(-1, *[1] * d)
    axes = tuple(range(1, d + 1))
    mass = np.where(within, maps.difference, 0).sum(axes) * cell
    beyond = np.where(within, 0, maps.difference).sum(axes) * cell
    np.testing.assert_allclose(mass, by_rank, atol=0.12)
    np.testing.assert_allclose(beyond, -by_rank, atol=0.12)


def test_equal_laws_are_told_as_chance(store):
    maps = mapped(store, Normals(d=2), n=1000)
    assert float(maps.pvalue) > 0.01
    assert float(maps.distance[1]) == 0.0
    assert float(maps.inside_low) < float(maps.u_star) < float(maps.inside_high)
    assert float(maps.tied) == 0
    np.testing.assert_allclose(maps.difference, 0, atol=1e-12)


def test_choosing_and_quoting_share_nothing(store):
    """u* comes from the first batch alone, everything quoted from the second."""
    maps = mapped(store, Normals(d=1), n=300)
    place, _ = ks_location(maps.u_choose)
    assert float(maps.u_star) == pytest.approx(place, abs=1e-6)
    assert float(maps.inside) == pytest.approx(np.mean(maps.u_quote <= maps.u_star), abs=0.004)
    assert not np.isin(maps.u_quote, maps.u_choose).any()
    np.testing.assert_allclose(maps.distance, statistics.kolmogorov(maps.u_quote), atol=1e-5)


def test_one_x_is_walked_evenly_and_many_along_a_line(store):
    one = mapped(store, Normals(), places=7)
    steps = np.diff(one.x_at[:, 0])
    np.testing.assert_allclose(steps, steps[0], rtol=1e-4)
    assert -3 < one.x_at[0, 0] < -2
    x = Normals(m=4).x(500, stream(0))
    many = map_draws.simulate_places(Simulated(benchmark=Normals(m=4), gamma=0.0), x, 7, stream(1))
    assert many.x.shape == (7, 4)
    assert (np.diff(map_draws.first_component_scores(x, many.x)) > 0).all()
    assert not np.isin(many.x, x).any()


@pytest.mark.parametrize("shape", [(300, 3), (20, 60)])
def test_along_is_the_principal_component(shape):
    rng = stream(1)
    hidden = rng.standard_normal(shape[0])
    x = 1000 * (np.outer(hidden, np.ones(shape[1])) + 0.2 * rng.standard_normal(shape))
    x[:, 1] = 5.0
    assert np.corrcoef(map_draws.first_component_scores(x, x), hidden)[0, 1] > 0.99


def test_a_map_is_kept_small_and_the_same_twice(store, tmp_path):
    heard = []
    source = Simulated(benchmark=Gaussian(dim_x=3, dim_theta=2), gamma=0.3)
    training = Training(source=source, recipe=TINY)
    task = MapTask(training=training, n=100, k=30)
    assert task.needs == {keys.key(training)}
    assert task.load(store) is None
    assert not task.done(store)

    def hear(fraction, live):
        heard.append((fraction, list(live["history"].get("held", []))))

    task.run(store, hear)
    maps = task.load(store)
    assert task.done(store)
    assert store.has("models", keys.key(training))
    assert sum(array.nbytes for array in maps[:-1]) < 6e6
    assert {maps.q_inside.dtype, maps.film_inside.dtype} == {np.dtype(np.uint8)}
    assert {maps.field.dtype, maps.difference.dtype} == {np.dtype(np.float16)}
    assert maps.film_field.dtype == np.float16
    fractions = [fraction for fraction, _ in heard]
    assert fractions == sorted(fractions)
    assert fractions[-1] == 1.0
    learning = [held for fraction, held in heard if fraction < 0.8]
    assert len(learning[0]) < len(learning[-1]) > 5
    seen = maps.film_held[1 : 1 + len(learning[-1])]
    np.testing.assert_allclose(learning[-1], seen, atol=1e-6)
    np.testing.assert_allclose(heard[-1][1], maps.film_held, atol=1e-6)
    again = Store(tmp_path / "other")
    task.run(again, lambda fraction, live: None)
    for name, one, other in zip(Maps._fields, maps, task.load(again), strict=True):
        np.testing.assert_array_equal(one, other, err_msg=name)
    other = MapTask(training=training, n=100, k=30, seed=1)
    other.run(store, lambda fraction, live: None)
    assert not np.isin(other.load(store).u_quote, maps.u_quote).any()


@pytest.mark.parametrize("embedding", ["identity", "fourier"])
def test_the_film_ends_where_the_kept_localizer_is(store, embedding, monkeypatch):
    """To half precision; and its flags hold u* of q in every frame."""
    recipes = import_module("validation_core.scores.localizer")
    monkeypatch.setattr(recipes, "WATCHED", 50)
    recipe = Localizer(
        embedding=embedding, anchors=60, draws=30, steps=20, blur_steps=20, hidden=8, layers=1,
        keep_best=False,
    )  # fmt: skip
    source = Simulated(benchmark=Gaussian(dim_x=2, dim_theta=2), gamma=0.3)
    task = MapTask(training=Training(source=source, recipe=recipe), n=200, k=40, places=5)
    task.run(store, lambda fraction, live: None)
    maps = task.load(store)
    frames = len(maps.film_step)
    assert frames > 10
    assert int(maps.kept) == frames - 1
    assert maps.film_field.shape == (frames, 5, 31, 31)
    spread = maps.q.std(axis=(0, 1))
    moved = np.abs(maps.film_centre[-1] - maps.centre) / spread
    assert moved.max() < 0.01
    off = np.abs(maps.film_field.astype(float) - maps.field[:, ::2, ::2]).mean((1, 2, 3))
    assert off[-1] < 0.005 < off[:-1].min()
    # 300 draws give the radius and 300 are shown.
    u = float(maps.u_star)
    sd = np.sqrt(u * (1 - u) * 2 / 300)
    np.testing.assert_allclose(maps.film_inside.mean(-1), u, atol=4.5 * sd)


def test_all_ties(store):
    """The spiral at gamma 0: every draw is the truth, ranks stay uniform, all are on the rim."""
    source = Simulated(benchmark=Spiral(), gamma=0.0)
    task = MapTask(training=Training(source=source, recipe=TINY), n=300, k=20, places=4)
    task.run(store, lambda fraction, live: None)
    maps = task.load(store)
    assert float(maps.tied) == 1.0
    assert float(maps.pvalue) > 1e-3
    assert maps.q_inside.all()
    assert maps.truth_inside.all()
    assert maps.difference.size == 0
    assert maps.film_inside.shape == (len(maps.film_step), 4, 300)


def test_a_theta_that_never_varies(store):
    maps = mapped(store, Constant(d=2, known=False), n=50, k=10)
    assert float(maps.tied) == 1.0
    assert np.ptp(maps.grid_x) > 0.1
    assert maps.grid_x[0] < 3 < maps.grid_x[-1]
    assert np.isfinite(maps.field).all()


@pytest.mark.parametrize(("d", "sides"), [(1, (61,)), (2, (61, 61)), (5, None)])
def test_shapes_by_dimension(store, d, sides):
    maps = mapped(store, Normals(d=d, m=3), n=60, k=20)
    assert maps.centre.shape == (5, d)
    assert maps.film_centre.shape == (3, 5, d)
    assert maps.grid_y.size == (61 if d == 2 else 0)
    assert maps.grid_x.size == (0 if d == 5 else 61)
    if sides is None:
        assert maps.field.size == maps.difference.size == maps.film_field.size == 0
    else:
        assert maps.field.shape == maps.difference.shape == (5, *sides)
        assert maps.film_field.shape == (3, 5, *[31] * d)
        low, high = np.quantile(maps.truth, [0.01, 0.99], axis=(0, 1))
        assert maps.grid_x[0] < low[0] < high[0] < maps.grid_x[-1]


def test_many_parameters_are_shown_by_fewer_draws(store):
    maps = mapped(store, Normals(d=400, m=1), n=20, k=4)
    assert sum(array.nbytes for array in maps[:-1]) < 6e6
    assert maps.q.shape[1] > maps.truth.shape[1] > 50


def test_the_difference_of_a_law_that_ignores_x():
    """The blind prior's q: shared among places, and the same as row by row."""
    benchmark = Gaussian(dim_x=2, dim_theta=2, perturbation="blind_prior")
    source = Simulated(benchmark=benchmark, gamma=1.0)
    x = benchmark.x(3, stream(2))
    axis = np.linspace(-3, 3, 9)
    places = grid.grid_points(axis, axis)
    found = grid.density_difference(source, x, places)
    rows = np.tile(places, (3, 1)), np.repeat(x, 81, axis=0)
    log_p = benchmark.log_p(*rows, 1.0)
    expected = np.exp(log_p) - np.exp(log_p - benchmark.log_ratio(*rows, 1.0))
    np.testing.assert_allclose(found.ravel(), expected, rtol=1e-6, atol=1e-9)
    assert (
        grid.density_difference(Simulated(benchmark=Spiral(), gamma=1.0), x[:, :1], places) is None
    )


@pytest.mark.parametrize("bad", [{"n": 1}, {"k": 1}, {"places": 1}])
def test_sizes_are_checked(bad):
    source = Simulated(benchmark=Normals(), gamma=0.0)
    with pytest.raises(ValueError, match="at least two simulations"):
        MapTask(training=Training(source=source, recipe=TINY), **bad)


def uploaded(store, rows=90, d=2, m=3, draws=25):
    table = sampling.table(Normals(d=d, m=m, sd=2.0), 0.0, rows, draws, stream(3))
    upload = Upload.of({"theta": table.theta, "x": table.x, "theta_q": table.q}, order="NKD")
    diagnoses.save_upload(store, upload)
    training = Training(source=diagnoses.UploadSource(digest=upload.digest), recipe=PLAIN, seed=4)
    keep(store, training, by_hand(d, m))
    return upload, training


@pytest.mark.parametrize("m", [1, 3])
def test_an_upload_is_mapped_by_its_test_rows(store, m):
    upload, training = uploaded(store, m=m)
    task = MapTask(training=training, seed=5)
    task.run(store, lambda fraction, live: None)
    maps = task.load(store)
    test = learning.held_out_table(upload, seed=4)
    assert len(maps.u_choose) + len(maps.u_quote) == len(test) == 45
    assert maps.x_at.shape == (41, m)
    assert maps.q.shape == (41, 25, 2)
    assert maps.truth.shape == (41, 1, 2)
    assert maps.difference.size == 0
    for x, q, truth in zip(maps.x_at, maps.q, maps.truth, strict=True):
        row = np.flatnonzero((test.x.astype(np.float32) == x).all(1))
        assert row.size == 1
        np.testing.assert_array_equal(test.theta[row].astype(np.float32), truth)
        np.testing.assert_array_equal(test.q[row[0]].astype(np.float32), q)
    line = maps.x_at[:, 0] if m == 1 else map_draws.first_component_scores(test.x, maps.x_at)
    assert (np.diff(line) > 0).all()
    # A radius among the 25 draws themselves: u* of them within one.
    np.testing.assert_allclose(maps.q_inside.mean(1), float(maps.u_star), atol=1.01 / 25)
    by_rank, _ = reads(maps)
    assert by_rank > 0  # q is too wide


def test_few_rows_give_few_places_or_a_refusal(store):
    _, training = uploaded(store, rows=20)
    task = MapTask(training=training)
    task.run(store, lambda fraction, live: None)
    assert task.load(store).x_at.shape == (10, 3)
    _, training = uploaded(store, rows=6)
    with pytest.raises(ValueError, match="at least two each; got 3"):
        MapTask(training=training).run(store, lambda fraction, live: None)


def test_two_samples_have_no_x():
    rng = stream(6)
    upload = Upload.of({"p": rng.standard_normal((50, 2)), "q": rng.standard_normal((50, 2))})
    with pytest.raises(ValueError, match="got two samples p and q"):
        learning.held_out_table(upload, seed=0)


def right_only(n, m, rng, column=0):
    """x, and ranks that crowd below 0.4 only where that column of x is above 0."""
    x = rng.standard_normal((n, m))
    u = rng.random(n)
    return x, np.where(x[:, column] > 0, u**2.5, u)


def test_the_curve_finds_where_the_discrepancy_lives():
    x, u = right_only(1000, 1, stream(7))
    found = local_rate(x, u, 0.4)
    (line,) = found.curves
    assert found.pvalue == 1 / 2000
    assert found.heat is None
    true = 0.4 ** (1 / 2.5) - 0.4
    right, left = line.at > 0.7, line.at < -0.7
    assert (line.low[right] > 0).all()
    np.testing.assert_allclose(line.rate[right], true, atol=0.15)
    covered = (line.low[left] <= 0) & (line.high[left] >= 0)
    assert covered.mean() > 0.8
    assert (line.low <= line.rate).all()
    assert (line.rate <= line.high).all()
    assert line.neighbours.min() > 20


def test_the_heat_map_finds_it_and_leaves_empty_places_blank():
    x, u = right_only(1000, 2, stream(8), column=1)
    found = local_rate(x, u, 0.4)
    heat = found.heat
    assert found.pvalue == 1 / 2000
    assert found.curves == ()
    up, down = heat.grid_y > 0.7, heat.grid_y < -0.7
    wrong, right = ((part.low > 0)[~np.isnan(part.rate)] for part in _cut(heat, up, down))
    assert wrong.mean() > 0.8
    assert right.mean() < 0.1
    corner = local_rate(np.array([[0.0, 0.0], [9.0, 9.0]]).repeat(100, 0), u[:200], 0.4).heat
    assert np.isnan(corner.rate[0, -1])
    assert np.isfinite(corner.rate[0, 0])
    np.testing.assert_array_equal(np.isnan(heat.rate), heat.neighbours < over_x.FEWEST)


def _cut(heat, *rows):
    return (heat._replace(low=heat.low[row], rate=heat.rate[row]) for row in rows)


def test_a_checkerboard_is_seen_in_two_dimensions():
    """Neither coordinate alone shows it."""
    rng = stream(9)
    x, u = rng.uniform(-1, 1, (1000, 2)), rng.random(1000)
    u = np.where(x.prod(1) > 0, u**2, np.sqrt(u))
    assert local_rate(x, u, 0.5, permutations=199).pvalue == 1 / 200


def test_coordinates_are_ranked():
    x, u = right_only(1000, 8, stream(10), column=5)
    x[:, 2] = 1.0
    found = local_rate(x, u, 0.4, shown=3)
    assert found.coordinates[0] == 5
    assert sorted(found.coordinates) == list(range(8))
    assert found.coordinates[-1] == 2
    assert found.pvalues[0] == found.pvalue < 0.01 < found.pvalues[1:].min()
    assert found.pvalues[-1] == 1.0
    assert len(found.curves) == 3
    alone = local_rate(x[:, [5]], u, 0.4).curves[0]
    np.testing.assert_allclose(found.curves[0].rate, alone.rate)


def test_a_hundred_coordinates_can_still_be_told():
    """Enough permutations for Holm to reject."""
    x, u = right_only(600, 100, stream(11), column=70)
    found = local_rate(x, u, 0.4)
    assert found.coordinates[0] == 70
    assert found.pvalue <= 100 / (found.permutations + 1) < 0.05
    assert found.pvalues[1] > 0.05


@in_turn(200, 400)
@pytest.mark.parametrize("m", [1, 2, 3])
@pytest.mark.parametrize("ties", [False, True])
def test_pvalues_are_uniform_where_x_does_not_matter(m, ties, trials):
    """Uniform for one coordinate and for two, however large the overall discrepancy; Holm's
    smallest is at most that."""
    pvalues = []
    for rep in range(trials):
        rng = stream(12, m, rep)
        x, u = rng.standard_normal((97, m)), rng.random(97) ** 2
        x = np.round(2 * x) if ties else x
        pvalues.append(local_rate(x, u, 0.3, seed=rep, permutations=99).pvalue)
    for level in (0.05, 0.2, 0.5):
        low, high = statistics.binomial_bounds(trials, level, 0.999)
        count = np.sum(np.array(pvalues) <= level + 1e-9)
        assert count <= high
        assert m == 3 or count >= low


def test_intervals_hold_the_rate():
    """Pointwise, on average over places and trials."""
    covered = []
    for rep in range(60):
        rng = stream(13, rep)
        (line,) = local_rate(rng.random((300, 1)), rng.random(300), 0.3, permutations=1).curves
        covered.append((line.low <= 0) & (line.high >= 0))
    assert 0.9 < np.mean(covered) < 0.99


def test_extremes_of_the_local_rate():
    rng = stream(14)
    none = local_rate(rng.random((30, 1)), np.full(30, 0.9), 0.5, permutations=99)
    assert none.pvalue == 1.0
    np.testing.assert_allclose(none.curves[0].rate, -0.5)
    still = local_rate(np.ones((30, 1)), rng.random(30), 0.5, permutations=99)
    assert still.pvalue == 1.0
    assert np.isfinite(still.curves[0].rate).all()
    two = local_rate(np.repeat([[0.0], [1.0]], 30, axis=0), rng.random(60), 0.5).curves[0]
    assert np.isfinite(two.rate).all()
    few = local_rate(rng.random((8, 2)), rng.random(8), 0.5, permutations=99)
    assert few.pvalue == 1.0
    assert np.isnan(few.heat.rate).all()
    for x, u in ((np.zeros(3), np.zeros(3)), (np.zeros((3, 1)), np.zeros(4))):
        with pytest.raises(ValueError, match="one x for each rank"):
            local_rate(x, u, 0.5)


def test_the_whole_way_from_a_benchmark_to_its_x(store):
    maps = mapped(store, Normals(d=1, sd=2.5, only_right=True), n=1000)
    found = local_rate(maps.x_quote, maps.u_quote, float(maps.u_star))
    line = found.curves[0]
    assert found.pvalue < 0.01
    right, left = line.at > 1, line.at < -1
    assert (line.low[right] > 0).all()
    assert line.rate[right].mean() > 0.2 > 0.1 > np.abs(line.rate[left].mean())


def test_contours_of_circles():
    axis, other = np.linspace(-2, 2, 81), np.linspace(-1.5, 3, 91)
    across, up = np.meshgrid(axis, other)
    field = np.hypot(across - 0.2, up - 0.5)
    two = np.minimum(np.hypot(across - 1, up), np.hypot(across + 1, up))
    found = contours(axis, other, np.stack([field, field, two, field]), [1.0, 0.5, 0.4, 90.0])
    for line, radius in zip(found[:2], (1.0, 0.5), strict=True):
        np.testing.assert_allclose(np.hypot(*(line - [0.2, 0.5]).T), radius, atol=2e-3)
        np.testing.assert_allclose(line[0], line[-1])
    gap = np.flatnonzero(np.isnan(found[2]).any(1))
    assert gap.size == 1
    parts = found[2][: gap[0]], found[2][gap[0] + 1 :]
    assert sorted(np.sign(part[:, 0]).mean() for part in parts) == [-1, 1]
    assert found[3].shape == (0, 2)
    with pytest.raises(ValueError, match=r"Give \(V, y, x\)"):
        contours(axis, other, field, [1.0])


def test_kept_outlines_are_short_and_end_where_they_did():
    turn = np.linspace(0, 2 * np.pi, 400)
    circle = np.stack([np.cos(turn), np.sin(turn)], axis=1)
    two = np.concatenate([circle, [[np.nan, np.nan]], 3 + circle])
    kept = stacked([[circle, np.zeros((0, 2))], [two, circle[:3]]]).astype(float)
    assert kept.shape[:2] == (2, 2)
    assert kept.shape[2] < 80
    np.testing.assert_allclose(np.hypot(*kept[0, 0][:50].T), 1, atol=2e-3)
    assert np.isnan(kept[0, 1]).all()
    np.testing.assert_allclose(kept[1, 1, :3], circle[:3], atol=1e-3)
    (gap,) = np.flatnonzero(np.isnan(kept[1, 0, :-1, 0]) & ~np.isnan(kept[1, 0, 1:, 0]))
    np.testing.assert_allclose(kept[1, 0, [0, gap - 1]], circle[[0, -1]], atol=1e-3)
    np.testing.assert_allclose(kept[1, 0, gap + 1], 3 + circle[0], atol=2e-3)


def test_rows_of_a_field_are_y():
    axis, other = np.linspace(0, 1, 3), np.linspace(5, 8, 4)
    places = grid.grid_points(axis, other)
    np.testing.assert_array_equal(
        grid.reshape_to_grid(places[:, 0], axis, other), np.tile(axis, (4, 1))
    )
    np.testing.assert_array_equal(grid.reshape_to_grid(places[:, 1], axis, other)[:, 0], other)


def test_the_outline_is_where_the_ball_ends(store):
    maps = mapped(store, Normals(d=2, sd=2.0), gamma=1.0)
    lines = contours(maps.grid_x, maps.grid_y, maps.field, maps.radius)
    for line, centre, radius in zip(lines, maps.centre, maps.radius, strict=True):
        np.testing.assert_allclose(np.hypot(*(line - centre).T), radius, rtol=0.02)


def test_intervals_of_a_line():
    axis = np.linspace(-4, 4, 161)
    field = np.stack([np.abs(axis), np.abs(np.abs(axis) - 2), np.abs(axis), axis + 9])
    found = intervals(axis, field, [1.23, 0.5, -1.0, 8.0])
    np.testing.assert_allclose(found[0], [[-1.23, 1.23]], atol=1e-9)
    np.testing.assert_allclose(found[1], [[-2.5, -1.5], [1.5, 2.5]], atol=1e-9)
    assert found[2].shape == (0, 2)
    np.testing.assert_allclose(found[3], [[-4, -1]], atol=1e-9)


def test_projections(store):
    maps = mapped(store, Normals(d=5, m=2), n=60, k=20)
    pair = project(maps, (3, 1))
    np.testing.assert_allclose(pair.q, maps.q[..., [3, 1]], atol=1e-6)
    np.testing.assert_allclose(pair.truth, maps.truth[..., [3, 1]], atol=1e-6)
    np.testing.assert_allclose(pair.centre, maps.centre[..., [3, 1]], atol=1e-6)
    assert pair.film_centre.shape == (3, 5, 2)
    main = project(maps, "pca")
    # All coordinates share x_1: the first component is their mean, whatever the place.
    np.testing.assert_allclose(main.axes[0], np.full(5, 5**-0.5), atol=0.05)
    np.testing.assert_allclose(main.axes @ main.axes.T, np.eye(2), atol=1e-6)
    assert main.share[0] > 0.5 > main.share[1] > 0
    flat = main.q.reshape(-1, 2)
    assert abs(np.corrcoef(flat.T)[0, 1]) < 1e-6
    scaled = project(maps._replace(q=maps.q * [1, 1, 1e3, 1, 1]), "pca")
    np.testing.assert_allclose(scaled.q, main.q, atol=1e-4)


@pytest.mark.parametrize("onto", [(0, 0), (0, 5), (-1, 2)])
def test_projections_that_are_not_there(store, onto):
    maps = mapped(store, Normals(d=5, m=2), n=20, k=5)
    with pytest.raises(ValueError, match="two different of 5 parameters"):
        project(maps, onto)
    with pytest.raises(ValueError, match="at least two; got"):
        project(mapped(store, Normals(), n=20, k=5), "pca")


def test_a_benchmark_with_a_model_is_made_ready(store, monkeypatch):
    asked = []
    monkeypatch.setattr(trained_scores, "ready", lambda kept, benchmark: asked.append(benchmark))
    mapped(store, Normals(), n=20, k=5)
    assert asked == [Normals()]


def _truths(benchmark, gamma=0.0):
    x = np.sort(benchmark.x(41, stream(40)), axis=0)
    many = np.repeat(x, 100, axis=0)
    truth = benchmark.theta(many, gamma, stream(41)).reshape(41, 100, -1)
    return SimpleNamespace(truth=truth, x_at=x, spine=None)


def test_the_spiral_turns_as_often_as_it_does():
    curve = truth_curve(_truths(Spiral()))
    # (x cos x, x sin x) turns by x + atan(x) but for what both scales and the trimmed ends take.
    assert curve.turn == pytest.approx(3 * np.pi, rel=0.15)


def test_more_gain_bends_more():
    straight, curved = (
        truth_curve(_truths(Gaussian(dim_x=1, dim_theta=2, **more)))
        for more in ({}, {"curved": True, "gain": 3.0})
    )
    assert curved.turn > 2 * straight.turn


def test_only_a_plane_is_bent():
    assert truth_curve(_truths(Gaussian(dim_x=1, dim_theta=3))) is None
    flat = SimpleNamespace(truth=np.zeros((41, 100, 2)), x_at=np.zeros((41, 1)), spine=None)
    assert truth_curve(flat) is None


def test_a_bend_is_worked_out_once(monkeypatch):
    """It takes seconds, and two places of a page draw it."""

    monkeypatch.setattr(truth_curves, "TRUTH_CURVES", {})
    calls = []
    monkeypatch.setattr(
        truth_curves, "fit_truth_curve", lambda maps: calls.append(maps) or "a curve"
    )

    class Seen:
        spine = None
        x_at = np.zeros((2, 1))
        truth = np.zeros((2, 3, 2))

    assert truth_curve(Seen) == truth_curve(Seen) == "a curve"
    assert len(calls) == 1
    Seen.truth = np.ones((2, 3, 2))
    truth_curve(Seen)
    assert len(calls) == 2


def shoelace(loops):
    """The area of loops between rows of nan; holes turn the other way."""
    total = 0.0
    for loop in np.split(loops, np.flatnonzero(np.isnan(loops[:, 0]))):
        x, y = loop[~np.isnan(loop[:, 0])].T
        total += 0.5 * float(np.sum(x[:-1] * y[1:] - x[1:] * y[:-1]))
    return abs(total)


@pytest.mark.parametrize(("picture", "field"), [
    ("whole", lambda x, y: np.hypot(x, y)),
    ("cut at one side", lambda x, y: np.hypot(x - 1.8, y)),
    ("in a corner", lambda x, y: np.hypot(x - 1.8, y - 1.9)),
    ("a corner is outside", lambda x, y: 3.5 - np.hypot(x + 2, y + 2)),
    ("with a hole", lambda x, y: np.abs(np.hypot(x, y) - 1) + 0.5),
    ("a band", lambda x, y: np.abs(x + 0.3 * y) + 0.5),
    ("many", lambda x, y: 1 + np.cos(4 * x) * np.cos(3 * y)),
    ("many and holes", lambda x, y: 1 + np.cos(4 * x + y) * np.cos(3 * y) - 0.3 * x),
])  # fmt: skip
@pytest.mark.parametrize("reach", [2.0, 1.4])
def test_a_region_is_filled_where_the_field_is_below_the_radius(picture, field, reach):
    grid = np.linspace(-2, 2, 121)
    (rim,) = contours(grid, grid, field(*np.meshgrid(grid, grid))[None], np.array([1.0]))
    loops = areas(rim, (-reach, reach), (-reach, reach))
    assert np.nanmax(np.abs(loops)) <= reach + 1e-9
    fine = np.linspace(-reach, reach, 801)
    share = (field(*np.meshgrid(fine, fine)) <= 1).mean()
    assert shoelace(loops) == pytest.approx(share * (2 * reach) ** 2, rel=0.02, abs=0.02)


def test_a_rim_that_the_picture_does_not_meet_fills_nothing():
    assert areas(np.zeros((0, 2)), (0, 1), (0, 1)).shape == (0, 2)
    assert areas(np.array([[2.0, 2], [3, 3]]), (0, 1), (0, 1)).shape == (0, 2)
