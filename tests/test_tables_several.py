"""Several files at once: parts of one table, or several tables."""

import numpy as np
import pytest

from tests.files import columns, csv, hdf5, npy, npz, parquet_file, table
from validation_core import tables
from validation_core.tables import AmbiguousOrder
from validation_core.types import TwoSamples

N, K, D, M = 60, 12, 2, 3


def refusal(given, **options):
    with pytest.raises(ValueError, match=r"; got|missing") as caught:
        tables.read_files(given, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_files_of_one_array_each_make_a_table():
    arrays = table()
    given = [("runs/theta.npy", npy(arrays["theta"])), ("x.npy", npy(arrays["x"])),
             ("samples.npy", npy(arrays["theta_q"]))]  # fmt: skip
    ((label, upload, _),) = tables.read_files(given)
    assert label == "theta"
    assert upload.digest == tables.read(npz(arrays)).digest


def test_files_of_different_kinds_make_one_table():
    arrays = table()
    pairs = {"theta": arrays["theta"], "x": arrays["x"]}
    draws = {"theta_q": arrays["theta_q"], "log_q_draws": np.zeros((N, K))}
    for second in (npz(draws), hdf5(draws)):
        ((label, upload, _),) = tables.read_files([("sims.npz", npz(pairs)), ("post", second)])
        assert label == "sims"
        assert (upload.n, upload.k) == (N, K)
        assert upload.densities.keys() == {"log_q_draws"}


def test_whole_tables_stay_apart_and_keep_their_labels():
    given = [("a/run.npz", npz(table(seed=1))), ("run.npz", npz(table(seed=2))),
             ("<b>.parquet", parquet_file(columns(table(seed=3))))]  # fmt: skip
    read = tables.read_files(given)
    assert [one.label for one in read] == ["run", "run (2)", "<b>"]
    assert [one.files for one in read] == [("a/run.npz",), ("run.npz",), ("<b>.parquet",)]
    assert len({one.upload.digest for one in read}) == 3


def test_several_posteriors_share_their_simulations():
    arrays, other = table(), table(seed=1)
    pairs = {"theta": arrays["theta"], "x": arrays["x"]}
    given = [("sims.npz", npz(pairs)), ("early.npz", npz({"theta_q": other["theta_q"]})),
             ("late.npz", npz({"theta_q": arrays["theta_q"]}))]  # fmt: skip
    several = tables.read_files(given)
    read = {one.label: one.upload for one in several}
    assert list(read) == ["early", "late"]
    assert several[1].files == ("late.npz", "sims.npz")
    assert read["late"].digest == tables.read(npz(arrays)).digest
    np.testing.assert_array_equal(read["early"].data.theta, arrays["theta"])


def test_two_samples_in_two_files_are_read_together():
    rng = np.random.default_rng(0)
    p, q = rng.standard_normal((60, 2)), rng.standard_normal((70, 2))
    named = [("p.csv", csv({"a": p[:, 0], "b": p[:, 1]})), ("q.npy", npy(q))]
    ((_, upload, _),) = tables.read_files(named)
    assert isinstance(upload.data, TwoSamples)
    np.testing.assert_allclose(upload.data.p.theta, p)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ([("a.npz", ["theta", "x"])], "'a' holds theta (60, 2), x (60, 3)"),
        ([("a.npz", ["theta", "x"]), ("b.npz", ["x", "theta_q"])], "x in more than one"),
        ([("a.npz", ["theta", "x", "theta_q"]), ("b.npz", ["theta_q"])], "'b' holds theta_q"),
        ([("a.npz", ["theta_q"]), ("b.npz", ["theta_q"])], "do not make whole tables"),
    ],
)
def test_a_refusal_of_several_files_says_what_each_holds(given, words):
    arrays = table()
    packed = [(name, npz({role: arrays[role] for role in held})) for name, held in given]
    assert words in refusal(packed)


def test_a_broken_file_among_several_is_named():
    message = refusal([("good.npz", npz(table())), ("bad.npz", b"PK\x03\x04")])
    assert message.startswith("In the file 'bad':")


def test_the_limit_counts_all_files():
    one = npz(table())
    held = sum(array.nbytes for array in table().values())
    assert len(tables.read_files([("a", one), ("b", one)], limit=2 * held)) == 2
    assert "together" in refusal([("a", one), ("b", one)], limit=2 * held - 1)
    with pytest.raises(ValueError, match="From 1 to 2,000 files"):
        tables.read_files([])


def test_the_order_is_asked_for_several_too():
    given = [("a.npz", npz(table(k=N))), ("b.npz", npz(table(k=N)))]
    with pytest.raises(AmbiguousOrder):
        tables.read_files(given)
    assert len(tables.read_files(given, order="KND")) == 2
