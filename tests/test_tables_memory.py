"""Tables in memory of other packages: torch, pandas, xarray and dicts, by what they can do."""

import subprocess
import sys

import pandas as pd
import pytest
import torch
import xarray

import validation_core as npt
from tests.files import K, N, npz, table
from tests.test_tables_long import frame
from validation_core import tables
from validation_core.api.table import as_table


def same(found):
    assert found.upload.digest == tables.read(npz(table())).digest


def tensors():
    return {name: torch.tensor(array, requires_grad=True) for name, array in table().items()}


class ArrayLike:
    """Numbers that only `__array__` gives, as JAX has them."""

    def __init__(self, array):
        self._array = array

    def __array__(self, dtype=None, copy=None):
        return self._array.astype(dtype or self._array.dtype)


def test_tensors_with_gradients_are_read():
    given = tensors()
    same(npt.Table(**given))
    same(npt.read(given))
    same(as_table({"thetas": given["theta"], "xs": given["x"], "samples": given["theta_q"]}))
    same(npt.Table(list(given["theta"]), given["x"], given["theta_q"]))
    half = {name: tensor.bfloat16() for name, tensor in given.items()}
    assert npt.Table(**half).n == N


def test_arrays_that_give_themselves_are_read():
    same(npt.Table(**{name: ArrayLike(array) for name, array in table().items()}))


def test_a_dict_of_arrays_for_each_parameter_names_them():
    arrays = tensors()
    theta = {name: arrays["theta"][:, j : j + 1] for j, name in enumerate(("mass", "spin"))}
    drawn = {name: arrays["theta_q"][..., j : j + 1] for j, name in enumerate(theta)}
    found = npt.read({"theta": theta, "x": {"y": arrays["x"]}, "theta_q": drawn})
    same(found)
    assert (found.names, found.x_names) == (("mass", "spin"), ("y_1", "y_2", "y_3"))
    same(npt.Table(theta, arrays["x"], drawn))


def test_frames_are_read_with_their_columns_or_their_index():
    data = frame()
    plain = npt.read(data)
    assert (plain.n, plain.k, plain.names) == (N, K, ("mass", "spin"))
    indexed = npt.read(data.set_index(["event", "sample"]))
    assert indexed.upload.digest == plain.upload.digest
    arrays = table(m=2)
    truths = pd.DataFrame(arrays["theta"], columns=["mass", "spin"])
    drawn = data.set_index(["event", "sample"])[["mass", "spin"]]
    parts = npt.Table(truths, pd.DataFrame(arrays["x"]), drawn)
    assert parts.names == ("mass", "spin")
    assert parts.upload.digest == plain.upload.digest


def test_columns_of_a_frame_are_named_by_the_user():
    data = frame("which", "number", "{}_0")
    said = {"sim": "which", "draw": "number", "theta": ["mass_0", "spin_0"],
            "theta_q": ["mass", "spin"], "x": ["y1", "y2"]}  # fmt: skip
    assert npt.read(data, arrays=said).names == ("mass", "spin")
    with pytest.raises(tables.UnknownArrays, match="sim=NAME"):
        npt.read(data)


def test_datasets_and_trees_of_xarray_are_read():
    arrays = table()
    theta, x, q = arrays.values()
    dims = {"theta": ("sim", "par"), "x": ("sim", "datum"), "theta_q": ("sim", "draw", "par")}
    same(npt.read(xarray.Dataset({n: (dims[n], a) for n, a in arrays.items()})))
    posterior = {f"p{j}": (("sim", "chain", "draw"), q[:, None, :, j]) for j in range(2)}
    tree = xarray.DataTree.from_dict({
        "/posterior": xarray.Dataset(posterior),
        "/prior": xarray.Dataset({f"p{j}": ("sim", theta[:, j]) for j in range(2)}),
        "/observed_data": xarray.Dataset({"y": (("sim", "datum"), x)}),
    })  # fmt: skip
    same(npt.read(tree))


class Saves:
    """What ArviZ's InferenceData can do: write itself as netCDF."""

    def __init__(self, tree):
        self._tree = tree

    def to_netcdf(self, filename, engine="h5netcdf"):
        if self._tree is None:
            raise TypeError("Invalid value for attr 'a': None")
        self._tree.to_netcdf(filename, engine=engine)


def test_whatever_writes_itself_as_netcdf_is_read_or_says_why_not():
    dims = {"theta": ("sim", "par"), "x": ("sim", "datum"), "theta_q": ("sim", "draw", "par")}
    same(npt.read(Saves(xarray.Dataset({n: (dims[n], a) for n, a in table().items()}))))
    with pytest.raises(ValueError, match="Invalid value for attr 'a'"):
        npt.read(Saves(None))


def test_no_package_of_these_is_imported_for_arrays():
    code = (
        "import sys; import numpy as np; import validation_core as npt;"
        "rng = np.random.default_rng(0); theta = rng.normal(size=(60, 2));"
        "npt.Table(theta, theta + 1.0, rng.normal(size=(60, 9, 2)));"
        "assert not {'torch', 'pandas', 'xarray', 'h5py', 'pyarrow'} & sys.modules.keys()"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)
