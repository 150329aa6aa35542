"""Pipes and other paths that are no files: read, or refused in words."""

import io
import os
import socket
import subprocess
import sys
import threading

import pytest

from tests.files import N, columns, csv, hdf5, npz, refusal, table
from validation_core import tables
from validation_core.tables import guarded_file, reading


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
    monkeypatch.chdir(tmp_path)  # a socket's whole path may be too long
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("socket")
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
