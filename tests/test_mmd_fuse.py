"""MMD-FUSE: the package's numbers, the stated size, and the memory it may take."""

import itertools
import tracemalloc

import numpy as np
import plotly.graph_objects as go
import pytest

from tests.conftest import in_turn
from tests.records import record_of
from validation_core import keys, statistics
from validation_core.drawing import plotly
from validation_core.drawing.null_histogram import relabelling_histogram
from validation_core.methods.mmd_fuse import MMDFuse, mmd_by_bandwidth
from validation_core.panels.record import pictures
from validation_core.rng import stream
from validation_core.scores import RawRows
from validation_core.statistics import mmd, mmd_fuse
from validation_core.types import BlockScores

CASES = ("mmdfuse-null", "mmdfuse-shift", "mmdfuse-scale-unequal", "mmdfuse-duplicates")
FEW = MMDFuse(permutations=39)
"""p <= 0.05 for exactly 2 places of 40, so that the size is exactly 5% without ties."""


def _scores(
    *names, trials=None, n=(15, 15), size=3, make=lambda rng, shape: rng.normal(size=shape)
):
    rng = stream(0, "mmd_fuse", *names)
    lead = () if trials is None else (trials,)
    return BlockScores(*(make(rng, (*lead, size, each)) for each in n))


@pytest.fixture(params=CASES)
def case(request, reference):
    found, arrays, expected = reference(request.param)
    sides = sorted((arrays["x"], arrays["y"]), key=len, reverse=True)  # the larger comes first
    first = arrays["in_first_sample"]
    if len(arrays["x"]) == len(arrays["y"]):
        sides = [arrays["x"], arrays["y"]]
    return found["outputs"], sides, np.where(first == 1, 1, -1).astype(np.int8), expected


def _fused(normalised, n):
    return {name: mmd_fuse.fused(normalised, n, name) for name in ("package", "paper")}


def test_in_float64_every_number_is_the_packages(case):
    outputs, sides, labels, expected = case
    found = mmd.distances(*sides, np.float64)
    np.testing.assert_allclose(found.bandwidths[0], outputs["bandwidths_l1"], rtol=1e-10)
    np.testing.assert_allclose(found.bandwidths[1], outputs["bandwidths_l2"], rtol=1e-10)
    made = mmd_fuse.kernels(found, labels)
    np.testing.assert_allclose(made.mmd2[:, -1], outputs["mmd2"], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(made.normaliser, outputs["normaliser_N"], rtol=1e-10)
    np.testing.assert_allclose(
        made.normalised, expected["permuted_normalised_statistics"], rtol=1e-8, atol=1e-10
    )
    n = min(map(len, sides))
    for name, values in _fused(made.normalised, n).items():
        np.testing.assert_allclose(
            values, expected[f"permuted_fuse_lambda_{name}"], rtol=1e-8, atol=1e-10
        )
        assert values[-1] == pytest.approx(outputs[f"fuse_lambda_{name}"], rel=1e-8, abs=1e-11)
        assert mmd_fuse.pvalues(values, n) == pytest.approx(outputs[f"p_value_lambda_{name}"])


def test_in_float32_statistics_and_pvalues_are_the_packages(case):
    outputs, sides, labels, expected = case
    made = mmd_fuse.kernels(mmd.distances(*sides), labels)
    np.testing.assert_allclose(
        made.normalised, expected["permuted_normalised_statistics"], atol=1e-6
    )
    n = min(map(len, sides))
    for name, values in _fused(made.normalised, n).items():
        assert mmd_fuse.pvalues(values, n) == pytest.approx(outputs[f"p_value_lambda_{name}"])


def _points(*names, n=(7, 5), size=2):
    rng = stream(1, *names)
    return [rng.normal(size=(each, size)) for each in n]


def _kernel(a, b, family, width):
    if family == 0:
        return np.exp(-np.sqrt(2) * np.abs(a - b).sum() / width)
    return np.exp(-((a - b) ** 2).sum() / (2 * width**2))


@pytest.mark.parametrize("n", [(7, 5), (5, 7), (6, 6), (2, 2)])
def test_mmd_is_the_mean_over_pairs_within_less_the_one_across(n):
    p, q = _points("loops", n=n)
    found = mmd.distances(p, q, np.float64)
    made = mmd_fuse.kernels(found, mmd_fuse.relabelings(*n, 3, stream(2)))
    pooled = np.concatenate([p, q])
    for at, width in enumerate(found.bandwidths.ravel()):
        k = lambda a, b: _kernel(a, b, at // mmd.BANDWIDTHS, width)  # noqa: B023, E731
        within = [
            np.mean([k(a, b) for a, b in itertools.permutations(side, 2)]) for side in (p, q)
        ]
        across = np.mean([k(a, b) for a in p for b in q])
        assert made.mmd2[at, -1] == pytest.approx(sum(within) - 2 * across, abs=1e-13)
        squares = sum(k(a, b) ** 2 for a, b in itertools.permutations(pooled, 2))
        smaller = min(n)
        assert made.normaliser[at] == pytest.approx(squares / (smaller * (smaller - 1)))


def test_bandwidths_span_the_distances_and_zeros_count_as_their_median():
    p, q = _points("bandwidths", n=(80, 61))
    pooled = np.concatenate([p, q])
    upper = np.triu_indices(len(pooled))
    made = mmd.distances(p, q, np.float64).bandwidths
    for family, norm in enumerate((1, 2)):
        pairs = np.linalg.norm(pooled[:, None] - pooled, ord=norm, axis=-1)[upper]
        pairs = np.sort(np.where(pairs == 0, np.median(pairs), pairs))
        low, high = pairs[int(0.05 * pairs.size)], pairs[int(0.95 * pairs.size)]
        np.testing.assert_allclose(made[family], np.linspace(low / 2, 2 * high, 10), rtol=1e-12)


def test_strips_hold_every_pair_of_points_once():
    p, q = _points("strips", n=(150, 90), size=4)
    pooled = np.concatenate([p, q])
    found = mmd.distances(p, q, np.float64)
    for first, l1, squared in found.strips:
        rows = pooled[first : first + len(l1), None] - pooled[first:]
        np.testing.assert_allclose(l1, np.abs(rows).sum(-1), atol=1e-12)
        np.testing.assert_allclose(squared, (rows**2).sum(-1), atol=1e-12)
    assert sum(len(strip.l1) for strip in found.strips) == found.size == 240


def test_fusing_is_a_soft_maximum_that_does_not_overflow():
    values = stream(3).normal(size=(20, 5))
    plain = np.log(np.exp(values * 12**0.5).mean(0)) / 12**0.5
    np.testing.assert_allclose(mmd_fuse.fused(values, 4, "paper"), plain)
    far = mmd_fuse.fused(values, 2000)
    np.testing.assert_allclose(far, values.max(0), atol=1e-5)
    assert (mmd_fuse.fused(values, 4) <= values.max(0)).all()
    assert (mmd_fuse.fused(values, 4) > mmd_fuse.fused(values, 4, "paper")).all()


NULLS = {
    "rows": {},
    "unequal": {"n": (10, 24)},
    "one number": {"size": 1},
    "heavy tails": {"make": lambda rng, shape: rng.standard_t(1, size=shape)},
}


@in_turn(1000, 2000)
@pytest.mark.parametrize("options", NULLS.values(), ids=NULLS)
def test_level(options, trials):
    made = FEW.test(_scores("level", trials=trials, **options), stream(4, *options))
    rejections = int((made.pvalue <= 0.05).sum())
    low, high = statistics.binomial_bounds(trials, 0.05, 0.999)
    assert low <= rejections <= high
    assert made.pvalue.shape == made.statistic.shape == (trials,)


@in_turn(1000, 2000)
@pytest.mark.parametrize("scaling", ["package", "paper"])
def test_pvalues_are_uniform_on_their_grid(scaling, trials):
    method = MMDFuse(permutations=19, scaling=scaling)
    made = method.test(_scores("uniform", scaling, trials=trials, n=(8, 8)), stream(5, scaling))
    places = np.rint(made.pvalue * 20).astype(int)
    np.testing.assert_allclose(made.pvalue * 20, places, atol=1e-9)
    for place in (1, 2, 5, 10, 15):
        low, high = statistics.binomial_bounds(trials, place / 20, 0.9999)
        assert low <= (places <= place).sum() <= high
    assert places.min() == 1


@in_turn(1000, 2000)
@pytest.mark.parametrize("levels", [2, 3, 10])
def test_level_with_ties(levels, trials):
    """Relabelings that exchange equal rows tie: p-values may only be larger for it."""
    make = lambda rng, shape: rng.integers(levels, size=shape).astype(float)  # noqa: E731
    made = FEW.test(_scores("ties", levels, trials=trials, size=1, make=make), stream(6))
    assert (made.pvalue <= 0.05).sum() <= statistics.binomial_bounds(trials, 0.05, 0.999)[1]
    assert made.pvalue.min() > 0
    assert all(np.isfinite(array).all() for array in made.arrays.values())


def test_equal_relabelings_tie_wherever_they_stand():
    """The same and the opposite labels in other columns of a product: equal but for rounding."""
    p, q = _points("places", n=(300, 300), size=3)
    labels = mmd_fuse.relabelings(300, 300, 1, stream(7))
    many = np.concatenate([np.repeat(labels[:1], 99, 0), labels[:1] * -1, labels[1:] * -1,
                           np.repeat(labels[1:], 100, 0)])  # fmt: skip
    normalised = mmd_fuse.kernels(mmd.distances(p, q), many).normalised
    for values in _fused(normalised, 300).values():
        larger = values[0] > values[-1]
        assert mmd_fuse.pvalues(values, 300) == pytest.approx(1.0 if larger else 101 / 201)


@pytest.mark.parametrize("made", ["constant", "identical", "two values"])
def test_nothing_to_tell_apart_is_never_rejected(made):
    rows = {
        "constant": np.full((3, 20), 0.1),
        "identical": stream(8).normal(size=(3, 20)),
        "two values": np.tile([0.0, 1.0], (3, 10)),
    }[made]
    found = MMDFuse(permutations=199).test(BlockScores(rows, rows), stream(9))
    assert found.pvalue > 0.5
    assert all(np.isfinite(array).all() for array in found.arrays.values())
    if made == "constant":
        assert found.pvalue == 1
        assert found.statistic == pytest.approx(0, abs=1e-12)


def test_it_sees_a_shift_a_scale_and_a_dependence():
    rng = stream(10)
    p = rng.normal(size=(3, 120))
    shift, scale, dependent = rng.normal(size=(3, 3, 120))
    shift[0] += 1
    scale *= 2
    dependent[1] = 0.9 * dependent[0] + 0.19**0.5 * dependent[1]
    for q in (shift, scale, dependent):
        for scaling in ("package", "paper"):
            found = MMDFuse(permutations=199, scaling=scaling).test(BlockScores(p, q), rng)
            assert found.pvalue == pytest.approx(1 / 200), "the smallest that it can be, not 0"


def test_a_coordinate_with_heavy_tails_still_counts():
    """In units of its standard deviation the shifted coordinate would vanish."""
    rng = stream(11)
    p, q = (rng.standard_t(0.7, size=(3, 150)) for _ in range(2))
    q[0] += 1.5
    assert MMDFuse(permutations=199).test(BlockScores(p, q), rng).pvalue <= 0.01


def test_units_of_the_coordinates_do_not_matter():
    made = _scores("units", n=(40, 30))
    scale = np.array([1e-3, -40.0, 7e5])[:, None]
    offset = np.array([3.0, -1e3, 2e6])[:, None]
    moved = BlockScores(made.p * scale + offset, made.q * scale + offset)
    before, after = (FEW.test(one, stream(12)) for one in (made, moved))
    assert after.statistic == pytest.approx(before.statistic, abs=1e-6)
    assert after.pvalue == before.pvalue
    np.testing.assert_allclose(after.arrays["bandwidths"], before.arrays["bandwidths"], rtol=1e-5)


def test_order_of_rows_and_of_samples_does_not_matter():
    made = _scores("order", n=(40, 30))
    shuffle = [stream(13, side).permutation(n) for side, n in enumerate((40, 30))]
    others = (
        BlockScores(made.p[:, shuffle[0]], made.q[:, shuffle[1]]),
        BlockScores(made.q, made.p),
        BlockScores(made.p[::-1], made.q[::-1]),
    )
    seen = FEW.test(made, stream(14))
    for other in others:
        again = FEW.test(other, stream(14))
        np.testing.assert_allclose(again.arrays["kernels"], seen.arrays["kernels"], atol=1e-6)
        assert again.statistic == pytest.approx(seen.statistic, abs=1e-6)


def test_standardising_is_by_the_pooled_interquartile_range():
    p, q = _points("spread", n=(50, 70), size=3)
    p[:, 1] = 4.0
    q[:, 1] = 4.0
    p[:, 2], q[:, 2] = 0.0, np.arange(70) < 20
    made = np.concatenate(mmd.standardised(p, q))
    low, middle, high = np.quantile(made[:, 0], [0.25, 0.5, 0.75])
    assert middle == pytest.approx(0, abs=1e-12)
    assert high - low == pytest.approx(1)
    assert not made[:, 1].any(), "a constant says nothing"
    assert made[:, 2].std() == pytest.approx(1), "most values one: the standard deviation"


def test_trials_are_an_axis():
    made = _scores("axes", trials=6)
    lead = BlockScores(made.p.reshape(2, 3, 3, 15), made.q.reshape(2, 3, 3, 15))
    whole = FEW.test(lead, stream(15))
    rng = stream(15)
    assert whole.arrays["null"].shape == (2, 3, 39)
    for at in np.ndindex(2, 3):
        one = FEW.test(BlockScores(lead.p[at], lead.q[at]), rng)
        assert one.pvalue == whole.pvalue[at]
        for name, array in one.arrays.items():
            np.testing.assert_array_equal(array, whole.arrays[name][at])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_in_turns_is_as_at_once(dtype):
    p, q = _points("turns", n=(90, 70))
    found, labels = mmd.distances(p, q, dtype), mmd_fuse.relabelings(90, 70, 100, stream(16))
    whole, parts, single = (
        mmd_fuse.kernels(found, labels, bytes_) for bytes_ in (1 << 28, 1 << 20, 0)
    )
    exact = 1e-14 if dtype is np.float64 else 1e-6
    for other in (parts, single):
        np.testing.assert_allclose(other.normalised, whole.normalised, atol=exact)
        np.testing.assert_allclose(other.normaliser, whole.normaliser, rtol=1e-12)


def _peak(work):
    tracemalloc.start()
    try:
        kept = work()
        return kept, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_memory_stays_within_what_is_promised():
    """Distances take 4 N^2 bytes, at most as much again while sorted; the rest `memory`."""
    p, q = _points("memory", n=(400, 400), size=3)
    found, peak = _peak(lambda: mmd.distances(p, q))
    kept = sum(strip.l1.nbytes + strip.l2_squared.nbytes for strip in found.strips)
    own = 4 * found.size * (found.size + 64)
    assert kept <= own
    assert peak <= 2 * own
    labels = mmd_fuse.relabelings(400, 400, 1500, stream(17))
    memory = 8 << 20
    sums = 20 * len(labels) * 8
    _, peak = _peak(lambda: mmd_fuse.kernels(found, labels, memory))
    _, free = _peak(lambda: mmd_fuse.kernels(found, labels))
    assert peak <= memory + 10 * sums
    assert free > 1.5 * peak, "otherwise the bound was never met"


def test_the_papers_budget_fits_into_a_gigabyte():
    size = 4000
    assert 8 * size * (size + 64) + mmd_fuse.MEMORY + 2001 * size + 12 * 20 * 2001 * 8 < 1e9
    assert 4 * mmd.LARGEST**2 < 1e9
    with pytest.raises(ValueError, match=f"at most {mmd.LARGEST} points"):
        mmd.distances(np.zeros((mmd.LARGEST, 1)), np.zeros((2, 1)))


BAD = {
    "one row": ((3, 1), (3, 9)),
    "no rows": ((3, 9), (3, 0)),
    "other coordinates": ((3, 9), (2, 9)),
    "other trials": ((4, 3, 9), (5, 3, 9)),
    "no coordinates": ((9,), (9,)),
}


@pytest.mark.parametrize("shapes", BAD.values(), ids=BAD)
def test_shapes_that_do_not_fit_are_refused(shapes):
    with pytest.raises(ValueError, match="got shape"):
        FEW.test(BlockScores(*(np.zeros(shape) for shape in shapes)), stream(18))


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_rows_are_finite(value):
    made = _scores("finite")
    made.q[1, 4] = value
    with pytest.raises(ValueError, match="finite"):
        FEW.test(made, stream(19))


def test_rows_far_out_do_no_harm():
    made = _scores("far")
    made.q[1, 4], made.p[0, 2] = 1e200, -1e30
    found = FEW.test(made, stream(20))
    assert all(np.isfinite(array).all() for array in found.arrays.values())


def test_labels_keep_the_sizes():
    found = mmd.distances(*_points("labels"))
    good = mmd_fuse.relabelings(7, 5, 4, stream(21))
    assert (good[-1] == [1] * 7 + [-1] * 5).all()
    assert ((good > 0).sum(axis=1) == 7).all()
    for bad in (good[:, 1:], np.where(np.arange(12) == 0, 1, -1)[None], np.eye(2, 12) * 2 - 1):
        with pytest.raises(ValueError, match="keep the size of both sides"):
            mmd_fuse.kernels(found, bad.astype(np.int8))
    good[0] = 1
    with pytest.raises(ValueError, match="keep the size of both sides"):
        mmd_fuse.kernels(found, good)


@pytest.mark.parametrize("options", [
    {"permutations": 18}, {"permutations": 20_001}, {"points": 1}, {"points": -2},
    {"points": 6001}, {"scaling": "other"},
])  # fmt: skip
def test_options_have_limits(options):
    with pytest.raises(ValueError, match="got"):
        MMDFuse(**options)


def test_budget_is_the_papers():
    assert MMDFuse().budget(1000, 7) == (2000, 2000)
    assert MMDFuse(points=250).budget(1000, 7) == (250, 250)
    found = MMDFuse(permutations=19, points=8).test(_scores("budget"), stream(22))
    assert found.budget == (8, 8)
    short = _scores("budget")
    first = MMDFuse(permutations=19).test(BlockScores(short.p[:, :8], short.q[:, :8]), stream(22))
    assert found.statistic == first.statistic


def test_labels_tell_options_apart():
    made = [MMDFuse(), MMDFuse(scaling="paper"), MMDFuse(points=250)]
    assert len({method.label for method in made}) == 3
    assert len({keys.canonical_text(method) for method in made}) == 3


def test_rows_are_theta_and_x():
    rng = stream(23)
    theta, x = rng.normal(size=(9, 2)), rng.normal(size=(9, 3))
    np.testing.assert_array_equal(RawRows()(theta, x), np.concatenate([theta, x], axis=1).T)


def _drawn():
    made = _scores("figures", n=(60, 60))
    made.q[0] += 1.5
    return MMDFuse(permutations=99).test(made, stream(24)).arrays


def test_figures_draw_and_are_small():
    drawn = pictures(record_of(MMDFuse, _drawn()))
    assert len(drawn) == 2
    for one in drawn:
        go.Figure(one.figure.to_dict())  # figures skip validation for speed: once here
        assert len(one.figure.to_json()) < 60_000
        assert one.title
        assert "q were correct" in one.caption
        assert one.figure.layout.xaxis.range is not None
        assert all(np.asarray(trace.y).dtype == np.float32 for trace in one.figure.data)


def test_figures_show_what_was_seen():
    arrays = _drawn()
    null, kernels = (one.figure for one in pictures(record_of(MMDFuse, arrays)))
    assert sum(null.data[0].y) == 99
    assert any(
        shape.x0 == pytest.approx(float(arrays["observed"])) for shape in null.layout.shapes
    )
    points = [t for t in kernels.data if t.mode == "markers" and not t.showlegend]
    np.testing.assert_allclose(np.concatenate([t.y for t in points]), arrays["kernels"], rtol=1e-6)
    marks = np.concatenate([t.marker.symbol for t in points])
    filled = np.array(["open" not in mark for mark in marks])
    np.testing.assert_array_equal(filled, arrays["kernel_pvalues"] <= 0.05)
    assert filled.any()


def test_empty_figures_say_so():
    none = np.empty(0)
    for panel in (
        relabelling_histogram(none, np.nan, "T"),
        mmd_by_bandwidth(none, none, none, none),
    ):
        figure = plotly.figure(panel)
        assert not figure.data
        assert figure.layout.annotations[0].text.startswith("No")


def test_figures_of_constant_rows_draw():
    rows = np.ones((2, 12))
    found = MMDFuse(permutations=19).test(BlockScores(rows, rows), stream(25))
    for one in pictures(record_of(MMDFuse, found.arrays)):
        go.Figure(one.figure.to_dict())
