"""SBC: test quantities beside the parameters, ranks read where a table lies, its figures."""

import numpy as np
import plotly.graph_objects as go
import pytest

from tests.given_uniforms import GivenUniforms
from tests.records import record_of
from validation_core import keys, scores, statistics
from validation_core.drawing.rank_histogram import rank_histogram
from validation_core.methods import sbc
from validation_core.methods.sbc import SBC
from validation_core.panels.record import pictures
from validation_core.rng import stream
from validation_core.scores.quantities import QUANTITIES, Quantities, chosen, labels
from validation_core.statistics import ranks
from validation_core.statistics.histograms import bins, histogram, histogram_band
from validation_core.text import LEAST_SAID
from validation_core.types import PosteriorTable, TableScore, TableScores

TRIALS = 1200
EVERYTHING = "marginals+squared_norm+products+log_q"
WITHOUT_LOG_Q = "marginals+squared_norm+products"


def normal(n, k, d=3, *, seed=0, width=1.0, correlation=0.4, told=0.4, digits=None):
    """theta given x is normal around x, with this correlation; q has `width` times its sd."""
    rng = stream(seed, "sbc", n, k, d)
    x = rng.standard_normal((n, 2))

    def around(shape, rho):
        z = rng.standard_normal((*shape, d))
        z[..., -1] = rho * z[..., 0] + np.sqrt(1 - rho**2) * z[..., -1] if d > 1 else z[..., 0]
        return z

    theta = x[:, :1] + around((n,), correlation)
    q = x[:, None, :1] + width * around((n, k), told)
    rounded = (theta, q) if digits is None else (theta.round(digits), q.round(digits))
    return PosteriorTable(rounded[0], x, rounded[1])


def density(theta, x):
    """log q up to a number, for told = 0: what `normal` draws with width 1."""
    return -0.5 * ((theta - x[:, :1]) ** 2).sum(1)


def run(method, table, seed=0, log_q=density):
    needs = log_q if "log_q" in method.quantities else None
    return method.test(scores.apply(method.score(needs), table), stream(seed, "ties"))


def stacked(method, table, trials, log_q=density):
    """Scores with trials as a leading axis: quantities look at one x at a time."""
    built = scores.apply(method.score(log_q if "log_q" in method.quantities else None), table)
    s, n = built.truth.shape
    parts = (
        built.truth.reshape(s, trials, n // trials),
        built.draws.reshape(s, trials, -1, built.draws.shape[-1]),
    )
    return TableScores(*(np.moveaxis(part, 1, 0) for part in parts))


@pytest.mark.parametrize("digits", [None, 0, -2], ids=["continuous", "tied", "constant"])
@pytest.mark.parametrize(("n", "k"), [(20, 1), (20, 2), (40, 15)])
def test_every_quantity_has_its_level(n, k, digits):
    """Each by itself exactly; all of them by Bonferroni, which may stay below."""
    method = SBC(quantities=EVERYTHING)
    table = normal(n * TRIALS, k, seed=1, digits=digits)
    outcome = method.test(stacked(method, table, TRIALS), stream(1, n, k))
    assert outcome.pvalue.shape == (TRIALS,)
    for level in (0.05, 0.4):
        low, high = statistics.binomial_bounds(TRIALS, level, 0.9999)
        rejections = (outcome.arrays["pvalues"] <= level).sum(0)
        assert rejections.shape == (3 + 1 + 3 + 1,)
        assert ((low <= rejections) & (rejections <= high)).all(), rejections
    _, high = statistics.binomial_bounds(TRIALS, 0.05, 0.999)
    assert (outcome.pvalue <= 0.05).sum() <= high


def test_marginals_of_independent_parameters_have_the_stated_level():
    method = SBC()
    table = normal(50 * TRIALS, 10, seed=2, correlation=0.0, told=0.0)
    outcome = method.test(stacked(method, table, TRIALS), stream(2))
    low, high = statistics.binomial_bounds(TRIALS, 0.05, 0.999)
    assert low <= (outcome.pvalue <= 0.05).sum() <= high


def test_a_centre_without_the_truth_would_reject_what_is_right():
    """Why truth and draws enter the mean alike: a guard against centring by q's draws."""
    table = normal(2000, 4, d=2, seed=3, correlation=0.0, told=0.0)
    centre = table.q.mean(1)
    far = ((table.theta - centre) ** 2).sum(1)
    draws = ((table.q - centre[:, None]) ** 2).sum(2)
    wrong = statistics.ks(statistics.conformal_ranks(far, draws, stream(3)))
    assert wrong.pvalue < 1e-6
    assert run(SBC(quantities="squared_norm"), table).pvalue > 0.01


def _rate(method, table, trials, **options):
    return (
        method.test(stacked(method, table, trials, **options), stream(4)).pvalue <= 0.05
    ).mean()


def test_products_see_a_correlation_that_marginals_cannot():
    table = normal(200 * 200, 50, d=2, seed=5, correlation=0.7, told=0.0)
    _, high = statistics.binomial_bounds(200, 0.05, 0.999)
    assert _rate(SBC(), table, 200) * 200 <= high
    assert _rate(SBC(quantities="products"), table, 200) > 0.95
    assert _rate(SBC(quantities="marginals+products"), table, 200) > 0.95


def test_products_see_it_far_from_the_origin_too():
    table = normal(200 * 50, 50, d=2, seed=5, correlation=0.7, told=0.0)
    moved = PosteriorTable(table.theta + 1e4, table.x, table.q + 1e4)
    assert _rate(SBC(quantities="products"), moved, 50) > 0.9


def test_norm_and_density_see_a_width_with_more_power_than_marginals():
    table = normal(100 * 300, 50, d=5, seed=6, width=1.15, correlation=0.0, told=0.0)
    direct, norm, own = (
        _rate(SBC(quantities=name), table, 300) for name in ("marginals", "squared_norm", "log_q")
    )
    assert norm > direct + 0.2
    assert own > direct + 0.2


@pytest.mark.parametrize("width", [0.7, 1.4])
def test_marginals_see_a_width(width):
    assert run(SBC(), normal(500, 100, seed=7, width=width)).pvalue < 0.002


def test_a_wide_posterior_is_not_hidden_by_the_axis():
    """20% too wide: bars leave their room more often than on an axis taken from the ranks."""
    runs, n, k = 300, 1000, 100
    table = normal(n * runs, k, d=1, seed=8, width=1.2)
    outcome = SBC().test(stacked(SBC(), table, runs), stream(8))
    assert (outcome.pvalue <= 0.05).mean() > 0.9
    u = outcome.arrays["u"][:, 0]
    low, high = histogram_band(n, 15)
    first, last = u.min(-1, keepdims=True), u.max(-1, keepdims=True)
    leaves = [
        ((counts < low) | (counts > high)).any(-1).mean()
        for counts in (histogram(u, 15), histogram((u - first) / (last - first), 15))
    ]
    assert leaves[0] > 0.9
    assert leaves[0] >= leaves[1]
    middle = 0.2 + 0.6 * u[0]  # ranks that leave the ends empty
    panel = rank_histogram(middle, 10, k=k)
    assert panel.x.limits == (-0.5, k + 0.5)
    room, bars, _ = panel.marks
    assert bars.heights[[0, 1, -2, -1]].tolist() == [0, 0, 0, 0]
    assert room.low > 0  # and the room says that they should not be


_MARGINALS = [SBC().score(), lambda theta, x: theta.T]


@pytest.mark.parametrize("name", [
    "two_moons_well_trained", "two_moons_undertrained", "sir_well_trained", "sir_undertrained",
    "ties",
])  # fmt: skip
@pytest.mark.parametrize("score", _MARGINALS, ids=["quantities", "rows"])
def test_it_is_the_slow_loop(reference, name, score):
    case, value, expected = reference(f"sbc-{name}")
    theta, q = (value[key].astype(np.float64) for key in ("theta", "theta_q"))
    table = PosteriorTable(theta, np.zeros((len(theta), 0)), q)
    outcome = SBC().test(scores.apply(score, table), GivenUniforms(value["v"].T))
    out = case["outputs"]
    np.testing.assert_allclose(outcome.arrays["u"].T, expected["u"], atol=1e-14, rtol=0)
    np.testing.assert_allclose(
        outcome.arrays["statistics"], out["ks_statistic_randomised"], rtol=1e-9
    )
    np.testing.assert_allclose(outcome.arrays["pvalues"], out["ks_p_randomised"], rtol=1e-6)
    assert outcome.pvalue == pytest.approx(out["bonferroni_p_randomised"], rel=1e-6)
    assert outcome.arrays["adjusted"].min() == pytest.approx(float(outcome.pvalue))
    if name == "ties":  # the strict rank of the peer is biased by thirteen powers of ten
        assert outcome.pvalue > 1e9 * out["bonferroni_p_peer"]


def test_quantities_are_what_a_loop_over_x_gives():
    table = normal(12, 5, d=3, seed=9)
    built = scores.apply(SBC(quantities=EVERYTHING).score(density), table)
    for i in range(12):
        points = np.concatenate([table.theta[i : i + 1], table.q[i]])
        z = (points - points.mean(0)) / points.std(0)
        pairs = [z[:, 0] * z[:, 1], z[:, 0] * z[:, 2], z[:, 1] * z[:, 2]]
        own = density(points, np.repeat(table.x[i : i + 1], 6, axis=0))
        wanted = np.array([*points.T, (z**2).sum(1), *pairs, own])
        np.testing.assert_allclose(built.truth[:, i], wanted[:, 0], rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(built.draws[:, i], wanted[:, 1:], rtol=1e-9, atol=1e-12)


def test_long_tables_are_scored_piece_by_piece(monkeypatch):
    table = normal(50, 7, seed=10)
    score = SBC(quantities=EVERYTHING).score(density)
    whole = scores.apply(score, table)
    monkeypatch.setattr("validation_core.scores.quantities.NUMBERS_AT_ONCE", 500)
    pieces = scores.apply(score, table)
    np.testing.assert_array_equal(whole.truth, pieces.truth)
    np.testing.assert_array_equal(whole.draws, pieces.draws)


@pytest.mark.parametrize("m", [1, 2, 7, 255, 256, 511, 1009])
@pytest.mark.parametrize("d", [1, 3, 40])
def test_counts_where_the_table_lies(m, d):
    """Against a plain comparison, for sizes on both sides of what is added at a time."""
    rng = stream(11, m, d)
    draws = rng.standard_normal((30, m, d)).round(1)
    truth = rng.standard_normal((30, d)).round(1)
    below, equal = statistics.count(truth.T, np.moveaxis(draws, -1, 0))
    np.testing.assert_array_equal(below, (draws < truth[:, None]).sum(1).T)
    np.testing.assert_array_equal(equal, (draws == truth[:, None]).sum(1).T)
    turned = statistics.count(truth.T, np.ascontiguousarray(np.moveaxis(draws, -1, 0)))
    np.testing.assert_array_equal(turned, (below, equal))
    assert below.flags.c_contiguous


@pytest.mark.parametrize("axes", [(0, 1, 2, 3), (3, 1, 2, 0), (2, 0, 3, 1), (1, 3, 0, 2)])
def test_counts_in_any_order_of_memory(axes, monkeypatch):
    monkeypatch.setattr(ranks, "CHUNK", 64)
    laid = stream(12).standard_normal((3, 4, 5, 6)).round()
    scored = laid.transpose(axes)
    test = stream(13).standard_normal(scored.shape[:-1]).round()
    below, equal = statistics.count(test, scored)
    np.testing.assert_array_equal(below, (scored < test[..., None]).sum(-1))
    np.testing.assert_array_equal(equal, (scored == test[..., None]).sum(-1))
    every_other = statistics.count(test, scored[..., ::2])
    np.testing.assert_array_equal(every_other[0], (scored[..., ::2] < test[..., None]).sum(-1))


def test_missing_numbers_have_no_rank_in_a_table_either():
    table = normal(20, 9)
    table.q[3, 4, 1] = np.nan
    with pytest.raises(ValueError, match="NaN in 1 of"):
        run(SBC(), table)


def test_no_unit_and_no_origin_changes_a_rank():
    """Each parameter at each x moved and stretched by numbers of its own."""
    table = normal(200, 20, seed=14)
    rng = stream(14, "units")
    shift, scale = 5 * rng.standard_normal((200, 3)), np.exp(3 * rng.standard_normal((200, 3)))
    moved = PosteriorTable(shift + scale * table.theta, table.x,
                  shift[:, None] + scale[:, None] * table.q)  # fmt: skip
    before, after = (run(SBC(quantities=WITHOUT_LOG_Q), item) for item in (table, moved))
    np.testing.assert_array_equal(before.arrays["u"], after.arrays["u"])


def test_the_order_of_draws_changes_nothing():
    table = normal(100, 15, seed=15)
    turned = PosteriorTable(table.theta, table.x, table.q[:, stream(15, "order").permutation(15)])
    before, after = (run(SBC(quantities=EVERYTHING), item) for item in (table, turned))
    np.testing.assert_array_equal(before.arrays["u"], after.arrays["u"])


def test_equal_points_tie():
    """Rounded parameters give equal quantities, truth or draw; the tie-breaker decides."""
    table = normal(50, 8, d=2, seed=16)
    table.q[:, ::2] = table.theta[:, None]
    built = scores.apply(SBC(quantities=EVERYTHING).score(density), table)
    _, equal = statistics.count(built.truth, built.draws)
    assert (equal >= 4).all()


def test_single_precision_ranks_as_double():
    table = normal(100, 20, seed=17)
    small = PosteriorTable(*(a.astype(np.float32) for a in (table.theta, table.x, table.q)))
    wide = PosteriorTable(*(a.astype(np.float64) for a in (small.theta, small.x, small.q)))
    ours, theirs = (run(SBC(quantities=WITHOUT_LOG_Q), item) for item in (small, wide))
    np.testing.assert_allclose(ours.arrays["u"], theirs.arrays["u"])
    assert scores.apply(SBC(quantities="products").score(), small).draws.dtype == np.float32


def test_a_stack_of_trials_is_each_trial():
    method = SBC(quantities="marginals+products")
    built = stacked(method, normal(30 * 4, 6, seed=18), 4)
    whole = method.test(built, stream(18))
    assert whole.arrays["u"].shape == (4, 6, 30)
    for name, array in whole.arrays.items():
        assert array.shape[0] == 4, name
        assert np.isfinite(array).all()
    np.testing.assert_allclose(whole.arrays["adjusted"].min(-1), whole.pvalue)
    first = statistics.ks(whole.arrays["u"][0])
    np.testing.assert_allclose(whole.arrays["pvalues"][0], first.pvalue, rtol=1e-9)
    assert whole.statistic[0] == pytest.approx(first.statistic.max())


@pytest.mark.parametrize("quantities", ["marginals", WITHOUT_LOG_Q])
@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("d", [1, 2])
def test_few_draws_and_one_parameter(quantities, k, d):
    result = run(SBC(quantities=quantities), normal(60, k, d=d, seed=19))
    assert 0 < result.pvalue <= 1
    assert np.isfinite(result.statistic)


def test_identical_samples_say_nothing():
    table = normal(400, 10, d=2, seed=20)
    same = PosteriorTable(table.theta, table.x, np.repeat(table.theta[:, None], 10, axis=1))
    result = run(SBC(quantities=EVERYTHING), same, seed=20)
    np.testing.assert_allclose(result.arrays["u"], stream(20, "ties").random((5, 400)))


def test_p_is_never_zero():
    table = normal(2000, 500, d=2, seed=21)
    far = PosteriorTable(table.theta + 1e6, table.x, table.q)
    result = run(SBC(), far)
    assert 0 < result.pvalue < 1e-300
    assert (result.arrays["pvalues"] > 0).all()
    assert (result.arrays["adjusted"] > 0).all()


def test_heavy_tails_do_not_overflow():
    rng = stream(22)
    q = np.exp(200 * rng.standard_normal((50, 20, 2)))
    result = run(
        SBC(quantities=WITHOUT_LOG_Q), PosteriorTable(q[:, 0].copy(), np.zeros((50, 1)), q)
    )
    assert np.isfinite(result.arrays["u"]).all()


@pytest.mark.parametrize("bad", ["norm", "", "marginals+norm", "marginals,products"])
def test_a_name_that_is_none(bad):
    with pytest.raises(ValueError, match=r"Test quantities are marginals.*joined by \+; got"):
        SBC(quantities=bad)


def test_refuses_with_a_way_out():
    table = normal(30, 5, d=1)
    with pytest.raises(ValueError, match="bring a function of theta"):
        SBC(quantities="log_q").score()
    with pytest.raises(ValueError, match=r"a product has two parameters.*add marginals"):
        run(SBC(quantities="products"), table)
    with pytest.raises(ValueError, match="one number for each row"):
        run(SBC(quantities="log_q"), table, log_q=lambda theta, x: theta)
    with pytest.raises(ValueError, match="score a table"):
        SBC(quantities="products").score()(table.theta, table.x)
    with pytest.raises(ValueError, match="at least two ranks"):
        run(SBC(), normal(1, 5))
    table.q[0, 0] = np.inf
    with pytest.raises(ValueError, match="rank marginals only"):
        run(SBC(quantities="squared_norm"), table)
    assert 0 < run(SBC(), table).pvalue <= 1


def test_a_table_too_large_is_refused(monkeypatch):
    monkeypatch.setattr("validation_core.scores.quantities.MOST_NUMBERS", 1000)
    with pytest.raises(ValueError, match="leave out the products"):
        run(SBC(quantities="products"), normal(30, 20))
    assert run(SBC(), normal(30, 20)).pvalue > 0  # views: nothing is held


def test_option():
    assert SBC().label == "SBC"
    assert SBC(quantities="products+marginals").label == "SBC marginals+products"
    assert SBC(quantities="products + marginals") == SBC(quantities="marginals+products+products")
    built = SBC(quantities=EVERYTHING)
    assert keys.read(keys.canonical_text(built)) == built
    option = SBC.__dataclass_fields__["quantities"]
    assert option.metadata["choices"] == tuple(QUANTITIES)
    assert all(name in option.metadata["help"] for name in QUANTITIES)


def test_rows_by_themselves():
    table = normal(10, 3)
    both = Quantities(("marginals", "log_q"), density)
    assert isinstance(both, TableScore)
    built = both(table.theta, table.x)
    np.testing.assert_array_equal(built[:3], table.theta.T)
    np.testing.assert_array_equal(built[3], density(table.theta, table.x))


def test_marginals_are_not_copied():
    table = normal(10, 3)
    built = scores.apply(SBC().score(), table)
    assert np.shares_memory(built.draws, table.q)
    np.testing.assert_array_equal(built.draws, np.moveaxis(table.q, -1, 0))


def test_labels():
    names = ["a", "b", "c"]
    assert labels(chosen(EVERYTHING), names) == [
        *names, "|theta|²", "a × b", "a × c", "b × c", "log q",
    ]  # fmt: skip
    products = np.array([list(QUANTITIES).index("products")])
    assert sbc.quantity_labels(products, 3) == [
        "theta_1 × theta_2", "theta_1 × theta_3", "theta_2 × theta_3",
    ]  # fmt: skip
    assert sbc.quantity_labels(products, 2) == ["quantity 1", "quantity 2"]


@pytest.mark.parametrize(
    ("n", "k", "wanted"),
    [
        (1000, 999, 20), (1000, 1000, 13), (1000, 99, 20), (1000, 100, 20), (1000, 22, 23),
        (1000, 1, 2), (1000, 7, 8), (100, 99, 10), (30, 99, 4), (1000, 1023, 16), (1000, 112, 20),
    ],
)  # fmt: skip
def test_bins_divide_the_ranks_where_they_can(n, k, wanted):
    """1001 = 7 * 11 * 13; 101 and 113 are prime, and so is 23, which is near enough itself."""
    assert bins(n, k) == wanted


def test_bins_that_divide_count_whole_ranks():
    rng = stream(23)
    below = rng.integers(0, 100, (3, 500))
    u = statistics.randomised_ranks(below, np.zeros_like(below), 99, rng)
    wanted = [np.bincount(row // 5, minlength=20) for row in below]
    np.testing.assert_array_equal(histogram(u, 20), wanted)


@pytest.mark.parametrize(("k", "number"), [(100, 20), (2, 3), (2, 2)])
def test_any_equal_bins_are_filled_evenly(k, number):
    rng = stream(24, k, number)
    below = rng.integers(0, k + 1, 200_000)
    counts = histogram(statistics.randomised_ranks(below, np.zeros(200_000), k, rng), number)
    excess = counts - 200_000 / number
    assert (excess**2).sum() / (200_000 / number) < number + 5 * np.sqrt(2 * number)


@pytest.mark.parametrize(("n", "number"), [(10, 4), (100, 10), (1000, 20), (20_000, 23)])
@pytest.mark.parametrize("level", [0.5, 0.95])
def test_band_holds_all_bins_together(n, number, level):
    low, high = histogram_band(n, number, level)
    counts = stream(25, n, number).multinomial(n, np.full(number, 1 / number), size=20_000)
    inside = ((counts >= low) & (counts <= high)).all(1).mean()
    assert inside >= level - 0.01
    narrower = ((counts > low) & (counts < high)).all(1).mean()
    assert narrower < level + 0.01  # counts being whole, no room between these two


def test_histogram_refuses():
    with pytest.raises(ValueError, match=r"ranks lie in \[0, 1\]"):
        histogram([0.2, 1.2], 4)
    with pytest.raises(ValueError, match="n >= 1 ranks"):
        bins(0, 5)
    with pytest.raises(ValueError, match="level within"):
        histogram_band(10, 4, 1.0)
    assert histogram([0.0, 1.0], 4).tolist() == [1, 0, 0, 1]
    assert histogram_band(7, 1) == (7, 7)


def drawn(quantities="marginals", names=(), **options):
    result = run(SBC(quantities=quantities), normal(200, 99, seed=26, **options))
    return result, pictures(record_of(SBC, result.arrays), names=names)


def titles(figure):
    return [a.text for a in figure.layout.annotations if "<br>" in a.text]


@pytest.mark.parametrize("d", [1, 2, 4, 9])
def test_plotly_accepts_them(d):
    _, both = drawn(d=d, width=1.4)
    assert [item.title for item in both] == ["Ranks", "Distance from uniform"]
    for item in both:
        go.Figure(item.figure.to_dict())
        assert len(titles(item.figure)) == min(d, 6)
        assert "If q were correct" in item.caption
        assert len(item.figure.to_json()) < 120_000


def test_the_worst_come_first_with_holms_p():
    result, (histograms, lines) = drawn(EVERYTHING, d=4, width=1.2, told=-0.5)
    order = np.argsort(result.arrays["adjusted"], kind="stable")
    message = titles(histograms.figure)
    assert message == titles(lines.figure)
    assert len(message) == 6
    by_name = labels(chosen(EVERYTHING), [f"theta_{i + 1}" for i in range(4)])
    assert message[0].split("<br>")[0] == by_name[order[0]]
    values = [float(text.split("p ")[1].lstrip("=< ")) for text in message]
    least = np.maximum(np.sort(result.arrays["adjusted"])[:6], LEAST_SAID)
    np.testing.assert_allclose(values, least, rtol=0.06)
    assert "6 more" in histograms.caption


def test_bars_stand_on_all_ranks_and_count_every_table():
    result, (histograms, _) = drawn(width=3.0)
    assert bins(200, 99) == 20
    for axis, bars in zip(("xaxis", "xaxis2", "xaxis3"), histograms.figure.data, strict=True):
        assert histograms.figure.layout[axis].range == (-0.5, 99.5)
        assert np.sum(bars.y) == 200
        edges = np.asarray(bars.x) - np.asarray(bars.width) / 2
        hair = 0.1  # of paper between the bars, on either side
        assert edges[0] == pytest.approx(-0.5, abs=1.1 * hair)
        assert np.sum(bars.width) == pytest.approx(100 - 2 * 20 * hair)
    assert result.pvalue < 1e-10


def test_panels_share_their_heights():
    _, both = drawn(EVERYTHING, d=4, told=-0.5)
    for item in both:
        axes = [item.figure.layout[f"yaxis{i or ''}"] for i in (0, 2, 3, 4, 5, 6)]
        assert len({axis.range for axis in axes}) == 1
        below = [item.figure.layout[axis.anchor.replace("x", "xaxis")] for axis in axes]
        domains = [(y.domain, x.domain) for y, x in zip(axes, below, strict=True)]
        assert len(set(domains)) == 6


def test_rooms_hold_for_all_quantities_together():
    """Simultaneous over bins and over quantities: at most 5% of right tables leave it anywhere."""
    trials, n, s = 2000, 100, 5
    u = stream(27).random((trials, s, n))
    low, high = histogram_band(n, 10, 1 - 0.05 / s)
    counts = histogram(u, 10)
    _, most = statistics.binomial_bounds(trials, 0.05, 0.999)
    assert ((counts < low) | (counts > high)).any((1, 2)).sum() <= most
    below, above = statistics.ecdf_band(n, 1 - 0.05 / s)
    lines = statistics.ecdf_difference(u)
    assert ((lines < below - 1e-12) | (lines > above + 1e-12)).any((1, 2)).sum() <= most
    ranked = sbc.worst_quantities(u[0], "abcde", np.ones(s))
    assert ranked.level == pytest.approx(0.99)


def test_names_of_parameters_are_shown():
    _, (histograms, _) = drawn("marginals+products", ["x<y", "a" * 40, "T"])
    text = " ".join(titles(histograms.figure))
    assert "x&lt;y" in text
    assert "…" in text
    assert "a" * 30 not in text


def test_ranks_that_do_not_divide_are_said():
    result = run(SBC(), normal(300, 100, seed=28))
    both = pictures(record_of(SBC, result.arrays))
    assert "101 possible ranks" in both[0].caption
    assert "possible ranks" not in both[1].caption
    assert "possible ranks" not in drawn()[1][0].caption


def test_nothing_to_draw_is_said():
    for drawing in pictures(record_of(SBC, {})):
        assert not drawing.figure.data
        assert drawing.figure.layout.annotations[0].text.startswith("No")
