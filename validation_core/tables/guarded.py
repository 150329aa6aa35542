"""Readers written in C run in a process of their own.

A damaged HDF5 or Parquet file can make its library abort, hang, or ask for all memory. In a child
process that costs a refusal and not the server: it has bounded memory and time, and what it finds
comes back as plain headers and numbers.
"""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from shutil import copyfileobj
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from validation_core.tables import source
from validation_core.tables.archive import _read_into
from validation_core.tables.source import Order, _Header

SECONDS = 10.0
"""How long a file may take to open, or one of its arrays to be read, beside its length."""

_RATE = 4e6  # bytes read in a second by a slow machine

_PACKAGE = Path(__file__).parents[1]
_IDLE = 120.0  # seconds that a child without work is kept
_ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "ARROW_NUM_THREADS")


class _Gone(Exception):
    """The child died or was ended for taking too long."""


class _Child:
    """A process that opens one file at a time."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", f"{_PACKAGE.name}.tables.child"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=_PACKAGE.parent,
            env={**os.environ, **dict.fromkeys(_ONE_THREAD, "1")},
        )
        assert self._process.stdin is not None, "a pipe was asked for"
        assert self._process.stdout is not None, "a pipe was asked for"
        self._to, self._from = self._process.stdin, self._process.stdout
        self.last_use: threading.Timer | None = None
        # A busy machine may take long to start it: that is not the file's fault.
        self._from.readline()

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def ask(self, request: Mapping[str, object], nbytes: int) -> dict[str, Any]:
        """Its answer to a request that makes it read so many bytes.

        Raises:
            _Gone: when it dies over it.
            ValueError: when it refuses.
        """
        with self._in_time(nbytes):
            self._to.write(json.dumps(request).encode() + b"\n")
            self._to.flush()
            answer = json.loads(self._from.readline() or b"null")
        if answer is None:
            self.abandon()
            raise _Gone
        if "refused" in answer:
            raise ValueError(answer["refused"])
        return answer

    def numbers(self, array: NDArray[np.generic]) -> NDArray[np.generic]:
        """The array, filled with the bytes that follow an answer.

        Raises:
            _Gone: when they do not come.
        """
        with self._in_time(array.nbytes):
            return _read_into(self._from, array)

    @contextmanager
    def _in_time(self, nbytes: int) -> Iterator[None]:
        alarm = threading.Timer(SECONDS + nbytes / _RATE, self._process.kill)
        alarm.daemon = True
        alarm.start()
        try:
            yield
        except (OSError, EOFError, ValueError):
            self.abandon()
            raise _Gone from None
        finally:
            alarm.cancel()

    def abandon(self) -> None:
        """End a process whose answers can no longer be told apart."""
        self._process.kill()
        self._process.wait()

    def end(self) -> None:
        """End it and let its pipes go."""
        self.abandon()
        for pipe in (self._to, self._from):
            with suppress(OSError):
                pipe.close()


class _Children:
    """Children without work, kept for the next file."""

    def __init__(self) -> None:
        self._idle: list[_Child] = []
        self._lock = threading.Lock()

    def take(self) -> _Child:
        with self._lock:
            while self._idle:
                child = self._idle.pop()
                if child.last_use:
                    child.last_use.cancel()
                if child.alive:
                    return child
                child.end()
        return _Child()

    def give(self, child: _Child) -> None:
        """Keep a child for a while, if it lives."""
        if not child.alive:
            child.end()
            return
        child.last_use = threading.Timer(_IDLE, self._let_go, (child,))
        child.last_use.daemon = True
        with self._lock:
            self._idle.append(child)
            child.last_use.start()

    def _let_go(self, child: _Child) -> None:
        with self._lock:
            if child not in self._idle:
                return
            self._idle.remove(child)
        child.end()

    def end(self) -> None:
        """Leave none behind."""
        with self._lock:
            for child in self._idle:
                if child.last_use:
                    child.last_use.cancel()
                child.end()
            self._idle.clear()


_children = _Children()
atexit.register(_children.end)


class _Guarded:
    """A file that a child process reads for this one.

    Raises:
        ValueError: when the child refuses the file, or dies over it.
    """

    def __init__(
        self,
        stream: BinaryIO,
        path: Path | None,
        stem: str,
        limit: int,
        chosen: Mapping[str, str] | None = None,
    ) -> None:
        self._copy = None if path else _copied(stream)
        self._child = _children.take()
        here = (path or Path(self._copy or "")).absolute()
        self._length = stream.seek(0, os.SEEK_END)
        try:
            request = {"open": str(here), "stem": stem, "limit": limit, "chosen": chosen or {}}
            self._said = self._ask(request)
        except ValueError:
            self.close()
            raise
        self.order: Order | None = self._said["order"]
        self.notes: tuple[str, ...] = tuple(self._said["notes"])

    def headers(self) -> Mapping[str, _Header]:
        return {
            name: _Header(tuple(shape), np.dtype(dtype))
            for name, (shape, dtype) in self._said["headers"].items()
        }

    def load(self, name: str) -> NDArray[np.generic]:
        declared = self.headers()[name]
        answer = self._ask({"load": name})
        kind = np.dtype(answer["dtype"])
        if tuple(answer["shape"]) != declared.shape or kind.hasobject:
            self._child.abandon()
            raise ValueError(_dead(f"{source.label(name)!r} as another array than declared"))
        array = np.empty(declared.shape, kind)
        try:
            return self._child.numbers(array)
        except _Gone:
            raise ValueError(_dead(f"{source.label(name)!r}, which cannot be read")) from None

    def _ask(self, request: Mapping[str, object]) -> dict[str, Any]:
        try:
            return self._child.ask(request, self._length)
        except _Gone:
            raise ValueError(_dead("one that its reader cannot read")) from None

    def close(self) -> None:
        _children.give(self._child)
        if self._copy is not None:
            with suppress(OSError):
                os.unlink(self._copy)


def _dead(what: str) -> str:
    return (
        f"A file must be whole, and readable in bounded time and memory; got {what}. It is "
        f"damaged or too large: save it again, or save arrays with numpy.savez."
    )


def _copied(stream: BinaryIO) -> str:
    """A copy of what was uploaded, where the child can open it."""
    stream.seek(0)
    with tempfile.NamedTemporaryFile(prefix="nptlab-", delete=False) as file:
        copyfileobj(stream, file, 2**20)
    return file.name
