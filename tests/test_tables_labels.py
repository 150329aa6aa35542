"""Names of arrays, parameters and files that no page can show: read, and shown otherwise."""

import io
import struct
import zipfile

import h5py
import numpy as np
import pytest

from pages.diagnose import files as page_files
from tests.files import M, N, hdf5, npy, npz, refusal, table
from validation_core import tables
from validation_core.tables import reading


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
def test_a_table_is_read_beside_arrays_whose_names_are_no_text(name):
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
    ((label, upload, files),) = tables.read_files([good])
    assert (label, upload.n, files) == ("good", N, ("good.npz",))


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
    reading = page_files.read_tables(sent, page_files.FileAnswers())
    ((label, upload, files),) = reading.tables
    assert (label, upload.n, files) == ("good", N, ("good.npz",))
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
def test_any_error_becomes_a_refusal_of_one_line(error, monkeypatch):
    def fails(*_, **__):
        raise error

    monkeypatch.setattr(reading.assembly, "assemble_upload", fails)
    assert type(error).__name__ in refusal(npz(table()))


def test_names_that_repeat_are_told_apart_and_said():
    given = table(theta_names=np.array(["mass", "mass"]), x_names=np.array(["u"] * M))
    upload = tables.Upload.of(given)
    assert upload.names == ("mass (1)", "mass (2)")
    assert upload.x_names == tuple(f"u ({i + 1})" for i in range(M))
    said = [text for text in upload.warnings if "more than once" in text]
    assert len(said) == 1
    assert "'mass'" in said[0]
    assert [text for text in upload.notes if "x_names has 'u' more than once" in text]
