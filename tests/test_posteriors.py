"""Several posteriors of the same simulations: proper scores, paired intervals, words."""

import ast
from dataclasses import replace

import numpy as np
import plotly.graph_objects as go
import pytest
from scipy.stats import norm

from validation_core import keys, statistics
from validation_core.diagnosis import comparison, tasks
from validation_core.diagnosis.comparison import proper_scores
from validation_core.diagnosis.method_runs import run_method
from validation_core.methods import SBC, TARP
from validation_core.panels import posteriors
from validation_core.rng import stream
from validation_core.store import Store
from validation_core.tables import TableUpload, Upload
from validation_core.types import PosteriorTable

N, K, D = 300, 20, 2


def table(seed, *, shift=0.0, width=1.0, n=N, k=K, rows=0):
    """Draws of N(x + shift, width²) where the truth is N(x, 1); `rows` seeds the simulations.

    As an upload of them would be read, without the time to look for anything odd.
    """
    rng = stream(rows, "posteriors test", n)
    x = 2 * rng.standard_normal((n, D))
    theta = x + rng.standard_normal((n, D))
    z = stream(seed, "posteriors test draws", n).standard_normal((n, k, D))
    q = x[:, None] + shift + width * z
    return TableUpload(
        PosteriorTable(theta, x, q), ("θ₁", "θ₂"), keys.digest(theta=theta, x=x, q=q)
    )


def compared(*uploads, reference=0, methods=None):
    records = []
    methods = (SBC(),) if methods is None else methods
    for upload in uploads:
        got = [
            run_method(upload, method, 0, network=lambda: pytest.fail("none is read"))
            for method in methods
        ]
        records.append(got)
    results = []
    for upload in uploads:
        results.append(comparison.row_scores(upload.data))
    return comparison.measures(uploads, records, results, reference), results


def test_one_table_given_twice_is_said_to_be_one():
    first, other = table(0), table(1)
    assert comparison.same_text([first, other], ["a", "b"]) is None
    told = comparison.same_text([first, other, first], ["a", "b", "a (2)"])
    assert told == "a and a (2) hold the same draws: they are one table, given more than once."


def test_crps_of_a_normal_is_its_closed_form():
    """Gneiting, Raftery (2007), equation 21."""
    upload = table(0, n=400, k=2000)
    crps = comparison.row_scores(upload.data).crps
    scale = upload.data.theta.std(0)
    z = upload.data.theta - upload.data.x
    exact = (z * (2 * norm.cdf(z) - 1) + 2 * norm.pdf(z) - 1 / np.sqrt(np.pi)) / scale
    np.testing.assert_allclose(crps, exact, atol=0.05)


def test_energy_score_of_one_parameter_is_the_crps_in_the_mean():
    rng = np.random.default_rng(0)
    draws = PosteriorTable(rng.standard_normal((3000, 1)), np.zeros((3000, 1)),
                  rng.standard_normal((3000, 8, 1)))  # fmt: skip
    energy, crps = comparison.row_scores(draws)
    assert abs(energy.mean() - crps.mean()) < 0.01


def test_scores_are_unbiased_at_any_number_of_draws():
    few = comparison.row_scores(table(1, n=4000, k=2).data)
    many = comparison.row_scores(table(2, n=4000, k=64).data)
    for a, b in zip(few, many, strict=True):
        off = a - b
        error = off.std(0) / np.sqrt(len(off))
        assert (np.abs(off.mean(0)) < 4 * error).all()


def test_the_order_of_draws_does_not_change_what_is_nearest():
    upload = table(1, k=100)
    q = upload.data.q
    ordered = np.take_along_axis(q, q[..., :1].argsort(axis=1), axis=1)
    log_w = np.zeros(q.shape[:2])
    for weights in (None, log_w):
        one, other = (
            comparison.row_scores(PosteriorTable(upload.data.theta, upload.data.x, draws), weights)
            for draws in (q, ordered)
        )
        np.testing.assert_allclose(one.crps, other.crps)
        off = one.energy - other.energy
        assert abs(off.mean()) < 4 * off.std() / np.sqrt(N) < 0.02


def test_warnings_are_said_once_with_the_tables_that_have_them():
    first, other = replace(table(0), warnings=("A.", "B.")), replace(table(1), warnings=("B.",))
    assert comparison.warnings([first, other], ["a", "b"]) == ("a: A.", "B.")


def test_chunks_do_not_change_scores(monkeypatch):
    draws = table(0).data
    whole = comparison.row_scores(draws)
    monkeypatch.setattr(proper_scores, "NUMBERS_AT_ONCE", 100)
    for a, b in zip(whole, comparison.row_scores(draws), strict=True):
        np.testing.assert_allclose(a, b)


def test_one_draw_has_no_spread():
    with pytest.raises(ValueError, match="at least two draws"):
        comparison.row_scores(table(0, k=1).data)


def test_the_better_posterior_is_closer():
    result, _ = compared(table(0, shift=0.8), table(1))
    assert all(m.closer(1) is True for m in result)
    assert all(m.closer(0) is None for m in result)
    sentence = comparison.describe(result, ["A", "B"])[0]
    assert sentence.startswith("B is nearer than A: ")
    result, _ = compared(table(0, shift=0.8), table(1), reference=1)
    assert all(m.closer(0) is False for m in result)
    assert "A is farther than B" in comparison.describe(result, ["A", "B"], 1)[0]


@pytest.mark.slow
def test_two_right_posteriors_are_told_apart_in_at_most_a_twentieth():
    trials = 150
    values = np.zeros((trials, 2), bool)
    for trial in range(trials):
        a = table(2 * trial, rows=trial, n=150, k=10)
        b = table(2 * trial + 1, rows=trial, n=150, k=10)
        result, _ = compared(a, b)
        values[trial] = [m.closer(1) is not None for m in result]
    # Differences of two suprema near 0 are not normal, and less spread than their bootstrap.
    assert (values.sum(0) <= statistics.binomial_bounds(trials, 0.05, 0.999)[1]).all()


def test_intervals_of_a_difference_hold_it():
    """The energy score's difference of a shifted q, against a long run."""
    truth = compared(table(0, n=40_000, k=10), table(1, n=40_000, k=10, shift=0.5), methods=())
    exact = truth[0][0].differences[1].estimate
    held_out = 0
    for trial in range(200):
        a = table(2 * trial, rows=trial, n=200, k=10)
        b = table(2 * trial + 1, rows=trial, n=200, k=10, shift=0.5)
        low, high = compared(a, b, methods=())[0][0].differences[1][1:]
        held_out += low <= exact <= high
    low, high = statistics.binomial_bounds(200, 0.95, 0.999)
    assert low <= held_out <= high


def test_pairing_makes_intervals_narrower():
    a, b = table(0), table(1, shift=0.1)
    result, _ = compared(a, b, methods=())
    value, difference = result[0].values[1], result[0].differences[1]
    assert difference.high - difference.low < 0.6 * (value.high - value.low)


def test_every_parameter_has_its_difference():
    shifted = table(1)
    q = shifted.data.q.copy()
    q[..., 1] += 1.0
    _, result = compared(table(0), Upload.of({**shifted.arrays(), "theta_q": q}, order="NKD"))
    low = comparison.parameters(result)[1, :, 1]
    assert low[0] < 0 < low[1]
    assert comparison.parameters([None, result[0]]).shape == (2, 0, 3)


def test_the_log_score_counts_upwards():
    base = table(0)
    z = np.asarray(base.data.theta - base.data.x)
    right, wrong = norm.logpdf(z).sum(1), norm.logpdf(z, 0.5).sum(1)
    two = [Upload.of({**base.arrays(), "log_q": a, "log_q_draws": np.zeros((N, K))}, order="NKD")
           for a in (wrong, right)]  # fmt: skip
    result, _ = compared(*two, methods=())
    (measure,) = [m for m in result if m.name == "log_q"]
    assert measure.closer(1) is True
    assert measure.differences[1].estimate > 0


def test_a_q_without_mass_at_the_truth_is_not_said_to_score_higher():
    """Its log score is minus infinity; without those rows it would pass for the better one."""
    base = table(0)
    z = np.asarray(base.data.theta - base.data.x)
    exact = norm.logpdf(z).sum(1)
    some = np.where(np.arange(N) < 9, -np.inf, exact + 0.05)
    two = [Upload.of({**base.arrays(), "log_q": a, "log_q_draws": np.zeros((N, K))}, order="NKD")
           for a in (some, exact)]  # fmt: skip
    result, _ = compared(*two, methods=())
    assert [one.name for one in result] == ["energy"]
    (told,) = comparison.left_out(two, ["A", "B"])
    assert f"log q of A is infinite at 9 of {N} true values" in told
    assert comparison.left_out(two[1:] * 2, ["B", "B"]) == ()


def test_unlike_simulations_are_not_compared():
    assert comparison.unlike(table(0), table(1)) is None
    assert "other values" in comparison.unlike(table(0), table(0, rows=1))
    assert "300 rows" in comparison.unlike(table(0), table(0, n=200))
    pair = Upload.of({"p": np.zeros((9, 2)), "q": np.ones((9, 2))})
    assert "no x" in comparison.unlike(table(0), pair)


def test_the_task_keeps_every_row(tmp_path):
    store, upload = Store(tmp_path), table(0)
    tasks.register_upload(upload)
    (task,) = comparison.studies(upload)
    task.run(store, lambda fraction, live: None)
    stored = task.load(store)
    energy = comparison.row_scores(upload.data).energy
    np.testing.assert_array_equal(stored.energy, energy)
    assert comparison.studies(table(0, k=1)) == ()


def test_a_table_of_single_draws_is_named_where_nothing_is_ranked():
    uploads = [table(0, k=12), table(1, k=1), table(2, k=12)]
    (said,) = comparison.left_out(uploads, ["a", "one", "c"])
    assert said.startswith("Tables are not ranked: ")
    assert "one has one" in said
    assert comparison.left_out(uploads[::2], ["a", "c"]) == ()


def test_a_tie_is_said():
    result, _ = compared(table(0), table(1), methods=(SBC(),))
    assert "cannot be told apart" in comparison.describe(result, ["A", "B"])[0]
    assert TARP().name in comparison.RANKED


def test_figures_say_what_they_show():
    result, scores = compared(table(0, shift=0.8), table(1), table(2))
    labels = ["first <b>", "second", "a name that is far too long for an axis"]
    visible = [
        *posteriors.history(result, labels), *posteriors.differences(result, labels, 0),
        *posteriors.parameter_differences(
            comparison.parameters(scores)[1], ["a", "b"], labels[1], labels[0]),
    ]  # fmt: skip
    assert len(visible) == len(result) + 3
    for item in visible:
        go.Figure(item.figure.to_dict())
        assert "<b>" not in item.figure.to_json()
        assert item.caption.endswith(".")
    assert posteriors.differences([], labels, 0) == ()
    assert posteriors.parameter_differences(np.zeros((0, 3)), [], "a", "b") == ()


def test_left_of_zero_is_nearer_the_truth():
    """Whichever way the measure itself points."""
    base = table(0)
    z = np.asarray(base.data.theta - base.data.x)
    none = {"log_q_draws": np.zeros((N, K))}
    two = [
        Upload.of({**base.arrays(), "log_q": norm.logpdf(z, m).sum(1), **none}, order="NKD")
        for m in (0.5, 0)
    ]
    result, _ = compared(*two, methods=())
    (first,) = posteriors.differences([m for m in result if m.name == "log_q"], ["a", "b"], 0)
    assert first.figure.data[0].x[0] < 0


def ranked(*uploads):
    return comparison.ranking([comparison.row_scores(upload.data) for upload in uploads])


def test_the_nearest_is_said_with_its_lead():
    ranking = ranked(table(0, shift=0.8), table(1), table(2, shift=0.4))
    assert ranking.order == (1, 2, 0)
    assert ranking.behind[1] == (0, 0, 0)
    assert ranking.tied == ()
    assert ranking.farther == (2, 0)
    first, by = comparison.headline(ranking, ["A", "B", "C"])
    assert first == "Nearest to the true posterior: B."
    quoted = comparison.number(ranking.behind[2])
    assert by.startswith(f"Its energy score is {quoted} lower than that of C and ")
    assert "lower than that of A" in by


def test_what_cannot_be_told_apart_is_said():
    labels = ["A", "B", "C"]
    ranking = ranked(table(0, shift=0.8), table(1), table(2))
    assert set(ranking.tied) | {ranking.order[0]} == {1, 2}
    first, by = comparison.headline(ranking, labels)
    best, other = (labels[i] for i in ranking.order[:2])
    assert first == (
        f"The data cannot tell which is nearest to the true posterior: {best} or {other}."
    )
    assert f"; that of {best} is " in by
    assert "lower than that of A" in by
    same = table(0)
    first, by = comparison.headline(ranked(same, same), labels)
    assert "A or B" in first
    assert by == (
        "The energy scores of A and B are 0.000 [0.000, 0.000] apart (95% intervals, for all "
        "pairs together)."
    )


def test_of_many_tables_the_nearest_three_are_quoted():
    uploads = [table(i, shift=0.4 * i) for i in range(6)]
    _, by = comparison.headline(ranked(*uploads), [f"T{i}" for i in range(6)])
    assert [f"that of T{i}" in by for i in range(1, 6)] == [True, True, True, False, False]
    assert "and lower than those of 2 more" in by


def test_nothing_is_ranked_without_two_draws():
    score = comparison.row_scores(table(0).data)
    assert comparison.ranking([score, None]) is None
    assert comparison.ranking([score]) is None


def test_a_nearest_among_equals_is_claimed_in_at_most_a_twentieth():
    """Four correct posteriors: the best of them by luck is one that the data picked."""
    trials, claims = 200, 0
    for trial in range(trials):
        uploads = [table(4 * trial + i, rows=trial, n=150, k=10) for i in range(4)]
        claims += bool(ranked(*uploads).farther)
    assert claims <= statistics.binomial_bounds(trials, 0.05, 0.999)[1]


@pytest.mark.parametrize(("tables", "n"), [(2, 2), (2, 4), (6, 5), (12, 10)])
def test_of_few_rows_neither_a_nearest_nor_a_parameter_is_claimed_too_often(tables, n):
    """Normal quantiles would claim a nearest in a fifth to a third of these."""
    trials, nearest, parameters, measures = 400, 0, 0, 0
    for trial in range(trials):
        rng = np.random.default_rng([trial, n])
        theta = rng.standard_normal((n, 1))
        scores = [
            comparison.row_scores(PosteriorTable(theta, theta, rng.standard_normal((n, 10, 1))))
            for _ in range(tables)
        ]
        ranking = comparison.ranking(scores)
        nearest += bool(ranking.farther)
        off = comparison.parameters(scores, 0)[1:]
        parameters += bool(((off[..., 1] > 0) | (off[..., 2] < 0)).any())
        (energy,) = comparison.measures([table(0)] * tables, [()] * tables, scores)
        measures += any(energy.closer(i) is not None for i in range(1, tables))
    most = statistics.binomial_bounds(trials, 0.05, 0.999)[1]
    assert max(nearest, parameters, measures) <= most


def test_one_row_is_no_comparison():
    one, other = (
        Upload.of({"theta": np.zeros((1, 1)), "x": np.zeros((1, 1)), "theta_q": q}, order="NKD")
        for q in np.random.default_rng(0).standard_normal((2, 1, 9, 1))
    )
    assert comparison.unlike(one, other).startswith("Paired differences need at least 2 rows")
    assert comparison.ranking([comparison.row_scores(each.data) for each in (one, other)]) is None


@pytest.mark.parametrize("dim", [3, 20])
def test_tables_in_another_order_are_refused_with_what_sorts_them(dim):
    rng = stream(0, "posteriors test", "order")
    theta, x = rng.standard_normal((60, dim)), rng.standard_normal((60, 2))
    q = rng.standard_normal((60, 9, dim))

    def upload(theta, x, q):
        return Upload.of({"theta": theta, "x": x, "theta_q": q})

    one, mixed, rows = upload(theta, x, q), rng.permutation(dim), rng.permutation(60)
    columns = upload(theta[:, mixed], x, q[..., mixed])
    assert comparison.unlike(one, one) is None
    told = comparison.unlike(one, columns)
    assert "got parameters in another order" in told
    if dim == 3:  # as advised
        places = ast.literal_eval(told.partition("theta[:, ")[2].partition("]")[0] + "]")
        sorted_ = upload(theta[:, mixed][:, places], x, q[..., mixed][..., places])
        assert comparison.unlike(one, sorted_) is None
    else:
        both = [
            upload(t[:, t[0].argsort()], x, d[..., t[0].argsort()])
            for t, d in ((theta, q), (theta[:, mixed], q[..., mixed]))
        ]
        assert "numpy.argsort(theta[0])" in told
        assert comparison.unlike(*both) is None
    told = comparison.unlike(one, upload(theta[rows], x[rows], q[rows]))
    assert "got rows in another order" in told
    both = [
        upload(t[np.lexsort(t.T)], y[np.lexsort(t.T)], d[np.lexsort(t.T)])
        for t, y, d in ((theta, x, q), (theta[rows], x[rows], q[rows]))
    ]
    assert comparison.unlike(*both) is None
    assert "got other values" in comparison.unlike(one, upload(theta[rows], x, q))


def test_the_same_values_under_exchanged_names_are_warned_of():
    one, other = table(0), replace(table(1), names=("θ₂", "θ₁"))
    (told,) = comparison.warnings([one, other, table(2)], ["a", "b", "c"])
    assert told.startswith("b names the same values θ₂, θ₁, which a names θ₁, θ₂")
    assert comparison.warnings([one, replace(other, names=("m", "s"))], ["a", "b"]) == ()


def test_the_figure_has_a_row_for_each_the_nearest_first():
    ranking = ranked(table(0, shift=0.8), table(1), table(2))
    drawing = posteriors.energy_score_gaps(ranking, ["<i>far", "near", "same"])
    (points,) = [mark for mark in drawing.picture.marks if hasattr(mark, "right")]
    np.testing.assert_allclose(points.x, [ranking.behind[i].estimate for i in ranking.order])
    low, high = drawing.picture.x.limits
    assert low < min(points.left)
    assert high > max(points.right)
    assert low > -high, "nothing lies left of 0 but the ends of intervals"
    assert drawing.picture.y.names[-1] == "&lt;i&gt;far"
