"""Formats that are not read: what each is called, and the line that makes a file which is read."""

from __future__ import annotations

import bz2
import lzma
import re
import zlib
from collections.abc import Collection
from typing import NamedTuple

from validation_core.text import first_text

SAVE = "Save it with numpy.savez(file, theta=..., x=..., theta_q=...)."
"""The remedy at the end of a refusal."""
_PAGE = (b"<!doctype html", b"<html")
_PEEKED = 512  # bytes that are unpacked of a compressed file


class _Format(NamedTuple):
    """A format by its name, and how to make a file that is read of it."""

    name: str
    remedy: str


_TORCH = _Format(
    "a PyTorch file (a pickle, never opened)",
    "Save its tensors: numpy.savez('table.npz', **{name: tensor.detach().numpy() for name, "
    "tensor in torch.load('FILE', map_location='cpu').items()}). A tuple or list of them: "
    "numpy.savez('table.npz', **{name: tensor.detach().numpy() for name, tensor in "
    "zip(('theta', 'x', 'theta_q'), torch.load('FILE', map_location='cpu'))}). One tensor alone: "
    "numpy.save('theta.npy', torch.load('FILE', map_location='cpu').detach().numpy()). Where they "
    "are bfloat16, write .float().numpy().",
)
_PICKLE = _Format(
    "a pickle, which is never opened here",
    "Where you trust it, save its arrays: numpy.savez('table.npz', "
    "**pickle.loads(pathlib.Path('FILE').read_bytes())), or joblib.load('FILE') in its place. "
    "A tuple or list of them: numpy.savez('table.npz', **dict(zip(('theta', 'x', 'theta_q'), "
    "pickle.loads(pathlib.Path('FILE').read_bytes())))).",
)
_FRAME = _Format(
    "a pickled frame of pandas, which is never opened here",
    "Where you trust it: pandas.read_pickle('FILE').to_parquet('table.parquet').",
)
_WEB_PAGE = _Format(
    "a web page", "It was saved in place of the file, perhaps one to sign in: download it again."
)
_LFS = _Format(
    "a pointer of Git LFS, which stands for the file",
    "Fetch the file itself in its repository: git lfs pull.",
)
_EXCEL = _Format(
    "an Excel workbook",
    "Save the sheet as .csv: pandas.read_excel('FILE').to_csv('table.csv', index=False).",
)
_R = _Format(
    "R's own format (.rds, .RData)",
    "Save its table as .csv, in R: write.csv(readRDS('FILE'), 'table.csv', row.names = FALSE); "
    "of load('FILE'), write.csv of the table that it gives.",
)
_FEATHER = _Format(
    "an Arrow or Feather file",
    "Save it as Parquet: pandas.read_feather('FILE').to_parquet('table.parquet').",
)
_ARROW_STREAM = _Format(
    "a stream of Arrow",
    "Save it as Parquet: pyarrow.parquet.write_table(pyarrow.ipc.open_stream('FILE').read_all(), "
    "'table.parquet').",
)
_MATLAB = _Format(
    "a MATLAB file of version 5, not 7.3",
    "Save it in MATLAB with save('FILE', '-v7.3'), or in Python: numpy.savez('table.npz', "
    "**{name: array for name, array in scipy.io.loadmat('FILE').items() if name[0] != '_'}).",
)
_NETCDF3 = _Format(
    "a netCDF-3 file",
    "Convert it: xarray.load_dataset('FILE').to_netcdf('table.nc', engine='h5netcdf').",
)
_SAFETENSORS = _Format(
    "a safetensors file",
    "Save its arrays: numpy.savez('table.npz', **safetensors.numpy.load_file('FILE')).",
)
_ZARR = _Format(
    "a zarr store, whose reader is not installed here",
    "Install it: pip install 'zarr>=3'. Or save its arrays: numpy.savez('table.npz', **{name: "
    "array[:] for name, array in zarr.open('FILE', mode='r').arrays()}); what xarray opens: "
    "xarray.open_zarr('FILE').to_netcdf('table.nc', engine='h5netcdf').",
)
_FITS = _Format(
    "a FITS file",
    "Save its table as .csv: astropy.table.Table.read('FILE').to_pandas().to_csv('table.csv', "
    "index=False).",
)
_SQLITE = _Format(
    "an SQLite database",
    "Save its table as .csv: pandas.read_sql('SELECT * FROM name', "
    "sqlite3.connect('FILE')).to_csv('table.csv', index=False).",
)
_UTF16 = _Format(
    "text in UTF-16",
    "Save it in UTF-8: open('table.csv', 'w', encoding='utf-8').write(open('FILE', "
    "encoding='utf-16').read()).",
)
_FIRST_BYTES = {
    b"version https://git-lfs": _LFS,
    b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19.": _TORCH,  # as it saved before version 1.6
    b"CDF": _NETCDF3,
    b"ARROW1": _FEATHER,
    b"FEA1": _FEATHER,
    b"\xff\xff\xff\xff": _ARROW_STREAM,
    b"MATLAB 5": _MATLAB,
    b"RDX": _R,
    b"RDA": _R,
    b"X\n": _R,
    b"\xd0\xcf\x11\xe0": _EXCEL,
    b"SIMPLE  =": _FITS,
    b"SQLite format 3": _SQLITE,
    b"\xff\xfe": _UTF16,
    b"\xfe\xff": _UTF16,
}
_OLD_PICKLE = re.compile(rb"\(?(?:[dl]p\d+\n|c[a-z_][\w.]*\n\w+\np?)")  # of protocol 0
_PACKED = {
    b"\x1f\x8b": ("gzip", "gunzip"),
    b"BZh": ("bzip2", "bunzip2"),
    b"\xfd7zXZ": ("xz", "unxz"),
}


def foreign_format(first: bytes) -> str | None:
    """Return what a file is that is not read, and how to make one that is; None for others.

    Args:
        first: its first bytes.
    """
    for magic, (name, command) in _PACKED.items():
        if first.startswith(magic):
            inside = _unpacked(first, name)
            if inside.startswith((b"RDX", b"RDA", b"X\n", b"A\n")):
                return _told(_R)
            if kind := _pickle(inside):
                return _told(kind)
            if _is_tar(inside):
                return "an archive of files. Unpack it and give the files in it: tar -xf FILE."
            return f"a {name} file. Unpack it: {command} FILE."
    for magic, kind in _FIRST_BYTES.items():
        if first.startswith(magic):
            return _told(kind)
    if kind := _pickle(first):
        return _told(kind)
    if _is_tar(first):
        return "an archive of files. Unpack it and give the files in it: tar -xf FILE."
    if first.removeprefix(b"\xef\xbb\xbf").lstrip()[:14].lower().startswith(_PAGE):
        return _told(_WEB_PAGE)
    length = int.from_bytes(first[:8], "little")
    if first[8:9] == b"{" and 2 <= length < 2**32 and (b'"dtype"' in first or length < 64):
        return _told(_SAFETENSORS)
    return None


def _pickle(first: bytes) -> _Format | None:
    """The pickle that begins with these bytes, if they are one's."""
    if not (first.startswith(b"\x80") or _OLD_PICKLE.match(first)):
        return None
    return _FRAME if re.search(rb"pandas[.\w]*\W+DataFrame", first[:_PEEKED]) else _PICKLE


def _is_tar(first: bytes) -> bool:
    return first[257:262] == b"ustar"


def foreign_archive(names: Collection[str]) -> str | None:
    """Return what a zip archive without arrays is, and how to make one that is read.

    Args:
        names: names of its members.
    """
    last = {name.rpartition("/")[2] for name in names}
    if "data.pkl" in last or "constants.pkl" in last:
        return _told(_TORCH)
    if "[Content_Types].xml" in names or "mimetype" in names:
        return _told(_EXCEL)
    if "model.json" in last or "config.json" in last:
        return (
            f"a saved network, with {first_text(sorted(names), 3)}. Draw from it at each x. {SAVE}"
        )
    return None


def zarr_refusal(name: str = "FILE") -> str:
    """Return the refusal of a store of zarr where no reader is installed.

    Args:
        name: of its folder, where it is one.
    """
    refusal = f"A file must be of a format that is read; got {_told(_ZARR)}"
    return refusal.replace("FILE", name)


def _told(kind: _Format) -> str:
    return f"{kind.name}. {kind.remedy}"


def _unpacked(first: bytes, name: str) -> bytes:
    """The first bytes of a compressed file, as far as a few tell."""
    try:
        if name == "gzip":
            return zlib.decompressobj(31).decompress(first, _PEEKED)
        if name == "bzip2":
            return bz2.BZ2Decompressor().decompress(first, _PEEKED)
        return lzma.LZMADecompressor(memlimit=2**26).decompress(first, _PEEKED)
    except (zlib.error, OSError, lzma.LZMAError, EOFError, ValueError):
        return b""
