"""Arrays of unknown names: what there is, is said with shapes; the user says which is which."""

import numpy as np
import pytest

import validation_core as npt
from tests.files import columns, csv, hdf5, netcdf, npy, npz, table
from validation_core import tables
from validation_core.tables import UnknownArrays

N, K, D, M = 60, 12, 2, 3
SAID = {"theta": "params", "x": "obs", "theta_q": "post"}


def renamed(**more):
    """A table under names that nothing understands."""
    return {SAID[role]: array for role, array in table().items()} | more


def paths(group):
    """What `SAID` is in a group."""
    return {role: f"{group}/{name}" for role, name in SAID.items()}


def nested(arrays):
    """An HDF5 file whose arrays lie in two groups."""
    dims = {"params": ("row", "d"), "obs": ("row", "m"), "post": ("row", "k", "d")}
    split = {"sims": ("params", "obs"), "net": ("post",)}
    return netcdf(
        {
            group: {name: (dims[name], arrays[name]) for name in names}
            for group, names in split.items()
        }
    )


SPLIT = {"theta": "sims/params", "x": "sims/obs", "theta_q": "net/post"}
FILES = {
    "npz": (npz, SAID),
    "hdf5": (hdf5, SAID),
    "hdf5 in a group": (lambda arrays: hdf5(arrays, group="run"), paths("run")),
    "netcdf in groups": (nested, SPLIT),
}


@pytest.mark.parametrize(("make", "said"), FILES.values(), ids=FILES)
def test_every_format_is_asked_about_and_read_as_the_user_says(make, said):
    content = make(renamed())
    with pytest.raises(UnknownArrays, match="missing: theta, x, theta_q") as caught:
        tables.read(content)
    shapes = caught.value.shapes
    assert shapes[said["theta"]] == (N, D)
    assert f"{said['theta_q']} ({N}, {K}, {D})" in str(caught.value)
    options = " ".join(f"--map {role}={said[role]}" for role in ("theta", "x", "theta_q"))
    assert f"say so: {options} on the command line" in str(caught.value)
    assert tables.guess_roles(shapes) == said
    upload = tables.read(content, arrays=said)
    assert upload.digest == tables.read(npz(table())).digest


def test_a_missing_role_is_named_with_the_arrays_that_can_have_it():
    theta, x, q = table().values()
    arrays = {"theta": theta, "x_image": x, "x_meta": x[:, :1], "theta_q": q}
    with pytest.raises(UnknownArrays, match="missing: x;") as caught:
        tables.read(npz(arrays))
    assert "--map x=x_image+x_meta on the command line" in str(caught.value)
    assert "theta=" not in str(caught.value)
    assert tables.read(npz(arrays), arrays={"x": "x_image+x_meta"}).dims == (D, x.shape[1] + 1)


def test_where_no_array_is_left_none_is_to_be_named():
    theta, x, _ = table().values()
    with pytest.raises(UnknownArrays, match="missing: theta_q") as caught:
        tables.read(npz({"theta": theta, "x": x}))
    assert "--map" not in str(caught.value)


def test_an_array_is_read_in_place_of_one_of_a_known_name():
    """A file may hold draws of two networks, one of them under the usual name."""
    other = table(seed=1)["theta_q"]
    upload = tables.read(npz(table(second=other)), arrays={"theta_q": "second"})
    np.testing.assert_array_equal(upload.data.q, other)
    assert upload.notes == ("'theta_q' was left unread: no test knows an array of that name.",)
    content = hdf5(table(second=other))
    assert tables.read(content, arrays={"theta_q": "second"}).digest == upload.digest


def test_an_arviz_file_can_be_read_by_paths():
    theta, x, q = table().values()
    simulated = {"a": (("row", "d"), theta), "b": (("row", "m"), x)}
    drawn = {"mu": (("draw", "row", "d"), np.swapaxes(q, 0, 1))}
    content = netcdf({"posterior": drawn, "elsewhere": simulated})
    said = {"theta": "elsewhere/a", "x": "elsewhere/b", "theta_q": "posterior/mu"}
    assert tables.read(content, arrays=said).digest == tables.read(npz(table())).digest


def test_files_of_one_array_are_named_by_their_files():
    arrays = renamed()
    given = [(f"{name}.npy", npy(array)) for name, array in arrays.items()]
    with pytest.raises(UnknownArrays) as caught:
        tables.read_files(given)
    assert caught.value.shapes == {name: array.shape for name, array in arrays.items()}
    ((_, upload, _),) = tables.read_files(given, arrays=SAID)
    assert upload.digest == tables.read(npz(table())).digest
    plain = csv({"a": arrays["params"][:, 0], "b": arrays["params"][:, 1]})
    mixed = [("params.csv", plain), *given[1:]]
    ((_, upload, _),) = tables.read_files(mixed, arrays=SAID)
    np.testing.assert_allclose(upload.data.theta, arrays["params"], rtol=1e-6)


def test_several_tables_have_the_same_names():
    given = [("a.npz", npz(renamed())), ("b.npz", npz(table(seed=1)))]
    with pytest.raises(UnknownArrays, match="'a' holds params \\(60, 2\\)"):
        tables.read_files(given)
    assert [one.label for one in tables.read_files(given, arrays=SAID)] == ["a", "b"]


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"theta": "parameters"}, "got parameters, and it holds params (60, 2), obs (60, 3)"),
        ({"truth": "params"}, "got truth. Choose among those"),
        ({**SAID, "x": "params"}, "theta = params, x = params"),
        ({"theta": "params", "x": "obs"}, "missing: theta_q"),
        ({**SAID, "theta_q": "obs"}, "theta_q"),
    ],
)
def test_roles_that_cannot_be_meant_are_refused(said, words):
    for read in (tables.read, lambda content, **said: tables.read_files([("a", content)], **said)):
        with pytest.raises(ValueError, match="got") as caught:
            read(npz(renamed()), arrays=said)
        if read is tables.read:
            assert words in str(caught.value)


def test_an_array_that_cannot_be_read_is_none_to_choose():
    words = np.array(["a", "b"])
    with pytest.raises(UnknownArrays) as caught:
        tables.read(hdf5({"params": np.zeros((N, D)), "words": words}))
    assert caught.value.shapes == {"params": (N, D)}


@pytest.mark.parametrize(
    ("shapes", "roles"),
    [
        ({"a": (9, 2), "b": (9, 2), "c": (9, 5, 2)}, {"theta": "a", "x": "b", "theta_q": "c"}),
        ({"obs": (9, 2), "par_true": (9, 2), "c": (5, 9, 2)},
         {"theta": "par_true", "x": "obs", "theta_q": "c"}),
        ({"image": (9, 8, 8), "draws_of_q": (9, 5, 2), "z": (9, 2)},
         {"theta": "z", "x": "image", "theta_q": "draws_of_q"}),
        ({"x": (9, 4), "a": (9, 2)}, {"x": "x"}),
        ({}, {}),
    ],
)  # fmt: skip
def test_shapes_and_names_tell_what_arrays_may_be(shapes, roles):
    assert tables.guess_roles(shapes) == roles


def test_names_of_arrays_are_given_in_python_too(tmp_path):
    path = tmp_path / "run.npz"
    path.write_bytes(npz(renamed()))
    assert npt.read(path, arrays=SAID).n == N
    with pytest.raises(ValueError, match="arrays=\\{'theta': 'params', 'x': 'obs'"):
        npt.read(path)
    assert tables.read(csv(columns(table()))).n == N
