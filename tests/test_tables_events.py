"""Tables in parts of one simulation each, and arrays whose fields are parameters."""

import io
import json

import h5py
import numpy as np
import pytest

import validation_core as npt
from tests.files import N, hdf5, npz, refusal, table
from validation_core import tables


def records(array, names=("mass", "spin"), **more):
    """An array (..., d) as records of a field for each parameter."""
    kinds = [(name, array.dtype) for name in names] + [(n, "f4") for n in more]
    made = np.zeros(array.shape[:-1], kinds)
    for j, name in enumerate(names):
        made[name] = array[..., j]
    for name, value in more.items():
        made[name] = value
    return made


def grouped(make, inside="", **others):
    """An HDF5 file with a group for each simulation."""
    file = io.BytesIO()
    with h5py.File(file, "w") as opened:
        for i in range(N):
            group = opened.create_group(f"{inside}event_{i}")
            for name, array in make(i).items():
                group.create_dataset(name, data=array)
        for name, array in others.items():
            opened[name] = array
    return file.getvalue()


def row(i):
    return {name: array[i] for name, array in table().items()}


def test_groups_of_one_simulation_each_are_the_rows_of_one_table():
    plain = tables.read(npz(table()))
    for inside in ("", "results/"):
        upload = tables.read(grouped(row, inside))
        assert upload.digest == plain.digest
        assert upload.notes[0] == "Groups hold one simulation each: 60 rows."
    flat = lambda i: row(i) | {"theta": row(i)["theta"][None], "x": row(i)["x"][None]}  # noqa: E731
    assert tables.read(grouped(flat)).digest == plain.digest


def test_unequal_draws_of_groups_are_cut_to_the_shortest_and_said():
    def short(i):
        return row(i) | {"theta_q": row(i)["theta_q"][: 5 + i % 3]}

    upload = tables.read(grouped(short))
    for i, kept in enumerate(upload.data.q):
        own = table()["theta_q"][i, : 5 + i % 3]
        assert all((draw == own).all(axis=1).any() for draw in kept)
        assert len(np.unique(kept, axis=0)) == 5
    assert (upload.data.q != table()["theta_q"][:, :5]).any()  # not the first ones
    assert "Simulations have 5 to 7 draws: 5 of each were kept, picked at random." in upload.notes


def test_groups_of_compound_types_are_read_by_their_fields():
    """As catalogues of gravitational waves hold them: more fields drawn than are true."""

    def made(i):
        arrays = row(i)
        drawn = records(arrays["theta_q"][:, ::-1], ("spin", "mass"), log_likelihood=0.5)
        return {"injections": records(arrays["theta"]), "x": arrays["x"],
                "posterior_samples": drawn}  # fmt: skip

    upload = tables.read(grouped(made))
    assert upload.names == ("mass", "spin")
    assert upload.digest == tables.read(npz(table())).digest


def test_names_of_records_may_come_in_any_order_and_are_the_same_in_all():
    def named(values, i, names=("mass", "spin")):
        pairs = list(zip(names, np.moveaxis(values, -1, 0).tolist(), strict=True))
        return dict(pairs[:: -1 if i % 2 else 1])

    def line(i, **more):
        made = {name: named(row(i)[name], i) for name in ("theta", "theta_q")}
        return json.dumps(made | {"x": named(row(i)["x"], i // 2, ("a", "b", "c"))} | more)

    upload = tables.read("\n".join(map(line, range(N))).encode())
    assert upload.names == ("mass", "spin")
    for name, array in upload.arrays().items():
        np.testing.assert_allclose(array, table()[name], rtol=1e-6)
    other = line(5, x={"a": 0, "b": 0, "d": 0})
    assert "got x with a, b, c in '0' and a, b, d in '1'" in refusal(
        f"{line(0)}\n{other}".encode()
    )


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda i: {"theta": np.zeros(3)} if i == 5 else {}, "'event_5' with theta (3)"),
        (lambda i: {"x": np.zeros(9)} if i == 5 else {}, "x must be equally long"),
        (lambda i: {"theta_q": np.zeros((0, 2))} if i == 5 else {}, "same parameters"),
    ],
)
def test_groups_that_differ_are_refused_by_name(change, words):
    assert words in refusal(grouped(lambda i: row(i) | change(i)))


def test_groups_that_hold_a_table_each_are_no_rows():
    file = io.BytesIO()
    with h5py.File(file, "w") as opened:
        for name in ("a", "b"):
            for array, values in table().items():
                opened[f"{name}/{array}"] = values
    assert "Save one table in a file" in refusal(file.getvalue())


def test_files_of_one_simulation_each_are_the_rows_of_one_table(tmp_path):
    for i in range(N):
        (tmp_path / f"sim{i}.npz").write_bytes(npz(row(i)))
    found = npt.read(tmp_path)
    assert found.upload.digest == tables.read(npz(table())).digest
    assert found.notes == ("Files hold one simulation each: 60 rows.",)


@pytest.mark.parametrize("make", [npz, hdf5])
def test_fields_of_records_are_parameters(make):
    arrays = table()
    drawn = records(arrays["theta_q"], log_prior=1.0)
    given = {"theta": records(arrays["theta"]), "x": arrays["x"], "theta_q": drawn}
    upload = tables.read(make(given))
    assert upload.names == ("mass", "spin")
    assert upload.digest == tables.read(npz(arrays)).digest
    assert any("log_prior: left unread" in note for note in upload.notes)


def test_records_that_hold_objects_or_no_numbers_are_refused():
    words = np.zeros(N, [("a", "U3")])
    assert "; got" in refusal(npz(table(theta=words)))
    objects = np.zeros(N, [("a", "O"), ("b", "f4")])
    assert "never loaded" in refusal(npz(table(theta=objects)))
