"""What the numbers of a table say about how it was made: each finding, and silence where there is
nothing to find."""

import math
import tracemalloc

import numpy as np
import pytest

from validation_core import statistics, tables
from validation_core.diagnosis.questions.calibration.parameters import marginal_errors
from validation_core.rng import stream
from validation_core.tables import TableUpload, Upload, checks, repeats, samples
from validation_core.tables.draw_order import some_draws
from validation_core.types import PosteriorTable

N, K = 300, 40


def exact(n=N, k=K, d=2, seed=0):
    """x = theta + noise with a normal prior: q is the posterior N(x / 2, I / 2)."""
    rng = np.random.default_rng(seed)
    theta = rng.standard_normal((n, d))
    x = theta + rng.standard_normal((n, d))
    q = x[:, None] / 2 + math.sqrt(0.5) * rng.standard_normal((n, k, d))
    return {"theta": theta, "x": x, "theta_q": q}


def warnings_of(arrays, **changed):
    return Upload.of({**arrays, **changed}).warnings


def only(arrays, words, **changed):
    """The one sentence that is said."""
    messages = warnings_of(arrays, **changed)
    assert len(messages) == 1, messages
    assert words in messages[0]
    assert messages[0].endswith((".", "?"))
    return messages[0]


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize(("n", "k", "d"), [(60, 12, 2), (1000, 50, 1), (400, 20, 5)])
def test_an_exact_table_has_no_warning(n, k, d, seed):
    assert warnings_of(exact(n, k, d, seed)) == ()


@pytest.mark.parametrize("name", samples.SAMPLES)
def test_the_shipped_samples_have_no_warning(name):
    assert tables.read(samples.sample_path(name)).warnings == ()


@pytest.mark.parametrize("quality", ["well_trained", "undertrained"])
@pytest.mark.parametrize("task", ["two_moons", "sir"])
def test_tables_of_real_posteriors_have_no_warning(shared, task, quality):
    assert tables.read(shared / "data" / f"{task}_{quality}.npz").warnings == ()


def test_rows_that_repeat_a_simulation_are_warned_of():
    arrays = exact()
    twice = {name: np.concatenate([a, a[:30]]) for name, a in arrays.items()}
    assert "30 of 330 rows repeat the theta and x" in only(twice, "Save each once")
    # Other draws at the same simulation are the same simulation still.
    twice["theta_q"] = np.concatenate([arrays["theta_q"], exact(seed=1)["theta_q"][:30]])
    assert any("30 of 330 rows" in text for text in warnings_of(twice))


def several_noises(seed, count=50, noises=8, k=60):
    """Exact q, several x simulated from each theta."""
    rng = np.random.default_rng(seed)
    theta = np.repeat(rng.standard_normal((count, 2)), noises, axis=0)
    x = theta + rng.standard_normal(theta.shape)
    q = x[:, None] / 2 + math.sqrt(0.5) * rng.standard_normal((len(x), k, 2))
    return {"theta": theta, "x": x, "theta_q": q}


def test_of_several_simulations_of_one_theta_one_is_used_and_it_is_said():
    arrays = several_noises(0, 30, 10, K)
    densities = {"log_q": np.arange(300.0), "log_q_draws": np.zeros((300, K))}
    upload = Upload.of({**arrays, **densities})
    assert upload.n == len(np.unique(upload.data.theta, axis=0)) == 30
    assert upload.dropped == {"another row has the same theta": 270}
    assert "30 distinct true values with 10 simulations each" in upload.notes[0]
    rows = upload.densities["log_q"].astype(int)  # which of them are left
    assert len(set(rows % 10)) > 5  # not always the first
    np.testing.assert_array_equal(arrays["x"][rows], upload.data.x)
    np.testing.assert_array_equal(arrays["theta_q"][rows], upload.data.q)


def test_an_exact_q_beside_several_simulations_of_each_theta_keeps_the_level():
    trials = 200
    off = sum(
        marginal_errors(Upload.of(several_noises(seed)).data, seed)[0].pvalue_adjusted <= 0.05
        for seed in range(trials)
    )
    assert off <= statistics.binomial_bounds(trials, 0.05, 0.999)[1]


def test_the_case_of_eight_noises_is_read_as_fifty_rows(shared):
    upload = tables.read(shared / "cases" / "same_theta_8_noises.npz")
    assert upload.n == 50
    assert "50 distinct true values with 8 simulations each" in upload.notes[-1]


def test_a_few_theta_that_are_simulated_twice_are_warned_of():
    arrays = exact()
    arrays["theta"][:20] = arrays["theta"][20:40]
    only(arrays, "40 of 300 rows hold only 20 different theta")


def _rounded(values, digits):
    return np.vectorize(lambda value: float(f"{value:.{digits}g}"))(values)


BY_RIGHT = {
    "counts": lambda rng: rng.poisson(3, (N, 2)),
    "a bound": lambda rng: np.maximum(rng.standard_normal((N, 1)), 0),
    "two bounds": lambda rng: np.clip(rng.standard_normal((N, 2)), -0.1, 0.1),
    "mass at a number": lambda rng: np.where(
        rng.random((N, 2)) < 0.8, 0.37, rng.standard_normal((N, 2))
    ),
    "a label and a bound": lambda rng: np.column_stack(
        [rng.integers(0, 10, N), np.maximum(rng.standard_normal(N), 0)]
    ),
    "half precision": lambda rng: rng.standard_normal((5000, 1)).astype(np.float16),
    "three digits": lambda rng: _rounded(rng.standard_normal((5000, 1)), 3),
}


@pytest.mark.parametrize("make", BY_RIGHT.values(), ids=BY_RIGHT)
def test_theta_that_repeats_by_right_keeps_all_rows(make):
    rng = np.random.default_rng(0)
    theta = np.asarray(make(rng), dtype=np.float64)
    q = np.stack([theta[rng.permutation(len(theta))] for _ in range(9)], axis=1)
    upload = Upload.of({"theta": theta, "x": rng.standard_normal((len(theta), 1)), "theta_q": q})
    assert upload.n == len(theta)
    assert not any("different theta" in text for text in upload.warnings)


def labels(share, seed=0, n=400, k=50):
    """A label that x gives away in half of the rows; there q says it, or another in a share."""
    rng = np.random.default_rng(seed)
    label = rng.integers(0, 2, n)
    sure = rng.random(n) < 0.5
    x = np.where(sure, 2 * label - 1, 0) + 0.01 * rng.standard_normal(n)
    said = np.where(rng.random(n) < share, 1 - label, label)
    q = np.where(sure[:, None], said[:, None], rng.integers(0, 2, (n, k)))
    return {"theta": label[:, None], "x": x[:, None], "theta_q": q[..., None]}


def test_a_q_that_is_rightly_certain_of_a_label_is_not_called_stuck():
    assert not any("stuck" in text for text in warnings_of(labels(0.0)))


def test_a_q_that_is_certain_of_wrong_labels_is_warned_of():
    assert any("stuck" in text for text in warnings_of(labels(0.5)))


def test_one_simulation_alone_is_refused():
    arrays = {name: np.repeat(a[:1], N, axis=0) for name, a in exact().items()}
    with pytest.raises(ValueError, match="got the same theta and x in all 300 rows"):
        Upload.of(arrays)


@pytest.mark.parametrize("k", [1, K])
def test_draws_that_are_the_truth_are_refused(k):
    arrays = exact()
    copies = np.repeat(arrays["theta"][:, None], k, axis=1)
    with pytest.raises(ValueError, match="the true value itself as every draw in 300 of 300 rows"):
        Upload.of({**arrays, "theta_q": copies})


def test_truths_among_their_draws_are_warned_of():
    arrays = exact()
    arrays["theta_q"][:, 0] = arrays["theta"]
    assert "at 300 of 300 rows" in only(arrays, "The draws contain the true value")
    assert "(draw 1)" in warnings_of(arrays)[0]
    rng = np.random.default_rng(1)
    arrays = exact()
    arrays["theta_q"][np.arange(150), rng.integers(K, size=150)] = arrays["theta"][:150]
    assert "at 150 of 300 rows" in only(arrays, "The draws contain the true value")
    assert "(draw" not in warnings_of(arrays)[0]


@pytest.mark.parametrize("d", [1, 2])
def test_ties_of_rounded_numbers_are_no_leak(d):
    arrays = {name: np.round(2 * a) / 2 for name, a in exact(d=d).items()}
    tied = (arrays["theta_q"] == arrays["theta"][:, None]).all(axis=2).any(axis=1).mean()
    assert tied > 0.1
    assert warnings_of(arrays) == ()


def test_the_same_draws_at_every_x_are_warned_of():
    arrays = exact()
    same = np.broadcast_to(arrays["theta_q"][:1], arrays["theta_q"].shape)
    only(arrays, "ignores x by construction", theta_q=same)


def test_draws_that_were_given_to_several_x_are_warned_of():
    arrays = exact()
    assert any(
        "begin with only 30 different draws" in text
        for text in warnings_of(arrays, theta_q=np.repeat(arrays["theta_q"][:30], 10, axis=0))
    )


def test_the_prior_as_q_is_not_called_shuffled():
    prior = np.random.default_rng(3).standard_normal((N, K, 2))
    assert warnings_of(exact(), theta_q=prior) == ()


def test_draws_without_spread_are_warned_of():
    arrays = exact()
    arrays["theta_q"][:90, :, 1] = arrays["theta_q"][:90, :1, 1]
    text = only(arrays, "All 40 draws are the same number at 30% of the x in theta_2")
    assert "theta_1" not in text


def test_constant_draws_are_said_once():
    arrays = exact()
    arrays["theta_q"][:, :, 1] = 0.25
    only(arrays, "theta_q is constant in theta_2")


def test_a_constant_column_of_x_is_said_to_tell_nothing():
    arrays = exact()
    x = np.column_stack([arrays["x"], np.ones(N)])
    assert "column 3: kept, but a value that" in only(arrays, "x is constant", x=x)


def test_infinite_values_of_x_are_not_told_as_nan():
    arrays = exact()
    arrays["x"][3, 0] = np.inf
    for missing in (None, "mask"):
        (note,) = Upload.of(arrays, missing=missing).notes
        assert note.startswith("Rows with infinite values in x were left out")
        assert "save it as NaN" in note


def test_one_x_with_other_draws_in_each_row_is_asked_about():
    arrays = exact()
    one = np.repeat(arrays["x"][:1], N, axis=0)
    said = " ".join(warnings_of(arrays, x=one))
    assert f"All {N} rows share one x, but q's draws differ from row to row" in said
    for seed in range(20):
        there = np.random.default_rng(seed).standard_normal((2, N, K, 2))[0]
        assert "share one x" not in " ".join(warnings_of(arrays, x=one, theta_q=there))


def test_whole_numbers_are_warned_of():
    arrays = exact()
    discrete = {"theta": np.rint(4 * arrays["theta"]), "theta_q": np.rint(4 * arrays["theta_q"])}
    only({**arrays, **discrete}, "theta_1, theta_2: whole numbers in theta and in q's draws")
    only(
        {**arrays, **discrete}, "whole numbers in theta but not in q's draws",
        theta_q=4 * arrays["theta_q"],
    )  # fmt: skip


def test_discrete_simulations_may_repeat():
    rng = np.random.default_rng(0)
    theta = rng.integers(0, 3, size=(N, 1))
    x = theta + rng.integers(0, 2, size=(N, 1))
    q = rng.integers(0, 3, size=(N, K, 1))
    only({"theta": theta, "x": x, "theta_q": q}, "whole numbers in theta and in q's draws")


@pytest.mark.parametrize("seed", range(10))
def test_rows_of_theta_in_another_order_are_warned_of(seed):
    arrays = exact(seed=seed)
    shuffled = np.random.default_rng(seed).permutation(arrays["theta"])
    messages = warnings_of(arrays, theta=shuffled)
    assert len(messages) == 1
    assert "same order?" in messages[0]


def test_a_q_of_little_information_is_not_called_shuffled():
    """A posterior near the prior follows the truth hardly, however well its mean is known."""
    rng = np.random.default_rng(0)
    theta = rng.standard_normal((N, 1))
    x = theta + 30 * rng.standard_normal((N, 1))
    q = x[:, None] / 901 + math.sqrt(900 / 901) * rng.standard_normal((N, 1000, 1))
    assert warnings_of({"theta": theta, "x": x, "theta_q": q}) == ()


def test_draws_far_from_the_truths_are_warned_of():
    arrays = exact()
    far = np.random.default_rng(0).random((N, K)) < 0.1
    arrays["theta_q"][far, 0] += 40
    assert "10% of q's draws" in only(arrays, "lie far outside of the true values' range")
    arrays = exact()
    only(arrays, "Not one draw of q lies within the range", theta_q=np.exp(arrays["theta_q"]) + 40)


def test_draws_moved_to_the_ends_of_a_range_are_warned_of():
    arrays = exact()
    clipped = np.clip(arrays["theta_q"], [-1.5, -9], [1.5, 9])
    said = only(arrays, "draws of theta_1 are exactly -1.5 or 1.5", theta_q=clipped)
    assert f"{(abs(clipped[..., 0]) == 1.5).mean():.1%} of" in said
    both = arrays | {"theta": np.clip(arrays["theta"], -1.5, 1.5)}
    both = warnings_of(both, theta_q=np.clip(both["theta_q"], -1.5, 1.5))
    assert not any("moved to its ends" in one for one in both)
    one = exact(d=1)
    only(one, "exactly -1.5 or 1.5", theta_q=np.clip(one["theta_q"], -1.5, 1.5))
    for seed in range(10):
        rounded = np.round(2 * exact(seed=seed)["theta_q"]) / 2
        assert not any("moved to its ends" in one for one in warnings_of(arrays, theta_q=rounded))


def test_heavy_tails_are_not_called_far():
    rng = np.random.default_rng(0)
    theta, q = rng.standard_cauchy((N, 1)), rng.standard_cauchy((N, K, 1))
    assert (
        warnings_of({"theta": theta, "x": theta + rng.standard_normal((N, 1)), "theta_q": q}) == ()
    )


@pytest.mark.parametrize("by", ["a parameter", "distance"])
def test_draws_in_an_order_are_shuffled_each_as_a_whole_for_what_reads_some(by):
    rng, (n, k) = np.random.default_rng(0), (100, 40)
    q = 1e200 * rng.standard_normal((n, k, 2))
    key = q[..., 1] if by == "a parameter" else np.abs(q / 1e200).sum(-1)
    q = np.take_along_axis(q, key.argsort(axis=1)[..., None], axis=1)
    upload = TableUpload(
        PosteriorTable(q[:, 0], np.zeros((n, 1)), q), ("a", "b"), "", densities={"log": q[..., 0]}
    )
    told = upload.in_no_order
    assert not repeats.are_in_order(told.data.q)
    np.testing.assert_array_equal(told.densities["log"], told.data.q[..., 0])
    np.testing.assert_array_equal(np.sort(told.data.q, axis=1), np.sort(q, axis=1))
    assert told.in_no_order is told


def test_some_draws_are_those_of_a_row_whatever_rows_come_with_it():
    q = np.random.default_rng(0).standard_normal((30, 12, 2))
    assert some_draws(q, 12, stream(0, "some")) is q
    rng = stream(0, "some")
    apart = [some_draws(part, 5, rng) for part in (q[:1], q[1:9], q[9:])]
    np.testing.assert_array_equal(np.concatenate(apart), some_draws(q, 5, stream(0, "some")))
    assert all(len(np.unique(row, axis=0)) == 5 for row in apart[1])


def test_sorted_draws_are_warned_of():
    arrays = exact(d=1)
    only(arrays, "they are sorted", theta_q=np.sort(arrays["theta_q"], axis=1))


def test_draws_of_a_chain_are_warned_of():
    arrays = exact()
    off = arrays["theta_q"] - arrays["x"][:, None] / 2
    for i in range(1, K):
        off[:, i] = 0.8 * off[:, i - 1] + 0.6 * off[:, i]
    assert "thinned" in only(arrays, "correlated (0.7", theta_q=arrays["x"][:, None] / 2 + off)


def test_draws_that_repeat_are_warned_of():
    arrays = exact()
    again = np.random.default_rng(0).integers(K, size=(N, K))
    resampled = np.take_along_axis(arrays["theta_q"], again[:, :, None], axis=1)
    assert "(about 6" in only(arrays, "Draws of q repeat", theta_q=resampled)


def test_many_parameters_and_columns_of_x_are_warned_of():
    rng = np.random.default_rng(0)
    theta, q = rng.standard_normal((20, 10_000)), rng.standard_normal((20, 2, 10_000))
    messages = warnings_of({"theta": theta, "x": rng.standard_normal((20, 100_000)), "theta_q": q})
    assert any(text.startswith("10,000 parameters are many") for text in messages)
    assert any(text.startswith("x has 100,000 columns") for text in messages)


def test_single_draws_and_single_rows_are_read():
    assert all("K = 1 draw" in text for text in warnings_of(exact(k=1)))
    assert Upload.of({name: a[:1] for name, a in exact().items()}).n == 1


@pytest.mark.parametrize(
    ("values", "grid"),
    [
        (np.arange(50.0), True),
        (np.round(np.random.default_rng(0).standard_normal(500), 2), True),
        (np.float32(np.round(np.random.default_rng(0).standard_normal(500), 2)), True),
        (np.array([0.1, 0.7]), True),
        (np.random.default_rng(0).standard_normal(5), False),
        (np.random.default_rng(0).standard_normal(5000).astype(np.float32), False),
        (1e6 + np.random.default_rng(0).random(5000).astype(np.float32), False),
    ],
)
def test_numbers_on_a_grid_are_recognised(values, grid):
    assert repeats.is_on_grid(values) == grid


def test_no_second_copy_is_made():
    rng = np.random.default_rng(0)
    theta = rng.standard_normal((1000, 10), dtype=np.float32)
    q = theta[:, None] + rng.standard_normal((1000, 500, 10), dtype=np.float32)
    data = PosteriorTable(theta, theta + 1, q)
    tracemalloc.start()
    checks.data_warnings(data, [f"theta_{i}" for i in range(10)])
    checks.find_finite_rows({"theta_q": q})
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 0.7 * q.nbytes


@pytest.mark.parametrize("seed", range(200))
def test_odd_numbers_are_a_table_or_a_refusal(seed):
    """Every kind of column beside every other, in small tables."""
    rng = np.random.default_rng(seed)

    def odd(shape):
        kinds = (
            rng.standard_normal(shape), rng.integers(0, 3, shape).astype(float),
            np.full(shape, rng.standard_normal()), np.zeros(shape),
            rng.choice([1e308, -1e308, 5e-324], shape), rng.standard_cauchy(shape) ** 9,
            1e15 + rng.standard_normal(shape), np.round(rng.standard_normal(shape), 2),
            np.sort(rng.standard_normal(shape), axis=-1),
        )  # fmt: skip
        return kinds[rng.integers(len(kinds))]

    n, k, d, m = rng.integers([1, 1, 1, 1], [30, 9, 4, 4])
    theta = np.stack([odd(n) for _ in range(d)], axis=-1)
    q = np.stack([odd((n, k)) for _ in range(d)], axis=-1)
    names = [f"theta_{j + 1}" for j in range(d)]
    try:
        messages = checks.data_warnings(PosteriorTable(theta, odd((n, m)), q), names)
    except ValueError as refusal:
        messages = (str(refusal),)
    assert all(text.endswith((".", "?")) and "nan" not in text for text in messages)


@pytest.mark.parametrize("columns", [2, 60])
def test_rows_of_x_in_another_order_are_warned_of(columns):
    """Truth and draws still belong together: no test of ranks could see it."""
    arrays = exact()
    rng = np.random.default_rng(5)
    noise = rng.standard_normal((N, columns - 2))
    mixed = np.concatenate([arrays["x"][rng.permutation(N)], noise], axis=1)
    assert "nothing ties them to x" in only(arrays, "Are the rows of x in the order", x=mixed)
    assert warnings_of(arrays, x=np.concatenate([arrays["x"], noise], axis=1)) == ()


def test_x_that_tells_of_theta_without_a_correlation_is_in_order():
    """q's means go with the square of x: only neighbours show it."""
    rng = np.random.default_rng(6)
    z = rng.standard_normal((N, 1))
    theta = np.square(z) + 0.1 * rng.standard_normal((N, 1))
    q = np.square(z)[:, None] + 0.1 * rng.standard_normal((N, K, 1))
    assert warnings_of({"theta": theta, "x": z, "theta_q": q}) == ()


def test_a_prior_as_q_and_a_single_x_are_not_called_shuffled():
    rng = np.random.default_rng(7)
    prior = {"theta": rng.standard_normal((N, 2)), "x": rng.standard_normal((N, 2)),
             "theta_q": rng.standard_normal((N, K, 2))}  # fmt: skip
    assert not any("nothing ties" in one for one in warnings_of(prior))
    assert not any("nothing ties" in one for one in warnings_of(exact(), x=np.zeros((N, 2))))


def test_the_same_simulation_is_counted_once():
    """A copy in the half that is tested of a row in the half that is learnt from is no test."""
    arrays = exact()
    log_q = np.arange(N, dtype=float)
    twice = {name: np.concatenate([a, a[:30]]) for name, a in arrays.items()}
    upload = Upload.of({**twice, "log_q": np.concatenate([log_q, log_q[:30]])})
    assert upload.n == N
    assert upload.dropped == {"another row has the same theta and x": 30}
    assert np.array_equal(upload.data.theta, arrays["theta"])
    assert np.array_equal(upload.densities["log_q"], log_q)
    assert upload.digest == Upload.of({**arrays, "log_q": log_q}).digest


def test_simulations_on_a_grid_may_repeat():
    rng = np.random.default_rng(0)
    theta = rng.integers(1, 6, (N, 1)).astype(float)
    x = rng.poisson(theta).astype(float)
    q = rng.integers(1, 6, (N, K, 1)).astype(float)
    assert Upload.of({"theta": theta, "x": x, "theta_q": q}).n == N


def test_exchanged_x_and_draws_are_told():
    """Told where the two can be read, refused where they cannot."""
    right = exact(n=60, d=3)
    turned = {**right, "x": right["theta_q"], "theta_q": right["x"]}
    assert any("the order is theta, x, theta_q" in text for text in warnings_of(turned))
    with pytest.raises(ValueError, match=r"exchanged: the order is theta, x, theta_q"):
        Upload.of({**turned, "theta_q": right["x"][:, :2]})
    for x in (right["x"], right["theta_q"]):  # an image of any shape beside many draws
        assert not any("exchange" in text for text in warnings_of(right, x=x))
