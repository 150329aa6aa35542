"""Formats that are not read: each refusal names the line that makes a file which is; it is run."""

import bz2
import gzip
import io
import lzma
import pathlib
import pickle
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile

import joblib
import numpy as np
import pandas as pd
import pytest
import safetensors.numpy
import scipy.io
import torch
import xarray

from tests.files import N, columns, csv, refusal, table
from validation_core import tables
from validation_core.tables import zarr_store

NAMES = {"numpy": np, "pandas": pd, "torch": torch, "scipy": scipy, "xarray": xarray,
         "joblib": joblib, "safetensors": safetensors, "pickle": pickle,
         "pathlib": pathlib}  # fmt: skip


def typed(content, tmp_path, monkeypatch, ending, before=""):
    """The table of the file that the line of a refusal makes, the first after some words."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / f"run{ending}").write_bytes(content)
    message = refusal(content)
    (line,) = re.findall(
        r"(?:numpy\.savez|xarray\.|pandas\.|open\('table').*?\)(?=\.(?:\s|$)|, or|; )",
        message.partition(before)[2] if before else message,
    )[:1]
    exec(line.replace("FILE", f"run{ending}"), dict(NAMES))
    (made,) = tmp_path.glob("table*")
    return tables.read(made)


def torch_file():
    file = io.BytesIO()
    torch.save({n: torch.tensor(a, requires_grad=True) for n, a in table().items()}, file)
    return file.getvalue()


def nested_file():
    """A row for each simulation, its draws in a column of lists."""
    file = io.BytesIO()
    pd.DataFrame({name: array.tolist() for name, array in table().items()}).to_parquet(file)
    return file.getvalue()


def mat_file():
    file = io.BytesIO()
    scipy.io.savemat(file, table())
    return file.getvalue()


def feather_file():
    file = io.BytesIO()
    pd.DataFrame(columns(table())).to_feather(file, compression="uncompressed")
    return file.getvalue()


def netcdf3_file():
    dims = {"theta": ("sim", "par"), "x": ("sim", "m"), "theta_q": ("sim", "draw", "par")}
    data = xarray.Dataset({n: (dims[n], a.astype("f4")) for n, a in table().items()})
    return bytes(data.to_netcdf(engine="scipy"))


def old_torch_file():
    """As torch saved before version 1.6."""
    file = io.BytesIO()
    tensors = {name: torch.tensor(array) for name, array in table().items()}
    torch.save(tensors, file, _use_new_zipfile_serialization=False)
    return file.getvalue()


def torch_tuple():
    file = io.BytesIO()
    torch.save(tuple(map(torch.tensor, table().values())), file)
    return file.getvalue()


def npy_of_a_dict():
    file = io.BytesIO()
    np.save(file, table(), allow_pickle=True)
    return file.getvalue()


FILES = {
    ".pt": torch_file,
    "-old.pt": old_torch_file,
    ".pkl": lambda: pickle.dumps(table()),
    ".mat": mat_file,
    ".feather": feather_file,
    ".nc": netcdf3_file,
    "0.pkl": lambda: pickle.dumps(table(), protocol=0),
    "-dict.npy": npy_of_a_dict,
    "-frame.pkl": lambda: pickle.dumps(pd.DataFrame(columns(table()))),
    "-lists.parquet": nested_file,
    ".safetensors": lambda: safetensors.numpy.save(table()),
}
SEVERAL = {
    ".pth": torch_tuple,
    "-tuple.pkl": lambda: pickle.dumps(tuple(table().values())),
    "-list.pkl": lambda: pickle.dumps([*table().values()], protocol=0),
}
PACKED = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}


@pytest.mark.parametrize("ending", FILES)
def test_the_line_that_a_refusal_names_makes_a_file_that_is_read(ending, tmp_path, monkeypatch):
    upload = typed(FILES[ending](), tmp_path, monkeypatch, ending)
    assert upload.n == N


@pytest.mark.parametrize("ending", SEVERAL)
def test_the_line_for_several_arrays_without_names_makes_a_file_that_is_read(
    ending, tmp_path, monkeypatch
):
    upload = typed(SEVERAL[ending](), tmp_path, monkeypatch, ending, "A tuple or list of them: ")
    assert upload.digest == tables.Upload.of(table()).digest


@pytest.mark.parametrize("ending", PACKED)
def test_the_command_that_unpacks_a_file_makes_one_that_is_read(ending, tmp_path):
    path = tmp_path / f"run.csv{ending}"
    path.write_bytes(PACKED[ending](csv(columns(table()))))
    (line,) = re.findall(r"Unpack it: (.*)\.$", refusal(path.read_bytes()))
    program, name = line.split()
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not there")
    subprocess.run([program, name.replace("FILE", str(path))], check=True)
    assert tables.read(path.with_suffix("")).n == N


def tar_file():
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("table.npz"))
    return file.getvalue()


def zipped(*names):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name in names:
            archive.writestr(name, "{}")
    return file.getvalue()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (zipped("[Content_Types].xml", "xl/workbook.xml"), "pandas.read_excel('FILE')"),
        (zipped("run/data.pkl", "run/version"), "a PyTorch file (a pickle, never opened)"),
        (zipped("run/table.npz", "__MACOSX/x"), "a zip of run/table.npz. Unpack it"),
        (zipped("notes.txt"), "a zip of notes.txt. Unpack it"),
        (gzip.compress(b"X\n\0\0\0\3", mtime=0), "write.csv(readRDS('FILE')"),
        (gzip.compress(b"RDX3\nX\n", mtime=0), "R's own format"),
        (bz2.compress(b"RDX3\nX\n"), "R's own format"),
        (b"RDX3\nX\n\0\0\0", "R's own format"),
        (gzip.compress(pickle.dumps(1), mtime=0), "a pickle"),
        (b"\x1f\x8b" + b"\xff" * 60, "gzip file. Unpack it"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "git lfs pull"),
        (b"\n<!DOCTYPE html><html><body>Sign in</body></html>", "a web page"),
        (tar_file(), "tar -xf FILE"),
        (gzip.compress(tar_file(), mtime=0), "tar -xf FILE"),
        (b"SIMPLE  =                    T" + b" " * 50, "a FITS file"),
        (b"SQLite format 3\0", "an SQLite database"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an Excel workbook"),
    ],
)
def test_formats_that_cannot_be_made_here_are_known_by_their_first_bytes(content, words):
    assert words in refusal(content)


@pytest.mark.parametrize(
    ("names", "told"),
    [((), r"zarr\.open\('.*run\.zarr', mode='r'\)"), (["zarr.json"], "got a zarr store, whose")],
)
def test_a_store_of_zarr_is_refused_with_what_reads_it_where_the_package_is_not(
    tmp_path, monkeypatch, names, told
):
    monkeypatch.setitem(sys.modules, "zarr", None)
    with pytest.raises(ValueError, match=told):
        zarr_store.copy_to_hdf5(tmp_path / "run.zarr", "run", 1000, names)


def test_a_real_file_of_torch_is_refused_with_the_line_that_converts_it(
    shared, tmp_path, monkeypatch
):
    content = (shared / "cases/torch_file.pt").read_bytes()
    assert "got a PyTorch file (a pickle, never opened). Save its tensors:" in refusal(content)
    assert typed(content, tmp_path, monkeypatch, ".pt").n == 100
