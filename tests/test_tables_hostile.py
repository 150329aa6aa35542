"""Files that ask for too much memory or time are refused by the bound that they exceed."""

import io
import struct
import tracemalloc
import zipfile

import h5py
import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from tests.files import N, hdf5, npy, npz, parquet_file, refusal, table
from validation_core import tables
from validation_core.tables import guarded_file


def words_once():
    """One long word, which every row of a column repeats."""
    words = pa.DictionaryArray.from_arrays(np.zeros(65_536, "i4"), pa.array(["x" * 40_000]))
    file = io.BytesIO()
    parquet.write_table(pa.table({"sample": words, "a": np.zeros(65_536)}), file)
    return file.getvalue()


def long_rows():
    zeros = pa.array(np.zeros(12_000_000, np.int32))
    file = io.BytesIO()
    names = ("sim", "draw", "theta_1", "x_1")
    parquet.write_table(pa.table(dict.fromkeys(names, zeros)), file, compression="zstd")
    return file.getvalue()


def wide_text():
    names = ",".join(f"c{i}" for i in range(190_000))
    return f"{names}\n{','.join(['1'] * 190_000)}\n".encode()


def wide_parquet():
    return parquet_file({f"c{i}": [1.0] for i in range(20_001)})


def many_groups():
    """Metadata beyond their bound: 2,000 columns in 60 groups of a row each."""
    return parquet_file({f"c{i}": np.zeros(60) for i in range(2000)}, row_group_size=1)


def many_entries():
    """An archive whose contents list an empty member 200,000 times."""
    entry = b"PK\1\2" + bytes(24) + struct.pack("<HHHHHII", 1, 0, 0, 0, 0, 0, 0) + b"a"
    count, size = 200_000, 200_000 * len(entry)
    whole = struct.pack("<4sQHHIIQQQQ", b"PK\6\6", 44, 45, 45, 0, 0, count, count, size, 4)
    place = struct.pack("<4sIQI", b"PK\6\7", 0, 4 + size, 1)
    end = struct.pack("<4sHHHHIIH", b"PK\5\6", 0, 0, 0xFFFF, 0xFFFF, 2**32 - 1, 2**32 - 1, 0)
    return b"PK\3\4" + count * entry + whole + place + end


def packed_otherwise():
    """LZMA, whose pieces unpack to any length."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("theta.npy", npy(np.zeros((1000, 20_000), np.float32)))
    return file.getvalue()


def many_members():
    file = io.BytesIO()
    with h5py.File(file, "w") as opened:
        opened["0/a"] = 1.0
        for i in range(3000):
            opened[f"0/b{i}"] = opened["0/a"]
        for group in range(1, 5):
            opened[str(group)] = opened["0"]
    return file.getvalue()


def endless_links():
    """theta at the end of links that lead on 500 times each, seven times over."""
    file = io.BytesIO(hdf5(table()))
    with h5py.File(file, "r+") as opened:
        opened.move("theta", "array")
        opened["theta"] = h5py.SoftLink("link0/array")
        for i in range(7):
            opened[f"link{i}"] = h5py.SoftLink("/".join([f"link{i + 1}"] * 500))
        opened["link7"] = h5py.SoftLink("/")
    return file.getvalue()


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (words_once, "The column sample must hold p or q"),
        (long_rows, "at most 10,737,418 rows; got 12,000,000"),
        (wide_text, "1 to 20,000 columns; got 190,000"),
        (wide_parquet, "1 to 20,000 columns; got 20,001"),
        (many_groups, "metadata of a .parquet file must take at most 8.39 MB"),
        (many_entries, "at most 1,048,576 bytes; got 9,400,000"),
        (packed_otherwise, "stored or deflated"),
        (many_members, "at most 10,000 arrays and groups"),
        (endless_links, "missing: theta"),
    ],
)
def test_a_bomb_is_refused_by_its_bound_and_costs_little_memory(make, words):
    content = make()
    guarded_file.reader_pool.end()  # a new child tells this file's own peak
    tracemalloc.start()
    said = refusal(content)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert words in said
    assert peak < 20e6
    assert guarded_file.reader_pool.idle[-1].peak < 400e6


def numbers(megabytes):
    """Whole numbers that are packed small: they are held twice while they become floats."""
    zeros = np.zeros((1000, 125 * megabytes), np.int64)
    return npz({"theta": zeros, "x": zeros[:, :1], "theta_q": zeros[:, None]}, compressed=True)


def test_memory_that_is_used_up_is_told_as_that_bound(monkeypatch):
    monkeypatch.setattr(guarded_file, "MEMORY", 300_000_000)
    assert "at most 300 MB of memory; got one that takes more" in refusal(numbers(60))
    assert tables.read(npz(table())).n == N  # another child takes its place


def test_time_that_is_used_up_is_told_as_that_bound(monkeypatch):
    content = numbers(30)
    monkeypatch.setattr(guarded_file, "SECONDS", 0.001)
    assert "at most 0.001 s of processor time; got one that takes longer" in refusal(content)
    monkeypatch.undo()
    assert tables.read(npz(table())).n == N


@pytest.mark.slow
def test_the_usual_limit_fits_in_the_memory_of_a_child():
    """Arrays of just the limit, held twice: the largest that is accepted is read, not refused."""
    count = (tables.LIMIT - 16_000) // 8 // 1000
    theta = np.zeros((1000, 1), np.int64)
    content = npz({"theta": theta, "x": theta, "theta_q": np.zeros((1000, count, 1), np.int64)},
                  compressed=True)  # fmt: skip
    assert "Rows must be different simulations" in refusal(content)
    assert 2 * tables.LIMIT < guarded_file.reader_pool.idle[-1].peak < guarded_file.MEMORY


def test_text_is_cut_before_it_reaches_the_server():
    content = npz(table() | {"theta_names": np.array(["x" * 2_000_000, "y"])}, compressed=True)
    tracemalloc.start()
    assert tables.read(content).names == ("x" * 39 + "…", "y")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2_000_000
