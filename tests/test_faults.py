"""Faults at random moments: nothing is lost, nothing is wrong, nothing waits for ever.

A worker, the server, the disk, the cache, the clock or the folders for temporary files fail while
a sweep runs. Afterwards its results are those of a sweep that nobody disturbed, to the bit, and
no process and no file is left behind.
"""

import errno
import json
import os
import queue
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from tests import faulty
from tests.conftest import ROOT
from tests.test_engine import LONG_WAIT, eventually
from validation_core import diagnosis, keys
from validation_core.diagnosis import tasks as diagnoses
from validation_core.engine import Engine, SelfCheck
from validation_core.engine.task import SerialExecutor
from validation_core.methods import SBC
from validation_core.scores.trained_scores import TrainTask
from validation_core.store import Store, StoreFullError
from validation_core.tables import Upload


class Writes:
    """Counts what this process asks of the disk below some folders, and refuses some of it."""

    names = ("open", "os.mkdir", "os.rename", "os.remove", "os.utime", "shutil.copyfile")

    def __init__(self):
        self.folders = ()
        self.count = 0
        self.refused = range(0)
        self.error = 0
        sys.addaudithook(self)

    def __call__(self, event, arguments):
        if not self.folders or event not in self.names:
            return
        if event == "open" and not (isinstance(arguments[2], int) and self.writes(arguments[2])):
            return
        path = arguments[0]
        if not isinstance(path, str | bytes | os.PathLike):
            return
        if not os.fsdecode(path).startswith(self.folders):
            return
        self.count += 1
        if self.count in self.refused:
            raise OSError(self.error, os.strerror(self.error))

    @staticmethod
    def writes(flags):
        return flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)


@pytest.fixture(scope="module")
def every_write():
    return Writes()


@pytest.fixture
def writes(every_write):
    yield every_write
    every_write.folders = ()


def upload():
    rng = np.random.default_rng(0)
    theta, x = rng.normal(size=(60, 2)), rng.normal(size=(60, 1))
    arrays = {"theta": theta, "x": x, "theta_q": rng.normal(size=(60, 20, 2))}
    return Upload.of(arrays, order="NKD")


TABLE = upload()
VISIT = (
    SelfCheck(seed=1, rounds=1),
    SelfCheck(seed=2, rounds=1),
    *diagnosis.tasks.tasks(TABLE, [SBC()], seed=0),
)


def visit(store):
    """What a page does: a table comes, a job runs, everything is listed, the bound is changed."""
    diagnoses.save_upload(store, TABLE)
    engine = Engine(store, SerialExecutor())
    state = engine.submit(VISIT, "me").snapshot()
    store.entries()
    engine.interrupted()
    store.limit = 10**9
    store.delete("results", "nothing")
    store.verify()
    engine.close()
    return state


def bits(store, tasks):
    """The arrays of every result, by its key."""
    names = []
    for task in tasks:
        if isinstance(task, TrainTask):
            names += [("models", key) for key in task.makes]
        else:
            names += [("results", part.key) for part in getattr(task, "parts", [task])]
    stored = {name: store.load(*name) for name in names}
    return {name: entry and keys.digest(**entry.arrays) for name, entry in stored.items()}


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """What a visit leaves, and how many writes it takes."""
    store = Store(tmp_path_factory.mktemp("undisturbed"))
    assert visit(store).state == "done"
    return bits(store, VISIT)


ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO, errno.EACCES)


def check_writes(writes, undisturbed, folder, first, how, error):
    """The writes from the first one on that are refused change no result; whether any was."""
    store = Store(folder)
    places = (str(store.root), str(store.memory)) if how == "nowhere" else (str(store.root),)
    writes.count, writes.error = 0, error
    writes.refused = range(first, first + 1) if how == "once" else range(first, 10**9)
    writes.folders = places
    state = visit(store)
    writes.folders = ()
    reached = writes.count >= first
    assert not state.active
    if how == "nowhere":
        if state.state == "failed":
            assert "must be kept on disk or in memory" in state.message
    else:
        assert state.state == "done", state.message
        assert bits(store, VISIT) == undisturbed
    assert not [path for path in folder.rglob("tmp/*") if reached and how == "once"]
    later = Store(folder)
    later.memory = store.memory
    assert visit(later).state == "done"
    assert not later.notices
    assert bits(later, VISIT) == undisturbed
    assert Engine(later, SerialExecutor()).interrupted() == []
    later.save("notes", "any", {}, spec="", meta={})
    assert not list(store.memory.glob("*/*.npz")), "it has been moved to the disk"
    assert bits(Store(folder), VISIT) == undisturbed
    return reached


@pytest.mark.parametrize("how", ["once", "from then on", "nowhere"])
def test_any_write_may_fail(writes, undisturbed, tmp_path, how):
    rng = random.Random(how)
    for first in range(1, 1000):
        error = rng.choice(ERRORS)
        if not check_writes(writes, undisturbed, tmp_path / str(first), first, how, error):
            break
    assert first > 20


@pytest.mark.soak
@pytest.mark.parametrize("how", ["once", "from then on", "nowhere"])
@pytest.mark.parametrize("error", ERRORS)
def test_any_write_may_fail_by_any_error(writes, undisturbed, tmp_path, how, error):
    for first in range(1, 1000):
        if not check_writes(writes, undisturbed, tmp_path / str(first), first, how, error):
            break
    assert first > 20


@pytest.fixture
def disk(tmp_path):
    """A function: a disk of so many kB, mounted where it is asked for."""
    mounted = []

    def mount(name, size=400):
        folder = tmp_path / name
        folder.mkdir()
        command = ["mount", "-t", "tmpfs", "-o", f"size={size}k", "tmpfs", str(folder)]
        try:
            subprocess.run(command, check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError):
            pytest.skip("only root mounts a disk of its own")
        mounted.append(folder)
        return folder

    yield mount
    for folder in mounted:
        subprocess.run(["umount", "-l", str(folder)], check=False)


def fill(folder):
    """Take every byte of a disk."""
    with suppress(OSError), (folder / "filler").open("wb", buffering=0) as file:
        for size in (4096, 1):
            with suppress(OSError):
                while file.write(b"x" * size):
                    pass


def test_a_disk_that_is_full_to_the_last_byte_is_said_once_and_lived_with(disk, undisturbed):
    folder = disk("full")
    store = Store(folder / "cache")
    fill(folder)
    assert visit(store).state == "done"
    (notice,) = store.notices
    for words in (str(folder), "No space left", "in memory", "NPTLAB_CACHE"):
        assert words in notice
    assert bits(store, VISIT) == undisturbed
    assert bits(Store.at(store.place()), VISIT) == undisturbed  # a worker sees them
    (folder / "filler").unlink()
    store.save("results", "another", {}, spec="", meta={})
    assert store.notices == []
    later = Store(folder / "cache")
    assert bits(later, VISIT) == undisturbed  # moved to the disk
    assert later.load("tables", TABLE.digest) is not None
    assert store.limit == 10**9


def test_a_disk_may_fill_in_the_middle_of_any_file(disk, undisturbed):
    folder = disk("filling")
    page = os.sysconf("SC_PAGE_SIZE")
    in_memory = 0
    for pages in range(60):
        fill(folder)
        os.truncate(folder / "filler", (folder / "filler").stat().st_size - pages * page)
        store = Store(folder / "cache")
        assert visit(store).state == "done"
        assert bits(store, VISIT) == undisturbed
        assert not list(folder.rglob("tmp/*"))
        in_memory += bool(store.notices)
        (folder / "filler").unlink()
        assert visit(store).state == "done"
        shutil.rmtree(folder / "cache")
        shutil.rmtree(store.memory, ignore_errors=True)
    assert 5 < in_memory < 60


def test_where_not_even_memory_takes_a_result_the_job_fails_in_words(disk, monkeypatch):
    folder, memory = disk("full"), disk("memory", 4)
    monkeypatch.setattr("validation_core.memory_folder.SHARED_MEMORY", memory)
    store = Store(folder)
    fill(folder)
    fill(memory)
    state = visit(store)
    assert state.state == "failed"
    assert "must be kept on disk or in memory" in state.message
    with pytest.raises(StoreFullError):
        store.save("results", "k", {"a": np.zeros(9)}, spec="", meta={})
    (folder / "filler").unlink()
    assert visit(store).state == "done"


class Server:
    """A process of `tests.faulty` and what it says."""

    def __init__(self, folder, before=(), **env):
        self.folder = folder
        self.temporary = folder / "temporary"
        self.temporary.mkdir(parents=True, exist_ok=True)
        self.mark = str(folder)
        env = {"TMPDIR": str(self.temporary), **env}
        self.log = (folder / "server.log").open("ab")
        self.process = subprocess.Popen(
            [*before, sys.executable, "-m", "tests.faulty"],
            cwd=ROOT, env={**os.environ, **env, "FAULTY_MARK": self.mark}, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log,
        )  # fmt: skip
        self.lines = queue.SimpleQueue()
        self.listener = threading.Thread(target=self._listen, daemon=True)
        self.listener.start()
        self.pid = self.hear()["ready"]
        self.workers = []

    def _listen(self):
        with self.process.stdout as lines:
            for line in lines:
                self.lines.put(json.loads(line))
        self.lines.put(None)

    def hear(self):
        """What it says next; None once it has ended."""
        return self.lines.get(timeout=LONG_WAIT)

    def ask(self, **command):
        self.process.stdin.write(json.dumps(command) + "\n")
        self.process.stdin.flush()

    def outcome(self, at=1.0, do=None):
        """How a run ends; once a part of it is done, something is done to it."""
        while (heard := self.hear()) is not None:
            if "state" in heard:
                return heard
            self.workers = heard["pids"]
            if do is not None and heard["fraction"] >= at:
                do()
                do = None
        return None

    def end(self):
        with suppress(BrokenPipeError):
            self.process.stdin.close()
        self.process.wait(LONG_WAIT)
        self.listener.join()
        self.log.close()

    def stray(self):
        """Processes that it has left."""
        found = []
        for entry in Path("/proc").glob("[0-9]*/environ"):
            try:
                if f"FAULTY_MARK={self.mark}\0".encode() in entry.read_bytes():
                    found.append(int(entry.parent.name))
            except OSError:
                continue
        return found


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    """A function: seed -> the results of a sweep that nobody disturbed."""
    known = {}

    def of(seed):
        if seed not in known:
            store = Store(tmp_path_factory.mktemp("expected"))
            tasks = faulty.sweep(seed)
            state = Engine(store, SerialExecutor()).submit(tasks, "me").snapshot()
            assert state.state == "done", state.message
            known[seed] = bits(store, tasks)
        return known[seed]

    return of


class Lab:
    """A server, started anew where a fault ended it."""

    def __init__(self, folder, expected, before=(), **env):
        self.folder, self.expected, self.before, self.env = folder, expected, before, env
        self.server = Server(folder, before, **env)
        self.stores = 0

    def new_store(self):
        self.stores += 1
        return self.folder / f"store{self.stores}"

    def sweep(self, do, at, cache=None, heal=None):
        """A fault in mid-sweep; then the sweep is asked for until it is done."""
        cache = cache or self.new_store()
        self.server.ask(run=str(cache), seed=0)
        outcome = self.server.outcome(at, lambda: do(cache))
        if heal:
            heal(cache)
        for _ in range(3):
            if outcome and outcome["state"] == "done" and self.whole(cache):
                break
            if outcome is None:
                self.restart()
            self.server.ask(run=str(cache), seed=0)
            outcome = self.server.outcome()
        assert outcome["state"] == "done", outcome
        assert outcome["left"] == []
        assert outcome["seconds"] >= 0
        eventually(lambda: self.whole(cache))  # what was kept in memory is moved to the disk
        assert not list(cache.glob("tmp/*"))
        return outcome

    def whole(self, cache):
        store = Store(cache)
        return bits(store, faulty.sweep(0)) == self.expected(0)

    def restart(self):
        self.server.end()
        eventually(lambda: not self.server.stray())
        self.server = Server(self.folder, self.before, **self.env)

    def close(self):
        self.server.end()
        eventually(lambda: not self.server.stray())
        assert not list(self.server.temporary.iterdir())


@pytest.fixture(scope="module")
def lab(tmp_path_factory, expected):
    """For all tests of this file: what each inflicts must be over when the next begins."""
    expected(0)
    lab = Lab(tmp_path_factory.mktemp("lab"), expected)
    yield lab
    lab.close()
    left = [path for path in Path("/dev/shm").glob("nptlab-*") if str(lab.server.pid) in path.name]
    assert left == []


def kill_a_worker(lab, rng):
    return lambda cache: os.kill(rng.choice(lab.server.workers), signal.SIGKILL)


def end_the_server(number):
    def fault(lab, rng):
        return lambda cache: os.kill(lab.server.pid, number)

    return fault


def files_of(cache):
    return [path for path in cache.rglob("*") if path.is_file() and path.suffix != ".lock"]


def damage_files(lab, rng):
    def do(cache):
        for path in files_of(cache):
            how = rng.choice(["leave", "delete", "truncate", "flip", "empty", "text"])
            try:
                raw = bytearray(path.read_bytes())
                if how == "delete":
                    path.unlink()
                elif how == "truncate":
                    os.truncate(path, rng.randrange(len(raw) + 1))
                elif how == "flip" and raw:
                    raw[rng.randrange(len(raw))] ^= 1 << rng.randrange(8)
                    path.write_bytes(raw)
                elif how in ("empty", "text"):
                    path.write_text("" if how == "empty" else "no store's file")
            except FileNotFoundError:  # renamed meanwhile
                continue

    return do


def delete_the_cache(lab, rng):
    return lambda cache: shutil.rmtree(cache, ignore_errors=True)


def jump_the_clock(lab, rng):
    def do(cache):
        days = rng.choice([-3000, -400, -1, 1, 400, 3000]) * 86400.0
        lab.server.ask(clock=days)  # heard after this sweep, and for the next
        for path in files_of(cache):
            try:
                os.utime(path, (time.time() + days, time.time() + days))
            except FileNotFoundError:
                continue

    return do


CACHE_FAULTS = {
    "a worker is killed": kill_a_worker,
    "cache files are damaged": damage_files,
    "the cache folder is deleted": delete_the_cache,
    "the clock jumps": jump_the_clock,
}
SERVER_FAULTS = {
    "the server is killed": end_the_server(signal.SIGKILL),
    "the server is told to end": end_the_server(signal.SIGTERM),
    "its terminal closes": end_the_server(signal.SIGHUP),
}


def inflict(lab, fault, rng):
    lab.sweep(fault(lab, rng), at=rng.uniform(0.02, 0.95))


def full_disk(lab, disk, rng, name):
    """It fills in mid-sweep, to the last byte, and has room again afterwards."""
    folder = disk(name, 2000)
    lab.sweep(
        lambda cache: fill(folder),
        at=rng.uniform(0.02, 0.95),
        cache=folder / "cache",
        heal=lambda cache: (folder / "filler").unlink(missing_ok=True),
    )


def read_only(lab, disk, rng, name):
    """It becomes read-only in mid-sweep, and can be written again afterwards."""
    folder = disk(name, 2000)

    def remount(how):
        for _ in range(2000):  # a file that is being written keeps it busy
            command = ["mount", "-o", f"remount,{how}", str(folder)]
            if subprocess.run(command, check=False, capture_output=True).returncode == 0:
                return

    lab.sweep(
        lambda cache: remount("ro"),
        at=rng.uniform(0.02, 0.95),
        cache=folder / "cache",
        heal=lambda cache: remount("rw"),
    )


@pytest.mark.slow
def test_a_sweep_survives_what_happens_to_its_workers_and_its_cache(lab):
    rng = random.Random(18)
    for fault in CACHE_FAULTS.values():
        inflict(lab, fault, rng)


@pytest.mark.slow
def test_a_sweep_survives_the_end_of_its_server(lab):
    rng = random.Random(18)
    for fault in SERVER_FAULTS.values():
        inflict(lab, fault, rng)


def test_a_sweep_survives_a_disk_that_fills_or_cannot_be_written(lab, disk):
    rng = random.Random(18)
    full_disk(lab, disk, rng, "full")
    read_only(lab, disk, rng, "read-only")


CROWDED = "mount -t tmpfs -o size=16k tmpfs /dev/shm && dd if=/dev/zero of=/dev/shm/filler 2>&-; "


def crowded(tmp_path, expected, disk):
    """A server whose folders for temporary files and memory are full."""
    temporary = disk("temporary-full", 16)
    fill(temporary)
    command = ["unshare", "-m", "sh", "-c", CROWDED + 'exec "$@"', "sh"]
    folder = tmp_path / "crowded"
    folder.mkdir()
    return Lab(folder, expected, command, TMPDIR=str(temporary))


def test_a_sweep_needs_neither_temporary_files_nor_memory_for_them(tmp_path, expected, disk):
    lab = crowded(tmp_path, expected, disk)
    lab.sweep(lambda cache: None, at=0.5)
    lab.close()


@pytest.mark.soak
@pytest.mark.parametrize("name", [*CACHE_FAULTS, *SERVER_FAULTS])
def test_a_fault_twenty_times_at_random_moments(lab, name):
    rng = random.Random(name)
    fault = {**CACHE_FAULTS, **SERVER_FAULTS}[name]
    for _ in range(20):
        inflict(lab, fault, rng)


@pytest.mark.soak
@pytest.mark.parametrize("how", [full_disk, read_only])
def test_a_disk_fails_twenty_times_at_random_moments(lab, disk, how):
    rng = random.Random(how.__name__)
    for i in range(20):
        how(lab, disk, rng, f"disk{i}")


@pytest.mark.soak
def test_no_room_for_temporary_files_twenty_times(tmp_path, expected, disk):
    rng = random.Random(0)
    lab = crowded(tmp_path, expected, disk)
    for _ in range(20):
        inflict(lab, kill_a_worker, rng)
    lab.close()
