"""The child processes that read files: their memory, their turns, their end."""

import os
import signal
import subprocess
import sys
import threading
import tracemalloc
from pathlib import Path

import pytest

from tests import files
from tests.files import N, hdf5, npz, refusal, table
from validation_core import tables
from validation_core.tables import guarded_file


def test_reading_holds_a_table_hardly_more_than_once(tmp_path):
    arrays = table(n=1000, k=1000, d=10, m=10)
    size = sum(array.nbytes for array in arrays.values())
    (tmp_path / "a.npz").write_bytes(npz(arrays))
    (tmp_path / "b.h5").write_bytes(hdf5(arrays))
    tracemalloc.start()
    for name in ("a.npz", "b.h5"):
        tracemalloc.reset_peak()
        tables.read(tmp_path / name, order="NKD")
        assert tracemalloc.get_traced_memory()[1] < 2.2 * size
    tracemalloc.stop()


def test_a_reader_that_dies_or_hangs_costs_a_refusal(monkeypatch):
    good = hdf5(table())
    assert tables.read(good).n == N
    guarded_file.reader_pool.idle[-1].abandon()
    assert tables.read(good).n == N  # another takes its place
    monkeypatch.setattr(guarded_file.ReaderProcess, "ask", _dies(guarded_file.ReaderProcess.ask))
    assert "at most 1.5 GB of memory" in refusal(good)
    monkeypatch.undo()
    assert tables.read(good).n == N


def _dies(ask):
    def asked(child, request):
        child.process.kill()
        child.process.wait()
        return ask(child, request)

    return asked


def test_children_are_kept_and_leave_nothing_behind(tmp_path, monkeypatch):
    monkeypatch.setattr(guarded_file.tempfile, "tempdir", str(tmp_path))
    before = len(guarded_file.reader_pool.idle)
    for _ in range(3):
        tables.read(hdf5(table()))
        refusal(hdf5(table())[:100])
    assert len(guarded_file.reader_pool.idle) <= max(1, before)
    assert not list(tmp_path.iterdir())


def test_this_process_imports_no_reader_written_in_c():
    import sys

    code = (
        "import sys; from validation_core import tables;"
        "tables.read(sys.stdin.buffer.read());"
        "assert not {'h5py', 'pyarrow', 'torch'} & sys.modules.keys()"
    )
    subprocess.run([sys.executable, "-c", code], input=hdf5(table()), check=True, timeout=120,
                   cwd=files.__file__.rpartition("/tests/")[0])  # fmt: skip


@pytest.mark.skipif(sys.platform != "linux", reason="signals of POSIX, limits from /proc")
def test_the_time_of_a_reader_is_the_processor_s(monkeypatch):
    """Others may have the processor meanwhile: the clock may show three times as much."""
    monkeypatch.setattr(guarded_file, "SECONDS", 1.0)
    assert tables.read(npz(table())).n == N
    child = guarded_file.reader_pool.idle[-1]
    limit = Path(f"/proc/{child.process.pid}/limits").read_text().partition("Max cpu time")[2]
    assert int(limit.split()[0]) < 60
    os.kill(child.process.pid, signal.SIGSTOP)
    later = threading.Timer(3.0, os.kill, (child.process.pid, signal.SIGCONT))
    later.start()
    assert tables.read(npz(table())).n == N
    later.join()
    os.kill(child.process.pid, signal.SIGXCPU)  # as the system does when its time is up
    child.process.wait()
    assert "at most 1 s of processor time; got one that takes longer" in child.why(10**9)


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
