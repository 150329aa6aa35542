"""Files of users, each parsed in a child process.

A damaged or hostile file can make a library abort, hang, or ask for all memory. In a child process
that costs a refusal and not the server: its memory and time are bounded, at most two read at once,
and nothing but headers and numbers comes back.
"""

from __future__ import annotations

import atexit
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from shutil import copyfileobj
from typing import Any, BinaryIO, Literal

import numpy as np
from numpy.typing import NDArray

from validation_core.settings import LIMITS
from validation_core.tables import roles, source
from validation_core.tables.chosen import Chosen
from validation_core.tables.source import LIMIT, ArrayHeader, Order, read_into, size_text

FileKind = Literal["npz", "npy", "csv", "parquet", "hdf5", "json", "zarr"]

CHILDREN = LIMITS.usual.readers
"""Files that are read at once, whoever sent them."""

PATIENCE = 60.0
"""Seconds that a file waits for its turn."""

SECONDS = 20.0
"""Processor time in which a file must be read; more only for files beyond `_LARGE` bytes."""

MEMORY = LIMITS.usual.reader_memory
"""Bytes that a child may hold; more only for arrays beyond the usual limit."""

_WALL = 6.0  # seconds of the clock to one of the processor: others may have it meanwhile
_LARGE = 200e6  # bytes that a browser may send
_RATE = 4e6  # bytes read in a second by a slow machine
_RESIDENT = 250e6  # bytes that a child may keep when a file is closed
_ANSWER = 2**24  # bytes of a header
_PIECE = 2**18

_PACKAGE = Path(__file__).parents[1]
_IDLE = 120.0  # seconds that a child without work is kept
_ONE_THREAD = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "ARROW_NUM_THREADS",
    "ARROW_IO_THREADS",
)
# Arrow's other pools set a GB of addresses aside, which would count as memory.
_SETTINGS = dict.fromkeys(_ONE_THREAD, "1") | {"ARROW_DEFAULT_MEMORY_POOL": "system"}


class _ReaderDied(Exception):
    """A child that died, or was ended because it took too long."""


class ReaderProcess:
    """A child process that reads one file at a time.

    Raises:
        OSError: when the system starts none.
    """

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", f"{_PACKAGE.name}.tables.reader_process"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=_PACKAGE.parent,
            env={**os.environ, **_SETTINGS},
        )
        assert self.process.stdin is not None, "a pipe was asked for"
        assert self.process.stdout is not None, "a pipe was asked for"
        assert self.process.stderr is not None, "a pipe was asked for"
        self._to, self._from = self.process.stdin, self.process.stdout
        self._errors = self.process.stderr
        self.last_use: threading.Timer | None = None
        """Timer that ends it when it has been without work for long."""
        self.peak = 0
        """Bytes that it has held at most, as it said when it closed its last file."""
        self._deadline = self.seconds = 0.0
        self._late = False
        # A busy machine may take long to start it: that is not the file's fault.
        self._from.readline()

    @property
    def alive(self) -> bool:
        """Whether the process is running."""
        return self.process.poll() is None

    def begin(self, nbytes: int) -> None:
        """Start its time for a file of so many bytes.

        The child is told its processor time, `seconds`, when it opens the file; where the system
        does not count that, or the child waits without using any, the clock ends it.
        """
        self.seconds = SECONDS + max(0.0, nbytes - _LARGE) / _RATE
        self._deadline = time.monotonic() + _WALL * self.seconds
        self._late = False

    def ask(self, request: Mapping[str, object]) -> dict[str, Any]:
        """Send a request and return the answer.

        Raises:
            _ReaderDied: when the child dies over it.
            ValueError: when it refuses.
        """
        with self._in_time():
            self._to.write(json.dumps(request).encode() + b"\n")
            self._to.flush()
            answer = json.loads(self._from.readline(_ANSWER) or b"null")
        if answer is None:
            self.abandon()
            raise _ReaderDied
        if answer.get("spent"):
            self.abandon()
        if "refused" in answer:
            raise ValueError(answer["refused"])
        return answer

    def numbers(self, array: NDArray[np.generic]) -> NDArray[np.generic]:
        """Fill an array with the bytes that follow an answer, and return it.

        Raises:
            _ReaderDied: when they do not come.
        """
        with self._in_time():
            return read_into(self._from, array)

    @contextmanager
    def _in_time(self) -> Iterator[None]:
        alarm = threading.Timer(max(0.0, self._deadline - time.monotonic()), self._end_late)
        alarm.daemon = True
        alarm.start()
        try:
            yield
        except (OSError, EOFError, ValueError):
            self.abandon()
            raise _ReaderDied from None
        finally:
            alarm.cancel()

    def _end_late(self) -> None:
        self._late = True
        self.process.kill()

    def why(self, memory: int) -> str:
        """The refusal of the file over which it died: late, out of memory, or damaged.

        Args:
            memory: bytes that it was allowed.
        """
        status = self.process.returncode
        if self._late or status == -_OUT_OF_TIME:
            return (
                f"A file must be read in at most {self.seconds:.3g} s of processor time; got one "
                f"that takes longer. {source.SMALLER}"
            )
        # Nobody here ended it: the system did, or a library that got no memory.
        words = self._said()
        if any(word in words for word in _OUT_OF_MEMORY) or status == -_KILLED:
            return source.memory_refusal(memory)
        return (
            f"A file must be whole, and readable in at most {size_text(memory)} of memory; got "
            f"one over which its reader breaks down. It is damaged or too large: save it again, "
            f"or save arrays with numpy.savez."
        )

    def _said(self) -> bytes:
        """The error output of a process that is dead."""
        with suppress(OSError, ValueError):
            return self._errors.read()
        return b""

    def abandon(self) -> None:
        """End a process whose next answer may belong to an earlier request."""
        if self.alive:
            # Its libraries may be about to say why they end it.
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(0 if self._late else 0.2)
        self.process.kill()
        self.process.wait()

    def end(self) -> None:
        """End it and close its pipes."""
        self.process.kill()
        self.process.wait()
        for pipe in (self._to, self._from, self._errors):
            with suppress(OSError):
                pipe.close()


_OUT_OF_MEMORY = (b"bad_alloc", b"MemoryError", b"out of memory", b"Cannot allocate memory")
_KILLED = getattr(signal, "SIGKILL", 9)
_OUT_OF_TIME = getattr(signal, "SIGXCPU", 24)


class ReaderPool:
    """A bounded number of children; those without work are kept for the next file."""

    def __init__(self) -> None:
        self.idle: list[ReaderProcess] = []
        """Children without work, the one used last at the end."""
        self._lock = threading.Lock()
        self._turns = threading.Semaphore(CHILDREN)

    def take(self) -> ReaderProcess:
        """Wait for a turn and return a child, idle or new.

        Raises:
            ValueError: when no turn comes, or no process can be started.
        """
        if not self._turns.acquire(timeout=PATIENCE):
            raise ValueError(
                f"At most {CHILDREN} files are read at once; got no turn within {PATIENCE:.3g} s. "
                f"Try again when others have been read."
            )
        try:
            return self._waiting() or ReaderProcess()
        except OSError as error:
            self._turns.release()
            raise ValueError(
                f"A file is read in a process of its own; got none from the system "
                f"({error.strerror or 'not started'}). Try again later."
            ) from None

    def _waiting(self) -> ReaderProcess | None:
        with self._lock:
            while self.idle:
                child = self.idle.pop()
                if child.last_use:
                    child.last_use.cancel()
                if child.alive:
                    return child
                child.end()
        return None

    def give(self, child: ReaderProcess) -> None:
        """Keep a child for the next file, if it lives, and end the turn."""
        if child.alive:
            child.last_use = threading.Timer(_IDLE, self._let_go, (child,))
            child.last_use.daemon = True
            with self._lock:
                self.idle.append(child)
                child.last_use.start()
        else:
            child.end()
        self._turns.release()

    def _let_go(self, child: ReaderProcess) -> None:
        with self._lock:
            if child not in self.idle:
                return
            self.idle.remove(child)
        child.end()

    def warm(self) -> None:
        """Start a child, unless one is idle."""
        if not self.idle:
            with suppress(ValueError):
                self.give(self.take())

    def end(self) -> None:
        """End all idle children."""
        with self._lock:
            for child in self.idle:
                if child.last_use:
                    child.last_use.cancel()
                child.end()
            self.idle.clear()


reader_pool = ReaderPool()
"""The children of this process."""
atexit.register(reader_pool.end)


def warm() -> None:
    """Start a child in the background, unless one is idle: the first file need not wait for it."""
    if not reader_pool.idle:
        threading.Thread(target=reader_pool.warm, daemon=True).start()


class GuardedFile:
    """A file that a child process reads.

    Args:
        stream: the file, opened for reading.
        path: its path, if a child can open it there too; None to copy it.
        kind: its format.
        stem: name of its array where the file has none.
        limit: bytes that its arrays may take in memory.
        chosen: names of arrays by the role that the user gives them.

    Raises:
        ValueError: when the child refuses the file, or dies over it.
    """

    def __init__(
        self,
        stream: BinaryIO,
        path: Path | None,
        kind: FileKind,
        stem: str,
        limit: int,
        chosen: Chosen | None = None,
    ) -> None:
        self._copy = None if path else _copied(stream)
        self._memory = MEMORY + 2 * max(0, limit - LIMIT)
        try:
            self._child = reader_pool.take()
        except ValueError:
            self._forget()
            raise
        try:
            self._child.begin(stream.seek(0, os.SEEK_END))
            self._said = self._ask(
                {
                    "open": str((path or Path(self._copy or "")).absolute()),
                    "kind": kind,
                    "stem": stem,
                    "limit": limit,
                    "memory": self._memory,
                    "seconds": self._child.seconds,
                    "chosen": chosen or {},
                }
            )
        except BaseException:
            self.close()
            raise
        self.order: Order | None = self._said["order"]
        self.columns: bool = self._said["columns"]
        """Whether its arrays are columns of which nobody said what they are."""
        self.named: bool = self._said["named"]
        """Whether what the user chose were columns, of which its arrays are made."""
        self.notes: tuple[str, ...] = tuple(self._said["notes"])

    def headers(self) -> Mapping[str, ArrayHeader]:
        return {
            name: ArrayHeader(tuple(shape), np.dtype(dtype))
            for name, (shape, dtype) in self._said["headers"].items()
        }

    def load(self, name: str) -> NDArray[np.generic]:
        declared = self.headers()[name]
        answer = self._ask({"load": name})
        kind = np.dtype(answer["dtype"])
        if tuple(answer["shape"]) != declared.shape or kind != source.working_dtype(
            declared.dtype
        ):
            self._child.abandon()
            raise ValueError(
                f"An array must be what its header declares; got {roles.label(name)!r} as "
                f"another. The file is damaged: save it again."
            )
        self.notes = tuple(answer["notes"])
        try:
            return self._child.numbers(np.empty(declared.shape, kind))
        except MemoryError:  # the server's own
            self._child.abandon()
            raise
        except _ReaderDied:
            raise ValueError(self._child.why(self._memory)) from None

    def _ask(self, request: Mapping[str, object]) -> dict[str, Any]:
        try:
            return self._child.ask(request)
        except _ReaderDied:
            raise ValueError(self._child.why(self._memory)) from None

    def close(self) -> None:
        if self._child.alive:
            # A child that closes late, or that stays large, is not kept.
            self._child.begin(0)
            with suppress(_ReaderDied, ValueError):
                closed = self._child.ask({"close": True})
                self._child.peak = closed["peak"]
                if closed["resident"] > _RESIDENT:
                    self._child.abandon()
        reader_pool.give(self._child)
        self._forget()

    def _forget(self) -> None:
        if self._copy is not None:
            with suppress(OSError):
                os.unlink(self._copy)


def _copied(stream: BinaryIO) -> str:
    """Copy an upload to a temporary file that the child can open, and return its path.

    Raises:
        ValueError: when there is no space for it.
    """
    stream.seek(0)
    file = None
    try:
        with tempfile.NamedTemporaryFile(prefix="nptlab-", delete=False) as file:
            copyfileobj(stream, file, _PIECE)
    except OSError as error:
        if file is not None:
            with suppress(OSError):
                os.unlink(file.name)
        raise ValueError(
            f"A file is copied before it is read; got no space for a copy in the folder of "
            f"temporary files ({error.strerror or type(error).__name__}). Free some, or set "
            f"TMPDIR."
        ) from None
    return file.name
