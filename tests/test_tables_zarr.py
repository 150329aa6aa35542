"""Stores of zarr: a folder, a zip of it, an array each, trees of ArviZ; hostile ones."""

import json
import shutil

import numpy as np
import pytest

import validation_core as npt
from tests.files import K, N, npz, refusal, table
from validation_core import tables

zarr = pytest.importorskip("zarr")
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::FutureWarning")


def store(path, arrays, version=3, **axes):
    group = zarr.open_group(path, mode="w", zarr_format=version)
    for name, array in arrays.items():
        dims = {"dimension_names": axes[name]} if name in axes else {}
        group.create_array(name, data=array, chunks=(7, *array.shape[1:]), **dims)
    return path


@pytest.mark.parametrize("version", [2, 3])
def test_a_store_is_read_as_a_folder_and_as_a_zip(tmp_path, version):
    path = store(tmp_path / "run.zarr", table(theta_names=np.array(["mass", "spin"])), version)
    wanted = tables.read(npz(table()))
    zipped = shutil.make_archive(str(tmp_path / "inside"), "zip", path)
    folder = shutil.make_archive(str(tmp_path / "whole"), "zip", tmp_path, "run.zarr")
    for file in (path, zipped, folder):
        found = npt.read(file)
        assert found.upload.digest == wanted.digest
        assert (found.names, found.warnings, found.notes) == (("mass", "spin"), (), ())


def test_stores_of_one_array_each_are_one_table(tmp_path):
    for name, array in table().items():
        zarr.save_array(str(tmp_path / f"{name}.zarr"), array)
    found = npt.read([tmp_path / f"{name}.zarr" for name in table()])
    assert found.upload.digest == tables.read(npz(table())).digest


def test_a_tree_of_arviz_is_read_by_its_axes(tmp_path):
    arrays = table()
    draws = arrays["theta_q"].reshape(N, 3, K // 3, 2)
    groups = {
        "truth": (("sim",), arrays["theta"]), "posterior": (("sim", "chain", "draw"), draws),
    }  # fmt: skip
    for group, (axes, values) in groups.items():
        store(
            tmp_path / "run.zarr" / group,
            {"mu": values[..., 0], "tau": values[..., 1], "sim": np.arange(N)},
            mu=axes, tau=axes, sim=("sim",),
        )  # fmt: skip
    store(tmp_path / "run.zarr/observed_data", {"x": arrays["x"]}, x=("sim", "obs"))
    (tmp_path / "run.zarr/zarr.json").write_text(
        json.dumps({"zarr_format": 3, "node_type": "group", "attributes": {}})
    )
    found = npt.read(tmp_path / "run.zarr")
    assert (found.n, found.k, found.names, found.upload.dims) == (N, K, ("mu", "tau"), (2, 3))
    np.testing.assert_array_equal(found.arrays()["theta_q"], arrays["theta_q"])


def test_what_could_run_code_or_fill_the_memory_is_refused(tmp_path):
    path = store(tmp_path / "run.zarr", table(), 2)
    metadata = path / "theta/.zarray"
    declared = json.loads(metadata.read_text())
    metadata.write_text(json.dumps(declared | {"filters": [{"id": "pickle", "protocol": 5}]}))
    assert "zarr store" in refusal(path)
    metadata.write_text(json.dumps(declared | {"shape": [10**9, 2], "chunks": [10**8, 2]}))
    assert "must take at most" in refusal(path)
    metadata.write_text(json.dumps(declared | {"shape": [10**6, 2], "chunks": [1, 1]}))
    assert "at most 200,000 chunks" in refusal(path)
    metadata.write_text("{")
    assert "damaged" in refusal(path)
