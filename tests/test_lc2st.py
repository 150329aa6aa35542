"""L-C2ST: exact under the global null, sees what is wrong where it is wrong, draws it."""

import dataclasses

import numpy as np
import plotly.graph_objects as go
import pytest
from scipy.special import logit

from tests.conftest import in_turn
from tests.records import record_of
from validation_core import keys, scores
from validation_core.drawing import plotly
from validation_core.drawing.marks import Note, VLine
from validation_core.methods import lc2st
from validation_core.methods.lc2st import LC2ST
from validation_core.panels.record import pictures
from validation_core.rng import stream
from validation_core.scores.lc2st import FEWEST, LC2STClassifier
from validation_core.statistics import binomial_bounds, holm, local_test
from validation_core.types import PosteriorTable, TableScores

TRIALS = 600
TINY = LC2ST(nulls=19, hidden=4, epochs=3)
SMALL = LC2ST(nulls=59, points=3)


def _table(n, rng, wrong=0.0, d=2, k=1):
    """theta | x ~ N(x, I); q is shifted by `wrong` along theta_1 where x_1 > 0."""
    x = rng.standard_normal((n, d))
    theta = x + rng.standard_normal((n, d))
    q = x[:, None] + rng.standard_normal((n, k, d))
    q[..., 0] += wrong * (x[:, None, 0] > 0)
    return PosteriorTable(theta, x, q)


def _look(x_o, k, rng, wrong=0.0):
    draws = x_o[:, None] + rng.standard_normal((len(x_o), k, x_o.shape[1]))
    draws[..., 0] += wrong * (x_o[:, None, 0] > 0)
    return draws


X_O = np.array([[-1.5, 0.0], [0.9, 0.3], [1.5, -0.5]])


def _given(reference, name):
    case, arrays, _ = reference(name)
    wide = {key: array.astype(np.float64) for key, array in arrays.items()}
    train = PosteriorTable(wide["theta"], wide["x"], wide["theta_q"][:, None])
    return case, train, wide["x_o"], wide["theta_q_at_x_o"]


@pytest.mark.slow
def test_level():
    """The whole test, training included, at a size whose swaps are few: exactly 1 in 20."""
    pvalues = np.empty(TRIALS)
    for trial in range(TRIALS):
        rng = stream(1, "level", trial)
        drawn = _table(13, rng)
        train, look = (PosteriorTable(drawn.theta[p], drawn.x[p], drawn.q[p])
                       for p in (slice(12), slice(12, None)))  # fmt: skip
        at = _look(look.x, 20, rng)[0]
        pvalues[trial] = TINY.at(train, look.x[0], at, rng).pvalue
    low, high = binomial_bounds(TRIALS, 0.05, 0.999)
    assert low <= (pvalues <= 0.05).sum() <= high
    low, high = binomial_bounds(TRIALS, 0.5, 0.999)
    assert low <= (pvalues <= 0.5).sum() <= high
    assert pvalues.min() == 1 / 20


@in_turn(1500, 4000)
@pytest.mark.parametrize("kind", ["any", "tied", "flat"])
@pytest.mark.parametrize("points", [1, 3])
def test_level_of_any_exchangeable_scores(kind, points, trials):
    if kind == "flat":  # no chance plays a part where all is equal
        trials //= 10
    logits = stream(2, kind).standard_normal((trials, 60, points, 15))
    logits = {"any": logits**3, "tied": np.round(logits[..., :2]), "flat": 0 * logits + 0.3}[kind]
    outcome = LC2ST(nulls=59, points=points).test(
        TableScores(logits[..., 0], logits), stream(3)
    )  # fmt: skip
    _, high = binomial_bounds(trials, 0.05, 0.999)
    rejections = (outcome.pvalue <= 0.05).sum()
    assert rejections <= high
    assert outcome.pvalue.min() > 0
    if kind == "any":
        assert rejections >= binomial_bounds(trials, 0.045, 0.999)[0]  # Holm's price
    if kind == "flat":
        assert (outcome.pvalue == 1).all()


def test_networks_are_alike_but_for_their_labels():
    """T of the first network has no more rank than any other's, when q = p."""
    ranks = []
    for trial in range(300):
        rng = stream(4, trial)
        train = _table(16, rng)
        made = LC2STClassifier(nulls=9, hidden=3, epochs=2).learn(train, rng)
        at = _look(X_O[:1], 20, rng)[0]
        t = local_test.distance_of_logits(made(at, np.repeat(X_O[:1], 20, axis=0)))
        ranks.append(np.argsort(np.argsort(t)))
    mean = np.mean(ranks, axis=0)  # 4.5 each
    assert np.abs(mean - 4.5).max() < 4 * np.sqrt(99 / 12 / 300)


def test_it_rejects_where_q_is_wrong_and_not_elsewhere():
    wrong, right = 0, 0
    for trial in range(6):
        rng = stream(5, trial)
        draws = _look(X_O, 200, rng, wrong=0.8)
        p = SMALL.at(_table(600, rng, wrong=0.8), X_O, draws, rng).arrays["adjusted"]
        right += p[0] <= 0.05
        wrong += (p[1:] <= 0.05).sum()
    assert wrong >= 11  # of 12
    assert right <= 2


def test_sign():
    """Where q is shifted to the right, its right flank has too much mass: d < 1/2 there."""
    rng = stream(6)
    draws = _look(X_O[1:2], 400, rng, wrong=1.0)
    outcome = LC2ST(nulls=19).at(_table(800, rng, wrong=1.0), X_O[1], draws[0], rng)
    d, theta = outcome.arrays["d"][0], draws[0, :, 0]
    right = theta > np.quantile(theta, 0.9)
    left = theta < np.quantile(theta, 0.1)
    assert d[right].mean() < 0.45
    assert d[left].mean() > 0.5


def test_formula(reference):
    """Statistics, and p with its +1, from given probabilities."""
    case, arrays, expected = reference("lc2st-formula")
    folds = local_test.distance_of_probabilities(arrays["probabilities_class_q"])
    out = case["outputs"]
    np.testing.assert_allclose(folds, out["statistic_per_fold"], rtol=1e-12)
    np.testing.assert_allclose(folds.mean(), out["statistic_mean_over_folds"], rtol=1e-12)
    np.testing.assert_allclose(
        local_test.distance_of_probabilities(arrays["probabilities_class_q"].mean(0)),
        out["statistic_of_averaged_probabilities"], rtol=1e-12,
    )  # fmt: skip
    nulls = local_test.distance_of_probabilities(arrays["probabilities_null"])
    np.testing.assert_allclose(nulls, expected["null_statistics"], rtol=1e-12)
    found = local_test.local(folds.mean(keepdims=True), nulls[None])
    assert found.pvalue[0] == out["p_plus_one"]


def test_formula_from_logits_of_either_class(reference):
    _, arrays, _ = reference("lc2st-formula")
    d = np.concatenate([arrays["probabilities_class_q"][:1], arrays["probabilities_null"]])
    logits = logit(d)[:, None]  # (101, 1, K)
    for sign in (1, -1):
        outcome = LC2ST().test(TableScores(sign * logits[..., 0], sign * logits), stream(0))
        np.testing.assert_allclose(
            outcome.statistic, local_test.distance_of_probabilities(d[0]), rtol=1e-12
        )
        above = (
            local_test.distance_of_probabilities(d[1:])
            >= local_test.distance_of_probabilities(d[0])
        ).sum()
        assert outcome.pvalue == (1 + above) / 101


def test_a_local_error_is_found_where_it_is(reference):
    case, train, x_o, draws = _given(reference, "lc2st-local")
    limits = case["tolerance"]["p at each x_o"]
    p = np.array([LC2ST().at(train, x_o, draws, stream(seed, "local")).arrays["pvalues"]
                  for seed in range(3)])  # fmt: skip
    low, high = np.array(limits["low"]), np.array(limits["high"])
    assert ((p[:, 1:] >= low[1:] - 1e-9) & (p[:, 1:] <= high[1:])).all()
    # The peer's range is of five seeds, ours need not keep to it one by one.
    assert low[0] <= np.median(p[:, 0]) <= high[0]
    assert (p[:, 1:] < p[:, :1]).all()


def test_a_well_trained_posterior_is_let_pass(reference):
    case, train, x_o, draws = _given(reference, "lc2st-run-two_moons_well_trained")
    limits = case["tolerance"]["p at each x_o"]
    p = np.array([LC2ST().at(train, x_o, draws, stream(seed, "well")).arrays["pvalues"]
                  for seed in range(3)])  # fmt: skip
    middle = np.median(p, axis=0)
    assert (middle >= np.array(limits["low"]) - 0.1).all()
    assert (middle <= np.array(limits["high"])).all()


@pytest.mark.slow
def test_an_undertrained_posterior_looks_worse_than_a_well_trained_one(reference):
    """The peer's classifiers, stopped early, see neither: its range is no bound from below."""
    p = {}
    for name in ("well_trained", "undertrained"):
        case, train, x_o, draws = _given(reference, f"lc2st-run-two_moons_{name}")
        runs = [LC2ST().at(train, x_o, draws, stream(seed, "two moons")) for seed in range(3)]
        p[name] = np.median([run.arrays["pvalues"] for run in runs], axis=0)
        assert (p[name] <= case["tolerance"]["p at each x_o"]["high"]).all()
    assert p["undertrained"].mean() < p["well_trained"].mean()


def test_units_and_origin_do_not_matter():
    rng = stream(7)
    train, draws = _table(100, rng, wrong=1.0), _look(X_O, 50, rng, wrong=1.0)

    def moved(theta):
        return theta * [1000.0, 0.5] + [3.0, -7.0]

    other = PosteriorTable(moved(train.theta), 4 * train.x - 1, moved(train.q))
    one = SMALL.at(train, X_O, draws, stream(8))
    two = SMALL.at(other, 4 * X_O - 1, moved(draws), stream(8))
    np.testing.assert_allclose(two.arrays["t"], one.arrays["t"], rtol=0.02)
    np.testing.assert_allclose(two.arrays["pvalues"], one.arrays["pvalues"], atol=2 / 60)


def test_order_of_the_draws_does_not_matter():
    rng = stream(9)
    made = LC2STClassifier(nulls=19, hidden=4, epochs=2).learn(_table(30, rng), rng)
    draws = _look(X_O, 40, rng)
    outcomes = [
        SMALL.test(scores.apply(made, PosteriorTable(draws[:, 0], X_O, one)), rng)
        for one in (draws, draws[:, ::-1])
    ]
    np.testing.assert_allclose(outcomes[1].arrays["t"], outcomes[0].arrays["t"], rtol=1e-4)


def test_trials_are_an_axis():
    logits = stream(10).standard_normal((2, 3, 60, 4, 9))
    whole = SMALL.test(TableScores(logits[..., 0], logits), stream(0))
    assert "d" not in whole.arrays
    for i, j in np.ndindex(2, 3):
        one = SMALL.test(TableScores(logits[i, j, ..., 0], logits[i, j]), stream(0))
        assert one.pvalue == whole.pvalue[i, j]
        assert one.statistic == whole.statistic[i, j]
        assert one.arrays["worst"] == whole.arrays["worst"][i, j]


def test_points_are_corrected_by_holm():
    logits = stream(11).standard_normal((60, 3, 30))
    logits[0, 1] *= 4
    outcome = SMALL.test(TableScores(logits[..., 0], logits), stream(0))
    np.testing.assert_allclose(outcome.arrays["adjusted"], holm(outcome.arrays["pvalues"]))
    assert outcome.pvalue == 3 / 60 == outcome.effect["least_pvalue"]
    assert outcome.arrays["worst"] == 1
    assert outcome.statistic == outcome.arrays["t"][1]


def test_same_seed_same_numbers():
    runs = [SMALL.at(_table(50, stream(12)), X_O, _look(X_O, 20, stream(13)), stream(seed))
            for seed in (14, 14, 15)]  # fmt: skip
    np.testing.assert_array_equal(runs[0].arrays["d"], runs[1].arrays["d"])
    assert (runs[0].arrays["d"] != runs[2].arrays["d"]).any()


def test_given_observations_are_what_the_pieces_give():
    train, draws = _table(40, stream(16)), _look(X_O, 20, stream(17))
    rng = stream(18)
    made = SMALL.learn(train, rng)
    pieces = SMALL.test(scores.apply(made, PosteriorTable(draws[:, 0], X_O, draws)), rng)
    whole = SMALL.at(train, X_O, draws, stream(18))
    np.testing.assert_array_equal(pieces.arrays["t"], whole.arrays["t"])
    assert made.nulls == SMALL.nulls


@pytest.mark.parametrize("columns", [0, 1, 5])
def test_any_width_of_x(columns):
    rng = stream(19, columns)
    train = PosteriorTable(*(rng.standard_normal(s) for s in ((30, 1), (30, columns), (30, 2, 1))))
    outcome = TINY.at(train, np.zeros(columns), rng.standard_normal((1, 1)), rng)
    assert 0 < outcome.pvalue <= 1
    assert np.isfinite(outcome.statistic)


@pytest.mark.parametrize("size", [0.0, 1e12])
def test_constants_and_identical_samples(size):
    """Truth and draw are the same: labels cancel, nothing can be learnt."""
    theta = np.full((30, 2), size)
    train = PosteriorTable(theta, theta, theta[:, None])
    p = [float(TINY.at(train, theta[0], theta[:5], stream(20, i)).pvalue) for i in range(40)]
    assert np.mean(np.array(p) <= 0.05) <= 0.2
    assert min(p) > 0


def test_heavy_tails_and_mostly_equal_columns():
    rng = stream(21)
    theta = np.stack([rng.standard_cauchy(60) ** 5, rng.random(60) < 0.1], axis=1)
    train = PosteriorTable(theta, rng.standard_normal((60, 1)), rng.permutation(theta)[:, None])
    outcome = TINY.at(train, np.zeros(1), theta[:10], rng)
    assert all(np.isfinite(array).all() for array in outcome.arrays.values())


def test_bad_input():
    rng = stream(22)
    draws = _look(X_O, 5, rng)
    with pytest.raises(ValueError, match=f"at least {FEWEST} simulations"):
        TINY.learn(_table(FEWEST - 1, rng), rng)
    with pytest.raises(ValueError, match="with 0; bring more"):
        TINY.learn(_table(20, rng, k=0), rng)
    holed = _table(20, rng)
    holed.theta[3, 0] = np.nan
    with pytest.raises(ValueError, match="1 others in theta"):
        TINY.learn(holed, rng)
    with pytest.raises(ValueError, match="draws of its own"):
        SMALL.at(_table(20, rng), X_O[:2], draws, rng)
    with pytest.raises(ValueError, match="need 59 null classifiers for 3"):
        TINY.at(_table(20, rng), X_O, draws, rng)
    with pytest.raises(ValueError, match="NaN"):
        TINY.test(TableScores(np.zeros((20, 1)), np.full((20, 1, 3), np.nan)), rng)


@pytest.mark.parametrize(
    "options", [{"nulls": 18}, {"points": 6}, {"nulls": 0}, {"points": 0}, {"hidden": 0}]
)
def test_options_that_could_never_reject(options):
    with pytest.raises(ValueError, match=r"[Rr]aise"):
        LC2ST(**options)


def test_sizes_and_budget():
    method = LC2ST(nulls=99, points=4)
    assert method.sizes(1000, 50) == ((1000, 1), (4, 50))
    assert method.budget(1000, 50) == (1000, 1200)
    assert keys.read(keys.canonical_text(method)) == method
    assert all("label" in field.metadata for field in dataclasses.fields(method))


@pytest.fixture(scope="module")
def looked():
    rng = stream(23)
    draws = _look(X_O, 300, rng, wrong=1.0)
    return SMALL.at(_table(300, rng, wrong=1.0), X_O, draws, rng), draws


def test_figures_draw(looked):
    outcome, draws = looked
    drawn = pictures(record_of(LC2ST, {**outcome.arrays, "theta_q": draws}), names=["a", "b"])
    assert len(drawn) == 4
    for one in drawn:
        go.Figure(one.figure.to_dict())
        assert one.figure.layout.height >= 150
        assert "If q were correct" in one.caption
        assert len(one.figure.to_json()) < 60_000
    worst = int(outcome.arrays["worst"])
    assert f"observation {worst + 1} of 3" in drawn[0].title
    assert drawn[3].figure.layout.xaxis.title.text == "a"


def test_one_observation_needs_no_figure_over_x(looked):
    outcome, draws = looked
    one = {name: array[:1] for name, array in outcome.arrays.items() if name != "worst"}
    drawn = pictures(record_of(LC2ST, {**one, "worst": 0, "null_d": outcome.arrays["null_d"]}))
    assert [figure.title for figure in drawn] == [
        "How sure the classifier is", "The statistic on its null",
    ]  # fmt: skip
    assert len(lc2st.worst_observation_map({**one, "worst": 0}, draws[:1])) == 1


def test_nothing_to_draw_is_said():
    drawn = (
        *pictures(record_of(LC2ST, {})),
        *lc2st.worst_observation_map({}, np.empty((0, 0, 2))),
    )
    empty = np.empty(0)
    for figure in [
        *(one.figure for one in drawn),
        plotly.figure(lc2st.pvalues_by_observation(empty, empty)),
    ]:
        go.Figure(figure.to_dict())
        assert not figure.data
        assert figure.layout.annotations[0].text.startswith("No")


def test_curve_and_band_are_shares():
    d = np.array([0.2, 0.4, 0.5, 0.9])
    figure = plotly.figure(lc2st.pp_plot(d, np.tile(d, (50, 1))))
    band, _, seen = figure.data
    at = np.searchsorted(seen.x, [0.1, 0.45, 0.6, 0.95])
    np.testing.assert_allclose(seen.y[at], [0, 0.5, 0.75, 1])
    assert band.y.min() >= 0
    assert band.y.max() <= 1


def test_critical_value_is_where_p_passes_the_level():
    nulls = np.arange(1, 100) / 1000.0
    marks = lc2st.null_of_t(0.2, nulls).marks
    critical, observed = (mark for mark in marks if isinstance(mark, VLine))
    marked = critical.x
    assert observed.x == 0.2
    above = local_test.local([marked + 1e-6], nulls[None]).pvalue[0]
    below = local_test.local([marked - 1e-6], nulls[None]).pvalue[0]
    assert above <= 0.05 < below
    few = lc2st.null_of_t(0.2, nulls[:10]).marks  # ten nulls never reject
    assert sum(isinstance(mark, VLine) for mark in few) == 1


def test_map_takes_the_pair_that_matters():
    rng = stream(24)
    theta = rng.standard_normal((800, 5))
    d = 0.5 + 0.2 * np.tanh(theta[:, 1] * theta[:, 3])  # nothing to see along either alone
    figure = plotly.figure(lc2st.map_of(theta, d))
    assert figure.layout.xaxis.title.text == "theta_2"
    assert figure.layout.annotations[0].text == "theta_4"
    marker = figure.data[0].marker
    assert marker.cmin + marker.cmax == pytest.approx(1.0)


def test_map_of_one_parameter_is_a_histogram():
    theta = stream(25).standard_normal((500, 1))
    figure = plotly.figure(lc2st.map_of(theta, 1 / (1 + np.exp(-theta[:, 0])), ["mass"]))
    go.Figure(figure.to_dict())
    assert np.asarray(figure.data[0].y).sum() == 500
    color = np.asarray(figure.data[0].marker.color)[np.asarray(figure.data[0].y) > 0]
    assert color[0] < 0.5 < color[-1]
    assert figure.layout.xaxis.title.text == "mass"


def test_map_wants_the_draws_that_were_looked_at(looked):
    with pytest.raises(ValueError, match="the draws that the test looked at"):
        lc2st.worst_observation_map(looked[0].arrays, looked[1][:, :5])


def test_the_words_beside_the_level_are_not_on_the_observed_line():
    nulls = np.linspace(0.001, 0.0025, 200)
    for observed, side in ((0.0026, "end"), (0.02, "start"), (0.0002, "end")):
        (words,) = (
            mark
            for mark in lc2st.null_of_t(observed, nulls).marks
            if isinstance(mark, Note) and "rejects" in str(mark.words)
        )
        assert words.anchor == side, observed
