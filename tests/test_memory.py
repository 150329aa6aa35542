"""What is large is not copied: draws of q stay where they lie, torch's compiler is not loaded."""

import subprocess
import sys
import tracemalloc
from functools import cache

import numpy as np
import pytest

from validation_core import diagnosis, sampling, scores
from validation_core.diagnosis import learning
from validation_core.diagnosis.method_runs import run_method
from validation_core.methods import C2ST, SBC, TARP, CoLT, Multiple, WithinX
from validation_core.rng import stream
from validation_core.scores.quantities import Quantities
from validation_core.tables import Upload
from validation_core.types import PosteriorTable

N, K, D, M = 600, 2000, 8, 2


@cache
def _upload():
    rng = stream(0, "memory")
    x = rng.standard_normal((N, M), dtype=np.float32)
    q = rng.standard_normal((N, K, D), dtype=np.float32) + x[:, None, :1]
    theta = rng.standard_normal((N, D), dtype=np.float32) + x[:, :1]
    return Upload.of({"theta": theta, "x": x, "theta_q": q}, order="NKD")


@cache
def _network(kind):
    """Few steps: what a network is given and scores is as large as after many."""
    upload, method = _upload(), kind()
    how = diagnosis.recipe(upload, method)
    short = {"WithinX": {"epochs": 2}, "CoLT": {"steps": 2, "blur_steps": 2}}.get(kind.__name__)
    how = type(how)(**{**vars(how), **(short or {})})
    return how, how.learn_all([learning.build_training_set(upload, how, 0)], [0])[0]


def _traced(work):
    """The most that numpy held beyond what was there, in bytes."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("method", "reads"),
    [
        (SBC(), None),
        (TARP(), TARP),
        (WithinX(), WithinX),
        (Multiple(), WithinX),
        (C2ST(), WithinX),
        (CoLT(), CoLT),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_a_test_holds_a_fraction_of_the_draws(method, reads):
    """A copy of the half that is tested would be half of them; double precision the whole."""
    upload = _upload()
    network = _network(reads)[1] if reads else None

    def test():
        record = run_method(upload, method, 0, network=lambda: network)
        assert record.status == "ran"

    assert _traced(test) < 0.3 * upload.data.q.nbytes


@pytest.mark.parametrize(
    ("reads", "numbers"), [(TARP, 1e5), (WithinX, 2 * learning.MOST_TRAINING_NUMBERS), (CoLT, 3e6)]
)
def test_a_training_takes_no_more_than_it_is_offered(reads, numbers):
    upload = _upload()
    how, _ = _network(reads)
    assert _traced(lambda: learning.build_training_set(upload, how, 0)) < 4 * numbers


def test_test_rows_are_copied_as_far_as_they_are_asked_for():
    upload = _upload()
    few = learning.held_out_table(upload, 0, 10)
    held_back = learning.held_out_table(upload, 0)
    np.testing.assert_array_equal(few.q, held_back.q[:, :10])
    assert _traced(lambda: learning.held_out_table(upload, 0, 10)) < 0.02 * upload.data.q.nbytes


def _table(n=30, k=7, d=3):
    rng = stream(1, "lent")
    theta, x, q = (rng.standard_normal(shape) for shape in ((n, d), (n, 2), (n, k, d)))
    return PosteriorTable(theta, x, q)


@pytest.mark.parametrize("most", [None, 4, 100])
@pytest.mark.parametrize(
    "key",
    [
        slice(None),
        slice(3, 8),
        slice(-4, None),
        slice(None, None, -2),
        (slice(2, 9), slice(1, 3)),
        (slice(None), slice(None, None, 2)),
        (slice(None), slice(None, None, -1)),
        (slice(None), slice(None), 1),
        (slice(None), 2),
        (np.array([4, 1]), np.array([0, 3])),
        np.array([5, 5, 0]),
        (..., 0),
        3,
    ],
    ids=str,
)
def test_lent_rows_read_like_taken_ones(most, key):
    table, which = _table(), stream(2, "which").permutation(30)[:17]
    rows, view = sampling.take(table, which, most), sampling.rows_view(table, which, most)
    np.testing.assert_array_equal(view.q[key], rows.q[key])
    assert (view.q.shape, view.q.dtype, len(view.q)) == (
        rows.q.shape, rows.q.dtype, len(rows.q),
    )  # fmt: skip


def test_lent_rows_are_an_array_to_numpy():
    table, which = _table(), np.array([3, 1, 2])
    rows, view = sampling.take(table, which), sampling.rows_view(table, which)
    np.testing.assert_array_equal(np.asarray(view.q), rows.q)
    np.testing.assert_array_equal(np.asarray(view.q, np.float32), rows.q.astype(np.float32))
    np.testing.assert_array_equal(view.q == view.theta[:, None], rows.q == rows.theta[:, None])
    np.testing.assert_array_equal(np.concatenate([view.q, rows.q]), np.tile(rows.q, (2, 1, 1)))
    with pytest.raises(ValueError, match="copied to be read"):
        np.asarray(view.q, copy=False)


@pytest.mark.parametrize("names", [("marginals",), ("marginals", "squared_norm", "products")])
def test_lent_rows_have_the_scores_of_taken_ones(names):
    table, which = _table(), stream(3, "which").permutation(30)[:11]
    result = scores.apply(Quantities(names), sampling.rows_view(table, which, 5))
    wanted = scores.apply(Quantities(names), sampling.take(table, which, 5))
    np.testing.assert_array_equal(result.truth, wanted.truth)
    np.testing.assert_array_equal(result.draws, wanted.draws)


def test_blocks_of_some_rows_are_those_of_a_table_of_them():
    table, which = _table(), stream(4, "which").permutation(30)[:15]
    blocks_of_rows = sampling.blocks_of_rows(table, stream(5), which)
    wanted = sampling.blocks_of_rows(sampling.take(table, which), stream(5))
    for item, other in ((blocks_of_rows.p, wanted.p), (blocks_of_rows.q, wanted.q)):
        np.testing.assert_array_equal(item.theta, other.theta)
        np.testing.assert_array_equal(item.x, other.x)


def test_training_leaves_the_compiler_of_torch_alone():
    """It takes 70 MB and two seconds of every process."""
    code = (
        "import sys, numpy as np\n"
        "from dataclasses import replace\n"
        "from validation_core import diagnosis\n"
        "from validation_core.diagnosis.learning import build_training_set\n"
        "from validation_core.methods import CoLT, WithinX\n"
        "from validation_core.tables import Upload\n"
        "rng = np.random.default_rng(0)\n"
        "arrays = {'theta': rng.normal(size=(60, 1)), 'x': rng.normal(size=(60, 1)),"
        " 'theta_q': rng.normal(size=(60, 5, 1))}\n"
        "upload = Upload.of(arrays, order='NKD')\n"
        "short = {'epochs': 2}, {'steps': 4, 'blur_steps': 4}\n"
        "for method, few in zip((WithinX(), CoLT()), short):\n"
        "    how = replace(diagnosis.recipe(upload, method), **few)\n"
        "    how.learn_all([build_training_set(upload, how, 0)], [0])\n"
        "print([name for name in sys.modules if name.startswith('torch._dynamo')])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=True
    )
    assert done.stdout.strip() == "[]"
