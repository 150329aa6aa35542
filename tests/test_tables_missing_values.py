"""Values that a netCDF file declares as missing, read as xarray reads them."""

import numpy as np
import pytest

from tests.files import N, arviz, hdf5, refusal, rewritten, table
from validation_core import tables


@pytest.mark.parametrize("fill", [-999.0, 1e20, 9.969209968386869e36])
@pytest.mark.parametrize("attribute", ["_FillValue", "missing_value"])
def test_missing_values_are_those_of_xarray(fill, attribute, tmp_path):
    xarray = pytest.importorskip("xarray")
    arrays = table()
    arrays["theta_q"][3, :4, 1] = fill
    arrays["x"][5, 0] = fill
    dims = {"theta": ("sim", "part"), "x": ("sim", "place"), "theta_q": ("sim", "draw", "part")}
    data = xarray.Dataset({name: (dims[name], array) for name, array in arrays.items()})
    for variable in data.data_vars.values():
        variable.attrs[attribute] = np.float32(fill)
    path = tmp_path / "made.nc"
    data.to_netcdf(path, engine="h5netcdf")
    upload = tables.read(path)
    with xarray.open_dataset(path, engine="h5netcdf") as opened:
        expected = {name: opened[name].to_numpy() for name in arrays}
    keep = np.isfinite(expected["theta_q"]).all((1, 2)) & np.isfinite(expected["x"]).all(1)
    assert upload.n == keep.sum() == N - 2
    for name in arrays:
        np.testing.assert_array_equal(upload.arrays()[name], expected[name][keep])
    shown = f"{fill:g}"
    assert f"4 values of theta_q are the file's missing value {shown}: treated as missing." in (
        upload.notes
    )
    assert any("1 values of x are" in note or "1 value of x is" in note for note in upload.notes)


def test_whole_numbers_have_missing_values_too():
    arrays = {name: (9 * array).astype(np.int16) for name, array in table().items()}
    arrays["theta_q"][4, 2, 0] = -999

    def change(file):
        for name in ("theta_q", "x"):
            file[name].attrs["_FillValue"] = np.int16(-999)
            file[name].attrs["missing_value"] = [1e20, -998.5]  # no whole number of 16 bits

    upload = tables.read(rewritten(change, hdf5(arrays)))
    assert upload.n == N - 1
    assert any("1 value of theta_q is the file's missing value -999" in n for n in upload.notes)


def test_a_missing_value_of_an_arviz_file_drops_its_simulation():
    arrays = table()
    arrays["theta_q"][7, 3, 0] = -999

    def change(file):
        file["posterior/mu"].attrs["_FillValue"] = np.float32(-999)
        file["truth/mu"].attrs["_FillValue"] = np.float32(np.nan)

    upload = tables.read(rewritten(change, arviz(arrays)))
    assert upload.n == N - 1
    assert any("missing value -999" in note for note in upload.notes)


def test_one_missing_value_for_half_of_the_rows_is_refused_as_nan_is():
    arrays = table()
    arrays["theta_q"][: N // 2 + 1] = -999

    def change(file):
        file["theta_q"].attrs["_FillValue"] = np.float32(-999)

    assert "half of the rows must be finite" in refusal(rewritten(change, hdf5(arrays)))


@pytest.mark.parametrize("name", ["scale_factor", "add_offset", "_Unsigned"])
def test_packed_numbers_are_refused_by_their_attribute(name):
    def change(file):
        file["x"].attrs[name] = 1.0

    assert f"packed with {name}" in refusal(rewritten(change))
