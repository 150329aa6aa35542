"""Axes that have names and labels: arrays are paired by these, in files, trees and in memory."""

import numpy as np
import pytest
import xarray as xr

import validation_core as npt
from tests.files import K, N, table

ORDER = np.random.default_rng(0).permutation(N)
NAMES = ["mass", "spin"]


def data():
    """theta, x and theta_q with names and labels along their axes."""
    dims = {"theta": ("sim", "p"), "x": ("sim", "k"), "theta_q": ("sim", "draw", "p")}
    labels = {"sim": np.arange(N), "p": NAMES}
    return {
        name: xr.DataArray(
            array, dims=dims[name], coords={d: labels[d] for d in dims[name] if d in labels}
        )
        for name, array in table(m=2).items()
    }


def exchanged():
    """The same, columns and rows of theta_q in another order, and axes in the other direction."""
    given = data()
    moved = given["theta_q"].isel(p=[1, 0], sim=ORDER).transpose("p", "draw", "sim")
    return given | {"theta_q": moved}


def in_memory(given, folder):
    return npt.Table(*(given[name] for name in ("theta", "x", "theta_q")))


def in_a_file(given, folder):
    apart = given | {"theta_q": given["theta_q"].rename(sim="simulation", p="of")}
    xr.Dataset(apart).to_netcdf(folder / "table.nc", engine="h5netcdf")
    return npt.read(folder / "table.nc")


def in_a_store(given, folder):
    zarr = pytest.importorskip("zarr")
    group = zarr.open_group(folder / "run.zarr", mode="w", zarr_format=2)
    apart = given | {"theta_q": given["theta_q"].rename(sim="simulation", p="of")}
    for name, array in xr.Dataset(apart).variables.items():
        values = array.to_numpy()
        group.create_array(name, data=values).attrs["_ARRAY_DIMENSIONS"] = list(array.dims)
    return npt.read(folder / "run.zarr")


def in_a_tree(given, folder):
    groups = {"/truth": "theta", "/observed_data": "x", "/posterior": "theta_q"}
    tree = {group: given[name].rename("t").to_dataset() for group, name in groups.items()}
    xr.DataTree.from_dict(tree).to_netcdf(folder / "tree.nc", engine="h5netcdf")
    return npt.read(folder / "tree.nc")


PLACES = [in_memory, in_a_file, in_a_store, in_a_tree]


@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::FutureWarning")
@pytest.mark.parametrize("saved", PLACES)
def test_rows_and_columns_are_paired_by_their_labels(saved, tmp_path):
    found, right = saved(exchanged(), tmp_path), npt.read(table(m=2)).arrays()
    theta, x, q = (found.arrays()[name] for name in ("theta", "x", "theta_q"))
    # A tree has the order of its posterior.
    columns, rows = ([1, 0], ORDER) if saved is in_a_tree else ([0, 1], np.arange(N))
    np.testing.assert_array_equal(theta, right["theta"][rows][:, columns])
    np.testing.assert_array_equal(x, right["x"][rows])
    np.testing.assert_array_equal(q, right["theta_q"][rows][..., columns])
    assert [name.strip("t[]") for name in found.names] == [NAMES[i] for i in columns]
    assert any("by its labels" in note for note in found.notes)


@pytest.mark.parametrize("saved", [in_memory, in_a_tree])
@pytest.mark.parametrize(("axis", "labels"), [("p", ["mass", "distance"]), ("sim", 1 + ORDER)])
def test_labels_that_others_have_not_are_refused(saved, axis, labels, tmp_path):
    given = data()
    given["theta_q"] = given["theta_q"].assign_coords({axis: labels})
    with pytest.raises(ValueError, match=f"same labels along {axis}, each once; got .* and "):
        saved(given, tmp_path)


def test_axes_of_a_matrix_are_paired_by_their_names(tmp_path):
    given = data()
    theta, q = (given[name].to_numpy() for name in ("theta", "theta_q"))
    square = {
        "theta": xr.DataArray(np.stack([theta, theta + 9], 1), dims=("sim", "r", "c")),
        "theta_q": xr.DataArray(np.stack([q, q + 9], 3), dims=("sim", "draw", "c", "r")),
        "x": given["x"],
    }
    for saved in (in_memory, in_a_tree):
        found = saved(square, tmp_path).arrays()
        means = found["theta_q"].reshape(N, K, 4).mean((0, 1)), found["theta"].reshape(N, 4)
        np.testing.assert_allclose(means[0], means[1].mean(0), atol=0.6)


@pytest.mark.parametrize("k", [K, N])
@pytest.mark.parametrize("turned", ["theta_q", "log_q_draws", "x"])
def test_each_array_of_a_file_is_turned_by_the_names_of_its_own_axes(k, turned, tmp_path):
    rng = np.random.default_rng(1)
    densities = {"log_q": rng.normal(size=N), "log_q_draws": rng.normal(size=(N, k))}
    arrays = table(k=k, m=N) | densities
    dims = {
        "theta": ("sim", "p"), "x": ("sim", "time"), "theta_q": ("sim", "draw", "p"),
        "log_q": ("sim",), "log_q_draws": ("sim", "draw"),
    }  # fmt: skip
    saved = xr.Dataset({name: (dims[name], array) for name, array in arrays.items()})
    saved[turned] = saved[turned].T
    saved.to_netcdf(tmp_path / "table.nc", engine="h5netcdf")
    found = npt.read(tmp_path / "table.nc")
    assert found.upload.digest == npt.read(arrays, order="NKD").upload.digest
    given = {name: saved[name] for name in arrays}
    assert npt.read(given, order="KND").upload.digest == found.upload.digest


def test_chains_on_an_axis_of_their_own_are_draws(tmp_path):
    arrays = table(m=2)
    chains = arrays["theta_q"].reshape(N, 2, K // 2, 2).transpose(1, 2, 0, 3)
    saved = xr.Dataset({
        "theta": (("sim", "p"), arrays["theta"]), "x": (("sim", "k"), arrays["x"]),
        "theta_q": (("chain", "draw", "sim", "p"), chains),
    })  # fmt: skip
    saved.to_netcdf(tmp_path / "table.nc", engine="h5netcdf")
    assert npt.read(tmp_path / "table.nc").upload.digest == npt.read(arrays).upload.digest


def test_names_that_a_library_gives_to_axes_without_one_say_nothing():
    arrays = table(m=2) | {"x": table()["x"][:, 0]}
    given = {name: xr.DataArray(array) for name, array in arrays.items()}
    assert npt.read(given).upload.digest == npt.read(arrays).upload.digest


def test_parts_of_x_may_have_axes_and_labels_of_their_own(tmp_path):
    arrays = table(m=2)
    parts = {
        "a": xr.DataArray(arrays["x"], dims=("sim", "band"), coords={"band": ["u", "v"]}),
        "b": xr.DataArray(arrays["x"], dims=("sim", "line"), coords={"line": ["H", "K"]}),
    }
    saved = xr.Dataset({n: (("sim", "draw", "p")[::s], arrays[n]) for n, s in STEPS.items()})
    saved.assign(parts).to_netcdf(tmp_path / "table.nc", engine="h5netcdf")
    found = npt.read(tmp_path / "table.nc", arrays={"x": ["a", "b"]})
    np.testing.assert_array_equal(found.arrays()["x"], np.hstack([arrays["x"]] * 2))
    with_dataset = npt.Table(saved["theta"], xr.Dataset(parts), saved["theta_q"])
    assert with_dataset.upload.dims == (2, 4)


STEPS = {"theta": 2, "theta_q": 1}
