"""The map over x: exact tests, the right place and sign, and x of any shape."""

import json
import re
import tracemalloc
from dataclasses import replace

import numpy as np
import plotly.graph_objects as go
import pytest

from tests.fixed_claims import CLAIMED, asked_alone
from tests.reports import code_of
from validation_core import codec, diagnosis, statistics, tables
from validation_core.diagnosis import method_runs, tasks
from validation_core.diagnosis.questions import Names, by_name
from validation_core.diagnosis.questions.over_x import LEAST_ROWS
from validation_core.diagnosis.questions.over_x.features import parameter_features, stand_in_ranks
from validation_core.diagnosis.questions.over_x.region import Disc, Stretch, worst_region
from validation_core.diagnosis.questions.over_x.region_words import region_text
from validation_core.diagnosis.questions.over_x.result import ErrorsOverX, order_of_p
from validation_core.diagnosis.questions.over_x.scan import scan_correctness, scan_variation
from validation_core.diagnosis.questions.over_x.sizes import (
    FeatureSize,
    estimate_size,
    smooth_feature,
)
from validation_core.diagnosis.questions.over_x.study import find_errors_over_x
from validation_core.diagnosis.questions.over_x.windows import build_scan_windows
from validation_core.drawing.marks import Line
from validation_core.localization import over_x as smoothing
from validation_core.methods import Omnibus
from validation_core.relabelling import relabelled
from validation_core.relabelling.claims import Claims
from validation_core.relabelling.normal_scores import MOST
from validation_core.relabelling.places import coordinates, moments
from validation_core.rng import stream
from validation_core.statistics.effects import WIDEST
from validation_core.statistics.permutation import step_down
from validation_core.store import Store
from validation_core.tables import Upload
from validation_core.types import PosteriorTable

NAMES = ("mass", "<b>spin</b>")
QUESTION = by_name("over_x")
FIFTH = np.array([0.0, 0.2])
"""From one end to the other."""


def say(result, *names):
    return QUESTION.describe(result, Names(*names), CLAIMED)


def notes(result, *names):
    return " ".join(QUESTION.notes(result, Names(*names)))


def normals(n=600, k=60, d=2, m=3, seed=0):
    """theta and q standard normal at every x, which tells nothing."""
    rng = np.random.default_rng(seed)
    return PosteriorTable(
        rng.standard_normal((n, d)), rng.standard_normal((n, m)), rng.standard_normal((n, k, d))
    )


def upload_of(table):
    return Upload.of({"theta": table.theta, "x": table.x, "theta_q": table.q})


def part(found):
    (one,) = found.parts
    return one


def both(table, seed, nulls=39):
    found = parameter_features(table, seed)
    at = coordinates(table.x, *moments(table.q[:, :0]))
    plane = table.x if table.x.shape[1] == 2 else None
    over = build_scan_windows(at.values, np.random.default_rng(seed), plane)
    rng = np.random.default_rng(seed)
    return scan_variation(found.truth, over, nulls, rng), scan_correctness(
        found.scores, over, nulls, rng
    )


def test_both_tests_keep_their_level_on_right_posteriors():
    tables = 400
    found = [both(normals(n=60, k=7, seed=seed), seed) for seed in range(tables)]
    low, high = statistics.binomial_bounds(tables, 0.05, 0.999)
    for which in range(2):
        rejected = sum(pair[which].pvalue <= 0.05 for pair in found)
        assert low <= rejected <= high


def test_the_level_holds_where_parameters_are_tied_differently_at_every_x():
    """theta_2 is theta_1 left of 0 and its opposite right of it: right, yet no two rows alike."""
    tables, n, k = 300, 60, 7
    rejected = np.zeros(2)
    for seed in range(tables):
        rng = np.random.default_rng(seed)
        x = rng.standard_normal((n, 2))
        every = rng.standard_normal((n, k + 1, 1))
        every = np.concatenate([every, every * np.sign(x[:, None, :1])], axis=2)
        found = both(PosteriorTable(every[:, 0], x, every[:, 1:]), seed)
        rejected += [one.pvalue <= 0.05 for one in found]
    _, high = statistics.binomial_bounds(tables, 0.05, 0.999)
    assert rejected[0] <= high
    assert statistics.binomial_bounds(tables, 0.05, 0.999)[0] <= rejected[1] <= high


@pytest.mark.parametrize("tables", [60, pytest.param(200, marks=pytest.mark.slow)])
def test_the_permutation_test_keeps_its_level_where_q_is_wrong_alike_everywhere(tables):
    rejected, seen = 0, 0
    for seed in range(tables):
        table = normals(n=60, k=24, seed=seed)
        off = upload_of(PosteriorTable(1.5 * table.theta + 0.8, table.x, table.q))
        told = part(find_errors_over_x(off, seed, nulls=39))
        assert told.aside == 6
        rejected += told.p_varies <= 0.05
        seen += told.p_right <= 0.05
    low, high = statistics.binomial_bounds(tables, 0.05, 0.999)
    assert low <= rejected <= high
    assert seen > 0.95 * tables


@pytest.mark.parametrize("k", [1, 3, 50])
def test_ranks_of_truth_and_stand_ins_are_uniform_together(k):
    table = normals(n=3000, k=k, d=1)
    u = stand_in_ranks(table, 5, np.random.default_rng(0))[0]
    assert u.shape == (1 + min(k, 5), 3000)
    assert all(statistics.ks(row).pvalue > 1e-4 for row in u)
    if k == 3:  # all four are ranked: their whole parts are a permutation
        whole = np.sort(np.floor(4 * u), axis=0)
        np.testing.assert_array_equal(whole, np.arange(4)[:, None] + np.zeros(3000))


def test_the_truths_rank_counts_the_draws_below_it():
    table = PosteriorTable(np.array([[2.5]]), np.zeros((1, 1)), np.arange(9.0)[None, :, None])
    u = stand_in_ranks(table, 0, np.random.default_rng(0))
    assert 3 / 10 <= u.item() <= 4 / 10


def test_tied_draws_are_ranked_at_random():
    table = normals(n=4000, k=9, d=1)
    rounded = PosteriorTable(np.round(table.theta), table.x, np.round(table.q))
    u = stand_in_ranks(rounded, 0, np.random.default_rng(0))[0, 0]
    assert statistics.ks(u).pvalue > 1e-4


def test_step_down_is_the_textbook_one():
    seen = np.array([3.0, 1.0, 2.0])
    nulls = np.array([[4.0, 0.0, 0.0], [0.0, 0.0, 2.5], [0.0, 1.5, 0.0], [0.0, 0.0, 0.0]])
    # For 3: one null is as large. For 2, without the first: one. For 1, alone: one.
    np.testing.assert_allclose(step_down(seen, nulls), [2 / 5, 2 / 5, 2 / 5])
    np.testing.assert_allclose(step_down(seen, nulls[3:]), [1 / 2] * 3)


def test_step_down_never_makes_the_smaller_statistic_surer():
    rng = np.random.default_rng(0)
    seen, nulls = rng.exponential(size=30), rng.exponential(size=(99, 30))
    p = step_down(seen, nulls)
    assert (np.diff(p[np.argsort(-seen)]) >= 0).all()
    assert p.min() >= 1 / 100


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_an_error_on_one_side_of_one_column_is_found_with_its_place_and_sign(seed):
    table = normals(n=800, d=3, m=4, seed=seed)
    theta = table.theta.copy()
    theta[:, 1] += 0.9 * (table.x[:, 0] > 1)
    found = find_errors_over_x(upload_of(PosteriorTable(theta, table.x, table.q)), seed, nulls=199)
    first = part(found).pairs[0]
    assert (first.kind, first.parameter, first.along, first.which) == (
        "shift", 1, "x", 0,
    )  # fmt: skip
    assert first.p_varies == 1 / 200
    assert first.region.high is None or first.region.high > 1.3
    assert 0.5 < first.region.low < 1.4
    assert first.inside.low - 0.1 <= -0.9 <= first.inside.high  # q sits too low there
    assert first.outside.high >= -0.05
    assert table.x[found.worst[0].row, 0] > 0.9
    said = say(found, ("a", "b", "c"), ("left", "y", "z", "w"))
    assert "left" in said[0]
    assert "q's b sits" in said[0]
    assert "too low; elsewhere" in said[0]


def test_the_interval_there_is_of_rows_that_did_not_choose_the_place():
    """On right tables the interval at the place that stands out covers 0 as often as told."""
    covered, repeats = 0, 200
    for seed in range(repeats):
        w = np.random.default_rng(seed).standard_normal((1, 200)).astype(np.float32)
        values = np.random.default_rng(seed + 999).standard_normal((200, 1))
        over = build_scan_windows(values, np.random.default_rng(0))
        choose = np.arange(200) % 2 == 0
        _, inside = worst_region(over, w[0], 0, choose)
        quoted = estimate_size("shift", w[0, inside & ~choose], 1000)
        covered += quoted.value is None or quoted.low <= 0 <= quoted.high
    low, high = statistics.binomial_bounds(repeats, 0.95, 0.999)
    assert low <= covered <= high


def test_a_width_that_changes_is_read_as_too_narrow():
    table = normals(n=900, m=1, k=100, seed=5)
    theta = table.theta.copy()
    theta[:, 0] *= np.where(table.x[:, 0] < -0.5, 2.0, 1.0)
    found = find_errors_over_x(upload_of(PosteriorTable(theta, table.x, table.q)), 0, nulls=199)
    first = part(found).pairs[0]
    assert (first.kind, first.parameter) == ("width", 0)
    assert first.inside.high < 1 / 1.2  # of the width that q needs there
    assert "times as wide as it should be (too narrow)" in say(found, NAMES)[0]


def test_a_q_that_is_too_wide_somewhere_is_read_as_too_wide():
    table = normals(n=900, m=1, k=100, seed=5)
    q = table.q.copy()
    q[table.x[:, 0] < -0.5, :, 0] *= 2.0
    found = find_errors_over_x(upload_of(PosteriorTable(table.theta, table.x, q)), 0, nulls=199)
    first = part(found).pairs[0]
    assert (first.kind, first.parameter) == ("width", 0)
    assert first.inside.low > 1.2
    assert "times as wide as it should be (too wide)" in say(found, NAMES)[0]
    panel = QUESTION.figures(found, Names(NAMES), CLAIMED)[0].picture
    assert panel.y.label == "q's width / width needed"
    (line,) = (mark for mark in panel.marks if isinstance(mark, Line))
    assert line.y[line.x < -1].min() > 1.3


@pytest.mark.parametrize(
    ("bias", "narrow", "seed"),
    [("slope", False, 0), ("slope", False, 1), ("step", False, 0), ("other", True, 0),
     ("other", True, 1)],
)  # fmt: skip
def test_no_width_is_told_that_a_bias_along_the_same_x_would_show(bias, narrow, seed):
    """A bias that changes within a region spreads the ranks there; along another x it does not."""
    rng = np.random.default_rng(9000 + seed)
    theta = rng.standard_normal((600, 2))
    x = theta + 0.5 * rng.standard_normal((600, 2))
    off, width = np.zeros((2, 600, 1, 2))
    by = {"slope": x[:, 0] / 2, "step": 1.2 * (x[:, 0] > 1), "other": 0.8 * (x[:, 1] > 1)}
    off[:, 0, 0] = by[bias]
    width[:] = 1.0
    width[:, 0, 0] = np.where(narrow & (x[:, 0] > 0.5), 0.6, 1.0)
    q = 0.8 * x[:, None] + np.sqrt(0.2) * (off + width * rng.standard_normal((600, 80, 2)))
    claims = Claims(relabelled(PosteriorTable(theta, x, q), 0), 0.05)
    found = find_errors_over_x(upload_of(PosteriorTable(theta, x, q)), 0, 199)
    places = found.changing(claims)
    assert places
    assert any(place.kind == "width" for place in places) == narrow


def test_an_error_that_is_alike_everywhere_is_not_said_to_change():
    table = normals(n=500, m=2, seed=3)
    theta = table.theta + np.array([0.4, 0.0])
    found = find_errors_over_x(upload_of(PosteriorTable(theta, table.x, table.q)), 0, nulls=199)
    assert part(found).p_varies > 0.05
    assert part(found).p_right == 1 / 200
    (said,) = say(found, NAMES)
    assert said.startswith("No change of the error over x is found (p ")
    assert "same" not in said, "not found is not told to be absent"
    (size,) = (
        one.size for one in part(found).overall if (one.kind, one.parameter) == ("shift", 0)
    )
    assert size.low <= -0.4 <= size.high < 0  # q sits too low


def test_a_right_q_is_not_called_right():
    claims, found = claimed(normals(n=300, seed=11), 0)
    said = QUESTION.describe(found, Names(NAMES), claims)
    assert said[0].startswith("No sign of an error")
    assert "found wrong, if not always found to change over x, in about 80 of 100" in said[0]
    assert "correct" not in " ".join(said)


@pytest.mark.parametrize(
    ("n", "k", "d", "tables"),
    [(300, 1, 1, 60), (300, 50, 1, 60),
     *(pytest.param(n, k, d, 80, marks=pytest.mark.slow)
       for n, k, d in ((500, 1, 1), (500, 2, 1), (500, 5, 1), (500, 50, 3), (100, 50, 1)))],
)  # fmt: skip
def test_with_the_error_that_is_told_of_q_is_found_wrong_that_often(n, k, d, tables):
    claims, result = claimed(normals(n=n, k=k, m=d, d=d), 0)
    size, found = result.detectable(claims), 0
    for seed in range(tables):
        table = normals(n=n, k=k, m=d, d=d, seed=100 + seed)
        low, high = np.quantile(table.x[:, 0], np.random.default_rng(seed).uniform(0, 0.8) + FIFTH)
        inside = (table.x[:, 0] > low) & (table.x[:, 0] <= high)
        table.theta[inside, 0] += size
        found += verdict_claims(table, seed).found
    # 80%, to within what is left out: other statistics add some, few rows take some.
    least = statistics.binomial_bounds(tables, 0.75, 0.999)[0]
    assert least <= found <= statistics.binomial_bounds(tables, 0.9, 0.999)[1]


def test_with_few_rows_no_error_in_a_part_of_x_is_promised_to_be_found():
    claims, result = claimed(normals(n=40, k=1, m=1, d=1), 0)
    assert result.detectable(claims) is None
    assert "80 of 100" not in " ".join(QUESTION.describe(result, Names(NAMES), claims))


def test_a_disc_in_the_plane_is_found_and_drawn_as_a_map():
    table = normals(n=1000, m=2, d=1, seed=4)
    off = np.square(table.x - [1.0, 1.0]).sum(1) < 0.7
    theta = table.theta - 1.2 * off[:, None]
    found = find_errors_over_x(upload_of(PosteriorTable(theta, table.x, table.q)), 0, nulls=199)
    first = part(found).pairs[0]
    assert first.along == "plane"
    assert np.abs(np.array(first.region.centre) - 1).max() < 0.7
    assert first.inside.low > 0.4  # q sits too high there
    figures = QUESTION.figures(found, Names(NAMES), CLAIMED)
    heat = figures[0].figure.data[0]
    assert heat.type == "heatmap"
    away = np.asarray(heat.z, float)
    at = np.unravel_index(np.nanargmax(away), away.shape)
    assert abs(heat.x[at[1]] - 1) < 0.7
    assert abs(heat.y[at[0]] - 1) < 0.7


def test_the_smoothed_course_has_the_size_that_was_put_in():
    rng = np.random.default_rng(0)
    x, w = np.sort(rng.random(4000)), rng.standard_normal(4000)
    at, weights = smoothing.line(x)
    value, low, high, room = smooth_feature("shift", w + (x > 0.5), weights)
    right = at > 0.75
    assert np.abs(value[right] + 1).max() < 0.25  # truths 1 sd above q: it sits 1 sd too low
    assert ((low < value) & (value < high)).all()
    assert np.mean(np.abs(value[at < 0.25]) < room[at < 0.25]) > 0.7
    spread = smooth_feature("width", w * np.where(x > 0.5, 2.0, 1.0), weights)
    assert np.abs(1 / spread[0][right] - 2).max() < 0.4  # truths twice as wide: q is half of it


@pytest.mark.parametrize("d", [1, 3])
@pytest.mark.parametrize("m", [1, 2, 5, 30])
def test_every_shape_is_told_drawn_and_listed(d, m):
    table = normals(n=80, k=4, d=d, m=m)
    found = find_errors_over_x(upload_of(table), 0, nulls=39)
    json.dumps(QUESTION.to_json(found), allow_nan=False)
    assert sum(array.size for array in codec.dump(found)[0].values()) < 200_000
    figures = QUESTION.figures(found, Names(NAMES), CLAIMED)
    assert 1 <= len(figures) <= 6
    for one in figures:
        go.Figure(one.figure.to_dict())  # plotly's own validation
        assert "If q were correct" in one.caption
    rows = QUESTION.rows(found, Names(NAMES), CLAIMED)
    order = [order_of_p(row["p, changes over x"]) for row in rows]
    assert order == sorted(order)
    assert say(found, NAMES)


def test_one_draw_a_row_is_enough_to_find_a_shift():
    table = normals(n=800, k=1, m=1, d=1)
    theta = table.theta + 2.0 * (table.x > 0)
    found = find_errors_over_x(upload_of(PosteriorTable(theta, table.x, table.q)), 0, nulls=99)
    assert part(found).p_varies == 1 / 100


def test_columns_that_never_vary_and_few_values_are_no_trouble():
    table = normals(n=200, m=3)
    x = table.x.copy()
    x[:, 0], x[:, 1] = 7.0, np.round(x[:, 1])
    theta = table.theta + 1.2 * (x[:, 1:2] >= 1)
    found = find_errors_over_x(upload_of(PosteriorTable(theta, x, table.q)), 0, nulls=99)
    assert ("x", 0) not in {(one.along, one.which) for one in part(found).pairs}
    first = part(found).pairs[0]
    assert (first.along, first.which) == ("x", 1)
    # A row or two below -2 may be told of together with those from 1 on.
    assert (first.region.high if first.region.outside_of else first.region.low) == 1.0


def test_an_x_that_never_varies_is_one_place():
    table = normals(n=100, m=1, d=1)
    found = find_errors_over_x(
        upload_of(PosteriorTable(table.theta + 1, 0 * table.x, table.q)), 0, nulls=99
    )
    assert part(found).p_varies == 1
    assert part(found).p_right == 1 / 100
    assert "x never varies" in notes(found, NAMES)


def test_a_hundred_thousand_columns_fit_in_memory_and_are_said():
    n, m = 60, 100_000
    rng = np.random.default_rng(0)
    x = rng.standard_normal((n, m)).astype(np.float32)
    table = PosteriorTable(rng.standard_normal((n, 2)), x, rng.standard_normal((n, 20, 2)))
    uploaded = upload_of(table)
    tracemalloc.start()
    found = find_errors_over_x(uploaded, 0, nulls=39)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 3 * x.nbytes + 300e6
    kinds = {one.along for one in part(found).pairs}
    assert kinds == {"x", "component", "mean"}
    assert "100,000 columns" in notes(found, NAMES)


def test_an_error_along_a_component_of_many_columns_is_found():
    rng = np.random.default_rng(0)
    table = normals(n=500, m=200, d=1)
    hidden = rng.standard_normal(500)
    x = table.x + 2 * hidden[:, None] * rng.standard_normal(200)
    theta = table.theta + 1.5 * (hidden > 0.8)[:, None]
    found = find_errors_over_x(upload_of(PosteriorTable(theta, x, table.q)), 0, nulls=99)
    assert part(found).p_varies == 1 / 100
    assert "component" in {one.along for one in part(found).pairs if one.p_varies <= 0.05}


def test_of_many_parameters_half_of_the_rows_choose_those_that_are_both():
    table = normals(n=300, k=4, d=130, m=1)
    theta = table.theta.copy()
    theta[:, 117] += 1.5 * (table.x[:, 0] > 0)
    found = find_errors_over_x(upload_of(PosteriorTable(theta, table.x, table.q)), 0, nulls=99)
    assert part(found).rows == 150
    assert part(found).looked_at == MOST
    assert part(found).pairs[0].parameter == 117
    assert "130 parameters" in notes(found, ())


def test_coordinates_are_columns_and_means_that_vary():
    table = normals(n=50, k=3, m=5)
    x = table.x.copy()
    x[:, 2] = 1.0
    at = coordinates(x, *moments(table.q))
    assert at.kinds == ("x",) * 4 + ("mean",) * 2
    assert at.which == (0, 1, 3, 4, 0, 1)
    np.testing.assert_allclose(at.values[:, 4:], table.q.mean(1))


def test_obstacles_say_what_to_do():
    rng = np.random.default_rng(0)
    two = Upload.of({"p": rng.standard_normal((90, 2)), "q": rng.standard_normal((90, 2))})
    few = upload_of(normals(n=LEAST_ROWS - 1))
    assert "Upload theta, x and theta_q" in QUESTION.obstacle(two)
    assert f"got {LEAST_ROWS - 1}" in QUESTION.obstacle(few)
    assert QUESTION.obstacle(upload_of(normals(n=LEAST_ROWS))) is None
    assert QUESTION.studies(two, diagnosis.default_methods(), 0) == ()


@pytest.mark.usefixtures("short_training")
def test_ranks_come_first_and_the_classifier_shares_the_level(tmp_path):
    table = normals(n=400, m=1, d=1)
    theta = table.theta + 1.5 * (table.x > 0.5)
    uploaded = upload_of(PosteriorTable(theta, table.x, table.q))
    tasks.register_upload(uploaded)
    store = Store(tmp_path)
    first, second = QUESTION.studies(uploaded, diagnosis.default_methods(), 0)
    assert (first.trainings, len(second.trainings)) == ((), 1)
    founds = []
    for task in (first, second):
        task.run(store, lambda done, live: None)
        founds.append(task.load(store))
    assert part(founds[0]).p_varies == 2 / 1000  # of 999 null tables, for two answers
    both = QUESTION.gather(founds)
    kinds = {one.kind for one in both.worst}
    assert kinds == {"shift", "width", "learned"}
    learned = part(founds[1]).pairs[0]
    assert learned.p_varies < 0.05
    assert learned.inside.value is not None
    assert len(QUESTION.figures(both, Names(NAMES), CLAIMED)) == 6 or len(
        QUESTION.figures(both, Names(NAMES), CLAIMED)
    ) == len([one for one in both.worst if one.picture is not None])
    assert "no network saw" in notes(both, NAMES)


def test_the_same_seed_gives_the_same_answer():
    uploaded = upload_of(normals(n=100))
    once, again = (find_errors_over_x(uploaded, 3, nulls=39) for _ in range(2))
    assert QUESTION.to_json(once) == QUESTION.to_json(again)


def test_names_are_escaped_in_figures():
    found = find_errors_over_x(upload_of(normals(n=80, m=1, d=2)), 0, nulls=39)
    for one in QUESTION.figures(found, Names(NAMES, ("<script>",)), CLAIMED):
        assert "<script>" not in one.figure.to_json()


def test_the_code_runs(tmp_path, capsys):
    table = normals(n=45, k=3)  # too few rows for a classifier: ranks alone
    path = tmp_path / "a table.npz"
    np.savez(path, theta=table.theta, x=table.x, theta_q=table.q)
    exec(code_of(QUESTION, path, 4), {})
    upload = tables.read(path)
    claims = asked_alone(QUESTION, upload, 4, Store(tmp_path / "store"))
    wanted = QUESTION.describe(find_errors_over_x(upload, 4), Names(()), claims)
    assert capsys.readouterr().out.splitlines()[0] == wanted[0]


@pytest.mark.parametrize(
    ("name", "starts"),
    [("sir_undertrained", "q's error changes over x"), ("sir_well_trained", "q's error changes"),
     ("two_moons_undertrained", "q's error changes over x")],
)  # fmt: skip
def test_real_tables(shared, name, starts):
    found = find_errors_over_x(tables.read(shared / "data" / f"{name}.npz"), 0)
    said = say(found, ("beta", "gamma"))
    assert said[0].startswith(starts)
    assert part(found).p_right <= 0.05


def test_intervals_of_a_width_hold_the_ratio_they_quote():
    """Truths 1.5 times as far out as q's draws: q has 1 / 1.5 of the width that it needs."""
    covered, repeats = 0, 400
    for seed in range(repeats):
        w = 1.5 * np.random.default_rng(seed).standard_normal(60)
        quoted = estimate_size("width", w, 100_000)
        covered += quoted.low <= 1 / 1.5 <= quoted.high
    assert covered >= statistics.binomial_bounds(repeats, 0.93, 0.999)[0]


def test_too_few_rows_are_not_quoted():
    quoted = estimate_size("shift", np.ones(3), 50)
    assert (quoted.value, quoted.n) == (None, 3)
    still = estimate_size("width", np.zeros(9), 50)  # all truths where q's middle is
    assert (still.value, still.low) == pytest.approx((WIDEST, WIDEST))
    assert still.high is None


@pytest.fixture(scope="module")
def ranks():
    """What ranks say of a small table."""
    return find_errors_over_x(upload_of(normals(n=80, m=1)), 0, nulls=39)


def test_gathering_keeps_every_part(ranks):
    learned = ErrorsOverX((replace(part(ranks), name="learned"),))
    both = QUESTION.gather([ranks, learned])
    assert [part.name for part in both.parts] == ["ranks", "learned"]
    assert {"ranks0", "learned0"} <= {
        place.get("drawn") for part in QUESTION.to_json(both)["parts"] for place in part["pairs"]
    }


def test_a_parameter_is_named_before_the_score_of_a_classifier(ranks):
    place = part(ranks).pairs[0]
    none = FeatureSize(9, 0.0, -1.0, 1.0)
    learned = replace(
        place, kind="learned", p_varies=0.002, inside=replace(none, value=2.0), outside=none
    )
    shift = replace(learned, kind="shift", inside=replace(none, value=1.0))
    surer = replace(learned, p_varies=0.001)
    for first, second in ((shift, learned), (surer, shift)):
        parts = (replace(part(ranks), pairs=(one,)) for one in (second, first))
        assert ErrorsOverX(tuple(parts)).worst[0] is first


def test_a_shift_beyond_all_draws_is_the_least_it_can_be():
    table = normals(n=300, m=1, k=50, seed=2)
    off = np.array([6.0, 0.0]) * (table.x > 0)
    result = find_errors_over_x(
        upload_of(PosteriorTable(table.theta + off, table.x, table.q)), 0, nulls=199
    )
    said = say(result, NAMES)[0]
    assert "q's mass sits at least 2." in said
    assert "too low: 100% of the true values there lie beyond all of q's draws; else" in said
    place = result.worst[0]
    assert (place.inside.open, place.inside.low) == (True, None)
    assert place.inside.value == pytest.approx(-6, abs=0.4)
    assert codec.to_json(place)["inside"]["open"] is True
    (width,) = (
        one for one in result.worst
        if (one.kind, one.parameter, one.along) == ("width", 0, "x")
    )  # fmt: skip
    assert (width.inside.value, width.inside.open) == (None, True)
    assert "times as wide" not in " ".join(say(result, NAMES))
    for drawn in QUESTION.figures(result, Names(NAMES), CLAIMED):
        drawn.figure.to_json()
    (size,) = (one for one in part(result).overall if (one.kind, one.parameter) == ("shift", 0))
    assert size.beyond.share == pytest.approx((table.x > 0).mean(), abs=0.05)


def counting(seed, edge=28, n=600, k=50):
    """A rate by counts in an exposure of 1 to 5; q sits 1 sd too high from some counts on."""
    rng = np.random.default_rng(seed)
    exposure = rng.uniform(1, 5, n)
    rate = rng.gamma(2, 5, n)
    counts = rng.poisson(rate * exposure)
    draws = rng.gamma(2 + counts[:, None], 1 / (0.2 + exposure[:, None]), (n, k))
    sd = np.sqrt(2 + counts) / (0.2 + exposure)
    draws += np.where(counts >= edge, sd, 0)[:, None]
    return PosteriorTable(rate[:, None], np.column_stack([counts, exposure]), draws[..., None])


@pytest.mark.parametrize("seed", range(3))
def test_one_coordinate_is_told_where_two_are_no_better(seed):
    result = find_errors_over_x(upload_of(counting(seed)), 0, nulls=199)
    said = say(result, ("rate",), ("counts", "exposure"))[0]
    assert "Where counts ≥ " in said
    assert 20 <= float(said.split("counts ≥ ")[1].split(" ")[0]) <= 40
    assert "exposure" not in said.split("(")[1] + said.split(")")[-1]


def disc(centre, radius, ends, *, outside=False):
    return Disc(centre, radius, ends, outside)


@pytest.mark.parametrize(
    ("region", "text"),
    [
        (disc((132.0, 4.9), (100.0, 7.4), ((32.0, None), (None, None))), "counts ≥ 32"),
        (disc((132.0, 4.9), (100.0, 7.4), ((32.0, 232.0), (None, None))),
         "counts is from 32 to 232"),
        (disc((132.0, 4.9), (100.0, 7.4), ((32.0, None), (None, None)), outside=True),
         "counts < 32"),
        (
            disc((-1.234, 4.9), (100.4, 0.5), ((None, 99.0), (4.4, None))),
            "counts is −1.23 ± 100 and exposure is 4.9 ± 0.5",
        ),
        (Stretch(1_000_312.0, 1_001_870.0), "counts is from 1000300 to 1001900"),
        (disc((1_000_312.0, 4.9), (250.0, 0.5), ((1e6, 1_000_600.0), (4.4, None))),
         "counts is 1000310 ± 250 and exposure is 4.9 ± 0.5"),
        (Stretch(None, -1.0236), "counts < −1.02"),
        (Stretch(1e5, None), "counts ≥ 100000"),
        (Stretch(2_451_545.27, None, spread=3.1), "counts ≥ 2451545.3"),
        (disc((2_451_545.27, 4.9), (2.0, 7.4), ((None, 2_451_547.27), (None, None))),
         "counts < 2451547.3"),
    ],
)  # fmt: skip
def test_a_region_is_told_in_readable_numbers_by_what_excludes_something(ranks, region, text):
    place = replace(part(ranks).pairs[0], region=region, along="x", which=0)
    assert region_text(place, (), ("counts", "exposure")) == text


@pytest.mark.parametrize("middle", [0.0, 2_451_545.0])
def test_the_single_end_of_a_region_excludes_the_rows_that_it_is_said_to(middle):
    """A date in days was told to three digits, which all rows or none lie beyond."""
    table = normals(n=400, m=1, seed=4)
    off = np.array([1.5, 0.0]) * (table.x > 0.4)
    moved = PosteriorTable(table.theta + off, table.x.astype(float) + middle, table.q)
    place = find_errors_over_x(upload_of(moved), 0, nulls=199).worst[0]
    text = region_text(place, (), ("day",))
    found = re.fullmatch(r"day (<|≥) ([\d.−]+)", text)
    end = float(found[2].replace("−", "-"))
    inside = moved.x[:, 0] < end if found[1] == "<" else moved.x[:, 0] >= end
    assert inside.mean() == pytest.approx(place.share, abs=0.01), text


def test_of_few_draws_it_is_said_how_many_lie_beyond_if_q_is_right():
    """Of two draws a right q's truth lies outside both in two rows of three."""
    table = normals(n=400, m=1, k=2, seed=4)
    off = np.array([0.8, 0.0]) * (table.x > 0)
    result = find_errors_over_x(
        upload_of(PosteriorTable(table.theta + off, table.x, table.q)), 0, nulls=199
    )
    said = say(result, NAMES)[0]
    assert "too low" in said
    assert "lie beyond all of q's draws (67% if q were correct)" in said
    assert -0.8 <= result.worst[0].inside.high < 0


def test_x_that_never_varies_promises_no_power_over_x():
    table = normals(n=200, m=1, seed=6)
    still = PosteriorTable(table.theta, np.zeros_like(table.x), table.q)
    said = " ".join(say(find_errors_over_x(upload_of(still), 0, nulls=199), NAMES))
    assert "over a fifth of x" not in said


def verdict_claims(table, seed):
    """What a verdict without learned scores lets this question claim."""
    uploaded = upload_of(table)
    relabelled = method_runs.run_relabelling(uploaded, Omnibus(relabelings=199), seed, {})
    return diagnosis.verdict([relabelled], uploaded, seed=seed).claims


def claimed(table, seed):
    """The same, and the question's own tests."""
    return verdict_claims(table, seed), find_errors_over_x(upload_of(table), seed, nulls=199)


def test_a_missed_mode_at_random_over_x_is_not_claimed_to_change_there():
    """Neither by the question's own test, nor by the own null of the verdict's family."""
    tables, changes, alone = 24, 0, 0
    for seed in range(tables):
        rng = np.random.default_rng(seed)
        table = normals(n=400, m=3, k=50, seed=1000 + seed)
        moved = table.theta + np.array([5.0, 0.0]) * (rng.random((400, 1)) < 0.4)
        claims, result = claimed(PosteriorTable(moved, table.x, table.q), seed)
        assert claims.found
        said = QUESTION.describe(result, Names(NAMES), claims)
        changing = result.changing(claims)
        assert bool(changing) == QUESTION.finds(result, claims)
        assert bool(changing) == said[0].startswith("q's error changes over x")
        if not changing:
            assert said[0].startswith("No change of the error over x is found (p ")
        changes += bool(changing)
        alone += any(
            claims.place(one.kind, one.parameter, one.along, one.which) <= claims.alpha
            for one in result.worst
        )
    most = statistics.binomial_bounds(tables, 0.05, 0.999)[1]
    assert max(changes, alone) <= most


def test_rows_that_measure_have_no_part_in_which_place_comes_first():
    """Where nothing changes clearly: else the first interval excludes a correct q too often."""
    n, same = 200, []
    for seed in range(6):
        table = normals(n=n, m=2, k=20, seed=seed)
        measure = stream(0, "over x", "ranks", "halves").permutation(n)[n // 2 :]
        told = []
        for trial in range(2):
            theta = table.theta.copy()
            theta[measure] = table.q[measure, 2 + trial]
            found = find_errors_over_x(upload_of(PosteriorTable(theta, table.x, table.q)), 0, 39)
            first = found.worst[0]
            told.append((first.kind, first.parameter, first.along, first.which, first.region))
            if found.p_varies <= 0.05:  # its order is that of p, which all rows have a part in
                break
        else:
            same.append(told[0] == told[1])
    assert len(same) > 3
    assert all(same)


@pytest.mark.parametrize("seed", [2, 4, 5])
def test_a_bias_over_part_of_x_is_claimed_to_change_there(seed):
    table = normals(n=400, m=2, k=50, seed=seed)
    q = table.q.copy()
    q[table.x[:, 0] > 0.3, :, 0] += 0.8
    claims, result = claimed(PosteriorTable(table.theta, table.x, q), seed)
    first = result.changing(claims)[0]
    assert (first.kind, first.parameter, first.inside.low > 0) == ("shift", 0, True)
    assert first.p_varies >= max(
        claims.place(first.kind, first.parameter, first.along, first.which), 1 / 200
    )
    assert result.p_changes(claims) == max(result.p_varies, claims.over_x()) <= claims.alpha
    assert QUESTION.finds(result, claims)
    said = QUESTION.describe(result, Names(NAMES), claims)[0]
    assert said.startswith("q's error changes over x (p = 0.0")
    assert "q's mass sits" in said
    assert "posterior sd too high" in said
