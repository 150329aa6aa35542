"""Several arrays for one role: joined when asked, an error when a role is given twice."""

import numpy as np
import pytest

import validation_core as npt
from tests.files import K, N, csv, hdf5, npy, npz, table
from validation_core import cli, tables
from validation_core.tables.chosen import merge_pairs


def split(make=npz, **more):
    arrays = table()
    parts = {"image": arrays["x"][:, :2], "meta": arrays["x"][:, 2]}
    return make({"theta": arrays["theta"], **parts, "theta_q": arrays["theta_q"], **more})


@pytest.mark.parametrize("make", [npz, hdf5])
@pytest.mark.parametrize("said", ["image+meta", ["image", "meta"]])
def test_arrays_of_x_are_joined_by_columns_and_it_is_said(make, said):
    upload = tables.read(split(make), arrays={"x": said})
    assert upload.digest == tables.read(npz(table())).digest
    assert "x is image (60, 2) and meta (60), joined in this order." in upload.notes
    assert not any("left unread" in note for note in upload.notes)


def test_parameters_and_draws_in_arrays_of_their_own_are_joined_under_their_names():
    arrays = table()
    single = {name: arrays["theta"][:, j] for j, name in enumerate(("mass", "spin"))}
    drawn = {f"{name}_q": arrays["theta_q"][..., j] for j, name in enumerate(single)}
    said = {"theta": "mass+spin", "theta_q": "mass_q+spin_q"}
    upload = tables.read(npz(single | drawn | {"x": arrays["x"]}), arrays=said)
    assert upload.names == ("mass", "spin")
    assert upload.digest == tables.read(npz(arrays)).digest


def test_arrays_of_several_files_are_joined_in_the_order_that_was_said():
    arrays = table()
    given = [("b.npy", npy(arrays["x"][:, 1:])), ("theta.npy", npy(arrays["theta"])),
             ("theta_q.npy", npy(arrays["theta_q"])),
             ("a.npy", npy(arrays["x"][:, :1]))]  # fmt: skip
    ((_, upload, _),) = tables.read_files(given, arrays={"x": "a+b"})
    assert upload.digest == tables.read(npz(arrays)).digest


def test_an_array_whose_own_name_has_a_plus_is_one_array():
    arrays = table()
    content = npz({"a+b": arrays["theta"], "x": arrays["x"], "theta_q": arrays["theta_q"]})
    assert tables.read(content, arrays={"theta": "a+b"}).n == N


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"x": "image+nothing"}, "got nothing, and it holds"),
        ({"x": "image+image"}, "Each array is one thing"),
        ({"log_q": "image+meta"}, "theta_q, x_o or theta_o alone; got log_q"),
        ({"x": "image+short"}, "equally many rows"),
        ([("x", "image")], "Arrays are named by role; got list"),
    ],
)
def test_arrays_that_cannot_be_joined_are_refused(said, words):
    with pytest.raises(ValueError, match="; got") as caught:
        tables.read(split(short=np.zeros((3, 1))), arrays=said)
    assert words in str(caught.value)


@pytest.mark.parametrize("line", ["--map x=image,x=meta", "--map x=image --map x=meta"])
def test_a_role_that_is_given_twice_is_an_error_whose_advice_works(line, tmp_path, capsys):
    path = tmp_path / "a.npz"
    path.write_bytes(split())
    assert cli.main(["diagnose", str(path), *line.split()]) == 2
    message = capsys.readouterr().err
    assert "Each role is given once; got x twice, as image, meta." in message
    assert "Write x=image+meta" in message
    assert npt.read(path, arrays={"x": "image+meta"}).upload.dims == (2, 3)


def test_a_role_that_is_not_joined_is_given_once_too():
    with pytest.raises(ValueError, match=r"as a, b\. Name one of them\.$"):
        merge_pairs([("log_q", "a"), ("log_q", "b")])


def test_the_arrays_of_a_folder_or_of_several_files_are_read_by_the_command(tmp_path, capsys):
    for name, array in table().items():
        (tmp_path / f"{name}.npy").write_bytes(npy(array))
    (tmp_path / "notes.txt").write_text("no table")
    paths = [str(tmp_path / f"{name}.npy") for name in table()]
    whole = tables.read(npz(table()))
    for given in ([str(tmp_path)], paths):
        cli.main(["diagnose", *given, "--method", "sbc", "--questions", "none", "--json", "-"])
        assert whole.digest in capsys.readouterr().out
    folder = npt.read(tmp_path)
    assert folder.upload.digest == npt.read(paths).upload.digest == whole.digest
    assert folder.notes == ("notes.txt: left unread, no file of arrays by its ending.",)


def test_a_folder_may_hold_arrays_as_text(tmp_path):
    arrays = table()
    for name in ("theta", "x"):
        np.savetxt(tmp_path / f"{name}.txt", arrays[name])
    (tmp_path / "theta_q.npy").write_bytes(npy(arrays["theta_q"]))
    (tmp_path / "data.txt").write_text("words about x")
    folder = npt.read(tmp_path)
    np.testing.assert_allclose(folder.arrays()["theta"], arrays["theta"], rtol=1e-6)
    assert folder.notes[-1] == "data.txt: left unread, no file of arrays by its ending."


def test_a_folder_of_several_tables_or_none_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"A folder must hold files that end in \.npz"):
        npt.read(tmp_path)
    for seed in (1, 2):
        (tmp_path / f"{seed}.npz").write_bytes(npz(table(seed=seed)))
    with pytest.raises(ValueError, match=r"got 2 in these files: 1, 2\. Name one"):
        npt.read(tmp_path)


def test_a_wide_file_of_columns_is_named_by_its_columns():
    arrays = table()
    wide = {f"t{j}": arrays["theta"][:, j] for j in range(2)}
    wide |= {f"y{j}": arrays["x"][:, j] for j in range(3)}
    given = [("run.csv", csv(wide)), ("theta_q.npy", npy(arrays["theta_q"]))]
    ((_, upload, _),) = tables.read_files(given, arrays={"theta": "t0+t1", "x": "y*"})
    assert (upload.k, upload.dims, upload.names) == (K, (2, 3), ("t0", "t1"))


def test_the_two_arrays_of_x_of_a_real_file_are_joined(shared):
    path = shared / "cases/two_arrays_of_x.npz"
    found = npt.read(path, arrays={"x": ["x_image", "x_meta"]})
    assert found.upload.dims == (2, 5)
    assert npt.diagnose(found, questions=()).verdict == "no problem found"
