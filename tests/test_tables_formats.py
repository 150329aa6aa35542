"""Every format says the same of the same table, and refuses the same faults in words."""

import io

import h5py
import numpy as np
import pytest

from tests.files import D, K, M, N, arviz, columns, csv, hdf5, npy, parquet_file, refusal, table
from validation_core import tables

FORMATS = {
    "csv": lambda arrays: csv(columns(arrays)),
    "semicolons": lambda arrays: csv(columns(arrays), ";"),
    "parquet": lambda arrays: parquet_file(columns(arrays)),
    "hdf5": hdf5,
    "hdf5 latest": lambda arrays: hdf5(arrays, libver="latest", chunks=True),
    "hdf5 packed": lambda arrays: hdf5(
        arrays, "run", compression="gzip", shuffle=True, fletcher32=True
    ),
    "netcdf": arviz,
    "netcdf prior": lambda arrays: arviz(arrays, chains=3, truth="prior"),
}


@pytest.mark.parametrize("make", FORMATS.values(), ids=FORMATS)
def test_every_format_reads_the_same_numbers(make):
    arrays = table()
    upload = tables.read(make(arrays))
    assert (upload.n, upload.k, upload.dims) == (N, K, (D, M))
    for name, array in upload.arrays().items():
        np.testing.assert_array_equal(array.astype(np.float32), arrays[name])
    assert not upload.dropped


@pytest.mark.parametrize("make", FORMATS.values(), ids=FORMATS)
def test_every_format_drops_and_counts_rows_that_are_not_finite(make):
    arrays = table()
    arrays["theta_q"][3, 2, 1], arrays["x"][5] = np.nan, np.inf
    upload = tables.read(make(arrays))
    assert upload.n == N - 2
    assert sum(upload.dropped.values()) == 2


@pytest.mark.parametrize("make", FORMATS.values(), ids=FORMATS)
def test_every_format_turns_whole_numbers_into_floats(make):
    arrays = {name: (3 * array).astype(np.int32) for name, array in table().items()}
    assert tables.read(make(arrays)).data.q.dtype == np.float64


@pytest.mark.parametrize("make", FORMATS.values(), ids=FORMATS)
def test_every_format_has_a_limit_that_counts_before_reading(make):
    assert "at most" in refusal(make(table()), limit=1000)


@pytest.mark.parametrize("make", FORMATS.values(), ids=FORMATS)
@pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 0.995])
def test_every_format_refuses_what_is_cut_off(make, share):
    whole = make(table())
    message = refusal(whole[: int(share * len(whole))])
    assert "whole" in message or "must have" in message or "rows" in message


@pytest.mark.parametrize("make", FORMATS.values(), ids=FORMATS)
def test_no_order_is_asked_for_where_the_file_tells_it(make):
    content = make(table(k=N))
    if content.startswith(b"\x89HDF") and "sim" not in _posterior(content):
        with pytest.raises(tables.AmbiguousOrder):  # axes without names, as in .npz
            tables.read(content)
        return
    assert tables.read(content).k == N


def _posterior(content):
    with h5py.File(io.BytesIO(content), "r") as opened:
        return list(opened.get("posterior", ()))


def test_a_single_array_needs_its_fellows():
    assert "missing: x, theta_q; got: theta" in refusal(npy(np.zeros((N, D))), name="theta.npy")
    assert "got: array" in refusal(npy(np.zeros((N, D))))
    assert "as long as its header" in refusal(npy(np.zeros(9))[:-4], name="theta.npy")
    message = refusal(npy(np.zeros(3)), name="../../theta.npy")
    assert "got: theta (3). Add" in message
