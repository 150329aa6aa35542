"""Files that ask for too much, names that no page can show, pipes: refused in words, or read."""

import io
import os
import socket
import struct
import subprocess
import sys
import threading
import tracemalloc
import zipfile

import h5py
import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from pages.diagnose import files as page_files
from tests.files import columns, csv, hdf5, npy, npz, parquet_file, table
from validation_core import tables
from validation_core.tables import guarded_file, reading

N, K, D, M = 60, 12, 2, 3


def refusal(content, **options):
    with pytest.raises(ValueError, match=r"; got|missing") as caught:
        tables.read(content, **options)
    message = str(caught.value)
    assert message.isprintable()
    assert len(message) < 2000
    return message


# Bounds that are passed before anything is unpacked


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
        (wide_text, "1 to 20,000 columns, each under its own name; got 190,000"),
        (wide_parquet, "1 to 20,000 columns, each under its own name; got 20,001"),
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
    assert words in refusal(content)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
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
    monkeypatch.setattr(guarded_file, "SECONDS", 0.01)
    assert "at most 0.01 s; got one that takes longer" in refusal(content)
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


# One child each, two at a time


def test_a_third_file_waits_for_its_turn_and_is_refused_after_a_while(monkeypatch):
    monkeypatch.setattr(guarded_file, "PATIENCE", 0.2)
    held = [guarded_file.reader_pool.take() for _ in range(guarded_file.CHILDREN)]
    try:
        assert "no turn within 0.2 s" in refusal(npz(table()))
    finally:
        for child in held:
            guarded_file.reader_pool.give(child)
    assert tables.read(npz(table())).n == N


def test_many_readers_at_once_take_turns():
    content, sizes = npz(table()), []
    threads = [
        threading.Thread(target=lambda: sizes.append(tables.read(content).n)) for _ in range(12)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sizes == [N] * 12
    assert len(guarded_file.reader_pool.idle) <= guarded_file.CHILDREN


def test_a_child_lets_go_of_a_file_that_was_read(tmp_path):
    path = tmp_path / "a.npz"
    path.write_bytes(npz(table()))
    tables.read(path)
    child = guarded_file.reader_pool.idle[-1]
    assert child.ask({"close": True})["resident"] < 250e6
    if sys.platform == "linux":
        held = os.listdir(f"/proc/{child.process.pid}/fd")
        leads = {os.path.realpath(f"/proc/{child.process.pid}/fd/{fd}") for fd in held}
        assert str(path) not in leads


def test_a_child_is_ready_before_the_first_file():
    guarded_file.reader_pool.end()
    guarded_file.reader_pool.warm()
    (child,) = guarded_file.reader_pool.idle
    assert tables.read(npz(table())).n == N
    assert guarded_file.reader_pool.idle == [child]


# Names


def codes(*texts):
    """Text whose characters are these numbers, whatever Unicode says of them."""
    width = max(map(len, texts))
    rows = [list(text) + [0] * (width - len(text)) for text in texts]
    return np.array(rows, np.uint32).view(f"U{width}")[:, 0]


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("code", [0x110000, 0xD800, 0x202E, 0x1B, 0xFFFFFFFF])
def test_no_name_of_a_parameter_breaks_a_reader(code, order):
    given = codes([code, 0x61], [0x62]).astype(f"{order}U2") if order == "<" else None
    if given is None:
        given = codes([code, 0x61], [0x62]).view(np.uint32).astype(">u4").view(">U2")
    for upload in (
        tables.read(npz(table(theta_names=given))),
        tables.Upload.of(table(theta_names=given)),
    ):
        assert upload.names[0].endswith("a")
        assert upload.names[0].isprintable()
        assert upload.names[1] == "b"


ODD = ("theta\u202e", "a\nb", "\x1b[2J", "", "x" * 60_000, "THETA", "a/b", "<script>")


def named(name, content):
    file = io.BytesIO(content)
    with zipfile.ZipFile(file, "a") as archive:
        archive.writestr(f"{name}.npy", npy(np.zeros(3)))
    return file.getvalue()


@pytest.mark.parametrize("name", ODD)
def test_no_name_of_an_array_breaks_a_reader(name):
    upload = tables.read(named(name, npz(table())))
    assert upload.n == N
    assert all(note.isprintable() and len(note) < 300 for note in upload.notes)
    alone = npz({"x": np.zeros((N, M))})
    with pytest.raises(tables.UnknownArrays) as question:
        tables.read(named(name, alone))
    assert all(array and array.isprintable() for array in question.value.shapes)
    assert all(len(array) <= 200 for array in question.value.shapes)
    assert str(question.value).isprintable()


def test_an_array_with_a_name_that_is_shown_otherwise_can_be_chosen():
    arrays = table()
    content = npz({"x": arrays["x"], "theta_q": arrays["theta_q"]})
    file = io.BytesIO(content)
    with zipfile.ZipFile(file, "a") as archive:
        archive.writestr("par\u202eams.npy", npy(arrays["theta"]))
    with pytest.raises(tables.UnknownArrays) as question:
        tables.read(file.getvalue())
    (shown,) = set(question.value.shapes) - {"x", "theta_q"}
    assert tables.read(file.getvalue(), arrays={"theta": shown}).n == N


@pytest.mark.parametrize("name", [b"th\xedeta", "\u202e".encode(), b"\xff" * 9])
def test_names_of_hdf5_that_are_no_text(name):
    file = io.BytesIO(hdf5(table()))
    with h5py.File(file, "r+") as opened:
        opened[name] = np.zeros(3)
    upload = tables.read(file.getvalue())
    assert upload.n == N
    assert all(note.isprintable() for note in upload.notes)


def test_a_good_file_beside_a_hostile_one_is_read():
    good, bad = ("good.npz", npz(table())), ("\ud800.npz", b"PK\3\4" + b"\xff" * 99)
    with pytest.raises(ValueError, match="In the file 'table'") as caught:
        tables.read_files([good, bad])
    assert str(caught.value).isprintable()
    ((label, upload),) = tables.read_files([good])
    assert (label, upload.n) == ("good", N)


@pytest.mark.parametrize(
    "bad",
    [
        b"PK\3\4" + b"\xff" * 99,
        b"\x89HDF\r\n\x1a\n" + bytes(900),
        b"PAR1" + b"\xff" * 90 + b"PAR1",
        b"a\n" + b"\xff\xfe" * 9,
        named("\u202e\n" * 99, npz({"theta_q": np.zeros(3)})),
    ],
)
def test_a_page_shows_the_good_table_and_one_line_for_the_other(bad):
    sent = [("good.npz", io.BytesIO(npz(table()))), ("b\ud800\nd" * 99, io.BytesIO(bad))]
    reading = page_files.read_tables(sent, None, {})
    ((label, upload),) = reading.tables
    assert (label, upload.n) == ("good", N)
    (line,) = reading.refusals
    assert line.isprintable()


@pytest.mark.parametrize(
    "error",
    [
        UnicodeError("a\nb"),
        MemoryError(),
        RecursionError(),
        OverflowError("x"),
        struct.error("y"),
        SystemError("z"),
    ],
)
def test_whatever_goes_wrong_is_one_line(error, monkeypatch):
    def fails(*_):
        raise error

    monkeypatch.setattr(reading.table, "assemble_upload", fails)
    assert type(error).__name__ in refusal(npz(table()))


# What is not a file


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes have no names here")
@pytest.mark.parametrize("make", [npz, hdf5, lambda arrays: csv(columns(arrays))])
def test_a_pipe_is_read(make, tmp_path):
    content = make(table())
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_bytes, args=(content,))
    writer.start()
    assert tables.read(path).n == N
    writer.join()
    source, sink = os.pipe()
    writer = threading.Thread(target=_write, args=(sink, content))
    writer.start()
    assert tables.read(f"/dev/fd/{source}").n == N
    writer.join()
    os.close(source)


def _write(descriptor, content):
    with os.fdopen(descriptor, "wb") as sink:
        sink.write(content)


@pytest.mark.skipif(not os.path.exists("/dev/stdin"), reason="no such file here")
def test_the_standard_input_is_read():
    code = "from validation_core import tables; print(tables.read('/dev/stdin').n)"
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    given = {"input": npz(table()), "cwd": root, "timeout": 120}
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, **given)
    assert run.stdout.split() == [b"60"]


def test_an_opened_file_that_cannot_go_back_is_read():
    class Pipe(io.RawIOBase):
        def __init__(self, content):
            self._from = io.BytesIO(content)

        def read(self, size=-1):
            return self._from.read(size)

    assert tables.read(Pipe(npz(table()))).n == N
    assert "at most 2 kB; got more" in refusal(Pipe(npz(table())), limit=1000)


@pytest.mark.skipif(not os.path.exists("/dev/zero"), reason="no such file here")
def test_what_never_ends_or_never_begins_is_refused_at_once(tmp_path, monkeypatch):
    assert "begins with" in refusal("/dev/zero")
    assert "an empty file" in refusal("/dev/null")
    assert "Is a directory" in refusal(tmp_path)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "socket"))
        assert "must be there and readable" in refusal(tmp_path / "socket")
    os.mkfifo(tmp_path / "silent")
    monkeypatch.setattr(reading, "PIPE_SILENCE_SECONDS", 0.2)
    assert "nothing for 0.2 s" in refusal(tmp_path / "silent")


@pytest.mark.parametrize("limit", [0, -1])
def test_a_limit_is_above_zero(limit):
    assert f"above zero; got {limit}" in refusal(npz(table()), limit=limit)
    with pytest.raises(ValueError, match="above zero"):
        tables.read_files([("a", npz(table()))], limit=limit)


def test_no_space_for_a_copy_is_said(monkeypatch, tmp_path):
    monkeypatch.setattr(guarded_file.tempfile, "tempdir", str(tmp_path / "none"))
    assert "no space for a copy" in refusal(npz(table()))
