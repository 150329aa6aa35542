"""Independence is decided in one place: blocks never share an x, splits never share a row."""

import numpy as np
import pytest

from validation_core import sampling, scores, statistics
from validation_core.rng import stream
from validation_core.types import PosteriorTable


def _table(n=40, k=6, seed=0):
    """Rows that carry their number in x and in every theta."""
    number = np.arange(n, dtype=float)
    theta = np.column_stack([number, -np.ones(n)])
    q = np.stack([np.repeat(number[:, None], k, 1), np.tile(np.arange(k), (n, 1))], axis=-1)
    return PosteriorTable(theta, number[:, None], q)


def test_split_rows_is_a_partition():
    train, test = sampling.split_rows(_table(), stream(0), train=0.6)
    assert (len(train), len(test)) == (24, 16)
    rows = np.concatenate([train.x[:, 0], test.x[:, 0]])
    assert sorted(rows) == list(range(40))
    for part in (train, test):
        np.testing.assert_array_equal(part.theta[:, 0], part.x[:, 0])
        np.testing.assert_array_equal(part.q[:, :, 0], np.repeat(part.x, 6, axis=1))


def test_blocks_of_rows_share_no_x():
    blocks = sampling.blocks_of_rows(_table(41), stream(1))
    assert len(blocks.p) == len(blocks.q) == 20
    assert not np.isin(blocks.p.x, blocks.q.x).any()
    assert (blocks.p.theta[:, 1] == -1).all()  # the truth
    assert (blocks.q.theta[:, 1] >= 0).all()  # one of q's draws, not always the first
    assert len(np.unique(blocks.q.theta[:, 1])) > 1
    np.testing.assert_array_equal(blocks.q.theta[:, 0], blocks.q.x[:, 0])


def test_training_rows_watch_other_rows_than_they_learn():
    data = sampling.training_rows(_table(50, 12), stream(2))
    assert not np.isin(data.p.x, data.held_p.x).any()
    assert set(data.q.x[:, 0]) == set(data.p.x[:, 0])
    assert len(data.q) == 12 * len(data.p)
    np.testing.assert_array_equal(data.q.theta[:, 0], data.q.x[:, 0])


def test_too_few_rows_say_so():
    with pytest.raises(ValueError, match="at least two rows"):
        sampling.split_rows(_table(3), stream(3))


def test_sharing_x_would_cost_the_power():
    """Why the splitter exists: scores of a shared x are correlated across blocks."""
    rng = stream(4)
    x = rng.standard_normal((2000, 200))
    p, q = (0.9**0.5 * x + 0.1**0.5 * rng.standard_normal(x.shape) for _ in range(2))
    shared = statistics.multiple(p, q, stream(5)).statistic
    apart = statistics.multiple(p[:1000], q[1000:], stream(5)).statistic
    assert shared.std() < 0.8
    assert 0.93 < apart.std() < 1.08


def test_apply_scores_both_sides_with_one_function():
    table = _table(30, 5)
    built = scores.apply(lambda theta, x: theta[:, 1] * 100 + x[:, 0], table)
    np.testing.assert_array_equal(built.truth[0], -100 + np.arange(30))
    expected = 100 * np.arange(5) + np.arange(30)[:, None]
    np.testing.assert_array_equal(built.draws[0], expected)
