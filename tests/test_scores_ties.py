"""A truth that is one of q's draws has its score to the bit, whatever learnt the score."""

import numpy as np
import pytest

from tests.conftest import in_turn, train_classifier
from validation_core import scores
from validation_core.methods.within_x import WithinX
from validation_core.rng import stream
from validation_core.sampling import TrainingSet
from validation_core.scores.classifier import Classifier
from validation_core.scores.lc2st import LC2STClassifier
from validation_core.statistics import binomial_bounds
from validation_core.types import Joint, PosteriorTable, TableScores

N, K = 60, 19
KINDS = ("point masses", "rounded", "binary")


def drawn(kind, rng, shape):
    """Parameters (..., 3) of a law with many exact copies."""
    z = rng.standard_normal((*shape, 3))
    if kind == "binary":
        return (z > 0).astype(float)
    if kind == "rounded":
        return np.round(2 * z) * 0.3
    return np.where(rng.random((*shape, 1)) < 0.7, np.array([0.1, -0.3, 2.7]), z)


def table(kind, rng, n=N, k=K):
    """A right q: truth and draws of one law at each x."""
    x = rng.standard_normal((n, 2))
    theta = drawn(kind, rng, (n, k + 1))
    return PosteriorTable(theta[:, 0], x, theta[:, 1:])


@pytest.fixture(scope="module", params=KINDS)
def trained(request):
    rng = stream(0, request.param)
    rows = [Joint(drawn(request.param, rng, (300,)), rng.standard_normal((300, 2)))
            for _ in range(4)]  # fmt: skip
    recipe = Classifier(train=300, epochs=3, hidden=48)
    return request.param, train_classifier(TrainingSet(*rows), recipe, seed=1)


def test_a_truth_that_is_a_draw_has_its_score(trained):
    kind, network = trained
    for n, k in ((N, K), (41, 7), (5, 300), (200, 1)):
        draws = table(kind, stream(2, kind, n), n, k)
        result = scores.apply(network.at(), draws)
        same = (draws.q == draws.theta[:, None]).all(-1)
        assert same.any()
        np.testing.assert_array_equal(
            result.draws[0][same], np.repeat(result.truth[0][:, None], k, axis=1)[same]
        )


def test_what_the_network_cannot_tell_apart_ties(trained):
    """Numbers beyond the clip are one input, though they differ."""
    _, network = trained
    rng = stream(3)
    draws = PosteriorTable(1e6 + rng.random((N, 3)), rng.standard_normal((N, 2)),
                  1e6 + rng.random((N, K, 3)))  # fmt: skip
    result = scores.apply(network.at(), draws)
    np.testing.assert_array_equal(result.draws[0], np.repeat(result.truth[0][:, None], K, axis=1))


@in_turn(1000, 2000)
def test_within_x_keeps_its_level_with_exact_copies(trained, trials):
    kind, network = trained
    score = network.at()
    many = table(kind, stream(4, kind), N * trials)  # scored at once, tested one by one
    result = scores.apply(score, many)
    stacked = TableScores(
        result.truth.reshape(trials, 1, N), result.draws.reshape(trials, 1, N, K)
    )
    rejected = (WithinX().test(stacked, stream(5, kind)).pvalue <= 0.05).sum()
    low, high = binomial_bounds(trials, 0.05, 0.999)
    assert low <= rejected <= high


@in_turn(150, 300)
def test_within_x_keeps_its_level_table_by_table(trained, trials):
    """Scored in batches of their own sizes, as a table is."""
    kind, network = trained
    score = network.at()
    pvalues = [
        WithinX().test(scores.apply(score, table(kind, stream(6, kind, i))), stream(7, i)).pvalue
        for i in range(trials)
    ]
    assert (np.array(pvalues) <= 0.05).sum() <= binomial_bounds(trials, 0.05, 0.999)[1]


def test_draws_that_are_equal_tie_with_each_other(trained):
    """Where a draw plays the truth among the others."""
    kind, network = trained
    draws = table(kind, stream(11, kind), 30, 100)
    draw = scores.apply(network.at(), draws).draws[0]
    equal = (draws.q[:, :, None] == draws.q[:, None]).all(-1)
    assert (draw[:, :, None] == draw[:, None])[equal].all()


@pytest.mark.parametrize("kind", KINDS)
def test_every_score_without_a_table_of_its_own_ties(kind):
    """The local networks, and any function that rounds by its place in a batch."""
    draws = table(kind, stream(8, kind), 40, 12)
    local = LC2STClassifier(nulls=5, epochs=1).learn(draws, stream(9))

    def by_place(theta, x):
        return theta.sum(1) + 1e-9 * np.arange(len(theta))

    same = (draws.q == draws.theta[:, None]).all(-1)
    for score in (local, by_place):
        result = scores.apply(score, draws)
        truth = np.broadcast_to(result.truth[..., None], result.draws.shape)
        np.testing.assert_array_equal(result.draws[:, same], truth[:, same])


def test_scores_of_ordinary_tables_are_what_rows_score(trained):
    _, network = trained
    rng = stream(10)
    draws = PosteriorTable(rng.standard_normal((N, 3)), rng.standard_normal((N, 2)),
                  rng.standard_normal((N, K, 3)))  # fmt: skip
    result, score = scores.apply(network.at(), draws), network.at()
    np.testing.assert_allclose(result.truth[0], score(draws.theta, draws.x), rtol=1e-4, atol=1e-5)
    flat = score(draws.q.reshape(-1, 3), np.repeat(draws.x, K, axis=0)).reshape(N, K)
    np.testing.assert_allclose(result.draws[0], flat, rtol=1e-4, atol=1e-5)


def test_inputs_are_equal_in_every_number():
    """As in a plain loop: one equal first number does not make inputs equal; 0 and -0 are."""
    rng = stream(12)
    inputs = rng.standard_normal((40, 9, 3))
    inputs[:20, 5, 0] = inputs[:20, 2, 0]
    inputs[:10, 5] = inputs[:10, 2]
    inputs[0, 3], inputs[0, 4] = 0.0, -0.0
    given = rng.random((2, 40, 9))
    expected = given.copy()
    for row, at in np.ndindex(40, 9):
        equal = [i for i in range(at) if (inputs[row, i] == inputs[row, at]).all()]
        expected[:, row, at] = given[:, row, equal[0] if equal else at]
    result = scores.equalise_tied_scores(inputs, given)
    np.testing.assert_array_equal(result, expected)
    assert (result != given).sum() == 2 * 11
