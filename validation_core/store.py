"""A folder of results by key.

    models/<key>.safetensors   results/<key>.npz   tables/<digest>.npz   jobs/<key>.npz
    notes/<digest>.npz

Files are written under another name and renamed, so that a reader in any process sees a complete
file or none. A damaged file is moved to `damaged/` with a notice; its result is computed anew.
While the disk cannot be written (full, read-only, broken), a notice says so and new files go to a
bounded folder in memory, shared by a server and its workers, until the disk is writable again.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import shutil
import tempfile
import threading
import time
import uuid
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal, NamedTuple, TypedDict, TypeVar

import filelock
import numpy as np
import platformdirs

from validation_core import array_files
from validation_core.array_files import Description, Stored
from validation_core.keys import JSON, Arrays
from validation_core.memory_folder import (
    clear,
    clear_at_exit,
    is_from_this_machine,
    memory_folder,
    owner_has_ended,
    process_stamp,
)
from validation_core.settings import CACHE


class StoreFullError(OSError):
    """Neither the disk nor memory can take a file; the message has the reason and the remedy."""


StoreKind = Literal["models", "results", "tables", "jobs", "notes"]
T = TypeVar("T")
LIMIT = 2 * 2**30
_MOST_BYTES = 2**60
SHIPPED = Path(__file__).parent / "data" / "gallery"
"""The gallery that comes with the package."""
_SUFFIX: Mapping[StoreKind, str] = {
    "models": ".safetensors",
    "results": ".npz",
    "tables": ".npz",
    "jobs": ".npz",
    "notes": ".npz",
}
_BOUNDED: tuple[StoreKind, ...] = ("models", "results", "tables")
_NAME = re.compile(r"[A-Za-z0-9_-]{1,80}")
_ABOUTS = 20_000  # files whose description is remembered
_STALE = 3600.0
RETRY = 5.0
"""Seconds until an unwritable folder is tried again."""
_IN_MEMORY = 512 * 2**20  # bytes kept in memory while the disk takes none
# Errors of the system rather than of the file.
_NOT_THE_FILE = {
    errno.EACCES,
    errno.EPERM,
    errno.EMFILE,
    errno.ENFILE,
    errno.ENOMEM,
    errno.EAGAIN,
    errno.ETIMEDOUT,
    errno.ESTALE,
}


class StorePlace(TypedDict):
    """Location of a store, for another process."""

    root: str
    limit: int
    gallery: str | None
    memory: str


class StoreEntry(NamedTuple):
    """One file of the store; `shipped` when it lies in the read-only gallery."""

    kind: StoreKind
    key: str
    spec: str
    meta: Mapping[str, JSON]
    bytes: int
    created: float
    used: float
    shipped: bool = False


class Store:
    """A folder of results by key, safe with several processes.

    Args:
        root: the folder; by default NPTLAB_CACHE, else the platform's user cache folder. While
            it cannot be written, files are kept in memory and `notices` says so.
        limit: bound in bytes on models, results and tables, until the folder records one.
        gallery: a second folder of the same layout, read after the first and never written.

    Raises:
        ValueError: for a bound that is not positive.

    Examples:
        >>> store = npt.Store("cache")
        >>> arrays = {"means": np.arange(3.0)}
        >>> store.save("results", "means", arrays, spec="means", meta={"rows": 9})
        >>> stored = store.load("results", "means")
        >>> stored.arrays["means"].tolist(), stored.number("rows")
        ([0.0, 1.0, 2.0], 9.0)
    """

    def __init__(
        self, root: Path | None = None, limit: int = LIMIT, gallery: Path | None = None
    ) -> None:
        self.notices: list[str] = []
        self.gallery = gallery
        self._abouts: dict[Path, tuple[tuple[int, int, int], Description]] = {}
        self.root = Path(root or default_root()).expanduser().absolute()
        name = hashlib.sha256(os.fsencode(self.root)).hexdigest()[:16]
        self.memory = memory_folder() / name
        """Folder of files while the root cannot be written; it exists only then."""
        self._default_limit = _positive(limit)
        self._unwritten_limit: int | None = None
        self._room = 0  # bytes that may be written before the folder is measured
        self._gone: set[Path] = set()  # files that could not be deleted
        self._waiting: threading.Thread | None = None
        clear_at_exit(os.getpid(), flush_and_clear)
        _OPEN.add(self)
        if error := self._refusal():
            self._say(error)
        self.settle()
        self._drop_leftovers()

    @classmethod
    def usual(cls) -> Store:
        """The user's folder, with the shipped gallery behind it.

        The API, the command line and every page open it where no store is given.
        """
        return cls(gallery=SHIPPED)

    def save(
        self, kind: StoreKind, key: str, arrays: Arrays, *, spec: str, meta: Mapping[str, object]
    ) -> None:
        """Write arrays under a key atomically; the files used longest ago are deleted for room.

        Args:
            kind: of file, which names its folder and format.
            key: name of the file.
            arrays: by name, of any numeric type or text.
            spec: canonical text of the specification that they follow from.
            meta: further metadata, as JSON values.

        Raises:
            ValueError: for a key that is no plain name, or arrays of Python objects.
            StoreFullError: when neither the disk nor memory has room.
        """
        try:
            self._write(self.root, kind, key, arrays, spec, meta)
        except OSError as error:
            self._write_to_memory(error, kind, key, arrays, spec, meta)
            return
        self._gone.discard(self.path_of(kind, key))
        _unlink(self.path_of(kind, key, self.memory))
        self.settle()
        if kind in _BOUNDED and self._is_outgrown(self.path_of(kind, key)):
            with suppress(OSError):  # another process may be pruning
                self.prune()

    def _is_outgrown(self, written: Path) -> bool:
        """Whether the folder is beyond its bound, now that a file was written.

        The folder is measured when the room that this process found in it is used up, and whenever
        it has written a hundredth of the bound: other processes write, too.
        """
        with suppress(OSError):  # another process deleted it meanwhile
            self._room -= written.stat().st_size
        if self._room > 0:
            return False
        limit, size = self.limit, self.size()
        self._room = min(limit - size, limit // 100)
        return size > limit

    def settle(self) -> None:
        """Move files from memory into the folder, as far as it can be written."""
        if not (self.memory.is_dir() or self._is_blocked):
            return
        for path in self._files(self.memory, tuple(_SUFFIX)):
            beside = self._beside(self.root, path.suffix)
            try:
                for folder in (beside.parent, self.root / path.parent.name):
                    folder.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, beside)
                if path.exists():  # else a newer one is on the disk already
                    os.replace(beside, self.root / path.parent.name / path.name)
                    path.unlink(missing_ok=True)
            except OSError:  # for the next time
                return
            finally:
                _unlink(beside)
        if self._unwritten_limit is not None:
            self.limit = self._unwritten_limit
        if self._refusal() is None:
            self._unsay()

    @property
    def awaits_disk(self) -> bool:
        """Whether files wait in memory, or the folder cannot be written."""
        kept = self.memory.is_dir() and self._files(self.memory, tuple(_SUFFIX))
        return bool(kept) or self._is_blocked

    def load(self, kind: StoreKind, key: str) -> Stored | None:
        """Load the file of a key, or None; this marks it as used."""
        for path in self._places(kind, key):
            stored = self._sound(array_files.read, path)
            if stored is not None:
                with suppress(OSError):  # the gallery may be read-only
                    os.utime(path)
                return stored
        return None

    def has(self, kind: StoreKind, key: str) -> bool:
        """Whether a file of that key exists (its content is verified when it is loaded)."""
        return any(os.path.exists(path) for path in self._places(kind, key))

    def file(self, kind: StoreKind, key: str) -> Path | None:
        """The file of a key in this store, not in its gallery; None without one."""
        own = (path for path in self._places(kind, key) if not self._is_shipped(path))
        return next((path for path in own if os.path.exists(path)), None)

    def entries(self) -> list[StoreEntry]:
        """Every model, result and table, last used first; then those of the gallery."""
        own = [entry for path in self._own_files(_BOUNDED) if (entry := self._entry(path))]
        shipped = [entry for path in self._shipped() if (entry := self._entry(path))]
        own.sort(key=lambda entry: entry.used, reverse=True)
        return own + [entry._replace(shipped=True) for entry in shipped]

    def counts(self) -> tuple[int, int]:
        """The numbers of files of this store and of its gallery."""
        return len(self._own_files(_BOUNDED)), len(self._shipped())

    def records(self) -> dict[str, StoreEntry]:
        """Job records by key, each read once."""
        paths = sorted(self._own_files(("jobs",)))
        return {path.stem: entry for path in paths if (entry := self._entry(path))}

    def delete(self, kind: StoreKind, key: str) -> None:
        """Delete a key of this store; the gallery stays unchanged.

        A file that cannot be deleted is ignored from then on, with a notice.
        """
        for path in (self.path_of(kind, key, self.memory), self.path_of(kind, key)):
            if not _unlink(path):
                self._gone.add(path)
                self._say(OSError(errno.EROFS, os.strerror(errno.EROFS)))

    def size(self) -> int:
        """Bytes of the models, results and tables in this folder."""
        return sum(size for _, size, _ in self._sizes(self.root))

    @property
    def limit(self) -> int:
        """Bound in bytes, one for every process that uses this folder; setting it prunes."""
        if self._unwritten_limit is not None:
            return self._unwritten_limit
        path = self.root / "limit"
        try:
            return _positive(int(path.read_text()))
        except OSError:
            return self._default_limit
        except ValueError:
            self.note(
                f"The file {path} must hold a positive number of bytes; got something else. "
                f"The bound is {self._default_limit}; set another, or delete the file."
            )
            return self._default_limit

    @limit.setter
    def limit(self, limit: int) -> None:
        beside = self.root / f"limit-{process_stamp()}"
        try:
            beside.write_text(str(_positive(limit)))
            os.replace(beside, self.root / "limit")
            self._unwritten_limit = None
        except OSError as error:
            self._unwritten_limit = limit
            self._say(error)
        finally:
            _unlink(beside)
        self._room = 0
        self.prune()

    def prune(self) -> int:
        """Delete the files used longest ago until the bound holds; returns the bytes freed.

        The file used last is kept whatever its size: otherwise its job would never end.

        Raises:
            TimeoutError: when another process prunes for more than half a minute.
        """
        with self.locked(".", "prune", timeout=30):
            freed = self._prune(self.root, self.limit)
            self._drop_leftovers()
        return freed

    @contextmanager
    def locked(self, folder: str, name: str, timeout: float = -1) -> Iterator[None]:
        """Hold a lock among all processes of this store; in memory if the disk is unwritable.

        Processes that cannot see each other's lock do the same work twice, with the same result.

        Raises:
            TimeoutError: when another process holds it for `timeout` seconds.
        """
        lock: filelock.BaseFileLock | None = None
        try:
            lock = self.lock(folder, name, timeout)
            lock.acquire()
        except filelock.Timeout:
            raise
        except OSError:
            lock = None
        try:
            yield
        finally:
            if lock is not None:
                lock.release()

    def lock(self, folder: str, name: str, timeout: float = -1) -> filelock.BaseFileLock:
        """The lock of `locked`, to be held beyond a block.

        Raises:
            StoreFullError: when neither the disk nor memory can hold a lock.
        """
        errors: list[OSError] = []
        for root in (self.root, self.memory):
            path = root / folder / f"{name}.lock"
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.touch()
                return filelock.FileLock(path, timeout, thread_local=False)
            except OSError as error:
                errors.append(error)
        raise self._unkept(*errors)

    def verify(self) -> list[str]:
        """Verify the checksum of every file; returns a message for each that was moved aside."""
        problems: list[str] = []
        for path in [*self._own_files(tuple(_SUFFIX)), *self._shipped()]:
            self._sound(array_files.read, path, problems.append)
        return problems

    @staticmethod
    def is_key(text: str) -> bool:
        """Whether a text is a valid key."""
        return _NAME.fullmatch(text) is not None

    def note(self, notice: str) -> None:
        """Add a notice for the user, once among the last fifty."""
        if notice.startswith(self._blocked):  # whatever the earlier reason
            self._unsay()
        if notice not in self.notices:
            self.notices[:] = [*self.notices, notice][-50:]
        if notice.startswith(self._blocked):
            self._wait()

    def place(self) -> StorePlace:
        """Location of this store, for another process: `Store.at(place)`."""
        gallery = None if self.gallery is None else str(self.gallery)
        return {
            "root": str(self.root),
            "limit": self._unwritten_limit or self._default_limit,
            "gallery": gallery,
            "memory": str(self.memory),
        }

    @classmethod
    def at(cls, place: StorePlace) -> Store:
        """The store at a location from another process's `place`."""
        gallery = place["gallery"]
        store = cls(
            Path(place["root"]), place["limit"], None if gallery is None else Path(gallery)
        )
        store.memory = Path(place["memory"])
        return store

    def _refusal(self) -> OSError | None:
        """The reason why the folder cannot be written, or None."""
        try:
            self.root.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=self.root) as file:
                file.write(b"n")
        except OSError as error:
            return error
        return None

    def _wait(self) -> None:
        """Retry the folder until it can be written or this store is no longer referenced."""
        if self._waiting is None or not self._waiting.is_alive():
            arguments = (weakref.ref(self),)
            self._waiting = threading.Thread(target=_wait, args=arguments, daemon=True)
            self._waiting.start()

    @property
    def _is_blocked(self) -> bool:
        return any(notice.startswith(self._blocked) for notice in self.notices)

    @property
    def _blocked(self) -> str:
        return f"The cache folder {self.root} must be writable; got: "

    def _say(self, error: OSError) -> None:
        self.note(
            f"{self._blocked}{error.strerror or error}. Results are kept in memory, at most "
            f"{_IN_MEMORY >> 20} MB, and end with this program. Make room there or set "
            "NPTLAB_CACHE to another folder, to keep them."
        )

    def _unsay(self) -> None:
        """Remove the notice once the folder can be written again."""
        if self._is_blocked:
            kept = [notice for notice in self.notices if not notice.startswith(self._blocked)]
            self.notices[:] = kept

    def _unkept(self, disk: OSError, memory: OSError) -> StoreFullError:
        return StoreFullError(
            f"A result must be kept on disk or in memory; got: {disk.strerror or disk} at "
            f"{self.root}, and: {memory.strerror or memory} at {self.memory.parent.parent}. Make "
            "room, or set NPTLAB_CACHE to another folder."
        )

    def _write(
        self,
        root: Path,
        kind: StoreKind,
        key: str,
        arrays: Arrays,
        spec: str,
        meta: Mapping[str, object],
    ) -> None:
        path = self.path_of(kind, key, root)
        beside = self._beside(root, path.suffix)
        try:
            for folder in (beside.parent, path.parent):
                folder.mkdir(parents=True, exist_ok=True)
            array_files.write(beside, arrays, spec, meta)
            os.replace(beside, path)
        finally:
            _unlink(beside)

    def _write_to_memory(
        self,
        error: OSError,
        kind: StoreKind,
        key: str,
        arrays: Arrays,
        spec: str,
        meta: Mapping[str, object],
    ) -> None:
        self._say(error)
        try:
            self.memory.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._write(self.memory, kind, key, arrays, spec, meta)
        except OSError as other:
            raise self._unkept(error, other) from other
        self._prune(self.memory, _IN_MEMORY)

    def _beside(self, root: Path, suffix: str) -> Path:
        return root / "tmp" / f"{process_stamp()}-{uuid.uuid4().hex}{suffix}"

    def path_of(self, kind: StoreKind, key: str, root: Path | None = None) -> Path:
        """The path of a key in this store's folder, or in another root.

        Raises:
            ValueError: for a key that is no plain name.
        """
        if not self.is_key(key):
            raise ValueError(
                f"A key has letters, digits, - and _ only; got {key!r}. Use keys.key."
            )
        return (root or self.root) / kind / f"{key}{_SUFFIX[kind]}"

    def _places(self, kind: StoreKind, key: str) -> list[Path]:
        roots = (self.memory, self.root, self.gallery)
        paths = [self.path_of(kind, key, root) for root in roots if root is not None]
        return [path for path in paths if path not in self._gone]

    def _files(self, root: Path, kinds: Sequence[StoreKind]) -> list[Path]:
        paths: list[Path] = []
        for kind in kinds:
            with suppress(OSError):
                paths += (root / kind).glob(f"*{_SUFFIX[kind]}")
        return [path for path in paths if path not in self._gone]

    def _own_files(self, kinds: Sequence[StoreKind]) -> list[Path]:
        """Files of the folder and of memory, which has the newer one where both have it."""
        paths = [*self._files(self.root, kinds), *self._files(self.memory, kinds)]
        return list({(path.parent.name, path.name): path for path in paths}.values())

    def _shipped(self) -> list[Path]:
        return [] if self.gallery is None else sorted(self._files(self.gallery, _BOUNDED))

    def _is_shipped(self, path: Path) -> bool:
        return self.gallery is not None and path.is_relative_to(self.gallery)

    def _sizes(self, root: Path) -> Iterator[tuple[float, int, Path]]:
        for path in self._files(root, _BOUNDED):
            with suppress(OSError):  # another process deleted it meanwhile
                status = path.stat()
                yield status.st_mtime, status.st_size, path

    def _prune(self, root: Path, limit: int) -> int:
        sizes = sorted(self._sizes(root))
        excess = sum(size for _, size, _ in sizes) - limit
        freed = 0
        for _, size, path in sizes[:-1]:
            if freed >= excess:
                break
            freed += size * _unlink(path)
        return freed

    def _entry(self, path: Path) -> StoreEntry | None:
        with suppress(OSError):
            status = path.stat()
            about = self._about(path, status)
            if about is None:
                return None
            kind: StoreKind = path.parent.name  # type: ignore[assignment]  # from _BOUNDED
            where = (status.st_size, about.created, status.st_mtime)
            return StoreEntry(kind, path.stem, about.spec, about.meta, *where)
        return None

    def _about(self, path: Path, status: os.stat_result) -> Description | None:
        """The metadata of a file, read once: files are replaced, never modified."""
        # an inode is given again to the next file but one: the time of change tells them apart
        written = status.st_ino, status.st_size, status.st_ctime_ns
        known = self._abouts.get(path)
        if known is not None and known[0] == written:
            return known[1]
        about = self._sound(array_files.describe, path)
        if about is not None:
            if len(self._abouts) >= _ABOUTS:
                self._abouts.clear()
            self._abouts[path] = written, about
        return about

    def _sound(
        self,
        reader: Callable[[Path], T],
        path: Path,
        say: Callable[[str], None] = lambda problem: None,
    ) -> T | None:
        """Read a file; None when it is missing or damaged."""
        try:
            return reader(path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except (MemoryError, ImportError):
            raise  # no fault of the file
        except Exception as error:  # any exception that a reader raises for a damaged file
            if isinstance(error, OSError) and error.errno in _NOT_THE_FILE:
                problem = f"{path.name} must be readable; got: {error.strerror}."
            else:
                problem = self._aside(path, error)
        self.note(problem)
        say(problem)
        return None

    def _aside(self, path: Path, error: Exception) -> str:
        # a reader's own message is for users who open a file with it
        reason = (
            error
            if isinstance(error, array_files.DamagedError)
            else "it is cut short or was overwritten"
        )
        what = f"A file of the store was damaged ({path.parent.name}/{path.name}: {reason})."
        if self._is_shipped(path):
            return f"{what} It belongs to the gallery and is passed over."
        damaged = self.root / "damaged"
        try:
            damaged.mkdir(exist_ok=True)
            with suppress(FileNotFoundError):  # another process moved it already
                shutil.move(path, damaged / f"{path.parent.name}-{path.name}")
        except OSError:
            if not _unlink(path):
                self._gone.add(path)
            return f"{what} It is passed over and made again when asked for."
        return f"{what} It was moved to {damaged} and is made again when asked for."

    def _drop_leftovers(self) -> None:
        """Delete partial files of writers that were killed.

        A writer of this machine is identified by its stamp; files of others are kept for an hour.
        """
        try:
            names = os.listdir(self.root / "tmp")
        except OSError:
            return
        for path in (self.root / "tmp" / name for name in names):
            with suppress(OSError):
                ours = is_from_this_machine(path.name)
                old = time.time() - path.stat().st_mtime > _STALE
                if owner_has_ended(path.name) if ours else old:
                    _unlink(path)


_OPEN: weakref.WeakSet[Store] = weakref.WeakSet()


def flush_stores() -> None:
    """Move files of this process's stores from memory to the disk, as far as it is writable."""
    for store in list(_OPEN):
        with suppress(Exception):
            store.settle()


def flush_and_clear() -> None:
    """Call `flush_stores` and discard the rest: at the end of a process or on a signal."""
    flush_stores()
    clear()


def _wait(reference: weakref.ref[Store]) -> None:
    while True:
        time.sleep(RETRY)
        store = reference()
        if store is None:
            return
        store.settle()
        if not store.awaits_disk:
            return
        del store


def _positive(limit: int) -> int:
    """A bound on disk use.

    Raises:
        ValueError: for one that is not positive, no number, or more than any disk has.
    """
    if isinstance(limit, bool) or not isinstance(limit, int | np.integer) or limit <= 0:
        raise ValueError(
            f"The bound on disk use must be a positive number of bytes; got {limit!r}. Raise it."
        )
    if limit > _MOST_BYTES:
        raise ValueError(
            f"The bound on disk use is at most {_MOST_BYTES} bytes; got a number of "
            f"{int(limit).bit_length()} bits. Lower it."
        )
    return int(limit)


def _unlink(path: Path) -> bool:
    """Delete a file; returns whether it is gone."""
    try:
        path.unlink(missing_ok=True)
    except NotADirectoryError:  # a parent is a file
        return True
    except OSError:
        return False
    return True


def default_root() -> Path:
    """The folder of the usual store: NPTLAB_CACHE, else the user's cache folder."""
    try:
        return CACHE.value() or platformdirs.user_cache_path("nptlab").expanduser()
    except RuntimeError:  # a user without a home
        return Path(os.devnull, "nptlab")
