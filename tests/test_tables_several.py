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


def test_a_refusal_of_several_files_names_the_array_that_is_missing():
    arrays = table()
    given = [(f"{name}.npy", npy(arrays[role])) for name, role in
             {"parameters": "theta", "x": "x", "post": "theta_q"}.items()]  # fmt: skip
    assert "--map theta_q=post on the command line, arrays={'theta_q': 'post'}" in refusal(given)
    ((_, upload, _),) = tables.read_files(given, arrays={"theta_q": "post"})
    assert upload.digest == tables.read(npz(arrays)).digest


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


def named():
    """A table with the names of its parameters."""
    return table(theta_names=np.array(["mass", "spin"]))


@pytest.mark.parametrize("first", ["truth", "post"])
@pytest.mark.parametrize("pack", [npz, hdf5])
def test_draws_in_a_file_of_their_own_are_matched_to_theta_by_name(first, pack):
    arrays = named()
    truth = {role: arrays[role] for role in ("theta", "x", "theta_names")}
    post = {"theta_q": arrays["theta_q"][..., ::-1], "theta_names": arrays["theta_names"][::-1],
            "theta_o": arrays["theta_q"][0, :, ::-1], "x_o": arrays["x"][0]}  # fmt: skip
    given = [("truth", pack(truth)), ("post", pack(post))]
    ((_, upload, _),) = tables.read_files(given if first == "truth" else given[::-1])
    assert upload.names == ("mass", "spin")
    np.testing.assert_array_equal(upload.data.q, arrays["theta_q"])
    np.testing.assert_array_equal(upload.observed[1], arrays["theta_q"][0])
    assert (
        "Columns of theta_q and theta_o were taken by name, in the order mass, spin."
        in upload.notes
    )


def test_two_samples_with_the_same_columns_in_another_order_are_matched_by_name():
    rng = np.random.default_rng(0)
    p, q = rng.standard_normal((60, 2)), rng.standard_normal((70, 2))
    for pack in (csv, parquet_file):
        given = [("p", {"mass": p[:, 0], "spin": p[:, 1]}),
                 ("q", {"spin": q[:, 1], "mass": q[:, 0]})]  # fmt: skip
        named = [(f"{name}.{pack.__name__[:3]}", pack(of)) for name, of in given]
        ((_, upload, _),) = tables.read_files(named[::-1])
        assert upload.names == ("mass", "spin")
        np.testing.assert_allclose(upload.data.q.theta, q)


def test_an_observation_in_a_file_of_its_own_is_matched_to_x_by_name():
    arrays = table()
    x = csv({name: arrays["x"][:, j] for j, name in enumerate("abc")})
    x_o = csv({name: arrays["x"][:1, j] for j, name in zip((2, 0, 1), "cab", strict=True)})
    given = [("x_o.csv", x_o), ("x.csv", x), ("theta.npy", npy(arrays["theta"])),
             ("theta_q.npy", npy(arrays["theta_q"])),
             ("theta_o.npy", npy(arrays["theta_q"][0]))]  # fmt: skip
    ((_, upload, _),) = tables.read_files(given)
    assert upload.x_names == ("a", "b", "c")
    np.testing.assert_allclose(upload.observed[0], arrays["x"][0])


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (
            ["mass", "tilt"],
            "theta and theta_q must have the same columns; got mass, spin and mass",
        ),
        (["a", "b"], "Name them alike"),
        (["mass", "spin", "tilt"], "got mass, spin and mass, spin, tilt"),
    ],
)
def test_draws_that_are_named_otherwise_than_theta_are_refused(names, words):
    arrays = named()
    post = {"theta_q": arrays.pop("theta_q"), "theta_names": np.array(names)}
    assert words in refusal([("truth.npz", npz(arrays)), ("post.npz", npz(post))])


@pytest.mark.parametrize(
    "numbers", [["0", "1"], ["theta_1", "theta_2"], ["theta[0]", "theta[1]"], ["V1", "V2"]]
)
def test_columns_that_have_numbers_for_names_are_those_of_theta_in_turn(numbers):
    arrays = named()
    for names in ([*"ab"], numbers), (numbers, [*"ab"]):
        truth = {"theta": arrays["theta"], "x": arrays["x"], "theta_names": np.array(names[0])}
        post = {"theta_q": arrays["theta_q"], "theta_names": np.array(names[1])}
        ((_, upload, _),) = tables.read_files([("a.npz", npz(truth)), ("b.npz", npz(post))])
        assert upload.names == ("a", "b")
        np.testing.assert_array_equal(upload.data.q, arrays["theta_q"])


def test_names_in_a_file_of_their_own_are_those_of_theta_or_refused():
    arrays = table()
    theta = csv({"a": arrays["theta"][:, 0], "b": arrays["theta"][:, 1]})
    rest = [("theta.csv", theta), ("x.npy", npy(arrays["x"])),
            ("theta_q.npy", npy(arrays["theta_q"]))]  # fmt: skip
    ((_, upload, _),) = tables.read_files([("names.npy", npy(np.array(["mass", "spin"]))), *rest])
    assert upload.names == ("mass", "spin")
    words = refusal([("names.npy", npy(np.array(["b", "a"]))), *rest])
    assert "names must be in the order of theta's columns; got b, a" in words
