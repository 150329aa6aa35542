"""Rows that share one set of draws: found, refused, and never seen where there are none."""

import time

import numpy as np
import pytest

from validation_core import diagnosis
from validation_core.diagnosis import method_obstacle, questions, tasks, verdict
from validation_core.methods import SBC, Omnibus
from validation_core.rng import stream
from validation_core.scores import apply
from validation_core.statistics import binomial_bounds
from validation_core.store import Store
from validation_core.tables import Upload
from validation_core.types import PosteriorTable

METHODS = diagnosis.with_further(tuple(diagnosis.further_methods()))


def conjugate(n, k, rng, places=None):
    """theta ~ N(0, 1), x = theta + N(0, 1): q is right; x is one of so many places, or its own.

    q is sampled once at each distinct x, and pasted.
    """
    if places is None:
        theta = rng.standard_normal((n, 2))
        x = theta + rng.standard_normal((n, 2))
        return theta, x, x[:, None] / 2 + np.sqrt(0.5) * rng.standard_normal((n, k, 2))
    at = 2 * rng.standard_normal((places, 2))
    which = rng.integers(places, size=n)
    sets = at[:, None] + rng.standard_normal((places, k, 2))
    return at[which] + rng.standard_normal((n, 2)), at[which], sets[which]


def upload(*arrays, **more):
    return Upload.of(dict(zip(("theta", "x", "theta_q"), arrays, strict=True)) | more)


@pytest.mark.parametrize("places", [1, 10, 100])
@pytest.mark.parametrize("shuffled", [False, True])
@pytest.mark.parametrize("kind", ["f4", "f8"])
def test_pasted_sets_are_found(places, shuffled, kind):
    rng = stream(0, places)
    theta, x, q = conjugate(300, 40, rng, places)
    if shuffled:  # each draw as a whole
        q = np.take_along_axis(q, rng.permuted(
            np.tile(np.arange(40), (300, 1)), axis=1)[..., None], axis=1)  # fmt: skip
    groups = upload(theta, x, q.astype(kind)).groups
    same = (x[:, None] == x[None]).all(-1)
    np.testing.assert_array_equal(groups[:, None] == groups[None], same)
    assert groups.min() == 0
    assert len(np.unique(groups)) == groups.max() + 1


def test_two_rows_that_share_are_enough():
    theta, x, q = conjugate(300, 40, stream(1))
    q[7] = q[200]
    groups = upload(theta, x, q).groups
    assert groups[7] == groups[200]
    assert len(np.unique(groups)) == 299


NATURAL = {
    "own draws": lambda rng, n, k: rng.standard_normal((n, k, 2)),
    "binary": lambda rng, n, k: (rng.random((n, k, 1)) < 0.3).astype(float),
    "two binary": lambda rng, n, k: (rng.random((n, k, 2)) < 0.3).astype(float),
    "rare": lambda rng, n, k: (rng.random((n, k, 1)) < 0.01).astype(float),
    "few values": lambda rng, n, k: rng.integers(0, 4, (n, k, 1)).astype(float),
    "rounded": lambda rng, n, k: rng.standard_normal((n, k, 1)).round(1),
    "binary by x": lambda rng, n, k: (rng.random((n, k, 1)) < rng.random((n, 1, 1))).astype(float),
    "one point mass": lambda rng, n, k: np.zeros((n, k, 2)),
    "point masses": lambda rng, n, k: np.repeat(rng.standard_normal((n, 1, 2)), k, axis=1),
    "masses of a few": lambda rng, n, k: np.repeat(rng.integers(0, 5, (n, 1, 1)), k, axis=1) * 1.0,
    "draws of three": lambda rng, n, k: rng.choice([0.1, 0.2, 0.3], (n, k, 2)),
}


@pytest.mark.parametrize("draw", NATURAL.values(), ids=NATURAL)
@pytest.mark.parametrize("k", [1, 2, 3, 5, 30, 500])
def test_chance_is_not_taken_for_sharing(draw, k):
    for seed in range(10):
        rng = stream(2, seed, k)
        theta, x = rng.standard_normal((2, 200, 1))
        q = draw(rng, 200, k)
        groups = upload(np.repeat(theta, q.shape[2], axis=1), x, q).groups
        assert groups is None


@pytest.mark.parametrize("k", [1, 2])
def test_with_one_or_two_draws_no_groups_are_found(k):
    theta, x, q = conjugate(300, k, stream(3), 10)
    assert upload(theta, x, q).groups is None


def test_pasted_binary_sets_are_told_from_chance_where_they_can_be():
    """Eight binary parameters: two rows hardly have the same draws by chance."""
    rng = stream(4)
    sets = (rng.random((10, 100, 8)) < 0.5).astype(float)
    which = rng.integers(10, size=200)
    theta, x = rng.standard_normal((200, 8)), rng.standard_normal((200, 1))
    assert len(np.unique(upload(theta, x, sets[which]).groups)) == 10


def test_two_samples_have_no_rows_to_share():
    rng = stream(5)
    assert Upload.of({"p": rng.random((50, 2)), "q": rng.random((60, 2))}).groups is None


@pytest.mark.parametrize("places", [1, 10])
def test_nothing_claims_a_problem_of_a_right_q(places, tmp_path):
    theta, x, q = conjugate(400, 100, stream(6, places), places)
    more = {"log_q": np.zeros(400), "log_q_draws": np.zeros((400, 100)),
            "log_joint": np.zeros(400), "log_joint_draws": np.zeros((400, 100))}  # fmt: skip
    table = upload(theta, x, q, **more)
    for method in METHODS:
        reason = method_obstacle(method, table)
        if isinstance(method, Omnibus):  # whole groups are relabelled together
            assert reason is None
            continue
        assert "must be independent" in reason
        assert f"got 400 rows that share {places} set" in reason
    tasks.register_upload(table)
    store = Store(tmp_path)
    (task,) = tasks.tasks(table, METHODS, 0)
    assert task.whole
    task.run(store, lambda done, live: None)
    for panel in questions.QUESTIONS:
        assert "must be independent" in panel.obstacle(table)
        assert panel.studies(table, METHODS, 0) == ()
    records, waiting = tasks.records(store, table, METHODS, 0)
    assert waiting == 0
    assert [record.name for record in records if record.status == "ran"] == ["omnibus"]
    summary = verdict(records, table)
    assert summary.verdict != "problem found"
    assert summary.relabelled
    assert summary.pvalue > 0.05


def test_counted_as_independent_such_rows_would_reject():
    """What the refusal is for: ranks within a set all move with that set."""
    rejected = 0
    for seed in range(60):
        theta, x, q = conjugate(400, 100, stream(8, seed), 1)
        scored = apply(SBC().score(), PosteriorTable(theta, x[:, :0], q))
        rejected += SBC().test(scored, stream(9, seed)).pvalue < 0.05
    assert rejected > binomial_bounds(60, 0.05, 0.999)[1]


def test_looking_for_groups_is_quick_and_copies_nothing():
    import tracemalloc

    rng = stream(7)
    q = rng.standard_normal((1000, 500, 10)).astype(np.float32)
    table = upload(rng.standard_normal((1000, 10)), rng.standard_normal((1000, 1)), q)
    pasted = upload(rng.standard_normal((1000, 10)), rng.standard_normal((1000, 1)),
                    np.repeat(q[:10], 100, axis=0))  # fmt: skip
    for one in (table, pasted):
        tracemalloc.start()
        start = time.process_time()
        assert (one.groups is None) == (one is table)
        seconds, most = time.process_time() - start, tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert seconds < 1
        assert most < q.nbytes / 2
